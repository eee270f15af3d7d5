// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Errnos for user space. Numbers from 512 on are internal to the kernel: no C library has names
 * for them, and user space must not see them.
 */
#include "lib/uerrno.h"

#include <linux/errno.h>

#include "lib/compat.h"

/* rca_user_errno() for a number that is internal to the kernel. */
int rca_internal_errno(int err)
{
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
RCA_EXPORT(rca_internal_errno);
