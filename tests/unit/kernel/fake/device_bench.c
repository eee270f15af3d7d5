// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A fixture of ids over a software RDMA device: the steps of a connection, and waiting
 * for their events. All functions are for process context, and may sleep.
 *
 * Locking: none; a test is one thread.
 */
#include <linux/delay.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "event/queue.h"
#include "fake/addresses.h"
#include "fake/device_bench.h"
#include "fake/fake_transport.h"
#include "fake/netrig.h"
#include "lib/testing.h"

static const u8 data[4] = { 0xaa, 0xbb, 0xcc, 0xdd };

/* The devices of a suite. Where the kernel has none, device_bench_init() skips the tests. */
int device_bench_roce_init(struct kunit_suite *suite)
{
	if (!netrig_up())
		netrig_add_rdma("rxe");
	return 0;
}

int device_bench_iwarp_init(struct kunit_suite *suite)
{
	if (!netrig_up())
		netrig_add_rdma("siw");
	return 0;
}

void device_bench_suite_exit(struct kunit_suite *suite)
{
	netrig_delete_rdma();
	netrig_down();
}

/* iWARP needs real QPs. */
static void make_qps(struct kunit *test, struct ib_device *ibdev)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct device_bench *bench = test->priv;
	int i;

	bench->pd = ib_alloc_pd(ibdev, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(bench->pd));
	bench->cq = ib_alloc_cq_any(ibdev, NULL, 16, IB_POLL_DIRECT);
	KUNIT_ASSERT_FALSE(test, IS_ERR(bench->cq));
	attr.send_cq = bench->cq;
	attr.recv_cq = bench->cq;
	for (i = 0; i < ARRAY_SIZE(bench->qps); i++) {
		bench->qps[i] = ib_create_qp(bench->pd, &attr);
		KUNIT_ASSERT_FALSE(test, IS_ERR(bench->qps[i]));
	}
}

static void free_qps(struct device_bench *bench)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(bench->qps); i++) {
		if (!IS_ERR_OR_NULL(bench->qps[i]))
			ib_destroy_qp(bench->qps[i]);
		bench->qps[i] = NULL;
	}
	if (!IS_ERR_OR_NULL(bench->cq))
		ib_free_cq(bench->cq);
	bench->cq = NULL;
	if (!IS_ERR_OR_NULL(bench->pd))
		ib_dealloc_pd(bench->pd);
	bench->pd = NULL;
}

/* Replaces the QPs of a test over iWARP, which are unused. */
void device_bench_new_qps(struct kunit *test)
{
	struct device_bench *bench = test->priv;
	struct ib_device *ibdev = bench->pd->device;

	free_qps(bench);
	make_qps(test, ibdev);
}

/* Makes the bench, test->priv, or skips the test. */
int device_bench_init(struct kunit *test)
{
	struct ib_device *ibdev = netrig_get_rdma();
	struct device_bench *bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);

	if (!ibdev)
		kunit_skip(test, "the kernel has no such RDMA device, or no veth");
	test->priv = bench;
	if (bench && rdma_protocol_iwarp(ibdev, 1))
		make_qps(test, ibdev);
	ib_device_put(ibdev);
	KUNIT_ASSERT_NOT_NULL(test, bench);
	bench->ctx = rca_ctx_create();
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(bench->ctx));
	bench->queue = rca_queue_create(bench->ctx, sizeof(struct rdma_cm_alt_event), true);
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(bench->queue));
	return 0;
}

/* Ends the bench as the close of its files would. */
void device_bench_exit(struct kunit *test)
{
	struct device_bench *bench = test->priv;

	if (!bench)
		return;
	if (bench->queue) {
		rca_queue_shutdown(bench->queue);
		rca_queue_put(bench->queue);
		rca_ctx_shutdown(bench->ctx);
		rca_ctx_put(bench->ctx);
	}
	free_qps(bench);
}

/* Waits for an event, and reads it to bench->rec. False: there was none. */
bool rig_take_event(struct device_bench *bench)
{
	int i;

	for (i = 0; i < DEVICE_PATIENCE_MS; i++) {
		if (rca_test_take(bench->queue, &bench->rec))
			return true;
		usleep_range(500, 1000);
	}
	return false;
}

void rig_expect_event(struct kunit *test, u64 cookie, u32 type, int status)
{
	struct device_bench *bench = test->priv;

	KUNIT_ASSERT_TRUE_MSG(test, rig_take_event(bench), "no event, %u wanted", type);
	KUNIT_EXPECT_EQ(test, bench->rec.type, type);
	KUNIT_EXPECT_EQ(test, bench->rec.status, status);
	KUNIT_EXPECT_EQ(test, bench->rec.cookie, cookie);
}

/* Waits for an event of each end of a connection, in either order. */
void rig_expect_both(struct kunit *test, u32 type)
{
	struct device_bench *bench = test->priv;
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_TRUE_MSG(test, rig_take_event(bench), "no event, %u wanted", type);
		KUNIT_EXPECT_EQ(test, bench->rec.type, type);
	}
}

void rig_expect_no_event(struct kunit *test)
{
	struct device_bench *bench = test->priv;

	KUNIT_EXPECT_FALSE_MSG(test, rca_test_take(bench->queue, &bench->rec), "event %u",
			       bench->rec.type);
}

void rig_expect_state(struct kunit *test, struct rca_id *id, enum rca_state state)
{
	KUNIT_EXPECT_STREQ(test, rca_state_name(rca_id_state(id)), rca_state_name(state));
}

/* Returns a published id; the table has the reference. */
struct rca_id *rig_new_id(struct kunit *test, u64 cookie, u16 ps)
{
	struct device_bench *bench = test->priv;
	struct rca_id *id = rca_id_create(bench->ctx, bench->queue, ps,
					  ps == RDMA_PS_UDP ? IB_QPT_UD : IB_QPT_RC, cookie);

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	rca_id_publish(id);
	return id;
}

void rig_destroy(struct kunit *test, struct rca_id *id)
{
	struct device_bench *bench = test->priv;
	u32 reported;

	KUNIT_EXPECT_EQ(test, rca_destroy(bench->ctx, id->obj.handle, &reported), 0);
}

int rig_bind(struct kunit *test, struct rca_id *id, const char *ip)
{
	struct rca_pipeline pipe = {
		.steps = RDMA_CM_ALT_STEP_BIND, .src = *rca_test_addr(test, ip, 0),
	};
	u32 done = 0;

	return rca_resolve(id, &pipe, &done);
}

/* Binds an id as soon as the device has a GID of the address: GIDs follow addresses by work. */
int rig_bind_soon(struct kunit *test, struct rca_id *id, const char *ip)
{
	int i, ret = -ENODEV;

	for (i = 0; i < DEVICE_PATIENCE_MS / 10 && ret; i++) {
		ret = rig_bind(test, id, ip);
		msleep(ret ? 10 : 0);
	}
	return ret;
}

/* Returns an id that listens on a chosen port. */
struct rca_id *rig_listening(struct kunit *test, const char *ip, u16 ps)
{
	struct rca_id *id = rig_new_id(test, DEVICE_SERVER, ps);

	KUNIT_ASSERT_EQ(test, rig_bind(test, id, ip), 0);
	KUNIT_ASSERT_EQ(test, rca_listen(id, 4), 0);
	rig_expect_state(test, id, RCA_ST_LISTEN);
	return id;
}

/* Starts to resolve address and route of a peer: 0, and events follow, or an errno. */
int rig_resolve(struct kunit *test, struct rca_id *id, const char *ip, u16 port,
		u32 timeout_ms)
{
	struct rca_pipeline pipe = {
		.steps = RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE,
		.events = RDMA_CM_ALT_STEP_ADDR | RDMA_CM_ALT_STEP_ROUTE,
		.timeout_ms = timeout_ms,
		.dst = *rca_test_addr(test, ip, port),
	};
	u32 done = 0;

	return rca_resolve(id, &pipe, &done);
}

/* Returns an id whose route to a peer is resolved. */
struct rca_id *rig_resolved(struct kunit *test, const char *ip, u16 port, u16 ps)
{
	struct rca_id *id = rig_new_id(test, DEVICE_CLIENT, ps);

	KUNIT_ASSERT_EQ(test, rig_resolve(test, id, ip, port, DEVICE_PATIENCE_MS), 0);
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_ADDR_RESOLVED, 0);
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED, 0);
	rig_expect_state(test, id, RCA_ST_ROUTE_RESOLVED);
	return id;
}

u16 rig_port_of(const struct rca_id *id)
{
	return be16_to_cpu(rca_addr_port(&id->local));
}

/* Parameters with a QP of their own: ib_cm would take the same QP number for a stale connection. */
struct rca_tp_conn rig_params(struct kunit *test)
{
	struct device_bench *bench = test->priv;
	static u32 next_qp = DEVICE_FIRST_QP;
	u32 qp_num = next_qp++;

	if (bench->pd)
		qp_num = bench->qps[bench->next_qp++ % ARRAY_SIZE(bench->qps)]->qp_num;
	return (struct rca_tp_conn){
		.qp_num = qp_num,
		.responder_resources = 2,
		.initiator_depth = 3,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.private_data = data,
		.private_data_len = sizeof(data),
	};
}

void rig_connect(struct kunit *test, struct rca_id *id)
{
	struct rca_tp_conn conn = rig_params(test);

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
}

/* Returns the id of the request that was read last; the table has the reference. */
struct rca_id *rig_read_request(struct kunit *test)
{
	struct device_bench *bench = test->priv;
	struct rca_id *child;

	KUNIT_EXPECT_EQ(test, memcmp(bench->rec.private_data, data, sizeof(data)), 0);
	child = rca_id_lookup(bench->ctx, bench->rec.id);
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(child));
	rca_id_put(child);
	return child;
}

/* Waits for a request, and returns its id. */
struct rca_id *rig_requested(struct kunit *test)
{
	rig_expect_event(test, DEVICE_SERVER, RDMA_CM_ALT_EVENT_CONNECT_REQUEST, 0);
	return rig_read_request(test);
}

void rig_accept(struct kunit *test, struct rca_id *child)
{
	struct rca_tp_conn conn = rig_params(test);

	KUNIT_ASSERT_EQ(test, rca_accept(child, DEVICE_CHILD, &conn), 0);
}

/* Connects to a listener, with the ends @client and @child. */
void rig_connected(struct kunit *test, struct rca_id *server, const char *ip,
		   struct rca_id **client, struct rca_id **child)
{
	struct device_bench *bench = test->priv;

	*client = rig_resolved(test, ip, rig_port_of(server), RDMA_PS_TCP);
	rig_connect(test, *client);
	*child = rig_requested(test);
	rig_accept(test, *child);
	if (bench->pd) {
		rig_expect_both(test, RDMA_CM_ALT_EVENT_ESTABLISHED);	/* TCP */
		return;
	}
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_CONNECT_RESPONSE, 0);
	KUNIT_ASSERT_EQ(test, rca_establish(*client), 0);
	rig_expect_event(test, DEVICE_CHILD, RDMA_CM_ALT_EVENT_ESTABLISHED, 0);
	rig_expect_state(test, *client, RCA_ST_CONNECTED);
	rig_expect_state(test, *child, RCA_ST_CONNECTED);
}
