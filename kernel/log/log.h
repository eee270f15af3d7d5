/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The log of failures, and notifications. */
#ifndef RCA_LOG_LOG_H
#define RCA_LOG_LOG_H

#include <linux/build_bug.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <rdma/ib_verbs.h>

#include "lib/sockaddr.h"
#include "transport/transport.h"

struct net;
struct pid;

/* The failure log of a network namespace, and the queue of notifications for the monitor. */

/** RCA_LOG_ENTRIES - number of failures that a namespace keeps */
#define RCA_LOG_ENTRIES 256

/** RCA_REPORT_OP_LEN - size of the name of an operation, with the terminating zero */
#define RCA_REPORT_OP_LEN 16

/** RCA_MONITOR_QUEUE_MAX - most records of a namespace that wait for the monitor */
#define RCA_MONITOR_QUEUE_MAX 4096

/**
 * struct rca_report - the record of an operation that ended, or of an event
 * @node: entry in the failure log (lock: log_net.lock), or in the notification queue (lock:
 *        monitor_lock)
 * @serial: serial number in the failure log of the namespace, from 1
 * @at: time of the operation or event, in ns since 1970; in the order of the notification queue
 * @ctx: serial number of the context
 * @handle: handle of the id in the context
 * @uid: owner of the context
 * @pid: process that opened the context, or NULL; a reference while the record is in a list,
 *       borrowed otherwise
 * @comm: name of that process when it opened the context
 * @op: name of the operation; empty for an event
 * @event: type of the event
 * @status: 0, a negative errno, or the reason of a reject
 * @state: state of the id afterwards (enum rca_state)
 * @before: the previous state of the id
 * @ps: port space
 * @local: local address, as far as it is known
 * @peer: address of the peer, as far as it is known
 * @dev: name of the device; empty without a device
 * @port: port of the device
 * @sgid: GID of the id on the port; zero without one
 * @numbers: of its connection; of a connection request: those of the new id
 */
struct rca_report {
	struct list_head node;
	u64 serial;
	u64 at;
	u64 ctx;
	u32 handle;
	kuid_t uid;
	struct pid *pid;
	char comm[TASK_COMM_LEN];
	char op[RCA_REPORT_OP_LEN];
	u32 event;
	int status;
	u8 state;
	u8 before;
	u16 ps;
	union rca_addr local;
	union rca_addr peer;
	char dev[IB_DEVICE_NAME_MAX];
	u32 port;
	union ib_gid sgid;
	struct rca_tp_numbers numbers;
};

/* The failure log of a namespace takes at most 128 KiB. */
static_assert(sizeof(struct rca_report) <= 512);

/**
 * struct rca_monitor_queue - the records of a namespace that wait for the monitor
 * @net: the namespace (immutable); referenced while @turn is in a list
 * @turn: entry in the list of queues to serve (lock: monitor_lock)
 * @reports: the records, the oldest first (lock: monitor_lock)
 * @count: number of records, up to RCA_MONITOR_QUEUE_MAX (lock: monitor_lock)
 * @lost: a record was dropped because the queue was full or there was no memory (lock:
 *        monitor_lock)
 * @since: number of records delivered since the last report of a loss (lock: monitor_lock)
 */
struct rca_monitor_queue {
	struct net *net;
	struct list_head turn;
	struct list_head reports;
	unsigned int count;
	bool lost;
	unsigned int since;
};

/**
 * struct rca_monitor_ops - the monitor: receives all records
 * @wanted: may there be a receiver for records of this namespace? Any context, under RCU.
 * @tell: deliver a record of this namespace. Process context.
 * @lost: report that records of this namespace were dropped. Process context.
 */
struct rca_monitor_ops {
	bool (*wanted)(struct net *net);
	void (*tell)(struct net *net, const struct rca_report *report);
	void (*lost)(struct net *net);
};

int rca_log_init(void);
void rca_log_exit(void);
const struct rca_monitor_ops *rca_monitor_set(const struct rca_monitor_ops *ops);
bool rca_monitor_wanted(struct net *net);
void rca_log_report(struct net *net, struct rca_report *report, bool keep);
bool rca_monitor_ratelimit(struct net *net);
bool rca_log_next(struct net *net, u64 after, struct rca_report *copy);

#endif
