// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of rsockets whose peer sends what it must not send. */
#include "rsocket/stream/stream.h"
#include "sockets.h"

/* The QPs in the order of their creation: that of the client first. */
static struct ibv_qp *client_qp(void)
{
	return fake_wire_qp(0);
}

static void expect_end(struct sockets *s)
{
	char byte;

	assert_fails(EPROTO, rrecv(s->client, &byte, 1, 0));
	assert_fails(ECONNRESET, rsend(s->client, "x", 1, 0));
	close_all(s);
}

SOCKET_TEST(data_beyond_the_announced_range_ends_the_connection)
{
	struct sockets s = connected();

	assert_int_equal(fake_wire_inject_imm(client_qp(), rcl_msg(RCL_MSG_DATA, RCL_MSG_MAX)),
			 IBV_WC_SUCCESS);
	expect_end(&s);
}

/* The message about a write of four bytes says three. */
static void say_less(struct fake_message *message, void *arg)
{
	(void)arg;
	message->imm_data = htonl(rcl_msg(RCL_MSG_DATA, 3));
}

SOCKET_TEST(data_of_no_bytes_ends_the_connection)
{
	struct sockets s = connected();

	assert_int_equal(fake_wire_inject_imm(client_qp(), rcl_msg(RCL_MSG_DATA, 0)),
			 IBV_WC_SUCCESS);
	expect_end(&s);
}

/* An adapter tells how much was written: what the message says must be the same. */
SOCKET_TEST(data_that_differs_from_the_write_ends_the_connection)
{
	struct sockets s = connected();

	/* The first message, too. */
	assert_int_equal(fake_wire_inject_imm(client_qp(), rcl_msg(RCL_MSG_DATA, 1)),
			 IBV_WC_SUCCESS);
	expect_end(&s);
	flush_service();

	s = connected();
	fake_wire_alter(fake_wire_qp(1), say_less, NULL);
	assert_int_equal(rsend(s.server, "four", 4, 0), 4);
	expect_end(&s);
}

/* On iWARP nothing tells how much was written. */
SOCKET_TEST(data_that_was_not_written_is_of_no_other_peer)
{
	static char sent[60000], got[sizeof(sent)];
	uint32_t msg = rcl_msg(RCL_MSG_DATA, sizeof(got));
	struct fake_message message = {
		.opcode = IBV_WR_SEND, .length = sizeof(msg), .data = (uint8_t *)&msg,
	};
	struct sockets s;
	size_t len = 0;
	ssize_t ret;

	pair_use_iwarp();
	s = connected();
	memset(sent, 's', sizeof(sent));
	assert_int_equal(rsend(s.server, sent, sizeof(sent), 0), sizeof(sent));
	assert_int_equal(rrecv(s.client, got, sizeof(got), MSG_WAITALL), sizeof(got));
	assert_memory_equal(got, sent, sizeof(sent));
	close_all(&s);
	flush_service();

	s = connected();
	assert_int_equal(fake_wire_inject(client_qp(), &message), IBV_WC_SUCCESS);
	while (len < sizeof(got)) {
		ret = rrecv(s.client, got + len, sizeof(got) - len, 0);
		assert_true(ret > 0);
		len += (size_t)ret;
	}
	memset(sent, 0, sizeof(sent));
	assert_memory_equal(got, sent, sizeof(sent));
	close_all(&s);
}

SOCKET_TEST(mapping_that_was_not_written_ends_the_connection)
{
	struct sockets s = connected_as(make_small);

	assert_int_equal(fake_wire_inject_imm(client_qp(), rcl_msg(RCL_MSG_IOMAP, 0)),
			 IBV_WC_SUCCESS);
	expect_end(&s);
}

/* Credits have an entry of the array or nothing with them, other messages have nothing. */
SOCKET_TEST(message_with_a_write_of_another_length_ends_the_connection)
{
	static const uint32_t messages[] = {
		RCL_MSG_CREDIT << 29 | 20, RCL_MSG_CONTROL << 29 | RCL_CONTROL_DISCONNECT,
		RCL_MSG_CONTROL << 29 | RCL_CONTROL_SHUTDOWN,
	};
	uint8_t written[8] = { 0 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		struct sockets s = connected();
		struct rcl_sock *sock = rcl_sock_get(s.client);
		struct rcl_rx *rx = &rcl_stream_of(sock)->rx;
		struct fake_message message = {
			.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htonl(messages[i]),
			.remote_addr = (uintptr_t)rx->buf, .rkey = rx->mr->rkey,
			.length = sizeof(written), .data = written,
		};

		rcl_sock_put(sock);
		assert_int_equal(fake_wire_inject(client_qp(), &message), IBV_WC_SUCCESS);
		expect_end(&s);
		flush_service();
	}
}

/* Halves of 0x884 bytes, of whose length each byte is a length, too. */
static void make_odd_halves(int fd)
{
	make_small(fd);
	set_int(fd, SOL_SOCKET, SO_RCVBUF, 2 * 0x884);
}

/* The peer gives a range again: its message comes when @len bytes of the length are written. */
static void give_again(const struct sockets *s, uint32_t len)
{
	struct rcl_sock *sock = rcl_sock_get(s->client);
	struct rcl_tx *tx = &rcl_stream_of(sock)->tx;
	uint32_t msg = rcl_msg(RCL_MSG_CREDIT, (uint16_t)(tx->limit + 1));
	struct fake_message message = {
		.opcode = IBV_WR_SEND, .length = sizeof(msg), .data = (uint8_t *)&msg,
	};

	rcl_sock_put(sock);
	tx->sgl[tx->index] = (struct rcl_target){ tx->first.addr, tx->first.key, 0 };
	memcpy(&tx->sgl[tx->index].len, &tx->first.len, len);
	assert_int_equal(fake_wire_inject(client_qp(), &message), IBV_WC_SUCCESS);
}

/* On iWARP nothing tells whether the message is about this entry or about an earlier one. */
SOCKET_TEST(entry_that_is_being_written_is_not_taken)
{
	static char sent[8192];
	struct sockets s;

	pair_use_iwarp();
	s = connected_as(make_odd_halves);
	while (rsend(s.client, sent, sizeof(sent), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	give_again(&s, 1);
	assert_int_equal(ready(s.client, POLLOUT), 0);
	give_again(&s, sizeof(uint32_t));
	assert_int_equal(ready(s.client, POLLOUT), POLLOUT);
	close_all(&s);
}

/* A SEND without immediate data; with iWARP, one that is shorter than a message. */
SOCKET_TEST(send_that_is_no_message_ends_the_connection)
{
	uint8_t bytes[3] = { 0 };
	struct fake_message message = { .opcode = IBV_WR_SEND, .data = bytes };
	struct sockets s = connected();

	assert_int_equal(fake_wire_inject(client_qp(), &message), IBV_WC_SUCCESS);
	expect_end(&s);
	flush_service();
}

SOCKET_TEST(short_message_ends_the_connection)
{
	uint8_t bytes[3] = { 0 };
	struct fake_message message = {
		.opcode = IBV_WR_SEND, .length = sizeof(bytes), .data = bytes,
	};
	struct sockets s;

	pair_use_iwarp();
	s = connected();
	assert_int_equal(fake_wire_inject(client_qp(), &message), IBV_WC_SUCCESS);
	expect_end(&s);
}

SOCKET_TEST(reserved_message_ends_the_connection)
{
	static const unsigned int types[] = { 1, 2, 3, 5 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct sockets s = connected();

		assert_int_equal(fake_wire_inject_imm(client_qp(), types[i] << 29 | 5),
				 IBV_WC_SUCCESS);
		expect_end(&s);
		flush_service();
	}
}

SOCKET_TEST(mapping_beyond_the_table_ends_the_connection)
{
	struct sockets s = connected_as(make_small);

	assert_int_equal(fake_wire_inject_imm(client_qp(), rcl_msg(RCL_MSG_IOMAP, 4)),
			 IBV_WC_SUCCESS);
	expect_end(&s);
}

SOCKET_TEST(range_without_an_address_fails_at_the_peer)
{
	struct sockets s = connected_as(make_small);
	char buf[4096] = "";

	/* A credit for more than there is room. */
	assert_int_equal(fake_wire_inject_imm(client_qp(), rcl_msg(RCL_MSG_CREDIT, 9999)),
			 IBV_WC_SUCCESS);
	while (rsend(s.client, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	close_all(&s);
}

SOCKET_TEST(unknown_control_message_is_ignored)
{
	struct sockets s = connected();
	char byte;

	assert_int_equal(fake_wire_inject_imm(client_qp(), rcl_msg(RCL_MSG_CONTROL, 77)),
			 IBV_WC_SUCCESS);
	assert_int_equal(rsend(s.server, "x", 1, 0), 1);
	assert_int_equal(rrecv(s.client, &byte, 1, 0), 1);
	close_all(&s);
}

#define FLOOD 400

/* Of the client there are few receives, the server has room for many sends. */
static struct sockets unequal(void)
{
	struct sockets s = { .listener = new_socket(), .client = new_socket() };

	set_int(s.listener, SOL_RDMA, RDMA_SQSIZE, 4 * FLOOD);
	set_int(s.client, SOL_RDMA, RDMA_RQSIZE, 16);
	assert_int_equal(rbind(s.listener, addr4(HERE, PORT), sizeof(struct sockaddr_in)), 0);
	assert_int_equal(rlisten(s.listener, 4), 0);
	assert_int_equal(rconnect(s.client, addr4(HERE, PORT), sizeof(struct sockaddr_in)), 0);
	s.server = raccept(s.listener, NULL, NULL);
	assert_true(s.server >= 0);
	pass_byte(&s);
	return s;
}

/* Sends more credits than the other end has receives; each receive takes one at once. */
static void flood(void)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htonl(rcl_msg(RCL_MSG_CREDIT, 99)),
	}, *bad;
	int i;

	for (i = 0; i < FLOOD; i++)
		assert_int_equal(ibv_post_send(fake_wire_qp(1), &wr, &bad), 0);
}

/* A call handles some messages, and has the lock no longer, however many there are. */
SOCKET_TEST(flood_of_messages_is_bounded_in_a_call)
{
	struct sockets s = unequal();
	unsigned int left, rounds;

	flood();
	left = fake_wire_waiting(fake_wire_qp(1));
	assert_true(left > FLOOD / 2);
	for (rounds = 0; left; rounds++) {
		assert_int_equal(ready(s.client, POLLIN), 0);
		assert_true(left - fake_wire_waiting(fake_wire_qp(1)) <= 100);
		left = fake_wire_waiting(fake_wire_qp(1));
	}
	assert_true(rounds > 4);
	close_all(&s);
}

/* What a call has left wakes it again: the byte behind the flood arrives. */
SOCKET_TEST(flood_of_messages_loses_no_event)
{
	struct sockets s = unequal();
	struct pollfd pfd = { .fd = s.client, .events = POLLIN };
	char byte;

	flood();
	assert_int_equal(rsend(s.server, "x", 1, 0), 1);
	assert_int_equal(rrecv(s.client, &byte, 1, 0), 1);
	flood();
	assert_int_equal(rsend(s.server, "x", 1, 0), 1);
	assert_int_equal(rpoll(&pfd, 1, 20000), 1);
	assert_int_equal(rrecv(s.client, &byte, 1, 0), 1);
	close_all(&s);
}

/* A peer that speaks no rsockets. */
static void expect_reject(struct rdma_conn_param *param)
{
	int listener = new_listener(NULL);
	struct endpoint end = { .channel = rdma_create_event_channel() };

	assert_int_equal(rdma_create_id(end.channel, &end.id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(end.id, NULL, addr4(HERE, PORT), 1000), 0);
	take_and_ack(end.channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(end.id, 1000), 0);
	take_and_ack(end.channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	pair_add_qp(&end);
	assert_int_equal(rdma_connect(end.id, param), 0);
	take_and_ack(end.channel, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(ready(listener, POLLIN), 0);
	rdma_destroy_qp(end.id);
	ibv_destroy_cq(end.cq);
	ibv_destroy_comp_channel(end.comp);
	ibv_dereg_mr(end.mr);
	rdma_destroy_id(end.id);
	rdma_destroy_event_channel(end.channel);
	assert_int_equal(rclose(listener), 0);
}

SOCKET_TEST(request_without_a_hello_is_rejected)
{
	struct rdma_conn_param param = { .private_data = "?", .private_data_len = 1 };

	expect_reject(&param);
}

/* iWARP has private data of any length, also of none. */
SOCKET_TEST(request_without_private_data_is_rejected)
{
	struct rdma_conn_param param = { 0 };

	pair_use_iwarp();
	expect_reject(&param);
}

static void change_version(struct rdma_cm_alt_event *event)
{
	if (event->type == RDMA_CM_ALT_EVENT_ESTABLISHED)
		event->private_data[0] = 2;
}

/* The peer goes on after a reply that this end has refused. */
SOCKET_TEST(messages_after_a_bad_reply_are_not_looked_at)
{
	uint32_t msg = rcl_msg(RCL_MSG_CREDIT, 9);
	struct fake_message message = {
		.opcode = IBV_WR_SEND, .length = sizeof(msg), .data = (uint8_t *)&msg,
	};
	int listener, client, i;
	struct pollfd pfd = { .events = POLLOUT };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	pair_use_iwarp();
	listener = new_listener(NULL);
	client = new_nonblocking();
	pfd.fd = client;
	fake_cm.on_message = change_version;
	assert_fails(EINPROGRESS, rconnect(client, addr4(HERE, PORT), sizeof(struct sockaddr_in)));
	assert_int_equal(rpoll(&pfd, 1, -1), 1);
	assert_int_equal(get_int(client, SOL_SOCKET, SO_ERROR), ENOTSUP);
	for (i = 0; i < 8; i++)
		assert_int_equal(fake_wire_inject(client_qp(), &message), IBV_WC_SUCCESS);
	assert_int_equal(ibv_modify_qp(client_qp(), &attr, IBV_QP_STATE), 0);
	/* The service thread is told that the peer is gone, and comes to an end with it. */
	assert_int_equal(rclose(listener), 0);
	flush_service();
	assert_int_equal(rclose(client), 0);
}

SOCKET_TEST(hello_of_another_version_or_length_is_refused)
{
	struct rcl_hello hello = { .credits = 16, .sgl.len = 2 }, read;
	uint8_t wire[RCL_HELLO_LEN];

	rcl_hello_pack(wire, &hello);
	assert_int_equal(rcl_hello_unpack(&read, wire, sizeof(wire)), 0);
	assert_int_equal(read.credits, 16);
	assert_int_equal(rcl_hello_unpack(&read, wire, sizeof(wire) - 1), -EPROTO);
	assert_int_equal(rcl_hello_unpack(&read, NULL, 0), -EPROTO);
	wire[0] = 2;
	assert_int_equal(rcl_hello_unpack(&read, wire, sizeof(wire)), -ENOTSUP);
	hello.sgl.len = 1;
	rcl_hello_pack(wire, &hello);
	assert_int_equal(rcl_hello_unpack(&read, wire, sizeof(wire)), -EPROTO);
}

RUN
