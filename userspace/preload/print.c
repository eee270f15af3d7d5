// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dprintf() and its variants. libc's write to the socket of the kernel, which is not connected.
 *
 * Locking: none.
 */
#include <rdma/rsocket.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "preload/delayed.h"
#include "preload/libc.h"

/* Returns the length, or a negative number: what was sent before an error is lost, as by libc's. */
static ssize_t send_text(int rs, const char *text, int len)
{
	ssize_t ret;
	int done;

	for (done = 0; done < len; done += (int)ret) {
		ret = rwrite(rs, text + done, (size_t)(len - done));
		if (ret < 0)
			return ret;
	}
	return len;
}

/* @flag: that of __vdprintf_chk(), for programs that let libc check their formats; else 0. */
static int print(struct rcl_file *file, int flag, const char *format, va_list args)
{
	char *text;
	int len = __vasprintf_chk(&text, flag, format, args);
	ssize_t ret;

	if (len < 0)
		return (int)rcl_file_done(file, len);
	ret = rcl_sent(file, send_text(file->rs, text, len), 0);
	free(text);
	return (int)ret;
}

RCL_EXPORT int vdprintf(int fd, const char *format, va_list args)
{
	struct rcl_file *file = rcl_ready(fd);

	return file ? print(file, 0, format, args) : rcl_libc()->vdprintf(fd, format, args);
}

RCL_EXPORT int dprintf(int fd, const char *format, ...)
{
	va_list args;
	int ret;

	va_start(args, format);
	ret = vdprintf(fd, format, args);
	va_end(args);
	return ret;
}

RCL_EXPORT int __vdprintf_chk(int fd, int flag, const char *format, va_list args)
{
	struct rcl_file *file = rcl_ready(fd);

	return file ? print(file, flag, format, args) :
		      rcl_libc()->__vdprintf_chk(fd, flag, format, args);
}

RCL_EXPORT int __dprintf_chk(int fd, int flag, const char *format, ...)
{
	va_list args;
	int ret;

	va_start(args, format);
	ret = __vdprintf_chk(fd, flag, format, args);
	va_end(args);
	return ret;
}
