/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Cancellation of threads: it may end a thread that waits in the library, and
 * nowhere else, so that it takes no lock and no event with it.
 */
#ifndef RCL_CANCEL_H
#define RCL_CANCEL_H

#include <pthread.h>

/**
 * rcl_no_cancel - the calling thread is not cancelled from now on
 *
 * Return: for rcl_cancel()
 */
static inline int rcl_no_cancel(void)
{
	int before = PTHREAD_CANCEL_ENABLE;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

/**
 * rcl_cancel - as it was before
 * @before: from rcl_no_cancel()
 */
static inline void rcl_cancel(int before)
{
	pthread_setcancelstate(before, NULL);
}

/**
 * rcl_lock - take a lock under which calls are made that may end a cancelled thread
 * @lock: the lock
 *
 * Return: for rcl_unlock()
 */
static inline int rcl_lock(pthread_mutex_t *lock)
{
	int before = rcl_no_cancel();

	pthread_mutex_lock(lock);
	return before;
}

/**
 * rcl_unlock - release it
 * @lock: the lock
 * @before: from rcl_lock()
 */
static inline void rcl_unlock(pthread_mutex_t *lock, int before)
{
	pthread_mutex_unlock(lock);
	rcl_cancel(before);
}

static inline void rcl_release(void *lock)
{
	pthread_mutex_unlock(lock);
}

/**
 * rcl_cond_wait - wait; the lock is free when the thread is cancelled
 * @cond: the condition
 * @lock: its lock, held
 */
static inline void rcl_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	pthread_cleanup_push(rcl_release, lock);
	pthread_cond_wait(cond, lock);
	pthread_cleanup_pop(0);
}

#endif /* RCL_CANCEL_H */
