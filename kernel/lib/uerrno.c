// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Errnos that leave for user space: the kernel has numbers of its own from 512
 * on, which no C library has a name for and which must not get out.
 *
 * Locking: none; pure.
 */
#include "lib/uerrno.h"

#include <kunit/visibility.h>
#include <linux/errno.h>
#include <linux/export.h>

/**
 * rca_user_errno() - the number that user space knows for an error
 * @err: 0, a negative errno, or a positive reason of a peer
 *
 * For the two ways out: what an ioctl returns, and the status of an event.
 *
 * Context: Any context. Pure.
 * Return: @err, but for the kernel's own numbers: those of interrupted calls
 * become -EINTR, -ENOTSUPP and its like -EOPNOTSUPP, the others -EIO.
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
