// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The first use of the library in a process: look for devices, and install handlers of fork().
 *
 * A child process inherits descriptors, contexts and ids, and may use them once its parent has
 * ended (core/process.h). But a lock that another thread holds during fork() would stay locked in
 * the child, where that thread does not exist. So the handlers take all locks over fork().
 *
 * Locking: all locks of the library, the outer ones first.
 */
#include "api/init.h"

#include <pthread.h>

#include "core/context.h"
#include "core/devices.h"
#include "core/process.h"
#include "core/ring.h"
#include "id/cmid.h"
#include "id/request.h"

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void lock_all(void)
{
	rcl_rings_lock();
	rcl_context_lock();
	rcl_devices_lock();
	rcl_ids_lock();
	rcl_process_forking();
}

static void unlock_all(bool child)
{
	rcl_ids_unlock(child);
	rcl_devices_unlock();
	rcl_context_unlock();
	rcl_rings_unlock();
}

static void in_parent(void)
{
	unlock_all(false);
}

static void in_child(void)
{
	rcl_process_in_child();
	rcl_requests_in_child();
	unlock_all(true);
}

static void install_fork_handlers(void)
{
	/* Fails only without memory: a child of a program with threads may then hang. */
	pthread_atfork(lock_all, in_parent, in_child);
}

void rcl_fork_init(void)
{
	pthread_once(&fork_once, install_fork_handlers);
}

int rcl_init(void)
{
	rcl_fork_init();
	return rcl_devices_init();
}
