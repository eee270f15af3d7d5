// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/id/peer_qp.c, and of what replies and the work of ids do with stale connections.
 * The fake transport does not find stale connections by itself here, unless a test says so.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <rdma/ib_cm.h>

#include "cm/cm.h"
#include "fake/fake_suite.h"
#include "fake/race.h"
#include "id/id.h"
#include "lib/testing.h"

#define OTHER_GUID	cpu_to_be64(1)
#define OTHER_QP	78

#define ROUNDS		50

static const struct rca_tp_conn the_conn = { .qp_num = 42 };

/* The operations of the fake transport. */
static struct rca_tp_ops ops;

static bool claim(struct rca_id *id)
{
	return rca_peer_qp_claim(id, FAKE_PEER_GUID, FAKE_PEER_QP);
}

static u32 destroy(struct rca_id *id)
{
	u32 reported;

	return rca_destroy(id->obj.ctx, id->obj.handle, &reported);
}

static void qp_has_one_connection(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_id *other = fake_child(test, test->priv);

	KUNIT_EXPECT_TRUE(test, claim(id));
	KUNIT_EXPECT_TRUE(test, id->peer_qp.listed);
	KUNIT_EXPECT_TRUE(test, claim(id));
	KUNIT_EXPECT_TRUE(test, rca_peer_qp_claim(other, FAKE_PEER_GUID, OTHER_QP));
	KUNIT_EXPECT_TRUE(test, rca_peer_qp_claim(other, OTHER_GUID, FAKE_PEER_QP));
	KUNIT_EXPECT_FALSE(test, claim(other));
	KUNIT_EXPECT_FALSE(test, other->peer_qp.listed);
	/* Its work has not run yet. */
	KUNIT_EXPECT_TRUE(test, claim(other));
	KUNIT_EXPECT_FALSE(test, id->peer_qp.listed);
}

static void released_qp_is_free(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_id *other = fake_child(test, test->priv);

	KUNIT_EXPECT_TRUE(test, claim(id));
	rca_peer_qp_release(id);
	rca_peer_qp_release(id);
	KUNIT_EXPECT_TRUE(test, claim(other));
	fake_expect_state(test, id, RCA_ST_REQ_RCVD);
	/* The end of an id releases it. */
	KUNIT_EXPECT_EQ(test, destroy(other), 0u);
	KUNIT_EXPECT_TRUE(test, claim(id));
	/* Another QP replaces it. */
	KUNIT_EXPECT_TRUE(test, rca_peer_qp_claim(id, FAKE_PEER_GUID, OTHER_QP));
	KUNIT_EXPECT_TRUE(test, claim(fake_child(test, test->priv)));
	fake_expect_state(test, id, RCA_ST_REQ_RCVD);
}

static void no_index_without_trunks(struct kunit *test)
{
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_id *other = fake_child(test, test->priv);

	fake_trunks(NULL);
	KUNIT_EXPECT_TRUE(test, claim(id));
	KUNIT_EXPECT_FALSE(test, id->peer_qp.listed);
	/* An entry is released also after their module was unloaded. */
	fake_trunks(&fake_trunk_ops);
	KUNIT_EXPECT_TRUE(test, claim(id));
	fake_trunks(NULL);
	KUNIT_EXPECT_TRUE(test, claim(other));
	fake_expect_state(test, id, RCA_ST_REQ_RCVD);
	KUNIT_EXPECT_EQ(test, destroy(id), 0u);
	fake_trunks(&fake_trunk_ops);
	KUNIT_EXPECT_TRUE(test, claim(other));
	KUNIT_EXPECT_TRUE(test, other->peer_qp.listed);
}

static void only_connections_have_qps_of_peers(struct kunit *test)
{
	struct rca_id *id = fake_datagram_child(test, test->priv);

	KUNIT_EXPECT_TRUE(test, claim(id));
	KUNIT_EXPECT_FALSE(test, id->peer_qp.listed);
	id = fake_child(test, test->priv);
	id->qp_type = IB_QPT_XRC_TGT;
	KUNIT_EXPECT_TRUE(test, claim(id));
	KUNIT_EXPECT_FALSE(test, id->peer_qp.listed);
	id->qp_type = IB_QPT_RC;
	ops.over_tcp = true;
	KUNIT_EXPECT_TRUE(test, claim(id));
	KUNIT_EXPECT_FALSE(test, id->peer_qp.listed);
	ops.over_tcp = false;
}

/* ib_cm has found nothing, so the earlier connection is in timewait at the most. */
static void connections_of_ib_cm_are_left_to_it(struct kunit *test)
{
	static struct rca_tp_ops trunk_ops;
	struct rca_id *id = fake_child(test, test->priv);
	struct rca_id *other = fake_child(test, test->priv);

	ops.finds_stale = true;
	KUNIT_EXPECT_TRUE(test, claim(id));
	KUNIT_EXPECT_TRUE(test, claim(other));
	KUNIT_EXPECT_TRUE(test, other->peer_qp.listed);
	KUNIT_EXPECT_FALSE(test, id->peer_qp.listed);
	fake_expect_state(test, id, RCA_ST_REQ_RCVD);
	/* Of two transports, neither has compared. */
	trunk_ops = ops;
	trunk_ops.finds_stale = false;
	id->tp = &trunk_ops;
	KUNIT_EXPECT_FALSE(test, claim(id));
	id->tp = &ops;
	fake_expect_state(test, other, RCA_ST_FAILED);
}

static struct rca_id *connecting(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);

	KUNIT_EXPECT_EQ(test, rca_connect(id, &the_conn), 0);
	return id;
}

/* An id in a state that has the QP, with its events read. */
static struct rca_id *id_in(struct kunit *test, enum rca_state state)
{
	struct rdma_cm_alt_event rec;
	struct rca_id *id;

	if (state == RCA_ST_REQ_RCVD || state == RCA_ST_REP_SENT) {
		id = fake_child(test, test->priv);
		if (state == RCA_ST_REP_SENT)
			KUNIT_EXPECT_EQ(test, rca_accept(id, FAKE_COOKIE, &the_conn), 0);
	} else {
		id = connecting(test);
	}
	if (state >= RCA_ST_CONNECTED || state == RCA_ST_REP_RCVD)
		fake_message(id, RCA_IN_REP, 0);
	if (state >= RCA_ST_CONNECTED && state != RCA_ST_FAILED)
		KUNIT_EXPECT_EQ(test, rca_establish(id), 0);
	if (state == RCA_ST_DREQ_SENT)
		KUNIT_EXPECT_EQ(test, rca_disconnect(id), 0);
	if (state == RCA_ST_DISCONNECTED)
		fake_message(id, RCA_IN_DREQ, 0);
	if (state == RCA_ST_FAILED)
		fake_message(id, RCA_IN_REJ, IB_CM_REJ_CONSUMER_DEFINED);
	fake_expect_state(test, id, state);
	while (fake_take_event(test->priv, &rec))
		;
	if (!id->peer_qp.listed)
		KUNIT_EXPECT_TRUE(test, claim(id));
	return id;
}

static const struct {
	enum rca_state was;
	enum rca_state ends;
	u32 event;
	int status;
} halves[] = {
	{ RCA_ST_REQ_RCVD, RCA_ST_FAILED, RCA_NO_EVENT, 0 },
	{ RCA_ST_REP_SENT, RCA_ST_FAILED, RDMA_CM_ALT_EVENT_REJECTED, IB_CM_REJ_STALE_CONN },
	{ RCA_ST_REP_RCVD, RCA_ST_FAILED, RDMA_CM_ALT_EVENT_REJECTED, IB_CM_REJ_STALE_CONN },
	{ RCA_ST_CONNECTED, RCA_ST_DISCONNECTED, RDMA_CM_ALT_EVENT_DISCONNECTED, 0 },
	{ RCA_ST_DREQ_SENT, RCA_ST_DISCONNECTED, RDMA_CM_ALT_EVENT_DISCONNECTED, 0 },
};

static void stale_connection_is_ended(struct kunit *test)
{
	struct rca_id *old, *id;
	int i;

	for (i = 0; i < ARRAY_SIZE(halves); i++) {
		old = id_in(test, halves[i].was);
		id = fake_child(test, test->priv);
		KUNIT_EXPECT_FALSE(test, claim(id));
		KUNIT_EXPECT_FALSE(test, id->peer_qp.listed);
		if (halves[i].event != RCA_NO_EVENT)
			fake_expect_event(test, halves[i].event, halves[i].status);
		rca_id_flush_work(old);
		KUNIT_EXPECT_NULL(test, old->lower);
		KUNIT_EXPECT_FALSE(test, old->peer_qp.listed);
		fake_expect_no_event(test);
		fake_expect_state(test, old, halves[i].ends);
		if (halves[i].was == RCA_ST_REQ_RCVD)
			KUNIT_EXPECT_EQ(test, rca_accept(old, FAKE_COOKIE, &the_conn), -ECONNRESET);
		if (halves[i].ends == RCA_ST_DISCONNECTED) {
			rca_id_flush_work(old);
			fake_expect_event(test, RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT, 0);
			fake_expect_state(test, old, RCA_ST_CLOSED);
		}
		/* The peer comes again. */
		KUNIT_EXPECT_TRUE(test, claim(id));
		KUNIT_EXPECT_EQ(test, destroy(id), 0u);
		KUNIT_EXPECT_EQ(test, destroy(old), 0u);
		fake_expect_no_event(test);
	}
}

/* As with ib_cm, a timewait does not keep the QP. */
static void qp_of_a_connection_that_has_ended_is_free(struct kunit *test)
{
	static const enum rca_state states[] = { RCA_ST_DISCONNECTED, RCA_ST_FAILED };
	struct rca_id *old, *id;
	int i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		old = id_in(test, states[i]);
		id = fake_child(test, test->priv);
		KUNIT_EXPECT_TRUE(test, claim(id));
		KUNIT_EXPECT_FALSE(test, old->peer_qp.listed);
		rca_id_flush_work(old);
		KUNIT_EXPECT_NOT_NULL(test, old->lower);
		fake_expect_state(test, old, states[i]);
		KUNIT_EXPECT_EQ(test, destroy(id), 0u);
	}
	fake_expect_no_event(test);
}

/* Another thread has claimed the QP, and is about to take the step. */
static void reply_that_is_being_handled_is_waited_for(struct kunit *test)
{
	struct rca_id *old = id_in(test, RCA_ST_REQ_SENT);
	struct rca_id *id = fake_child(test, test->priv);

	KUNIT_EXPECT_FALSE(test, claim(id));
	fake_expect_state(test, old, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_TRUE(test, old->peer_qp.listed);
	KUNIT_EXPECT_FALSE(test, rca_id_work_pending(old));
}

/*
 * The program has destroyed it, and it waits for the DREP: nobody has to wait for that, nor for the
 * thread that destroys an id.
 */
static void lingering_id_is_ended(struct kunit *test)
{
	struct rca_id *old = rca_id_get(id_in(test, RCA_ST_CONNECTED));
	struct rca_id *id = fake_child(test, test->priv);

	KUNIT_EXPECT_EQ(test, destroy(old), 0u);
	KUNIT_ASSERT_NOT_NULL(test, old->lower);
	KUNIT_EXPECT_TRUE(test, claim(id));
	KUNIT_EXPECT_FALSE(test, old->peer_qp.listed);
	flush_work(&old->work);
	KUNIT_EXPECT_NULL(test, old->lower);
	KUNIT_EXPECT_NULL(test, old->dev);
	rca_id_put(old);
	KUNIT_EXPECT_TRUE(test, id->peer_qp.listed);
	fake_expect_no_event(test);
}

/* The request is sent again with another lower cm_id, and the second reply is accepted. */
static void reply_with_the_qp_of_another_connection(struct kunit *test)
{
	struct rca_id *old = id_in(test, RCA_ST_CONNECTED);
	struct rca_id *id = connecting(test);
	struct fake *fake = test->priv;
	int connects = fake->connects;

	fake_message(id, RCA_IN_REP, 0);
	KUNIT_EXPECT_EQ(test, fake->rejects, 1);
	KUNIT_EXPECT_EQ(test, fake->last_reason, IB_CM_REJ_STALE_CONN);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_DISCONNECTED, 0);
	fake_expect_no_event(test);
	fake_expect_state(test, id, RCA_ST_REQ_WAIT);
	rca_id_flush_work(old);
	rca_id_flush_work(id);
	fake_expect_state(test, id, RCA_ST_REQ_SENT);
	KUNIT_EXPECT_EQ(test, fake->connects, connects + 1);
	fake_message(id, RCA_IN_REP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	KUNIT_EXPECT_TRUE(test, id->peer_qp.listed);
	KUNIT_EXPECT_EQ(test, fake->rejects, 1);
}

static void late_reply_is_told_as_a_reject(struct kunit *test)
{
	struct rca_id *id = connecting(test);

	id_in(test, RCA_ST_REQ_RCVD);
	id->setup->retry->deadline = jiffies - 1;
	fake_message(id, RCA_IN_REP, 0);
	fake_expect_event(test, RDMA_CM_ALT_EVENT_REJECTED, IB_CM_REJ_STALE_CONN);
	fake_expect_state(test, id, RCA_ST_FAILED);
	KUNIT_EXPECT_FALSE(test, id->peer_qp.listed);
}

/* A second reply does not change the entry. */
static void repeated_reply(struct kunit *test)
{
	struct rca_id *id = id_in(test, RCA_ST_REP_RCVD);

	fake_message(id, RCA_IN_REP, 0);
	KUNIT_EXPECT_TRUE(test, id->peer_qp.listed);
	fake_expect_state(test, id, RCA_ST_REP_RCVD);
	fake_expect_no_event(test);
}

/* Each end has the QP of the other; a QP that is connected to itself has two connections. */
static void both_ends_on_one_port(struct kunit *test)
{
	struct rca_id *server = fake_child(test, test->priv);
	struct rca_id *client = fake_child(test, test->priv);

	KUNIT_EXPECT_TRUE(test, rca_peer_qp_claim(server, FAKE_PEER_GUID, 42));
	KUNIT_EXPECT_TRUE(test, rca_peer_qp_claim(client, FAKE_PEER_GUID, 43));
	fake_expect_state(test, server, RCA_ST_REQ_RCVD);
	KUNIT_EXPECT_FALSE(test, rca_peer_qp_claim(client, FAKE_PEER_GUID, 42));
}

/**
 * struct contest - two ids
 * @ids: the ids
 * @won: result of the claim of each
 */
struct contest {
	struct rca_id *ids[2];
	bool won[2];
};

static void claim_each(void *arg, unsigned int n)
{
	struct contest *contest = arg;

	contest->won[n] = claim(contest->ids[n]);
}

static void one_of_two_gets_a_qp(struct kunit *test)
{
	struct contest contest;
	int i, k;

	for (i = 0; i < ROUNDS; i++) {
		for (k = 0; k < 2; k++)
			contest.ids[k] = fake_child(test, test->priv);
		rca_race(test, 2, claim_each, &contest);
		KUNIT_EXPECT_NE(test, contest.won[0], contest.won[1]);
		for (k = 0; k < 2; k++)
			KUNIT_EXPECT_EQ(test, destroy(contest.ids[k]), 0u);
	}
}

static void destroy_or_claim(void *arg, unsigned int n)
{
	struct contest *contest = arg;

	if (n)
		contest->won[1] = claim(contest->ids[1]);
	else
		destroy(contest->ids[0]);
}

static void id_that_is_freed_while_it_is_found(struct kunit *test)
{
	struct contest contest;
	int i, k;

	for (i = 0; i < ROUNDS; i++) {
		contest.ids[0] = id_in(test, i % 2 ? RCA_ST_CONNECTED : RCA_ST_REQ_RCVD);
		contest.ids[1] = fake_child(test, test->priv);
		rca_race(test, 2, destroy_or_claim, &contest);
		KUNIT_EXPECT_EQ(test, contest.ids[1]->peer_qp.listed, contest.won[1]);
		/* An id that lingers has the QP until its work has run. */
		for (k = 0; k < 1000 && !claim(contest.ids[1]); k++)
			usleep_range(500, 1000);
		KUNIT_EXPECT_TRUE(test, contest.ids[1]->peer_qp.listed);
		KUNIT_EXPECT_EQ(test, destroy(contest.ids[1]), 0u);
	}
}

static const struct rca_trunk_ops *former_trunks;

static int begin(struct kunit *test)
{
	int ret = fake_suite_init(test);
	struct fake *fake = test->priv;

	ops = *fake->dev.tp;
	ops.finds_stale = false;
	fake_set_tp(fake, &ops);
	former_trunks = fake_trunks(&fake_trunk_ops);
	return ret;
}

static void end(struct kunit *test)
{
	fake_trunks(former_trunks);
	fake_suite_exit(test);
}

static struct kunit_case peer_qp_cases[] = {
	KUNIT_CASE(qp_has_one_connection),
	KUNIT_CASE(released_qp_is_free),
	KUNIT_CASE(no_index_without_trunks),
	KUNIT_CASE(only_connections_have_qps_of_peers),
	KUNIT_CASE(connections_of_ib_cm_are_left_to_it),
	KUNIT_CASE(stale_connection_is_ended),
	KUNIT_CASE(qp_of_a_connection_that_has_ended_is_free),
	KUNIT_CASE(reply_that_is_being_handled_is_waited_for),
	KUNIT_CASE(lingering_id_is_ended),
	KUNIT_CASE(reply_with_the_qp_of_another_connection),
	KUNIT_CASE(late_reply_is_told_as_a_reject),
	KUNIT_CASE(repeated_reply),
	KUNIT_CASE(both_ends_on_one_port),
	KUNIT_CASE(one_of_two_gets_a_qp),
	KUNIT_CASE(id_that_is_freed_while_it_is_found),
	{}
};

static struct kunit_suite peer_qp_suite = {
	.name = "rdma_cm_alt_peer_qp",
	.init = begin,
	.exit = end,
	.test_cases = peer_qp_cases,
};

kunit_test_suite(peer_qp_suite);
