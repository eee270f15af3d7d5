/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Channels whose event ring is mapped, and numbered events. */
#ifndef RING_FIXTURE_H
#define RING_FIXTURE_H

#include <fcntl.h>

#include "fake/fake_ring.h"
#include "fake/fixture.h"
#include "base/rdma_cma_new.h"
#include "core/ring.h"

#define USER ((int)RDMA_CM_ALT_EVENT_USER)

static inline struct rdma_event_channel *new_channel(void)
{
	fake.features = RDMA_CM_ALT_FEATURE_RING;
	return rdma_create_event_channel();
}

static inline void post(struct rdma_cm_id *id, int number)
{
	struct rdma_cm_alt_event event = fake_event(RDMA_CM_ALT_EVENT_USER, handle_of(id));

	event.user_status = number;
	fake_post(&event);
}

static inline int take_number(struct rdma_event_channel *ch, struct rdma_cm_id *id)
{
	struct rdma_cm_event *event = take(ch, USER);
	int number = event->status;

	assert_ptr_equal(event->id, id);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	return number;
}

/* Use a channel until its ring is mapped, with the id that is returned. */
static inline struct rdma_cm_id *warm_up(struct rdma_event_channel *ch)
{
	struct rdma_cm_id *id = new_id(ch);
	int i;

	for (i = 0; i < RCL_RING_AFTER; i++) {
		assert_false(fake_ring_mapped(ch->fd));
		post(id, i);
		assert_int_equal(take_number(ch, id), i);
	}
	assert_true(fake_ring_mapped(ch->fd));
	fake.reads = 0;
	return id;
}

static inline void cool_down(struct rdma_event_channel *ch, struct rdma_cm_id *id)
{
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

static inline void nonblock(struct rdma_event_channel *ch)
{
	fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) | O_NONBLOCK);
}

#endif /* RING_FIXTURE_H */
