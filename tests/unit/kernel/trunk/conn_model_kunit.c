// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A test of both ends of a trunk, whose links fail at any record: programs make and end connections
 * at random, and whenever the ends have talked, they agree on which connections there are.
 *
 * Locking: rca_trunk.lock for frames; the test is one thread.
 */
#include <linux/prandom.h>
#include <linux/string.h>
#include <linux/xarray.h>

#include "fake/device_bench.h"
#include "lib/testing.h"
#include "trunk/conn_bench.h"
#include "trunk/trunk.h"

/* Connections at a time, rounds, and steps of each. */
#define MOST	8
#define ROUNDS	300
#define STEPS	60

/**
 * struct model - the fixture
 * @rnd: random numbers, the same in each run
 * @ends: the two ends; the first one requests connections
 * @frame: a frame on its way
 * @qpn: the QP of the last request
 * @failed: number of links that failed
 * @agreed: number of connections that were up when the ends agreed
 */
struct model {
	struct rnd_state rnd;
	struct rca_trunk *ends[2];
	u8 frame[RCA_FRAME_MAX];
	u32 qpn;
	unsigned int failed;
	unsigned int agreed;
};

static u32 random_below(struct model *m, u32 limit)
{
	return prandom_u32_state(&m->rnd) % limit;
}

static unsigned int count(struct rca_trunk *trunk)
{
	struct rca_trunk_conn *conn;
	unsigned int count = 0;
	unsigned long number;

	xa_for_each(&trunk->conns, number, conn)
		count++;
	return count;
}

static struct rca_trunk_conn *any(struct model *m, struct rca_trunk *trunk)
{
	unsigned int skip = count(trunk);
	struct rca_trunk_conn *conn;
	unsigned long number;

	skip = skip ? random_below(m, skip) : 0;
	xa_for_each(&trunk->conns, number, conn)
		if (!skip--)
			return conn;
	return NULL;
}

/* Both ends lose what is in their frames, and say again what their connections have to say. */
static void link_fails(struct model *m)
{
	int i;

	m->failed++;
	for (i = 0; i < 2; i++) {
		spin_lock(&m->ends[i]->lock);
		m->ends[i]->link->filling = 0;
		m->ends[i]->link->filled = 0;
		spin_unlock(&m->ends[i]->lock);
	}
	for (i = 0; i < 2; i++)
		rca_conn_say_again(m->ends[i]);
}

/*
 * Carries a frame from one end to the other, or its first records, and then the link fails. Returns
 * whether there was one.
 */
static bool carry(struct kunit *test, struct model *m, int from, bool fails)
{
	struct rca_trunk_link *link = m->ends[from]->link;
	unsigned int records, pos = 0, len;
	struct rca_trunk_record record;
	int used;

	spin_lock(&link->trunk->lock);
	rca_link_fill(link);
	records = link->filled;
	len = link->filling;
	memcpy(m->frame, link->frames[0].data + RCA_FRAME_HDR_LEN, len);
	link->filling = 0;
	link->filled = 0;
	spin_unlock(&link->trunk->lock);
	if (fails)
		records = random_below(m, records + 1);
	for (; records; records--) {
		used = rca_record_unpack(m->frame + pos, len - pos, &record);
		KUNIT_ASSERT_GT(test, used, 0);
		KUNIT_ASSERT_EQ(test, rca_conn_record(m->ends[!from], &record), 0);
		pos += used;
	}
	if (fails)
		link_fails(m);
	return len;
}

static void request(struct kunit *test, struct model *m)
{
	struct rca_tp_req req = conn_bench_request();
	struct rca_trunk *trunk = m->ends[0];
	struct rca_trunk_conn *conn;

	if (count(trunk) >= MOST)
		return;
	trunk->up = true;
	conn = rca_conn_create(&trunk->key.peer, conn_bench);
	trunk->up = false;
	KUNIT_ASSERT_NOT_NULL(test, conn);
	req.conn.qp_num = m->qpn++ & 0xffffff;
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.connect(conn, &req), 0);
}

/* What a program does with a connection in its state, or nothing yet. */
static void use(struct model *m, struct rca_trunk_conn *conn)
{
	struct rca_tp_conn reply = conn_bench_reply();

	if (!conn || random_below(m, 3))
		return;
	reply.qp_num = m->qpn++ & 0xffffff;
	if (conn->state >= RCA_CONN_TIMEWAIT || !random_below(m, 4))
		rca_tp_trunk.destroy(conn);
	else if (conn->state == RCA_CONN_REP_RCVD)
		rca_tp_trunk.send_rtu(conn, NULL, 0);
	else if (conn->state == RCA_CONN_REQ_RCVD && random_below(m, 6))
		rca_tp_trunk.reply(conn, &reply);
	else if (conn->state == RCA_CONN_REQ_RCVD)
		rca_tp_trunk.reject(conn, IB_CM_REJ_CONSUMER_DEFINED, NULL, 0);
	else if (conn->state == RCA_CONN_UP && !random_below(m, 3))
		rca_tp_trunk.disconnect(conn);
}

/* Is a connection at work that its peer may have? The others wait for their programs alone. */
static bool is_open(const struct rca_trunk_conn *conn)
{
	return conn && (conn->state == RCA_CONN_REP_RCVD || conn->state == RCA_CONN_REP_SENT ||
			conn->state == RCA_CONN_UP);
}

/* Nothing is on its way: each connection that is open at one end is open at the other. */
static void expect_agreement(struct kunit *test, struct model *m)
{
	struct rca_trunk_conn *conn, *other;
	unsigned long number;
	int i;

	for (i = 0; i < 2; i++) {
		xa_for_each(&m->ends[i]->conns, number, conn) {
			other = xa_load(&m->ends[!i]->conns, number);
			if (conn->state == RCA_CONN_DREQ_SENT)
				KUNIT_EXPECT_TRUE_MSG(test, false, "a DREQ was not answered");
			if (!is_open(conn))
				continue;
			KUNIT_EXPECT_TRUE_MSG(test, is_open(other), "end %d: %u, other end: %d", i,
					      conn->state, other ? other->state : -1);
			if (conn->state == RCA_CONN_REP_SENT && other)
				KUNIT_EXPECT_EQ(test, (int)other->state, (int)RCA_CONN_REP_RCVD);
			m->agreed += conn->state == RCA_CONN_UP;
		}
	}
}

static void talk(struct kunit *test, struct model *m)
{
	int i;

	for (i = 0; i < 1000; i++)
		if (!(carry(test, m, 0, false) | carry(test, m, 1, false)))
			return;
	KUNIT_FAIL(test, "the ends send records for ever");
}

static void make_other_end(struct kunit *test, struct model *m)
{
	struct rca_trunk_key key = conn_bench->trunk->key;

	key.passive = 1;
	m->ends[0] = conn_bench->trunk;
	m->ends[1] = rca_trunk_make(m->ends[0]->dev, &key, m->ends[0]->sgid_attr);
	KUNIT_ASSERT_NOT_NULL(test, m->ends[1]);
	m->ends[1]->session = 1;
	m->ends[1]->odd = true;
	m->ends[1]->next_number = 1;
	m->ends[1]->path = m->ends[0]->path;
	conn_bench_make_link(test, m->ends[1]);
}

/* @answers: the ends wait for DREPs, as those of an older version; else they need no answer. */
static void try_ends(struct kunit *test, bool answers)
{
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct rca_trunk_conn *conn;
	unsigned long number;
	int round, step, i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	prandom_seed_state(&m->rnd, 1);
	m->qpn = 0x100;
	make_other_end(test, m);
	/* Their links have no credit: nothing leaves a frame but by carry(). */
	for (i = 0; i < 2; i++) {
		m->ends[i]->no_drep = !answers;
		m->ends[i]->link->ready = !answers;
	}
	for (round = 0; round < ROUNDS; round++) {
		for (step = 0; step < STEPS; step++) {
			i = random_below(m, 2);
			switch (random_below(m, 4)) {
			case 0:
				request(test, m);
				break;
			case 1:
			case 2:
				use(m, any(m, m->ends[i]));
				break;
			case 3:
				carry(test, m, i, !random_below(m, 4));
				break;
			}
		}
		/* The last link of a round works. */
		link_fails(m);
		talk(test, m);
		expect_agreement(test, m);
	}
	for (i = 0; i < 2; i++)
		xa_for_each(&m->ends[i]->conns, number, conn)
			rca_tp_trunk.destroy(conn);
	talk(test, m);
	KUNIT_EXPECT_EQ(test, m->ends[1]->users, 0u);
	KUNIT_EXPECT_GT(test, m->failed, ROUNDS);
	KUNIT_EXPECT_GT(test, m->agreed, ROUNDS);
	for (i = 0; i < 2; i++)
		m->ends[i]->link->ready = false;
	m->ends[1]->link = NULL;
	m->ends[1]->wanted = false;
	rca_trunk_run(m->ends[1]);
	flush_delayed_work(&m->ends[1]->work);
	rca_trunk_put(m->ends[1]);
}

static void ends_agree(struct kunit *test)
{
	try_ends(test, false);
}

static void ends_that_answer_agree(struct kunit *test)
{
	try_ends(test, true);
}

static struct kunit_case conn_model_cases[] = {
	KUNIT_CASE(ends_agree),
	KUNIT_CASE(ends_that_answer_agree),
	{}
};

CONN_SUITE(conn_model_suite, "conn_model", conn_model_cases);

kunit_test_suite(conn_model_suite);
