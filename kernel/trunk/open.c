// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Opening and ending the link of a trunk: an ib_cm connection between two kernels.
 *
 * A callback of ib_cm notes what has happened, and queues the work of the link. Only the work
 * creates and destroys, one step at a time, because callbacks may not wait:
 *
 *   active side                          passive side
 *   START: QP, REQ
 *                                        (callback) REQ: see service.c
 *                                        START: QP connected, REP
 *   (callback) REP: checked
 *   REP: QP connected, RTU, a frame
 *                                        RTU: a frame
 *   UP: a frame has come; open           UP: a frame has come; open
 *
 * END comes from either side, from a failed QP, from a failed step, or from the removal of the
 * device, at any time.
 *
 * Locking: none of its own; the work of a link is the only user of its parts.
 */
#include "trunk/open.h"

#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/string.h>

#include "device/devices.h"
#include "trunk/link.h"
#include "trunk/trunk.h"

/* Timeout of the CM messages of a trunk: 4.096 us * 2^n, 0.5 s. */
#define CM_TIMEOUT	17
#define CM_RETRIES	4
#define QP_RETRIES	7

/* An hour is as good as for ever, and no overflow. */
#define MOST_IDLE_S	3600U

static unsigned int trunk_idle_s = 60;
module_param(trunk_idle_s, uint, 0644);
MODULE_PARM_DESC(trunk_idle_s, "seconds without a message after which a trunk is closed, 3600 at most");

/* Expects to be called under RCU. */
static void end_link(struct rca_trunk *trunk)
{
	spin_lock(&trunk->lock);
	if (trunk->link)
		rca_link_tell(trunk->link, RCA_LINK_END);
	spin_unlock(&trunk->lock);
}

static int set_trunks(const char *val, const struct kernel_param *param)
{
	int ret = param_set_bool(val, param);

	if (!ret && !rca_trunks)
		rca_trunks_switched_off(end_link);
	return ret;
}

static const struct kernel_param_ops trunks_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = set_trunks,
	.get = param_get_bool,
};

module_param_cb(trunks, &trunks_ops, &rca_trunks, 0644);
MODULE_PARM_DESC(trunks, "tell peers that this host speaks the trunk protocol, and open trunks");

static void set_open(struct rca_trunk_link *link, struct rca_trunk_open *open)
{
	memset(open, 0, sizeof(*open));
	rca_peers_fill_hello(&link->trunk->key.peer, link->trunk->dev, &open->hello);
	open->token = link->peer.hello.token;
	open->cookie = link->cookie;
}

/* Before a frame can come. False: the link has been replaced meanwhile. */
static bool begin_session(struct rca_trunk_link *link, u32 number)
{
	struct rca_trunk *trunk = link->trunk;
	bool current_one;

	spin_lock(&trunk->lock);
	current_one = trunk->link == link;
	if (current_one) {
		rca_session_init(&trunk->session, number, link->cookie, link->peer.cookie);
		rca_session_attach(&trunk->session, 0);
		memcpy(trunk->boot_id, link->peer.hello.boot_id, sizeof(trunk->boot_id));
		trunk->ca_guid = link->peer.hello.ca_guid;
		trunk->path = link->path;
		trunk->handling = false;
		trunk->odd = link->active;
		trunk->next_number = link->active ? 1 : 2;
		link->used_at = jiffies;
	}
	spin_unlock(&trunk->lock);
	return current_one;
}

static int send_req(struct rca_trunk_link *link)
{
	u8 data[RCA_TRUNK_REQ_LEN];
	struct ib_cm_req_param param = {
		.primary_path = &link->path,
		.ppath_sgid_attr = link->trunk->sgid_attr,
		.service_id = link->peer.hello.service_id,
		.qp_num = link->qp->qp_num,
		.qp_type = IB_QPT_RC,
		.starting_psn = link->psn,
		.private_data = data,
		.private_data_len = sizeof(data),
		.remote_cm_response_timeout = CM_TIMEOUT,
		.local_cm_response_timeout = CM_TIMEOUT,
		.max_cm_retries = CM_RETRIES,
		.flow_control = 1,
		.retry_count = QP_RETRIES,
		.rnr_retry_count = QP_RETRIES,
	};
	struct rca_trunk_open open;

	set_open(link, &open);
	rca_trunk_req_pack(data, &open);
	return ib_send_cm_req(link->cm_id, &param);
}

static int send_rep(struct rca_trunk_link *link, u32 session)
{
	u8 data[RCA_TRUNK_REP_LEN];
	struct ib_cm_rep_param param = {
		.qp_num = link->qp->qp_num,
		.starting_psn = link->psn,
		.private_data = data,
		.private_data_len = sizeof(data),
		.flow_control = 1,
		.rnr_retry_count = QP_RETRIES,
	};
	struct rca_trunk_open open;

	set_open(link, &open);
	open.session = session;
	rca_trunk_rep_pack(data, &open);
	return ib_send_cm_rep(link->cm_id, &param);
}

/* It must be from the load of the peer's module that has told the hello. */
static bool take_rep(struct rca_trunk_link *link, const void *data)
{
	struct rca_trunk_open open;

	if (rca_trunk_rep_unpack(data, RCA_TRUNK_REP_LEN, &open) ||
	    memcmp(open.hello.boot_id, link->peer.hello.boot_id, RCA_BOOT_ID_LEN) ||
	    !rca_hello_common_version(&open.hello))
		return false;
	link->peer = open;
	return true;
}

/* ib_cm callback of the cm_id of a link. */
static int ib_link_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	struct rca_trunk_link *link = rca_link_get_live(cm_id->context);
	unsigned int news = RCA_LINK_END;

	if (!link)
		return 0;
	switch (event->event) {
	case IB_CM_REP_RECEIVED:
		if (take_rep(link, event->private_data))
			news = RCA_LINK_REP;
		break;
	case IB_CM_REP_ERROR:
		/* The RTU was lost, and a frame has come. */
		if (READ_ONCE(link->trunk->up))
			goto out_put;
		break;
	case IB_CM_RTU_RECEIVED:
	case IB_CM_USER_ESTABLISHED:
		news = RCA_LINK_RTU;
		break;
	case IB_CM_DREQ_RECEIVED:
		ib_send_cm_drep(cm_id, NULL, 0);
		break;
	default:
		break;
	}
	rca_link_tell(link, news);
out_put:
	rca_link_put(link);	/* got in rca_link_get_live() */
	return 0;
}

static int start_active(struct rca_trunk_link *link)
{
	link->cm_id = ib_create_cm_id(link->trunk->dev->ibdev, ib_link_handler, link);
	if (IS_ERR(link->cm_id))
		return PTR_ERR(link->cm_id);
	return rca_link_create_qp(link) ?: send_req(link);
}

static int start_passive(struct rca_trunk_link *link)
{
	u32 session = get_random_u32() | 1;
	int ret;

	ret = rca_link_create_qp(link);
	if (ret)
		return ret;
	if (!begin_session(link, session))
		return -ESTALE;
	return rca_link_connect_qp(link) ?: send_rep(link, session);
}

static int finish_active(struct rca_trunk_link *link)
{
	if (!begin_session(link, link->peer.session))
		return -ESTALE;
	return rca_link_connect_qp(link) ?: ib_send_cm_rtu(link->cm_id, NULL, 0);
}

static unsigned long idle_time(void)
{
	return min(READ_ONCE(trunk_idle_s), MOST_IDLE_S) * HZ;
}

static void idle_work(struct work_struct *work)
{
	struct rca_trunk_link *link = container_of(to_delayed_work(work), struct rca_trunk_link,
						   idle);
	unsigned long end = READ_ONCE(link->used_at) + idle_time();
	unsigned long now = jiffies;

	if (time_after_eq(now, end))
		rca_link_tell(link, RCA_LINK_END);
	else
		rca_link_set_idle_timer(link, end - now);
}

/* Each end sends a message as soon as it is connected, which shows the other one that it works. */
static void connected(struct rca_trunk_link *link)
{
	static const struct rca_trunk_record ping = { .type = RCA_RECORD_PING };
	struct rca_trunk *trunk = link->trunk;

	if (link->pinged)
		return;
	link->pinged = true;
	spin_lock(&trunk->lock);
	if (trunk->link == link)
		rca_link_send(link, &ping);
	spin_unlock(&trunk->lock);
	rca_link_set_idle_timer(link, idle_time());
}

/* Afterwards no completion and no callback comes, but for one that ib_cm reports late. */
static void end(struct rca_trunk_link *link)
{
	struct rca_trunk *trunk = link->trunk;

	if (rca_trunk_drop_link(trunk, link))
		rca_peers_failed(&trunk->key.peer);
	if (READ_ONCE(trunk->gone))
		rca_trunk_upcalls->lost(trunk);
	if (!IS_ERR_OR_NULL(link->cm_id))
		ib_destroy_cm_id(link->cm_id);
	rca_link_destroy_qp(link);
	cancel_delayed_work_sync(&link->idle);
	rca_link_put(link);	/* the first reference */
}

static int handle_news(struct rca_trunk_link *link)
{
	/* Trunks may have been switched off before this link was in the table. */
	int ret = rca_peers_enabled() ? 0 : -ECANCELED;

	if (!ret && test_and_clear_bit(RCA_LINK_START, &link->news))
		ret = link->active ? start_active(link) : start_passive(link);
	if (!ret && test_and_clear_bit(RCA_LINK_REP, &link->news)) {
		ret = finish_active(link);
		if (!ret)
			connected(link);
	}
	if (!ret && test_and_clear_bit(RCA_LINK_RTU, &link->news))
		connected(link);
	if (!ret && test_and_clear_bit(RCA_LINK_UP, &link->news)) {
		connected(link);	/* the RTU may come later */
		rca_peers_opened(&link->trunk->key.peer);
	}
	return ret;
}

static void link_work(struct work_struct *work)
{
	struct rca_trunk_link *link = container_of(work, struct rca_trunk_link, work);

	if (test_bit(RCA_LINK_DEAD, &link->news))
		goto out_put;
	if (test_bit(RCA_LINK_END, &link->news) || handle_news(link)) {
		set_bit(RCA_LINK_DEAD, &link->news);
		end(link);
	}
out_put:
	rca_link_put(link);	/* got in rca_link_tell() */
}

/* Makes @link the link of its trunk, and starts it. Returns false if it is not needed any more. */
static bool start(struct rca_trunk_link *link, bool yields)
{
	struct rca_trunk_link *old;

	/* Another one may replace it, and its work end it, as soon as the trunk has it. */
	refcount_inc(&link->ref);
	if (!rca_trunk_set_link(link->trunk, link, yields, &old)) {
		rca_link_put(link);
		rca_link_put(link);	/* the first reference */
		return false;
	}
	if (old) {
		rca_link_tell(old, RCA_LINK_END);
		rca_link_put(old);	/* got in rca_trunk_set_link() */
	}
	rca_link_tell(link, RCA_LINK_START);
	rca_link_put(link);
	return true;
}

/**
 * rca_open_accept() - a peer asks for a trunk
 * @trunk: the trunk
 * @open: what the peer has told
 * @path: path to the peer
 * @yields: a request of this host yields to that of the peer
 * @cm_id: cm_id that has received the request
 *
 * Context: Process context, callback of ib_cm. Does not sleep.
 * Return: false: the request has to be rejected, else @cm_id belongs to the trunk.
 */
bool rca_open_accept(struct rca_trunk *trunk, const struct rca_trunk_open *open,
		     const struct sa_path_rec *path, bool yields, struct ib_cm_id *cm_id)
{
	struct rca_trunk_link *link = rca_link_make(trunk, false, link_work, idle_work);
	const struct ib_cm_id before = {
		.context = cm_id->context,
		.cm_handler = cm_id->cm_handler,
	};

	if (!link) {
		rca_trunk_drop_link(trunk, NULL);
		return false;
	}
	link->peer = *open;
	link->path = *path;
	link->cm_id = cm_id;
	cm_id->context = link;
	cm_id->cm_handler = ib_link_handler;
	if (start(link, yields))
		return true;
	cm_id->context = before.context;
	cm_id->cm_handler = before.cm_handler;
	return false;
}

/**
 * rca_open_requested() - a peer requests a connection: open a trunk to it if it is worth it
 * @dev: device that has received the request
 * @req: the request
 * @sgid_attr: local GID
 *
 * The peer has told within the last seconds that it accepts trunks, so this is not its first
 * connection.
 *
 * Context: Process context, callback of a transport. Does not sleep.
 */
void rca_open_requested(struct rca_device *dev, const struct rca_tp_request *req,
			const struct ib_gid_attr *sgid_attr)
{
	struct rca_trunk_key key = {};
	struct rca_trunk_link *link;
	struct rca_trunk *trunk;
	struct rca_hello hello;

	if (!rca_peers_enabled() || !req->path || !sgid_attr)
		return;
	rca_peer_key(&key.peer, dev->serial, req->port_num, sgid_attr, &req->path->dgid, req->pkey);
	if (!rca_peers_may_open(&key.peer, &hello) || rca_trunk_is_current(&key, hello.boot_id))
		return;
	trunk = rca_trunk_make(dev, &key, sgid_attr);
	if (!trunk)
		return;
	link = rca_link_make(trunk, true, link_work, idle_work);
	if (link) {
		link->peer.hello = hello;
		link->path = *req->path;
		link->path.packet_life_time = RCA_LINK_TIMEOUT - 1;
		start(link, false);
	} else {
		rca_trunk_drop_link(trunk, NULL);
	}
	rca_trunk_put(trunk);	/* got in rca_trunk_make() */
}

/* Ends the links of all trunks of a device. Their work puts the last references of the device. */
void rca_open_end_device(struct rca_device *dev)
{
	rca_trunks_of_device(dev, end_link);
}
