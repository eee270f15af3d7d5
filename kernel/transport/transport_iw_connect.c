// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Lower cm_ids over iw_cm, and their connects, which may block.
 *
 * A driver may connect its TCP socket inside iw_cm_connect(). siw does, and a dead peer
 * blocks it there for two minutes. Afterwards iw_destroy_cm_id() blocks until the peer
 * has answered or the driver has given up, ten seconds with siw. Neither may delay a
 * destroy, the exit of a process or the removal of a device. So a worker connects, which
 * a signal takes out of TCP, and the lower cm_id of a destroyed id waits for the answer
 * in the background.
 *
 * The worker connects with the credentials of the program, and in the network namespace
 * of the id.
 *
 * Locking: &iw_attempt.lock for the task to signal and the work item to queue.
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
 * @lower: the lower cm_id (immutable; referenced while @work is pending or running)
 * @work: connects
 * @done: the connect has returned, or will not be tried
 * @ret: its result, valid after @done
 * @lock: protects @task, @given_up, @wq and @on_done
 * @task: the task that is inside iw_cm_connect() (lock: @lock)
 * @given_up: the lower cm_id is destroyed, or its finish() was interrupted (lock: @lock)
 * @wq: workqueue of @on_done (lock: @lock)
 * @on_done: work item to queue when @done is completed, or NULL (lock: @lock)
 * @net: network namespace of the id (referenced)
 * @cred: credentials of the program (referenced)
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
	struct work_struct *on_done;
	struct net *net;
	const struct cred *cred;
	struct iw_cm_conn_param param;
	u8 data[U8_MAX];
};

/* For connects alone, which block it for long. */
static struct workqueue_struct *iw_wq;

/* For destroys, which wait for peers; separate, so that connects do not wait for them. */
static struct workqueue_struct *iw_destroy_wq;

static void destroy_work(struct work_struct *work);

/* Module init. Returns 0 or -ENOMEM. */
int rca_iw_connect_init(void)
{
	iw_wq = alloc_workqueue("rdma_cm_alt_iw", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!iw_wq)
		return -ENOMEM;
	iw_destroy_wq = alloc_workqueue("rdma_cm_alt_iw_end", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!iw_destroy_wq) {
		destroy_workqueue(iw_wq);
		return -ENOMEM;
	}
	return 0;
}

/* Waits for connects. No lower cm_id has an owner any more, so all connects end soon. Sleeps. */
void rca_iw_connect_flush(void)
{
	flush_workqueue(iw_wq);
}

/* Module exit: waits for connects and destroys. No lower cm_id has an owner any more. Sleeps. */
void rca_iw_connect_exit(void)
{
	destroy_workqueue(iw_destroy_wq);	/* first: destroys wait for connects */
	destroy_workqueue(iw_wq);
}

/**
 * rca_iw_lower_alloc() - allocate a lower cm_id, without the cm_id of iw_cm
 * @dev: the device, which stays until the lower cm_id is freed
 * @owner: argument of the callbacks; NULL: no callbacks yet
 * @gfp: allocation flags
 *
 * Context: Process context. May sleep as @gfp allows.
 * Return: the lower cm_id, ERR_PTR(-ENOMEM), or ERR_PTR(-ENODEV): the device is being removed.
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
	refcount_set(&lower->ref, 1);	/* put in destroy_now() */
	lower->dev = dev;
	mutex_init(&lower->mutex);
	lower->owner = owner;
	INIT_WORK(&lower->destroy_work, destroy_work);
	return lower;
}

static void lower_put(struct iw_lower *lower)
{
	if (refcount_dec_and_test(&lower->ref))
		rca_iw_lower_free(lower);
}

/* Frees a lower cm_id that has no other users, but not the cm_id of iw_cm. */
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

/* The kernel thread of the worker accepts SIGKILL while it is in TCP. */
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
	WRITE_ONCE(lower->pending, true);	/* until conn_handler() */
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

/* The work item that this queues may put a reference of the lower cm_id. */
static void complete_attempt(struct iw_attempt *attempt, int ret)
{
	spin_lock(&attempt->lock);
	attempt->ret = ret;
	complete_all(&attempt->done);
	if (attempt->on_done)
		queue_work(attempt->wq, attempt->on_done);
	spin_unlock(&attempt->lock);
}

static void connect_work(struct work_struct *work)
{
	struct iw_attempt *attempt = container_of(work, struct iw_attempt, work);

	complete_attempt(attempt, connect_or_give_up(attempt));
	lower_put(attempt->lower);	/* got in rca_iw_connect() */
}

/* Aborts a connect that has not reached the peer yet. Does not wait. */
static void abort_attempt(struct iw_attempt *attempt)
{
	spin_lock(&attempt->lock);
	attempt->given_up = true;
	if (attempt->task)
		send_sig(SIGKILL, attempt->task, 1);
	spin_unlock(&attempt->lock);
	if (cancel_work(&attempt->work)) {
		complete_attempt(attempt, -ECONNABORTED);
		lower_put(attempt->lower);	/* got in rca_iw_connect() */
	}
}

/**
 * rca_iw_connect() - start a connect
 * @lower: the lower cm_id, whose cm_id of iw_cm has the addresses
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
	/* get_cred() writes a 0 over a 0, which other tasks may do at the same time. */
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
 * rca_iw_finish() - wait until iw_cm_connect() has returned
 * @_lower: the lower cm_id; may have been destroyed meanwhile, and is not valid afterwards
 *
 * Context: Process context. Sleeps; a signal interrupts it.
 * Return: 0: an event follows; -ERESTARTSYS: interrupted; -ECONNABORTED: the lower
 * cm_id was destroyed; or the errno of iw_cm_connect().
 */
int rca_iw_finish(void *_lower)
{
	struct iw_lower *lower = _lower;
	struct iw_attempt *attempt = lower->attempt;
	int interrupted, ret;

	interrupted = wait_for_completion_interruptible(&attempt->done);
	if (interrupted) {
		abort_attempt(attempt);
		wait_for_completion(&attempt->done);
	}
	ret = attempt->ret;
	if (interrupted && ret == -ECONNABORTED)
		ret = -ERESTARTSYS;
	lower_put(lower);	/* got in rca_iw_connect() */
	return ret;
}

/**
 * rca_iw_when_finished() - queue a work item as soon as rca_iw_finish() would not wait
 * @_lower: the lower cm_id, which still has its owner; rca_iw_finish() is to be called later
 * @wq: the workqueue
 * @work: the work item
 *
 * Context: Process context.
 */
void rca_iw_when_finished(void *_lower, struct workqueue_struct *wq, struct work_struct *work)
{
	struct iw_lower *lower = _lower;
	struct iw_attempt *attempt = lower->attempt;

	spin_lock(&attempt->lock);
	attempt->wq = wq;
	attempt->on_done = work;
	if (completion_done(&attempt->done))
		queue_work(wq, work);
	spin_unlock(&attempt->lock);
}

static void destroy_now(struct iw_lower *lower)
{
	iw_destroy_cm_id(lower->cm_id);
	lower_put(lower);	/* of the owner */
}

static void destroy_work(struct work_struct *work)
{
	struct iw_lower *lower = container_of(work, struct iw_lower, destroy_work);

	if (lower->attempt)
		wait_for_completion(&lower->attempt->done);
	destroy_now(lower);
}

/**
 * rca_iw_lower_destroy() - destroy a lower cm_id that has no owner any more
 * @lower: the lower cm_id
 *
 * The destroy is done in the background if it would have to wait for the peer.
 *
 * Context: Process context. Sleeps; not in a callback.
 */
void rca_iw_lower_destroy(struct iw_lower *lower)
{
	struct iw_attempt *attempt = lower->attempt;

	if (attempt)
		abort_attempt(attempt);
	if ((attempt && !completion_done(&attempt->done)) || READ_ONCE(lower->pending))
		queue_work(iw_destroy_wq, &lower->destroy_work);
	else
		destroy_now(lower);
}
