/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Contexts, users, limits, handles. */
#ifndef RCA_CTX_CTX_H
#define RCA_CTX_CTX_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/rdma_cm_alt.h>

#include "lib/types.h"

struct mem_cgroup;
struct miscdevice;
struct pid;
struct rca_user;
struct workqueue_struct;

/* Limits: resources that are counted and limited per user and per context. */

/** RCA_RESOURCES - number of resources, &enum rdma_cm_alt_resource */
#define RCA_RESOURCES (RDMA_CM_ALT_RESOURCE_RING_PAGES + 1)

/**
 * struct rca_counts - the resources of a user or a context
 * @used: number in use, by resource (atomic)
 * @refused: number of requests refused because of the limit, by resource (atomic)
 */
struct rca_counts {
	atomic_t used[RCA_RESOURCES];
	atomic64_t refused[RCA_RESOURCES];
};

/**
 * struct rca_account - the resources of a context, and its owner; part of the context
 * @user: the user who opened the context; charged for all of its resources, also those that other
 *        users of the file or peers cause (immutable; holds a reference)
 * @exempt: the limits of the user do not apply, but resources are charged (immutable)
 * @counts: resources of the context
 */
struct rca_account {
	struct rca_user *user;
	bool exempt;
	struct rca_counts counts;
};

/**
 * struct rca_usage - use and limit of a resource
 * @used: number in use
 * @limit: the limit; U32_MAX: none
 * @refused: number of requests refused because of the limit
 */
struct rca_usage {
	u32 used;
	u32 limit;
	u64 refused;
};

/**
 * enum rca_lanes - locks that users wait for; calls of a user that take them are made in turn
 * @RCA_LANE_LISTEN: of the listeners of a network namespace, and of the service IDs of a device
 * @RCA_LANE_RTNL: of the network configuration
 * @RCA_LANES: their number
 */
enum rca_lanes {
	RCA_LANE_LISTEN,
	RCA_LANE_RTNL,
	RCA_LANES,
};

/* For work of no user: short, and never waiting for one. */
extern struct workqueue_struct *rca_wq;

int rca_users_init(void);
void rca_users_exit(void);
int rca_account_open(struct rca_account *account, kuid_t uid, bool exempt);
void rca_account_close(struct rca_account *account);
kuid_t rca_account_user(void);
kuid_t rca_account_uid(const struct rca_account *account);
struct workqueue_struct *rca_account_wq(const struct rca_account *account);
void rca_account_call(const struct rca_account *account, enum rca_lanes which,
		      void (*fn)(void *arg), void *arg);
struct workqueue_struct *rca_account_slow_wq(const struct rca_account *account);
bool rca_account_borrow(const struct rca_account *account);
void rca_account_repay(const struct rca_account *account);
int rca_charge(struct rca_account *account, enum rdma_cm_alt_resource what, unsigned int count);
void rca_uncharge(struct rca_account *account, enum rdma_cm_alt_resource what, unsigned int count);
bool rca_account_full(const struct rca_account *account, enum rdma_cm_alt_resource what);
void rca_account_refused(struct rca_account *account, enum rdma_cm_alt_resource what);
void rca_account_usage(const struct rca_account *account, enum rdma_cm_alt_resource what,
		       struct rca_usage *context, struct rca_usage *user);

/* Contexts and their handle tables: reserve, publish, look up, claim, put. */

/**
 * enum rca_kind - kinds of objects that have handles
 * @RCA_KIND_ID: &struct rca_id
 * @RCA_KIND_MEMBER: membership in a multicast group
 */
enum rca_kind {
	RCA_KIND_ID = 1,
	RCA_KIND_MEMBER,
};

/**
 * struct rca_ctx - a context: an open file of the device, its handle table and account
 * @ref: references: the file, each object, each queue
 * @serial: serial number, from 1; never reused (immutable)
 * @pid: the process that opened the file (immutable; holds a reference)
 * @uid: its user, for whom it is shown; &rca_ctx.account may charge another one (immutable)
 * @comm: name of that process at that time (immutable)
 * @table: handle -> object; reserved handles are zero entries (lock: its own)
 * @next: where the search for a free handle starts (lock: @table)
 * @queues: queues that have a file, by serial number (lock: @queues_lock)
 * @queue_serial: serial number of the newest queue (lock: @queues_lock)
 * @queues_lock: a leaf
 * @account: owner and resources
 * @memcg: memory cgroup that callbacks charge (immutable; holds a reference; may be NULL)
 * @shared: its handles differ from those of all other contexts of which this is set, so that
 *          rca_obj_find() finds them (set before the first object is created)
 * @rcu: frees the context after rca_obj_find()
 */
struct rca_ctx {
	refcount_t ref;
	u64 serial;
	struct pid *pid;
	kuid_t uid;
	char comm[TASK_COMM_LEN];
	struct xarray table;
	u32 next;
	struct list_head queues;
	u32 queue_serial;
	spinlock_t queues_lock;
	struct rca_account account;
	struct mem_cgroup *memcg;
	bool shared;
	struct rcu_head rcu;
};

/**
 * struct rca_obj_type - a type of objects
 * @kind: the kind
 * @release: called by the last rca_obj_put(), in any context; must free the object after an RCU
 *           grace period
 */
struct rca_obj_type {
	enum rca_kind kind;
	void (*release)(struct rca_obj *obj);
};

/**
 * struct rca_obj - base of objects that have a handle
 * @ref: references; the table holds one on a published object
 * @handle: handle in @ctx (immutable)
 * @ctx: the context (immutable; holds a reference, put after the release)
 * @type: the type (immutable)
 * @born: time of rca_obj_reserve(), in seconds since boot (immutable)
 * @qp_num: number of the QP, as far as it is known; 0: none
 */
struct rca_obj {
	refcount_t ref;
	u32 handle;
	struct rca_ctx *ctx;
	const struct rca_obj_type *type;
	u32 born;
	u32 qp_num;
};

int rca_misc_register(struct miscdevice *misc);
struct rca_ctx *rca_ctx_create(void);
struct rca_ctx *rca_ctx_get(struct rca_ctx *ctx);
void rca_ctx_put(struct rca_ctx *ctx);
struct rca_ctx *rca_ctx_next(struct rca_ctx *prev, u64 after);

int rca_obj_reserve(struct rca_obj *obj, struct rca_ctx *ctx, const struct rca_obj_type *type,
		    gfp_t gfp);
void rca_obj_publish(struct rca_obj *obj);
bool rca_obj_unpublish(struct rca_obj *obj);
void rca_obj_unreserve(struct rca_obj *obj);
void rca_obj_release(struct rca_obj *obj);
struct rca_obj *rca_obj_lookup(struct rca_ctx *ctx, u32 handle, enum rca_kind kind);
struct rca_obj *rca_obj_find(u32 handle, enum rca_kind kind);
struct rca_obj *rca_obj_claim_handle(struct rca_ctx *ctx, u32 handle, enum rca_kind kind);
bool rca_obj_claim(struct rca_obj *obj);
struct rca_obj *rca_obj_next(struct rca_ctx *ctx, unsigned long *pos);

/* Get another reference on an object. Any context. */
static inline struct rca_obj *rca_obj_get(struct rca_obj *obj)
{
	refcount_inc(&obj->ref);
	return obj;
}

/*
 * Get a reference on an object whose last reference may have been put; RCU or a lock keeps its
 * memory. Returns false if it has. Any context.
 */
static inline bool __must_check rca_obj_tryget(struct rca_obj *obj)
{
	return refcount_inc_not_zero(&obj->ref);
}

/* Put a reference on an object, which is released with the last one. Any context. */
static inline void rca_obj_put(struct rca_obj *obj)
{
	if (refcount_dec_and_test(&obj->ref))
		rca_obj_release(obj);
}

#endif
