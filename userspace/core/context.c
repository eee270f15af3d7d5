// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The open rdma_cm_alt device of the process, and its features.
 *
 * Locking: open_lock for opening and closing; the descriptor is read without it.
 */
#include "core/context.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/log.h"
#include "base/sys.h"

#define RCL_RECORD_MIN 64
#define RCL_RECORD_MAX 4096

/* In one call: the program may close all descriptors, but not in a loop. */
#define MAX_REOPENS 1

static const char * const default_paths[] = { RCL_DEVICE_PATHS, NULL };

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int context_fd = -1;
static atomic_size_t record_size;
static _Atomic __u64 features;
static atomic_uint id_count;		/* that were created through it */

static const char *open_advice(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENODEV:
		return "; is the module rdma_cm_alt loaded (modprobe rdma_cm_alt)?";
	case -EACCES:
	case -EPERM:
		return "; this user may not open it (ls -l), or a container has not been given it";
	case -EDQUOT:
		return "; the user has too many contexts (max_user_contexts)";
	default:
		return "";
	}
}

static int open_device(void)
{
	const char *env = secure_getenv(RCL_DEVICE_VARIABLE);
	const char * const one[] = { env, NULL };
	const char * const *path = env && *env ? one : default_paths;
	int fd = -ENOENT;

	for (; *path; path++) {
		fd = rcl_sys->open(*path, O_RDWR);
		if (fd >= 0)
			return fd;
		rcl_log("open %s: %s%s", *path, strerror(-fd), open_advice(fd));
		if (fd != -ENOENT)
			break;
	}
	return fd;
}

static int check_info(int fd)
{
	struct rdma_cm_alt_info info = { .size = sizeof(info) };
	int ret;

	ret = rcl_sys->ioctl(fd, RDMA_CM_ALT_INFO, &info);
	if (ret < 0) {
		rcl_log("RDMA_CM_ALT_INFO: %s; this device is not rdma_cm_alt", strerror(-ret));
		return -ENODEV;
	}
	if (info.out_record_size < RCL_RECORD_MIN || info.out_record_size > RCL_RECORD_MAX ||
	    info.out_record_size % sizeof(__u64)) {
		rcl_log("RDMA_CM_ALT_INFO: event records of %u bytes, not %d to %d by eights",
			info.out_record_size, RCL_RECORD_MIN, RCL_RECORD_MAX);
		return -EPERM;
	}
	atomic_store(&record_size, info.out_record_size);
	atomic_store(&features, info.out_features);
	return 0;
}

/* Forgets the descriptor if the program has closed it, or put another file in its place. */
static bool forget_closed(int fd)
{
	struct rdma_cm_alt_info info = { .size = sizeof(info) };

	if (atomic_load(&id_count) || !rcl_sys->ioctl(fd, RDMA_CM_ALT_INFO, &info))
		return false;
	rcl_log("the program has closed the descriptor of the device; the library opens it again");
	pthread_mutex_lock(&open_lock);
	if (atomic_load(&context_fd) == fd)
		atomic_store(&context_fd, -1);
	pthread_mutex_unlock(&open_lock);
	return true;
}

int rcl_context_open(void)
{
	int fd, cancel, ret = 0;

	if (atomic_load_explicit(&context_fd, memory_order_acquire) >= 0)
		return 0;

	cancel = rcl_lock(&open_lock);
	if (atomic_load(&context_fd) >= 0)
		goto out;
	fd = open_device();
	if (fd < 0) {
		ret = fd;
		goto out;
	}
	ret = check_info(fd);
	if (ret)
		rcl_sys->close(fd);
	else
		atomic_store_explicit(&context_fd, fd, memory_order_release);
out:
	rcl_unlock(&open_lock, cancel);
	return ret;
}

void rcl_context_close(void)
{
	int fd = atomic_exchange(&context_fd, -1);

	if (fd >= 0)
		rcl_sys->close(fd);
}

void rcl_context_hold(void)
{
	atomic_fetch_add(&id_count, 1);
}

void rcl_context_drop(void)
{
	atomic_fetch_sub(&id_count, 1);
}

void rcl_context_lock(void)
{
	pthread_mutex_lock(&open_lock);
}

void rcl_context_unlock(void)
{
	pthread_mutex_unlock(&open_lock);
}

size_t rcl_context_record_size(void)
{
	return atomic_load(&record_size);
}

bool rcl_context_has(__u64 feature)
{
	return atomic_load(&features) & feature;
}

int rcl_context_call(unsigned long request, void *arg)
{
	int fd, ret, tries = 0;

	do {
		ret = rcl_context_open();
		if (ret)
			return ret;
		fd = atomic_load(&context_fd);
		ret = rcl_sys->ioctl(fd, request, arg);
	} while (ret < 0 && forget_closed(fd) && tries++ < MAX_REOPENS);
	return ret < 0 ? ret : 0;
}
