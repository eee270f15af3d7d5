// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The end of ids: destroy, removal of a device.
 *
 * An id ends in two halves. The first takes it away from everybody: handle,
 * events, port, service ID. The second gives the lower id back; when the peer
 * is still connected it waits in the background for the answer to our
 * disconnect request, so that a lost message does not leave the peer hanging.
 *
 * Locking: see "DOC: Locking" in id.h; no lock is held on entry.
 */
#include "ops/teardown.h"

#include <kunit/visibility.h>
#include <linux/jiffies.h>

#include "id/id.h"
#include "device/devices.h"
#include "listen/listen.h"
#include "ops/mcast.h"
#include "id/send_window.h"
#include "resolve/resolve_wait.h"
#include "lib/trace.h"

/* Ask a connected peer to disconnect. True: the answer is worth waiting for. */
static bool start_linger(struct rca_id *id, enum rca_state was)
{
	lockdep_assert_held(&id->op);
	/* TCP tells the peer by itself. */
	if (!id->lower || id->dev->tp->over_tcp)
		return false;
	/* The QP of an XRC target may serve others still: ib_cm forgets it without a word. */
	if (was == RCA_ST_CONNECTED && id->qp_type == IB_QPT_XRC_TGT)
		return false;
	if (was != RCA_ST_DREQ_SENT && was != RCA_ST_CONNECTED)
		return false;
	/* Without memory to wait, the lower id says good-bye once as it goes. */
	if (!rca_id_need_setup(id))
		return false;
	if (was == RCA_ST_DREQ_SENT)
		return true;
	id->setup->drep_deadline = jiffies + rca_id_drep_timeout(id);
	return !rca_window_begin(id) || rca_id_send_dreq(id);
}

/**
 * rca_teardown_id() - end an id that is in no table any more
 * @id: the id; the caller keeps its reference
 *
 * Context: Process context. Sleeps. Not from a callback.
 * Return: how many events of the id were delivered.
 */
u32 rca_teardown_id(struct rca_id *id)
{
	enum rca_state was;
	LIST_HEAD(requests);
	unsigned long flags;
	u32 reported;

	rca_id_cancel_work(id);	/* it may wait for a deadline */
	spin_lock_irqsave(&id->lock, flags);
	was = id->state;
	rca_id_step_locked(id, RCA_IN_DESTROY);
	spin_unlock_irqrestore(&id->lock, flags);

	rca_resolve_cancel(id);
	reported = rca_source_detach(&id->src, &requests);

	mutex_lock(&id->op);
	rca_listen_stop(id);
	rca_id_unbind(id);
	rca_id_drop_path(id);
	if (start_linger(id, was)) {
		/* The answer kicks it at once. */
		rca_id_queue_work_later(id, rca_id_drep_timeout(id));
	} else {
		rca_id_drop_lower(id);
		rca_id_detach(id);
		rca_id_cancel_work(id);	/* its request may wait to be sent again */
	}
	mutex_unlock(&id->op);
	rca_mcast_end(id);

	/* Requests can come in until the listener is stopped: the source is detached by then. */
	rca_teardown_requests(&requests);
	return reported;
}

/* The request lay in the ring, so its id was published. */
static void end_exposed(struct rca_id *id)
{
	if (rca_obj_claim(&id->obj)) {
		rca_teardown_id(id);
		rca_id_put(id);		/* the table's */
	}
	rca_id_put(id);		/* the event's, got in rca_event_publish_child() */
}

/**
 * rca_teardown_requests() - reject connection requests that nobody will read
 * @requests: undelivered events with a child, linked by their items; emptied
 *
 * Context: Process context. Sleeps.
 */
void rca_teardown_requests(struct list_head *requests)
{
	struct rca_event *ev, *tmp;

	list_for_each_entry_safe(ev, tmp, requests, item.qnode) {
		list_del_init(&ev->item.qnode);
		if (ev->child_published)
			end_exposed(rca_id_of(ev->child));
		else
			rca_id_abort(rca_id_of(ev->child));
		ev->child = NULL;
		rca_event_free(ev);
	}
}

/**
 * rca_id_abort() - destroy an id that was not published
 * @id: the id; the caller's reference is put
 *
 * Context: Process context. Sleeps.
 */
void rca_id_abort(struct rca_id *id)
{
	rca_obj_unreserve(&id->obj);
	rca_teardown_id(id);
	rca_id_put(id);
}
EXPORT_SYMBOL_IF_KUNIT(rca_id_abort);

/**
 * rca_destroy() - destroy an id by its handle
 * @ctx: the context
 * @handle: the handle
 * @reported: how many events of the id were delivered
 *
 * Context: Process context. Sleeps.
 * Return: 0; -ENOENT, also for all but one of several callers; -EINVAL: no id.
 */
int rca_destroy(struct rca_ctx *ctx, u32 handle, u32 *reported)
{
	struct rca_obj *obj = rca_obj_claim_handle(ctx, handle, RCA_KIND_ID);
	struct rca_id *id;

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	id = rca_id_of(obj);
	*reported = rca_teardown_id(id);
	rca_id_put(id);		/* the table's */
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rca_destroy);

/* The device of @id goes away: tell user space, give everything of the device back. */
static void remove_id(struct rca_id *id)
{
	/* An idle id is being bound right now, and takes it when that is done. */
	if (rca_id_state(id) != RCA_ST_IDLE)
		rca_id_step_post(id, RCA_IN_REMOVE, NULL, 0);
	rca_resolve_cancel(id);
	mutex_lock(&id->op);
	rca_id_step_post(id, RCA_IN_REMOVE, NULL, 0);	/* ignored the second time */
	rca_listen_stop(id);
	rca_id_drop_lower(id);
	rca_id_detach(id);
	rca_id_cancel_work(id);	/* nothing is left that a destroyed id could wait for */
	mutex_unlock(&id->op);
	rca_mcast_drop(id);
}

/**
 * rca_teardown_device() - take a device away from all ids
 * @dev: the device; it is marked and takes no new ids
 *
 * Context: Process context. Sleeps.
 */
void rca_teardown_device(struct rca_device *dev)
{
	struct rca_id *id;
	unsigned long flags;

	for (;;) {
		spin_lock_irqsave(&dev->lock, flags);
		id = list_first_entry_or_null(&dev->ids, struct rca_id, dev_node);
		if (id)
			rca_id_get(id);	/* an attached id has a reference */
		spin_unlock_irqrestore(&dev->lock, flags);
		if (!id)
			return;
		remove_id(id);
		rca_id_put(id);
	}
}
EXPORT_SYMBOL_IF_KUNIT(rca_teardown_device);
