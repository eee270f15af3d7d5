// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of calls that meet each other: each stops one thread where the other one is faster. */
#include "rsocket/stream/events.h"
#include "sockets.h"

static unsigned int refs_of(struct rcl_sock *sock)
{
	return atomic_load(&sock->refs);
}

struct adder {
	int epfd;
	int fd;
	int result;
};

static void *add_to_repoll(void *arg)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct adder *adder = arg;

	adder->result = repoll_ctl(adder->epfd, EPOLL_CTL_ADD, adder->fd, &event);
	if (adder->result)
		adder->result = errno;
	return NULL;
}

/* repoll_ctl() has found the socket, and waits for its lock while rclose() is in front of it. */
SOCKET_TEST(socket_is_closed_while_it_is_added_to_a_repoll)
{
	struct sockets s = connected();
	struct adder adder = { .epfd = repoll_create(0), .fd = s.client };
	struct rcl_sock *sock = rcl_sock_get(s.client);
	struct epoll_event event;
	pthread_t thread;

	pthread_mutex_lock(&sock->lock);
	assert_int_equal(pthread_create(&thread, NULL, add_to_repoll, &adder), 0);
	while (refs_of(sock) < 3)
		usleep(1000);
	/* What rclose() does, whose lock this thread has already. */
	assert_ptr_equal(rcl_sock_remove(s.client), sock);
	sock->ops->end(sock);
	rcl_sock_gone(sock);
	pthread_mutex_unlock(&sock->lock);
	rcl_sock_put(sock);
	pthread_join(thread, NULL);
	rcl_sock_put(sock);
	assert_int_equal(adder.result, EBADF);
	assert_int_equal(repoll_wait(adder.epfd, &event, 1, 0), 0);
	assert_int_equal(rclose(adder.epfd), 0);
	assert_int_equal(rclose(s.server), 0);
	assert_int_equal(rclose(s.listener), 0);
}

struct stop {
	struct rcl_task task;
	int reached;
	int go;
};

static void stop_here(struct rcl_task *task)
{
	struct stop *stop = (void *)task;
	eventfd_t value;

	eventfd_write(stop->reached, 1);
	eventfd_read(stop->go, &value);
}

/* From now on the service thread does nothing. */
static void stop_service(struct stop *stop)
{
	eventfd_t value;

	*stop = (struct stop){
		.task = { .run = stop_here, .fd = -1, .due = 0 },
		.reached = eventfd(0, 0), .go = eventfd(0, 0),
	};
	assert_true(stop->reached >= 0 && stop->go >= 0);
	assert_int_equal(rcl_service_add(&stop->task), 0);
	eventfd_read(stop->reached, &value);
}

static void let_service_go(struct stop *stop)
{
	eventfd_write(stop->go, 1);
	rcl_service_remove(&stop->task);
	flush_service();
	close(stop->reached);
	close(stop->go);
}

/* The request is in the queue of the listener when rclose() comes, and is read after it. */
SOCKET_TEST(request_is_read_after_the_listener_is_closed)
{
	int listener = new_listener(NULL), client = new_socket();
	struct rcl_sock *sock = rcl_sock_get(listener);
	struct stop stop;
	pthread_t thread;
	void *result;

	stop_service(&stop);
	assert_int_equal(pthread_create(&thread, NULL, connect_one, &client), 0);
	wait_for_request();
	/* The service thread has a reference while it handles an event, as this one has. */
	assert_int_equal(rclose(listener), 0);
	let_service_go(&stop);
	pthread_join(thread, &result);
	assert_int_equal((intptr_t)result, ECONNREFUSED);
	assert_null(rcl_stream_of(sock)->events->children);
	rcl_sock_put(sock);
	assert_int_equal(rclose(client), 0);
}

struct noise {
	struct ibv_qp *qp;
	atomic_bool end;
};

/* Messages that mean nothing: the poller is woken, and finds nothing. */
static void *make_noise(void *arg)
{
	struct noise *noise = arg;

	while (!atomic_load(&noise->end)) {
		fake_wire_inject_imm(noise->qp, rcl_msg(RCL_MSG_CONTROL, 77));
		usleep(10000);
	}
	return NULL;
}

SOCKET_TEST(poll_that_is_woken_for_nothing_is_not_early)
{
	struct sockets s = connected();
	struct pollfd pfd = { .fd = s.client, .events = POLLIN };
	struct epoll_event event = { .events = EPOLLIN };
	struct noise noise = { .qp = fake_wire_qp(0) };
	int epfd = repoll_create(0);
	long long began;
	pthread_t thread;

	assert_int_equal(repoll_ctl(epfd, EPOLL_CTL_ADD, s.client, &event), 0);
	assert_int_equal(pthread_create(&thread, NULL, make_noise, &noise), 0);
	began = now_ms();
	assert_int_equal(rpoll(&pfd, 1, 200), 0);
	assert_true(now_ms() - began >= 199);
	began = now_ms();
	assert_int_equal(repoll_wait(epfd, &event, 1, 200), 0);
	assert_true(now_ms() - began >= 199);
	atomic_store(&noise.end, true);
	pthread_join(thread, NULL);
	assert_int_equal(rclose(epfd), 0);
	close_all(&s);
}

RUN
