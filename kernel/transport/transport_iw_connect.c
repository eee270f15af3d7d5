// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Lower ids of iWARP, and the connect that may block.
 *
 * A driver may connect its TCP socket inside of iw_cm_connect(): siw does, and a
 * peer that is dead blocks it for two minutes. Then iw_cm lets nobody destroy
 * the id until the peer's answer has come or the driver gave up: ten seconds
 * with siw. Neither may hold up a destroy, the end of a process or a device that
 * goes. So the connect runs on a worker, which a signal takes out of TCP, and
 * what is left of a destroyed id waits for the answer in the background.
 *
 * The worker connects as the program would: with its credentials, and in the
 * network namespace of the id.
 *
 * Locking: &iw_attempt.lock for the task that a signal may go to, and for who is told.
 */
#include "transport/transport_iw_connect.h"

#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>

#include "ip/netns.h"

/**
 * struct iw_attempt - a connect
 * @lower: the lower id (immutable; holds a reference while @work is to come)
 * @work: connects
 * @done: the connect has returned, or will not be tried
 * @ret: what it returned
 * @lock: protects @task, @given_up, @wq and @on_route
 * @task: the task that is inside of iw_cm_connect() (lock: @lock)
 * @given_up: nobody wants the connection any more (lock: @lock)
 * @wq: where @on_route is queued when @done is completed (lock: @lock)
 * @on_route: NULL: nothing (lock: @lock)
 * @net: network namespace of the id (holds a reference)
 * @cred: of the program (holds a reference)
 * @param: parameters
 * @data: private data
 */
struct iw_attempt {
	struct iw_lower *lower;
	struct work_struct work;
	struct completion done;
	int ret;
	spinlock_t lock;
	struct task_struct *task;
	bool given_up;
	struct workqueue_struct *wq;
	struct work_struct *on_route;
	struct net *net;
	const struct cred *cred;
	struct iw_cm_conn_param param;
	u8 data[U8_MAX];
};

/* Connects block it for long, so nothing else of ours is queued there. */
static struct workqueue_struct *iw_wq;

/* Waits for peers, too; connects need not wait for those. */
static struct workqueue_struct *iw_end_wq;

static void end_work(struct work_struct *work);

/**
 * rca_iw_connect_init() - make what connects need
 *
 * Context: Process context. Module init.
 * Return: 0 or -ENOMEM.
 */
int rca_iw_connect_init(void)
{
	iw_wq = alloc_workqueue("rdma_cm_alt_iw", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!iw_wq)
		return -ENOMEM;
	iw_end_wq = alloc_workqueue("rdma_cm_alt_iw_end", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!iw_end_wq) {
		destroy_workqueue(iw_wq);
		return -ENOMEM;
	}
	return 0;
}

/**
 * rca_iw_connect_flush() - wait for the connects that are under way
 *
 * Context: Process context. Sleeps. No lower id has an owner any more, so they end soon.
 */
void rca_iw_connect_flush(void)
{
	flush_workqueue(iw_wq);
}

/**
 * rca_iw_connect_exit() - wait for what destroyed lower ids left behind
 *
 * Context: Process context. Module exit; no lower id has an owner any more.
 */
void rca_iw_connect_exit(void)
{
	destroy_workqueue(iw_end_wq);	/* what is there waits for connects */
	destroy_workqueue(iw_wq);
}

/**
 * rca_iw_lower_alloc() - make a lower id without iw_cm's
 * @dev: its device, which stays until the lower id is freed
 * @owner: who is called; NULL: nobody yet
 * @gfp: how to allocate
 *
 * Context: Process context. May sleep as @gfp allows.
 * Return: the lower id, ERR_PTR(-ENOMEM), or ERR_PTR(-ENODEV): the device goes away.
 */
struct iw_lower *rca_iw_lower_alloc(struct ib_device *dev, void *owner, gfp_t gfp)
{
	struct iw_lower *lower;

	if (!ib_device_try_get(dev))	/* put in rca_iw_lower_free() */
		return ERR_PTR(-ENODEV);
	lower = kzalloc(sizeof(*lower), gfp);
	if (!lower) {
		ib_device_put(dev);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&lower->ref, 1);	/* put in end_now() */
	lower->dev = dev;
	mutex_init(&lower->mutex);
	lower->owner = owner;
	INIT_WORK(&lower->end, end_work);
	return lower;
}

static void lower_put(struct iw_lower *lower)
{
	if (refcount_dec_and_test(&lower->ref))
		rca_iw_lower_free(lower);
}

/**
 * rca_iw_lower_free() - free a lower id at once
 * @lower: the lower id, which nobody else knows; iw_cm's stays
 *
 * Context: Process context.
 */
void rca_iw_lower_free(struct iw_lower *lower)
{
	struct iw_attempt *attempt = lower->attempt;

	if (attempt) {
		put_net(attempt->net);
		put_cred(attempt->cred);
		kfree(attempt);
	}
	mutex_destroy(&lower->mutex);
	ib_device_put(lower->dev);
	kfree(lower);
}

/* The kernel thread of a worker takes the signal for the time that it is in TCP. */
static int connect_or_give_up(struct iw_attempt *attempt)
{
	struct iw_lower *lower = attempt->lower;
	const struct cred *old_cred;
	struct rca_netns visit;
	bool given_up;
	int ret;

	allow_signal(SIGKILL);
	spin_lock(&attempt->lock);
	given_up = attempt->given_up;
	if (!given_up)
		attempt->task = current;
	spin_unlock(&attempt->lock);
	if (given_up) {
		disallow_signal(SIGKILL);
		return -ECONNABORTED;
	}

	old_cred = override_creds(attempt->cred);
	rca_netns_enter(&visit, attempt->net);
	WRITE_ONCE(lower->pending, true);	/* until conn_handler() hears of it */
	ret = iw_cm_connect(lower->cm_id, &attempt->param);
	if (ret)
		WRITE_ONCE(lower->pending, false);
	rca_netns_leave(&visit);
	revert_creds(old_cred);

	spin_lock(&attempt->lock);
	attempt->task = NULL;
	if (ret && attempt->given_up)
		ret = -ECONNABORTED;
	spin_unlock(&attempt->lock);
	flush_signals(current);
	disallow_signal(SIGKILL);
	return ret;
}

/* It has returned, or will not be tried. Who is told may put its reference of the lower id. */
static void end_attempt(struct iw_attempt *attempt, int ret)
{
	spin_lock(&attempt->lock);
	attempt->ret = ret;
	complete_all(&attempt->done);
	if (attempt->on_route)
		queue_work(attempt->wq, attempt->on_route);
	spin_unlock(&attempt->lock);
}

static void connect_work(struct work_struct *work)
{
	struct iw_attempt *attempt = container_of(work, struct iw_attempt, work);

	end_attempt(attempt, connect_or_give_up(attempt));
	lower_put(attempt->lower);	/* got in rca_iw_connect() */
}

/* Ends a connect that has not come so far that the peer knows; waits for nothing. */
static void give_up(struct iw_attempt *attempt)
{
	spin_lock(&attempt->lock);
	attempt->given_up = true;
	if (attempt->task)
		send_sig(SIGKILL, attempt->task, 1);
	spin_unlock(&attempt->lock);
	if (cancel_work(&attempt->work)) {
		end_attempt(attempt, -ECONNABORTED);
		lower_put(attempt->lower);	/* got in rca_iw_connect() */
	}
}

/**
 * rca_iw_connect() - start to connect
 * @lower: the lower id; iw_cm's has the addresses
 * @conn: our parameters
 * @net: network namespace of the id
 *
 * Context: Process context. Sleeps.
 * Return: -EINPROGRESS: rca_iw_finish() must be called; -EINVAL: not the first connect; -ENOMEM.
 */
int rca_iw_connect(struct iw_lower *lower, const struct rca_tp_conn *conn, struct net *net)
{
	struct iw_attempt *attempt;

	if (lower->attempt)
		return -EINVAL;
	attempt = kzalloc(sizeof(*attempt), GFP_KERNEL_ACCOUNT);
	if (!attempt)
		return -ENOMEM;
	attempt->lower = lower;
	INIT_WORK(&attempt->work, connect_work);
	init_completion(&attempt->done);
	spin_lock_init(&attempt->lock);
	attempt->net = get_net(net);		/* put in rca_iw_lower_free() */
	/* It writes a 0 over a 0 that others may write now, too. */
	attempt->cred = data_race(get_current_cred());	/* put in rca_iw_lower_free() */
	if (conn->private_data_len)
		memcpy(attempt->data, conn->private_data, conn->private_data_len);
	attempt->param.private_data = attempt->data;
	attempt->param.private_data_len = conn->private_data_len;
	attempt->param.ord = conn->initiator_depth;
	attempt->param.ird = conn->responder_resources;
	attempt->param.qpn = conn->qp_num;
	lower->attempt = attempt;
	refcount_add(2, &lower->ref);	/* put in connect_work() and rca_iw_finish() */
	queue_work(iw_wq, &attempt->work);
	return -EINPROGRESS;
}

/**
 * rca_iw_finish() - wait until a connect is on its way, or failed
 * @_lower: the lower id; may have been destroyed meanwhile, and is not valid afterwards
 *
 * Context: Process context. Sleeps; a signal ends it.
 * Return: 0: an event follows; -ERESTARTSYS; -ECONNABORTED: the lower id was
 * destroyed; another errno: of iw_cm_connect().
 */
int rca_iw_finish(void *_lower)
{
	struct iw_lower *lower = _lower;
	struct iw_attempt *attempt = lower->attempt;
	int interrupted, ret;

	interrupted = wait_for_completion_interruptible(&attempt->done);
	if (interrupted) {
		give_up(attempt);
		wait_for_completion(&attempt->done);
	}
	ret = attempt->ret;
	if (interrupted && ret == -ECONNABORTED)
		ret = -ERESTARTSYS;
	lower_put(lower);	/* got in rca_iw_connect() */
	return ret;
}

/**
 * rca_iw_when_finished() - have a work queued as soon as rca_iw_finish() would not wait
 * @_lower: the lower id, which has its owner still; rca_iw_finish() is to come
 * @wq: where
 * @work: the work
 *
 * Context: Process context.
 */
void rca_iw_when_finished(void *_lower, struct workqueue_struct *wq, struct work_struct *work)
{
	struct iw_lower *lower = _lower;
	struct iw_attempt *attempt = lower->attempt;

	spin_lock(&attempt->lock);
	attempt->wq = wq;
	attempt->on_route = work;
	if (completion_done(&attempt->done))
		queue_work(wq, work);
	spin_unlock(&attempt->lock);
}

static void end_now(struct iw_lower *lower)
{
	iw_destroy_cm_id(lower->cm_id);
	lower_put(lower);	/* the owner's */
}

static void end_work(struct work_struct *work)
{
	struct iw_lower *lower = container_of(work, struct iw_lower, end);

	if (lower->attempt)
		wait_for_completion(&lower->attempt->done);
	end_now(lower);
}

/**
 * rca_iw_lower_end() - destroy a lower id
 * @lower: the lower id; it has no owner any more
 *
 * At once, but when that had to wait for the peer: then in the background.
 *
 * Context: Process context. Sleeps; not in an upcall.
 */
void rca_iw_lower_end(struct iw_lower *lower)
{
	struct iw_attempt *attempt = lower->attempt;

	if (attempt)
		give_up(attempt);
	if ((attempt && !completion_done(&attempt->done)) || READ_ONCE(lower->pending))
		queue_work(iw_end_wq, &lower->end);
	else
		end_now(lower);
}
