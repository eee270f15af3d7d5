// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_create_ep and the calls after it: reference section 1.2, rdma_create_ep(3). */
#include "steps.h"

static struct rdma_addrinfo *info(const char *ip, int port, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP }, *res;
	char service[8];

	snprintf(service, sizeof(service), "%d", port);
	NEED(rdma_getaddrinfo((char *)ip, service, &hints, &res));
	return res;
}

static void ep_answer(const char *check, const struct rdma_cm_id *id)
{
	answer(check, "channel=%s verbs=%s pd=%s qp=%s send_cq=%s recv_cq=%s send_channel=%s "
	       "recv_channel=%s srq=%s type=%s context=%s port=%u", yes(id->channel),
	       yes(id->verbs), yes(id->pd), qp_state(id->qp), yes(id->send_cq), yes(id->recv_cq),
	       yes(id->send_cq_channel), yes(id->recv_cq_channel), yes(id->srq),
	       id->qp_type == IBV_QPT_RC ? "RC" : "other", yes(id->context), id->port_num);
}

GROUP(ep_active, IN_DEBUG)
{
	struct rdma_addrinfo *res = info(HERE, 7001, 0);
	struct ibv_qp_init_attr attr = qp_attr(), asked;
	struct rdma_cm_id *id = NULL, *other = NULL;
	struct ibv_pd *pd;
	int fds = count_fds();

	RET("bare", rdma_create_ep(&id, res, NULL, NULL));
	ep_answer("bare_fields", id);
	sync_event_answer("bare_event", id);
	addr_answer("bare_addresses", id, 7001);
	RET("bare_connect_null", rdma_connect(id, NULL));
	VOID("bare_destroy", rdma_destroy_ep(id));
	attr.qp_type = IBV_QPT_UD;	/* it is what res says that counts */
	attr.cap.max_send_wr = 5;
	asked = attr;
	id = NULL;
	RET("qp", rdma_create_ep(&id, res, NULL, &attr));
	ep_answer("qp_fields", id);
	answer("attr", "type=%s grown=%s send_cq=%s recv_cq=%s qp_context=%s",
	       attr.qp_type == IBV_QPT_RC ? "RC" : "other",
	       yes(attr.cap.max_send_wr >= asked.cap.max_send_wr &&
		   attr.cap.max_recv_wr >= asked.cap.max_recv_wr), yes(attr.send_cq),
	       yes(attr.recv_cq), yes(attr.qp_context));
	answer("default_pd", "%s", yes(id->qp->pd == id->pd));
	attr = qp_attr();
	pd = NEED_PTR(ibv_alloc_pd(id->verbs));
	RET("own_pd", rdma_create_ep(&other, res, pd, &attr));
	answer("own_pd_used", "qp=%s id=%s other=%s", yes(other->qp->pd == pd),
	       yes(other->pd == pd), yes(id->pd != pd));
	VOID("own_pd_destroy", rdma_destroy_ep(other));
	attr = qp_attr();
	RET("again", rdma_create_ep(&other, res, NULL, &attr));
	answer("same_default_pd", "%s", yes(other->pd == id->pd));
	VOID("again_destroy", rdma_destroy_ep(other));
	VOID("destroy", rdma_destroy_ep(id));
	NEED(ibv_dealloc_pd(pd));
	rdma_freeaddrinfo(res);
	/* The verbs context of a device stays open. */
	answer("fds", "%+d", count_fds() - fds);
}

GROUP(ep_failures, WAITS)
{
	struct rdma_addrinfo *res = info(NOBODY, 7002, 0), *passive, hand;
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = (void *)0x10, *other;

	RET("nobody", rdma_create_ep(&id, res, NULL, NULL));
	answer("id_untouched", "%s", yes(id == (void *)0x10));
	rdma_freeaddrinfo(res);
	res = info(HERE, 7002, 0);
	attr.cap.max_send_wr = 2000000;
	RET("qp_too_large", rdma_create_ep(&id, res, NULL, &attr));
	answer("id_untouched_qp", "%s", yes(id == (void *)0x10));
	passive = info(HERE, 7003, RAI_PASSIVE);
	NEED(rdma_create_ep(&id, passive, NULL, NULL));
	NEED(rdma_listen(id, 0));
	RET("port_taken", rdma_create_ep(&other, passive, NULL, NULL));
	RET("bind_again", rdma_bind_addr(id, at(HERE, 7004)));
	/* An rdma_addrinfo that is built by hand, as rdma-core's Python binding does. */
	memset(&hand, 0, sizeof(hand));
	hand.ai_family = AF_INET;
	hand.ai_qp_type = IBV_QPT_RC;
	hand.ai_port_space = RDMA_PS_TCP;
	hand.ai_dst_addr = at(HERE, 7005);
	hand.ai_dst_len = sizeof(struct sockaddr_in);
	RET("by_hand", rdma_create_ep(&other, &hand, NULL, NULL));
	hand.ai_src_addr = at(THERE, 0);
	hand.ai_src_len = sizeof(struct sockaddr_in);
	RET("by_hand_source", rdma_create_ep(&other, &hand, NULL, NULL));
	addr_answer("by_hand_source_addresses", other, 7005);
	hand.ai_src_len = 0;
	hand.ai_dst_len = 0;
	hand.ai_dst_addr = NULL;
	RET("no_addresses", rdma_create_ep(&other, &hand, NULL, NULL));
	hand.ai_dst_addr = at(HERE, 7005);
	hand.ai_port_space = 0x9999;
	RET("port_space", rdma_create_ep(&other, &hand, NULL, NULL));
	hand.ai_port_space = RDMA_PS_TCP;
	hand.ai_flags = RAI_PASSIVE;
	RET("passive_without_source", rdma_create_ep(&other, &hand, NULL, NULL));
}

struct server {
	struct rdma_cm_id *listener, *id;
	int error;
};

static int serve(void *arg)
{
	struct server *server = arg;
	int ret = rdma_get_request(server->listener, &server->id);

	return ret ?: rdma_accept(server->id, NULL);
}

static int disconnect(void *arg)
{
	return rdma_disconnect(arg);
}

GROUP(ep_passive, IN_DEBUG)
{
	struct rdma_addrinfo *res = info(HERE, 7010, RAI_PASSIVE), *active = info(HERE, 7010, 0);
	struct ibv_qp_init_attr *attr = NEED_PTR((struct ibv_qp_init_attr *)malloc(sizeof(*attr)));
	struct ibv_qp_init_attr asked = qp_attr(), mine = qp_attr();
	struct server server = { 0 };
	struct rdma_cm_id *client;
	struct thread *thread;
	int fds;

	*attr = asked;
	RET("create", rdma_create_ep(&server.listener, res, NULL, attr));
	fds = count_fds();
	answer("attr_untouched", "%s", yes(!memcmp(attr, &asked, sizeof(asked))));
	ep_answer("fields", server.listener);
	sync_event_answer("event", server.listener);
	/* The library has copied it. */
	memset(attr, 0xee, sizeof(*attr));
	free(attr);
	RET("listen", rdma_listen(server.listener, 0));
	NEED(rdma_create_ep(&client, active, NULL, &mine));
	thread = thread_begin(serve, &server);
	RET("connect", rdma_connect(client, NULL));
	thread_answer("serve", thread, patience(SOON));
	ep_answer("child", server.id);
	answer("child_pd", "%s", yes(server.id->qp && server.id->qp->pd == server.id->pd));
	thread = thread_begin(disconnect, client);
	RET("disconnect_child", rdma_disconnect(server.id));
	thread_answer("disconnect", thread, patience(SOON));
	VOID("destroy_client", rdma_destroy_ep(client));
	VOID("destroy_child", rdma_destroy_ep(server.id));
	answer("fds_before_listener", "%+d", count_fds() - fds);
	VOID("destroy", rdma_destroy_ep(server.listener));
}

GROUP(ep_passive_wildcard, 0)
{
	struct rdma_addrinfo *res = info(NULL, 7011, RAI_PASSIVE), *active = info(THERE, 7011, 0);
	struct ibv_qp_init_attr attr = qp_attr(), mine = qp_attr();
	struct server server = { 0 };
	struct rdma_cm_id *client;
	struct thread *thread;

	RET("create", rdma_create_ep(&server.listener, res, NULL, &attr));
	addr_answer("address", server.listener, 7011);
	RET("listen", rdma_listen(server.listener, 0));
	NEED(rdma_create_ep(&client, active, NULL, &mine));
	thread = thread_begin(serve, &server);
	RET("connect", rdma_connect(client, NULL));
	thread_answer("serve", thread, patience(SOON));
	ep_answer("child", server.id);
	addr_answer("child_addresses", server.id, 7011);
	answer("child_pd", "%s", yes(server.id->pd == client->pd));
}

GROUP(ep_saved_pd, 0)
{
	struct rdma_addrinfo *res = info(HERE, 7012, RAI_PASSIVE), *active = info(HERE, 7012, 0);
	struct ibv_qp_init_attr attr = qp_attr(), mine = qp_attr();
	struct server server = { 0 };
	struct rdma_cm_id *client;
	struct thread *thread;
	struct ibv_pd *pd;

	NEED(rdma_create_ep(&client, active, NULL, &mine));
	pd = NEED_PTR(ibv_alloc_pd(client->verbs));
	attr.cap.max_recv_wr = 9;
	RET("create", rdma_create_ep(&server.listener, res, pd, &attr));
	NEED(rdma_listen(server.listener, 0));
	thread = thread_begin(serve, &server);
	RET("connect", rdma_connect(client, NULL));
	thread_answer("serve", thread, patience(SOON));
	answer("child_pd", "%s", yes(server.id->qp->pd == pd && server.id->pd == pd));
	answer("listener_pd", "%s", yes(server.listener->pd == pd));
}

GROUP(ep_data, 0)
{
	struct rdma_addrinfo *res = info(HERE, 7013, RAI_PASSIVE), *active = info(HERE, 7013, 0);
	struct rdma_event_channel *ch = channel();
	struct rdma_conn_param param = conn_param();
	struct ibv_qp_init_attr mine = qp_attr();
	struct rdma_cm_id *listener, *client;
	char connect_data[8] = "first:";

	NEED(rdma_create_ep(&listener, res, NULL, NULL));
	RET("migrate", rdma_migrate_id(listener, ch));
	NEED(rdma_listen(listener, 0));
	/* Private data of the route precedes the program's own data. */
	active->ai_connect = connect_data;
	active->ai_connect_len = 6;
	NEED(rdma_create_ep(&client, active, NULL, &mine));
	active->ai_connect = NULL;
	active->ai_connect_len = 0;
	NEED(rdma_migrate_id(client, channel()));
	param.private_data = "mine";
	param.private_data_len = 4;
	RET("connect", rdma_connect(client, &param));
	conn_answer("request", ch);
	RET("get_request_async", rdma_get_request(listener, &client));
}
