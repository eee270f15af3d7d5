// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Removal of a device while a request is unanswered, while an answer is on its way, while ids are
 * destroyed, and while no events are read.
 */
#include "own_device.h"
#include "rca_datagram.h"
#include "tasks.h"

#define PORT 7471
#define GROUP "239.8.1.1"

static void expect_removal(int queue, uint32_t id)
{
	event_t ev;

	/* The end of the peer may be reported before. */
	do {
		get_event(queue, &ev);
		EXPECT_EQ(ev.id, id);
	} while (ev.type == RDMA_CM_ALT_EVENT_DISCONNECTED ||
		 ev.type == RDMA_CM_ALT_EVENT_REJECTED);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL);
	EXPECT(!event_waits(queue));
}

TEST_LONG(peer_was_asked_and_says_nothing)
{
	uint32_t id;
	int ctx = get_ctx(), queue = get_queue(ctx);

	add_own_device(OWN_VETH);
	id = get_client(ctx, queue, OWN_SILENT, PORT, CLIENT);
	EXPECT_EQ(rca_connect(ctx, id, NULL, 0), 0);
	remove_own_device();
	EXPECT_EVENT(queue, DEVICE_REMOVAL, id);
	EXPECT(!event_waits(queue));
	EXPECT_EQ(rca_disconnect(ctx, id), -ENXIO);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
}

TEST_LONG(peer_of_a_datagram_was_asked_and_says_nothing)
{
	uint32_t id;
	int ctx = get_ctx(), queue = get_queue(ctx);

	add_own_device(OWN_VETH);
	EXPECT_EQ(rca_create(ctx, queue, RDMA_PS_UDP, IB_UVERBS_QPT_UD, CLIENT, &id), 0);
	await_addr(ctx, queue, id, OWN_SILENT, PORT);
	await_route(ctx, queue, id);
	EXPECT_EQ(rca_connect(ctx, id, NULL, 0), 0);
	remove_own_device();
	EXPECT_EVENT(queue, DEVICE_REMOVAL, id);
	EXPECT(!event_waits(queue));
	EXPECT_EQ(rca_destroy(ctx, id), 0);
}

/* A request that was read; and accepted, but not confirmed by the client. */
static void get_half(struct pair *p, bool accepted)
{
	event_t ev;

	add_own_device(OWN_VETH);
	*p = get_routed(OWN_ADDR);
	pair_send_req(p, &ev);
	EXPECT_EQ(rca_destroy(p->ctx, p->listener), 0);
	if (!accepted)
		return;
	pair_send_rep(p);
}

TEST_LONG(request_was_read_and_not_answered)
{
	struct pair p;

	get_half(&p, false);
	remove_own_device();
	expect_removal(p.cq, p.client);
	/* The server's id belongs to the program since its request was read. */
	expect_removal(p.lq, p.server);
	EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, NULL, 0), -ENXIO);
	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
}

TEST_LONG(request_was_accepted_and_not_confirmed)
{
	struct pair p;

	get_half(&p, true);
	remove_own_device();
	expect_removal(p.cq, p.client);
	expect_removal(p.lq, p.server);
	EXPECT_EQ(rca_establish(p.ctx, p.client), -ENXIO);
	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
}

/* One id in each state with a device, and their events are not read. */
static void make_all(int ctx, int queue)
{
	uint32_t id, member;

	get_bound(ctx, queue, OWN_ADDR, PORT + 1);
	EXPECT_EQ(rca_listen(ctx, get_bound(ctx, queue, OWN_ADDR, PORT), 0), 0);
	id = get_id(ctx, queue, 0);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, OWN_NOBODY, PORT), 0);
	id = get_id(ctx, queue, 0);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, OWN_SILENT, PORT), 0);
	for (int i = 0; i < 3; i++) {
		int own = get_queue(ctx);

		id = get_client(ctx, own, i ? OWN_ADDR : OWN_SILENT, PORT, 0);
		EXPECT_EQ(rca_set_queue(ctx, id, queue), 0);
		EXPECT_EQ(rca_connect(ctx, id, NULL, 0), 0);
	}
	EXPECT_EQ(rca_create(ctx, queue, RDMA_PS_UDP, IB_UVERBS_QPT_UD, 0, &id), 0);
	EXPECT_EQ(rca_bind(ctx, id, OWN_ADDR, 0), 0);
	EXPECT_EQ(rca_join(ctx, id, GROUP, 0, 0, &member), 0);
	EXPECT(event_comes(queue, PATIENCE));
}

TEST(nobody_reads_the_events)
{
	int ctx = get_ctx(), queue = get_queue(ctx);

	add_own_device(OWN_VETH);
	make_all(ctx, queue);
	remove_own_device();
	EXPECT(event_waits(queue));
	/* The ids keep their ports until they are destroyed, but are not on the new device. */
	readd_own_device();
	EXPECT_EQ(rca_bind(ctx, get_id(ctx, -1, 0), OWN_ADDR, PORT), -EADDRINUSE);
	EXPECT_EQ(rca_listen(ctx, get_bound(ctx, -1, OWN_ADDR, PORT + 9), 0), 0);
	MUST(close(queue));
	remove_own_device();
}

TEST_LONG(process_is_stopped_and_killed)
{
	pid_t pid = MUST(fork());
	int status;

	if (!pid) {
		int ctx;

		add_own_device(OWN_VETH);
		ctx = get_ctx();
		make_all(ctx, get_queue(ctx));
		raise(SIGSTOP);
		_exit(1);
	}
	MUST(waitpid(pid, &status, WUNTRACED));
	EXPECT(WIFSTOPPED(status));
	remove_own_device();
	kill_child(pid);
}

/* The ids of a process that has died disconnect in the background. */
TEST(ids_of_a_dead_process_are_disconnecting)
{
	struct pair p;
	event_t ev;
	pid_t pid;

	add_own_device(OWN_VETH);
	p = get_listening(OWN_ADDR);
	pid = MUST(fork());
	if (!pid) {
		int ctx = get_ctx(), queue = get_queue(ctx);

		for (int i = 0; i < 8; i++) {
			uint32_t id = get_client(ctx, queue, OWN_ADDR, p.port, 0);

			EXPECT_EQ(rca_connect(ctx, id, NULL, 0), 0);
			EXPECT_EVENT(queue, CONNECT_RESPONSE, id);
			EXPECT_EQ(rca_establish(ctx, id), 0);
		}
		_exit(0);
	}
	for (int i = 0; i < 8; i++) {
		EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
		EXPECT_EQ(rca_accept(p.ctx, ev.id, SERVER, NULL, 0), 0);
		EXPECT_EVENT(p.lq, ESTABLISHED, ev.id);
	}
	MUST(waitpid(pid, NULL, 0));
	remove_own_device();
}

struct busy {
	int ctx;
	uint16_t port;
	bool stop;
	unsigned int connected;
};

/* Accept all requests, and destroy ids when they have ended. */
static void *serve(void *arg)
{
	struct busy *busy = arg;
	int queue = get_queue(busy->ctx);
	uint32_t id = get_id(busy->ctx, queue, LISTENER);
	event_t ev;

	EXPECT_EQ(rca_bind(busy->ctx, id, "0.0.0.0", busy->port), 0);
	EXPECT_EQ(rca_listen(busy->ctx, id, 0), 0);
	while (!__atomic_load_n(&busy->stop, __ATOMIC_SEQ_CST)) {
		if (!event_comes(queue, 1))
			continue;
		get_event(queue, &ev);
		if (ev.type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST)
			rca_accept(busy->ctx, ev.id, SERVER, NULL, 0);
		else if (ev.type != RDMA_CM_ALT_EVENT_ESTABLISHED)
			rca_destroy(busy->ctx, ev.id);
	}
	return NULL;
}

/* Make connections. Each step may fail, as the device may be removed at any time. */
static void *connect_and_go(void *arg)
{
	struct busy *busy = arg;
	int queue = get_queue(busy->ctx);
	event_t ev;

	while (!__atomic_load_n(&busy->stop, __ATOMIC_SEQ_CST)) {
		uint32_t id = get_id(busy->ctx, queue, CLIENT);

		if (rca_resolve_addr(busy->ctx, id, NULL, OWN_ADDR, busy->port))
			goto destroy;
		while (event_comes(queue, 5)) {
			get_event(queue, &ev);
			if (ev.type == RDMA_CM_ALT_EVENT_ADDR_RESOLVED) {
				if (rca_resolve_route(busy->ctx, id))
					break;
			} else if (ev.type == RDMA_CM_ALT_EVENT_ROUTE_RESOLVED) {
				if (rca_connect(busy->ctx, id, NULL, 0))
					break;
			} else if (ev.type == RDMA_CM_ALT_EVENT_CONNECT_RESPONSE) {
				if (rca_establish(busy->ctx, id))
					break;
				__atomic_fetch_add(&busy->connected, 1, __ATOMIC_SEQ_CST);
				rca_disconnect(busy->ctx, id);
			} else {
				break;
			}
		}
destroy:
		EXPECT_EQ(rca_destroy(busy->ctx, id), 0);
	}
	return NULL;
}

TEST(device_that_comes_and_goes_under_connections)
{
	struct busy busy = { .ctx = get_ctx(), .port = PORT };
	unsigned int before;
	pthread_t threads[3];

	ktap_timeout(600);
	add_own_device(OWN_VETH);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(pthread_create(&threads[i], NULL, i ? connect_and_go : serve, &busy), 0);
	for (int i = 0; i < 4; i++) {
		/* Wait until connections are made again. */
		before = __atomic_load_n(&busy.connected, __ATOMIC_SEQ_CST);
		for (int n = 0; n < PATIENCE * 100; n++) {
			if (__atomic_load_n(&busy.connected, __ATOMIC_SEQ_CST) > before + 3)
				break;
			usleep(10000);
		}
		EXPECT(__atomic_load_n(&busy.connected, __ATOMIC_SEQ_CST) > before + 3);
		remove_own_device();
		readd_own_device();
	}
	__atomic_store_n(&busy.stop, true, __ATOMIC_SEQ_CST);
	join_threads(threads, 3);
	remove_own_device();
}

/* Removes all rxe devices at once. Those of the rig are added again. */
TEST(driver_is_unloaded)
{
	uint32_t here, elsewhere, wildcard;
	int ctx, queue, status;
	event_t ev;

	add_own_device(OWN_VETH);
	ctx = get_ctx();
	queue = get_queue(ctx);
	make_all(ctx, get_queue(ctx));
	here = get_bound(ctx, queue, HERE, PORT + 2);
	elsewhere = get_bound(ctx, queue, ELSEWHERE, PORT + 2);
	EXPECT_EQ(rca_listen(ctx, elsewhere, 0), 0);
	wildcard = get_id(ctx, queue, 0);
	EXPECT_EQ(rca_bind(ctx, wildcard, "0.0.0.0", PORT + 3), 0);
	EXPECT_EQ(rca_listen(ctx, wildcard, 0), 0);
	status = system("timeout 40 rmmod rdma_rxe");
	EXPECT_EQ(system("modprobe rdma_rxe && rdma link add rxe0 type rxe netdev d0 &&"
			 "rdma link add rxe1 type rxe netdev v0"), 0);
	EXPECT_EQ(status, 0);
	for (int i = 0; i < 2; i++) {
		EXPECT_EVENT_STATUS(queue, DEVICE_REMOVAL, 0, 0, &ev);
		EXPECT(ev.id == here || ev.id == elsewhere);
		EXPECT_EQ(rca_destroy(ctx, ev.id), 0);
	}
	EXPECT(!event_waits(queue));
	/* Ids without a device are not affected. */
	EXPECT_EQ(rca_listen(ctx, wildcard, 0), -EINVAL);
	get_bound(ctx, queue, HERE, PORT + 2);
	delete_own_device();
}

KTAP_MAIN
