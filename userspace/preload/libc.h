/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The functions of libc that librspreload replaces. */
#ifndef RCL_PRELOAD_LIBC_H
#define RCL_PRELOAD_LIBC_H

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef AF_IB
#define AF_IB 27
#endif

/*
 * Parameters whose types differ between glibc and musl. In glibc, a union stands for the pointers
 * to all kinds of addresses.
 */
#ifdef __GLIBC__
#define RCL_ADDR __SOCKADDR_ARG
#define RCL_CONST_ADDR __CONST_SOCKADDR_ARG
#define RCL_IOCTL_REQUEST unsigned long
#define RCL_MMSG_FLAGS int
#define rcl_sockaddr(addr) ((addr).__sockaddr__)
#else
#define RCL_ADDR struct sockaddr *
#define RCL_CONST_ADDR const struct sockaddr *
#define RCL_IOCTL_REQUEST int
#define RCL_MMSG_FLAGS unsigned int
#define rcl_sockaddr(addr) (addr)
#endif

/* musl's headers define names for large files as macros. Its library may have the functions. */
#undef fcntl64
#undef sendfile64
int fcntl64(int fd, int cmd, ...);
ssize_t sendfile64(int out, int in, off64_t *offset, size_t count);

/* For _FORTIFY_SOURCE, or in newer versions only, glibc's headers declare them; musl's do not. */
int close_range(unsigned int first, unsigned int last, int flags);
void closefrom(int first);
ssize_t __read_chk(int fd, void *buf, size_t count, size_t size);
ssize_t __recv_chk(int fd, void *buf, size_t count, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t count, size_t size, int flags,
		       RCL_ADDR from, socklen_t *length);
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __vdprintf_chk(int fd, int flag, const char *format, va_list args);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		const sigset_t *mask, size_t size);
int epoll_pwait2(int epfd, struct epoll_event *events, int max, const struct timespec *timeout,
		 const sigset_t *mask);
#ifdef __GLIBC__
_Noreturn void __chk_fail(void);
int __vasprintf_chk(char **text, int flag, const char *format, va_list args);
#else
#define __chk_fail abort
#define __vasprintf_chk(text, flag, format, args) ((void)(flag), vasprintf(text, format, args))
#endif

/*
 * struct rcl_libc - each member is the libc function of its name
 *
 * NULL if the installed libc does not have the function, so that programs cannot call it either.
 * fcntl64() and sendfile64() are then replaced by fcntl() and sendfile(): musl has only these.
 */
struct rcl_libc {
	typeof(accept) *accept;
	typeof(accept4) *accept4;
	typeof(bind) *bind;
	typeof(close) *close;
	typeof(closefrom) *closefrom;
	typeof(close_range) *close_range;
	typeof(connect) *connect;
	typeof(dup) *dup;
	typeof(dup2) *dup2;
	typeof(dup3) *dup3;
	typeof(epoll_create) *epoll_create;
	typeof(epoll_create1) *epoll_create1;
	typeof(epoll_ctl) *epoll_ctl;
	typeof(epoll_wait) *epoll_wait;
	typeof(epoll_pwait) *epoll_pwait;
	typeof(epoll_pwait2) *epoll_pwait2;
	typeof(fclose) *fclose;
	typeof(fcntl) *fcntl;
	typeof(fcntl64) *fcntl64;
	typeof(getpeername) *getpeername;
	typeof(getsockname) *getsockname;
	typeof(getsockopt) *getsockopt;
	typeof(initgroups) *initgroups;
	typeof(ioctl) *ioctl;
	typeof(listen) *listen;
	typeof(poll) *poll;
	typeof(ppoll) *ppoll;
	typeof(pselect) *pselect;
	typeof(read) *read;
	typeof(readv) *readv;
	typeof(recv) *recv;
	typeof(recvfrom) *recvfrom;
	typeof(recvmmsg) *recvmmsg;
	typeof(recvmsg) *recvmsg;
	typeof(select) *select;
	typeof(send) *send;
	typeof(sendfile) *sendfile;
	typeof(sendfile64) *sendfile64;
	typeof(sendmmsg) *sendmmsg;
	typeof(sendmsg) *sendmsg;
	typeof(sendto) *sendto;
	typeof(setegid) *setegid;
	typeof(seteuid) *seteuid;
	typeof(setgid) *setgid;
	typeof(setgroups) *setgroups;
	typeof(setregid) *setregid;
	typeof(setresgid) *setresgid;
	typeof(setresuid) *setresuid;
	typeof(setreuid) *setreuid;
	typeof(setsockopt) *setsockopt;
	typeof(setuid) *setuid;
	typeof(shutdown) *shutdown;
	typeof(socket) *socket;
	typeof(splice) *splice;
	typeof(vdprintf) *vdprintf;
	typeof(__vdprintf_chk) *__vdprintf_chk;
	typeof(write) *write;
	typeof(writev) *writev;
};

/* Not 0 while this thread is in the rsocket library, whose calls go to libc. */
extern __thread int rcl_in_library;

extern struct rcl_libc rcl_libc_calls;
extern atomic_bool rcl_libc_known;

/* Looks up all functions; may be called more than once, in any context. */
void rcl_libc_find(void);

/*
 * Constructors of other libraries may call replaced functions before that of librspreload runs, so
 * each use checks whether the functions were looked up.
 */
static inline const struct rcl_libc *rcl_libc(void)
{
	if (__builtin_expect(!atomic_load_explicit(&rcl_libc_known, memory_order_acquire), 0))
		rcl_libc_find();
	return &rcl_libc_calls;
}

#endif /* RCL_PRELOAD_LIBC_H */
