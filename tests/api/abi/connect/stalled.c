// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A reader whose memory does not answer: whom it holds up, and whom it does not. */
#include <linux/userfaultfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "rca_test.h"

#define PAGE 4096

/* A page that is filled in when answer() is called, and a thread that reads a record into it. */
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
	int ctx = get_ctx(), queue = get_queue(ctx), status;
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
	MUST(kill(pid, SIGKILL));
	MUST(waitpid(pid, &status, 0));
	EXPECT(WIFSIGNALED(status));
	answer(&stall);
}

struct waiter {
	pthread_t thread;
	pid_t tid;
	int ctx;
	uint32_t id;
	int queue;
	uint32_t reported;
	int ret;
};

static void *move(void *arg)
{
	struct waiter *waiter = arg;

	__atomic_store_n(&waiter->tid, gettid(), __ATOMIC_SEQ_CST);
	waiter->ret = rca_set_queue(waiter->ctx, waiter->id, waiter->queue);
	return NULL;
}

/* rxe2 on a network device of its own, which a test takes away. */
static void add_device(void)
{
	if (system("rdma link delete rxe2 2>/dev/null; ip link delete d2 2>/dev/null;"
		   "ip link add d2 type dummy && ip link set d2 up &&"
		   "ip addr add 10.8.0.1/24 dev d2 && rdma link add rxe2 type rxe netdev d2"))
		ktap_skip("cannot make a device");
}

/* Starts who waits for the reader, and takes the device away meanwhile. */
static void remove_under(struct waiter *waiter, void *(*run)(void *arg))
{
	EXPECT_EQ(pthread_create(&waiter->thread, NULL, run, waiter), 0);
	while (!__atomic_load_n(&waiter->tid, __ATOMIC_SEQ_CST))
		usleep(1000);
	await_sleep(waiter->tid);
	EXPECT_EQ(system("timeout 20 rdma link delete rxe2 && ip link delete d2"), 0);
}

/* One who waits for the reader must not hold what others need. */
TEST(device_can_be_removed)
{
	struct waiter waiter;
	struct stall stall;
	int ctx, queue;
	uint32_t id;

	add_device();
	ctx = get_ctx();
	queue = get_queue(ctx);
	id = get_id(ctx, queue, 0);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, "10.8.0.1", 1), 0);
	EXPECT(event_comes(queue, PATIENCE));
	start(&stall, queue);
	waiter = (struct waiter) { .ctx = ctx, .id = id, .queue = get_queue(ctx) };
	remove_under(&waiter, move);
	answer(&stall);
	EXPECT_EQ(pthread_join(waiter.thread, NULL), 0);
	EXPECT_EQ(waiter.ret, 0);
	EXPECT_EVENT(waiter.queue, DEVICE_REMOVAL, id);
}

static void *leave(void *arg)
{
	struct waiter *waiter = arg;

	__atomic_store_n(&waiter->tid, gettid(), __ATOMIC_SEQ_CST);
	waiter->ret = rca_leave(waiter->ctx, waiter->id, &waiter->reported);
	return NULL;
}

TEST(device_can_be_removed_while_a_group_is_left)
{
	struct waiter waiter = {};
	struct stall stall;
	int ctx, queue;
	uint32_t id;

	add_device();
	ctx = get_ctx();
	queue = get_queue(ctx);
	EXPECT_EQ(rca_create(ctx, queue, RDMA_PS_UDP, IB_UVERBS_QPT_UD, 0, &id), 0);
	EXPECT_EQ(rca_bind(ctx, id, "10.8.0.1", 0), 0);
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
	MUST(kill(pid, SIGKILL));
	MUST(waitpid(pid, NULL, 0));
}

KTAP_MAIN
