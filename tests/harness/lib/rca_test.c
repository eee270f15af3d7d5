// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Short calls of the ioctls for tests. */
#include "rca_test.h"

/* Of the resolution of an address or a route. */
#define TIMEOUT_MS 2000

int rca_call(int ctx, unsigned long cmd, void *arg)
{
	return ioctl(ctx, cmd, arg) ? -errno : 0;
}

addr_t make_addr(const char *ip, uint16_t port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	addr_t addr = {};

	if (!ip)
		return addr;
	if (inet_pton(AF_INET, ip, &in.sin_addr) == 1)
		memcpy(&addr, &in, sizeof(in));
	else if (inet_pton(AF_INET6, ip, &in6.sin6_addr) == 1)
		memcpy(&addr, &in6, sizeof(in6));
	else
		ktap_fail(__FILE__, __LINE__, "%s is no address", ip);
	return addr;
}

uint16_t addr_port(const addr_t *addr)
{
	struct sockaddr_in in;

	memcpy(&in, addr, sizeof(in));	/* the port is at the same place for IPv6 */
	return ntohs(in.sin_port);
}

bool addr_is(const addr_t *addr, const char *ip)
{
	addr_t wanted = make_addr(ip, addr_port(addr));

	return !memcmp(addr, &wanted, sizeof(wanted));
}

int get_ctx(void)
{
	return MUST(open(DEVICE, O_RDWR | O_CLOEXEC));
}

int get_queue_sized(int ctx, uint32_t record_size, uint32_t flags)
{
	struct rdma_cm_alt_queue_create cmd = {
		.size = sizeof(cmd), .flags = flags, .record_size = record_size,
	};

	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_QUEUE_CREATE, &cmd), 0);
	return cmd.out_fd;
}

int get_queue(int ctx)
{
	return get_queue_sized(ctx, 0, 0);
}

int rca_create(int ctx, int queue, uint16_t ps, uint8_t qp_type, uint64_t cookie, uint32_t *id)
{
	struct rdma_cm_alt_resolve cmd = {
		.size = sizeof(cmd),
		.pipe = {
			.steps = RDMA_CM_ALT_STEP_CREATE,
			.queue_fd = queue,
			.ps = ps,
			.qp_type = qp_type,
			.cookie = cookie,
		},
	};
	int ret = rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd);

	if (!ret) {
		EXPECT_EQ(cmd.out_done, RDMA_CM_ALT_STEP_CREATE);
		EXPECT_EQ(cmd.out_queue_fd, -1);
		*id = cmd.out_id;
	}
	return ret;
}

uint32_t get_id(int ctx, int queue, uint64_t cookie)
{
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, queue, RDMA_PS_TCP, IB_UVERBS_QPT_RC, cookie, &id), 0);
	return id;
}

static int resolve(int ctx, uint32_t id, uint32_t steps, addr_t src, addr_t dst,
		   uint32_t timeout_ms)
{
	struct rdma_cm_alt_resolve cmd = {
		.size = sizeof(cmd),
		.pipe = {
			.steps = steps,
			.events = steps & ~RDMA_CM_ALT_STEP_BIND,
			.id = id,
			.queue_fd = -1,
			.timeout_ms = timeout_ms,
			.src = src,
			.dst = dst,
		},
	};

	return rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd);
}

int rca_bind(int ctx, uint32_t id, const char *ip, uint16_t port)
{
	return resolve(ctx, id, RDMA_CM_ALT_STEP_BIND, make_addr(ip, port), make_addr(NULL, 0),
		       TIMEOUT_MS);
}

int rca_resolve_addr(int ctx, uint32_t id, const char *src, const char *dst, uint16_t port)
{
	return rca_resolve_addr_for(ctx, id, src, dst, port, TIMEOUT_MS);
}

int rca_resolve_addr_for(int ctx, uint32_t id, const char *src, const char *dst, uint16_t port,
			 uint32_t timeout_ms)
{
	return resolve(ctx, id, RDMA_CM_ALT_STEP_ADDR, make_addr(src, 0), make_addr(dst, port),
		       timeout_ms);
}

int rca_resolve_route(int ctx, uint32_t id)
{
	return resolve(ctx, id, RDMA_CM_ALT_STEP_ROUTE, make_addr(NULL, 0), make_addr(NULL, 0),
		       TIMEOUT_MS);
}

uint32_t get_bound(int ctx, int queue, const char *ip, uint16_t port)
{
	uint32_t id = get_id(ctx, queue, 0);

	EXPECT_EQ(rca_bind(ctx, id, ip, port), 0);
	return id;
}

uint16_t get_port(int ctx, uint32_t id)
{
	struct rdma_cm_alt_route route;

	EXPECT_EQ(rca_query(ctx, id, &route), 0);
	return addr_port(&route.src);
}

int rca_listen(int ctx, uint32_t id, uint32_t backlog)
{
	return RCA_CALL(ctx, LISTEN, rdma_cm_alt_listen, .id = id, .backlog = backlog);
}

/* The last number of a QP, for a program and its children. */
static uint32_t *last_qp_num;

__attribute__((constructor)) static void begin_qp_nums(void)
{
	last_qp_num = mmap(NULL, sizeof(*last_qp_num), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (last_qp_num == MAP_FAILED)
		abort();
	*last_qp_num = (uint32_t)getpid() << 13;
}

/*
 * A peer rejects a number that it knows from another connection. So processes have different ones,
 * and programs that run one after the other begin with different ones.
 */
uint32_t fresh_qp_num(void)
{
	return __atomic_add_fetch(last_qp_num, 1, __ATOMIC_RELAXED) & 0xffffff;
}

static struct rdma_cm_alt_conn_param conn_param(const void *data, uint16_t len)
{
	return (struct rdma_cm_alt_conn_param) {
		.qp_num = fresh_qp_num(),
		.private_data_uptr = (uintptr_t)data,
		.private_data_len = len,
		.responder_resources = 2,
		.initiator_depth = 3,
		.retry_count = 7,
		.rnr_retry_count = 6,
	};
}

int rca_connect(int ctx, uint32_t id, const void *data, uint16_t len)
{
	return RCA_CALL(ctx, CONNECT, rdma_cm_alt_connect, .pipe.id = id,
			.param = conn_param(data, len));
}

int rca_accept(int ctx, uint32_t id, uint64_t cookie, const void *data, uint16_t len)
{
	return RCA_CALL(ctx, ACCEPT, rdma_cm_alt_accept, .id = id, .cookie = cookie,
			.param = conn_param(data, len));
}

int rca_reject(int ctx, uint32_t id, uint32_t reason, const void *data, uint32_t len)
{
	return RCA_CALL(ctx, REJECT, rdma_cm_alt_reject, .id = id, .reason = reason,
			.private_data_uptr = (uintptr_t)data, .private_data_len = len);
}

int rca_establish(int ctx, uint32_t id)
{
	return RCA_CALL(ctx, ESTABLISH, rdma_cm_alt_establish, .id = id);
}

int rca_disconnect(int ctx, uint32_t id)
{
	return RCA_CALL(ctx, DISCONNECT, rdma_cm_alt_disconnect, .id = id);
}

int rca_notify(int ctx, uint32_t id, uint32_t event)
{
	return RCA_CALL(ctx, NOTIFY, rdma_cm_alt_notify, .id = id, .event = event);
}

int rca_qp_attr(int ctx, uint32_t id, uint32_t state, struct ib_uverbs_qp_attr *attr)
{
	struct rdma_cm_alt_qp_attr_get cmd = { .size = sizeof(cmd), .id = id, .qp_state = state };
	int ret = rca_call(ctx, RDMA_CM_ALT_QP_ATTR, &cmd);

	*attr = cmd.out_attr;
	return ret;
}

int rca_query(int ctx, uint32_t id, struct rdma_cm_alt_route *route)
{
	struct rdma_cm_alt_query cmd = { .size = sizeof(cmd), .id = id };
	int ret = rca_call(ctx, RDMA_CM_ALT_QUERY, &cmd);

	*route = cmd.out_route;
	return ret;
}

int rca_set_option(int ctx, uint32_t id, uint32_t level, uint32_t name, const void *val,
		   uint32_t len)
{
	return RCA_CALL(ctx, SET_OPTION, rdma_cm_alt_option, .id = id, .level = level,
			.optname = name, .optlen = len, .optval_uptr = (uintptr_t)val);
}

int rca_get_option(int ctx, uint32_t id, uint32_t level, uint32_t name, void *val, uint32_t *len)
{
	struct rdma_cm_alt_option cmd = {
		.size = sizeof(cmd), .id = id, .level = level, .optname = name, .optlen = *len,
		.optval_uptr = (uintptr_t)val,
	};
	int ret = rca_call(ctx, RDMA_CM_ALT_GET_OPTION, &cmd);

	*len = cmd.optlen;
	return ret;
}

int rca_set_queue(int ctx, uint32_t id, int queue)
{
	return RCA_CALL(ctx, SET_QUEUE, rdma_cm_alt_set_queue, .id = id, .queue_fd = queue);
}

int rca_get_event(int ctx, uint32_t id, uint32_t flags, event_t *ev)
{
	return RCA_CALL(ctx, GET_EVENT, rdma_cm_alt_get_event, .id = id, .flags = flags,
			.record_len = sizeof(*ev), .record_uptr = (uintptr_t)ev);
}

int rca_join(int ctx, uint32_t id, const char *group, uint32_t state, uint64_t cookie,
	     uint32_t *member)
{
	struct rdma_cm_alt_join cmd = {
		.size = sizeof(cmd), .id = id, .join_state = state, .cookie = cookie,
		.group = make_addr(group, 0),
	};
	int ret = rca_call(ctx, RDMA_CM_ALT_JOIN, &cmd);

	*member = cmd.out_member;
	return ret;
}

int rca_leave(int ctx, uint32_t member, uint32_t *reported)
{
	struct rdma_cm_alt_leave cmd = { .size = sizeof(cmd), .member = member };
	int ret = rca_call(ctx, RDMA_CM_ALT_LEAVE, &cmd);

	*reported = cmd.out_events_reported;
	return ret;
}

int rca_destroy_count(int ctx, uint32_t id, uint32_t *reported)
{
	struct rdma_cm_alt_destroy cmd = { .size = sizeof(cmd), .id = id };
	int ret = rca_call(ctx, RDMA_CM_ALT_DESTROY, &cmd);

	*reported = cmd.out_events_reported;
	return ret;
}

int rca_destroy(int ctx, uint32_t id)
{
	uint32_t reported;

	return rca_destroy_count(ctx, id, &reported);
}

bool event_comes(int queue, int seconds)
{
	struct pollfd fd = { .fd = queue, .events = POLLIN };

	return MUST(poll(&fd, 1, seconds * 1000)) && fd.revents & POLLIN;
}

bool event_waits(int queue)
{
	return event_comes(queue, 0);
}

void get_event(int queue, event_t *ev)
{
	if (!event_comes(queue, PATIENCE))
		ktap_fail(__FILE__, __LINE__, "no event came");
	memset(ev, 0xaa, sizeof(*ev));
	EXPECT_EQ(MUST(read(queue, ev, sizeof(*ev))), sizeof(*ev));
}

void expect_event(const char *file, int line, int queue, uint32_t type, uint32_t id, int status,
		  event_t *ev)
{
	event_t own;

	if (!event_comes(queue, PATIENCE))
		ktap_fail(file, line, "event %u did not come", type);
	ev = ev ?: &own;
	get_event(queue, ev);
	if (ev->type != type || ev->status != status || (id && ev->id != id))
		ktap_fail(file, line, "event %u/%d of id %u, wanted event %u/%d of id %u",
			  ev->type, ev->status, ev->id, type, status, id);
}

void await_addr(int ctx, int queue, uint32_t id, const char *ip, uint16_t port)
{
	EXPECT_EQ(rca_resolve_addr(ctx, id, NULL, ip, port), 0);
	EXPECT_EVENT(queue, ADDR_RESOLVED, id);
}

void await_route(int ctx, int queue, uint32_t id)
{
	EXPECT_EQ(rca_resolve_route(ctx, id), 0);
	EXPECT_EVENT(queue, ROUTE_RESOLVED, id);
}

uint32_t get_loaded(int ctx, int queue, uint64_t cookie)
{
	uint32_t id = get_id(ctx, queue, cookie);

	await_addr(ctx, queue, id, HERE, 1);
	return id;
}

void post(int ctx, uint32_t id)
{
	EXPECT_EQ(rca_resolve_route(ctx, id), 0);
}

void await_sleep(pid_t tid)
{
	char path[64], text[256], *state;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	for (;;) {
		fd = MUST(open(path, O_RDONLY));
		text[MUST(read(fd, text, sizeof(text) - 1))] = 0;
		MUST(close(fd));
		state = strrchr(text, ')');
		if (state && (state[2] == 'S' || state[2] == 'D'))
			return;
		usleep(1000);
	}
}

static void *read_one(void *arg)
{
	struct reader *reader = arg;

	__atomic_store_n(&reader->tid, gettid(), __ATOMIC_SEQ_CST);
	reader->ret = read(reader->queue, &reader->ev, sizeof(reader->ev));
	reader->error = errno;
	return NULL;
}

void start_reader(struct reader *reader, int queue)
{
	reader->queue = queue;
	reader->tid = 0;
	EXPECT_EQ(pthread_create(&reader->thread, NULL, read_one, reader), 0);
	while (!__atomic_load_n(&reader->tid, __ATOMIC_SEQ_CST))
		usleep(1000);
	await_sleep(reader->tid);
}

struct pair get_listening(const char *ip)
{
	int ctx = get_ctx();
	struct pair p = { .ctx = ctx, .lq = get_queue(ctx), .cq = get_queue(ctx) };

	p.listener = get_id(ctx, p.lq, LISTENER);
	EXPECT_EQ(rca_bind(ctx, p.listener, ip, 0), 0);
	EXPECT_EQ(rca_listen(ctx, p.listener, 0), 0);
	p.port = get_port(ctx, p.listener);
	return p;
}

void pair_listen(struct pair *p, const char *ip)
{
	*p = get_listening(ip);
}

uint32_t get_client(int ctx, int queue, const char *ip, uint16_t port, uint64_t cookie)
{
	uint32_t id = get_id(ctx, queue, cookie);

	await_addr(ctx, queue, id, ip, port);
	await_route(ctx, queue, id);
	return id;
}

void pair_send_req(struct pair *p, event_t *request)
{
	event_t own;

	request = request ?: &own;
	EXPECT_EQ(rca_connect(p->ctx, p->client, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p->lq, CONNECT_REQUEST, 0, 0, request);
	EXPECT_EQ(request->listen_id, p->listener);
	p->server = request->id;
}

static void send_rep(const struct pair *p, event_t *response)
{
	EXPECT_EQ(rca_accept(p->ctx, p->server, SERVER, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p->cq, CONNECT_RESPONSE, p->client, 0, response);
}

void pair_send_rep(const struct pair *p)
{
	send_rep(p, NULL);
}

void pair_send_rtu(const struct pair *p)
{
	EXPECT_EQ(rca_establish(p->ctx, p->client), 0);
	EXPECT_EVENT(p->lq, ESTABLISHED, p->server);
}

void pair_disconnect(const struct pair *p)
{
	EXPECT_EQ(rca_disconnect(p->ctx, p->client), 0);
	EXPECT_EVENT(p->cq, DISCONNECTED, p->client);
	EXPECT_EVENT(p->lq, DISCONNECTED, p->server);
}

void expect_no_events(const struct pair *p)
{
	EXPECT(!event_waits(p->cq));
	EXPECT(!event_waits(p->lq));
}

struct pair get_routed(const char *ip)
{
	struct pair p = get_listening(ip);

	p.client = get_client(p.ctx, p.cq, ip, p.port, CLIENT);
	return p;
}

struct pair get_requested(event_t *request)
{
	struct pair p = get_routed(THERE);

	pair_send_req(&p, request);
	return p;
}

struct pair get_accepted(event_t *response)
{
	struct pair p = get_requested(NULL);

	send_rep(&p, response);
	return p;
}

struct pair get_connected(void)
{
	struct pair p = get_accepted(NULL);

	pair_send_rtu(&p);
	return p;
}
