// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * References, options, state, work and timer of an id, and its description for user space. The
 * other files of the id are built on this one. Only this file changes the state of an id.
 *
 * Locking: see "DOC: Locking" in id.h.
 */
#include "id/id.h"

#include <linux/build_bug.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_sa.h>

#include "lib/compat.h"
#include "lib/testing.h"
#include "lib/trace.h"
#include "lib/wire.h"
#include "transport/transport.h"

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
 * rca_id_step_locked() - apply an input to the state machine of an id
 * @id: the id
 * @input: the input
 *
 * The only writer of &rca_id.state. The caller posts the event of the step.
 *
 * Context: Any context.
 * Return: the step that was taken.
 */
struct rca_step rca_id_step_locked(struct rca_id *id, enum rca_input input)
{
	enum rca_state old = id->state;
	struct rca_step step;

	lockdep_assert_held(&id->lock);
	step = rca_fsm_next(old, input);
	if (step.verdict == RCA_TAKE) {
		if (step.next != old)
			id->before = old;
		WRITE_ONCE(id->state, step.next);
		rca_stats_step(rca_device_stats(id->dev, id->port_num), old, input, step.next,
			       &id->since);
		trace_rca_state(id->obj.handle, id->ps, &id->local.sa, &id->dst.sa, old, input,
				step.next);
	} else if (step.verdict == RCA_ILLEGAL) {
		trace_rca_unexpected(id->obj.handle, old, input);
	}
	return step;
}

/* rca_id_step_locked() that takes rca_id.lock. Process context. */
struct rca_step rca_id_step(struct rca_id *id, enum rca_input input)
{
	struct rca_step step;

	spin_lock_irq(&id->lock);
	step = rca_id_step_locked(id, input);
	spin_unlock_irq(&id->lock);
	return step;
}

/**
 * rca_id_may() - check whether the state of an id permits an operation
 * @id: the id
 * @input: the operation
 *
 * Changes nothing. A permission remains valid while only user space can change the state, that is
 * for the operations before a connection.
 *
 * Context: Any context.
 * Return: 0, or the errno of the refusal.
 */
int rca_id_may(struct rca_id *id, enum rca_input input)
{
	struct rca_step step = rca_fsm_next(rca_id_state(id), input);

	return step.verdict == RCA_TAKE ? 0 : step.err;
}

/* Queue the work of an id. Any context. */
void rca_id_queue_work(struct rca_id *id)
{
	rca_id_get(id);		/* put in id_work() */
	if (!queue_work(rca_id_wq(id), &id->work))
		rca_id_put(id);	/* already queued, with a reference */
}

/* Timer function of &rca_setup.timer. */
void rca_id_timer_fn(struct timer_list *timer)
{
	struct rca_setup *setup = timer_container_of(setup, timer, timer);
	struct rca_id *id = setup->id;

	/* The work takes over the reference of the timer. */
	if (!queue_work(rca_id_wq(id), &id->work))
		rca_id_put(id);
}

/**
 * rca_id_queue_work_at() - queue the work of an id after a delay, replacing a pending delay
 * @id: the id; it has a setup
 * @delay: the delay in jiffies
 *
 * Context: Any context. Expects @id->op to be held by the caller, or @id->lock in a state in
 * which the setup is not freed.
 */
void rca_id_queue_work_at(struct rca_id *id, unsigned long delay)
{
	rca_id_get(id);		/* put in id_work() */
	if (mod_timer(&id->setup->timer, jiffies + delay))
		rca_id_put(id);	/* already pending, with a reference */
}

/**
 * rca_id_queue_work_later() - queue the work of an id after a delay, unless a delay is pending
 * @id: the id; it has a setup
 * @delay: the delay in jiffies
 *
 * Context: Process context.
 */
void rca_id_queue_work_later(struct rca_id *id, unsigned long delay)
{
	lockdep_assert_held(&id->op);
	if (!timer_pending(&id->setup->timer))
		rca_id_queue_work_at(id, delay);
}

/**
 * rca_id_cancel_work() - cancel the timer and the queued work of an id
 * @id: the id; the caller holds a reference
 *
 * Does not wait for work that is running.
 *
 * Context: Any context.
 */
void rca_id_cancel_work(struct rca_id *id)
{
	struct rca_setup *setup;

	rcu_read_lock();
	setup = READ_ONCE(id->setup);	/* the timer of a freed setup is not pending */
	if (setup && timer_delete(&setup->timer))
		rca_id_put(id);		/* got in rca_id_queue_work_at() */
	rcu_read_unlock();
	/* Mostly it is not queued. If it is queued meanwhile, that may as well be afterwards. */
	if (work_pending(&id->work) && cancel_work(&id->work))
		rca_id_put(id);		/* got in rca_id_queue_work() */
}

#if IS_ENABLED(CONFIG_RDMA_CM_ALT_KUNIT)
/* For tests: is the work of an id queued, or its timer pending? */
bool rca_id_work_pending(const struct rca_id *id)
{
	return (id->setup && timer_pending(&id->setup->timer)) || work_pending(&id->work);
}

/* For tests: run the work of an id now if its timer is pending, and wait for its end. */
void rca_id_flush_work(struct rca_id *id)
{
	struct rca_setup *setup;

	rcu_read_lock();
	setup = READ_ONCE(id->setup);
	if (setup && timer_delete(&setup->timer)) {
		rca_id_queue_work(id);
		rca_id_put(id);		/* got in rca_id_queue_work_at() */
	}
	rcu_read_unlock();
	flush_work(&id->work);
}
#endif

/*
 * Description of the addresses, the device, the paths and the connection of an id for user space.
 *
 * Locking: rca_id.op, unless the id is unpublished; none for rca_id_numbers().
 */

/* rca_wire_put_path() writes words. */
static_assert(offsetof(struct rdma_cm_alt_route, path) % 8 == 0);
static_assert(offsetof(struct ib_path_rec_data, path_rec) % 8 == 0);
static_assert(sizeof_field(struct ib_path_rec_data, path_rec) == RCA_WIRE_PATH_LEN);

static void pack_path(struct ib_path_rec_data *out, struct sa_path_rec *rec, u32 which)
{
	struct sa_path_rec ib;

	/* User space expects InfiniBand records. */
	if (rec->rec_type == SA_PATH_REC_TYPE_OPA) {
		sa_convert_path_opa_to_ib(&ib, rec);
		rec = &ib;
	}
	out->flags = IB_PATH_GMP | IB_PATH_BIDIRECTIONAL | which;
	rca_wire_put_path(out->path_rec, rec);
}

/**
 * rca_id_fill_route_locked() - describe addresses, device and paths of an id to user space
 * @id: the id
 * @route: filled in as far as known
 *
 * Context: Process context. Expects @id->op to be held by the caller, or @id to be unpublished.
 */
void rca_id_fill_route_locked(const struct rca_id *id, struct rdma_cm_alt_route *route)
{
	memset(route, 0, sizeof(*route));
	memcpy(&route->src, &id->local, sizeof(route->src));
	memcpy(&route->dst, &id->dst, sizeof(route->dst));
	if (!id->dev)
		return;
	route->node_guid = (__force u64)id->dev->ibdev->node_guid;
	route->ibdev_index = id->dev->ibdev->index;
	route->port_num = id->port_num;
	if (id->sgid_attr)
		memcpy(route->sgid, id->sgid_attr->gid.raw, sizeof(route->sgid));
	/* iWARP has no partitions; its GIDs are hardware addresses. */
	if (id->dev->tp->over_tcp) {
		memcpy(route->dgid, id->link.dmac, sizeof(id->link.dmac));
		return;
	}
	/* RoCE has only the default partition (IBTA annex A16.4.3). */
	route->pkey = cpu_to_be16(id->link.ib ? id->link.pkey : IB_DEFAULT_PKEY_FULL);
	if (id->link.ib)
		memcpy(route->dgid, id->link.dgid, sizeof(route->dgid));
	else if (rca_addr_is_set(&id->dst) && !rca_addr_is_any(&id->dst))
		rdma_ip2gid((struct sockaddr *)&id->dst.sa, (union ib_gid *)route->dgid);
	if (!id->setup || !id->setup->has_path)
		return;
	pack_path(&route->path[0], &id->setup->path, IB_PATH_PRIMARY);
	route->num_paths = 1;
	if (id->setup->alt_path) {
		pack_path(&route->path[1], id->setup->alt_path, IB_PATH_ALTERNATE);
		route->num_paths = 2;
	}
}
RCA_EXPORT(rca_id_fill_route_locked);

/* rca_id_fill_route_locked() that takes rca_id.op. */
void rca_id_fill_route(struct rca_id *id, struct rdma_cm_alt_route *route)
{
	mutex_lock(&id->op);
	rca_id_fill_route_locked(id, route);
	mutex_unlock(&id->op);
}

/**
 * rca_id_numbers() - read the numbers by which messages name the connection of an id
 * @id: the id
 * @out: set; all are 0 without a connection
 *
 * The lower cm_id may be destroyed meanwhile. Its memory stays until the end of the grace period,
 * as rca_id_drop_lower() hides it before.
 *
 * Context: Any context.
 */
void rca_id_numbers(const struct rca_id *id, struct rca_tp_numbers *out)
{
	const struct rca_tp_ops *tp;
	const void *lower;

	*out = (struct rca_tp_numbers){};
	rcu_read_lock();
	/* Pairs with where it is created: its transport was set before. */
	lower = smp_load_acquire(&id->lower);
	tp = READ_ONCE(id->tp);
	/* Pairs with rca_id_drop_lower(): a transport is replaced while there is no lower cm_id. */
	smp_rmb();
	if (lower && READ_ONCE(id->lower) == lower && tp->numbers)
		tp->numbers(lower, out);
	rcu_read_unlock();
}
