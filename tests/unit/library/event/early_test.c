// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of events of a request's id that one thread reads while another one makes the id. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "core/channel.h"
#include "fake/fixture.h"

/* A request that a thread has read, but not handled, and an event of its id behind. */
struct early {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *listener;
	union rcl_record rec;
	struct rcl_claim claim;
};

static void read_request(struct early *early)
{
	struct rcl_ring *ring;
	uint32_t child;

	early->ch = rdma_create_event_channel();
	early->listener = listener(early->ch);
	child = fake_request(handle_of(early->listener));
	fake_post_type(RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, child, 0);
	assert_int_equal(rcl_channel_next(early->ch, &early->rec, &ring), 0);
	assert_true(rcl_event_take(&early->rec.event, ring, &early->claim));
	alarm(60);
}

static struct rdma_cm_id *handle_request(struct early *early)
{
	struct rcl_event *ev = rcl_event_alloc();
	struct rdma_cm_id *child;

	assert_int_equal(rcl_event_handle(early->ch, early->claim, &early->rec.event, ev),
			 RCL_DELIVER);
	assert_int_equal(ev->event.event, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = ev->event.id;
	assert_int_equal(rdma_ack_cm_event(&ev->event), 0);
	return child;
}

/* The destroy would wait for an event that was delivered, but to nobody. */
static void finish(struct early *early, struct rdma_cm_id *child)
{
	assert_int_equal(rdma_destroy_id(child), 0);
	assert_int_equal(rdma_destroy_id(early->listener), 0);
	alarm(0);
	rdma_destroy_event_channel(early->ch);
}

static void *take_removal(void *ch)
{
	struct rdma_cm_event *event = take(ch, RDMA_CM_EVENT_DEVICE_REMOVAL);
	struct rdma_cm_id *id = event->id;

	assert_int_equal(rdma_ack_cm_event(event), 0);
	return id;
}

TEST(event_of_a_request_waits_for_its_id)
{
	struct rdma_cm_id *child;
	struct early early;
	pthread_t thread;
	void *id;

	read_request(&early);
	pthread_create(&thread, NULL, take_removal, early.ch);
	usleep(50000);
	child = handle_request(&early);
	pthread_join(thread, &id);
	assert_ptr_equal(id, child);
	finish(&early, child);
}

TEST(event_of_a_request_that_takes_too_long_is_counted)
{
	struct rdma_cm_event *event;
	struct early early;

	read_request(&early);
	fcntl(early.ch->fd, F_SETFL, O_NONBLOCK);
	/* The thread of the request goes on only after this. */
	assert_fails(EAGAIN, rdma_get_cm_event(early.ch, &event));
	finish(&early, handle_request(&early));
}

/* No thread has its request. */
TEST(event_of_an_unknown_id_is_soon_dropped)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch);
	int i;

	for (i = 0; i < 100; i++)
		fake_post_type(RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, fake_child(handle_of(l)), 0);
	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(l), 0);
	alarm(20);
	take_and_ack(ch, RDMA_CM_EVENT_ADDR_CHANGE);
	alarm(0);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

RUN
