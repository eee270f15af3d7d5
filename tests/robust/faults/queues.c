// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A fault at each place of the calls about queues and events: no event is lost or doubled, and no
 * descriptor stays open. A call that fails with EFAULT may have had its effect, because its answer
 * could not be written.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "faults.h"
#include "rca_ring.h"

static int ctx, queue;

static void open_queue(void)
{
	ctx = get_ctx();
	queue = get_queue(ctx);
}

TEST(queue_create)
{
	struct rdma_cm_alt_queue_create cmd;
	int fds;

	open_queue();
	fds = count_fds() + 1;
	for_each_fault(s) {
		cmd = (struct rdma_cm_alt_queue_create){ .size = sizeof(cmd), .ring_entries = 64 };
		if (!SWEEP_FAILS(&s, rca_call(ctx, RDMA_CM_ALT_QUEUE_CREATE, &cmd)))
			MUST(close(cmd.out_fd));
		EXPECT_EQ(count_fds(), fds);
	}
}

static int map(const struct ring *ring, bool head)
{
	const struct rdma_cm_alt_queue_create *geo = &ring->geometry;
	size_t len = head ? (size_t)getpagesize() : geo->out_ring_bytes;
	void *at = mmap(NULL, len, head ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
			ring->queue, head ? geo->out_head_offset : geo->out_ring_offset);

	if (at == MAP_FAILED)
		return -errno;
	MUST(munmap(at, len));
	return 0;
}

static void sweep_map(bool head)
{
	struct ring ring;

	open_queue();
	for_each_fault(s) {
		ring_create(ctx, &ring, 16);
		if (SWEEP_FAILS_AS(&s, EAGAIN, map(&ring, head)))
			EXPECT_EQ(map(&ring, head), 0);
		MUST(close(ring.queue));
	}
}

TEST(map_records)
{
	sweep_map(false);
}

TEST(map_head)
{
	sweep_map(true);
}

/* The id and its pending event are both in the old queue, or both in the new one. */
static void sweep_set_queue(bool new)
{
	struct rdma_cm_alt_set_queue cmd;
	int other, fds;
	uint32_t id;

	open_queue();
	other = get_queue(ctx);
	fds = count_fds() + 1;
	for_each_fault(s) {
		id = get_id(ctx, queue, 1);
		EXPECT_EQ(post_number(ctx, id, 77), 0);
		cmd = (struct rdma_cm_alt_set_queue){
			.size = sizeof(cmd), .id = id, .queue_fd = new ? -1 : other,
			.flags = new ? RDMA_CM_ALT_SET_QUEUE_NEW : 0,
		};
		if (SWEEP_FAILS(&s, rca_call(ctx, RDMA_CM_ALT_SET_QUEUE, &cmd)) &&
		    event_waits(queue))
			expect_read(queue, id, 77);
		else
			expect_read(new ? cmd.out_queue_fd : other, id, 77);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
		if (new && count_fds() > fds)
			MUST(close(cmd.out_queue_fd));
		EXPECT_EQ(count_fds(), fds);
	}
}

TEST(set_queue)
{
	sweep_set_queue(false);
}

TEST(set_queue_to_a_new_one)
{
	sweep_set_queue(true);
}

TEST(set_queue_to_none)
{
	uint32_t id;
	event_t ev;

	open_queue();
	for_each_fault(s) {
		id = get_id(ctx, queue, 1);
		EXPECT_EQ(post_number(ctx, id, 77), 0);
		if (SWEEP_FAILS(&s, rca_set_queue(ctx, id, -1)) && event_waits(queue))
			EXPECT_EQ(rca_set_queue(ctx, id, -1), 0);
		EXPECT(!event_waits(queue));
		EXPECT_EQ(rca_get_event(ctx, id, RDMA_CM_ALT_GET_EVENT_NONBLOCK, &ev), 0);
		EXPECT_EQ(ev.user_arg, 77);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	}
}

TEST(post_event)
{
	uint32_t id;

	open_queue();
	for_each_fault(s) {
		id = get_id(ctx, queue, 1);
		if (SWEEP_FAILS(&s, post_number(ctx, id, 77))) {
			EXPECT(!event_waits(queue));
			EXPECT_EQ(post_number(ctx, id, 77), 0);
		}
		expect_read(queue, id, 77);
		EXPECT(!event_waits(queue));
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	}
}

TEST(get_event_of_an_id)
{
	uint32_t id;
	event_t ev;

	open_queue();
	for_each_fault(s) {
		id = get_id(ctx, -1, 1);
		EXPECT_EQ(post_number(ctx, id, 77), 0);
		SWEEP_RETRY(&s, rca_get_event(ctx, id, RDMA_CM_ALT_GET_EVENT_NONBLOCK, &ev));
		EXPECT_EQ(ev.user_arg, 77);
		EXPECT_EQ(rca_get_event(ctx, id, RDMA_CM_ALT_GET_EVENT_NONBLOCK, &ev), -EAGAIN);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	}
}

TEST(read_events)
{
	event_t ev[2];
	uint32_t id;

	open_queue();
	for_each_fault(s) {
		id = get_id(ctx, queue, 1);
		post_numbers(ctx, id, 1, 2);
		SWEEP_FAILS(&s, OR_ERRNO(read(queue, ev, sizeof(ev))));
		/* The events that read() did not return are still in the queue. */
		if (s.ret < (int)sizeof(ev[0]))
			expect_read(queue, id, 1);
		if (s.ret < (int)sizeof(ev))
			expect_read(queue, id, 2);
		EXPECT(!event_waits(queue));
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	}
}

TEST(batch)
{
	struct rdma_cm_alt_post_event entries[3];
	struct rdma_cm_alt_batch cmd;
	int results[3], i, done;
	uint32_t id;

	open_queue();
	for_each_fault(s) {
		id = get_id(ctx, queue, 1);
		for (i = 0; i < 3; i++) {
			entries[i] = (struct rdma_cm_alt_post_event){
				.size = sizeof(entries[i]), .id = id,
				.type = RDMA_CM_ALT_EVENT_USER, .arg = i,
			};
			results[i] = 1;
		}
		cmd = (struct rdma_cm_alt_batch){
			.size = sizeof(cmd), .cmd = RDMA_CM_ALT_CMD_POST_EVENT, .count = 3,
			.stride = sizeof(entries[0]), .entries_uptr = (uintptr_t)entries,
			.results_uptr = (uintptr_t)results,
		};
		SWEEP_FAILS(&s, rca_call(ctx, RDMA_CM_ALT_BATCH, &cmd));
		for (i = 0, done = 0; i < 3; i++) {
			EXPECT(results[i] <= 0 || s.ret < 0);
			done += !results[i];
			if (!results[i])
				expect_read(queue, id, i);
		}
		EXPECT(!event_waits(queue));
		EXPECT(s.ret < 0 || done >= 2);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
	}
}

KTAP_MAIN
