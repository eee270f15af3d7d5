// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The worker of rdma-cm-alt bench: measures sequential connections, with QPs, from this process to
 * a server that it forks, over the librdmacm.so.1 that the loader finds.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "tool/core/address.h"
#include "tool/core/tool.h"

enum { BACKLOG = 16, TIMEOUT_MS = 5000 };
enum { ADDR, ROUTE, CONNECT, DISCONNECT, STEPS };

static const char * const step_names[] = { "address", "route", "connect", "disconnect" };

#define CM_CALLS(X)								\
	X(rdma_create_event_channel) X(rdma_create_id) X(rdma_bind_addr) X(rdma_listen)	\
	X(rdma_resolve_addr) X(rdma_resolve_route) X(rdma_create_qp) X(rdma_connect)	\
	X(rdma_accept) X(rdma_get_cm_event) X(rdma_ack_cm_event) X(rdma_disconnect)	\
	X(rdma_destroy_qp) X(rdma_destroy_id) X(rdma_event_str)

/* The environment selects the library, so the program is not linked with it. */
static struct {
#define DECLARE(name) __typeof__(name) *name;
	CM_CALLS(DECLARE)
} cm;

/*
 * Fails unless the library is that of the requested stack: otherwise the results would be
 * attributed to the wrong one. Only the library of rdma_cm_alt has rdma_alt_connect().
 */
static void check_library(void *library, bool ours)
{
	void *call = dlsym(library, "rdma_create_id");
	bool is_ours = dlsym(library, "rdma_alt_connect");
	const char *file = "librdmacm.so.1";
	Dl_info info;

	if (call && dladdr(call, &info) && info.dli_fname)
		file = info.dli_fname;
	if (is_ours && !ours)
		fail(BENCH_LIBRARY,
		     "%s, which the loader finds first, is rdma_cm_alt's own library, so there is no "
		     "stock one to compare with: start bench without 'rdma-cm-alt run', LD_PRELOAD "
		     "and LD_LIBRARY_PATH, and have librdmacm1 where it belongs", file);
	if (!is_ours && ours)
		fail(BENCH_LIBRARY,
		     "%s is not rdma_cm_alt's library: start bench without LD_PRELOAD, and with the "
		     "directory of the drop-in as --library", file);
}

static void find_calls(bool ours)
{
	void *library = dlopen("librdmacm.so.1", RTLD_NOW);

	if (!library)
		fail(TOOL_ERROR, "%s; install librdmacm1", dlerror());
	check_library(library, ours);
#define FIND(name)								\
	cm.name = (__typeof__(name) *)dlsym(library, #name);			\
	if (!cm.name)								\
		fail(TOOL_ERROR, "%s", dlerror());
	CM_CALLS(FIND)
}

static void must(int ret, const char *what)
{
	if (ret)
		fail(TOOL_ERROR, "%s: %s", what, strerror(errno));
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static struct rdma_event_channel *make_channel(void)
{
	struct rdma_event_channel *channel = cm.rdma_create_event_channel();

	if (!channel)
		fail(TOOL_ERROR, "no event channel: %s", strerror(errno));
	return channel;
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	must(cm.rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
}

static void serve(const struct sockaddr *addr, int out)
{
	struct rdma_event_channel *channel = make_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	uint16_t port;

	must(cm.rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	must(cm.rdma_bind_addr(id, (struct sockaddr *)addr), "rdma_bind_addr");
	must(cm.rdma_listen(id, BACKLOG), "rdma_listen");
	port = ((struct sockaddr_in *)&id->route.addr.src_addr)->sin_port;
	must(write(out, &port, sizeof(port)) != sizeof(port), "write");
	for (;;) {
		enum rdma_cm_event_type type;
		struct rdma_conn_param param = {};

		must(cm.rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
		id = event->id;
		type = event->event;
		cm.rdma_ack_cm_event(event);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			make_qp(id);
			must(cm.rdma_accept(id, &param), "rdma_accept");
		} else if (type == RDMA_CM_EVENT_DISCONNECTED) {
			cm.rdma_disconnect(id);
			cm.rdma_destroy_qp(id);
			cm.rdma_destroy_id(id);
		}
	}
}

static void expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct pollfd fd = { channel->fd, POLLIN, 0 };
	struct rdma_cm_event *event;

	if (poll(&fd, 1, 2 * TIMEOUT_MS) != 1)
		fail(TOOL_ERROR, "%s did not come in %d s", cm.rdma_event_str(type),
		     2 * TIMEOUT_MS / 1000);
	must(cm.rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	if (event->event != type)
		fail(TOOL_ERROR, "%s came, with %d, in place of %s",
		     cm.rdma_event_str(event->event), event->status, cm.rdma_event_str(type));
	cm.rdma_ack_cm_event(event);
}

static void connect_once(struct rdma_event_channel *channel, struct sockaddr *addr, double *took)
{
	struct rdma_conn_param param = {};
	struct rdma_cm_id *id;
	double start;

	must(cm.rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	start = now_us();
	must(cm.rdma_resolve_addr(id, NULL, addr, TIMEOUT_MS), "rdma_resolve_addr");
	expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	took[ADDR] = now_us() - start;
	start = now_us();
	must(cm.rdma_resolve_route(id, TIMEOUT_MS), "rdma_resolve_route");
	expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	took[ROUTE] = now_us() - start;
	make_qp(id);
	start = now_us();
	must(cm.rdma_connect(id, &param), "rdma_connect");
	expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	took[CONNECT] = now_us() - start;
	start = now_us();
	must(cm.rdma_disconnect(id), "rdma_disconnect");
	expect(channel, RDMA_CM_EVENT_DISCONNECTED);
	took[DISCONNECT] = now_us() - start;
	cm.rdma_destroy_qp(id);
	must(cm.rdma_destroy_id(id), "rdma_destroy_id");
}

static int compare(const void *a, const void *b)
{
	double one = *(const double *)a, two = *(const double *)b;

	return (one > two) - (one < two);
}

static void tell(double (*took)[STEPS], long count, double all)
{
	struct json_object *result = json_object_new_object();
	double *column = calloc(count, sizeof(*column));

	for (int step = 0; column && step < STEPS; step++) {
		for (long i = 0; i < count; i++)
			column[i] = took[i][step];
		qsort(column, count, sizeof(*column), compare);
		json_object_object_add(result, step_names[step],
				       json_object_new_double(column[count / 2]));
	}
	json_object_object_add(result, "all", json_object_new_double(all / count));
	puts(json_object_to_json_string(result));
	json_object_put(result);
	free(column);
}

/**
 * bench_worker() - measure connections
 * @address: an address of this host, on an RDMA device
 * @count: number of connections
 * @ours: the library must be that of rdma_cm_alt; false: that of the stock stack
 *
 * Prints a JSON object: the median of each step, and the mean of complete connections, in us. Does
 * not return.
 */
void bench_worker(const char *address, long count, bool ours)
{
	struct rdma_event_channel *channel;
	struct address addr;
	double (*took)[STEPS], start, ignored[STEPS];
	int ends[2];
	uint16_t server_port;
	const char *wrong = address_parse(address, &addr);

	if (wrong)
		fail(TOOL_USAGE, "%s", wrong);
	find_calls(ours);
	took = calloc(count, sizeof(*took));
	must(!took || pipe(ends), "pipe");
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		serve((struct sockaddr *)&addr.addr, ends[1]);
	}
	close(ends[1]);
	/* The server has printed the reason. */
	if (read(ends[0], &server_port, sizeof(server_port)) != sizeof(server_port))
		exit(TOOL_ERROR);
	((struct sockaddr_in *)&addr.addr)->sin_port = server_port;
	channel = make_channel();
	connect_once(channel, (struct sockaddr *)&addr.addr, ignored);
	start = now_us();
	for (long i = 0; i < count; i++)
		connect_once(channel, (struct sockaddr *)&addr.addr, took[i]);
	tell(took, count, now_us() - start);
	exit(TOOL_OK);
}
