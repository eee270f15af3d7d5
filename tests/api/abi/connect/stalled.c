// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A reader that blocks in a page fault of its buffer: what waits for it, and what does not. */
#include <linux/userfaultfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "own_device.h"
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
static void start(struct stall *stall, int queue)
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
	start(&stall, queue);
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
	start(&stall, queue);
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
	start(&stall, queue);
	pid = MUST(fork());
	if (!pid) {
		event_t ev;

		_exit(read(queue, &ev, sizeof(ev)) > 0);
	}
	await_sleep(pid);
	kill_child(pid);
	answer(&stall);
}

struct waiter {
	pthread_t thread;
	int ctx;
	uint32_t id;
	int queue;
	uint32_t reported;
	int ret;
};

static void *move(void *arg)
{
	struct waiter *waiter = arg;

	waiter->ret = rca_set_queue(waiter->ctx, waiter->id, waiter->queue);
	return NULL;
}

/* Removes the device while a thread waits for the reader. */
static void remove_under(struct waiter *waiter, void *(*run)(void *arg))
{
	waiter->thread = start_sleeper(run, waiter);
	remove_own_device();
}

/* A thread that waits for the reader holds no lock that the removal needs. */
TEST(device_can_be_removed)
{
	struct waiter waiter;
	struct stall stall;
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id;

	add_own_device(OWN_DUMMY);
	id = get_id(ctx, queue, 0);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, OWN_ADDR, 1), 0);
	EXPECT(event_comes(queue, PATIENCE));
	start(&stall, queue);
	waiter = (struct waiter) { .ctx = ctx, .id = id, .queue = get_queue(ctx) };
	remove_under(&waiter, move);
	answer(&stall);
	EXPECT_EQ(pthread_join(waiter.thread, NULL), 0);
	EXPECT_EQ(waiter.ret, 0);
	EXPECT_EVENT(waiter.queue, DEVICE_REMOVAL, id);
	delete_own_device();
}

static void *leave(void *arg)
{
	struct waiter *waiter = arg;

	waiter->ret = rca_leave(waiter->ctx, waiter->id, &waiter->reported);
	return NULL;
}

TEST(device_can_be_removed_while_a_group_is_left)
{
	struct waiter waiter = {};
	struct stall stall;
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id;

	add_own_device(OWN_DUMMY);
	EXPECT_EQ(rca_create(ctx, queue, RDMA_PS_UDP, IB_UVERBS_QPT_UD, 0, &id), 0);
	EXPECT_EQ(rca_bind(ctx, id, OWN_ADDR, 0), 0);
	EXPECT_EQ(rca_join(ctx, id, "239.9.1.1", 0, 0, &waiter.id), 0);
	EXPECT(event_waits(queue));
	start(&stall, queue);
	waiter.ctx = ctx;
	remove_under(&waiter, leave);
	answer(&stall);
	EXPECT_EQ(pthread_join(waiter.thread, NULL), 0);
	EXPECT_EQ(waiter.ret, 0);
	EXPECT_EQ(waiter.reported, 1);
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
		start(&stall, queue);
		MUST(write(pipes[1], "", 1));
		rca_destroy(ctx, 1);	/* waits for the reader */
		pause();
	}
	EXPECT_EQ(MUST(read(pipes[0], &byte, 1)), 1);
	kill_child(pid);
}

KTAP_MAIN
