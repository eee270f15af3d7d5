/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declarations of the newest librdmacm that the installed headers may lack. The Makefile probes
 * for each group and defines RCL_HAVE_*.
 */
#ifndef RCL_RDMA_CMA_NEW_H
#define RCL_RDMA_CMA_NEW_H

#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <sys/epoll.h>

#ifndef RAI_SA
#define RAI_SA 0x00000010
#endif
#ifndef RAI_DNS
#define RAI_DNS 0x00000020
#endif

#ifndef RCL_HAVE_ADDRINFO_CALLS	/* RDMACM_1.4 */
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node,
			  const char *service, const struct rdma_addrinfo *hints);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event,
			int status, uint64_t arg);
#endif

#ifndef RCL_HAVE_REPOLL		/* RDMACM_1.5 */
int repoll_create(int flags);
int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout);
#endif

#endif /* RCL_RDMA_CMA_NEW_H */
