// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of datagram sockets: sending and receiving, by UDP and by queue pairs. */
#include <netinet/udp.h>

#include "dgrams.h"

#define MOST4 2032
#define MOST6 2020
#define SLOTS 64

static void datagrams_arrive(int family)
{
	struct dgrams s = met_dgrams(family);

	/* Nothing but the queue pairs delivers now. */
	fake_wire_hold(fake_wire_qp(0));
	send_dgram(s.a, "held", 4, &s.b_addr);
	expect_nothing(s.b);
	fake_wire_release(fake_wire_qp(0));
	expect_dgram(s.b, "held", 4, &s.a_addr);
	send_dgram(s.b, "back", 4, &s.a_addr);
	expect_dgram(s.a, "back", 4, &s.b_addr);
	close_two(&s);
}

SOCKET_TEST(datagrams_arrive_by_ipv4)
{
	datagrams_arrive(AF_INET);
}

SOCKET_TEST(datagrams_arrive_by_ipv6)
{
	datagrams_arrive(AF_INET6);
}

SOCKET_TEST(empty_datagram_arrives)
{
	struct dgrams s = two_dgrams(AF_INET);

	send_dgram(s.a, "", 0, &s.b_addr);
	expect_dgram(s.b, "", 0, &s.a_addr);
	wait_for_way(s.a);
	send_dgram(s.a, "", 0, &s.b_addr);
	expect_dgram(s.b, "", 0, &s.a_addr);
	expect_nothing(s.b);
	close_two(&s);
}

/* The first one by UDP, the second one by the queue pair. */
static void longest_datagram_arrives(int family, size_t most)
{
	struct dgrams s = two_dgrams(family);
	uint8_t data[RCL_SLOT_LEN];
	int i;

	fill_pattern(data, 0, sizeof(data));
	for (i = 0; i < 2; i++) {
		assert_fails(EMSGSIZE, rsendto(s.a, data, most + 1, 0, &s.b_addr.sa, s.len));
		send_dgram(s.a, data, most, &s.b_addr);
		expect_dgram(s.b, data, most, &s.a_addr);
		wait_for_way(s.a);
	}
	expect_nothing(s.b);
	close_two(&s);
}

SOCKET_TEST(longest_datagram_of_ipv4_arrives)
{
	longest_datagram_arrives(AF_INET, MOST4);
}

SOCKET_TEST(longest_datagram_of_ipv6_arrives)
{
	longest_datagram_arrives(AF_INET6, MOST6);
}

/* A queue pair sends no more than one packet. */
SOCKET_TEST(datagram_beyond_the_path_mtu_goes_by_udp)
{
	struct ibv_path_data *path = (void *)&fake.route.path[0];
	uint8_t data[MOST4] = { 0 };
	struct dgrams s;

	path->path.mtu = IBV_MTU_256 | 2 << 6;
	s = met_dgrams(AF_INET);
	fake_wire_hold(fake_wire_qp(0));
	send_dgram(s.a, data, 256 - 7, &s.b_addr);
	expect_dgram(s.b, data, 256 - 7, &s.a_addr);
	send_dgram(s.a, data, 256 - 8, &s.b_addr);
	expect_nothing(s.b);
	fake_wire_release(fake_wire_qp(0));
	expect_dgram(s.b, data, 256 - 8, &s.a_addr);
	close_two(&s);
}

SOCKET_TEST(short_buffer_gets_the_begin)
{
	struct dgrams s = met_dgrams(AF_INET);
	char buf[4] = "";
	struct iovec iov = { buf, 3 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	send_dgram(s.a, "abcdef", 6, &s.b_addr);
	send_dgram(s.a, "xyz", 3, &s.b_addr);
	assert_int_equal(rrecv(s.b, buf, 2, MSG_PEEK | MSG_TRUNC), 6);
	assert_int_equal(rrecvmsg(s.b, &msg, 0), 3);
	assert_int_equal(msg.msg_flags, MSG_TRUNC);
	assert_memory_equal(buf, "abc", 3);
	/* The rest is lost. */
	assert_int_equal(rrecvmsg(s.b, &msg, 0), 3);
	assert_int_equal(msg.msg_flags, 0);
	assert_memory_equal(buf, "xyz", 3);
	close_two(&s);
}

SOCKET_TEST(peeked_datagram_stays)
{
	struct dgrams s = met_dgrams(AF_INET);
	char buf[8];

	send_dgram(s.a, "abcd", 4, &s.b_addr);
	assert_int_equal(rrecv(s.b, buf, sizeof(buf), MSG_PEEK), 4);
	assert_memory_equal(buf, "abcd", 4);
	expect_dgram(s.b, "abcd", 4, &s.a_addr);
	expect_nothing(s.b);
	close_two(&s);
}

SOCKET_TEST(vectors_are_one_datagram)
{
	struct dgrams s = met_dgrams(AF_INET);
	char one[3], two[5];
	struct iovec out[4] = { { "ab", 2 }, { NULL, 0 }, { "cdef", 4 }, { "g", 1 } };
	struct iovec in[2] = { { one, 3 }, { two, 5 } };
	union rcl_inet name;
	struct msghdr msg = {
		.msg_name = &s.b_addr, .msg_namelen = s.len, .msg_iov = out, .msg_iovlen = 4,
	};

	assert_int_equal(rsendmsg(s.a, &msg, 0), 7);
	msg = (struct msghdr){
		.msg_name = &name, .msg_namelen = sizeof(name), .msg_iov = in, .msg_iovlen = 2,
	};
	assert_int_equal(rrecvmsg(s.b, &msg, 0), 7);
	assert_memory_equal(one, "abc", 3);
	assert_memory_equal(two, "defg", 4);
	assert_int_equal(msg.msg_namelen, s.len);
	assert_true(rcl_inet_equal(&name, &s.a_addr));
	assert_int_equal(rconnect(s.b, &s.a_addr.sa, s.len), 0);
	assert_int_equal(rconnect(s.a, &s.b_addr.sa, s.len), 0);
	assert_int_equal(rwritev(s.b, out, 4), 7);
	memset(two, 0, sizeof(two));
	assert_int_equal(rreadv(s.a, in, 2), 7);
	assert_memory_equal(two, "defg", 4);
	close_two(&s);
}

/* As with UDP: what is not read in time is lost, and what was there first stays. */
static void full_socket_drops(bool by_udp)
{
	struct dgrams s = two_dgrams(AF_INET);
	unsigned int i;

	if (by_udp)
		SET_FAKE(addr_event, FAKE_NO_EVENT);
	send_dgram(s.a, "hello", 5, &s.b_addr);
	expect_dgram(s.b, "hello", 5, &s.a_addr);
	if (!by_udp)
		wait_for_way(s.a);
	for (i = 0; i < SLOTS + 10; i++) {
		send_dgram(s.a, &i, sizeof(i), &s.b_addr);
		flush_service();
	}
	for (i = 0; i < SLOTS; i++)
		expect_dgram(s.b, &i, sizeof(i), &s.a_addr);
	expect_nothing(s.b);
	send_dgram(s.a, "again", 5, &s.b_addr);
	expect_dgram(s.b, "again", 5, &s.a_addr);
	close_two(&s);
}

SOCKET_TEST(full_queue_pair_drops)
{
	full_socket_drops(false);
}

SOCKET_TEST(full_udp_queue_drops)
{
	full_socket_drops(true);
}

SOCKET_TEST(sends_wait_for_room)
{
	struct dgrams s = met_dgrams(AF_INET);
	uint8_t data[100] = { 0 };
	int i;

	fake_wire_hold(fake_wire_qp(0));
	for (i = 0; i < SLOTS; i++)
		send_dgram(s.a, data, sizeof(data), &s.b_addr);
	assert_int_equal(ready(s.a, POLLOUT), 0);
	assert_fails(EAGAIN, rsendto(s.a, data, 1, MSG_DONTWAIT, &s.b_addr.sa, s.len));
	assert_true(fake_wire_deliver(fake_wire_qp(0)));
	assert_int_equal(ready(s.a, POLLOUT), POLLOUT);
	send_dgram(s.a, data, 1, &s.b_addr);
	assert_int_equal(ready(s.a, POLLOUT), 0);
	fake_wire_release(fake_wire_qp(0));
	close_two(&s);
}

struct release {
	struct ibv_qp *qp;
};

static void *release_later(void *arg)
{
	usleep(50000);
	fake_wire_release(((struct release *)arg)->qp);
	return NULL;
}

SOCKET_TEST(waiting_send_goes_on)
{
	struct dgrams s = met_dgrams(AF_INET);
	struct release release = { fake_wire_qp(0) };
	pthread_t thread;
	int i;

	fake_wire_hold(release.qp);
	for (i = 0; i < SLOTS; i++)
		send_dgram(s.a, "x", 1, &s.b_addr);
	assert_int_equal(pthread_create(&thread, NULL, release_later, &release), 0);
	send_dgram(s.a, "y", 1, &s.b_addr);
	pthread_join(thread, NULL);
	close_two(&s);
}

SOCKET_TEST(close_waits_for_sends)
{
	struct dgrams s = met_dgrams(AF_INET);
	struct release release = { fake_wire_qp(0) };
	pthread_t thread;
	uint8_t data[500] = { 0 };

	fake_wire_hold(release.qp);
	send_dgram(s.a, data, sizeof(data), &s.b_addr);
	assert_int_equal(pthread_create(&thread, NULL, release_later, &release), 0);
	assert_int_equal(rclose(s.a), 0);
	pthread_join(thread, NULL);
	expect_dgram(s.b, data, sizeof(data), &s.a_addr);
	assert_int_equal(rclose(s.b), 0);
}

/* An adapter that does not go on holds up rclose() for a second. */
SOCKET_TEST(close_does_not_wait_for_ever)
{
	struct dgrams s = met_dgrams(AF_INET);

	fake_wire_hold(fake_wire_qp(0));
	send_dgram(s.a, "x", 1, &s.b_addr);
	close_two(&s);
}

struct sender {
	struct dgrams *s;
	uint8_t first;
};

#define ROUNDS 300

static void *send_many(void *arg)
{
	struct sender *sender = arg;
	uint8_t data[700];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		memset(data, sender->first + i % 100, sizeof(data));
		rsendto(sender->s->a, data, 1 + (size_t)i * 2, 0, &sender->s->b_addr.sa,
			sender->s->len);
	}
	return NULL;
}

/* Each datagram has one value; some are lost, as nobody holds back the senders. */
SOCKET_TEST(sends_of_threads_arrive_whole)
{
	struct dgrams s = met_dgrams(AF_INET);
	struct sender senders[2] = { { &s, 0 }, { &s, 100 } };
	struct timeval time = { .tv_usec = 200000 };
	pthread_t threads[2];
	uint8_t data[700];
	ssize_t len, i;
	int got = 0;

	rsetsockopt(s.b, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, send_many, &senders[i]), 0);
	while ((len = rrecv(s.b, data, sizeof(data), 0)) > 0) {
		assert_int_equal((len - 1) / 2 % 100, data[0] % 100);
		for (i = 1; i < len; i++)
			assert_int_equal(data[i], data[0]);
		got++;
	}
	assert_true(got > 0);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	close_two(&s);
}

/* The kernel would cut or join datagrams that have a header in front. */
SOCKET_TEST(options_of_udp_are_refused)
{
	int fd = new_dgram(AF_INET), size = 40;

	assert_fails(ENOPROTOOPT, rsetsockopt(fd, IPPROTO_UDP, UDP_CORK, &size, sizeof(size)));
	assert_int_equal(rclose(fd), 0);
}

RUN
