// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Destroying ids, and removal of a device.
 *
 * An id is destroyed in two halves. The first makes it unreachable: it releases the handle,
 * events, port and service ID. The second releases the lower id. If the peer is connected,
 * and not over an open trunk, the second half waits in the background for the DREP, so that a
 * lost DREQ is sent again and does not leave the peer connected.
 *
 * Locking: see "DOC: Locking" in id.h; no lock is held on entry.
 */
#include "cm/internal.h"

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/pid.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "id/id.h"
#include "lib/trace.h"
#include "transport/transport.h"

/* Send a connected peer a DREQ. True: wait for the DREP before the lower id is destroyed. */
static bool start_linger(struct rca_id *id, enum rca_state was)
{
	unsigned long linger, end;
	bool waits;

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
	linger = rca_id_linger(id);
	end = jiffies + linger;
	if (was == RCA_ST_CONNECTED || time_before(end, id->setup->drep_deadline))
		id->setup->drep_deadline = end;
	/* If its turn has come, the work that was cancelled would have sent the DREQ. */
	waits = was == RCA_ST_CONNECTED ? !rca_window_begin(id) : !rca_id_dreq_is_due(id);
	if (!waits && rca_id_send_dreq(id))
		return false;
	rca_id_queue_work_later(id, linger);	/* the DREP queues it at once */
	return true;
}

static void rca_teardown_requests(struct list_head *requests);

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

	reported = rca_source_detach(&id->src, &requests);

	mutex_lock(&id->op);
	rca_resolve_cancel(id);
	rca_listen_stop(id);
	rca_id_unbind(id);
	if (was == RCA_ST_FAILED)
		rca_route_ib_forget(id);
	rca_setup_drop_request(id->setup);
	if (start_linger(id, was)) {
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

/*
 * Destroy an id that is in the handle table; the caller keeps its reference. Returns false if
 * another caller destroys it, or it is not published.
 */
static bool rca_teardown_published(struct rca_id *id)
{
	if (!rca_obj_claim(&id->obj))
		return false;
	teardown_id(id);
	rca_id_put(id);		/* the table's */
	return true;
}

/*
 * Reject connection requests whose events, linked by their items, were removed from a queue before
 * their delivery.
 */
static void rca_teardown_requests(struct list_head *requests)
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
RCA_EXPORT(rca_id_abort);

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
RCA_EXPORT(rca_destroy);

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

	mutex_lock(&id->op);
	if (id->dev != dev) {
		mutex_unlock(&id->op);
		return;
	}
	if (!posted)
		post_removal(id, dev);
	rca_resolve_cancel(id);
	rca_listen_stop(id);
	rca_id_drop_lower(id);
	rca_id_detach(id);
	rca_id_cancel_work(id);	/* a destroyed id has no message left to wait for */
	mutex_unlock(&id->op);
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

/*
 * Close of a queue or a context: its ids are destroyed. Many ids are destroyed in parallel, because
 * the lower layers make the destroying thread wait: for messages that are being sent, and for
 * callbacks.
 *
 * The user decides how long it takes: a thread that does not run, as its cgroup has no time left,
 * may hold an id. So a thread of the user destroys the ids before it returns: the ports of a
 * process are free when it is gone. For a descriptor that another user has passed, work of the user
 * who made the ids destroys them, and the closing thread waits for OTHERS_WAIT at most.
 *
 * Locking: a spinlock for the position in a context; see "DOC: Locking" in id.h for the locks of
 * destroying an id.
 */

/* Ids that are destroyed before workers are started for the others. */
#define SERIAL_IDS	16

/* Limit of workers, which leaves processors and workers to others. */
#define MAX_WORKERS	7

/* How long another user waits. */
#define OTHERS_WAIT	msecs_to_jiffies(100)

/**
 * struct worker - a worker that destroys ids
 * @work: the work
 * @closing: the queue or context
 */
struct worker {
	struct work_struct work;
	struct closing *closing;
};

/**
 * struct closing - a queue or context that is being closed
 * @next: get the next id, with a reference; NULL: none is left. May be called concurrently
 * @destroy: destroys the id
 * @queue: the queue, or NULL (holds a reference until @done)
 * @ctx: the context, or that of the queue (holds a reference until @done)
 * @pos: position in @ctx (lock: @lock)
 * @lock: protects @pos
 * @ref: references: the thread that closes, and each of @running
 * @running: workers that have not ended, and the thread of the user that closes
 * @done: all ids are destroyed
 * @workers: the workers
 * @first: destroys the ids in place of a thread of the user
 */
struct closing {
	struct rca_obj *(*next)(struct closing *closing);
	void (*destroy)(struct rca_id *id);
	struct rca_queue *queue;
	struct rca_ctx *ctx;
	unsigned long pos;
	spinlock_t lock;
	refcount_t ref;
	atomic_t running;
	struct completion done;
	struct worker workers[MAX_WORKERS];
	struct work_struct first;
};

/* Those that are not done, and the exit that waits for them. */
static atomic_t num_closing = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(all_closed);

/* Destroy up to @max ids; false: none is left. */
static bool destroy_some(struct closing *closing, unsigned int max)
{
	struct rca_obj *obj;

	while (max--) {
		obj = closing->next(closing);
		if (!obj)
			return false;
		closing->destroy(rca_id_of(obj));
		rca_obj_put(obj);	/* got by next() */
		cond_resched();
	}
	return true;
}

static void closing_put(struct closing *closing)
{
	if (refcount_dec_and_test(&closing->ref))
		kfree(closing);
}

static void begin_closing(struct closing *closing)
{
	refcount_inc(&closing->ref);	/* put in end_closing() */
	atomic_inc(&closing->running);
}

static void end_closing(struct closing *closing)
{
	if (atomic_dec_and_test(&closing->running)) {
		rca_queue_put(closing->queue);	/* got in close_ids() */
		rca_ctx_put(closing->ctx);	/* got in close_ids() */
		complete(&closing->done);
		if (atomic_dec_and_test(&num_closing))
			wake_up(&all_closed);
	}
	closing_put(closing);
}

static void worker_work(struct work_struct *work)
{
	struct closing *closing = container_of(work, struct worker, work)->closing;

	destroy_some(closing, UINT_MAX);
	end_closing(closing);
}

/* Destroys the ids, with the help of workers; the last of them that ends completes @done. */
static void destroy_all(struct closing *closing)
{
	unsigned int count = min_t(unsigned int, num_online_cpus(), MAX_WORKERS), i;

	if (destroy_some(closing, SERIAL_IDS)) {
		for (i = 0; i < count; i++) {
			closing->workers[i].closing = closing;
			INIT_WORK(&closing->workers[i].work, worker_work);
			begin_closing(closing);
			queue_work(rca_account_wq(&closing->ctx->account),
				   &closing->workers[i].work);
		}
		destroy_some(closing, UINT_MAX);
	}
	end_closing(closing);
}

static void first_work(struct work_struct *work)
{
	destroy_all(container_of(work, struct closing, first));
}

static void close_ids(struct rca_ctx *ctx, struct rca_queue *queue,
		      struct rca_obj *(*next)(struct closing *closing),
		      void (*destroy)(struct rca_id *id))
{
	/* A close cannot fail, and this is small. */
	struct closing *closing = kzalloc(sizeof(*closing), GFP_KERNEL | __GFP_NOFAIL);
	/* A worker of the kernel closes files for everybody, and waits for nobody. */
	bool is_worker = current->flags & PF_WQ_WORKER;
	/* Does the caller belong to the user or to the process that opened the context? */
	bool is_own = uid_eq(rca_account_user(), rca_account_uid(&ctx->account)) ||
		      task_tgid(current) == ctx->pid;

	closing->next = next;
	closing->destroy = destroy;
	closing->ctx = rca_ctx_get(ctx);	/* put in end_closing() */
	if (queue)
		closing->queue = rca_queue_get(queue);	/* put in end_closing() */
	spin_lock_init(&closing->lock);
	refcount_set(&closing->ref, 1);
	atomic_set(&closing->running, 0);
	init_completion(&closing->done);
	atomic_inc(&num_closing);
	begin_closing(closing);
	if (is_own && !is_worker) {
		destroy_all(closing);
		wait_for_completion(&closing->done);
	} else {
		INIT_WORK(&closing->first, first_work);
		queue_work(rca_account_wq(&ctx->account), &closing->first);
		if (!is_worker)
			wait_for_completion_killable_timeout(&closing->done, OTHERS_WAIT);
	}
	closing_put(closing);
}

static struct rca_obj *next_in_queue(struct closing *closing)
{
	return rca_queue_next_owner(closing->queue);
}

static void destroy_in_queue(struct rca_id *id)
{
	LIST_HEAD(requests);

	if (rca_teardown_published(id))
		return;
	rca_source_detach(&id->src, &requests);
	rca_teardown_requests(&requests);
}

/**
 * rca_close_queue_ids() - destroy the ids of a queue that was closed
 * @ctx: the context of the queue
 * @queue: the queue, to which no other id is attached any more
 *
 * If the caller is another user than that of the queue, work may do this later.
 *
 * Context: Process context. Sleeps. Not from work.
 */
void rca_close_queue_ids(struct rca_ctx *ctx, struct rca_queue *queue)
{
	close_ids(ctx, queue, next_in_queue, destroy_in_queue);
}
RCA_EXPORT(rca_close_queue_ids);

static struct rca_obj *next_in_ctx(struct closing *closing)
{
	struct rca_obj *obj;

	spin_lock(&closing->lock);
	while ((obj = rca_obj_next(closing->ctx, &closing->pos))) {
		/* Memberships are destroyed with their ids. */
		if (obj->type->kind == RCA_KIND_ID)
			break;
		rca_obj_put(obj);	/* got by rca_obj_next() */
	}
	spin_unlock(&closing->lock);
	return obj;
}

static void destroy_without_queue(struct rca_id *id)
{
	if (!rca_source_has_file(&id->src))
		rca_teardown_published(id);
}

/**
 * rca_ctx_shutdown() - destroy the ids of a closed context that have no queue with a descriptor
 * @ctx: the context
 *
 * The other ids exist until their queue is closed. If the caller is another user than that of the
 * context, work may do this later.
 *
 * Context: Process context. Sleeps. Not from work.
 */
void rca_ctx_shutdown(struct rca_ctx *ctx)
{
	if (!xa_empty(&ctx->table))
		close_ids(ctx, NULL, next_in_ctx, destroy_without_queue);
}

/* Module exit, when no file is open any more: wait for the ids of those that were closed. */
void rca_shutdown_exit(void)
{
	wait_event(all_closed, !atomic_read(&num_closing));
}
