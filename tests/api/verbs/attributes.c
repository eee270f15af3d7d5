// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The attributes of connected QPs, compared with those that stock sets on the same kernel.
 *
 * Ports are fixed at both ends, because the flow label is computed from them.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "lib/ends.h"

#define SERVER_PORT 23000
#define CLIENT_PORT 23001

/**
 * struct setup - what the two ends of a connection ask for
 * @name: of the test
 * @ipv6: over IPv6
 * @ps: port space, or 0 for RDMA_PS_TCP
 * @tos: type of service at the client's end, or 0
 * @client_timeout: ACK timeout option of the client, or 0
 * @server_timeout: that of the server
 * @client: parameters, or NULL
 * @server: parameters, or NULL
 */
struct setup {
	const char *name;
	bool ipv6;
	int ps;
	uint8_t tos;
	uint8_t client_timeout;
	uint8_t server_timeout;
	struct rdma_conn_param *client;
	struct rdma_conn_param *server;
};

static struct sockaddr *get_addr(const struct setup *setup, bool server)
{
	static struct sockaddr_in6 in6;
	static struct sockaddr_in in;
	uint16_t port = server ? SERVER_PORT : CLIENT_PORT;

	if (setup->ipv6) {
		in6 = (struct sockaddr_in6) { .sin6_family = AF_INET6, .sin6_port = htons(port) };
		inet_pton(AF_INET6, server ? "fd00:9::1" : "fd00:9::2", &in6.sin6_addr);
		return (struct sockaddr *)&in6;
	}
	in = (struct sockaddr_in) { .sin_family = AF_INET, .sin_port = htons(port) };
	inet_pton(AF_INET, server ? "10.9.0.1" : "10.9.0.2", &in.sin_addr);
	return (struct sockaddr *)&in;
}

static void set_timeout(struct rdma_cm_id *id, uint8_t timeout)
{
	if (timeout)
		MUST(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
				     sizeof(timeout)));
}

static void tell_param(const char *what, const struct rdma_conn_param *param, bool numbers)
{
	tell("%s: depths %u %u flow %u retries %u %u srq %u data %u", what,
	     param->responder_resources, param->initiator_depth, param->flow_control,
	     param->retry_count, param->rnr_retry_count, param->srq, param->private_data_len);
	if (numbers)
		EXPECT(param->qp_num);
}

static void serve(const struct setup *setup)
{
	struct ibv_qp_init_attr attr = qp_attr(5, 6);
	struct rdma_cm_id *listener, *id;

	MUST(rdma_create_id(NULL, &listener, NULL, setup->ps ? setup->ps : RDMA_PS_TCP));
	MUST(rdma_bind_addr(listener, get_addr(setup, true)));
	MUST(rdma_listen(listener, 1));
	meet();
	MUST(rdma_get_request(listener, &id));
	tell_param("request", &id->event->param.conn, true);
	MUST(rdma_create_qp(id, NULL, &attr));
	set_timeout(id, setup->server_timeout);
	tell_qp(id->qp);
	MUST(rdma_accept(id, setup->server));
	tell_param("established", &id->event->param.conn, false);
	meet();
	tell_qp(id->qp);
	check_qp_numbers(id->qp);
	meet();
	end_rc(id);
	MUST(rdma_destroy_id(listener));
}

static void connect_to(const struct setup *setup)
{
	struct ibv_qp_init_attr attr = qp_attr(7, 8);
	struct sockaddr_storage from;
	struct rdma_cm_id *id;
	uint8_t tos = setup->tos;

	memcpy(&from, get_addr(setup, false),
	       setup->ipv6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	MUST(rdma_create_id(NULL, &id, NULL, setup->ps ? setup->ps : RDMA_PS_TCP));
	meet();
	if (tos)
		MUST(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
	MUST(rdma_resolve_addr(id, (struct sockaddr *)&from, get_addr(setup, true), 2000));
	set_timeout(id, setup->client_timeout);
	MUST(rdma_resolve_route(id, 2000));
	MUST(rdma_create_qp(id, NULL, &attr));
	tell_qp(id->qp);
	MUST(rdma_connect(id, setup->client));
	tell_param("established", &id->event->param.conn, true);
	meet();
	tell_qp(id->qp);
	check_qp_numbers(id->qp);
	meet();
	end_rc(id);
}

#define PARAM(...) (&(struct rdma_conn_param) { __VA_ARGS__ })

/* Each row is a test. */
static const struct setup setups[] = {
	/* No parameters: the maximum of the device, and 7 retries. */
	{ .name = "defaults" },
	{ .name = "ipv6", .ipv6 = true },
	{ .name = "port_space_ib", .ps = RDMA_PS_IB },
	/* The depths of one end are those of the other, swapped; the server's answer decides. */
	{ .name = "depths",
	  .client = PARAM(.responder_resources = 5, .initiator_depth = 3, .flow_control = 1,
			  .retry_count = 4, .rnr_retry_count = 2),
	  .server = PARAM(.responder_resources = 2, .initiator_depth = 4, .flow_control = 1,
			  .retry_count = 3, .rnr_retry_count = 6) },
	/* More retries than the field holds. */
	{ .name = "retries_beyond_7",
	  .client = PARAM(.responder_resources = 1, .initiator_depth = 1,
			  .retry_count = 9, .rnr_retry_count = 200),
	  .server = PARAM(.responder_resources = 1, .initiator_depth = 1,
			  .retry_count = 8, .rnr_retry_count = 255) },
	{ .name = "depths_of_the_device",
	  .client = PARAM(.responder_resources = RDMA_MAX_RESP_RES,
			  .initiator_depth = RDMA_MAX_INIT_DEPTH, .retry_count = 7),
	  .server = PARAM(.responder_resources = RDMA_MAX_RESP_RES,
			  .initiator_depth = RDMA_MAX_INIT_DEPTH) },
	/* No reads and atomics: the QP does not allow them. */
	{ .name = "no_depths", .client = PARAM(.retry_count = 7),
	  .server = PARAM(.retry_count = 7) },
	/* One direction only. */
	{ .name = "one_depth",
	  .client = PARAM(.responder_resources = 4, .retry_count = 7),
	  .server = PARAM(.initiator_depth = 4, .retry_count = 7) },
	{ .name = "ack_timeout", .client_timeout = 14, .server_timeout = 13 },
	{ .name = "ack_timeout_of_the_client", .client_timeout = 14 },
	{ .name = "ack_timeout_of_the_server", .server_timeout = 13 },
	{ .name = "type_of_service", .tos = 104 },
	{ .name = "private_data",
	  .client = PARAM(.private_data = "client", .private_data_len = 7),
	  .server = PARAM(.private_data = "server", .private_data_len = 7) },
};

static const struct setup *this_setup(void)
{
	const struct setup *setup = setups;

	while (strcmp(setup->name, test_name()))
		setup++;
	return setup;
}

static void server_end(void)
{
	serve(this_setup());
}

static void client_end(void)
{
	connect_to(this_setup());
}

__attribute__((constructor)) static void register_all(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(setups) / sizeof(setups[0]); i++)
		duo_register(setups[i].name, "", server_end, client_end);
}

DUO_MAIN
