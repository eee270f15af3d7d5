// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connects with a deadline: reports within MILLISECONDS whether the connection is established,
 * independent of the peer's behaviour. Each step gets the time that the earlier ones have left. The
 * stock rdma_cm does not have the option; the program then prints that and connects without a
 * deadline. Without a QP the connection carries no data. A server for it: get_many_events.
 *
 *	cc deadline.c -o deadline $(pkg-config --cflags --libs librdmacm_alt)
 *	deadline ADDRESS PORT MILLISECONDS
 */
#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_cma.h>

static int failed(const char *call, const char *advice)
{
	fprintf(stderr, "%s: %s; %s\n", call, strerror(errno), advice);
	return -1;
}

/* For connect and disconnect: the time limit, counted from the call. */
static void set_deadline(struct rdma_cm_id *id, uint32_t milliseconds)
{
	if (rdma_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_DEADLINE, &milliseconds,
			    sizeof(milliseconds)))
		failed("rdma_set_option", "this connection manager has no deadlines");
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Milliseconds until @end, at least 1: 0 would disable the deadline. */
static int left(double end)
{
	double milliseconds = (end - now()) * 1000;

	return milliseconds < 1 ? 1 : (int)milliseconds;
}

static int connect_to(struct rdma_cm_id *id, struct sockaddr *addr, double end)
{
	struct rdma_conn_param param = {
		.qp_num = (unsigned int)getpid() << 12 & 0xffffff, .retry_count = 7,
	};

	/* Address and route resolution have timeouts of their own, as arguments. */
	if (rdma_resolve_addr(id, NULL, addr, left(end)))
		return failed("rdma_resolve_addr", "does the address answer ping?");
	if (rdma_resolve_route(id, left(end)))
		return failed("rdma_resolve_route", "is the port active (rdma link)?");
	set_deadline(id, left(end));
	if (rdma_connect(id, &param))
		return failed("rdma_connect", errno == ETIMEDOUT ? "the peer has not answered" :
			      "is there a server at that port?");
	return rdma_establish(id) ? failed("rdma_establish", "the peer has gone") : 0;
}

int main(int argc, char **argv)
{
	int ret, milliseconds = argc == 4 ? atoi(argv[3]) : 0;
	struct rdma_cm_id *id;
	struct addrinfo *res;
	double start;

	if (milliseconds < 1 || getaddrinfo(argv[1], argv[2], NULL, &res)) {
		fprintf(stderr, "usage: deadline ADDRESS PORT MILLISECONDS\n");
		return 2;
	}
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP)) {
		failed("rdma_create_id", "is the module loaded, and may you open its node?");
		return 1;
	}
	start = now();
	ret = connect_to(id, res->ai_addr, start + milliseconds / 1000.0);
	printf("%s after %.1f s\n", ret ? "no connection" : "connected", now() - start);
	freeaddrinfo(res);
	if (!ret && rdma_disconnect(id))
		failed("rdma_disconnect", "has the device gone?");
	rdma_destroy_id(id);
	return ret ? 1 : 0;
}
