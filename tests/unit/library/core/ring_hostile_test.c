// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Rings with an invalid header: their channels continue with read(). */
#include <rdma/rdma_cma_alt.h>
#include <unistd.h>

#include "fake/ring_fixture.h"

static struct rdma_cm_alt_ring lie;

static void tell_it(struct rdma_cm_alt_ring *header)
{
	*header = lie;
}

/* Use a channel for longer than it takes to map its ring. */
static void use_channel(struct rdma_event_channel *ch, struct rdma_cm_id *id)
{
	int i;

	for (i = 0; i < 3 * RCL_RING_AFTER; i++) {
		post(id, i);
		assert_int_equal(take_number(ch, id), i);
	}
}

static void is_not_used(void)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = new_id(ch);

	fake.on_map = tell_it;
	use_channel(ch, id);
	assert_false(fake_ring_mapped(ch->fd));
	cool_down(ch, id);
}

static struct rdma_cm_alt_ring truth(void)
{
	return (struct rdma_cm_alt_ring) {
		.entries = RCL_RING_ENTRIES,
		.record_size = sizeof(struct rdma_cm_alt_event),
		.records_offset = sizeof(struct rdma_cm_alt_ring),
	};
}

TEST(entries_that_do_not_fit)
{
	static const __u32 wrong[] = { 0, 3, 63, 2 * RCL_RING_ENTRIES, 1U << 31, UINT32_MAX };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		lie = truth();
		lie.entries = wrong[i];
		is_not_used();
	}
}

TEST(records_that_begin_elsewhere)
{
	static const __u32 wrong[] = { 0, 63, sizeof(struct rdma_cm_alt_ring) + 1, 1 << 20,
				       UINT32_MAX };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		lie = truth();
		lie.records_offset = wrong[i];
		is_not_used();
	}
}

TEST(records_of_another_size)
{
	static const __u32 wrong[] = { 0, 64, 4096, UINT32_MAX };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		lie = truth();
		lie.record_size = wrong[i];
		is_not_used();
	}
}

/* More records than slots: none of them is valid. */
TEST(tail_out_of_reach)
{
	static const __u32 wrong[] = { RCL_RING_ENTRIES + 1, 1 << 20, 1U << 31, UINT32_MAX };
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		ch = new_channel();
		id = warm_up(ch);
		post(id, 1);
		fake_ring_header(ch->fd)->tail = wrong[i];
		assert_int_equal(take_number(ch, id), 1);
		assert_false(fake_ring_mapped(ch->fd));
		use_channel(ch, id);
		cool_down(ch, id);
	}
}

TEST(header_changes_under_way)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch);
	struct rdma_cm_alt_ring *header = fake_ring_header(ch->fd);

	header->entries = 1 << 30;
	header->records_offset = UINT32_MAX;
	header->record_size = 1;
	use_channel(ch, id);
	cool_down(ch, id);
}

/* The header claims records that the ring does not have. */
TEST(ring_that_stays_empty_is_no_endless_wait)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch);

	post(id, 1);
	fake_ring_header(ch->fd)->tail = 0;
	alarm(20);
	assert_int_equal(take_number(ch, id), 1);
	alarm(0);
	assert_false(fake_ring_mapped(ch->fd));
	use_channel(ch, id);
	cool_down(ch, id);
}

/* Both channels have rings; the one descriptor now reads the other queue. */
TEST(descriptor_that_is_another_queue_has_its_events)
{
	struct rdma_event_channel *ch = new_channel(), *other = new_channel();
	struct rdma_cm_id *id = warm_up(ch), *theirs = warm_up(other);

	fake_copy_over(other->fd, ch->fd);
	post(theirs, 1);
	post(theirs, 2);
	alarm(20);
	assert_int_equal(take_number(ch, theirs), 1);
	assert_int_equal(take_number(other, theirs), 2);
	alarm(0);
	assert_int_equal(rdma_destroy_id(id), 0);
	cool_down(other, theirs);
	rdma_destroy_event_channel(ch);
}

/* What daemons do to inherited descriptors. */
TEST(descriptor_that_is_another_file_ends_in_an_error)
{
	struct rdma_event_channel *ch = new_channel();
	struct rdma_cm_id *id = warm_up(ch);
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC), copy = fake_copy(ch->fd);
	struct rdma_cm_event *event;

	assert_true(fd >= 0);
	assert_int_equal(dup2(fd, ch->fd), ch->fd);
	alarm(20);
	assert_fails(ENODATA, rdma_get_cm_event(ch, &event));
	assert_fails(ENODATA, rdma_alt_get_cm_events(ch, &event, 1));
	alarm(0);
	close(fd);
	fake_uncopy(copy);
	cool_down(ch, id);
}

RUN
