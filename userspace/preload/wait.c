// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Waiting in rpoll() for descriptors of any kind.
 *
 * Locking: none. The wait has references of the files.
 */
#include "preload/wait.h"

#include <errno.h>
#include <rdma/rsocket.h>
#include <stdlib.h>

#include "preload/deadline.h"
#include "preload/delayed.h"
#include "preload/fallback.h"
#include "preload/libc.h"

/* Up to this number of descriptors, no memory is allocated. */
#define FEW 32

/* The descriptors for rpoll(), with one more for signals. */
struct waiting {
	struct pollfd *polls;
	struct rcl_file **files;
	struct pollfd few_polls[FEW + 1];
	struct rcl_file *few_files[FEW];
};

static bool get_room(struct waiting *w, nfds_t count)
{
	w->polls = w->few_polls;
	w->files = w->few_files;
	if (count <= FEW)
		return true;
	w->polls = calloc(count + 1, sizeof(*w->polls));
	w->files = calloc(count, sizeof(*w->files));
	if (w->polls && w->files)
		return true;
	free(w->polls);
	free(w->files);
	errno = ENOMEM;
	return false;
}

static void free_room(struct waiting *w)
{
	if (w->polls == w->few_polls)
		return;
	free(w->polls);
	free(w->files);
}

static bool is_rsocket(struct rcl_file *file)
{
	return atomic_load_explicit(&file->kind, memory_order_acquire) <= RCL_FILE_EPOLL;
}

bool rcl_wait_needed(int fd)
{
	struct rcl_file *file;

	if (!rcl_file_known(fd) || rcl_in_library)
		return false;
	file = rcl_file_get(fd);
	if (!file)
		return false;
	rcl_delayed_begin(fd, file, true);
	return rcl_file_done(file, is_rsocket(file));
}

static int wait_in_library(struct pollfd *polls, nfds_t count, int timeout)
{
	int ret;

	rcl_in_library++;
	ret = rpoll(polls, count, timeout);
	rcl_in_library--;
	return ret;
}

/* Looks up the files, and the numbers of their rsockets. */
static void look_up(struct waiting *w, const struct pollfd *fds, nfds_t count)
{
	struct rcl_file *file;
	nfds_t i;

	for (i = 0; i < count; i++) {
		w->polls[i] = fds[i];
		w->polls[i].revents = 0;
		file = rcl_file_get(fds[i].fd);
		w->files[i] = file;
		if (file && is_rsocket(file))
			w->polls[i].fd = file->rs;
	}
}

/* Copies the results and drops the files. Returns the number of descriptors with events. */
static int collect(struct waiting *w, struct pollfd *fds, nfds_t count)
{
	int ready = 0;
	nfds_t i;

	for (i = 0; i < count; i++) {
		fds[i].revents = w->polls[i].revents;
		/* What continues over TCP is asked again: its connect(), or a listener. */
		if (w->files[i] && fds[i].revents &&
		    (!rcl_connect_settle(fds[i].fd, w->files[i]) || !rcl_file_known(fds[i].fd)))
			fds[i].revents = 0;
		if (w->files[i])
			rcl_file_done(w->files[i], 0);
		ready += !!fds[i].revents;
	}
	return ready;
}

/* Waits for an event, a signal or the deadline. */
static int wait_for(struct waiting *w, struct pollfd *fds, nfds_t count, int64_t deadline,
		    struct rcl_signals *signals)
{
	int ret, ready, left;

	do {
		look_up(w, fds, count);
		w->polls[count] = (struct pollfd){ .fd = signals->fd, .events = POLLIN };
		left = rcl_time_left(deadline);
		ret = wait_in_library(w->polls, count + (signals->fd >= 0), left);
		ready = collect(w, fds, count);
		if (ret < 0)
			return -1;
		if (!ready && rcl_signals_pending(signals)) {
			errno = EINTR;
			return -1;
		}
		/* rpoll() may return early, and a connect() may continue over TCP. */
	} while (!ready && left);
	return ready;
}

int rcl_wait(struct pollfd *fds, nfds_t count, int64_t deadline, const sigset_t *mask)
{
	struct rcl_signals signals;
	struct waiting w;
	int ret;

	if (deadline < 0) {
		errno = EINVAL;
		return -1;
	}
	if (!get_room(&w, count))
		return -1;
	ret = rcl_signals_block(&signals, mask);
	if (ret) {
		errno = -ret;
		ret = -1;
	} else {
		ret = wait_for(&w, fds, count, deadline, &signals);
		rcl_signals_restore(&signals, ret < 0);
	}
	free_room(&w);
	return ret;
}
