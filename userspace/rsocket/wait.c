// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Waiting.
 *
 * A call polls for a while before it sleeps if recent waits were short. Then a peer that answers at
 * once costs no wake-up, and one that takes longer costs no processor time. KVM decides in the same
 * way when a guest is idle.
 *
 * Each thread has one eventfd, from its first sleep to its end. A thread does not wake its own
 * waiter when it changes a socket, because it checks the socket before it sleeps.
 *
 * Locking: none.
 */
#include "rsocket/wait.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/fd.h"
#include "rsocket/conf.h"

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL
#define NS_PER_US 1000LL

/* The first glibc that does not cancel a thread whose system call has completed. */
#define LIBC_MAJOR 2
#define LIBC_MINOR 41

/* After this number of long waits a call does not poll any more. */
#define SPIN_OFF 4

static pthread_key_t key;
static int key_error;

/* The eventfd of the thread, plus one; 0: none yet. */
static __thread int own;

/* Cancellation state of the thread before the call, and while it sleeps. */
static __thread int cancel_outside, cancel_in_sleeps;

int64_t rcl_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int64_t rcl_deadline(int64_t ms)
{
	return ms < 0 ? RCL_FOREVER : rcl_now_ns() + ms * NS_PER_MS;
}

int64_t rcl_call_deadline(const struct rcl_sock *sock, int flags, uint32_t ms)
{
	if (sock->nonblock || flags & MSG_DONTWAIT)
		return 0;
	return ms ? rcl_deadline(ms) : RCL_FOREVER;
}

static void end_of_thread(void *value)
{
	int fd = (int)(intptr_t)value - 1, before = rcl_cancel_disable();

	own = 0;
	/* close() is a cancellation point, but a thread that has returned was not cancelled. */
	close(fd);
	rcl_cancel_restore(before);
}

/* A child of fork() shares the eventfd, and would take the wake-ups of its parent. */
static void forked(void)
{
	own = 0;
}

static void make_key(void)
{
	pthread_atfork(NULL, NULL, forked);
	key_error = -pthread_key_create(&key, end_of_thread);
}

static int own_fd(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int fd;

	if (own)
		return own - 1;
	pthread_once(&once, make_key);
	if (key_error)
		return key_error;
	fd = rcl_fd_raise(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (fd < 0)
		return rcl_errno();
	own = fd + 1;
	pthread_setspecific(key, (void *)(intptr_t)own);
	return fd;
}

static void wake(struct rcl_waiter *waiter)
{
	struct rcl_sleeper *sleeper = (struct rcl_sleeper *)(void *)waiter;

	if (sleeper->fd != own - 1)
		eventfd_write(sleeper->fd, 1);
}

int rcl_sleeper_init(struct rcl_sleeper *sleeper)
{
	int fd = own_fd();

	if (fd < 0)
		return fd;
	*sleeper = (struct rcl_sleeper){ .waiter = { .wake = wake, .gone = wake }, .fd = fd };
	return 0;
}

void rcl_cancel_in_sleeps(void)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_outside);
	cancel_in_sleeps = cancel_outside;
}

void rcl_cancel_as_before(void)
{
	pthread_setcancelstate(cancel_outside, &cancel_in_sleeps);
}

void rcl_cancel_never(void)
{
	cancel_in_sleeps = PTHREAD_CANCEL_DISABLE;
}

static pthread_once_t once_for_libc = PTHREAD_ONCE_INIT;
static bool libc_loses;

static void look_at_libc(void)
{
	char text[64];
	int major, minor;

	/* Other libcs do not have this name. */
	if (confstr(_CS_GNU_LIBC_VERSION, text, sizeof(text)) &&
	    sscanf(text, "glibc %d.%d", &major, &minor) == 2)
		libc_loses = major < LIBC_MAJOR || (major == LIBC_MAJOR && minor < LIBC_MINOR);
}

bool rcl_cancel_loses(void)
{
	pthread_once(&once_for_libc, look_at_libc);
	return libc_loses && cancel_in_sleeps == PTHREAD_CANCEL_ENABLE;
}

/* Signals of faults cannot arrive during a sleep, and crash reporters have handlers for them. */
static bool is_fault(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
	       number == SIGTRAP || number == SIGABRT;
}

bool rcl_signals_restart(void)
{
	struct sigaction action;
	int number;

	/* The signal is unknown, so that all handlers are checked. */
	for (number = 1; number <= SIGRTMAX; number++) {
		if (!is_fault(number) && !sigaction(number, NULL, &action) &&
		    action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN &&
		    !(action.sa_flags & SA_RESTART))
			return false;
	}
	return true;
}

void rcl_sleep_begin(void)
{
	int old;

	pthread_setcancelstate(cancel_in_sleeps, &old);
}

void rcl_sleep_end(void)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
}

static int poll_until(struct pollfd *fds, nfds_t count, int64_t deadline)
{
	struct timespec limit = { 0 };
	int64_t left = 0;

	if (deadline != RCL_FOREVER) {
		left = deadline - rcl_now_ns();
		if (left > 0) {
			limit.tv_sec = left / NS_PER_S;
			limit.tv_nsec = left % NS_PER_S;
		}
	}
	return ppoll(fds, count, deadline == RCL_FOREVER ? NULL : &limit, NULL);
}

int rcl_sleep(struct pollfd *fds, nfds_t count, int64_t deadline, void (*cancelled)(void *arg),
	      void *arg)
{
	eventfd_t value;
	int ret;

	fds[count] = (struct pollfd){ .fd = own - 1, .events = POLLIN };
	pthread_cleanup_push(cancelled, arg);
	rcl_sleep_begin();
	ret = poll_until(fds, count + 1, deadline);
	rcl_sleep_end();
	pthread_cleanup_pop(0);
	if (ret < 0)
		return rcl_errno();
	if (fds[count].revents)
		eventfd_read(own - 1, &value);
	return ret;
}

/* A thread that sleeps on one socket. */
struct sleep {
	struct rcl_sleeper sleeper;
	struct rcl_sock *sock;
	void (*cancelled)(struct rcl_sock *sock);
};

static void give_back(void *arg)
{
	struct sleep *sleep = arg;

	pthread_mutex_lock(&sleep->sock->lock);
	rcl_sock_unwatch(&sleep->sleeper.waiter);
	if (sleep->cancelled)
		sleep->cancelled(sleep->sock);
	pthread_mutex_unlock(&sleep->sock->lock);
	rcl_sock_put(sleep->sock);
}

int rcl_sleep_on(struct rcl_sock *sock, struct pollfd *fds, nfds_t count, int64_t deadline,
		 void (*cancelled)(struct rcl_sock *sock))
{
	struct sleep sleep = { .sock = sock, .cancelled = cancelled };
	int ret = rcl_sleeper_init(&sleep.sleeper);

	if (ret)
		return ret;
	rcl_sock_watch(sock, &sleep.sleeper.waiter);
	pthread_mutex_unlock(&sock->lock);
	ret = rcl_sleep(fds, count, deadline, give_back, &sleep);
	pthread_mutex_lock(&sock->lock);
	rcl_sock_unwatch(&sleep.sleeper.waiter);
	return ret;
}

static int64_t spin_most(void)
{
	return rcl_rsocket_conf()->polling_us * NS_PER_US;
}

int64_t rcl_spin_ns(const struct rcl_spin *spin)
{
	return spin->halvings < SPIN_OFF ? spin_most() >> spin->halvings : 0;
}

void rcl_spin_learn(struct rcl_spin *spin, int64_t waited)
{
	if (waited <= spin_most())
		spin->halvings = 0;
	else if (spin->halvings < SPIN_OFF)
		spin->halvings++;
}
