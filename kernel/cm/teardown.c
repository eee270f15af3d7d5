// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Destroying ids, and removal of a device.
 *
 * An id is destroyed in two halves. The first makes it unreachable: it releases the handle,
 * events, port and service ID. The second releases the lower id. If the peer is connected,
 * the second half waits in the background for the DREP, so that a lost DREQ is sent again
 * and does not leave the peer connected.
 *
 * Locking: see "DOC: Locking" in id.h; no lock is held on entry.
 */
#include "cm/teardown.h"

#include <linux/jiffies.h>

#include "cm/listen.h"
#include "cm/mcast.h"
#include "cm/resolve_wait.h"
#include "cm/route_ib.h"
#include "id/id.h"
#include "id/send_window.h"
#include "lib/trace.h"
#include "transport/devices.h"

/* Send a connected peer a DREQ. True: wait for the DREP before the lower id is destroyed. */
static bool start_linger(struct rca_id *id, enum rca_state was)
{
	unsigned long end;

	lockdep_assert_held(&id->op);
	/* TCP ends the connection without messages of ours. */
	if (!id->lower || id->dev->tp->over_tcp)
		return false;
	/* The QP of an XRC target may serve other processes: ib_cm sends no DREQ for it. */
	if (was == RCA_ST_CONNECTED && id->qp_type == IB_QPT_XRC_TGT)
		return false;
	if (was != RCA_ST_DREQ_SENT && was != RCA_ST_CONNECTED)
		return false;
	/* Without memory to wait, destroying the lower id sends a single DREQ. */
	if (!rca_id_need_setup(id))
		return false;
	end = jiffies + rca_id_linger(id);
	/* If its turn has come, the work that was cancelled would have sent the DREQ. */
	if (was == RCA_ST_DREQ_SENT) {
		if (time_before(end, id->setup->drep_deadline))
			id->setup->drep_deadline = end;
		return !rca_id_dreq_is_due(id) || rca_id_send_dreq(id);
	}
	id->setup->drep_deadline = end;
	return !rca_window_begin(id) || rca_id_send_dreq(id);
}

/*
 * Destroy an id that is not in the handle table any more; not from a callback. The caller
 * keeps its reference. Returns how many events of the id were delivered.
 */
static u32 teardown_id(struct rca_id *id)
{
	enum rca_state was;
	LIST_HEAD(requests);
	u32 reported;

	rca_id_cancel_work(id);	/* the work may wait for a deadline */
	spin_lock_irq(&id->lock);
	was = id->state;
	rca_id_step_locked(id, RCA_IN_DESTROY);
	spin_unlock_irq(&id->lock);

	rca_resolve_cancel(id);
	reported = rca_source_detach(&id->src, &requests);

	mutex_lock(&id->op);
	rca_listen_stop(id);
	rca_id_unbind(id);
	if (was == RCA_ST_FAILED)
		rca_route_ib_forget(id);
	rca_id_drop_request(id);
	if (start_linger(id, was)) {
		/* The DREP queues the work at once. */
		rca_id_queue_work_later(id, rca_id_linger(id));
		rca_id_leave_netns(id);
	} else {
		rca_id_drop_lower(id);
		rca_id_detach(id);
		rca_id_cancel_work(id);	/* a request may wait to be sent again */
	}
	mutex_unlock(&id->op);
	rca_mcast_end(id);

	/* Requests may be queued until the source is detached, which refuses later ones. */
	rca_teardown_requests(&requests);
	return reported;
}

/**
 * rca_teardown_published() - destroy an id that is in the handle table, unless another caller does
 * @id: the id; the caller keeps its reference
 *
 * Context: Process context. Sleeps. Not from a callback.
 * Return: true: the id is destroyed; false: another caller destroys it, or it is not published.
 */
bool rca_teardown_published(struct rca_id *id)
{
	if (!rca_obj_claim(&id->obj))
		return false;
	teardown_id(id);
	rca_id_put(id);		/* the table's */
	return true;
}

/**
 * rca_teardown_requests() - reject connection requests whose events were removed from a queue
 * @requests: undelivered events with a child, linked by their items; emptied
 *
 * Context: Process context. Sleeps.
 */
void rca_teardown_requests(struct list_head *requests)
{
	struct rca_event *ev, *tmp;
	struct rca_id *child;

	list_for_each_entry_safe(ev, tmp, requests, item.qnode) {
		list_del_init(&ev->item.qnode);
		child = rca_id_of(ev->child);
		if (ev->child_published) {	/* by the event ring */
			rca_teardown_published(child);
			rca_id_put(child);	/* the event's, got in rca_event_publish_child() */
		} else {
			rca_id_abort(child);
		}
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
	teardown_id(id);
	rca_id_put(id);
}

/**
 * rca_destroy() - destroy an id by its handle
 * @ctx: the context
 * @handle: the handle
 * @reported: set to the number of delivered events of the id
 *
 * Context: Process context. Sleeps.
 * Return: 0; -ENOENT, also for all but one of several callers; -EINVAL: not an id.
 */
int rca_destroy(struct rca_ctx *ctx, u32 handle, u32 *reported)
{
	struct rca_obj *obj = rca_obj_claim_handle(ctx, handle, RCA_KIND_ID);
	struct rca_id *id;

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	id = rca_id_of(obj);
	*reported = teardown_id(id);
	rca_id_put(id);		/* the table's */
	return 0;
}

/*
 * Post DEVICE_REMOVAL, unless the id has left the device, or is idle: it is then just being bound,
 * which may fail. Returns true unless one of the two is so.
 */
static bool post_removal(struct rca_id *id, const struct rca_device *dev)
{
	struct rca_event *ev = NULL;
	bool used;

	spin_lock_irq(&id->lock);
	used = id->dev == dev && id->state != RCA_ST_IDLE;
	if (used)
		rca_id_step_post_locked(id, RCA_IN_REMOVE, &ev, 0);
	spin_unlock_irq(&id->lock);
	return used;
}

/*
 * Post DEVICE_REMOVAL and release what @id has of @dev. An id that has left the device may be on
 * another one by now.
 */
static void remove_from_device(struct rca_id *id, struct rca_device *dev)
{
	bool posted = post_removal(id, dev);

	if (posted)
		rca_resolve_cancel(id);
	mutex_lock(&id->op);
	if (id->dev != dev) {
		mutex_unlock(&id->op);
		return;
	}
	if (!posted)
		post_removal(id, dev);
	rca_listen_stop(id);
	rca_id_drop_lower(id);
	rca_id_detach(id);
	rca_id_cancel_work(id);	/* a destroyed id has no message left to wait for */
	mutex_unlock(&id->op);
	/* The id was bound meanwhile, and may have started a resolution before it was removed. */
	if (!posted)
		rca_resolve_cancel(id);
	rca_mcast_drop(id);
}

/**
 * rca_teardown_device() - remove all ids from a device
 * @dev: the device; marked as being removed, so it takes no new ids
 *
 * Context: Process context. Sleeps.
 */
void rca_teardown_device(struct rca_device *dev)
{
	struct rca_id *id;

	for (;;) {
		spin_lock_irq(&dev->lock);
		id = list_first_entry_or_null(&dev->ids, struct rca_id, dev_node);
		if (id)
			rca_id_get(id);	/* allowed: an attached id has references */
		spin_unlock_irq(&dev->lock);
		if (!id)
			return;
		remove_from_device(id, dev);
		rca_id_put(id);
	}
}
