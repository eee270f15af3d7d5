// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The defaults of the stock rdma_cm for RoCE ports: default_roce_mode and
 * default_roce_tos in configfs, in directories that an administrator has to
 * make. Where they are, programs must not notice on which stack they run.
 *
 * Locking: none; a time before which nobody looks again is all there is.
 */
#include "id/stockconf.h"

#include <fcntl.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/sys.h"
#include "core/context.h"
#include "core/devices.h"

/* Ports that have defaults; more of them have the kernel's. */
#define MAX_PORTS 64

#define NS_PER_S 1000000000LL

/* When there was nothing to be found, nobody looks again for a second. */
static atomic_llong quiet_until;

struct found {
	struct rdma_cm_alt_port_default port[MAX_PORTS];
	uint32_t count;
};

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* A line of a port's file; false: there is none. */
static bool read_line(const char *device, unsigned int port, const char *file, char *buf,
		      size_t len)
{
	char path[256];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), RCL_STOCKCONF "/%s/ports/%u/%s", device, port, file);
	fd = rcl_sys->open(path, O_RDONLY);
	if (fd < 0)
		return false;
	got = rcl_sys->read(fd, buf, len - 1);
	rcl_sys->close(fd);
	if (got <= 0)
		return false;
	buf[got] = 0;
	buf[strcspn(buf, "\n")] = 0;
	return true;
}

static bool read_port(const char *device, unsigned int port, struct rdma_cm_alt_port_default *out)
{
	char mode[32], tos[32];

	if (!read_line(device, port, "default_roce_mode", mode, sizeof(mode)) ||
	    !read_line(device, port, "default_roce_tos", tos, sizeof(tos)))
		return false;
	out->port_num = port;
	out->gid_type = strcmp(mode, "RoCE v2") ? IB_UVERBS_GID_TYPE_ROCE_V1 :
						  IB_UVERBS_GID_TYPE_ROCE_V2;
	out->tos = (uint8_t)strtoul(tos, NULL, 10);
	return true;
}

static void look(const char *device, int index, void *arg)
{
	struct found *found = arg;
	unsigned int port;

	for (port = 1; found->count < MAX_PORTS; port++) {
		struct rdma_cm_alt_port_default *out = &found->port[found->count];

		if (!read_port(device, port, out))
			return;
		out->ibdev_index = (uint32_t)index;
		found->count++;
	}
}

/* False: there are none, and nobody looks again soon. */
static bool find(struct found *found)
{
	if (now() < atomic_load(&quiet_until))
		return false;
	rcl_devices_each(look, found);
	if (!found->count)
		atomic_store(&quiet_until, now() + NS_PER_S);
	return found->count;
}

bool rcl_stockconf_present(void)
{
	struct found found = { 0 };

	return find(&found);
}

void rcl_stockconf_apply(uint32_t handle)
{
	struct rdma_cm_alt_option cmd = { .id = handle, .level = RDMA_CM_ALT_OPTION,
					  .optname = RDMA_CM_ALT_OPTION_PORT_DEFAULTS };
	struct found found = { 0 };
	int ret;

	if (!find(&found))
		return;
	cmd.optlen = found.count * sizeof(found.port[0]);
	cmd.optval_uptr = (uintptr_t)found.port;
	ret = RCL_CALL(SET_OPTION, &cmd);
	if (ret)
		rcl_log("id %u: the defaults of stock for %u ports: %s", handle, found.count,
			strerror(-ret));
}

void rcl_stockconf_forget(void)
{
	atomic_store(&quiet_until, 0);
}
