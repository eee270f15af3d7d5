// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A datagram server with one queue pair for all clients. A client looks up the number of the queue
 * pair (RDMA_PS_UDP: rdma_connect at the client, rdma_accept here, no connection) and then sends to
 * it. The server returns each datagram to its sender. Clients for it: datagram_client.
 *
 *	cc datagram_server.c -o datagram_server -lrdmacm -libverbs
 *	datagram_server ADDRESS PORT [DATAGRAMS]
 *
 * The server ends after DATAGRAMS datagrams (default: one), or when the device is removed. ADDRESS
 * selects the device, so it cannot be 0.0.0.0.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define ROOM 16		/* datagrams that may arrive before one is answered */
/* The largest MTU: on some devices a datagram that exceeds its buffer stops the queue pair. */
#define SIZE 4096
/* The device writes the global routing header in front of each received datagram. */
#define HEADER sizeof(struct ibv_grh)

static char datagrams[ROOM][HEADER + SIZE];

static int failed(const char *call, const char *advice)
{
	fprintf(stderr, "%s: %s; %s\n", call, strerror(errno), advice);
	return -1;
}

static int post_receive(struct rdma_cm_id *id, struct ibv_mr *mr, void *datagram)
{
	if (rdma_post_recv(id, datagram, datagram, sizeof(datagrams[0]), mr))
		return failed("rdma_post_recv", "has the device gone?");
	return 0;
}

/* Creates the queue pair of the listener, whose address determines its device. */
static int prepare(struct rdma_cm_id *listener, struct ibv_mr **mr)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 1, .max_recv_wr = ROOM, .max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_UD,
	};
	int i;

	if (rdma_create_qp(listener, NULL, &attr))
		return failed("rdma_create_qp", "has the device datagrams (iWARP has none)?");
	*mr = rdma_reg_msgs(listener, datagrams, sizeof(datagrams));
	if (!*mr)
		return failed("rdma_reg_msgs", "does ulimit -l allow it?");
	for (i = 0; i < ROOM; i++)
		if (post_receive(listener, *mr, datagrams[i]))
			return -1;
	/* Makes the completion channel readable at the next completion. */
	if (ibv_req_notify_cq(listener->recv_cq, 0))
		return failed("ibv_req_notify_cq", "has the device gone?");
	return 0;
}

/* Replies to a lookup with the queue pair. Its id is then destroyed, whether accepted or not. */
static int take_event(struct rdma_event_channel *channel, struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = { .qp_num = listener->qp->qp_num };
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(channel, &event))
		return failed("rdma_get_cm_event", "the channel cannot be read");
	type = event->event;
	id = event->id;
	/* Acknowledge first: destroying the id waits for its events. */
	rdma_ack_cm_event(event);
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (rdma_accept(id, &param))
			failed("rdma_accept", "the client is refused");
		rdma_destroy_id(id);
		return 0;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		fprintf(stderr, "%s\n", rdma_event_str(type));
		return -1;
	default:
		/* ADDR_CHANGE needs no action. */
		return 0;
	}
}

/* Returns a datagram to its sender. Returns 1; 0 without a path to the sender; -1 on failure. */
static int send_back(struct rdma_cm_id *id, struct ibv_mr *mr, struct ibv_wc *wc)
{
	char *datagram = (char *)(uintptr_t)wc->wr_id;
	struct ibv_wc sent;
	struct ibv_ah *ah;
	int ret = 1;

	ah = ibv_create_ah_from_wc(id->pd, wc, (struct ibv_grh *)datagram, id->port_num);
	if (!ah) {
		failed("ibv_create_ah_from_wc", "is the sender's address reachable?");
		return 0;
	}
	/* The send completes when the datagram has left: there is no acknowledgement. */
	if (rdma_post_ud_send(id, datagram, datagram + HEADER, wc->byte_len - HEADER, mr,
			      IBV_SEND_SIGNALED, ah, wc->src_qp) ||
	    rdma_get_send_comp(id, &sent) < 0)
		ret = failed("rdma_post_ud_send", "has the device gone?");
	else if (sent.status != IBV_WC_SUCCESS)
		ret = failed(ibv_wc_status_str(sent.status), "the queue pair sends nothing more");
	ibv_destroy_ah(ah);
	return ret;
}

/* Handles all received datagrams; returns their number. */
static int serve(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	int n = 0, sent;

	if (!ibv_get_cq_event(id->recv_cq_channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	/* Request the notification before polling, so that no completion is missed. */
	if (ibv_req_notify_cq(id->recv_cq, 0))
		return failed("ibv_req_notify_cq", "has the device gone?");
	while (ibv_poll_cq(id->recv_cq, 1, &wc) > 0) {
		if (wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "no datagram: %s\n", ibv_wc_status_str(wc.status));
			return -1;
		}
		sent = send_back(id, mr, &wc);
		if (sent < 0 || post_receive(id, mr, (void *)(uintptr_t)wc.wr_id))
			return -1;
		n += sent;
	}
	return n;
}

static int run(struct rdma_event_channel *channel, struct rdma_cm_id *listener, struct ibv_mr *mr,
	       int wanted)
{
	struct pollfd fds[] = {
		{ .fd = channel->fd, .events = POLLIN },
		{ .fd = listener->recv_cq_channel->fd, .events = POLLIN },
	};
	int n;

	while (wanted > 0) {
		if (poll(fds, 2, -1) < 0)
			return failed("poll", "cannot wait");
		if (fds[0].revents && take_event(channel, listener))
			return -1;
		n = fds[1].revents ? serve(listener, mr) : 0;
		if (n < 0)
			return -1;
		wanted -= n;
	}
	return 0;
}

static int start(struct rdma_cm_id *listener, struct sockaddr *addr, struct ibv_mr **mr)
{
	if (rdma_bind_addr(listener, addr))
		return failed("rdma_bind_addr",
			      "has an RDMA device here this address, is the port free?");
	if (!listener->verbs) {
		fprintf(stderr, "this address is none of a device, as a wildcard is\n");
		return -1;
	}
	if (prepare(listener, mr))
		return -1;
	if (rdma_listen(listener, 0))
		return failed("rdma_listen", "does another server have the port?");
	return 0;
}

int main(int argc, char **argv)
{
	int wanted = argc > 3 ? atoi(argv[3]) : 1, status;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct addrinfo *res;
	struct ibv_mr *mr = NULL;

	if (argc < 3 || wanted < 1 || getaddrinfo(argv[1], argv[2], NULL, &res)) {
		fprintf(stderr, "usage: datagram_server ADDRESS PORT [DATAGRAMS]\n");
		return 2;
	}
	channel = rdma_create_event_channel();
	if (!channel || rdma_create_id(channel, &listener, NULL, RDMA_PS_UDP)) {
		failed("rdma_create_id", "is the module loaded, and may you open its node?");
		return 1;
	}
	if (start(listener, res->ai_addr, &mr))
		return 1;
	freeaddrinfo(res);
	printf("listening\n");
	fflush(stdout);
	status = run(channel, listener, mr, wanted) ? 1 : 0;
	rdma_destroy_qp(listener);
	rdma_dereg_mr(mr);
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(channel);
	return status;
}
