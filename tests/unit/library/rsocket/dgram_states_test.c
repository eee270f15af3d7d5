// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of datagram sockets: their states and names, their peers, and waiting for them. */
#include <time.h>

#include "dgrams.h"

SOCKET_TEST(only_udp_is_a_datagram_protocol)
{
	int fd = rsocket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);

	assert_true(fd >= 0);
	assert_int_equal(rclose(fd), 0);
	assert_fails(ENOTSUP, rsocket(AF_INET, SOCK_DGRAM, IPPROTO_TCP));
	assert_fails(EAFNOSUPPORT, rsocket(AF_IB, SOCK_DGRAM, 0));
}

SOCKET_TEST(fresh_socket_has_no_peer)
{
	int fd = new_dgram(AF_INET);
	struct sockaddr_in name;
	socklen_t len = sizeof(name);
	char byte;

	assert_fails(EINVAL, rrecv(fd, &byte, 1, 0));
	assert_fails(EDESTADDRREQ, rsend(fd, "x", 1, 0));
	assert_fails(EOPNOTSUPP, rsendto(fd, "x", 1, MSG_OOB, addr4(LOOPBACK, 9), 16));
	assert_fails(ENOTCONN, rgetpeername(fd, (struct sockaddr *)&name, &len));
	assert_fails(EOPNOTSUPP, rlisten(fd, 1));
	assert_fails(EOPNOTSUPP, raccept(fd, NULL, NULL));
	assert_fails(EOPNOTSUPP, riomap(fd, &byte, 1, PROT_WRITE, 0, 0));
	assert_fails(EINVAL, rbind(fd, NULL, 0));
	assert_fails(EINVAL, rbind(fd, addr4(LOOPBACK, 0), 3));
	assert_fails(EINVAL, rconnect(fd, addr4(LOOPBACK, 9), 3));
	assert_fails(EINVAL, rsendto(fd, "x", 1, 0, addr4(LOOPBACK, 9), 3));
	assert_fails(EAFNOSUPPORT, rsendto(fd, "x", 1, 0, &(struct sockaddr){ AF_UNIX, "" }, 16));
	assert_int_equal(ready(fd, POLLIN | POLLOUT), POLLOUT);
	assert_int_equal(rclose(fd), 0);
}

/* The port that is told in front of each datagram. */
static in_port_t told_port(int fd)
{
	struct rcl_sock *sock = rcl_sock_get(fd);
	in_port_t port = rcl_inet_port(&rcl_dgram_of(sock)->locals->addr);

	rcl_sock_put(sock);
	return port;
}

SOCKET_TEST(socket_without_a_port_gets_one)
{
	union rcl_inet b_addr, a_addr = loopback(AF_INET);
	int a = new_dgram(AF_INET), b = bound_dgram(AF_INET, &b_addr);
	union rcl_inet name;
	socklen_t len = sizeof(name);

	send_dgram(a, "x", 1, &b_addr);
	assert_int_equal(rgetsockname(a, &name.sa, &len), 0);
	a_addr.sin.sin_port = name.sin.sin_port;
	assert_int_equal(told_port(a), name.sin.sin_port);
	expect_dgram(b, "x", 1, &a_addr);
	send_dgram(b, "y", 1, &a_addr);
	expect_dgram(a, "y", 1, &b_addr);
	wait_for_way(a);
	send_dgram(a, "by the queue pair", 17, &b_addr);
	expect_dgram(b, "by the queue pair", 17, &a_addr);
	assert_int_equal(rclose(a), 0);
	assert_int_equal(rclose(b), 0);
}

/* The kernel takes a port that it has chosen from a socket that is disconnected. */
static void bind_again(struct dgrams *s)
{
	assert_int_equal(rclose(s->b), 0);
	flush_service();
	s->b = new_dgram(AF_INET);
	assert_int_equal(rbind(s->b, &s->b_addr.sa, s->len), 0);
}

SOCKET_TEST(connected_socket_has_one_peer)
{
	struct dgrams s = two_dgrams(AF_INET);
	union rcl_inet c_addr, name;
	int c = bound_dgram(AF_INET, &c_addr);
	socklen_t len = sizeof(name);

	bind_again(&s);
	assert_int_equal(rconnect(s.b, &s.a_addr.sa, s.len), 0);
	assert_int_equal(rgetpeername(s.b, &name.sa, &len), 0);
	assert_true(rcl_inet_equal(&name, &s.a_addr));
	assert_int_equal(rsend(s.b, "x", 1, 0), 1);
	expect_dgram(s.a, "x", 1, &s.b_addr);
	/* Nothing comes from others: neither by UDP nor by the queue pair. */
	send_dgram(c, "by UDP", 6, &s.b_addr);
	expect_nothing(s.b);
	assert_int_equal(rconnect(s.b, &(struct sockaddr){ AF_UNSPEC, "" }, 16), 0);
	assert_fails(EDESTADDRREQ, rsend(s.b, "x", 1, 0));
	send_dgram(c, "hello", 5, &s.b_addr);
	expect_dgram(s.b, "hello", 5, &c_addr);
	wait_for_way(c);
	assert_int_equal(rconnect(s.b, &s.a_addr.sa, s.len), 0);
	send_dgram(c, "by the queue pair", 17, &s.b_addr);
	expect_nothing(s.b);
	send_dgram(s.a, "mine", 4, &s.b_addr);
	expect_dgram(s.b, "mine", 4, &s.a_addr);
	assert_int_equal(rclose(c), 0);
	close_two(&s);
}

/* A socket of IPv6 that has those of IPv4, too, as mapped addresses. */
SOCKET_TEST(mapped_addresses_are_those_of_ipv4)
{
	union rcl_inet any = { .sin6.sin6_family = AF_INET6 }, a_addr, b_addr, mapped, name;
	int a = bound_dgram(AF_INET, &a_addr), b = new_dgram(AF_INET6);
	socklen_t len = sizeof(name);
	char buf[8];

	assert_int_equal(rbind(b, &any.sa, sizeof(any.sin6)), 0);
	assert_int_equal(rgetsockname(b, &name.sa, &len), 0);
	b_addr = loopback(AF_INET);
	b_addr.sin.sin_port = name.sin6.sin6_port;
	assert_int_equal(rcl_inet_give(&mapped, &a_addr, AF_INET6), sizeof(mapped.sin6));
	send_dgram(a, "udp", 3, &b_addr);
	assert_int_equal(rrecvfrom(b, buf, sizeof(buf), 0, &name.sa, &len), 3);
	assert_int_equal(len, sizeof(name.sin6));
	assert_memory_equal(&name.sin6, &mapped.sin6, sizeof(name.sin6));
	wait_for_way(a);
	wait_for_way(b);
	send_dgram(a, "ud", 2, &b_addr);
	assert_int_equal(rrecvfrom(b, buf, sizeof(buf), 0, &name.sa, &len), 2);
	assert_memory_equal(&name.sin6, &mapped.sin6, sizeof(name.sin6));
	send_dgram(b, "back", 4, &mapped);
	expect_dgram(a, "back", 4, &b_addr);
	assert_int_equal(rclose(a), 0);
	assert_int_equal(rclose(b), 0);
}

SOCKET_TEST(shut_directions_end)
{
	struct dgrams s = met_dgrams(AF_INET);
	char byte;

	send_dgram(s.a, "x", 1, &s.b_addr);
	assert_fails(EINVAL, rshutdown(s.b, 7));
	assert_int_equal(ready(s.b, POLLIN), POLLIN);
	assert_int_equal(rshutdown(s.b, SHUT_RD), 0);
	expect_dgram(s.b, "x", 1, &s.a_addr);
	send_dgram(s.a, "y", 1, &s.b_addr);
	assert_int_equal(rrecv(s.b, &byte, 1, 0), 0);
	send_dgram(s.b, "z", 1, &s.a_addr);
	assert_int_equal(rshutdown(s.b, SHUT_WR), 0);
	assert_fails(EPIPE, rsendto(s.b, "z", 1, 0, &s.a_addr.sa, s.len));
	assert_int_equal(ready(s.b, POLLIN | POLLOUT), POLLIN | POLLOUT | POLLHUP);
	close_two(&s);
}

/* With librdmacm it is not an error, so programs start in any order. */
SOCKET_TEST(missing_peer_is_no_error)
{
	struct dgrams s = two_dgrams(AF_INET);
	int i;

	assert_int_equal(rconnect(s.a, &s.b_addr.sa, s.len), 0);
	assert_int_equal(rclose(s.b), 0);
	flush_service();
	for (i = 0; i < 5; i++) {
		assert_int_equal(rsend(s.a, "x", 1, 0), 1);
		expect_nothing(s.a);
	}
	assert_int_equal(ready(s.a, POLLIN), 0);
	s.b = new_dgram(AF_INET);
	assert_int_equal(rbind(s.b, &s.b_addr.sa, s.len), 0);
	assert_int_equal(rsend(s.a, "now", 3, 0), 3);
	expect_dgram(s.b, "now", 3, &s.a_addr);
	close_two(&s);
}

/* Errors that the program has asked for, and cannot read, do not keep the service thread busy. */
SOCKET_TEST(queued_errors_use_no_time)
{
	struct dgrams s = two_dgrams(AF_INET);
	long long before;

	set_int(s.a, IPPROTO_IP, IP_RECVERR, 1);
	assert_int_equal(rclose(s.b), 0);
	flush_service();
	assert_int_equal(rsendto(s.a, "x", 1, 0, &s.b_addr.sa, s.len), 1);
	before = cpu_ms();
	usleep(300000);
	assert_true(cpu_ms() - before < 100);
	assert_int_equal(rclose(s.a), 0);
}

static uint32_t first_local(int fd)
{
	struct rcl_sock *sock = rcl_sock_get(fd);
	uint32_t handle = handle_of(rcl_dgram_of(sock)->locals->id);

	rcl_sock_put(sock);
	return handle;
}

SOCKET_TEST(removed_adapter_is_enodev_once)
{
	struct dgrams s = met_dgrams(AF_INET);
	struct pollfd pfd = { .fd = s.a, .events = POLLIN };

	fake_post_type(RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, first_local(s.a), 0);
	assert_int_equal(rpoll(&pfd, 1, 2000), 1);
	assert_int_equal(pfd.revents, POLLIN | POLLERR);
	assert_fails(ENODEV, rrecv(s.a, &pfd, 1, 0));
	assert_int_equal(ready(s.a, POLLIN), 0);
	/* Another adapter has the address. */
	send_dgram(s.a, "x", 1, &s.b_addr);
	expect_dgram(s.b, "x", 1, &s.a_addr);
	wait_for_way(s.a);
	close_two(&s);
}

/* A peer whose port is used again has another queue pair. */
SOCKET_TEST(restarted_peer_is_found)
{
	struct dgrams s = met_dgrams(AF_INET);
	char buf[8];

	bind_again(&s);
	usleep(1100000);
	send_dgram(s.a, "asks", 4, &s.b_addr);
	expect_dgram(s.b, "asks", 4, &s.a_addr);
	wait_for_way(s.b);
	wait_for_way(s.a);
	fake_wire_hold(fake_wire_qp(0));
	send_dgram(s.a, "knows", 5, &s.b_addr);
	assert_fails(EAGAIN, rrecv(s.b, buf, sizeof(buf), MSG_DONTWAIT));
	fake_wire_release(fake_wire_qp(0));
	expect_dgram(s.b, "knows", 5, &s.a_addr);
	close_two(&s);
}

/* While ways are being resolved, the service thread serves all others, and data goes by UDP. */
SOCKET_TEST(slow_destination_holds_up_nobody)
{
	struct dgrams s = two_dgrams(AF_INET);
	struct sockets streams;
	char byte;
	int i;

	SET_FAKE(addr_event, FAKE_NO_EVENT);
	for (i = 0; i < 3; i++) {
		send_dgram(s.a, &i, sizeof(i), &s.b_addr);
		expect_dgram(s.b, &i, sizeof(i), &s.a_addr);
	}
	flush_service();
	assert_false(has_way(s.a));
	SET_FAKE(addr_event, RDMA_CM_ALT_EVENT_ADDR_RESOLVED);
	streams = connected();
	assert_int_equal(rsend(streams.client, "x", 1, 0), 1);
	assert_int_equal(rrecv(streams.server, &byte, 1, 0), 1);
	close_all(&streams);
	close_two(&s);
}

/* The next datagram by UDP tries again, but not before a second is over. */
SOCKET_TEST(failed_resolution_is_tried_again)
{
	struct dgrams s = two_dgrams(AF_INET);
	int i;

	SET_FAKE(route_event, RDMA_CM_ALT_EVENT_ROUTE_ERROR);
	SET_FAKE(status, -ETIMEDOUT);
	/* Each end tries it once. */
	for (i = 0; i < 10; i++) {
		send_dgram(s.a, "x", 1, &s.b_addr);
		expect_dgram(s.b, "x", 1, &s.a_addr);
		flush_service();
	}
	assert_false(has_way(s.a));
	fake_kernel_lock();
	assert_in_range(fake.calls[FAKE(DESTROY)], 1, 2);
	fake_kernel_unlock();
	SET_FAKE(route_event, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED);
	usleep(1100000);
	send_dgram(s.a, "y", 1, &s.b_addr);
	expect_dgram(s.b, "y", 1, &s.a_addr);
	wait_for_way(s.a);
	close_two(&s);
}

SOCKET_TEST(address_without_an_adapter_is_an_error)
{
	union rcl_inet addr;
	int fd = bound_dgram(AF_INET, &addr);

	SET_FAKE(fail[FAKE(RESOLVE)], ENODEV);
	assert_fails(ENODEV, rconnect(fd, addr4(LOOPBACK, 9), sizeof(struct sockaddr_in)));
	assert_fails(EDESTADDRREQ, rsend(fd, "x", 1, 0));
	SET_FAKE(fail[FAKE(RESOLVE)], ENODEV);
	assert_fails(ENODEV, rsendto(fd, "x", 1, 0, addr4(LOOPBACK, 9),
				     sizeof(struct sockaddr_in)));
	assert_int_equal(rclose(fd), 0);
}

/* Each call of libibverbs fails once. */
SOCKET_TEST(failures_leave_nothing)
{
	union rcl_inet addr;
	int fd = bound_dgram(AF_INET, &addr), n, ret;

	for (n = 1; n < 50; n++) {
		fake_verbs.fail_at = fake_verbs.steps + n;
		fake_verbs.fail_errno = ENOMEM;
		ret = rconnect(fd, &addr.sa, sizeof(addr.sin));
		if (!ret)
			break;
		/* The first of them opens the device. */
		assert_int_equal(errno, n == 1 ? ENODEV : ENOMEM);
	}
	assert_true(n > 4 && n < 50);
	fake_verbs.fail_at = 0;
	assert_int_equal(rsend(fd, "x", 1, 0), 1);
	expect_dgram(fd, "x", 1, &addr);
	assert_int_equal(rclose(fd), 0);
}

SOCKET_TEST(sizes_are_those_of_the_buffers)
{
	int fd = new_dgram(AF_INET);

	set_int(fd, SOL_SOCKET, SO_RCVBUF, 8192);
	set_int(fd, SOL_RDMA, RDMA_SQSIZE, 4);
	assert_int_equal(rbind(fd, addr4(LOOPBACK, 0), sizeof(struct sockaddr_in)), 0);
	assert_int_equal(get_int(fd, SOL_RDMA, RDMA_RQSIZE), 8);
	assert_int_equal(get_int(fd, SOL_RDMA, RDMA_SQSIZE), 4);
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_SNDBUF), 4 * 2048);
	assert_fails(EINVAL, rsetsockopt(fd, SOL_RDMA, RDMA_SQSIZE, &fd, sizeof(fd)));
	assert_int_equal(rclose(fd), 0);
}

SOCKET_TEST(options_are_those_of_udp)
{
	int fd = new_dgram(AF_INET), on = 1;

	set_int(fd, IPPROTO_IP, IP_TOS, 32);
	assert_int_equal(get_int(fd, IPPROTO_IP, IP_TOS), 32);
	set_int(fd, IPPROTO_IP, IP_TTL, 5);
	assert_int_equal(get_int(fd, IPPROTO_IP, IP_TTL), 5);
	set_int(fd, SOL_SOCKET, SO_PRIORITY, 1);
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_PRIORITY), 1);
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_TYPE), SOCK_DGRAM);
	assert_fails(ENOPROTOOPT, rsetsockopt(fd, SOL_SOCKET, 9999, &on, sizeof(on)));
	assert_fails(EACCES, rsendto(fd, "x", 1, 0, addr4("127.255.255.255", 9),
				     sizeof(struct sockaddr_in)));
	set_int(fd, SOL_SOCKET, SO_BROADCAST, 1);
	assert_int_equal(get_int(fd, SOL_SOCKET, SO_BROADCAST), 1);
	assert_int_equal(rsendto(fd, "x", 1, 0, addr4("127.255.255.255", 9),
				 sizeof(struct sockaddr_in)), 1);
	assert_int_equal(rclose(fd), 0);
}

RUN
