// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Defaults of the stock rdma_cm for RoCE ports: default_roce_mode and default_roce_tos in
 * configfs, in directories that an administrator creates. Programs get the same defaults from
 * this library.
 *
 * Locking: none; the only state is the time of the next search.
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

/* Ports whose defaults are applied; further ports have the kernel's. */
#define MAX_PORTS 64

#define NS_PER_S 1000000000LL

/* After a search that found nothing the next one is a second later. */
static atomic_llong next_look;

struct found {
	struct rdma_cm_alt_port_default port[MAX_PORTS];
	uint32_t count;
};

static long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* Reads the line in a port's file; false: there is no such file. */
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

static void add_ports(const char *device, int index, void *arg)
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

/* Returns false when there are none. */
static bool find_defaults(struct found *found)
{
	if (now_ns() < atomic_load(&next_look))
		return false;
	memset(found, 0, sizeof(*found));
	rcl_devices_each(add_ports, found);
	if (!found->count)
		atomic_store(&next_look, now_ns() + NS_PER_S);
	return found->count;
}

bool rcl_stockconf_present(void)
{
	struct found found;

	return find_defaults(&found);
}

void rcl_stockconf_apply(uint32_t handle)
{
	struct rdma_cm_alt_option cmd = { .id = handle, .level = RDMA_CM_ALT_OPTION,
					  .optname = RDMA_CM_ALT_OPTION_PORT_DEFAULTS };
	struct found found;
	int ret;

	if (!find_defaults(&found))
		return;
	cmd.optlen = found.count * sizeof(found.port[0]);
	cmd.optval_uptr = (uintptr_t)found.port;
	ret = RCL_CALL(SET_OPTION, &cmd);
	if (ret)
		rcl_log("id %u: defaults of the stock module for %u ports: %s", handle, found.count,
			strerror(-ret));
}

void rcl_stockconf_forget(void)
{
	atomic_store(&next_look, 0);
}
