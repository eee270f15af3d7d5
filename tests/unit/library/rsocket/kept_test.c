// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of what closed streams leave for new ones. */
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/resource.h>

#include "fake/fake_fabric.h"
#include "rsocket/stream/kept.h"
#include "sockets.h"

#define KEPT_MOST 16

/* Objects of a connected stream: PD, channel, two CQs, two memory regions, and the QP. */
#define OBJECTS 7

/* How much memory the process may lock bounds what is kept. */
static rlim_t may_lock = RLIM_INFINITY;

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	int ret = prlimit(getpid(), resource, NULL, limit);

	if (resource == RLIMIT_MEMLOCK)
		limit->rlim_cur = may_lock;
	return ret;
}

/* What a closed socket leaves with the service thread ends soon. */
static void close_and_wait(struct sockets *s)
{
	int ms;

	close_all(s);
	for (ms = 0; ms < 5000 && fake_wire_qp(0); ms++)
		usleep(1000);
	flush_service();
}

static int steps_of_a_connection(void (*prepare)(int fd))
{
	int before = fake_verbs.steps;
	struct sockets s = connected_as(prepare);
	int steps = fake_verbs.steps - before;

	pass_byte(&s);
	close_and_wait(&s);
	return steps;
}

/* The first connection opens the device, which stays open. */
static void open_device(void)
{
	steps_of_a_connection(NULL);
	rcl_kept_end(RCL_FOREVER);
}

SOCKET_TEST(all_but_the_qp_is_used_again)
{
	int first, objects;

	open_device();
	first = steps_of_a_connection(NULL);
	objects = fake_verbs.objects;
	assert_int_equal(first - steps_of_a_connection(NULL), 2 * (OBJECTS - 1));
	assert_int_equal(fake_verbs.objects, objects);
}

static const struct {
	int level;
	int option;
	int value;
} sizes[] = {
	{ SOL_SOCKET, SO_RCVBUF, 8192 }, { SOL_SOCKET, SO_SNDBUF, 8192 },
	{ SOL_RDMA, RDMA_SQSIZE, 64 }, { SOL_RDMA, RDMA_RQSIZE, 64 },
	{ SOL_RDMA, RDMA_IOMAPSIZE, 4 },
};
static unsigned int which;

static void change_one(int fd)
{
	set_int(fd, sizes[which].level, sizes[which].option, sizes[which].value);
}

SOCKET_TEST(other_sizes_are_not_mixed)
{
	int first;

	open_device();
	first = steps_of_a_connection(NULL);
	for (which = 0; which < ARRAY_SIZE(sizes); which++) {
		assert_int_equal(steps_of_a_connection(change_one), first);
		assert_int_equal(first - steps_of_a_connection(change_one), 2 * (OBJECTS - 1));
	}
}

static void expect_zeros(int fd)
{
	struct rcl_stream *s = rcl_stream_of(rcl_sock_get(fd));
	uint32_t i;

	for (i = 0; i < s->rx.size; i++)
		assert_int_equal(s->rx.buf[i], 0);
	rcl_sock_put(&s->sock);
}

SOCKET_TEST(next_stream_gets_no_bytes_of_the_last_one)
{
	struct sockets s = connected();
	char data[1000];

	memset(data, 'p', sizeof(data));
	assert_int_equal(rsend(s.client, data, sizeof(data), 0), sizeof(data));
	assert_int_equal(rrecv(s.server, data, sizeof(data), MSG_WAITALL), sizeof(data));
	close_and_wait(&s);
	s = connected();
	expect_zeros(s.client);
	expect_zeros(s.server);
	close_and_wait(&s);
}

SOCKET_TEST(each_stream_has_its_own_protection_domain)
{
	struct sockets s = connected();
	struct rcl_stream *client = rcl_stream_of(rcl_sock_get(s.client));
	struct rcl_stream *server = rcl_stream_of(rcl_sock_get(s.server));

	assert_ptr_equal(client->id->qp->pd, client->rx.mr->pd);
	assert_ptr_not_equal(client->rx.mr->pd, server->rx.mr->pd);
	rcl_sock_put(&client->sock);
	rcl_sock_put(&server->sock);
	close_and_wait(&s);
}

/* The objects that are left after @pairs connections at a time were closed. */
static int left_of(unsigned int pairs, void (*prepare)(int fd))
{
	int client[KEPT_MOST], server[KEPT_MOST], listener = new_listener(prepare), before, ms;
	unsigned int i;

	before = fake_verbs.objects;
	for (i = 0; i < pairs; i++) {
		client[i] = new_socket();
		if (prepare)
			prepare(client[i]);
		assert_int_equal(rconnect(client[i], addr4(HERE, PORT),
					  sizeof(struct sockaddr_in)), 0);
		server[i] = raccept(listener, NULL, NULL);
		assert_true(server[i] >= 0);
	}
	for (i = 0; i < pairs; i++) {
		rclose(client[i]);
		rclose(server[i]);
	}
	rclose(listener);
	for (ms = 0; ms < 5000 && fake_wire_qp(0); ms++)
		usleep(1000);
	flush_service();
	return fake_verbs.objects - before;
}

SOCKET_TEST(number_is_bounded)
{
	int each = OBJECTS - 1;

	open_device();
	assert_int_equal(left_of(KEPT_MOST, make_small), KEPT_MOST * each);
	rcl_kept_end(RCL_FOREVER);
	/* The buffers of a stream of the default sizes have 256 KiB, and its tables some more. */
	assert_int_equal(left_of(KEPT_MOST, NULL), (KEPT_MOST - 1) * each);
	assert_true(rcl_kept_end(RCL_FOREVER));
	assert_false(rcl_kept_end(RCL_FOREVER));
}

SOCKET_TEST(little_of_the_memory_that_may_be_locked_is_kept)
{
	open_device();
	may_lock = 4 << 20;
	assert_int_equal(left_of(4, NULL), 3 * (OBJECTS - 1));
	rcl_kept_end(RCL_FOREVER);
	may_lock = 0;
	assert_int_equal(left_of(2, NULL), 0);
	may_lock = RLIM_INFINITY;
}

SOCKET_TEST(what_nobody_takes_is_destroyed)
{
	int64_t now = rcl_now_ns();

	steps_of_a_connection(NULL);
	assert_false(rcl_kept_end(now + 9 * 1000000000LL));
	assert_true(rcl_kept_end(rcl_now_ns() + 10 * 1000000000LL));
	assert_false(rcl_kept_end(RCL_FOREVER));
}

static void *end_all(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)rcl_kept_end(RCL_FOREVER);
}

/* What another thread has taken from the list and not destroyed yet still occupies the adapter. */
SOCKET_TEST(what_another_thread_destroys_is_waited_for)
{
	/* Both ends have left something: the third thread finds nothing. */
	pthread_t threads[3];
	void *ended;
	int i;

	steps_of_a_connection(NULL);
	fake_fabric_lock();
	for (i = 0; i < 3; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, end_all, NULL), 0);
		usleep(20000);
	}
	fake_fabric_unlock();
	for (i = 0; i < 3; i++) {
		pthread_join(threads[i], &ended);
		assert_non_null(ended);
	}
}

/* An adapter without another queue pair has one once what is kept is gone. */
SOCKET_TEST(a_failure_is_tried_again_without_what_is_kept)
{
	struct sockets s;

	steps_of_a_connection(NULL);
	fake_verbs.fail_at = fake_verbs.steps + 1;
	fake_verbs.fail_errno = ENOMEM;
	s = connected();
	fake_verbs.fail_at = 0;
	pass_byte(&s);
	close_and_wait(&s);
}

/* The channel of a closed stream goes on in another one, and a repoll hears nothing of it. */
SOCKET_TEST(repoll_forgets_the_channel_of_a_closed_stream)
{
	struct sockets s = connected();
	struct epoll_event event = { .events = EPOLLIN };
	int client, repoll = repoll_create(0);
	struct pollfd pfd = { .events = POLLIN };
	struct rcl_sock *sock;

	assert_int_equal(repoll_ctl(repoll, EPOLL_CTL_ADD, s.server, &event), 0);
	assert_int_equal(repoll_wait(repoll, &event, 1, 0), 0);
	client = s.client;
	rclose(s.server);
	rclose(client);
	rclose(s.listener);
	flush_service();
	while (repoll_wait(repoll, &event, 1, 0))
		;
	s = connected();
	assert_int_equal(rsend(s.client, "x", 1, 0), 1);
	assert_int_equal(ready(s.server, POLLIN), POLLIN);
	sock = rcl_sock_get(repoll);
	pfd.fd = sock->fd;
	assert_int_equal(poll(&pfd, 1, 20), 0);
	rcl_sock_put(sock);
	rclose(repoll);
	close_and_wait(&s);
}

SOCKET_TEST(child_of_fork_does_not_use_what_is_kept)
{
	int status;
	pid_t pid;

	steps_of_a_connection(NULL);
	pid = fork();
	if (!pid)
		_exit(rcl_kept_end(RCL_FOREVER));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(rcl_kept_end(RCL_FOREVER));
}

RUN
