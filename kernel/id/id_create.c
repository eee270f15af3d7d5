// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Creation and release of ids, and their connection state, which keeps idle ids small: it exists
 * while an id connects and while it disconnects.
 *
 * Locking: an id that is being created or released has no other user. &rca_id.setup is changed with
 * rca_id.op and rca_id.lock held, and read with either of them or RCU.
 */
#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "id/id.h"

#include <linux/cred.h>
#include <linux/memcontrol.h>
#include <linux/nsproxy.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>

/**
 * rca_id_timing() - get the timer settings of an id
 * @id: the id
 *
 * Context: Any context.
 * Return: settings of the id, else of its namespace, else of the initial one.
 */
struct rca_timing rca_id_timing(const struct rca_id *id)
{
	struct rca_timing timing = {};

	rca_timing_inherit(&timing, &rca_id_opts(id)->timing);
	rcu_read_lock();
	/* Pairs with rca_id_leave_netns(). */
	rca_timing_net_fill(&timing, READ_ONCE(id->net));
	rcu_read_unlock();
	return timing;
}

/* Allocates a connection state, which the caller stores in the id. */
static struct rca_setup *make_setup(struct rca_id *id, gfp_t gfp)
{
	struct rca_setup *setup = kzalloc(sizeof(*setup), gfp);

	if (!setup)
		return NULL;
	setup->id = id;
	setup->slot.id = id;
	setup->place.id = id;
	timer_setup(&setup->timer, rca_id_timer_fn, 0);
	return setup;
}

/**
 * rca_id_need_setup() - allocate the connection state of an id again, to disconnect
 * @id: the id
 *
 * Context: Process context. May sleep. Takes and releases @id->lock.
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
	setup = make_setup(id, RCA_GFP_CALLBACK);
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

/* Frees the paths and the request of a connection state, or NULL. Any context. */
void rca_setup_drop_request(struct rca_setup *setup)
{
	if (!setup)
		return;
	free_paths(setup);
	kfree(setup->retry);
	setup->retry = NULL;
	rca_id_free_connect(setup->connect);
	setup->connect = NULL;
}

/* Gives an id, with a setup, its only path. */
void rca_id_set_path(struct rca_id *id, const struct sa_path_rec *path)
{
	lockdep_assert_held(&id->op);
	free_paths(id->setup);
	id->setup->path = *path;
	id->setup->has_path = true;
}

/**
 * rca_id_set_paths() - give an id its path, or a path for each direction
 * @id: the id, with a setup
 * @path: the path
 * @in: inbound path if it differs, else NULL
 * @out: outbound path if it differs, else NULL
 *
 * Context: Process context. Sleeps.
 * Return: 0; -ENOMEM, the id keeps the paths that it has.
 */
int rca_id_set_paths(struct rca_id *id, const struct sa_path_rec *path,
		     const struct sa_path_rec *in, const struct sa_path_rec *out)
{
	struct sa_path_rec *new_in = in ? kmemdup(in, sizeof(*in), GFP_KERNEL_ACCOUNT) : NULL;
	struct sa_path_rec *new_out = out ? kmemdup(out, sizeof(*out), GFP_KERNEL_ACCOUNT) : NULL;

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
 * rca_id_drop_setup() - free the connection state when an id is connected
 * @id: the id; no resolution is pending, and it has no slot in the send window: an id that accepts
 *      had none, and one that connects has released it
 *
 * Context: Process context. Sleeps. Takes and releases @id->lock.
 */
void rca_id_drop_setup(struct rca_id *id)
{
	struct rca_setup *setup = id->setup;

	lockdep_assert_held(&id->op);
	WARN_ON_ONCE(setup->resolve || setup->query || setup->service_query || setup->connect ||
		     setup->slot.gate);
	spin_lock_irq(&id->lock);
	WRITE_ONCE(id->setup, NULL);	/* pairs with rca_window_end() */
	spin_unlock_irq(&id->lock);
	if (timer_delete(&setup->timer))
		rca_id_put(id);		/* got in rca_id_queue_work_at() */
	rca_setup_drop_request(setup);
	kfree(setup->services);
	kfree_rcu(setup, rcu);	/* the timer function may still be running */
}

/* Frees the connection state, if any, of an id without references. Any context. */
static void rca_id_free_setup(struct rca_id *id)
{
	struct rca_setup *setup = id->setup;

	if (!setup)
		return;
	WARN_ON_ONCE(setup->resolve || setup->query || setup->service_query || setup->slot.gate);
	rca_setup_drop_request(setup);
	kfree(setup->services);
	id->setup = NULL;
	kfree_rcu(setup, rcu);	/* the timer function may still be returning */
}

static struct kmem_cache *id_cache;
static work_func_t id_work;
/* Number of ids that are not freed yet, and the exit that waits for them. */
static atomic_t ids = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(ids_freed);

static void id_free_rcu(struct rcu_head *rcu)
{
	struct rca_id *id = container_of(rcu, struct rca_id, rcu);
	struct rca_opts *opts = id->opts;

	mutex_destroy(&id->op);
	if (opts) {
		/* Not freed before: listeners are looked up under RCU. */
		WARN_ON_ONCE(opts->listener || !list_empty(&opts->members));
		kfree(opts->defaults);
		kfree(opts->bind);
		kfree(opts);
	}
	kmem_cache_free(id_cache, id);
	if (atomic_dec_and_test(&ids))
		wake_up(&ids_freed);
}

/* Called by the last put. Teardown has already released everything whose release sleeps. */
static void id_release(struct rca_obj *obj)
{
	struct rca_id *id = rca_id_of(obj);

	WARN_ON_ONCE(id->lower || id->dev || id->peer_qp.listed);
	rca_event_free(id->reserved);
	rca_id_free_setup(id);
	if (id->borrowed)
		rca_account_repay(&obj->ctx->account);
	rca_uncharge(&obj->ctx->account, RDMA_CM_ALT_RESOURCE_IDS, 1);
	if (id->net)
		put_net(id->net);
	call_rcu(&id->rcu, id_free_rcu);
}

static const struct rca_obj_type id_type = { .kind = RCA_KIND_ID, .release = id_release };

static struct rca_id *id_alloc(struct rca_ctx *ctx, struct net *net, u16 ps, u8 qp_type, gfp_t gfp)
{
	struct rca_id *id;
	int ret;

	ret = rca_charge(&ctx->account, RDMA_CM_ALT_RESOURCE_IDS, 1);
	if (ret)
		return ERR_PTR(ret);
	ret = -ENOMEM;
	id = kmem_cache_zalloc(id_cache, gfp);
	if (!id)
		goto err_uncharge;
	id->setup = make_setup(id, gfp);
	if (!id->setup)
		goto err_free_id;
	ret = rca_obj_reserve(&id->obj, ctx, &id_type, gfp);
	if (ret)
		goto err_free_setup;
	spin_lock_init(&id->lock);
	mutex_init(&id->op);
	INIT_LIST_HEAD(&id->dev_node);
	INIT_WORK(&id->work, id_work);
	id->net = get_net(net);	/* put in id_release() or rca_id_leave_netns() */
	id->ps = ps;
	id->qp_type = qp_type;
	if (qp_type != IB_QPT_UD)
		id->psn = get_random_u32() & 0xffffff;
	atomic_inc(&ids);
	return id;

err_free_setup:
	rca_id_free_setup(id);
err_free_id:
	kmem_cache_free(id_cache, id);
err_uncharge:
	rca_uncharge(&ctx->account, RDMA_CM_ALT_RESOURCE_IDS, 1);
	return ERR_PTR(ret);
}

/**
 * rca_id_create() - create an unpublished id
 * @ctx: context
 * @queue: queue for its events
 * @ps: port space
 * @qp_type: type of its QP
 * @cookie: cookie of its events
 *
 * The id belongs to the network namespace of the caller. It ends with rca_id_publish() or
 * rca_id_free_unpublished().
 *
 * Context: Process context. May sleep.
 * Return: the id, with a reserved handle, or an ERR_PTR().
 */
struct rca_id *rca_id_create(struct rca_ctx *ctx, struct rca_queue *queue, u16 ps, u8 qp_type,
			     u64 cookie)
{
	struct rca_id *id;
	int ret;

	id = id_alloc(ctx, current->nsproxy->net_ns, ps, qp_type, GFP_KERNEL_ACCOUNT);
	if (IS_ERR(id))
		return id;
	rca_source_init(&id->src, &id->obj, &id->lock, cookie);
	ret = rca_source_attach(&id->src, queue);
	if (ret) {
		rca_obj_unreserve(&id->obj);
		rca_obj_put(&id->obj);
		return ERR_PTR(ret);
	}
	return id;
}
RCA_EXPORT(rca_id_create);

/**
 * rca_id_create_child() - create the id of a connection request
 * @listener: the listening id
 *
 * The child inherits context, namespace, port space, QP type and timer settings of @listener. Its
 * events go to the queue of @listener once it is attached there.
 *
 * Context: Process context (a callback of a transport). May sleep.
 * Return: the id, or an ERR_PTR().
 */
struct rca_id *rca_id_create_child(struct rca_id *listener)
{
	const struct rca_timing *timing = &rca_id_opts(listener)->timing;
	struct rca_opts *opts;
	struct rca_id *id;

	id = id_alloc(listener->obj.ctx, listener->net, listener->ps, listener->qp_type,
		      RCA_GFP_CALLBACK);
	if (IS_ERR(id))
		return id;
	if (rca_timing_is_set(timing)) {
		opts = rca_id_need_opts(id, RCA_GFP_CALLBACK);
		if (!opts) {
			rca_obj_unreserve(&id->obj);
			rca_id_put(id);
			return ERR_PTR(-ENOMEM);
		}
		rca_timing_inherit(&opts->timing, timing);
	}
	id->state = id->qp_type == IB_QPT_UD ? RCA_ST_SIDR_RCVD : RCA_ST_REQ_RCVD;
	id->no_trunk = RCA_NO_TRUNK_ASKED;
	rca_source_init(&id->src, &id->obj, &id->lock, 0);
	return id;
}

/**
 * rca_id_leave_netns() - let a destroyed id outlive its network namespace
 * @id: the id, without port, listener, resolution and memberships
 *
 * A namespace is freed an RCU grace period after its last reference was put, so callbacks that have
 * read &rca_id.net under RCU may go on.
 *
 * Context: Process context. Takes and releases @id->lock.
 */
void rca_id_leave_netns(struct rca_id *id)
{
	struct net *net = id->net;
	unsigned long flags;

	lockdep_assert_held(&id->op);
	spin_lock_irqsave(&id->lock, flags);
	WRITE_ONCE(id->net, NULL);
	spin_unlock_irqrestore(&id->lock, flags);
	put_net(net);
}

/* Publishes the handle of an id from rca_id_create(); the handle table takes over the reference. */
void rca_id_publish(struct rca_id *id)
{
	rca_obj_publish(&id->obj);
}
RCA_EXPORT(rca_id_publish);

/**
 * rca_id_free_unpublished() - free an unpublished id that has not been used
 * @id: the id; puts the caller's reference
 *
 * Context: Process context. May sleep.
 */
void rca_id_free_unpublished(struct rca_id *id)
{
	LIST_HEAD(requests);

	rca_obj_unreserve(&id->obj);
	rca_source_detach(&id->src, &requests);
	rca_id_detach(id);
	rca_id_put(id);
}

/* Module init: creates the cache of ids, whose work is @work. Returns 0 or -ENOMEM. */
int rca_id_cache_init(work_func_t work)
{
	int ret = rca_peer_qps_init();

	if (ret)
		return ret;
	id_cache = KMEM_CACHE(rca_id, SLAB_ACCOUNT);
	if (!id_cache) {
		rca_peer_qps_exit();
		return -ENOMEM;
	}
	id_work = work;
	return 0;
}

/*
 * Module exit, when no id is in a table any more. A timer, work, or a callback of ib_cm or ib_addr
 * may still have the last reference of one. Then waits for RCU callbacks of freed ids.
 */
void rca_ids_exit(void)
{
	while (!wait_event_timeout(ids_freed, !atomic_read(&ids), 10 * HZ))
		pr_warn("waiting for %d ids that are still in use\n", atomic_read(&ids));
	rcu_barrier();
	kmem_cache_destroy(id_cache);
	rca_peer_qps_exit();
}
