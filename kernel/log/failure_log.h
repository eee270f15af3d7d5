/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The failure log of a network namespace, and the queue of notifications for the monitor. */
#ifndef RCA_STORY_H
#define RCA_STORY_H

#include <linux/build_bug.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <rdma/ib_verbs.h>

#include "lib/sockaddr.h"

struct net;
struct pid;

/** RCA_STORIES - number of failures that a namespace keeps */
#define RCA_STORIES 256

/** RCA_STORY_OP - size of the name of an operation, with the terminating zero */
#define RCA_STORY_OP 16

/** RCA_UNTOLD - most records of a namespace that wait for the monitor */
#define RCA_UNTOLD 4096

/**
 * struct rca_story - the record of an operation that ended, or of an event
 * @node: entry in the failure log (lock: story_net.lock), or in the notification queue (lock:
 *        untold_lock)
 * @serial: serial number in the failure log of the namespace, from 1
 * @at: time of the operation or event, in ns since 1970
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
 */
struct rca_story {
	struct list_head node;
	u64 serial;
	u64 at;
	u64 ctx;
	u32 handle;
	kuid_t uid;
	struct pid *pid;
	char comm[TASK_COMM_LEN];
	char op[RCA_STORY_OP];
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
};

/* The failure log of a namespace takes at most 128 KiB. */
static_assert(sizeof(struct rca_story) <= 512);

/**
 * struct rca_untold - the records of a namespace that wait for the monitor
 * @net: the namespace (immutable); referenced while @turn is in a list
 * @turn: entry in the list of queues to serve (lock: untold_lock)
 * @stories: the records, the oldest first (lock: untold_lock)
 * @count: number of records, up to RCA_UNTOLD (lock: untold_lock)
 * @lost: a record was dropped because the queue was full or there was no memory (lock:
 *        untold_lock)
 * @since: number of records delivered since the last report of a loss (lock: untold_lock)
 */
struct rca_untold {
	struct net *net;
	struct list_head turn;
	struct list_head stories;
	unsigned int count;
	bool lost;
	unsigned int since;
};

/**
 * struct rca_story_ops - the monitor: receives all records
 * @wanted: may there be a receiver for records of this namespace? Any context, under RCU.
 * @tell: deliver a record of this namespace. Process context.
 * @lost: report that records of this namespace were dropped. Process context.
 */
struct rca_story_ops {
	bool (*wanted)(struct net *net);
	void (*tell)(struct net *net, const struct rca_story *story);
	void (*lost)(struct net *net);
};

int rca_story_init(void);
void rca_story_exit(void);
const struct rca_story_ops *rca_story_listen(const struct rca_story_ops *ops);
void rca_story_flush(void);
bool rca_story_wanted(struct net *net);
void rca_story_tell(struct net *net, struct rca_story *story, bool keep);
bool rca_story_spare(struct net *net);
bool rca_story_next(struct net *net, u64 after, struct rca_story *copy);

/* Shared by failure_log.c and notify.c only. */

void rca_story_forget(struct rca_story *story);
void rca_untold_init(struct rca_untold *untold, struct net *net);
void rca_untold_leave(struct rca_untold *untold, const struct rca_story *story);

#endif /* RCA_STORY_H */
