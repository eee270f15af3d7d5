// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A fixture of connections over a trunk: the test is their peer and their owner. The device is of
 * soft-RoCE, which the paths of connections need. All functions are for process context, and may
 * sleep.
 *
 * Locking: none but rca_trunk.lock; a test is one thread, unless it says so.
 */
#include <linux/string.h>
#include <linux/xarray.h>

#include "fake/device_bench.h"
#include "lib/testing.h"
#include "transport/transport.h"
#include "trunk/conn_bench.h"
#include "trunk/trunk.h"

#define PORT	1
#define PKEY	0xffff

struct conn_bench *conn_bench;

static void keep_data(struct rca_tp_conn *conn)
{
	memset(conn_bench->data, 0xff, sizeof(conn_bench->data));
	if (conn->private_data)
		memcpy(conn_bench->data, conn->private_data, conn->private_data_len);
	conn->private_data = conn_bench->data;
}

static u8 on_event(void *owner, void *lower, const struct rca_tp_event *event)
{
	conn_bench->events++;
	conn_bench->event = *event;
	keep_data(&conn_bench->event.conn);
	if (owner != conn_bench)
		conn_bench->ownerless++;
	if (conn_bench->on_event)
		conn_bench->on_event(conn_bench);
	return 0;
}

static int on_request(struct rca_device *dev, void *lower, const struct rca_tp_request *req)
{
	conn_bench->requests++;
	conn_bench->request = *req;
	keep_data(&conn_bench->request.conn);
	conn_bench->lower = lower;
	if (conn_bench->on_request)
		conn_bench->on_request(conn_bench);
	if (conn_bench->reject)
		rca_tp_trunk.reject(lower, IB_CM_REJ_NO_QP, NULL, 0);
	if (!conn_bench->result)
		rca_tp_trunk.set_owner(lower, conn_bench);
	if (conn_bench->destroy)
		rca_tp_trunk.destroy(lower);
	return conn_bench->result;
}

static const struct rca_tp_upcalls upcalls = {
	.event = on_event,
	.request_for = on_request,
};

/* A link that is never ready, so records stay unsent. No other link is opened either. */
void conn_bench_make_link(struct kunit *test, struct rca_trunk *trunk)
{
	struct rca_trunk_link *link = kunit_kzalloc(test, sizeof(*link), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, link);
	for (i = 0; i < RCA_LINK_FRAMES; i++) {
		link->frames[i].data = kunit_kzalloc(test, RCA_FRAME_MAX, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, link->frames[i].data);
	}
	link->trunk = trunk;
	trunk->link = link;
	trunk->wanted = true;
}

/* A path from the GID to itself. */
static void set_path(struct sa_path_rec *path, const struct ib_gid_attr *sgid_attr)
{
	*path = (struct sa_path_rec) {
		.rec_type = sa_conv_gid_to_pathrec_type(sgid_attr->gid_type),
		.sgid = sgid_attr->gid,
		.dgid = sgid_attr->gid,
		.pkey = cpu_to_be16(PKEY),
		.hop_limit = 64,
		.mtu = IB_MTU_1024,
		.rate = IB_RATE_10_GBPS,
		.packet_life_time = 14,
		.roce.route_resolved = true,
	};
}

static void make_trunk(struct kunit *test, struct rca_id *id)
{
	struct rca_trunk_key key = {};
	struct rca_trunk *trunk;

	rca_peer_key(&key.peer, id->dev->serial, PORT, id->sgid_attr, &id->sgid_attr->gid, PKEY);
	trunk = rca_trunk_make(id->dev, &key, id->sgid_attr);
	KUNIT_ASSERT_NOT_NULL(test, trunk);
	trunk->session = 1;
	trunk->next_number = 2;
	trunk->ca_guid = cpu_to_be64(0x1234);
	conn_bench->trunk = trunk;
	conn_bench->next_number = 1;
	set_path(&conn_bench->path, id->sgid_attr);
	trunk->path = conn_bench->path;
}

int conn_bench_init(struct kunit *test)
{
	struct rca_id *id;
	int ret;

	conn_bench = NULL;
	ret = device_bench_init(test);
	if (ret)
		return ret;
	id = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	KUNIT_ASSERT_EQ(test, rig_bind_soon(test, id, DEVICE_IP), 0);
	conn_bench = kunit_kzalloc(test, sizeof(*conn_bench), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, conn_bench);
	conn_bench->module = rca_conn_init(&upcalls);
	make_trunk(test, id);
	conn_bench_make_link(test, conn_bench->trunk);
	return 0;
}


void conn_bench_destroy(struct rca_trunk_conn *conn)
{
	unsigned int i;

	for (i = 0; i < conn_bench->lost_count; i++)
		if (conn_bench->lost[i] == conn)
			conn_bench->lost[i] = NULL;
	rca_tp_trunk.destroy(conn);
}

static void end_trunk(struct kunit *test)
{
	struct rca_trunk *trunk = conn_bench->trunk;
	struct rca_trunk_conn *conn;
	unsigned long number;
	unsigned int i;

	xa_for_each(&trunk->conns, number, conn)
		rca_tp_trunk.destroy(conn);
	for (i = 0; i < conn_bench->lost_count; i++)
		if (conn_bench->lost[i])
			rca_tp_trunk.destroy(conn_bench->lost[i]);
	while (conn_bench_take())
		;
	KUNIT_EXPECT_EQ(test, trunk->users, 0u);
	KUNIT_EXPECT_EQ(test, trunk->answers, 0u);
	KUNIT_EXPECT_TRUE(test, list_empty(&trunk->waiting));
	KUNIT_EXPECT_NULL(test, timerqueue_getnext(&trunk->timers));
	/* Free the connections of a failed test, for which the removal of the device would wait. */
	conn_bench_lose();
	trunk->link = NULL;
	trunk->wanted = false;	/* the work opens no other link, but drops the trunk */
	rca_trunk_run(trunk);
	flush_delayed_work(&trunk->work);	/* the next test makes another trunk */
	rca_trunk_put(trunk);
}

/* Expects that all remaining connections have an owner. */
void conn_bench_exit(struct kunit *test)
{
	if (conn_bench && conn_bench->trunk)
		end_trunk(test);
	if (conn_bench && conn_bench->module)
		rca_conn_init(conn_bench->module);
	device_bench_exit(test);
}

/* Reads the records of a frame, and keeps the last one. Returns their number. */
static unsigned int read_frame(const u8 *data, u16 len, u8 records)
{
	u16 pos = RCA_FRAME_HDR_LEN;
	unsigned int count = 0;
	int used;

	while (count < records) {
		used = rca_record_unpack(data + pos, len - pos, &conn_bench->record);
		if (used < 0)
			break;
		pos += used;
		count++;
	}
	return count;
}

/* Puts unsent records into frames, and reads these as the peer would. Returns their number. */
unsigned int conn_bench_take(void)
{
	struct rca_trunk *trunk = conn_bench->trunk;
	struct rca_trunk_link *link = trunk->link;
	unsigned int count = 0;
	bool all;

	spin_lock(&trunk->lock);
	do {
		all = rca_link_fill(link);
		count += read_frame(link->frames[0].data, RCA_FRAME_HDR_LEN + link->filling,
				    link->filled);
		link->filling = 0;
		link->filled = 0;
	} while (!all);
	spin_unlock(&trunk->lock);
	return count;
}

struct rca_tp_conn conn_bench_reply(void)
{
	return (struct rca_tp_conn) {
		.qp_num = CONN_LOCAL_QPN,
		.psn = 0x111,
		.responder_resources = 2,
		.initiator_depth = 3,
		.retry_count = 7,
		.rnr_retry_count = 6,
		.qp_type = IB_QPT_RC,
	};
}

struct rca_tp_req conn_bench_request(void)
{
	return (struct rca_tp_req) {
		.conn = conn_bench_reply(),
		.service_id = cpu_to_be64(0x77),
		.path = &conn_bench->path,
		.sgid_attr = conn_bench->trunk->sgid_attr,
		.wait_ms = CONN_WAIT_MS,
	};
}

/* A valid record of the peer. */
struct rca_trunk_record conn_bench_record(u8 type, u32 number)
{
	return (struct rca_trunk_record) {
		.type = type,
		.conn = number,
		.qp_type = IB_QPT_RC,
		.ack_delay = 10,
		.reason = IB_CM_REJ_CONSUMER_DEFINED,
		.delay_ms = 33,
		.remote_qpn = CONN_LOCAL_QPN,
		.service_id = cpu_to_be64(0x88),
		.qp = {
			.qp_num = CONN_PEER_QPN,
			.psn = 0x222,
			.responder_resources = 4,
			.initiator_depth = 5,
			.retry_count = 3,
			.rnr_retry_count = 2,
		},
		.path = { .hop_limit = 64, .mtu = IB_MTU_2048, .rate = 3, .ack_timeout = 16 },
	};
}

int conn_bench_receive(const struct rca_trunk_record *record)
{
	return rca_conn_record(conn_bench->trunk, record);
}

static int receive(u8 type, const struct rca_trunk_conn *conn)
{
	const struct rca_trunk_record record = conn_bench_record(type, conn->number);

	return conn_bench_receive(&record);
}

bool conn_bench_timer_runs(const struct rca_trunk_conn *conn)
{
	return !RB_EMPTY_NODE(&conn->timer.node);
}

/* Loses the session. Its connections leave the index. */
void conn_bench_lose(void)
{
	struct rca_trunk *trunk = conn_bench->trunk;
	struct rca_trunk_conn *conn;
	unsigned long number;

	xa_for_each(&trunk->conns, number, conn)
		if (conn_bench->lost_count < ARRAY_SIZE(conn_bench->lost))
			conn_bench->lost[conn_bench->lost_count++] = conn;
	spin_lock(&trunk->lock);
	trunk->session = 0;
	trunk->link->filling = 0;
	trunk->link->filled = 0;
	spin_unlock(&trunk->lock);
	rca_conn_lost(trunk);
}

static struct rca_trunk_conn *active(struct kunit *test, enum rca_conn_state state)
{
	struct rca_trunk *trunk = conn_bench->trunk;
	struct rca_tp_req req = conn_bench_request();
	struct rca_trunk_conn *conn;

	trunk->up = true;
	conn = rca_conn_create(&trunk->key.peer, conn_bench);
	trunk->up = false;
	KUNIT_ASSERT_NOT_NULL(test, conn);
	if (state == RCA_CONN_NEW)
		return conn;
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.connect(conn, &req), 0);
	if (state == RCA_CONN_REQ_SENT)
		return conn;
	KUNIT_ASSERT_EQ(test, receive(state == RCA_CONN_CLOSED ? RCA_RECORD_REJ : RCA_RECORD_REP,
				      conn), 0);
	if (state == RCA_CONN_REP_RCVD || state == RCA_CONN_CLOSED)
		return conn;
	KUNIT_ASSERT_EQ(test, rca_tp_trunk.send_rtu(conn, NULL, 0), 0);
	if (state == RCA_CONN_DREQ_SENT)
		KUNIT_ASSERT_EQ(test, rca_tp_trunk.disconnect(conn), 0);
	else if (state == RCA_CONN_TIMEWAIT)
		KUNIT_ASSERT_EQ(test, receive(RCA_RECORD_DREQ, conn), 0);
	return conn;
}

static struct rca_trunk_conn *passive(struct kunit *test, enum rca_conn_state state)
{
	struct rca_trunk_record req = conn_bench_record(RCA_RECORD_REQ, conn_bench->next_number);
	struct rca_tp_conn reply = conn_bench_reply();

	conn_bench->next_number += 2;
	KUNIT_ASSERT_EQ(test, conn_bench_receive(&req), 0);
	if (state == RCA_CONN_REP_SENT)
		KUNIT_ASSERT_EQ(test, rca_tp_trunk.reply(conn_bench->lower, &reply), 0);
	return conn_bench->lower;
}

/* A connection in a state. Its records were sent. */
struct rca_trunk_conn *conn_in(struct kunit *test, enum rca_conn_state state)
{
	struct rca_trunk_conn *conn;

	if (state == RCA_CONN_REQ_RCVD || state == RCA_CONN_REP_SENT)
		conn = passive(test, state);
	else
		conn = active(test, state);
	KUNIT_ASSERT_EQ(test, (int)conn->state, (int)state);
	conn_bench_take();
	conn_bench->events = 0;
	return conn;
}

/* Destroys a connection, and takes its records. */
void conn_destroy(struct rca_trunk_conn *conn)
{
	conn_bench_destroy(conn);
	conn_bench_take();
}
