// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Contexts and their handle tables. A handle is reserved while its object is built, published when
 * nothing can fail any more, and claimed by exactly one destroyer.
 *
 * Locking: the own lock of a table, in process context; look-ups under RCU; the locks of ctxs and
 * of shared_handles, leaves, for all contexts.
 */
#include "ctx/ctx.h"

#include <linux/bug.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/memcontrol.h>
#include <linux/miscdevice.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "lib/compat.h"

/* Handles fit into an int, so that they can share members with errnos. */
#define RCA_HANDLES XA_LIMIT(1, INT_MAX)

/* All contexts, by serial number: a dump goes on behind the last context that it has read. */
static DEFINE_XARRAY_FLAGS(ctxs, XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
static atomic_long_t last_serial;

/* The contexts of the handles of contexts with &rca_ctx.shared. */
static DEFINE_XARRAY_FLAGS(shared_handles, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
static u32 next_shared;

/* Of the main module: its class, that of all misc devices, is not exported. */
static const struct device *first_misc;

/**
 * rca_misc_register() - register a device whose open files are contexts
 * @misc: the device of a front end; that of the main module comes first and stays until last
 *
 * misc_register() alone would refuse the second device of a name with a stack trace.
 *
 * Context: Process context. Sleeps.
 * Return: 0; -EEXIST: there is a misc device of this name; or another errno of misc_register().
 */
int rca_misc_register(struct miscdevice *misc)
{
	struct device *other = NULL;
	int ret;

	if (first_misc)
		other = class_find_device_by_name(first_misc->class, misc->name);
	if (other) {
		put_device(other);
		return -EEXIST;
	}
	ret = misc_register(misc);
	if (!ret && !first_misc)
		first_misc = misc->this_device;
	return ret;
}
RCA_EXPORT(rca_misc_register);

/**
 * rca_ctx_create() - create a context for the calling process
 *
 * The caller's user is charged for its resources. Limits of users do not apply if the caller has
 * CAP_SYS_RESOURCE now.
 *
 * Context: Process context. May sleep.
 * Return: the context with one reference, for rca_ctx_put(); -EDQUOT: the user has too many;
 *         -ENOMEM.
 */
struct rca_ctx *rca_ctx_create(void)
{
	bool exempt = ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE);
	struct rca_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!ctx)
		return ERR_PTR(-ENOMEM);
	ret = rca_account_open(&ctx->account, rca_account_user(), exempt);
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
	ctx->uid = current_uid();
	get_task_comm(ctx->comm, current->group_leader);

	ctx->serial = atomic_long_inc_return(&last_serial);
	ret = xa_err(xa_store_irq(&ctxs, ctx->serial, ctx, GFP_KERNEL_ACCOUNT));
	if (ret) {
		rca_ctx_put(ctx);
		return ERR_PTR(ret);
	}
	return ctx;
}
RCA_EXPORT(rca_ctx_create);

struct rca_ctx *rca_ctx_get(struct rca_ctx *ctx)
{
	refcount_inc(&ctx->ref);
	return ctx;
}

/* Put a reference on a context. Any context. */
void rca_ctx_put(struct rca_ctx *ctx)
{
	unsigned long handle = 0, flags;

	if (!refcount_dec_and_test(&ctx->ref))
		return;
	xa_lock_irqsave(&ctxs, flags);
	__xa_erase(&ctxs, ctx->serial);
	xa_unlock_irqrestore(&ctxs, flags);
	/*
	 * Each object holds a reference on its context, so none can be left. Inner nodes of the
	 * table can be left if a handle could not be reserved for lack of memory.
	 */
	WARN_ON_ONCE(xa_find(&ctx->table, &handle, RCA_HANDLES.max, XA_PRESENT));
	xa_destroy(&ctx->table);
	rca_account_close(&ctx->account);
	mem_cgroup_put(ctx->memcg);
	put_pid(ctx->pid);
	kfree_rcu(ctx, rcu);
}
RCA_EXPORT(rca_ctx_put);

/**
 * rca_ctx_next() - iterate over all contexts, the oldest first
 * @prev: the previous context, whose reference is put; NULL to start
 * @after: to start: serial number to continue after, or 0
 *
 * Context: Process context.
 * Return: the next context with a reference, for rca_ctx_put(); NULL: no more.
 */
struct rca_ctx *rca_ctx_next(struct rca_ctx *prev, u64 after)
{
	unsigned long flags, serial = prev ? prev->serial : after;
	struct rca_ctx *ctx;

	/* With the lock held, a context without references is not freed before it is removed. */
	xa_lock_irqsave(&ctxs, flags);
	do {
		ctx = xa_find_after(&ctxs, &serial, ULONG_MAX, XA_PRESENT);
	} while (ctx && !refcount_inc_not_zero(&ctx->ref));
	xa_unlock_irqrestore(&ctxs, flags);
	if (prev)
		rca_ctx_put(prev);
	return ctx;
}

/* Free a handle of a context with &rca_ctx.shared for the others. Any context. */
static void free_shared(u32 handle)
{
	unsigned long flags;

	xa_lock_irqsave(&shared_handles, flags);
	__xa_erase(&shared_handles, handle);
	xa_unlock_irqrestore(&shared_handles, flags);
}

static int reserve_handle(struct rca_ctx *ctx, u32 *handle, gfp_t gfp)
{
	int ret;

	if (!ctx->shared)
		return xa_alloc_cyclic(&ctx->table, handle, NULL, RCA_HANDLES, &ctx->next, gfp);
	ret = xa_alloc_cyclic_irq(&shared_handles, handle, ctx, RCA_HANDLES, &next_shared, gfp);
	if (ret < 0)
		return ret;
	ret = xa_reserve(&ctx->table, *handle, gfp);
	if (ret)
		free_shared(*handle);
	return ret;
}

/**
 * rca_obj_reserve() - initialize an object and reserve a handle for it
 * @obj: the object
 * @ctx: its context; the object holds a reference
 * @type: its type
 * @gfp: flags for the memory of the table
 *
 * Look-ups do not find the object before rca_obj_publish(). The caller owns its one reference.
 * After an error the object has no reference, and is not released.
 *
 * Context: Process context. May sleep if @gfp allows it.
 * Return: 0; -ENOMEM; -EBUSY: all handles are in use.
 */
int rca_obj_reserve(struct rca_obj *obj, struct rca_ctx *ctx, const struct rca_obj_type *type,
		    gfp_t gfp)
{
	int ret;

	ret = reserve_handle(ctx, &obj->handle, gfp);
	if (ret < 0)
		return ret;
	refcount_set(&obj->ref, 1);
	obj->type = type;
	obj->born = ktime_get_boottime_seconds();
	obj->ctx = rca_ctx_get(ctx); /* put in rca_obj_put() */
	return 0;
}

/**
 * rca_obj_publish() - let look-ups find an object
 * @obj: an object with a reserved handle
 *
 * The caller's reference is handed to the table. Cannot fail.
 *
 * Context: Process context.
 */
void rca_obj_publish(struct rca_obj *obj)
{
	/* Replaces the reserved entry, which needs no memory. */
	WARN_ON_ONCE(xa_store(&obj->ctx->table, obj->handle, obj, 0));
}

/**
 * rca_obj_unpublish() - undo rca_obj_publish(): the handle remains reserved
 * @obj: an object that the caller holds a reference on
 *
 * Context: Process context.
 * Return: true if it was published; the caller then owns the reference of the table. false if
 *         another thread has claimed it.
 */
bool rca_obj_unpublish(struct rca_obj *obj)
{
	return xa_cmpxchg(&obj->ctx->table, obj->handle, obj, XA_ZERO_ENTRY, 0) == obj;
}

/**
 * rca_obj_unreserve() - free the handle of an object that was not published
 * @obj: an object with a reserved handle; the caller still owns its reference
 *
 * Context: Process context.
 */
void rca_obj_unreserve(struct rca_obj *obj)
{
	WARN_ON_ONCE(xa_erase(&obj->ctx->table, obj->handle));
}

/* The last reference was put. Any context. */
void rca_obj_release(struct rca_obj *obj)
{
	struct rca_ctx *ctx = obj->ctx;

	if (ctx->shared)
		free_shared(obj->handle);
	obj->type->release(obj);
	rca_ctx_put(ctx);
}
RCA_EXPORT(rca_obj_release);

/**
 * rca_obj_lookup() - find an object by its handle
 * @ctx: the context
 * @handle: the handle, from user space
 * @kind: the required kind
 *
 * Context: Any context.
 * Return: the object with a reference, for rca_obj_put(); -ENOENT: no such handle, or not
 *         published; -EINVAL: another kind.
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

/**
 * rca_obj_find() - find an object of any context with &rca_ctx.shared by its handle
 * @handle: the handle, from user space
 * @kind: the required kind
 *
 * Context: Any context.
 * Return: as rca_obj_lookup().
 */
struct rca_obj *rca_obj_find(u32 handle, enum rca_kind kind)
{
	struct rca_obj *obj = ERR_PTR(-ENOENT);
	struct rca_ctx *ctx;

	rcu_read_lock();
	ctx = xa_load(&shared_handles, handle);
	if (ctx)
		obj = rca_obj_lookup(ctx, handle, kind);
	rcu_read_unlock();
	return obj;
}
RCA_EXPORT(rca_obj_find);

/**
 * rca_obj_claim_handle() - remove an object from the table, in order to destroy it
 * @ctx: the context
 * @handle: the handle, from user space
 * @kind: the required kind
 *
 * Of several callers exactly one gets the object.
 *
 * Context: Process context.
 * Return: the object with the reference of the table, for rca_obj_put(); -ENOENT: no such handle,
 *         or not published; -EINVAL: another kind.
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

/**
 * rca_obj_claim() - rca_obj_claim_handle() for an object that the caller holds a reference on
 * @obj: the object
 *
 * Context: Process context.
 * Return: true if it was published; the caller then owns the reference of the table. false if it
 *         was not published, or another caller has claimed it.
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

/**
 * rca_obj_next() - iterate over the published objects of a context, by handle
 * @ctx: the context
 * @pos: position of the iteration; 0 to start
 *
 * Objects may be published and claimed meanwhile.
 *
 * Context: Any context.
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
