// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * LD_PRELOAD=told.so TOLD=FILE rdma-cm-alt ...: answers dumps with the netlink messages of the
 * file that have the command of the request, as if they came from the kernel.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { ROOM = 1 << 16 };

/* The last request of a dump, until it is answered. */
static struct {
	int fd;
	unsigned int seq;
	unsigned char cmd;
} asked = { .fd = -1 };

static void *next_of(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();
	return function;
}

static bool is_generic(int fd)
{
	int protocol = -1;
	socklen_t len = sizeof(protocol);

	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) &&
	       protocol == NETLINK_GENERIC;
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t (*next)(int fd, const struct msghdr *msg, int flags) = next_of("sendmsg");
	const struct nlmsghdr *nlh = msg->msg_iov[0].iov_base;
	const struct genlmsghdr *genl = NLMSG_DATA(nlh);

	if (!is_generic(fd) || nlh->nlmsg_type == GENL_ID_CTRL)
		return next(fd, msg, flags);
	asked.fd = fd;
	asked.seq = nlh->nlmsg_seq;
	asked.cmd = genl->cmd;
	return nlh->nlmsg_len;
}

/* The messages of the file for the request, and the end of the dump. */
static size_t fill_answer(unsigned char *to, size_t room)
{
	static unsigned char all[ROOM];
	FILE *file = fopen(getenv("TOLD") ?: "", "r");
	size_t left = file ? fread(all, 1, sizeof(all), file) : 0, len = 0;
	struct nlmsghdr *nlh = (void *)all, end = {
		.nlmsg_len = NLMSG_LENGTH(sizeof(int)), .nlmsg_type = NLMSG_DONE,
		.nlmsg_flags = NLM_F_MULTI, .nlmsg_seq = asked.seq,
	};

	if (!file)
		abort();
	fclose(file);
	for (; NLMSG_OK(nlh, left); nlh = NLMSG_NEXT(nlh, left)) {
		const struct genlmsghdr *genl = NLMSG_DATA(nlh);

		if (genl->cmd != asked.cmd)
			continue;
		nlh->nlmsg_seq = asked.seq;
		if (len + NLMSG_ALIGN(nlh->nlmsg_len) + end.nlmsg_len > room)
			abort();
		memcpy(to + len, nlh, nlh->nlmsg_len);
		len += NLMSG_ALIGN(nlh->nlmsg_len);
	}
	memset(to + len, 0, end.nlmsg_len);
	memcpy(to + len, &end, sizeof(end));
	return len + end.nlmsg_len;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t (*next)(int fd, struct msghdr *msg, int flags) = next_of("recvmsg");
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (fd != asked.fd)
		return next(fd, msg, flags);
	memcpy(msg->msg_name, &kernel, sizeof(kernel));
	msg->msg_namelen = sizeof(kernel);
	msg->msg_controllen = 0;
	msg->msg_flags = 0;
	if (!(flags & MSG_PEEK))
		asked.fd = -1;
	return fill_answer(msg->msg_iov[0].iov_base, msg->msg_iov[0].iov_len);
}
