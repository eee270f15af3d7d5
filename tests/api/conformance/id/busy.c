// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Channels that have delivered many events. Ours then takes them from a mapped ring; a program
 * must not notice a difference. Reference section 4.2.
 */
#include "steps.h"

#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/utsname.h>

/* Enough events for the ring to be mapped. */
#define SOME 12
/* More events than a ring holds. */
#define MANY 100

/* Stock resolves addresses in a work queue, which handles them in any order since 7.2. */
static bool resolved_in_order(void)
{
	unsigned int release[2];
	struct utsname name;

	NEED(uname(&name));
	NEED(sscanf(name.release, "%u.%u", &release[0], &release[1]) != 2);
	return release[0] < 7 || (release[0] == 7 && release[1] < 2);
}

static void await_event(struct rdma_event_channel *ch)
{
	struct pollfd poll_fd = { .fd = ch->fd, .events = POLLIN };

	NEED(poll(&poll_fd, 1, SOON) != 1);
}

/* The id gets its event in a channel of its own, and moves with it. */
static void resolve_and_move(struct rdma_event_channel *ch, struct rdma_cm_id **id, int number)
{
	struct rdma_event_channel *own = channel();

	*id = make_id(own, RDMA_PS_TCP);
	NEED(rdma_resolve_addr(*id, NULL, at(HERE, 1 + number), SOON));
	await_event(own);
	NEED(rdma_migrate_id(*id, ch));
	rdma_destroy_event_channel(own);
}

/* Causes an event for each of @ids, in this order. */
static void resolve(struct rdma_event_channel *ch, struct rdma_cm_id **ids, int count)
{
	bool in_order = resolved_in_order();
	int n;

	for (n = 0; n < count; n++) {
		/* The last event is not moved, as stock wakes no task for a moved one. */
		if (!in_order && n < count - 1) {
			resolve_and_move(ch, &ids[n], n);
			continue;
		}
		ids[n] = make_id(ch, RDMA_PS_TCP);
		NEED(rdma_resolve_addr(ids[n], NULL, at(HERE, 1 + n), SOON));
	}
	await_event(ch);
	/* One after the other, so the last ones are not far behind. */
	usleep(200000);
}

static void take(struct rdma_event_channel *ch, struct rdma_cm_id **ids, int count)
{
	struct rdma_cm_event *event;
	int n;

	for (n = 0; n < count; n++) {
		NEED(rdma_get_cm_event(ch, &event));
		NEED(event->id != ids[n]);
		NEED(rdma_ack_cm_event(event));
	}
}

static struct rdma_event_channel *busy_channel(void)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *ids[SOME];
	int n;

	resolve(ch, ids, SOME);
	take(ch, ids, SOME);
	for (n = 0; n < SOME; n++)
		NEED(rdma_destroy_id(ids[n]));
	return ch;
}

static void nonblocking(struct rdma_event_channel *ch)
{
	NEED(fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) | O_NONBLOCK));
}

static void poll_answer(const char *check, struct rdma_event_channel *ch)
{
	struct pollfd poll_fd = { .fd = ch->fd, .events = POLLIN | POLLOUT };

	answer(check, "%d revents=%#x", poll(&poll_fd, 1, 0), poll_fd.revents);
}

/* Take all pending events; returns how many came in the order of the ids. */
static void drain_answer(const char *check, struct rdma_event_channel *ch, struct rdma_cm_id **ids)
{
	struct pollfd poll_fd = { .fd = ch->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	int n = 0, ordered = 0, polled = 0;

	for (;;) {
		polled += poll(&poll_fd, 1, 0);
		if (rdma_get_cm_event(ch, &event))
			break;
		ordered += event->id == ids[n++];
		NEED(rdma_ack_cm_event(event));
	}
	answer(check, "%d, %d in order, %d polled, then %s", n, ordered, polled, errno_name(errno));
}

GROUP(busy_full, IN_DEBUG)
{
	struct rdma_event_channel *ch = busy_channel();
	struct rdma_cm_id *ids[MANY];

	nonblocking(ch);
	poll_answer("before", ch);
	resolve(ch, ids, MANY);
	poll_answer("full", ch);
	drain_answer("all", ch, ids);
	poll_answer("after", ch);
	resolve(ch, ids, SOME);
	drain_answer("again", ch, ids);
}

GROUP(busy_level, 0)
{
	struct rdma_event_channel *ch = busy_channel();
	struct epoll_event ready = { .events = EPOLLIN };
	int level = epoll_create1(0), woken = 0;
	struct rdma_cm_id *ids[SOME];

	NEED(epoll_ctl(level, EPOLL_CTL_ADD, ch->fd, &ready));
	answer("empty", "%d", epoll_wait(level, &ready, 1, 0));
	resolve(ch, ids, SOME);
	while (epoll_wait(level, &ready, 1, 0) == 1) {
		take(ch, ids + woken, 1);
		woken++;
	}
	answer("one_event_each_time", "%d", woken);
}

GROUP(busy_edge, 0)
{
	struct rdma_event_channel *ch = busy_channel();
	struct epoll_event ready = { .events = EPOLLIN | EPOLLET };
	int edge = epoll_create1(0);
	struct rdma_cm_id *ids[4];

	nonblocking(ch);
	NEED(epoll_ctl(edge, EPOLL_CTL_ADD, ch->fd, &ready));
	answer("empty", "%d", epoll_wait(edge, &ready, 1, 0));
	resolve(ch, ids, 2);
	answer("two", "%d", epoll_wait(edge, &ready, 1, SOON));
	take(ch, ids, 1);
	answer("one_left", "%d", epoll_wait(edge, &ready, 1, 0));
	resolve(ch, ids + 2, 1);
	answer("one_more", "%d", epoll_wait(edge, &ready, 1, SOON));
	take(ch, ids + 1, 2);
	answer("none_left", "%d", epoll_wait(edge, &ready, 1, 0));
	resolve(ch, ids + 3, 1);
	answer("next", "%d", epoll_wait(edge, &ready, 1, SOON));
	drain_answer("drained", ch, ids + 3);
}

struct readers {
	struct rdma_event_channel *ch;
	atomic_int taken;
	atomic_int seen[MANY];
};

/* Ids have their number as context; a thread that gets an id without one ends. */
static int read_all(void *arg)
{
	struct readers *readers = arg;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	for (;;) {
		if (rdma_get_cm_event(readers->ch, &event))
			return -1;
		id = event->id;
		if (rdma_ack_cm_event(event))
			return -1;
		if (!id->context)
			return 0;
		atomic_fetch_add(&readers->seen[(long)id->context - 1], 1);
		atomic_fetch_add(&readers->taken, 1);
	}
}

#define THREADS 4

GROUP(busy_threads, 0)
{
	static struct readers readers;
	struct thread *threads[THREADS];
	struct rdma_cm_id *id;
	int n, once = 0;

	readers.ch = busy_channel();
	for (n = 0; n < THREADS; n++)
		threads[n] = thread_begin(read_all, &readers);
	for (n = 0; n < MANY; n++) {
		NEED(rdma_create_id(readers.ch, &id, (void *)(n + 1L), RDMA_PS_TCP));
		NEED(rdma_resolve_addr(id, NULL, at(HERE, 1), SOON));
		/* Sometimes threads wait for events, sometimes events are pending. */
		if (n % 20 == 0)
			usleep(10000);
	}
	for (n = 0; n < 1000 && atomic_load(&readers.taken) < MANY; n++)
		usleep(10000);
	for (n = 0; n < THREADS; n++)
		NEED(rdma_resolve_addr(make_id(readers.ch, RDMA_PS_TCP), NULL, at(HERE, 1), SOON));
	for (n = 0; n < THREADS; n++)
		NEED(thread_wait(threads[n], patience(SOON), NULL));
	for (n = 0; n < MANY; n++)
		once += atomic_load(&readers.seen[n]) == 1;
	answer("taken_once", "%d", once);
	quiet_answer("left", readers.ch);
}

#define ROUNDS 60

/* Two channels, each with readers, and threads that create, move and destroy ids. */
struct traffic {
	struct rdma_event_channel *ch[2];
	atomic_bool alive[THREADS * ROUNDS];
	atomic_int workers;
	atomic_int events;
	atomic_int late;
};

static struct traffic traffic;

static int read_traffic(void *arg)
{
	struct rdma_event_channel *ch = traffic.ch[(long)arg];
	struct rdma_cm_event *event;
	bool last;
	long n;

	do {
		if (rdma_get_cm_event(ch, &event))
			return -1;
		n = (long)event->id->context;
		last = n == THREADS * ROUNDS;
		/* The thread that destroys the id waits for this one. */
		if (n < 0 || n > THREADS * ROUNDS || (!last && !atomic_load(&traffic.alive[n])))
			atomic_fetch_add(&traffic.late, 1);
		atomic_fetch_add(&traffic.events, !last);
		if (rdma_ack_cm_event(event))
			return -1;
	} while (!last);
	return 0;
}

static int come_and_go(void *arg)
{
	long n, first = atomic_fetch_add(&traffic.workers, 1) * ROUNDS;
	struct rdma_cm_id *id;

	for (n = first; n < first + ROUNDS; n++) {
		atomic_store(&traffic.alive[n], true);
		if (rdma_create_id(traffic.ch[n % 2], &id, (void *)n, RDMA_PS_TCP) ||
		    rdma_resolve_addr(id, NULL, arg, SOON))
			return -1;
		/* With and without time for the event to be read, or to be in flight. */
		if (n % 3 == 0)
			usleep(2000);
		if (n % 5 < 3 && rdma_migrate_id(id, traffic.ch[(n + 1) % 2]))
			return -1;
		if (rdma_destroy_id(id))
			return -1;
		atomic_store(&traffic.alive[n], false);
	}
	return 0;
}

GROUP(busy_traffic, IN_DEBUG)
{
	struct thread *readers[THREADS], *workers[THREADS];
	struct rdma_cm_id *id;
	long n;
	int failed = 0;

	for (n = 0; n < 2; n++)
		traffic.ch[n] = busy_channel();
	for (n = 0; n < THREADS; n++) {
		readers[n] = thread_begin(read_traffic, (void *)(n % 2));
		workers[n] = thread_begin(come_and_go, at(HERE, 1));
	}
	for (n = 0; n < THREADS; n++)
		failed += thread_wait(workers[n], patience(2 * SOON), NULL) != 0;
	answer("workers_failed", "%d", failed);
	for (n = 0; n < THREADS; n++) {
		NEED(rdma_create_id(traffic.ch[n % 2], &id, (void *)(long)(THREADS * ROUNDS),
				    RDMA_PS_TCP));
		NEED(rdma_resolve_addr(id, NULL, at(HERE, 1), SOON));
	}
	failed = 0;
	for (n = 0; n < THREADS; n++)
		failed += thread_wait(readers[n], patience(SOON), NULL) != 0;
	answer("readers_failed", "%d", failed);
	answer("late", "%d, some: %s", atomic_load(&traffic.late),
	       yes(atomic_load(&traffic.events)));
	quiet_answer("left", traffic.ch[0]);
	quiet_answer("left_other", traffic.ch[1]);
}

static void *get_one(void *arg)
{
	struct rdma_cm_event *event;

	return rdma_get_cm_event(arg, &event) ? NULL : event;
}

/* A waiting thread is cancelled: the next event goes to the next thread. */
GROUP(busy_cancel, WAITS)
{
	struct rdma_event_channel *ch = busy_channel();
	struct rdma_cm_id *ids[2];
	pthread_t thread;
	void *result;
	pid_t pid;
	int n;

	for (n = 0; n < 3; n++) {
		NEED(pthread_create(&thread, NULL, get_one, ch));
		usleep(50000);
		NEED(pthread_cancel(thread));
		NEED(pthread_join(thread, &result));
		NEED(result != PTHREAD_CANCELED);
	}
	resolve(ch, ids, 2);
	event_answer("next", ch, SOON);
	event_answer("after", ch, SOON);
	quiet_answer("left", ch);
	RET("destroy", rdma_destroy_id(ids[0]));
	pid = fork();
	if (!pid)
		_exit(0);
	answer("fork", "%s", yes(waitpid(pid, NULL, 0) == pid));
}

static void on_signal(int number)
{
	(void)number;
}

static atomic_bool interrupted;

/* Again and again: a signal that comes before the thread sleeps in the call is lost. */
static int poke(void *arg)
{
	int ret = 0;

	while (!ret && !interrupted) {
		usleep(300000);
		ret = pthread_kill(*(pthread_t *)arg, SIGUSR1);
	}
	return ret;
}

GROUP(busy_signal, WAITS)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct rdma_event_channel *ch = busy_channel();
	pthread_t self = pthread_self();
	struct rdma_cm_event *event;
	struct thread *thread;
	struct rdma_cm_id *id;

	NEED(sigaction(SIGUSR1, &action, NULL));
	interrupted = false;
	thread = thread_begin(poke, &self);
	RET("get", rdma_get_cm_event(ch, &event));
	interrupted = true;
	NEED(thread_wait(thread, patience(SOON), NULL));
	resolve(ch, &id, 1);
	event_answer("event", ch, SOON);
}

/*
 * The descriptor may be duplicated, and the copy used for reading, for ids, or in place of the
 * original.
 */
GROUP(busy_dup, IN_DEBUG)
{
	struct rdma_event_channel *ch = busy_channel(), copy;
	struct rdma_cm_id *ids[6];

	copy.fd = fcntl(ch->fd, F_DUPFD_CLOEXEC, 0);
	NEED(copy.fd < 0);
	nonblocking(ch);
	resolve(ch, ids, 5);
	take(&copy, ids, 1);
	take(ch, ids + 1, 1);
	take(&copy, ids + 2, 1);
	poll_answer("left", ch);
	poll_answer("left_copy", &copy);
	RET("create", rdma_create_id(&copy, &ids[5], NULL, RDMA_PS_TCP));
	RET("resolve", rdma_resolve_addr(ids[5], NULL, at(HERE, 1), SOON));
	usleep(200000);
	RET("destroy", rdma_destroy_id(ids[5]));
	drain_answer("rest", ch, ids + 3);
	drain_answer("rest_copy", &copy, ids);
	RET("migrate", rdma_migrate_id(ids[0], &copy));
	/*
	 * A program may move the descriptor, for example because select() is limited to small ones.
	 */
	close(ch->fd);
	ch->fd = copy.fd;
	resolve(ch, ids, 2);
	drain_answer("moved", ch, ids);
	VOID("close", rdma_destroy_event_channel(ch));
}

/* The struct may be copied as well. */
GROUP(busy_copy, 0)
{
	struct rdma_conn_param param = conn_param();
	struct pair pair = make_halves(RDMA_PS_TCP, true);
	struct rdma_event_channel *ch = busy_channel(), copy = *ch;

	NEED(rdma_migrate_id(pair.listener, ch));
	NEED(rdma_connect(pair.client, &param));
	pair.child = get_child(&copy);
	answer("channel", "%s", yes(pair.child->channel == ch));
	make_qp(pair.child);
	RET("accept", rdma_accept(pair.child, &param));
	event_answer("event", &copy, SOON);
	event_answer("peer", pair.active, SOON);
}

static int destroy(void *arg)
{
	return rdma_destroy_id(arg);
}

GROUP(busy_ownership, WAITS)
{
	struct rdma_event_channel *ch = busy_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *ids[4];
	struct thread *thread;

	resolve(ch, ids, 4);
	event = NEED_PTR(get_event(ch, SOON));
	/* One id whose event the program has read, and one whose event is pending. */
	thread = thread_begin(destroy, ids[0]);
	thread_answer("destroy_unacked", thread, QUIET);
	RET("destroy_undelivered", rdma_destroy_id(ids[1]));
	RET("ack", rdma_ack_cm_event(event));
	thread_answer("destroy_acked", thread, patience(SOON));
	take(ch, ids + 2, 2);
	poll_answer("left", ch);
	quiet_answer("after", ch);
}

GROUP(busy_migrate, IN_DEBUG)
{
	struct rdma_event_channel *from = busy_channel(), *to = busy_channel();
	struct rdma_cm_id *ids[3], *other;

	nonblocking(from);
	nonblocking(to);
	resolve(from, ids, 3);
	resolve(to, &other, 1);
	RET("migrate", rdma_migrate_id(ids[1], to));
	poll_answer("from", from);
	take(from, ids, 1);
	take(from, ids + 2, 1);
	poll_answer("from_then", from);
	take(to, &other, 1);
	take(to, ids + 1, 1);
	poll_answer("to_then", to);
	NEED(rdma_resolve_route(ids[1], SOON));
	event_answer("route", to, SOON);
	RET("migrate_sync", rdma_migrate_id(ids[1], NULL));
	RET("migrate_back", rdma_migrate_id(ids[1], from));
	RET("destroy", rdma_destroy_id(ids[1]));
	drain_answer("from_end", from, ids);
	drain_answer("to_end", to, ids);
}

/* A channel that is closed with pending events; the next channel gets its descriptor number. */
GROUP(busy_close, 0)
{
	struct rdma_event_channel *ch = busy_channel(), *again;
	struct rdma_cm_id *ids[4];
	int fd = ch->fd;

	resolve(ch, ids, 4);
	VOID("close", rdma_destroy_event_channel(ch));
	again = channel();
	answer("same_descriptor", "%s", yes(again->fd == fd));
	quiet_answer("again", again);
	resolve(again, ids, 2);
	event_answer("first", again, SOON);
	event_answer("second", again, SOON);
}

/* With close(), as programs do that know the descriptor: the peers get events. */
GROUP(busy_close_descriptor, 0)
{
	struct rdma_conn_param param = conn_param();
	struct pair pair = make_requested();
	struct rdma_event_channel *ch = busy_channel();

	NEED(rdma_migrate_id(pair.child, ch));
	NEED(rdma_accept(pair.child, &param));
	expect(pair.active, RDMA_CM_EVENT_ESTABLISHED);
	expect(ch, RDMA_CM_EVENT_ESTABLISHED);
	NEED(close(ch->fd));
	event_answer("peer", pair.active, SOON);
}

/* No memory to map the ring: the events are delivered all the same. */
GROUP(busy_no_memory, 0)
{
	struct rdma_event_channel *ch = NEED_PTR(rdma_create_event_channel());
	struct rdma_cm_id *ids[3 * SOME];
	struct rlimit limit = { 1 << 20, 1 << 20 };
	int n;

	/* Everything that must be mapped, except the ring. */
	resolve(ch, ids, 1);
	take(ch, ids, 1);
	free(malloc(65536));
	NEED(setrlimit(RLIMIT_AS, &limit));
	for (n = 0; n < 2; n++) {
		resolve(ch, ids, SOME);
		take(ch, ids, SOME);
	}
	nonblocking(ch);
	drain_answer("left", ch, ids);
}

/* A child uses channels of its own after its parent had busy ones. */
GROUP(busy_child, IN_DEBUG)
{
	struct rdma_event_channel *ch = busy_channel();
	struct rdma_cm_id *ids[SOME];
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		ch = busy_channel();
		nonblocking(ch);
		resolve(ch, ids, SOME);
		drain_answer("child", ch, ids);
		_exit(0);
	}
	NEED(waitpid(pid, &status, 0) != pid);
	answer("child_end", "%#x", status);
	nonblocking(ch);
	resolve(ch, ids, SOME);
	drain_answer("parent", ch, ids);
}

/* Events that are pending at a fork() go to the process that reads first. */
GROUP(fork_busy, 0)
{
	struct rdma_event_channel *ch = busy_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *ids[3];
	pid_t pid;

	resolve(ch, ids, 3);
	take(ch, ids, 1);
	pid = fork();
	if (!pid) {
		if (!RET("child", rdma_get_cm_event(ch, &event))) {
			answer("child_event", "%s", yes(event->id == ids[1]));
			RET("child_ack", rdma_ack_cm_event(event));
		}
		_exit(0);
	}
	NEED(waitpid(pid, NULL, 0) != pid);
	nonblocking(ch);
	/* With stock the child's event is still pending. */
	NEED(rdma_get_cm_event(ch, &event));
	NEED(rdma_ack_cm_event(event));
	RET("parent_destroy", rdma_destroy_id(ids[1]));
}
