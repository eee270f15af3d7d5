/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Every system call of the library on the rdma_cm_alt device goes through this table, so that
 * tests can replace the kernel.
 */
#ifndef RCL_SYS_H
#define RCL_SYS_H

#include <stddef.h>
#include <sys/types.h>

/**
 * struct rcl_sys_ops - system calls; all return a negative errno on failure
 * @open: open(2) with O_CLOEXEC
 * @close: close(2)
 * @ioctl: ioctl(2), not repeated after EINTR
 * @read: read(2), not repeated after EINTR
 * @mmap: mmap(2) with MAP_SHARED; MAP_FAILED on failure
 * @munmap: munmap(2)
 * @raise: rcl_fd_raise() of a queue that was just created
 */
struct rcl_sys_ops {
	int (*open)(const char *path, int flags);
	int (*close)(int fd);
	int (*ioctl)(int fd, unsigned long request, void *arg);
	ssize_t (*read)(int fd, void *buf, size_t len);
	void *(*mmap)(size_t len, int prot, int fd, off_t offset);
	int (*munmap)(void *addr, size_t len);
	int (*raise)(int fd);
};

/** rcl_sys_real - the table of the real system calls */
extern const struct rcl_sys_ops rcl_sys_real;

/** rcl_sys - the table in use; tests replace it */
extern const struct rcl_sys_ops *rcl_sys;

#endif /* RCL_SYS_H */
