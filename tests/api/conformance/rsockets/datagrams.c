// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Every call on datagram sockets. Over soft-RoCE librdmacm delivers none: its address handle to
 * itself has no GRH.
 */
#include "rs.h"

static int fresh(void)
{
	return make_rs(SOCK_DGRAM);
}

RS_GROUP(rs_datagram_fresh, 0)
{
	ask_state(fresh, ALL_ALONE | NO_MAPS);
}

static int bound(void)
{
	return make_rs_bound(SOCK_DGRAM);
}

RS_GROUP(rs_datagram_bound, 0)
{
	ask_state(bound, ALL_ALONE | NO_MAPS);
}

static int connected_datagrams(void)
{
	int fd = make_rs(SOCK_DGRAM);

	/* ENOENT with librdmacm, as there is no address handle. */
	rconnect(fd, at(THERE, 9), sizeof(struct sockaddr_in));
	return fd;
}

RS_GROUP(rs_datagram_connected, 0)
{
	ask_state(connected_datagrams, ALL_ALONE | NO_MAPS);
}
