// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Descriptors that are passed between processes through sockets (SCM_RIGHTS). */
#define _GNU_SOURCE
#include "pass.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PER_GROUP (WORKERS / 2)

bool passed_here(uint32_t ctx)
{
	return fcntl(CTX_FD(ctx), F_GETFD) >= 0;
}

/* The message is the number that the descriptor has in every process. */
void pass_send(struct hand *hand, int fd, uint32_t how)
{
	int to = hand->group * PER_GROUP + how % PER_GROUP;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	struct iovec iov = { .iov_base = &fd, .iov_len = sizeof(fd) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&msg);

	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
	if (sendmsg(world->mail[to][1], &msg, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		__atomic_add_fetch(&world->passed, 1, __ATOMIC_RELAXED);
}

void pass_receive(struct hand *hand)
{
	int number = 0, fd;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = &number, .iov_len = sizeof(number) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *rights;

	if (recvmsg(world->mail[hand->worker][0], &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0)
		return;
	rights = CMSG_FIRSTHDR(&msg);
	if (!rights || rights->cmsg_type != SCM_RIGHTS)
		return;
	memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
	/* If the number is open, it is the same file. */
	if (fcntl(number, F_GETFD) < 0)
		dup3(fd, number, O_CLOEXEC);
	close(fd);
}
