// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Epoll instances with rsockets in them.
 *
 * Locking: list_lock for the list of instances, then the lock of an instance for its watches.
 * Neither is held while waiting.
 */
#include "preload/epoll.h"

#include <dlfcn.h>
#include <rdma/rsocket.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "preload/libc.h"

/* Data of the kernel's instance in the repoll instance; watches count from 0. */
#define KERNEL_WATCH UINT32_MAX

/* An entry of an instance. Its index and generation are the data of its events in the repoll. */
struct watch {
	struct rcl_file *file;		/* NULL: free */
	struct epoll_event event;	/* the program's */
	uint32_t generation;
	int fd;
	bool native;			/* in the kernel's instance */
};

struct rcl_epoll {
	pthread_mutex_t lock;
	struct watch *watches;
	uint32_t count;
	int kernel;		/* our own descriptor of the kernel's instance */
	int wake;		/* an eventfd that is always readable */
	int repoll;
	atomic_bool more;	/* the kernel's instance may have had more events than places */
	struct rcl_epoll *next;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rcl_epoll *instances;

/* Looked up at run time: without them, in librdmacm before 1.5, all but epoll works. */
static struct {
	pthread_once_t once;
	int (*create)(int flags);
	int (*ctl)(int epfd, int op, int fd, struct epoll_event *event);
	int (*wait)(int epfd, struct epoll_event *events, int maxevents, int timeout);
} repoll = { .once = PTHREAD_ONCE_INIT };

static void find_repoll(void)
{
	repoll.create = (typeof(repoll.create))dlsym(RTLD_DEFAULT, "repoll_create");
	repoll.ctl = (typeof(repoll.ctl))dlsym(RTLD_DEFAULT, "repoll_ctl");
	repoll.wait = (typeof(repoll.wait))dlsym(RTLD_DEFAULT, "repoll_wait");
}

static int fail_errno(int err)
{
	errno = err;
	return -1;
}

static int release_instance(struct rcl_file *file)
{
	struct rcl_epoll *ep = file->epoll, **at;
	struct epoll_event unused = { 0 };
	uint32_t i;

	pthread_mutex_lock(&list_lock);
	for (at = &instances; *at != ep; at = &(*at)->next)
		;
	*at = ep->next;
	/* With list_lock, so that no rsocket is closed and its number reused meanwhile. */
	for (i = 0; i < ep->count; i++) {
		if (!ep->watches[i].file)
			continue;
		atomic_fetch_sub(&ep->watches[i].file->watches, 1);
		if (!ep->watches[i].native)
			repoll.ctl(ep->repoll, EPOLL_CTL_DEL, ep->watches[i].file->rs, &unused);
	}
	pthread_mutex_unlock(&list_lock);
	repoll.ctl(ep->repoll, EPOLL_CTL_DEL, ep->kernel, &unused);
	rclose(ep->repoll);
	rcl_libc()->close(ep->kernel);
	rcl_libc()->close(ep->wake);
	free(ep->watches);
	free(ep);
	return 0;
}

/*
 * Adds the kernel's instance to the repoll instance, and the eventfd to the former. Returns false
 * with errno; the caller closes the descriptors.
 */
static bool join_instances(struct rcl_epoll *ep, int epfd)
{
	struct epoll_event kernel = { .events = EPOLLIN, .data.u64 = KERNEL_WATCH };

	pthread_once(&repoll.once, find_repoll);
	if (!repoll.create || !repoll.ctl || !repoll.wait) {
		rcl_fail(-ENOSYS, "epoll_ctl", "this librdmacm.so.1 has no repoll_create()");
		return false;
	}
	ep->kernel = rcl_fd_raise(rcl_libc()->fcntl(epfd, F_DUPFD_CLOEXEC, 0));
	ep->wake = rcl_fd_raise(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
	if (ep->kernel < 0 || ep->wake < 0)
		return false;
	/* ENOENT if it is an epoll instance. */
	if (!rcl_libc()->epoll_ctl(ep->kernel, EPOLL_CTL_DEL, ep->wake, &kernel) ||
	    errno != ENOENT)
		return false;
	ep->repoll = repoll.create(RCL_INTERNAL);
	if (ep->repoll < 0)
		ep->repoll = repoll.create(0);
	return ep->repoll >= 0 && !repoll.ctl(ep->repoll, EPOLL_CTL_ADD, ep->kernel, &kernel);
}

void rcl_epoll_end_wake(struct rcl_file *instance)
{
	struct epoll_event unused = { 0 };

	rcl_libc()->epoll_ctl(instance->epoll->kernel, EPOLL_CTL_DEL, instance->epoll->wake,
			      &unused);
}

/* The instance is in the table now. Wakes threads that wait in libc, which then check the table. */
static void wake_waits(struct rcl_file *instance, int epfd)
{
	struct epoll_event wake = { .events = EPOLLIN, .data.ptr = instance->epoll };
	atomic_uint *waits = rcl_file_waits(epfd);

	if (!waits || !atomic_load(waits))
		return;
	rcl_libc()->epoll_ctl(instance->epoll->kernel, EPOLL_CTL_ADD, instance->epoll->wake, &wake);
	/* The last thread may have left before the eventfd was added. */
	if (!atomic_load(waits))
		rcl_epoll_end_wake(instance);
}

static void discard(struct rcl_epoll *ep)
{
	int saved = errno;

	if (ep->repoll >= 0)
		rclose(ep->repoll);
	if (ep->wake >= 0)
		rcl_libc()->close(ep->wake);
	if (ep->kernel >= 0)
		rcl_libc()->close(ep->kernel);
	free(ep);
	errno = saved;
}

struct rcl_file *rcl_epoll_open(int epfd)
{
	static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
	struct rcl_file *file;
	struct rcl_epoll *ep;

	pthread_mutex_lock(&open_lock);
	file = rcl_file_get(epfd);
	if (file)
		goto out;
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		goto out;
	pthread_mutex_init(&ep->lock, NULL);
	ep->kernel = -1;
	ep->wake = -1;
	ep->repoll = -1;
	file = join_instances(ep, epfd) ?
		rcl_file_new(RCL_FILE_EPOLL, ep->repoll, release_instance) : NULL;
	if (!file) {
		discard(ep);
		goto out;
	}
	file->epoll = ep;
	pthread_mutex_lock(&list_lock);
	ep->next = instances;
	instances = ep;
	pthread_mutex_unlock(&list_lock);
	rcl_file_hold(file);
	if (!rcl_file_install(epfd, file)) {
		rcl_file_put(file);
		rcl_file_put(file);
		file = NULL;
		errno = ENOMEM;
		goto out;
	}
	wake_waits(file, epfd);
out:
	pthread_mutex_unlock(&open_lock);
	return file;
}

static uint64_t data_of(struct rcl_epoll *ep, struct watch *watch)
{
	return (uint64_t)watch->generation << 32 | (uint32_t)(watch - ep->watches);
}

/* epoll_ctl() on the instance that has the file; called with ep->lock. */
static int control_watch(struct rcl_epoll *ep, int op, struct watch *watch)
{
	struct epoll_event event = watch->event;

	if (watch->native)
		return rcl_libc()->epoll_ctl(ep->kernel, op, watch->fd, &event);
	event.data.u64 = data_of(ep, watch);
	return repoll.ctl(ep->repoll, op, watch->file->rs, &event);
}

static struct watch *find_watch(struct rcl_epoll *ep, struct rcl_file *file, int fd)
{
	uint32_t i;

	for (i = 0; i < ep->count; i++) {
		if (ep->watches[i].file == file && (fd < 0 || ep->watches[i].fd == fd))
			return &ep->watches[i];
	}
	return NULL;
}

/* Returns a free entry, or NULL without memory. */
static struct watch *free_watch(struct rcl_epoll *ep)
{
	struct watch *watch = find_watch(ep, NULL, -1), *more;
	uint32_t count = ep->count ? ep->count * 2 : 8;

	if (watch)
		return watch;
	more = realloc(ep->watches, count * sizeof(*more));
	if (!more)
		return NULL;
	memset(more + ep->count, 0, (count - ep->count) * sizeof(*more));
	watch = more + ep->count;
	ep->watches = more;
	ep->count = count;
	return watch;
}

static void end_watch(struct watch *watch)
{
	atomic_fetch_sub(&watch->file->watches, 1);
	watch->file = NULL;
	watch->generation++;
}

static int add_watch(struct rcl_epoll *ep, int fd, struct rcl_file *file,
		     const struct epoll_event *event)
{
	struct watch *watch = free_watch(ep);

	if (!watch)
		return fail_errno(ENOMEM);
	watch->file = file;
	watch->fd = fd;
	watch->event = *event;
	watch->native = atomic_load(&file->kind) >= RCL_FILE_TCP_NEW;
	atomic_fetch_add(&file->watches, 1);
	if (!control_watch(ep, EPOLL_CTL_ADD, watch))
		return 0;
	end_watch(watch);
	return -1;
}

int rcl_epoll_control(struct rcl_file *instance, int op, int fd, struct rcl_file *file,
		      const struct epoll_event *event)
{
	struct rcl_epoll *ep = instance->epoll;
	struct watch *watch;
	int ret;

	if (!event && op != EPOLL_CTL_DEL)
		return fail_errno(EFAULT);
	pthread_mutex_lock(&ep->lock);
	watch = find_watch(ep, file, fd);
	if (op == EPOLL_CTL_ADD) {
		/* A repoll instance has an rsocket once only, also if dup() has copied it. */
		ret = find_watch(ep, file, -1) ? fail_errno(EEXIST) :
						 add_watch(ep, fd, file, event);
	} else if (!watch) {
		ret = fail_errno(ENOENT);
	} else if (op == EPOLL_CTL_DEL) {
		ret = control_watch(ep, EPOLL_CTL_DEL, watch);
		end_watch(watch);
	} else if (op == EPOLL_CTL_MOD) {
		watch->event = *event;
		ret = control_watch(ep, EPOLL_CTL_MOD, watch);
	} else {
		ret = fail_errno(EINVAL);
	}
	pthread_mutex_unlock(&ep->lock);
	return ret;
}

/*
 * Replaces the index of the watch by the program's data. Returns a file that the caller has to
 * check, with a reference, or NULL.
 */
static struct rcl_file *translate(struct rcl_epoll *ep, struct epoll_event *event, int *fd)
{
	uint32_t number = event->data.u64, generation = event->data.u64 >> 32;
	struct rcl_file *file = NULL;
	struct watch *watch = NULL;

	pthread_mutex_lock(&ep->lock);
	if (number < ep->count)
		watch = &ep->watches[number];
	if (watch && watch->file && watch->generation == generation) {
		event->data = watch->event.data;
		*fd = watch->fd;
		if (atomic_load(&watch->file->connect) == RCL_CONNECT_WAITS &&
		    rcl_file_hold(watch->file))
			file = watch->file;
	} else {
		event->events = 0;	/* of a watch that has ended meanwhile */
	}
	pthread_mutex_unlock(&ep->lock);
	return file;
}

int rcl_epoll_drop_wake(struct rcl_file *instance, struct epoll_event *events, int count)
{
	int i, kept = 0;

	for (i = 0; i < count; i++) {
		if (events[i].data.ptr != instance->epoll)
			events[kept++] = events[i];
	}
	return kept;
}

/* Reads the pending events of the kernel's instance; returns their number. */
static int kernel_events(struct rcl_file *instance, struct epoll_event *events, int max)
{
	int n = rcl_libc()->epoll_wait(instance->epoll->kernel, events, max, 0);
	int kept = rcl_epoll_drop_wake(instance, events, n);

	atomic_store(&instance->epoll->more, n == max);
	/* Lets other threads run that were not woken yet. */
	if (n > 0 && !kept)
		usleep(1000);
	return kept;
}

int rcl_epoll_wait(struct rcl_file *instance, struct epoll_event *events, int max, int timeout,
		   bool (*usable)(int fd, struct rcl_file *file))
{
	struct rcl_epoll *ep = instance->epoll;
	int places = atomic_load(&ep->more) ? (max + 1) / 2 : max;
	bool from_kernel = false;
	struct rcl_file *asked;
	int i, n, fd = -1, kept = 0;

	/* The event of the kernel's instance leaves a place for one of its own. */
	n = repoll.wait(ep->repoll, events, places, timeout);
	for (i = 0; i < n; i++) {
		if (events[i].data.u64 == KERNEL_WATCH) {
			from_kernel = true;
			continue;
		}
		asked = translate(ep, &events[i], &fd);
		if (asked && !usable(fd, asked))
			events[i].events = 0;
		if (asked)
			rcl_file_put(asked);
		if (events[i].events)
			events[kept++] = events[i];
	}
	if (from_kernel)
		kept += kernel_events(instance, events + kept, max - kept);
	return n < 0 ? n : kept;
}

static void move_watch(struct rcl_epoll *ep, struct watch *watch, bool native)
{
	if (watch->native == native)
		return;
	control_watch(ep, EPOLL_CTL_DEL, watch);
	watch->native = native;
	if (control_watch(ep, EPOLL_CTL_ADD, watch))
		rcl_fail(-errno, "epoll_wait", "fd %d is lost to its epoll instance", watch->fd);
}

/* Calls @change for each watch of a file. */
static void each_watch(struct rcl_file *file, bool native,
		       void (*change)(struct rcl_epoll *ep, struct watch *watch, bool native))
{
	struct rcl_epoll *ep;
	struct watch *watch;

	if (!atomic_load(&file->watches))
		return;
	pthread_mutex_lock(&list_lock);
	for (ep = instances; ep; ep = ep->next) {
		pthread_mutex_lock(&ep->lock);
		watch = find_watch(ep, file, -1);
		if (watch)
			change(ep, watch, native);
		pthread_mutex_unlock(&ep->lock);
	}
	pthread_mutex_unlock(&list_lock);
}

void rcl_epoll_move(struct rcl_file *file, bool native)
{
	each_watch(file, native, move_watch);
}

static void remove_watch(struct rcl_epoll *ep, struct watch *watch, bool native)
{
	(void)native;
	/* The kernel removes closed descriptors itself. */
	if (!watch->native)
		control_watch(ep, EPOLL_CTL_DEL, watch);
	end_watch(watch);
}

void rcl_epoll_forget(struct rcl_file *file)
{
	each_watch(file, false, remove_watch);
}
