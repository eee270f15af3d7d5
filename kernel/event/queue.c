// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events and their queues: memory, posting, delivery to read() and GET_EVENT, records in the ring.
 * source.c moves and drops the waiting events of an id.
 *
 * Locking: &rca_queue.reading, then &rca_queue.consume, then the source's spinlock, then
 * &rca_queue.lock, the spinlocks with interrupts disabled: events are posted from any context.
 * &rca_ctx.queues_lock is a leaf.
 */
#include "event/queue.h"

#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "lib/compat.h"
#include "lib/testing.h"

/* Records that are put into the ring under one hold of the spinlock. */
#define FILL_BATCH 16

static_assert(RCA_RING_MAX - 1 <= U16_MAX);	/* &rca_item.place */

/* The last event type of librdmacm; no later type is posted as a notice. */
static_assert(BITS_PER_TYPE(typeof_member(struct rca_item, pending)) >
	      RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT);

/* Allocations of notices fail. Unit tests set it. */
RCA_VISIBLE_IF_KUNIT bool rca_no_notices;

static struct kmem_cache *rca_event_cache, *rca_notice_cache;

/* Module init: create the caches of events. Returns 0 or -ENOMEM. */
int __init rca_events_init(void)
{
	rca_event_cache = KMEM_CACHE(rca_event, SLAB_ACCOUNT);
	rca_notice_cache = kmem_cache_create("rca_notice",
					     offsetof(struct rca_event, rec) + RCA_NOTICE_LEN, 0,
					     SLAB_ACCOUNT, NULL);
	if (rca_event_cache && rca_notice_cache)
		return 0;
	rca_events_exit();
	return -ENOMEM;
}

/* Module exit; no event exists any more. */
void rca_events_exit(void)
{
	kmem_cache_destroy(rca_notice_cache);
	kmem_cache_destroy(rca_event_cache);
}

static void init_event(struct rca_event *ev, struct rca_account *account, u32 length)
{
	ev->account = account;
	INIT_LIST_HEAD(&ev->item.qnode);
	INIT_LIST_HEAD(&ev->item.snode);
	ev->rec.length = length;
}

/**
 * rca_event_alloc() - allocate an event
 * @ctx: the context that is charged; must outlive the event
 * @gfp: flags
 *
 * Context: Process context. May sleep if @gfp allows it.
 * Return: an event, zeroed but for the length of its record, for rca_post() or rca_event_free();
 *         -EDQUOT; -ENOMEM.
 */
struct rca_event *rca_event_alloc(struct rca_ctx *ctx, gfp_t gfp)
{
	struct rca_event *ev;
	int ret;

	ret = rca_charge(&ctx->account, RDMA_CM_ALT_RESOURCE_EVENTS, 1);
	if (ret)
		return ERR_PTR(ret);
	ev = kmem_cache_zalloc(rca_event_cache, gfp);
	if (!ev) {
		rca_uncharge(&ctx->account, RDMA_CM_ALT_RESOURCE_EVENTS, 1);
		return ERR_PTR(-ENOMEM);
	}
	init_event(ev, &ctx->account, sizeof(ev->rec));
	return ev;
}

/*
 * Allocate an event for a notice, in any context; NULL without memory. The memory cgroup of @ctx is
 * charged, but no limit: the number of types limits the notices of an id.
 */
static struct rca_event *alloc_notice(struct rca_ctx *ctx)
{
	struct mem_cgroup *old_memcg;
	struct rca_event *ev;

	if (rca_no_notices)
		return NULL;
	old_memcg = set_active_memcg(ctx->memcg);
	ev = kmem_cache_zalloc(rca_notice_cache, GFP_NOWAIT | __GFP_NOWARN);
	set_active_memcg(old_memcg);
	if (ev)
		init_event(ev, NULL, RCA_NOTICE_LEN);
	return ev;
}

/* rca_event_free() of an event. */
void rca_event_release(struct rca_event *ev)
{
	WARN_ON_ONCE(!list_empty(&ev->item.qnode));
	if (ev->credit)
		atomic_dec(ev->credit);
	if (ev->event_count)
		rca_obj_put(ev->event_count->obj); /* got in rca_post_part() */
	if (ev->is_request)
		rca_uncharge(ev->account, RDMA_CM_ALT_RESOURCE_REQUESTS, 1);
	if (!ev->account) {
		kmem_cache_free(rca_notice_cache, ev);
		return;
	}
	rca_uncharge(ev->account, RDMA_CM_ALT_RESOURCE_EVENTS, 1);
	kmem_cache_free(rca_event_cache, ev);
}

/* Queues. */

/**
 * rca_queue_create() - create a queue
 * @ctx: its context; the queue holds a reference
 * @record_size: bytes per record for read()
 * @has_file: user space gets a file descriptor
 *
 * Context: Process context. May sleep.
 * Return: the queue with one reference, for rca_queue_put(); -EDQUOT: too many queues with a
 *         file; -ENOMEM.
 */
struct rca_queue *rca_queue_create(struct rca_ctx *ctx, u32 record_size, bool has_file)
{
	struct rca_queue *queue;
	int ret;

	/* A private queue is charged as part of its id. */
	ret = has_file ? rca_charge(&ctx->account, RDMA_CM_ALT_RESOURCE_QUEUES, 1) : 0;
	if (ret)
		return ERR_PTR(ret);
	queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	if (!queue) {
		if (has_file)
			rca_uncharge(&ctx->account, RDMA_CM_ALT_RESOURCE_QUEUES, 1);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&queue->ref, 1);
	queue->ctx = rca_ctx_get(ctx); /* put in rca_queue_put() */
	mutex_init(&queue->reading);
	mutex_init(&queue->consume);
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->items);
	INIT_LIST_HEAD(&queue->placed);
	INIT_LIST_HEAD(&queue->sources);
	init_waitqueue_head(&queue->wait);
	queue->record_size = record_size;
	queue->has_file = has_file;
	INIT_LIST_HEAD(&queue->node);
	if (has_file) {
		queue->netns = current->nsproxy->net_ns->net_cookie;
		spin_lock(&ctx->queues_lock);
		queue->serial = ++ctx->queue_serial;
		list_add_tail(&queue->node, &ctx->queues);
		spin_unlock(&ctx->queues_lock);
	}
	return queue;
}
RCA_EXPORT(rca_queue_create);

struct rca_queue *rca_queue_get(struct rca_queue *queue)
{
	refcount_inc(&queue->ref);
	return queue;
}

/**
 * rca_queue_put() - put a reference on a queue
 * @queue: the queue, freed with the last reference; or NULL
 *
 * Context: Process context, without a spinlock: the memory of a ring may be virtual.
 */
void rca_queue_put(struct rca_queue *queue)
{
	struct rca_ctx *ctx;

	if (!queue || !refcount_dec_and_test(&queue->ref))
		return;
	/* Each source holds a reference on its queue, so none can be left. */
	WARN_ON_ONCE(!list_empty(&queue->sources) || !list_empty(&queue->items) ||
		     !list_empty(&queue->placed) || queue->num_sources || queue->waiting);
	ctx = queue->ctx;
	rca_ring_free(queue->ring);
	if (queue->has_file) {
		spin_lock(&ctx->queues_lock);
		list_del(&queue->node);
		spin_unlock(&ctx->queues_lock);
		rca_uncharge(&ctx->account, RDMA_CM_ALT_RESOURCE_QUEUES, 1);
	}
	mutex_destroy(&queue->consume);
	mutex_destroy(&queue->reading);
	rca_ctx_put(ctx);
	kfree(queue);
}
RCA_EXPORT(rca_queue_put);

/**
 * rca_queue_mark_closed() - refuse new sources, and wake all waiting threads
 * @queue: the queue; attached sources remain attached, and may post
 *
 * Context: Any context.
 */
void rca_queue_mark_closed(struct rca_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	WRITE_ONCE(queue->closed, true); /* pairs with rca_source_move() */
	spin_unlock_irqrestore(&queue->lock, flags);
	wake_up_interruptible_all(&queue->wait);
}
RCA_EXPORT(rca_queue_mark_closed);

/**
 * rca_queue_next_owner() - get an id that still posts to a queue
 * @queue: a closed queue, so that the number of sources only decreases
 *
 * The caller destroys the id, which detaches it. An id that another thread is destroying may be
 * returned repeatedly, with others in between.
 *
 * Context: Any context.
 * Return: the owner of a source with a reference, for rca_obj_put(); NULL: no source is left.
 */
struct rca_obj *rca_queue_next_owner(struct rca_queue *queue)
{
	struct rca_obj *owner = NULL;
	struct rca_source *src;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	src = list_first_entry_or_null(&queue->sources, struct rca_source, node);
	if (src) {
		/* A source is detached before the last reference on its owner is put. */
		owner = rca_obj_get(rca_source_owner(src));
		list_move_tail(&src->node, &queue->sources);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	return owner;
}

/**
 * rca_queue_next() - iterate over the queues of a context that have a file, the oldest first
 * @ctx: the context
 * @prev: the previous queue, whose reference is put; NULL to start
 * @after: to start: serial number to continue after, or 0
 *
 * Context: Process context.
 * Return: the next queue with a reference, for rca_queue_put(); NULL: no more.
 */
struct rca_queue *rca_queue_next(struct rca_ctx *ctx, struct rca_queue *prev, u32 after)
{
	struct rca_queue *queue, *found = NULL;

	spin_lock(&ctx->queues_lock);
	queue = list_prepare_entry(prev, &ctx->queues, node);
	list_for_each_entry_continue(queue, &ctx->queues, node) {
		if (queue->serial > after && refcount_inc_not_zero(&queue->ref)) {
			found = queue;
			break;
		}
	}
	spin_unlock(&ctx->queues_lock);
	rca_queue_put(prev);
	return found;
}

/* Set @look to the state of a queue. Process context. */
void rca_queue_stat(struct rca_queue *queue, struct rca_queue_stat *look)
{
	spin_lock_irq(&queue->lock);
	rca_queue_reap_locked(queue);	/* events that user space has taken do not count */
	look->ids = queue->num_sources;
	look->waiting = queue->waiting;
	look->ring = queue->ring ? queue->ring_entries : 0;
	look->readers = queue->readers;
	spin_unlock_irq(&queue->lock);
}

/**
 * rca_source_attach() - attach a source to its first queue
 * @src: a source without a queue
 * @queue: the queue; the source holds a reference
 *
 * Context: Process context. Takes the source's lock.
 * Return: 0; -EINVAL: the queue is closed, or the source has one.
 */
int rca_source_attach(struct rca_source *src, struct rca_queue *queue)
{
	int ret = -EINVAL;

	spin_lock_irq(rca_source_lock(src));
	spin_lock(&queue->lock);
	if (!queue->closed && !src->queue) {
		WRITE_ONCE(src->queue, rca_queue_get(queue)); /* put in rca_source_detach() */
		list_add_tail(&src->node, &queue->sources);
		queue->num_sources++;
		ret = 0;
	}
	spin_unlock(&queue->lock);
	spin_unlock_irq(rca_source_lock(src));
	return ret;
}

/* Records of waiting events, in the ring and for readers. */

/* Other types have no status, whatever is pending in the same item. */
static bool notice_has_status(u32 type)
{
	return type != RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT &&
	       type != RDMA_CM_ALT_EVENT_DEVICE_REMOVAL &&
	       type != RDMA_CM_ALT_EVENT_ADDR_CHANGE;
}

/* A connection request whose new id has to be published before the event is delivered. */
static bool has_new_child(struct rca_item *item)
{
	return !item->in_source && rca_item_event(item)->child &&
	       !rca_item_event(item)->child_published;
}

/*
 * The record of a queued item that is not completely in the ring, valid while the lock of the queue
 * is held; of the item of a source that of its lowest event, which is made in the RCA_NOTICE_LEN
 * bytes at @notice.
 */
static const struct rdma_cm_alt_event *record_of(struct rca_item *item, void *notice)
{
	struct rdma_cm_alt_event *rec;
	struct rca_source *src;
	bool names_child = false;

	if (item->in_source) {
		src = container_of(item, struct rca_source, notice);
		rec = notice;
		memset(rec, 0, RCA_NOTICE_LEN);
		rec->length = RCA_NOTICE_LEN;
		rec->type = __ffs(item->pending & ~item->placed);
		if (notice_has_status(rec->type))
			rec->status = item->status;
	} else {
		src = rca_item_event(item)->src;
		rec = &rca_item_event(item)->rec;
		names_child = rca_item_event(item)->child;
	}
	rec->cookie = src->cookie;
	if (!names_child)
		rec->id = rca_source_owner(src)->handle;
	return rec;
}

/*
 * An event of this type was delivered, by read() or from the ring. Remove its item, which may be
 * freed, from the queue, unless it is the item of a source with further pending events.
 */
static void complete_locked(struct rca_queue *queue, struct rca_item *item, u32 type)
{
	struct rca_event *ev = item->in_source ? NULL : rca_item_event(item);
	struct rca_source *src = ev ? ev->src : container_of(item, struct rca_source, notice);

	lockdep_assert_held(&queue->lock);

	/* rca_source_move() reads it without the lock. */
	WRITE_ONCE(src->reported, src->reported + 1);
	queue->waiting--;
	if (!ev || !ev->account)	/* a notice */
		src->pending &= ~BIT(type);
	if (!ev) {
		item->pending &= ~BIT(type);
		item->placed &= ~BIT(type);
		if (item->pending)
			return;
	}
	list_del_init(&item->qnode);
	list_del_init(&item->snode);
	if (ev) {
		item->placed = 0;
		if (ev->event_count)
			ev->event_count->reported++;
		if (ev->child_published)
			rca_obj_put(ev->child);	/* got in rca_event_publish_child() */
		rca_event_free(ev);
	}
	rca_obj_put(rca_source_owner(src)); /* from add_locked() */
}

/*
 * Complete the events whose records user space has taken from the ring. Returns true if the ring
 * has further records.
 */
bool rca_queue_reap_locked(struct rca_queue *queue)
{
	struct rca_ring *ring = queue->ring;
	struct rca_item *item;
	u32 seen, type;

	lockdep_assert_held(&queue->lock);

	if (!ring || !ring->mm)
		return false;
	seen = rca_ring_seen(ring);
	while ((item = rca_ring_next(ring, seen, &type)))
		complete_locked(queue, item, type);
	return ring->unread;
}

/* Reap. Returns true if the ring has records that user space has not taken. Process context. */
bool rca_queue_unread(struct rca_queue *queue)
{
	struct rca_ring *ring = smp_load_acquire(&queue->ring);	/* pairs with get_ring() */
	bool unread;

	if (!ring || !READ_ONCE(ring->unread))
		return false;
	spin_lock_irq(&queue->lock);
	unread = rca_queue_reap_locked(queue);
	spin_unlock_irq(&queue->lock);
	return unread;
}

/**
 * rca_queue_ready() - is there an event to deliver?
 * @queue: the queue
 *
 * Without a lock the result may be outdated. To sleep until it changes, wait on &rca_queue.wait.
 *
 * Context: Process context.
 * Return: true if there is one.
 */
bool rca_queue_ready(struct rca_queue *queue)
{
	return !list_empty_careful(&queue->items) || rca_queue_unread(queue);
}

/**
 * rca_queue_poll() - poll the file of a queue
 * @queue: the queue
 * @file: the file
 * @wait: table of the caller
 *
 * Context: Process context.
 * Return: EPOLLIN | EPOLLRDNORM if there is an event to deliver, else 0.
 */
__poll_t rca_queue_poll(struct rca_queue *queue, struct file *file, poll_table *wait)
{
	poll_wait(file, &queue->wait, wait);
	smp_mb();	/* pairs with wq_has_sleeper() in rca_queue_wake() */
	rca_queue_fill(queue);
	return rca_queue_ready(queue) ? EPOLLIN | EPOLLRDNORM : 0;
}
RCA_EXPORT(rca_queue_poll);

/*
 * The ring, if records may be put into it: it is mapped, not full, and no thread waits in read() or
 * copies a record. Else NULL.
 */
static struct rca_ring *open_ring(struct rca_queue *queue)
{
	struct rca_ring *ring = queue->ring;

	lockdep_assert_held(&queue->lock);
	return ring && ring->mm && !queue->readers && !queue->held && !rca_ring_full(ring) ? ring :
											     NULL;
}

/* Put the next record of an item into the ring. Returns whether it was the last one. */
static bool put_record(struct rca_ring *ring, struct rca_item *item)
{
	u8 notice[RCA_NOTICE_LEN] __aligned(8) __uninitialized;
	const struct rdma_cm_alt_event *rec = record_of(item, notice);

	rca_ring_put(ring, rec, rec->length, item, rec->type);
	if (item->in_source) {
		item->placed |= BIT(rec->type);
		return item->placed == item->pending;
	}
	item->place = ring->tail - 1;	/* only the low bits count */
	item->placed = 1;
	return true;
}

/*
 * Put a few waiting events into the ring, if that is open. An item of a source has a record for
 * each pending event, and stays in &rca_queue.items until all are in the ring. The caller has
 * reaped the queue.
 *
 * Returns the next event if it is a connection request whose id must be published first, else
 * NULL.
 */
static struct rca_item *fill_locked(struct rca_queue *queue)
{
	struct rca_ring *ring;
	struct rca_item *item;
	int i;

	for (i = 0; i < FILL_BATCH && (ring = open_ring(queue)); i++) {
		item = list_first_entry_or_null(&queue->items, struct rca_item, qnode);
		if (!item)
			break;
		if (has_new_child(item))
			return item;
		if (put_record(ring, item))
			list_move_tail(&item->qnode, &queue->placed);
	}
	return NULL;
}

/* Post events. */

/*
 * After something was posted: put waiting events into the ring, if it is open, unless the holder of
 * the consume mutex may be moving or dropping events. It has taken @queue->lock since, so the mutex
 * is seen as locked here. The caller has reaped the queue.
 */
static void posted_locked(struct rca_queue *queue)
{
	if (open_ring(queue) && !mutex_is_locked(&queue->consume))
		fill_locked(queue);
}

static void add_locked(struct rca_queue *queue, struct rca_source *src, struct rca_item *item)
{
	struct rca_ring *ring;

	lockdep_assert_held(&queue->lock);

	queue->waiting++;
	list_add_tail(&item->snode, &src->items);
	rca_obj_get(rca_source_owner(src)); /* put in complete_locked() or rca_source_detach() */
	if (list_empty(&queue->items) && !has_new_child(item) &&
	    !mutex_is_locked(&queue->consume)) {
		ring = open_ring(queue);
		if (ring && put_record(ring, item)) {
			list_add_tail(&item->qnode, &queue->placed);
			return;
		}
	}
	list_add_tail(&item->qnode, &queue->items);
	posted_locked(queue);
}

/* Are events of a source dropped, as its program has not named it yet? */
static bool is_mute(const struct rca_source *src, const struct rca_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	return queue->needs_cookie && !src->cookie;
}

/**
 * rca_post() - post an event
 * @src: its source
 * @ev: the event; owned by the queue from now on
 *
 * Without a queue the event is dropped, or by &rca_queue.needs_cookie. Before a connection request
 * is posted, the caller must check under the same lock that there is a queue.
 *
 * Context: Any context. The caller holds the source's lock.
 */
void rca_post(struct rca_source *src, struct rca_event *ev)
{
	struct rca_queue *queue = src->queue;

	lockdep_assert_held(rca_source_lock(src));

	if (!queue) {
		WARN_ON_ONCE(ev->child);
		rca_event_free(ev);
		return;
	}
	ev->src = src;
	spin_lock(&queue->lock);
	rca_queue_reap_locked(queue);
	if (ev->child || !is_mute(src, queue)) {
		add_locked(queue, src, &ev->item);
		ev = NULL;
	}
	spin_unlock(&queue->lock);
	rca_event_free(ev);
	rca_queue_wake(queue);
}

/**
 * rca_post_part() - post an event of a part of the source's owner
 * @src: the source
 * @event_count: of the part; &rca_event_count.obj is referenced until the event is delivered
 * @ev: the event; owned by the queue from now on
 *
 * Context: Any context. The caller holds the source's lock.
 */
void rca_post_part(struct rca_source *src, struct rca_event_count *event_count,
		   struct rca_event *ev)
{
	rca_obj_get(event_count->obj); /* put in rca_event_free() */
	ev->event_count = event_count;
	rca_post(src, ev);
}

static void post_notice_locked(struct rca_queue *queue, struct rca_source *src, u32 type,
			       int status)
{
	struct rca_item *notice = &src->notice;
	struct rca_event *ev;

	if (!notice->pending) {
		notice->pending = BIT(type);
		notice->status = status;
		add_locked(queue, src, notice);
		return;
	}
	ev = alloc_notice(rca_source_owner(src)->ctx);
	if (ev) {
		ev->src = src;
		ev->rec.type = type;
		ev->rec.status = status;
		add_locked(queue, src, &ev->item);
		return;
	}
	if (notice->placed == notice->pending)
		list_move_tail(&notice->qnode, &queue->items);
	notice->pending |= BIT(type);
	if (notice_has_status(type))
		notice->status = status;
	queue->waiting++;
	posted_locked(queue);
}

/**
 * rca_post_notice() - post an event that is not lost without memory
 * @src: its source
 * @type: &enum rdma_cm_alt_event_type, one of librdmacm; posted once if it is pending already
 * @status: its status; ignored for a type that has none
 *
 * Context: Any context. The caller holds the source's lock.
 * Return: false if there is no queue, it drops the event (&rca_queue.needs_cookie), or an event of
 *         this type is pending already.
 */
bool rca_post_notice(struct rca_source *src, u32 type, int status)
{
	struct rca_queue *queue = src->queue;
	bool fresh;

	lockdep_assert_held(rca_source_lock(src));

	if (!queue)
		return false;
	spin_lock(&queue->lock);
	rca_queue_reap_locked(queue);	/* an event that user space has taken is not pending */
	fresh = !(src->pending & BIT(type)) && !is_mute(src, queue);
	if (fresh) {
		src->pending |= BIT(type);
		post_notice_locked(queue, src, type, notice_has_status(type) ? status : 0);
	}
	spin_unlock(&queue->lock);
	if (fresh)
		rca_queue_wake(queue);
	return fresh;
}

/* Deliver events. */

/**
 * rca_queue_wait() - sleep until there is an event to deliver
 * @queue: the queue
 *
 * Events that are posted meanwhile are not put into the ring.
 *
 * Context: Process context. Sleeps.
 * Return: 0, although another thread may take the event first; -ERESTARTSYS after a signal.
 */
int rca_queue_wait(struct rca_queue *queue)
{
	int ret;

	spin_lock_irq(&queue->lock);
	queue->readers++;
	spin_unlock_irq(&queue->lock);
	ret = wait_event_interruptible(queue->wait, rca_queue_ready(queue));
	spin_lock_irq(&queue->lock);
	queue->readers--;
	spin_unlock_irq(&queue->lock);
	return ret;
}
RCA_EXPORT(rca_queue_wait);

/**
 * rca_queue_peek() - get the record of the next event, and leave the event in the queue
 * @queue: the queue
 * @dlv: set to the event to copy to user space
 *
 * After a successful copy, rca_queue_consume() removes the event. After a failed one, call
 * rca_queue_release(); the next call returns the same event.
 *
 * Context: Process context. The caller holds @queue->reading.
 * Return: false if there is no event, or it is in the ring (&rca_delivery.in_ring).
 */
bool rca_queue_peek(struct rca_queue *queue, struct rca_delivery *dlv)
{
	u8 notice[RCA_NOTICE_LEN] __aligned(8) __uninitialized;
	const struct rdma_cm_alt_event *rec;
	struct rca_item *item = NULL;

	lockdep_assert_held(&queue->reading);

	spin_lock_irq(&queue->lock);
	dlv->in_ring = rca_queue_reap_locked(queue);
	if (!dlv->in_ring)
		item = list_first_entry_or_null(&queue->items, struct rca_item, qnode);
	dlv->item = item;
	dlv->child_queue = NULL;
	queue->held = item;
	if (item) {
		dlv->has_child = has_new_child(item);
		rec = record_of(item, notice);
		dlv->len = rec->length;
		memcpy(&dlv->rec, rec, dlv->len);
	}
	spin_unlock_irq(&queue->lock);
	return item;
}
RCA_EXPORT(rca_queue_peek);

/**
 * rca_queue_release() - the event from rca_queue_peek() was not delivered
 * @queue: the queue; the event may be put into the ring again
 *
 * Context: Process context. The caller holds @queue->reading.
 */
void rca_queue_release(struct rca_queue *queue)
{
	unsigned long flags;

	lockdep_assert_held(&queue->reading);

	spin_lock_irqsave(&queue->lock, flags);
	queue->held = NULL;
	spin_unlock_irqrestore(&queue->lock, flags);
}
RCA_EXPORT(rca_queue_release);

/*
 * Publish the new id of a connection request that is about to be delivered; its events go to
 * @queue. Does nothing for another event, or if the id was published before. Process context.
 */
RCA_VISIBLE_IF_KUNIT void rca_event_publish_child(struct rca_event *ev, struct rca_queue *queue)
{
	lockdep_assert_held(&ev->src->queue->consume);

	if (!ev->child || ev->child_published)
		return;
	/* A closed queue refuses the source; the child then has no queue. */
	rca_source_attach(ev->child_src, queue);
	ev->child_published = true;
	rca_obj_get(ev->child); /* put in complete_locked(); the other reference is the table's */
	rca_obj_publish(ev->child);
}

/**
 * rca_queue_consume() - remove the event that was copied to user space
 * @queue: the queue
 * @dlv: the event from rca_queue_peek()
 *
 * Publishes the new id of a connection request.
 *
 * Context: Process context. Sleeps. The caller holds @queue->reading since rca_queue_peek().
 * Return: true: the event is delivered; false: it was dropped or moved meanwhile, so the copy must
 * not be used.
 */
bool rca_queue_consume(struct rca_queue *queue, struct rca_delivery *dlv)
{
	struct rca_item *item = dlv->item;
	bool held;

	lockdep_assert_held(&queue->reading);

	mutex_lock(&queue->consume);	/* nothing is dropped or moved from here on */
	spin_lock_irq(&queue->lock);
	held = queue->held == item;
	if (held && has_new_child(item)) {
		spin_unlock_irq(&queue->lock);
		rca_event_publish_child(rca_item_event(item), dlv->child_queue ?: queue);
		spin_lock_irq(&queue->lock);
	}
	if (held) {
		queue->held = NULL;
		complete_locked(queue, item, dlv->rec.type);
	}
	spin_unlock_irq(&queue->lock);
	mutex_unlock(&queue->consume);
	return held;
}
RCA_EXPORT(rca_queue_consume);

/**
 * rca_queue_fill() - put waiting events into the ring
 * @queue: the queue
 *
 * Does nothing if another thread delivers, moves or drops events. Ends after as many steps as the
 * ring has records, although user space may take records all the time, and after a signal.
 *
 * Context: Process context. Sleeps.
 */
void rca_queue_fill(struct rca_queue *queue)
{
	u32 steps = queue->ring_entries;
	struct rca_item *request;
	bool more;

	if (!queue->ring_entries || !mutex_trylock(&queue->consume))
		return;
	do {
		spin_lock_irq(&queue->lock);
		rca_queue_reap_locked(queue);
		request = fill_locked(queue);
		more = open_ring(queue) && !list_empty(&queue->items);
		spin_unlock_irq(&queue->lock);
		/* The item is not in the ring, and the mutex is held, so it cannot go away. */
		if (request)
			rca_event_publish_child(rca_item_event(request), queue);
		cond_resched();
	} while (more && --steps && !signal_pending(current));
	mutex_unlock(&queue->consume);
}

/* Mappings of the ring of a queue. */

/**
 * rca_queue_ring_start() - user space maps the ring
 * @queue: the queue
 * @ring: its ring
 * @mm: address space of the mapping
 *
 * Context: Process context.
 * Return: 0; -EBUSY if the ring is mapped already.
 */
int rca_queue_ring_start(struct rca_queue *queue, struct rca_ring *ring, struct mm_struct *mm)
{
	int ret = -EBUSY;

	spin_lock_irq(&queue->lock);
	if (!ring->mm) {
		rca_ring_reset(ring);
		WRITE_ONCE(ring->mm, mm);
		ring->maps = 1;
		ret = 0;
	}
	spin_unlock_irq(&queue->lock);
	return ret;
}

/* Count a second mapping of the ring, which exists while mremap() moves the first one. */
void rca_queue_ring_open(struct rca_queue *queue)
{
	spin_lock_irq(&queue->lock);
	queue->ring->maps++;
	spin_unlock_irq(&queue->lock);
}

/**
 * rca_queue_ring_close() - a mapping of the ring was removed; the last one ends its use
 * @queue: the queue
 *
 * Events whose records user space has not taken are queued again, in the order of their records,
 * before the others. Must not take the consume mutex: its holder may wait for the mmap lock.
 *
 * Context: Process context.
 */
void rca_queue_ring_close(struct rca_queue *queue)
{
	struct rca_ring *ring;
	struct rca_item *item;
	LIST_HEAD(placed);
	u32 type;

	spin_lock_irq(&queue->lock);
	ring = queue->ring;
	if (!--ring->maps) {
		rca_queue_reap_locked(queue);
		while ((item = rca_ring_next(ring, ring->tail, &type))) {
			/* The first record of an item with several determines its position. */
			if (item->placed)
				list_move_tail(&item->qnode, &placed);
			item->placed = 0;
		}
		list_splice(&placed, &queue->items);
		WRITE_ONCE(ring->mm, NULL);
	}
	spin_unlock_irq(&queue->lock);
	if (rca_queue_ready(queue))
		rca_queue_wake(queue);
}

/**
 * rca_queue_ring_foreign() - is the ring mapped in another address space?
 * @queue: the queue
 * @mm: address space of the caller
 *
 * Without a lock: the ring may be mapped or unmapped at any time.
 *
 * Context: Any context.
 * Return: true if it is.
 */
bool rca_queue_ring_foreign(struct rca_queue *queue, const struct mm_struct *mm)
{
	struct rca_ring *ring = smp_load_acquire(&queue->ring);	/* pairs with get_ring() */
	const struct mm_struct *user = ring ? READ_ONCE(ring->mm) : NULL;

	return user && user != mm;
}
