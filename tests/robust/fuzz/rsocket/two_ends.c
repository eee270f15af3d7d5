// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Two honest ends, whose programs call rsockets in any order. Every byte arrives, in order, before
 * the end of its stream; neither end has more credits than the other has buffers; what poll reports
 * is so; and each descriptor of a repoll gets its turn.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/rdma_cma_new.h"
#include "world.h"

#define MOST 6000
#define MAPPED 64

/* Receives without a byte, after which the rest of a stream is lost. */
#define PATIENCE 64

/*
 * One direction of the connection, named by the end that sends: how many bytes were sent and
 * received, whether its end was sent and seen, and a mapping at its receiver. The mapping is known
 * to the sender once it has received a byte that came later than riomap(), number @known.
 */
static struct direction {
	uint32_t sent;
	uint32_t received;
	bool shut;
	bool ended;
	bool mapped;
	off_t offset;
	uint32_t known;
	uint8_t map[MAPPED];
} directions[ENDS];

static uint8_t data[MOST];
static int pipe_fds[2];

static uint8_t byte_at(uint32_t position)
{
	return (uint8_t)(position * 7 + (position >> 8));
}

static void send_some(unsigned int end)
{
	struct direction *to = &directions[end];
	uint32_t len = in_u32() % MOST, i;
	ssize_t ret;

	for (i = 0; i < len; i++)
		data[i] = byte_at(to->sent + i);
	ret = rsend(world.fd[end], data, len, MSG_DONTWAIT);
	if (ret > 0)
		to->sent += (uint32_t)ret;
	else if (ret < 0 && (to->shut ? errno != EPIPE : errno != EAGAIN))
		not_true("a send fails for want of room only");
}

/* Receives at @end; returns the number of bytes that came. */
static uint32_t take(unsigned int end, uint32_t len, int flags)
{
	struct direction *from = &directions[!end];
	ssize_t ret, i;

	ret = rrecv(world.fd[end], data, len, flags | MSG_DONTWAIT);
	if (ret < 0) {
		if (errno != EAGAIN)
			not_true("a receive fails for want of data only");
		return 0;
	}
	for (i = 0; i < ret; i++) {
		if (data[i] != byte_at(from->received + (uint32_t)i))
			not_true("the next byte is the next that was sent");
	}
	if (ret > from->sent - from->received)
		not_true("what comes was sent");
	if (!ret && len) {
		if (!from->shut || from->received != from->sent)
			not_true("a stream ends after its last byte");
		from->ended = true;
	}
	if (flags & MSG_PEEK)
		return 0;
	from->received += (uint32_t)ret;
	return (uint32_t)ret;
}

static void receive_some(unsigned int end)
{
	take(end, 1 + in_u32() % (MOST - 1), in_u8() & 1 ? MSG_PEEK : 0);
}

/* @end lets its peer write to a mapping, and takes it back. */
static void map_once(unsigned int end)
{
	struct direction *from = &directions[!end];

	if (from->mapped) {
		if (!riounmap(world.fd[end], from->map, MAPPED))
			from->mapped = false;
		return;
	}
	from->offset = riomap(world.fd[end], from->map, MAPPED, PROT_WRITE, 0, -1);
	from->mapped = from->offset >= 0;
	from->known = directions[end].sent;
}

static void map_often(unsigned int end)
{
	uint8_t times = in_u8() % 40;

	for (; times; times--) {
		map_once(end);
		service_run(false);
		take(end, 0, 0);
		take(!end, 0, 0);
	}
}

static void write_mapped(unsigned int end)
{
	struct direction *to = &directions[end];
	static const uint8_t mark[8] = "written";

	if (!to->mapped || directions[!end].received <= to->known)
		return;
	memset(to->map, 0, sizeof(to->map));
	take(end, 0, 0);
	if (riowrite(world.fd[end], mark, sizeof(mark), to->offset + 8, MSG_DONTWAIT) !=
	    sizeof(mark))
		return;
	service_run(false);
	if (memcmp(to->map + 8, mark, sizeof(mark)) || to->map[7] || to->map[16])
		not_true("riowrite() writes where the mapping says");
}

static void shut_send(unsigned int end)
{
	if (in_u8() >= 64)
		return;
	if (!rshutdown(world.fd[end], SHUT_WR))
		directions[end].shut = true;
}

/* The next send of @end tells the peer of its mapping first, which takes a credit, too. */
static bool has_untold_mapping(unsigned int end)
{
	return directions[!end].mapped && directions[!end].known == directions[end].sent;
}

/* POLLIN: a receive does not wait. POLLOUT: nor does a send. */
static void poll_both(unsigned int end)
{
	struct pollfd fds[] = {
		{ .fd = world.fd[0], .events = POLLIN | POLLOUT },
		{ .fd = world.fd[1], .events = POLLIN | POLLOUT },
		{ .fd = world.listener, .events = in_u8() },
		{ .fd = pipe_fds[0], .events = POLLIN },
	};
	unsigned int i;
	int ready = rpoll(fds, ARRAY_SIZE(fds), 0);

	for (i = 0; i < ARRAY_SIZE(fds); i++)
		ready -= !!fds[i].revents;
	if (ready)
		not_true("rpoll() returns the number of descriptors that are ready");
	if (fds[3].revents != POLLIN)
		not_true("rpoll() reports the pipe");
	if (fds[end].revents & POLLIN &&
	    rrecv(fds[end].fd, data, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
		not_true("a readable socket is readable");
	if (fds[end].revents & POLLOUT && !directions[end].shut && !has_untold_mapping(end)) {
		data[0] = byte_at(directions[end].sent);
		if (rsend(fds[end].fd, data, 1, MSG_DONTWAIT) != 1)
			not_true("a writable socket is writable");
		directions[end].sent++;
	}
}

/* Who is ready is reported, even if the program takes one event at a time. */
static void take_turns(unsigned int end)
{
	struct pollfd fds[] = {
		{ .fd = world.fd[0], .events = POLLIN | POLLOUT },
		{ .fd = world.fd[1], .events = POLLIN | POLLOUT },
		{ .fd = pipe_fds[0], .events = POLLIN },
	};
	struct epoll_event event;
	unsigned int i, turn;

	(void)end;
	rpoll(fds, ARRAY_SIZE(fds), 0);
	for (turn = 0; turn < 2 * ARRAY_SIZE(fds); turn++) {
		if (repoll_wait(world.repoll, &event, 1, 0) != 1)
			not_true("somebody is ready");
		for (i = 0; i < ARRAY_SIZE(fds); i++) {
			if (fds[i].fd == event.data.fd)
				fds[i].revents = 0;
		}
	}
	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i].revents)
			not_true("each descriptor of a repoll gets its turn");
	}
}

static void check_credits(void)
{
	struct rcl_stream *s[ENDS];
	unsigned int end;

	for (end = 0; end < ENDS; end++)
		s[end] = rcl_stream_of(rcl_sock_get(world.fd[end]));
	for (end = 0; end < ENDS; end++) {
		if (s[end]->tx.limit - s[end]->tx.seq > s[!end]->rx.most)
			not_true("an end has no more credits than its peer has buffers");
		check_stream(s[end]);
	}
	for (end = 0; end < ENDS; end++)
		rcl_sock_put(&s[end]->sock);
}

/* All that was sent arrives, and the end after it. */
static void drain(unsigned int end)
{
	struct direction *from = &directions[!end];
	unsigned int idle = 0;

	while (from->received != from->sent || from->shut != from->ended) {
		idle = take(end, MOST, 0) ? 0 : idle + 1;
		if (idle == PATIENCE)
			not_true("what was sent arrives");
		service_run(true);
	}
}

static void (*const calls[])(unsigned int end) = {
	send_some, send_some, receive_some, receive_some, map_once, map_often, write_mapped,
	poll_both, take_turns, shut_send,
};

void two_ends_input(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	unsigned int i;
	uint8_t byte;

	memset(directions, 0, sizeof(directions));
	if (world.fd[1] < 0)
		not_true("two honest ends connect");
	if (pipe(pipe_fds) || write(pipe_fds[1], "", 1) != 1)
		return;
	event.data.fd = pipe_fds[0];
	repoll_ctl(world.repoll, EPOLL_CTL_ADD, pipe_fds[0], &event);
	for (i = 0; i < STEPS && input.left; i++) {
		byte = in_u8();
		calls[byte / 2 % ARRAY_SIZE(calls)](byte & 1);
		service_run(false);
		check_credits();
	}
	for (i = 0; i < ENDS; i++)
		drain(i);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}
