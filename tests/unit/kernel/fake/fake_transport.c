// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A transport that sends nothing: it counts messages, fails on request, and lets the
 * test act as the peer. The functions are for process context.
 *
 * Locking: none; a test is one thread, unless it starts others.
 */
#include <linux/slab.h>
#include <rdma/rdma_user_cm.h>

#include "cm/internal.h"
#include "event/queue.h"
#include "fake/fake_transport.h"
#include "lib/testing.h"

/* Tests of one suite run one after the other. */
static struct fake *the_fake;

/* Of the lower cm_ids that were made. */
static atomic_t numbers;

static int send_message(int *count, void *lower)
{
	int ret = the_fake->fail;

	the_fake->fail = 0;
	if (ret)
		return ret;
	(*count)++;
	if (the_fake->during)
		the_fake->during(the_fake, lower);
	return the_fake->fail_after;
}

/* What another thread does between the check of a state and the step from it. */
static void meanwhile(void)
{
	void (*call)(struct rca_id *id) = the_fake->meanwhile;

	the_fake->meanwhile = NULL;
	if (call)
		call(the_fake->busy_id);
}

static void *fake_tp_create(struct ib_device *ibdev, void *owner)
{
	struct fake_lower *lower = the_fake->no_lower ? NULL : kzalloc(sizeof(*lower), GFP_KERNEL);

	if (!lower)
		return ERR_PTR(-ENOMEM);
	meanwhile();
	lower->owner = owner;
	lower->number = atomic_inc_return(&numbers);
	atomic_inc(&the_fake->lowers);
	return lower;
}

static void fake_tp_destroy(void *lower)
{
	atomic_dec(&the_fake->lowers);
	kfree(lower);
}

static void fake_tp_numbers(const void *lower, struct rca_tp_numbers *out)
{
	out->comm_id = ((const struct fake_lower *)lower)->number;
	out->remote_comm_id = FAKE_REMOTE_COMM_ID;
}

static void fake_tp_set_owner(void *lower, void *owner)
{
	((struct fake_lower *)lower)->owner = owner;
}

static void *fake_tp_listen(struct ib_device *ibdev, const struct rca_tp_listen *req, void *demux)
{
	if (the_fake->busy)
		return ERR_PTR(-EBUSY);
	the_fake->reachable = !list_empty(&((struct rca_demux *)demux)->slots);
	the_fake->listens++;
	return demux;
}

static void fake_tp_unlisten(void *listen)
{
	the_fake->listens--;
}

static void save_private_data(const struct rca_tp_conn *conn)
{
	the_fake->last_req_len = conn->private_data_len;
	memcpy(the_fake->last_req, conn->private_data, conn->private_data_len);
}

static int fake_tp_connect(void *lower, const struct rca_tp_req *req)
{
	save_private_data(&req->conn);
	the_fake->last_timers = (struct rca_req_timers){
		.remote = req->remote_timeout,
		.local = req->local_timeout,
		.retries = req->retries,
	};
	return send_message(&the_fake->connects, lower);
}

static int fake_tp_reply(void *lower, const struct rca_tp_conn *conn)
{
	return send_message(&the_fake->replies, lower);
}

static int fake_tp_send_mra(void *lower, u8 time)
{
	the_fake->last_patience = time;
	return send_message(&the_fake->patiences, lower);
}

static int fake_tp_send_rtu(void *lower, const void *data, u8 len)
{
	the_fake->last_rtu_len = len;
	memcpy(the_fake->last_rtu, data, len);
	return send_message(&the_fake->readies, lower);
}

static int fake_tp_reject(void *lower, int reason, const void *data, u8 len)
{
	the_fake->last_reason = reason;
	the_fake->rejects++;
	return 0;
}

static int fake_tp_disconnect(void *lower)
{
	return send_message(&the_fake->disconnects, lower);
}

static int fake_tp_check_qp(struct ib_device *dev, u32 qp_num)
{
	meanwhile();
	return qp_num == FAKE_FOREIGN_QP ? -EPERM : 0;
}

static int fake_tp_qp_attr(void *lower, struct ib_qp_attr *attr, int *mask)
{
	if (the_fake->no_attr)
		return -EINVAL;
	*mask = IB_QP_STATE;
	if (attr->qp_state == IB_QPS_RTR)
		*mask |= IB_QP_RQ_PSN;
	if (attr->qp_state == IB_QPS_RTS)
		*mask |= IB_QP_TIMEOUT;
	return 0;
}

static int fake_tp_sidr_request(void *lower, const struct rca_tp_req *req)
{
	save_private_data(&req->conn);
	return send_message(&the_fake->sidr_requests, lower);
}

static int fake_tp_sidr_reply(void *lower, int status, const struct rca_tp_conn *conn)
{
	the_fake->last_status = status;
	the_fake->last_qkey = conn->qkey;
	return send_message(&the_fake->sidr_replies, lower);
}

static int fake_tp_ah_attr(struct ib_device *ibdev, u32 port_num, struct sa_path_rec *path,
			   const struct ib_gid_attr *sgid_attr, struct ib_uverbs_ah_attr *out)
{
	out->sl = FAKE_SL;
	return the_fake->no_way ? -EINVAL : 0;
}

static void *fake_tp_join(struct ib_device *ibdev, const struct rca_tp_join *req, void *member)
{
	static const struct ib_uverbs_ah_attr ah = { .sl = 3, .is_global = 1 };
	struct fake *fake = the_fake;
	int ret = fake->fail;

	fake->fail = 0;
	fake->last_join = *req;
	if (ret)
		return ERR_PTR(ret);
	atomic_inc(&fake->groups);
	fake->member = member;
	if (fake->during_join)
		fake->during_join(fake);
	if (!fake->join_later)
		rca_mcast_joined(member, 0, &ah, req->qkey);
	return &fake->groups;
}

static void fake_tp_leave(void *group)
{
	atomic_dec(group);
}

static const struct rca_tp_ops fake_ops = {
	.name = "fake",
	.finds_stale = true,
	.create = fake_tp_create,
	.destroy = fake_tp_destroy,
	.numbers = fake_tp_numbers,
	.set_owner = fake_tp_set_owner,
	.listen = fake_tp_listen,
	.unlisten = fake_tp_unlisten,
	.connect = fake_tp_connect,
	.reply = fake_tp_reply,
	.send_mra = fake_tp_send_mra,
	.send_rtu = fake_tp_send_rtu,
	.reject = fake_tp_reject,
	.disconnect = fake_tp_disconnect,
	.check_qp = fake_tp_check_qp,
	.qp_attr = fake_tp_qp_attr,
	.sidr_request = fake_tp_sidr_request,
	.sidr_reply = fake_tp_sidr_reply,
	.ah_attr = fake_tp_ah_attr,
	.join = fake_tp_join,
	.leave = fake_tp_leave,
};

struct fake *fake_create(struct kunit *test)
{
	struct fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	struct rca_device *dev;

	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake->ibdev = kunit_kzalloc(test, sizeof(*fake->ibdev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fake->ibdev);
	fake->ibdev->node_guid = cpu_to_be64(0x1122334455667788ULL);
	/* One port, number 1, without a link layer. */
	fake->ibdev->port_data = kunit_kzalloc(test, 2 * sizeof(*fake->ibdev->port_data),
					       GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fake->ibdev->port_data);
	dev = &fake->dev;
	dev->ibdev = fake->ibdev;
	dev->tp = &fake_ops;
	refcount_set(&dev->ref, 1);
	init_completion(&dev->gone);
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->ids);
	mutex_init(&dev->demux_mutex);
	hash_init(dev->demuxes);
	dev->listenable = true;
	fake->ctx = rca_ctx_create();
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fake->ctx);
	fake->queue = rca_queue_create(fake->ctx, sizeof(struct rdma_cm_alt_event), true);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fake->queue);
	the_fake = fake;
	return fake;
}

/* Changes the transport of the device, also of the ids that it has. */
void fake_set_tp(struct fake *fake, const struct rca_tp_ops *tp)
{
	struct rca_id *id;

	fake->dev.tp = tp;
	list_for_each_entry(id, &fake->dev.ids, dev_node)
		id->tp = tp;
}

static void *no_lower(const struct rca_peer_key *key, void *owner)
{
	return NULL;
}

static u8 tell_nothing(struct rca_device *dev, const struct rca_peer_key *key, u8 *data)
{
	return 0;
}

static bool hear_nothing(const struct rca_peer_key *key, const void *data, size_t len)
{
	return false;
}

static void ignore_request(struct rca_device *dev, const struct rca_tp_request *req,
			   const struct ib_gid_attr *sgid_attr)
{
}

static void ignore_removal(struct rca_device *dev)
{
}

static void ignore_change(struct rca_device *dev, u32 port, bool state)
{
}

static const struct rca_tp_ops trunk_transport = { .name = "trunk" };

/* A module of trunks that never has one. */
const struct rca_trunk_ops fake_trunk_ops = {
	.tp = &trunk_transport,
	.create = no_lower,
	.tell = tell_nothing,
	.heard = hear_nothing,
	.requested = ignore_request,
	.device_removed = ignore_removal,
	.port_changed = ignore_change,
};

/* Replaces the functions of the module of trunks; NULL: by none. Returns the former ones. */
const struct rca_trunk_ops *fake_trunks(const struct rca_trunk_ops *ops)
{
	const struct rca_trunk_ops *former = rcu_access_pointer(rca_trunk_ops);

	rca_trunks_unregister();
	if (ops)
		rca_trunks_register(ops);
	return former;
}

/* Ends the fixture as the close of its files would. Sleeps. */
void fake_destroy(struct fake *fake)
{
	if (!fake->queue)
		return;
	rca_queue_shutdown(fake->queue);
	rca_queue_put(fake->queue);
	rca_ctx_shutdown(fake->ctx);
	fake->dev.removing = true;
	rca_teardown_device(&fake->dev);	/* ends lingering ids */
	rca_trunks_device_removed(&fake->dev);
	rca_ctx_put(fake->ctx);
	fake->queue = NULL;
	the_fake = NULL;
}

static void set_address(union rca_addr *addr, u32 ip, u16 port)
{
	memset(addr, 0, sizeof(*addr));
	addr->in.sin_family = AF_INET;
	addr->in.sin_addr.s_addr = cpu_to_be32(ip);
	addr->in.sin_port = cpu_to_be16(port);
}

/* Returns a published id whose route is resolved; the table has the reference. */
static struct rca_id *active_id(struct kunit *test, struct fake *fake, u64 cookie, u16 ps,
				u8 qp_type)
{
	struct rca_id *id = rca_id_create(fake->ctx, fake->queue, ps, qp_type, cookie);

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	set_address(&id->local, 0x0a090001, 5000);
	set_address(&id->dst, 0x0a090002, 7471);
	KUNIT_ASSERT_EQ(test, rca_id_attach(id, &fake->dev, 1, NULL), 0);
	id->setup->has_path = true;
	rca_id_step(id, RCA_IN_BIND);
	rca_id_step(id, RCA_IN_RESOLVE_ADDR);
	rca_id_step(id, RCA_IN_ADDR_OK);
	rca_id_step(id, RCA_IN_RESOLVE_ROUTE);
	rca_id_step(id, RCA_IN_ROUTE_OK);
	KUNIT_ASSERT_EQ(test, (int)rca_id_state(id), (int)RCA_ST_ROUTE_RESOLVED);
	rca_id_publish(id);
	return id;
}

struct rca_id *fake_active_id(struct kunit *test, struct fake *fake, u64 cookie)
{
	return active_id(test, fake, cookie, RDMA_PS_TCP, IB_QPT_RC);
}

struct rca_id *fake_active_datagram(struct kunit *test, struct fake *fake, u64 cookie)
{
	return active_id(test, fake, cookie, RDMA_PS_UDP, IB_QPT_UD);
}

/* Returns a published id of a request that user space has read; the table has the reference. */
static struct rca_id *child_id(struct kunit *test, struct fake *fake, u16 ps, u8 qp_type)
{
	struct rca_id *listener = rca_id_create(fake->ctx, fake->queue, ps, qp_type, 1);
	struct rca_id *child;

	KUNIT_ASSERT_FALSE(test, IS_ERR(listener));
	child = rca_id_create_child(listener);
	rca_id_abort(listener);
	KUNIT_ASSERT_FALSE(test, IS_ERR(child));
	set_address(&child->local, 0x0a090002, 7471);
	set_address(&child->dst, 0x0a090001, 5000);
	KUNIT_ASSERT_EQ(test, rca_id_attach(child, &fake->dev, 1, NULL), 0);
	child->lower = fake_tp_create(fake->ibdev, child);
	KUNIT_ASSERT_FALSE(test, IS_ERR(child->lower));
	KUNIT_ASSERT_EQ(test, rca_source_attach(&child->src, fake->queue), 0);
	rca_id_publish(child);
	return child;
}

struct rca_id *fake_child(struct kunit *test, struct fake *fake)
{
	return child_id(test, fake, RDMA_PS_TCP, IB_QPT_RC);
}

struct rca_id *fake_datagram_child(struct kunit *test, struct fake *fake)
{
	return child_id(test, fake, RDMA_PS_UDP, IB_QPT_UD);
}

/* An event from the peer, or a timeout. Returns what the transport must do. */
u8 fake_message(struct rca_id *id, enum rca_input input, int status)
{
	static const u8 data[4] = { 1, 2, 3, 4 };
	struct rca_tp_event event = {
		.input = input,
		.status = status,
		.has_conn = input == RCA_IN_REP || input == RCA_IN_REJ,
		.ca_guid = FAKE_PEER_GUID,
		.conn = {
			.qp_num = FAKE_PEER_QP,
			.qkey = FAKE_QKEY,
			.responder_resources = 5,
			.initiator_depth = 3,
			.private_data = data,
			.private_data_len = sizeof(data),
		},
	};

	return rca_cm_event(id, id->lower, &event);
}

/* Reads an event as user space would. False: there is none. */
bool rca_test_take(struct rca_queue *queue, struct rdma_cm_alt_event *rec)
{
	struct rca_delivery dlv;
	bool ret;

	memset(rec, 0, sizeof(*rec));
	mutex_lock(&queue->reading);
	ret = rca_queue_peek(queue, &dlv);
	if (ret) {
		memcpy(rec, &dlv.rec, dlv.len);
		rca_queue_consume(queue, &dlv);
	}
	mutex_unlock(&queue->reading);
	return ret;
}

bool fake_take_event(struct fake *fake, struct rdma_cm_alt_event *rec)
{
	return rca_test_take(fake->queue, rec);
}
