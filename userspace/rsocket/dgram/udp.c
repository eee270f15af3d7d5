// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The UDP socket of a datagram socket.
 *
 * Locking: none.
 */
#include "rsocket/dgram/udp.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

int rcl_udp_create(int family)
{
	int fd = (int)syscall(SYS_socket, family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? rcl_errno() : fd;
}

static int own_name(int udp, union rcl_inet *name)
{
	struct sockaddr_storage addr = { 0 };
	socklen_t len = sizeof(addr);

	if (getsockname(udp, (struct sockaddr *)&addr, &len))
		return rcl_errno();
	return rcl_inet_take(name, (struct sockaddr *)&addr, len);
}

/* Finds the source address that the kernel uses for a destination. */
static int route_to(const union rcl_inet *to, union rcl_inet *source)
{
	int fd = rcl_udp_create(to->sa.sa_family), on = 1, ret;

	if (fd < 0)
		return fd;
	/* Only the program's own socket decides whether broadcasts are allowed. */
	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
	if (connect(fd, &to->sa, rcl_inet_len(to)))
		ret = rcl_errno();
	else
		ret = own_name(fd, source);
	close(fd);
	return ret;
}

int rcl_udp_source(int udp, const union rcl_inet *to, union rcl_inet *source)
{
	int ret = own_name(udp, source);
	in_port_t port;

	if (ret)
		return ret;
	if (!rcl_inet_is_any(source))
		return source->sa.sa_family == to->sa.sa_family ? 0 : -ENETUNREACH;
	port = rcl_inet_port(source);
	ret = route_to(to, source);
	source->sin.sin_port = port;
	return ret;
}

int rcl_udp_port(int udp, int family, in_port_t *port)
{
	union rcl_inet name, any = { .sa.sa_family = (sa_family_t)family };
	int ret = own_name(udp, &name);

	if (!ret && !rcl_inet_port(&name)) {
		if (bind(udp, &any.sa, rcl_inet_len(&any)))
			return rcl_errno();
		ret = own_name(udp, &name);
	}
	*port = ret ? 0 : rcl_inet_port(&name);
	return ret;
}

int rcl_udp_send(int udp, int family, const void *data, size_t len, const union rcl_inet *to)
{
	union rcl_inet addr;
	socklen_t addr_len = rcl_inet_give(&addr, to, family);
	ssize_t ret;

	if (!addr_len)
		return -EAFNOSUPPORT;
	/* The first call may return the error of an earlier datagram, and send nothing. */
	ret = sendto(udp, data, len, MSG_DONTWAIT | MSG_NOSIGNAL, &addr.sa, addr_len);
	if (ret < 0 && errno == ECONNREFUSED)
		ret = sendto(udp, data, len, MSG_DONTWAIT | MSG_NOSIGNAL, &addr.sa, addr_len);
	return ret < 0 && errno != ECONNREFUSED ? rcl_errno() : 0;
}

ssize_t rcl_udp_recv(int udp, void *data, size_t size, union rcl_inet *from)
{
	struct sockaddr_storage addr = { 0 };
	socklen_t len = sizeof(addr);
	ssize_t ret = recvfrom(udp, data, size, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&addr,
			       &len);
	int err;

	if (ret < 0)
		return rcl_errno();
	err = rcl_inet_take(from, (struct sockaddr *)&addr, len);
	return err ? err : ret;
}

void rcl_udp_drop_errors(int udp)
{
	while (recv(udp, NULL, 0, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0)
		;
}
