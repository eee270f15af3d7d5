// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of streams over iWARP, where the end that has connected sends first. */
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rsocket/wait.h"
#include "rsocket/wire.h"
#include "sockets.h"

#define RING 128	/* bytes of the peer's memory for data; its array of ranges is in front */

/* A peer that has connected, and sends nothing by itself. */
static struct endpoint silent_peer(void)
{
	return (struct endpoint) { .channel = rdma_create_event_channel() };
}

static void connect_peer(struct endpoint *end)
{
	uint8_t data[RCL_HELLO_LEN];
	struct rdma_conn_param param = {
		.private_data = data, .private_data_len = sizeof(data), .initiator_depth = 1,
	};
	struct rcl_hello hello = { .credits = PAIR_WR };
	int i;

	end->id = new_id(end->channel);
	assert_int_equal(rdma_resolve_addr(end->id, NULL, addr4(HERE, PORT), 1000), 0);
	take_and_ack(end->channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(end->id, 1000), 0);
	take_and_ack(end->channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	pair_add_qp(end);
	for (i = 0; i < PAIR_WR; i++)
		pair_post_recv(end, 1, 0, 4);
	hello.sgl = (struct rcl_target){
		(uintptr_t)end->mem + 32, end->mr->rkey, RCL_SGL_ENTRIES,
	};
	hello.data = (struct rcl_target){ (uintptr_t)end->mem + 64, end->mr->rkey, RING };
	rcl_hello_pack(data, &hello);
	assert_int_equal(rdma_connect(end->id, &param), 0);
	take_and_ack(end->channel, RDMA_CM_EVENT_ESTABLISHED);
}

/* A credit, which says nothing new. */
static void speak(struct endpoint *end)
{
	uint32_t msg = rcl_msg(RCL_MSG_CREDIT, PAIR_WR);

	memcpy(end->mem + 16, &msg, sizeof(msg));
	pair_send(end, 3, 16, sizeof(msg));
}

SOCKET_TEST(accepted_end_sends_when_the_peer_has)
{
	struct endpoint peer = silent_peer();
	int listener, server;

	pair_use_iwarp();
	listener = new_listener(NULL);
	connect_peer(&peer);
	server = raccept(listener, NULL, NULL);
	assert_true(server >= 0);
	flush_service();
	assert_int_equal(ready(server, POLLIN | POLLOUT), 0);
	assert_fails(EAGAIN, rsend(server, "x", 1, MSG_DONTWAIT));
	pair_expect_none(&peer);
	speak(&peer);
	assert_int_equal(ready(server, POLLOUT), POLLOUT);
	assert_int_equal(rsend(server, "x", 1, MSG_DONTWAIT), 1);
	assert_int_equal(peer.mem[64], 'x');
	assert_int_equal(rclose(server), 0);
	assert_int_equal(rclose(listener), 0);
	pair_close_end(&peer);
}

/* It has no more receives than it gives credits, and no RNR retry saves the connection. */
SOCKET_TEST(receives_of_the_peer_suffice_for_control_messages)
{
	struct endpoint peer = silent_peer();
	int listener, server, sent = 0;

	pair_use_iwarp();
	listener = new_listener(NULL);
	connect_peer(&peer);
	server = raccept(listener, NULL, NULL);
	speak(&peer);
	while (rsend(server, "x", 1, MSG_DONTWAIT) == 1)
		sent++;
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(sent, PAIR_WR / 2);
	assert_int_equal(rclose(server), 0);
	assert_int_equal(rclose(listener), 0);
	pair_close_end(&peer);
}

static atomic_int receiver;

static void *receive(void *arg)
{
	char byte;

	alarm(20);
	atomic_store(&receiver, (int)syscall(SYS_gettid));
	return (void *)(intptr_t)rrecv(*(int *)arg, &byte, 1, 0);
}

/* Returns the state of the receiving thread as the kernel shows it, or 0: it has not begun. */
static char state_of_receiver(void)
{
	int tid = atomic_load(&receiver);
	char path[64], state = 0;
	FILE *stat;

	if (!tid)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	stat = fopen(path, "r");
	assert_non_null(stat);
	assert_int_equal(fscanf(stat, "%*d (%*[^)]) %c", &state), 1);
	fclose(stat);
	return state;
}

/* Ends a connection while a thread receives, which must see the end, and the call must not wait. */
static void end_while_receiving(int (*end)(int fd))
{
	struct endpoint peer = silent_peer();
	int64_t began = rcl_now_ns();
	int listener, server;
	pthread_t thread;
	void *ret;

	pair_use_iwarp();
	listener = new_listener(NULL);
	connect_peer(&peer);
	server = raccept(listener, NULL, NULL);
	assert_true(server >= 0);
	atomic_store(&receiver, 0);
	assert_int_equal(pthread_create(&thread, NULL, receive, &server), 0);
	while (state_of_receiver() != 'S')
		usleep(1000);
	assert_int_equal(end(server), 0);
	pthread_join(thread, &ret);
	assert_int_equal((intptr_t)ret, 0);
	rclose(server);
	assert_true(rcl_now_ns() - began < 5000000000LL);
	assert_int_equal(rclose(listener), 0);
	pair_expect_none(&peer);
	/* Until now the service thread has waited for the first message of the peer. */
	pair_close_end(&peer);
	while (fake_wire_qp(0))
		usleep(1000);
	alarm(0);
}

SOCKET_TEST(accepted_end_is_closed_without_waiting_for_the_peer)
{
	end_while_receiving(rclose);
}

static int shut_reading(int fd)
{
	return rshutdown(fd, SHUT_RD);
}

SOCKET_TEST(accepted_end_stops_reading_without_sending)
{
	end_while_receiving(shut_reading);
}

RUN
