// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Lifetime of objects: descriptors closed in any order, passed on, or closed by a death. */
#include <sys/socket.h>

#include "rca_test.h"
#include "tasks.h"

#define ANNA 70001
#define STOPPED_IDS 1000
#define STOPPED_THREADS 200

/* In seconds, see tests/fabric/loss/bounds.rst; guests share their processors. */
#define BOUND 0.5

TEST(queue_outlives_the_context)
{
	struct pair p;

	/* No ioctl is possible any more, but the ids live as long as their queue. */
	p = get_connected();
	MUST(close(p.ctx));
	EXPECT(!event_waits(p.cq));
	MUST(close(p.lq));
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
	EXPECT_EVENT(p.cq, TIMEWAIT_EXIT, p.client);
	MUST(close(p.cq));
}

TEST(context_closed_with_everything_in_use)
{
	for (int i = 0; i < 10; i++) {
		struct pair p = get_connected();

		get_id(p.ctx, -1, 0);
		EXPECT_EQ(rca_listen(p.ctx, get_id(p.ctx, -1, 0), 0), 0);
		EXPECT_EQ(rca_resolve_addr(p.ctx, get_id(p.ctx, p.cq, 0), NULL, NOBODY, 1), 0);
		MUST(close(p.ctx));
		MUST(close(p.lq));
		MUST(close(p.cq));
	}
}

static void work_connect(void)
{
	get_connected();
}

static void work_half_open(void)
{
	get_requested(NULL);
	get_accepted(NULL);
}

static void work_many(void)
{
	int ctx = get_ctx(), queue = get_queue(ctx);

	for (int i = 0; i < 200; i++) {
		uint32_t id = get_id(ctx, i % 3 ? queue : -1, 0);

		EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, i % 2 ? HERE : NOBODY, 1), 0);
	}
	for (int i = 0; i < 50; i++)
		EXPECT_EQ(rca_listen(ctx, get_id(ctx, i % 2 ? queue : -1, 0), 0), 0);
}

static void *block(void *arg)
{
	int *ctx = arg;
	event_t ev;

	rca_get_event(*ctx, get_id(*ctx, -1, 0), 0, &ev);
	return NULL;
}

static void work_blocked(void)
{
	static int ctx;
	pthread_t thread;

	ctx = get_ctx();
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(pthread_create(&thread, NULL, block, &ctx), 0);
}

TEST(killed_with_a_connection)
{
	kill_child(start_child(work_connect));
}

TEST(killed_with_half_a_connection)
{
	kill_child(start_child(work_half_open));
}

TEST(killed_with_many_ids)
{
	kill_child(start_child(work_many));
}

TEST(killed_while_it_waits)
{
	kill_child(start_child(work_blocked));
}

static void send_fds(int sock, const int *fds, int count)
{
	char control[CMSG_SPACE(sizeof(int) * 4)] = {};
	struct iovec vec = { "", 1 };
	struct msghdr msg = {
		.msg_iov = &vec, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = CMSG_SPACE(sizeof(int) * count),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int) * count);
	memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * count);
	MUST(sendmsg(sock, &msg, 0));
}

static void receive_fds(int sock, int *fds, int count)
{
	char control[CMSG_SPACE(sizeof(int) * 4)], byte;
	struct iovec vec = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &vec, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};

	EXPECT_EQ(MUST(recvmsg(sock, &msg, 0)), 1);
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int) * count);
}

TEST(descriptors_passed_to_another_process_work_there)
{
	int socks[2], fds[2];
	uint32_t id;
	pid_t pid;

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
	pid = MUST(fork());
	if (!pid) {
		int ctx, queue;

		close(socks[0]);
		receive_fds(socks[1], fds, 2);
		EXPECT_EQ(MUST(read(socks[1], &id, sizeof(id))), sizeof(id));
		ctx = fds[0];
		queue = fds[1];
		await_addr(ctx, queue, id, HERE, 1);
		EXPECT_EQ(rca_destroy(ctx, id), 0);
		_exit(0);
	}
	close(socks[1]);
	fds[0] = get_ctx();
	fds[1] = get_queue(fds[0]);
	id = get_id(fds[0], fds[1], 0);
	send_fds(socks[0], fds, 2);
	/* The child has the last descriptors now. */
	MUST(close(fds[0]));
	MUST(close(fds[1]));
	MUST(write(socks[0], &id, sizeof(id)));
	EXPECT_EQ(wait_exit(pid), 0);
}

TEST(descriptor_of_a_queue_in_a_socket_nobody_reads)
{
	int socks[2], ctx = get_ctx(), queue = get_queue(ctx);

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
	get_bound(ctx, queue, HERE, 7471);
	send_fds(socks[0], (int[]) { queue, ctx }, 2);
	MUST(close(queue));
	EXPECT_EQ(rca_bind(ctx, get_id(ctx, -1, 0), HERE, 7471), -EADDRINUSE);
	MUST(close(ctx));
	MUST(close(socks[0]));
	MUST(close(socks[1]));
	ctx = get_ctx();
	get_bound(ctx, -1, HERE, 7471);
}

static struct {
	int ctx, sock;
	uint32_t ids[STOPPED_IDS];
} stopped;

static void *resolve_without_end(void *arg)
{
	unsigned int seed = gettid();

	(void)arg;
	for (;;)
		rca_resolve_addr(stopped.ctx, stopped.ids[rand_r(&seed) % STOPPED_IDS], NULL,
				 NOBODY, 1);
	return NULL;
}

/* A user whose threads have hardly any processor time passes a queue on, and keeps its ids busy. */
static void resolve_while_stopped(int ready)
{
	pthread_t threads[STOPPED_THREADS];
	int queue;

	MUST(setgid(ANNA));
	MUST(setuid(ANNA));
	stopped.ctx = get_ctx();
	queue = get_queue(stopped.ctx);
	for (int i = 0; i < STOPPED_IDS; i++)
		stopped.ids[i] = get_id(stopped.ctx, queue, i);
	send_fds(stopped.sock, &queue, 1);
	MUST(close(queue));
	busy_begins(ready);
	start_threads(threads, STOPPED_THREADS, resolve_without_end, NULL);
	for (;;)
		pause();
}

/* The one who closes it is another user, and does not wait for threads that do not run. */
TEST(descriptor_of_a_user_whose_threads_do_not_run)
{
	int socks[2], queue;
	double took;
	pid_t busy;

	need_starving(true);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
	stopped.sock = socks[0];
	busy = start_busy(resolve_while_stopped);
	receive_fds(socks[1], &queue, 1);
	/* Each of its threads is somewhere in a call then, and may hold an id. */
	sleep(2);
	starve_busy(busy);
	sleep(1);
	took = -ktap_now();
	MUST(close(queue));
	took += ktap_now();
	ktap_note("%.1f ms", took * 1e3);
	kill_busy(busy);
	EXPECT(took < BOUND);
}

TEST(fork_shares_the_context)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_id(ctx, queue, 0);
	pid_t pid = MUST(fork());

	if (!pid) {
		EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, HERE, 1), 0);
		_exit(0);
	}
	EXPECT_EQ(wait_exit(pid), 0);
	EXPECT_EVENT(queue, ADDR_RESOLVED, id);
}

TEST(module_is_in_use_while_a_queue_is_open)
{
	int ctx = get_ctx(), queue = get_queue(ctx), status;
	pid_t pid;

	MUST(close(ctx));
	pid = MUST(fork());
	if (!pid) {
		close(2);
		execlp("rmmod", "rmmod", "rdma_cm_alt", NULL);
		_exit(127);
	}
	MUST(waitpid(pid, &status, 0));
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 127);
	EXPECT(!event_waits(queue));
}

struct chaos {
	int ctx;
	int queues[2];
	uint32_t ids[16];
	bool stop;
};

static void *make_and_break(void *arg)
{
	struct chaos *c = arg;
	unsigned int seed = gettid();

	while (!__atomic_load_n(&c->stop, __ATOMIC_SEQ_CST)) {
		uint32_t *slot = &c->ids[rand_r(&seed) % 16];
		struct rdma_cm_alt_route route;
		event_t ev;
		uint32_t id;

		switch (rand_r(&seed) % 8) {
		case 0:
			if (!rca_create(c->ctx, rand_r(&seed) % 2 ? c->queues[0] : -1, RDMA_PS_TCP,
					IB_UVERBS_QPT_RC, 0, &id)) {
				id = __atomic_exchange_n(slot, id, __ATOMIC_SEQ_CST);
				rca_destroy(c->ctx, id);
			}
			break;
		case 1:
			rca_destroy(c->ctx, *slot);
			break;
		case 2:
			rca_resolve_addr(c->ctx, *slot, NULL, HERE, 1);
			break;
		case 3:
			rca_resolve_route(c->ctx, *slot);
			break;
		case 4:
			rca_set_queue(c->ctx, *slot, c->queues[rand_r(&seed) % 2]);
			break;
		case 5:
			rca_set_queue(c->ctx, *slot, -1);
			break;
		case 6:
			rca_get_event(c->ctx, *slot, RDMA_CM_ALT_GET_EVENT_NONBLOCK, &ev);
			break;
		default:
			rca_query(c->ctx, *slot, &route);
			break;
		}
	}
	return NULL;
}

/* Threads make all calls on the same ids at the same time; the results do not matter. */
TEST(threads_in_each_others_way)
{
	struct chaos c = { .ctx = get_ctx() };
	pthread_t threads[4];

	c.queues[0] = get_queue(c.ctx);
	c.queues[1] = get_queue(c.ctx);
	start_threads(threads, 4, make_and_break, &c);
	for (int i = 0; i < 300; i++) {
		uint32_t id;

		if (!rca_create(c.ctx, c.queues[1], RDMA_PS_TCP, IB_UVERBS_QPT_RC, 0, &id))
			rca_destroy(c.ctx, __atomic_exchange_n(&c.ids[i % 16], id,
							       __ATOMIC_SEQ_CST));
		usleep(5000);
	}
	__atomic_store_n(&c.stop, true, __ATOMIC_SEQ_CST);
	join_threads(threads, 4);
}

KTAP_MAIN
