// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of connections over TCP on a fake transport: what happens to the id while connect() has
 * returned and finish() waits.
 *
 * Locking: none.
 */
#include <kunit/test.h>

#include "cm/cm.h"
#include "fake/fake_transport.h"
#include "fake/kept.h"

#define COOKIE 0x5eed
#define MAX_TRIES 16

/**
 * struct bench - a fake transport that is over TCP
 * @fake: the fake transport
 * @ops: its operations, with those of this test
 * @rets: results of finish(), one after the other
 * @finished: number of calls of finish()
 * @meanwhile: called by finish() before it returns, or NULL
 * @sources: local ports of the connects, in host byte order
 * @id: the id that @meanwhile acts on
 */
struct bench {
	struct fake *fake;
	struct rca_tp_ops ops;
	int rets[MAX_TRIES];
	int finished;
	void (*meanwhile)(struct bench *bench);
	u16 sources[MAX_TRIES];
	struct rca_id *id;
};

static struct bench *the_bench;

static int tcp_connect(void *lower, const struct rca_tp_req *req)
{
	struct fake *fake = the_bench->fake;

	the_bench->sources[fake->connects++ % MAX_TRIES] =
		be16_to_cpu(rca_addr_port(req->local));
	fake->last_req_len = req->conn.private_data_len;
	return -EINPROGRESS;
}

static int tcp_finish(void *lower)
{
	if (the_bench->meanwhile)
		the_bench->meanwhile(the_bench);
	return the_bench->rets[the_bench->finished++ % MAX_TRIES];
}

static int tcp_init(struct kunit *test)
{
	struct bench *bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bench);
	bench->fake = fake_create(test);
	bench->ops = *bench->fake->dev.tp;
	bench->ops.over_tcp = true;
	bench->ops.long_private = true;
	bench->ops.connect = tcp_connect;
	bench->ops.finish = tcp_finish;
	fake_set_tp(bench->fake, &bench->ops);
	bench->id = fake_active_id(test, bench->fake, COOKIE);
	the_bench = bench;
	test->priv = bench;
	return 0;
}

static void tcp_exit(struct kunit *test)
{
	struct bench *bench = test->priv;
	struct fake *fake = bench->fake;

	fake_destroy(fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&fake->lowers), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&fake->dev.ids));
	the_bench = NULL;
}

static void expect_event(struct kunit *test, u32 type, int status)
{
	struct bench *bench = test->priv;
	struct rdma_cm_alt_event rec;

	KUNIT_ASSERT_TRUE_MSG(test, fake_take_event(bench->fake, &rec), "no event, %u wanted",
			      type);
	KUNIT_EXPECT_EQ(test, rec.type, type);
	KUNIT_EXPECT_EQ(test, rec.status, status);
}

static void expect_state(struct kunit *test, enum rca_state state)
{
	struct bench *bench = test->priv;

	KUNIT_EXPECT_STREQ(test, rca_state_name(rca_id_state(bench->id)), rca_state_name(state));
}

static int try_connect(struct bench *bench, u8 len)
{
	static const u8 data[U8_MAX] = { 0xaa };
	struct rca_tp_conn conn = {
		.qp_num = 42, .private_data = data, .private_data_len = len,
	};

	return rca_connect(bench->id, &conn);
}

static void tcp_connection_comes_and_goes(struct kunit *test)
{
	struct bench *bench = test->priv;

	KUNIT_ASSERT_EQ(test, try_connect(bench, 255), 0);
	KUNIT_EXPECT_EQ(test, (int)bench->fake->last_req_len, 255);
	expect_state(test, RCA_ST_REQ_SENT);
	fake_message(bench->id, RCA_IN_UP, 0);
	expect_event(test, RDMA_CM_ALT_EVENT_ESTABLISHED, 0);
	expect_state(test, RCA_ST_CONNECTED);
	KUNIT_EXPECT_EQ(test, rca_establish(bench->id), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_disconnect(bench->id), 0);
	fake_message(bench->id, RCA_IN_DOWN, 0);
	expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, 0);
	expect_state(test, RCA_ST_CLOSED);
}

static void tcp_failures_tell_what_they_are(struct kunit *test)
{
	static const struct {
		enum rca_input input;
		int status;
		u32 event;
	} cases[] = {
		{ RCA_IN_REJ, -ECONNRESET, RDMA_CM_ALT_EVENT_REJECTED },
		{ RCA_IN_REQ_TIMEOUT, -ETIMEDOUT, RDMA_CM_ALT_EVENT_UNREACHABLE },
		{ RCA_IN_ERROR, -EINVAL, RDMA_CM_ALT_EVENT_CONNECT_ERROR },
	};
	struct bench *bench = test->priv;
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_ASSERT_EQ(test, try_connect(bench, 0), 0);
		fake_message(bench->id, cases[i].input, cases[i].status);
		expect_event(test, cases[i].event, cases[i].status);
		expect_state(test, RCA_ST_FAILED);
		bench->id = fake_active_id(test, bench->fake, COOKIE);
	}
}

static void tcp_refusal_leaves_the_id_as_it_was(struct kunit *test)
{
	struct bench *bench = test->priv;

	bench->rets[0] = -ECONNREFUSED;
	KUNIT_EXPECT_EQ(test, try_connect(bench, 0), -ECONNREFUSED);
	expect_state(test, RCA_ST_ROUTE_RESOLVED);
	KUNIT_EXPECT_EQ(test, atomic_read(&bench->fake->lowers), 0);
	KUNIT_EXPECT_EQ(test, try_connect(bench, 0), 0);
	KUNIT_EXPECT_EQ(test, bench->fake->connects, 2);
}

static void answer(struct bench *bench)
{
	fake_message(bench->id, RCA_IN_UP, 0);
}

static void tcp_answer_comes_before_connect_returns(struct kunit *test)
{
	struct bench *bench = test->priv;

	bench->meanwhile = answer;
	KUNIT_EXPECT_EQ(test, try_connect(bench, 0), 0);
	expect_state(test, RCA_ST_CONNECTED);
	expect_event(test, RDMA_CM_ALT_EVENT_ESTABLISHED, 0);
}

static void connect_again(struct bench *bench)
{
	bench->meanwhile = NULL;
	bench->rets[1] = try_connect(bench, 0);
}

static void tcp_second_connect_is_refused_meanwhile(struct kunit *test)
{
	struct bench *bench = test->priv;

	bench->meanwhile = connect_again;
	KUNIT_EXPECT_EQ(test, try_connect(bench, 0), 0);
	KUNIT_EXPECT_EQ(test, bench->rets[1], -EINVAL);
	KUNIT_EXPECT_EQ(test, bench->fake->connects, 1);
}

static void destroy(struct bench *bench)
{
	u32 reported;

	bench->meanwhile = NULL;
	bench->rets[1] = rca_destroy(bench->fake->ctx, bench->id->obj.handle, &reported);
}

static void tcp_id_is_destroyed_meanwhile(struct kunit *test)
{
	struct bench *bench = test->priv;
	u64 before = kept_count();

	rca_id_get(bench->id);
	bench->meanwhile = destroy;
	bench->rets[0] = -ECONNABORTED;
	KUNIT_EXPECT_EQ(test, try_connect(bench, 0), -ECONNABORTED);
	KUNIT_EXPECT_EQ(test, bench->rets[1], 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&bench->fake->lowers), 0);
	expect_state(test, RCA_ST_DESTROYING);
	KUNIT_EXPECT_EQ(test, kept_count(), before);
	rca_id_put(bench->id);
}

static void remove_device(struct bench *bench)
{
	bench->meanwhile = NULL;
	bench->fake->dev.removing = true;
	rca_teardown_device(&bench->fake->dev);
}

static void tcp_device_goes_meanwhile(struct kunit *test)
{
	struct bench *bench = test->priv;

	bench->meanwhile = remove_device;
	bench->rets[0] = -ECONNABORTED;
	KUNIT_EXPECT_EQ(test, try_connect(bench, 0), -ENXIO);
	expect_state(test, RCA_ST_REMOVED);
	expect_event(test, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&bench->fake->lowers), 0);
}

static void bind_port(struct kunit *test, struct bench *bench, u16 port)
{
	union rca_addr addr = bench->id->local;

	rca_addr_set_port(&addr, cpu_to_be16(port));
	mutex_lock(&bench->id->op);
	KUNIT_EXPECT_EQ(test, rca_id_bind(bench->id, &addr), 0);
	mutex_unlock(&bench->id->op);
	KUNIT_ASSERT_NOT_NULL(test, bench->id->opts->bind);
	bench->id->local = bench->id->opts->bind->addr;
}

static void tcp_chosen_port_changes_when_it_is_taken(struct kunit *test)
{
	struct bench *bench = test->priv;
	int i;

	bind_port(test, bench, 0);
	bench->rets[0] = -EADDRINUSE;
	bench->rets[1] = -EADDRNOTAVAIL;
	KUNIT_EXPECT_EQ(test, try_connect(bench, 0), 0);
	KUNIT_EXPECT_EQ(test, bench->fake->connects, 3);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_NE(test, bench->sources[i], bench->sources[i + 1]);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(rca_addr_port(&bench->id->local)), bench->sources[2]);
}

static void tcp_tries_of_ports_end(struct kunit *test)
{
	struct bench *bench = test->priv;
	int i;

	bind_port(test, bench, 0);
	for (i = 0; i < MAX_TRIES; i++)
		bench->rets[i] = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, try_connect(bench, 0), -EADDRINUSE);
	KUNIT_EXPECT_LT(test, bench->fake->connects, MAX_TRIES);
	expect_state(test, RCA_ST_ROUTE_RESOLVED);
}

static void tcp_port_of_the_program_stays(struct kunit *test)
{
	struct bench *bench = test->priv;

	bind_port(test, bench, 29999);
	bench->rets[0] = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, try_connect(bench, 0), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, bench->fake->connects, 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(rca_addr_port(&bench->id->local)), (u16)29999);
}

static void tcp_destroyed_connection_does_not_linger(struct kunit *test)
{
	struct bench *bench = test->priv;

	KUNIT_ASSERT_EQ(test, try_connect(bench, 0), 0);
	fake_message(bench->id, RCA_IN_UP, 0);
	destroy(bench);
	KUNIT_EXPECT_EQ(test, atomic_read(&bench->fake->lowers), 0);
	KUNIT_EXPECT_EQ(test, bench->fake->disconnects, 0);
}

static struct kunit_case tcp_cases[] = {
	KUNIT_CASE(tcp_connection_comes_and_goes),
	KUNIT_CASE(tcp_failures_tell_what_they_are),
	KUNIT_CASE(tcp_refusal_leaves_the_id_as_it_was),
	KUNIT_CASE(tcp_answer_comes_before_connect_returns),
	KUNIT_CASE(tcp_second_connect_is_refused_meanwhile),
	KUNIT_CASE(tcp_id_is_destroyed_meanwhile),
	KUNIT_CASE(tcp_device_goes_meanwhile),
	KUNIT_CASE(tcp_chosen_port_changes_when_it_is_taken),
	KUNIT_CASE(tcp_tries_of_ports_end),
	KUNIT_CASE(tcp_port_of_the_program_stays),
	KUNIT_CASE(tcp_destroyed_connection_does_not_linger),
	{}
};

static struct kunit_suite tcp_suite = {
	.name = "rdma_cm_alt_tcp",
	.init = tcp_init,
	.exit = tcp_exit,
	.test_cases = tcp_cases,
};
kunit_test_suite(tcp_suite);
