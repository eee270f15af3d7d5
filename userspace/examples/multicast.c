// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Joins a multicast group, and sends the messages of the command line to it, or prints received
 * datagrams until none has arrived for SECONDS seconds after the last one. The local address
 * selects the device. The program also ends when the membership is lost or the device is removed.
 *
 *	cc multicast.c -o multicast -lrdmacm -libverbs
 *	multicast LOCAL GROUP receive SECONDS
 *	multicast LOCAL GROUP send MESSAGE...
 *
 * GROUP is an address like 239.1.2.3 or ff15::123. RoCE or InfiniBand is required: iWARP has no
 * multicast.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define ROOM 32
#define TEXT 256
/* The largest MTU: on some devices a datagram that exceeds its buffer stops the queue pair. */
#define SIZE 4096
/* The device writes the global routing header in front of each received datagram. */
#define HEADER sizeof(struct ibv_grh)

struct member {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_ah *ah;	/* address handle of the group */
	uint32_t qp_num;	/* queue pair number of the group */
	struct ibv_mr *mr;
	char datagrams[ROOM][HEADER + SIZE];
};

static struct member member;

static int failed(const char *call, const char *advice)
{
	fprintf(stderr, "%s: %s; %s\n", call, strerror(errno), advice);
	return -1;
}

static int prepare(struct member *m, struct sockaddr *local)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 1, .max_recv_wr = ROOM, .max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_UD,
	};
	int i;

	m->channel = rdma_create_event_channel();
	if (!m->channel || rdma_create_id(m->channel, &m->id, NULL, RDMA_PS_UDP))
		return failed("rdma_create_id",
			      "is the module loaded, and may you open its node?");
	if (rdma_bind_addr(m->id, local) || !m->id->verbs)
		return failed("rdma_bind_addr",
			      "LOCAL has to be an address of an RDMA device of this host");
	if (rdma_create_qp(m->id, NULL, &attr))
		return failed("rdma_create_qp", "has the device datagrams (iWARP has none)?");
	m->mr = rdma_reg_msgs(m->id, m->datagrams, sizeof(m->datagrams));
	if (!m->mr)
		return failed("rdma_reg_msgs", "does ulimit -l allow it?");
	/* Post receives before joining: datagrams may arrive as soon as the group is joined. */
	for (i = 0; i < ROOM; i++)
		if (rdma_post_recv(m->id, m->datagrams[i], m->datagrams[i],
				   sizeof(m->datagrams[i]), m->mr))
			return failed("rdma_post_recv", "has the device gone?");
	return 0;
}

/* Returns -1 if the membership has ended. */
static int take_event(struct member *m)
{
	struct rdma_cm_event *event;
	int ret = 0;

	if (rdma_get_cm_event(m->channel, &event))
		return failed("rdma_get_cm_event", "the channel cannot be read");
	switch (event->event) {
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		m->qp_num = event->param.ud.qp_num;
		m->ah = ibv_create_ah(m->id->pd, &event->param.ud.ah_attr);
		if (!m->ah)
			ret = failed("ibv_create_ah", "is the device still there?");
		break;
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		fprintf(stderr, "%s: %s; does the fabric (a switch, a subnet manager) allow it?\n",
			rdma_event_str(event->event), strerror(abs(event->status)));
		ret = -1;
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		fprintf(stderr, "%s\n", rdma_event_str(event->event));
		ret = -1;
		break;
	default:
		/* ADDR_CHANGE needs no action. */
		break;
	}
	rdma_ack_cm_event(event);
	return ret;
}

static int join(struct member *m, struct sockaddr *group)
{
	if (rdma_join_multicast(m->id, group, NULL))
		return failed("rdma_join_multicast", "is GROUP a multicast address?");
	while (!m->ah)
		if (take_event(m))
			return -1;
	return 0;
}

static int send_to(struct member *m, const char *message)
{
	/* Separate from the receive buffers. */
	static char text[TEXT];
	struct ibv_mr *mr = rdma_reg_msgs(m->id, text, TEXT);
	struct ibv_wc wc;
	int ret = -1;

	if (!mr)
		return failed("rdma_reg_msgs", "does ulimit -l allow it?");
	snprintf(text, TEXT, "%s", message);
	if (rdma_post_ud_send(m->id, NULL, text, strlen(text) + 1, mr, IBV_SEND_SIGNALED, m->ah,
			      m->qp_num) || rdma_get_send_comp(m->id, &wc) < 0)
		failed("rdma_post_ud_send", "has the device gone?");
	else if (wc.status != IBV_WC_SUCCESS)
		fprintf(stderr, "cannot send: %s\n", ibv_wc_status_str(wc.status));
	else
		ret = 0;
	rdma_dereg_mr(mr);
	return ret;
}

/* Returns the number of received datagrams, or -1. */
static int receive(struct member *m, int seconds)
{
	struct pollfd fds[] = {
		{ .fd = m->id->recv_cq_channel->fd, .events = POLLIN },
		{ .fd = m->channel->fd, .events = POLLIN },
	};
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	char *datagram;
	int n = 0;

	for (;;) {
		/* Request the notification before polling, so that no completion is missed. */
		if (ibv_req_notify_cq(m->id->recv_cq, 0))
			return failed("ibv_req_notify_cq", "has the device gone?");
		while (ibv_poll_cq(m->id->recv_cq, 1, &wc) > 0) {
			datagram = (char *)(uintptr_t)wc.wr_id;
			if (wc.status != IBV_WC_SUCCESS) {
				fprintf(stderr, "no datagram: %s\n", ibv_wc_status_str(wc.status));
				return -1;
			}
			printf("%.*s\n", (int)(wc.byte_len - HEADER), datagram + HEADER);
			n++;
			if (rdma_post_recv(m->id, datagram, datagram, sizeof(m->datagrams[0]),
					   m->mr))
				return failed("rdma_post_recv", "has the device gone?");
		}
		/* There is no time limit for the first datagram. */
		if (poll(fds, 2, n ? seconds * 1000 : -1) <= 0)
			return n;
		if (fds[1].revents && take_event(m))
			return -1;
		if (fds[0].revents &&
		    !ibv_get_cq_event(m->id->recv_cq_channel, &cq, &context))
			ibv_ack_cq_events(cq, 1);
	}
}

static int use(struct member *m, int receives, char **words)
{
	int n;

	if (receives) {
		printf("joined\n");
		fflush(stdout);
		n = receive(m, atoi(words[0]));
		printf("%d came\n", n);
		return n < 0 ? -1 : 0;
	}
	for (; *words; words++)
		if (send_to(m, *words))
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	int receives = argc == 5 && !strcmp(argv[3], "receive"), status;
	struct addrinfo *local, *group;

	if (argc < 5 || (!receives && strcmp(argv[3], "send")) ||
	    getaddrinfo(argv[1], NULL, NULL, &local) || getaddrinfo(argv[2], NULL, NULL, &group)) {
		fprintf(stderr, "usage: multicast LOCAL GROUP receive SECONDS\n"
			"       multicast LOCAL GROUP send MESSAGE...\n");
		return 2;
	}
	if (prepare(&member, local->ai_addr) || join(&member, group->ai_addr))
		return 1;
	status = use(&member, receives, argv + 4) ? 1 : 0;
	if (rdma_leave_multicast(member.id, group->ai_addr) && !status) {
		failed("rdma_leave_multicast", "has the device gone?");
		status = 1;
	}
	ibv_destroy_ah(member.ah);
	rdma_destroy_qp(member.id);
	rdma_dereg_mr(member.mr);
	rdma_destroy_id(member.id);
	rdma_destroy_event_channel(member.channel);
	freeaddrinfo(local);
	freeaddrinfo(group);
	return status;
}
