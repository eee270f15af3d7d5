// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of joining and leaving groups in one thread, while another one reads the events. */
#include <fcntl.h>
#include <pthread.h>

#include "fake/fixture.h"

#define GROUP "239.1.1.1"

static struct rdma_cm_id *bound(struct rdma_event_channel *ch)
{
	struct rdma_cm_id *id = new_ud_id(ch);

	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 7000)), 0);
	add_qp(id);
	return id;
}

static int join_group(struct rdma_cm_id *id)
{
	return rdma_join_multicast(id, addr4(GROUP, 0), NULL);
}

static int leave(struct rdma_cm_id *id)
{
	return rdma_leave_multicast(id, addr4(GROUP, 0));
}

static struct rdma_cm_id *joining;

/* Before the call that joins has returned, another thread reads the event, and leaves. */
static void leave_in_join(unsigned int cmd)
{
	if (cmd != RDMA_CM_ALT_CMD_JOIN)
		return;
	fake.on_return = NULL;
	take_and_ack(joining->channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(leave(joining), 0);
}

TEST(group_may_be_left_as_soon_as_its_event_is_read)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);

	joining = id;
	fake.on_return = leave_in_join;
	assert_int_equal(join_group(id), 0);
	assert_int_equal(fake.calls[FAKE(LEAVE)], 1);
	assert_int_equal(fake_verbs.attached, 0);
	assert_fails(EADDRNOTAVAIL, leave(id));
	destroy_with_qp(id, ch);
}

static void *join_and_leave(void *arg)
{
	struct rdma_cm_id *id = arg;
	int i;

	for (i = 0; i < 50; i++) {
		if (join_group(id) || leave(id))
			return arg;
	}
	return NULL;
}

/* The reader attaches the QP while the other thread leaves. */
TEST(leave_races_with_the_reader)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);
	struct rdma_cm_event *event;
	pthread_t thread;
	void *failed;

	fcntl(ch->fd, F_SETFL, O_NONBLOCK);
	pthread_create(&thread, NULL, join_and_leave, id);
	while (pthread_tryjoin_np(thread, &failed)) {
		if (!rdma_get_cm_event(ch, &event))
			rdma_ack_cm_event(event);
	}
	assert_null(failed);
	assert_int_equal(fake_verbs.attached, 0);
	destroy_with_qp(id, ch);
}

RUN
