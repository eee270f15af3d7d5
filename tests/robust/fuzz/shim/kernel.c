// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The kernel of the fuzzer: the fake kernel of the unit tests, whose answers are falsified. The
 * limits of a real kernel hold: the descriptors that it returns are its own or not open, and no
 * call blocks for ever. There is one thread, and no locking.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "id/cmid.h"
#include "base/compiler.h"
#include "core/context.h"
#include "core/devices.h"
#include "fake/fake_kernel.h"
#include "fake/fake_ring.h"
#include "fake/fake_verbs.h"
#include "id/stockconf.h"
#include "base/sys.h"
#include "world.h"

#define MAX_FDS 1024
#define BENDS 4

/* A number that is not open in this process. */
#define NO_FD 5000

/* Bytes of an answer that are changed. */
struct bend {
	unsigned int cmd;	/* in the next answer to this command; 0: unused */
	uint32_t offset;
	uint8_t value[8];
	size_t len;		/* up to 8 */
};

static struct bend bends[BENDS];
static struct rcl_sys_ops ops;
static const struct rcl_sys_ops *fake_ops;
static bool is_open[MAX_FDS];
static bool is_device[MAX_FDS];
static bool bend_map;
static unsigned int map_word;	/* of the header of a ring, when it is mapped */
static uint32_t map_value;
static int read_result;		/* of the next read, when it is not 1 */

static void noticed(int fd)
{
	if (fd >= 0 && fd < MAX_FDS)
		is_open[fd] = true;
}

static bool is_known(int fd)
{
	return fd >= 0 && fd < MAX_FDS && is_open[fd];
}

static int checked(int fd)
{
	return fd < 0 || (is_known(fd) && !is_device[fd]) ? fd : NO_FD;
}

/* Replaces the descriptor of an answer by @look of it. */
static void each_fd(unsigned int cmd, void *arg, int (*look)(int fd))
{
	int *fd = NULL;

	switch (cmd) {
	case RDMA_CM_ALT_CMD_QUEUE_CREATE:
		fd = &((struct rdma_cm_alt_queue_create *)arg)->out_fd;
		break;
	case RDMA_CM_ALT_CMD_RESOLVE:
		fd = &((struct rdma_cm_alt_resolve *)arg)->out_queue_fd;
		break;
	case RDMA_CM_ALT_CMD_CONNECT:
		fd = &((struct rdma_cm_alt_connect *)arg)->out_queue_fd;
		break;
	case RDMA_CM_ALT_CMD_SET_QUEUE:
		fd = &((struct rdma_cm_alt_set_queue *)arg)->out_queue_fd;
		break;
	}
	if (fd)
		*fd = look(*fd);
}

static int made;		/* the queue that the last answer is about */

static int notice(int fd)
{
	noticed(fd);
	made = fd;
	return fd;
}

static int fake_close(int fd)
{
	is_open[fd] = false;
	is_device[fd] = false;
	return fake_ops->close(fd);
}

/* The descriptor that the library gets; a queue whose descriptor was replaced is closed. */
static int passed_on(int fd)
{
	fd = checked(fd);
	if (fd != made && is_known(made))
		fake_close(made);
	return fd;
}

static void bend(unsigned int cmd, void *arg, int ret)
{
	struct bend *b;
	uint32_t size = *(uint32_t *)arg;

	/* A call that fails has no answer. */
	if (ret)
		return;
	each_fd(cmd, arg, notice);
	for (b = bends; b < bends + BENDS; b++) {
		if (b->cmd != cmd || size < b->len)
			continue;
		memcpy((uint8_t *)arg + b->offset % (size - b->len + 1), b->value, b->len);
		b->cmd = 0;
	}
	*(uint32_t *)arg = size;
	each_fd(cmd, arg, passed_on);
	if (cmd == RDMA_CM_ALT_CMD_RESOLVE)
		note_handle(((struct rdma_cm_alt_resolve *)arg)->out_id);
	else if (cmd == RDMA_CM_ALT_CMD_CONNECT)
		note_handle(((struct rdma_cm_alt_connect *)arg)->out_id);
	/* No events are reported, so the library does not wait for their acknowledgement. */
	if (cmd == RDMA_CM_ALT_CMD_DESTROY)
		((struct rdma_cm_alt_destroy *)arg)->out_events_reported = 0;
	else if (cmd == RDMA_CM_ALT_CMD_SET_QUEUE)
		((struct rdma_cm_alt_set_queue *)arg)->out_events_reported = 0;
	else if (cmd == RDMA_CM_ALT_CMD_LEAVE)
		((struct rdma_cm_alt_leave *)arg)->out_events_reported = 0;
}

static void bend_batch(struct rdma_cm_alt_batch *call)
{
	struct bend *b;
	uint32_t i;

	for (i = 0; i < call->count; i++) {
		void *entry = (uint8_t *)(uintptr_t)call->entries_uptr + (size_t)i * call->stride;

		if (*(uint32_t *)entry)
			bend(call->cmd, entry, ((int32_t *)(uintptr_t)call->results_uptr)[i]);
	}
	for (b = bends; b < bends + BENDS; b++) {
		if (b->cmd != RDMA_CM_ALT_CMD_BATCH || !call->count)
			continue;
		memcpy((int32_t *)(uintptr_t)call->results_uptr + b->offset % call->count,
		       b->value, sizeof(int32_t));
		call->out_done = b->value[4] & 1 ? b->value[5] : call->out_done;
		b->cmd = 0;
	}
}

static int false_ioctl(int fd, unsigned long request, void *arg)
{
	unsigned int cmd = _IOC_NR(request);
	int ret = fake_ops->ioctl(fd, request, arg);

	if (cmd == RDMA_CM_ALT_CMD_BATCH)
		bend_batch(arg);
	else
		bend(cmd, arg, ret);
	return ret;
}

static int false_open(const char *path, int flags)
{
	int fd = fake_ops->open(path, flags);

	if (fd < 0 || fd >= MAX_FDS)
		return fd;
	noticed(fd);
	is_device[fd] = true;
	return fd;
}

static int false_close(int fd)
{
	if (!is_known(fd))
		return -EBADF;
	return fake_close(fd);
}

static ssize_t false_read(int fd, void *buf, size_t len)
{
	int said = read_result;
	ssize_t ret;

	if (!is_known(fd))
		return -EBADF;
	read_result = 1;
	if (said <= 0)
		return said;
	ret = fake_ops->read(fd, buf, len);
	return ret > 0 && said > 1 && said < ret ? said : ret;
}

static void *false_mmap(size_t len, int prot, int fd, off_t offset)
{
	struct rdma_cm_alt_ring *header;
	void *map = fake_ops->mmap(len, prot, fd, offset);

	header = bend_map && !offset && map != MAP_FAILED ? fake_ring_header(fd) : NULL;
	if (header)
		((uint32_t *)header)[map_word] = map_value;
	return map;
}

void kernel_begin(void)
{
	fake_verbs_reset();
	fake_install();
	rcl_stockconf_forget();
	fake.nonblock = true;
	fake.features = RDMA_CM_ALT_FEATURE_RING;
	fake_ops = rcl_sys;
	ops = *fake_ops;
	ops.open = false_open;
	ops.close = false_close;
	ops.ioctl = false_ioctl;
	ops.read = false_read;
	ops.mmap = false_mmap;
	rcl_sys = &ops;
	memset(is_open, 0, sizeof(is_open));
	kernel_behave();
}

void kernel_behave(void)
{
	memset(bends, 0, sizeof(bends));
	memset(fake.fail, 0, sizeof(fake.fail));
	fake_verbs.fail_at = 0;
	bend_map = false;
	read_result = 1;
}

const char *kernel_end(void)
{
	const char *left = NULL;
	int fd;

	rcl_devices_reset();
	rcl_context_close();
	for (fd = 0; fd < MAX_FDS; fd++) {
		if (!is_open[fd])
			continue;
		/* The library does not own the devices that were opened. */
		if (!is_device[fd])
			left = "an open descriptor";
		fake_close(fd);
	}
	if (fake_verbs.open_contexts)
		left = "an open device";
	if (fake_verbs.objects)
		left = "an object of libibverbs";
	fake_remove();
	return left;
}

/* The next call of a command fails. */
static void fail_input(void)
{
	unsigned int cmd = in_below(FAKE_COMMANDS);

	fake.fail[cmd] = in_errno();
}

/* The next answer to a command has some bytes wrong. */
static void falsify(void)
{
	struct bend *b = &bends[in_below(BENDS)];

	b->cmd = RDMA_CM_ALT_CMD_BASE + in_below(FAKE_COMMANDS);
	b->offset = in_u32();
	b->len = 1 + in_below(8);
	in_bytes(b->value, sizeof(b->value));
}

/* The next read fails, returns 0, or is short. */
static void bad_read(void)
{
	uint8_t byte = in_u8();

	read_result = byte < 64 ? -in_errno() : byte < 128 ? 0 : (int)in_u32() % 1024;
}

static void bad_map(void)
{
	fake.mmap_error = in_u8() & 1;
	bend_map = !fake.mmap_error;
	map_word = in_below(4);
	map_value = in_u32();
}

/* Changes a word in the header of a ring. */
static void bad_ring(void)
{
	struct rdma_event_channel *channel = pick_channel();
	struct rdma_cm_alt_ring *header = channel ? fake_ring_header(channel->fd) : NULL;
	unsigned int word = in_below(4);
	uint32_t value = in_u32();

	if (header)
		((uint32_t *)header)[word] = value;
}

static uint32_t any_handle(void)
{
	struct rdma_cm_id *id = pick_id();
	uint8_t byte = in_u8();

	if (id && byte < 224)
		return rcl_id_of(id)->handle;
	return byte < 240 ? byte : in_u32();
}

static uint64_t any_cookie(void)
{
	struct rdma_cm_id *id = pick_id();
	uint8_t byte = in_u8();
	uint64_t cookie;

	if (id && byte < 192)
		return rcl_id_of(id)->cookie;
	if (byte < 224)
		return fake.last[FAKE(JOIN)].join.cookie;
	in_bytes(&cookie, sizeof(cookie));
	return cookie;
}

/* Posts a record with random content. */
static void post_record(void)
{
	struct rdma_event_channel *channel = pick_channel();
	uint8_t type = in_u8(), patches = in_u8() % 4;
	struct rdma_cm_alt_event rec = fake_event(type % 21, 0);

	rec.id = any_handle();
	rec.cookie = any_cookie();
	rec.status = (int)in_u32();
	if (rec.type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST) {
		rec.listen_id = rec.id;
		rec.id = in_u8();
	}
	if (rec.type == 20)
		rec.type = in_u32();
	if (rec.type == RDMA_CM_ALT_EVENT_MULTICAST_JOIN ||
	    rec.type == RDMA_CM_ALT_EVENT_MULTICAST_ERROR)
		rec.user_arg = any_cookie();
	rec.private_data_len = (uint16_t)in_u32();
	while (patches--) {
		uint16_t where;

		in_bytes(&where, sizeof(where));
		((uint8_t *)&rec)[where % sizeof(rec)] = in_u8();
	}
	note_handle(rec.id);
	if (channel && channel->fd >= 0)
		fake_post_to(channel->fd, &rec);
}

static bool is_ours(struct rdma_cm_id *id)
{
	uint32_t handle = id ? rcl_id_of(id)->handle : 0;

	return handle && handle < FAKE_MAX_IDS && fake_id_alive(handle);
}

/* A valid connection request. */
static void request(void)
{
	struct rdma_cm_id *id = pick_id();

	if (is_ours(id))
		note_handle(fake_request(rcl_id_of(id)->handle));
}

/* Valid events of an id; after some of them the library maps the ring. */
static void event(void)
{
	struct rdma_cm_id *id = pick_id();
	uint8_t type = in_u8() % 19;
	unsigned int count = 1 + in_below(10);
	int status = (int8_t)in_u8();

	while (is_ours(id) && count--)
		fake_post_type(type, rcl_id_of(id)->handle, status);
}

static int any_event(void)
{
	uint8_t byte = in_u8();

	return byte < 200 ? byte % 19 : FAKE_NO_EVENT;
}

/* The events that end the next operations. */
static void choose_events(void)
{
	int *which[] = { &fake.addr_event, &fake.route_event, &fake.connect_event,
			 &fake.accept_event, &fake.disconnect_event, &fake.join_event };

	*which[in_below(ARRAY_SIZE(which))] = any_event();
	fake.status = (int)in_u32();
}

/* Changes a byte of the route, QP attributes or group that queries return. */
static void change_answers(void)
{
	static const struct {
		void *what;
		size_t size;
	} all[] = {
		{ &fake.route, sizeof(fake.route) },
		{ &fake.qp, sizeof(fake.qp) },
		{ &fake.attr, sizeof(fake.attr) },
		{ &fake.group, sizeof(fake.group) },
	};
	unsigned int i = in_below(ARRAY_SIZE(all));
	uint16_t where;

	in_bytes(&where, sizeof(where));
	((uint8_t *)all[i].what)[where % all[i].size] = in_u8();
}

static void verbs(void)
{
	switch (in_below(5)) {
	case 0:
		fake_verbs.fail_at = fake_verbs.steps + 1 + (int)in_below(8);
		fake_verbs.fail_errno = in_errno();
		break;
	case 1:
		fake_verbs.devices = (int)in_below(3);
		break;
	case 2:
		fake_verbs.ece.vendor_id = in_u8();
		break;
	case 3:
		fake_verbs.srq_size = in_u32();
		break;
	case 4:
		fake_verbs.max_depth = in_u8();
		break;
	}
}

const operation kernel_operations[] = {
	fail_input, falsify, falsify, bad_read, bad_map, bad_ring,
	post_record, post_record, post_record, request, event, choose_events, change_answers, verbs,
};
const unsigned int kernel_operations_count = ARRAY_SIZE(kernel_operations);
