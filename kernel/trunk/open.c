// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * When trunks get links, and when links and sessions end: the work of a trunk.
 *
 * The work is the only place where links begin and end, and where a session is lost. It runs once
 * for whatever has happened, one run at a time for each trunk, so it needs no lock against itself:
 *
 * - A link ends because of what has happened to it (link_cm.c), because it was idle, or because the
 *   peer that it leads to was loaded again. The next one begins when its QP is destroyed: no frame
 *   comes after the peer was told what was received.
 * - There are trunk_max links at most. When another one is needed, the one that was idle longest
 *   ends for it, see link.c. If none was idle for a second, the link could not be opened.
 * - A session stays without a link while it has users. When there is something to send, either end
 *   opens a link again: at once, and after one second, two, four and so on.
 * - A session is lost if that fails for REOPEN_TIME, if the peer is silent for peer_death_ms, if
 *   another load of the peer's module says hello, if the peer does not have it any more, if a frame
 *   of the peer was malformed, and if the device is removed. Its connections end.
 * - When the GID or the partition of a trunk has gone, its link ends. Its connections stay until
 *   they have something to send, as those over ib_cm do.
 * - When a port comes up, the peer is asked whether it is still there. While it is down, an idle
 *   link stays, and no peer is asked for one: what waits is sent later.
 * - A trunk that has neither a link nor users leaves the table.
 * - When trunks are switched off, those that have users stay until their last connection has ended.
 *
 * Locking: rca_trunk.lock.
 */
#include "trunk/open.h"

#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/string.h>

#include "transport/devices.h"
#include "trunk/link.h"
#include "trunk/trunk.h"

/* Expects to be called under RCU. */
static void close_trunk(struct rca_trunk *trunk)
{
	spin_lock(&trunk->lock);
	if (!trunk->gone) {
		trunk->closing = true;
		rca_trunk_because(trunk, "the device is removed");
		rca_trunk_run(trunk);
	}
	spin_unlock(&trunk->lock);
}

static int set_trunks(const char *val, const struct kernel_param *param)
{
	int ret = param_set_bool(val, param);

	if (!ret && !rca_trunks)
		rca_trunks_for_parameter(rca_trunk_look);
	return ret;
}

static const struct kernel_param_ops trunks_ops = {
	.flags = KERNEL_PARAM_OPS_FL_NOARG,
	.set = set_trunks,
	.get = param_get_bool,
};

module_param_cb(trunks, &trunks_ops, &rca_trunks, 0644);
MODULE_PARM_DESC(trunks, "tell peers that this host speaks the trunk protocol, and open trunks; default: no");

/* Was the module of the peer loaded again since it opened what this host has? */
static bool peer_is_new(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	return (trunk->link && !rca_hello_is_of(&trunk->hello, trunk->link->peer.hello.boot_id)) ||
	       (trunk->session.number && !rca_hello_is_of(&trunk->hello, trunk->boot_id));
}

/* Are trunks switched off, and this one is not needed, or is the device being removed? */
static bool is_off(const struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	return (!rca_peers_enabled() && !trunk->users) || READ_ONCE(trunk->dev->removing);
}

/* Why has_to_close() says so, if nothing else was noted. */
static const char *why_closing(const struct rca_trunk *trunk)
{
	if (peer_is_new(trunk))
		return "the peer's module was loaded again";
	if (is_off(trunk))
		return "trunks are switched off";
	if (rca_watch_is_silent(trunk))
		return "the peer is silent";
	if (trunk->unusable)
		return "its GID or partition is gone";
	return "no link could be opened for too long";
}

/* Returns whether the session of a trunk ends now. */
static bool has_to_close(struct rca_trunk *trunk)
{
	bool closing;

	spin_lock(&trunk->lock);
	closing = trunk->closing || peer_is_new(trunk) || is_off(trunk) ||
		  rca_watch_is_silent(trunk);
	trunk->closing = false;
	if (trunk->link)
		closing |= test_bit(RCA_LINK_LOST, &trunk->link->news);
	else
		closing |= rca_watch_is_overdue(trunk);
	if (closing)
		rca_trunk_because(trunk, why_closing(trunk));
	spin_unlock(&trunk->lock);
	return closing;
}

/* The end that was asked, of a trunk from a port to itself, lets the other one ask again. */
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

static void start(struct rca_trunk *trunk, struct rca_trunk_link *link)
{
	lockdep_assert_held(&trunk->lock);
	trunk->link = link;
	rca_trunk_opening(trunk);
	rca_link_tell(link, RCA_LINK_START);
}

/*
 * Asks the peer for a link, unless the peer is asking meanwhile. The request tells the service ID
 * of this host, as the peer may have to open the next one.
 */
static void open_active(struct rca_trunk *trunk)
{
	struct rca_trunk_link *link;

	rca_trunk_listen(trunk->dev);
	link = rca_link_make(trunk, true);
	if (!link)
		return;
	spin_lock(&trunk->lock);
	link->peer.hello = trunk->hello;
	link->path = trunk->path;
	if (!trunk->next) {
		start(trunk, link);
		link = NULL;
	}
	spin_unlock(&trunk->lock);
	if (link)
		rca_link_put(link);	/* the first reference */
}

/* Does this host have to ask for a link now? */
static bool is_due(struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	if (is_off(trunk) || trunk->unusable)
		return false;
	if (!rca_watch_needs_link(trunk) && !rca_watch_is_on(trunk)) {
		trunk->tries = 0;	/* nothing is overdue */
		return false;
	}
	return !trunk->session.number || !trunk->tries ||
	       time_after_eq(jiffies, rca_watch_next_try(trunk));
}

/* Notes an attempt to open a link. */
static void note_try(struct rca_trunk *trunk)
{
	lockdep_assert_held(&trunk->lock);
	/* Without a session there is nothing to lose: another connection will ask again. */
	if (!trunk->session.number) {
		trunk->wanted = false;
		return;
	}
	if (!trunk->tries++)
		trunk->down_at = jiffies;
	trunk->tried_at = jiffies;
}

/* Answers the request of the peer for a link, or asks for one. */
static void open_placed(struct rca_trunk *trunk)
{
	bool asked;

	spin_lock(&trunk->lock);
	asked = trunk->next;
	if (asked) {
		trunk->path = trunk->next->path;
		start(trunk, trunk->next);
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

/* What waits for a link cannot have one now: requests go another way. */
static void link_later(struct rca_trunk *trunk)
{
	rca_trunk_upcalls->not_linked(trunk);
	spin_lock(&trunk->lock);
	/* If nothing else waits, the session is not overdue. */
	trunk->wanted = false;
	if (!rca_trunk_has_to_send(trunk))
		trunk->tries = 0;
	spin_unlock(&trunk->lock);
}

/* There is no place for a link: the request of a peer is rejected. */
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

/* Begins a link, if there is a place for it. A trunk that waits for one is called again. */
static void open_link(struct rca_trunk *trunk)
{
	switch (rca_link_take_place(trunk, rca_watch_idle_for)) {
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

/* Begins the next link of a trunk, which has none, if the peer or this host needs one. */
static void begin_link(struct rca_trunk *trunk)
{
	bool asked, due, down;

	spin_lock(&trunk->lock);
	asked = trunk->next;
	due = asked || is_due(trunk);
	down = due && !asked && !rca_watch_port_is_up(trunk);
	if (down) {
		trunk->port_down = true;
		trunk->tries = 0;
	} else if (due && !asked && trunk->key.passive) {
		note_try(trunk);
	}
	spin_unlock(&trunk->lock);
	if (down)
		link_later(trunk);
	if (!due || down)
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
		rca_trunk_because(trunk, idle ? "idle" : "no QP or message");
		failed = !trunk->up;
		closing = rca_link_end(trunk->link, closing);
	}
	if (!trunk->link) {
		if (closing)
			rca_trunk_lose_session(trunk);
		else if (failed)
			rca_trunk_upcalls->not_linked(trunk);
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

/* Ends all trunks of a device. Their work puts the last references of the device. */
void rca_open_end_device(struct rca_device *dev)
{
	rca_trunks_of_port(dev, 0, close_trunk);
}
