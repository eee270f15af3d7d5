// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Optional parts of an id, which keep idle ids small: the option state, which few ids have, and the
 * connection state, which exists while an id connects and while it disconnects.
 *
 * Locking: the option state is set once, without a lock. &rca_id.setup is changed with rca_id.op
 * and rca_id.lock held, and read with either of them or RCU.
 */
#include "id/id.h"

#include <linux/cred.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

/* Option state of ids without one. */
const struct rca_opts rca_no_opts;

/**
 * rca_id_need_opts() - get the option state of an id for writing
 * @id: the id
 * @gfp: flags for its allocation, if the id has none
 *
 * Context: As @gfp says. May be called concurrently.
 * Return: the option state, or NULL without memory.
 */
struct rca_opts *rca_id_need_opts(struct rca_id *id, gfp_t gfp)
{
	struct rca_opts *made, *opts;

	opts = smp_load_acquire(&id->opts);	/* pairs with cmpxchg_release() below */
	if (opts)
		return opts;
	made = kzalloc(sizeof(*made), gfp);
	if (!made)
		return NULL;
	INIT_LIST_HEAD(&made->members);
	opts = cmpxchg_release(&id->opts, NULL, made);	/* pairs with rca_id_opts() */
	if (!opts)
		return made;
	kfree(made);
	return smp_load_acquire(&id->opts);	/* pairs with cmpxchg_release() above */
}

/**
 * rca_id_timing() - get the timer settings of an id
 * @id: the id
 *
 * Context: Any context.
 * Return: settings of the id, else of its namespace; unset ones have the default of the module.
 */
struct rca_timing rca_id_timing(const struct rca_id *id)
{
	struct rca_timing timing = {};
	struct net *net;

	rca_timing_inherit(&timing, &rca_id_opts(id)->timing);
	rcu_read_lock();
	net = READ_ONCE(id->net);	/* pairs with rca_id_leave_netns() */
	if (net)
		rca_timing_net_fill(&timing, net);
	rcu_read_unlock();
	return timing;
}

/**
 * rca_id_inherit_timing() - copy the timer settings of a listener to the id of a request
 * @child: id of the request; unpublished
 * @listener: the listening id
 *
 * Context: Process context (a callback of a transport). May sleep.
 * Return: 0 or -ENOMEM.
 */
int rca_id_inherit_timing(struct rca_id *child, const struct rca_id *listener)
{
	const struct rca_timing *timing = &rca_id_opts(listener)->timing;
	struct rca_opts *opts;

	if (!rca_timing_is_set(timing))
		return 0;
	opts = rca_id_need_opts(child, RCA_GFP_CALLBACK);
	if (!opts)
		return -ENOMEM;
	rca_timing_inherit(&opts->timing, timing);
	return 0;
}

/* Frees the option state, if any, of an id without references. Any context. */
void rca_id_free_opts(struct rca_id *id)
{
	struct rca_opts *opts = id->opts;

	if (!opts)
		return;
	WARN_ON_ONCE(opts->listener || !list_empty(&opts->members));
	kfree(opts->defaults);
	kfree(opts->bind);
	kfree(opts);
}

/**
 * rca_id_make_setup() - allocate a connection state; the caller stores it in the id
 * @id: the id
 * @gfp: flags for the allocation
 *
 * Context: As @gfp says.
 * Return: the connection state, or NULL without memory.
 */
struct rca_setup *rca_id_make_setup(struct rca_id *id, gfp_t gfp)
{
	struct rca_setup *setup = kzalloc(sizeof(*setup), gfp);

	if (!setup)
		return NULL;
	setup->id = id;
	INIT_LIST_HEAD(&setup->slot.node);
	timer_setup(&setup->timer, rca_id_timer_fn, 0);
	return setup;
}

/**
 * rca_id_need_setup() - allocate the connection state of an id again, to disconnect
 * @id: the id
 *
 * Context: Process context. May sleep. Expects @id->op to be held by the caller. Takes and releases
 * @id->lock.
 * Return: false without memory; the id then cannot wait by itself.
 */
bool rca_id_need_setup(struct rca_id *id)
{
	struct mem_cgroup *old_memcg;
	struct rca_setup *setup;

	lockdep_assert_held(&id->op);
	if (id->setup)
		return true;
	/* The caller may be a kernel thread, which must not wait for memory. */
	old_memcg = set_active_memcg(id->obj.ctx->memcg);
	setup = rca_id_make_setup(id, RCA_GFP_CALLBACK);
	set_active_memcg(old_memcg);
	if (!setup)
		return false;
	spin_lock_irq(&id->lock);
	WRITE_ONCE(id->setup, setup);	/* pairs with rca_window_end() */
	spin_unlock_irq(&id->lock);
	return true;
}

static void free_paths(struct rca_setup *setup)
{
	/* There are no others without this one. */
	if (!setup->has_path)
		return;
	kfree(setup->alt_path);
	kfree(setup->path_in);
	kfree(setup->path_out);
	setup->has_path = false;
	setup->alt_path = NULL;
	setup->path_in = NULL;
	setup->path_out = NULL;
	setup->path_version = 0;
}

/* Frees a request that waits for the route, or NULL. Any context. */
void rca_id_free_connect(struct rca_pending_connect *pending)
{
	if (!pending)
		return;
	put_cred(pending->cred);
	kfree(pending);
}

static void free_request(struct rca_setup *setup)
{
	free_paths(setup);
	kfree(setup->retry);
	setup->retry = NULL;
	rca_id_free_connect(setup->connect);
	setup->connect = NULL;
}

/* Gives an id, with a setup, its only path. Expects rca_id.op to be held by the caller. */
void rca_id_set_path(struct rca_id *id, const struct sa_path_rec *path)
{
	lockdep_assert_held(&id->op);
	free_paths(id->setup);
	id->setup->path = *path;
	id->setup->has_path = true;
}

static struct sa_path_rec *copy_record(const struct sa_path_rec *from)
{
	return kmemdup(from, sizeof(*from), GFP_KERNEL_ACCOUNT);
}

/**
 * rca_id_set_paths() - give an id its path, or a path for each direction
 * @id: the id, with a setup
 * @path: the path
 * @in: inbound path if it differs, else NULL
 * @out: outbound path if it differs, else NULL
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0; -ENOMEM, the id keeps the paths that it has.
 */
int rca_id_set_paths(struct rca_id *id, const struct sa_path_rec *path,
		     const struct sa_path_rec *in, const struct sa_path_rec *out)
{
	struct sa_path_rec *new_in = in ? copy_record(in) : NULL;
	struct sa_path_rec *new_out = out ? copy_record(out) : NULL;

	lockdep_assert_held(&id->op);
	if ((in && !new_in) || (out && !new_out)) {
		kfree(new_in);
		kfree(new_out);
		return -ENOMEM;
	}
	rca_id_set_path(id, path);
	id->setup->path_in = new_in;
	id->setup->path_out = new_out;
	return 0;
}

/**
 * rca_id_drop_request() - free the paths and the request of an id
 * @id: the id
 *
 * Context: Any context. Expects @id->op to be held by the caller, or @id to be unpublished.
 */
void rca_id_drop_request(struct rca_id *id)
{
	if (id->setup)
		free_request(id->setup);
}

/**
 * rca_id_drop_setup() - free the connection state when an id is connected
 * @id: the id; no resolution is pending
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller. Takes and releases
 * @id->lock.
 */
void rca_id_drop_setup(struct rca_id *id)
{
	struct rca_setup *setup = id->setup;

	lockdep_assert_held(&id->op);
	WARN_ON_ONCE(setup->resolve || setup->query || setup->service_query || setup->connect);
	rca_window_release(id);
	spin_lock_irq(&id->lock);
	WRITE_ONCE(id->setup, NULL);	/* pairs with rca_window_end() */
	spin_unlock_irq(&id->lock);
	if (timer_delete(&setup->timer))
		rca_id_put(id);		/* got in rca_id_queue_work_at() */
	free_request(setup);
	kfree(setup->services);
	kfree_rcu(setup, rcu);	/* the timer function may still be running */
}

/* Frees the connection state, if any, of an id without references. Any context. */
void rca_id_free_setup(struct rca_id *id)
{
	struct rca_setup *setup = id->setup;

	if (!setup)
		return;
	WARN_ON_ONCE(setup->resolve || setup->query || setup->service_query || setup->slot.peer);
	free_request(setup);
	kfree(setup->services);
	id->setup = NULL;
	kfree_rcu(setup, rcu);	/* the timer function may still be returning */
}
