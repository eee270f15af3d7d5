// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Streams with data: what is readable, what a full connection answers, and ends behind data. */
#include "rs.h"

#define SOON_MS 5000

static char buffer[100000];

/* A pair where the peer has sent some bytes, which have arrived. */
static int with_data(int *peer, int bytes)
{
	int fd = make_rs_pair(peer);

	NEED(rsend(*peer, "0123456789", bytes, 0) != bytes);
	NEED(!rs_events(fd, POLLIN, SOON_MS));
	return fd;
}

static void poll_answer(const char *check, int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN | POLLOUT };
	int ret = rpoll(&pollfd, 1, 0);

	rs_events_answer(check, ret, pollfd.revents);
}

RS_GROUP(rs_data, IN_DEBUG)
{
	struct iovec iov[2] = { { buffer, 2 }, { buffer + 2, 2 } };
	int peer, fd = with_data(&peer, 10);

	poll_answer("poll", fd);
	RSRET("peek", rrecv(fd, buffer, 100, MSG_PEEK));
	RSRET("peek_again", rrecv(fd, buffer, 4, MSG_PEEK));
	RSRET("none", rrecv(fd, buffer, 0, 0));
	RSRET("some", rrecv(fd, buffer, 3, 0));
	answer("some_data", "%.3s", buffer);
	RSRET("vectors", rreadv(fd, iov, 2) > 0 ? 0 : -1);
	answer("vectors_data", "%.2s", buffer);
	RSRET("trunc", rrecv(fd, buffer, 1, MSG_TRUNC));
	RSRET("all_dontwait", rrecv(fd, buffer, 50, MSG_WAITALL | MSG_DONTWAIT) > 0 ? 0 : -1);
	poll_answer("poll_empty", fd);
	RSRET("empty", rrecv(fd, buffer, 1, 0));
}

RS_GROUP(rs_data_then_shut, 0)
{
	int peer, fd = with_data(&peer, 10);

	NEED(rshutdown(peer, SHUT_WR));
	usleep(patience(200) * 1000);
	poll_answer("poll", fd);
	RSRET("some", rrecv(fd, buffer, 4, 0));
	RSRET("rest", rrecv(fd, buffer, 100, 0));
	RSRET("end", rrecv(fd, buffer, 100, 0));
	poll_answer("poll_end", fd);
	RSRET("send", rsend(fd, buffer, 5, 0));
	RSRET("peer_receives", rrecv(peer, buffer, 5, MSG_WAITALL));
}

RS_GROUP(rs_data_then_close, 0)
{
	int peer, fd = with_data(&peer, 10);

	NEED(rclose(peer));
	usleep(patience(200) * 1000);
	poll_answer("poll", fd);
	RSRET("some", rrecv(fd, buffer, 4, 0));
	RSRET("all", rrecv(fd, buffer, 100, MSG_WAITALL));
	RSRET("end", rrecv(fd, buffer, 100, 0));
	poll_answer("poll_end", fd);
}

RS_GROUP(rs_data_after_shut_rd, 0)
{
	int peer, fd = with_data(&peer, 10);

	RSRET("shut_rd", rshutdown(fd, SHUT_RD));
	poll_answer("poll", fd);
	RSRET("data", rrecv(fd, buffer, 4, 0));
	RSRET("peer_sends", rsend(peer, buffer, 4, 0));
}

/* Send until this would block, and still does after a while. */
static void fill_socket(int fd)
{
	int quiet;

	for (quiet = 0; quiet < 10; quiet++)
		if (rsend(fd, buffer, sizeof(buffer), 0) > 0)
			quiet = 0;
		else
			usleep(20000);
}

RS_GROUP(rs_full, 0)
{
	int peer, fd = make_rs_pair(&peer), n;

	fill_socket(fd);
	poll_answer("poll", fd);
	RSRET("send", rsend(fd, buffer, 1, 0));
	RSRET("send_none", rsend(fd, buffer, 0, 0));
	RSRET("write", rwrite(fd, buffer, 1));
	RSRET("shut_rd", rshutdown(fd, SHUT_RD));
	poll_answer("poll_shut_rd", fd);
	for (n = 0; n < 100 && rrecv(peer, buffer, sizeof(buffer), MSG_DONTWAIT) > 0; n++)
		;
	answer("drained", "%s", yes(rs_events(fd, POLLOUT, SOON_MS) & POLLOUT));
}

static int receive_blocking(void *fd)
{
	return rrecv(*(int *)fd, buffer, 100, 0);
}

static int receive_all_blocking(void *fd)
{
	return rrecv(*(int *)fd, buffer, 8, MSG_WAITALL);
}

/* What blocks, and what ends that. */
RS_GROUP(rs_blocking, WAITS)
{
	int peer, fd = make_rs_pair(&peer);
	struct thread *thread;

	NEED(rfcntl(fd, F_SETFL, 0));
	thread = thread_begin(receive_blocking, &fd);
	thread_answer("receive", thread, patience(300));
	NEED(rsend(peer, "abc", 3, 0) != 3);
	thread_answer("receive_then", thread, patience(SOON_MS));
	thread = thread_begin(receive_all_blocking, &fd);
	NEED(rsend(peer, "abc", 3, 0) != 3);
	thread_answer("all", thread, patience(300));
	NEED(rsend(peer, "defgh", 5, 0) != 5);
	thread_answer("all_then", thread, patience(SOON_MS));
	thread = thread_begin(receive_all_blocking, &fd);
	NEED(rsend(peer, "xy", 2, 0) != 2);
	NEED(rshutdown(peer, SHUT_WR));
	thread_answer("all_at_end", thread, patience(SOON_MS));
	thread = thread_begin(receive_blocking, &fd);
	thread_answer("end", thread, patience(SOON_MS));
}
