// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Calls of the stock rdma_cm through its own device. */
#include "stock_cm.h"


#include "rca_test.h"

int stock_call(int fd, uint32_t cmd, const void *in, uint16_t in_len, uint16_t out_len)
{
	struct rdma_ucm_cmd_hdr hdr = { .cmd = cmd, .in = in_len, .out = out_len };
	uint8_t buf[512];

	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), in, in_len);
	return write(fd, buf, sizeof(hdr) + in_len) < 0 ? -errno : 0;
}

int stock_open(void)
{
	int fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		ktap_skip("no stock rdma_cm");
	return fd;
}

uint32_t stock_id(int fd)
{
	struct rdma_ucm_create_id_resp resp = {};
	struct rdma_ucm_create_id create = {
		.response = (uintptr_t)&resp, .ps = RDMA_PS_TCP, .qp_type = 2 /* RC */,
	};

	EXPECT_EQ(stock_call(fd, RDMA_USER_CM_CMD_CREATE_ID, &create, sizeof(create),
			     sizeof(resp)), 0);
	return resp.id;
}

int stock_bind(int fd, uint32_t id, const char *ip, uint16_t port)
{
	struct rdma_ucm_bind bind = { .id = id, .addr_size = sizeof(struct sockaddr_in) };
	addr_t addr = make_addr(ip, port);

	memcpy(&bind.addr, &addr, sizeof(struct sockaddr_in));
	return stock_call(fd, RDMA_USER_CM_CMD_BIND, &bind, sizeof(bind), 0);
}

int stock_listen(int fd, uint32_t id)
{
	struct rdma_ucm_listen listen = { .id = id, .backlog = 5 };

	return stock_call(fd, RDMA_USER_CM_CMD_LISTEN, &listen, sizeof(listen), 0);
}

int stock_get_event(int fd, void *resp)
{
	struct rdma_ucm_get_event get = { .response = (uintptr_t)resp };

	return stock_call(fd, RDMA_USER_CM_CMD_GET_EVENT, &get, sizeof(get),
			  sizeof(struct rdma_ucm_event_resp));
}

int stock_may_listen(const char *ip, uint16_t port)
{
	int fd = stock_open(), ret;
	uint32_t id = stock_id(fd);

	EXPECT_EQ(stock_bind(fd, id, ip, port), 0);
	ret = stock_listen(fd, id);
	MUST(close(fd));
	return ret;
}
