/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The defaults of RoCE ports, GID type and type of service, here and of the stock module. */
#ifndef ROCE_DEFAULTS_H
#define ROCE_DEFAULTS_H

#include <stdbool.h>
#include <stddef.h>

/* The lines of default_roce_mode and default_roce_tos. */
struct roce_defaults {
	char mode[16];
	char tos[8];
};

/*
 * roce_defaults_own() - read the settings of a port from sysfs
 * @dir: filled in: their directory
 * @len: bytes at @dir
 *
 * Return: false: it is no RoCE port, or the module is not loaded
 */
bool roce_defaults_own(const char *device, int port, struct roce_defaults *own, char *dir,
		       size_t len);

/*
 * roce_defaults_stock() - read what the stock module uses for a port, from configfs
 * @hidden: set if the directory of the device does not exist: then no program sees the settings,
 *	    but the stock module uses them
 *
 * A directory that does not exist is made for the read, which root may do.
 *
 * Return: false: the stock module or configfs is not there, or the directory could not be made
 */
bool roce_defaults_stock(const char *device, int port, struct roce_defaults *stock, bool *hidden);

#endif /* ROCE_DEFAULTS_H */
