// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Ids that move to another queue: their events move, and each arrives once and in order. */
#include "rca_test.h"

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

	/* Three events of one id are queued: requests of a listener. */
	p = get_listening(HERE);
	for (int i = 0; i < 3; i++) {
		uint8_t number = i;

		EXPECT_EQ(rca_connect(p.ctx, get_client(p.ctx, p.cq, HERE, p.port, 0), &number, 1),
			  0);
		/* ib_cm handles requests on several processors, in any order. */
		usleep(200 * 1000);
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
	/* The new ids have the queue that delivered their requests. */
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
	EXPECT_EQ(reader.ret, sizeof(event_t));
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
	/* Without the flag the cookie stays. */
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

/* Each event of an id that moves continuously arrives once, at one of its queues. */
TEST(no_event_is_lost_or_doubled_by_moving)
{
	enum { EVENTS = 40 };
	bool seen[EVENTS] = {};
	struct pair p = get_listening(HERE);
	struct mover mover;
	pthread_t thread;

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
			if (read(fds[n].fd, &ev, sizeof(ev)) == (ssize_t)sizeof(ev))
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
