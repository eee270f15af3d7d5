// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ids for QP types other than RC, which only rdma_create_ep can create: reference section 1.2.
 * Software devices have no XRC QPs, but connections of such ids need none.
 */
#include "steps.h"

static const struct {
	const char *name;
	int type;
	enum rdma_port_space ps;
} types[] = {
	{ "rc_ib", IBV_QPT_RC, RDMA_PS_IB },
	{ "uc_ib", IBV_QPT_UC, RDMA_PS_IB },
	{ "uc_tcp", IBV_QPT_UC, RDMA_PS_TCP },
	{ "ini_ib", IBV_QPT_XRC_SEND, RDMA_PS_IB },
	{ "ini_tcp", IBV_QPT_XRC_SEND, RDMA_PS_TCP },
	{ "tgt_ib", IBV_QPT_XRC_RECV, RDMA_PS_IB },
	{ "tgt_tcp", IBV_QPT_XRC_RECV, RDMA_PS_TCP },
};

enum { TYPES = sizeof(types) / sizeof(types[0]) };

static char *name_of(int i, const char *what)
{
	static char names[8][64];
	static int next;
	char *name = names[next++ % 8];

	snprintf(name, sizeof(names[0]), "%s_%s", types[i].name, what);
	return name;
}

/* The result of rdma_getaddrinfo for such an id. */
static struct rdma_addrinfo info(int i, struct sockaddr *addr, bool passive)
{
	struct rdma_addrinfo res = {
		.ai_flags = passive ? RAI_PASSIVE : 0,
		.ai_family = AF_INET,
		.ai_qp_type = types[i].type,
		.ai_port_space = types[i].ps,
	};

	if (passive) {
		res.ai_src_addr = addr;
		res.ai_src_len = sizeof(struct sockaddr_in);
	} else {
		res.ai_dst_addr = addr;
		res.ai_dst_len = sizeof(struct sockaddr_in);
	}
	return res;
}

static void type_answer(const char *check, const struct rdma_cm_id *id)
{
	answer(check, "type=%d ps=%#x verbs=%s qp=%s", (int)id->qp_type, (int)id->ps,
	       yes(id->verbs), qp_state(id->qp));
}

/* Descriptors that a process opens only once do not count. */
static void open_device(void)
{
	make_bound(channel(), HERE, 0);
}

GROUP(types_active, 0)
{
	uint8_t timeout = 15;

	open_device();

	for (int i = 0; i < TYPES; i++) {
		struct rdma_addrinfo res = info(i, at(HERE, 7201), false);
		struct ibv_qp_init_attr attr = qp_attr();
		struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT };
		struct rdma_cm_id *id = NULL;
		int mask = 0;

		if (RET(name_of(i, "create"), rdma_create_ep(&id, &res, NULL, NULL)))
			continue;
		type_answer(name_of(i, "fields"), id);
		RET(name_of(i, "ack_timeout"),
		    rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
				    sizeof(timeout)));
		RET(name_of(i, "qp_attr"), rdma_init_qp_attr(id, &init, &mask));
		answer(name_of(i, "mask"), "%#x", mask);
		VOID(name_of(i, "destroy"), rdma_destroy_ep(id));
		if (types[i].type != IBV_QPT_XRC_SEND && types[i].type != IBV_QPT_XRC_RECV)
			continue;
		id = NULL;
		RET(name_of(i, "create_with_qp"), rdma_create_ep(&id, &res, NULL, &attr));
		if (id)
			rdma_destroy_ep(id);
	}
}

GROUP(types_passive, 0)
{
	open_device();
	for (int i = 0; i < TYPES; i++) {
		struct rdma_addrinfo res = info(i, at(HERE, 7210 + i), true);
		struct rdma_cm_id *id = NULL;

		if (RET(name_of(i, "create"), rdma_create_ep(&id, &res, NULL, NULL)))
			continue;
		type_answer(name_of(i, "fields"), id);
		RET(name_of(i, "listen"), rdma_listen(id, 5));
		VOID(name_of(i, "destroy"), rdma_destroy_ep(id));
	}
}

static struct rdma_cm_id *endpoint(int i, struct sockaddr *addr, bool passive,
				   struct rdma_event_channel *ch)
{
	struct rdma_addrinfo res = info(i, addr, passive);
	struct rdma_cm_id *id;

	NEED(rdma_create_ep(&id, &res, NULL, NULL));
	NEED(rdma_migrate_id(id, ch));
	return id;
}

/* Do the messages report matching types? */
static bool fits(int i, int j)
{
	if (types[i].type == IBV_QPT_XRC_SEND)
		return types[j].type == IBV_QPT_XRC_RECV;
	return types[i].type == types[j].type;
}

/* Every type of RDMA_PS_IB connects to every type; the other port spaces have one type each. */
GROUP(types_connect, 0)
{
	struct rdma_event_channel *active = channel(), *passive = channel();
	struct rdma_conn_param param = { .qp_num = 0x1700, .retry_count = 7 };

	for (int i = 0; i < TYPES; i++) {
		for (int j = 0; j < TYPES; j++) {
			struct sockaddr *addr = at(HERE, 7230 + TYPES * i + j);
			struct rdma_cm_id *listener, *client, *child;
			char check[64];

			if (types[i].ps != RDMA_PS_IB || types[j].ps != RDMA_PS_IB)
				continue;
			listener = endpoint(j, addr, true, passive);
			NEED(rdma_listen(listener, 5));
			client = endpoint(i, addr, false, active);
			param.qp_num++;
			if (RET(name_of(i, types[j].name), rdma_connect(client, &param)))
				goto next;
			if (!fits(i, j)) {
				snprintf(check, sizeof(check), "%s_by_%s", types[i].name,
					 types[j].name);
				event_answer(check, active, SOON);
				goto next;
			}
			child = get_child(passive);
			param.qp_num++;
			RET(name_of(i, "accept"), rdma_accept(child, &param));
			event_answer(name_of(i, "response"), active, SOON);
			RET(name_of(i, "establish"), rdma_establish(client));
			event_answer(name_of(i, "established"), passive, SOON);
			NEED(rdma_destroy_id(child));
			event_answer(name_of(i, "end"), active, 2000);
next:
			NEED(rdma_destroy_id(client));
			NEED(rdma_destroy_id(listener));
		}
	}
}
