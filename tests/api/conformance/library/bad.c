// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * NULL and other invalid arguments. Stock crashes for some of them, and may then hold a lock:
 * each question has a group, and so a process, of its own.
 */
#include "steps.h"

#define BAD(name, expression)							\
	GROUP(null_##name, 0)							\
	{									\
		RET("answer", expression);					\
	}

#define BAD_VOID(name, expression)						\
	GROUP(null_##name, 0)							\
	{									\
		VOID("answer", expression);					\
	}

static struct rdma_conn_param no_param;
static struct rdma_cm_id *made;

BAD(create_id_id, rdma_create_id(channel(), NULL, NULL, RDMA_PS_TCP))
BAD(destroy_id, rdma_destroy_id(NULL))
BAD(bind_addr, rdma_bind_addr(NULL, at(HERE, 0)))
BAD(resolve_addr, rdma_resolve_addr(NULL, NULL, at(HERE, 0), 100))
BAD(resolve_route, rdma_resolve_route(NULL, 100))
BAD(listen, rdma_listen(NULL, 1))
BAD(connect, rdma_connect(NULL, &no_param))
BAD(connect_both, rdma_connect(NULL, NULL))
BAD(accept, rdma_accept(NULL, &no_param))
BAD(reject, rdma_reject(NULL, NULL, 0))
BAD(reject_ece, rdma_reject_ece(NULL, NULL, 0))
BAD(disconnect, rdma_disconnect(NULL))
BAD(establish, rdma_establish(NULL))
BAD(notify, rdma_notify(NULL, IBV_EVENT_COMM_EST))
BAD(get_request, rdma_get_request(NULL, &made))
BAD(get_cm_event, rdma_get_cm_event(NULL, &(struct rdma_cm_event *){ NULL }))
BAD(get_cm_event_event, rdma_get_cm_event(channel(), NULL))
BAD(ack_cm_event, rdma_ack_cm_event(NULL))
BAD(migrate_id, rdma_migrate_id(NULL, channel()))
BAD(set_option, rdma_set_option(NULL, 0, 0, "", 1))
BAD(create_qp, rdma_create_qp(NULL, NULL, &(struct ibv_qp_init_attr){ 0 }))
BAD(create_qp_attr, rdma_create_qp(make_bound(channel(), HERE, 0), NULL, NULL))
BAD(create_qp_ex, rdma_create_qp_ex(NULL, &(struct ibv_qp_init_attr_ex){ 0 }))
BAD(create_qp_ex_attr, rdma_create_qp_ex(make_bound(channel(), HERE, 0), NULL))
BAD(create_srq, rdma_create_srq(NULL, NULL, &(struct ibv_srq_init_attr){ 0 }))
BAD(create_srq_attr, rdma_create_srq(make_bound(channel(), HERE, 0), NULL, NULL))
BAD(create_srq_unbound, rdma_create_srq(make_id(channel(), RDMA_PS_TCP), NULL,
					&(struct ibv_srq_init_attr){ .attr = { 8, 1, 0 } }))
BAD(create_ep_id, rdma_create_ep(NULL, &(struct rdma_addrinfo){ 0 }, NULL, NULL))
BAD(create_ep_res, rdma_create_ep(&made, NULL, NULL, NULL))
BAD(getaddrinfo_res, rdma_getaddrinfo(HERE, "1", NULL, NULL))
BAD(init_qp_attr, rdma_init_qp_attr(NULL, &(struct ibv_qp_attr){ 0 }, &(int){ 0 }))
BAD(init_qp_attr_attr, rdma_init_qp_attr(make_bound(channel(), HERE, 0), NULL, &(int){ 0 }))
BAD(init_qp_attr_mask, rdma_init_qp_attr(make_bound(channel(), HERE, 0),
					 &(struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT }, NULL))
BAD(join_multicast, rdma_join_multicast(NULL, at("239.1.1.1", 0), NULL))
BAD(leave_multicast, rdma_leave_multicast(NULL, at("239.1.1.1", 0)))
BAD(set_local_ece, rdma_set_local_ece(NULL, &(struct ibv_ece){ 1, 0, 0 }))
BAD(set_local_ece_ece, rdma_set_local_ece(make_id(channel(), RDMA_PS_TCP), NULL))
BAD(get_remote_ece, rdma_get_remote_ece(NULL, &(struct ibv_ece){ 0 }))
BAD(get_remote_ece_ece, rdma_get_remote_ece(make_id(channel(), RDMA_PS_TCP), NULL))
BAD(get_src_port, rdma_get_src_port(NULL))
BAD(get_dst_port, rdma_get_dst_port(NULL))
BAD(bind_addr_addr, rdma_bind_addr(make_id(channel(), RDMA_PS_TCP), NULL))
BAD(connect_unbound, rdma_connect(make_id(channel(), RDMA_PS_TCP), &no_param))
BAD(connect_unbound_null, rdma_connect(make_id(channel(), RDMA_PS_TCP), NULL))
BAD(connect_bound_null, rdma_connect(make_bound(channel(), HERE, 0), NULL))
BAD(accept_unbound, rdma_accept(make_id(channel(), RDMA_PS_TCP), &no_param))
BAD(accept_unbound_null, rdma_accept(make_id(channel(), RDMA_PS_TCP), NULL))

BAD_VOID(destroy_event_channel, rdma_destroy_event_channel(NULL))
BAD_VOID(destroy_qp, rdma_destroy_qp(NULL))
BAD_VOID(destroy_srq, rdma_destroy_srq(NULL))
BAD_VOID(destroy_srq_none, rdma_destroy_srq(make_bound(channel(), HERE, 0)))
BAD_VOID(destroy_ep, rdma_destroy_ep(NULL))
BAD_VOID(free_devices, rdma_free_devices(NULL))
BAD_VOID(freeaddrinfo, rdma_freeaddrinfo(NULL))

GROUP(null_accept_without_qp, 0)
{
	struct pair pair = make_halves(RDMA_PS_TCP, true);

	NEED(rdma_connect(pair.client, NULL));
	pair.child = get_child(pair.passive);
	RET("answer", rdma_accept(pair.child, NULL));
}

GROUP(null_private_data, 0)
{
	struct pair pair = make_halves(RDMA_PS_TCP, true);
	struct rdma_conn_param param = conn_param();

	param.private_data_len = 5;
	RET("connect", rdma_connect(pair.client, &param));
	conn_answer("request", pair.passive);
}

GROUP(null_bad_pointer, 0)
{
	struct pair pair = make_halves(RDMA_PS_TCP, true);
	struct rdma_conn_param param = conn_param();

	param.private_data = (void *)8;
	param.private_data_len = 5;
	RET("connect", rdma_connect(pair.client, &param));
}
