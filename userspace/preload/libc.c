// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Looks up the functions of libc that librspreload replaces.
 *
 * Locking: none. Threads that do this at the same time store the same values.
 */
#include "preload/libc.h"

#include <dlfcn.h>
#include <stddef.h>

#include "base/compiler.h"

__thread int rcl_in_library;
struct rcl_libc rcl_libc_calls;
atomic_bool rcl_libc_known;

#define CALL_OR(name, same) { #name, same, offsetof(struct rcl_libc, name) }
#define CALL(name) CALL_OR(name, NULL)

static const struct {
	const char *name;
	const char *same;	/* function with the same effect, for a libc without it */
	size_t at;
} calls[] = {
	CALL(accept), CALL(accept4), CALL(bind), CALL(close), CALL(closefrom), CALL(close_range),
	CALL(connect), CALL(dup), CALL(dup2), CALL(dup3), CALL(epoll_create), CALL(epoll_create1),
	CALL(epoll_ctl), CALL(epoll_wait), CALL(epoll_pwait), CALL(epoll_pwait2), CALL(fclose),
	CALL(fcntl), CALL_OR(fcntl64, "fcntl"), CALL(getpeername), CALL(getsockname),
	CALL(getsockopt), CALL(initgroups), CALL(ioctl), CALL(listen), CALL(poll), CALL(ppoll),
	CALL(pselect),
	CALL(read), CALL(readv), CALL(recv), CALL(recvfrom), CALL(recvmmsg), CALL(recvmsg),
	CALL(select), CALL(send), CALL(sendfile), CALL_OR(sendfile64, "sendfile"), CALL(sendmmsg),
	CALL(sendmsg), CALL(sendto), CALL(setegid), CALL(seteuid), CALL(setgid), CALL(setgroups),
	CALL(setregid),
	CALL(setresgid), CALL(setresuid), CALL(setreuid), CALL(setsockopt), CALL(setuid),
	CALL(shutdown), CALL(socket), CALL(splice),
	CALL(vdprintf), CALL(__vdprintf_chk), CALL(write), CALL(writev),
};

_Static_assert(ARRAY_SIZE(calls) * sizeof(void *) == sizeof(struct rcl_libc),
	       "each member of struct rcl_libc is looked up");

void rcl_libc_find(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		void *found = dlsym(RTLD_NEXT, calls[i].name);

		if (!found && calls[i].same)
			found = dlsym(RTLD_NEXT, calls[i].same);
		__atomic_store_n((void **)((char *)&rcl_libc_calls + calls[i].at), found,
				 __ATOMIC_RELAXED);
	}
	atomic_store_explicit(&rcl_libc_known, true, memory_order_release);
}
