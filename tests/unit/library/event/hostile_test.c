// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The library validates everything from the kernel: handles, cookies, results, descriptors,
 * sizes.
 */
#include <fcntl.h>
#include <limits.h>
#include <rdma/rdma_cma_alt.h>
#include <unistd.h>

#include "core/context.h"
#include "fake/fixture.h"
#include "base/rdma_cma_new.h"
#include "base/sys.h"

static struct rdma_event_channel *quiet_channel(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();

	assert_non_null(ch);
	fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) | O_NONBLOCK);
	return ch;
}

/* A record that must not reach the program. */
static void is_dropped(struct rdma_event_channel *ch, const struct rdma_cm_alt_event *rec)
{
	struct rdma_cm_event *event = NULL;

	fake_post_to(ch->fd, rec);
	assert_fails(EAGAIN, rdma_get_cm_event(ch, &event));
}

static uint64_t cookie_of(struct rdma_cm_id *id)
{
	return rcl_id_of(id)->cookie;
}

/* The kernel's count is wrong in these tests: do not wait for it. */
static void end_id(struct rdma_cm_id *id)
{
	fake.ids[handle_of(id)].reported = 0;
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(cookie_of_a_membership_is_no_id)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *id = new_ud_id(ch);
	struct rdma_cm_alt_event rec;

	resolve(id);
	assert_int_equal(rdma_join_multicast(id, addr4("239.1.1.1", 0), NULL), 0);
	take_and_ack(ch, RDMA_CM_EVENT_MULTICAST_JOIN);
	rec = fake_event(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(id));
	rec.cookie = fake.last[FAKE(JOIN)].join.cookie;
	is_dropped(ch, &rec);
	end_id(id);
	rdma_destroy_event_channel(ch);
}

TEST(cookie_of_an_id_is_no_membership)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *id = new_ud_id(ch), *other = new_id(ch);
	struct rdma_cm_alt_event rec;

	resolve(id);
	rec = fake_event(RDMA_CM_ALT_EVENT_MULTICAST_JOIN, handle_of(id));
	rec.user_arg = cookie_of(other);
	is_dropped(ch, &rec);
	end_id(id);
	end_id(other);
	rdma_destroy_event_channel(ch);
}

TEST(membership_of_another_id_is_none_of_this_one)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *id = new_ud_id(ch), *other = new_ud_id(ch);
	struct rdma_cm_alt_event rec;

	resolve(id);
	resolve(other);
	assert_int_equal(rdma_join_multicast(id, addr4("239.1.1.1", 0), NULL), 0);
	take_and_ack(ch, RDMA_CM_EVENT_MULTICAST_JOIN);
	rec = fake_event(RDMA_CM_ALT_EVENT_MULTICAST_ERROR, handle_of(other));
	rec.user_arg = fake.last[FAKE(JOIN)].join.cookie;
	is_dropped(ch, &rec);
	end_id(other);
	end_id(id);
	rdma_destroy_event_channel(ch);
}

TEST(cookie_and_handle_name_the_same_id)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *id = new_id(ch), *other = new_id(ch);
	struct rdma_cm_alt_event rec;

	rec = fake_event(RDMA_CM_ALT_EVENT_ADDR_CHANGE, handle_of(id));
	rec.cookie = cookie_of(other);
	is_dropped(ch, &rec);
	end_id(id);
	end_id(other);
	rdma_destroy_event_channel(ch);
}

TEST(record_that_names_nothing_finds_nothing)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_alt_event rec = fake_event(RDMA_CM_ALT_EVENT_USER, handle_of(id));
	struct rcl_id *young;

	/* An id whose create has not reached the kernel yet has no handle. */
	young = rcl_id_new(ch, NULL, RDMA_PS_TCP, IBV_QPT_RC);
	assert_non_null(young);
	rec.cookie = 0;
	rec.id = 0;
	is_dropped(ch, &rec);
	rcl_id_free(young);
	end_id(id);
	rdma_destroy_event_channel(ch);
}

TEST(only_listeners_have_requests)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_alt_event rec;

	rec = fake_event(RDMA_CM_ALT_EVENT_CONNECT_REQUEST, fake_child(handle_of(id)));
	rec.listen_id = handle_of(id);
	rec.cookie = cookie_of(id);
	is_dropped(ch, &rec);
	end_id(id);

	/* The request of another listener, by its handle. */
	id = listener(ch);
	rec = fake_event(RDMA_CM_ALT_EVENT_CONNECT_REQUEST, fake_child(handle_of(id)));
	rec.listen_id = handle_of(id) + 7;
	rec.cookie = cookie_of(id);
	is_dropped(ch, &rec);
	end_id(id);
	rdma_destroy_event_channel(ch);
}

TEST(request_without_an_id_is_none)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *id = listener(ch);
	struct rdma_cm_alt_event rec;

	rec = fake_event(RDMA_CM_ALT_EVENT_CONNECT_REQUEST, 0);
	rec.listen_id = handle_of(id);
	rec.cookie = cookie_of(id);
	is_dropped(ch, &rec);
	end_id(id);
	rdma_destroy_event_channel(ch);
}

TEST(record_that_was_taken_back_is_no_event)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_alt_event rec;

	rec = fake_event(RDMA_CM_ALT_EVENT_SKIP, handle_of(id));
	is_dropped(ch, &rec);
	end_id(id);
	rdma_destroy_event_channel(ch);
}

TEST(private_data_ends_with_the_record)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_alt_event rec;
	struct rdma_cm_event *event;

	rec = fake_event(RDMA_CM_ALT_EVENT_REJECTED, handle_of(id));
	rec.private_data_len = UINT16_MAX;
	memset(rec.private_data, 0x5a, sizeof(rec.private_data));
	fake_post(&rec);
	event = take(ch, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->param.conn.private_data_len, UINT8_MAX);
	assert_int_equal(((uint8_t *)event->param.conn.private_data)[UINT8_MAX - 1], 0x5a);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	end_id(id);
	rdma_destroy_event_channel(ch);
}

static unsigned int bent;	/* the command whose answer is not that of the kernel */
static uint32_t bent_id;
static int bent_fd;

static void bend(unsigned int cmd, void *arg, int *ret)
{
	if (cmd != bent || *ret)
		return;
	switch (cmd) {
	case RDMA_CM_ALT_CMD_RESOLVE:
		((struct rdma_cm_alt_resolve *)arg)->out_id = bent_id;
		break;
	case RDMA_CM_ALT_CMD_CONNECT:
		((struct rdma_cm_alt_connect *)arg)->out_id = bent_id;
		((struct rdma_cm_alt_connect *)arg)->out_queue_fd = bent_fd;
		break;
	case RDMA_CM_ALT_CMD_QUEUE_CREATE:
		((struct rdma_cm_alt_queue_create *)arg)->out_record_size = bent_id;
		break;
	case RDMA_CM_ALT_CMD_JOIN:
		((struct rdma_cm_alt_join *)arg)->out_member = 0;
		break;
	case RDMA_CM_ALT_CMD_SET_QUEUE:
		bent_fd = ((struct rdma_cm_alt_set_queue *)arg)->out_queue_fd;
		((struct rdma_cm_alt_set_queue *)arg)->out_queue_fd = -1;
		break;
	}
}

static void bend_id(unsigned int cmd, uint32_t id)
{
	bent = cmd;
	bent_id = id;
	bent_fd = -1;
	fake.on_answer = bend;
}

TEST(id_without_a_handle_is_none)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *id = NULL;

	bend_id(RDMA_CM_ALT_CMD_RESOLVE, 0);
	assert_fails(EIO, rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	bend_id(RDMA_CM_ALT_CMD_RESOLVE, 1U << 31);
	assert_fails(EIO, rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	assert_fails(EIO, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	assert_null(id);
	rdma_destroy_event_channel(ch);
	assert_int_equal(fake_open_queues(), 0);
}

TEST(queue_that_nobody_asked_for_is_not_taken)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_alt_connect_attr attr = {
		.channel = ch, .dst_addr = addr4("10.9.0.2", 7001), .timeout_ms = 1000,
		.conn_param = &param,
	};
	struct rdma_cm_id *id = NULL;
	int fd = ch->fd;

	bend_id(RDMA_CM_ALT_CMD_CONNECT, 1);
	bent_fd = 900;
	assert_int_equal(rdma_alt_connect(&attr, &id), 0);
	assert_int_equal(ch->fd, fd);
	end_id(id);
	rdma_destroy_event_channel(ch);
}

TEST(move_without_a_queue_is_none)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *id = new_id(ch);

	bend_id(RDMA_CM_ALT_CMD_SET_QUEUE, 0);
	assert_fails(EIO, rdma_migrate_id(id, NULL));
	assert_ptr_equal(id->channel, ch);
	rcl_sys->close(bent_fd);
	end_id(id);
	rdma_destroy_event_channel(ch);
}

TEST(membership_without_a_handle_is_none)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *id = new_ud_id(ch);
	struct rdma_cm_event *event;

	resolve(id);
	bend_id(RDMA_CM_ALT_CMD_JOIN, 0);
	assert_fails(EIO, rdma_join_multicast(id, addr4("239.1.1.1", 0), NULL));
	assert_fails(EAGAIN, rdma_get_cm_event(ch, &event));
	end_id(id);
	rdma_destroy_event_channel(ch);
}

TEST(queue_of_other_records_is_no_channel)
{
	fake.features = RDMA_CM_ALT_FEATURE_RING;
	bend_id(RDMA_CM_ALT_CMD_QUEUE_CREATE, 1 << 16);
	errno = 0;
	assert_null(rdma_create_event_channel());
	assert_int_equal(errno, EIO);
	bend_id(RDMA_CM_ALT_CMD_QUEUE_CREATE, 64);
	assert_null(rdma_create_event_channel());
	assert_int_equal(fake_open_queues(), 0);
}

static int32_t batch_results[2];
static int batch_ret;
static uint32_t batch_done;
static bool batch_ends_early;

static void bend_batch(unsigned int cmd, void *arg, int *ret)
{
	struct rdma_cm_alt_batch *call = arg;
	uint32_t i;

	if (cmd != RDMA_CM_ALT_CMD_BATCH)
		return;
	for (i = 0; i < call->count && i < 2; i++)
		((int32_t *)(uintptr_t)call->results_uptr)[i] = batch_results[i];
	call->out_done = batch_done;
	batch_done = batch_ends_early ? 0 : batch_done;
	*ret = batch_ret;
}

TEST(results_of_a_batch_are_errnos)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *ids[2] = { new_id(ch), new_id(ch) };
	int errors[2];

	batch_results[0] = INT_MIN;
	batch_results[1] = 77;
	batch_ret = 0;
	batch_done = 2;
	fake.on_answer = bend_batch;
	assert_fails(EIO, rdma_alt_destroy_many(ids, 2, errors));
	assert_int_equal(errors[0], EIO);
	assert_int_equal(errors[1], EIO);
	fake.on_answer = NULL;
	/* The library keeps them, although the fake kernel has none. */
	assert_int_equal(rdma_alt_destroy_many(ids, 2, NULL), 2);
	rdma_destroy_event_channel(ch);
}

TEST(entries_beyond_the_batch_were_not_tried)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *ids[2] = { new_id(ch), new_id(ch) };
	int errors[2];

	memset(batch_results, 0, sizeof(batch_results));
	batch_ret = -ENOMEM;
	batch_done = 1000;
	fake.on_answer = bend_batch;
	assert_fails(ENOMEM, rdma_alt_destroy_many(ids, 2, errors));
	assert_int_equal(errors[0], ENOMEM);
	assert_int_equal(errors[1], ENOMEM);
	/* The kernel reports success, but tries one entry, and then none. */
	batch_ret = 0;
	batch_done = 1;
	batch_ends_early = true;
	assert_int_equal(rdma_alt_destroy_many(ids, 2, errors), 1);
	assert_int_equal(errors[0], 0);
	assert_int_equal(errors[1], EIO);
	batch_ends_early = false;
	fake.on_answer = NULL;
	assert_int_equal(rdma_destroy_id(ids[1]), 0);
	rdma_destroy_event_channel(ch);
}

static void forget_batch(unsigned int cmd, void *arg, int *ret)
{
	(void)ret;
	if (cmd == RDMA_CM_ALT_CMD_DESTROY)
		((struct rdma_cm_alt_destroy *)arg)->id = 0;
}

TEST(command_that_came_back_otherwise_was_asked_all_the_same)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *ids[2] = { new_id(ch), new_id(ch) };

	fake.on_answer = forget_batch;
	assert_int_equal(rdma_alt_destroy_many(ids, 2, NULL), 2);
	rdma_destroy_event_channel(ch);
}

TEST(status_beyond_all_errnos_is_an_error)
{
	struct rdma_cm_id *id = new_id(NULL);

	fake.addr_event = RDMA_CM_ALT_EVENT_ADDR_ERROR;
	fake.status = INT_MIN;
	assert_fails(EIO, rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 7001), 1000));
	assert_int_equal(rdma_destroy_id(id), 0);
}

static int unknown_calls;

static void knows_nothing(unsigned int cmd, void *arg, int *ret)
{
	(void)arg;
	if (cmd != RDMA_CM_ALT_CMD_INFO || unknown_calls & 1)
		*ret = -ENOTTY;
	unknown_calls++;
	assert_true(unknown_calls < 100);
}

TEST(device_that_knows_nothing_is_not_opened_for_ever)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *id;

	unknown_calls = 0;
	fake.on_answer = knows_nothing;
	errno = 0;
	assert_int_equal(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP), -1);
	assert_true(errno == ENOTTY || errno == ENODEV);
	assert_true(unknown_calls < 10);
	rdma_destroy_event_channel(ch);
}

TEST(records_are_of_a_size_that_can_be)
{
	fake.record_size = 63;
	assert_null(rdma_create_event_channel());
	fake.record_size = 4100;
	assert_null(rdma_create_event_channel());
	fake.record_size = 804;
	assert_null(rdma_create_event_channel());
	assert_int_equal(fake.calls[FAKE(QUEUE_CREATE)], 0);
}

TEST(option_without_a_value_is_not_looked_at)
{
	struct rdma_event_channel *ch = quiet_channel();
	struct rdma_cm_id *id = new_id(ch);

	/* The module returns EINVAL here; whatever it returns, the library stores no value. */
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, NULL, 0),
			 0);
	assert_false(rcl_id_of(id)->ack_timeout_set);
	end_id(id);
	rdma_destroy_event_channel(ch);
}

TEST(foreign_descriptor_has_no_records)
{
	struct rdma_event_channel ch = { .fd = open("/dev/null", O_RDWR | O_CLOEXEC) };
	struct rdma_cm_event *event;

	assert_true(ch.fd >= 0);
	/* For a process that has no context of its own yet: it was given a channel. */
	rcl_context_close();
	assert_fails(ENODATA, rdma_alt_get_cm_events(&ch, &event, 1));
	assert_fails(ENODATA, rdma_get_cm_event(&ch, &event));
	close(ch.fd);
}

RUN
