// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The work of a trunk: when links begin, and when links and sessions end.
 *
 * Only the work begins and ends links, and ends sessions. It runs once for all events since its
 * last run, and never twice at a time for one trunk, so it needs no lock against itself:
 *
 * - A link ends because of its events (link_cm.c), or because it was idle. The next link begins
 *   when the QP is drained: all frames that were received have been handled.
 * - There are trunk_max links at most. The link that was idle longest ends for another one, see
 *   keepalive.c. If none was idle for a second, no link is opened.
 * - Connections outlive their link. When there is a record to send, or the last link was not idle
 *   when it ended, either end opens a link again: at once, and after one second, two, four and so
 *   on. Both ends then agree again on their connections, see rca_conn_say_again().
 * - A session is not lost because no link can be opened, however long. After two attempts, requests
 *   that are under way go over ib_cm.
 * - A session is lost if the peer is silent for peer_death_ms, if a link is opened to another load
 *   of the peer's module, if the peer says so, and if the device is removed. Its connections end. A
 *   hello of another load only makes this host look whether its link still works.
 * - When this machine has become a copy, no link continues its sessions. Their connections end when
 *   a link begins after the peer has told the copy a hello, or the copy has told the peer one.
 * - When the GID or the partition of a trunk has gone, its link ends. Its connections stay.
 * - A frame that is not the peer's, or malformed, ends the link. After three of them in a minute no
 *   link is opened for five minutes, see peers.c.
 * - When a port comes up, the peer is pinged. While the port is down, an idle link stays, and no
 *   link is requested: records are sent later.
 * - A trunk that has neither a link nor users leaves the table, a minute later if the link may have
 *   lost the end of a connection.
 * - When the module is unloaded, no connection uses a trunk any more, and all trunks are closed.
 *
 * Locking: rca_trunk.lock.
 */
#include "trunk/trunk.h"

#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>

#include "transport/transport.h"

/*
 * Events that open trunks: requests of peers for a link, by the service ID of each device, requests
 * for connections, and hellos.
 *
 * A request for a link is accepted if it has the token that this host has sent to the peer in a
 * hello. If both hosts send a request at the same time, that of the host with the greater boot
 * identifier counts; two ports of one host compare their GIDs.
 *
 * The events are callbacks of transports and devices. They note their findings in the trunk and
 * queue its work.
 *
 * Locking: rca_trunk.lock.
 */

/**
 * struct link_req - a request of a peer for a link
 * @open: its private data
 * @path: path to it
 * @qpn: number of its QP
 * @yields: a request that this host has sent at the same time yields to this one
 */
struct link_req {
	const struct rca_trunk_open *open;
	const struct sa_path_rec *path;
	u32 qpn;
	bool yields;
};

/*
 * May a request of the peer have a link? If both ends send one at the same time, one of them
 * yields.
 *
 * While a trunk is open, its peer only requests another link if its own link has failed, and then
 * names the cookie of this host on that link. A request that does not name it may be an old one,
 * delayed while the trunk was opened at the request of this host. Or the peer was loaded again, and
 * this host has not noticed yet. Both requests are refused. In the second case the PING that is
 * sent now is not answered, this link ends, and the request that the peer repeats after its
 * back-off finds no open trunk.
 *
 * An old request that finds no open trunk opens a link that fails, and then another one is opened.
 */
static bool may_accept_link(const struct rca_trunk *trunk, const struct rca_trunk_open *open,
			    bool yields)
{
	const struct rca_trunk_link *link = trunk->link;

	lockdep_assert_held(&trunk->lock);
	if (trunk->gone || trunk->next || !rca_trunks_enabled())
		return false;
	if (!link || link->closed || rca_link_is_ending(link) ||
	    !rca_hello_is_of(&open->hello, link->peer.hello.boot_id))
		return true;
	if (trunk->up)
		return open->last && open->last == link->cookie;
	return !link->active || yields;
}

/*
 * Handle a request of a peer for a link. Returns 0: @cm_id belongs to the trunk; a negative errno:
 * the request has to be rejected.
 */
static int accept_link(struct rca_device *dev, const struct rca_trunk_key *key,
		       const struct ib_gid_attr *sgid_attr, const struct link_req *req,
		       struct ib_cm_id *cm_id)
{
	struct rca_trunk *trunk = rca_trunk_make(dev, key, sgid_attr);
	struct rca_trunk_link *link;
	int ret = -EBUSY;

	if (!trunk)
		return -ENOMEM;
	link = rca_link_make(trunk, false);
	spin_lock(&trunk->lock);
	if (link && may_accept_link(trunk, req->open, req->yields)) {
		link->peer = *req->open;
		link->peer_qpn = req->qpn;
		link->cm_id = cm_id;
		cm_id->context = link;
		cm_id->cm_handler = rca_link_handler;
		link->path = *req->path;
		trunk->hello = req->open->hello;
		if (trunk->link) {
			rca_trunk_because(trunk, "the peer asks for another link");
			rca_link_tell(trunk->link, RCA_LINK_END);
		}
		trunk->next = link;
		link = NULL;
		ret = 0;
	} else if (trunk->up) {
		rca_trunk_probe(trunk);
	}
	spin_unlock(&trunk->lock);
	if (link)
		rca_link_put(link);	/* got in rca_link_make() */
	rca_trunk_run(trunk);
	rca_trunk_put(trunk);	/* got in rca_trunk_make() */
	return ret;
}

/* Note a change of the port of a trunk. @state: it went down or came up. Under RCU. */
static void note_port_event(struct rca_trunk *trunk, bool state)
{
	spin_lock(&trunk->lock);
	if (!trunk->gone) {
		trunk->port_changed = true;
		trunk->state_changed |= state;
		rca_trunk_run(trunk);
	}
	spin_unlock(&trunk->lock);
}

static void note_port_change(struct rca_trunk *trunk)
{
	note_port_event(trunk, false);
}

static void note_port_state(struct rca_trunk *trunk)
{
	note_port_event(trunk, true);
}

/*
 * The state (@state), the GIDs or the partitions of a port may have changed. @port: 0: of all
 * ports. The device is not removed meanwhile.
 */
void rca_open_port_changed(struct rca_device *dev, u32 port, bool state)
{
	rca_trunks_of_port(dev, port, state ? note_port_state : note_port_change);
}

/* Does another link continue the session of a trunk? */
static bool session_goes_on(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	return trunk->session && !trunk->former;
}

/* Is a hello news for a trunk? Not if its link or session is with the same load of the module. */
static bool hello_is_news(const struct rca_trunk_key *key, const struct rca_hello *hello)
{
	struct rca_trunk *trunk = rca_trunk_find(key);
	bool news = true;

	if (!trunk)
		return true;
	spin_lock(&trunk->lock);
	if (trunk->link || trunk->next || session_goes_on(trunk))
		news = !rca_hello_is_of(&trunk->hello, hello->boot_id);
	spin_unlock(&trunk->lock);
	rca_trunk_put(trunk);	/* got in rca_trunk_find() */
	return news;
}

/*
 * A hello of the peer. If it is of another load of its module than the trunk, that may have been
 * loaded again, or another host may have sent the hello: look whether the link still works.
 */
static void note_hello(struct rca_trunk *trunk, const struct rca_hello *hello)
{
	lockdep_assert_held(&trunk->lock);
	if (!trunk->link && !trunk->next && !session_goes_on(trunk)) {
		trunk->hello = *hello;
	} else if (!rca_hello_is_of(&trunk->hello, hello->boot_id)) {
		trunk->heard = *hello;
		trunk->has_heard = true;
		if (trunk->up)
			rca_trunk_probe(trunk);
		else if (trunk->users)
			rca_open_again(trunk);
	}
}

/*
 * A peer requests a connection: open a trunk to it if its hello of the last seconds accepts trunks.
 * This is then not its first connection. Callback of a transport; does not sleep.
 */
void rca_open_requested(struct rca_device *dev, const struct rca_tp_request *req,
			const struct ib_gid_attr *sgid_attr)
{
	struct rca_trunk_key key = {};
	struct rca_trunk *trunk;
	struct rca_hello hello;

	if (!rca_trunks_enabled() || !req->path || !sgid_attr)
		return;
	rca_peer_key(&key.peer, dev->serial, req->port_num, sgid_attr, &req->path->dgid, req->pkey);
	if (!rca_peers_may_open(&key.peer, &hello) || !hello_is_news(&key, &hello))
		return;
	trunk = rca_trunk_make(dev, &key, sgid_attr);
	if (!trunk)
		return;
	spin_lock(&trunk->lock);
	note_hello(trunk, &hello);
	if (!trunk->link) {
		trunk->path = *req->path;
		trunk->wanted = true;
	}
	spin_unlock(&trunk->lock);
	rca_trunk_run(trunk);
	rca_trunk_put(trunk);	/* got in rca_trunk_make() */
}

/* A peer has sent the private data of an RTU. Callback of a transport; does not sleep. */
void rca_open_heard(const struct rca_peer_key *key, const void *data, size_t len)
{
	const struct rca_trunk_key trunk_key = { .peer = *key };
	struct rca_trunk *trunk;
	struct rca_hello hello;

	if (rca_hello_unpack(data, len, &hello))
		return;
	trunk = rca_trunk_find(&trunk_key);
	if (!trunk)
		return;
	spin_lock(&trunk->lock);
	note_hello(trunk, &hello);
	spin_unlock(&trunk->lock);
	rca_trunk_put(trunk);	/* got in rca_trunk_find() */
}

/*
 * The local GID of a request, with a reference, or NULL. On InfiniBand ib_cm reports none if the
 * request came without a GRH.
 */
static const struct ib_gid_attr *local_gid(struct ib_device *ibdev,
					   const struct ib_cm_req_event_param *req)
{
	const struct ib_gid_attr *attr = req->ppath_sgid_attr;

	if (attr) {
		rdma_hold_gid_attr(attr);
		return attr;
	}
	if (!rdma_protocol_ib(ibdev, req->port))
		return NULL;
	attr = rdma_find_gid_by_port(ibdev, &req->primary_path->sgid, IB_GID_TYPE_IB, req->port,
				     NULL);
	return IS_ERR(attr) ? NULL : attr;
}

/*
 * ib_cm callback of the service ID. A non-zero return makes ib_cm reject the request and destroy
 * @cm_id.
 */
static int ib_trunk_handler(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	struct rca_device *dev = cm_id->context;
	const struct ib_gid_attr *sgid_attr;
	struct rca_trunk_key key = {};
	struct rca_trunk_open open;
	int ret = -EACCES;

	if (event->event != IB_CM_REQ_RECEIVED ||
	    rca_trunk_req_unpack(event->private_data, RCA_TRUNK_REQ_LEN, &open))
		return -EINVAL;
	sgid_attr = local_gid(dev->ibdev, req);
	if (!sgid_attr)
		return -EINVAL;
	rca_peer_key(&key.peer, dev->serial, req->port, sgid_attr, &req->primary_path->dgid,
		     be16_to_cpu(req->primary_path->pkey));
	if (rca_peers_accept(&key.peer, &open)) {
		const struct link_req asked = {
			.open = &open,
			.path = req->primary_path,
			.qpn = req->remote_qpn,
			.yields = rca_trunk_peer_wins(&key.peer, &open.hello),
		};

		key.passive = rca_trunk_is_own(&key.peer, &open.hello);
		ret = accept_link(dev, &key, sgid_attr, &asked, cm_id);
	} else {
		/* As if the service did not exist: the peer forgets the hello that names it. */
		ib_send_cm_rej(cm_id, IB_CM_REJ_INVALID_SERVICE_ID, NULL, 0, NULL, 0);
		rca_stats_trunk(dev, req->port, RCA_STAT_NO_TOKEN);
	}
	rdma_put_gid_attr(sgid_attr);	/* got in local_gid() */
	return ret;
}

void rca_open_listen(struct rca_device *dev)
{
	rca_service_listen(dev, ib_trunk_handler);
}

/* Under RCU. */
static void close_trunk(struct rca_trunk *trunk, const char *why)
{
	spin_lock(&trunk->lock);
	if (!trunk->gone) {
		trunk->closing = true;
		rca_trunk_because(trunk, why);
		rca_trunk_run(trunk);
	}
	spin_unlock(&trunk->lock);
}

static void close_removed(struct rca_trunk *trunk)
{
	close_trunk(trunk, "the device is removed");
}

static void close_unloaded(struct rca_trunk *trunk)
{
	close_trunk(trunk, "the module is unloaded");
}

/* Is the module being unloaded, or the device being removed? */
static bool trunk_is_off(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	return !rca_trunks_enabled() || READ_ONCE(trunk->dev->removing);
}

/* Reason of has_to_close(), if none was noted before. */
static const char *why_closing(const struct rca_trunk *trunk)
{
	if (trunk_is_off(trunk))
		return "the module is unloaded, or the device removed";
	return "the peer is silent";
}

/* Must the session of a trunk end now? */
static bool has_to_close(struct rca_trunk *trunk)
{
	bool closing;

	spin_lock(&trunk->lock);
	closing = trunk->closing || trunk_is_off(trunk) || rca_watch_is_silent(trunk);
	trunk->closing = false;
	if (trunk->link)
		closing |= test_bit(RCA_LINK_LOST, &trunk->link->news);
	if (closing)
		rca_trunk_because(trunk, why_closing(trunk));
	spin_unlock(&trunk->lock);
	return closing;
}

/* Passive end of a trunk from a port to itself: let the active end request a link again. */
static void ask_other_end(const struct rca_trunk *trunk)
{
	const struct rca_trunk_key key = { .peer = trunk->key.peer };
	struct rca_trunk *other = rca_trunk_find(&key);

	if (!other)
		return;
	spin_lock(&other->lock);
	rca_open_again(other);
	spin_unlock(&other->lock);
	rca_trunk_put(other);	/* got in rca_trunk_find() */
}

static void start_link(struct rca_trunk *trunk, struct rca_trunk_link *link)
{
	lockdep_assert_held(&trunk->lock);
	trunk->link = link;
	rca_trunk_opening(trunk);
	rca_link_tell(link, RCA_LINK_START);
}

/*
 * Request a link, unless the peer has requested one meanwhile. The request carries the service ID
 * of this host, as the peer may have to open the next link.
 */
static void open_active(struct rca_trunk *trunk)
{
	struct rca_trunk_link *link;

	rca_open_listen(trunk->dev);
	link = rca_link_make(trunk, true);
	if (!link)
		return;
	spin_lock(&trunk->lock);
	/* A newer hello may be that of another host: try both in turn. */
	link->peer.hello = trunk->has_heard && (trunk->tries & 1 || !trunk->session) ?
				trunk->heard : trunk->hello;
	link->path = trunk->path;
	if (!trunk->next) {
		start_link(trunk, link);
		link = NULL;
	}
	spin_unlock(&trunk->lock);
	if (link)
		rca_link_put(link);	/* got in rca_link_make() */
}

/* Must this host request a link now? */
static bool link_is_due(struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	if (trunk_is_off(trunk) || trunk->unusable)
		return false;
	if (!rca_watch_needs_link(trunk) && !rca_watch_is_on(trunk)) {
		trunk->tries = 0;
		return false;
	}
	return !trunk->session || !trunk->tries ||
	       time_after_eq(jiffies, rca_watch_next_try(trunk));
}

/* Attempts to open a link for ends that may not agree, and have nothing to send: a minute. */
#define MOST_TRIES	7

/* Note an attempt to open a link. */
static void note_try(struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	/* Without a session the next connection request tries again. */
	if (!trunk->session) {
		trunk->wanted = false;
		return;
	}
	trunk->tried_at = jiffies;
	if (++trunk->tries < MOST_TRIES && (trunk->users || rca_trunk_has_to_tell(trunk)))
		return;
	trunk->wanted = false;
	trunk->unclear = false;
	trunk->end_lost = false;
}

/* Answer the peer's request for a link, or send one. */
static void open_placed(struct rca_trunk *trunk)
{
	bool asked;

	spin_lock(&trunk->lock);
	asked = trunk->next;
	if (asked) {
		trunk->path = trunk->next->path;
		start_link(trunk, trunk->next);
		trunk->next = NULL;
	} else {
		note_try(trunk);
	}
	spin_unlock(&trunk->lock);
	if (!asked)
		open_active(trunk);
	if (!trunk->link)
		rca_link_leave_place(trunk);
}

/* No link can be opened now: send the queued requests over ib_cm. */
static void link_later(struct rca_trunk *trunk)
{
	rca_conn_not_linked(trunk);
	spin_lock(&trunk->lock);
	trunk->wanted = false;
	if (!rca_watch_needs_link(trunk))
		trunk->tries = 0;
	spin_unlock(&trunk->lock);
}

/* No place is free for a link: reject the peer's request, if there is one. */
static void refuse_link(struct rca_trunk *trunk)
{
	struct rca_trunk_link *link;

	rca_trunk_because(trunk, "too many trunks are open");
	spin_lock(&trunk->lock);
	link = trunk->next;
	trunk->link = link;
	trunk->next = NULL;
	if (!link || rca_watch_needs_link(trunk))
		note_try(trunk);
	spin_unlock(&trunk->lock);
	if (link) {
		rca_link_end(link, false);
	} else {
		rca_peers_failed(&trunk->key.peer);
		rca_trunk_closed(trunk, true, false);
	}
	link_later(trunk);
}

/* Begin a link if a place is free. A trunk that waits for one runs its work again with it. */
static void open_link(struct rca_trunk *trunk)
{
	switch (rca_link_take_place(trunk)) {
	case RCA_PLACE_TAKEN:
		open_placed(trunk);
		break;
	case RCA_PLACE_NONE:
		refuse_link(trunk);
		break;
	default:
		break;
	}
}

/* Begin the next link of a trunk, which has none, if the peer or this host needs it. */
static void begin_link(struct rca_trunk *trunk)
{
	bool asked, due, down, later;

	spin_lock(&trunk->lock);
	asked = trunk->next;
	down = !asked && !rca_watch_port_is_up(trunk);
	later = down || (!asked && (trunk->unusable || rca_trunk_is_barred(trunk)));
	later &= rca_watch_needs_link(trunk) || rca_watch_is_on(trunk);
	due = asked || (!later && link_is_due(trunk));
	if (later && down) {
		trunk->port_down = true;
		trunk->tries = 0;
	} else if (due && !asked && trunk->key.passive) {
		note_try(trunk);
	}
	spin_unlock(&trunk->lock);
	if (later)
		link_later(trunk);
	if (!due)
		rca_link_leave_place(trunk);
	else if (!asked && trunk->key.passive)
		ask_other_end(trunk);
	else
		open_link(trunk);
}

/* The work of a trunk. */
void rca_open_work(struct work_struct *work)
{
	struct rca_trunk *trunk = container_of(to_delayed_work(work), struct rca_trunk, work);
	bool closing, idle, failed = false;
	unsigned long delay;

	if (trunk->gone)
		goto out_put;
	rca_watch_port(trunk);
	rca_watch_peer(trunk);
	closing = has_to_close(trunk);
	idle = trunk->link && rca_watch_is_idle(trunk);
	if (trunk->link && (closing || idle || rca_link_step(trunk->link))) {
		trunk->link->idle |= idle;
		rca_trunk_because(trunk, idle ? "idle" : "no QP or message");
		failed = !trunk->up;
		closing = rca_link_end(trunk->link, closing);
	}
	if (!trunk->link) {
		if (closing)
			rca_trunk_lose_session(trunk);
		else if (failed)
			rca_conn_not_linked(trunk);
		begin_link(trunk);
	}
	if (rca_trunk_drop(trunk))
		goto out_put;
	delay = rca_watch_delay(trunk);
	if (delay)
		rca_trunk_run_later(trunk, delay);
out_put:
	rca_trunk_put(trunk);	/* got in rca_trunk_run() or rca_trunk_run_later() */
}

/* Ends all trunks of a device. Their works put the last references on the device. */
void rca_open_end_device(struct rca_device *dev)
{
	rca_trunks_of_port(dev, 0, close_removed);
}

/* Ends all trunks, when no other one can be opened. Their works put the last references on them. */
void rca_open_end_all(void)
{
	rca_trunks_of_port(NULL, 0, close_unloaded);
}

/*
 * A trunk was copied with its machine, or brought back from an earlier time. Its peer knows one
 * machine, which this one may not be: nothing that the peer has told is used for a link. Under RCU.
 */
static void separate_trunk(struct rca_trunk *trunk)
{
	spin_lock(&trunk->lock);
	if (!trunk->gone) {
		trunk->former = trunk->session;
		trunk->has_heard = false;
		trunk->wanted = false;
		trunk->port_changed = true;
		memset(&trunk->hello, 0, sizeof(trunk->hello));
		if (trunk->link) {
			rca_trunk_because(trunk, "this machine was copied");
			rca_link_tell(trunk->link, RCA_LINK_END);
		}
		if (trunk->next)
			rca_link_tell(trunk->next, RCA_LINK_END);
		rca_trunk_run(trunk);
	}
	spin_unlock(&trunk->lock);
}

/*
 * This machine is a copy, see rca_peers_renew(). Links end, connections stay until they end
 * themselves, or their host talks to the peer again. Sleeps.
 */
void rca_open_separate_all(void)
{
	rca_trunks_of_port(NULL, 0, separate_trunk);
}
