// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A fault at each place of the commands of rdma_cm_alt_ucm, whose device has taken the place of
 * rdma_ucm's: a command that fails has had no effect and works when it is made again, or it failed
 * with EFAULT after its effect, because its answer could not be written. And one at each place
 * where the module, RIG_UCM_MODULE in the environment, allocates memory when it is loaded.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"
#include "inventory.h"
#include "ucm_calls.h"

#define PORT 7485

enum { ADDR_ERROR = 1, ROUTE_ERROR = 3, MULTICAST_ERROR = 13 };

/* Two files; of a connection the second one is the listener's. */
static int fd, other;
static uint32_t client, server;
static struct inventory before;

static void begin(void)
{
	inventory_take(&before);
	fd = ucm_open();
	other = ucm_open();
}

/* Files hold nothing back when they are closed, and no id was lost before. */
static void end(void)
{
	MUST(close(fd));
	MUST(close(other));
	inventory_await(&before);
}

static uint32_t ids_used(void)
{
	int ctx = get_ctx();
	uint32_t used = usage_as(0, ctx, IDS).out_user_used;

	MUST(close(ctx));
	return used;
}

static int load_module(void)
{
	int file = MUST(open(getenv("RIG_UCM_MODULE"), O_RDONLY | O_CLOEXEC));
	int ret = OR_ERRNO(syscall(SYS_finit_module, file, "", 0));

	MUST(close(file));
	return ret;
}

static int unload_module(void)
{
	return OR_ERRNO(syscall(SYS_delete_module, "rdma_cm_alt_ucm", O_NONBLOCK));
}

/* Loading succeeds, or leaves nothing that is in the way of the next time. */
TEST(load)
{
	struct text init = text_of_function("do_one_initcall");

	EXPECT_EQ(unload_module(), 0);
	faults_within(&init, NULL);	/* not in the module loader of the kernel */
	for_each_fault(s) {
		if (SWEEP_FAILS(&s, load_module())) {
			EXPECT(access("/sys/module/rdma_cm_alt_ucm", F_OK));
			EXPECT(access("/proc/sys/net/rdma_ucm", F_OK));
			EXPECT(access("/sys/class/misc/rdma_cm", F_OK));
			continue;
		}
		EXPECT_EQ(unload_module(), 0);
	}
	faults_within(NULL, NULL);
	EXPECT_EQ(load_module(), 0);
}

/*
 * Opening and creating are swept everywhere, and then where the module fails: among the places of
 * the kernel, whose number differs from one call to the next, a sweep may miss one.
 */
TEST(open_device)
{
	struct text within[] = {
		{ 0, -1UL }, text_of_function("ucm_open"), text_of_function("rca_queue_create"),
	};
	int fds = count_fds() + 1;	/* the sweep has one */

	inventory_take(&before);
	for (int i = 0; i < 3; i++) {
		faults_within(&within[i], NULL);
		for_each_fault(s) {
			if (!SWEEP_FAILS(&s, OR_ERRNO(open(UCM_NODE, O_RDWR | O_CLOEXEC))))
				MUST(close(s.ret));
			EXPECT_EQ(count_fds(), fds);
		}
	}
	faults_within(NULL, NULL);
	inventory_await(&before);
}

TEST(create)
{
	struct text within[] = { { 0, -1UL }, text_of_function("rca_id_create") };
	uint32_t id, used;

	begin();
	used = ids_used();
	for (int i = 0; i < 2; i++) {
		faults_within(&within[i], NULL);
		for_each_fault(s) {
			if (SWEEP_FAILS(&s, ucm_create(fd, 1, RDMA_PS_TCP, &id))) {
				EXPECT_EQ(ids_used(), used);
				EXPECT_EQ(ucm_create(fd, 1, RDMA_PS_TCP, &id), 0);
			}
			EXPECT_EQ(ucm_destroy(fd, id, NULL), 0);
		}
	}
	faults_within(NULL, NULL);
	EXPECT_EQ(ids_used(), used);
	end();
}

TEST(destroy)
{
	uint32_t id;

	begin();
	for_each_fault(s) {
		id = ucm_get_id(fd, 1);
		EXPECT_EQ(ucm_bind(fd, id, UCM_HOST, PORT), 0);
		if (SWEEP_FAILS(&s, ucm_destroy(fd, id, NULL)))
			expect_worked(&s, ucm_destroy(fd, id, NULL), -ENOENT);
	}
	end();
}

static int bind_ip(int file, uint32_t id)
{
	struct sockaddr_in sin = ucm_address(UCM_HOST, PORT);
	struct rdma_ucm_bind_ip cmd = { .id = id };

	memcpy(&cmd.addr, &sin, sizeof(sin));
	return CALL(file, BIND_IP, cmd, 0);
}

static int bind_any(int file, uint32_t id)
{
	return ucm_bind(file, id, UCM_HOST, PORT);
}

static int set_option(int file, uint32_t id)
{
	uint8_t tos = 32;
	struct rdma_ucm_set_option cmd = { .id = id, .level = RDMA_OPTION_ID,
					   .optname = RDMA_OPTION_ID_TOS, .optlen = 1,
					   .optval = PTR(tos) };

	return CALL(file, SET_OPTION, cmd, 0);
}

static int listen_id(int file, uint32_t id)
{
	struct rdma_ucm_listen cmd = { .id = id, .backlog = 3 };

	return CALL(file, LISTEN, cmd, 0);
}

/* Commands without an answer on a new id. */
static void sweep_new(int (*call)(int file, uint32_t id))
{
	uint32_t id;

	begin();
	for_each_fault(s) {
		id = ucm_get_id(fd, 1);
		/* A socket that finds no memory fails with ENFILE. */
		if (SWEEP_FAILS_AS(&s, ENFILE, call(fd, id)))
			EXPECT_EQ(call(fd, id), 0);
		EXPECT_EQ(ucm_destroy(fd, id, NULL), 0);
	}
	end();
}

TEST(bind_without_size)
{
	sweep_new(bind_ip);
}

TEST(bind_with_size)
{
	sweep_new(bind_any);
}

TEST(option)
{
	sweep_new(set_option);
}

TEST(listen_unbound)
{
	sweep_new(listen_id);
}

static int resolve_ip(int file, uint32_t id)
{
	struct rdma_ucm_resolve_ip cmd = { .id = id, .timeout_ms = 2000 };
	struct sockaddr_in sin = ucm_address(UCM_HOST, PORT);

	memcpy(&cmd.dst_addr, &sin, sizeof(sin));
	return CALL(file, RESOLVE_IP, cmd, 0);
}

static int resolve_addr(int file, uint32_t id)
{
	return ucm_resolve(file, id, PORT);
}

/* Whether the event says that it went well; a callback may have had no memory. */
static bool went_well(int file, uint32_t id, uint32_t well, uint32_t error)
{
	struct rdma_ucm_event_resp ev;

	EXPECT(ucm_is_readable(file, PATIENCE * 1000));
	EXPECT_EQ(ucm_get_event(file, &ev), 0);
	EXPECT_EQ(ev.id, id);
	if (ev.event == error)
		EXPECT((int)ev.status == -ENOMEM || (int)ev.status == -ETIMEDOUT);
	else
		EXPECT_EQ(ev.event, well);
	return ev.event == well;
}

static void sweep_resolve(uint32_t (*get)(int file), int (*call)(int file, uint32_t id),
			  uint32_t well)
{
	uint32_t id;

	begin();
	for_each_fault(s) {
		id = get(fd);
		if (SWEEP_FAILS(&s, call(fd, id))) {
			EXPECT(!ucm_is_readable(fd, 0));
			EXPECT_EQ(call(fd, id), 0);
		}
		if (!went_well(fd, id, well, well + 1)) {
			EXPECT_EQ(call(fd, id), 0);
			EXPECT(went_well(fd, id, well, well + 1));
		}
		EXPECT(!ucm_is_readable(fd, 0));
		EXPECT_EQ(ucm_destroy(fd, id, NULL), 0);
	}
	end();
}

static uint32_t get_new(int file)
{
	return ucm_get_id(file, 1);
}

static uint32_t get_resolved(int file)
{
	uint32_t id = ucm_get_id(file, 1);

	EXPECT_EQ(ucm_resolve(file, id, PORT), 0);
	ucm_expect_event(file, ADDR_RESOLVED, id, 1, NULL);
	return id;
}

TEST(resolve_without_size)
{
	sweep_resolve(get_new, resolve_ip, ADDR_RESOLVED);
}

TEST(resolve_with_size)
{
	sweep_resolve(get_new, resolve_addr, ADDR_RESOLVED);
}

TEST(resolve_route)
{
	sweep_resolve(get_resolved, ucm_resolve_route, ROUTE_RESOLVED);
}

/* Commands that only look. */
TEST(queries)
{
	static const uint32_t options[] = { RDMA_USER_CM_QUERY_ADDR, RDMA_USER_CM_QUERY_PATH,
					    RDMA_USER_CM_QUERY_GID };
	union {
		struct rdma_ucm_query_route_resp route;
		struct ib_uverbs_qp_attr attr;
		uint8_t bytes[512];
	} answer;
	struct rdma_ucm_query query = { .response = PTR(answer) };
	struct rdma_ucm_init_qp_attr init = { .response = PTR(answer), .qp_state = 1 };

	begin();
	query.id = ucm_get_routed(fd, 1, PORT);
	init.id = query.id;
	for_each_fault(s)
		SWEEP_FAILS(&s, CALL(fd, QUERY_ROUTE, query, sizeof(answer.route)));
	for (int i = 0; i < 3; i++) {
		query.option = options[i];
		for_each_fault(s)
			SWEEP_FAILS(&s, CALL(fd, QUERY, query, sizeof(answer)));
	}
	for_each_fault(s)
		SWEEP_FAILS(&s, CALL(fd, INIT_QP_ATTR, init, sizeof(answer.attr)));
	end();
}

/* An event whose answer could not be written stays. */
TEST(take_an_event)
{
	struct rdma_ucm_event_resp ev;
	uint32_t id, reported;

	begin();
	for_each_fault(s) {
		id = ucm_get_id(fd, 1);
		EXPECT_EQ(ucm_resolve(fd, id, PORT), 0);
		EXPECT(ucm_is_readable(fd, PATIENCE * 1000));
		SWEEP_RETRY(&s, ucm_get_event(fd, &ev));
		EXPECT_EQ(ev.event, ADDR_RESOLVED);
		EXPECT(!ucm_is_readable(fd, 0));
		EXPECT_EQ(ucm_destroy(fd, id, &reported), 0);
		EXPECT_EQ(reported, 1);
	}
	end();
}

/* The id is in one of the files, with its event. */
TEST(migrate)
{
	uint32_t id, reported;

	begin();
	for_each_fault(s) {
		id = ucm_get_id(fd, 1);
		EXPECT_EQ(ucm_resolve(fd, id, PORT), 0);
		EXPECT(ucm_is_readable(fd, PATIENCE * 1000));
		if (SWEEP_FAILS(&s, ucm_migrate(other, fd, id, NULL)))
			expect_worked(&s, ucm_migrate(other, fd, id, NULL), -EINVAL);
		EXPECT(!ucm_is_readable(fd, 0));
		ucm_expect_event(other, ADDR_RESOLVED, id, 1, NULL);
		EXPECT_EQ(ucm_destroy(other, id, &reported), 0);
		EXPECT_EQ(reported, 1);
	}
	end();
}

static int join(uint32_t id, bool with_size, uint32_t *member)
{
	struct sockaddr_in sin = ucm_address("239.4.5.6", 0);
	struct rdma_ucm_create_id_resp resp = {};
	struct rdma_ucm_join_mcast cmd = { .response = PTR(resp), .uid = 9, .id = id,
					   .addr_size = sizeof(sin) };
	struct rdma_ucm_join_ip_mcast ip = { .response = PTR(resp), .uid = 9, .id = id };
	int ret;

	memcpy(&cmd.addr, &sin, sizeof(sin));
	memcpy(&ip.addr, &sin, sizeof(sin));
	ret = with_size ? CALL(fd, JOIN_MCAST, cmd, sizeof(resp)) :
			  CALL(fd, JOIN_IP_MCAST, ip, sizeof(resp));
	*member = resp.id;
	return ret;
}

static int leave(uint32_t member)
{
	struct rdma_ucm_destroy_id_resp resp;
	struct rdma_ucm_destroy_id cmd = { .response = PTR(resp), .id = member };

	return CALL(fd, LEAVE_MCAST, cmd, sizeof(resp));
}

static uint32_t get_datagram_id(void)
{
	uint32_t id;

	EXPECT_EQ(ucm_create(fd, 1, RDMA_PS_UDP, &id), 0);
	EXPECT_EQ(ucm_bind(fd, id, UCM_HOST, 0), 0);
	return id;
}

/* A join whose answer could not be written is undone, without an event. */
static void sweep_join(bool with_size)
{
	uint32_t id, member;

	begin();
	id = get_datagram_id();
	for_each_fault(s) {
		if (SWEEP_FAILS(&s, join(id, with_size, &member))) {
			EXPECT(!ucm_is_readable(fd, 0));
			EXPECT_EQ(join(id, with_size, &member), 0);
		}
		went_well(fd, member, MULTICAST_JOIN, MULTICAST_ERROR);
		EXPECT(!ucm_is_readable(fd, 0));
		EXPECT_EQ(leave(member), 0);
	}
	end();
}

TEST(join_without_size)
{
	sweep_join(false);
}

TEST(join_with_size)
{
	sweep_join(true);
}

TEST(leave_a_group)
{
	uint32_t id, member;

	begin();
	id = get_datagram_id();
	for_each_fault(s) {
		EXPECT_EQ(join(id, true, &member), 0);
		ucm_expect_event(fd, MULTICAST_JOIN, member, 9, NULL);
		if (SWEEP_FAILS(&s, leave(member)))
			expect_worked(&s, leave(member), -ENOENT);
	}
	end();
}

static void begin_pair(void)
{
	begin();
	ucm_get_listener(other, 1, PORT);
}

static int connect_client(void)
{
	return ucm_connect(fd, client, sizeof(struct rdma_ucm_connect));
}

static int accept_server(void)
{
	return ucm_accept(other, server, 3, true, sizeof(struct rdma_ucm_accept));
}

static int establish(void)
{
	return ucm_accept(fd, client, 0, false, sizeof(struct rdma_ucm_accept));
}

static void expect_request(void)
{
	struct rdma_ucm_event_resp ev;

	EXPECT(ucm_is_readable(other, PATIENCE * 1000));
	EXPECT_EQ(ucm_get_event(other, &ev), 0);
	EXPECT_EQ(ev.event, CONNECT_REQUEST);
	server = ev.id;
}

static void set_request(void)
{
	client = ucm_get_routed(fd, 2, PORT);
	EXPECT_EQ(connect_client(), 0);
	expect_request();
}

static void set_response(void)
{
	set_request();
	EXPECT_EQ(accept_server(), 0);
	ucm_expect_event(fd, CONNECT_RESPONSE, client, 2, NULL);
}

static void set_connection(void)
{
	set_response();
	EXPECT_EQ(establish(), 0);
	ucm_expect_event(other, ESTABLISHED, server, 3, NULL);
}

static void end_round(void)
{
	EXPECT_EQ(ucm_destroy(fd, client, NULL), 0);
	EXPECT_EQ(ucm_destroy(other, server, NULL), 0);
	EXPECT(!ucm_is_readable(fd, 0));
}

static void expect_rejected(int file, uint32_t id)
{
	struct rdma_ucm_event_resp ev;

	EXPECT(ucm_is_readable(file, PATIENCE * 1000));
	EXPECT_EQ(ucm_get_event(file, &ev), 0);
	EXPECT_EQ(ev.event, REJECTED);
	EXPECT_EQ(ev.id, id);
	EXPECT_EQ(ev.status, 28);
}

TEST(connect_a_client)
{
	begin_pair();
	for_each_fault(s) {
		client = ucm_get_routed(fd, 2, PORT);
		if (SWEEP_FAILS(&s, connect_client()))
			EXPECT_EQ(connect_client(), 0);
		expect_request();
		end_round();
		EXPECT(!ucm_is_readable(other, 0));
	}
	end();
}

/* As with rdma_ucm, a request that cannot be accepted for lack of memory is rejected. */
TEST(accept_a_request)
{
	begin_pair();
	for_each_fault(s) {
		set_request();
		if (SWEEP_FAILS(&s, accept_server()) && s.ret == -ENOMEM) {
			EXPECT_EQ(accept_server(), -EINVAL);
			expect_rejected(fd, client);
		} else {
			if (s.ret)
				EXPECT_EQ(accept_server(), 0);
			ucm_expect_event(fd, CONNECT_RESPONSE, client, 2, NULL);
		}
		end_round();
	}
	end();
}

/* Without parameters; for lack of memory the connection ends on both sides. */
TEST(accept_a_response)
{
	begin_pair();
	for_each_fault(s) {
		set_response();
		if (SWEEP_FAILS(&s, establish()) && s.ret == -ENOMEM) {
			EXPECT_EQ(establish(), -EINVAL);
			expect_rejected(other, server);
		} else {
			if (s.ret)
				EXPECT_EQ(establish(), 0);
			ucm_expect_event(other, ESTABLISHED, server, 3, NULL);
		}
		end_round();
	}
	end();
}

static int reject_server(void)
{
	struct rdma_ucm_reject cmd = { .id = server, .private_data_len = 4,
				       .private_data = "nope" };

	return CALL(other, REJECT, cmd, 0);
}

/* A rejected request cannot be accepted later, whether the reject was sent or not. */
TEST(reject_a_request)
{
	begin_pair();
	for_each_fault(s) {
		set_request();
		SWEEP_FAILS(&s, reject_server());
		if (s.ret == -EFAULT)
			EXPECT_EQ(reject_server(), 0);
		if (s.ret != -ENOMEM)
			expect_rejected(fd, client);
		EXPECT_EQ(accept_server(), -EINVAL);
		end_round();
	}
	end();
}

TEST(notify_of_a_message)
{
	struct rdma_ucm_notify cmd = { .event = 4 };

	begin_pair();
	for_each_fault(s) {
		set_response();
		cmd.id = server;
		SWEEP_RETRY(&s, CALL(other, NOTIFY, cmd, 0));
		ucm_expect_event(other, ESTABLISHED, server, 3, NULL);
		end_round();
		EXPECT(!ucm_is_readable(other, 0));
	}
	end();
}

/* A disconnect does not fail for lack of memory: at worst no DREQ is sent. */
TEST(disconnect)
{
	begin_pair();
	for_each_fault(s) {
		set_connection();
		if (SWEEP_FAILS(&s, ucm_disconnect(fd, client))) {
			EXPECT_EQ(s.ret, -EFAULT);
			EXPECT_EQ(ucm_disconnect(fd, client), 0);
		}
		ucm_expect_event(fd, DISCONNECTED, client, 2, NULL);
		EXPECT_EQ(ucm_destroy(fd, client, NULL), 0);
		EXPECT_EQ(ucm_destroy(other, server, NULL), 0);
	}
	end();
}

/* Closes the file of a listener and the other end of a client. */
static void sweep_close(void (*set)(void))
{
	for_each_fault(s) {
		begin_pair();
		set();
		SWEEP(&s, OR_ERRNO(close(other)));
		EXPECT_EQ(s.ret, 0);
		other = ucm_open();
		end();
	}
}

TEST(close_with_a_request)
{
	sweep_close(set_request);
}

TEST(close_with_a_connection)
{
	sweep_close(set_connection);
}

KTAP_MAIN
