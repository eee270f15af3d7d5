// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of datagram sockets whose adapter goes, fails, or cannot be used. */
#include "dgrams.h"
#include "fake/fake_cq.h"

/* Seconds after which a call that waits for ever ends the program. */
#define HUNG_S 30

/* The id whose adapter goes when it is destroyed; 0: none. */
static __u32 doomed;

static void device_goes(unsigned int cmd)
{
	if (cmd != RDMA_CM_ALT_CMD_DESTROY || !doomed)
		return;
	fake_post_type(RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, doomed, 0);
	doomed = 0;
	/* The service thread reads the event, and waits for the lock. */
	usleep(200000);
}

/* The id of an address that could not be set up is destroyed with the socket locked. */
SOCKET_TEST(failed_local_meets_removal)
{
	union rcl_inet addr;
	int fd = bound_dgram(AF_INET, &addr), i;

	/* The next free handle: that of the local address. */
	for (i = 1; fake_id_alive((__u32)i); i++)
		;
	doomed = (__u32)i;
	fake_verbs.fail_at = fake_verbs.steps + 3;
	fake_verbs.fail_errno = ENOMEM;
	fake.on_call = device_goes;
	alarm(HUNG_S);
	assert_fails(ENOMEM,
		     rsendto(fd, "x", 1, 0, addr4(LOOPBACK, 9), sizeof(struct sockaddr_in)));
	alarm(0);
	fake.on_call = NULL;
	assert_int_equal(rclose(fd), 0);
}

static struct rcl_local *local_of(int fd)
{
	struct rcl_sock *sock = rcl_sock_get(fd);
	struct rcl_local *local = rcl_dgram_of(sock)->locals;

	rcl_sock_put(sock);
	return local;
}

/* The kernel says EPOLLERR for the channel of an adapter that is gone, for ever. */
SOCKET_TEST(removed_adapter_ends_no_wait)
{
	struct dgrams s = met_dgrams(AF_INET);
	struct rcl_local *local = local_of(s.a);
	struct fake_channel *channel = (void *)local->comp;
	struct pollfd pfd = { .fd = s.a, .events = POLLIN };
	struct timeval tv = { .tv_usec = 100000 };
	char byte;

	fake_post_type(RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, handle_of(local->id), 0);
	alarm(HUNG_S);
	assert_int_equal(rpoll(&pfd, 1, -1), 1);
	/* As with the kernel, poll() says that there is something, and a read fails. */
	close(channel->write_end);
	channel->write_end = -1;
	assert_fails(ENODEV, rrecv(s.a, &byte, 1, 0));
	assert_int_equal(rsetsockopt(s.a, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), 0);
	assert_fails(EAGAIN, rrecv(s.a, &byte, 1, 0));
	assert_int_equal(rpoll(&pfd, 1, 100), 0);
	alarm(0);
	close_two(&s);
}

static int poll_fails(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	(void)cq;
	(void)count;
	(void)wc;
	return -1;
}

/* The service thread polls with the lock of a socket. */
static void set_poll(const struct dgrams *s, int (*poll)(struct ibv_cq *cq, int count,
							 struct ibv_wc *wc))
{
	struct rcl_sock *a = rcl_sock_get(s->a), *b = rcl_sock_get(s->b);

	pthread_mutex_lock(&a->lock);
	pthread_mutex_lock(&b->lock);
	rcl_dgram_of(a)->locals->id->verbs->ops.poll_cq = poll;
	pthread_mutex_unlock(&b->lock);
	pthread_mutex_unlock(&a->lock);
	rcl_sock_put(a);
	rcl_sock_put(b);
}

SOCKET_TEST(failed_cq_of_full_queue)
{
	struct dgrams s = met_dgrams(AF_INET);
	struct rcl_local *local = local_of(s.a);
	uint32_t i;

	fake_wire_hold(local->id->qp);
	for (i = 0; i < local->sq_size; i++)
		assert_int_equal(rsendto(s.a, "x", 1, MSG_DONTWAIT, &s.b_addr.sa, s.len), 1);
	set_poll(&s, poll_fails);
	/* By UDP, or by another queue pair. */
	assert_int_equal(rsendto(s.a, "x", 1, MSG_DONTWAIT, &s.b_addr.sa, s.len), 1);
	set_poll(&s, fake_cq_poll);
	close_two(&s);
}

/* Addresses whose adapter is gone do not use up the places of others. */
SOCKET_TEST(adapter_is_removed_often)
{
	union rcl_inet addr;
	int fd = bound_dgram(AF_INET, &addr);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	unsigned int i;
	char byte;

	for (i = 0; i < RCL_LOCALS_MOST + 4; i++) {
		assert_int_equal(rsendto(fd, "x", 1, 0, addr4(LOOPBACK, 9),
					 sizeof(struct sockaddr_in)), 1);
		fake_post_type(RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, handle_of(local_of(fd)->id), 0);
		assert_int_equal(rpoll(&pfd, 1, -1), 1);
		assert_fails(ENODEV, rrecv(fd, &byte, 1, 0));
	}
	assert_int_equal(rclose(fd), 0);
}

static atomic_bool has_no_adapter;

static void no_adapter(unsigned int cmd)
{
	if (cmd == RDMA_CM_ALT_CMD_RESOLVE && atomic_load(&has_no_adapter))
		SET_FAKE(fail[FAKE(RESOLVE)], ENODEV);
}

static int count_resolves(void)
{
	int count;

	fake_kernel_lock();
	count = fake.calls[FAKE(RESOLVE)];
	fake_kernel_unlock();
	return count;
}

SOCKET_TEST(failing_adapter_is_tried_once_a_second)
{
	union rcl_inet addr, udp_addr = loopback(AF_INET);
	int fd, udp = socket(AF_INET, SOCK_DGRAM, 0), i;
	struct rcl_udp_header header = { RCL_UDP_DATA, 0x123 };
	uint8_t wire[64];
	size_t len;
	int before;

	/* The service thread is not there yet. */
	fake.on_call = no_adapter;
	fd = bound_dgram(AF_INET, &addr);
	atomic_store(&has_no_adapter, true);
	before = count_resolves();
	for (i = 0; i < 20; i++) {
		len = rcl_udp_pack(wire, &header, &udp_addr);
		sendto(udp, wire, len, 0, &addr.sa, sizeof(addr.sin));
		flush_service();
		flush_service();
	}
	assert_true(count_resolves() - before < 10);
	atomic_store(&has_no_adapter, false);
	close(udp);
	assert_int_equal(rclose(fd), 0);
}

RUN
