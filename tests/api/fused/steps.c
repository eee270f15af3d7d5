// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connecting by address with all steps in one call, and that call failing at each of them: the
 * program must get the same results as from librdmacm's calls, step by step, on the same
 * fabric.
 *
 *	steps [TEST...]		the tests, with server.c running; the environment says where:
 *
 *	FUSED_DEVICE	the RDMA device on the way to the server
 *	FUSED_OTHER	another RDMA device
 *	FUSED_SERVER	address of the server
 *	FUSED_NOBODY	an address that no neighbour has
 *	FUSED_KNOB	file that sets the SA's status. Empty: no path queries here
 *	FUSED_PORT, FUSED_LOG	the arguments of the server
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma_alt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ktap.h"
#include "refusal.h"

#define SOON 30000
#define FOREIGN "192.0.2.7"	/* no address of this machine, and there is no route to it */

/* Result of a connect: the errno of a call, or else the event. */
struct outcome {
	int call;
	int event;
	int status;
	char data[sizeof(REFUSAL)];
};

static const char *env(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		ktap_fail(__FILE__, __LINE__, "%s is not set", name);
	return value;
}

static struct sockaddr *at(const char *ip, int port)
{
	static struct sockaddr_in addrs[8];
	static int next;
	struct sockaddr_in *addr = &addrs[next++ % 8];

	*addr = (struct sockaddr_in) { .sin_family = AF_INET, .sin_port = htons(port) };
	EXPECT_EQ(inet_pton(AF_INET, ip, &addr->sin_addr), 1);
	return (struct sockaddr *)addr;
}

static struct sockaddr *server(int which)
{
	return at(env("FUSED_SERVER"), atoi(env("FUSED_PORT")) + which);
}

enum { ACCEPTS, REJECTS, NOBODY_LISTENS };

static struct ibv_context *device(const char *name)
{
	struct ibv_context **list = rdma_get_devices(NULL);

	EXPECT(list);
	for (; *list; list++) {
		if (!strcmp(ibv_get_device_name((*list)->device), name))
			return *list;
	}
	ktap_fail(__FILE__, __LINE__, "no %s", name);
}

static struct ibv_qp *make_qp_of(const char *name, enum ibv_qp_type type)
{
	struct ibv_context *context = device(name);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type,
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp;

	EXPECT(pd && cq);
	qp = ibv_create_qp(pd, &attr);
	EXPECT(qp);
	return qp;
}

static struct ibv_qp *make_qp(const char *name)
{
	return make_qp_of(name, IBV_QPT_RC);
}

static int state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	EXPECT_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

static void set_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	EXPECT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

static bool is_iwarp(void)
{
	return device(env("FUSED_DEVICE"))->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* Reset the QP of a failed connect. On iWARP it cannot be used again: make another one. */
static struct ibv_qp *as_new(struct ibv_qp *qp)
{
	if (is_iwarp())
		return make_qp(env("FUSED_DEVICE"));
	set_state(qp, IBV_QPS_RESET);
	return qp;
}

/* Move a QP to the error state, in which no connect can use it. */
static void spoil(struct ibv_qp *qp)
{
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	if (!is_iwarp())
		EXPECT_EQ(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					IBV_QP_ACCESS_FLAGS), 0);
	set_state(qp, IBV_QPS_ERR);
}

static struct rdma_event_channel *channel(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();

	EXPECT(ch);
	return ch;
}

/* Get the next event and acknowledge it. */
static struct outcome next_outcome(struct rdma_event_channel *ch, struct rdma_cm_id *id)
{
	struct pollfd poll_fd = { .fd = ch->fd, .events = POLLIN };
	struct outcome out = { 0 };
	struct rdma_cm_event *event;

	EXPECT_EQ(poll(&poll_fd, 1, SOON), 1);
	EXPECT_EQ(rdma_get_cm_event(ch, &event), 0);
	EXPECT(event->id == id);
	out.event = event->event;
	out.status = event->status;
	if (out.event == RDMA_CM_EVENT_REJECTED &&
	    event->param.conn.private_data_len >= sizeof(REFUSAL))
		memcpy(out.data, event->param.conn.private_data, sizeof(REFUSAL));
	EXPECT_EQ(rdma_ack_cm_event(event), 0);
	return out;
}

static struct rdma_conn_param parameters(void)
{
	return (struct rdma_conn_param) { .retry_count = 7, .rnr_retry_count = 7 };
}

static struct rdma_alt_connect_attr attributes(struct rdma_event_channel *ch, struct sockaddr *dst,
					       struct rdma_conn_param *param, struct ibv_qp *qp)
{
	*param = parameters();
	return (struct rdma_alt_connect_attr) {
		.channel = ch, .dst_addr = dst, .timeout_ms = SOON, .conn_param = param, .qp = qp,
	};
}

/* librdmacm's calls. */
static struct outcome by_steps(struct sockaddr *src, struct sockaddr *dst, int timeout)
{
	struct rdma_conn_param param = parameters();
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_event_channel *ch = channel();
	struct outcome out = { 0 };
	struct rdma_cm_id *id;

	EXPECT_EQ(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP), 0);
	if (rdma_resolve_addr(id, src, dst, timeout)) {
		out.call = errno;
		goto done;
	}
	out = next_outcome(ch, id);
	if (out.event != RDMA_CM_EVENT_ADDR_RESOLVED)
		goto done;
	if (rdma_resolve_route(id, timeout)) {
		out = (struct outcome) { .call = errno };
		goto done;
	}
	out = next_outcome(ch, id);
	if (out.event != RDMA_CM_EVENT_ROUTE_RESOLVED)
		goto done;
	EXPECT_EQ(rdma_create_qp(id, NULL, &attr), 0);
	if (rdma_connect(id, &param))
		out = (struct outcome) { .call = errno };
	else
		out = next_outcome(ch, id);
	rdma_destroy_qp(id);
done:
	EXPECT_EQ(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
	return out;
}

/* One call. */
static struct outcome by_one(struct sockaddr *src, struct sockaddr *dst, int timeout,
			     struct ibv_qp *qp)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_conn_param param;
	struct outcome out = { 0 };
	struct rdma_cm_id *id;
	struct rdma_alt_connect_attr attr = attributes(ch, dst, &param, qp);

	attr.src_addr = src;
	attr.timeout_ms = timeout;
	if (rdma_alt_connect(&attr, &id)) {
		out.call = errno;
	} else {
		out = next_outcome(ch, id);
		EXPECT(id->qp == qp);
		id->qp = NULL;
		EXPECT_EQ(rdma_destroy_id(id), 0);
	}
	rdma_destroy_event_channel(ch);
	return out;
}

/* The same with a synchronous id; returns the errno. */
static int by_waiting(struct sockaddr *src, struct sockaddr *dst, int timeout, struct ibv_qp *qp)
{
	struct rdma_conn_param param;
	struct rdma_cm_id *id = (void *)&param;
	struct rdma_alt_connect_attr attr = attributes(NULL, dst, &param, qp);

	attr.src_addr = src;
	attr.timeout_ms = timeout;
	if (!rdma_alt_connect(&attr, &id)) {
		id->qp = NULL;
		EXPECT_EQ(rdma_destroy_id(id), 0);
		return 0;
	}
	return errno;
}

static int open_fds(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* In Linux 6.1 siw reports the state RESET for every QP. */
static bool driver_tells_states(struct ibv_qp *like)
{
	struct ibv_qp *qp = make_qp(ibv_get_device_name(like->context->device));

	spoil(qp);
	return state_of(qp) == IBV_QPS_ERR;
}

/* Connect and disconnect: the QP is usable, and the server still works. */
static void connect_well(struct ibv_qp *qp)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_conn_param param;
	struct rdma_cm_id *id;
	struct outcome out;
	struct rdma_alt_connect_attr attr = attributes(ch, server(ACCEPTS), &param, qp);

	EXPECT_EQ(rdma_alt_connect(&attr, &id), 0);
	out = next_outcome(ch, id);
	EXPECT_EQ(out.event, RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_EQ(out.status, 0);
	EXPECT(id->verbs == qp->context);
	if (driver_tells_states(qp))
		EXPECT_EQ(state_of(qp), IBV_QPS_RTS);
	EXPECT_EQ(rdma_disconnect(id), 0);
	EXPECT_EQ(next_outcome(ch, id).event, RDMA_CM_EVENT_DISCONNECTED);
	id->qp = NULL;
	EXPECT_EQ(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

/* A connect fails in each way as it does step by step, and leaves no object behind. */
static struct outcome fails(struct sockaddr *src, struct sockaddr *dst, int timeout)
{
	struct outcome steps = by_steps(src, dst, timeout), one;
	struct ibv_qp *qp = make_qp(env("FUSED_DEVICE"));
	int fds = open_fds(), error;

	one = by_one(src, dst, timeout, qp);
	ktap_note("call %d, event %s, status %d", one.call, one.call ? "none" :
		  rdma_event_str(one.event), one.status);
	EXPECT_EQ(one.call, steps.call);
	EXPECT_EQ(one.event, steps.event);
	EXPECT_EQ(one.status, steps.status);
	EXPECT(!memcmp(one.data, steps.data, sizeof(one.data)));
	EXPECT(one.call || one.event != RDMA_CM_EVENT_ESTABLISHED);
	qp = as_new(qp);
	error = by_waiting(src, dst, timeout, qp);
	if (!one.call)
		one.status = one.event == RDMA_CM_EVENT_REJECTED ? ECONNREFUSED : abs(one.status);
	EXPECT_EQ(error, one.call ?: one.status);
	EXPECT_EQ(open_fds(), fds);
	/* The QP belongs to the program and may be used again. */
	connect_well(as_new(qp));
	return one;
}

TEST(all_steps_work)
{
	connect_well(make_qp(env("FUSED_DEVICE")));
	EXPECT_EQ(by_waiting(NULL, server(ACCEPTS), SOON, make_qp(env("FUSED_DEVICE"))), 0);
}

/* The request asks for the server's QP, and the own QP is ready when the answer arrives. */
TEST(a_datagram_qp_starts)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_alt_connect_attr attr;
	struct rdma_conn_param param;
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	struct outcome out;

	if (is_iwarp())
		ktap_skip("iWARP has no datagrams");
	qp = make_qp_of(env("FUSED_DEVICE"), IBV_QPT_UD);
	attr = attributes(ch, server(ACCEPTS), &param, qp);
	attr.ps = RDMA_PS_UDP;
	EXPECT_EQ(rdma_alt_connect(&attr, &id), 0);
	out = next_outcome(ch, id);
	EXPECT_EQ(out.event, RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_EQ(out.status, 0);
	EXPECT_EQ(state_of(qp), IBV_QPS_RTS);
	id->qp = NULL;
	EXPECT_EQ(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(the_source_is_no_address_of_ours)
{
	EXPECT(fails(at(FOREIGN, 0), server(ACCEPTS), SOON).call);
}

TEST(the_destination_has_no_route)
{
	fails(NULL, at(FOREIGN, 7), SOON);
}

TEST(the_destination_has_no_neighbour)
{
	struct outcome out = fails(NULL, at(env("FUSED_NOBODY"), 7), 300);

	EXPECT_EQ(out.event, RDMA_CM_EVENT_ADDR_ERROR);
}

static void set_knob(const char *value)
{
	int fd = MUST(open(env("FUSED_KNOB"), O_WRONLY));

	EXPECT_EQ(write(fd, value, strlen(value)), (long)strlen(value));
	close(fd);
}

TEST(there_is_no_path)
{
	struct ibv_qp *qp = make_qp(env("FUSED_DEVICE"));
	struct outcome steps, one;
	int error;

	if (!*env("FUSED_KNOB"))
		ktap_skip("paths need nobody here");
	set_knob("0x0300");
	steps = by_steps(NULL, server(ACCEPTS), 300);
	one = by_one(NULL, server(ACCEPTS), 300, qp);
	error = by_waiting(NULL, server(ACCEPTS), 300, qp);
	set_knob("0");
	EXPECT_EQ(one.event, RDMA_CM_EVENT_ROUTE_ERROR);
	EXPECT_EQ(one.event, steps.event);
	EXPECT_EQ(one.status, steps.status);
	EXPECT_EQ(error, abs(one.status));
	connect_well(qp);
}

TEST(nobody_listens)
{
	struct outcome out = fails(NULL, server(NOBODY_LISTENS), SOON);

	/* On iWARP TCP reports it at once. */
	if (is_iwarp())
		EXPECT_EQ(out.call, ECONNREFUSED);
	else
		EXPECT_EQ(out.event, RDMA_CM_EVENT_REJECTED);
}

TEST(the_server_rejects)
{
	struct outcome out = fails(NULL, server(REJECTS), SOON);

	EXPECT_EQ(out.event, RDMA_CM_EVENT_REJECTED);
	EXPECT(!memcmp(out.data, REFUSAL, sizeof(REFUSAL)));
}

/* Number of such events at the server. */
static int count_at_server(const char *event)
{
	FILE *log = fopen(env("FUSED_LOG"), "r");
	char line[128];
	int n = 0;

	EXPECT(log);
	while (fgets(line, sizeof(line), log))
		n += !strncmp(line, event, strlen(event));
	fclose(log);
	return n;
}

/* The server has accepted and waits for the RTU in vain: it gets an event. */
static void fails_here(struct ibv_qp *qp, int status)
{
	int tries, ends = count_at_server("RDMA_CM_EVENT_REJECTED");
	struct outcome out = by_one(NULL, server(ACCEPTS), SOON, qp);

	ktap_note("call %d, event %s, status %d", out.call, out.call ? "none" :
		  rdma_event_str(out.event), out.status);
	/* On iWARP the QP is checked before the request is sent. */
	if (is_iwarp()) {
		EXPECT(out.call || out.event == RDMA_CM_EVENT_CONNECT_ERROR);
		return;
	}
	EXPECT_EQ(out.event, RDMA_CM_EVENT_CONNECT_ERROR);
	if (status)
		EXPECT_EQ(out.status, status);
	EXPECT(out.status < 0);
	for (tries = 0; tries < 100 && count_at_server("RDMA_CM_EVENT_REJECTED") == ends; tries++)
		usleep(100000);
	EXPECT_EQ(count_at_server("RDMA_CM_EVENT_REJECTED"), ends + 1);
}

TEST(the_qp_is_on_another_device)
{
	fails_here(make_qp(env("FUSED_OTHER")), -ENODEV);
	connect_well(make_qp(env("FUSED_DEVICE")));
}

TEST(the_qp_does_not_get_ready)
{
	struct ibv_qp *qp = make_qp(env("FUSED_DEVICE"));

	spoil(qp);
	fails_here(qp, 0);
	connect_well(make_qp(env("FUSED_DEVICE")));
}

#define MANY 5

TEST(of_many_each_fails_by_itself)
{
	struct rdma_event_channel *ch = channel();
	struct sockaddr *to[MANY] = {
		server(ACCEPTS), at(FOREIGN, 7), server(REJECTS), server(NOBODY_LISTENS),
		server(ACCEPTS),
	};
	struct rdma_alt_connect_attr attrs[MANY];
	struct rdma_conn_param params[MANY];
	struct rdma_cm_event *events[MANY];
	int n, got, i, errors[MANY], seen[MANY] = { 0 }, missing, started, wanted = 0;
	struct rdma_cm_id *ids[MANY];
	struct outcome alone[MANY];

	for (n = 0; n < MANY; n++) {
		alone[n] = by_steps(NULL, to[n], SOON);
		wanted += !alone[n].call;
		attrs[n] = attributes(ch, to[n], &params[n], make_qp(env("FUSED_DEVICE")));
	}
	EXPECT(wanted > 2 && wanted < MANY);
	started = rdma_alt_connect_many(attrs, MANY, ids, errors);
	EXPECT_EQ(started, wanted);
	for (missing = started; missing; missing -= got) {
		got = rdma_alt_get_cm_events(ch, events, MANY);
		EXPECT(got > 0);
		for (i = 0; i < got; i++) {
			for (n = 0; n < MANY; n++) {
				if (ids[n] && events[i]->id == ids[n])
					seen[n] = events[i]->event;
			}
			EXPECT_EQ(rdma_ack_cm_event(events[i]), 0);
		}
	}
	for (n = 0; n < MANY; n++) {
		EXPECT_EQ(errors[n], alone[n].call);
		EXPECT_EQ(seen[n], alone[n].event);
		EXPECT_EQ(!ids[n], !!alone[n].call);
		if (ids[n])
			ids[n]->qp = NULL;
	}
	EXPECT_EQ(seen[0], RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_EQ(seen[4], RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_EQ(rdma_alt_destroy_many(ids, MANY, errors), started);
}

int main(int argc, char **argv)
{
	return ktap_run(argc, argv);
}
