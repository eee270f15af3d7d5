// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Programs that change their user or groups, as servers do after bind().
 *
 * The kernel lets a device for verbs be used by write(2) only with the credentials with which it
 * was opened, and each change makes new ones. Rsockets that were made before cannot serve clients
 * then, nor can new ones. So if the rsocket library has been used before the first change,
 * listeners continue over TCP, which they still have the right to bind, and new sockets are TCP's.
 *
 * Locking: none.
 */
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "preload/delayed.h"
#include "preload/fallback.h"
#include "preload/libc.h"

static void leave_rdma(void)
{
	/* A child of vfork() shares the memory of its parent, whose user stays. */
	if (!rcl_file_is_owner() || !rcl_rsocket_stop())
		return;
	rcl_log("the user changes: new sockets are TCP's or UDP's");
	rcl_listen_all_tcp();
}

#define CHANGE(name, parameters, arguments)		\
	RCL_EXPORT int name parameters			\
	{						\
		leave_rdma();				\
		return rcl_libc()->name arguments;	\
	}

CHANGE(setuid, (uid_t user), (user))
CHANGE(seteuid, (uid_t user), (user))
CHANGE(setreuid, (uid_t real, uid_t effective), (real, effective))
CHANGE(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
CHANGE(setgid, (gid_t group), (group))
CHANGE(setegid, (gid_t group), (group))
CHANGE(setregid, (gid_t real, gid_t effective), (real, effective))
CHANGE(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
CHANGE(setgroups, (size_t count, const gid_t *groups), (count, groups))
CHANGE(initgroups, (const char *user, gid_t group), (user, group))
