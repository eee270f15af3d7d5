/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Ids over a software RDMA device, for scenarios on a wire. */
#ifndef RCA_DEVICE_BENCH_H
#define RCA_DEVICE_BENCH_H

#include <kunit/test.h>
#include <rdma/rdma_cm_alt.h>

#include "id/id.h"

struct kunit_suite;

/** DEVICE_IP - the device's address of IPv4 */
#define DEVICE_IP "10.77.0.1"

/** DEVICE_IP6 - the device's address of IPv6 */
#define DEVICE_IP6 "fd00:77::1"

/** DEVICE_FIRST_QP - QPs of no device here, so who has them is nobody's business */
#define DEVICE_FIRST_QP 0x10000

/** DEVICE_PATIENCE_MS - how long something may take */
#define DEVICE_PATIENCE_MS 10000

/* Cookies. */
enum { DEVICE_SERVER = 1, DEVICE_CLIENT, DEVICE_CHILD };

/**
 * struct device_bench - a context and a queue, with ids on a device
 * @ctx: the context
 * @queue: the queue of its ids
 * @rec: the event that was read last
 * @pd: iWARP: of @qps; NULL: it is another device
 * @cq: iWARP: likewise
 * @qps: iWARP: QPs
 * @next_qp: which of them is next
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

void device_bench_suite_exit(struct kunit_suite *suite);
int device_bench_init(struct kunit *test);
void device_bench_new_qps(struct kunit *test);
void device_bench_exit(struct kunit *test);
bool rig_take_event(struct device_bench *bench);
void rig_expect_event(struct kunit *test, u64 cookie, u32 type, int status);
void rig_expect_no_event(struct kunit *test);
void rig_expect_state(struct kunit *test, struct rca_id *id, enum rca_state state);
struct rca_id *rig_new_id(struct kunit *test, u64 cookie, u16 ps);
void rig_destroy(struct kunit *test, struct rca_id *id);
int rig_bind(struct kunit *test, struct rca_id *id, const char *ip);
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

#endif /* RCA_DEVICE_BENCH_H */
