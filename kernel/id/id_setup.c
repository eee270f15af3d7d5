// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The parts of an id that it does not always have, so that thousands of them cost
 * little: the extras, which few have; and the setup, which it needs to get
 * connected and to end that, and which goes in between.
 *
 * Locking: none for the extras, which are set once; rca_id.op and rca_id.lock to
 * change &rca_id.setup, either of them to read it, or RCU.
 */
#include <kunit/visibility.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "id/id.h"
#include "id/send_window.h"
#include "id/timing_net.h"

/* What an id without extras has. */
const struct rca_opts rca_no_opts;
EXPORT_SYMBOL_IF_KUNIT(rca_no_opts);

/**
 * rca_id_need_opts() - the extras of an id, for who changes them
 * @id: the id
 * @gfp: how to get memory, if it has none yet
 *
 * Context: As @gfp says. Several may call it at a time.
 * Return: the extras; NULL: no memory.
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
EXPORT_SYMBOL_IF_KUNIT(rca_id_need_opts);

/**
 * rca_id_timing() - how long an id waits for its peer
 * @id: the id
 *
 * Context: Any context.
 * Return: its settings, or those of its namespace; those of the module count where none is set.
 */
struct rca_timing rca_id_timing(const struct rca_id *id)
{
	struct rca_timing timing = {};

	rca_timing_inherit(&timing, &rca_id_opts(id)->timing);
	rca_timing_net_fill(&timing, id->net);
	return timing;
}

/**
 * rca_id_inherit_timing() - the id of a request has the settings of its listener
 * @child: the id of the request; nobody else knows it yet
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

/**
 * rca_id_free_opts() - free the extras of an id that nobody knows any more, if it has some
 * @id: the id
 *
 * Context: Any context.
 */
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
 * rca_id_make_setup() - make a setup, which the caller gives to the id
 * @id: the id
 * @gfp: how to get memory
 *
 * Context: As @gfp says.
 * Return: the setup; NULL: no memory.
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
 * rca_id_need_setup() - an id that was connected needs a setup again
 * @id: the id
 *
 * Context: Process context. May sleep. Expects @id->op to be held by the caller. Takes and
 * releases @id->lock.
 * Return: false: there is no memory, and the id has to do without its own patience.
 */
bool rca_id_need_setup(struct rca_id *id)
{
	struct mem_cgroup *old_memcg;
	struct rca_setup *setup;
	unsigned long flags;

	lockdep_assert_held(&id->op);
	if (id->setup)
		return true;
	/* Whoever ends an id may be a thread of the kernel, and must not wait for memory. */
	old_memcg = set_active_memcg(id->obj.ctx->memcg);
	setup = rca_id_make_setup(id, RCA_GFP_CALLBACK);
	set_active_memcg(old_memcg);
	if (!setup)
		return false;
	spin_lock_irqsave(&id->lock, flags);
	WRITE_ONCE(id->setup, setup);	/* pairs with rca_window_end() */
	spin_unlock_irqrestore(&id->lock, flags);
	return true;
}

static void free_paths(struct rca_setup *setup)
{
	kfree(setup->path);
	kfree(setup->alt_path);
	kfree(setup->path_in);
	kfree(setup->path_out);
	kfree(setup->retry);
	setup->path = NULL;
	setup->alt_path = NULL;
	setup->path_in = NULL;
	setup->path_out = NULL;
	setup->retry = NULL;
}

/**
 * rca_id_drop_path() - free the paths and the request of an id, if it has some
 * @id: the id
 *
 * Context: Any context. Expects @id->op to be held by the caller, or @id to be
 * known to nobody else.
 */
void rca_id_drop_path(struct rca_id *id)
{
	if (id->setup)
		free_paths(id->setup);
}

/**
 * rca_id_drop_setup() - an id is connected: free what it needed for that
 * @id: the id; no resolution is under way
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller. Takes and
 * releases @id->lock.
 */
void rca_id_drop_setup(struct rca_id *id)
{
	struct rca_setup *setup = id->setup;
	unsigned long flags;

	lockdep_assert_held(&id->op);
	if (!setup)
		return;
	WARN_ON_ONCE(setup->resolve || setup->query || setup->on_route);
	rca_window_release(id);
	spin_lock_irqsave(&id->lock, flags);
	WRITE_ONCE(id->setup, NULL);	/* pairs with rca_window_end() */
	spin_unlock_irqrestore(&id->lock, flags);
	if (timer_delete_sync(&setup->timer))
		rca_id_put(id);		/* got in rca_id_queue_work_at() */
	free_paths(setup);
	kfree_rcu(setup, rcu);
}

/**
 * rca_id_free_setup() - free the setup of an id that nobody knows any more, if it has one
 * @id: the id
 *
 * Context: Any context.
 */
void rca_id_free_setup(struct rca_id *id)
{
	struct rca_setup *setup = id->setup;

	if (!setup)
		return;
	WARN_ON_ONCE(setup->resolve || setup->query || setup->slot.peer);
	free_paths(setup);
	if (setup->on_route)
		setup->on_route->go(id, setup->on_route, false);
	id->setup = NULL;
	kfree_rcu(setup, rcu);	/* the timer's function may have come just to its end */
}
