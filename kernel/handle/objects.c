// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Contexts and their handle tables: a handle is reserved while its object is
 * being built, published when nothing can fail any more, and taken by exactly
 * one destroyer.
 *
 * Locking: the xarray's own lock, in process context; look-ups under RCU; ctxs_lock, a leaf, for
 * the list of contexts.
 */
#include "handle/objects.h"

#include <kunit/visibility.h>
#include <linux/bug.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/memcontrol.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

/* Handles fit in an int, so that they may share members with errnos. */
#define RCA_HANDLES XA_LIMIT(1, INT_MAX)

/* In the order of their serial numbers. */
static LIST_HEAD(ctxs);
static DEFINE_SPINLOCK(ctxs_lock);
static u64 last_serial;

/**
 * rca_ctx_create() - make a context for the calling process
 *
 * The caller's user pays for what is made in it. The limits of users are not for a
 * caller who may override those of processes (CAP_SYS_RESOURCE), as it is now.
 *
 * Context: process context; may sleep.
 * Return: the context with one reference, for rca_ctx_put(); -EDQUOT: the user has too
 *         many; -ENOMEM.
 */
struct rca_ctx *rca_ctx_create(void)
{
	bool exempt = ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE);
	struct rca_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	unsigned long flags;
	int ret;

	if (!ctx)
		return ERR_PTR(-ENOMEM);
	ret = rca_account_open(&ctx->account, current_uid(), exempt);
	if (ret) {
		kfree(ctx);
		return ERR_PTR(ret);
	}
	refcount_set(&ctx->ref, 1);
	xa_init_flags(&ctx->table, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&ctx->queues);
	spin_lock_init(&ctx->queues_lock);
	ctx->memcg = get_mem_cgroup_from_mm(current->mm); /* put in rca_ctx_put() */
	ctx->pid = get_pid(task_tgid(current));	/* put in rca_ctx_put() */
	get_task_comm(ctx->comm, current->group_leader);

	spin_lock_irqsave(&ctxs_lock, flags);
	ctx->serial = ++last_serial;
	list_add_tail(&ctx->node, &ctxs);
	spin_unlock_irqrestore(&ctxs_lock, flags);
	return ctx;
}
EXPORT_SYMBOL_IF_KUNIT(rca_ctx_create);

/**
 * rca_ctx_get() - take one more reference on a context
 * @ctx: a context that the caller has a reference on
 *
 * Context: any.
 * Return: @ctx, for rca_ctx_put().
 */
struct rca_ctx *rca_ctx_get(struct rca_ctx *ctx)
{
	refcount_inc(&ctx->ref);
	return ctx;
}
EXPORT_SYMBOL_IF_KUNIT(rca_ctx_get);

/**
 * rca_ctx_put() - give a reference on a context back
 * @ctx: the context; freed with the last reference
 *
 * Context: any.
 */
void rca_ctx_put(struct rca_ctx *ctx)
{
	unsigned long handle = 0, flags;

	if (!refcount_dec_and_test(&ctx->ref))
		return;
	spin_lock_irqsave(&ctxs_lock, flags);
	list_del(&ctx->node);
	spin_unlock_irqrestore(&ctxs_lock, flags);
	/*
	 * Each object has a reference on its context, so none can be left. Inner nodes can: of a
	 * handle for which there was not enough memory.
	 */
	WARN_ON_ONCE(xa_find(&ctx->table, &handle, RCA_HANDLES.max, XA_PRESENT));
	xa_destroy(&ctx->table);
	rca_account_close(&ctx->account);
	mem_cgroup_put(ctx->memcg);
	put_pid(ctx->pid);
	kfree(ctx);
}
EXPORT_SYMBOL_IF_KUNIT(rca_ctx_put);

/**
 * rca_ctx_next() - go through all contexts, in the order in which they were opened
 * @prev: the context before, whose reference is put; NULL: start
 * @after: to start: serial number of the one before; 0: with the first one
 *
 * Context: Process context.
 * Return: the next one that is not on its way out, with a reference, for rca_ctx_put(); NULL:
 *         there is none.
 */
struct rca_ctx *rca_ctx_next(struct rca_ctx *prev, u64 after)
{
	struct rca_ctx *ctx, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&ctxs_lock, flags);
	ctx = list_prepare_entry(prev, &ctxs, node);
	list_for_each_entry_continue(ctx, &ctxs, node) {
		if (ctx->serial > after && refcount_inc_not_zero(&ctx->ref)) {
			found = ctx;
			break;
		}
	}
	spin_unlock_irqrestore(&ctxs_lock, flags);
	if (prev)
		rca_ctx_put(prev);
	return found;
}
EXPORT_SYMBOL_IF_KUNIT(rca_ctx_next);

/**
 * rca_obj_reserve() - start the life of an object: a reference and a handle
 * @obj: the object; its base is initialised here
 * @ctx: where it will be found; the object takes a reference
 * @type: its kind, and what frees it
 * @gfp: flags for memory of the table
 *
 * Nobody finds the object before rca_obj_publish(). The caller owns its one
 * reference. On error the object has no reference and is not released.
 *
 * Context: process context; may sleep if @gfp allows it.
 * Return: 0; -ENOMEM; -EBUSY: all handles are in use.
 */
int rca_obj_reserve(struct rca_obj *obj, struct rca_ctx *ctx, const struct rca_obj_type *type,
		    gfp_t gfp)
{
	int ret;

	ret = xa_alloc_cyclic(&ctx->table, &obj->handle, NULL, RCA_HANDLES, &ctx->next, gfp);
	if (ret < 0)
		return ret;
	refcount_set(&obj->ref, 1);
	obj->type = type;
	obj->born = ktime_get_boottime_seconds();
	obj->ctx = rca_ctx_get(ctx); /* put in rca_obj_put() */
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rca_obj_reserve);

/**
 * rca_obj_publish() - let look-ups find an object
 * @obj: an object with a reserved handle
 *
 * The caller's reference becomes the table's. Cannot fail.
 *
 * Context: process context.
 */
void rca_obj_publish(struct rca_obj *obj)
{
	/* The reserved entry is overwritten in place; no memory is needed. */
	WARN_ON_ONCE(xa_store(&obj->ctx->table, obj->handle, obj, 0));
}
EXPORT_SYMBOL_IF_KUNIT(rca_obj_publish);

/**
 * rca_obj_unpublish() - undo rca_obj_publish(): the handle is only reserved again
 * @obj: an object that the caller has a reference on
 *
 * Context: process context.
 * Return: true: it was published, and the caller owns the table's reference
 *         now; false: somebody has taken it.
 */
bool rca_obj_unpublish(struct rca_obj *obj)
{
	return xa_cmpxchg(&obj->ctx->table, obj->handle, obj, XA_ZERO_ENTRY, 0) == obj;
}
EXPORT_SYMBOL_IF_KUNIT(rca_obj_unpublish);

/**
 * rca_obj_unreserve() - give up the handle of an object that was not published
 * @obj: an object with a reserved handle
 *
 * The caller still owns its reference, and puts it.
 *
 * Context: process context.
 */
void rca_obj_unreserve(struct rca_obj *obj)
{
	WARN_ON_ONCE(xa_erase(&obj->ctx->table, obj->handle));
}
EXPORT_SYMBOL_IF_KUNIT(rca_obj_unreserve);

/**
 * rca_obj_get() - take one more reference on an object
 * @obj: an object that the caller has a reference on
 *
 * Context: any.
 * Return: @obj, for rca_obj_put().
 */
struct rca_obj *rca_obj_get(struct rca_obj *obj)
{
	refcount_inc(&obj->ref);
	return obj;
}
EXPORT_SYMBOL_IF_KUNIT(rca_obj_get);

/**
 * rca_obj_tryget() - take a reference on an object that may be dying
 * @obj: an object that is not freed yet, thanks to RCU or a lock
 *
 * Context: any.
 * Return: true: the caller has a reference, for rca_obj_put().
 */
bool rca_obj_tryget(struct rca_obj *obj)
{
	return refcount_inc_not_zero(&obj->ref);
}
EXPORT_SYMBOL_IF_KUNIT(rca_obj_tryget);

/**
 * rca_obj_put() - give a reference on an object back
 * @obj: the object; released with the last reference
 *
 * Context: any.
 */
void rca_obj_put(struct rca_obj *obj)
{
	struct rca_ctx *ctx = obj->ctx;

	if (!refcount_dec_and_test(&obj->ref))
		return;
	obj->type->release(obj);
	rca_ctx_put(ctx);
}
EXPORT_SYMBOL_IF_KUNIT(rca_obj_put);

/**
 * rca_obj_lookup() - find an object by its handle
 * @ctx: the context
 * @handle: the handle, as the user gave it
 * @kind: the kind that it must be of
 *
 * Context: any.
 * Return: the object with a reference, for rca_obj_put(); -ENOENT: no such
 *         handle, or not published; -EINVAL: another kind.
 */
struct rca_obj *rca_obj_lookup(struct rca_ctx *ctx, u32 handle, enum rca_kind kind)
{
	struct rca_obj *obj;

	rcu_read_lock();
	obj = xa_load(&ctx->table, handle);
	if (!obj)
		obj = ERR_PTR(-ENOENT);
	else if (obj->type->kind != kind)
		obj = ERR_PTR(-EINVAL);
	else if (!rca_obj_tryget(obj))
		obj = ERR_PTR(-ENOENT);
	rcu_read_unlock();
	return obj;
}
EXPORT_SYMBOL_IF_KUNIT(rca_obj_lookup);

/**
 * rca_obj_claim_handle() - take an object out of the table, in order to destroy it
 * @ctx: the context
 * @handle: the handle, as the user gave it
 * @kind: the kind that it must be of
 *
 * Of several callers exactly one gets the object.
 *
 * Context: process context.
 * Return: the object with the table's reference, for rca_obj_put(); -ENOENT:
 *         no such handle, or not published; -EINVAL: another kind.
 */
struct rca_obj *rca_obj_claim_handle(struct rca_ctx *ctx, u32 handle, enum rca_kind kind)
{
	struct rca_obj *obj;

	xa_lock(&ctx->table);
	obj = xa_load(&ctx->table, handle);
	if (!obj)
		obj = ERR_PTR(-ENOENT);
	else if (obj->type->kind != kind)
		obj = ERR_PTR(-EINVAL);
	else
		__xa_erase(&ctx->table, handle);
	xa_unlock(&ctx->table);
	return obj;
}
EXPORT_SYMBOL_IF_KUNIT(rca_obj_claim_handle);

/**
 * rca_obj_claim() - take this very object out of the table
 * @obj: an object that the caller has a reference on
 *
 * Context: process context.
 * Return: true: it was there, and the caller owns the table's reference now;
 *         false: it was not published, or another caller took it.
 */
bool rca_obj_claim(struct rca_obj *obj)
{
	struct xarray *table = &obj->ctx->table;
	bool found;

	xa_lock(table);
	found = xa_load(table, obj->handle) == obj;
	if (found)
		__xa_erase(table, obj->handle);
	xa_unlock(table);
	return found;
}
EXPORT_SYMBOL_IF_KUNIT(rca_obj_claim);

/**
 * rca_obj_next() - walk the published objects of a context
 * @ctx: the context
 * @pos: where to go on; 0 before the first call
 *
 * Objects may come and go meanwhile. The walk is in the order of handles.
 *
 * Context: any.
 * Return: an object with a reference, for rca_obj_put(); NULL: no more.
 */
struct rca_obj *rca_obj_next(struct rca_ctx *ctx, unsigned long *pos)
{
	struct rca_obj *obj;

	rcu_read_lock();
	do {
		obj = xa_find(&ctx->table, pos, INT_MAX, XA_PRESENT);
		if (!obj)
			break;
		++*pos;
	} while (!rca_obj_tryget(obj));
	rcu_read_unlock();
	return obj;
}
EXPORT_SYMBOL_IF_KUNIT(rca_obj_next);
