// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Removal of a device, and its return. */
#include "own_device.h"
#include "rca_datagram.h"
#include "tasks.h"

#define PORT 7471

/* An id without its device can only be destroyed. */
static void removed(int ctx, uint32_t id)
{
	struct rdma_cm_alt_route route;
	struct ib_uverbs_qp_attr attr;
	int on = 1;

	EXPECT_EQ(rca_bind(ctx, id, HERE, 0), -ENXIO);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, HERE, 1), -ENXIO);
	EXPECT_EQ(rca_resolve_route(ctx, id), -ENXIO);
	EXPECT_EQ(rca_listen(ctx, id, 0), -ENXIO);
	EXPECT_EQ(rca_connect(ctx, id, NULL, 0), -ENXIO);
	EXPECT_EQ(rca_accept(ctx, id, 0, NULL, 0), -ENXIO);
	EXPECT_EQ(rca_reject(ctx, id, 0, NULL, 0), -ENXIO);
	EXPECT_EQ(rca_establish(ctx, id), -ENXIO);
	EXPECT_EQ(rca_disconnect(ctx, id), -ENXIO);
	EXPECT_EQ(rca_notify(ctx, id, 4), -ENXIO);
	EXPECT_EQ(rca_qp_attr(ctx, id, 1, &attr), -ENXIO);
	EXPECT_EQ(rca_query(ctx, id, &route), -ENXIO);
	EXPECT_EQ(rca_set_option(ctx, id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on,
				 sizeof(on)), -ENXIO);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
}

TEST_LONG(bound_id_is_told_once)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id;
	event_t ev;

	add_own_device(OWN_VETH);
	id = get_id(ctx, queue, 42);
	EXPECT_EQ(rca_bind(ctx, id, OWN_ADDR, PORT), 0);
	remove_own_device();
	EXPECT_EVENT_STATUS(queue, DEVICE_REMOVAL, id, 0, &ev);
	EXPECT_EQ(ev.cookie, 42);
	EXPECT(!event_waits(queue));
	removed(ctx, id);
}

TEST_LONG(listening_id_is_told_once)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id;

	add_own_device(OWN_VETH);
	id = get_bound(ctx, queue, OWN_ADDR, PORT);
	EXPECT_EQ(rca_listen(ctx, id, 0), 0);
	remove_own_device();
	EXPECT_EVENT(queue, DEVICE_REMOVAL, id);
	EXPECT(!event_waits(queue));
	removed(ctx, id);
}

TEST_LONG(resolved_ids_are_told_once_each)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t ids[10];
	event_t ev;

	add_own_device(OWN_VETH);
	for (int i = 0; i < 10; i++) {
		ids[i] = get_id(ctx, queue, i);
		await_addr(ctx, queue, ids[i], OWN_ADDR, 1);
	}
	remove_own_device();
	for (int i = 0; i < 10; i++) {
		EXPECT_EVENT_STATUS(queue, DEVICE_REMOVAL, 0, 0, &ev);
		removed(ctx, ids[ev.cookie]);
	}
	EXPECT(!event_waits(queue));
}

/* Both ends are on the device: the end of the first may be reported to the second before. */
static void expect_removal(int queue, uint32_t id, uint64_t cookie)
{
	event_t ev;

	do {
		get_event(queue, &ev);
		EXPECT_EQ(ev.id, id);
		EXPECT_EQ(ev.cookie, cookie);
	} while (ev.type == RDMA_CM_ALT_EVENT_DISCONNECTED);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL);
	EXPECT(!event_waits(queue));
}

TEST(connection_is_told_on_both_sides)
{
	struct pair p;
	event_t ev;

	add_own_device(OWN_VETH);
	p = get_listening(OWN_ADDR);
	p.client = get_client(p.ctx, p.cq, OWN_ADDR, p.port, CLIENT);
	pair_send_req(&p, &ev);
	pair_send_rep(&p);
	pair_send_rtu(&p);
	EXPECT_EQ(rca_destroy(p.ctx, p.listener), 0);
	remove_own_device();
	expect_removal(p.cq, p.client, CLIENT);
	expect_removal(p.lq, p.server, SERVER);
	removed(p.ctx, p.client);
	removed(p.ctx, p.server);
}

TEST_LONG(datagrams_are_told_on_both_sides)
{
	struct pair p;
	event_t ev;

	add_own_device(OWN_VETH);
	p = get_datagram_routed(OWN_ADDR);
	pair_send_req(&p, &ev);
	EXPECT_EQ(datagram_accept(&p, 0), 0);
	EXPECT_EVENT(p.cq, ESTABLISHED, p.client);
	EXPECT_EQ(rca_destroy(p.ctx, p.listener), 0);
	remove_own_device();
	expect_removal(p.cq, p.client, CLIENT);
	expect_removal(p.lq, p.server, SERVER);
	removed(p.ctx, p.client);
	removed(p.ctx, p.server);
}

TEST(datagram_request_under_way)
{
	struct pair p;
	event_t ev;

	/* The client waits for an answer, the server's id for its program. */
	add_own_device(OWN_VETH);
	p = get_datagram_routed(OWN_ADDR);
	pair_send_req(&p, &ev);
	EXPECT_EQ(rca_destroy(p.ctx, p.listener), 0);
	remove_own_device();
	/* The removal of the server's id may refuse the request before that of the client. */
	get_event(p.cq, &ev);
	if (ev.type == RDMA_CM_ALT_EVENT_UNREACHABLE)
		get_event(p.cq, &ev);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL);
	EXPECT_EQ(ev.id, p.client);
	EXPECT(!event_waits(p.cq));
	/* The server's id belongs to the program since its request was read. */
	EXPECT_EVENT(p.lq, DEVICE_REMOVAL, p.server);
	EXPECT(!event_waits(p.lq));
	removed(p.ctx, p.client);
	removed(p.ctx, p.server);
}

TEST(request_that_nobody_read)
{
	struct pair p;
	event_t ev;

	/* The request can still be read, but its id can only be destroyed. */
	add_own_device(OWN_VETH);
	p = get_listening(OWN_ADDR);
	p.client = get_client(p.ctx, p.cq, OWN_ADDR, p.port, CLIENT);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	EXPECT(event_comes(p.lq, PATIENCE));
	remove_own_device();
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EVENT(p.lq, DEVICE_REMOVAL, p.listener);
	EXPECT_EQ(rca_accept(p.ctx, ev.id, 0, NULL, 0), -ENXIO);
	removed(p.ctx, ev.id);
	removed(p.ctx, p.listener);
}

TEST_LONG(wildcard_listener_is_not_told_and_listens_on_when_it_is_back)
{
	struct pair p;
	event_t ev;

	add_own_device(OWN_VETH);
	p = get_listening("0.0.0.0");
	remove_own_device();
	EXPECT(!event_waits(p.lq));
	readd_own_device();
	p.client = get_client(p.ctx, p.cq, OWN_ADDR, p.port, CLIENT);
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	/* A work item makes the listener cover the new device. */
	get_event(event_comes(p.lq, 1) ? p.lq : p.cq, &ev);
	for (int i = 0; ev.type == RDMA_CM_ALT_EVENT_REJECTED && i < 100; i++) {
		usleep(50000);
		p.client = get_client(p.ctx, p.cq, OWN_ADDR, p.port, CLIENT);
		EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
		get_event(event_comes(p.lq, 1) ? p.lq : p.cq, &ev);
	}
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_CONNECT_REQUEST);
	remove_own_device();
}

TEST_LONG(address_can_be_bound_when_the_device_is_back)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id;

	add_own_device(OWN_VETH);
	id = get_bound(ctx, queue, OWN_ADDR, PORT);
	remove_own_device();
	EXPECT_EVENT(queue, DEVICE_REMOVAL, id);
	EXPECT_EQ(rca_bind(ctx, get_id(ctx, queue, 0), OWN_ADDR, PORT + 1), -ENODEV);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	readd_own_device();
	get_bound(ctx, queue, OWN_ADDR, PORT);
	remove_own_device();
}

TEST(resolution_under_way)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id;

	/* The id is bound to the device. The resolution outlasts the removal. */
	add_own_device(OWN_VETH);
	id = get_bound(ctx, queue, OWN_ADDR, 0);
	EXPECT_EQ(rca_resolve_addr_for(ctx, id, NULL, OWN_NOBODY, 1, 60000), 0);
	remove_own_device();
	EXPECT_EVENT(queue, DEVICE_REMOVAL, id);
	removed(ctx, id);
	EXPECT(!event_waits(queue));
}

struct busy {
	int ctx;
	bool stop;
};

static void *bind_and_listen(void *arg)
{
	struct busy *busy = arg;

	while (!__atomic_load_n(&busy->stop, __ATOMIC_SEQ_CST)) {
		uint32_t id = get_id(busy->ctx, -1, 0);

		if (!rca_bind(busy->ctx, id, OWN_ADDR, 0))
			rca_listen(busy->ctx, id, 0);
		rca_destroy(busy->ctx, id);
		id = get_id(busy->ctx, -1, 0);
		rca_listen(busy->ctx, id, 0);
		rca_resolve_addr(busy->ctx, id, NULL, OWN_ADDR, 1);
		rca_destroy(busy->ctx, id);
	}
	return NULL;
}

TEST_LONG(device_that_comes_and_goes_under_load)
{
	struct busy busy = { .ctx = get_ctx() };
	pthread_t threads[2];

	ktap_timeout(600);
	add_own_device(OWN_VETH);
	start_threads(threads, 2, bind_and_listen, &busy);
	for (int i = 0; i < 3; i++) {
		remove_own_device();
		readd_own_device();
	}
	__atomic_store_n(&busy.stop, true, __ATOMIC_SEQ_CST);
	join_threads(threads, 2);
	delete_own_device();
}

KTAP_MAIN
