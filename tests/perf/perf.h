/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The driver of the measurements: declarations that its parts share. It uses the plain
 * librdmacm API, so that the same file runs with stock and with ours.
 *
 * Every mode forks a server before any RDMA device is opened, measures as the client, and
 * prints one JSON object. There are no threads except where a comment says so.
 */
#ifndef PERF_H
#define PERF_H

#include <rdma/rdma_cma.h>
#include <rdma/rdma_cma_alt.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct options - options of the command line
 * @address: where the server listens, and the client connects
 * @source: the client's own address, or NULL
 * @netns: path of the server's network namespace, or NULL: the client's
 * @port: the server's port
 * @peers: the client connects to this many addresses in turn, from @address on (IPv4)
 * @count: connections, or ids
 * @window: how many are outstanding at a time
 * @qpn: first QP number: the QPs do not exist, but peers refuse a number that is in use
 * @interval: ms from one live connection to the next
 * @dead: address of a peer that has a neighbour entry and never answers
 * @nobody: address that has no neighbour
 * @dead_count: ids that try to reach them
 * @maps: instructions are counted: file for the memory map of the driver; or NULL
 * @deadline: time limit in ms of connect and disconnect, where the stack has one; 0: not set
 * @qps: each id has a QP, as those of most programs do
 * @messages: each QP carries a message and its answer
 * @elsewhere: the server runs already
 * @fused: use the calls of <rdma/rdma_cma_alt.h>
 */
struct options {
	const char *address;
	const char *source;
	const char *netns;
	int port;
	int peers;
	int count;
	int window;
	uint32_t qpn;
	int interval;
	const char *dead;
	const char *nobody;
	int dead_count;
	const char *maps;
	uint32_t deadline;
	bool qps;
	bool messages;
	bool elsewhere;
	bool fused;
};

extern struct options options;

/* Stage of an id. Each stage but the first is entered by an event. */
enum stage { STAGE_NEW, STAGE_ADDRESS, STAGE_ROUTE, STAGE_CONNECTED, STAGE_GONE, STAGES };

/**
 * struct conn - an active id
 * @id: the id
 * @stage: its stage
 * @at: when it entered the stage, in us of the monotonic clock
 * @begun: when the step to the next stage was started
 * @failed: an event reported a failure, or a call failed
 * @asked: its message was sent
 */
struct conn {
	struct rdma_cm_id *id;
	enum stage stage;
	double at[STAGES];
	double begun[STAGES];
	bool failed;
	bool asked;
};

/**
 * struct client - all active ids of a process
 * @channel: their event channel
 * @conns: the ids
 * @count: number of ids
 * @failures: number of failed ids
 * @why: the name of the first failure
 */
struct client {
	struct rdma_event_channel *channel;
	struct conn *conns;
	int count;
	int failures;
	char why[64];
};

/**
 * struct server - the passive process, as the active one sees it
 * @pid: the process
 * @pipe: a socket to it
 */
struct server {
	int pid;
	int pipe;
};

/**
 * struct fused_calls - functions that only our library has
 * @connect_many: rdma_alt_connect_many()
 * @destroy_many: rdma_alt_destroy_many()
 * @get_events: rdma_alt_get_cm_events()
 * @accept: rdma_alt_accept()
 */
struct fused_calls {
	typeof(rdma_alt_connect_many) *connect_many;
	typeof(rdma_alt_destroy_many) *destroy_many;
	typeof(rdma_alt_get_cm_events) *get_events;
	typeof(rdma_alt_accept) *accept;
};

extern struct fused_calls fused;

/**
 * struct use - processor time used so far, in us
 * @client: of this process, in user space and in system calls
 * @server: of the child processes that have been waited for
 * @busy: of everything, kernel workers and interrupts included
 */
struct use {
	double client[2];
	double server[2];
	double busy;
};

/* One-byte requests to a server; server_ask() returns its answer, a number. */
enum { SERVER_AWAIT = 'w', SERVER_CLOSE = 'c', SERVER_SERVE = 's' };

double now_us(void);
void give_up(const char *what) __attribute__((noreturn));
struct sockaddr *address_of(const char *text, int port);
struct rdma_conn_param conn_param(void);
int make_qp(struct rdma_cm_id *id);
int send_message(struct rdma_cm_id *id);
void *next_message(struct rdma_event_channel *channel);
struct ibv_qp *make_qp_of(struct ibv_pd *pd);
void destroy_id(struct rdma_cm_id *id);

void client_init(struct client *client, int count);
void client_end(struct client *client);
void client_run(struct client *client, enum stage from, enum stage to, int window);
void client_destroy(struct client *client);
void note_failure(struct client *client, struct conn *conn, const char *what);
void say_times(const char *name, const struct client *client, enum stage from, enum stage to);
void say_failures(const struct client *client);

void enter_netns(void);
struct server server_start(bool holds);
double server_ask(const struct server *server, char what);
void server_end(const struct server *server);

void fused_init(void);
void fused_connect(struct client *client, int window);
void fused_destroy(struct client *client, int window);

void use_begin(struct use *use);
void say_use(const struct use *use);
double quiet_us(void);

void count_begin(void);
void count_end(void);

void serve_only(void);
void measure_rate(void);
void measure_cycle(void);
void measure_resolve(void);
void measure_storm(void);
void measure_dead(void);
void measure_ids(void);
void measure_memory(void);
void measure_close(void);
void measure_destroy(void);
void measure_disconnect(void);
void measure_floor(void);
void hold_connections(void);
void hold_listeners(void);
void measure_messages(void);
void measure_bulk(void);
void measure_streams(void);
void measure_crowd(void);

#endif
