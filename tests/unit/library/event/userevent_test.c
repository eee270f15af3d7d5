// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of user events, and of lookups that end with an event. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "fake/fixture.h"
#include "base/rdma_cma_new.h"

/* <rdma/rdma_cma.h> may be older. */
#define EVENT_ADDRINFO_RESOLVED 16
#define EVENT_ADDRINFO_ERROR 17
#define EVENT_USER 18

static uint64_t arg_of(const struct rdma_cm_event *event)
{
	uint64_t arg;

	memcpy(&arg, &event->param, sizeof(arg));
	return arg;
}

TEST(write_event_comes_back_with_status_and_argument)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_event *event;

	assert_int_equal(rdma_write_cm_event(id, EVENT_USER, -7, 0x0123456789abcdefULL), 0);
	assert_int_equal(rdma_write_cm_event(id, EVENT_USER, 8, 2), 0);
	event = take(ch, EVENT_USER);
	assert_ptr_equal(event->id, id);
	assert_int_equal(event->status, -7);
	assert_true(arg_of(event) == 0x0123456789abcdefULL);
	rdma_ack_cm_event(event);
	event = take(ch, EVENT_USER);
	assert_int_equal(event->status, 8);
	assert_true(arg_of(event) == 2);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(only_user_events_can_be_written)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	int type;

	for (type = 0; type < 32; type++) {
		if (type != EVENT_USER)
			assert_fails(EINVAL, rdma_write_cm_event(id, type, 0, 0));
	}
	assert_fails(EINVAL, rdma_write_cm_event(id, -1, 0, 0));
	assert_fails(EINVAL, rdma_write_cm_event(NULL, EVENT_USER, 0, 0));
	assert_int_equal(fake.calls[FAKE(POST_EVENT)], 0);
	fake.fail[FAKE(POST_EVENT)] = ENOMEM;
	assert_fails(ENOMEM, rdma_write_cm_event(id, EVENT_USER, 0, 0));
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

static void *write_later(void *id)
{
	usleep(20000);
	rdma_write_cm_event(id, EVENT_USER, 0, 42);
	return NULL;
}

TEST(write_event_wakes_a_reader)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	pthread_t thread;

	pthread_create(&thread, NULL, write_later, id);
	take_and_ack(ch, EVENT_USER);
	pthread_join(thread, NULL);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

/* The event does not answer the call that it ends. */
TEST(write_event_interrupts_a_synchronous_call)
{
	struct rdma_cm_id *id = new_id(NULL), *l = listener(NULL), *child;

	fake.addr_event = FAKE_NO_EVENT;
	assert_int_equal(rdma_write_cm_event(id, EVENT_USER, 0, 0), 0);
	assert_fails(EINTR, rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 7001), 1000));
	assert_int_equal(id->event->event, EVENT_USER);
	assert_int_equal(rdma_write_cm_event(id, EVENT_USER, ECANCELED, 0), 0);
	assert_fails(ECANCELED, rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 7001), 1000));
	assert_int_equal(rdma_write_cm_event(l, EVENT_USER, 0, 0), 0);
	assert_fails(EINTR, rdma_get_request(l, &child));
	assert_int_equal(rdma_destroy_id(l), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(new_events_have_the_names_of_librdmacm)
{
	assert_string_equal(rdma_event_str(EVENT_ADDRINFO_RESOLVED),
			    "RDMA_CM_EVENT_ADDRINFO_RESOLVED");
	assert_string_equal(rdma_event_str(EVENT_ADDRINFO_ERROR),
			    "RDMA_CM_EVENT_ADDRINFO_ERROR");
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_MULTICAST_JOIN),
			    "RDMA_CM_EVENT_MULTICAST_JOIN");
	assert_string_equal(rdma_event_str(EVENT_USER), "UNKNOWN EVENT");
	assert_string_equal(rdma_event_str(EVENT_USER + 1), "UNKNOWN EVENT");
	assert_string_equal(rdma_event_str(-1), "UNKNOWN EVENT");
}

TEST(lookup_ends_with_an_event)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_addrinfo *info = NULL;
	const struct sockaddr_in *dst;
	struct rdma_cm_event *event;

	assert_fails(ENOENT, rdma_query_addrinfo(id, &info));
	assert_int_equal(rdma_resolve_addrinfo(id, "10.9.0.2", "7001", NULL), 0);
	/* One lookup at a time, until its result was taken. */
	assert_fails(EBUSY, rdma_resolve_addrinfo(id, "10.9.0.2", "7001", NULL));
	event = take(ch, EVENT_ADDRINFO_RESOLVED);
	assert_ptr_equal(event->id, id);
	assert_int_equal(event->status, 0);
	rdma_ack_cm_event(event);
	assert_fails(EBUSY, rdma_resolve_addrinfo(id, "10.9.0.2", "7001", NULL));
	assert_int_equal(rdma_query_addrinfo(id, &info), 0);
	dst = (const void *)info->ai_dst_addr;
	assert_int_equal(dst->sin_port, htons(7001));
	assert_int_equal(dst->sin_addr.s_addr, inet_addr("10.9.0.2"));
	rdma_freeaddrinfo(info);
	assert_fails(ENOENT, rdma_query_addrinfo(id, &info));
	assert_int_equal(rdma_resolve_addrinfo(id, "10.9.0.2", "7001", NULL), 0);
	take_and_ack(ch, EVENT_ADDRINFO_RESOLVED);
	/* Destroying the id frees a result that was not taken. */
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(name_that_is_not_found_is_an_event)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST | RAI_DNS };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_addrinfo *info;
	struct rdma_cm_event *event;

	assert_int_equal(rdma_resolve_addrinfo(id, "no.such.name", NULL, &hints), 0);
	event = take(ch, EVENT_ADDRINFO_ERROR);
	assert_int_equal(event->status, -ENOENT);
	rdma_ack_cm_event(event);
	assert_fails(ENOENT, rdma_query_addrinfo(id, &info));
	/* The next lookup may start. */
	assert_int_equal(rdma_resolve_addrinfo(id, "10.9.0.2", NULL, &hints), 0);
	take_and_ack(ch, EVENT_ADDRINFO_RESOLVED);
	assert_int_equal(rdma_query_addrinfo(id, &info), 0);
	rdma_freeaddrinfo(info);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(lookup_errors_are_errnos)
{
	struct rdma_addrinfo family = { .ai_family = 999 }, none = { .ai_flags = RAI_DNS };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_event *event;

	assert_int_equal(rdma_resolve_addrinfo(id, "10.9.0.2", "1", &family), 0);
	event = take(ch, EVENT_ADDRINFO_ERROR);
	assert_int_equal(event->status, -EAFNOSUPPORT);
	rdma_ack_cm_event(event);
	none.ai_port_space = RDMA_PS_TCP;
	assert_int_equal(rdma_resolve_addrinfo(id, "10.9.0.2", "no such service", &none), 0);
	event = take(ch, EVENT_ADDRINFO_ERROR);
	assert_int_equal(event->status, -ENOENT);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(lookup_that_does_not_start_has_no_event)
{
	struct rdma_addrinfo sa = { .ai_flags = RAI_SA }, both = { .ai_flags = RAI_SA | RAI_DNS };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_addrinfo *info;

	assert_fails(EINVAL, rdma_resolve_addrinfo(NULL, "10.9.0.2", NULL, NULL));
	assert_fails(EINVAL, rdma_resolve_addrinfo(id, NULL, NULL, NULL));
	assert_fails(EINVAL, rdma_resolve_addrinfo(id, NULL, NULL, &sa));
	assert_fails(ENOTSUP, rdma_resolve_addrinfo(id, "10.9.0.2", "1", &sa));
	assert_fails(ENOTSUP, rdma_resolve_addrinfo(id, NULL, "1", &both));
	assert_int_equal(fake.calls[FAKE(RESOLVE_SERVICE)], 0);
	fake.fail[FAKE(RESOLVE_SERVICE)] = EOPNOTSUPP;
	assert_fails(EOPNOTSUPP, rdma_resolve_addrinfo(id, NULL, "1", &sa));
	assert_fails(EINVAL, rdma_query_addrinfo(NULL, &info));
	assert_fails(EINVAL, rdma_query_addrinfo(id, NULL));
	assert_int_equal(fake.calls[FAKE(POST_EVENT)], 0);
	fake.fail[FAKE(POST_EVENT)] = ENOMEM;
	assert_fails(ENOMEM, rdma_resolve_addrinfo(id, "10.9.0.2", "1", NULL));
	assert_fails(ENOENT, rdma_query_addrinfo(id, &info));
	assert_int_equal(rdma_resolve_addrinfo(id, "10.9.0.2", "1", NULL), 0);
	take_and_ack(ch, EVENT_ADDRINFO_RESOLVED);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

static struct rdma_cm_id *looking;
static struct rdma_addrinfo *taken;

/* Another thread takes the result before the event of the lookup is posted, which fails. */
static void take_result(unsigned int cmd)
{
	if (cmd == RDMA_CM_ALT_CMD_POST_EVENT)
		assert_int_equal(rdma_query_addrinfo(looking, &taken), 0);
}

TEST(lookup_that_fails_leaves_a_result_that_was_taken)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);

	looking = id;
	fake.on_call = take_result;
	fake.fail[FAKE(POST_EVENT)] = ENOBUFS;
	assert_fails(ENOBUFS, rdma_resolve_addrinfo(id, "10.9.0.2", "7001", NULL));
	fake.on_call = NULL;
	assert_int_equal(taken->ai_dst_len, sizeof(struct sockaddr_in));
	rdma_freeaddrinfo(taken);
	assert_int_equal(rdma_resolve_addrinfo(id, "10.9.0.2", "7001", NULL), 0);
	take_and_ack(ch, EVENT_ADDRINFO_RESOLVED);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(synchronous_lookup_waits)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST };
	struct rdma_cm_id *id = new_id(NULL);
	struct rdma_addrinfo *info;

	assert_int_equal(rdma_resolve_addrinfo(id, "10.9.0.2", "7001", NULL), 0);
	assert_int_equal(id->event->event, EVENT_ADDRINFO_RESOLVED);
	assert_int_equal(rdma_query_addrinfo(id, &info), 0);
	rdma_freeaddrinfo(info);
	assert_fails(ENOENT, rdma_resolve_addrinfo(id, "no.such.name", NULL, &hints));
	assert_int_equal(id->event->event, EVENT_ADDRINFO_ERROR);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* Without a lookup of the library such an event must be harmless. */
TEST(events_of_no_lookup_change_nothing)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_alt_event posted;
	struct rdma_addrinfo *info;

	posted = fake_event(EVENT_ADDRINFO_RESOLVED, handle_of(id));
	posted.flags = 0;
	fake_post(&posted);
	take_and_ack(ch, EVENT_ADDRINFO_RESOLVED);
	assert_fails(ENOENT, rdma_query_addrinfo(id, &info));
	assert_int_equal(rdma_resolve_addrinfo(id, "10.9.0.2", "7001", NULL), 0);
	take_and_ack(ch, EVENT_ADDRINFO_RESOLVED);
	fake_post_type(EVENT_ADDRINFO_ERROR, handle_of(id), -EIO);
	take_and_ack(ch, EVENT_ADDRINFO_ERROR);
	assert_fails(EBUSY, rdma_resolve_addrinfo(id, "10.9.0.2", "7001", NULL));
	assert_int_equal(rdma_query_addrinfo(id, &info), 0);
	rdma_freeaddrinfo(info);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

/* The kernel has no cookie of the id yet. */
TEST(request_that_is_not_accepted_takes_events)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *l = listener(ch), *other = new_id(ch), *child;
	struct rdma_cm_event *request, *event;

	fake_request(handle_of(l));
	request = take(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = request->id;
	assert_int_equal(rdma_write_cm_event(child, EVENT_USER, 1, 2), 0);
	event = take(ch, EVENT_USER);
	assert_ptr_equal(event->id, child);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_resolve_addrinfo(child, "10.9.0.2", "1", NULL), 0);
	event = take(ch, EVENT_ADDRINFO_RESOLVED);
	assert_ptr_equal(event->id, child);
	rdma_ack_cm_event(event);
	rdma_ack_cm_event(request);
	/* This does not block for ever: the events were counted on the id. */
	assert_int_equal(rdma_destroy_id(child), 0);
	/* An event for an unknown id is dropped. */
	fake.ids[handle_of(other)].cookie = 0;
	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(other), 0);
	rcl_id_of(other)->handle += 100;
	fake_post_type(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(l), 0);
	event = take(ch, RDMA_CM_EVENT_ADDR_CHANGE);
	assert_ptr_equal(event->id, l);
	rdma_ack_cm_event(event);
	rcl_id_of(other)->handle -= 100;
	fake.ids[handle_of(other)].reported = 0;
	assert_int_equal(rdma_destroy_id(other), 0);
	assert_int_equal(rdma_destroy_id(l), 0);
	rdma_destroy_event_channel(ch);
}

RUN
