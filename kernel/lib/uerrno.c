// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Errnos for user space. Numbers from 512 on are internal to the kernel: no C library has names
 * for them, and user space must not see them.
 */
#include "lib/uerrno.h"

#include <kunit/visibility.h>
#include <linux/errno.h>
#include <linux/export.h>

/**
 * rca_user_errno() - convert an error for user space
 * @err: 0, a negative errno, or a positive reason of a peer
 *
 * To be used for both ways out: return values of ioctls, and the status of events.
 *
 * Context: Any context. Pure.
 * Return: @err; of the kernel's internal numbers those of interrupted calls become -EINTR,
 *         -ENOTSUPP and -ENOPARAM -EOPNOTSUPP, -ENOIOCTLCMD -ENOTTY, -EPROBE_DEFER -EAGAIN, the
 *         others -EIO.
 */
int rca_user_errno(int err)
{
	if (err > -ERESTARTSYS)
		return err;
	switch (-err) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
	case ERESTART_RESTARTBLOCK:
		return -EINTR;
	case ENOIOCTLCMD:
		return -ENOTTY;
	case ENOTSUPP:
	case ENOPARAM:
		return -EOPNOTSUPP;
	case EPROBE_DEFER:
		return -EAGAIN;
	default:
		return -EIO;
	}
}
EXPORT_SYMBOL_IF_KUNIT(rca_user_errno);
