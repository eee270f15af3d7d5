// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A kernel for the unit tests: ids, queues that are pipes, canned answers.
 *
 * Locking: fake_lock around everything but the blocking read().
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "core/context.h"
#include "fake/fake_kernel.h"
#include "fake/fake_ring.h"
#include "fake/fake_verbs.h"
#include "core/devices.h"
#include "base/fd.h"
#include "base/sys.h"

#define MAX_FDS 8192
#define MAX_WAITING 512	/* records on a queue whose ring goes */

struct fake_kernel fake;

static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static int write_end[MAX_FDS];	/* of the queue with this descriptor, or 0 */
static int readers[MAX_FDS];	/* threads that are in read() */
static int copied[MAX_FDS];	/* the descriptor that this one is a copy of, or 0 */
static __u32 next_handle;

static int new_queue(void)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | (fake.nonblock ? O_NONBLOCK : 0)))
		return -errno;
	assert(fds[0] < MAX_FDS);
	fcntl(fds[1], F_SETPIPE_SZ, 1 << 20);	/* a post never waits */
	write_end[fds[0]] = fds[1];
	return fds[0];
}

/* The descriptor that identifies a queue here. */
static int queue_of(int fd)
{
	return fd >= 0 && fd < MAX_FDS && copied[fd] ? copied[fd] : fd;
}

int fake_copy(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	assert(copy >= 0 && copy < MAX_FDS);
	copied[copy] = fd;
	return copy;
}

void fake_copy_over(int fd, int over)
{
	assert(dup2(fd, over) == over);
	copied[over] = fd;
}

void fake_uncopy(int copy)
{
	copied[copy] = 0;
	close(copy);
}

static struct fake_id *alive(__u32 handle)
{
	if (!handle || handle >= FAKE_MAX_IDS || !fake.ids[handle].alive)
		return NULL;
	return &fake.ids[handle];
}

/* 0: there are too many. */
static __u32 new_handle(void)
{
	return next_handle + 1 < FAKE_MAX_IDS ? ++next_handle : 0;
}

static __u32 new_id(int fd, __u64 cookie)
{
	__u32 handle = new_handle();

	if (handle)
		fake.ids[handle] = (struct fake_id) { .alive = true, .fd = fd, .cookie = cookie };
	return handle;
}

struct rdma_cm_alt_event fake_event(__u32 type, __u32 handle)
{
	struct rdma_cm_alt_event event = {
		.length = sizeof(struct rdma_cm_alt_event),
		.type = type,
		.flags = RDMA_CM_ALT_EVENT_F_ROUTE | RDMA_CM_ALT_EVENT_F_QP,
		.cookie = fake.ids[handle].cookie,
		.id = handle,
		.route = fake.route,
		.qp = fake.qp,
	};

	if (fake.cm)
		fake.cm->fill(&event);
	return event;
}

/* The id to which an event belongs. */
static __u32 owner_of(const struct rdma_cm_alt_event *event)
{
	return event->listen_id ? event->listen_id : event->id;
}

static void count_event(const struct rdma_cm_alt_event *event)
{
	__u32 owner = owner_of(event);

	if (owner < FAKE_MAX_IDS)
		fake.ids[owner].reported++;
	if (event->member && event->member < FAKE_MAX_IDS)
		fake.members[event->member].reported++;
}

/* Count the records that were taken from the ring. */
static void reap(int fd)
{
	struct rdma_cm_alt_event event;

	while (fake_ring_reap(fd, &event))
		count_event(&event);
}

/* Except when a test has replaced the queue by another file. */
static bool waits(int fd)
{
	int waiting = 0;

	return !ioctl(fd, FIONREAD, &waiting) && waiting;
}

static void put_in_pipe(int fd, const struct rdma_cm_alt_event *event)
{
	__u8 bytes[4096] = { 0 };
	ssize_t len;

	memcpy(bytes, event, sizeof(*event));
	len = write(write_end[fd], bytes, fake.record_size);
	assert(len == (ssize_t)fake.record_size);
}

/* With the lock held. */
static void post_to(int fd, const struct rdma_cm_alt_event *event)
{
	if (fd < 0 || fd >= MAX_FDS || !write_end[fd])
		return;
	reap(fd);
	if (readers[fd] || waits(fd) || !fake_ring_put(fd, event))
		put_in_pipe(fd, event);
}

static int run_command(unsigned int nr, void *arg);

/* Takes the records of an id, or of one of its memberships, back from its queue, and requests. */
static void take_back(int fd, __u32 owner, __u32 member)
{
	struct rdma_cm_alt_destroy requests[MAX_WAITING];
	struct rdma_cm_alt_event event = { 0 };
	__u8 bytes[4096] = { 0 };
	int waiting = 0, n = 0;
	ssize_t len;

	reap(fd);
	fake_ring_void(fd, owner, member);
	if (fd < 0 || !write_end[fd] || ioctl(fd, FIONREAD, &waiting))
		return;
	for (; waiting > 0; waiting -= (int)fake.record_size) {
		len = read(fd, bytes, fake.record_size);
		assert(len == (ssize_t)fake.record_size);
		memcpy(&event, bytes, (size_t)len < sizeof(event) ? (size_t)len : sizeof(event));
		if (owner_of(&event) == owner && (!member || event.member == member)) {
			if (event.listen_id && n < MAX_WAITING)
				requests[n++] = (struct rdma_cm_alt_destroy) { .id = event.id };
			continue;
		}
		len = write(write_end[fd], bytes, fake.record_size);
		assert(len == (ssize_t)fake.record_size);
	}
	while (n)
		run_command(RDMA_CM_ALT_CMD_DESTROY, &requests[--n]);
}

static void post(const struct rdma_cm_alt_event *event)
{
	post_to(fake.ids[owner_of(event)].fd, event);
}

void fake_post_to(int fd, const struct rdma_cm_alt_event *event)
{
	pthread_mutex_lock(&fake_lock);
	post_to(fd, event);
	pthread_mutex_unlock(&fake_lock);
}

void fake_post_locked(const struct rdma_cm_alt_event *event)
{
	post(event);
}

__u32 fake_child_locked(__u32 listener)
{
	return new_id(fake.ids[listener].fd, 0);
}

void fake_kernel_lock(void)
{
	pthread_mutex_lock(&fake_lock);
}

void fake_kernel_unlock(void)
{
	pthread_mutex_unlock(&fake_lock);
}

void fake_post(const struct rdma_cm_alt_event *event)
{
	pthread_mutex_lock(&fake_lock);
	post(event);
	pthread_mutex_unlock(&fake_lock);
}

static void post_type(int type, __u32 handle, int status)
{
	struct rdma_cm_alt_event event;

	if (type == FAKE_NO_EVENT)
		return;
	event = fake_event((__u32)type, handle);
	event.status = status;
	post(&event);
}

void fake_post_type(__u32 type, __u32 handle, int status)
{
	pthread_mutex_lock(&fake_lock);
	post_type((int)type, handle, status);
	pthread_mutex_unlock(&fake_lock);
}

static void post_member(int type, __u32 handle, int status)
{
	const struct fake_member *member = &fake.members[handle];
	struct rdma_cm_alt_event event;

	if (type == FAKE_NO_EVENT)
		return;
	event = fake_event((__u32)type, member->id);
	event.status = status;
	event.member = handle;
	event.user_arg = member->cookie;
	if (type == RDMA_CM_ALT_EVENT_MULTICAST_JOIN) {
		event.flags |= RDMA_CM_ALT_EVENT_F_UD;
		event.qp_num = 0xffffff;
		event.qkey = 0x01234567;
		event.ah_attr = fake.group;
	}
	post(&event);
}

void fake_post_member(__u32 type, __u32 member, int status)
{
	pthread_mutex_lock(&fake_lock);
	post_member((int)type, member, status);
	pthread_mutex_unlock(&fake_lock);
}

__u32 fake_child(__u32 listener)
{
	__u32 child;

	pthread_mutex_lock(&fake_lock);
	child = new_id(fake.ids[listener].fd, 0);
	pthread_mutex_unlock(&fake_lock);
	return child;
}

__u32 fake_request(__u32 listener)
{
	struct rdma_cm_alt_event event;
	__u32 child;

	pthread_mutex_lock(&fake_lock);
	child = new_id(fake.ids[listener].fd, 0);
	assert(child);
	event = fake_event(RDMA_CM_ALT_EVENT_CONNECT_REQUEST, child);
	event.cookie = fake.ids[listener].cookie;
	event.listen_id = listener;
	event.flags |= RDMA_CM_ALT_EVENT_F_CONN;
	event.responder_resources = 5;
	event.initiator_depth = 3;
	event.qp_num = 0x123;
	event.private_data_len = 56;
	memcpy(event.private_data, "hello", 6);
	post(&event);
	pthread_mutex_unlock(&fake_lock);
	return child;
}

bool fake_id_alive(__u32 handle)
{
	bool yes;

	pthread_mutex_lock(&fake_lock);
	yes = alive(handle);
	pthread_mutex_unlock(&fake_lock);
	return yes;
}

int fake_open_queues(void)
{
	int fd, n = 0;

	for (fd = 0; fd < MAX_FDS; fd++)
		n += write_end[fd] != 0;
	return n;
}

static int do_resolve(struct rdma_cm_alt_resolve *cmd)
{
	struct rdma_cm_alt_pipeline *pipe = &cmd->pipe;
	__u32 handle = pipe->id;
	int ret, fd = queue_of(pipe->queue_fd);

	cmd->out_queue_fd = -1;
	if (pipe->steps & RDMA_CM_ALT_STEP_CREATE) {
		if (pipe->flags & RDMA_CM_ALT_PIPE_NEW_QUEUE) {
			fd = new_queue();
			if (fd < 0)
				return fd;
			cmd->out_queue_fd = fd;
		}
		handle = new_id(fd, pipe->cookie);
		if (!handle)
			return -ENOMEM;
	} else if (!alive(handle)) {
		return -ENOENT;
	}
	cmd->out_id = handle;
	ret = fake.cm ? fake.cm->place(handle, pipe) : 0;
	if (ret)
		return ret;
	if (pipe->steps & RDMA_CM_ALT_STEP_BIND)
		cmd->out_route = fake_event(0, handle).route;
	if (pipe->steps & RDMA_CM_ALT_STEP_ADDR)
		post_type(fake.addr_event, handle, fake.status);
	if (pipe->steps & RDMA_CM_ALT_STEP_ROUTE)
		post_type(fake.route_event, handle, fake.status);
	return 0;
}

static void take_private_data(const struct rdma_cm_alt_conn_param *param)
{
	memset(fake.private_data, 0, sizeof(fake.private_data));
	assert(param->private_data_len <= sizeof(fake.private_data));
	if (param->private_data_len)
		memcpy(fake.private_data, (void *)(uintptr_t)param->private_data_uptr,
		       param->private_data_len);
}

static int do_set_queue(struct rdma_cm_alt_set_queue *cmd)
{
	struct fake_id *id = alive(cmd->id);
	int fd = queue_of(cmd->queue_fd);

	if (!id)
		return -ENOENT;
	if (cmd->flags & RDMA_CM_ALT_SET_QUEUE_NEW) {
		fd = new_queue();
		if (fd < 0)
			return fd;
		cmd->out_queue_fd = fd;
	}
	if (cmd->flags & RDMA_CM_ALT_SET_QUEUE_COOKIE)
		id->cookie = cmd->cookie;
	reap(id->fd);
	fake_ring_void(id->fd, cmd->id, 0);
	id->fd = fd;
	cmd->out_events_reported = id->reported;
	return 0;
}

static int do_destroy(struct rdma_cm_alt_destroy *cmd)
{
	struct fake_id *id = alive(cmd->id);

	if (!id)
		return -ENOENT;
	id->alive = false;
	take_back(id->fd, cmd->id, 0);
	cmd->out_events_reported = id->reported;
	return 0;
}

static int do_join(struct rdma_cm_alt_join *cmd)
{
	__u32 handle;

	if (!alive(cmd->id))
		return -ENOENT;
	handle = new_handle();
	if (!handle)
		return -ENOMEM;
	fake.members[handle] = (struct fake_member) {
		.alive = true,
		.id = cmd->id,
		.cookie = cmd->cookie,
	};
	cmd->out_member = handle;
	post_member(fake.join_event, handle, fake.status);
	return 0;
}

static int do_leave(struct rdma_cm_alt_leave *cmd)
{
	struct fake_member *member = &fake.members[cmd->member % FAKE_MAX_IDS];

	if (cmd->member >= FAKE_MAX_IDS || !member->alive)
		return -ENOENT;
	member->alive = false;
	take_back(fake.ids[member->id].fd, member->id, cmd->member);
	cmd->out_events_reported = member->reported;
	return 0;
}

static int do_post(const struct rdma_cm_alt_post_event *cmd)
{
	struct rdma_cm_alt_event event;

	if (!alive(cmd->id))
		return -ENOENT;
	event = fake_event(cmd->type, cmd->id);
	event.flags = 0;
	event.status = cmd->status;
	event.user_status = cmd->status;
	event.user_arg = cmd->arg;
	post(&event);
	return 0;
}

/* The records themselves are those that a program asks for. */
static int do_resolve_service(const struct rdma_cm_alt_resolve_service *cmd)
{
	if (!alive(cmd->id))
		return -ENOENT;
	if (cmd->name_len)
		memcpy(fake.private_data, (void *)(uintptr_t)cmd->name_uptr, cmd->name_len);
	post_type(fake.service_event, cmd->id, fake.status);
	return 0;
}

static int do_services(struct rdma_cm_alt_services *cmd)
{
	__u32 n = cmd->count < fake.service_count ? cmd->count : fake.service_count;

	if (!fake.service_count)
		return -ENODATA;
	memcpy((void *)(uintptr_t)cmd->services_uptr, fake.services, n * sizeof(*fake.services));
	cmd->out_count = fake.service_count;
	return 0;
}

/* With the lock held. */
static int do_connect(struct rdma_cm_alt_connect *cmd)
{
	struct rdma_cm_alt_resolve resolve = { .pipe = cmd->pipe };
	int ret;

	if (fake.meanwhile) {
		/* The hook may make calls, too. */
		pthread_mutex_unlock(&fake_lock);
		fake.meanwhile();
		pthread_mutex_lock(&fake_lock);
		return -ECONNABORTED;
	}
	if (!(cmd->pipe.steps & RDMA_CM_ALT_STEP_CREATE) && !alive(cmd->pipe.id))
		return -ENOENT;
	take_private_data(&cmd->param);
	cmd->out_id = cmd->pipe.id;
	cmd->out_queue_fd = -1;
	if (cmd->pipe.steps & RDMA_CM_ALT_STEP_CREATE) {
		resolve.pipe.steps = RDMA_CM_ALT_STEP_CREATE;
		ret = do_resolve(&resolve);
		if (ret)
			return ret;
		cmd->out_id = resolve.out_id;
		cmd->out_queue_fd = resolve.out_queue_fd;
	}
	if (cmd->pipe.steps && fake.addr_event != RDMA_CM_ALT_EVENT_ADDR_RESOLVED)
		post_type(fake.addr_event, cmd->out_id, fake.status);
	else
		post_type(fake.connect_event, cmd->out_id, fake.status);
	return 0;
}

static int answer(unsigned int nr, void *arg);

static int do_batch(struct rdma_cm_alt_batch *cmd)
{
	unsigned int i = cmd->cmd - RDMA_CM_ALT_CMD_BASE;
	__s32 *results = (void *)(uintptr_t)cmd->results_uptr;
	__u32 n;

	for (n = 0; n < cmd->count && (!fake.batch_most || n < fake.batch_most); n++) {
		__u8 *entry = (__u8 *)(uintptr_t)cmd->entries_uptr + (size_t)n * cmd->stride;

		if (*(__u32 *)(void *)entry) {
			fake.calls[i]++;
			memcpy(&fake.last[i], entry, *(__u32 *)(void *)entry);
			results[n] = answer(cmd->cmd, entry);
		} else {
			results[n] = -EINVAL;
		}
	}
	cmd->out_done = n;
	return 0;
}

static int run_command(unsigned int nr, void *arg)
{
	int ret = fake.cm ? fake.cm->command(nr, arg) : FAKE_CANNED;

	if (ret != FAKE_CANNED)
		return ret;
	switch (nr) {
	case RDMA_CM_ALT_CMD_INFO:
		((struct rdma_cm_alt_info *)arg)->out_record_size = fake.record_size;
		((struct rdma_cm_alt_info *)arg)->out_features = fake.features;
		return 0;
	case RDMA_CM_ALT_CMD_QUEUE_CREATE: {
		struct rdma_cm_alt_queue_create *cmd = arg;

		cmd->out_fd = new_queue();
		cmd->out_record_size = fake.record_size;
		if (cmd->out_fd >= 0 && cmd->ring_entries)
			fake_ring_create(cmd, fake.record_size);
		return cmd->out_fd < 0 ? cmd->out_fd : 0;
	}
	case RDMA_CM_ALT_CMD_RESOLVE:
		return do_resolve(arg);
	case RDMA_CM_ALT_CMD_CONNECT:
		return do_connect(arg);
	case RDMA_CM_ALT_CMD_BATCH:
		return do_batch(arg);
	case RDMA_CM_ALT_CMD_LISTEN:
		((struct rdma_cm_alt_listen *)arg)->out_route = fake.route;
		return 0;
	case RDMA_CM_ALT_CMD_ACCEPT: {
		struct rdma_cm_alt_accept *cmd = arg;

		if (!alive(cmd->id))
			return -ENOENT;
		take_private_data(&cmd->param);
		fake.ids[cmd->id].cookie = cmd->cookie;
		post_type(fake.accept_event, cmd->id, fake.status);
		return 0;
	}
	case RDMA_CM_ALT_CMD_DISCONNECT: {
		struct rdma_cm_alt_disconnect *cmd = arg;

		if (!alive(cmd->id))
			return -ENOENT;
		post_type(fake.disconnect_event, cmd->id, fake.status);
		return 0;
	}
	case RDMA_CM_ALT_CMD_QP_ATTR:
		((struct rdma_cm_alt_qp_attr_get *)arg)->out_attr = fake.attr;
		return 0;
	case RDMA_CM_ALT_CMD_QUERY:
		((struct rdma_cm_alt_query *)arg)->out_route = fake.route;
		return 0;
	case RDMA_CM_ALT_CMD_SET_OPTION: {
		struct rdma_cm_alt_option *cmd = arg;

		if (!alive(cmd->id))
			return -ENOENT;
		if (cmd->optlen && cmd->optlen <= sizeof(fake.private_data))
			memcpy(fake.private_data, (void *)(uintptr_t)cmd->optval_uptr, cmd->optlen);
		if (cmd->level == RDMA_OPTION_IB && cmd->optname == RDMA_OPTION_IB_PATH)
			post_type(fake.route_event, cmd->id, fake.status);
		return 0;
	}
	case RDMA_CM_ALT_CMD_SET_QUEUE:
		return do_set_queue(arg);
	case RDMA_CM_ALT_CMD_DESTROY:
		return do_destroy(arg);
	case RDMA_CM_ALT_CMD_JOIN:
		return do_join(arg);
	case RDMA_CM_ALT_CMD_LEAVE:
		return do_leave(arg);
	case RDMA_CM_ALT_CMD_POST_EVENT:
		return do_post(arg);
	case RDMA_CM_ALT_CMD_RESOLVE_SERVICE:
		return do_resolve_service(arg);
	case RDMA_CM_ALT_CMD_SERVICES:
		return do_services(arg);
	default:
		return 0;
	}
}

static int answer(unsigned int nr, void *arg)
{
	unsigned int i = nr - RDMA_CM_ALT_CMD_BASE;
	int ret = fake.fail[i] ? -fake.fail[i] : run_command(nr, arg);

	fake.fail[i] = 0;
	if (fake.on_answer)
		fake.on_answer(nr, arg, &ret);
	return ret;
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	unsigned int nr = _IOC_NR(request), i = nr - RDMA_CM_ALT_CMD_BASE;
	__u32 size = *(__u32 *)arg;
	int ret;

	assert(_IOC_TYPE(request) == RDMA_CM_ALT_IOC_TYPE && i < FAKE_COMMANDS);
	if (fcntl(fd, F_GETFD) < 0)
		return -EBADF;
	if (fake.on_call)
		fake.on_call(nr);
	pthread_mutex_lock(&fake_lock);
	fake.calls[i]++;
	assert(size <= sizeof(fake.last[i]));
	memcpy(&fake.last[i], arg, size);
	ret = answer(nr, arg);
	pthread_mutex_unlock(&fake_lock);
	if (fake.on_return)
		fake.on_return(nr);
	return ret;
}

/* Move pending records to the ring, unless a thread waits in read(). */
static void pump(int fd)
{
	__u8 bytes[4096];

	while (!readers[fd] && fake_ring_has_room(fd) && waits(fd)) {
		ssize_t len = read(fd, bytes, fake.record_size);

		assert(len == (ssize_t)fake.record_size);
		fake_ring_put(fd, (void *)bytes);
	}
}

static void stop_reading(void *readers_of)
{
	pthread_mutex_lock(&fake_lock);
	--*(int *)readers_of;
	pthread_mutex_unlock(&fake_lock);
}

/* A thread may be cancelled here. */
static int wait_in_read(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	int ret;

	pthread_cleanup_push(stop_reading, &readers[fd]);
	ret = poll(&pollfd, 1, fcntl(fd, F_GETFL) & O_NONBLOCK ? 0 : -1);
	pthread_cleanup_pop(0);
	return ret < 0 ? -errno : ret;
}

/* Another thread may have read since wait_in_read(). Events are counted when they are read. */
static ssize_t read_waiting(int fd, void *buf, size_t len)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	ssize_t ret, done;

	if (poll(&pollfd, 1, 0) <= 0)
		return -EAGAIN;
	ret = read(fd, buf, len);
	if (ret < 0)
		return -errno;
	for (done = 0; done < ret; done += fake.record_size) {
		struct rdma_cm_alt_event event = { 0 };
		size_t left = (size_t)(ret - done);

		memcpy(&event, (__u8 *)buf + done, left < sizeof(event) ? left : sizeof(event));
		count_event(&event);
	}
	return ret;
}

static ssize_t fake_read(int fd, void *buf, size_t len)
{
	ssize_t ret;

	/* A line of a file instead of a record. */
	if (len < 64) {
		ret = read(fd, buf, len);
		return ret < 0 ? -errno : ret;
	}
	if (len < fake.record_size)
		return -EINVAL;
	fd = queue_of(fd);
	pthread_mutex_lock(&fake_lock);
	fake.reads++;
	reap(fd);
	if (fake_ring_unread(fd)) {
		pthread_mutex_unlock(&fake_lock);
		return 0;
	}
	readers[fd]++;
	do {
		pthread_mutex_unlock(&fake_lock);
		ret = wait_in_read(fd);
		pthread_mutex_lock(&fake_lock);
		if (ret >= 0)
			ret = read_waiting(fd, buf, len);
	} while (ret == -EAGAIN && !(fcntl(fd, F_GETFL) & O_NONBLOCK));
	readers[fd]--;
	if (ret > 0)
		pump(fd);
	pthread_mutex_unlock(&fake_lock);
	return ret;
}

static void *fake_mmap(size_t len, int prot, int fd, off_t offset)
{
	void *map = NULL;

	(void)prot;
	pthread_mutex_lock(&fake_lock);
	if (!fake.mmap_error)
		map = fake_ring_map(fd, len, (__u64)offset);
	if (map && !offset && fake.on_map)
		fake.on_map(fake_ring_header(fd));
	pthread_mutex_unlock(&fake_lock);
	return map ? map : MAP_FAILED;
}

/* Records that were not taken are pending again, before the others. */
static int fake_munmap(void *addr, size_t len)
{
	struct rdma_cm_alt_event events[MAX_WAITING];
	__u8 bytes[4096] = { 0 };
	int i, fd, n = 0;

	(void)len;
	pthread_mutex_lock(&fake_lock);
	fd = fake_ring_owner(addr);
	if (fd >= 0 && copied[fd]) {
		/* For a queue that is closed: its descriptor duplicates another one. */
		fake_ring_stop(fd);
	} else if (fd >= 0) {
		reap(fd);
		while (n < MAX_WAITING && fake_ring_take_back(fd, &events[n]))
			n++;
		fake_ring_stop(fd);
		while (n < MAX_WAITING && waits(fd)) {
			assert(read(fd, bytes, fake.record_size) == (ssize_t)fake.record_size);
			memcpy(&events[n++], bytes, sizeof(events[0]));
		}
		for (i = 0; i < n; i++)
			put_in_pipe(fd, &events[i]);
	}
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

/* A file of stock's configfs, below a directory of the test. */
static int open_config(const char *path)
{
	char file[512];
	int fd;

	if (!fake.config_dir)
		return -ENOENT;
	snprintf(file, sizeof(file), "%s%s", fake.config_dir, path);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int fake_open(const char *path, int flags)
{
	(void)flags;
	if (!strncmp(path, RCL_STOCKCONF, strlen(RCL_STOCKCONF)))
		return open_config(path + strlen(RCL_STOCKCONF));
	snprintf(fake.path, sizeof(fake.path), "%s", path);
	if (fake.open_error)
		return -fake.open_error;
	fake.context_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return fake.context_fd;
}

static int fake_close(int fd)
{
	pthread_mutex_lock(&fake_lock);
	if (fd >= 0 && fd < MAX_FDS && write_end[fd]) {
		if (fake.cm)
			fake.cm->closed(fd);
		close(write_end[fd]);
		write_end[fd] = 0;
		fake_ring_close(fd);
		copied[fd] = 0;
	}
	pthread_mutex_unlock(&fake_lock);
	return close(fd) ? -errno : 0;
}

static int fake_raise(int fd)
{
	int high;

	pthread_mutex_lock(&fake_lock);
	high = rcl_fd_raise(fd);
	assert(high < MAX_FDS);
	if (high != fd) {
		write_end[high] = write_end[fd];
		write_end[fd] = 0;
	}
	pthread_mutex_unlock(&fake_lock);
	return high;
}

static const struct rcl_sys_ops fake_ops = {
	.open = fake_open,
	.close = fake_close,
	.ioctl = fake_ioctl,
	.read = fake_read,
	.mmap = fake_mmap,
	.munmap = fake_munmap,
	.raise = fake_raise,
};

static void put_addr(struct rdma_cm_alt_sockaddr *out, const char *ip, __u16 port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, ip, &sin.sin_addr);
	memcpy(out->bytes, &sin, sizeof(sin));
}

static void lock_over_fork(void)
{
	pthread_mutex_lock(&fake_lock);
}

static void unlock_after_fork(void)
{
	pthread_mutex_unlock(&fake_lock);
}

static void install_once(void)
{
	pthread_atfork(lock_over_fork, unlock_after_fork, unlock_after_fork);
}

void fake_install(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install_once);
	memset(&fake, 0, sizeof(fake));
	next_handle = 0;
	fake.record_size = sizeof(struct rdma_cm_alt_event);
	fake.addr_event = RDMA_CM_ALT_EVENT_ADDR_RESOLVED;
	fake.route_event = RDMA_CM_ALT_EVENT_ROUTE_RESOLVED;
	fake.connect_event = RDMA_CM_ALT_EVENT_CONNECT_RESPONSE;
	fake.accept_event = RDMA_CM_ALT_EVENT_ESTABLISHED;
	fake.disconnect_event = RDMA_CM_ALT_EVENT_DISCONNECTED;
	fake.join_event = RDMA_CM_ALT_EVENT_MULTICAST_JOIN;
	fake.service_event = RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED;
	fake.route.node_guid = FAKE_GUID;
	fake.route.ibdev_index = FAKE_INDEX;
	fake.route.port_num = 1;
	fake.route.num_paths = 1;
	put_addr(&fake.route.src, "10.9.0.1", 7000);
	put_addr(&fake.route.dst, "10.9.0.2", 7001);
	fake.qp.init_mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PORT;
	fake.qp.rtr_mask = IBV_QP_STATE | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_RQ_PSN;
	fake.qp.rts_mask = IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT;
	fake.qp.attr.port_num = 1;
	fake.qp.attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	fake.qp.attr.max_dest_rd_atomic = 9;
	fake.qp.attr.max_rd_atomic = 8;
	fake.qp.attr.timeout = 17;
	fake.attr = fake.qp.attr;
	fake.attr.qp_attr_mask = fake.qp.init_mask;
	fake.group.grh.dgid[0] = 0xff;
	fake.group.dlid = 0xc001;
	fake.group.is_global = 1;
	rcl_sys = &fake_ops;
}

void fake_remove(void)
{
	int fd;

	rcl_context_close();
	fake.cm = NULL;
	for (fd = 0; fd < MAX_FDS; fd++) {
		if (write_end[fd])
			fake_close(fd);
	}
	rcl_sys = &rcl_sys_real;
}
