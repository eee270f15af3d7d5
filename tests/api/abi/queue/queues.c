// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Event queues as files: read, poll, signals, record sizes, moving ids between them, closing. */
#include <linux/io_uring.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "rca_test.h"

#define RECORD sizeof(event_t)

/* Post @count events to a queue, with the cookies from 0 on. */
static void fill_queue(int ctx, int queue, int count)
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
	fill_queue(ctx, queue, 1);
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
	fill_queue(ctx, queue, 1);
	EXPECT_EQ(read(queue, &ev, sizeof(ev)), RECORD);
}

TEST(nowait_read_is_eagain)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	event_t ev;
	struct iovec vec = { &ev, sizeof(ev) };

	EXPECT_EQ(preadv2(queue, &vec, 1, -1, RWF_NOWAIT), -1);
	EXPECT_EQ(errno, EAGAIN);
	fill_queue(ctx, queue, 1);
	EXPECT_EQ(preadv2(queue, &vec, 1, -1, RWF_NOWAIT), RECORD);
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
	await_sleep(reader.tid);
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
	fill_queue(ctx, queue, 1);
	EXPECT_EQ(read(queue, &ev, sizeof(ev) - 1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(read(queue, &ev, sizeof(ev)), RECORD);
}

TEST(read_takes_as_many_whole_records_as_fit)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	event_t evs[4];

	fill_queue(ctx, queue, 5);
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

	fill_queue(ctx, queue, 1);
	EXPECT_EQ(readv(queue, vec, 2), RECORD);
	memcpy(&ev, one, sizeof(one));
	memcpy((uint8_t *)&ev + sizeof(one), two, RECORD - sizeof(one));
	EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED);
	EXPECT_EQ(ev.route.num_paths, 1);
}

/* Two pages; the second one is not mapped. */
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

	fill_queue(ctx, queue, 2);
	EXPECT_EQ(read(queue, pages + 4096, RECORD), -1);
	EXPECT_EQ(errno, EFAULT);
	EXPECT_EQ(read(queue, pages + 4096 - RECORD + 1, RECORD), -1);
	EXPECT_EQ(errno, EFAULT);
	/* The event fits before the unmapped page, the zeros behind it do not. */
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

	fill_queue(ctx, queue, 3);
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
	struct pair p = get_connected();
	event_t ev;

	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	get_event(p.cq, &ev);	/* fills the buffer first */
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
	fill_queue(ctx, queue, 3);
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

/* A ring of io_uring with one entry, without its library. */
struct uring {
	int fd;
	struct io_uring_params params;
	uint8_t *ring;
	struct io_uring_sqe *sqe;
};

static void get_uring(struct uring *u)
{
	*u = (struct uring) {};
	u->fd = syscall(SYS_io_uring_setup, 1, &u->params);
	if (u->fd < 0)
		ktap_skip("no io_uring: %m");
	EXPECT(u->params.features & IORING_FEAT_SINGLE_MMAP);
	u->ring = MUST(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, u->fd,
			    IORING_OFF_SQ_RING));
	u->sqe = MUST(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, u->fd,
			   IORING_OFF_SQES));
}

static uint32_t *ring_word(struct uring *u, uint32_t offset)
{
	return (uint32_t *)(u->ring + offset);
}

static void submit_read(struct uring *u, int queue, event_t *ev)
{
	uint32_t *tail = ring_word(u, u->params.sq_off.tail);

	*u->sqe = (struct io_uring_sqe) {
		.opcode = IORING_OP_READ, .fd = queue, .off = -1, .addr = (uintptr_t)ev,
		.len = sizeof(*ev),
	};
	*ring_word(u, u->params.sq_off.array) = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	EXPECT_EQ(MUST(syscall(SYS_io_uring_enter, u->fd, 1, 0, 0, NULL, 0)), 1);
}

static int uring_result(struct uring *u)
{
	struct io_uring_cqe *cqe = (void *)(u->ring + u->params.cq_off.cqes);
	uint32_t *head = ring_word(u, u->params.cq_off.head);

	MUST(syscall(SYS_io_uring_enter, u->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0));
	EXPECT(*head != __atomic_load_n(ring_word(u, u->params.cq_off.tail), __ATOMIC_ACQUIRE));
	cqe += *head & *ring_word(u, u->params.cq_off.ring_mask);
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return cqe->res;
}

TEST(io_uring_reads_what_waits_and_what_comes)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t first = get_loaded(ctx, queue, 1), second = get_loaded(ctx, queue, 2);
	struct uring u;
	event_t ev;

	get_uring(&u);
	post(ctx, first);
	submit_read(&u, queue, &ev);
	EXPECT_EQ(uring_result(&u), RECORD);
	EXPECT_EQ(ev.cookie, 1);
	submit_read(&u, queue, &ev);
	post(ctx, second);
	EXPECT_EQ(uring_result(&u), RECORD);
	EXPECT_EQ(ev.cookie, 2);
}

KTAP_MAIN
