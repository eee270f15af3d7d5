// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The mapping of an event ring: refused, moved, unmapped, inherited, outlived, accounted. */
#include "rca_ring.h"
#include "tasks.h"

#define PAGE 4096

static int try_mmap(struct ring *ring, size_t len, int prot, int flags, uint64_t offset)
{
	void *map = mmap(NULL, len, prot, flags, ring->queue, offset);

	if (map == MAP_FAILED)
		return -errno;
	MUST(munmap(map, len));
	return 0;
}

static bool is_refused(int ret)
{
	return ret == -EACCES || ret == -EPERM;
}

TEST(wrong_mappings_are_refused)
{
	const int rw = PROT_READ | PROT_WRITE;
	int ctx = get_ctx();
	struct ring ring;
	size_t bytes;

	ring_create(ctx, &ring, 16);
	bytes = ring.geometry.out_ring_bytes;
	EXPECT_EQ(try_mmap(&ring, bytes, PROT_READ, MAP_PRIVATE, 0), -EINVAL);
	EXPECT_EQ(try_mmap(&ring, bytes - PAGE, PROT_READ, MAP_SHARED, 0), -EINVAL);
	EXPECT_EQ(try_mmap(&ring, bytes + PAGE, PROT_READ, MAP_SHARED, 0), -EINVAL);
	EXPECT_EQ(try_mmap(&ring, bytes, PROT_READ, MAP_SHARED, PAGE), -EINVAL);
	EXPECT_EQ(try_mmap(&ring, bytes, rw, MAP_SHARED, 0), -EACCES);
	/* Some kernels refuse to execute such files with another errno. */
	EXPECT(is_refused(try_mmap(&ring, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, 0)));
	EXPECT(is_refused(try_mmap(&ring, PAGE, rw | PROT_EXEC, MAP_SHARED, bytes)));
	EXPECT_EQ(try_mmap(&ring, PAGE, rw, MAP_SHARED, bytes + PAGE), -EINVAL);
	EXPECT_EQ(try_mmap(&ring, 2 * PAGE, rw, MAP_SHARED, bytes), -EINVAL);
	EXPECT_EQ(try_mmap(&ring, PAGE, rw, MAP_PRIVATE, bytes), -EINVAL);
	/* The failed calls have no effect. */
	EXPECT_EQ(try_mmap(&ring, bytes, PROT_READ, MAP_SHARED, 0), 0);
	EXPECT_EQ(try_mmap(&ring, PAGE, rw, MAP_SHARED, bytes), 0);
}

TEST(records_stay_read_only_and_whole)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 16);
	uint8_t *map = (uint8_t *)ring.map;

	EXPECT_EQ(mprotect(map, ring.geometry.out_ring_bytes, PROT_READ | PROT_WRITE), -1);
	EXPECT_EQ(errno, EACCES);
	EXPECT_EQ(munmap(map, PAGE), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT(mremap(map, ring.geometry.out_ring_bytes, 2 * ring.geometry.out_ring_bytes,
		      MREMAP_MAYMOVE) == MAP_FAILED);
	EXPECT_EQ(try_mmap(&ring, ring.geometry.out_ring_bytes, PROT_READ, MAP_SHARED, 0), -EBUSY);
}

TEST(mapping_may_be_moved)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 16);
	size_t bytes = ring.geometry.out_ring_bytes;
	uint32_t id = get_id(ctx, ring.queue, 0);
	void *to;

	post_numbers(ctx, id, 0, 2);
	to = MUST(mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	ring.map = MUST(mremap((void *)ring.map, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	expect_number(&ring, id, 0);
	post_numbers(ctx, id, 2, 1);
	expect_number(&ring, id, 1);
	expect_number(&ring, id, 2);
	ring_unmap(&ring);
	post_numbers(ctx, id, 3, 1);
	expect_read(ring.queue, id, 3);
}

TEST(unmapping_gives_back_what_was_not_taken)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 4);
	uint32_t id = get_id(ctx, ring.queue, 0);

	post_numbers(ctx, id, 0, 6);
	expect_number(&ring, id, 0);
	ring_unmap(&ring);
	EXPECT(event_waits(ring.queue));
	for (int i = 1; i < 6; i++)
		expect_read(ring.queue, id, i);
	post_numbers(ctx, id, 6, 2);
	/* A new mapping starts with an empty ring. */
	ring_map(&ring);
	EXPECT_EQ(ring.map->tail, 0);
	EXPECT_EQ(*ring.head, 0);
	EXPECT(event_waits(ring.queue));
	expect_number(&ring, id, 6);
	expect_number(&ring, id, 7);
	expect_nothing(ring.queue);
}

TEST(unmapping_wakes_who_sleeps_elsewhere)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 4);
	uint32_t id = get_id(ctx, ring.queue, 0);
	struct pollfd fd;

	post_numbers(ctx, id, 0, 1);
	fd = (struct pollfd) { .fd = ring.queue, .events = POLLIN };
	EXPECT_EQ(MUST(poll(&fd, 1, -1)), 1);
	ring_unmap(&ring);
	EXPECT_EQ(MUST(poll(&fd, 1, -1)), 1);
	expect_read(ring.queue, id, 0);
}

TEST(child_has_no_mapping_and_may_not_read)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 4);
	uint32_t id = get_id(ctx, ring.queue, 0);
	event_t ev;
	pid_t pid;

	post_numbers(ctx, id, 0, 2);
	pid = MUST(fork());
	if (!pid) {
		if (read(ring.queue, &ev, sizeof(ev)) != -1 || errno != EBUSY)
			_exit(1);
		/* The child may poll. */
		_exit(event_waits(ring.queue) ? 0 : 2);
	}
	EXPECT_EQ(wait_exit(pid), 0);
	pid = MUST(fork());
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		_exit(ring.map->tail);
	}
	EXPECT_EQ(wait_exit(pid), -SIGSEGV);
	expect_number(&ring, id, 0);
	ring_unmap(&ring);
	pid = MUST(fork());
	if (!pid)
		_exit(read(ring.queue, &ev, sizeof(ev)) == sizeof(ev) && ev.user_arg == 1 ? 0 : 1);
	EXPECT_EQ(wait_exit(pid), 0);
}

/* madvice() fails for the mapping. */
static void expect_no_advice(void *ptr, size_t len, int advice)
{
	EXPECT_EQ(madvise(ptr, len, advice), -1);
	EXPECT_EQ(errno, EINVAL);
}

TEST(child_cannot_be_made_to_inherit_a_mapping)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 4);
	uint32_t id = get_id(ctx, ring.queue, 0);
	pid_t pid;

	expect_no_advice((void *)ring.map, ring.geometry.out_ring_bytes, MADV_DOFORK);
	expect_no_advice(ring.head, PAGE, MADV_DOFORK);
	pid = MUST(fork());
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		*ring.head = 1;
		_exit(0);
	}
	EXPECT_EQ(wait_exit(pid), -SIGSEGV);
	/* The parent unmaps the ring; it has no other mapping then. */
	post_numbers(ctx, id, 0, 1);
	ring_unmap(&ring);
	expect_read(ring.queue, id, 0);
}

/* A debugger writes to a private copy of a read-only page; these pages cannot be copied. */
TEST(records_cannot_be_written_by_force)
{
	int ctx = get_ctx(), mem;
	uint32_t zero = 0;
	struct ring ring = get_ring(ctx, 4);

	post_numbers(ctx, get_id(ctx, ring.queue, 0), 0, 2);
	mem = MUST(open("/proc/self/mem", O_RDWR));
	EXPECT_EQ(pwrite(mem, &zero, sizeof(zero), (uintptr_t)&ring.map->tail), -1);
	EXPECT_EQ(errno, EIO);
	EXPECT_EQ(ring.map->tail, 2);
}

TEST(end_of_the_process_gives_back_what_it_did_not_take)
{
	int ctx = get_ctx();
	struct ring ring;
	uint32_t id;
	event_t ev;
	pid_t pid;

	ring_create(ctx, &ring, 4);
	id = get_id(ctx, ring.queue, 0);
	post_numbers(ctx, id, 0, 6);
	pid = MUST(fork());
	if (!pid) {
		ring_map(&ring);
		if (!event_waits(ring.queue) || !ring_take(&ring, &ev) || ev.user_arg)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	EXPECT_EQ(wait_exit(pid), -SIGKILL);
	for (int i = 1; i < 6; i++)
		expect_read(ring.queue, id, i);
	expect_nothing(ring.queue);
}

TEST(mapping_does_not_keep_the_queue_open)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 4);
	uint32_t id = get_id(ctx, ring.queue, 0);
	event_t ev;

	post_numbers(ctx, id, 0, 2);
	MUST(close(ring.queue));
	EXPECT_EQ(rca_bind(ctx, id, HERE, 0), -ENOENT);
	EXPECT(!ring_take(&ring, &ev));
	ring_unmap(&ring);
}

/* The memory stays after the close of all descriptors, and the kernel does not change it. */
TEST(mapping_outlives_its_queue_and_context)
{
	int ctx = get_ctx();
	struct ring ring = get_ring(ctx, 4);
	uint32_t id, tail;

	id = get_id(ctx, ring.queue, 0);
	post_numbers(ctx, id, 0, 6);
	MUST(close(ring.queue));
	MUST(close(ctx));
	tail = ring.map->tail;
	EXPECT_EQ(tail, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const event_t *ev = (const void *)((const uint8_t *)ring.map +
						   ring.map->records_offset +
						   i * ring.map->record_size);

		EXPECT_EQ(ev->type, RDMA_CM_ALT_EVENT_SKIP);
	}
	__atomic_store_n(ring.head, tail, __ATOMIC_RELEASE);
	ring_unmap(&ring);
	*ring.head = 77;
}

#define GROUP "/sys/fs/cgroup/rca-ring"

/* Bytes charged to the memory control group of the test. */
static long charged(void)
{
	char text[32] = "";
	int fd = MUST(open(GROUP "/memory.current", O_RDONLY));

	MUST(read(fd, text, sizeof(text) - 1));
	MUST(close(fd));
	return atol(text);
}

TEST(who_maps_a_ring_pays_for_it)
{
	struct ring ring = {
		.geometry = {
			.size = sizeof(ring.geometry), .ring_entries = 1024, .record_size = 4096,
		},
	};
	int ctx = get_ctx();
	long before, with;
	char command[80];

	if (system("echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir -p " GROUP) ||
	    access(GROUP "/memory.current", R_OK))
		ktap_skip("no control of memory");
	snprintf(command, sizeof(command), "echo %d >" GROUP "/cgroup.procs", getpid());
	EXPECT_EQ(system(command), 0);
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_QUEUE_CREATE, &ring.geometry), 0);
	ring.queue = ring.geometry.out_fd;
	before = charged();
	EXPECT(before < 4 << 20);
	ring_map(&ring);
	with = charged();
	/* Some pages were charged before. */
	EXPECT(with - before > 3 << 20);
	/* The memory is freed when the queue is neither mapped nor open. */
	MUST(close(ring.queue));
	MUST(munmap(ring.head, PAGE));
	EXPECT(charged() - before > 3 << 20);
	ring_unmap(&ring);
	for (int i = 0; i < PATIENCE * 100 && charged() - before > 1 << 20; i++)
		usleep(10000);
	EXPECT(charged() - before < 1 << 20);
}

KTAP_MAIN
