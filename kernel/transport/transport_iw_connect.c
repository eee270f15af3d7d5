// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Lower cm_ids over iw_cm, and their connects, which may block.
 *
 * A driver may connect its TCP socket inside iw_cm_connect(). siw does, and a dead peer
 * blocks it there for two minutes. Afterwards iw_destroy_cm_id() blocks until the peer
 * has answered or the driver has given up, ten seconds with siw. Neither may delay a
 * destroy, the exit of a process or the removal of a device. So these interrupt a connect
 * like a signal, and the lower cm_id of a destroyed id waits for the answer in the
 * background.
 *
 * The thread of the program connects, in its own cgroups. A connect that follows a
 * resolution has no such thread: a worker connects, with the credentials of the program
 * but in the root cgroup. Both are in the network namespace of the id.
 *
 * Locking: &iw_attempt.lock for the task to interrupt.
 */
#include "transport/transport_iw_connect.h"

#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>

#include "ip/netns.h"
#include "transport/qp_owner.h"

/**
 * struct iw_attempt - a connect
 * @lower: the lower cm_id (immutable; referenced while @work is pending or running)
 * @work: connects in the background
 * @done: the connect has returned, or will not be tried
 * @ret: its result, valid after @done
 * @background: @work connects; else rca_iw_finish() does (set once, by the owner)
 * @lock: protects @task and @given_up
 * @task: the task that is inside iw_cm_connect() (lock: @lock)
 * @given_up: the lower cm_id is destroyed (lock: @lock)
 * @wq: workqueue of @on_done (set before @work is queued)
 * @on_done: work item to queue when @done is completed, or NULL (likewise)
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
	bool background;
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

/* For destroys, which wait for peers. */
static struct workqueue_struct *iw_destroy_wq;

static void destroy_work(struct work_struct *work);

/* Module init. Returns 0 or -ENOMEM. */
int rca_iw_connect_init(void)
{
	iw_destroy_wq = alloc_workqueue("rdma_cm_alt_iw_end", WQ_UNBOUND, WQ_MAX_ACTIVE);
	return iw_destroy_wq ? 0 : -ENOMEM;
}

/* Module exit: waits for destroys. No lower cm_id has an owner any more. Sleeps. */
void rca_iw_connect_exit(void)
{
	destroy_workqueue(iw_destroy_wq);
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
	spin_lock_init(&lower->lock);
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
	ib_device_put(lower->dev);
	kfree(lower);
}

/*
 * Connect, unless the QP is another user's: its number may have got another owner since the program
 * named it. The QP keeps its number until iw_cm has a reference, too.
 */
static int connect_own_qp(struct iw_lower *lower, struct iw_cm_conn_param *param)
{
	struct ib_qp *qp = rca_qp_owner_hold_iw(lower->dev, param->qpn);
	int ret;

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	WRITE_ONCE(lower->pending, true);	/* until iw_conn_handler() */
	ret = iw_cm_connect(lower->cm_id, param);
	if (ret)
		WRITE_ONCE(lower->pending, false);
	rca_qp_owner_release_iw(lower->dev, qp);
	return ret;
}

/* Returns false if the lower cm_id was destroyed. */
static bool enter_connect(struct iw_attempt *attempt)
{
	bool given_up;

	spin_lock(&attempt->lock);
	given_up = attempt->given_up;
	if (!given_up)
		attempt->task = current;
	spin_unlock(&attempt->lock);
	return !given_up;
}

static int leave_connect(struct iw_attempt *attempt, int ret)
{
	spin_lock(&attempt->lock);
	attempt->task = NULL;
	if (ret && attempt->given_up)
		ret = -ECONNABORTED;
	spin_unlock(&attempt->lock);
	/* A thread of user space clears it on its return, and would miss other reasons here. */
	if (current->flags & PF_KTHREAD)
		clear_notify_signal();
	return ret == -EINTR ? -ERESTARTSYS : ret;
}

/* Make connect_attempt() return soon. */
static void interrupt_connect(struct task_struct *task)
{
	/* As set_notify_signal(), for a task that is inside the kernel. */
	if (!test_and_set_tsk_thread_flag(task, TIF_NOTIFY_SIGNAL))
		wake_up_process(task);
}

static int connect_attempt(struct iw_attempt *attempt)
{
	const struct cred *old_cred;
	struct rca_netns visit;
	int ret;

	if (!enter_connect(attempt))
		return -ECONNABORTED;
	old_cred = override_creds(attempt->cred);
	rca_netns_enter(&visit, attempt->net);
	ret = connect_own_qp(attempt->lower, &attempt->param);
	rca_netns_leave(&visit);
	revert_creds(old_cred);
	return leave_connect(attempt, ret);
}

/* The work item that this queues may put a reference of the lower cm_id. */
static void complete_attempt(struct iw_attempt *attempt, int ret)
{
	attempt->ret = ret;
	complete_all(&attempt->done);
	if (attempt->on_done)
		queue_work(attempt->wq, attempt->on_done);
}

static void connect_work(struct work_struct *work)
{
	struct iw_attempt *attempt = container_of(work, struct iw_attempt, work);

	complete_attempt(attempt, connect_attempt(attempt));
	lower_put(attempt->lower);	/* got in rca_iw_when_finished() */
}

/* Aborts a connect that has not reached the peer yet. Does not wait. */
static void abort_attempt(struct iw_attempt *attempt)
{
	spin_lock(&attempt->lock);
	attempt->given_up = true;
	if (attempt->task)
		interrupt_connect(attempt->task);
	spin_unlock(&attempt->lock);
	if (cancel_work(&attempt->work)) {
		complete_attempt(attempt, -ECONNABORTED);
		lower_put(attempt->lower);	/* got in rca_iw_when_finished() */
	}
}

/**
 * rca_iw_connect() - prepare a connect
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
	refcount_inc(&lower->ref);	/* put in rca_iw_finish() */
	return -EINPROGRESS;
}

/**
 * rca_iw_finish() - connect, or wait for the worker that connects
 * @_lower: the lower cm_id; may have been destroyed meanwhile, and is not valid afterwards
 *
 * Context: Process context. Sleeps; a signal interrupts it.
 * Return: 0: an event follows; -ERESTARTSYS: interrupted; -ECONNABORTED: the lower
 * cm_id was destroyed; -EPERM: the QP is another user's; or the errno of iw_cm_connect().
 */
int rca_iw_finish(void *_lower)
{
	struct iw_lower *lower = _lower;
	struct iw_attempt *attempt = lower->attempt;
	int ret;

	if (attempt->background)
		wait_for_completion(&attempt->done);
	else
		complete_attempt(attempt, connect_attempt(attempt));
	ret = attempt->ret;
	lower_put(lower);	/* got in rca_iw_connect() */
	return ret;
}

/**
 * rca_iw_when_finished() - connect in the background, and queue a work item afterwards
 * @_lower: the lower cm_id, which still has its owner; rca_iw_finish() is to be called later
 * @slow_wq: the workqueue to connect on
 * @wq: the workqueue of @work
 * @work: the work item
 *
 * Context: Process context.
 */
void rca_iw_when_finished(void *_lower, struct workqueue_struct *slow_wq,
			  struct workqueue_struct *wq, struct work_struct *work)
{
	struct iw_lower *lower = _lower;
	struct iw_attempt *attempt = lower->attempt;

	attempt->background = true;
	attempt->wq = wq;
	attempt->on_done = work;
	refcount_inc(&lower->ref);	/* put in connect_work() */
	queue_work(slow_wq, &attempt->work);
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
