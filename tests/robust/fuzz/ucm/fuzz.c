// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A program that writes anything to the device of rdma_cm_alt_ucm: all commands, with ids that
 * live, have ended or are another file's, with lengths, pointers and addresses of every kind, and
 * between them poll(), dup(), fork() and close(). What it loses is its own affair, but:
 *
 * - each call returns within seconds, with an errno of the list below;
 * - an answer is written where it belongs, and nothing beside it;
 * - no command has an effect on an id of a file that is not the caller's: a well-behaved file lives
 *   beside it, keeps its ids and gets its events;
 * - when its files are closed nothing is left.
 *
 * Environment: FUZZ_OPERATIONS (100,000), FUZZ_SEED (1). What a thread draws depends on the seed
 * and the answers of the kernel alone.
 */
#define _GNU_SOURCE
#include <rdma/rdma_user_cm.h>
#include <stdatomic.h>

#include "cm_mad.h"
#include "inventory.h"
#include "memory.h"
#include "ucm_calls.h"

#define FILES 6
#define NUMBERS 40	/* of ids and memberships that are remembered */
#define OWN 8		/* ids of the well-behaved file */
#define THREADS 4
#define ROUND 10000	/* operations, after which everything is closed */
#define TURN_US 20000	/* between two turns of the well-behaved file */
#define SLOW_S 20
#define PORT 7471	/* of most listeners */

/* The commands of kernels since 6.18, which older headers do not have. */
enum { RESOLVE_IB_SERVICE = RDMA_USER_CM_CMD_JOIN_MCAST + 1, WRITE_CM_EVENT, NUM_COMMANDS };

static const int errnos[] = {
	EACCES, EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT, EAGAIN, EBUSY, ECONNRESET, EDQUOT, EFAULT,
	EHOSTUNREACH, EINTR, EINVAL, EISCONN, ENETUNREACH, ENODATA, ENODEV, ENOENT, ENOSPC, ENOSYS,
	ENXIO, EOPNOTSUPP, EPROTONOSUPPORT, ETIMEDOUT,
};

union any {
	uint8_t bytes[512];
	uint32_t words[16];
	struct rdma_ucm_create_id create_id;
	struct rdma_ucm_bind_ip bind_ip;
	struct rdma_ucm_bind bind;
	struct rdma_ucm_resolve_ip resolve_ip;
	struct rdma_ucm_resolve_addr resolve_addr;
	struct rdma_ucm_resolve_route resolve_route;
	struct rdma_ucm_query query;
	struct rdma_ucm_connect connect;
	struct rdma_ucm_listen listen;
	struct rdma_ucm_accept accept;
	struct rdma_ucm_reject reject;
	struct rdma_ucm_init_qp_attr init_qp_attr;
	struct rdma_ucm_notify notify;
	struct rdma_ucm_set_option set_option;
	struct rdma_ucm_join_ip_mcast join_ip;
	struct rdma_ucm_join_mcast join;
	struct rdma_ucm_migrate_id migrate;
	struct rdma_ucm_event_resp event;
};

/**
 * struct command - a command
 * @name: in messages
 * @size: of its struct
 * @id: where the struct has the number of an id; NONE: nowhere
 * @response: where it has the pointer to the answer, or NONE
 * @out: size of the answer
 */
struct command {
	const char *name;
	uint16_t size, id, response, out;
};

#define NONE 0xffff
#define SILENT(name, type) \
	[RDMA_USER_CM_CMD_##name] = { #name, sizeof(struct rdma_ucm_##type), \
				      offsetof(struct rdma_ucm_##type, id), NONE, 0 }
#define ANSWERS(name, type, size) \
	[RDMA_USER_CM_CMD_##name] = { #name, sizeof(struct rdma_ucm_##type), \
				      offsetof(struct rdma_ucm_##type, id), \
				      offsetof(struct rdma_ucm_##type, response), size }

static const struct command commands[NUM_COMMANDS] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = { "CREATE_ID", sizeof(struct rdma_ucm_create_id), NONE,
					 offsetof(struct rdma_ucm_create_id, response), 4 },
	[RDMA_USER_CM_CMD_GET_EVENT] = { "GET_EVENT", sizeof(struct rdma_ucm_get_event), NONE,
					 0, sizeof(struct rdma_ucm_event_resp) },
	ANSWERS(DESTROY_ID, destroy_id, 4),
	SILENT(BIND_IP, bind_ip),
	SILENT(RESOLVE_IP, resolve_ip),
	SILENT(RESOLVE_ROUTE, resolve_route),
	ANSWERS(QUERY_ROUTE, query, sizeof(struct rdma_ucm_query_route_resp)),
	SILENT(CONNECT, connect),
	SILENT(LISTEN, listen),
	SILENT(ACCEPT, accept),
	SILENT(REJECT, reject),
	SILENT(DISCONNECT, disconnect),
	ANSWERS(INIT_QP_ATTR, init_qp_attr, sizeof(struct ib_uverbs_qp_attr)),
	[RDMA_USER_CM_CMD_GET_OPTION] = { "GET_OPTION", 24, 8, NONE, 0 },
	SILENT(SET_OPTION, set_option),
	SILENT(NOTIFY, notify),
	ANSWERS(JOIN_IP_MCAST, join_ip_mcast, 4),
	ANSWERS(LEAVE_MCAST, destroy_id, 4),
	ANSWERS(MIGRATE_ID, migrate_id, 4),
	ANSWERS(QUERY, query, 512),
	SILENT(BIND, bind),
	SILENT(RESOLVE_ADDR, resolve_addr),
	ANSWERS(JOIN_MCAST, join_mcast, 4),
	[RESOLVE_IB_SERVICE] = { "RESOLVE_IB_SERVICE", 92, 0, NONE, 0 },
	[WRITE_CM_EVENT] = { "WRITE_CM_EVENT", 96, 0, NONE, 0 },
};

/* Commands that lead to connections are tried more often. */
static const uint8_t often[] = {
	RDMA_USER_CM_CMD_CREATE_ID, RDMA_USER_CM_CMD_RESOLVE_ADDR, RDMA_USER_CM_CMD_RESOLVE_ROUTE,
	RDMA_USER_CM_CMD_CONNECT, RDMA_USER_CM_CMD_ACCEPT, RDMA_USER_CM_CMD_GET_EVENT,
	RDMA_USER_CM_CMD_GET_EVENT, RDMA_USER_CM_CMD_MIGRATE_ID,
};

/* What the threads share: each may close the files and destroy the ids of the others. */
static struct {
	_Atomic int files[FILES];
	_Atomic uint32_t numbers[NUMBERS];
	atomic_uint next, running;
	atomic_ulong calls, works, events, established, forks, closes;
} world;

/* The file that follows the rules. */
static struct {
	int fd;
	uint32_t ids[OWN];
} honest;

struct task {
	pthread_t thread;
	uint64_t state;
	unsigned long operations;
	uint32_t last;		/* the newest id */
};

static uint32_t below(struct task *task, uint32_t end)
{
	return draw_below(&task->state, end);
}

static bool one_in(struct task *task, uint32_t n)
{
	return !below(task, n);
}

static void remember(struct task *task, uint32_t number)
{
	atomic_store(&world.numbers[atomic_fetch_add(&world.next, 1) % NUMBERS], number);
	task->last = number;
}

static int any_file(struct task *task)
{
	return atomic_load(&world.files[below(task, FILES)]);
}

static uint32_t any_number(struct task *task)
{
	switch (below(task, 16)) {
	case 0:
		return draw(&task->state) >> below(task, 32);
	case 1:
		return honest.ids[below(task, OWN)];
	case 2 ... 7:
		return task->last;
	default:
		return atomic_load(&world.numbers[below(task, NUMBERS)]);
	}
}

static bool is_honest(uint32_t number)
{
	for (int i = 0; i < OWN; i++)
		if (honest.ids[i] == number)
			return true;
	return false;
}

static enum where any_place(struct task *task)
{
	return one_in(task, 6) ? below(task, WHERES) : GOOD;
}

/* Returns the size of the address, or another one. */
static uint16_t put_addr(struct task *task, void *to, size_t room)
{
	bool known = !one_in(task, 3);
	addr_t addr = address_make(known ? below(task, 2) + 1 : below(task, address_count),
				   known ? PORT_OF_LISTENER : below(task, port_count), PORT);
	uint16_t size = addr.family == AF_INET ? sizeof(struct sockaddr_in) :
			addr.family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(addr);

	memcpy(to, &addr, room < sizeof(addr) ? room : sizeof(addr));
	return one_in(task, 12) ? below(task, 200) : size;
}

static void put_param(struct task *task, struct rdma_ucm_conn_param *param)
{
	param->qp_num = draw(&task->state) >> below(task, 16);
	param->private_data_len = one_in(task, 4) ? below(task, 256) : below(task, 57);
	param->responder_resources = below(task, 5);
	param->initiator_depth = below(task, 5);
	param->retry_count = below(task, 9);
	param->rnr_retry_count = below(task, 9);
	param->valid = !one_in(task, 6);
}

static uint32_t any_timeout(struct task *task)
{
	return one_in(task, 8) ? draw(&task->state) >> below(task, 32) : 1 + below(task, 2000);
}

/* The struct of a command, all but its id and its response. */
static void fill(struct task *task, uint32_t number, union any *cmd)
{
	static const uint16_t spaces[] = { RDMA_PS_TCP, RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IPOIB,
					   RDMA_PS_IB, 0 };
	static const uint32_t lens[] = { 0, 1, 4, 4, 72, 144, 4096, 1 << 20, UINT32_MAX };

	memset(cmd, 0, sizeof(*cmd));
	if (one_in(task, 16)) {
		draw_bytes(&task->state, cmd->bytes, sizeof(cmd->bytes));
		return;
	}
	switch (number) {
	case RDMA_USER_CM_CMD_CREATE_ID:
		cmd->create_id.uid = below(task, 5);
		cmd->create_id.ps = spaces[below(task, COUNT(spaces))];
		cmd->create_id.qp_type = one_in(task, 8) ? below(task, 256) : 2 + below(task, 3);
		break;
	case RDMA_USER_CM_CMD_BIND_IP:
		put_addr(task, &cmd->bind_ip.addr, sizeof(cmd->bind_ip.addr));
		break;
	case RDMA_USER_CM_CMD_BIND:
		cmd->bind.addr_size = put_addr(task, &cmd->bind.addr, sizeof(cmd->bind.addr));
		break;
	case RDMA_USER_CM_CMD_RESOLVE_IP:
		if (one_in(task, 4))
			put_addr(task, &cmd->resolve_ip.src_addr, sizeof(struct sockaddr_in6));
		put_addr(task, &cmd->resolve_ip.dst_addr, sizeof(struct sockaddr_in6));
		cmd->resolve_ip.timeout_ms = any_timeout(task);
		break;
	case RDMA_USER_CM_CMD_RESOLVE_ADDR:
		if (one_in(task, 4))
			cmd->resolve_addr.src_size = put_addr(task, &cmd->resolve_addr.src_addr,
							      sizeof(addr_t));
		cmd->resolve_addr.dst_size = put_addr(task, &cmd->resolve_addr.dst_addr,
						      sizeof(addr_t));
		cmd->resolve_addr.timeout_ms = any_timeout(task);
		break;
	case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
		cmd->resolve_route.timeout_ms = any_timeout(task);
		break;
	case RDMA_USER_CM_CMD_QUERY:
		cmd->query.option = below(task, 5);
		break;
	case RDMA_USER_CM_CMD_CONNECT:
		put_param(task, &cmd->connect.conn_param);
		break;
	case RDMA_USER_CM_CMD_ACCEPT:
		cmd->accept.uid = below(task, 5);
		put_param(task, &cmd->accept.conn_param);
		break;
	case RDMA_USER_CM_CMD_LISTEN:
		cmd->listen.backlog = one_in(task, 4) ? draw(&task->state) : below(task, 9);
		break;
	case RDMA_USER_CM_CMD_REJECT:
		cmd->reject.private_data_len = below(task, 256);
		cmd->reject.reason = one_in(task, 2) ? 0 : below(task, 256);
		break;
	case RDMA_USER_CM_CMD_INIT_QP_ATTR:
		cmd->init_qp_attr.qp_state = below(task, 9);
		break;
	case RDMA_USER_CM_CMD_SET_OPTION:
		cmd->set_option.level = below(task, 3);
		cmd->set_option.optname = below(task, 5);
		cmd->set_option.optlen = lens[below(task, COUNT(lens))];
		break;
	case RDMA_USER_CM_CMD_NOTIFY:
		cmd->notify.event = below(task, 20);
		break;
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
		cmd->join_ip.uid = below(task, 5);
		put_addr(task, &cmd->join_ip.addr, sizeof(cmd->join_ip.addr));
		break;
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		cmd->join.uid = below(task, 5);
		cmd->join.join_flags = below(task, 3);
		cmd->join.addr_size = put_addr(task, &cmd->join.addr, sizeof(addr_t));
		break;
	case RDMA_USER_CM_CMD_MIGRATE_ID:
		cmd->migrate.fd = one_in(task, 8) ? (int)below(task, 3) - 1 :
				  any_file(task);
		break;
	case RESOLVE_IB_SERVICE:
	case WRITE_CM_EVENT:
		for (int i = 1; i < 16; i++)
			cmd->words[i] = below(task, 24);
		break;
	}
}

/* Groups are addresses of their own. */
static void put_group(struct task *task, union any *cmd)
{
	addr_t addr = address_make(address_find(one_in(task, 2) ? "group" : "group6"), 0, 0);
	size_t size = addr.family == AF_INET ? sizeof(struct sockaddr_in) :
		      sizeof(struct sockaddr_in6);

	memcpy(&cmd->join.addr, &addr, size);
	cmd->join.addr_size = size;
}

static bool is_known_errno(int err)
{
	for (unsigned int i = 0; i < COUNT(errnos); i++)
		if (errnos[i] == err)
			return true;
	return false;
}

/* What a command that has succeeded says. */
static void learn(struct task *task, uint32_t number, const struct area *response, uint16_t out)
{
	union any answer = {};

	atomic_fetch_add(&world.works, 1);
	if (!response || !response->whole || out < 4)
		return;
	memcpy(&answer, response->bytes, out < sizeof(answer) ? out : sizeof(answer));
	switch (number) {
	case RDMA_USER_CM_CMD_CREATE_ID:
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		remember(task, answer.words[0]);
		break;
	case RDMA_USER_CM_CMD_GET_EVENT:
		atomic_fetch_add(&world.events, 1);
		if (answer.event.event == CONNECT_REQUEST)
			remember(task, answer.event.id);
		if (answer.event.event == ESTABLISHED)
			atomic_fetch_add(&world.established, 1);
		if (is_honest(answer.event.id))
			ktap_fail(__FILE__, __LINE__, "an event of another file's id");
		break;
	}
}

/* The lengths of a header: mostly those of the structs. */
static uint16_t any_length(struct task *task, uint16_t right)
{
	switch (below(task, 12)) {
	case 0:
		return below(task, right + 1);
	case 1:
		return right + below(task, 64);
	case 2:
		return draw(&task->state) >> below(task, 16);
	default:
		return right;
	}
}

static void do_command(struct task *task)
{
	uint32_t number = one_in(task, 2) ? often[below(task, COUNT(often))] :
			  below(task, NUM_COMMANDS);
	const struct command *command = &commands[number];
	struct rdma_ucm_cmd_hdr hdr = { .cmd = number };
	uint8_t buf[sizeof(hdr) + sizeof(union any)];
	struct area *at, *response = NULL, *option;
	uint8_t may[sizeof(union any)] = {};
	bool foreign = false;
	union any cmd;
	uint32_t id;
	ssize_t ret;
	size_t len;

	memory_begin();
	fill(task, number, &cmd);
	if (number == RDMA_USER_CM_CMD_JOIN_MCAST && !one_in(task, 4))
		put_group(task, &cmd);
	if (number == RDMA_USER_CM_CMD_SET_OPTION) {
		option = memory_place(any_place(task), NULL, 4 + below(task, 200));
		cmd.set_option.optval = option->user;
	}
	if (command->id != NONE) {
		id = any_number(task);
		foreign = is_honest(id);
		memcpy(cmd.bytes + command->id, &id, sizeof(id));
	}
	hdr.in = any_length(task, command->size);
	hdr.out = any_length(task, command->out);
	if (command->response != NONE) {
		response = memory_place(any_place(task), NULL, sizeof(may));
		memcpy(cmd.bytes + command->response, &response->user, sizeof(response->user));
		memset(may, 1, hdr.out < command->out ? hdr.out : command->out);
	}
	if (one_in(task, 200))
		hdr.cmd = draw(&task->state) >> below(task, 28);
	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), &cmd, sizeof(cmd));
	len = one_in(task, 24) ? below(task, sizeof(buf)) :
	      sizeof(hdr) + (hdr.in < sizeof(cmd) ? hdr.in : command->size);
	at = memory_place(any_place(task), buf, len);
	ret = write(any_file(task), (void *)(uintptr_t)at->user, len);
	if (ret < 0 && !is_known_errno(errno))
		ktap_fail(__FILE__, __LINE__, "%s says %m", command->name);
	if (ret >= 0)
		EXPECT_EQ(ret, len);
	if (memory_changed(at, NULL) != NOTHING_CHANGED)
		ktap_fail(__FILE__, __LINE__, "%s has changed byte %ld of its struct",
			  command->name, memory_changed(at, NULL));
	if (response && memory_changed(response, may) != NOTHING_CHANGED)
		ktap_fail(__FILE__, __LINE__, "%s has written byte %ld, with room for %u",
			  command->name, memory_changed(response, may), hdr.out);
	if (ret >= 0 && foreign && hdr.cmd == number)
		ktap_fail(__FILE__, __LINE__, "%s works with an id of another file", command->name);
	if (ret >= 0 && hdr.cmd == number)
		learn(task, number, response, hdr.out);
}

/* A connection, as far as the others let it come. */
static void do_connection(struct task *task)
{
	uint32_t id, step = below(task, 6);
	int fd = any_file(task);

	if (ucm_create(fd, 1 + below(task, 4), RDMA_PS_TCP, &id))
		return;
	remember(task, id);
	if (step == 0) {
		struct rdma_ucm_listen cmd = { .id = id };

		if (!ucm_bind(fd, id, UCM_HOST, PORT))
			CALL(fd, LISTEN, cmd, 0);
		return;
	}
	ucm_resolve(fd, id, PORT);
	if (step > 1)
		ucm_resolve_route(fd, id);
	if (step > 2)
		ucm_connect(fd, id, step & 1 ? OLD_CONNECT : sizeof(struct rdma_ucm_connect));
}

/* Answers what has come, as a program does. */
static void do_events(struct task *task)
{
	struct rdma_ucm_event_resp event;
	int fd = any_file(task);

	while (ucm_is_readable(fd, 0) && !ucm_get_event(fd, &event)) {
		atomic_fetch_add(&world.events, 1);
		if (event.event == CONNECT_REQUEST) {
			remember(task, event.id);
			ucm_accept(fd, event.id, 1, true, OLD_ACCEPT);
		} else if (event.event == CONNECT_RESPONSE) {
			ucm_accept(fd, event.id, 1, false, OLD_ACCEPT);
		} else if (event.event == ESTABLISHED) {
			atomic_fetch_add(&world.established, 1);
		}
	}
}

/* A child may not use the file of its parent, but takes an id out of it. */
static void do_fork(struct task *task)
{
	int status = 0;
	pid_t pid = MUST(fork());

	if (!pid) {
		for (int i = 0; i < FILES / 2; i++)
			atomic_store(&world.files[i], MUST(open(UCM_NODE, O_RDWR | O_NONBLOCK)));
		for (int i = 0; i < 8; i++)
			do_command(task);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0)
		EXPECT_EQ(errno, EINTR);
	EXPECT_EQ(status, 0);
	atomic_fetch_add(&world.forks, 1);
}

/* Another thread may be using the file. */
static void do_close(struct task *task)
{
	int fd = MUST(open(UCM_NODE, O_RDWR | O_CLOEXEC | (one_in(task, 4) ? 0 : O_NONBLOCK)));

	MUST(close(atomic_exchange(&world.files[below(task, FILES)], fd)));
	atomic_fetch_add(&world.closes, 1);
}

static void do_operation(struct task *task)
{
	struct pollfd waits = { .fd = any_file(task), .events = POLLIN };
	uint32_t what = below(task, 2000);
	double begin = ktap_now();

	if (what < 1600)
		do_command(task);
	else if (what < 1750)
		do_connection(task);
	else if (what < 1900)
		do_events(task);
	else if (what < 1960)
		poll(&waits, 1, below(task, 2));
	else if (what < 1990)
		close(dup(waits.fd));
	else if (what < 1999)
		do_close(task);
	else
		do_fork(task);
	atomic_fetch_add(&world.calls, 1);
	if (ktap_now() - begin > SLOW_S)
		ktap_fail(__FILE__, __LINE__, "operation %u took %.1f s", what, ktap_now() - begin);
}

static void *run(void *arg)
{
	struct task *task = arg;

	memory_init();
	for (unsigned long i = 0; i < task->operations; i++)
		do_operation(task);
	atomic_fetch_sub(&world.running, 1);
	return NULL;
}

static void become_honest(void)
{
	honest.fd = ucm_open();
	for (int i = 0; i < OWN; i++)
		honest.ids[i] = ucm_get_routed(honest.fd, 100 + i, PORT);
}

/* The well-behaved file has what it had, and it works. */
static void be_honest(void)
{
	struct rdma_ucm_query_route_resp resp;
	struct rdma_ucm_query query = { .response = PTR(resp) };
	uint32_t id = ucm_get_id(honest.fd, 99), reported;

	EXPECT_EQ(ucm_resolve(honest.fd, id, PORT), 0);
	ucm_expect_event(honest.fd, ADDR_RESOLVED, id, 99, NULL);
	EXPECT_EQ(ucm_destroy(honest.fd, id, &reported), 0);
	EXPECT_EQ(reported, 1);
	for (int i = 0; i < OWN; i++) {
		query.id = honest.ids[i];
		EXPECT_EQ(CALL(honest.fd, QUERY_ROUTE, query, sizeof(resp)), 0);
	}
}

static void nothing(int signal)
{
	(void)signal;
}

/* Signals wake the threads that wait for an event. */
static void run_round(struct task *tasks, int count)
{
	for (int i = 0; i < FILES; i++)
		atomic_store(&world.files[i], ucm_open());
	atomic_store(&world.running, count);
	for (int i = 0; i < count; i++)
		EXPECT_EQ(pthread_create(&tasks[i].thread, NULL, run, &tasks[i]), 0);
	for (unsigned int turn = 0; atomic_load(&world.running); turn++) {
		usleep(TURN_US / 4);
		for (int i = 0; i < count; i++)
			pthread_kill(tasks[i].thread, SIGUSR2);
		if (turn % 4 == 0)
			be_honest();
	}
	for (int i = 0; i < count; i++)
		EXPECT_EQ(pthread_join(tasks[i].thread, NULL), 0);
	for (int i = 0; i < FILES; i++)
		MUST(close(atomic_load(&world.files[i])));
}

static void fuzz(int threads)
{
	unsigned long operations = ktap_env("FUZZ_OPERATIONS", 100000), round = ROUND;
	struct sigaction action = { .sa_handler = nothing };
	uint64_t seed = ktap_env("FUZZ_SEED", 1);
	struct task tasks[THREADS] = {};
	struct inventory before;
	double took = 0, begin;

	ktap_note("seed %llu", (unsigned long long)seed);
	fflush(stdout);
	ktap_timeout(300 + operations / 100);
	MUST(sigaction(SIGUSR2, &action, NULL));
	become_honest();
	inventory_take(&before);
	if (round > operations)
		round = operations;
	for (int i = 0; i < threads; i++)
		tasks[i] = (struct task) { .state = seed << 8 | (threads << 4) | i,
					   .operations = round / threads };
	while (atomic_load(&world.calls) + threads <= operations) {
		begin = ktap_now();
		run_round(tasks, threads);
		took += ktap_now() - begin;
		inventory_await(&before);
	}
	for (int i = 0; i < OWN; i++) {
		uint32_t reported;

		EXPECT_EQ(ucm_destroy(honest.fd, honest.ids[i], &reported), 0);
		EXPECT_EQ(reported, 2);
	}
	ktap_note("%lu operations, %.0f in a second, %lu commands worked", world.calls,
		  world.calls / took, world.works);
	ktap_note("%lu events, %lu connections, %lu forks, %lu closes", world.events,
		  world.established, world.forks, world.closes);
	EXPECT(world.works > world.calls / 20);
	EXPECT(world.events > world.calls / 100);
	EXPECT(world.established > 0);
}

TEST(of_one_thread)
{
	fuzz(1);
}

TEST(of_many_threads)
{
	fuzz(THREADS);
}

KTAP_MAIN
