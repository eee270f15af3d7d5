/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Errnos for user space. */
#ifndef RCA_UERRNO_H
#define RCA_UERRNO_H

#include <linux/errno.h>

int rca_internal_errno(int err);

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
static inline int rca_user_errno(int err)
{
	return err > -ERESTARTSYS ? err : rca_internal_errno(err);
}

#endif /* RCA_UERRNO_H */
