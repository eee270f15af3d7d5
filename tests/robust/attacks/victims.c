// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Operations whose time counts. */
#include <sys/socket.h>

#include "attacks.h"
#include "cm.h"

void meter_begin(void)
{
	while (meter->paused)
		usleep(1000);
	meter->began = ktap_now();
}

void meter_end(void)
{
	double took = ktap_now() - meter->began;

	meter->began = 0;
	if (took > meter->worst)
		meter->worst = took;
	meter->count++;
}

void victim_connects(void)
{
	struct rdma_event_channel *servers = get_channel(), *clients = get_channel();
	uint16_t port = ntohs(rdma_get_src_port(get_listener(servers, 16)));

	for (;;) {
		struct rdma_cm_id *client, *server;

		meter_begin();
		client = get_cm_id(clients);
		find(clients, client, port);
		request(client);
		server = await(servers, RDMA_CM_EVENT_CONNECT_REQUEST);
		answer(server);
		await(clients, RDMA_CM_EVENT_CONNECT_RESPONSE);
		if (rdma_establish(client))
			meter_error(errno);
		await(servers, RDMA_CM_EVENT_ESTABLISHED);
		meter_end();
		rdma_disconnect(client);
		await(servers, RDMA_CM_EVENT_DISCONNECTED);
		rdma_disconnect(server);
		await(clients, RDMA_CM_EVENT_DISCONNECTED);
		rdma_destroy_id(client);
		rdma_destroy_id(server);
	}
}

static void resolve_one(struct rdma_event_channel *channel, uint16_t port)
{
	struct rdma_cm_id *id;

	meter_begin();
	id = get_cm_id(channel);
	find(channel, id, port);
	meter_end();
	rdma_destroy_id(id);
}

void victim_resolves(void)
{
	for (struct rdma_event_channel *channel = get_channel();;)
		resolve_one(channel, 7471);
}

void victim_same_service(void)
{
	for (struct rdma_event_channel *channel = get_channel();;)
		resolve_one(channel, meter->port ?: 7471);
}

void victim_listens(void)
{
	for (struct rdma_event_channel *channel = get_channel();;) {
		meter_begin();
		rdma_destroy_id(get_listener(channel, 0));
		meter_end();
	}
}

struct rdma_cm_id *get_ud_cm_id(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_UDP) ||
	    rdma_bind_addr(id, address_of(HERE, 0)))
		meter_error(errno);
	return id;
}

void victim_joins(void)
{
	struct rdma_event_channel *channel = get_channel();
	struct rdma_cm_id *id = get_ud_cm_id(channel);

	for (;;) {
		meter_begin();
		if (rdma_join_multicast(id, address_of(GROUP, 0), NULL))
			meter_error(errno);
		await(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
		if (rdma_leave_multicast(id, address_of(GROUP, 0)))
			meter_error(errno);
		meter_end();
	}
}

/* The last descriptor of a channel of ANNA is closed by BERT. */
void victim_closes(void)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;

	for (;;) {
		struct msghdr msg = {
			.msg_iov = &(struct iovec) { &(char) { 0 }, 1 }, .msg_iovlen = 1,
			.msg_control = control.space, .msg_controllen = sizeof(control.space),
		};
		int fd;

		MUST(recvmsg(meter->descriptors[1], &msg, MSG_CMSG_CLOEXEC));
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
		meter_begin();
		close(fd);
		meter_end();
	}
}
