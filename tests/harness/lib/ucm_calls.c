// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Commands of rdma_ucm's ABI without a library. */
#include "ucm_calls.h"

#include <arpa/inet.h>

int ucm_open(void)
{
	return MUST(open(UCM_NODE, O_RDWR | O_CLOEXEC));
}

int ucm_call(int fd, uint32_t number, const void *cmd, size_t size, uint16_t in, uint16_t out)
{
	uint8_t buf[sizeof(struct rdma_ucm_cmd_hdr) + 512] = {};
	struct rdma_ucm_cmd_hdr hdr = { .cmd = number, .in = in, .out = out };
	size_t len = sizeof(hdr) + (in > size ? in : size);
	ssize_t ret;

	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), cmd, size);
	ret = write(fd, buf, len);
	if (ret >= 0)
		EXPECT_EQ(ret, len);
	return ret < 0 ? -errno : 0;
}

int ucm_create(int fd, uint64_t uid, uint16_t ps, uint32_t *id)
{
	struct rdma_ucm_create_id_resp resp = {};
	struct rdma_ucm_create_id cmd = { .uid = uid, .response = PTR(resp), .ps = ps };
	int ret = CALL(fd, CREATE_ID, cmd, sizeof(resp));

	*id = resp.id;
	return ret;
}

uint32_t ucm_get_id(int fd, uint64_t uid)
{
	uint32_t id;

	EXPECT_EQ(ucm_create(fd, uid, RDMA_PS_TCP, &id), 0);
	return id;
}

int ucm_destroy(int fd, uint32_t id, uint32_t *reported)
{
	struct rdma_ucm_destroy_id_resp resp = { 77 };
	struct rdma_ucm_destroy_id cmd = { .response = PTR(resp), .id = id };
	int ret = CALL(fd, DESTROY_ID, cmd, sizeof(resp));

	if (reported)
		*reported = resp.events_reported;
	return ret;
}

int ucm_migrate(int to, int from, uint32_t id, uint32_t *reported)
{
	struct rdma_ucm_migrate_resp resp = { 77 };
	struct rdma_ucm_migrate_id cmd = { .response = PTR(resp), .id = id, .fd = from };
	int ret = CALL(to, MIGRATE_ID, cmd, sizeof(resp));

	if (reported)
		*reported = resp.events_reported;
	return ret;
}

struct sockaddr_in ucm_address(const char *ip, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, ip, &sin.sin_addr);
	return sin;
}

int ucm_bind(int fd, uint32_t id, const char *ip, uint16_t port)
{
	struct rdma_ucm_bind cmd = { .id = id, .addr_size = sizeof(struct sockaddr_in) };
	struct sockaddr_in sin = ucm_address(ip, port);

	memcpy(&cmd.addr, &sin, sizeof(sin));
	return CALL(fd, BIND, cmd, 0);
}

int ucm_resolve(int fd, uint32_t id, uint16_t port)
{
	struct rdma_ucm_resolve_addr cmd = { .id = id, .timeout_ms = 2000,
					     .dst_size = sizeof(struct sockaddr_in) };
	struct sockaddr_in sin = ucm_address(UCM_HOST, port);

	memcpy(&cmd.dst_addr, &sin, sizeof(sin));
	return CALL(fd, RESOLVE_ADDR, cmd, 0);
}

int ucm_resolve_route(int fd, uint32_t id)
{
	struct rdma_ucm_resolve_route cmd = { .id = id, .timeout_ms = 2000 };

	return CALL(fd, RESOLVE_ROUTE, cmd, 0);
}

int ucm_get_event(int fd, struct rdma_ucm_event_resp *resp)
{
	struct rdma_ucm_get_event cmd = { .response = (uintptr_t)resp };

	memset(resp, 0xee, sizeof(*resp));
	return CALL(fd, GET_EVENT, cmd, sizeof(*resp));
}

bool ucm_is_readable(int fd, int ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return MUST(poll(&poll_fd, 1, ms));
}

void ucm_expect_event(int fd, uint32_t type, uint32_t id, uint64_t uid,
		      struct rdma_ucm_event_resp *resp)
{
	struct rdma_ucm_event_resp mine;

	resp = resp ?: &mine;
	EXPECT(ucm_is_readable(fd, 10000));
	EXPECT_EQ(ucm_get_event(fd, resp), 0);
	EXPECT_EQ(resp->event, type);
	EXPECT_EQ(resp->status, 0);
	EXPECT_EQ(resp->id, id);
	EXPECT_EQ(resp->uid, uid);
}

void ucm_expect_route(int fd, uint32_t id, uint64_t uid, uint16_t port)
{
	EXPECT_EQ(ucm_resolve(fd, id, port), 0);
	ucm_expect_event(fd, ADDR_RESOLVED, id, uid, NULL);
	EXPECT_EQ(ucm_resolve_route(fd, id), 0);
	ucm_expect_event(fd, ROUTE_RESOLVED, id, uid, NULL);
}

uint32_t ucm_get_routed(int fd, uint64_t uid, uint16_t port)
{
	uint32_t id = ucm_get_id(fd, uid);

	ucm_expect_route(fd, id, uid, port);
	return id;
}

void ucm_expect_listen(int fd, uint32_t id, uint16_t port)
{
	struct rdma_ucm_listen cmd = { .id = id, .backlog = 3 };

	EXPECT_EQ(ucm_bind(fd, id, UCM_HOST, port), 0);
	EXPECT_EQ(CALL(fd, LISTEN, cmd, 0), 0);
}

uint32_t ucm_get_listener(int fd, uint64_t uid, uint16_t port)
{
	uint32_t id = ucm_get_id(fd, uid);

	ucm_expect_listen(fd, id, port);
	return id;
}

int ucm_connect(int fd, uint32_t id, size_t size)
{
	struct rdma_ucm_connect cmd = { .id = id, .ece = { 0x15b3, 7 } };

	cmd.conn_param.valid = 1;
	cmd.conn_param.qp_num = 17;
	cmd.conn_param.responder_resources = 3;
	cmd.conn_param.initiator_depth = 2;
	cmd.conn_param.retry_count = 5;
	cmd.conn_param.private_data_len = 5;
	memcpy(cmd.conn_param.private_data, "hello", 5);
	return ucm_call(fd, RDMA_USER_CM_CMD_CONNECT, &cmd, size, size, 0);
}

int ucm_accept(int fd, uint32_t id, uint64_t uid, bool valid, size_t size)
{
	struct rdma_ucm_accept cmd = { .id = id, .uid = uid, .ece = { 0x15b3, 9 } };

	cmd.conn_param.valid = valid;
	cmd.conn_param.qp_num = 18;
	cmd.conn_param.private_data_len = 3;
	memcpy(cmd.conn_param.private_data, "hey", 3);
	return ucm_call(fd, RDMA_USER_CM_CMD_ACCEPT, &cmd, size, size, 0);
}

int ucm_disconnect(int fd, uint32_t id)
{
	struct rdma_ucm_disconnect cmd = { id };

	return CALL(fd, DISCONNECT, cmd, 0);
}
