// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/events.c: order, counts, and that nothing is lost or
 * delivered twice while sources move and go.
 *
 * Locking: as events.h says.
 */
#include "events.h"

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "race.h"

#define COOKIE 0x1000
#define ROUNDS 500
#define HEAD_LEN offsetof(struct rdma_cm_alt_event, qp_num)

/* What an id is to the queues. */
struct node {
	struct rca_obj obj;
	struct rca_source src;
	spinlock_t lock; /* what the source's lock points to */
	u64 seen; /* races: the last number that was delivered (lock: rca_queue.consume) */
	struct rcu_head rcu;
};

struct events_test {
	struct rca_ctx *ctx;
	struct rca_queue *a;
	struct rca_queue *b;
	struct node *nodes[8];
	unsigned int used;
	atomic_t credit;
	struct rdma_cm_alt_event rec;
};

static void node_release(struct rca_obj *obj)
{
	struct node *node = container_of(obj, struct node, obj);

	kfree_rcu(node, rcu);
}

/* One reference is the test's, the other one for the table; not published yet. */
static struct node *reserve_node(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = kzalloc(sizeof(*node), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, node);
	KUNIT_ASSERT_LT(test, t->used, (unsigned int)ARRAY_SIZE(t->nodes));
	KUNIT_ASSERT_EQ(test, 0, rca_obj_reserve(&node->obj, t->ctx, RCA_KIND_ID, node_release,
						 GFP_KERNEL));
	spin_lock_init(&node->lock);
	rca_source_init(&node->src, &node->obj, &node->lock, COOKIE + t->used);
	t->nodes[t->used++] = node;
	rca_obj_get(&node->obj);
	return node;
}

static struct node *new_node(struct kunit *test, struct rca_queue *queue)
{
	struct node *node = reserve_node(test);

	rca_obj_publish(&node->obj);
	if (queue)
		KUNIT_ASSERT_EQ(test, 0, rca_source_attach(&node->src, queue));
	return node;
}

static void drop_requests(struct list_head *requests)
{
	struct rca_event *ev, *next;

	list_for_each_entry_safe(ev, next, requests, item.qnode) {
		list_del_init(&ev->item.qnode);
		rca_obj_unreserve(ev->child);
		rca_obj_put(ev->child);
		rca_event_free(ev);
	}
}

static void free_node(struct node *node)
{
	LIST_HEAD(requests);

	rca_source_detach(&node->src, &requests);
	drop_requests(&requests);
	if (rca_obj_untable(&node->obj))
		rca_obj_put(&node->obj);
	rca_obj_put(&node->obj);
}

static int events_init(struct kunit *test)
{
	struct events_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	t->ctx = rca_ctx_create();
	KUNIT_ASSERT_NOT_NULL(test, t->ctx);
	t->a = rca_queue_create(t->ctx, sizeof(t->rec), true);
	t->b = rca_queue_create(t->ctx, sizeof(t->rec), true);
	KUNIT_ASSERT_NOT_NULL(test, t->a);
	KUNIT_ASSERT_NOT_NULL(test, t->b);
	return 0;
}

static void events_exit(struct kunit *test)
{
	struct events_test *t = test->priv;

	if (!t || !t->ctx)
		return;
	while (t->used)
		free_node(t->nodes[--t->used]);
	if (t->a) {
		KUNIT_EXPECT_EQ(test, 1U, refcount_read(&t->a->ref));
		KUNIT_EXPECT_FALSE(test, rca_queue_ready(t->a));
	}
	if (t->b) {
		KUNIT_EXPECT_EQ(test, 1U, refcount_read(&t->b->ref));
		KUNIT_EXPECT_FALSE(test, rca_queue_ready(t->b));
	}
	rca_queue_put(t->a);
	rca_queue_put(t->b);
	/* Whoever still had a reference would be a leak. */
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&t->ctx->ref));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&t->credit));
	rca_ctx_put(t->ctx);
}

static void post_event(struct node *node, struct rca_event *ev)
{
	spin_lock_irq(&node->lock);
	rca_post(&node->src, ev);
	spin_unlock_irq(&node->lock);
}

static void post(struct kunit *test, struct node *node, u32 type)
{
	struct rca_event *ev = rca_event_alloc(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ev);
	ev->rec.type = type;
	post_event(node, ev);
}

static void notice(struct node *node, enum rca_notice_slot slot, u32 type, int status)
{
	spin_lock_irq(&node->lock);
	rca_post_notice(&node->src, slot, type, status);
	spin_unlock_irq(&node->lock);
}

/* The next event with the whole length of a record; NULL: none. */
static struct rdma_cm_alt_event *look(struct kunit *test, struct rca_queue *queue, bool consume)
{
	struct events_test *t = test->priv;
	struct rca_delivery dlv;
	bool found;

	memset(&t->rec, 0, sizeof(t->rec));
	mutex_lock(&queue->consume);
	found = rca_queue_peek(queue, &dlv);
	if (found) {
		memcpy(&t->rec, dlv.data, dlv.len);
		if (consume)
			rca_queue_consume(queue, &dlv);
	}
	mutex_unlock(&queue->consume);
	return found ? &t->rec : NULL;
}

static struct rdma_cm_alt_event *deliver(struct kunit *test, struct rca_queue *queue)
{
	return look(test, queue, true);
}

/* Delivers the next event, which has to be this one. */
static void expect(struct kunit *test, struct rca_queue *queue, struct node *node, u32 type)
{
	struct rdma_cm_alt_event *rec = deliver(test, queue);

	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_EXPECT_EQ(test, type, rec->type);
	KUNIT_EXPECT_EQ(test, node->obj.handle, rec->id);
	KUNIT_EXPECT_EQ(test, node->src.cookie, rec->cookie);
}

static void expect_none(struct kunit *test, struct rca_queue *queue)
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
#define TIMEWAIT RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT
#define USER RDMA_CM_ALT_EVENT_USER

static void peek_empty_is_false(struct kunit *test)
{
	struct events_test *t = test->priv;

	new_node(test, t->a);

	expect_none(test, t->a);
}

static void post_from_two_sources_keeps_the_order(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *x = new_node(test, t->a), *y = new_node(test, t->a);

	post(test, x, ADDR);
	post(test, y, ADDR);
	post(test, x, ROUTE);
	KUNIT_EXPECT_TRUE(test, rca_queue_ready(t->a));

	expect(test, t->a, x, ADDR);
	expect(test, t->a, y, ADDR);
	expect(test, t->a, x, ROUTE);
	expect_none(test, t->a);
	KUNIT_EXPECT_EQ(test, 2U, x->src.reported);
	KUNIT_EXPECT_EQ(test, 1U, y->src.reported);
}

static void alloc_sets_the_length_and_nothing_else(struct kunit *test)
{
	struct rca_event *ev = rca_event_alloc(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ev);

	KUNIT_EXPECT_EQ(test, (u32)sizeof(ev->rec), ev->rec.length);
	ev->rec.length = 0;
	KUNIT_EXPECT_NULL(test, memchr_inv(&ev->rec, 0, sizeof(ev->rec)));
	KUNIT_EXPECT_NULL(test, ev->child);
	KUNIT_EXPECT_NULL(test, ev->credit);

	rca_event_free(ev);
	rca_event_free(NULL);
}

static void peek_gives_the_length_of_the_record(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);
	struct rca_event *ev = rca_event_alloc(GFP_KERNEL);
	struct rca_delivery dlv;

	KUNIT_ASSERT_NOT_NULL(test, ev);
	ev->rec.length = 200;
	post_event(node, ev);

	mutex_lock(&t->a->consume);
	KUNIT_EXPECT_TRUE(test, rca_queue_peek(t->a, &dlv));
	KUNIT_EXPECT_EQ(test, 200U, dlv.len);
	KUNIT_EXPECT_PTR_EQ(test, (const void *)&ev->rec, dlv.data);
	rca_queue_consume(t->a, &dlv);
	mutex_unlock(&t->a->consume);
}

/* A copy to user space that fails is a peek without a consume. */
static void peek_without_consume_loses_nothing(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);
	struct rdma_cm_alt_event *rec;

	post(test, node, ADDR);
	notice(node, RCA_NOTICE_CONN, DISCONNECTED, 0);

	rec = look(test, t->a, false);
	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_EXPECT_EQ(test, (u32)ADDR, rec->type);
	KUNIT_EXPECT_EQ(test, 0U, node->src.reported);
	expect(test, t->a, node, ADDR);

	rec = look(test, t->a, false);
	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_EXPECT_EQ(test, (u32)DISCONNECTED, rec->type);
	KUNIT_EXPECT_EQ(test, 1U, node->src.reported);
	expect(test, t->a, node, DISCONNECTED);
	expect_none(test, t->a);
}

static void consume_gives_credit_and_reference_back(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);
	struct rca_event *ev = rca_event_alloc(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ev);
	ev->rec.type = ADDR;
	ev->credit = &t->credit;
	atomic_inc(&t->credit);
	post_event(node, ev);
	KUNIT_EXPECT_EQ(test, 3U, refcount_read(&node->obj.ref));

	expect(test, t->a, node, ADDR);

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&t->credit));
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&node->obj.ref));
}

static void post_without_queue_is_dropped(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, NULL);
	struct rca_event *ev = rca_event_alloc(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ev);
	ev->credit = &t->credit;
	atomic_inc(&t->credit);

	post_event(node, ev);
	notice(node, RCA_NOTICE_CONN, DISCONNECTED, 0);

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&t->credit));
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&node->obj.ref));
	KUNIT_EXPECT_EQ(test, 0, rca_source_attach(&node->src, t->a));
	expect_none(test, t->a);
	KUNIT_EXPECT_EQ(test, 0U, rca_source_detach(&node->src, NULL));
}

static void set_cookie_counts_for_events_that_wait(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);

	post(test, node, ADDR);
	notice(node, RCA_NOTICE_CONN, DISCONNECTED, 0);
	rca_source_set_cookie(&node->src, 77);

	KUNIT_EXPECT_EQ(test, 77ULL, node->src.cookie);
	expect(test, t->a, node, ADDR);
	expect(test, t->a, node, DISCONNECTED);
}

/* Posts a connection request of @node; the child's own source comes along. */
static struct node *post_request(struct kunit *test, struct node *node)
{
	struct events_test *t = test->priv;
	struct node *child = reserve_node(test);
	struct rca_event *ev = rca_event_alloc(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ev);
	ev->rec.type = REQUEST;
	ev->rec.id = child->obj.handle;
	ev->rec.listen_id = node->obj.handle;
	ev->child = &child->obj;
	ev->child_src = &child->src;
	ev->credit = &t->credit;
	atomic_inc(&t->credit);
	post_event(node, ev);
	return child;
}

static bool is_published(struct kunit *test, struct node *node)
{
	struct events_test *t = test->priv;
	struct rca_obj *obj = rca_obj_lookup(t->ctx, node->obj.handle, RCA_KIND_ID);

	if (IS_ERR(obj))
		return false;
	rca_obj_put(obj);
	return true;
}

static void expect_request(struct kunit *test, struct rca_queue *queue, struct node *node,
			   struct node *child)
{
	struct rdma_cm_alt_event *rec = deliver(test, queue);

	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_EXPECT_EQ(test, (u32)REQUEST, rec->type);
	KUNIT_EXPECT_EQ(test, child->obj.handle, rec->id);
	KUNIT_EXPECT_EQ(test, node->obj.handle, rec->listen_id);
	KUNIT_EXPECT_EQ(test, node->src.cookie, rec->cookie);
}

static void consume_request_publishes_and_attaches_the_child(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);
	struct node *child = post_request(test, node);

	look(test, t->a, false);
	KUNIT_EXPECT_FALSE(test, is_published(test, child));
	KUNIT_EXPECT_NULL(test, child->src.queue);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&t->credit));

	expect_request(test, t->a, node, child);

	KUNIT_EXPECT_TRUE(test, is_published(test, child));
	KUNIT_EXPECT_PTR_EQ(test, t->a, child->src.queue);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&t->credit));
	KUNIT_EXPECT_EQ(test, 1U, node->src.reported);
	KUNIT_EXPECT_EQ(test, 0U, child->src.reported);
	post(test, child, ESTABLISHED);
	expect(test, t->a, child, ESTABLISHED);
}

static void consume_request_after_move_attaches_to_the_new_queue(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);
	struct node *child = post_request(test, node);

	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->b, NULL, NULL));

	expect_request(test, t->b, node, child);
	KUNIT_EXPECT_PTR_EQ(test, t->b, child->src.queue);
}

static void consume_request_attaches_to_the_queue_that_the_reader_names(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);
	struct node *child = post_request(test, node);
	struct rca_delivery dlv;

	post(test, node, USER);

	mutex_lock(&t->a->consume);
	KUNIT_EXPECT_TRUE(test, rca_queue_peek(t->a, &dlv));
	KUNIT_EXPECT_TRUE(test, rca_delivery_has_child(&dlv));
	dlv.child_queue = t->b;
	rca_queue_consume(t->a, &dlv);
	KUNIT_EXPECT_TRUE(test, rca_queue_peek(t->a, &dlv));
	KUNIT_EXPECT_FALSE(test, rca_delivery_has_child(&dlv));
	KUNIT_EXPECT_NULL(test, dlv.child_queue);
	rca_queue_consume(t->a, &dlv);
	mutex_unlock(&t->a->consume);

	KUNIT_EXPECT_PTR_EQ(test, t->b, child->src.queue);
}

static void consume_request_of_closed_queue_leaves_the_child_without(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);
	struct node *child = post_request(test, node);

	rca_queue_mark_closed(t->a);

	expect_request(test, t->a, node, child);
	KUNIT_EXPECT_TRUE(test, is_published(test, child));
	KUNIT_EXPECT_NULL(test, child->src.queue);
}

static void detach_hands_requests_to_the_caller(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);
	struct node *first = post_request(test, node), *second;
	struct rca_event *ev;
	LIST_HEAD(requests);

	post(test, node, USER);
	second = post_request(test, node);

	KUNIT_EXPECT_EQ(test, 0U, rca_source_detach(&node->src, &requests));

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&t->credit));
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&node->obj.ref));
	ev = list_first_entry_or_null(&requests, struct rca_event, item.qnode);
	KUNIT_ASSERT_NOT_NULL(test, ev);
	KUNIT_EXPECT_PTR_EQ(test, &first->obj, ev->child);
	ev = list_last_entry(&requests, struct rca_event, item.qnode);
	KUNIT_EXPECT_PTR_EQ(test, &second->obj, ev->child);
	KUNIT_EXPECT_FALSE(test, is_published(test, first));

	drop_requests(&requests);
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&first->obj.ref));
	expect_none(test, t->a);
}

static void notice_has_the_head_of_a_record(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);
	struct rdma_cm_alt_event *rec;

	notice(node, RCA_NOTICE_CONN, DISCONNECTED, -ECONNRESET);

	rec = deliver(test, t->a);
	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_EXPECT_EQ(test, (u32)HEAD_LEN, rec->length);
	KUNIT_EXPECT_EQ(test, (u32)DISCONNECTED, rec->type);
	KUNIT_EXPECT_EQ(test, -ECONNRESET, rec->status);
	KUNIT_EXPECT_EQ(test, 0U, rec->flags);
	KUNIT_EXPECT_EQ(test, (u64)COOKIE, rec->cookie);
	KUNIT_EXPECT_EQ(test, node->obj.handle, rec->id);
	KUNIT_EXPECT_EQ(test, 0U, rec->listen_id);
	KUNIT_EXPECT_EQ(test, 0U, rec->member);
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&node->obj.ref));
}

static void notice_pending_twice_comes_once(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);

	notice(node, RCA_NOTICE_DEVICE, CHANGE, 0);
	notice(node, RCA_NOTICE_DEVICE, CHANGE, 0);
	expect(test, t->a, node, CHANGE);
	expect_none(test, t->a);

	notice(node, RCA_NOTICE_DEVICE, CHANGE, 0);
	expect(test, t->a, node, CHANGE);
	expect_none(test, t->a);
	KUNIT_EXPECT_EQ(test, 2U, node->src.reported);
}

static void notice_of_timewait_has_status_zero(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);
	struct rdma_cm_alt_event *rec;

	notice(node, RCA_NOTICE_CONN, DISCONNECTED, -ETIMEDOUT);
	notice(node, RCA_NOTICE_CONN, TIMEWAIT, -EIO);

	rec = deliver(test, t->a);
	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_EXPECT_EQ(test, (u32)DISCONNECTED, rec->type);
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, rec->status);
	rec = deliver(test, t->a);
	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_EXPECT_EQ(test, (u32)TIMEWAIT, rec->type);
	KUNIT_EXPECT_EQ(test, 0, rec->status);
}

static void notice_of_connection_stays_in_front(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *x = new_node(test, t->a), *y = new_node(test, t->a);

	post(test, x, ESTABLISHED);
	notice(x, RCA_NOTICE_CONN, TIMEWAIT, 0);
	post(test, y, ADDR);
	post(test, x, USER);
	notice(x, RCA_NOTICE_CONN, DISCONNECTED, 0);

	expect(test, t->a, x, ESTABLISHED);
	expect(test, t->a, x, DISCONNECTED);
	expect(test, t->a, x, TIMEWAIT);
	expect(test, t->a, y, ADDR);
	expect(test, t->a, x, USER);
	expect_none(test, t->a);
	KUNIT_EXPECT_EQ(test, 4U, x->src.reported);
}

static void notice_of_device_goes_to_the_end(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *x = new_node(test, t->a), *y = new_node(test, t->a);

	notice(x, RCA_NOTICE_DEVICE, CHANGE, 0);
	notice(x, RCA_NOTICE_DEVICE, REMOVAL, 0);
	post(test, y, ADDR);
	post(test, x, USER);

	expect(test, t->a, x, REMOVAL);
	expect(test, t->a, y, ADDR);
	expect(test, t->a, x, USER);
	expect(test, t->a, x, CHANGE);
	expect_none(test, t->a);
}

/* In the list of the source, too: a move keeps that order. */
static void notice_of_device_at_the_end_moves_there(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);

	notice(node, RCA_NOTICE_DEVICE, CHANGE, 0);
	notice(node, RCA_NOTICE_DEVICE, REMOVAL, 0);
	post(test, node, USER);
	expect(test, t->a, node, REMOVAL);

	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->b, NULL, NULL));

	expect(test, t->b, node, USER);
	expect(test, t->b, node, CHANGE);
}

static void notice_while_another_is_delivered_is_kept(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);
	struct rca_delivery dlv;

	notice(node, RCA_NOTICE_CONN, TIMEWAIT, 0);

	mutex_lock(&t->a->consume);
	KUNIT_EXPECT_TRUE(test, rca_queue_peek(t->a, &dlv));
	notice(node, RCA_NOTICE_CONN, DISCONNECTED, 0);
	rca_queue_consume(t->a, &dlv);
	mutex_unlock(&t->a->consume);

	expect(test, t->a, node, DISCONNECTED);
	expect_none(test, t->a);
	KUNIT_EXPECT_EQ(test, 2U, node->src.reported);
}

static void attach_twice_is_einval(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);

	KUNIT_EXPECT_EQ(test, -EINVAL, rca_source_attach(&node->src, t->b));
	KUNIT_EXPECT_PTR_EQ(test, t->a, node->src.queue);
}

static void attach_to_closed_queue_is_einval(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, NULL);

	rca_queue_mark_closed(t->a);

	KUNIT_EXPECT_EQ(test, -EINVAL, rca_source_attach(&node->src, t->a));
	KUNIT_EXPECT_NULL(test, rca_source_queue(&node->src));
}

static void source_queue_takes_a_reference(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);
	struct rca_queue *queue = rca_source_queue(&node->src);

	KUNIT_ASSERT_PTR_EQ(test, t->a, queue);
	KUNIT_EXPECT_EQ(test, 3U, refcount_read(&queue->ref));
	rca_queue_put(queue);
}

static void move_takes_own_events_in_order_to_the_end(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *x = new_node(test, t->a), *y = new_node(test, t->a);
	struct node *z = new_node(test, t->b);
	u32 reported = 0;
	u64 cookie = 77;

	post(test, x, ADDR);
	expect(test, t->a, x, ADDR);
	post(test, x, ROUTE);
	post(test, y, ADDR);
	notice(x, RCA_NOTICE_CONN, DISCONNECTED, 0);
	post(test, x, USER);
	post(test, z, ADDR);

	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&x->src, t->b, &cookie, &reported));

	KUNIT_EXPECT_EQ(test, 1U, reported);
	KUNIT_EXPECT_EQ(test, cookie, x->src.cookie);
	expect(test, t->a, y, ADDR);
	expect_none(test, t->a);
	post(test, x, ESTABLISHED);
	expect(test, t->b, z, ADDR);
	expect(test, t->b, x, ROUTE);
	expect(test, t->b, x, DISCONNECTED);
	expect(test, t->b, x, USER);
	expect(test, t->b, x, ESTABLISHED);
	expect_none(test, t->b);
	KUNIT_EXPECT_EQ(test, 5U, x->src.reported);
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&t->a->ref));
	KUNIT_EXPECT_EQ(test, 3U, refcount_read(&t->b->ref));
}

static void move_back_keeps_the_order(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->b);

	post(test, node, ADDR);
	post(test, node, ROUTE);

	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->a, NULL, NULL));
	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->b, NULL, NULL));

	expect(test, t->b, node, ADDR);
	expect(test, t->b, node, ROUTE);
}

static void move_to_closed_queue_is_einval_and_changes_nothing(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);
	u32 reported = 55;
	u64 cookie = 77;

	post(test, node, ADDR);
	rca_queue_mark_closed(t->b);

	KUNIT_EXPECT_EQ(test, -EINVAL, rca_source_move(&node->src, t->b, &cookie, &reported));

	KUNIT_EXPECT_EQ(test, 55U, reported);
	KUNIT_EXPECT_EQ(test, (u64)COOKIE, node->src.cookie);
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&t->b->ref));
	expect(test, t->a, node, ADDR);
}

static void move_to_the_same_queue_changes_the_cookie(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *x = new_node(test, t->a), *y = new_node(test, t->a);
	u32 reported = 55;
	u64 cookie = 77;

	post(test, x, ADDR);
	post(test, y, ADDR);

	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&x->src, t->a, &cookie, &reported));

	KUNIT_EXPECT_EQ(test, 0U, reported);
	KUNIT_EXPECT_EQ(test, cookie, x->src.cookie);
	KUNIT_EXPECT_EQ(test, 3U, refcount_read(&t->a->ref));
	expect(test, t->a, x, ADDR);
	expect(test, t->a, y, ADDR);
}

static void move_to_the_same_closed_queue_is_einval(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);

	rca_queue_mark_closed(t->a);

	KUNIT_EXPECT_EQ(test, -EINVAL, rca_source_move(&node->src, t->a, NULL, NULL));
}

static void move_after_detach_is_enoent(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);

	rca_source_detach(&node->src, NULL);

	KUNIT_EXPECT_EQ(test, -ENOENT, rca_source_move(&node->src, t->b, NULL, NULL));
	KUNIT_EXPECT_NULL(test, node->src.queue);
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&t->b->ref));
}

/* Nobody else posts there, so whoever waits would wait forever. */
static void move_closes_the_private_queue(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct rca_queue *own = rca_queue_create(t->ctx, sizeof(t->rec), false);
	struct node *node;

	KUNIT_ASSERT_NOT_NULL(test, own);
	node = new_node(test, own);
	post(test, node, ADDR);

	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->a, NULL, NULL));

	KUNIT_EXPECT_TRUE(test, own->closed);
	KUNIT_EXPECT_FALSE(test, t->a->closed);
	expect(test, t->a, node, ADDR);
	rca_queue_put(own);
}

static void detach_closes_the_private_queue(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct rca_queue *own = rca_queue_create(t->ctx, sizeof(t->rec), false);
	struct node *x, *y;

	KUNIT_ASSERT_NOT_NULL(test, own);
	x = new_node(test, own);
	y = new_node(test, t->a);

	rca_source_detach(&x->src, NULL);
	rca_source_detach(&y->src, NULL);

	KUNIT_EXPECT_TRUE(test, own->closed);
	KUNIT_EXPECT_FALSE(test, t->a->closed);
	rca_queue_put(own);
}

static void detach_drops_own_events_alone(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *x = new_node(test, t->a), *y = new_node(test, t->a);

	post(test, x, ADDR);
	expect(test, t->a, x, ADDR);
	post(test, x, ROUTE);
	post(test, y, ADDR);
	notice(x, RCA_NOTICE_CONN, DISCONNECTED, 0);
	notice(x, RCA_NOTICE_CONN, TIMEWAIT, 0);
	notice(x, RCA_NOTICE_DEVICE, REMOVAL, 0);
	KUNIT_EXPECT_EQ(test, 5U, refcount_read(&x->obj.ref));

	KUNIT_EXPECT_EQ(test, 1U, rca_source_detach(&x->src, NULL));

	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&x->obj.ref));
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&t->a->ref));
	expect(test, t->a, y, ADDR);
	expect_none(test, t->a);
}

static void detach_twice_gives_the_same_count(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);

	post(test, node, ADDR);
	expect(test, t->a, node, ADDR);

	KUNIT_EXPECT_EQ(test, 1U, rca_source_detach(&node->src, NULL));
	KUNIT_EXPECT_EQ(test, 1U, rca_source_detach(&node->src, NULL));

	post(test, node, ROUTE);
	notice(node, RCA_NOTICE_CONN, DISCONNECTED, 0);
	expect_none(test, t->a);
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&t->a->ref));
}

static void next_owner_walks_until_all_are_detached(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *x = new_node(test, t->a), *y = new_node(test, t->a);
	struct rca_obj *owner;

	rca_queue_mark_closed(t->a);

	owner = rca_queue_next_owner(t->a);
	KUNIT_EXPECT_PTR_EQ(test, &x->obj, owner);
	rca_obj_put(owner);
	owner = rca_queue_next_owner(t->a);
	KUNIT_EXPECT_PTR_EQ(test, &y->obj, owner);
	rca_obj_put(owner);

	rca_source_detach(&x->src, NULL);
	owner = rca_queue_next_owner(t->a);
	KUNIT_EXPECT_PTR_EQ(test, &y->obj, owner);
	rca_obj_put(owner);

	rca_source_detach(&y->src, NULL);
	KUNIT_EXPECT_NULL(test, rca_queue_next_owner(t->a));
}

struct waiter {
	wait_queue_entry_t entry;
	unsigned int woken;
};

static int waiter_wake(wait_queue_entry_t *entry, unsigned int mode, int sync, void *key)
{
	struct waiter *waiter = container_of(entry, struct waiter, entry);

	waiter->woken++;
	return 1;
}

static void queue_wakes_for_what_is_new(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct node *node = new_node(test, t->a);
	struct waiter waiter = {};

	init_waitqueue_func_entry(&waiter.entry, waiter_wake);
	add_wait_queue(&t->b->wait, &waiter.entry);

	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->b, NULL, NULL));
	KUNIT_EXPECT_EQ(test, 0U, waiter.woken);
	post(test, node, ADDR);
	KUNIT_EXPECT_EQ(test, 1U, waiter.woken);
	notice(node, RCA_NOTICE_CONN, DISCONNECTED, 0);
	KUNIT_EXPECT_EQ(test, 2U, waiter.woken);
	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->a, NULL, NULL));
	KUNIT_EXPECT_EQ(test, 2U, waiter.woken);
	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->b, NULL, NULL));
	KUNIT_EXPECT_EQ(test, 3U, waiter.woken);
	rca_queue_mark_closed(t->b);
	KUNIT_EXPECT_EQ(test, 4U, waiter.woken);

	remove_wait_queue(&t->b->wait, &waiter.entry);
}

static void queue_keeps_its_context(struct kunit *test)
{
	struct events_test *t = test->priv;
	unsigned int before = refcount_read(&t->ctx->ref);
	struct rca_queue *queue = rca_queue_create(t->ctx, 64, false);

	KUNIT_ASSERT_NOT_NULL(test, queue);
	KUNIT_EXPECT_EQ(test, before + 1, refcount_read(&t->ctx->ref));
	KUNIT_EXPECT_EQ(test, 64U, queue->record_size);
	KUNIT_EXPECT_FALSE(test, queue->has_file);

	rca_queue_put(rca_queue_get(queue));
	KUNIT_EXPECT_EQ(test, before + 1, refcount_read(&t->ctx->ref));
	rca_queue_put(queue);
	KUNIT_EXPECT_EQ(test, before, refcount_read(&t->ctx->ref));
	rca_queue_put(NULL);
}

#define RACE_NODES 2

struct queue_race {
	struct rca_queue *queues[2];
	struct node *nodes[RACE_NODES];
	atomic_t posters;
	atomic_t delivered;
	atomic_t wrong;
};

/* Delivers one event and checks that it is the next one of its source. */
static bool race_deliver(struct queue_race *race, struct rca_queue *queue)
{
	const struct rdma_cm_alt_event *rec;
	struct rca_delivery dlv;
	struct node *node;
	bool found;

	mutex_lock(&queue->consume);
	found = rca_queue_peek(queue, &dlv);
	if (found) {
		rec = dlv.data;
		node = container_of(dlv.item->src, struct node, src);
		if (!dlv.item->is_notice && rec->user_arg != ++node->seen)
			atomic_inc(&race->wrong);
		if (!dlv.item->is_notice)
			atomic_inc(&race->delivered);
		rca_queue_consume(queue, &dlv);
	}
	mutex_unlock(&queue->consume);
	return found;
}

static void race_post(struct queue_race *race, struct node *node)
{
	u64 number;

	for (number = 1; number <= ROUNDS; number++) {
		struct rca_event *ev = rca_event_alloc(GFP_KERNEL);

		if (!ev) {
			atomic_inc(&race->wrong);
			break;
		}
		ev->rec.user_arg = number;
		post_event(node, ev);
		if (number % 8 == 0)
			notice(node, RCA_NOTICE_DEVICE, CHANGE, 0);
	}
	atomic_dec(&race->posters);
}

/* Two post, two deliver, one moves the sources to and fro. */
static void move_race_run(void *arg, unsigned int n)
{
	struct queue_race *race = arg;
	unsigned int i = 0;

	switch (n) {
	case 0:
	case 1:
		race_post(race, race->nodes[n]);
		break;
	case 2:
	case 3:
		while (atomic_read(&race->posters) || rca_queue_ready(race->queues[n - 2])) {
			race_deliver(race, race->queues[n - 2]);
			cond_resched();
		}
		break;
	default:
		for (; atomic_read(&race->posters); i++) {
			if (rca_source_move(&race->nodes[i % RACE_NODES]->src,
					    race->queues[i / RACE_NODES % 2], NULL, NULL))
				atomic_inc(&race->wrong);
			cond_resched();
		}
	}
}

static void move_by_many_loses_nothing(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct queue_race race = {
		.queues = { t->a, t->b },
		.nodes = { new_node(test, t->a), new_node(test, t->b) },
		.posters = ATOMIC_INIT(2),
	};

	rca_race(test, 5, move_race_run, &race);
	/* What the last move put behind a reader that was done. */
	while (race_deliver(&race, t->a) || race_deliver(&race, t->b))
		;

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&race.wrong));
	KUNIT_EXPECT_EQ(test, 2 * ROUNDS, atomic_read(&race.delivered));
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&race.nodes[0]->obj.ref));
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&race.nodes[1]->obj.ref));
}

/* Detaches while others deliver: the count that detach returns is final. */
static void detach_race_run(void *arg, unsigned int n)
{
	struct queue_race *race = arg;
	struct node *node = race->nodes[0];
	u32 reported;

	switch (n) {
	case 0:
		race_post(race, node);
		break;
	case 1:
	case 2:
		while (atomic_read(&race->posters)) {
			race_deliver(race, race->queues[0]);
			cond_resched();
		}
		break;
	default:
		while (READ_ONCE(node->src.reported) < ROUNDS / 4 && atomic_read(&race->posters))
			cond_resched();
		reported = rca_source_detach(&node->src, NULL);
		if (rca_queue_ready(race->queues[0]))
			atomic_inc(&race->wrong);
		cond_resched();
		if (rca_source_detach(&node->src, NULL) != reported)
			atomic_inc(&race->wrong);
	}
}

static void detach_by_many_gives_the_final_count(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct queue_race race = {
		.queues = { t->a, t->b },
		.nodes = { new_node(test, t->a) },
		.posters = ATOMIC_INIT(1),
	};

	rca_race(test, 5, detach_race_run, &race);

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&race.wrong));
	KUNIT_EXPECT_GE(test, race.nodes[0]->src.reported, (u32)atomic_read(&race.delivered));
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&race.nodes[0]->obj.ref));
	expect_none(test, t->a);
}

static struct kunit_case events_cases[] = {
	KUNIT_CASE(peek_empty_is_false),
	KUNIT_CASE(post_from_two_sources_keeps_the_order),
	KUNIT_CASE(alloc_sets_the_length_and_nothing_else),
	KUNIT_CASE(peek_gives_the_length_of_the_record),
	KUNIT_CASE(peek_without_consume_loses_nothing),
	KUNIT_CASE(consume_gives_credit_and_reference_back),
	KUNIT_CASE(post_without_queue_is_dropped),
	KUNIT_CASE(set_cookie_counts_for_events_that_wait),
	KUNIT_CASE(consume_request_publishes_and_attaches_the_child),
	KUNIT_CASE(consume_request_after_move_attaches_to_the_new_queue),
	KUNIT_CASE(consume_request_attaches_to_the_queue_that_the_reader_names),
	KUNIT_CASE(consume_request_of_closed_queue_leaves_the_child_without),
	KUNIT_CASE(detach_hands_requests_to_the_caller),
	KUNIT_CASE(notice_has_the_head_of_a_record),
	KUNIT_CASE(notice_pending_twice_comes_once),
	KUNIT_CASE(notice_of_timewait_has_status_zero),
	KUNIT_CASE(notice_of_connection_stays_in_front),
	KUNIT_CASE(notice_of_device_goes_to_the_end),
	KUNIT_CASE(notice_of_device_at_the_end_moves_there),
	KUNIT_CASE(notice_while_another_is_delivered_is_kept),
	KUNIT_CASE(attach_twice_is_einval),
	KUNIT_CASE(attach_to_closed_queue_is_einval),
	KUNIT_CASE(source_queue_takes_a_reference),
	KUNIT_CASE(move_takes_own_events_in_order_to_the_end),
	KUNIT_CASE(move_back_keeps_the_order),
	KUNIT_CASE(move_to_closed_queue_is_einval_and_changes_nothing),
	KUNIT_CASE(move_to_the_same_queue_changes_the_cookie),
	KUNIT_CASE(move_to_the_same_closed_queue_is_einval),
	KUNIT_CASE(move_after_detach_is_enoent),
	KUNIT_CASE(move_closes_the_private_queue),
	KUNIT_CASE(detach_closes_the_private_queue),
	KUNIT_CASE(detach_drops_own_events_alone),
	KUNIT_CASE(detach_twice_gives_the_same_count),
	KUNIT_CASE(next_owner_walks_until_all_are_detached),
	KUNIT_CASE(queue_wakes_for_what_is_new),
	KUNIT_CASE(queue_keeps_its_context),
	KUNIT_CASE(move_by_many_loses_nothing),
	KUNIT_CASE(detach_by_many_gives_the_final_count),
	{}
};

static struct kunit_suite events_suite = {
	.name = "rdma_cm_alt_events",
	.init = events_init,
	.exit = events_exit,
	.test_cases = events_cases,
};

kunit_test_suite(events_suite);
