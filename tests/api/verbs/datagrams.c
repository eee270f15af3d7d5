// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Datagrams: endpoints of RDMA_PS_UDP, the peer's address from the event, and multicast groups. */
#include <arpa/inet.h>

#include "lib/ends.h"

#define GROUP "239.8.1.1"
#define TO_GROUP 0xffffff

/* Size of the GRH in front of a datagram in the receive buffer. */
#define HEADER sizeof(struct ibv_grh)

static char buffer[4096];

static struct ibv_qp_init_attr ud_attr(void)
{
	struct ibv_qp_init_attr attr = qp_attr(4, 4);

	attr.qp_type = IBV_QPT_UD;
	return attr;
}

static struct ibv_mr *msgs(struct rdma_cm_id *id)
{
	struct ibv_mr *mr = rdma_reg_msgs(id, buffer, sizeof(buffer));

	EXPECT(mr);
	return mr;
}

static void tell_qp_state(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	EXPECT_EQ(ibv_query_qp(id->qp, &attr, IBV_QP_STATE | IBV_QP_QKEY | IBV_QP_PKEY_INDEX |
			       IBV_QP_PORT, &init), 0);
	tell("QP in state %d, qkey 0x%x pkey %u port %u", attr.qp_state, attr.qkey,
	     attr.pkey_index, attr.port_num);
}

static void tell_ud(const struct rdma_cm_event *event)
{
	const struct rdma_ud_param *ud = &event->param.ud;
	const struct ibv_ah_attr *ah = &ud->ah_attr;
	char gid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, &ah->grh.dgid, gid, sizeof(gid));
	tell("event %d status %d qkey 0x%x data %u", event->event, event->status, ud->qkey,
	     ud->private_data_len);
	tell("ah global %u dgid %s sgid_index %u hop_limit %u class %u sl %u port %u",
	     ah->is_global, gid, ah->grh.sgid_index, ah->grh.hop_limit, ah->grh.traffic_class,
	     ah->sl, ah->port_num);
}

static void send_ud(struct rdma_cm_id *id, struct ibv_ah *ah, uint32_t qp_num, const char *text)
{
	MUST(rdma_post_ud_send(id, (void *)5, (void *)text, strlen(text) + 1, NULL,
			       IBV_SEND_INLINE, ah, qp_num));
	expect_send(id, 5, IBV_WC_SUCCESS);
}

/* A request, an answer with the address of the server, a datagram, and one back. */
DUO(there_and_back)

SERVER(there_and_back)
{
	struct rdma_conn_param param = { .private_data = "welcome", .private_data_len = 8 };
	struct ibv_qp_init_attr attr = ud_attr();
	struct rdma_cm_id *listener = listen_ep(RDMA_PS_UDP, IBV_QPT_UD, NULL, &attr);
	struct rdma_cm_id *id = get_request(listener);
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	EXPECT(id->qp && id->qp_type == IBV_QPT_UD);
	tell_qp_state(id);
	tell("request: data %u, %s", id->event->param.ud.private_data_len,
	     (const char *)id->event->param.ud.private_data);
	mr = msgs(id);
	MUST(rdma_post_recv(id, (void *)1, buffer, 100, mr));
	MUST(rdma_accept(id, &param));
	expect_recv(id, 1, IBV_WC_SUCCESS, &wc);
	tell("received %u bytes, flags %u", wc.byte_len, wc.wc_flags);
	EXPECT(!strcmp(buffer + HEADER, "there"));
	EXPECT_EQ(wc.src_qp, take_number());
	ah = ibv_create_ah_from_wc(id->pd, &wc, (struct ibv_grh *)buffer, id->port_num);
	EXPECT(ah);
	send_ud(id, ah, wc.src_qp, "back");
	meet();
	ibv_destroy_ah(ah);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
}

CLIENT(there_and_back)
{
	struct rdma_conn_param param = { .private_data = "hello", .private_data_len = 6 };
	struct ibv_qp_init_attr attr = ud_attr();
	struct rdma_cm_id *id = active_ep(RDMA_PS_UDP, IBV_QPT_UD, NULL, &attr);
	struct rdma_ud_param *ud;
	struct ibv_ah *ah;
	struct ibv_mr *mr;

	tell_qp_state(id);
	mr = msgs(id);
	MUST(rdma_post_recv(id, (void *)2, buffer, 100, mr));
	MUST(rdma_connect(id, &param));
	ud = &id->event->param.ud;
	tell_ud(id->event);
	tell("%s", (const char *)ud->private_data);
	ah = ibv_create_ah(id->pd, &ud->ah_attr);
	EXPECT(ah);
	send_ud(id, ah, ud->qp_num, "there");
	give_number(id->qp->qp_num);
	expect_recv(id, 2, IBV_WC_SUCCESS, NULL);
	EXPECT(!strcmp(buffer + HEADER, "back"));
	meet();
	ibv_destroy_ah(ah);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
}

/* One request is rejected, another has no listener. */
DUO(refused)

SERVER(refused)
{
	struct ibv_qp_init_attr attr = ud_attr();
	struct rdma_cm_id *listener = listen_ep(RDMA_PS_UDP, IBV_QPT_UD, NULL, &attr);
	struct rdma_cm_id *id = get_request(listener);

	MUST(rdma_reject(id, "no", 3));
	rdma_destroy_ep(id);
	meet();
	rdma_destroy_ep(listener);
	meet();
}

CLIENT(refused)
{
	struct rdma_addrinfo *res = get_addrinfo(false, take_number(), RDMA_PS_UDP, IBV_QPT_UD);
	struct ibv_qp_init_attr attr = ud_attr();
	struct rdma_cm_id *id;

	MUST(rdma_create_ep(&id, res, NULL, &attr));
	EXPECT_EQ(rdma_connect(id, NULL), -1);
	tell("rejected: %s, event %d status %d", errno_name(), id->event->event,
	     id->event->status);
	rdma_destroy_ep(id);
	meet();
	meet();
	attr = ud_attr();
	MUST(rdma_create_ep(&id, res, NULL, &attr));
	EXPECT_EQ(rdma_connect(id, NULL), -1);
	tell("nobody: %s, event %d status %d", errno_name(), id->event->event, id->event->status);
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(res);
}

/* Several clients of one server endpoint: the server has a QP for each. */
DUO(several)

SERVER(several)
{
	struct ibv_qp_init_attr attr = ud_attr();
	struct rdma_cm_id *listener = listen_ep(RDMA_PS_UDP, IBV_QPT_UD, NULL, &attr);
	struct rdma_cm_id *id[4];
	struct ibv_mr *mr[4];
	int i;

	for (i = 0; i < 4; i++) {
		id[i] = get_request(listener);
		mr[i] = msgs(id[i]);
		MUST(rdma_post_recv(id[i], (void *)7, buffer + 200 * i, 200, mr[i]));
		MUST(rdma_accept(id[i], NULL));
	}
	meet();
	for (i = 0; i < 4; i++) {
		expect_recv(id[i], 7, IBV_WC_SUCCESS, NULL);
		EXPECT_EQ(buffer[200 * i + HEADER], 'a' + i);
	}
	for (i = 0; i < 4; i++) {
		rdma_dereg_mr(mr[i]);
		rdma_destroy_ep(id[i]);
	}
	rdma_destroy_ep(listener);
}

CLIENT(several)
{
	struct rdma_addrinfo *res = get_addrinfo(false, take_number(), RDMA_PS_UDP, IBV_QPT_UD);
	uint32_t qp_num[4];
	struct rdma_cm_id *id[4];
	struct ibv_ah *ah[4];
	int i;

	for (i = 0; i < 4; i++) {
		struct ibv_qp_init_attr attr = ud_attr();

		MUST(rdma_create_ep(&id[i], res, NULL, &attr));
		MUST(rdma_connect(id[i], NULL));
		qp_num[i] = id[i]->event->param.ud.qp_num;
		ah[i] = ibv_create_ah(id[i]->pd, &id[i]->event->param.ud.ah_attr);
		EXPECT(ah[i]);
	}
	rdma_freeaddrinfo(res);
	meet();
	for (i = 0; i < 4; i++)
		send_ud(id[i], ah[i], qp_num[i], (char[]){ 'a' + i, 0 });
	for (i = 0; i < 4; i++) {
		ibv_destroy_ah(ah[i]);
		rdma_destroy_ep(id[i]);
	}
}

/**
 * struct member - an id that joined a group
 * @channel: its channel: with stock, a synchronous id waits for ever when it leaves
 * @id: the id, with a QP
 * @group: address of the group
 * @ah: address handle of the group
 */
struct member {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct sockaddr_in group;
	struct ibv_ah *ah;
};

static void join_group(struct member *m)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct ibv_qp_init_attr attr = ud_attr();
	struct rdma_cm_event *event;

	inet_pton(AF_INET, HERE, &from.sin_addr);
	m->group = (struct sockaddr_in) { .sin_family = AF_INET };
	inet_pton(AF_INET, GROUP, &m->group.sin_addr);
	m->channel = rdma_create_event_channel();
	EXPECT(m->channel);
	MUST(rdma_create_id(m->channel, &m->id, NULL, RDMA_PS_UDP));
	MUST(rdma_bind_addr(m->id, (struct sockaddr *)&from));
	MUST(rdma_create_qp(m->id, NULL, &attr));
	MUST(rdma_join_multicast(m->id, (struct sockaddr *)&m->group, m));
	event = next_event(m->channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	tell_ud(event);
	EXPECT(event->id == m->id && event->param.ud.private_data == m);
	EXPECT_EQ(event->param.ud.qp_num, TO_GROUP);
	m->ah = ibv_create_ah(m->id->pd, &event->param.ud.ah_attr);
	EXPECT(m->ah);
	rdma_ack_cm_event(event);
}

static void end_member(struct member *m)
{
	ibv_destroy_ah(m->ah);
	rdma_destroy_ep(m->id);
	rdma_destroy_event_channel(m->channel);
}

/* A member receives what is sent to the group until it leaves. */
DUO(multicast)

SERVER(multicast)
{
	struct member m;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	join_group(&m);
	mr = msgs(m.id);
	MUST(rdma_post_recv(m.id, (void *)1, buffer, 200, mr));
	MUST(rdma_post_recv(m.id, (void *)2, buffer + 200, 200, mr));
	meet();
	expect_recv(m.id, 1, IBV_WC_SUCCESS, &wc);
	EXPECT(!strcmp(buffer + HEADER, "to all"));
	EXPECT_EQ(wc.src_qp, take_number());
	MUST(rdma_leave_multicast(m.id, (struct sockaddr *)&m.group));
	EXPECT_EQ(rdma_leave_multicast(m.id, (struct sockaddr *)&m.group), -1);
	tell("left already: %s", errno_name());
	meet();
	meet();
	usleep(50000);
	EXPECT_EQ(ibv_poll_cq(m.id->recv_cq, 1, &wc), 0);
	rdma_dereg_mr(mr);
	end_member(&m);
}

CLIENT(multicast)
{
	struct member m;

	join_group(&m);
	meet();
	send_ud(m.id, m.ah, TO_GROUP, "to all");
	give_number(m.id->qp->qp_num);
	meet();
	send_ud(m.id, m.ah, TO_GROUP, "to the rest");
	meet();
	MUST(rdma_leave_multicast(m.id, (struct sockaddr *)&m.group));
	end_member(&m);
}

DUO_MAIN
