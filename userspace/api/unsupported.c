// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Calls of librdmacm that are not implemented: each fails with ENOSYS.
 * scripts/list-unsupported makes the list for the documentation from this file.
 *
 * Locking: none.
 */
#include "base/compiler.h"
#include "base/err.h"
#include "base/rdma_cma_new.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* UNSUPPORTED - a call that fails; the result is -1, as wide as its type */
#define UNSUPPORTED(type, name, ...)						\
	RCL_EXPORT type name(__VA_ARGS__)					\
	{									\
		return (type)rcl_fail(-ENOSYS, #name,				\
				      "not implemented in rdma_cm_alt");	\
	}

/* Sockets over RDMA */
UNSUPPORTED(int, rsocket, int domain, int type, int proto)
UNSUPPORTED(int, rbind, int socket, const struct sockaddr *addr, socklen_t addrlen)
UNSUPPORTED(int, rlisten, int socket, int backlog)
UNSUPPORTED(int, raccept, int socket, struct sockaddr *addr, socklen_t *addrlen)
UNSUPPORTED(int, rconnect, int socket, const struct sockaddr *addr,
	    socklen_t addrlen)
UNSUPPORTED(int, rshutdown, int socket, int how)
UNSUPPORTED(ssize_t, rrecv, int socket, void *buf, size_t len, int flags)
UNSUPPORTED(ssize_t, rrecvfrom, int socket, void *buf, size_t len, int flags,
	    struct sockaddr *src_addr, socklen_t *addrlen)
UNSUPPORTED(ssize_t, rrecvmsg, int socket, struct msghdr *msg, int flags)
UNSUPPORTED(ssize_t, rsend, int socket, const void *buf, size_t len, int flags)
UNSUPPORTED(ssize_t, rsendto, int socket, const void *buf, size_t len, int flags,
	    const struct sockaddr *dest_addr, socklen_t addrlen)
UNSUPPORTED(ssize_t, rsendmsg, int socket, const struct msghdr *msg, int flags)
UNSUPPORTED(ssize_t, rread, int socket, void *buf, size_t count)
UNSUPPORTED(ssize_t, rreadv, int socket, const struct iovec *iov, int iovcnt)
UNSUPPORTED(ssize_t, rwrite, int socket, const void *buf, size_t count)
UNSUPPORTED(ssize_t, rwritev, int socket, const struct iovec *iov, int iovcnt)
UNSUPPORTED(int, rgetpeername, int socket, struct sockaddr *addr,
	    socklen_t *addrlen)
UNSUPPORTED(int, rgetsockname, int socket, struct sockaddr *addr,
	    socklen_t *addrlen)
UNSUPPORTED(int, rsetsockopt, int socket, int level, int optname,
	    const void *optval, socklen_t optlen)
UNSUPPORTED(int, rgetsockopt, int socket, int level, int optname, void *optval,
	    socklen_t *optlen)
UNSUPPORTED(int, rfcntl, int socket, int cmd, ...)
UNSUPPORTED(off_t, riomap, int socket, void *buf, size_t len, int prot, int flags,
	    off_t offset)
UNSUPPORTED(int, riounmap, int socket, void *buf, size_t len)
UNSUPPORTED(size_t, riowrite, int socket, const void *buf, size_t count,
	    off_t offset, int flags)
