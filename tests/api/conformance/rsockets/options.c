// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Options of rsockets: defaults, changes, lengths and states. */
#include "rs.h"

struct option {
	const char *name;
	int level, option, value;
};

#define OPTION(level, option, value) { #option, level, option, value }

static const struct option ints[] = {
	OPTION(SOL_SOCKET, SO_REUSEADDR, 1), OPTION(SOL_SOCKET, SO_RCVBUF, 10000),
	OPTION(SOL_SOCKET, SO_SNDBUF, 10000), OPTION(SOL_SOCKET, SO_KEEPALIVE, 1),
	OPTION(SOL_SOCKET, SO_OOBINLINE, 1), OPTION(SOL_SOCKET, SO_ERROR, 1),
	OPTION(SOL_SOCKET, SO_BROADCAST, 1), OPTION(SOL_SOCKET, SO_TYPE, 1),
	OPTION(SOL_SOCKET, SO_DOMAIN, 1), OPTION(SOL_SOCKET, SO_ACCEPTCONN, 1),
	OPTION(SOL_SOCKET, SO_REUSEPORT, 1), OPTION(SOL_SOCKET, SO_PRIORITY, 1),
	OPTION(SOL_SOCKET, SO_RCVLOWAT, 1), OPTION(IPPROTO_TCP, TCP_NODELAY, 1),
	OPTION(IPPROTO_TCP, TCP_KEEPIDLE, 30), OPTION(IPPROTO_TCP, TCP_KEEPCNT, 3),
	OPTION(IPPROTO_TCP, TCP_KEEPINTVL, 3), OPTION(IPPROTO_TCP, TCP_MAXSEG, 1000),
	OPTION(IPPROTO_TCP, TCP_CORK, 1), OPTION(IPPROTO_TCP, TCP_QUICKACK, 1),
	OPTION(IPPROTO_TCP, TCP_USER_TIMEOUT, 1000), OPTION(IPPROTO_IP, IP_TOS, 16),
	OPTION(IPPROTO_IP, IP_TTL, 5), OPTION(IPPROTO_IPV6, IPV6_V6ONLY, 1),
	OPTION(SOL_RDMA, RDMA_SQSIZE, 100), OPTION(SOL_RDMA, RDMA_RQSIZE, 100),
	OPTION(SOL_RDMA, RDMA_INLINE, 32), OPTION(SOL_RDMA, RDMA_IOMAPSIZE, 20),
	OPTION(SOL_RDMA, 99, 1), OPTION(12345, 1, 1),
};

static void get_answer(const char *prefix, const struct option *option, int fd)
{
	socklen_t len = sizeof(int);
	int value = -77, ret;
	char check[64];

	snprintf(check, sizeof(check), "%s_%s", option->name, prefix);
	ret = rgetsockopt(fd, option->level, option->option, &value, &len);
	if (ret)
		answer(check, "ret=%d errno=%s", ret, errno_name(errno));
	else
		answer(check, "ret=0 value=%d len=%u", value, len);
}

/* Each option by its own: get, set, get. */
static void ask_options(int fd)
{
	unsigned int n;
	char check[64];

	for (n = 0; n < sizeof(ints) / sizeof(*ints); n++) {
		get_answer("before", &ints[n], fd);
		snprintf(check, sizeof(check), "%s_set", ints[n].name);
		RSRET(check, rsetsockopt(fd, ints[n].level, ints[n].option, &ints[n].value,
					 sizeof(int)));
		get_answer("after", &ints[n], fd);
	}
}

RS_GROUP(rs_options_fresh, IN_DEBUG)
{
	ask_options(make_rs(SOCK_STREAM));
}

RS_GROUP(rs_options_connected, 0)
{
	int peer;

	ask_options(make_rs_pair(&peer));
}

RS_GROUP(rs_options_listening, 0)
{
	ask_options(rs_listener());
}

RS_GROUP(rs_options_datagram, 0)
{
	ask_options(make_rs(SOCK_DGRAM));
}

/* Values at the borders of what is taken. */
RS_GROUP(rs_option_values, 0)
{
	static const struct option rows[] = {
		{ "sqsize_0", SOL_RDMA, RDMA_SQSIZE, 0 },
		{ "sqsize_1", SOL_RDMA, RDMA_SQSIZE, 1 },
		{ "sqsize_70000", SOL_RDMA, RDMA_SQSIZE, 70000 },
		{ "rqsize_1", SOL_RDMA, RDMA_RQSIZE, 1 },
		{ "rqsize_70000", SOL_RDMA, RDMA_RQSIZE, 70000 },
		{ "inline_0", SOL_RDMA, RDMA_INLINE, 0 },
		{ "inline_100000", SOL_RDMA, RDMA_INLINE, 100000 },
		{ "iomap_0", SOL_RDMA, RDMA_IOMAPSIZE, 0 },
		{ "iomap_128", SOL_RDMA, RDMA_IOMAPSIZE, 128 },
		{ "iomap_129", SOL_RDMA, RDMA_IOMAPSIZE, 129 },
		{ "iomap_1000", SOL_RDMA, RDMA_IOMAPSIZE, 1000 },
		{ "sndbuf_1", SOL_SOCKET, SO_SNDBUF, 1 },
		{ "rcvbuf_1", SOL_SOCKET, SO_RCVBUF, 1 },
		{ "keepidle_0", IPPROTO_TCP, TCP_KEEPIDLE, 0 },
		{ "keepidle_minus", IPPROTO_TCP, TCP_KEEPIDLE, -1 },
		{ "nodelay_7", IPPROTO_TCP, TCP_NODELAY, 7 },
	};
	int fd = make_rs(SOCK_STREAM);
	unsigned int n;

	for (n = 0; n < sizeof(rows) / sizeof(*rows); n++) {
		RSRET(rows[n].name, rsetsockopt(fd, rows[n].level, rows[n].option, &rows[n].value,
						sizeof(int)));
		get_answer("then", &rows[n], fd);
	}
}

/* Options that are structures, and IP_TOS, which the connection manager takes as a byte. */
RS_GROUP(rs_option_types, 0)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 5 };
	struct timeval time = { .tv_sec = 1 };
	struct tcp_info info = { 0 };
	int peer, fd = make_rs(SOCK_STREAM), connection = make_rs_pair(&peer);
	socklen_t len = sizeof(linger);
	uint8_t tos = 32;

	RSRET("linger_get", rgetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len));
	answer("linger", "onoff=%d linger=%d len=%u", linger.l_onoff, linger.l_linger, len);
	linger = (struct linger){ .l_onoff = 1, .l_linger = 5 };
	RSRET("linger_set", rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	RSRET("linger_get_again", rgetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len));
	answer("linger_again", "onoff=%d linger=%d", linger.l_onoff, linger.l_linger);
	RSRET("rcvtimeo", rsetsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)));
	RSRET("sndtimeo", rsetsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)));
	RSRET("tos_byte", rsetsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)));
	len = sizeof(info);
	RSRET("info", rgetsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len));
	answer("info_state", "%d len=%u", info.tcpi_state, len);
	len = sizeof(info);
	RSRET("info_connected", rgetsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &len));
	answer("info_connected_state", "%d", info.tcpi_state);
	RSRET("null", rsetsockopt(fd, SOL_SOCKET, SO_RCVBUF, NULL, 4));
	RSRET("short", rsetsockopt(fd, SOL_SOCKET, SO_RCVBUF, &time, 1));
	len = 1;
	RSRET("get_short", rgetsockopt(fd, SOL_SOCKET, SO_RCVBUF, &time, &len));
	RSRET("get_null", rgetsockopt(fd, SOL_SOCKET, SO_RCVBUF, NULL, NULL));
}

RS_GROUP(rs_flags, 0)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	NEED(fd < 0);
	RSRET("flags", rfcntl(fd, F_GETFL) & ~O_ACCMODE);
	RSRET("set", rfcntl(fd, F_SETFL, O_NONBLOCK));
	RSRET("get", rfcntl(fd, F_GETFL) & O_NONBLOCK);
	RSRET("set_others", rfcntl(fd, F_SETFL, O_NONBLOCK | O_APPEND));
	RSRET("clear", rfcntl(fd, F_SETFL, 0));
	RSRET("get_clear", rfcntl(fd, F_GETFL) & O_NONBLOCK);
	RSRET("getfd", rfcntl(fd, F_GETFD));
	RSRET("setfd", rfcntl(fd, F_SETFD, FD_CLOEXEC));
	RSRET("getfd_again", rfcntl(fd, F_GETFD));
	RSRET("dupfd", rfcntl(fd, F_DUPFD, 0));
	RSRET("bad", rfcntl(fd, 9999));
}
