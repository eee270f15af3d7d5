/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Contexts and their handle tables: reserve, publish, look up, claim, put. */
#ifndef RCA_OBJECTS_H
#define RCA_OBJECTS_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

#include "ctx/limits.h"
#include "lib/types.h"

struct mem_cgroup;
struct pid;

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

struct rca_ctx *rca_ctx_create(void);
struct rca_ctx *rca_ctx_get(struct rca_ctx *ctx);
void rca_ctx_put(struct rca_ctx *ctx);
struct rca_ctx *rca_ctx_next(struct rca_ctx *prev, u64 after);

int rca_obj_reserve(struct rca_obj *obj, struct rca_ctx *ctx, const struct rca_obj_type *type,
		    gfp_t gfp);
void rca_obj_publish(struct rca_obj *obj);
bool rca_obj_unpublish(struct rca_obj *obj);
void rca_obj_unreserve(struct rca_obj *obj);
bool __must_check rca_obj_tryget(struct rca_obj *obj);
void rca_obj_release(struct rca_obj *obj);
struct rca_obj *rca_obj_lookup(struct rca_ctx *ctx, u32 handle, enum rca_kind kind);
struct rca_obj *rca_obj_claim_handle(struct rca_ctx *ctx, u32 handle, enum rca_kind kind);
bool rca_obj_claim(struct rca_obj *obj);
struct rca_obj *rca_obj_next(struct rca_ctx *ctx, unsigned long *pos);

/* Get another reference on an object. Any context. */
static inline struct rca_obj *rca_obj_get(struct rca_obj *obj)
{
	refcount_inc(&obj->ref);
	return obj;
}

/* Put a reference on an object, which is released with the last one. Any context. */
static inline void rca_obj_put(struct rca_obj *obj)
{
	if (refcount_dec_and_test(&obj->ref))
		rca_obj_release(obj);
}

#endif /* RCA_OBJECTS_H */
