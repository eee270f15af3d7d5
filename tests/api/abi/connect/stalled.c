// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A reader that blocks in a page fault of its buffer: what waits for it, and what does not. */
#include <linux/userfaultfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "own_device.h"
#include "rca_test.h"
#include "tasks.h"

#define PAGE 4096

/* A page that is missing until answer() is called, and a thread that reads a record into it. */
struct stall {
	int uffd;
	void *page;
	int queue;
	ssize_t ret;
	pthread_t thread;
};

static void *read_into(void *arg)
{
	struct stall *stall = arg;

	stall->ret = read(stall->queue, stall->page, sizeof(event_t));
	return NULL;
}

/* Returns when the reader waits for its page. */
static void start_stall(struct stall *stall, int queue)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .range.len = PAGE, .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffd_msg msg;

	stall->queue = queue;
	stall->uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (stall->uffd < 0)
		ktap_skip("no userfaultfd: %m");
	MUST(ioctl(stall->uffd, UFFDIO_API, &api));
	stall->page = MUST(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0));
	reg.range.start = (uintptr_t)stall->page;
	MUST(ioctl(stall->uffd, UFFDIO_REGISTER, &reg));
	EXPECT_EQ(pthread_create(&stall->thread, NULL, read_into, stall), 0);
	EXPECT_EQ(MUST(read(stall->uffd, &msg, sizeof(msg))), sizeof(msg));
	EXPECT_EQ(msg.event, UFFD_EVENT_PAGEFAULT);
}

static void answer(struct stall *stall)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)stall->page, PAGE } };

	MUST(ioctl(stall->uffd, UFFDIO_ZEROPAGE, &zero));
	EXPECT_EQ(pthread_join(stall->thread, NULL), 0);
	EXPECT_EQ(stall->ret, sizeof(event_t));
}

TEST(other_queues_and_operations_go_on)
{
	int ctx = get_ctx(), queue = get_queue(ctx), other = get_queue(ctx);
	uint32_t id = get_loaded(ctx, queue, 1), same = get_loaded(ctx, queue, 2);
	uint32_t elsewhere = get_loaded(ctx, other, 3);
	struct rdma_cm_alt_route route;
	struct stall stall;
	event_t ev;

	post(ctx, id);
	start_stall(&stall, queue);
	/* Posting to the queue, operations on its ids, other queues. */
	post(ctx, same);
	EXPECT_EQ(rca_query(ctx, id, &route), 0);
	EXPECT_EQ(rca_connect(ctx, id, NULL, 0), 0);
	post(ctx, elsewhere);
	EXPECT_EVENT(other, ROUTE_RESOLVED, elsewhere);
	EXPECT_EQ(rca_destroy(ctx, elsewhere), 0);
	EXPECT(event_waits(queue));
	answer(&stall);
	EXPECT_EQ(((event_t *)stall.page)->cookie, 1);
	EXPECT_EVENT_STATUS(queue, ROUTE_RESOLVED, same, 0, &ev);
	EXPECT_EQ(ev.cookie, 2);
}

TEST(nonblocking_reader_is_not_held_up)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	struct stall stall;
	event_t ev;
	struct iovec vec = { &ev, sizeof(ev) };

	post(ctx, get_loaded(ctx, queue, 1));
	start_stall(&stall, queue);
	EXPECT_EQ(preadv2(queue, &vec, 1, -1, RWF_NOWAIT), -1);
	EXPECT_EQ(errno, EAGAIN);
	answer(&stall);
}

TEST(second_reader_may_be_killed)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	struct stall stall;
	pid_t pid;

	post(ctx, get_loaded(ctx, queue, 1));
	start_stall(&stall, queue);
	pid = MUST(fork());
	if (!pid) {
		event_t ev;

		_exit(read(queue, &ev, sizeof(ev)) > 0);
	}
	await_sleep(pid);
	kill_child(pid);
	answer(&stall);
}

/*
 * The id whose event is being copied is destroyed: the call does not wait, its event counts as not
 * delivered, and the reader gets the next one.
 */
TEST(destroy_does_not_wait)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_loaded(ctx, queue, 1), same = get_loaded(ctx, queue, 2);
	struct stall stall;
	uint32_t reported;

	post(ctx, id);
	start_stall(&stall, queue);
	post(ctx, same);
	EXPECT_EQ(rca_destroy_count(ctx, id, &reported), 0);
	EXPECT_EQ(reported, 1);		/* ADDR_RESOLVED alone */
	answer(&stall);
	EXPECT_EQ(((event_t *)stall.page)->cookie, 2);
	EXPECT_EQ(rca_destroy_count(ctx, same, &reported), 0);
	EXPECT_EQ(reported, 2);
}

TEST(move_does_not_wait)
{
	int ctx = get_ctx(), queue = get_queue(ctx), other = get_queue(ctx);
	uint32_t id = get_loaded(ctx, queue, 1), same = get_loaded(ctx, queue, 2);
	struct stall stall;

	post(ctx, id);
	start_stall(&stall, queue);
	EXPECT_EQ(rca_set_queue(ctx, id, other), 0);
	EXPECT_EVENT(other, ROUTE_RESOLVED, id);
	post(ctx, same);
	answer(&stall);
	EXPECT_EQ(((event_t *)stall.page)->cookie, 2);
}

TEST(leave_of_a_group_does_not_wait)
{
	uint32_t id, member, reported;
	int ctx = get_ctx(), queue = get_queue(ctx);
	struct stall stall;

	add_own_device(OWN_DUMMY);
	EXPECT_EQ(rca_create(ctx, queue, RDMA_PS_UDP, IB_UVERBS_QPT_UD, 0, &id), 0);
	EXPECT_EQ(rca_bind(ctx, id, OWN_ADDR, 0), 0);
	EXPECT_EQ(rca_join(ctx, id, "239.9.1.1", 0, 0, &member), 0);
	EXPECT(event_waits(queue));
	start_stall(&stall, queue);
	EXPECT_EQ(rca_leave(ctx, member, &reported), 0);
	EXPECT_EQ(reported, 0);
	remove_own_device();
	answer(&stall);
	EXPECT_EQ(((event_t *)stall.page)->type, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL);
	delete_own_device();
}

TEST(device_can_be_removed)
{
	struct stall stall;
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id;

	add_own_device(OWN_DUMMY);
	id = get_id(ctx, queue, 0);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, OWN_ADDR, 1), 0);
	EXPECT(event_comes(queue, PATIENCE));
	start_stall(&stall, queue);
	remove_own_device();
	answer(&stall);
	EXPECT_EVENT(queue, DEVICE_REMOVAL, id);
	delete_own_device();
}

TEST(death_of_the_reader_ends_it)
{
	int pipes[2];
	pid_t pid;
	char byte;

	MUST(pipe(pipes));
	pid = MUST(fork());
	if (!pid) {
		int ctx = get_ctx(), queue = get_queue(ctx);
		struct stall stall;

		post(ctx, get_loaded(ctx, queue, 1));
		start_stall(&stall, queue);
		MUST(write(pipes[1], "", 1));
		pause();
	}
	EXPECT_EQ(MUST(read(pipes[0], &byte, 1)), 1);
	kill_child(pid);
}

KTAP_MAIN
