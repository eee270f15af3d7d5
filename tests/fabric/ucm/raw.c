// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The ABI of rdma_ucm without a library: each command with lengths and pointers of every kind, ids
 * that move between files, events and their counts. All of it but the tests of ours_*() holds for
 * rdma_ucm as well.
 */
#include <arpa/inet.h>
#include <linux/userfaultfd.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "own_device.h"
#include "ucm_calls.h"

#define PAGE 4096

/* Events that a program may post, which the headers of a test machine may lack. */
enum { USER_EVENT = 18, INTERNAL_EVENT = 19 };

struct write_cm_event {
	uint32_t id;
	uint32_t reserved;
	uint32_t event;
	uint32_t status;
	uint64_t arg;
	uint8_t more[304];	/* of other members of the union */
};

struct resolve_ib_service {
	uint32_t id;
	uint32_t reserved;
	uint64_t service_id;
	uint8_t service_name[64];
	uint32_t flags;
	uint32_t reserved2;
};

TEST(header)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_create_id cmd = { .response = PTR(resp), .ps = RDMA_PS_TCP };
	struct rdma_ucm_cmd_hdr hdr = { .cmd = 1000 };
	int fd = ucm_open();

	EXPECT(write(fd, &hdr, sizeof(hdr) - 1) < 0 && errno == EINVAL);
	EXPECT(syscall(SYS_write, fd, 8, sizeof(hdr)) < 0 && errno == EFAULT);
	EXPECT(write(fd, &hdr, sizeof(hdr)) < 0 && errno == EINVAL);
	hdr.cmd = RDMA_USER_CM_CMD_CREATE_ID;
	hdr.in = sizeof(cmd);
	hdr.out = sizeof(resp);
	/* The command ends behind what was written. */
	EXPECT(write(fd, &hdr, sizeof(hdr)) < 0 && errno == EINVAL);
	EXPECT_EQ(CALL(fd, GET_OPTION, cmd, 0), -ENOSYS);
	EXPECT_EQ(CALL(fd, CREATE_ID, cmd, sizeof(resp) - 1), -ENOSPC);
	/* The length in the header is not that of the struct, which is read whole. */
	EXPECT_EQ(ucm_call(fd, RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd), 0, 4), 0);
	EXPECT_EQ(ucm_call(fd, RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd), 100, 100), 0);
	EXPECT(read(fd, &hdr, sizeof(hdr)) < 0 && errno == EINVAL);
}

TEST(commands_behind_the_last)
{
	struct rdma_ucm_notify cmd = { .id = 0x7fffffff };
	int fd = ucm_open(), i;

	/* RESOLVE_IB_SERVICE and WRITE_CM_EVENT; an id, or an event, that there is not. */
	for (i = 1; i <= 2; i++)
		EXPECT_EQ(ucm_call(fd, RDMA_USER_CM_CMD_JOIN_MCAST + i, &cmd, sizeof(cmd), 8, 0),
			  !ktap_kernel_since(6, 18) || i == 2 ? -EINVAL : -ENOENT);
	EXPECT_EQ(ucm_call(fd, RDMA_USER_CM_CMD_JOIN_MCAST + 3, &cmd, sizeof(cmd), 8, 0), -EINVAL);
}

/* Since 6.18 a program may post events, and ask for service records. */
TEST(events_of_the_program)
{
	struct write_cm_event cmd = { .event = USER_EVENT, .status = 3, .arg = 0x123456789abcdef };
	struct resolve_ib_service ask = { .service_name = "none", .flags = 3 };
	int fd = ucm_open(), wanted = ktap_kernel_since(6, 18) ? 0 : -EINVAL;
	struct rdma_ucm_event_resp ev;

	cmd.id = ucm_get_id(fd, 5);
	ask.id = cmd.id;
	/* Without a device nobody can be asked. */
	EXPECT_EQ(ucm_call(fd, RDMA_USER_CM_CMD_JOIN_MCAST + 1, &ask, sizeof(ask), sizeof(ask), 0),
		  -EINVAL);
	for (; cmd.event <= INTERNAL_EVENT; cmd.event++) {
		EXPECT_EQ(ucm_call(fd, RDMA_USER_CM_CMD_JOIN_MCAST + 2, &cmd, sizeof(cmd),
				   sizeof(cmd), 0), wanted);
		if (wanted)
			continue;
		EXPECT_EQ(ucm_get_event(fd, &ev), 0);
		EXPECT_EQ(ev.event, cmd.event);
		EXPECT_EQ(ev.status, 3);
		EXPECT_EQ(ev.id, cmd.id);
		EXPECT_EQ(ev.uid, 5);
		EXPECT_EQ(memcmp(&ev.param, &cmd.arg, sizeof(cmd.arg)), 0);
	}
}

TEST(port_spaces)
{
	int fd = ucm_open();
	uint32_t id;

	EXPECT_EQ(ucm_create(fd, 1, RDMA_PS_UDP, &id), 0);
	EXPECT_EQ(ucm_create(fd, 1, RDMA_PS_IPOIB, &id), 0);
	EXPECT_EQ(ucm_create(fd, 1, RDMA_PS_IB, &id), 0);
	EXPECT_EQ(ucm_create(fd, 1, 0, &id), -EINVAL);
	EXPECT_EQ(ucm_create(fd, 1, 5, &id), -EINVAL);
}

TEST(response_that_cannot_be_written)
{
	struct rdma_ucm_create_id cmd = { .response = 8, .ps = RDMA_PS_TCP };
	struct rdma_ucm_destroy_id end = { .response = 8 };
	struct rdma_ucm_get_event get = { .response = 8 };
	struct rdma_ucm_query query = { .response = 8 };
	int fd = ucm_open();
	uint32_t id = ucm_get_id(fd, 1), reported;

	EXPECT_EQ(CALL(fd, CREATE_ID, cmd, 4), -EFAULT);
	EXPECT_EQ(ucm_resolve(fd, id, 7471), 0);
	EXPECT(ucm_is_readable(fd, 10000));
	EXPECT_EQ(CALL(fd, GET_EVENT, get, sizeof(struct rdma_ucm_event_resp)), -EFAULT);
	/* The event is not lost. */
	ucm_expect_event(fd, ADDR_RESOLVED, id, 1, NULL);
	query.id = id;
	EXPECT_EQ(CALL(fd, QUERY_ROUTE, query, sizeof(struct rdma_ucm_query_route_resp)), -EFAULT);
	EXPECT_EQ(CALL(fd, QUERY, query, sizeof(struct rdma_ucm_query_addr_resp)), -EFAULT);
	/* The id is destroyed nevertheless. */
	end.id = id;
	EXPECT_EQ(CALL(fd, DESTROY_ID, end, 4), -EFAULT);
	EXPECT_EQ(ucm_destroy(fd, id, &reported), -ENOENT);
}

/* All commands with the number of an id, as far as they look at it. */
static void expect_all(int fd, uint32_t id, int wanted)
{
	struct rdma_ucm_bind_ip bind_ip = { .id = id };
	struct rdma_ucm_resolve_ip resolve_ip = { .id = id };
	struct rdma_ucm_query query = { .id = id };
	struct rdma_ucm_listen listen = { .id = id };
	struct rdma_ucm_reject reject = { .id = id };
	struct ib_uverbs_qp_attr attr;
	struct rdma_ucm_init_qp_attr init = { .response = PTR(attr), .id = id, .qp_state = 1 };
	struct rdma_ucm_set_option option = { .id = id };
	struct rdma_ucm_notify notify = { .id = id };
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_join_ip_mcast join_ip = { .response = PTR(resp), .id = id };
	struct rdma_ucm_join_mcast join = { .response = PTR(resp), .id = id,
					    .addr_size = sizeof(struct sockaddr_in) };
	struct sockaddr_in sin = ucm_address("239.1.2.3", 0);

	memcpy(&bind_ip.addr, &sin, sizeof(sin));
	memcpy(&resolve_ip.dst_addr, &sin, sizeof(sin));
	memcpy(&join_ip.addr, &sin, sizeof(sin));
	memcpy(&join.addr, &sin, sizeof(sin));
	EXPECT_EQ(ucm_destroy(fd, id, NULL), wanted);
	EXPECT_EQ(CALL(fd, BIND_IP, bind_ip, 0), wanted);
	EXPECT_EQ(ucm_bind(fd, id, UCM_HOST, 0), wanted);
	EXPECT_EQ(CALL(fd, RESOLVE_IP, resolve_ip, 0), wanted);
	EXPECT_EQ(ucm_resolve(fd, id, 7471), wanted);
	EXPECT_EQ(ucm_resolve_route(fd, id), wanted);
	EXPECT_EQ(CALL(fd, QUERY_ROUTE, query, 400), wanted);
	EXPECT_EQ(CALL(fd, QUERY, query, 400), wanted);
	EXPECT_EQ(ucm_connect(fd, id, sizeof(struct rdma_ucm_connect)), wanted);
	EXPECT_EQ(CALL(fd, LISTEN, listen, 0), wanted);
	EXPECT_EQ(ucm_accept(fd, id, 1, true, sizeof(struct rdma_ucm_accept)), wanted);
	EXPECT_EQ(ucm_accept(fd, id, 1, false, sizeof(struct rdma_ucm_accept)), wanted);
	EXPECT_EQ(CALL(fd, REJECT, reject, 0), wanted);
	EXPECT_EQ(ucm_disconnect(fd, id), wanted);
	EXPECT_EQ(CALL(fd, INIT_QP_ATTR, init, sizeof(attr)), wanted);
	EXPECT_EQ(CALL(fd, SET_OPTION, option, 0), wanted);
	EXPECT_EQ(CALL(fd, NOTIFY, notify, 0), wanted);
	EXPECT_EQ(CALL(fd, JOIN_IP_MCAST, join_ip, sizeof(resp)), wanted);
	EXPECT_EQ(CALL(fd, JOIN_MCAST, join, sizeof(resp)), wanted);
}

TEST(ids_that_there_are_not)
{
	int fd = ucm_open(), other = ucm_open();
	uint32_t id = ucm_get_id(other, 1);
	struct rdma_ucm_destroy_id_resp resp;
	struct rdma_ucm_destroy_id leave = { .response = PTR(resp), .id = 0x7fffffff };

	expect_all(fd, 0x7fffffff, -ENOENT);
	expect_all(fd, 0xffffffff, -ENOENT);
	expect_all(fd, id, -EINVAL);
	EXPECT_EQ(CALL(fd, LEAVE_MCAST, leave, sizeof(resp)), -ENOENT);
	EXPECT_EQ(ucm_destroy(other, id, NULL), 0);
	expect_all(fd, id, -ENOENT);
}

/* What needs a device is refused before one is bound. */
TEST(ids_without_a_device)
{
	struct ib_uverbs_qp_attr attr;
	struct rdma_ucm_init_qp_attr init = { .response = PTR(attr), .qp_state = 1 };
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_join_ip_mcast join = { .response = PTR(resp) };
	struct sockaddr_in sin = ucm_address("239.1.2.3", 0);
	struct rdma_ucm_reject reject = {};
	struct rdma_ucm_notify notify = {};
	int fd = ucm_open();
	uint32_t id = ucm_get_id(fd, 1);

	init.id = id;
	join.id = id;
	reject.id = id;
	notify.id = id;
	memcpy(&join.addr, &sin, sizeof(sin));
	EXPECT_EQ(ucm_resolve_route(fd, id), -EINVAL);
	EXPECT_EQ(ucm_connect(fd, id, OLD_CONNECT), -EINVAL);
	EXPECT_EQ(ucm_accept(fd, id, 1, true, OLD_ACCEPT), -EINVAL);
	EXPECT_EQ(ucm_accept(fd, id, 1, false, OLD_ACCEPT), -EINVAL);
	EXPECT_EQ(CALL(fd, REJECT, reject, 0), -EINVAL);
	EXPECT_EQ(ucm_disconnect(fd, id), -EINVAL);
	EXPECT_EQ(CALL(fd, INIT_QP_ATTR, init, sizeof(attr)), -EINVAL);
	EXPECT_EQ(CALL(fd, NOTIFY, notify, 0), -EINVAL);
	EXPECT_EQ(CALL(fd, JOIN_IP_MCAST, join, sizeof(resp)), -EINVAL);
	init.id = 0x7fffffff;
	init.qp_state = 9;
	EXPECT_EQ(CALL(fd, INIT_QP_ATTR, init, sizeof(attr)), -EINVAL);
}

TEST(addresses)
{
	struct rdma_ucm_resolve_addr both = { .timeout_ms = 100 };
	struct rdma_ucm_bind cmd = { .addr_size = sizeof(struct sockaddr_in) };
	struct sockaddr_in sin = ucm_address(UCM_HOST, 0);
	struct rdma_ucm_resolve_ip old = { .timeout_ms = 100 };
	struct rdma_ucm_bind_ip ip = {};
	int fd = ucm_open();
	uint32_t id = ucm_get_id(fd, 1);

	cmd.id = id;
	EXPECT_EQ(CALL(fd, BIND, cmd, 0), -EINVAL);	/* no family */
	memcpy(&cmd.addr, &sin, sizeof(sin));
	cmd.addr_size--;
	EXPECT_EQ(CALL(fd, BIND, cmd, 0), -EINVAL);
	cmd.addr_size = 0;
	EXPECT_EQ(CALL(fd, BIND, cmd, 0), -EINVAL);
	cmd.addr_size = sizeof(sin);
	cmd.reserved = 1;
	EXPECT_EQ(CALL(fd, BIND, cmd, 0), -EINVAL);
	ip.id = id;
	ip.addr.sin6_family = AF_IB;			/* longer than the member */
	EXPECT_EQ(CALL(fd, BIND_IP, ip, 0), -EINVAL);
	both.id = id;
	EXPECT_EQ(CALL(fd, RESOLVE_ADDR, both, 0), -EINVAL);
	both.dst_size = sizeof(sin);
	memcpy(&both.dst_addr, &sin, sizeof(sin));
	both.src_size = 3;
	EXPECT_EQ(CALL(fd, RESOLVE_ADDR, both, 0), -EINVAL);
	old.id = id;
	EXPECT_EQ(CALL(fd, RESOLVE_IP, old, 0), -EINVAL);
	old.src_addr.sin6_family = AF_IB;
	memcpy(&old.dst_addr, &sin, sizeof(sin));
	EXPECT_EQ(CALL(fd, RESOLVE_IP, old, 0), -EINVAL);
	cmd.reserved = 0;
	EXPECT_EQ(CALL(fd, BIND, cmd, 0), 0);
	EXPECT_EQ(CALL(fd, BIND, cmd, 0), -EINVAL);	/* bound */
	old.id = ucm_get_id(fd, 1);
	old.src_addr.sin6_family = AF_INET6;		/* to AF_INET */
	EXPECT_EQ(CALL(fd, RESOLVE_IP, old, 0), -EINVAL);
}

TEST(queries)
{
	struct rdma_ucm_query_route_resp route, cut;
	struct rdma_ucm_query_addr_resp addr, gid;
	struct {
		struct rdma_ucm_query_path_resp head;
		struct ib_path_rec_data path[2];
	} paths;
	const size_t old_route = offsetof(struct rdma_ucm_query_route_resp, ibdev_index);
	const size_t old_addr = offsetof(struct rdma_ucm_query_addr_resp, ibdev_index);
	struct rdma_ucm_query query = {};
	struct sockaddr_in sin = ucm_address(UCM_HOST, 7471);
	int fd = ucm_open();
	uint32_t id = ucm_get_routed(fd, 1, 7471);

	query.id = id;
	query.response = PTR(route);
	EXPECT_EQ(CALL(fd, QUERY_ROUTE, query, sizeof(route)), 0);
	EXPECT_EQ(route.num_paths, 1);
	EXPECT_EQ(route.port_num, 1);
	EXPECT(route.node_guid);
	EXPECT_EQ(memcmp(&route.dst_addr, &sin, sizeof(sin)), 0);
	/* Libraries that do not know the index of the device. */
	memset(&cut, 0xee, sizeof(cut));
	query.response = PTR(cut);
	EXPECT_EQ(CALL(fd, QUERY_ROUTE, query, old_route), 0);
	EXPECT_EQ(memcmp(&cut, &route, old_route), 0);
	EXPECT_EQ(cut.ibdev_index, 0xeeeeeeee);
	EXPECT_EQ(CALL(fd, QUERY_ROUTE, query, old_route - 1), -ENOSPC);

	query.option = RDMA_USER_CM_QUERY_ADDR;
	query.response = PTR(addr);
	EXPECT_EQ(CALL(fd, QUERY, query, sizeof(addr)), 0);
	EXPECT_EQ(addr.node_guid, route.node_guid);
	EXPECT_EQ(addr.ibdev_index, route.ibdev_index);
	EXPECT_EQ(addr.dst_size, sizeof(sin));
	EXPECT_EQ(memcmp(&addr.dst_addr, &sin, sizeof(sin)), 0);
	EXPECT_EQ(CALL(fd, QUERY, query, old_addr - 1), -ENOSPC);

	query.option = RDMA_USER_CM_QUERY_GID;
	query.response = PTR(gid);
	EXPECT_EQ(CALL(fd, QUERY, query, sizeof(gid)), 0);
	EXPECT_EQ(gid.dst_size, 48);
	EXPECT_EQ(gid.pkey, 0);
	/* The service ID is the port space and the port; it follows the GID. */
	EXPECT_EQ(memcmp((uint8_t *)&gid.dst_addr + 24, "\0\0\0\0\1\6\x1d\x2f", 8), 0);

	query.option = RDMA_USER_CM_QUERY_PATH;
	query.response = PTR(paths);
	EXPECT_EQ(CALL(fd, QUERY, query, sizeof(paths)), 0);
	EXPECT_EQ(paths.head.num_paths, 1);
	EXPECT_EQ(paths.path[0].flags, IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL);
	memset(&paths, 0xee, sizeof(paths));
	EXPECT_EQ(CALL(fd, QUERY, query, sizeof(paths.head) + 10), 0);
	EXPECT_EQ(paths.head.num_paths, 1);
	EXPECT_EQ(paths.path[0].flags, 0xeeeeeeee);
	EXPECT_EQ(CALL(fd, QUERY, query, sizeof(paths.head) - 1), -ENOSPC);
	query.option = 9;
	EXPECT_EQ(CALL(fd, QUERY, query, 400), -ENOSYS);
}

TEST(events_are_cut_and_wait)
{
	struct rdma_ucm_event_resp resp;
	struct rdma_ucm_get_event cmd = { .response = PTR(resp) };
	size_t old = offsetof(struct rdma_ucm_event_resp, reserved);
	int fd = ucm_open();
	uint32_t id = ucm_get_id(fd, 5);

	MUST(fcntl(fd, F_SETFL, O_NONBLOCK));
	EXPECT(!ucm_is_readable(fd, 0));
	EXPECT_EQ(ucm_get_event(fd, &resp), -EAGAIN);
	EXPECT_EQ(ucm_resolve(fd, id, 7471), 0);
	EXPECT(ucm_is_readable(fd, 10000));
	EXPECT_EQ(CALL(fd, GET_EVENT, cmd, old - 1), -ENOSPC);
	memset(&resp, 0xee, sizeof(resp));
	EXPECT_EQ(CALL(fd, GET_EVENT, cmd, old), 0);
	EXPECT_EQ(resp.event, ADDR_RESOLVED);
	EXPECT_EQ(resp.uid, 5);
	EXPECT_EQ(resp.reserved, 0xeeeeeeee);
	EXPECT_EQ(resp.ece.vendor_id, 0xeeeeeeee);
	EXPECT(!ucm_is_readable(fd, 0));
}

TEST(id_without_uid_has_no_events)
{
	int fd = ucm_open();
	uint32_t id = ucm_get_id(fd, 0), reported;

	EXPECT_EQ(ucm_resolve(fd, id, 7471), 0);
	EXPECT(!ucm_is_readable(fd, 300));
	EXPECT_EQ(ucm_destroy(fd, id, &reported), 0);
	EXPECT_EQ(reported, 0);
}

TEST(numbers_are_unique_over_files)
{
	int fd = ucm_open(), other = ucm_open(), i, j;
	uint32_t ids[8];

	for (i = 0; i < 8; i++)
		ids[i] = ucm_get_id(i & 1 ? fd : other, 1);
	for (i = 0; i < 8; i++)
		for (j = 0; j < i; j++)
			EXPECT(ids[i] != ids[j]);
	for (i = 0; i < 8; i++)
		EXPECT_EQ(ucm_destroy(i & 1 ? fd : other, ids[i], NULL), 0);
}

static void converse(size_t connect_size, size_t accept_size, bool has_ece)
{
	struct rdma_ucm_init_qp_attr init = { .qp_state = 2 };
	struct ib_uverbs_qp_attr attr = {};
	struct rdma_ucm_event_resp ev;
	int server = ucm_open(), client = ucm_open();
	uint32_t listener = ucm_get_listener(server, 1, 7480), child, reported;
	uint32_t id = ucm_get_routed(client, 2, 7480);

	EXPECT_EQ(ucm_connect(client, id, connect_size), 0);
	EXPECT(ucm_is_readable(server, 10000));
	EXPECT_EQ(ucm_get_event(server, &ev), 0);
	EXPECT_EQ(ev.event, CONNECT_REQUEST);
	EXPECT_EQ(ev.uid, 1);
	EXPECT_EQ(ev.param.conn.qp_num, 17);
	EXPECT_EQ(ev.param.conn.responder_resources, 2);
	EXPECT_EQ(ev.param.conn.initiator_depth, 3);
	EXPECT_EQ(ev.param.conn.retry_count, 5);
	EXPECT_EQ(ev.param.conn.private_data_len, 56);
	EXPECT_EQ(memcmp(ev.param.conn.private_data, "hello\0", 6), 0);
	EXPECT_EQ(ev.ece.vendor_id, has_ece ? 0x15b3 : 0);
	EXPECT_EQ(ev.ece.attr_mod, has_ece ? 7 : 0);
	child = ev.id;
	EXPECT(child != listener && child != id);

	EXPECT_EQ(ucm_accept(server, child, 3, true, accept_size), 0);
	ucm_expect_event(client, CONNECT_RESPONSE, id, 2, &ev);
	EXPECT_EQ(ev.param.conn.qp_num, 18);
	EXPECT_EQ(memcmp(ev.param.conn.private_data, "hey", 4), 0);
	EXPECT_EQ(ev.ece.attr_mod, has_ece ? 9 : 0);
	init.response = PTR(attr);
	init.id = id;
	EXPECT_EQ(CALL(client, INIT_QP_ATTR, init, sizeof(attr) - 1), -ENOSPC);
	EXPECT_EQ(CALL(client, INIT_QP_ATTR, init, sizeof(attr)), 0);
	EXPECT_EQ(attr.dest_qp_num, 18);
	EXPECT_EQ(attr.qp_state, 2);
	init.qp_state = 7;
	EXPECT_EQ(CALL(client, INIT_QP_ATTR, init, sizeof(attr)), -EINVAL);
	EXPECT_EQ(ucm_accept(client, id, 0, false, accept_size), 0);
	ucm_expect_event(server, ESTABLISHED, child, 3, NULL);

	EXPECT_EQ(ucm_disconnect(client, id), 0);
	ucm_expect_event(server, DISCONNECTED, child, 3, NULL);
	ucm_disconnect(server, child);	/* rdma_ucm answers no sooner */
	ucm_expect_event(client, DISCONNECTED, id, 2, NULL);
	EXPECT_EQ(ucm_destroy(server, child, &reported), 0);
	EXPECT_EQ(reported, 2);
	EXPECT_EQ(ucm_destroy(server, listener, &reported), 0);
	EXPECT_EQ(reported, 1);
	EXPECT_EQ(ucm_destroy(client, id, &reported), 0);
	EXPECT(reported >= 4);
}

TEST(connection)
{
	converse(sizeof(struct rdma_ucm_connect), sizeof(struct rdma_ucm_accept), true);
}

TEST(connection_of_older_libraries)
{
	converse(OLD_CONNECT, OLD_ACCEPT, false);
}

TEST(connection_parameters)
{
	struct rdma_ucm_connect none = {};
	int fd = ucm_open();
	uint32_t id = ucm_get_routed(fd, 1, 7481);

	EXPECT_EQ(ucm_connect(fd, id, OLD_CONNECT - 1), -EINVAL);
	EXPECT_EQ(ucm_accept(fd, id, 1, true, OLD_ACCEPT - 1), -EINVAL);
	none.id = id;
	EXPECT_EQ(CALL(fd, CONNECT, none, 0), -EINVAL);	/* not valid */
	/* The id is as before. */
	EXPECT_EQ(ucm_connect(fd, id, OLD_CONNECT), 0);
}

TEST(reject)
{
	struct rdma_ucm_reject cmd = { .private_data_len = 4, .private_data = "nope" };
	struct rdma_ucm_event_resp ev;
	int server = ucm_open(), client = ucm_open();
	uint32_t id;

	ucm_get_listener(server, 1, 7482);
	id = ucm_get_routed(client, 2, 7482);
	EXPECT_EQ(ucm_connect(client, id, OLD_CONNECT), 0);
	EXPECT(ucm_is_readable(server, 10000));
	EXPECT_EQ(ucm_get_event(server, &ev), 0);
	cmd.id = ev.id;
	cmd.reason = 8;
	EXPECT_EQ(CALL(server, REJECT, cmd, 0), -EINVAL);
	cmd.reason = 0;
	EXPECT_EQ(CALL(server, REJECT, cmd, 0), 0);
	EXPECT(ucm_is_readable(client, 10000));
	EXPECT_EQ(ucm_get_event(client, &ev), 0);
	EXPECT_EQ(ev.event, REJECTED);
	EXPECT_EQ(ev.status, 28);
	EXPECT_EQ(memcmp(ev.param.conn.private_data, "nope", 4), 0);
}

/* A request that cannot be accepted is rejected. */
TEST(accept_that_fails)
{
	struct rdma_ucm_accept cmd = { .uid = 3 };
	struct rdma_ucm_event_resp ev;
	int server = ucm_open(), client = ucm_open();
	uint32_t id;

	ucm_get_listener(server, 1, 7486);
	id = ucm_get_routed(client, 2, 7486);
	EXPECT_EQ(ucm_connect(client, id, OLD_CONNECT), 0);
	EXPECT(ucm_is_readable(server, 10000));
	EXPECT_EQ(ucm_get_event(server, &ev), 0);
	cmd.id = ev.id;
	cmd.conn_param.valid = 1;
	cmd.conn_param.private_data_len = 255;	/* more than a reply has room for */
	EXPECT_EQ(CALL(server, ACCEPT, cmd, 0), -EINVAL);
	EXPECT(ucm_is_readable(client, 10000));
	EXPECT_EQ(ucm_get_event(client, &ev), 0);
	EXPECT_EQ(ev.event, REJECTED);
	EXPECT_EQ(ev.status, 28);
}

/* Requests for datagrams are accepted with parameters and without. */
TEST(datagrams)
{
	struct rdma_ucm_accept cmd = { .uid = 3 };
	struct rdma_ucm_event_resp ev;
	int server = ucm_open(), client = ucm_open(), i;
	uint32_t id;

	EXPECT_EQ(ucm_create(server, 1, RDMA_PS_UDP, &id), 0);
	ucm_expect_listen(server, id, 7484);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(ucm_create(client, 2, RDMA_PS_UDP, &id), 0);
		ucm_expect_route(client, id, 2, 7484);
		EXPECT_EQ(ucm_connect(client, id, OLD_CONNECT), 0);
		EXPECT(ucm_is_readable(server, 10000));
		EXPECT_EQ(ucm_get_event(server, &ev), 0);
		EXPECT_EQ(ev.event, CONNECT_REQUEST);
		EXPECT_EQ(memcmp(ev.param.ud.private_data, "hello", 6), 0);
		cmd.id = ev.id;
		cmd.conn_param.valid = !i;
		cmd.conn_param.qp_num = 18;
		cmd.conn_param.qkey = 5;	/* chosen by ids with AF_IB addresses only */
		EXPECT_EQ(CALL(server, ACCEPT, cmd, 0), 0);
		ucm_expect_event(client, ESTABLISHED, id, 2, &ev);
		EXPECT_EQ(ev.param.ud.qp_num, i ? 0 : 18);
		EXPECT_EQ(ev.param.ud.qkey, 0x1234567);
	}
}

TEST(options)
{
	struct rdma_ucm_set_option cmd = { .level = RDMA_OPTION_ID, .optname = RDMA_OPTION_ID_TOS };
	struct rdma_ucm_notify notify = { .event = 4 };
	uint8_t tos = 32;
	int on = 1;
	int fd = ucm_open();

	cmd.id = ucm_get_id(fd, 1);
	notify.id = cmd.id;
	cmd.optlen = sizeof(tos);
	cmd.optval = 8;
	EXPECT_EQ(CALL(fd, SET_OPTION, cmd, 0), -EFAULT);
	cmd.optval = PTR(tos);
	EXPECT_EQ(CALL(fd, SET_OPTION, cmd, 0), 0);
	cmd.optname = RDMA_OPTION_ID_REUSEADDR;
	EXPECT_EQ(CALL(fd, SET_OPTION, cmd, 0), -EINVAL);
	cmd.optval = PTR(on);
	cmd.optlen = sizeof(on);
	EXPECT_EQ(CALL(fd, SET_OPTION, cmd, 0), 0);
	cmd.optname = 99;
	EXPECT_EQ(CALL(fd, SET_OPTION, cmd, 0), -ENOSYS);
	cmd.level = RDMA_OPTION_IB;
	EXPECT_EQ(CALL(fd, SET_OPTION, cmd, 0), -ENOSYS);
	cmd.level = 0xD9;
	EXPECT_EQ(CALL(fd, SET_OPTION, cmd, 0), -ENOSYS);
	cmd.optlen = 0x7fffffff;
	EXPECT_EQ(CALL(fd, SET_OPTION, cmd, 0), -EINVAL);
	EXPECT_EQ(CALL(fd, NOTIFY, notify, 0), -EINVAL);
}

TEST(groups)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_join_mcast cmd = { .response = PTR(resp), .uid = 9,
					   .addr_size = sizeof(struct sockaddr_in) };
	struct rdma_ucm_join_ip_mcast ip = { .response = PTR(resp), .uid = 10 };
	struct rdma_ucm_destroy_id_resp left = { 77 };
	struct rdma_ucm_destroy_id leave = { .response = PTR(left) };
	struct sockaddr_in sin = ucm_address("239.4.5.6", 0);
	struct rdma_ucm_event_resp ev;
	int fd = ucm_open(), other = ucm_open();
	uint32_t id, member, reported;

	EXPECT_EQ(ucm_create(fd, 1, RDMA_PS_UDP, &id), 0);
	EXPECT_EQ(ucm_bind(fd, id, UCM_HOST, 0), 0);
	cmd.id = id;
	ip.id = id;
	memcpy(&cmd.addr, &sin, sizeof(sin));
	memcpy(&ip.addr, &sin, sizeof(sin));
	EXPECT_EQ(CALL(fd, JOIN_MCAST, cmd, sizeof(resp) - 1), -ENOSPC);
	cmd.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	EXPECT_EQ(CALL(fd, JOIN_MCAST, cmd, sizeof(resp)), -EINVAL);
	cmd.join_flags = 0;
	cmd.addr_size++;
	EXPECT_EQ(CALL(fd, JOIN_MCAST, cmd, sizeof(resp)), -EINVAL);
	cmd.addr_size--;
	cmd.response = 8;
	EXPECT_EQ(CALL(fd, JOIN_MCAST, cmd, sizeof(resp)), -EFAULT);
	EXPECT(!ucm_is_readable(fd, 100));
	cmd.response = PTR(resp);
	EXPECT_EQ(CALL(fd, JOIN_MCAST, cmd, sizeof(resp)), 0);
	member = resp.id;
	ucm_expect_event(fd, MULTICAST_JOIN, member, 9, &ev);
	EXPECT_EQ(ev.param.ud.qp_num, 0xffffff);
	EXPECT_EQ(ev.param.ud.ah_attr.is_global, 1);
	EXPECT_EQ(CALL(fd, JOIN_IP_MCAST, ip, sizeof(resp)), 0);
	ip.addr.sin6_family = 0;
	EXPECT_EQ(CALL(fd, JOIN_IP_MCAST, ip, sizeof(resp)), -EINVAL);
	leave.id = member;
	EXPECT_EQ(CALL(other, LEAVE_MCAST, leave, sizeof(left)), -EINVAL);
	EXPECT_EQ(CALL(fd, LEAVE_MCAST, leave, sizeof(left) - 1), -ENOSPC);
	EXPECT_EQ(CALL(fd, LEAVE_MCAST, leave, sizeof(left)), 0);
	EXPECT_EQ(left.events_reported, 1);
	EXPECT_EQ(CALL(fd, LEAVE_MCAST, leave, sizeof(left)), -ENOENT);
	ucm_expect_event(fd, MULTICAST_JOIN, resp.id, 10, NULL);
	EXPECT_EQ(ucm_destroy(fd, id, &reported), 0);
	EXPECT_EQ(reported, 2);
}

TEST(ids_move_with_their_events)
{
	int from = ucm_open(), to = ucm_open(), third = ucm_open();
	uint32_t id = ucm_get_routed(from, 6, 7471), reported, waiting = ucm_get_id(from, 7);

	EXPECT_EQ(ucm_migrate(to, from, id, &reported), 0);
	EXPECT_EQ(reported, 2);
	EXPECT_EQ(ucm_resolve_route(from, id), -EINVAL);
	EXPECT_EQ(ucm_connect(from, id, OLD_CONNECT), -EINVAL);
	EXPECT_EQ(ucm_resolve(from, waiting, 7471), 0);
	EXPECT(ucm_is_readable(from, 10000));
	EXPECT_EQ(ucm_migrate(to, from, waiting, &reported), 0);
	EXPECT_EQ(reported, 0);
	EXPECT(!ucm_is_readable(from, 0));
	ucm_expect_event(to, ADDR_RESOLVED, waiting, 7, NULL);
	/* To the file where it is. */
	EXPECT_EQ(ucm_migrate(to, to, waiting, &reported), 0);
	EXPECT_EQ(reported, 1);
	EXPECT_EQ(ucm_migrate(third, from, waiting, NULL), -EINVAL);
	EXPECT_EQ(ucm_migrate(third, 999, waiting, NULL), -ENOENT);
	EXPECT_EQ(ucm_migrate(third, STDIN_FILENO, waiting, NULL), -EINVAL);
	EXPECT_EQ(ucm_migrate(third, to, 0x7fffffff, NULL), -ENOENT);
	/* Closing the old file leaves them, closing the new one does not. */
	MUST(close(from));
	EXPECT_EQ(ucm_resolve_route(to, waiting), 0);
	ucm_expect_event(to, ROUTE_RESOLVED, waiting, 7, NULL);
	EXPECT_EQ(ucm_migrate(third, to, id, &reported), 0);
	MUST(close(to));
	EXPECT_EQ(ucm_destroy(third, waiting, NULL), -ENOENT);
	EXPECT_EQ(ucm_destroy(third, id, &reported), 0);
	EXPECT_EQ(reported, 2);
}

TEST(closing_a_file_frees_its_port)
{
	int fd = ucm_open(), other = ucm_open();
	uint32_t id;

	ucm_get_listener(fd, 1, 7483);
	id = ucm_get_id(other, 1);
	EXPECT_EQ(ucm_bind(other, id, UCM_HOST, 7483), -EADDRINUSE);
	MUST(close(fd));
	EXPECT_EQ(ucm_bind(other, id, UCM_HOST, 7483), 0);
}

TEST(removed_device)
{
	struct rdma_ucm_event_resp ev;
	int fd = ucm_open();
	uint32_t id = ucm_get_id(fd, 1), reported;

	add_own_device(OWN_DUMMY);
	EXPECT_EQ(ucm_bind(fd, id, OWN_ADDR, 0), 0);
	remove_own_device();
	ucm_expect_event(fd, DEVICE_REMOVAL, id, 1, &ev);
	EXPECT_EQ(ucm_resolve(fd, id, 7471), -ENXIO);
	EXPECT_EQ(ucm_destroy(fd, id, &reported), 0);
	EXPECT_EQ(reported, 1);
	delete_own_device();
}

static void expect_child(pid_t pid)
{
	int status;

	MUST(waitpid(pid, &status, 0));
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status));
}

TEST(child_processes)
{
	int fd = ucm_open();
	uint32_t id = ucm_get_id(fd, 1), none;
	pid_t pid = MUST(fork());

	if (!pid) {
		int own = ucm_open();
		uint32_t more = ucm_get_id(own, 2);

		EXPECT(more != id);
		/* The credentials of a child are not those of its parent. */
		EXPECT_EQ(ucm_create(fd, 1, RDMA_PS_TCP, &none), -EACCES);
		EXPECT_EQ(ucm_resolve(own, id, 7471), -EINVAL);
		EXPECT_EQ(ucm_migrate(own, fd, id, NULL), 0);
		EXPECT_EQ(ucm_resolve(own, id, 7471), 0);
		ucm_expect_event(own, ADDR_RESOLVED, id, 1, NULL);
		_exit(0);
	}
	expect_child(pid);
	/* The id has ended with the child's file. */
	EXPECT_EQ(ucm_destroy(fd, id, NULL), -ENOENT);
}

TEST(other_credentials_are_refused)
{
	int fd = ucm_open();
	pid_t pid = MUST(fork());

	if (!pid) {
		uint32_t id;

		MUST(setgid(65534));
		MUST(setuid(65534));
		EXPECT_EQ(ucm_create(fd, 1, RDMA_PS_TCP, &id), -EACCES);
		EXPECT_EQ(ucm_create(ucm_open(), 1, RDMA_PS_TCP, &id), 0);
		_exit(0);
	}
	expect_child(pid);
}

static void *read_into(void *arg)
{
	struct rdma_ucm_event_resp *resp = ((void **)arg)[1];
	struct rdma_ucm_get_event cmd = { .response = (uintptr_t)resp };

	return (void *)(long)CALL((long)((void **)arg)[0], GET_EVENT, cmd, sizeof(*resp));
}

/* A reader whose page does not come holds up no other command; rdma_ucm holds a mutex then. */
TEST(ours_does_not_wait_for_a_page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .range.len = PAGE, .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_zeropage zero = {};
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	int fd = ucm_open(), other = ucm_open();
	uint32_t id = ucm_get_id(fd, 1), more, reported;
	struct uffd_msg msg;
	pthread_t thread;
	void *args[2];
	void *ret;

	if (uffd < 0)
		ktap_skip("no userfaultfd: %m");
	ktap_timeout(60);
	MUST(ioctl(uffd, UFFDIO_API, &api));
	args[0] = (void *)(long)fd;
	args[1] = MUST(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0));
	reg.range.start = (uintptr_t)args[1];
	MUST(ioctl(uffd, UFFDIO_REGISTER, &reg));
	EXPECT_EQ(ucm_resolve(fd, id, 7471), 0);
	EXPECT_EQ(pthread_create(&thread, NULL, read_into, args), 0);
	EXPECT_EQ(MUST(read(uffd, &msg, sizeof(msg))), sizeof(msg));

	more = ucm_get_id(fd, 2);
	EXPECT_EQ(ucm_resolve(fd, more, 7471), 0);
	EXPECT_EQ(ucm_migrate(other, fd, more, &reported), 0);
	ucm_expect_event(other, ADDR_RESOLVED, more, 2, NULL);
	EXPECT_EQ(ucm_resolve_route(fd, id), 0);
	EXPECT_EQ(ucm_destroy(other, more, NULL), 0);
	zero.range.start = reg.range.start;
	zero.range.len = PAGE;
	MUST(ioctl(uffd, UFFDIO_ZEROPAGE, &zero));
	EXPECT_EQ(pthread_join(thread, &ret), 0);
	EXPECT_EQ((long)ret, 0);
	ucm_expect_event(fd, ROUTE_RESOLVED, id, 1, NULL);
	EXPECT_EQ(ucm_destroy(fd, id, &reported), 0);
	EXPECT_EQ(reported, 2);
}

/* Files and ids that threads share in ours_survives_many_threads(). */
static struct {
	_Atomic int fds[4];
	_Atomic uint32_t ids[16];
	atomic_bool ends;
} crowd;

static void *run_amok(void *arg)
{
	struct rdma_ucm_event_resp ev;
	struct rdma_ucm_query query = { .response = PTR(ev) };
	unsigned int seed = (uintptr_t)arg;
	uint32_t id;

	while (!atomic_load(&crowd.ends)) {
		_Atomic uint32_t *slot = &crowd.ids[rand_r(&seed) % 16];
		_Atomic int *file = &crowd.fds[rand_r(&seed) % 4];
		int fd = atomic_load(file), other = atomic_load(&crowd.fds[rand_r(&seed) % 4]);

		query.id = atomic_load(slot);
		switch (rand_r(&seed) % 12) {
		case 0:
		case 1:
			if (!ucm_create(fd, 1, RDMA_PS_TCP, &id))
				atomic_store(slot, id);
			break;
		case 2:
		case 3:
			ucm_resolve(fd, query.id, 7471);
			break;
		case 4:
			ucm_resolve_route(fd, query.id);
			break;
		case 5:
			ucm_connect(fd, query.id, OLD_CONNECT);
			break;
		case 6:
		case 7:
			ucm_migrate(other, fd, query.id, NULL);
			break;
		case 8:
			CALL(fd, QUERY_ROUTE, query, sizeof(ev));
			break;
		case 9:
			ucm_get_event(fd, &ev);
			if (ev.event == CONNECT_REQUEST)
				ucm_accept(fd, ev.id, 1, true, OLD_ACCEPT);
			break;
		case 10:
			ucm_destroy(fd, query.id, NULL);
			break;
		case 11:
			/* A file may be closed by two threads, and then be another one's. */
			if (rand_r(&seed) % 8 == 0) {
				fd = atomic_exchange(file, open(UCM_NODE, O_RDWR | O_NONBLOCK));
				usleep(1000);
				close(fd);
			}
			break;
		}
	}
	return NULL;
}

/* Nothing is asserted but that the calls return: the debug kernel looks for what they do. */
TEST(ours_survives_many_threads)
{
	pthread_t threads[6];
	unsigned int i;
	int server = ucm_open();

	ucm_get_listener(server, 1, 7471);
	for (i = 0; i < 4; i++)
		atomic_store(&crowd.fds[i], MUST(open(UCM_NODE, O_RDWR | O_NONBLOCK)));
	for (i = 0; i < 6; i++)
		EXPECT_EQ(pthread_create(&threads[i], NULL, run_amok, (void *)(uintptr_t)(i + 1)),
			  0);
	sleep(4);
	atomic_store(&crowd.ends, true);
	for (i = 0; i < 6; i++)
		EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}

KTAP_MAIN
