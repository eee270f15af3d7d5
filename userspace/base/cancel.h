/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Cancellation of threads: pthread_cancel() may end a thread where it waits in the library, but not
 * while it holds a lock or an event that other threads need.
 */
#ifndef RCL_CANCEL_H
#define RCL_CANCEL_H

#include <pthread.h>

/**
 * rcl_cancel_disable - the calling thread cannot be cancelled from now on
 *
 * Return: the state before, for rcl_cancel_restore()
 */
static inline int rcl_cancel_disable(void)
{
	int before = PTHREAD_CANCEL_ENABLE;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

/**
 * rcl_cancel_restore - back to the state before rcl_cancel_disable()
 * @before: from rcl_cancel_disable()
 */
static inline void rcl_cancel_restore(int before)
{
	pthread_setcancelstate(before, NULL);
}

/**
 * rcl_lock - disable cancellation, then take a lock under which cancellation points are called
 * @lock: the lock
 *
 * Return: the state of cancellation before, for rcl_unlock()
 */
static inline int rcl_lock(pthread_mutex_t *lock)
{
	int before = rcl_cancel_disable();

	pthread_mutex_lock(lock);
	return before;
}

/**
 * rcl_unlock - release a lock, and restore the state of cancellation
 * @lock: the lock
 * @before: from rcl_lock()
 */
static inline void rcl_unlock(pthread_mutex_t *lock, int before)
{
	pthread_mutex_unlock(lock);
	rcl_cancel_restore(before);
}

static inline void rcl_cleanup_unlock(void *lock)
{
	pthread_mutex_unlock(lock);
}

/**
 * rcl_cond_wait - pthread_cond_wait() that releases the lock when the thread is cancelled
 * @cond: the condition
 * @lock: its mutex, held
 */
static inline void rcl_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	pthread_cleanup_push(rcl_cleanup_unlock, lock);
	pthread_cond_wait(cond, lock);
	pthread_cleanup_pop(0);
}

#endif /* RCL_CANCEL_H */
