/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connections over a trunk whose peer, owners and link are the test. */
#ifndef RCA_CONN_BENCH_H
#define RCA_CONN_BENCH_H
#include <kunit/test.h>
#include <rdma/ib_sa.h>

#include "trunk/trunk.h"

/* QP numbers of the two ends. */
#define CONN_LOCAL_QPN	0x20000
#define CONN_PEER_QPN	0x30000

/* Time limit of a request, in milliseconds: longer than any test. */
#define CONN_WAIT_MS	600000

/**
 * struct conn_bench - a trunk, and the events of its connections
 * @trunk: the trunk; it is not up, so records wait until conn_bench_take() reads them
 * @module: callbacks of the module
 * @path: a path to the peer
 * @next_number: number of the next request of the peer
 * @events: number of events since conn_in()
 * @event: the last one, with private data in @data
 * @ownerless: number of events of connections that have no owner
 * @on_event: called for each event, or NULL
 * @requests: number of requests
 * @request: the last one, with private data in @data
 * @lower: its connection
 * @lost: connections of a session that was lost, which have to be destroyed
 * @lost_count: their number
 * @result: what the handler of requests returns
 * @reject: the handler rejects each request before it returns
 * @destroy: the owner destroys the connection of each request at once
 * @on_request: called for each request, before it has an owner, or NULL
 * @data: private data
 * @record: the last record that conn_bench_take() has read
 */
struct conn_bench {
	struct rca_trunk *trunk;
	const struct rca_tp_upcalls *module;
	struct sa_path_rec path;
	u32 next_number;
	unsigned int events;
	struct rca_tp_event event;
	unsigned int ownerless;
	void (*on_event)(struct conn_bench *bench);
	unsigned int requests;
	struct rca_tp_request request;
	struct rca_trunk_conn *lower;
	struct rca_trunk_conn *lost[16];
	unsigned int lost_count;
	int result;
	bool reject;
	bool destroy;
	void (*on_request)(struct conn_bench *bench);
	u8 data[RCA_RECORD_PRIVATE_MAX];
	struct rca_trunk_record record;
};

/* The bench of the running test. */
extern struct conn_bench *conn_bench;

int conn_bench_init(struct kunit *test);
void conn_bench_exit(struct kunit *test);
void conn_bench_make_link(struct kunit *test, struct rca_trunk *trunk);
unsigned int conn_bench_take(void);
struct rca_tp_req conn_bench_request(void);
struct rca_tp_conn conn_bench_reply(void);
struct rca_trunk_record conn_bench_record(u8 type, u32 number);
int conn_bench_receive(const struct rca_trunk_record *record);
bool conn_bench_timer_runs(const struct rca_trunk_conn *conn);
void conn_bench_lose(void);
void conn_bench_destroy(struct rca_trunk_conn *conn);
struct rca_trunk_conn *conn_in(struct kunit *test, enum rca_conn_state state);
void conn_destroy(struct rca_trunk_conn *conn);

/* A suite of tests with a bench each. */
#define CONN_SUITE(var, name_, cases) \
static struct kunit_suite var = { \
	.name = "rdma_cm_alt_" name_, \
	.suite_init = device_bench_roce_init, \
	.suite_exit = device_bench_suite_exit, \
	.init = conn_bench_init, \
	.exit = conn_bench_exit, \
	.test_cases = cases, \
}

#endif /* RCA_CONN_BENCH_H */
