// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The defaults of RoCE ports, of this connection manager and of the stock one. Those of stock are
 * in configfs, in a directory for each device that an administrator makes. The stock module keeps
 * them when the directory is removed.
 */
#include "tool/core/roce_defaults.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/devices.h"
#include "tool/core/tool.h"

static bool read_defaults(const char *dir, struct roce_defaults *defaults)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/default_roce_mode", dir);
	if (!text_read_line(path, defaults->mode, sizeof(defaults->mode)))
		return false;
	snprintf(path, sizeof(path), "%s/default_roce_tos", dir);
	return text_read_line(path, defaults->tos, sizeof(defaults->tos));
}

bool roce_defaults_own(const char *device, int port, struct roce_defaults *own, char *dir,
		       size_t len)
{
	snprintf(dir, len, "/sys/class/infiniband/%s/rdma_cm_alt/%d", device, port);
	return read_defaults(dir, own);
}

bool roce_defaults_stock(const char *device, int port, struct roce_defaults *stock, bool *hidden)
{
	char top[128], dir[192];
	bool good;

	snprintf(top, sizeof(top), RCL_STOCKCONF "/%s", device);
	snprintf(dir, sizeof(dir), "%s/ports/%d", top, port);
	*hidden = !mkdir(top, 0755);
	if (!*hidden && errno != EEXIST)
		return false;
	good = read_defaults(dir, stock);
	if (*hidden)
		rmdir(top);
	return good;
}
