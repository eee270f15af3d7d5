// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of streams of AF_INET6 with IPv4 peers, whose addresses are IPv4-mapped for the program. */
#include "sockets.h"

#define MAPPED "::ffff:" HERE

static struct sockaddr *addr6(const char *ip, uint16_t port)
{
	static struct sockaddr_in6 sin6;

	sin6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(port) };
	assert_int_equal(inet_pton(AF_INET6, ip, &sin6.sin6_addr), 1);
	return (struct sockaddr *)&sin6;
}

static int new_socket6(void)
{
	int fd = rsocket(AF_INET6, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	return fd;
}

static int bind6(int fd, const char *ip, uint16_t port)
{
	return rbind(fd, addr6(ip, port), sizeof(struct sockaddr_in6));
}

static int connect6(int fd, const char *ip)
{
	return rconnect(fd, addr6(ip, PORT), sizeof(struct sockaddr_in6));
}

static void expect_address(const struct sockaddr_in6 *addr, socklen_t len, const char *ip)
{
	char text[INET6_ADDRSTRLEN];

	assert_int_equal(len, sizeof(*addr));
	assert_int_equal(addr->sin6_family, AF_INET6);
	assert_non_null(inet_ntop(AF_INET6, &addr->sin6_addr, text, sizeof(text)));
	assert_string_equal(text, ip);
}

static uint16_t expect_name(int fd, typeof(rgetsockname) *get, const char *ip)
{
	struct sockaddr_in6 addr;
	socklen_t len = sizeof(addr);

	assert_int_equal(get(fd, (struct sockaddr *)&addr, &len), 0);
	expect_address(&addr, len, ip);
	return ntohs(addr.sin6_port);
}

static void expect_connection(int client, int server)
{
	char byte;

	assert_int_equal(rsend(client, "x", 1, 0), 1);
	assert_int_equal(rrecv(server, &byte, 1, 0), 1);
}

SOCKET_TEST(client_connects_to_an_ipv4_server)
{
	struct sockets s = { .listener = new_listener(NULL), .client = new_socket6() };

	assert_int_equal(connect6(s.client, MAPPED), 0);
	s.server = raccept(s.listener, NULL, NULL);
	expect_connection(s.client, s.server);
	assert_int_equal(expect_name(s.client, rgetpeername, MAPPED), PORT);
	expect_name(s.client, rgetsockname, MAPPED);
	close_all(&s);
}

SOCKET_TEST(listener_of_both_families_maps_ipv4_peers)
{
	static const char *const ips[] = { "::", "::ffff:0.0.0.0", MAPPED };
	struct sockaddr_in6 addr;
	socklen_t len;
	char byte;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ips); i++) {
		struct sockets s = { .listener = new_socket6(), .client = new_socket() };

		assert_int_equal(bind6(s.listener, ips[i], PORT), 0);
		assert_int_equal(rlisten(s.listener, 1), 0);
		assert_int_equal(rconnect(s.client, addr4(HERE, PORT), sizeof(struct sockaddr_in)),
				 0);
		len = sizeof(addr);
		s.server = raccept(s.listener, (struct sockaddr *)&addr, &len);
		expect_address(&addr, len, MAPPED);
		expect_name(s.server, rgetpeername, MAPPED);
		assert_int_equal(expect_name(s.server, rgetsockname, MAPPED), PORT);
		assert_int_equal(get_int(s.server, SOL_SOCKET, SO_DOMAIN), AF_INET6);
		assert_int_equal(rsend(s.client, "x", 1, 0), 1);
		len = sizeof(addr);
		assert_int_equal(rrecvfrom(s.server, &byte, 1, 0, (struct sockaddr *)&addr,
					   &len), 1);
		expect_address(&addr, len, MAPPED);
		close_all(&s);
		flush_service();
	}
}

SOCKET_TEST(bound_to_both_families_and_connected_over_one)
{
	struct sockets s = { .listener = new_listener(NULL), .client = new_socket6() };
	int other = new_socket();

	/* Another socket shares the port. */
	set_int(other, SOL_SOCKET, SO_REUSEADDR, 1);
	set_int(s.client, SOL_SOCKET, SO_REUSEADDR, 1);
	assert_int_equal(rbind(other, addr4(HERE, 7500), sizeof(struct sockaddr_in)), 0);
	assert_int_equal(bind6(s.client, "::", 7500), 0);
	assert_int_equal(connect6(s.client, MAPPED), 0);
	s.server = raccept(s.listener, NULL, NULL);
	expect_connection(s.client, s.server);
	assert_int_equal(expect_name(s.client, rgetsockname, MAPPED), 7500);
	assert_int_equal(rclose(other), 0);
	close_all(&s);
}

SOCKET_TEST(ipv6_only_socket_has_no_mapped_addresses)
{
	int fd = new_socket6();

	assert_int_equal(get_int(fd, IPPROTO_IPV6, IPV6_V6ONLY), 0);
	set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	assert_int_equal(get_int(fd, IPPROTO_IPV6, IPV6_V6ONLY), 1);
	assert_fails(EINVAL, bind6(fd, MAPPED, PORT));
	assert_fails(ENETUNREACH, connect6(fd, MAPPED));
	assert_int_equal(bind6(fd, "::", PORT), 0);
	assert_int_equal(expect_name(fd, rgetsockname, "::"), PORT);
	assert_int_equal(rclose(fd), 0);
}

RUN
