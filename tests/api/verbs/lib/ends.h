/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Common steps of tests with two ends: endpoints, events, memory, QPs. A call that fails ends
 * the test.
 */
#ifndef ENDS_H
#define ENDS_H

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "duo.h"

#define HERE "10.9.0.1"		/* of the server */

/* Sizes of the queues of a QP with one entry of data for each request. */
struct ibv_qp_init_attr qp_attr(uint32_t send, uint32_t recv);

/*
 * Endpoints. A listener sends its port to the other end, whose active endpoint uses it; ps and
 * type as in struct rdma_addrinfo.
 */
struct rdma_addrinfo *get_addrinfo(bool passive, uint16_t port, int ps, enum ibv_qp_type type);
struct rdma_cm_id *listen_ep(int ps, enum ibv_qp_type type, struct ibv_pd *pd,
			     struct ibv_qp_init_attr *attr);
struct rdma_cm_id *active_ep(int ps, enum ibv_qp_type type, struct ibv_pd *pd,
			     struct ibv_qp_init_attr *attr);

/* Get the next request of a listening endpoint; accept_one() also accepts it. */
struct rdma_cm_id *get_request(struct rdma_cm_id *listener);
struct rdma_cm_id *accept_one(struct rdma_cm_id *listener, struct rdma_conn_param *param);

/* A connection with QPs of that size, at the server's and at the client's end. */
struct rdma_cm_id *serve_rc(uint32_t send, uint32_t recv);
struct rdma_cm_id *connect_rc(uint32_t send, uint32_t recv);
/* Disconnect and destroy; destroys the listener of serve_rc(), too. */
void end_rc(struct rdma_cm_id *id);
/* Only destroy: with stock, a synchronous id that is disconnected twice may wait for ever. */
void end_disconnected(struct rdma_cm_id *id);

/* Asynchronous ids. */
struct rdma_cm_id *listen_async(struct rdma_event_channel *channel);
struct rdma_cm_id *resolve_async(struct rdma_event_channel *channel);
struct rdma_cm_event *next_event(struct rdma_event_channel *channel,
				 enum rdma_cm_event_type type);
void expect_cm_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);

/* Get the next completion, which must be of that request with that status. */
void expect_send(struct rdma_cm_id *id, uint64_t wr_id, enum ibv_wc_status status);
void expect_recv(struct rdma_cm_id *id, uint64_t wr_id, enum ibv_wc_status status,
		 struct ibv_wc *wc);
/* The same with a CQ without a channel. */
void expect_polled(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status,
		   struct ibv_wc *wc);

/* Print all attributes of a QP except those that differ for each connection. */
void tell_qp(struct ibv_qp *qp);
/* Compare those with the other end's: both ends call this at the same time. */
void check_qp_numbers(struct ibv_qp *qp);

#endif /* ENDS_H */
