/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Ids over a software RDMA device. */
#ifndef RCA_DEVICE_BENCH_H
#define RCA_DEVICE_BENCH_H
#include <kunit/test.h>
#include <rdma/rdma_cm_alt.h>

#include "id/id.h"

struct kunit_suite;

/* Addresses of the device. */
#define DEVICE_IP "10.77.0.1"
#define DEVICE_IP6 "fd00:77::1"

/** DEVICE_FIRST_QP - numbers from here on are of no QP of the device, so any caller may use them */
#define DEVICE_FIRST_QP 0x10000

/** DEVICE_PATIENCE_MS - how long an event may take */
#define DEVICE_PATIENCE_MS 10000

/* Cookies. */
enum { DEVICE_SERVER = 1, DEVICE_CLIENT, DEVICE_CHILD };

/**
 * struct device_bench - a context and a queue, for ids on a device
 * @ctx: the context
 * @queue: the queue of the ids
 * @rec: the event that was read last
 * @pd: iWARP: of @qps; NULL: another device
 * @cq: iWARP: of @qps
 * @qps: iWARP: QPs for connections
 * @next_qp: index of the next one of them
 */
struct device_bench {
	struct rca_ctx *ctx;
	struct rca_queue *queue;
	struct rdma_cm_alt_event rec;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qps[4];
	unsigned int next_qp;
};

int device_bench_roce_init(struct kunit_suite *suite);
int device_bench_iwarp_init(struct kunit_suite *suite);
void device_bench_suite_exit(struct kunit_suite *suite);
int device_bench_init(struct kunit *test);
void device_bench_new_qps(struct kunit *test);
void device_bench_exit(struct kunit *test);
bool rig_take_event(struct device_bench *bench);
void rig_expect_event(struct kunit *test, u64 cookie, u32 type, int status);
void rig_expect_both(struct kunit *test, u32 type);
void rig_expect_no_event(struct kunit *test);
void rig_expect_state(struct kunit *test, struct rca_id *id, enum rca_state state);
struct rca_id *rig_new_id(struct kunit *test, u64 cookie, u16 ps);
void rig_destroy(struct kunit *test, struct rca_id *id);
int rig_bind(struct kunit *test, struct rca_id *id, const char *ip);
int rig_bind_soon(struct kunit *test, struct rca_id *id, const char *ip);
struct rca_id *rig_listening(struct kunit *test, const char *ip, u16 ps);
int rig_resolve(struct kunit *test, struct rca_id *id, const char *ip, u16 port,
		u32 timeout_ms);
struct rca_id *rig_resolved(struct kunit *test, const char *ip, u16 port, u16 ps);
u16 rig_port_of(const struct rca_id *id);
struct rca_tp_conn rig_params(struct kunit *test);
void rig_connect(struct kunit *test, struct rca_id *id);
struct rca_id *rig_read_request(struct kunit *test);
struct rca_id *rig_requested(struct kunit *test);
void rig_accept(struct kunit *test, struct rca_id *child);
void rig_connected(struct kunit *test, struct rca_id *server, const char *ip,
		   struct rca_id **client, struct rca_id **child);

/* A suite of tests with a bench each, on a device that is "roce" or "iwarp". */
#define DEVICE_SUITE(var, device, name_, cases, exit_) \
static struct kunit_suite var = { \
	.name = "rdma_cm_alt_" name_, \
	.suite_init = device_bench_##device##_init, \
	.suite_exit = device_bench_suite_exit, \
	.init = device_bench_init, \
	.exit = exit_, \
	.test_cases = cases, \
}

#endif /* RCA_DEVICE_BENCH_H */
