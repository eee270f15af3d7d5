// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of destroy.c: ids that are created while their queue, context or
 * device is closed or removed. Also ids without a queue, a peer or a free port.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/workqueue.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "event/queue.h"
#include "fake/addresses.h"
#include "fake/fake_suite.h"
#include "net/ports_fixture.h"
#include "lib/testing.h"

static struct rca_id *new_id(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id = rca_id_create(fake->ctx, fake->queue, RDMA_PS_TCP, IB_QPT_RC,
					  FAKE_COOKIE);

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	return id;
}

static bool is_known(struct kunit *test, u32 handle)
{
	struct fake *fake = test->priv;
	struct rca_id *id = rca_id_lookup(fake->ctx, handle);

	if (IS_ERR(id))
		return false;
	rca_id_put(id);
	return true;
}

static void closed_queue_takes_no_id(struct kunit *test)
{
	struct fake *fake = test->priv;
	unsigned int refs = refcount_read(&fake->queue->ref);
	struct rca_usage context, user;
	struct rca_id *id;

	rca_queue_mark_closed(fake->queue);
	id = rca_id_create(fake->ctx, fake->queue, RDMA_PS_TCP, IB_QPT_RC, FAKE_COOKIE);
	KUNIT_EXPECT_PTR_EQ(test, (void *)id, ERR_PTR(-EINVAL));
	KUNIT_EXPECT_EQ(test, refcount_read(&fake->queue->ref), refs);
	rca_account_usage(&fake->ctx->account, RDMA_CM_ALT_RESOURCE_IDS, &context, &user);
	KUNIT_EXPECT_EQ(test, context.used, 0u);
}

/* The creator of the id continues, and the id exists until the context is closed. */
static void queue_is_closed_before_its_id_is_known(struct kunit *test)
{
	struct rca_id *id = new_id(test);
	struct fake *fake = test->priv;
	u32 handle = id->obj.handle;

	rca_queue_shutdown(fake->queue);
	KUNIT_EXPECT_NULL(test, id->src.queue);
	fake_expect_state(test, id, RCA_ST_IDLE);
	rca_id_publish(id);
	KUNIT_EXPECT_TRUE(test, is_known(test, handle));
	rca_ctx_shutdown(fake->ctx);
	KUNIT_EXPECT_FALSE(test, is_known(test, handle));
}

/* Somebody else, who was passed the queue, closes it while a thread of its user holds an id. */
static void close_by_another_user_does_not_wait(struct kunit *test)
{
	struct rca_id *id = rca_id_get(new_id(test));
	struct fake *fake = test->priv;
	struct pid *pid = fake->ctx->pid;
	struct cred *other = prepare_creds();
	const struct cred *before;

	KUNIT_ASSERT_NOT_NULL(test, other);
	other->uid = KUIDT_INIT(4711);
	rca_id_publish(id);
	mutex_lock(&id->op);
	fake->ctx->pid = NULL;	/* this thread opened it */
	before = override_creds(other);
	rca_queue_shutdown(fake->queue);
	revert_creds(before);
	put_cred(other);
	fake->ctx->pid = pid;
	mutex_unlock(&id->op);
	rca_shutdown_exit();
	fake_expect_state(test, id, RCA_ST_DESTROYING);
	KUNIT_EXPECT_NULL(test, id->src.queue);
	rca_id_put(id);
}

static void device_goes_before_it_has_the_id(struct kunit *test)
{
	struct rca_id *id = new_id(test);
	struct fake *fake = test->priv;

	rca_id_publish(id);
	fake->dev.removing = true;
	KUNIT_EXPECT_EQ(test, rca_id_attach(id, &fake->dev, 1, NULL), -ENODEV);
	KUNIT_EXPECT_NULL(test, id->dev);
	KUNIT_EXPECT_TRUE(test, list_empty(&fake->dev.ids));
}

/* The id is attached and the bind then fails: the id is idle again and gets no event. */
static void device_goes_while_a_bind_fails(struct kunit *test)
{
	struct rca_id *id = new_id(test);
	struct fake *fake = test->priv;

	rca_id_publish(id);
	KUNIT_ASSERT_EQ(test, rca_id_attach(id, &fake->dev, 1, NULL), 0);
	fake->dev.removing = true;
	rca_teardown_device(&fake->dev);
	KUNIT_EXPECT_NULL(test, id->dev);
	fake_expect_state(test, id, RCA_ST_IDLE);
	fake_expect_no_event(test);
}

struct removal {
	struct work_struct work;
	struct rca_device *dev;
};

static void remove_device(struct work_struct *work)
{
	rca_teardown_device(container_of(work, struct removal, work)->dev);
}

/* The bind to a device that goes fails, and the program binds the id to another device. */
static void device_goes_after_the_id_has_left_it(struct kunit *test)
{
	struct rca_id *id = new_id(test);
	struct fake *fake = test->priv;
	struct fake *other = fake_create(test);
	struct removal removal = { .dev = &fake->dev };

	INIT_WORK_ONSTACK(&removal.work, remove_device);
	rca_id_publish(id);
	mutex_lock(&id->op);
	KUNIT_ASSERT_EQ(test, rca_id_attach(id, &fake->dev, 1, NULL), 0);
	fake->dev.removing = true;
	schedule_work(&removal.work);
	/* By then it waits for the mutex. */
	msleep(150);
	rca_id_detach(id);
	KUNIT_EXPECT_EQ(test, rca_id_attach(id, &other->dev, 1, NULL), 0);
	rca_id_step(id, RCA_IN_BIND);
	mutex_unlock(&id->op);
	flush_work(&removal.work);
	destroy_work_on_stack(&removal.work);

	KUNIT_EXPECT_PTR_EQ(test, id->dev, &other->dev);
	fake_expect_state(test, id, RCA_ST_BOUND);
	fake_expect_no_event(test);
	rca_teardown_device(&other->dev);
	fake_expect_state(test, id, RCA_ST_REMOVED);
	fake_destroy(other);
}

/* A caller that guessed the handle destroys the id of a request that is still in the ring. */
static void request_that_is_dropped_after_its_id(struct kunit *test)
{
	struct rca_id *listener = new_id(test), *child = rca_id_create_child(listener);
	struct rca_event *ev;
	struct fake *fake = test->priv;
	u32 reported;

	rca_id_publish(listener);
	KUNIT_ASSERT_FALSE(test, IS_ERR(child));
	rca_id_get(child);
	ev = rca_event_alloc(fake->ctx, GFP_KERNEL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ev));
	ev->rec.type = RDMA_CM_ALT_EVENT_CONNECT_REQUEST;
	ev->child = &child->obj;
	ev->child_src = &child->src;
	spin_lock_irq(&listener->lock);
	rca_post(&listener->src, ev);
	spin_unlock_irq(&listener->lock);
	mutex_lock(&fake->queue->consume);
	rca_event_publish_child(ev, fake->queue);
	mutex_unlock(&fake->queue->consume);

	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, child->obj.handle, &reported), 0);
	fake_expect_state(test, child, RCA_ST_DESTROYING);
	/* That of the event and that of the test. */
	KUNIT_EXPECT_EQ(test, refcount_read(&child->obj.ref), 2u);
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, listener->obj.handle, &reported), 0);
	KUNIT_EXPECT_EQ(test, reported, 0u);
	KUNIT_EXPECT_EQ(test, refcount_read(&child->obj.ref), 1u);
	rca_id_put(child);
	fake_expect_no_event(test);
}

/* Without a peer the route has no GID of the peer and no path. */
static void route_of_an_id_without_a_peer(struct kunit *test)
{
	struct rca_id *id = new_id(test);
	struct fake *fake = test->priv;
	struct rdma_cm_alt_route route;

	id->local = *rca_test_addr(test, "10.9.0.1", 5000);
	rca_id_publish(id);
	KUNIT_ASSERT_EQ(test, rca_id_attach(id, &fake->dev, 1, NULL), 0);
	memset(&route, 0xff, sizeof(route));
	rca_id_fill_route(id, &route);
	KUNIT_EXPECT_EQ(test, (int)route.port_num, 1);
	KUNIT_EXPECT_NULL(test, memchr_inv(route.dgid, 0, sizeof(route.dgid)));
	KUNIT_EXPECT_EQ(test, route.num_paths, 0u);
}

static struct rca_id *bound_without_a_port(struct kunit *test)
{
	struct rca_id *id = new_id(test);
	struct fake *fake = test->priv;

	id->local = *rca_test_addr(test, "10.9.0.1", 0);
	rca_id_publish(id);
	KUNIT_ASSERT_EQ(test, rca_id_attach(id, &fake->dev, 1, NULL), 0);
	rca_id_step(id, RCA_IN_BIND);
	return id;
}

static void listener_that_finds_no_port(struct kunit *test)
{
	struct rca_id *id = bound_without_a_port(test);
	struct fake *fake = test->priv;
	struct rca_bind *binds;
	int count;

	binds = fill_range(test, "0.0.0.0", 0, &count);
	KUNIT_EXPECT_EQ(test, rca_listen(id, 1), -EADDRNOTAVAIL);
	fake_expect_state(test, id, RCA_ST_BOUND);
	KUNIT_EXPECT_EQ(test, fake->listens, 0);
	empty_range(binds, count);
	KUNIT_EXPECT_EQ(test, rca_listen(id, 1), 0);
	KUNIT_EXPECT_EQ(test, fake->listens, 1);
}

/* Another user has the service ID of the last free port. */
static void listener_that_finds_no_other_port(struct kunit *test)
{
	struct rca_id *id = bound_without_a_port(test);
	struct fake *fake = test->priv;
	struct rca_bind *binds;
	int count;

	binds = fill_range(test, "0.0.0.0", 1, &count);
	fake->busy = true;
	KUNIT_EXPECT_EQ(test, rca_listen(id, 1), -EADDRINUSE);
	fake_expect_state(test, id, RCA_ST_BOUND);
	fake->busy = false;
	KUNIT_EXPECT_EQ(test, rca_listen(id, 1), 0);
	empty_range(binds, count);
}

static struct kunit_case closing_cases[] = {
	KUNIT_CASE(closed_queue_takes_no_id),
	KUNIT_CASE(queue_is_closed_before_its_id_is_known),
	KUNIT_CASE(close_by_another_user_does_not_wait),
	KUNIT_CASE(device_goes_before_it_has_the_id),
	KUNIT_CASE(device_goes_while_a_bind_fails),
	KUNIT_CASE(device_goes_after_the_id_has_left_it),
	KUNIT_CASE(request_that_is_dropped_after_its_id),
	KUNIT_CASE(route_of_an_id_without_a_peer),
	KUNIT_CASE(listener_that_finds_no_port),
	KUNIT_CASE(listener_that_finds_no_other_port),
	{}
};

static struct kunit_suite closing_suite = {
	.name = "rdma_cm_alt_closing",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = closing_cases,
};
kunit_test_suite(closing_suite);
