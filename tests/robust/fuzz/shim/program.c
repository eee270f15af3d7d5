// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The program of the fuzzer: valid uses of all calls of the library. Threads and forks are left
 * to the unit tests.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/ib.h>
#include <rdma/rdma_cma_alt.h>
#include <rdma/rdma_verbs.h>

#include "id/cmid.h"
#include "base/compiler.h"
#include "base/rdma_cma_new.h"
#include "world.h"

#define MANY 4

static uint8_t data[256];

/* A random address in @out, or NULL. */
static struct sockaddr *any_addr(struct sockaddr_storage *out)
{
	static const sa_family_t families[] = { AF_INET, AF_INET, AF_INET6, AF_IB, AF_UNIX };
	uint8_t byte = in_u8();

	memset(out, 0, sizeof(*out));
	out->ss_family = families[byte % ARRAY_SIZE(families)];
	((uint8_t *)out)[2] = byte;
	((uint8_t *)out)[4] = byte / 64;
	return byte < 250 ? (struct sockaddr *)out : NULL;
}

static struct rdma_conn_param *any_param(struct rdma_conn_param *out)
{
	uint8_t byte = in_u8();

	*out = (struct rdma_conn_param) {
		.private_data = data, .private_data_len = byte, .qp_num = byte,
		.responder_resources = in_u8(), .initiator_depth = in_u8(),
		.retry_count = byte, .rnr_retry_count = byte,
	};
	return byte < 240 ? out : NULL;
}

static void acknowledge(unsigned int i)
{
	if (world.held[i])
		rdma_ack_cm_event(world.held[i]);
	world.held[i] = NULL;
}

static void hold_event(struct rdma_cm_event *event)
{
	unsigned int i = in_below(HELD);

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		keep_id(event->id);
	acknowledge(i);
	world.held[i] = event;
}

static void make_channel(void)
{
	struct rdma_event_channel **channel = &world.channel[in_below(CHANNELS)];

	if (!*channel)
		*channel = rdma_create_event_channel();
}

static void close_channel(void)
{
	struct rdma_event_channel **channel = &world.channel[in_below(CHANNELS)];

	rdma_destroy_event_channel(*channel);
	*channel = NULL;
}

static void make_id(void)
{
	static const enum rdma_port_space spaces[] = {
		RDMA_PS_TCP, RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IPOIB, RDMA_PS_IB,
	};
	struct rdma_cm_id *id;

	if (!rdma_create_id(pick_channel(), &id, NULL, spaces[in_below(ARRAY_SIZE(spaces))]))
		keep_id(id);
}

static void destroy_id(void)
{
	unsigned int i = in_below(IDS);

	if (!world.id[i])
		return;
	rdma_destroy_qp(world.id[i]);
	rdma_destroy_srq(world.id[i]);
	if (!rdma_destroy_id(world.id[i]))
		world.id[i] = NULL;
}

static void destroy_many(void)
{
	unsigned int i, first = in_below(IDS - MANY + 1);
	int errors[MANY];

	for (i = first; i < first + MANY; i++) {
		rdma_destroy_qp(world.id[i]);
		rdma_destroy_srq(world.id[i]);
	}
	rdma_alt_destroy_many(&world.id[first], MANY, in_u8() & 1 ? errors : NULL);
}

static void bind_id(void)
{
	struct sockaddr_storage addr;

	rdma_bind_addr(pick_id(), any_addr(&addr));
}

static void resolve_addr(void)
{
	struct sockaddr_storage src, dst;
	struct rdma_cm_id *id = pick_id();
	struct sockaddr *from = any_addr(&src);

	rdma_resolve_addr(id, from, any_addr(&dst), 1000);
}

static void resolve_route(void)
{
	rdma_resolve_route(pick_id(), 1000);
}

static void connect_id(void)
{
	struct rdma_conn_param param;
	struct rdma_cm_id *id = pick_id();

	rdma_connect(id, any_param(&param));
}

static void listen_id(void)
{
	rdma_listen(pick_id(), in_u8());
}

static void accept_id(void)
{
	struct rdma_conn_param param;
	struct rdma_cm_id *id = pick_id();

	rdma_alt_accept(id, any_param(&param), in_u8() & 1);
}

static void reject_id(void)
{
	struct rdma_cm_id *id = pick_id();
	uint8_t len = in_u8();

	if (len & 1)
		rdma_reject(id, data, len);
	else
		rdma_reject_ece(id, data, len);
}

static void establish_id(void)
{
	rdma_establish(pick_id());
}

static void disconnect_id(void)
{
	rdma_disconnect(pick_id());
}

static void notify_id(void)
{
	rdma_notify(pick_id(), (enum ibv_event_type)in_u8());
}

static void migrate_id(void)
{
	struct rdma_cm_id *id = pick_id();

	rdma_migrate_id(id, pick_channel());
}

static void get_event(void)
{
	struct rdma_event_channel *channel = pick_channel();
	struct rdma_cm_event *event;
	unsigned int n = 1 + in_below(12);

	while (n-- && !rdma_get_cm_event(channel, &event))
		hold_event(event);
}

static void get_events(void)
{
	struct rdma_event_channel *channel = pick_channel();
	struct rdma_cm_event *events[16];
	int i, n;

	n = rdma_alt_get_cm_events(channel, events, 1 + (int)in_below(16));
	for (i = 0; i < n; i++)
		hold_event(events[i]);
}

static void ack_event(void)
{
	acknowledge(in_below(HELD));
}

static void get_request(void)
{
	struct rdma_cm_id *id;

	if (!rdma_get_request(pick_id(), &id))
		keep_id(id);
}

static void make_qp(void)
{
	struct rdma_cm_id *id = pick_id();
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = in_u8(), .max_recv_wr = in_u8() },
	};

	if (!id)
		return;
	attr.qp_type = id->qp_type;
	rdma_create_qp(id, NULL, &attr);
}

static void destroy_qp(void)
{
	rdma_destroy_qp(pick_id());
}

static void make_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = in_u8() } };

	rdma_create_srq(pick_id(), NULL, &attr);
}

static void qp_attributes(void)
{
	struct rdma_cm_id *id = pick_id();
	struct ibv_qp_attr attr = { .qp_state = (enum ibv_qp_state)in_below(8) };
	int mask;

	rdma_init_qp_attr(id, &attr, &mask);
}

static void ece(void)
{
	struct rdma_cm_id *id = pick_id();
	struct ibv_ece ece = { .vendor_id = in_u8() };

	rdma_set_local_ece(id, &ece);
	rdma_get_remote_ece(id, &ece);
}

static void join_group(void)
{
	struct rdma_cm_join_mc_attr_ex attr = { .comp_mask = 3 };
	struct sockaddr_storage addr;
	struct rdma_cm_id *id = pick_id();

	attr.addr = any_addr(&addr);
	attr.join_flags = in_below(4);
	rdma_join_multicast_ex(id, &attr, NULL);
}

static void leave_group(void)
{
	struct sockaddr_storage addr;
	struct rdma_cm_id *id = pick_id();

	rdma_leave_multicast(id, any_addr(&addr));
}

static void set_option(void)
{
	struct rdma_cm_id *id = pick_id();
	int level = (int)in_below(3), name = (int)in_below(5);
	size_t len = in_below(80);
	void *value = malloc(len);

	memset(value, 0x11, len);
	rdma_set_option(id, level, name, value, len);
	free(value);
}

static void post_event(void)
{
	struct rdma_cm_id *id = pick_id();
	int status = (int)in_u32();

	rdma_write_cm_event(id, (enum rdma_cm_event_type)RDMA_CM_ALT_EVENT_USER, status, 7);
}

/* An address in memory of exactly its length. */
static struct sockaddr *cut_addr(socklen_t *len)
{
	struct sockaddr_storage addr;
	void *cut;

	if (!any_addr(&addr)) {
		*len = 0;
		return NULL;
	}
	*len = in_below(sizeof(struct sockaddr_ib) + 1);
	cut = malloc(*len);
	memcpy(cut, &addr, *len);
	return cut;
}

/* Hints for a lookup, or the address of an endpoint. */
static void fill_info(struct rdma_addrinfo *info)
{
	uint8_t byte = in_u8();

	*info = (struct rdma_addrinfo) {
		.ai_flags = byte & (RAI_PASSIVE | RAI_FAMILY) ? byte & 0xf : 0,
		.ai_family = byte & 16 ? AF_IB : AF_INET,
		.ai_qp_type = byte & 32 ? IBV_QPT_UD : IBV_QPT_RC,
		.ai_port_space = byte & 32 ? RDMA_PS_UDP : RDMA_PS_TCP,
	};
	info->ai_flags |= RAI_NUMERICHOST;
	info->ai_flags &= ~RAI_SA;
	info->ai_src_addr = cut_addr(&info->ai_src_len);
	info->ai_dst_addr = cut_addr(&info->ai_dst_len);
	info->ai_connect_len = byte & 64 ? byte : 0;
	info->ai_connect = byte & 128 ? malloc(byte) : NULL;
	if (info->ai_connect)
		memset(info->ai_connect, 1, byte);
}

static void look_up(void)
{
	static const char * const nodes[] = { "10.9.0.2", "fd00:9::2", NULL };
	const char *node = nodes[in_below(ARRAY_SIZE(nodes))];
	struct rdma_addrinfo hints, *result = NULL;
	struct rdma_cm_id *id = pick_id();

	fill_info(&hints);
	if (in_u8() & 1) {
		rdma_resolve_addrinfo(id, node, NULL, &hints);
		if (!rdma_query_addrinfo(id, &result))
			rdma_freeaddrinfo(result);
	} else if (!rdma_getaddrinfo(node, NULL, &hints, &result)) {
		rdma_freeaddrinfo(result);
	}
	free(hints.ai_src_addr);
	free(hints.ai_dst_addr);
	free(hints.ai_connect);
}

static void make_endpoint(void)
{
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 1, .max_recv_wr = 1 } };
	struct rdma_addrinfo info;
	struct rdma_cm_id *id;

	fill_info(&info);
	if (!rdma_create_ep(&id, &info, NULL, in_u8() & 1 ? &attr : NULL))
		keep_id(id);
	free(info.ai_src_addr);
	free(info.ai_dst_addr);
	free(info.ai_connect);
}

static void connect_many(void)
{
	struct rdma_alt_connect_attr attrs[MANY] = { 0 };
	struct rdma_cm_id *ids[MANY] = { 0 };
	struct rdma_conn_param params[MANY];
	struct sockaddr_storage dst[MANY];
	int i, errors[MANY], n = 1 + (int)in_below(MANY);

	for (i = 0; i < n; i++) {
		attrs[i].channel = pick_channel();
		attrs[i].dst_addr = any_addr(&dst[i]);
		attrs[i].conn_param = any_param(&params[i]);
		attrs[i].timeout_ms = 1000;
		attrs[i].ps = RDMA_PS_TCP;
	}
	if (n == 1)
		rdma_alt_connect(&attrs[0], &ids[0]);
	else
		rdma_alt_connect_many(attrs, n, ids, in_u8() & 1 ? errors : NULL);
	for (i = 0; i < n; i++) {
		if (ids[i])
			keep_id(ids[i]);
	}
}

/* Destroys an id that the program never got. */
static void find_lost(uint32_t handle)
{
	struct rcl_id *id;

	while ((id = rcl_id_find(handle))) {
		rcl_id_put(id);
		rdma_destroy_ep(&id->id);
	}
}

void program_end(void)
{
	unsigned int i;

	for (i = 0; i < HELD; i++)
		acknowledge(i);
	for (i = 0; i < IDS; i++) {
		if (world.id[i])
			rdma_destroy_ep(world.id[i]);
	}
	for (i = 1; i < HANDLES; i++)
		find_lost(i);
	for (i = 0; i < world.handles; i++)
		find_lost(world.handle[i]);
	for (i = 0; i < CHANNELS; i++)
		rdma_destroy_event_channel(world.channel[i]);
}

const operation program_operations[] = {
	make_channel, make_id, make_id, resolve_addr, resolve_route, connect_id, get_event,
	get_event, get_events, ack_event, bind_id, listen_id, get_request, accept_id, reject_id,
	establish_id, disconnect_id, notify_id, migrate_id, make_qp, destroy_qp, make_srq,
	qp_attributes, ece, join_group, leave_group, set_option, post_event, look_up,
	make_endpoint, connect_many, destroy_id, destroy_many, close_channel,
};
const unsigned int program_operations_count = ARRAY_SIZE(program_operations);
