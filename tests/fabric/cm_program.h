/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Common code of programs of the librdmacm API. They run with either stack, so they use nothing
 * of the module's.
 */
#ifndef CM_PROGRAM_H
#define CM_PROGRAM_H

#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* strerrorname_np() for any number. */
static inline const char *error_name(int error)
{
	const char *name = strerrorname_np(error);

	return name ? name : "?";
}

/* Print "CALL: ERRNO" of a call that failed, and exit. */
static inline void fail(const char *call)
{
	printf("%s: %s\n", call, error_name(errno));
	exit(1);
}

/* The socket address of an IPv4 or IPv6 address. */
static inline struct sockaddr_storage get_address(const char *text, int port)
{
	struct sockaddr_storage any = {};
	struct sockaddr_in6 *in6 = (void *)&any;
	struct sockaddr_in *in = (void *)&any;

	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
	} else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
	} else {
		fprintf(stderr, "'%s' is no address\n", text);
		exit(2);
	}
	return any;
}

/*
 * The QP is only a number: neither stack needs more on InfiniBand and RoCE. Small numbers are
 * real QPs of rxe. @data: private data, or NULL.
 */
static inline struct rdma_conn_param conn_param(const char *data)
{
	static uint32_t used;

	return (struct rdma_conn_param) {
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
		.rnr_retry_count = 7,
		.private_data = data, .private_data_len = data ? strlen(data) : 0,
		.qp_num = 0x800000 + ((getpid() & 0x7ff) << 12) + (used++ & 0xfff),
	};
}

#endif /* CM_PROGRAM_H */
