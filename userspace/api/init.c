// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The library in a child process. Descriptors, contexts and ids are inherited
 * and good; what a fork() of a threaded program breaks are locks that another
 * thread holds at that moment: it does not exist in the child. So fork() waits
 * until all locks are free, and takes them along.
 *
 * Locking: all locks of the library, the outer ones first. This order is the one
 * place where more than one of them is held.
 */
#include "api/init.h"

#include <pthread.h>

#include "base/table.h"
#include "core/context.h"
#include "core/devices.h"
#include "core/ring.h"
#include "id/cmid.h"

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void prepare(void)
{
	rcl_rings_lock();
	rcl_context_lock();
	rcl_devices_lock();
	rcl_ids_lock();
	rcl_table_lock();
}

static void release(bool child)
{
	rcl_table_unlock();
	rcl_ids_unlock(child);
	rcl_devices_unlock();
	rcl_context_unlock();
	rcl_rings_unlock();
}

static void in_parent(void)
{
	release(false);
}

static void in_child(void)
{
	release(true);
}

static void install(void)
{
	/* Without memory for it a child of a program with threads may hang. */
	pthread_atfork(prepare, in_parent, in_child);
}

void rcl_fork_init(void)
{
	pthread_once(&fork_once, install);
}

int rcl_init(void)
{
	rcl_fork_init();
	return rcl_devices_init();
}
