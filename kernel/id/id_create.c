// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Creation and release of ids.
 *
 * Locking: none; an id that is being created or released has no other user.
 */
#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "id/id.h"

#include <linux/nsproxy.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/wait.h>

static struct kmem_cache *id_cache;
static work_func_t id_work;
/* Number of ids that are not freed yet, and the exit that waits for them. */
static atomic_t ids = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(ids_freed);

static void id_free_rcu(struct rcu_head *rcu)
{
	struct rca_id *id = container_of(rcu, struct rca_id, rcu);

	mutex_destroy(&id->op);
	rca_id_free_opts(id);	/* listeners are looked up under RCU */
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
	id->setup = rca_id_make_setup(id, gfp);
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

/**
 * rca_id_create_child() - create the id of a connection request
 * @listener: the listening id
 *
 * The child inherits context, namespace, port space and QP type of @listener. Its events go to the
 * queue of @listener once it is attached there.
 *
 * Context: Process context (a callback of a transport). May sleep.
 * Return: the id, or an ERR_PTR().
 */
struct rca_id *rca_id_create_child(struct rca_id *listener)
{
	struct rca_id *id;

	id = id_alloc(listener->obj.ctx, listener->net, listener->ps, listener->qp_type,
		      RCA_GFP_CALLBACK);
	if (IS_ERR(id))
		return id;
	if (rca_id_inherit_timing(id, listener)) {
		rca_obj_unreserve(&id->obj);
		rca_id_put(id);
		return ERR_PTR(-ENOMEM);
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
 * Context: Process context. Expects @id->op to be held by the caller. Takes and releases @id->lock.
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
	rca_watch_init();
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
