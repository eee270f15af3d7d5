// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <arpa/inet.h>

#include "attacks.h"
#include "cm.h"

#define TIMEOUT_MS 60000

static void must(int ret)
{
	if (ret)
		meter_error(errno);
}

struct sockaddr *address_of(const char *ip, uint16_t port)
{
	static _Thread_local struct sockaddr_in sin;

	sin = (struct sockaddr_in) { .sin_family = AF_INET, .sin_port = htons(port) };
	EXPECT_EQ(inet_pton(AF_INET, ip, &sin.sin_addr), 1);
	return (struct sockaddr *)&sin;
}

struct rdma_event_channel *get_channel(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	must(channel ? 0 : -1);
	return channel;
}

struct rdma_cm_id *get_cm_id(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	must(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	return id;
}

struct rdma_cm_id *get_listener(struct rdma_event_channel *channel, int backlog)
{
	struct rdma_cm_id *id = get_cm_id(channel);

	must(rdma_bind_addr(id, address_of(HERE, 0)));
	must(rdma_listen(id, backlog));
	return id;
}

struct rdma_cm_id *await(struct rdma_event_channel *channel, enum rdma_cm_event_type wanted)
{
	enum rdma_cm_event_type came;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	int status;

	do {
		must(rdma_get_cm_event(channel, &event));
		came = event->event;
		status = event->status;
		id = event->id;
		must(rdma_ack_cm_event(event));
	} while (came == RDMA_CM_EVENT_TIMEWAIT_EXIT);
	if (came != wanted)
		meter_error(status < 0 ? -status : EPROTO);
	return id;
}

void find(struct rdma_event_channel *channel, struct rdma_cm_id *id, uint16_t port)
{
	must(rdma_resolve_addr(id, NULL, address_of(HERE, port), TIMEOUT_MS));
	await(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	must(rdma_resolve_route(id, TIMEOUT_MS));
	await(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* The QP is only a number: neither stack needs more on RoCE. */
static struct rdma_conn_param next_qp(void)
{
	static uint32_t used;

	return (struct rdma_conn_param) {
		.retry_count = 7, .rnr_retry_count = 7,
		.qp_num = 0x800000 | (getpid() & 0xff) << 15 | (used++ & 0x7fff),
	};
}

void request(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = next_qp();

	must(rdma_connect(id, &param));
}

void answer(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = next_qp();

	must(rdma_accept(id, &param));
}
