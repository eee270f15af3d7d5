// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Options of streams: those of IP and TCP, sizes of the queue pair, and the route.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/stream/stream_option.h"

#include <endian.h>
#include <errno.h>
#include <infiniband/sa.h>
#include <limits.h>
#include <linux/types.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rsocket/conf.h"
#include "rsocket/size_option.h"
#include "rsocket/stream/alive.h"
#include "rsocket/stream/connect.h"
#include "rsocket/value.h"

#define KEEPALIVE_S 7200

/* The reply of TCP_MAXSEG if there is no path. */
#define SEGMENT 2048

static int set_id_option(struct rcl_stream *s, int name, void *value, size_t len)
{
	int ret = rcl_stream_id(s);

	if (ret)
		return ret;
	return rdma_set_option(s->id, RDMA_OPTION_ID, name, value, len) ? rcl_errno() : 0;
}

/* As with librdmacm, ignored after rbind(). */
static int set_reuseaddr(struct rcl_stream *s, int on)
{
	int ret = set_id_option(s, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on));

	if (s->state != RCL_STREAM_NEW)
		return 0;
	s->reuseaddr = on;
	return ret;
}

static uint32_t system_keepalive(void)
{
	FILE *file = fopen("/proc/sys/net/ipv4/tcp_keepalive_time", "re");
	uint32_t seconds = KEEPALIVE_S;

	if (!file)
		return seconds;
	if (fscanf(file, "%u", &seconds) != 1 || !seconds)
		seconds = KEEPALIVE_S;
	fclose(file);
	return seconds;
}

/* Without a time of the program, the default of rsockets: it finds a dead peer earlier. */
static void choose_keepalive(struct rcl_stream *s)
{
	uint32_t usual = rcl_rsocket_conf()->keepalive_s;

	s->keepalive_s = s->keepidle_s ?: usual ?: system_keepalive();
	rcl_stream_keepalive(s);
}

static int set_keepalive(struct rcl_stream *s, int on)
{
	s->keepalive = on;
	if (on) {
		choose_keepalive(s);
	} else {
		s->keepalive_s = 0;
		rcl_stream_keepalive(s);
	}
	return 0;
}

static int set_keepidle(struct rcl_stream *s, int seconds)
{
	if (seconds <= 0)
		return -EINVAL;
	s->keepidle_s = (uint32_t)seconds;
	if (s->keepalive)
		choose_keepalive(s);
	return 0;
}

static int set_socket(struct rcl_stream *s, int name, int number)
{
	switch (name) {
	case SO_REUSEADDR:
		return set_reuseaddr(s, number);
	case SO_KEEPALIVE:
		return set_keepalive(s, number);
	case SO_RCVLOWAT:
		s->rx.least = number < 0 ? INT_MAX : number ? (uint32_t)number : 1;
		rcl_sock_changed(&s->sock);
		return 0;
	/* Options that sockopt.c has stored; nothing more to do. */
	case SO_RCVBUF:
	case SO_SNDBUF:
	case SO_OOBINLINE:
	case SO_BROADCAST:
		return 0;
	default:
		return -ENOTSUP;
	}
}

static int set_ip(struct rcl_stream *s, int name, int number)
{
	uint8_t tos = (uint8_t)number;
	int ret;

	if (name != IP_TOS)
		return -ENOTSUP;
	ret = set_id_option(s, RDMA_OPTION_ID_TOS, &tos, sizeof(tos));
	if (!ret)
		s->tos = tos;
	return ret;
}

static int set_ipv6(struct rcl_stream *s, int name, int number)
{
	int ret;

	if (name != IPV6_V6ONLY)
		return -ENOTSUP;
	ret = set_id_option(s, RDMA_OPTION_ID_AFONLY, &number, sizeof(number));
	if (!ret)
		s->v6only = number;
	return ret;
}

static int set_tcp(struct rcl_stream *s, int name, int number)
{
	switch (name) {
	case TCP_KEEPIDLE:
		return set_keepidle(s, number);
	case TCP_NODELAY:
		s->nodelay = number;
		return 0;
	/* Accepted and ignored: the adapter decides. */
	case TCP_KEEPCNT:
	case TCP_KEEPINTVL:
	case TCP_MAXSEG:
	case TCP_CONGESTION:
		return 0;
	default:
		return -ENOTSUP;
	}
}

static int set_route(struct rcl_stream *s, const void *value, socklen_t len)
{
	void *route = len ? malloc(len) : NULL;

	if (!route)
		return len ? -ENOMEM : -EINVAL;
	free(s->route);
	s->route = memcpy(route, value, len);
	s->route_len = len;
	return 0;
}

static int set_rdma(struct rcl_stream *s, int name, const void *value, socklen_t len)
{
	if (s->state > RCL_STREAM_LISTENING)
		return -EINVAL;
	if (name == RDMA_ROUTE)
		return set_route(s, value, len);
	return rcl_size_set(&s->sock, name, value, len);
}

/* The value of TCP_CONGESTION is a string, and that of IP_TOS may be one byte: ip(7). */
static bool get_number(int level, int name, const void *value, socklen_t len, int *number)
{
	if (level == IPPROTO_TCP && name == TCP_CONGESTION)
		return true;
	if (level == IPPROTO_IP && name == IP_TOS && value && len && len < sizeof(int)) {
		*number = *(const uint8_t *)value;
		return true;
	}
	return !rcl_value_get(value, len, number);
}

int rcl_stream_setopt(struct rcl_sock *sock, int level, int name, const void *value, socklen_t len)
{
	struct rcl_stream *s = rcl_stream_of(sock);
	int number = 0;

	if (level == SOL_RDMA)
		return set_rdma(s, name, value, len);
	if (!get_number(level, name, value, len, &number))
		return -EINVAL;
	switch (level) {
	case SOL_SOCKET:
		return set_socket(s, name, number);
	case IPPROTO_IP:
		return set_ip(s, name, number);
	case IPPROTO_IPV6:
		return set_ipv6(s, name, number);
	case IPPROTO_TCP:
		return set_tcp(s, name, number);
	default:
		return -ENOTSUP;
	}
}

static int get_info(const struct rcl_stream *s, void *value, socklen_t *len)
{
	struct tcp_info info = {
		.tcpi_state = s->state == RCL_STREAM_UP ? TCP_ESTABLISHED : TCP_CLOSE,
		.tcpi_snd_cwnd = s->sock.sq_size,
	};

	if (!value || !len)
		return -EINVAL;
	if (*len > sizeof(info))
		*len = sizeof(info);
	memcpy(value, &info, *len);
	return 0;
}

static int segment(const struct rcl_stream *s)
{
	if (!s->id || !s->id->route.num_paths)
		return SEGMENT;
	return 1 << (7 + s->id->route.path_rec->mtu);
}

/* As with librdmacm, the system's default while SO_KEEPALIVE is on, otherwise 0. */
static int idle_time(const struct rcl_stream *s)
{
	if (s->keepidle_s || !s->keepalive)
		return (int)s->keepidle_s;
	return (int)system_keepalive();
}

static int get_tcp(const struct rcl_stream *s, int name, void *value, socklen_t *len)
{
	switch (name) {
	case TCP_KEEPIDLE:
		return rcl_value_put(value, len, idle_time(s));
	case TCP_NODELAY:
		return rcl_value_put(value, len, s->nodelay);
	case TCP_MAXSEG:
		return rcl_value_put(value, len, segment(s));
	case TCP_INFO:
		return get_info(s, value, len);
	case TCP_KEEPCNT:
	case TCP_KEEPINTVL:
	case TCP_CONGESTION:
		return rcl_value_put(value, len, 1);
	default:
		return -ENOTSUP;
	}
}

/* Converts a path to the form of RDMA_ROUTE. */
static struct ibv_path_data path_data(const struct ibv_sa_path_rec *path)
{
	uint32_t flow = be32toh(path->flow_label) << 8 | path->hop_limit;

	return (struct ibv_path_data){
		.flags = path->preference,
		.path = {
			.dgid = path->dgid,
			.sgid = path->sgid,
			.dlid = path->dlid,
			.slid = path->slid,
			.flowlabel_hoplimit = htobe32(flow),
			.tclass = path->traffic_class,
			.reversible_numpath = (uint8_t)(path->reversible << 7 | 1),
			.pkey = path->pkey,
			.qosclass_sl = htobe16(path->sl),
			/* The upper two bits are the selector: exactly this value. */
			.mtu = path->mtu | 2 << 6,
			.rate = path->rate | 2 << 6,
			.packetlifetime = path->packet_life_time | 2 << 6,
		},
	};
}

static int get_route(const struct rcl_stream *s, void *value, socklen_t *len)
{
	struct ibv_path_data data;
	socklen_t done = 0;
	int i;

	if (s->route) {
		if (*len < s->route_len)
			return -EINVAL;
		memcpy(value, s->route, s->route_len);
		*len = (socklen_t)s->route_len;
		return 0;
	}
	if (*len < sizeof(data))
		return -EINVAL;
	for (i = 0; s->id && i < s->id->route.num_paths && done + sizeof(data) <= *len; i++) {
		data = path_data(&s->id->route.path_rec[i]);
		memcpy((uint8_t *)value + done, &data, sizeof(data));
		done += sizeof(data);
	}
	*len = done;
	return 0;
}

static int get_rdma(const struct rcl_stream *s, int name, void *value, socklen_t *len)
{
	if (name == RDMA_ROUTE)
		return value && len ? get_route(s, value, len) : -EINVAL;
	return rcl_size_get(&s->sock, name, value, len);
}

int rcl_stream_getopt(struct rcl_sock *sock, int level, int name, void *value, socklen_t *len)
{
	struct rcl_stream *s = rcl_stream_of(sock);

	switch (level) {
	case SOL_SOCKET:
		return name == SO_RCVLOWAT ? rcl_value_put(value, len, (int)s->rx.least) : -ENOTSUP;
	case IPPROTO_IP:
		return name == IP_TOS ? rcl_value_put(value, len, s->tos) : -ENOTSUP;
	case IPPROTO_IPV6:
		return name == IPV6_V6ONLY ? rcl_value_put(value, len, s->v6only) : -ENOTSUP;
	case IPPROTO_TCP:
		return get_tcp(s, name, value, len);
	case SOL_RDMA:
		return get_rdma(s, name, value, len);
	default:
		return -ENOTSUP;
	}
}
