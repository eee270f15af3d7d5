// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The ib_cm connection of a link, between two kernels.
 *
 * A callback of ib_cm notes its event and queues the work of the trunk, because callbacks may not
 * wait. Only the work creates and destroys, one step at a time:
 *
 *   active side                          passive side
 *   START: path
 *   PATH: QP, REQ
 *                                        (callback) REQ: open.c
 *                                        START: path
 *                                        PATH: QP connected, REP
 *   (callback) REP: checked
 *   REP: QP connected, RTU, a frame
 *                                        RTU: a frame
 *   UP: frame received; open             UP: frame received; open
 *
 * END may come at any time: from either side, from a failed QP, from a failed step, or from the
 * removal of the device.
 *
 * The QP of the last link was drained before a link starts, so each end has handled all frames that
 * the last link has delivered. Before the first frame of the next one, rca_conn_say_again() derives
 * what has to be said over it.
 *
 * Locking: none of its own; the work of the trunk is the only user of the parts of a link.
 */
#include "trunk/trunk.h"

#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/string.h>

#include "transport/transport.h"

/* Timeout of the CM messages of a trunk: 4.096 us * 2^n, 0.5 s. */
#define CM_TIMEOUT	17
#define CM_RETRIES	4

/* Retries of the QP. IBTA allows 7 at most, which soft-RoCE takes for no limit. */
#define QP_RETRIES	6

/* Retries while the peer has no receive buffer: 7 is no limit (IBTA). */
#define RNR_RETRIES	7

static void set_open_data(struct rca_trunk_link *link, struct rca_trunk_open *open)
{
	memset(open, 0, sizeof(*open));
	rca_peers_fill_hello(&link->trunk->key.peer, link->trunk->dev, &open->hello);
	open->token = link->peer.hello.token;
	open->cookie = link->cookie;
}

static int send_link_req(struct rca_trunk_link *link)
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
		.rnr_retry_count = RNR_RETRIES,
	};
	struct rca_trunk_open open;

	set_open_data(link, &open);
	open.last = link->trunk->last;
	rca_trunk_req_pack(data, &open);
	return ib_send_cm_req(link->cm_id, &param);
}

static int send_link_rep(struct rca_trunk_link *link)
{
	u8 data[RCA_TRUNK_REP_LEN];
	struct ib_cm_rep_param param = {
		.qp_num = link->qp->qp_num,
		.starting_psn = link->psn,
		.private_data = data,
		.private_data_len = sizeof(data),
		.flow_control = 1,
		.rnr_retry_count = RNR_RETRIES,
	};
	struct rca_trunk_open open;

	set_open_data(link, &open);
	rca_trunk_rep_pack(data, &open);
	return ib_send_cm_rep(link->cm_id, &param);
}

/* The REP must come from the load of the peer's module that has sent the hello. */
static bool take_link_rep(struct rca_trunk_link *link, const void *data, u32 qpn)
{
	struct rca_trunk_open open;

	if (rca_trunk_rep_unpack(data, RCA_TRUNK_REP_LEN, &open) ||
	    !rca_hello_is_of(&open.hello, link->peer.hello.boot_id) ||
	    !rca_hello_common_version(&open.hello))
		return false;
	spin_lock(&link->trunk->lock);
	link->peer = open;
	link->peer_qpn = qpn;
	spin_unlock(&link->trunk->lock);
	return true;
}

/* A DREQ ends the link. If it names the session, the connections of the peer have ended, too. */
static unsigned int take_link_dreq(struct rca_trunk_link *link, const void *data)
{
	struct rca_trunk *trunk = link->trunk;
	bool lost = false;
	u32 session;

	if (rca_trunk_dreq_unpack(data, IB_CM_DREQ_PRIVATE_DATA_SIZE, &session))
		return RCA_LINK_END;
	spin_lock(&trunk->lock);
	link->idle = !session;
	lost = session && session == trunk->session;
	trunk->peer_ended |= lost;
	spin_unlock(&trunk->lock);
	return lost ? RCA_LINK_LOST : RCA_LINK_END;
}

/* Reason why a link ends after an event of ib_cm. */
static const char *why_link_ended(enum ib_cm_event_type event)
{
	switch (event) {
	case IB_CM_REP_RECEIVED:
		return "the reply does not fit";
	case IB_CM_REJ_RECEIVED:
		return "the peer has rejected it";
	case IB_CM_DREQ_RECEIVED:
		return "the peer has ended it";
	default:
		return "the peer does not answer";
	}
}

/* The peer does not know the service ID or the token of the hello with which the link was asked. */
static void forget_hello(struct rca_trunk_link *link)
{
	struct rca_trunk *trunk = link->trunk;

	rca_peers_refused(&trunk->key.peer, &link->peer.hello);
	spin_lock(&trunk->lock);
	if (trunk->heard.token == link->peer.hello.token &&
	    rca_hello_is_of(&trunk->heard, link->peer.hello.boot_id))
		trunk->has_heard = false;
	spin_unlock(&trunk->lock);
}

/* ib_cm callback of the cm_id of a link. */
int rca_link_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	struct rca_trunk_link *link = rca_link_get_live(cm_id->context);
	unsigned int news = RCA_LINK_END;

	if (!link)
		return 0;
	switch (event->event) {
	case IB_CM_REP_RECEIVED:
		if (take_link_rep(link, event->private_data, event->param.rep_rcvd.remote_qpn))
			news = RCA_LINK_REP;
		break;
	case IB_CM_REJ_RECEIVED:
		if (link->active &&
		    event->param.rej_rcvd.reason == IB_CM_REJ_INVALID_SERVICE_ID)
			forget_hello(link);
		break;
	case IB_CM_REP_ERROR:
		/* Only the RTU was lost: a frame was received. */
		if (READ_ONCE(link->trunk->up))	/* pairs with receive_frame() */
			goto out_put;
		break;
	case IB_CM_RTU_RECEIVED:
	case IB_CM_USER_ESTABLISHED:
		news = RCA_LINK_RTU;
		break;
	case IB_CM_DREQ_RECEIVED:
		news = take_link_dreq(link, event->private_data);
		ib_send_cm_drep(cm_id, NULL, 0);
		break;
	default:
		break;
	}
	if (READ_ONCE(link->closed))	/* pairs with rca_link_end() */
		goto out_put;
	if (news == RCA_LINK_END || news == RCA_LINK_LOST)
		rca_trunk_because(link->trunk, why_link_ended(event->event));
	rca_link_tell(link, news);
out_put:
	rca_link_put(link);	/* got in rca_link_get_live() */
	return 0;
}

static int find_path(struct rca_trunk_link *link)
{
	if (link->active && !rca_watch_port_is_up(link->trunk))
		return -ENETDOWN;
	return rca_link_find_path(link);
}

/*
 * Connections over InfiniBand take their paths from that of the link, with the hop limit that ib_cm
 * reports.
 */
static void keep_link_path(struct rca_trunk_link *link)
{
	struct rca_trunk *trunk = link->trunk;
	u8 hop_limit = trunk->path.hop_limit;

	spin_lock(&trunk->lock);
	if (!sa_path_is_roce(&link->path)) {
		trunk->path = link->path;
		trunk->path.hop_limit = hop_limit;
	}
	spin_unlock(&trunk->lock);
}

static int start_active_link(struct rca_trunk_link *link)
{
	if (!rca_watch_port_is_up(link->trunk))
		return -ENETDOWN;
	link->cm_id = ib_create_cm_id(rca_link_ibdev(link), rca_link_handler, link);
	if (IS_ERR(link->cm_id))
		return PTR_ERR(link->cm_id);
	return rca_link_create_qp(link) ?: send_link_req(link);
}

/* Join the session before a frame can arrive. */
static int start_passive_link(struct rca_trunk_link *link)
{
	int ret;

	ret = rca_link_create_qp(link);
	if (ret)
		return ret;
	rca_trunk_join_session(link->trunk, link);
	return rca_link_connect_qp(link) ?: send_link_rep(link);
}

static int finish_active_link(struct rca_trunk_link *link)
{
	rca_trunk_join_session(link->trunk, link);
	return rca_link_connect_qp(link) ?: ib_send_cm_rtu(link->cm_id, NULL, 0);
}

/*
 * Each end sends a frame as soon as it is connected, to prove that the link works: a PING, and what
 * its connections have to say.
 */
static void link_connected(struct rca_trunk_link *link)
{
	struct rca_trunk *trunk = link->trunk;

	if (link->ready)
		return;
	rca_conn_say_again(trunk);
	spin_lock(&trunk->lock);
	link->ready = true;
	link->used_at = jiffies;
	trunk->heard_at = jiffies;
	trunk->probed_at = jiffies;
	trunk->probes = 0;
	rca_trunk_probe(trunk);
	spin_unlock(&trunk->lock);
}

static void report_trunk_open(struct rca_trunk *trunk)
{
	spin_lock(&trunk->lock);
	trunk->tries = 0;
	trunk->wanted = false;
	trunk->unclear = false;
	trunk->end_lost = false;
	spin_unlock(&trunk->lock);
	rca_peers_opened(&trunk->key.peer);
	rca_trunk_opened(trunk);
}

/* Handle the events of a link. Returns an errno if it has to end. From the work of the trunk. */
int rca_link_step(struct rca_trunk_link *link)
{
	int ret = rca_link_is_ending(link) ? -ECONNRESET : 0;

	if (!ret && test_and_clear_bit(RCA_LINK_START, &link->news))
		ret = find_path(link);
	if (!ret && test_and_clear_bit(RCA_LINK_PATH, &link->news)) {
		keep_link_path(link);
		ret = link->active ? start_active_link(link) : start_passive_link(link);
	}
	if (!ret && test_and_clear_bit(RCA_LINK_REP, &link->news)) {
		ret = finish_active_link(link);
		if (!ret)
			link_connected(link);
	}
	if (!ret && test_and_clear_bit(RCA_LINK_RTU, &link->news))
		link_connected(link);
	if (!ret && test_and_clear_bit(RCA_LINK_UP, &link->news)) {
		link_connected(link);	/* the RTU may come later */
		report_trunk_open(link->trunk);
	}
	return ret;
}

/*
 * Send a DREQ that names the lost session, or says that the link was idle. ib_cm does not repeat
 * this message.
 */
static void send_link_dreq(struct rca_trunk_link *link)
{
	u8 data[RCA_TRUNK_DREQ_LEN];

	rca_trunk_dreq_pack(data, link->lost);
	ib_send_cm_dreq(link->cm_id, data, sizeof(data));
}

/*
 * Destroying a connected cm_id sends a DREQ: postpone that while the port is down, unless the
 * device is being removed or the module unloaded.
 */
static bool may_destroy_cm_id(const struct rca_trunk_link *link)
{
	const struct rca_trunk *trunk = link->trunk;

	return IS_ERR_OR_NULL(link->cm_id) || READ_ONCE(trunk->dev->removing) ||
	       !rca_trunks_enabled() || rca_watch_port_is_up(trunk);
}

static void destroy_cm_id(struct rca_trunk_link *link)
{
	if (IS_ERR_OR_NULL(link->cm_id))
		return;
	if (link->lost || link->idle)
		send_link_dreq(link);
	ib_destroy_cm_id(link->cm_id);
	link->cm_id = NULL;
}

/*
 * The rest of the end of a link. The trunk does not wait for it, so its connections end in time if
 * the peer is dead, or another link continues the session. The work has the first reference of the
 * link.
 */
static void link_end_work(struct work_struct *work)
{
	struct rca_trunk_link *link = container_of(to_delayed_work(work), struct rca_trunk_link,
						   end);

	rca_link_destroy_qp(link);
	if (!may_destroy_cm_id(link)) {
		rca_link_run_end(link, RCA_WATCH_PORT);
		return;
	}
	destroy_cm_id(link);
	rca_link_put(link);	/* got in rca_link_make() */
}

/*
 * End the link of a trunk, and with @lost also its session. Afterwards nothing is received or sent,
 * late callbacks change nothing, and the trunk has neither a link nor a place. link_end_work()
 * frees the rest; until then the link holds the trunk, which holds the device. While the port is
 * down, the connection of ib_cm stays.
 *
 * An idle link has delivered everything. After any other one, or if a SEND has failed, the ends may
 * not agree, so another link is wanted. Returns whether the session ends: @lost, or the peer has
 * ended it. Sleeps. From the work of the trunk.
 */
bool rca_link_end(struct rca_trunk_link *link, bool lost)
{
	struct rca_trunk *trunk = link->trunk;
	bool failed, was_up;

	spin_lock(&trunk->lock);
	was_up = trunk->up;
	WRITE_ONCE(link->closed, true);	/* pairs with rca_link_handler() */
	failed = !trunk->up && !trunk->next;
	WRITE_ONCE(trunk->up, false);	/* pairs with rca_link_handler() */
	spin_unlock(&trunk->lock);
	if (failed)
		rca_peers_failed(&trunk->key.peer);
	lost |= test_bit(RCA_LINK_LOST, &link->news);
	if (lost)
		link->lost = trunk->session;
	if (may_destroy_cm_id(link))
		destroy_cm_id(link);
	rca_link_drain_qp(link);
	/*
	 * Give up the place before clearing trunk->link; otherwise another link is ended for a
	 * trunk that could use this place.
	 */
	rca_link_leave_place(trunk);
	spin_lock(&trunk->lock);
	trunk->link = NULL;
	trunk->handling = false;
	if (was_up && (!link->idle || link->unsent || link->says))
		trunk->unclear = true;
	if (was_up && (link->unsent || link->says)) {
		trunk->end_lost = true;
		trunk->end_lost_at = jiffies;
	}
	spin_unlock(&trunk->lock);
	lost |= test_bit(RCA_LINK_LOST, &link->news);
	INIT_DELAYED_WORK(&link->end, link_end_work);
	rca_link_run_end(link, 0);
	rca_trunk_closed(trunk, failed, lost);
	return lost;
}
