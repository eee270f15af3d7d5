// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of requests over a trunk: their numbers, their report to the listener, and refusals.
 *
 * Locking: none.
 */
#include <linux/string.h>
#include <rdma/ib_cm.h>

#include "fake/device_bench.h"
#include "lib/testing.h"
#include "trunk/conn_bench.h"
#include "trunk/trunk.h"

/* As in kernel/trunk/conn.c. */
#define MOST_ANSWERS	16384
#define MOST_STUCK	512
#define MOST_OF_ALL	65536

static int request(u32 number)
{
	const struct rca_trunk_record record = conn_bench_record(RCA_RECORD_REQ, number);

	return conn_bench_receive(&record);
}

static void listener_gets_the_request(struct kunit *test)
{
	struct rca_trunk_record record = conn_bench_record(RCA_RECORD_REQ, 1);
	const struct rca_tp_request *req = &conn_bench->request;
	static u8 data[RCA_RECORD_PRIVATE_MAX];

	memset(data, 0x5a, sizeof(data));
	record.private_data = data;
	record.private_len = IB_CM_REQ_PRIVATE_DATA_SIZE;
	KUNIT_ASSERT_EQ(test, conn_bench_receive(&record), 0);
	KUNIT_ASSERT_EQ(test, conn_bench->requests, 1u);
	KUNIT_EXPECT_PTR_EQ(test, req->tp, &rca_tp_trunk);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(req->service_id), 0x88ULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(req->ca_guid), 0x1234ULL);
	KUNIT_EXPECT_EQ(test, req->conn.qp_num, (u32)CONN_PEER_QPN);
	KUNIT_EXPECT_EQ(test, req->conn.psn, 0x222u);
	KUNIT_EXPECT_EQ(test, (int)req->conn.responder_resources, 4);
	KUNIT_EXPECT_EQ(test, (int)req->conn.initiator_depth, 5);
	KUNIT_EXPECT_EQ(test, (int)req->conn.private_data_len, IB_CM_REQ_PRIVATE_DATA_SIZE);
	KUNIT_EXPECT_EQ(test, memcmp(conn_bench->data, data, IB_CM_REQ_PRIVATE_DATA_SIZE), 0);
	/* More data than ib_cm has room for. */
	record.conn = 5;
	record.private_len = sizeof(data);
	KUNIT_ASSERT_EQ(test, conn_bench_receive(&record), 0);
	KUNIT_EXPECT_EQ(test, (int)req->conn.private_data_len, (int)sizeof(data));
	KUNIT_EXPECT_EQ(test, memcmp(conn_bench->data, data, sizeof(data)), 0);
	/* No data: zeros. */
	KUNIT_ASSERT_EQ(test, request(3), 0);
	KUNIT_EXPECT_EQ(test, (int)req->conn.private_data_len, IB_CM_REQ_PRIVATE_DATA_SIZE);
	KUNIT_EXPECT_NULL(test, memchr_inv(conn_bench->data, 0, IB_CM_REQ_PRIVATE_DATA_SIZE));
	KUNIT_EXPECT_EQ(test, conn_bench->events, 0u);
}

static void qp_attributes_of_the_passive_side(struct kunit *test)
{
	struct ib_qp_attr *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	int mask = 0;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_ASSERT_EQ(test, request(1), 0);
	attr->qp_state = IB_QPS_RTR;
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.qp_attr(conn_bench->lower, attr, &mask), 0);
	KUNIT_EXPECT_EQ(test, attr->dest_qp_num, (u32)CONN_PEER_QPN);
	KUNIT_EXPECT_EQ(test, (int)attr->path_mtu, (int)IB_MTU_2048);
	KUNIT_EXPECT_EQ(test, (int)attr->max_dest_rd_atomic, 5);
	attr->qp_state = IB_QPS_RTS;
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.qp_attr(conn_bench->lower, attr, &mask), 0);
	KUNIT_EXPECT_EQ(test, attr->sq_psn, 0x222u);
	KUNIT_EXPECT_EQ(test, (int)attr->max_rd_atomic, 4);
	KUNIT_EXPECT_EQ(test, (int)attr->retry_cnt, 3);
	KUNIT_EXPECT_EQ(test, (int)attr->rnr_retry, 2);
	KUNIT_EXPECT_EQ(test, (int)attr->timeout, 16);
}

/* The peer's numbers are all odd or all even, and are used once. */
static void numbers_of_the_peer(struct kunit *test)
{
	struct rca_trunk_record other = conn_bench_record(RCA_RECORD_REQ, 1);
	struct rca_trunk_conn *first;

	KUNIT_EXPECT_EQ(test, request(0), -EPROTO);
	KUNIT_EXPECT_EQ(test, request(2), -EPROTO);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 0u);
	KUNIT_ASSERT_EQ(test, request(1), 0);
	first = conn_bench->lower;
	/* The same request again, over another link. */
	KUNIT_EXPECT_EQ(test, request(1), 0);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 0u);
	KUNIT_EXPECT_EQ(test, conn_bench->requests, 1u);
	/* Another request. */
	other.qp.qp_num++;
	KUNIT_EXPECT_EQ(test, conn_bench_receive(&other), 0);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 1u);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.type, (int)RCA_RECORD_REJ);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.reason, (int)IB_CM_REJ_STALE_CONN);
	KUNIT_EXPECT_EQ(test, conn_bench->requests, 1u);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 1u);
	KUNIT_EXPECT_PTR_EQ(test, xa_load(&conn_bench->trunk->conns, 1), (void *)first);
	KUNIT_EXPECT_EQ(test, (int)first->state, (int)RCA_CONN_REQ_RCVD);
	conn_bench->trunk->odd = true;
	KUNIT_EXPECT_EQ(test, request(0), -EPROTO);
	KUNIT_EXPECT_EQ(test, request(3), -EPROTO);
	KUNIT_EXPECT_EQ(test, request(4), 0);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 0u);
}

/* Expects that the peer gets one record, and that no connection is left. */
static void expect_refusal(struct kunit *test, u8 type, u16 reason)
{
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 1u);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.type, (int)type);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.reason, (int)reason);
	KUNIT_EXPECT_EQ(test, conn_bench->record.conn, 1u);
	KUNIT_EXPECT_EQ(test, conn_bench->record.delay_ms, type == RCA_RECORD_HELD ? 20u : 0u);
	KUNIT_EXPECT_NULL(test, xa_load(&conn_bench->trunk->conns, 1));
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 0u);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->answers, 0u);
}

static void try_refusal(struct kunit *test, int result, u8 type, u16 reason)
{
	conn_bench->result = result;
	KUNIT_EXPECT_EQ(test, request(1), 0);
	expect_refusal(test, type, reason);
}

static void requests_are_refused(struct kunit *test)
{
	try_refusal(test, -EADDRNOTAVAIL, RCA_RECORD_REJ, IB_CM_REJ_INVALID_SERVICE_ID);
	try_refusal(test, -ENOMEM, RCA_RECORD_HELD, 0);
	try_refusal(test, -ECONNABORTED, RCA_RECORD_REJ, IB_CM_REJ_CONSUMER_DEFINED);
	KUNIT_EXPECT_EQ(test, conn_bench->requests, 3u);
	/* The number may be used again, as by a request that was held back. */
	conn_bench->result = 0;
	KUNIT_EXPECT_EQ(test, request(1), 0);
	KUNIT_EXPECT_NOT_NULL(test, xa_load(&conn_bench->trunk->conns, 1));
}

static void handler_has_rejected(struct kunit *test)
{
	conn_bench->result = -EINVAL;
	conn_bench->reject = true;
	KUNIT_EXPECT_EQ(test, request(1), 0);
	expect_refusal(test, RCA_RECORD_REJ, IB_CM_REJ_NO_QP);
	/* The number is forgotten: a DREQ about it gets the usual answer. */
	conn_bench->result = -ENOMEM;
	KUNIT_EXPECT_EQ(test, request(1), 0);
	expect_refusal(test, RCA_RECORD_REJ, IB_CM_REJ_NO_QP);
}

/* Without a partition of the path the device cannot be used. */
static void path_is_not_usable(struct kunit *test)
{
	conn_bench->trunk->path.pkey = cpu_to_be16(0x1234);
	KUNIT_EXPECT_EQ(test, request(1), 0);
	KUNIT_EXPECT_EQ(test, conn_bench->requests, 0u);
	expect_refusal(test, RCA_RECORD_REJ, IB_CM_REJ_CONSUMER_DEFINED);
}

/* The connection that has the number keeps it. */
static void path_of_a_repeated_request_is_not_usable(struct kunit *test)
{
	struct rca_trunk_conn *conn = conn_in(test, RCA_CONN_REQ_RCVD);
	u32 number = conn->number;

	conn_bench->trunk->path.pkey = cpu_to_be16(0x1234);
	request(number);
	KUNIT_EXPECT_PTR_EQ(test, xa_load(&conn_bench->trunk->conns, number), (void *)conn);
	conn_destroy(conn);
}

/* The program ends before the handler of the request returns. */
static void owner_destroys_meanwhile(struct kunit *test)
{
	conn_bench->destroy = true;
	KUNIT_EXPECT_EQ(test, request(1), 0);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 1u);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.type, (int)RCA_RECORD_REJ);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 0u);
	KUNIT_EXPECT_EQ(test, conn_bench->events, 0u);
}

/* A request that is repeated over another link gets the same answer, in each state. */
static void request_is_answered_again(struct kunit *test)
{
	struct rca_tp_conn reply = conn_bench_reply();
	u32 number = conn_bench->next_number;

	conn_in(test, RCA_CONN_REQ_RCVD);
	reply.private_data = "rep";
	reply.private_data_len = 3;
	KUNIT_EXPECT_EQ(test, rca_tp_trunk.reply(conn_bench->lower, &reply), 0);
	conn_bench_take();
	KUNIT_EXPECT_EQ(test, request(number), 0);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 1u);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.type, (int)RCA_RECORD_REP);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.private_len, 3);
	KUNIT_EXPECT_EQ(test, rca_tp_trunk.reject(conn_bench->lower, IB_CM_REJ_NO_RESOURCES, "no",
						  2), 0);
	conn_bench_take();
	KUNIT_EXPECT_EQ(test, request(number), 0);
	KUNIT_EXPECT_EQ(test, conn_bench_take(), 1u);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.type, (int)RCA_RECORD_REJ);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.reason, (int)IB_CM_REJ_NO_RESOURCES);
	KUNIT_EXPECT_EQ(test, (int)conn_bench->record.private_len, 2);
	KUNIT_EXPECT_EQ(test, conn_bench->requests, 1u);
}

/* Refusals fill the open frame, then wait; those beyond the limit are lost. */
static void peer_takes_no_refusals(struct kunit *test)
{
	unsigned int i, taken = 0;

	conn_bench->result = -ENOMEM;
	for (i = 0; i < MOST_ANSWERS + 2000; i++)
		KUNIT_ASSERT_EQ(test, request(2 * i + 1), 0);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, MOST_ANSWERS);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->answers, MOST_ANSWERS);
	while ((i = conn_bench_take()))
		taken += i;
	KUNIT_EXPECT_GT(test, taken, MOST_ANSWERS);
	KUNIT_EXPECT_LT(test, taken, MOST_ANSWERS + 2000);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 0u);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->answers, 0u);
	conn_bench->result = 0;
	KUNIT_EXPECT_EQ(test, request(1), 0);
}

static void expect_stuck(struct kunit *test)
{
	unsigned int i;

	conn_bench->result = -ENOMEM;
	for (i = 0; i < MOST_STUCK + 200; i++)
		KUNIT_ASSERT_EQ(test, request(2 * i + 1), 0);
	conn_bench->result = 0;
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->answers, MOST_STUCK);
	KUNIT_EXPECT_TRUE(test, conn_bench->trunk->link->unsent);
	while (conn_bench_take())
		;
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->answers, 0u);
	conn_bench->trunk->link->unsent = false;
}

/* A peer that has reported no receive buffers for a second, or cannot be reached. */
static void peer_that_is_stuck_gets_few_refusals(struct kunit *test)
{
	struct rca_trunk_link *link = conn_bench->trunk->link;

	link->closed = true;	/* nothing is posted */
	link->ready = true;
	link->owed = true;
	link->owed_at = jiffies - HZ;
	expect_stuck(test);
	link->ready = false;
	link->closed = false;
	link->owed = false;
	conn_bench->trunk->tries = 2;
	expect_stuck(test);
	conn_bench->trunk->tries = 0;
}

/* Those of all peers together have a limit, too. The first ones fill the open frame. */
static void host_keeps_few_refusals(struct kunit *test)
{
	struct rca_trunk_link *link = conn_bench->trunk->link;
	unsigned int i;

	atomic_add(MOST_OF_ALL - 10, &rca_answers_of_all);
	conn_bench->result = -ENOMEM;
	for (i = 0; i < MOST_STUCK; i++)
		KUNIT_ASSERT_EQ(test, request(2 * i + 1), 0);
	conn_bench->result = 0;
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->answers, 10u);
	KUNIT_EXPECT_TRUE(test, link->unsent);
	atomic_sub(MOST_OF_ALL - 10, &rca_answers_of_all);
	while (conn_bench_take())
		;
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->answers, 0u);
	KUNIT_EXPECT_EQ(test, atomic_read(&rca_answers_of_all), 0);
	link->unsent = false;
}

/* Programs that end leave no more connections than that, either. */
static void peer_takes_no_rejects(struct kunit *test)
{
	unsigned int i;

	conn_bench->destroy = true;
	for (i = 0; i < MOST_ANSWERS + 10; i++)
		KUNIT_ASSERT_EQ(test, request(2 * i + 1), 0);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, MOST_ANSWERS);
	conn_bench_lose();
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 0u);
}

/* Refusals that the peer does not take end with the session. */
static void refusals_are_lost(struct kunit *test)
{
	conn_bench->result = -EINVAL;
	conn_bench->reject = true;
	KUNIT_EXPECT_EQ(test, request(1), 0);
	KUNIT_EXPECT_EQ(test, request(3), 0);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 2u);
	conn_bench_lose();
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->users, 0u);
	KUNIT_EXPECT_EQ(test, conn_bench->trunk->answers, 0u);
	KUNIT_EXPECT_EQ(test, conn_bench->events, 0u);
}

/* The peer has to use ib_cm, as this host would. */
static void module_is_being_unloaded(struct kunit *test)
{
	rca_trunks = false;
	KUNIT_EXPECT_EQ(test, request(1), 0);
	rca_trunks = true;
	KUNIT_EXPECT_EQ(test, conn_bench->requests, 0u);
	expect_refusal(test, RCA_RECORD_REJ, IB_CM_REJ_INVALID_SERVICE_ID);
}

static struct kunit_case conn_req_cases[] = {
	KUNIT_CASE(listener_gets_the_request),
	KUNIT_CASE(qp_attributes_of_the_passive_side),
	KUNIT_CASE(numbers_of_the_peer),
	KUNIT_CASE(requests_are_refused),
	KUNIT_CASE(handler_has_rejected),
	KUNIT_CASE(path_is_not_usable),
	KUNIT_CASE(path_of_a_repeated_request_is_not_usable),
	KUNIT_CASE(owner_destroys_meanwhile),
	KUNIT_CASE(request_is_answered_again),
	KUNIT_CASE(peer_takes_no_refusals),
	KUNIT_CASE(peer_that_is_stuck_gets_few_refusals),
	KUNIT_CASE(host_keeps_few_refusals),
	KUNIT_CASE(peer_takes_no_rejects),
	KUNIT_CASE(refusals_are_lost),
	KUNIT_CASE(module_is_being_unloaded),
	{}
};

CONN_SUITE(conn_req_suite, "conn_req", conn_req_cases);

kunit_test_suite(conn_req_suite);
