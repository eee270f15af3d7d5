// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Permissions: the descriptor gives access; capabilities are those of the caller of each call. */
#include "rca_test.h"
#include "tasks.h"

#define PORT 7471
#define LOW_PORT 999
#define NOBODYS_UID 65534

/* Run @what(@arg) in a child process. A failed expectation in it fails the test. */
static void in_child(void (*what)(void *arg), void *arg)
{
	pid_t pid = MUST(fork());

	if (!pid) {
		what(arg);
		_exit(0);
	}
	EXPECT_EQ(wait_exit(pid), 0);
}

struct inherited {
	int ctx;
	int queue;
	uint32_t id;
	uint32_t other;
};

static void use_everything(void *arg)
{
	struct inherited *in = arg;
	uint32_t own;

	EXPECT_EQ(rca_bind(in->ctx, in->id, HERE, PORT), 0);
	EXPECT_EQ(rca_listen(in->ctx, in->id, 0), 0);
	await_addr(in->ctx, in->queue, in->other, THERE, PORT);
	own = get_id(in->ctx, in->queue, 1);
	EXPECT_EQ(rca_destroy(in->ctx, own), 0);
	/* This id stays when the process has ended. */
	get_bound(in->ctx, in->queue, HERE, PORT + 1);
}

TEST(child_process_uses_what_it_inherited)
{
	struct inherited in = { .ctx = get_ctx() };
	struct rdma_cm_alt_route route;

	in.queue = get_queue(in.ctx);
	in.id = get_id(in.ctx, in.queue, 0);
	in.other = get_id(in.ctx, in.queue, 0);
	in_child(use_everything, &in);
	/* The child used the same objects. */
	EXPECT_EQ(rca_listen(in.ctx, in.id, 0), -EINVAL);
	EXPECT_EQ(rca_query(in.ctx, in.other, &route), 0);
	EXPECT(addr_is(&route.dst, THERE));
	EXPECT_EQ(rca_bind(in.ctx, get_id(in.ctx, -1, 0), HERE, PORT + 1), -EADDRINUSE);
	await_route(in.ctx, in.queue, in.other);
	EXPECT_EQ(rca_destroy(in.ctx, in.id), 0);
}

static void destroy_it(void *arg)
{
	struct inherited *in = arg;

	EXPECT_EQ(rca_destroy(in->ctx, in->id), 0);
	MUST(close(in->ctx));
	MUST(close(in->queue));
}

TEST(child_process_destroys_what_it_inherited)
{
	struct inherited in = { .ctx = get_ctx() };

	in.queue = get_queue(in.ctx);
	in.id = get_bound(in.ctx, in.queue, HERE, PORT);
	in.other = get_bound(in.ctx, in.queue, HERE, PORT + 1);
	in_child(destroy_it, &in);
	EXPECT_EQ(rca_destroy(in.ctx, in.id), -ENOENT);
	get_bound(in.ctx, in.queue, HERE, PORT);
	/* The child's close of its descriptors does not affect ours. */
	EXPECT_EQ(rca_listen(in.ctx, in.other, 0), 0);
}

static void connect_from_child(void *arg)
{
	struct pair *p = arg;

	EXPECT_EQ(rca_connect(p->ctx, p->client, NULL, 0), 0);
}

TEST(connection_of_two_processes_sharing_a_context)
{
	struct pair p = get_routed(THERE);
	event_t ev;

	in_child(connect_from_child, &p);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(rca_accept(p.ctx, ev.id, SERVER, NULL, 0), 0);
	EXPECT_EVENT(p.cq, CONNECT_RESPONSE, p.client);
	EXPECT_EQ(rca_establish(p.ctx, p.client), 0);
	EXPECT_EVENT(p.lq, ESTABLISHED, ev.id);
}

static void be_nobody(void)
{
	MUST(setgid(NOBODYS_UID));
	MUST(setuid(NOBODYS_UID));
}

TEST(everything_but_low_ports_needs_no_privilege)
{
	struct pair p;

	be_nobody();
	p = get_connected();
	pair_disconnect(&p);
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	EXPECT_EQ(rca_bind(p.ctx, get_id(p.ctx, -1, 0), HERE, LOW_PORT), -EACCES);
	EXPECT_EQ(rca_bind(p.ctx, get_id(p.ctx, -1, 0), "0.0.0.0", LOW_PORT), -EACCES);
	EXPECT_EQ(rca_bind(p.ctx, get_id(p.ctx, -1, 0), "::", 1), -EACCES);
	EXPECT_EQ(rca_bind(p.ctx, get_id(p.ctx, -1, 0), HERE, 1024), 0);
}

TEST(change_of_user_in_the_middle)
{
	event_t ev;
	struct pair p = get_requested(&ev);
	uint32_t client, low, unbound;

	client = get_client(p.ctx, p.cq, THERE, p.port, 0);
	low = get_bound(p.ctx, -1, HERE, LOW_PORT);
	unbound = get_id(p.ctx, -1, 0);
	be_nobody();
	/* Existing ids keep working. */
	pair_send_rep(&p);
	pair_send_rtu(&p);
	EXPECT_EQ(rca_connect(p.ctx, client, NULL, 0), 0);
	EXPECT_EVENT(p.lq, CONNECT_REQUEST, 0);
	/* The port was bound with the capability; a new bind is without it. */
	EXPECT_EQ(rca_listen(p.ctx, low, 0), 0);
	EXPECT_EQ(rca_bind(p.ctx, unbound, HERE, LOW_PORT - 1), -EACCES);
	EXPECT_EQ(rca_resolve_addr(p.ctx, unbound, HERE, THERE, PORT), 0);
	EXPECT_EQ(rca_destroy(p.ctx, low), 0);
	EXPECT_EQ(rca_bind(p.ctx, get_id(p.ctx, -1, 0), HERE, LOW_PORT), -EACCES);
}

TEST(source_port_of_a_resolution_counts)
{
	struct rdma_cm_alt_resolve cmd = {
		.size = sizeof(cmd),
		.pipe = {
			.steps = RDMA_CM_ALT_STEP_ADDR, .queue_fd = -1, .timeout_ms = 2000,
			.src = make_addr(HERE, LOW_PORT), .dst = make_addr(THERE, PORT),
		},
	};
	int ctx = get_ctx();

	be_nobody();
	cmd.pipe.id = get_id(ctx, -1, 0);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), -EACCES);
	cmd.pipe.src = make_addr(HERE, 0);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd), 0);
}

/* ip_unprivileged_port_start of the id's network namespace applies. */
TEST(namespace_says_which_ports_are_low)
{
	int ctx = get_ctx();

	MUST(unshare(CLONE_NEWNET));
	if (system("sysctl -qw net.ipv4.ip_unprivileged_port_start=500"))
		ktap_skip("cannot change ip_unprivileged_port_start");
	be_nobody();
	EXPECT_EQ(rca_bind(ctx, get_id(ctx, -1, 0), "0.0.0.0", 499), -EACCES);
	EXPECT_EQ(rca_bind(ctx, get_id(ctx, -1, 0), "0.0.0.0", 500), 0);
}

TEST(root_of_a_user_namespace_rules_its_own_ports_alone)
{
	int ctx = get_ctx();
	uint32_t outside = get_id(ctx, -1, 0);

	be_nobody();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		ktap_skip("no user namespaces: %m");
	EXPECT_EQ(rca_bind(ctx, get_id(ctx, -1, 0), "0.0.0.0", LOW_PORT), 0);
	EXPECT_EQ(rca_bind(ctx, outside, HERE, LOW_PORT), -EACCES);
	EXPECT_EQ(rca_bind(ctx, outside, HERE, PORT), 0);
}

KTAP_MAIN
