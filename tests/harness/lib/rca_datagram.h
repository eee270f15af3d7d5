/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Pairs of datagram ids in one process. */
#ifndef RCA_DATAGRAM_H
#define RCA_DATAGRAM_H

#include "rca_test.h"

/* The queue key of RDMA_PS_UDP, and one that is not. */
enum { UDP_QKEY = 0x01234567, OTHER_QKEY = 0x0badcafe };

/* The QP number that datagram_accept() reports. */
enum { DATAGRAM_QP = 0x123456 };

/* Reasons of a refusal (IBTA volume 1, 12.11.2). */
enum { SIDR_UNSUPPORTED = 1, SIDR_REJECT = 2 };

/* Bits of qp_attr_mask: enum ib_qp_attr_mask. */
enum {
	QP_STATE = 1 << 0, QP_PKEY_INDEX = 1 << 4, QP_PORT = 1 << 5, QP_QKEY = 1 << 6,
	QP_INIT = QP_STATE | QP_PKEY_INDEX | QP_PORT | QP_QKEY,
};

/* An id; an id with its route and the cookie CLIENT. */
uint32_t get_datagram(int ctx, int queue, uint16_t ps, uint64_t cookie);
uint32_t get_asker(int ctx, int queue, uint16_t ps, const char *ip, uint16_t port);

/* Each goes one step further than the one before. Events are stored unless they are NULL. */
struct pair get_datagram_listening(uint16_t ps, const char *ip, uint32_t backlog);
struct pair get_datagram_routed(const char *ip);
struct pair get_datagram_requested(event_t *request);
struct pair get_datagram_connected(event_t *established);

/* get_datagram_listening() for a pair that exists. */
void datagram_listen(struct pair *p, uint16_t ps, const char *ip, uint32_t backlog);

/* Accept the request of a pair; @qkey 0: with the queue key of the port space. */
int datagram_accept(const struct pair *p, uint32_t qkey);

/* The event has no QP of the peer. */
void expect_no_qp(const event_t *ev);

#endif /* RCA_DATAGRAM_H */
