// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/lib/uerrno.c and of its two uses for events: no internal errno reaches user
 * space, and the status of a user event is not changed.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/errno.h>

#include "cm/cm.h"
#include "fake/fake_suite.h"
#include "lib/uerrno.h"

static void what_has_a_name_stays(struct kunit *test)
{
	int err;

	for (err = -133; err <= 255; err++)
		KUNIT_EXPECT_EQ(test, rca_user_errno(err), err);
}

static void what_has_none_gets_one(struct kunit *test)
{
	int err, got;

	for (err = -MAX_ERRNO; err <= -ERESTARTSYS; err++) {
		got = rca_user_errno(err);
		if (got >= 0 || got < -133)
			KUNIT_FAIL(test, "%d became %d", err, got);
	}
	KUNIT_EXPECT_EQ(test, rca_user_errno(-ENOTSUPP), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, rca_user_errno(-ERESTARTSYS), -EINTR);
	KUNIT_EXPECT_EQ(test, rca_user_errno(-ENOIOCTLCMD), -ENOTTY);
	KUNIT_EXPECT_EQ(test, rca_user_errno(-EPROBE_DEFER), -EAGAIN);
	KUNIT_EXPECT_EQ(test, rca_user_errno(-EBADHANDLE), -EIO);
}

static struct rca_tp_conn no_params(void)
{
	return (struct rca_tp_conn){ .qp_num = 1 };
}

/* A status from lower layers. */
static void status_of_an_event_has_a_name(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id = fake_active_id(test, fake, 5);
	struct rca_tp_conn conn = no_params();
	struct rdma_cm_alt_event rec;

	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	fake_message(id, RCA_IN_REQ_TIMEOUT, -ENOTSUPP);

	KUNIT_ASSERT_TRUE(test, fake_take_event(fake, &rec));
	KUNIT_EXPECT_EQ(test, rec.type, (u32)RDMA_CM_ALT_EVENT_UNREACHABLE);
	KUNIT_EXPECT_EQ(test, rec.status, -EOPNOTSUPP);
}

static void status_of_a_user_event_is_the_users(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id = fake_active_id(test, fake, 5);
	struct rdma_cm_alt_event rec;

	KUNIT_ASSERT_EQ(test, rca_id_post_user(id, RDMA_CM_ALT_EVENT_USER, -ENOTSUPP, 77), 0);

	KUNIT_ASSERT_TRUE(test, fake_take_event(fake, &rec));
	KUNIT_EXPECT_EQ(test, rec.type, (u32)RDMA_CM_ALT_EVENT_USER);
	KUNIT_EXPECT_EQ(test, rec.status, -ENOTSUPP);
	KUNIT_EXPECT_EQ(test, rec.user_status, -ENOTSUPP);
	KUNIT_EXPECT_EQ(test, rec.user_arg, 77ULL);
	KUNIT_EXPECT_EQ(test, rec.cookie, 5ULL);
	KUNIT_EXPECT_EQ(test, rec.id, id->obj.handle);
}

static void user_events_that_wait_are_counted(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id = fake_active_id(test, fake, 5);
	struct rdma_cm_alt_event rec;
	u32 reported;
	int i;

	for (i = 0; i < RCA_MAX_USER_EVENTS; i++)
		KUNIT_ASSERT_EQ(test, rca_id_post_user(id, RDMA_CM_ALT_EVENT_USER, 0, i), 0);
	KUNIT_EXPECT_EQ(test, rca_id_post_user(id, RDMA_CM_ALT_EVENT_USER, 0, i), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, atomic_read(&id->opts->user_events), RCA_MAX_USER_EVENTS);

	KUNIT_ASSERT_TRUE(test, fake_take_event(fake, &rec));
	KUNIT_EXPECT_EQ(test, rec.user_arg, 0ULL);
	KUNIT_EXPECT_EQ(test, atomic_read(&id->opts->user_events), RCA_MAX_USER_EVENTS - 1);

	rca_id_get(id);
	KUNIT_EXPECT_EQ(test, rca_destroy(fake->ctx, id->obj.handle, &reported), 0);
	KUNIT_EXPECT_EQ(test, reported, 1U);
	KUNIT_EXPECT_EQ(test, atomic_read(&id->opts->user_events), 0);
	/* A thread that looked the id up before it was destroyed. */
	KUNIT_EXPECT_EQ(test, rca_id_post_user(id, RDMA_CM_ALT_EVENT_USER, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&id->opts->user_events), 0);
	KUNIT_EXPECT_FALSE(test, fake_take_event(fake, &rec));
	rca_id_put(id);
}

static struct kunit_case uerrno_cases[] = {
	KUNIT_CASE(what_has_a_name_stays),
	KUNIT_CASE(what_has_none_gets_one),
	KUNIT_CASE(status_of_an_event_has_a_name),
	KUNIT_CASE(status_of_a_user_event_is_the_users),
	KUNIT_CASE(user_events_that_wait_are_counted),
	{}
};

static struct kunit_suite uerrno_suite = {
	.name = "rdma_cm_alt_uerrno",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = uerrno_cases,
};

kunit_test_suite(uerrno_suite);
