// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of kernel/event/: posting and delivery: order, counts, records. */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "event/queue.h"
#include "event/events_fixture.h"

static void peek_empty_is_false(struct kunit *test)
{
	struct events_test *t = test->priv;

	new_node(test, t->a);

	expect_none(test, t->a);
}

static void post_from_two_sources_keeps_the_order(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *x = new_node(test, t->a), *y = new_node(test, t->a);

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
	struct events_test *t = test->priv;
	struct rca_event *ev = rca_event_alloc(t->ctx, GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ev);

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
	struct event_node *node = new_node(test, t->a);
	struct rca_event *ev = new_event(test, ADDR);
	struct rca_delivery dlv;

	ev->rec.length = 200;
	post_event(node, ev);

	mutex_lock(&t->a->reading);
	KUNIT_EXPECT_TRUE(test, rca_queue_peek(t->a, &dlv));
	KUNIT_EXPECT_EQ(test, 200U, dlv.len);
	KUNIT_EXPECT_MEMEQ(test, &ev->rec, &dlv.rec, 200);
	rca_queue_consume(t->a, &dlv);
	mutex_unlock(&t->a->reading);
}

/* After a failed copy to user space there is a peek without a consume. */
static void peek_without_consume_loses_nothing(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct rdma_cm_alt_event *rec;

	post(test, node, ADDR);
	notice(node, DISCONNECTED, 0);

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
	struct event_node *node = new_node(test, t->a);
	struct rca_event *ev = new_event(test, ADDR);

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
	struct event_node *node = new_node(test, NULL);
	struct rca_event *ev = new_event(test, ADDR);

	ev->credit = &t->credit;
	atomic_inc(&t->credit);

	post_event(node, ev);
	notice(node, DISCONNECTED, 0);

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&t->credit));
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&node->obj.ref));
	KUNIT_EXPECT_EQ(test, 0, rca_source_attach(&node->src, t->a));
	expect_none(test, t->a);
	KUNIT_EXPECT_EQ(test, 0U, rca_source_detach(&node->src, NULL));
}

static void set_cookie_counts_for_events_that_wait(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);

	post(test, node, ADDR);
	notice(node, DISCONNECTED, 0);
	spin_lock_irq(&node->lock);
	rca_source_set_cookie_locked(&node->src, 77);
	spin_unlock_irq(&node->lock);

	KUNIT_EXPECT_EQ(test, 77ULL, node->src.cookie);
	expect(test, t->a, node, ADDR);
	expect(test, t->a, node, DISCONNECTED);
}

/* As rdma_ucm does until a program has accepted a request. */
static void queue_that_needs_cookies_drops_events_without(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node;

	t->a->needs_cookie = true;
	node = new_node(test, t->a);
	spin_lock_irq(&node->lock);
	rca_source_set_cookie_locked(&node->src, 0);
	spin_unlock_irq(&node->lock);
	post(test, node, ADDR);
	notice(node, DISCONNECTED, 0);
	expect_none(test, t->a);

	spin_lock_irq(&node->lock);
	rca_source_set_cookie_locked(&node->src, 77);
	spin_unlock_irq(&node->lock);
	notice(node, DISCONNECTED, 0);
	expect(test, t->a, node, DISCONNECTED);
	expect_none(test, t->a);
	KUNIT_EXPECT_EQ(test, 1U, node->src.reported);
}

static void cookie_that_is_set_before_the_queue_counts(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, NULL);
	struct rdma_cm_alt_event *rec;

	spin_lock_irq(&node->lock);
	rca_source_set_cookie_locked(&node->src, 77);
	spin_unlock_irq(&node->lock);
	KUNIT_ASSERT_EQ(test, 0, rca_source_attach(&node->src, t->a));
	post(test, node, ADDR);
	rec = deliver(test, t->a);
	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_EXPECT_EQ(test, 77ULL, rec->cookie);
}

/* The id was destroyed before, with all waiting events. */
static void part_that_goes_last_has_nothing_to_drop(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct rca_event_count event_count = { .obj = &node->obj };
	struct rca_event *ev;
	int i;

	for (i = 0; i < 2; i++) {
		ev = new_event(test, USER);
		spin_lock_irq(&node->lock);
		rca_post_part(&node->src, &event_count, ev);
		spin_unlock_irq(&node->lock);
	}
	expect(test, t->a, node, USER);
	KUNIT_EXPECT_EQ(test, 1U, rca_source_detach(&node->src, NULL));
	KUNIT_EXPECT_EQ(test, 1U, rca_source_drop(&node->src, &event_count));
	expect_none(test, t->a);
}

static void consume_request_publishes_and_attaches_the_child(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct event_node *child = post_request(test, node);

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

static void consume_request_attaches_to_the_queue_that_the_reader_names(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct event_node *child = post_request(test, node);
	struct rca_delivery dlv;

	post(test, node, USER);

	mutex_lock(&t->a->reading);
	KUNIT_EXPECT_TRUE(test, rca_queue_peek(t->a, &dlv));
	KUNIT_EXPECT_TRUE(test, dlv.has_child);
	dlv.child_queue = t->b;
	rca_queue_consume(t->a, &dlv);
	KUNIT_EXPECT_TRUE(test, rca_queue_peek(t->a, &dlv));
	KUNIT_EXPECT_FALSE(test, dlv.has_child);
	KUNIT_EXPECT_NULL(test, dlv.child_queue);
	rca_queue_consume(t->a, &dlv);
	mutex_unlock(&t->a->reading);

	KUNIT_EXPECT_PTR_EQ(test, t->b, child->src.queue);
}

static void consume_request_of_closed_queue_leaves_the_child_without(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct event_node *child = post_request(test, node);

	rca_queue_mark_closed(t->a);

	expect_request(test, t->a, node, child);
	KUNIT_EXPECT_TRUE(test, is_published(test, child));
	KUNIT_EXPECT_NULL(test, child->src.queue);
}

static void notice_has_the_head_of_a_record(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct rdma_cm_alt_event *rec;

	notice(node, DISCONNECTED, -ECONNRESET);

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
	struct event_node *node = new_node(test, t->a);

	KUNIT_EXPECT_TRUE(test, notice(node, CHANGE, 0));
	KUNIT_EXPECT_FALSE(test, notice(node, CHANGE, 0));
	expect(test, t->a, node, CHANGE);
	expect_none(test, t->a);

	KUNIT_EXPECT_TRUE(test, notice(node, CHANGE, 0));
	expect(test, t->a, node, CHANGE);
	expect_none(test, t->a);
	KUNIT_EXPECT_EQ(test, 2U, node->src.reported);
}

static void notice_of_timewait_has_status_zero(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);

	notice(node, DISCONNECTED, -ETIMEDOUT);
	notice(node, TIMEWAIT, -EIO);

	expect_status(test, t->a, DISCONNECTED, -ETIMEDOUT);
	expect_status(test, t->a, TIMEWAIT, 0);
}

static void notice_of_the_network_keeps_its_status(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);

	notice(node, UNREACHABLE, -ETIMEDOUT);
	notice(node, CHANGE, -EIO);
	notice(node, REMOVAL, -EIO);

	expect_status(test, t->a, UNREACHABLE, -ETIMEDOUT);
	expect_status(test, t->a, CHANGE, 0);
	expect_status(test, t->a, REMOVAL, 0);
}

static void notices_keep_their_order_and_status(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *x = new_node(test, t->a), *y = new_node(test, t->a);

	notice(x, TIMEWAIT, -EIO);
	post(test, y, ADDR);
	notice(x, DISCONNECTED, -ETIMEDOUT);
	post(test, x, USER);
	notice(x, ESTABLISHED, 0);
	notice(x, CHANGE, 0);
	notice(x, REMOVAL, 0);

	expect_status(test, t->a, TIMEWAIT, 0);
	expect(test, t->a, y, ADDR);
	notice(x, TIMEWAIT, 0);
	expect_status(test, t->a, DISCONNECTED, -ETIMEDOUT);
	expect(test, t->a, x, USER);
	expect_status(test, t->a, ESTABLISHED, 0);
	expect(test, t->a, x, CHANGE);
	expect(test, t->a, x, REMOVAL);
	expect(test, t->a, x, TIMEWAIT);
	expect_none(test, t->a);
	KUNIT_EXPECT_EQ(test, 7U, x->src.reported);
}

/* Without memory they have one place, and no event is lost. */
static void notices_without_memory_are_merged(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *x = new_node(test, t->a), *y = new_node(test, t->a);

	rca_no_notices = true;
	post(test, x, ESTABLISHED);
	notice(x, TIMEWAIT, 0);
	post(test, y, ADDR);
	post(test, x, USER);
	notice(x, DISCONNECTED, -EIO);
	KUNIT_EXPECT_FALSE(test, notice(x, TIMEWAIT, 0));

	expect(test, t->a, x, ESTABLISHED);
	expect_status(test, t->a, DISCONNECTED, -EIO);
	expect(test, t->a, x, TIMEWAIT);
	expect(test, t->a, y, ADDR);
	expect(test, t->a, x, USER);
	expect_none(test, t->a);
	KUNIT_EXPECT_EQ(test, 4U, x->src.reported);
}

static void notice_while_another_is_delivered_is_kept(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *node = new_node(test, t->a);
	struct rca_delivery dlv;

	notice(node, TIMEWAIT, 0);

	mutex_lock(&t->a->reading);
	KUNIT_EXPECT_TRUE(test, rca_queue_peek(t->a, &dlv));
	notice(node, DISCONNECTED, 0);
	rca_queue_consume(t->a, &dlv);
	mutex_unlock(&t->a->reading);

	expect(test, t->a, node, DISCONNECTED);
	expect_none(test, t->a);
	KUNIT_EXPECT_EQ(test, 2U, node->src.reported);
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
	struct event_node *node = new_node(test, t->a);
	struct waiter waiter = {};

	init_waitqueue_func_entry(&waiter.entry, waiter_wake);
	add_wait_queue(&t->b->wait, &waiter.entry);

	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&node->src, t->b, NULL, NULL));
	KUNIT_EXPECT_EQ(test, 0U, waiter.woken);
	post(test, node, ADDR);
	KUNIT_EXPECT_EQ(test, 1U, waiter.woken);
	notice(node, DISCONNECTED, 0);
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

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, queue);
	KUNIT_EXPECT_EQ(test, before + 1, refcount_read(&t->ctx->ref));
	KUNIT_EXPECT_EQ(test, 64U, queue->record_size);
	KUNIT_EXPECT_FALSE(test, queue->has_file);

	rca_queue_put(rca_queue_get(queue));
	KUNIT_EXPECT_EQ(test, before + 1, refcount_read(&t->ctx->ref));
	rca_queue_put(queue);
	KUNIT_EXPECT_EQ(test, before, refcount_read(&t->ctx->ref));
	rca_queue_put(NULL);
}

/* Private queues of ids are not in the list. */
static void queues_of_a_context_come_in_their_order(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct rca_queue *private = rca_queue_create(t->ctx, 64, false);
	struct rca_queue *last = rca_queue_create(t->ctx, 64, true);
	struct rca_queue *seen;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, private);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, last);
	seen = rca_queue_next(t->ctx, NULL, 0);
	KUNIT_EXPECT_PTR_EQ(test, t->a, seen);
	seen = rca_queue_next(t->ctx, seen, 0);
	KUNIT_EXPECT_PTR_EQ(test, t->b, seen);
	seen = rca_queue_next(t->ctx, seen, 0);
	KUNIT_EXPECT_PTR_EQ(test, last, seen);
	KUNIT_EXPECT_NULL(test, rca_queue_next(t->ctx, seen, 0));
	seen = rca_queue_next(t->ctx, NULL, t->a->serial);
	KUNIT_EXPECT_PTR_EQ(test, t->b, seen);
	rca_queue_put(seen);
	KUNIT_EXPECT_NULL(test, rca_queue_next(t->ctx, NULL, last->serial));

	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&last->ref));
	rca_queue_put(last);
	rca_queue_put(private);
	KUNIT_EXPECT_NULL(test, rca_queue_next(t->ctx, NULL, t->b->serial));
}

static void expect_stat(struct kunit *test, struct rca_queue *queue, u32 ids, u32 waiting)
{
	struct rca_queue_stat stat;

	rca_queue_stat(queue, &stat);
	KUNIT_EXPECT_EQ(test, ids, stat.ids);
	KUNIT_EXPECT_EQ(test, waiting, stat.waiting);
}

static void look_counts_ids_and_events(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *x = new_node(test, t->a), *y = new_node(test, t->a);
	struct rca_queue_stat stat;

	post(test, x, ADDR);
	post(test, x, ROUTE);
	notice(y, DISCONNECTED, 0);

	expect_stat(test, t->a, 2, 3);
	rca_queue_stat(t->a, &stat);
	KUNIT_EXPECT_EQ(test, 0U, stat.ring);
	KUNIT_EXPECT_EQ(test, 0U, stat.readers);
	expect_stat(test, t->b, 0, 0);

	expect(test, t->a, x, ADDR);
	expect(test, t->a, x, ROUTE);
	expect_stat(test, t->a, 2, 1);
	expect(test, t->a, y, DISCONNECTED);
}

static void look_counts_each_event_of_a_notice(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *x = new_node(test, t->a), *y = new_node(test, t->a);

	post(test, x, ADDR);
	notice(y, DISCONNECTED, 0);
	notice(y, TIMEWAIT, 0);
	notice(y, REMOVAL, 0);
	expect_stat(test, t->a, 2, 4);

	expect(test, t->a, x, ADDR);
	expect(test, t->a, y, DISCONNECTED);
	expect_stat(test, t->a, 2, 2);
	expect(test, t->a, y, TIMEWAIT);
	expect(test, t->a, y, REMOVAL);
	expect_stat(test, t->a, 2, 0);
}

static void look_counts_what_moves_and_what_is_dropped(struct kunit *test)
{
	struct events_test *t = test->priv;
	struct event_node *x = new_node(test, t->a), *y = new_node(test, t->a);

	post(test, x, ADDR);
	notice(x, DISCONNECTED, 0);
	notice(x, TIMEWAIT, 0);
	post(test, y, ADDR);
	KUNIT_EXPECT_EQ(test, 0, rca_source_move(&x->src, t->b, NULL, NULL));
	expect_stat(test, t->a, 1, 1);
	expect_stat(test, t->b, 1, 3);
	rca_source_detach(&x->src, NULL);
	expect_stat(test, t->b, 0, 0);
	rca_source_detach(&y->src, NULL);
	expect_stat(test, t->a, 0, 0);
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
	KUNIT_CASE(queue_that_needs_cookies_drops_events_without),
	KUNIT_CASE(cookie_that_is_set_before_the_queue_counts),
	KUNIT_CASE(part_that_goes_last_has_nothing_to_drop),
	KUNIT_CASE(consume_request_publishes_and_attaches_the_child),
	KUNIT_CASE(consume_request_attaches_to_the_queue_that_the_reader_names),
	KUNIT_CASE(consume_request_of_closed_queue_leaves_the_child_without),
	KUNIT_CASE(notice_has_the_head_of_a_record),
	KUNIT_CASE(notice_pending_twice_comes_once),
	KUNIT_CASE(notice_of_timewait_has_status_zero),
	KUNIT_CASE(notice_of_the_network_keeps_its_status),
	KUNIT_CASE(notices_keep_their_order_and_status),
	KUNIT_CASE(notices_without_memory_are_merged),
	KUNIT_CASE(notice_while_another_is_delivered_is_kept),
	KUNIT_CASE(queue_wakes_for_what_is_new),
	KUNIT_CASE(queue_keeps_its_context),
	KUNIT_CASE(queues_of_a_context_come_in_their_order),
	KUNIT_CASE(look_counts_ids_and_events),
	KUNIT_CASE(look_counts_each_event_of_a_notice),
	KUNIT_CASE(look_counts_what_moves_and_what_is_dropped),
	{}
};

static struct kunit_suite events_suite = {
	.name = "rdma_cm_alt_events",
	.init = events_init,
	.exit = events_exit,
	.test_cases = events_cases,
};

kunit_test_suite(events_suite);
