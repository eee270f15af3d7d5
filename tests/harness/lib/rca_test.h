/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Short calls of the ioctls for tests. Functions called rca_* return 0 or a
 * negative errno; those called get_* or make_* fail the test on an error.
 *
 * Tests expect the rig of tests/harness/guest/rig.sh: rxe0 with the addresses below.
 */
#ifndef RCA_TEST_H
#define RCA_TEST_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_user_cm.h>

#include "ktap.h"

#define DEVICE "/dev/rdma_cm_alt"

#define HERE "10.9.0.1"		/* on rxe0 */
#define THERE "10.9.0.2"	/* on rxe0, too */
#define HERE6 "fd00:9::1"
#define THERE6 "fd00:9::2"
#define ELSEWHERE "10.7.0.1"	/* on rxe1 */
#define NOBODY "10.7.0.99"	/* a neighbour on rxe1 that does not answer */
#define NOT_OURS "192.0.2.1"

/* How long an event may take, in seconds; the debug kernel without hardware help is slow. */
#define PATIENCE 60

struct sockaddr;

typedef struct rdma_cm_alt_sockaddr addr_t;
typedef struct rdma_cm_alt_event event_t;

/* struct sockaddr_ib, which the headers of a test machine may lack. */
struct sib {
	uint16_t family;
	uint16_t pkey;
	uint32_t flowinfo;
	uint8_t addr[16];
	uint64_t sid;
	uint64_t sid_mask;
	uint64_t scope_id;
};

_Static_assert(sizeof(struct sib) == sizeof(addr_t), "the size of the kernel's");

/* Addresses; NULL is no address, a port is in host byte order. */
addr_t make_addr(const char *ip, uint16_t port);
uint16_t addr_port(const addr_t *addr);
bool addr_is(const addr_t *addr, const char *ip);

/* Contexts, queues and ids. */
int get_ctx(void);
int get_queue(int ctx);
int get_queue_sized(int ctx, uint32_t record_size, uint32_t flags);
uint32_t get_id(int ctx, int queue, uint64_t cookie);
uint32_t get_bound(int ctx, int queue, const char *ip, uint16_t port);
uint16_t get_port(int ctx, uint32_t id);

/* Any ioctl. */
int rca_call(int ctx, unsigned long cmd, void *arg);
/* An ioctl with these members of its struct; the size is filled in. */
#define RCA_CALL(ctx, name, type, ...)						\
	rca_call(ctx, RDMA_CM_ALT_##name,					\
		 &(struct type) { .size = sizeof(struct type), __VA_ARGS__ })

/* One ioctl each. */
int rca_create(int ctx, int queue, uint16_t ps, uint8_t qp_type, uint64_t cookie, uint32_t *id);
int rca_bind(int ctx, uint32_t id, const char *ip, uint16_t port);
int rca_resolve_addr(int ctx, uint32_t id, const char *src, const char *dst, uint16_t port);
int rca_resolve_addr_for(int ctx, uint32_t id, const char *src, const char *dst, uint16_t port,
			 uint32_t timeout_ms);
int rca_resolve_route(int ctx, uint32_t id);
int rca_listen(int ctx, uint32_t id, uint32_t backlog);
int rca_connect(int ctx, uint32_t id, const void *data, uint16_t len);
int rca_accept(int ctx, uint32_t id, uint64_t cookie, const void *data, uint16_t len);
int rca_reject(int ctx, uint32_t id, uint32_t reason, const void *data, uint32_t len);
int rca_establish(int ctx, uint32_t id);
int rca_disconnect(int ctx, uint32_t id);
int rca_notify(int ctx, uint32_t id, uint32_t event);
int rca_qp_attr(int ctx, uint32_t id, uint32_t state, struct ib_uverbs_qp_attr *attr);
int rca_query(int ctx, uint32_t id, struct rdma_cm_alt_route *route);
int rca_set_option(int ctx, uint32_t id, uint32_t level, uint32_t name, const void *val,
		   uint32_t len);
int rca_get_option(int ctx, uint32_t id, uint32_t level, uint32_t name, void *val, uint32_t *len);
int rca_set_queue(int ctx, uint32_t id, int queue);
int rca_get_event(int ctx, uint32_t id, uint32_t flags, event_t *ev);
int rca_join(int ctx, uint32_t id, const char *group, uint32_t state, uint64_t cookie,
	     uint32_t *member);
int rca_leave(int ctx, uint32_t member, uint32_t *reported);
int rca_destroy(int ctx, uint32_t id);
int rca_destroy_count(int ctx, uint32_t id, uint32_t *reported);

/* A QP number that no connection has used since boot. */
uint32_t fresh_qp_num(void);

/* Events. */
bool event_waits(int queue);
bool event_comes(int queue, int seconds);
void get_event(int queue, event_t *ev);
void expect_event(const char *file, int line, int queue, uint32_t type, uint32_t id, int status,
		  event_t *ev);
#define EXPECT_EVENT_STATUS(queue, type, id, status, ev) \
	expect_event(__FILE__, __LINE__, queue, RDMA_CM_ALT_EVENT_##type, id, status, ev)
#define EXPECT_EVENT(queue, type, id) EXPECT_EVENT_STATUS(queue, type, id, 0, NULL)

/* Resolve and read the event. The source address is chosen by the kernel. */
void await_addr(int ctx, int queue, uint32_t id, const char *ip, uint16_t port);
void await_route(int ctx, int queue, uint32_t id);

/* An id with its address. post() makes it post ROUTE_RESOLVED at once. */
uint32_t get_loaded(int ctx, int queue, uint64_t cookie);
void post(int ctx, uint32_t id);

/**
 * struct reader - a thread that reads one event
 * @thread: the thread; to be joined before the results are valid
 * @tid: its thread ID
 * @queue: the queue that it reads
 * @ev: the event
 * @ret: result of read()
 * @error: errno of read()
 */
struct reader {
	pthread_t thread;
	pid_t tid;
	int queue;
	event_t ev;
	ssize_t ret;
	int error;
};

/* Returns when the reader sleeps in the kernel. */
void start_reader(struct reader *reader, int queue);
/* The same for any thread or process. */
void await_sleep(pid_t tid);

/**
 * struct pair - two ends of a connection in one process
 * @ctx: context of both
 * @lq: queue of the listener and the server's end
 * @cq: queue of the client
 * @listener: listening id
 * @port: the listener's port
 * @client: active id
 * @server: passive id
 */
struct pair {
	int ctx;
	int lq;
	int cq;
	uint32_t listener;
	uint16_t port;
	uint32_t client;
	uint32_t server;
};

/* Cookies of the ids of a pair. */
enum { LISTENER = 0x1111, CLIENT = 0x2222, SERVER = 0x3333 };

/* Each goes one step further than the one before. Events are stored unless they are NULL. */
struct pair get_listening(const char *ip);
struct pair get_routed(const char *ip);
struct pair get_requested(event_t *request);
struct pair get_accepted(event_t *response);
struct pair get_connected(void);

/* get_listening() for a pair that exists. */
void pair_listen(struct pair *p, const char *ip);
/* The client's request and its event, which sets the server's id. */
void pair_send_req(struct pair *p, event_t *request);
/* The server accepts; the client receives the response. */
void pair_send_rep(const struct pair *p);
/* The client confirms; the server is established. */
void pair_send_rtu(const struct pair *p);
/* The client disconnects; both receive the event. */
void pair_disconnect(const struct pair *p);
/* Neither queue has an event. */
void expect_no_events(const struct pair *p);

/* A client with its route to a listener. */
uint32_t get_client(int ctx, int queue, const char *ip, uint16_t port, uint64_t cookie);

#endif /* RCA_TEST_H */
