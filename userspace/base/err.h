/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Errors: inside the library a failure is a negative errno; public functions set errno and return
 * -1 (or NULL).
 */
#ifndef RCL_ERR_H
#define RCL_ERR_H

#include <errno.h>

#include "base/compiler.h"

/**
 * rcl_fail - how a public function fails: log the reason, set errno
 * @err: negative errno
 * @call: name of the public function
 * @fmt: what was wrong and what to do about it, printf style
 *
 * Return: -1
 */
int rcl_fail(int err, const char *call, const char *fmt, ...) RCL_PRINTF(3, 4);

/** RCL_MAX_ERRNO - the largest errno of Linux */
#define RCL_MAX_ERRNO 4095

/**
 * rcl_result - check a result that the kernel has written into memory
 * @said: the result
 *
 * Return: @said if it is 0 or a negative errno, else -EIO
 */
static inline int rcl_result(int said)
{
	return said > 0 || said < -RCL_MAX_ERRNO ? -EIO : said;
}

/** rcl_errno - negative errno of a libc or libibverbs call that set errno */
static inline int rcl_errno(void)
{
	return errno > 0 ? -errno : -EIO;
}

/**
 * rcl_verbs_err - negative errno of a libibverbs call that returns an errno
 * @ret: what it returned; some providers return -1 and set errno
 *
 * Return: 0, or a negative errno
 */
static inline int rcl_verbs_err(int ret)
{
	if (!ret)
		return 0;
	return ret > 0 ? -ret : rcl_errno();
}

#endif /* RCL_ERR_H */
