/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What went wrong lately, for each network namespace; and who listens to what happens. */
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

/** RCA_STORIES - how many a namespace keeps; the oldest goes first */
#define RCA_STORIES 256

/** RCA_STORY_OP - how long the name of an operation may be, with its end */
#define RCA_STORY_OP 16

/** RCA_UNTOLD - how many of a namespace wait at most to be told to who listens there */
#define RCA_UNTOLD 4096

/**
 * struct rca_story - something that happened to an id
 * @node: in its namespace's list (lock: story_net.lock), or of those that wait to be told
 *        (lock: untold_lock)
 * @serial: counts them in the namespace, from 1
 * @at: when, in ns since 1970
 * @ctx: serial number of the context
 * @handle: of the id in it
 * @uid: who owns the context
 * @pid: the process that opened it; a reference in a list, borrowed else; may be NULL
 * @comm: its name then
 * @op: the operation that has ended; empty: it was an event
 * @event: type of the event
 * @status: 0; a negative errno; of a reject the peer's reason
 * @state: of the id, after it (enum rca_state)
 * @before: the one that it left for @state
 * @ps: port space
 * @local: its address as far as it is known
 * @peer: likewise
 * @dev: name of its device; empty: it has none
 * @port: port of the device
 * @sgid: its GID there; zero: none
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

/* A namespace's list takes at most 128 KiB. */
static_assert(sizeof(struct rca_story) <= 512);

/**
 * struct rca_untold - what happened in a namespace and was not told yet to who listens there
 * @net: the namespace (immutable); holds a reference while @turn is in the list
 * @turn: in the list of those that have something to tell (lock: untold_lock); empty: nothing
 * @stories: the oldest first (lock: untold_lock)
 * @count: how many, up to RCA_UNTOLD (lock: untold_lock)
 * @lost: there was no room, or no memory, for something (lock: untold_lock)
 * @since: how many were told since the last time that a loss was (lock: untold_lock)
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
 * struct rca_story_ops - who listens to all that happens
 * @wanted: may anybody, in this namespace? Any context, under RCU.
 * @tell: this has happened there. Process context.
 * @lost: something that happened there was not told. Process context.
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

/* What the files that share this header share besides. */

void rca_story_forget(struct rca_story *story);
void rca_untold_init(struct rca_untold *untold, struct net *net);
void rca_untold_leave(struct rca_untold *untold, const struct rca_story *story);

#endif /* RCA_STORY_H */
