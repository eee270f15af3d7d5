/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Two queues and ids that post to them, for the tests of events, queues, sources and rings. */
#ifndef RCA_EVENTS_FIXTURE_H
#define RCA_EVENTS_FIXTURE_H
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "event/queue.h"
#include "lib/testing.h"

#define COOKIE 0x1000
#define HEAD_LEN offsetof(struct rdma_cm_alt_event, qp_num)

/* The parts of an id that queues use. */
struct event_node {
	struct rca_obj obj;
	struct rca_source src;
	spinlock_t lock; /* of the source */
	u64 seen; /* races: the last number that was delivered (lock: queue_race.check) */
	struct rcu_head rcu;
};

struct events_test {
	struct rca_ctx *ctx;
	struct rca_queue *a;
	struct rca_queue *b;
	struct event_node *nodes[8];
	unsigned int used;
	atomic_t credit;
	struct rdma_cm_alt_event rec;
	struct rca_delivery dlv; /* too large for the stack of a test */
};

static inline void node_release(struct rca_obj *obj)
{
	struct event_node *node = container_of(obj, struct event_node, obj);

	kfree_rcu(node, rcu);
}

/* One reference is held by the test, the other one is for the table. Not published. */
static inline struct event_node *reserve_node(struct kunit *test)
{
	static const struct rca_obj_type type = { .kind = RCA_KIND_ID, .release = node_release };
	struct events_test *t = test->priv;
	struct event_node *node = kzalloc(sizeof(*node), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, node);
	KUNIT_ASSERT_LT(test, t->used, (unsigned int)ARRAY_SIZE(t->nodes));
	KUNIT_ASSERT_EQ(test, 0, rca_obj_reserve(&node->obj, t->ctx, &type, GFP_KERNEL));
	spin_lock_init(&node->lock);
	rca_source_init(&node->src, &node->obj, &node->lock, COOKIE + t->used);
	t->nodes[t->used++] = node;
	rca_obj_get(&node->obj);
	return node;
}

static inline struct event_node *new_node(struct kunit *test, struct rca_queue *queue)
{
	struct event_node *node = reserve_node(test);

	rca_obj_publish(&node->obj);
	if (queue)
		KUNIT_ASSERT_EQ(test, 0, rca_source_attach(&node->src, queue));
	return node;
}

static inline void drop_requests(struct list_head *requests)
{
	struct rca_event *ev, *next;

	list_for_each_entry_safe(ev, next, requests, item.qnode) {
		list_del_init(&ev->item.qnode);
		if (!ev->child_published)
			rca_obj_unreserve(ev->child);
		else if (rca_obj_claim(ev->child))
			rca_obj_put(ev->child);
		rca_obj_put(ev->child);
		rca_event_free(ev);
	}
}

static inline void free_node(struct event_node *node)
{
	LIST_HEAD(requests);

	rca_source_detach(&node->src, &requests);
	drop_requests(&requests);
	if (rca_obj_claim(&node->obj))
		rca_obj_put(&node->obj);
	rca_obj_put(&node->obj);
}

static inline int events_init(struct kunit *test)
{
	struct events_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct rca_ctx *ctx = rca_ctx_create();

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ctx);
	t->ctx = ctx;
	t->a = rca_queue_create(t->ctx, sizeof(t->rec), true);
	t->b = rca_queue_create(t->ctx, sizeof(t->rec), true);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->a);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->b);
	return 0;
}

static inline void put_empty_queue(struct kunit *test, struct rca_queue *queue)
{
	if (queue) {
		KUNIT_EXPECT_EQ(test, 1U, refcount_read(&queue->ref));
		KUNIT_EXPECT_FALSE(test, rca_queue_ready(queue));
	}
	rca_queue_put(queue);
}

static inline void events_exit(struct kunit *test)
{
	struct events_test *t = test->priv;

	rca_no_notices = false;
	if (!t || !t->ctx)
		return;
	if (t->a && t->a->ring && t->a->ring->mm)
		rca_queue_ring_close(t->a);
	while (t->used)
		free_node(t->nodes[--t->used]);
	put_empty_queue(test, t->a);
	put_empty_queue(test, t->b);
	/* Another reference would be a leak. */
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&t->ctx->ref));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&t->credit));
	rca_ctx_put(t->ctx);
}

static inline void post_event(struct event_node *node, struct rca_event *ev)
{
	spin_lock_irq(&node->lock);
	rca_post(&node->src, ev);
	spin_unlock_irq(&node->lock);
}

static inline struct rca_event *new_event(struct kunit *test, u32 type)
{
	struct events_test *t = test->priv;
	struct rca_event *ev = rca_event_alloc(t->ctx, GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ev);
	ev->rec.type = type;
	return ev;
}

static inline void post(struct kunit *test, struct event_node *node, u32 type)
{
	post_event(node, new_event(test, type));
}

static inline bool notice(struct event_node *node, u32 type, int status)
{
	bool fresh;

	spin_lock_irq(&node->lock);
	fresh = rca_post_notice(&node->src, type, status);
	spin_unlock_irq(&node->lock);
	return fresh;
}

/* The next event, padded to the size of a record; NULL: none. */
static inline struct rdma_cm_alt_event *look(struct kunit *test, struct rca_queue *queue,
					     bool consume)
{
	struct events_test *t = test->priv;
	bool found;

	memset(&t->rec, 0, sizeof(t->rec));
	mutex_lock(&queue->reading);
	found = rca_queue_peek(queue, &t->dlv);
	if (found) {
		memcpy(&t->rec, &t->dlv.rec, t->dlv.len);
		if (consume)
			rca_queue_consume(queue, &t->dlv);
	}
	mutex_unlock(&queue->reading);
	return found ? &t->rec : NULL;
}

static inline struct rdma_cm_alt_event *deliver(struct kunit *test, struct rca_queue *queue)
{
	return look(test, queue, true);
}

/* Deliver the next event, which must be this one. */
static inline void expect(struct kunit *test, struct rca_queue *queue, struct event_node *node,
			  u32 type)
{
	struct rdma_cm_alt_event *rec = deliver(test, queue);

	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_EXPECT_EQ(test, type, rec->type);
	KUNIT_EXPECT_EQ(test, node->obj.handle, rec->id);
	KUNIT_EXPECT_EQ(test, node->src.cookie, rec->cookie);
}

static inline void expect_status(struct kunit *test, struct rca_queue *queue, u32 type, int status)
{
	struct rdma_cm_alt_event *rec = deliver(test, queue);

	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_EXPECT_EQ(test, type, rec->type);
	KUNIT_EXPECT_EQ(test, status, rec->status);
}

static inline void expect_none(struct kunit *test, struct rca_queue *queue)
{
	KUNIT_EXPECT_FALSE(test, rca_queue_ready(queue));
	KUNIT_EXPECT_NULL(test, deliver(test, queue));
}

#define ADDR RDMA_CM_ALT_EVENT_ADDR_RESOLVED
#define ROUTE RDMA_CM_ALT_EVENT_ROUTE_RESOLVED
#define REQUEST RDMA_CM_ALT_EVENT_CONNECT_REQUEST
#define ESTABLISHED RDMA_CM_ALT_EVENT_ESTABLISHED
#define DISCONNECTED RDMA_CM_ALT_EVENT_DISCONNECTED
#define REMOVAL RDMA_CM_ALT_EVENT_DEVICE_REMOVAL
#define CHANGE RDMA_CM_ALT_EVENT_ADDR_CHANGE
#define UNREACHABLE RDMA_CM_ALT_EVENT_UNREACHABLE
#define TIMEWAIT RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT
#define USER RDMA_CM_ALT_EVENT_USER

/* Post a connection request of @node. Returns its new id. */
static inline struct event_node *post_request(struct kunit *test, struct event_node *node)
{
	struct events_test *t = test->priv;
	struct event_node *child = reserve_node(test);
	struct rca_event *ev = new_event(test, REQUEST);

	ev->rec.id = child->obj.handle;
	ev->rec.listen_id = node->obj.handle;
	ev->child = &child->obj;
	ev->child_src = &child->src;
	ev->credit = &t->credit;
	atomic_inc(&t->credit);
	post_event(node, ev);
	return child;
}

static inline bool is_published(struct kunit *test, struct event_node *node)
{
	struct events_test *t = test->priv;
	struct rca_obj *obj = rca_obj_lookup(t->ctx, node->obj.handle, RCA_KIND_ID);

	if (IS_ERR(obj))
		return false;
	rca_obj_put(obj);
	return true;
}

static inline void expect_request(struct kunit *test, struct rca_queue *queue,
				  struct event_node *node, struct event_node *child)
{
	struct rdma_cm_alt_event *rec = deliver(test, queue);

	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_EXPECT_EQ(test, (u32)REQUEST, rec->type);
	KUNIT_EXPECT_EQ(test, child->obj.handle, rec->id);
	KUNIT_EXPECT_EQ(test, node->obj.handle, rec->listen_id);
	KUNIT_EXPECT_EQ(test, node->src.cookie, rec->cookie);
}

#endif /* RCA_EVENTS_FIXTURE_H */
