/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Wire formats that ib_cm leaves to its users: service IDs, IP CM header, private data; and that of
 * path records.
 */
#ifndef RCA_WIRE_H
#define RCA_WIRE_H

#include "lib/sockaddr.h"

struct sa_path_rec;

/** RCA_WIRE_HDR_LEN - length of the IP CM service header (IBTA annex A11) */
#define RCA_WIRE_HDR_LEN 36

/** RCA_WIRE_USER_MAX - most private data of a user in any message, as rdma_conn_param can tell */
#define RCA_WIRE_USER_MAX 255

/** RCA_WIRE_PATH_LEN - length of a path record (IBTA volume 1, 15.2.5.16) */
#define RCA_WIRE_PATH_LEN 64

/**
 * enum rca_wire_msg - messages that carry private data
 * @RCA_WIRE_REQ: REQ
 * @RCA_WIRE_REP: REP
 * @RCA_WIRE_REJ: REJ
 * @RCA_WIRE_SIDR_REQ: SIDR_REQ
 * @RCA_WIRE_SIDR_REP: SIDR_REP
 */
enum rca_wire_msg {
	RCA_WIRE_REQ,
	RCA_WIRE_REP,
	RCA_WIRE_REJ,
	RCA_WIRE_SIDR_REQ,
	RCA_WIRE_SIDR_REP,
};

__be64 rca_wire_service_id(u16 ps, __be16 port);
__be64 rca_wire_addr_service_id(u16 ps, const union rca_addr *addr);
__be16 rca_wire_sid_port(__be64 service_id);
unsigned int rca_wire_private_max(enum rca_wire_msg msg, sa_family_t family);
u16 rca_wire_put_private(u8 *data, const union rca_addr *src, const union rca_addr *dst,
			 const void *user, u16 len);
int rca_wire_get_hdr(const void *data, size_t len, __be16 dst_port, union rca_addr *src,
		     union rca_addr *dst);
void rca_wire_put_path(void *to, const struct sa_path_rec *path);

#endif /* RCA_WIRE_H */
