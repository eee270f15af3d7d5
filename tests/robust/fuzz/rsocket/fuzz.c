// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A libFuzzer program for what the peer of an rsocket sends, and for configuration files. An input
 * is a list of operations of both ends and of a peer that does not keep to the protocol. Sanitizers
 * must find nothing, the numbers of a stream must agree with each other, the fabric must have no
 * complaint, and no object may be left.
 *
 * The first byte selects a kind of input: streams, streams of two honest ends, datagrams or files.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <rdma/rsocket.h>

#include "base/compiler.h"
#include "base/rdma_cma_new.h"
#include "core/devices.h"
#include "fake/fake_cm.h"
#include "fake/fake_fabric.h"
#include "fake/fake_kernel.h"
#include "fake/fake_post.h"
#include "fake/fake_verbs.h"
#include "rsocket/stream/kept.h"
#include "world.h"

/* First bytes of inputs of honest ends, of datagrams, and of files; smaller ones are of streams. */
#define TWO_ENDS 96
#define DATAGRAMS 160
#define FILES 240

#define PORT 7471

struct world world;
struct input input;

uint32_t in_u32(void)
{
	static const uint32_t edges[] = {
		0x1fffffff, UINT32_MAX, INT_MAX, UINT16_MAX, UINT16_MAX + 1, 4096, 2048, 2049,
	};
	uint32_t number;
	uint8_t byte = in_u8();

	if (byte < 200)
		return byte;
	if (byte < 240)
		return edges[byte % ARRAY_SIZE(edges)];
	in_bytes(&number, sizeof(number));
	return number;
}

void not_true(const char *what)
{
	fprintf(stderr, "not true: %s\n", what);
	abort();
}

struct rcl_stream *pick_stream(void)
{
	struct rcl_sock *sock = rcl_sock_get(world.fd[in_u8() % ENDS]);

	if (!sock)
		return NULL;
	pthread_mutex_lock(&sock->lock);
	return rcl_stream_of(sock);
}

void drop_stream(struct rcl_stream *s)
{
	pthread_mutex_unlock(&s->sock.lock);
	rcl_sock_put(&s->sock);
}

void check_stream(const struct rcl_stream *s)
{
	const struct rcl_rx *rx = &s->rx;

	if (!s->comp)
		return;
	if ((uint64_t)rx->avail + rx->freed + rx->room != rx->size)
		not_true("each byte of the ring is announced, full or free");
	if (rx->offset >= rx->size)
		not_true("the next byte is in the ring");
	if (s->tx.bytes - s->tx.bytes_done > s->tx.size)
		not_true("what is under way fits the send buffer");
	if (s->tx.slots - s->tx.slots_done > s->tx.slots_most)
		not_true("what is under way fits the send queue");
}

static void set_int(int fd, int level, int name, int value)
{
	rsetsockopt(fd, level, name, &value, sizeof(value));
}

/* Small sizes, so that limits are reached. */
static int new_socket(void)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	rfcntl(fd, F_SETFL, O_NONBLOCK);
	set_int(fd, SOL_SOCKET, SO_RCVBUF, 1024);
	set_int(fd, SOL_SOCKET, SO_SNDBUF, 2048);
	set_int(fd, SOL_RDMA, RDMA_SQSIZE, 16);
	set_int(fd, SOL_RDMA, RDMA_RQSIZE, 16);
	set_int(fd, SOL_RDMA, RDMA_IOMAPSIZE, 4);
	return fd;
}

static void add_socket(int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT, .data.fd = fd };

	repoll_ctl(world.repoll, EPOLL_CTL_ADD, fd, &event);
}

static void connect_both(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	inet_pton(AF_INET, "10.9.0.1", &addr.sin_addr);
	world.listener = new_socket();
	rbind(world.listener, (struct sockaddr *)&addr, sizeof(addr));
	rlisten(world.listener, 4);
	world.fd[0] = new_socket();
	rconnect(world.fd[0], (struct sockaddr *)&addr, sizeof(addr));
	service_run(false);
	world.fd[1] = raccept(world.listener, NULL, NULL);
	if (world.fd[1] >= 0)
		rfcntl(world.fd[1], F_SETFL, O_NONBLOCK);
	world.repoll = repoll_create(0);
	add_socket(world.fd[0]);
	add_socket(world.fd[1]);
}

static void step(void)
{
	struct rcl_stream *s;
	uint8_t byte = in_u8();
	unsigned int i;

	if (byte & 1)
		peer_operations[byte / 2 % peer_operations_count]();
	else
		program_operations[byte / 2 % program_operations_count]();
	service_run(false);
	for (i = 0; i < ENDS; i++) {
		struct rcl_sock *sock = rcl_sock_get(world.fd[i]);

		if (!sock)
			continue;
		s = rcl_stream_of(sock);
		check_stream(s);
		rcl_sock_put(sock);
	}
}

static void begin_input(bool iwarp)
{
	fake_verbs_reset();
	fake_install();
	fake_data_path_install();
	fake_cm_install();
	fake_complaints();
	fake.nonblock = true;
	if (iwarp) {
		fake_verbs_iwarp();
		fake.features |= RDMA_CM_ALT_FEATURE_IWARP;
	}
}

static void close_both(void)
{
	unsigned int i;

	fake_cm.on_message = NULL;
	for (i = 0; i < ENDS; i++) {
		if (world.fd[i] >= 0)
			rclose(world.fd[i]);
	}
	rclose(world.listener);
	rclose(world.repoll);
}

static void end_input(void)
{
	service_end();
	rcl_kept_end(RCL_FOREVER);
	rcl_devices_reset();
	if (fake_verbs.objects || fake_verbs.open_contexts || fake_open_queues())
		not_true("no object is left");
	fake_remove();
	if (fake_complaints())
		not_true("the fabric has no complaint");
}

static void stream_input(bool honest)
{
	int i;

	if (!honest)
		peer_begin();
	connect_both();
	if (honest)
		two_ends_input();
	else
		for (i = 0; i < STEPS && input.left; i++)
			step();
	close_both();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t kind;

	memset(&world, 0, sizeof(world));
	input.at = data;
	input.left = size;
	kind = in_u8();
	if (kind >= FILES) {
		config_input();
		return 0;
	}
	begin_input(kind & 1 && kind < DATAGRAMS);
	if (kind < DATAGRAMS)
		stream_input(kind >= TWO_ENDS);
	else
		datagram_input(kind & 1);
	end_input();
	return 0;
}
