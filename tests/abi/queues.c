// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Event queues as files: read, poll, signals, record sizes, moving ids between them, closing. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rca_test.h"

#define RECORD sizeof(event_t)

/* An id that posts one event at once when post() is called. */
static uint32_t get_loaded(int ctx, int queue, uint64_t cookie)
{
	uint32_t id = get_id(ctx, queue, cookie);

	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, HERE, 1), 0);
	EXPECT_EVENT(queue, ADDR_RESOLVED, id);
	return id;
}

static void post(int ctx, uint32_t id)
{
	EXPECT_EQ(rca_resolve_route(ctx, id), 0);
}

/* @count events in a queue that is read elsewhere, with the cookies from 0 on. */
static void fill(int ctx, int queue, int count)
{
	uint32_t ids[count];

	for (int i = 0; i < count; i++)
		ids[i] = get_loaded(ctx, queue, i);
	for (int i = 0; i < count; i++)
		post(ctx, ids[i]);
}

TEST(descriptor_is_close_on_exec_and_blocks)
{
	int queue = get_queue(get_ctx());

	EXPECT_EQ(MUST(fcntl(queue, F_GETFD)) & FD_CLOEXEC, FD_CLOEXEC);
	EXPECT_EQ(MUST(fcntl(queue, F_GETFL)) & O_NONBLOCK, 0);
	EXPECT_EQ(MUST(fcntl(queue, F_GETFL)) & O_ACCMODE, O_RDONLY);
}

TEST(descriptor_may_be_nonblocking)
{
	int queue = get_queue_sized(get_ctx(), 0, RDMA_CM_ALT_QUEUE_NONBLOCK);
	event_t ev;

	EXPECT_EQ(MUST(fcntl(queue, F_GETFL)) & O_NONBLOCK, O_NONBLOCK);
	EXPECT_EQ(read(queue, &ev, sizeof(ev)), -1);
	EXPECT_EQ(errno, EAGAIN);
}

TEST(descriptor_is_named)
{
	char path[64], name[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", get_queue(get_ctx()));
	MUST(readlink(path, name, sizeof(name) - 1));
	EXPECT(strstr(name, "[rdma_cm_alt]"));
}

TEST(nothing_else_can_be_done_with_it)
{
	int queue = get_queue(get_ctx());
	event_t ev = {};

	EXPECT_EQ(write(queue, &ev, sizeof(ev)), -1);
	EXPECT_EQ(lseek(queue, 0, SEEK_SET), -1);
	EXPECT_EQ(pread(queue, &ev, sizeof(ev), 0), -1);
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_SHARED, queue, 0) == MAP_FAILED);
	EXPECT_EQ(ioctl(queue, RDMA_CM_ALT_INFO, &ev), -1);
	EXPECT_EQ(errno, ENOTTY);
}

TEST(poll_tells_whether_an_event_waits)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	struct pollfd fd = { .fd = queue, .events = POLLIN | POLLOUT | POLLRDNORM | POLLPRI };
	event_t ev;

	EXPECT_EQ(MUST(poll(&fd, 1, 0)), 0);
	fill(ctx, queue, 1);
	EXPECT_EQ(MUST(poll(&fd, 1, 0)), 1);
	EXPECT_EQ(fd.revents, POLLIN | POLLRDNORM);
	get_event(queue, &ev);
	EXPECT_EQ(MUST(poll(&fd, 1, 0)), 0);
}

TEST(epoll_wakes_once_an_event)
{
	struct epoll_event in = { .events = EPOLLIN | EPOLLET }, out;
	int ctx = get_ctx(), queue = get_queue(ctx), ep = MUST(epoll_create1(0));
	uint32_t id = get_loaded(ctx, queue, 0);

	MUST(epoll_ctl(ep, EPOLL_CTL_ADD, queue, &in));
	EXPECT_EQ(MUST(epoll_wait(ep, &out, 1, 0)), 0);
	post(ctx, id);
	EXPECT_EQ(MUST(epoll_wait(ep, &out, 1, 1000)), 1);
	EXPECT_EQ(MUST(epoll_wait(ep, &out, 1, 0)), 0);
}

TEST(nonblocking_read_is_eagain)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	event_t ev;

	MUST(fcntl(queue, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(read(queue, &ev, sizeof(ev)), -1);
	EXPECT_EQ(errno, EAGAIN);
	fill(ctx, queue, 1);
	EXPECT_EQ(read(queue, &ev, sizeof(ev)), RECORD);
}

TEST(nowait_read_is_eagain)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	event_t ev;
	struct iovec vec = { &ev, sizeof(ev) };

	EXPECT_EQ(preadv2(queue, &vec, 1, -1, RWF_NOWAIT), -1);
	EXPECT_EQ(errno, EAGAIN);
	fill(ctx, queue, 1);
	EXPECT_EQ(preadv2(queue, &vec, 1, -1, RWF_NOWAIT), RECORD);
}

struct reader {
	pthread_t thread;
	int queue;
	event_t ev;
	ssize_t ret;
	int error;
};

static void *read_one(void *arg)
{
	struct reader *reader = arg;

	reader->ret = read(reader->queue, &reader->ev, sizeof(reader->ev));
	reader->error = errno;
	return NULL;
}

/* Wait until the thread sleeps in the kernel. */
static void await_sleep(pid_t tid)
{
	char path[64], text[256], *state;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	for (;;) {
		fd = MUST(open(path, O_RDONLY));
		text[MUST(read(fd, text, sizeof(text) - 1))] = 0;
		MUST(close(fd));
		state = strrchr(text, ')');
		if (state && state[2] == 'S')
			return;
		usleep(1000);
	}
}

static pid_t reader_tid;

static void *read_one_told(void *arg)
{
	__atomic_store_n(&reader_tid, gettid(), __ATOMIC_SEQ_CST);
	return read_one(arg);
}

static void start_reader(struct reader *reader, int queue)
{
	reader->queue = queue;
	reader_tid = 0;
	EXPECT_EQ(pthread_create(&reader->thread, NULL, read_one_told, reader), 0);
	while (!__atomic_load_n(&reader_tid, __ATOMIC_SEQ_CST))
		usleep(1000);
	await_sleep(reader_tid);
}

TEST(blocking_read_waits_for_an_event)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_loaded(ctx, queue, 0);
	struct reader reader;

	start_reader(&reader, queue);
	post(ctx, id);
	EXPECT_EQ(pthread_join(reader.thread, NULL), 0);
	EXPECT_EQ(reader.ret, RECORD);
	EXPECT_EQ(reader.ev.id, id);
}

static void nothing(int sig)
{
	(void)sig;
}

TEST(signal_ends_a_blocking_read_with_eintr)
{
	struct sigaction action = { .sa_handler = nothing };
	int queue = get_queue(get_ctx());
	struct reader reader;

	MUST(sigaction(SIGUSR1, &action, NULL));
	start_reader(&reader, queue);
	EXPECT_EQ(pthread_kill(reader.thread, SIGUSR1), 0);
	EXPECT_EQ(pthread_join(reader.thread, NULL), 0);
	EXPECT_EQ(reader.ret, -1);
	EXPECT_EQ(reader.error, EINTR);
}

TEST(read_goes_on_after_a_signal_that_restarts)
{
	struct sigaction action = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_loaded(ctx, queue, 0);
	struct reader reader;

	MUST(sigaction(SIGUSR1, &action, NULL));
	start_reader(&reader, queue);
	EXPECT_EQ(pthread_kill(reader.thread, SIGUSR1), 0);
	await_sleep(reader_tid);
	post(ctx, id);
	EXPECT_EQ(pthread_join(reader.thread, NULL), 0);
	EXPECT_EQ(reader.ret, RECORD);
}

TEST(buffer_shorter_than_a_record_is_einval)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	event_t ev;

	EXPECT_EQ(read(queue, &ev, 0), -1);
	EXPECT_EQ(errno, EINVAL);
	fill(ctx, queue, 1);
	EXPECT_EQ(read(queue, &ev, sizeof(ev) - 1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(read(queue, &ev, sizeof(ev)), RECORD);
}

TEST(read_takes_as_many_whole_records_as_fit)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	event_t evs[4];

	fill(ctx, queue, 5);
	EXPECT_EQ(read(queue, evs, 2 * RECORD + RECORD / 2), 2 * RECORD);
	EXPECT_EQ(evs[0].cookie, 0);
	EXPECT_EQ(evs[1].cookie, 1);
	EXPECT_EQ(read(queue, evs, sizeof(evs)), 3 * RECORD);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(evs[i].cookie, 2 + i);
	EXPECT(!event_waits(queue));
}

TEST(record_may_be_spread_over_buffers)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint8_t one[100], two[RECORD];
	struct iovec vec[] = { { one, sizeof(one) }, { two, RECORD - sizeof(one) } };
	event_t ev;

	fill(ctx, queue, 1);
	EXPECT_EQ(readv(queue, vec, 2), RECORD);
	memcpy(&ev, one, sizeof(one));
	memcpy((uint8_t *)&ev + sizeof(one), two, RECORD - sizeof(one));
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED);
	EXPECT_EQ(ev.route.num_paths, 1);
}

/* Two pages, the second of which is not there. */
static uint8_t *half_mapped(void)
{
	uint8_t *pages = MUST(mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	MUST(munmap(pages + 4096, 4096));
	return pages;
}

TEST(bad_buffer_is_efault_and_loses_nothing)
{
	uint8_t *pages = half_mapped();
	int ctx = get_ctx(), queue = get_queue(ctx);
	event_t ev;

	fill(ctx, queue, 2);
	EXPECT_EQ(read(queue, pages + 4096, RECORD), -1);
	EXPECT_EQ(errno, EFAULT);
	EXPECT_EQ(read(queue, pages + 4096 - RECORD + 1, RECORD), -1);
	EXPECT_EQ(errno, EFAULT);
	/* The head is there, the zeros behind it are not. */
	EXPECT_EQ(read(queue, pages + 4096 - 64, RECORD), -1);
	EXPECT_EQ(errno, EFAULT);
	EXPECT(event_waits(queue));
	for (int i = 0; i < 2; i++) {
		EXPECT_EVENT_STATUS(queue, ROUTE_RESOLVED, 0, 0, &ev);
		EXPECT_EQ(ev.cookie, i);
	}
}

TEST(batch_that_is_cut_by_a_bad_page_delivers_what_arrived)
{
	uint8_t *pages = half_mapped();
	int ctx = get_ctx(), queue = get_queue(ctx);
	event_t ev;

	fill(ctx, queue, 3);
	EXPECT_EQ(read(queue, pages + 4096 - RECORD - 8, 3 * RECORD), RECORD);
	EXPECT_EVENT_STATUS(queue, ROUTE_RESOLVED, 0, 0, &ev);
	EXPECT_EQ(ev.cookie, 1);
	EXPECT_EVENT_STATUS(queue, ROUTE_RESOLVED, 0, 0, &ev);
	EXPECT_EQ(ev.cookie, 2);
}

TEST(small_records_are_cut_off)
{
	struct rdma_cm_alt_queue_create cmd = { .size = sizeof(cmd), .record_size = 64 };
	int ctx = get_ctx();
	uint8_t small[128];
	uint32_t id;
	event_t ev;

	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_QUEUE_CREATE, &cmd), 0);
	EXPECT_EQ(cmd.out_record_size, 64);
	id = get_id(ctx, cmd.out_fd, 3);
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, HERE, 1), 0);
	EXPECT(event_comes(cmd.out_fd, PATIENCE));
	memset(small, 0xaa, sizeof(small));
	EXPECT_EQ(read(cmd.out_fd, small, sizeof(small)), 64);
	memcpy(&ev, small, 64);
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_ADDR_RESOLVED);
	EXPECT_EQ(ev.id, id);
	EXPECT_EQ(ev.cookie, 3);
	EXPECT_EQ(small[64], 0xaa);
}

TEST(large_records_are_filled_up_with_zeros)
{
	struct rdma_cm_alt_queue_create cmd = { .size = sizeof(cmd), .record_size = 4096 };
	int ctx = get_ctx();
	uint8_t large[4096];
	event_t ev;

	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_QUEUE_CREATE, &cmd), 0);
	EXPECT_EQ(cmd.out_record_size, 4096);
	EXPECT_EQ(rca_resolve_addr(ctx, get_id(ctx, cmd.out_fd, 0), NULL, HERE, 1), 0);
	EXPECT(event_comes(cmd.out_fd, PATIENCE));
	memset(large, 0xaa, sizeof(large));
	EXPECT_EQ(read(cmd.out_fd, large, sizeof(large)), 4096);
	memcpy(&ev, large, sizeof(ev));
	EXPECT_EQ(ev.length, sizeof(ev));
	for (size_t i = ev.length; i < sizeof(large); i++)
		EXPECT_EQ(large[i], 0);
}

TEST(short_event_is_filled_up_with_zeros)
{
	struct pair p;
	event_t ev;

	pair_connect(&p);
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	get_event(p.cq, &ev);	/* fills the buffer with something else first */
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_DISCONNECTED);
	EXPECT(ev.length >= offsetof(event_t, qp_num) && ev.length <= sizeof(ev));
	for (size_t i = ev.length; i < sizeof(ev); i++)
		EXPECT_EQ(((uint8_t *)&ev)[i], 0);
}

TEST(bad_record_sizes_are_einval)
{
	static const uint32_t sizes[] = { 1, 8, 56, 63, 65, 100, 4100, 4104, 8192, 0xffffffff };
	int ctx = get_ctx();

	for (int i = 0; i < 10; i++) {
		struct rdma_cm_alt_queue_create cmd = {
			.size = sizeof(cmd), .record_size = sizes[i],
		};

		EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_QUEUE_CREATE, &cmd), -EINVAL);
	}
}

TEST(close_destroys_the_ids)
{
	int ctx = get_ctx(), queue = get_queue(ctx), other = get_queue(ctx);
	uint32_t id = get_bound(ctx, queue, HERE, 7471), listener = get_id(ctx, queue, 0);
	uint32_t survivor = get_bound(ctx, other, HERE, 7472);

	EXPECT_EQ(rca_listen(ctx, listener, 0), 0);
	fill(ctx, queue, 3);
	MUST(close(queue));
	EXPECT_EQ(rca_destroy(ctx, id), -ENOENT);
	EXPECT_EQ(rca_destroy(ctx, listener), -ENOENT);
	get_bound(ctx, other, HERE, 7471);
	EXPECT_EQ(rca_destroy(ctx, survivor), 0);
}

TEST(last_descriptor_counts)
{
	int ctx = get_ctx(), queue = get_queue(ctx), copy = MUST(dup(queue));
	uint32_t id = get_id(ctx, queue, 0);

	MUST(close(queue));
	EXPECT_EQ(rca_bind(ctx, id, HERE, 0), 0);
	MUST(close(copy));
	EXPECT_EQ(rca_destroy(ctx, id), -ENOENT);
}

TEST(destroy_drops_events_that_wait)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t a = get_loaded(ctx, queue, 1), b = get_loaded(ctx, queue, 2);
	event_t ev;

	post(ctx, a);
	post(ctx, b);
	EXPECT_EQ(rca_destroy(ctx, a), 0);
	EXPECT_EVENT_STATUS(queue, ROUTE_RESOLVED, b, 0, &ev);
	EXPECT(!event_waits(queue));
}

TEST(destroy_tells_how_many_events_were_delivered)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = get_loaded(ctx, queue, 0), reported;

	post(ctx, id);
	EXPECT_EQ(rca_destroy_count(ctx, id, &reported), 0);
	EXPECT_EQ(reported, 1);
	id = get_loaded(ctx, queue, 0);
	post(ctx, id);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
	EXPECT_EQ(rca_destroy_count(ctx, id, &reported), 0);
	EXPECT_EQ(reported, 2);
}

static int set_queue(int ctx, uint32_t id, uint32_t flags, int fd, uint64_t cookie,
		     struct rdma_cm_alt_set_queue *cmd)
{
	*cmd = (struct rdma_cm_alt_set_queue) {
		.size = sizeof(*cmd), .flags = flags, .id = id, .queue_fd = fd, .cookie = cookie,
	};
	return rca_call(ctx, RDMA_CM_ALT_SET_QUEUE, cmd);
}

TEST(events_move_with_their_id_in_order)
{
	struct rdma_cm_alt_set_queue cmd;
	struct pair p;
	event_t ev;
	int to;

	/* Three events of one id wait: a request of a listener, twice more. */
	pair_listen(&p, HERE);
	for (int i = 0; i < 3; i++) {
		uint8_t number = i;

		EXPECT_EQ(rca_connect(p.ctx, get_client(p.ctx, p.cq, HERE, p.port, 0), &number, 1),
			  0);
	}
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	EXPECT_EQ(ev.private_data[0], 0);
	EXPECT(event_comes(p.lq, PATIENCE));
	to = get_queue(p.ctx);
	EXPECT_EQ(set_queue(p.ctx, p.listener, 0, to, 0, &cmd), 0);
	EXPECT_EQ(cmd.out_events_reported, 1);
	EXPECT_EQ(cmd.out_queue_fd, -1);
	EXPECT(!event_waits(p.lq));
	for (int i = 1; i < 3; i++) {
		EXPECT_EVENT_STATUS(to, CONNECT_REQUEST, 0, 0, &ev);
		EXPECT_EQ(ev.private_data[0], i);
		EXPECT_EQ(ev.cookie, LISTENER);
	}
	/* The new ids have the queue that told of them. */
	EXPECT_EQ(rca_accept(p.ctx, ev.id, SERVER, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, CONNECT_RESPONSE, 0, 0, &ev);
	EXPECT_EQ(rca_establish(p.ctx, ev.id), 0);
	EXPECT_EVENT(to, ESTABLISHED, 0);
	EXPECT(!event_waits(p.lq));
}

TEST(events_of_other_ids_stay)
{
	int ctx = get_ctx(), from = get_queue(ctx), to = get_queue(ctx);
	uint32_t ids[3];

	for (int i = 0; i < 3; i++)
		ids[i] = get_loaded(ctx, from, i);
	for (int i = 0; i < 3; i++)
		post(ctx, ids[i]);
	EXPECT_EQ(rca_set_queue(ctx, ids[1], to), 0);
	EXPECT_EVENT(from, ROUTE_RESOLVED, ids[0]);
	EXPECT_EVENT(from, ROUTE_RESOLVED, ids[2]);
	EXPECT(!event_waits(from));
	EXPECT_EVENT(to, ROUTE_RESOLVED, ids[1]);
}

TEST(move_wakes_the_new_queue)
{
	int ctx = get_ctx(), from = get_queue(ctx), to = get_queue(ctx);
	uint32_t id = get_loaded(ctx, from, 0);
	struct reader reader;

	post(ctx, id);
	start_reader(&reader, to);
	EXPECT_EQ(rca_set_queue(ctx, id, to), 0);
	EXPECT_EQ(pthread_join(reader.thread, NULL), 0);
	EXPECT_EQ(reader.ret, RECORD);
	EXPECT_EQ(reader.ev.id, id);
}

TEST(move_may_change_the_cookie)
{
	int ctx = get_ctx(), from = get_queue(ctx), to = get_queue(ctx);
	uint32_t id = get_loaded(ctx, from, 1);
	struct rdma_cm_alt_set_queue cmd;
	event_t ev;

	post(ctx, id);
	EXPECT_EQ(set_queue(ctx, id, RDMA_CM_ALT_SET_QUEUE_COOKIE, to, 2, &cmd), 0);
	EXPECT_EVENT_STATUS(to, ROUTE_RESOLVED, id, 0, &ev);
	EXPECT_EQ(ev.cookie, 2);
	/* Without the flag it stays. */
	id = get_loaded(ctx, from, 1);
	post(ctx, id);
	EXPECT_EQ(set_queue(ctx, id, 0, to, 2, &cmd), 0);
	EXPECT_EVENT_STATUS(to, ROUTE_RESOLVED, id, 0, &ev);
	EXPECT_EQ(ev.cookie, 1);
}

TEST(move_to_a_new_queue)
{
	int ctx = get_ctx(), from = get_queue(ctx);
	uint32_t id = get_loaded(ctx, from, 0);
	struct rdma_cm_alt_set_queue cmd;

	post(ctx, id);
	EXPECT_EQ(set_queue(ctx, id, RDMA_CM_ALT_SET_QUEUE_NEW, -1, 0, &cmd), 0);
	EXPECT(cmd.out_queue_fd >= 0);
	EXPECT_EQ(cmd.out_events_reported, 1);
	EXPECT_EQ(MUST(fcntl(cmd.out_queue_fd, F_GETFD)) & FD_CLOEXEC, FD_CLOEXEC);
	MUST(close(from));
	EXPECT_EVENT(cmd.out_queue_fd, ROUTE_RESOLVED, id);
	MUST(close(cmd.out_queue_fd));
	EXPECT_EQ(rca_destroy(ctx, id), -ENOENT);
}

TEST(move_to_the_same_queue_changes_nothing)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t a = get_loaded(ctx, queue, 0), b = get_loaded(ctx, queue, 0);

	post(ctx, a);
	post(ctx, b);
	EXPECT_EQ(rca_set_queue(ctx, a, queue), 0);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, a);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, b);
}

TEST(move_to_what_is_no_queue)
{
	int ctx = get_ctx(), queue = get_queue(ctx), other = get_queue(get_ctx());
	int null = MUST(open("/dev/null", O_RDONLY));
	uint32_t id = get_loaded(ctx, queue, 0);
	struct rdma_cm_alt_set_queue cmd;

	EXPECT_EQ(rca_set_queue(ctx, id, null), -EINVAL);
	EXPECT_EQ(rca_set_queue(ctx, id, ctx), -EINVAL);
	EXPECT_EQ(rca_set_queue(ctx, id, other), -EINVAL);
	MUST(close(null));
	EXPECT_EQ(rca_set_queue(ctx, id, null), -EBADF);
	EXPECT_EQ(rca_set_queue(ctx, id, -2), -EBADF);
	EXPECT_EQ(set_queue(ctx, id, RDMA_CM_ALT_SET_QUEUE_NEW, queue, 0, &cmd), -EINVAL);
	EXPECT_EQ(set_queue(ctx, id, RDMA_CM_ALT_SET_QUEUE_NEW, 0, 0, &cmd), -EINVAL);
	post(ctx, id);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
}

struct mover {
	int ctx;
	int queues[2];
	uint32_t id;
	bool stop;
};

static void *move_about(void *arg)
{
	struct mover *mover = arg;

	for (int i = 0; !__atomic_load_n(&mover->stop, __ATOMIC_SEQ_CST); i++)
		EXPECT_EQ(rca_set_queue(mover->ctx, mover->id, mover->queues[i % 2]), 0);
	return NULL;
}

/* Each event of an id that moves all the time arrives once, at one of its queues. */
TEST(no_event_is_lost_or_doubled_by_moving)
{
	enum { EVENTS = 40 };
	struct mover mover;
	pthread_t thread;
	struct pair p;
	bool seen[EVENTS] = {};

	pair_listen(&p, HERE);
	mover = (struct mover) {
		.ctx = p.ctx, .queues = { p.lq, get_queue(p.ctx) }, .id = p.listener,
	};
	EXPECT_EQ(pthread_create(&thread, NULL, move_about, &mover), 0);
	for (int i = 0; i < EVENTS; i++) {
		struct pollfd fds[] = { { mover.queues[0], POLLIN, 0 },
					{ mover.queues[1], POLLIN, 0 } };
		uint8_t number = i;
		event_t ev;

		EXPECT_EQ(rca_connect(p.ctx, get_client(p.ctx, p.cq, HERE, p.port, 0), &number, 1),
			  0);
		for (int n = 0;; n ^= 1) {
			if (!fds[n].revents && MUST(poll(fds, 2, PATIENCE * 1000)) == 0)
				ktap_fail(__FILE__, __LINE__, "event %d is lost", i);
			MUST(fcntl(fds[n].fd, F_SETFL, O_NONBLOCK));
			if (read(fds[n].fd, &ev, sizeof(ev)) == (ssize_t)RECORD)
				break;
			EXPECT_EQ(errno, EAGAIN);
			fds[n].revents = 0;
		}
		EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_CONNECT_REQUEST);
		EXPECT_EQ(ev.private_data[0], i);
		EXPECT(!seen[i]);
		seen[i] = true;
	}
	__atomic_store_n(&mover.stop, true, __ATOMIC_SEQ_CST);
	EXPECT_EQ(pthread_join(thread, NULL), 0);
	EXPECT(!event_waits(mover.queues[0]));
	EXPECT(!event_waits(mover.queues[1]));
}

KTAP_MAIN
