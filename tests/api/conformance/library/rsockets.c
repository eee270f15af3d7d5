// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Sockets over RDMA, reference section 1.4: as far as an invalid descriptor can test them. */
#include "steps.h"

#include <dlfcn.h>
#include <rdma/rsocket.h>
#include <sys/uio.h>

GROUP(rsocket, 0)
{
	int fd = RET("create", rsocket(AF_INET, SOCK_STREAM, 0) < 0 ? -1 : 0);

	RET("family", rsocket(AF_UNIX, SOCK_STREAM, 0));
	RET("type", rsocket(AF_INET, SOCK_RAW, 0));
	(void)fd;
}

GROUP(rsocket_calls, 0)
{
	struct sockaddr_storage addr = { .ss_family = AF_INET };
	struct pollfd poll_fd = { .fd = -1, .events = POLLIN };
	struct timeval none = { 0, 0 };
	socklen_t len = sizeof(addr);
	struct msghdr msg = { 0 };
	struct iovec iov = { &addr, 1 };
	char byte = 0;
	int value = 0;

	RET("rbind", rbind(-1, at(HERE, 0), sizeof(struct sockaddr_in)));
	RET("rlisten", rlisten(-1, 1));
	RET("raccept", raccept(-1, NULL, NULL));
	RET("rconnect", rconnect(-1, at(HERE, 1), sizeof(struct sockaddr_in)));
	RET("rshutdown", rshutdown(-1, SHUT_RDWR));
	RET("rclose", rclose(-1));
	RET("rrecv", rrecv(-1, &byte, 1, 0));
	RET("rrecvfrom", rrecvfrom(-1, &byte, 1, 0, NULL, NULL));
	RET("rrecvmsg", rrecvmsg(-1, &msg, 0));
	RET("rsend", rsend(-1, &byte, 1, 0));
	RET("rsendto", rsendto(-1, &byte, 1, 0, NULL, 0));
	RET("rsendmsg", rsendmsg(-1, &msg, 0));
	RET("rread", rread(-1, &byte, 1));
	RET("rreadv", rreadv(-1, &iov, 1));
	RET("rwrite", rwrite(-1, &byte, 1));
	RET("rwritev", rwritev(-1, &iov, 1));
	RET("rpoll", rpoll(&poll_fd, 1, 0));
	RET("rselect", rselect(0, NULL, NULL, NULL, &none));
	RET("rgetpeername", rgetpeername(-1, (struct sockaddr *)&addr, &len));
	RET("rgetsockname", rgetsockname(-1, (struct sockaddr *)&addr, &len));
	RET("rsetsockopt", rsetsockopt(-1, SOL_SOCKET, SO_REUSEADDR, &value, sizeof(value)));
	len = sizeof(value);
	RET("rgetsockopt", rgetsockopt(-1, SOL_SOCKET, SO_REUSEADDR, &value, &len));
	RET("rfcntl", rfcntl(-1, F_GETFL));
	RET("riomap", riomap(-1, &byte, 1, PROT_WRITE, 0, 0));
	RET("riounmap", riounmap(-1, &byte, 1));
	RET("riowrite", riowrite(-1, &byte, 1, 0, 0));
}

GROUP(repoll, 0)
{
	int (*create)(int flags) = dlsym(RTLD_DEFAULT, "repoll_create");
	int (*ctl)(int epfd, int op, int fd, void *event) = dlsym(RTLD_DEFAULT, "repoll_ctl");
	int (*wait)(int epfd, void *events, int max, int timeout) =
		dlsym(RTLD_DEFAULT, "repoll_wait");

	answer("symbols", "%s %s %s", yes(create), yes(ctl), yes(wait));
	if (!create || !ctl || !wait)
		return;
	RET("create", close(create(0)));
	RET("ctl", ctl(-1, 1, -1, NULL));
	RET("wait", wait(-1, NULL, 1, 0));
}
