// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of datagram sockets: sending and receiving, by UDP and by queue pairs. */
#include "dgrams.h"

static void datagrams_arrive(int family)
{
	struct dgrams s = met_dgrams(family);

	/* From the first one on by the queue pairs: nothing but these delivers now. */
	fake_wire_hold(fake_wire_qp(0));
	send_dgram(s.a, "held", 4, &s.b_addr);
	expect_nothing(s.b);
	fake_wire_release(fake_wire_qp(0));
	expect_dgram(s.b, "held", 4, &s.a_addr);
	send_dgram(s.b, "back", 4, &s.a_addr);
	expect_dgram(s.a, "back", 4, &s.b_addr);
	close_two(&s);
}

static void datagrams_arrive_by_ipv4(void **state)
{
	(void)state;
	datagrams_arrive(AF_INET);
}

static void datagrams_arrive_by_ipv6(void **state)
{
	(void)state;
	datagrams_arrive(AF_INET6);
}

static void empty_datagram_arrives(void **state)
{
	struct dgrams s = two_dgrams(AF_INET);

	(void)state;
	send_dgram(s.a, "", 0, &s.b_addr);
	expect_dgram(s.b, "", 0, &s.a_addr);
	wait_for_way(s.a);
	send_dgram(s.a, "", 0, &s.b_addr);
	expect_dgram(s.b, "", 0, &s.a_addr);
	expect_nothing(s.b);
	close_two(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SOCKET_TEST(datagrams_arrive_by_ipv4),
		SOCKET_TEST(datagrams_arrive_by_ipv6),
		SOCKET_TEST(empty_datagram_arrives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
