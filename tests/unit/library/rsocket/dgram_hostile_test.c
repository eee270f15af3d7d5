// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of datagram sockets whose peers send what they must not send: by UDP from a socket of the
 * host, and to the queue pair from one that the test has made.
 */
#include "dgrams.h"

#define QPN 0x123
#define PEERS 1100

/** struct hostile - a socket, and a peer that sends any bytes to it */
struct hostile {
	int fd;
	union rcl_inet addr;
	int udp;
	union rcl_inet udp_addr;
};

static struct hostile begin_hostile(int family)
{
	struct hostile h = { .fd = bound_dgram(family, &h.addr), .udp_addr = loopback(family) };
	socklen_t len = sizeof(h.udp_addr);

	h.udp = socket(family, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_true(h.udp >= 0);
	assert_int_equal(bind(h.udp, &h.udp_addr.sa, rcl_inet_len(&h.udp_addr)), 0);
	assert_int_equal(getsockname(h.udp, &h.udp_addr.sa, &len), 0);
	return h;
}

static void end_hostile(struct hostile *h)
{
	assert_int_equal(rclose(h->fd), 0);
	close(h->udp);
}

static void send_udp(const struct hostile *h, const void *data, size_t len)
{
	assert_int_equal(sendto(h->udp, data, len, 0, &h->addr.sa, rcl_inet_len(&h->addr)), len);
}

/* Two rounds: what has arrived before the first one is read by the end of the second one. */
static void let_serve(void)
{
	flush_service();
	flush_service();
}

/* The answer, which names the queue pair of the socket; 0: there is none. */
static uint32_t answer(const struct hostile *h)
{
	struct rcl_udp_header header;
	uint8_t wire[64];
	ssize_t len;

	let_serve();
	len = recv(h->udp, wire, sizeof(wire), 0);
	if (len < 0)
		return 0;
	assert_int_equal(rcl_udp_unpack(&header, wire, (size_t)len, &h->addr), len);
	assert_int_equal(header.op, RCL_UDP_CONTROL);
	return header.qpn;
}

static size_t valid(uint8_t *wire, const struct hostile *h)
{
	return rcl_udp_pack(wire, &(struct rcl_udp_header){ RCL_UDP_DATA, QPN }, &h->udp_addr);
}

SOCKET_TEST(formats_are_those_of_the_wire)
{
	static const uint8_t udp4[] = {
		0x55, 0x55, 0x55, 0x55, 4, 7, 16, 0, 0, 0x12, 0x34, 0x56, 127, 0, 0, 1,
	};
	static const uint8_t ud4[] = { 4, 8, 0x1d, 0x2f, 127, 0, 0, 1 };
	static const uint8_t ud6[] = {
		6, 24, 0x1d, 0x2f, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
	};
	struct rcl_udp_header header = { RCL_UDP_CONTROL, 0x123456 };
	union rcl_inet addr = loopback(AF_INET), addr6 = loopback(AF_INET6);
	uint8_t wire[RCL_UDP_HEADER_MOST];

	addr.sin.sin_port = htons(7471);
	addr6.sin6.sin6_port = htons(7471);
	addr6.sin6.sin6_flowinfo = htonl(9);
	assert_int_equal(rcl_udp_pack(wire, &header, &addr), sizeof(udp4));
	assert_memory_equal(wire, udp4, sizeof(udp4));
	assert_int_equal(rcl_udp_pack(wire, &header, &addr6), 28);
	assert_int_equal(wire[4], 6);
	assert_int_equal(wire[6], 28);
	assert_int_equal(rcl_ud_pack(wire, &addr), sizeof(ud4));
	assert_memory_equal(wire, ud4, sizeof(ud4));
	assert_int_equal(rcl_ud_pack(wire, &addr6), sizeof(ud6));
	assert_memory_equal(wire, ud6, sizeof(ud6));
}

/* A byte of a valid header, and values that make it invalid. */
static const struct {
	size_t at;
	uint8_t bad;
} udp_bytes[] = {
	{ 0, 0x54 }, { 3, 0 }, { 4, 5 }, { 4, 0 }, { 5, 1 }, { 5, 6 }, { 5, 8 }, { 5, 255 },
	{ 6, 0 }, { 6, 15 }, { 6, 17 }, { 6, 27 }, { 6, 255 },
};

static void headers_on_udp_are_checked(int family)
{
	struct hostile h = begin_hostile(family);
	uint8_t wire[64], bad[64];
	size_t len = valid(wire, &h), i;

	for (i = 0; i < ARRAY_SIZE(udp_bytes); i++) {
		memcpy(bad, wire, sizeof(bad));
		bad[udp_bytes[i].at] = udp_bytes[i].bad;
		send_udp(&h, bad, len + 4);
		assert_int_equal(answer(&h), 0);
	}
	/* The other version, with its length. */
	memcpy(bad, wire, sizeof(bad));
	bad[4] = family == AF_INET ? 6 : 4;
	bad[6] = family == AF_INET ? 28 : 16;
	send_udp(&h, bad, 40);
	for (i = 0; i < len; i++)
		send_udp(&h, wire, i);
	assert_int_equal(answer(&h), 0);
	expect_nothing(h.fd);
	assert_null(fake_wire_qp(0));
	send_udp(&h, wire, len);
	assert_int_not_equal(answer(&h), 0);
	expect_dgram(h.fd, "", 0, &h.udp_addr);
	end_hostile(&h);
}

SOCKET_TEST(headers_of_ipv4_on_udp_are_checked)
{
	headers_on_udp_are_checked(AF_INET);
}

SOCKET_TEST(headers_of_ipv6_on_udp_are_checked)
{
	headers_on_udp_are_checked(AF_INET6);
}

SOCKET_TEST(numbers_of_no_queue_pair_are_refused)
{
	static const uint32_t numbers[] = { 0, 1, 0xffffff };
	struct hostile h = begin_hostile(AF_INET);
	uint8_t wire[64];
	size_t i;

	valid(wire, &h);
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		uint32_t number = htonl(numbers[i]);

		memcpy(wire + 8, &number, sizeof(number));
		send_udp(&h, wire, 20);
		assert_int_equal(answer(&h), 0);
	}
	expect_nothing(h.fd);
	end_hostile(&h);
}

/* Its upper eight bits and the address are not looked at. */
SOCKET_TEST(reserved_fields_are_ignored)
{
	struct hostile h = begin_hostile(AF_INET);
	uint8_t wire[64];
	size_t len = valid(wire, &h);

	wire[7] = 0xff;
	wire[8] = 0xff;
	memset(wire + 12, 0xff, 4);
	memcpy(wire + len, "data", 4);
	send_udp(&h, wire, len + 4);
	assert_int_not_equal(answer(&h), 0);
	expect_dgram(h.fd, "data", 4, &h.udp_addr);
	end_hostile(&h);
}

SOCKET_TEST(control_has_no_data_and_no_answer)
{
	struct hostile h = begin_hostile(AF_INET);
	struct rcl_udp_header header = { RCL_UDP_CONTROL, QPN };
	uint8_t wire[64];
	size_t len = rcl_udp_pack(wire, &header, &h.udp_addr);

	send_udp(&h, wire, len + 8);
	assert_int_equal(answer(&h), 0);
	expect_nothing(h.fd);
	wait_for_way(h.fd);
	end_hostile(&h);
}

SOCKET_TEST(too_long_datagram_is_dropped)
{
	struct hostile h = begin_hostile(AF_INET);
	uint8_t wire[4096] = { 0 };

	valid(wire, &h);
	send_udp(&h, wire, RCL_SLOT_LEN + RCL_UDP_HEADER_MOST + 1);
	send_udp(&h, wire, sizeof(wire));
	assert_int_equal(answer(&h), 0);
	expect_nothing(h.fd);
	end_hostile(&h);
}

/* A number that changes with each datagram keeps the way unknown, and takes no memory. */
SOCKET_TEST(changing_numbers_are_bounded)
{
	struct hostile h = begin_hostile(AF_INET);
	struct rcl_udp_header header = { .op = RCL_UDP_CONTROL };
	uint8_t wire[64];
	unsigned int i;

	for (i = 0; i < 300; i++) {
		header.qpn = QPN + i;
		send_udp(&h, wire, rcl_udp_pack(wire, &header, &h.udp_addr));
		if (i % 16 == 0)
			let_serve();
	}
	let_serve();
	end_hostile(&h);
}

/* A peer that tells another number is another one: the way to the first one is not used again. */
SOCKET_TEST(changed_number_ends_the_way)
{
	struct hostile h = begin_hostile(AF_INET);
	struct rcl_udp_header header = { RCL_UDP_CONTROL, QPN };
	uint8_t wire[64];

	send_udp(&h, wire, rcl_udp_pack(wire, &header, &h.udp_addr));
	wait_for_way(h.fd);
	SET_FAKE(addr_event, FAKE_NO_EVENT);
	header.qpn++;
	send_udp(&h, wire, rcl_udp_pack(wire, &header, &h.udp_addr));
	let_serve();
	assert_false(has_way(h.fd));
	end_hostile(&h);
}

static void expect_counts(int fd, unsigned int peers, unsigned int resolves)
{
	struct rcl_sock *sock = rcl_sock_get(fd);

	pthread_mutex_lock(&sock->lock);
	assert_int_equal(rcl_dgram_of(sock)->peer_count, peers);
	assert_int_equal(rcl_dgram_of(sock)->resolve_count, resolves);
	pthread_mutex_unlock(&sock->lock);
	rcl_sock_put(sock);
}

SOCKET_TEST(table_of_peers_is_bounded)
{
	struct hostile h = begin_hostile(AF_INET);
	uint8_t wire[64];
	size_t len = valid(wire, &h);
	int i;

	/* No way is resolved, so that all remain under way as long as they may. */
	SET_FAKE(addr_event, FAKE_NO_EVENT);
	for (i = 0; i < PEERS; i++) {
		h.udp_addr.sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)i);
		close(h.udp);
		h.udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
		assert_int_equal(bind(h.udp, &h.udp_addr.sa, sizeof(h.udp_addr.sin)), 0);
		send_udp(&h, wire, len);
		if (i % 16 == 0)
			let_serve();
	}
	let_serve();
	expect_counts(h.fd, RCL_PEERS_MOST, RCL_RESOLVES_MOST);
	end_hostile(&h);
}

static struct endpoint open_ud(void)
{
	struct endpoint end = { .channel = rdma_create_event_channel() };

	end.id = new_ud_id(end.channel);
	assert_int_equal(rdma_bind_addr(end.id, addr4(HERE, 0)), 0);
	return end;
}

static void send_ud(struct endpoint *end, uint32_t qpn, const void *data, uint32_t len)
{
	struct ibv_ah_attr attr = { .dlid = FAKE_LID, .port_num = 1 };
	struct ibv_sge sge = { (uintptr_t)end->mem, len, end->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = len ? 1 : 0, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = {
			.ah = ibv_create_ah(end->id->pd, &attr), .remote_qpn = qpn,
			.remote_qkey = FAKE_UD_QKEY,
		},
	};

	memcpy(end->mem, data, len);
	pair_post(end, &wr);
	pair_expect(end, 0, IBV_WC_SUCCESS);
	ibv_destroy_ah(wr.wr.ud.ah);
}

static void close_ud(struct endpoint *end)
{
	pair_close_end(end);
}

/* What a peer sends to a queue pair, and the family of the socket. */
static void messages_are_checked(int family, const uint8_t *wire, uint32_t len)
{
	struct hostile h = begin_hostile(family);
	struct endpoint ud = open_ud();
	uint8_t udp[64], good[32];
	uint32_t qpn;
	size_t header;
	int i;

	send_udp(&h, udp, valid(udp, &h));
	qpn = answer(&h);
	assert_int_not_equal(qpn, 0);
	expect_dgram(h.fd, "", 0, &h.udp_addr);
	pair_add_qp(&ud);
	/* More often than there are buffers: none of them is lost. */
	for (i = 0; i < 100; i++) {
		send_ud(&ud, qpn, wire, len);
		expect_nothing(h.fd);
	}
	header = rcl_ud_pack(good, &h.udp_addr);
	memcpy(good + header, "data", 4);
	send_ud(&ud, qpn, good, (uint32_t)header + 4);
	expect_dgram(h.fd, "data", 4, &h.udp_addr);
	close_ud(&ud);
	end_hostile(&h);
	flush_service();
}

SOCKET_TEST(headers_on_queue_pairs_are_checked)
{
	static const uint8_t wires[][26] = {
		{ 4, 7, 1, 1 }, { 4, 9, 1, 1 }, { 4, 24, 1, 1 }, { 4, 0 }, { 4, 255 },
		{ 6, 8, 1, 1 }, { 6, 23, 1, 1 }, { 6, 25, 1, 1 }, { 5, 8, 1, 1 }, { 0, 0, 1, 1 },
		{ 255, 255 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wires); i++)
		messages_are_checked(AF_INET, wires[i], sizeof(wires[i]));
}

SOCKET_TEST(short_messages_are_dropped)
{
	static const uint8_t ipv4[8] = { 4, 8, 1, 1 }, ipv6[24] = { 6, 24, 1, 1 };

	messages_are_checked(AF_INET, ipv4, 0);
	messages_are_checked(AF_INET, ipv4, 1);
	messages_are_checked(AF_INET, ipv4, 7);
	/* Librdmacm takes these for datagrams of a negative length. */
	messages_are_checked(AF_INET6, ipv6, 8);
	messages_are_checked(AF_INET6, ipv6, 23);
}

static void *receive_datagram(void *arg)
{
	char buf[8];

	assert_int_equal(rrecv(*(int *)arg, buf, sizeof(buf), 0), 4);
	return NULL;
}

/* A thread waits since before there was a queue pair. */
SOCKET_TEST(new_queue_pair_is_waited_for)
{
	struct hostile h = begin_hostile(AF_INET);
	struct rcl_udp_header header = { RCL_UDP_CONTROL, QPN };
	struct endpoint ud = open_ud();
	pthread_t thread;
	uint8_t wire[64];
	size_t len;

	pair_add_qp(&ud);
	assert_int_equal(pthread_create(&thread, NULL, receive_datagram, &h.fd), 0);
	usleep(50000);
	send_udp(&h, wire, rcl_udp_pack(wire, &header, &h.udp_addr));
	wait_for_way(h.fd);
	usleep(50000);
	len = rcl_ud_pack(wire, &h.udp_addr);
	memcpy(wire + len, "data", 4);
	send_ud(&ud, fake_wire_qp(1)->qp_num, wire, (uint32_t)len + 4);
	pthread_join(thread, NULL);
	close_ud(&ud);
	end_hostile(&h);
}

/* Librdmacm tells port 0 if its socket was not bound before it sent. */
SOCKET_TEST(missing_port_is_that_of_the_queue_pair)
{
	struct hostile h = begin_hostile(AF_INET);
	struct endpoint ud = open_ud();
	struct rcl_udp_header header = { .op = RCL_UDP_DATA };
	union rcl_inet unknown = h.udp_addr;
	uint8_t wire[32];
	uint32_t qpn;

	pair_add_qp(&ud);
	header.qpn = ud.id->qp->qp_num;
	send_udp(&h, wire, rcl_udp_pack(wire, &header, &h.udp_addr));
	qpn = answer(&h);
	expect_dgram(h.fd, "", 0, &h.udp_addr);
	unknown.sin.sin_port = 0;
	send_ud(&ud, qpn, wire, (uint32_t)rcl_ud_pack(wire, &unknown));
	expect_dgram(h.fd, "", 0, &h.udp_addr);
	/* Of another address nothing is known. */
	unknown.sin.sin_addr.s_addr++;
	send_ud(&ud, qpn, wire, (uint32_t)rcl_ud_pack(wire, &unknown));
	expect_dgram(h.fd, "", 0, &unknown);
	close_ud(&ud);
	end_hostile(&h);
}

/* A program with sockets of IPv4 has no room for the addresses of others. */
SOCKET_TEST(ipv6_is_not_for_ipv4)
{
	static const uint8_t ipv6[24] = { 6, 24, 1, 1 };

	messages_are_checked(AF_INET, ipv6, 24);
}

RUN
