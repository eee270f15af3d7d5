// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/cm/connect.c: a connect whose resolution waits for the gateway of
 * the network device kunit0 (netrig.c), or does not.
 *
 * Locking: none; the work of resolution runs concurrently with the test.
 */
#include <kunit/test.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/netdevice.h>
#include <linux/sched/mm.h>
#include <net/arp.h>
#include <net/neighbour.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "event/queue.h"
#include "fake/fake_transport.h"
#include "fake/kept.h"
#include "fake/netrig.h"

#define COOKIE	0xf05e
#define HERE	0x0a4d0001	/* 10.77.0.1 */
#define GATEWAY	0x0a4d0002
#define PEER	0x0a4e0009	/* 10.78.0.9, behind the gateway */

/**
 * struct bench - a fake transport, which may be over TCP
 * @fake: the fake transport
 * @tcp: its operations, over TCP
 * @ndev: kunit0
 * @id: the id, bound to the fake device (holds a reference)
 * @cred: credentials with which the last request was sent
 * @memcg: memory cgroup charged for the last request
 * @wq: workqueue given to when_finished(), or NULL
 * @work: work given to when_finished()
 * @ret: result of the next finish()
 * @finished: number of calls of finish()
 */
struct bench {
	struct fake *fake;
	struct rca_tp_ops tcp;
	struct net_device *ndev;
	struct rca_id *id;
	const struct cred *cred;
	struct mem_cgroup *memcg;
	struct workqueue_struct *wq;
	struct work_struct *work;
	int ret;
	int finished;
};

static struct bench *the_bench;

static void note_sender(struct fake *fake, void *lower)
{
	the_bench->cred = current_cred();
#ifdef CONFIG_MEMCG
	the_bench->memcg = current->active_memcg;
#endif
}

static int tcp_connect(void *lower, const struct rca_tp_req *req)
{
	the_bench->fake->connects++;
	note_sender(the_bench->fake, lower);
	return -EINPROGRESS;
}

static int tcp_finish(void *lower)
{
	the_bench->finished++;
	return the_bench->ret;
}

static void tcp_when_finished(void *lower, struct workqueue_struct *slow_wq,
			      struct workqueue_struct *wq, struct work_struct *work)
{
	the_bench->work = work;
	smp_store_release(&the_bench->wq, wq);	/* pairs with tcp_ends() */
}

static void set_ipv4(union rca_addr *addr, u32 ip, u16 port)
{
	memset(addr, 0, sizeof(*addr));
	addr->in.sin_family = AF_INET;
	addr->in.sin_addr.s_addr = cpu_to_be32(ip);
	addr->in.sin_port = cpu_to_be16(port);
}

static void set_gateway(struct kunit *test, u8 state)
{
	static const u8 lladdr[ETH_ALEN] = { 2, 7, 7, 7, 7, 7 };
	__be32 ip = cpu_to_be32(GATEWAY);
	struct neighbour *neigh = __neigh_lookup(&arp_tbl, &ip, the_bench->ndev, 1);

	KUNIT_ASSERT_NOT_NULL(test, neigh);
	neigh_update(neigh, state & NUD_VALID ? lladdr : NULL, state,
		     NEIGH_UPDATE_F_OVERRIDE | NEIGH_UPDATE_F_ADMIN, 0);
	neigh_release(neigh);
}

static int fuse_init(struct kunit *test)
{
	struct net_device *ndev = dev_get_by_name(&init_net, NETRIG_NDEV);
	struct rca_opts *opts;
	struct bench *bench;
	struct rca_id *id;

	if (!ndev)
		kunit_skip(test, "the kernel has no veth");
	bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bench);
	bench->ndev = ndev;
	bench->fake = fake_create(test);
	bench->fake->during = note_sender;
	bench->tcp = *bench->fake->dev.tp;
	bench->tcp.over_tcp = true;
	bench->tcp.connect = tcp_connect;
	bench->tcp.finish = tcp_finish;
	bench->tcp.when_finished = tcp_when_finished;
	id = rca_id_create(bench->fake->ctx, bench->fake->queue, RDMA_PS_TCP, IB_QPT_RC, COOKIE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	set_ipv4(&id->local, HERE, 5000);
	KUNIT_ASSERT_EQ(test, rca_id_attach(id, &bench->fake->dev, 1, NULL), 0);
	id->link.ifindex = ndev->ifindex;
	opts = rca_id_need_opts(id, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, opts);
	opts->tos_set = true;	/* the fake device has no settings */
	rca_id_step(id, RCA_IN_BIND);
	bench->id = rca_id_get(id);
	rca_id_publish(id);
	the_bench = bench;
	test->priv = bench;
	return 0;
}

static bool eventually(bool (*is_so)(struct bench *bench))
{
	int i;

	for (i = 0; i < 5000 && !is_so(the_bench); i++)
		usleep_range(500, 1000);
	return is_so(the_bench);
}

static bool is_forgotten(struct bench *bench)
{
	return refcount_read(&bench->id->obj.ref) == 1;
}

static void fuse_exit(struct kunit *test)
{
	struct bench *bench = test->priv;
	struct fake *fake;

	if (!bench)
		return;
	fake = bench->fake;
	fake_destroy(fake);
	KUNIT_EXPECT_TRUE(test, eventually(is_forgotten));
	rca_id_put(bench->id);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&fake->dev.ids));
	dev_put(bench->ndev);
	the_bench = NULL;
}

static void over_tcp(struct kunit *test)
{
	struct bench *bench = test->priv;

	fake_set_tp(bench->fake, &bench->tcp);
}

static int connect_with(struct bench *bench, u32 events, u32 timeout_ms, u8 len)
{
	static const u8 data[U8_MAX] = { 0xaa, 0xbb };
	struct rca_pipeline pipe = {
		.steps = RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE,
		.events = events,
		.timeout_ms = timeout_ms,
	};
	struct rca_tp_conn conn = {
		.qp_num = 42, .private_data = data, .private_data_len = len,
	};
	u32 done = 0;

	set_ipv4(&pipe.dst, PEER, 7471);
	return rca_pipeline_connect(bench->id, &pipe, &conn, &done);
}

static int connect(struct kunit *test)
{
	return connect_with(test->priv, 0, 5000, 2);
}

static void expect_event(struct kunit *test, u32 type, int status)
{
	struct bench *bench = test->priv;
	struct rdma_cm_alt_event rec;

	KUNIT_ASSERT_TRUE_MSG(test, fake_take_event(bench->fake, &rec), "no event, %u wanted",
			      type);
	KUNIT_EXPECT_EQ(test, rec.type, type);
	KUNIT_EXPECT_EQ(test, rec.status, status);
	KUNIT_EXPECT_EQ(test, rec.cookie, (u64)COOKIE);
}

static void expect_no_event(struct kunit *test)
{
	struct bench *bench = test->priv;
	struct rdma_cm_alt_event rec;

	KUNIT_EXPECT_FALSE(test, fake_take_event(bench->fake, &rec));
}

static void expect_state(struct kunit *test, enum rca_state state)
{
	struct bench *bench = test->priv;

	KUNIT_EXPECT_STREQ(test, rca_state_name(rca_id_state(bench->id)), rca_state_name(state));
}

static bool has_sent(struct bench *bench)
{
	return READ_ONCE(bench->fake->connects);
}

static bool has_event(struct bench *bench)
{
	return rca_queue_ready(bench->fake->queue);
}

/* Wait until the work of resolution has released the id. */
static void expect_unlocked(struct kunit *test)
{
	struct bench *bench = test->priv;

	mutex_lock(&bench->id->op);
	mutex_unlock(&bench->id->op);
}

static void known_way_is_used_inside_the_call(struct kunit *test)
{
	struct bench *bench = test->priv;

	set_gateway(test, NUD_REACHABLE);
	KUNIT_EXPECT_EQ(test, connect(test), 0);
	KUNIT_EXPECT_EQ(test, bench->fake->connects, 1);
	KUNIT_EXPECT_NULL(test, bench->id->setup->connect);
	expect_state(test, RCA_ST_REQ_SENT);
	expect_no_event(test);
}

static void events_of_steps_come_when_they_are_wanted(struct kunit *test)
{
	struct bench *bench = test->priv;

	set_gateway(test, NUD_REACHABLE);
	KUNIT_EXPECT_EQ(test, connect_with(bench, RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE,
					   5000, 0), 0);
	expect_event(test, RDMA_CM_ALT_EVENT_ADDR_RESOLVED, 0);
	expect_event(test, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED, 0);
	expect_no_event(test);
	expect_state(test, RCA_ST_REQ_SENT);
}

static void request_that_fails_inside_the_call_is_its_errno(struct kunit *test)
{
	struct bench *bench = test->priv;

	set_gateway(test, NUD_REACHABLE);
	bench->fake->fail = -ENOBUFS;
	KUNIT_EXPECT_EQ(test, connect(test), -ENOBUFS);
	expect_no_event(test);
	expect_state(test, RCA_ST_ROUTE_RESOLVED);
	KUNIT_EXPECT_EQ(test, atomic_read(&bench->fake->lowers), 0);
}

/* The request is sent by work, with the credentials and the memory cgroup of the program. */
static void request_waits_for_the_way(struct kunit *test)
{
	struct bench *bench = test->priv;
	struct cred *cred = prepare_creds();
	const struct cred *old_cred;

	KUNIT_ASSERT_NOT_NULL(test, cred);
	set_gateway(test, NUD_FAILED);
	old_cred = override_creds(cred);
	KUNIT_EXPECT_EQ(test, connect(test), 0);
	revert_creds(old_cred);
	KUNIT_EXPECT_EQ(test, bench->fake->connects, 0);
	expect_state(test, RCA_ST_ADDR_QUERY);
	set_gateway(test, NUD_REACHABLE);
	KUNIT_EXPECT_TRUE(test, eventually(has_sent));
	expect_unlocked(test);
	KUNIT_EXPECT_EQ(test, bench->fake->connects, 1);
	KUNIT_EXPECT_EQ(test, bench->fake->last_req[36], 0xaa);
	KUNIT_EXPECT_EQ(test, bench->fake->last_req[37], 0xbb);
	expect_state(test, RCA_ST_REQ_SENT);
	expect_no_event(test);
	KUNIT_EXPECT_PTR_EQ(test, bench->cred, (const struct cred *)cred);
#ifdef CONFIG_MEMCG
	KUNIT_EXPECT_PTR_EQ(test, bench->memcg, bench->fake->ctx->memcg);
#endif
	put_cred(cred);
}

static void request_that_fails_later_is_told_by_an_event(struct kunit *test)
{
	struct bench *bench = test->priv;

	set_gateway(test, NUD_FAILED);
	bench->fake->fail = -ENOBUFS;
	KUNIT_EXPECT_EQ(test, connect(test), 0);
	set_gateway(test, NUD_REACHABLE);
	KUNIT_EXPECT_TRUE(test, eventually(has_event));
	expect_unlocked(test);
	expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_ERROR, -ENOBUFS);
	expect_no_event(test);
	expect_state(test, RCA_ST_ROUTE_RESOLVED);
	KUNIT_EXPECT_EQ(test, atomic_read(&bench->fake->lowers), 0);
}

static void more_private_data_than_fits_is_told_by_an_event(struct kunit *test)
{
	struct bench *bench = test->priv;

	set_gateway(test, NUD_FAILED);
	KUNIT_EXPECT_EQ(test, connect_with(bench, 0, 5000, 57), 0);
	set_gateway(test, NUD_REACHABLE);
	KUNIT_EXPECT_TRUE(test, eventually(has_event));
	expect_unlocked(test);
	expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_ERROR, -EINVAL);
	KUNIT_EXPECT_EQ(test, bench->fake->connects, 0);
}

static void way_that_is_not_found_in_time_ends_it(struct kunit *test)
{
	struct bench *bench = test->priv;

	set_gateway(test, NUD_FAILED);
	KUNIT_EXPECT_EQ(test, connect_with(bench, 0, 30, 0), 0);
	KUNIT_EXPECT_TRUE(test, eventually(has_event));
	expect_unlocked(test);
	expect_event(test, RDMA_CM_ALT_EVENT_ADDR_ERROR, -ETIMEDOUT);
	KUNIT_EXPECT_NULL(test, bench->id->setup->connect);
	/* The answer comes too late. */
	set_gateway(test, NUD_REACHABLE);
	msleep(20);
	KUNIT_EXPECT_EQ(test, bench->fake->connects, 0);
	expect_no_event(test);
	expect_state(test, RCA_ST_BOUND);
	KUNIT_EXPECT_EQ(test, connect(test), 0);
	expect_state(test, RCA_ST_REQ_SENT);
}

static void second_pipeline_is_refused_and_changes_nothing(struct kunit *test)
{
	struct bench *bench = test->priv;
	struct rca_pending_connect *pending;

	set_gateway(test, NUD_FAILED);
	KUNIT_EXPECT_EQ(test, connect(test), 0);
	pending = bench->id->setup->connect;
	KUNIT_EXPECT_EQ(test, connect(test), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bench->id->setup->connect, pending);
	set_gateway(test, NUD_REACHABLE);
	KUNIT_EXPECT_TRUE(test, eventually(has_sent));
	expect_unlocked(test);
	KUNIT_EXPECT_EQ(test, bench->fake->connects, 1);
}

static void pipeline_without_a_route_is_refused(struct kunit *test)
{
	struct rca_pipeline pipe = { .steps = RDMA_CM_ALT_STEP_ADDR };
	struct bench *bench = test->priv;
	struct rca_tp_conn conn = {};
	u32 done = 0;

	set_ipv4(&pipe.dst, PEER, 7471);
	KUNIT_EXPECT_EQ(test, rca_pipeline_connect(bench->id, &pipe, &conn, &done), -EINVAL);
	KUNIT_EXPECT_EQ(test, done, 0U);
	expect_state(test, RCA_ST_BOUND);
}

static void destroy(struct kunit *test)
{
	struct bench *bench = test->priv;
	u32 reported;

	KUNIT_EXPECT_EQ(test, rca_destroy(bench->fake->ctx, bench->id->obj.handle, &reported), 0);
}

static void remove_device(struct kunit *test)
{
	struct bench *bench = test->priv;

	bench->fake->dev.removing = true;
	rca_teardown_device(&bench->fake->dev);
}

static void destroyed_id_sends_nothing(struct kunit *test)
{
	struct bench *bench = test->priv;

	set_gateway(test, NUD_FAILED);
	KUNIT_EXPECT_EQ(test, connect(test), 0);
	destroy(test);
	set_gateway(test, NUD_REACHABLE);
	KUNIT_EXPECT_TRUE(test, eventually(is_forgotten));
	KUNIT_EXPECT_EQ(test, bench->fake->connects, 0);
	expect_no_event(test);
}

static void id_without_a_device_sends_nothing(struct kunit *test)
{
	struct bench *bench = test->priv;

	set_gateway(test, NUD_FAILED);
	KUNIT_EXPECT_EQ(test, connect(test), 0);
	remove_device(test);
	set_gateway(test, NUD_REACHABLE);
	msleep(20);
	KUNIT_EXPECT_EQ(test, bench->fake->connects, 0);
	expect_event(test, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0);
	expect_no_event(test);
}

static bool is_awaited(struct bench *bench)
{
	/* Pairs with tcp_when_finished(). */
	return smp_load_acquire(&bench->wq);
}

/* Start a connect over TCP that continues after the work of resolution has ended. */
static void start_tcp(struct kunit *test)
{
	struct bench *bench = test->priv;

	over_tcp(test);
	set_gateway(test, NUD_FAILED);
	KUNIT_EXPECT_EQ(test, connect(test), 0);
	set_gateway(test, NUD_REACHABLE);
	KUNIT_ASSERT_TRUE(test, eventually(is_awaited));
	expect_unlocked(test);
	KUNIT_EXPECT_EQ(test, bench->fake->connects, 1);
	KUNIT_EXPECT_EQ(test, bench->finished, 0);
	expect_state(test, RCA_ST_REQ_SENT);
}

/* Let the TCP connect end with @ret. */
static void tcp_ends(struct kunit *test, int ret)
{
	struct bench *bench = test->priv;
	struct workqueue_struct *wq = bench->wq;

	bench->ret = ret;
	bench->wq = NULL;
	queue_work(wq, bench->work);
}

static bool is_finished(struct bench *bench)
{
	return READ_ONCE(bench->finished);
}

static void nobody_waits_for_tcp(struct kunit *test)
{
	struct bench *bench = test->priv;

	start_tcp(test);
	tcp_ends(test, 0);
	KUNIT_EXPECT_TRUE(test, eventually(is_finished));
	expect_unlocked(test);
	expect_state(test, RCA_ST_REQ_SENT);
	expect_no_event(test);
	fake_message(bench->id, RCA_IN_UP, 0);
	expect_event(test, RDMA_CM_ALT_EVENT_ESTABLISHED, 0);
	expect_state(test, RCA_ST_CONNECTED);
}

static void refusal_of_tcp_is_told_by_an_event(struct kunit *test)
{
	struct bench *bench = test->priv;

	u64 before = kept_count();

	start_tcp(test);
	tcp_ends(test, -ECONNREFUSED);
	KUNIT_EXPECT_TRUE(test, eventually(has_event));
	expect_unlocked(test);
	KUNIT_EXPECT_EQ(test, kept_count(), before + 1);
	KUNIT_EXPECT_EQ(test, kept_youngest()->event, (u32)RDMA_CM_ALT_EVENT_CONNECT_ERROR);
	KUNIT_EXPECT_EQ(test, kept_youngest()->status, -ECONNREFUSED);
	expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_ERROR, -ECONNREFUSED);
	expect_no_event(test);
	expect_state(test, RCA_ST_ROUTE_RESOLVED);
	KUNIT_EXPECT_EQ(test, atomic_read(&bench->fake->lowers), 0);
}

static void port_that_tcp_has_is_changed(struct kunit *test)
{
	struct bench *bench = test->priv;
	__be16 port;

	start_tcp(test);
	port = rca_addr_port(&bench->id->local);
	tcp_ends(test, -EADDRINUSE);
	KUNIT_ASSERT_TRUE(test, eventually(is_awaited));
	expect_unlocked(test);
	KUNIT_EXPECT_EQ(test, bench->fake->connects, 2);
	KUNIT_EXPECT_NE(test, be16_to_cpu(port), be16_to_cpu(rca_addr_port(&bench->id->local)));
	expect_no_event(test);
	bench->finished = 0;
	tcp_ends(test, 0);
	KUNIT_EXPECT_TRUE(test, eventually(is_finished));
	expect_unlocked(test);
	expect_state(test, RCA_ST_REQ_SENT);
}

static void id_is_destroyed_while_tcp_connects(struct kunit *test)
{
	struct bench *bench = test->priv;
	u64 before = kept_count();

	start_tcp(test);
	destroy(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&bench->fake->lowers), 0);
	tcp_ends(test, -ECONNABORTED);
	KUNIT_EXPECT_TRUE(test, eventually(is_forgotten));
	expect_no_event(test);
	KUNIT_EXPECT_EQ(test, kept_count(), before);
}

static void device_goes_while_tcp_connects(struct kunit *test)
{
	struct bench *bench = test->priv;

	start_tcp(test);
	remove_device(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&bench->fake->lowers), 0);
	tcp_ends(test, -ECONNABORTED);
	KUNIT_EXPECT_TRUE(test, eventually(is_finished));
	expect_unlocked(test);
	expect_event(test, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0);
	expect_no_event(test);
	expect_state(test, RCA_ST_REMOVED);
}

static struct kunit_case fuse_cases[] = {
	KUNIT_CASE(known_way_is_used_inside_the_call),
	KUNIT_CASE(events_of_steps_come_when_they_are_wanted),
	KUNIT_CASE(request_that_fails_inside_the_call_is_its_errno),
	KUNIT_CASE(request_waits_for_the_way),
	KUNIT_CASE(request_that_fails_later_is_told_by_an_event),
	KUNIT_CASE(more_private_data_than_fits_is_told_by_an_event),
	KUNIT_CASE(way_that_is_not_found_in_time_ends_it),
	KUNIT_CASE(second_pipeline_is_refused_and_changes_nothing),
	KUNIT_CASE(pipeline_without_a_route_is_refused),
	KUNIT_CASE(destroyed_id_sends_nothing),
	KUNIT_CASE(id_without_a_device_sends_nothing),
	KUNIT_CASE(nobody_waits_for_tcp),
	KUNIT_CASE(refusal_of_tcp_is_told_by_an_event),
	KUNIT_CASE(port_that_tcp_has_is_changed),
	KUNIT_CASE(id_is_destroyed_while_tcp_connects),
	KUNIT_CASE(device_goes_while_tcp_connects),
	{}
};

static struct kunit_suite fuse_suite = {
	.name = "rdma_cm_alt_fuse",
	.suite_init = netrig_suite_init,
	.suite_exit = netrig_suite_exit,
	.init = fuse_init,
	.exit = fuse_exit,
	.test_cases = fuse_cases,
};
kunit_test_suite(fuse_suite);
