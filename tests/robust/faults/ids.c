// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A fault at each place of the calls that create, bind and change ids: a call that fails has had no
 * effect and works when it is made again, or it failed with EFAULT after its effect, because its
 * answer could not be written.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"

static int ctx, queue;

static void open_queue(void)
{
	ctx = get_ctx();
	queue = get_queue(ctx);
}

TEST(open_device)
{
	int fds = count_fds() + 1;	/* the sweep has one */

	for_each_fault(s) {
		if (!SWEEP_FAILS(&s, OR_ERRNO(open(DEVICE, O_RDWR | O_CLOEXEC))))
			MUST(close(s.ret));
		EXPECT_EQ(count_fds(), fds);
	}
}

TEST(info)
{
	struct rdma_cm_alt_info cmd;
	open_queue();
	for_each_fault(s) {
		cmd = (struct rdma_cm_alt_info){ .size = sizeof(cmd) };
		SWEEP_FAILS(&s, rca_call(ctx, RDMA_CM_ALT_INFO, &cmd));
	}
	EXPECT_EQ(cmd.out_record_size, sizeof(event_t));
}

/* A pipeline that creates the id; @flags: 0 or RDMA_CM_ALT_PIPE_NEW_QUEUE. */
static int create(struct rdma_cm_alt_resolve *cmd, uint32_t steps, uint32_t flags)
{
	*cmd = (struct rdma_cm_alt_resolve){
		.size = sizeof(*cmd),
		.pipe = {
			.steps = RDMA_CM_ALT_STEP_CREATE | steps,
			.events = steps & ~RDMA_CM_ALT_STEP_BIND,
			.flags = flags,
			.queue_fd = flags ? -1 : queue,
			.timeout_ms = 2000,
			.ps = RDMA_PS_TCP,
			.qp_type = IB_UVERBS_QPT_RC,
			.src = make_addr(steps & RDMA_CM_ALT_STEP_BIND ? here() : NULL, 0),
			.dst = make_addr(there(), 7471),
		},
	};
	return rca_call(ctx, RDMA_CM_ALT_RESOLVE, cmd);
}

/*
 * Reads the event that ends the resolution of an address or a route. The query to the subnet
 * administrator is lost when the device has no memory for it.
 */
static bool event_well(int from, uint32_t id, uint32_t well, uint32_t error)
{
	event_t ev;

	get_event(from, &ev);
	EXPECT_EQ(ev.id, id);
	if (ev.type == error)
		EXPECT(ev.status == -ENOMEM || ev.status == -ETIMEDOUT);
	else
		EXPECT_EQ(ev.type, well);
	return ev.type == well;
}

#define WELL(from, id, what) \
	event_well(from, id, RDMA_CM_ALT_EVENT_##what##_RESOLVED, RDMA_CM_ALT_EVENT_##what##_ERROR)

static void sweep_create(uint32_t steps, uint32_t flags)
{
	struct rdma_cm_alt_resolve cmd;
	int fds, events;

	open_queue();
	fds = count_fds() + 1;
	for_each_fault(s) {
		if (SWEEP_FAILS(&s, create(&cmd, steps, flags))) {
			EXPECT(!event_waits(queue));
			EXPECT_EQ(count_fds(), fds);
			continue;
		}
		events = flags ? cmd.out_queue_fd : queue;
		if (steps & RDMA_CM_ALT_STEP_ADDR && WELL(events, cmd.out_id, ADDR) &&
		    steps & RDMA_CM_ALT_STEP_ROUTE)
			WELL(events, cmd.out_id, ROUTE);
		EXPECT(!event_waits(events));
		EXPECT_EQ(rca_destroy(ctx, cmd.out_id), 0);
		if (flags)
			MUST(close(cmd.out_queue_fd));
	}
}

TEST(create_an_id)
{
	sweep_create(0, 0);
}

/*
 * The table of handles is empty when a large handle is added, and empty again after that failed.
 * This needs two faults in a row, because the table repeats an allocation that failed.
 */
TEST(create_with_a_large_handle)
{
	struct text calls = text_of_function("rca_ioctl");
	int failed = 0, own, ret;
	uint32_t id;

	for (int i = 0; i < 40; i++) {
		own = MUST(open(DEVICE, O_RDWR | O_CLOEXEC));
		for (int n = 0; n < 70; n++) {
			EXPECT_EQ(rca_create(own, -1, RDMA_PS_TCP, IB_UVERBS_QPT_RC, 0, &id), 0);
			EXPECT_EQ(rca_destroy(own, id), 0);
		}
		faults_within(&calls, NULL);
		faults_random(50);
		ret = rca_create(own, -1, RDMA_PS_TCP, IB_UVERBS_QPT_RC, 0, &id);
		faults_end();
		EXPECT(!ret || ret == -ENOMEM);
		failed += !!ret;
		MUST(close(own));
	}
	EXPECT(failed > 10);
}

TEST(create_with_queue)
{
	sweep_create(0, RDMA_CM_ALT_PIPE_NEW_QUEUE);
}

TEST(create_and_bind)
{
	sweep_create(RDMA_CM_ALT_STEP_BIND, 0);
}

TEST(create_and_resolve_all)
{
	sweep_create(RDMA_CM_ALT_STEP_BIND | RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE,
		     RDMA_CM_ALT_PIPE_NEW_QUEUE);
}

static void sweep_bind(const char *ip)
{
	struct rdma_cm_alt_route route;
	uint32_t id;

	open_queue();
	for_each_fault(s) {
		id = get_id(ctx, queue, 1);
		if (SWEEP_FAILS(&s, rca_bind(ctx, id, ip, 7471))) {
			EXPECT_EQ(rca_query(ctx, id, &route), 0);
			if (s.ret == -ENOMEM)
				EXPECT_EQ(route.src.family, 0);
			expect_worked(&s, rca_bind(ctx, id, ip, 7471), -EINVAL);
		}
		EXPECT_EQ(get_port(ctx, id), 7471);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	}
}

TEST(bind_address)
{
	sweep_bind(here());
}

TEST(bind_wildcard)
{
	sweep_bind("0.0.0.0");
}

static void sweep_addr(const char *dst)
{
	uint32_t id;

	open_queue();
	for_each_fault(s) {
		id = get_id(ctx, queue, 1);
		if (SWEEP_FAILS(&s, rca_resolve_addr(ctx, id, NULL, dst, 7471))) {
			/* A resolution that has not begun has no event. */
			EXPECT(s.ret == -EFAULT || !event_waits(queue));
			expect_worked(&s, rca_resolve_addr(ctx, id, NULL, dst, 7471), -EINVAL);
		}
		/* The id may get no port of its own, which an event reports. */
		if (!WELL(queue, id, ADDR)) {
			EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, dst, 7471), 0);
			EXPECT_EVENT(queue, ADDR_RESOLVED, id);
		}
		EXPECT(!event_waits(queue));
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	}
}

TEST(resolve_address)
{
	sweep_addr(there());
}

TEST(resolve_address_ipv6)
{
	skip_unless_roce();
	sweep_addr(THERE6);
}

TEST(resolve_loopback_address)
{
	skip_unless_roce();
	sweep_addr("127.0.0.1");
}

/* The neighbour never answers; the id is destroyed while it waits. */
TEST(resolve_address_that_waits)
{
	uint32_t id;

	skip_unless_roce();
	open_queue();
	for_each_fault(s) {
		id = get_id(ctx, queue, 1);
		if (SWEEP_FAILS(&s, rca_resolve_addr(ctx, id, NULL, NOBODY, 7471)))
			expect_worked(&s, rca_resolve_addr(ctx, id, NULL, NOBODY, 7471), -EINVAL);
		EXPECT_EQ(rca_resolve_route(ctx, id), -EINVAL);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	}
	EXPECT(!event_waits(queue));
}

static uint32_t get_resolved(void)
{
	uint32_t id = get_id(ctx, queue, 1);

	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, there(), 7471), 0);
	EXPECT_EVENT(queue, ADDR_RESOLVED, id);
	return id;
}

TEST(resolve_route)
{
	uint32_t id;

	open_queue();
	for_each_fault(s) {
		id = get_resolved();
		if (SWEEP_FAILS(&s, rca_resolve_route(ctx, id))) {
			EXPECT(s.ret == -EFAULT || !event_waits(queue));
			expect_worked(&s, rca_resolve_route(ctx, id), -EINVAL);
		}
		if (!WELL(queue, id, ROUTE)) {
			EXPECT_EQ(rca_resolve_route(ctx, id), 0);
			EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
		}
		EXPECT(!event_waits(queue));
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	}
}

static void sweep_listen(const char *ip)
{
	/* iw_cm allocates an entry for each request of the backlog. */
	uint32_t backlog = getenv("FAULTS_TCP") ? 3 : 0;
	struct rdma_cm_alt_route route;
	uint32_t id, other;
	event_t ev;

	open_queue();
	for_each_fault(s) {
		id = get_id(ctx, queue, 1);
		if (ip)
			EXPECT_EQ(rca_bind(ctx, id, ip, 0), 0);
		/* A socket that finds no memory fails with ENFILE. */
		if (SWEEP_FAILS_AS(&s, ENFILE, rca_listen(ctx, id, backlog)))
			expect_worked(&s, rca_listen(ctx, id, backlog), -EINVAL);
		if (getenv("FAULTS_TCP")) {
			/* A client over iWARP would need a QP. */
			EXPECT_EQ(rca_listen(ctx, id, backlog), -EINVAL);
			EXPECT_EQ(rca_destroy(ctx, id), 0);
			continue;
		}
		/* The id receives a request. */
		EXPECT_EQ(rca_query(ctx, id, &route), 0);
		other = get_client(ctx, queue, here(), addr_port(&route.src), 2);
		EXPECT_EQ(rca_connect(ctx, other, NULL, 0), 0);
		EXPECT_EVENT_STATUS(queue, CONNECT_REQUEST, 0, 0, &ev);
		EXPECT_EQ(rca_destroy(ctx, ev.id), 0);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
		EXPECT_EQ(rca_destroy(ctx, other), 0);
	}
}

TEST(listen_on_an_address)
{
	sweep_listen(here());
}

TEST(listen_unbound)
{
	sweep_listen(NULL);
}

static void sweep_set_option(uint32_t level, uint32_t name, const void *val, uint32_t len)
{
	uint32_t id;

	open_queue();
	for_each_fault(s) {
		id = get_id(ctx, queue, 1);
		SWEEP_RETRY(&s, rca_set_option(ctx, id, level, name, val, len));
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	}
}

static void sweep_option(uint32_t level, uint32_t name, const void *val, uint32_t len)
{
	uint32_t id, got_len;
	uint8_t got[64];

	sweep_set_option(level, name, val, len);
	id = get_id(ctx, queue, 1);
	EXPECT_EQ(rca_set_option(ctx, id, level, name, val, len), 0);
	for_each_fault(s) {
		got_len = sizeof(got);
		if (SWEEP_FAILS(&s, rca_get_option(ctx, id, level, name, got, &got_len)))
			continue;
		EXPECT_EQ(got_len, len);
		EXPECT_EQ(memcmp(got, val, len), 0);
	}
}

TEST(option_of_an_id)
{
	sweep_option(RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &(uint8_t){ 4 }, 1);
	sweep_option(RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &(uint8_t){ 17 }, 1);
}

TEST(option_of_gids)
{
	sweep_set_option(RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_GID_TYPE,
			 &(uint8_t){ IB_UVERBS_GID_TYPE_ROCE_V2 }, 1);
}

TEST(option_of_time)
{
	sweep_option(RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_DEADLINE, &(uint32_t){ 1000 }, 4);
}

TEST(option_of_ports)
{
	struct rdma_cm_alt_port_default port = { .ibdev_index = 1, .port_num = 1, .gid_type = 2 };

	sweep_set_option(RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_PORT_DEFAULTS, &port, sizeof(port));
}

TEST(option_path)
{
	struct rdma_cm_alt_route route;
	uint32_t id;

	if (getenv("FAULTS_TCP"))
		ktap_skip("TCP has no paths");
	open_queue();
	id = get_client(ctx, queue, there(), 7471, 1);
	EXPECT_EQ(rca_query(ctx, id, &route), 0);
	route.path[0].flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	for_each_fault(s) {
		id = get_resolved();
		if (SWEEP_FAILS(&s, rca_set_option(ctx, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
						   route.path, sizeof(route.path[0])))) {
			EXPECT(!event_waits(queue));
			EXPECT_EQ(rca_set_option(ctx, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
						 route.path, sizeof(route.path[0])), 0);
		}
		EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	}
}

TEST(query)
{
	struct rdma_cm_alt_route route;
	uint32_t id;

	open_queue();
	id = get_client(ctx, queue, there(), 7471, 1);
	for_each_fault(s)
		SWEEP_FAILS(&s, rca_query(ctx, id, &route));
	EXPECT(addr_is(&route.dst, there()));
}

TEST(destroy)
{
	uint32_t id;

	open_queue();
	for_each_fault(s) {
		id = get_bound(ctx, queue, here(), 7471);
		if (SWEEP_FAILS(&s, rca_destroy(ctx, id)))
			expect_worked(&s, rca_destroy(ctx, id), -ENOENT);
	}
}

KTAP_MAIN
