// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_create_ep(3), active and passive, step by step as its manual page describes it. */
#include <arpa/inet.h>
#include <dirent.h>

#include "lib/ends.h"

static char buffer[4096];

static unsigned int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	EXPECT(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void tell_state(const char *what, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	EXPECT_EQ(ibv_query_qp(id->qp, &attr, IBV_QP_STATE, &init), 0);
	tell("%s: QP in state %d", what, attr.qp_state);
}

/* One message to the server and one back; both endpoints have their QP. */
static void talk(struct rdma_cm_id *id, bool server)
{
	struct ibv_mr *mr = rdma_reg_msgs(id, buffer, sizeof(buffer));

	EXPECT(mr);
	MUST(rdma_post_recv(id, (void *)1, buffer, 100, mr));
	meet();
	if (!server)
		MUST(rdma_post_send(id, (void *)2, "there", 6, NULL, IBV_SEND_INLINE));
	expect_recv(id, 1, IBV_WC_SUCCESS, NULL);
	EXPECT(!strcmp(buffer, server ? "there" : "back"));
	if (server)
		MUST(rdma_post_send(id, (void *)2, "back", 5, NULL, IBV_SEND_INLINE));
	expect_send(id, 2, IBV_WC_SUCCESS);
	meet();
	rdma_dereg_mr(mr);
}

/*
 * The sequence of the page: no call between getaddrinfo, create_ep, listen, get_request and
 * accept.
 */
DUO(the_page)

SERVER(the_page)
{
	struct ibv_qp_init_attr attr = qp_attr(3, 5), given = attr;
	struct rdma_cm_id *listener, *id;

	listener = listen_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, &attr);
	EXPECT(!listener->qp && listener->verbs && listener->pd);
	EXPECT(!memcmp(&attr, &given, sizeof(attr)));
	/* The library has copied it. */
	memset(&attr, 0xff, sizeof(attr));
	id = get_request(listener);
	EXPECT(id->qp && id->qp->pd == listener->pd && id->pd == listener->pd);
	EXPECT(id->send_cq && id->recv_cq && id->send_cq_channel && id->recv_cq_channel);
	EXPECT(id->event && id->event->listen_id == listener);
	tell("sizes %d %d, event %d", id->send_cq->cqe, id->recv_cq->cqe, id->event->event);
	tell_state("request", id);
	MUST(rdma_accept(id, NULL));
	tell_state("accepted", id);
	talk(id, true);
	end_rc(id);
	rdma_destroy_ep(listener);
}

CLIENT(the_page)
{
	struct ibv_qp_init_attr attr = qp_attr(3, 5);
	struct rdma_cm_id *id;

	attr.qp_type = IBV_QPT_UD;	/* the addresses decide on that */
	id = active_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, &attr);
	EXPECT(id->qp && id->qp->pd == id->pd);
	EXPECT_EQ(attr.qp_type, IBV_QPT_RC);
	EXPECT(attr.cap.max_send_wr >= 3 && attr.cap.max_recv_wr >= 5);
	tell("caps %u %u %u %u %u", attr.cap.max_send_wr, attr.cap.max_recv_wr,
	     attr.cap.max_send_sge, attr.cap.max_recv_sge, attr.cap.max_inline_data);
	tell("sizes %d %d, event %d", id->send_cq->cqe, id->recv_cq->cqe, id->event->event);
	tell_state("resolved", id);
	MUST(rdma_connect(id, NULL));
	tell("event %d", id->event->event);
	tell_state("connected", id);
	talk(id, false);
	end_rc(id);
}

/* A protection domain of the program, at both ends. */
DUO(own_pd)

SERVER(own_pd)
{
	struct ibv_qp_init_attr attr = qp_attr(4, 4);
	struct ibv_context **devices = rdma_get_devices(NULL);
	struct ibv_pd *pd = ibv_alloc_pd(devices[0]);
	struct rdma_cm_id *listener = listen_ep(RDMA_PS_TCP, IBV_QPT_RC, pd, &attr);
	struct rdma_cm_id *id = accept_one(listener, NULL);

	EXPECT(id->qp->pd == pd && id->pd == pd);
	talk(id, true);
	end_rc(id);
	rdma_destroy_ep(listener);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
	rdma_free_devices(devices);
}

CLIENT(own_pd)
{
	struct ibv_qp_init_attr attr = qp_attr(4, 4);
	struct ibv_context **devices = rdma_get_devices(NULL);
	struct ibv_pd *pd = ibv_alloc_pd(devices[0]);
	struct rdma_cm_id *id = active_ep(RDMA_PS_TCP, IBV_QPT_RC, pd, &attr);

	EXPECT(id->qp->pd == pd && id->pd == pd && id->verbs == devices[0]);
	MUST(rdma_connect(id, NULL));
	talk(id, false);
	end_rc(id);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
	rdma_free_devices(devices);
}

/* Without attributes there is no QP; rdma_create_qp() creates it later. */
DUO(no_attributes)

SERVER(no_attributes)
{
	struct rdma_cm_id *listener = listen_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, NULL);
	struct rdma_cm_id *id = get_request(listener);
	struct ibv_qp_init_attr attr = qp_attr(4, 4);

	EXPECT(!id->qp && !id->send_cq);
	MUST(rdma_create_qp(id, NULL, &attr));
	MUST(rdma_accept(id, NULL));
	talk(id, true);
	end_rc(id);
	rdma_destroy_ep(listener);
}

CLIENT(no_attributes)
{
	struct rdma_cm_id *id = active_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, NULL);
	struct ibv_qp_init_attr attr = qp_attr(4, 4);

	EXPECT(!id->qp && !id->send_cq && id->verbs && id->pd);
	EXPECT_EQ(rdma_connect(id, NULL), -1);
	tell("no QP, no parameters: %s", errno_name());
	MUST(rdma_create_qp(id, NULL, &attr));
	MUST(rdma_connect(id, NULL));
	talk(id, false);
	end_rc(id);
}

/* The ids are synchronous until they are moved to a channel. */
DUO(moved_to_a_channel)

SERVER(moved_to_a_channel)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct ibv_qp_init_attr attr = qp_attr(4, 4);
	struct rdma_cm_id *listener = listen_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, NULL);
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	EXPECT(channel);
	MUST(rdma_migrate_id(listener, channel));
	EXPECT_EQ(rdma_get_request(listener, &id), -1);
	tell("get_request of an asynchronous listener: %s", errno_name());
	/* Stock rejects a request that came before the move: it ends with the old channel. */
	meet();
	event = next_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	id = event->id;
	EXPECT(event->listen_id == listener && id->channel == channel);
	rdma_ack_cm_event(event);
	MUST(rdma_create_qp(id, NULL, &attr));
	MUST(rdma_accept(id, NULL));
	expect_cm_event(channel, RDMA_CM_EVENT_ESTABLISHED);
	talk(id, true);
	/* And back to the synchronous mode. */
	MUST(rdma_migrate_id(id, NULL));
	EXPECT(id->channel && id->channel != channel);
	end_rc(id);
	rdma_destroy_ep(listener);
	rdma_destroy_event_channel(channel);
}

CLIENT(moved_to_a_channel)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct ibv_qp_init_attr attr = qp_attr(4, 4);
	struct rdma_cm_id *id = active_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, &attr);

	EXPECT(channel);
	EXPECT_EQ(rdma_migrate_id(id, NULL), -1);
	tell("synchronous to synchronous: %s", errno_name());
	MUST(rdma_migrate_id(id, channel));
	meet();
	MUST(rdma_connect(id, NULL));
	expect_cm_event(channel, RDMA_CM_EVENT_ESTABLISHED);
	talk(id, false);
	MUST(rdma_disconnect(id));
	expect_cm_event(channel, RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_ep(id);
	rdma_destroy_event_channel(channel);
}

/* Failing calls change nothing, and destroyed endpoints leave no descriptor behind. */
DUO(errors_and_leftovers)

SERVER(errors_and_leftovers)
{
	struct rdma_addrinfo *res = get_addrinfo(true, 23100, RDMA_PS_TCP, IBV_QPT_RC);
	struct ibv_qp_init_attr attr = qp_attr(4, 4);
	struct rdma_cm_id *id, *other = (void *)1;
	unsigned int fds = 0, i;

	for (i = 0; i < 3; i++) {
		if (i == 1)
			fds = count_fds();
		MUST(rdma_create_ep(&id, res, NULL, &attr));
		EXPECT_EQ(rdma_create_ep(&other, res, NULL, &attr), -1);
		if (!i)
			tell("a second endpoint: %s", errno_name());
		EXPECT(other == (void *)1);
		EXPECT_EQ(rdma_bind_addr(id, res->ai_src_addr), -1);
		if (!i)
			tell("bound already: %s", errno_name());
		MUST(rdma_listen(id, 0));
		rdma_destroy_ep(id);
	}
	EXPECT_EQ(count_fds(), fds);
	rdma_freeaddrinfo(res);
}

CLIENT(errors_and_leftovers)
{
	struct rdma_addrinfo *res = get_addrinfo(false, 23100, RDMA_PS_TCP, IBV_QPT_RC);
	struct sockaddr_in *dst = (struct sockaddr_in *)res->ai_dst_addr;
	struct ibv_qp_init_attr attr = qp_attr(4, 4);
	struct rdma_cm_id *id, *other = (void *)1;
	unsigned int fds = 0, i;

	for (i = 0; i < 3; i++) {
		if (i == 1)
			fds = count_fds();
		MUST(rdma_create_ep(&id, res, NULL, &attr));
		rdma_destroy_ep(id);
		attr = qp_attr(4, 4);
		attr.cap.max_send_wr = 2000000;
		EXPECT_EQ(rdma_create_ep(&other, res, NULL, &attr), -1);
		if (!i)
			tell("a QP too large: %s", errno_name());
		EXPECT(other == (void *)1);
		attr = qp_attr(4, 4);
	}
	EXPECT_EQ(count_fds(), fds);
	inet_pton(AF_INET, "10.7.0.97", &dst->sin_addr);
	EXPECT_EQ(rdma_create_ep(&other, res, NULL, &attr), -1);
	tell("nobody there: %s", errno_name());
	EXPECT(other == (void *)1);
	rdma_freeaddrinfo(res);
}

/* The context of the program, and what the child inherits from its listener. */
DUO(contexts)

SERVER(contexts)
{
	struct rdma_cm_id *listener = listen_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, NULL);
	struct rdma_cm_id *id;

	listener->context = buffer;
	id = get_request(listener);
	EXPECT(id->context == buffer && id->ps == listener->ps);
	tell("child: type %d port %d, %s", id->qp_type, id->port_num,
	     inet_ntoa(id->route.addr.dst_sin.sin_addr));
	EXPECT_EQ(rdma_get_src_port(id), rdma_get_src_port(listener));
	EXPECT_EQ(ntohs(rdma_get_dst_port(id)), take_number());
	MUST(rdma_reject(id, "no", 3));
	/* The event remains valid until the next call. */
	EXPECT(id->event && id->event->event == RDMA_CM_EVENT_CONNECT_REQUEST);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
}

CLIENT(contexts)
{
	struct ibv_qp_init_attr attr = qp_attr(4, 4);
	struct rdma_cm_id *id = active_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, &attr);

	give_number(ntohs(rdma_get_src_port(id)));
	EXPECT_EQ(rdma_connect(id, NULL), -1);
	tell("rejected: %s, event %d status %d, %s", errno_name(), id->event->event,
	     id->event->status, (const char *)id->event->param.conn.private_data);
	tell_state("rejected", id);
	rdma_destroy_ep(id);
}

DUO_MAIN
