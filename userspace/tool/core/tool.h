/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declarations that the subcommands of rdma-cm-alt share. */
#ifndef TOOL_H
#define TOOL_H

#include <argp.h>
#include <json-c/json.h>
#include <netinet/in.h>
#include <netlink/attr.h>
#include <rdma/rdma_cm_alt_netlink.h>
#include <stdbool.h>
#include <stdint.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Exit codes: documented in rdma-cm-alt(8). */
enum {
	TOOL_OK,		/* success; check: all checks passed */
	TOOL_BAD,		/* check and explain: reported a problem */
	TOOL_USAGE,		/* the command line is wrong */
	TOOL_MODULE,		/* the module is not loaded */
	TOOL_ERROR,		/* anything else */
	TOOL_NONE,		/* explain: no such id, and no failure of one */
};

/* Global options, given before the subcommand. */
struct options {
	bool json;
	bool color;
};

extern struct options options;

/* common.c: messages to the user; fail() does not return. */
void tool_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));

/* client.c: client of the generic netlink family. */
typedef void (*message_fn)(struct nlmsghdr *nlh, struct nlattr **attrs, void *arg);
void client_dump(enum rdma_cm_alt_nl_cmd cmd, message_fn fn, void *arg);
bool client_may_dump(enum rdma_cm_alt_nl_cmd cmd, message_fn fn, void *arg);
void client_listen(message_fn fn, void *arg) __attribute__((noreturn));
struct client_monitor;
struct client_monitor *client_monitor_open(message_fn fn, void *arg);
int client_monitor_fd(struct client_monitor *monitor);
bool client_monitor_read(struct client_monitor *monitor);
void client_monitor_gather(struct client_monitor *monitor);
bool client_monitor_drain(struct client_monitor *monitor, bool *lost);
bool client_nest(struct nlattr *nest, struct nlattr **attrs);
uint32_t client_u32(struct nlattr **attrs, int attr, uint32_t otherwise);
uint64_t client_u64(struct nlattr **attrs, int attr, uint64_t otherwise);
const char *client_string(struct nlattr **attrs, int attr, const char *otherwise);

/* filter.c: selects records; values that no record can have are reported as errors. */
struct filter {
	const char *program;
	const char *state;
	char device[64];
	int port;
	long pid;
};

void filter_program(struct filter *filter, const char *arg, struct argp_state *state);
void filter_state(struct filter *filter, const char *arg, struct argp_state *state);
void filter_device(struct filter *filter, const char *arg, struct argp_state *state);
void filter_pid(struct filter *filter, const char *arg, struct argp_state *state);
bool filter_matches(const struct filter *filter, struct json_object *record);

/* record.c: converts messages to JSON objects. */
struct json_object *record_id(struct nlattr **attrs);
struct json_object *record_member(struct nlattr **attrs);
struct json_object *record_queue(struct nlattr **attrs);
struct json_object *record_path(struct nlattr **attrs);
struct json_object *record_peer(struct nlattr **attrs);
struct json_object *record_notification(struct nlattr **attrs);
void record_put(struct json_object *record, const char *key, const char *text);
void record_put_number(struct json_object *record, const char *key, uint64_t number);
void record_put_bool(struct json_object *record, const char *key, bool value);
const char *record_string(struct json_object *record, const char *key);
int64_t record_number(struct json_object *record, const char *key);
bool record_failed(struct json_object *record);

#ifndef AF_IB
#define AF_IB 27
#endif

/* Layout of struct sockaddr_ib, which glibc does not declare. */
struct sockaddr_gid {
	uint16_t family;
	uint16_t pkey;
	uint32_t flowinfo;
	uint8_t gid[16];
	uint64_t sid;
	uint64_t sid_mask;
	uint64_t scope;
};

union any_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_gid ib;
};

/* text.c: text forms of numbers and addresses; cleans and quotes untrusted names. */
bool text_read_line(const char *path, char *line, size_t len);
void text_clean(char *text);
const char *text_quoted(const char *text);
struct json_object *text_addr(const struct nlattr *attr);
const char *text_ps(uint32_t ps);
const char *text_qp_type(uint32_t type);
const char *text_event(uint32_t type);
struct json_object *text_gid(const struct nlattr *attr);

/* common.c: options of all subcommands. */
extern const struct argp_child common_child[];

/* table.c: rows are JSON objects; a table shows a subset of their members. */
struct column {
	const char *key;	/* name of the member */
	const char *head;
	bool right;
};

void table_print(struct json_object *rows, const struct column *columns, int count);

/* run.c: programs that are executed next use the drop-in library. */
void run_setup(const char *library);

/*
 * users.c: the processes that have /dev/infiniband/rdma_cm open, whichever module it belongs to, as
 * far as the caller may look into them: an array of objects with pid and program.
 */
struct json_object *users_of_librdmacm(void);

/* takeover.c: is rdma_cm_alt_ucm to be loaded in place of rdma_ucm? */
bool takeover_is_set(void);

/* bench_worker.c: measures one stack, in a process of its own. */
enum { BENCH_LIBRARY = 100 };	/* exit status: the library is that of the other stack */
void bench_worker(const char *address, long count, bool ours) __attribute__((noreturn));

/* record_print.c: prints a time of day, and a failure or event on one line. */
const char *record_time(struct json_object *record, const char *key, char *text, size_t len);
void record_print(struct json_object *record);

/* The subcommands. Each gets its own name as argv[0]. */
int cmd_show(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_takeover(int argc, char **argv);
int cmd_monitor(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_record(int argc, char **argv);

#endif /* TOOL_H */
