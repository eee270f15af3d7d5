// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/id/id_create.c: when the connection state of an id is freed and allocated again,
 * and that its absence is handled. Also of the record that is reserved for an answer.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "fake/fake_suite.h"
#include "fake/race.h"
#include "id/id.h"
#include "lib/testing.h"

#define ROUNDS 200

/* The REP has arrived; the id has a deadline, so its timer is pending. */
static struct rca_id *answered(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42 };
	u32 ms = 60000;

	KUNIT_ASSERT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_DEADLINE,
					     &ms, sizeof(ms)), 0);
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_message(id, RCA_IN_REP, 0);
	return id;
}

static void drain(struct kunit *test)
{
	struct rdma_cm_alt_event rec;

	while (fake_take_event(test->priv, &rec))
		;
}

static void connected_active_id_has_none(struct kunit *test)
{
	struct rca_id *id = answered(test);
	unsigned int refs;

	KUNIT_EXPECT_NOT_NULL(test, id->setup);
	KUNIT_EXPECT_TRUE(test, rca_id_work_pending(id));
	drain(test);
	refs = refcount_read(&id->obj.ref);
	KUNIT_EXPECT_EQ(test, rca_establish(id), 0);
	KUNIT_EXPECT_NULL(test, id->setup);
	KUNIT_EXPECT_NULL(test, id->reserved);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(id));
	/* The reference of the timer was put. */
	KUNIT_EXPECT_EQ(test, refcount_read(&id->obj.ref), refs - 1);
}

/* A timeout that is reported late has no effect, and leaves the record to the answer. */
static void ignored_timeout_leaves_the_reserved_record(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42, .tells_route = true };
	struct rdma_cm_alt_event rec;

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	/* Any input that has no effect in this state. */
	KUNIT_EXPECT_NE(test, (int)rca_id_step_post_reserved(id, RCA_IN_TIMEWAIT_EXIT, 0).verdict,
			(int)RCA_TAKE);
	fake_message(id, RCA_IN_REP, 0);
	rec = fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	KUNIT_EXPECT_TRUE(test, rec.flags & RDMA_CM_ALT_EVENT_F_ROUTE);
}

static void connected_passive_id_has_none(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_tp_conn conn = { .qp_num = 42 };

	KUNIT_EXPECT_NOT_NULL(test, id->setup);
	KUNIT_ASSERT_EQ(test, rca_accept_as(id, FAKE_COOKIE, &conn, false), 0);
	KUNIT_EXPECT_NULL(test, id->setup);
	fake_message(id, RCA_IN_RTU, 0);
	fake_expect_state(test, id, RCA_ST_CONNECTED);
	KUNIT_EXPECT_NULL(test, id->reserved);
	KUNIT_EXPECT_NULL(test, id->opts);
}

static void refused_accept_keeps_it(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_tp_conn conn = { .qp_num = 42 };
	struct fake *fake = test->priv;

	fake->fail = -ENOMEM;
	KUNIT_EXPECT_EQ(test, rca_accept_as(id, FAKE_COOKIE, &conn, false), -ENOMEM);
	KUNIT_EXPECT_NOT_NULL(test, id->setup);
}

static void disconnect_gets_one_again(struct kunit *test)
{
	struct rca_id *id = answered(test);
	struct fake *fake = test->priv;

	KUNIT_ASSERT_EQ(test, rca_establish(id), 0);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	KUNIT_EXPECT_EQ(test, fake->disconnects, 1);
	KUNIT_ASSERT_NOT_NULL(test, id->setup);
	KUNIT_EXPECT_TRUE(test, rca_id_work_pending(id));
	KUNIT_EXPECT_GT(test, id->setup->drep_deadline, jiffies + msecs_to_jiffies(50000));
	fake_message(id, RCA_IN_DREP, 0);
	fake_expect_state(test, id, RCA_ST_DISCONNECTED);
}

/* The slot that a late answer would release was released before. */
static void messages_without_one_are_taken(struct kunit *test)
{
	struct rca_id *id = answered(test);

	KUNIT_ASSERT_EQ(test, rca_establish(id), 0);
	fake_message(id, RCA_IN_REP, 0);
	fake_message(id, RCA_IN_REQ_TIMEOUT, -ETIMEDOUT);
	fake_expect_state(test, id, RCA_ST_CONNECTED);
	fake_message(id, RCA_IN_DREQ, 0);
	fake_expect_state(test, id, RCA_ST_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	KUNIT_EXPECT_NULL(test, id->setup);
}

static void questions_without_one_are_answered(struct kunit *test)
{
	struct rdma_cm_alt_route route;
	struct rca_id *id = answered(test);
	u8 path[256];
	u32 len = sizeof(path);

	rca_id_fill_route(id, &route);
	KUNIT_EXPECT_EQ(test, route.num_paths, 1u);
	KUNIT_ASSERT_EQ(test, rca_establish(id), 0);
	rca_id_fill_route(id, &route);
	KUNIT_EXPECT_EQ(test, route.num_paths, 0u);
	KUNIT_EXPECT_EQ(test, rca_get_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, path, &len),
			-ENODATA);
}

static void reply_without_attributes_says_so(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id = fake_active_id(test, fake, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42 };
	struct rdma_cm_alt_event rec;

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake->no_attr = true;
	fake_message(id, RCA_IN_REP, 0);
	rec = fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	KUNIT_EXPECT_FALSE(test, rec.flags & RDMA_CM_ALT_EVENT_F_QP);
	KUNIT_EXPECT_EQ(test, rec.qp.init_mask, 0u);
	KUNIT_EXPECT_EQ(test, rec.private_data_len, 4u);
}

/* The id has no port of its own that could be changed. */
static void port_in_use_is_the_end_for_an_id_without_one(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id = fake_active_id(test, fake, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42 };

	fake->fail = -EADDRINUSE;
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, fake->connects, 0);
	fake_expect_state(test, id, RCA_ST_ROUTE_RESOLVED);
}

/* After a stale reject another cm_id is needed; without memory for it, the reject is reported. */
static void stale_request_gets_no_lower_id(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id = fake_active_id(test, fake, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42 };

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_message(id, RCA_IN_REJ, IB_CM_REJ_STALE_CONN);
	fake_expect_state(test, id, RCA_ST_REQ_WAIT);
	fake->no_lower = true;
	rca_id_flush_work(id);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, IB_CM_REJ_STALE_CONN);
	fake_expect_state(test, id, RCA_ST_FAILED);
	KUNIT_EXPECT_NULL(test, id->lower);
	KUNIT_EXPECT_EQ(test, fake->connects, 1);
}

static void options_make_extras(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE), *child;
	u8 tos = 32, timeout = 17;
	u32 len = sizeof(tos);

	KUNIT_EXPECT_NULL(test, id->opts);
	KUNIT_EXPECT_EQ(test, rca_get_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, &len),
			0);
	KUNIT_EXPECT_EQ(test, tos, 0);
	KUNIT_EXPECT_NULL(test, id->opts);
	tos = 32;
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 2),
			-EINVAL);
	KUNIT_EXPECT_NULL(test, id->opts);
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	KUNIT_ASSERT_NOT_NULL(test, id->opts);
	KUNIT_EXPECT_EQ(test, id->opts->tos, 32);
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION,
					     RDMA_CM_ALT_OPTION_RESPONSE_TIMEOUT, &timeout, 1), 0);

	child = rca_id_create_child(id);
	KUNIT_ASSERT_FALSE(test, IS_ERR(child));
	KUNIT_EXPECT_EQ(test, child->opts ? child->opts->timing.response : 0, 18);
	rca_id_free_unpublished(child);
}

/* Each timer setting alone makes the ids of requests inherit. */
static void requests_have_the_timers_of_their_listener(struct kunit *test)
{
	static const struct {
		u32 option;
		u32 len;
		u8 value[4];
	} timers[] = {
		{ RDMA_CM_ALT_OPTION_DEADLINE, 4, { 0x60, 0xea } },
		{ RDMA_CM_ALT_OPTION_RESPONSE_TIMEOUT, 1, { 17 } },
		{ RDMA_CM_ALT_OPTION_MAX_RETRIES, 1, { 3 } },
		{ RDMA_CM_ALT_OPTION_MRA_TIMEOUT, 1, { 20 } },
	};
	struct rca_id *id, *child;
	u8 value[4];
	u32 len;
	int i;

	for (i = 0; i < ARRAY_SIZE(timers); i++) {
		id = fake_active_id(test, test->priv, FAKE_COOKIE);
		KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, timers[i].option,
						     timers[i].value, timers[i].len), 0);
		child = rca_id_create_child(id);
		KUNIT_ASSERT_FALSE(test, IS_ERR(child));
		KUNIT_EXPECT_NOT_NULL(test, child->opts);
		memset(value, 0, sizeof(value));
		len = timers[i].len;
		KUNIT_EXPECT_EQ(test, rca_get_option(child, RDMA_CM_ALT_OPTION, timers[i].option,
						     value, &len), 0);
		KUNIT_EXPECT_EQ(test, memcmp(value, timers[i].value, sizeof(value)), 0);
		rca_id_free_unpublished(child);
	}
}

static void each_direction_may_have_a_path(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct sa_path_rec path = { .sl = 1 }, in = { .sl = 2 }, out = { .sl = 3 };

	mutex_lock(&id->op);
	KUNIT_EXPECT_EQ(test, rca_id_set_paths(id, &path, &in, &out), 0);
	KUNIT_EXPECT_EQ(test, (int)id->setup->path.sl, 1);
	KUNIT_ASSERT_NOT_NULL(test, id->setup->path_in);
	KUNIT_ASSERT_NOT_NULL(test, id->setup->path_out);
	KUNIT_EXPECT_EQ(test, (int)id->setup->path_in->sl, 2);
	KUNIT_EXPECT_EQ(test, (int)id->setup->path_out->sl, 3);
	KUNIT_EXPECT_EQ(test, rca_id_set_paths(id, &in, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, (int)id->setup->path.sl, 2);
	KUNIT_EXPECT_NULL(test, id->setup->path_in);
	KUNIT_EXPECT_NULL(test, id->setup->path_out);
	mutex_unlock(&id->op);
}

/* User space expects InfiniBand records, with LIDs of 16 bits. */
static void path_of_omni_path_is_converted(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rdma_cm_alt_route route;
	u8 *lid = (u8 *)route.path[0].path_rec + 40;

	id->setup->path.rec_type = SA_PATH_REC_TYPE_OPA;
	id->setup->path.opa.dlid = cpu_to_be32(0x1234);
	rca_id_fill_route(id, &route);
	KUNIT_EXPECT_EQ(test, route.num_paths, 1u);
	KUNIT_EXPECT_EQ(test, (int)lid[0], 0x12);
	KUNIT_EXPECT_EQ(test, (int)lid[1], 0x34);
}

struct end_race {
	struct rca_id *id;
	int (*call)(struct rca_id *id);
};

static void call_or_message(void *arg, unsigned int n)
{
	struct end_race *race = arg;

	if (n)
		fake_message(race->id, RCA_IN_DREQ, 0);
	else
		race->call(race->id);
}

/* The connection state is freed or allocated while a message looks it up. */
static void race_with_disconnect_request(struct kunit *test, bool established,
					 int (*call)(struct rca_id *id))
{
	struct fake *fake = test->priv;
	struct end_race race = { .call = call };
	u32 reported;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		race.id = rca_id_get(answered(test));
		if (established)
			KUNIT_EXPECT_EQ(test, rca_establish(race.id), 0);
		rca_race(test, 2, call_or_message, &race);
		drain(test);
		rca_destroy(fake->ctx, race.id->obj.handle, &reported);
		rca_id_flush_work(race.id);
		rca_id_put(race.id);
	}
}

static void establish_while_the_peer_disconnects(struct kunit *test)
{
	race_with_disconnect_request(test, false, rca_establish);
}

static void disconnect_while_the_peer_does(struct kunit *test)
{
	race_with_disconnect_request(test, true, rca_disconnect);
}

static struct kunit_case setup_cases[] = {
	KUNIT_CASE(connected_active_id_has_none),
	KUNIT_CASE(ignored_timeout_leaves_the_reserved_record),
	KUNIT_CASE(connected_passive_id_has_none),
	KUNIT_CASE(refused_accept_keeps_it),
	KUNIT_CASE(disconnect_gets_one_again),
	KUNIT_CASE(messages_without_one_are_taken),
	KUNIT_CASE(questions_without_one_are_answered),
	KUNIT_CASE(reply_without_attributes_says_so),
	KUNIT_CASE(port_in_use_is_the_end_for_an_id_without_one),
	KUNIT_CASE(stale_request_gets_no_lower_id),
	KUNIT_CASE(options_make_extras),
	KUNIT_CASE(requests_have_the_timers_of_their_listener),
	KUNIT_CASE(each_direction_may_have_a_path),
	KUNIT_CASE(path_of_omni_path_is_converted),
	KUNIT_CASE(establish_while_the_peer_disconnects),
	KUNIT_CASE(disconnect_while_the_peer_does),
	{}
};

static struct kunit_suite setup_suite = {
	.name = "rdma_cm_alt_setup",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = setup_cases,
};
kunit_test_suite(setup_suite);
