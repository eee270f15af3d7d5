// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Event channels, getting and acknowledging events: reference sections 0, 1.1 and 4.2. */
#include "steps.h"

#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/resource.h>

GROUP(first_call, COLD)
{
	struct rdma_event_channel *ch = PTR("channel", rdma_create_event_channel());

	VOID("destroy", rdma_destroy_event_channel(ch));
}

/* Without an RDMA device, nothing works. */
GROUP(no_device, COLD | ALONE)
{
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;
	int number = 7;

	NEED(system("rdma link del rxe0 && rdma link del rxe1"));
	PTR("channel", rdma_create_event_channel());
	RET("create_id", rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	RET("getaddrinfo", rdma_getaddrinfo(HERE, "1", NULL, &res));
	PTR("get_devices", rdma_get_devices(&number));
	NEED(system("rdma link add rxe0 type rxe netdev d0"));
	NEED(system("rdma link add rxe1 type rxe netdev v0"));
}

static int get_and_ack(void *arg)
{
	struct rdma_cm_event *event;
	int ret = rdma_get_cm_event(arg, &event);

	return ret ?: rdma_ack_cm_event(event);
}

GROUP(channel, IN_DEBUG)
{
	struct rdma_cm_event *event = NULL;
	struct rdma_cm_id *id;
	struct pollfd poll_fd;
	struct rdma_event_channel *ch = PTR("create", rdma_create_event_channel());

	answer("cloexec", "%s", yes(fcntl(ch->fd, F_GETFD) & FD_CLOEXEC));
	answer("nonblocking", "%s", yes(fcntl(ch->fd, F_GETFL) & O_NONBLOCK));
	poll_fd = (struct pollfd){ .fd = ch->fd, .events = POLLIN | POLLOUT };
	answer("poll_empty", "%d revents=%#x", poll(&poll_fd, 1, 0), poll_fd.revents);
	NEED(fcntl(ch->fd, F_SETFL, O_NONBLOCK));
	RET("get_empty_nonblocking", rdma_get_cm_event(ch, &event));
	RET("get_null", rdma_get_cm_event(ch, NULL));
	RET("ack_null", rdma_ack_cm_event(NULL));
	id = make_id(ch, RDMA_PS_TCP);
	NEED(rdma_resolve_addr(id, NULL, at(HERE, 1), SOON));
	answer("poll_event", "%d revents=%#x", poll(&poll_fd, 1, SOON), poll_fd.revents);
	RET("get", rdma_get_cm_event(ch, &event));
	answer("event_id", "%s listen=%s", yes(event->id == id), yes(event->listen_id));
	RET("get_again", rdma_get_cm_event(ch, &event));
	answer("event_after_failure", "%s", yes(event));
	RET("ack", rdma_ack_cm_event(event));
	RET("destroy_id", rdma_destroy_id(id));
	VOID("destroy", rdma_destroy_event_channel(ch));
}

static void on_signal(int number)
{
	(void)number;
}

static atomic_bool interrupted;

static int get_interrupted(void *arg)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct rdma_cm_event *event;

	sigaction(SIGUSR1, &action, NULL);
	return rdma_get_cm_event(arg, &event);
}

static int poke(void *arg)
{
	(void)arg;
	/* Again and again: a signal that comes before the thread sleeps in the call is lost. */
	while (!interrupted) {
		usleep(300000);
		kill(getpid(), SIGUSR1);
	}
	return 0;
}

GROUP(channel_blocking, WAITS)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	struct thread *thread = thread_begin(get_and_ack, ch);

	thread_answer("get_empty", thread, QUIET);
	NEED(rdma_resolve_addr(id, NULL, at(HERE, 1), SOON));
	thread_answer("get_woken", thread, patience(SOON));
	/* A signal that is only for the reading thread. */
	interrupted = false;
	thread = thread_begin(poke, NULL);
	RET("get_signal", get_interrupted(ch));
	interrupted = true;
	NEED(thread_wait(thread, patience(SOON), NULL));
}

static int destroy(void *arg)
{
	return rdma_destroy_id(arg);
}

GROUP(ownership, WAITS)
{
	struct rdma_event_channel *ch = channel(), *other = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	struct rdma_cm_event *event;
	struct thread *thread;

	NEED(rdma_resolve_addr(id, NULL, at(HERE, 1), SOON));
	event = NEED_PTR(get_event(ch, SOON));
	thread = thread_begin(destroy, id);
	thread_answer("destroy_unacked", thread, QUIET);
	RET("ack", rdma_ack_cm_event(event));
	thread_answer("destroy_acked", thread, patience(SOON));

	/* Pending events are destroyed with the id. */
	id = make_id(ch, RDMA_PS_TCP);
	NEED(rdma_resolve_addr(id, NULL, at(HERE, 1), SOON));
	usleep(200000);
	RET("destroy_undelivered", rdma_destroy_id(id));
	quiet_answer("after_destroy", ch);

	/* Events of two ids on one channel come in the order in which they happen. */
	id = make_resolved(ch, HERE, 1);
	NEED(rdma_resolve_route(id, SOON));
	usleep(200000);
	event_answer("order_first", ch, SOON);
	NEED(rdma_resolve_addr(make_id(ch, RDMA_PS_TCP), NULL, at(HERE, 1), SOON));
	event_answer("order_second", ch, SOON);
	quiet_answer("order_third", ch);
	quiet_answer("other_channel", other);
}

GROUP(ids_without_channel, 0)
{
	struct rdma_event_channel *ch = channel(), *again;
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	int fd = ch->fd;

	VOID("destroy_channel_first", rdma_destroy_event_channel(ch));
	/* The channel has been freed: the library reads freed memory at its own risk. */
	again = channel();
	answer("same_descriptor", "%s", yes(again->fd == fd));
	RET("destroy_id", rdma_destroy_id(id));
}

GROUP(foreign_handle, 0)
{
	struct rdma_event_channel *ch = channel(), *other = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	/* The library decides which descriptor a command goes to. */
	id->channel = other;
	RET("bind_other_channel", rdma_bind_addr(id, at(HERE, 0)));
	RET("destroy_other_channel", rdma_destroy_id(id));
}

GROUP(closed_descriptor, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	struct rdma_cm_event *event;

	close(ch->fd);
	RET("bind", rdma_bind_addr(id, at(HERE, 0)));
	RET("create_id", rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	RET("get_event", rdma_get_cm_event(ch, &event));
	ch->fd = -1;
	RET("get_event_minus_one", rdma_get_cm_event(ch, &event));
}

GROUP(event_str, IN_DEBUG)
{
	char check[16];
	int event;

	for (event = 0; event < 22; event++) {
		snprintf(check, sizeof(check), "%d", event);
		answer(check, "%s", rdma_event_str(event));
	}
	answer("minus_one", "%s", rdma_event_str(-1));
}

GROUP(epoll, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	struct epoll_event ready = { .events = EPOLLIN }, edge = { .events = EPOLLIN | EPOLLET };
	int level = epoll_create1(0), edged = epoll_create1(0);

	NEED(epoll_ctl(level, EPOLL_CTL_ADD, ch->fd, &ready));
	NEED(epoll_ctl(edged, EPOLL_CTL_ADD, ch->fd, &edge));
	answer("empty", "%d", epoll_wait(level, &ready, 1, 0));
	NEED(rdma_resolve_addr(id, NULL, at(HERE, 1), SOON));
	answer("event", "%d events=%#x", epoll_wait(level, &ready, 1, SOON), ready.events);
	answer("event_again", "%d", epoll_wait(level, &ready, 1, 0));
	answer("edge", "%d", epoll_wait(edged, &ready, 1, SOON));
	answer("edge_again", "%d", epoll_wait(edged, &ready, 1, 0));
	expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
	answer("fetched", "%d", epoll_wait(level, &ready, 1, 0));
	NEED(rdma_resolve_route(id, SOON));
	answer("edge_next", "%d", epoll_wait(edged, &ready, 1, SOON));
}

GROUP(after_fork, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	int ends[2], error = 0, ret;

	NEED(pipe(ends));
	if (!fork()) {
		ret = rdma_bind_addr(id, at(HERE, 0));
		error = ret ? errno : 0;
		ret = write(ends[1], &error, sizeof(error));
		_exit(0);
	}
	NEED(read(ends[0], &error, sizeof(error)) != sizeof(error));
	answer("child", "%s", error ? errno_name(error) : "ret=0");
	RET("parent", rdma_destroy_id(id));
}

GROUP(after_setuid, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	NEED(setresuid(65534, 65534, 65534));
	RET("bind", rdma_bind_addr(id, at(HERE, 0)));
}

GROUP(few_descriptors, 0)
{
	struct rlimit limit = { 64, 64 };
	struct rdma_cm_id *id, *last = NULL;
	int made = 0, error;

	NEED(setrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = count_fds();
	while (!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP)) {
		last = id;
		made++;
	}
	error = errno;
	answer("sync_ids", "%s then %s", yes(made + (int)limit.rlim_cur == 64), errno_name(error));
	PTR("channel", rdma_create_event_channel());
	RET("destroy_one", rdma_destroy_id(last));
	PTR("channel_after", rdma_create_event_channel());
}
