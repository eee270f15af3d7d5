// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The transport over iw_cm: translates calls and events. Connects may block; they come first.
 *
 * Locking: &iw_lower.lock, not held over a callback: destroy() waits until those that run have
 * returned. iw_cm calls back from one ordered workqueue, which all of its users share: no callback
 * may wait, not even for a thread that has just marked its lower cm_id as destroyed.
 */
#include "transport/transport.h"

#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/etherdevice.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait_bit.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "lib/sockaddr.h"
#include "net/net.h"

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

/**
 * struct iw_attempt - a connect
 * @lower: the lower cm_id (immutable; referenced while @work is pending or running)
 * @work: connects in the background
 * @done: the connect has returned, or will not be tried
 * @ret: its result, valid after @done
 * @background: @work connects; else iw_finish() does (set once, by the owner)
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

/*
 * Allocate a lower cm_id, without the cm_id of iw_cm; @owner NULL: no callbacks yet. The device
 * stays until it is freed.
 *
 * Return: the lower cm_id; ERR_PTR(): -ENOMEM; -ENODEV: the device is being removed.
 */
static struct iw_lower *lower_alloc(struct ib_device *dev, void *owner, gfp_t gfp)
{
	struct iw_lower *lower;

	if (!ib_device_try_get(dev))	/* put in lower_free() */
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

/* Frees a lower cm_id that has no other users, but not the cm_id of iw_cm. */
static void lower_free(struct iw_lower *lower)
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

static void lower_put(struct iw_lower *lower)
{
	if (refcount_dec_and_test(&lower->ref))
		lower_free(lower);
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

/* Connect in the network namespace of the id, with the credentials of the program. */
static int connect_attempt(struct iw_attempt *attempt)
{
	const struct cred *old_cred;
	struct rca_netns visit;
	bool given_up;
	int ret;

	spin_lock(&attempt->lock);
	given_up = attempt->given_up;
	if (!given_up)
		attempt->task = current;
	spin_unlock(&attempt->lock);
	if (given_up)
		return -ECONNABORTED;

	old_cred = override_creds(attempt->cred);
	rca_netns_enter(&visit, attempt->net);
	ret = connect_own_qp(attempt->lower, &attempt->param);
	rca_netns_leave(&visit);
	revert_creds(old_cred);

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
	lower_put(attempt->lower);	/* got in iw_when_finished() */
}

/* Aborts a connect that has not reached the peer yet. Does not wait. */
static void abort_attempt(struct iw_attempt *attempt)
{
	spin_lock(&attempt->lock);
	attempt->given_up = true;
	/* connect_attempt() returns soon. As set_notify_signal(), for a task inside the kernel. */
	if (attempt->task && !test_and_set_tsk_thread_flag(attempt->task, TIF_NOTIFY_SIGNAL))
		wake_up_process(attempt->task);
	spin_unlock(&attempt->lock);
	if (cancel_work(&attempt->work)) {
		complete_attempt(attempt, -ECONNABORTED);
		lower_put(attempt->lower);	/* got in iw_when_finished() */
	}
}

/* Fill in an address for iw_cm. */
static void put_addr(struct sockaddr_storage *out, const union rca_addr *in)
{
	memcpy(out, in, in->sa.sa_family == AF_INET ? sizeof(in->in) : sizeof(in->in6));
}

/* Prepares a connect, which finish() or a worker makes. -EINVAL: not the first one. */
static int iw_connect(void *_lower, const struct rca_tp_req *req)
{
	const struct rca_tp_conn *conn = &req->conn;
	struct iw_lower *lower = _lower;
	struct iw_attempt *attempt;

	put_addr(&lower->cm_id->local_addr, req->local);
	put_addr(&lower->cm_id->remote_addr, req->dst);
	lower->cm_id->tos = req->tos;
	lower->cm_id->tos_set = req->tos;
	if (lower->attempt)
		return -EINVAL;
	attempt = kzalloc(sizeof(*attempt), GFP_KERNEL_ACCOUNT);
	if (!attempt)
		return -ENOMEM;
	attempt->lower = lower;
	INIT_WORK(&attempt->work, connect_work);
	init_completion(&attempt->done);
	spin_lock_init(&attempt->lock);
	attempt->net = get_net(req->net);	/* put in lower_free() */
	/* get_cred() writes a 0 over a 0, which other tasks may do at the same time. */
	attempt->cred = data_race(get_current_cred());	/* put in lower_free() */
	if (conn->private_data_len)
		memcpy(attempt->data, conn->private_data, conn->private_data_len);
	attempt->param.private_data = attempt->data;
	attempt->param.private_data_len = conn->private_data_len;
	attempt->param.ord = conn->initiator_depth;
	attempt->param.ird = conn->responder_resources;
	attempt->param.qpn = conn->qp_num;
	lower->attempt = attempt;
	refcount_inc(&lower->ref);	/* put in iw_finish() */
	return -EINPROGRESS;
}

/*
 * Connect, or wait for the worker that connects. The lower cm_id may have been destroyed meanwhile,
 * and is not valid afterwards.
 *
 * Return: 0: an event follows; -ERESTARTSYS: interrupted; -ECONNABORTED: the lower cm_id was
 * destroyed; -EPERM: the QP is another user's; or the errno of iw_cm_connect().
 */
static int iw_finish(void *_lower)
{
	struct iw_lower *lower = _lower;
	struct iw_attempt *attempt = lower->attempt;
	int ret;

	if (attempt->background)
		wait_for_completion(&attempt->done);
	else
		complete_attempt(attempt, connect_attempt(attempt));
	ret = attempt->ret;
	lower_put(lower);	/* got in iw_connect() */
	return ret;
}

/*
 * Connect in the background, on @slow_wq, and queue @work on @wq afterwards. The lower cm_id still
 * has its owner, and iw_finish() is called later.
 */
static void iw_when_finished(void *_lower, struct workqueue_struct *slow_wq,
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

/* In the callback of a request, as over ib_cm: see RCA_GFP_CALLBACK. */
#define GFP_REQUEST (GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)

/* The stock rdma_cm reports these two errnos as a reject. */
static enum rca_input reply_input(int status)
{
	switch (status) {
	case 0:
		return RCA_IN_UP;
	case -ECONNRESET:
	case -ECONNREFUSED:
		return RCA_IN_REJ;
	case -ETIMEDOUT:
		return RCA_IN_REQ_TIMEOUT;
	default:
		return RCA_IN_ERROR;
	}
}

static void get_conn(struct rca_tp_conn *conn, const struct iw_cm_event *event)
{
	/* iw_cm reports depths from our view, and only with an established connection. */
	if (!event->status) {
		conn->responder_resources = event->ird;
		conn->initiator_depth = event->ord;
	}
	conn->private_data = event->private_data;
	conn->private_data_len = event->private_data_len;
	conn->qp_type = IB_QPT_RC;
}

/* False: the event is ignored. */
static bool get_event(struct rca_tp_event *out, const struct iw_cm_event *event)
{
	switch (event->event) {
	case IW_CM_EVENT_CONNECT_REPLY:
		out->input = reply_input(event->status);
		out->status = event->status;
		break;
	case IW_CM_EVENT_ESTABLISHED:
		out->input = event->status ? RCA_IN_ERROR : RCA_IN_UP;
		out->status = event->status;
		break;
	case IW_CM_EVENT_CLOSE:
		out->input = RCA_IN_DOWN;
		return true;
	default:
		return false;
	}
	out->has_conn = true;
	get_conn(&out->conn, event);
	return true;
}

/* iw_cm callback of a connection. It returns 0: iw_cm must not destroy the cm_id. */
static int iw_conn_handler(struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	struct iw_lower *lower = cm_id->context;
	struct rca_tp_event out = {};
	void *owner;

	if (!get_event(&out, event))
		return 0;
	if (event->event != IW_CM_EVENT_CLOSE)
		WRITE_ONCE(lower->pending, false);	/* pairs with iw_destroy() */
	spin_lock(&lower->lock);
	owner = lower->owner;
	if (owner)
		lower->callbacks++;
	spin_unlock(&lower->lock);
	if (!owner)
		return 0;
	rca_tp_upcalls->event(owner, lower, &out);
	spin_lock(&lower->lock);
	lower->callbacks--;
	wake_up_var(&lower->callbacks);
	spin_unlock(&lower->lock);
	return 0;
}

/* IPv6 sockets report IPv4 peers by v4-mapped addresses. */
static bool get_addr(union rca_addr *out, const struct sockaddr_storage *in)
{
	memset(out, 0, sizeof(*out));
	if (in->ss_family == AF_INET) {
		out->in = *(const struct sockaddr_in *)in;
		return true;
	}
	if (in->ss_family != AF_INET6)
		return false;
	out->in6 = *(const struct sockaddr_in6 *)in;
	if (ipv6_addr_v4mapped(&out->in6.sin6_addr)) {
		__be32 ip = out->in6.sin6_addr.s6_addr32[3];
		__be16 port = out->in6.sin6_port;

		memset(out, 0, sizeof(*out));
		out->in.sin_family = AF_INET;
		out->in.sin_addr.s_addr = ip;
		out->in.sin_port = port;
	}
	return true;
}

/*
 * iw_cm callback of a listening cm_id. The lower cm_id must not be used after the request
 * was accepted, as its owner may destroy it at once. iw_cm rejects a request that is not
 * accepted, whatever the errno: a TCP connection cannot be dropped silently.
 */
static int iw_listen_handler(struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	void *demux = cm_id->context;
	struct rca_tp_request req = { .tp = &rca_tp_iw };
	union rca_addr local, peer;
	struct iw_lower *lower;
	int ret;

	if (event->event != IW_CM_EVENT_CONNECT_REQUEST)
		return -EINVAL;
	if (!get_addr(&local, &event->local_addr) || !get_addr(&peer, &event->remote_addr))
		return -EAFNOSUPPORT;
	lower = lower_alloc(cm_id->device, NULL, GFP_REQUEST);
	if (IS_ERR(lower))
		return PTR_ERR(lower);
	lower->cm_id = cm_id;
	cm_id->context = lower;
	cm_id->cm_handler = iw_conn_handler;
	req.local = &local;
	req.peer = &peer;
	get_conn(&req.conn, event);
	ret = rca_tp_upcalls->request(demux, lower, &req);
	if (ret) {
		cm_id->context = demux;
		lower_free(lower);
	}
	return ret;
}

static void *iw_create(struct ib_device *dev, void *owner)
{
	struct iw_lower *lower = lower_alloc(dev, owner, GFP_KERNEL_ACCOUNT);
	struct iw_cm_id *cm_id;

	if (IS_ERR(lower))
		return lower;
	cm_id = iw_create_cm_id(dev, iw_conn_handler, lower);
	if (IS_ERR(cm_id)) {
		lower_free(lower);
		return cm_id;
	}
	lower->cm_id = cm_id;
	return lower;
}

static bool has_callbacks(struct iw_lower *lower)
{
	bool some;

	spin_lock(&lower->lock);
	some = lower->callbacks;
	spin_unlock(&lower->lock);
	return some;
}

static void iw_destroy(void *_lower)
{
	struct iw_lower *lower = _lower;
	struct iw_attempt *attempt;

	spin_lock(&lower->lock);
	lower->owner = NULL;
	spin_unlock(&lower->lock);
	wait_var_event(&lower->callbacks, !has_callbacks(lower));
	attempt = lower->attempt;
	if (attempt)
		abort_attempt(attempt);
	/* In the background if it would have to wait for the peer. */
	if ((attempt && !completion_done(&attempt->done)) || READ_ONCE(lower->pending))
		queue_work(iw_destroy_wq, &lower->destroy_work);
	else
		destroy_now(lower);
}

/* Called with the state lock of the listener held. iw_cm reports no event before accept. */
static void iw_set_owner(void *_lower, void *owner)
{
	struct iw_lower *lower = _lower;

	spin_lock(&lower->lock);
	lower->owner = owner;
	spin_unlock(&lower->lock);
}

static void *iw_listen(struct ib_device *dev, const struct rca_tp_listen *req, void *demux)
{
	struct iw_cm_id *cm_id = iw_create_cm_id(dev, iw_listen_handler, demux);
	struct mem_cgroup *old_memcg;
	struct rca_netns visit;
	int ret;

	if (IS_ERR(cm_id))
		return cm_id;
	put_addr(&cm_id->local_addr, req->local);
	cm_id->tos = req->tos;
	cm_id->tos_set = req->tos;
	cm_id->afonly = req->afonly;
	rca_netns_enter(&visit, req->net);
	/* The driver may wait for memory, and others wait for this: no memory cgroup is charged. */
	old_memcg = set_active_memcg(NULL);
	ret = iw_cm_listen(cm_id, req->backlog);
	set_active_memcg(old_memcg);
	rca_netns_leave(&visit);
	if (ret) {
		iw_destroy_cm_id(cm_id);
		return ERR_PTR(ret == -EADDRINUSE ? -EBUSY : ret);
	}
	return cm_id;
}

static void iw_unlisten(void *listen)
{
	iw_destroy_cm_id(listen);
}

static int iw_reply(void *_lower, const struct rca_tp_conn *conn)
{
	struct iw_lower *lower = _lower;
	struct iw_cm_conn_param param = {
		.private_data = conn->private_data,
		.private_data_len = conn->private_data_len,
		.ord = conn->initiator_depth,
		.ird = conn->responder_resources,
		.qpn = conn->qp_num,
	};
	struct ib_qp *qp = rca_qp_owner_hold_iw(lower->dev, conn->qp_num);
	int ret;

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	WRITE_ONCE(lower->pending, true);	/* until iw_conn_handler() */
	ret = iw_cm_accept(lower->cm_id, &param);
	if (ret)
		WRITE_ONCE(lower->pending, false);
	rca_qp_owner_release_iw(lower->dev, qp);
	return ret;
}

/* TCP connections are established without a ready-to-use. */
static int iw_send_rtu(void *lower, const void *data, u8 len)
{
	return -EINVAL;
}

static int iw_reject(void *_lower, int reason, const void *data, u8 len)
{
	struct iw_lower *lower = _lower;

	return iw_cm_reject(lower->cm_id, data, len);
}

static int iw_disconnect(void *_lower)
{
	struct iw_lower *lower = _lower;

	return iw_cm_disconnect(lower->cm_id, 0);
}

static int iw_qp_attr(void *_lower, struct ib_qp_attr *attr, int *mask)
{
	struct iw_lower *lower = _lower;

	return iw_cm_init_qp_attr(lower->cm_id, attr, mask);
}

static int iw_sidr_request(void *lower, const struct rca_tp_req *req)
{
	return -EOPNOTSUPP;
}

static int iw_sidr_reply(void *lower, int status, const struct rca_tp_conn *conn)
{
	return -EOPNOTSUPP;
}

static int iw_ah_attr(struct ib_device *dev, u32 port_num, struct sa_path_rec *path,
		      const struct ib_gid_attr *sgid_attr, struct ib_uverbs_ah_attr *out)
{
	return -EOPNOTSUPP;
}

static void *iw_join(struct ib_device *dev, const struct rca_tp_join *req, void *member)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void iw_leave(void *group)
{
}

const struct rca_tp_ops rca_tp_iw = {
	.name = "iw_cm",
	.over_tcp = true,
	.long_private = true,
	.create = iw_create,
	.destroy = iw_destroy,
	.set_owner = iw_set_owner,
	.listen = iw_listen,
	.unlisten = iw_unlisten,
	.connect = iw_connect,
	.finish = iw_finish,
	.when_finished = iw_when_finished,
	.reply = iw_reply,
	.send_rtu = iw_send_rtu,
	.reject = iw_reject,
	.disconnect = iw_disconnect,
	.check_qp = rca_qp_owner_check,
	.qp_attr = iw_qp_attr,
	.sidr_request = iw_sidr_request,
	.sidr_reply = iw_sidr_reply,
	.ah_attr = iw_ah_attr,
	.join = iw_join,
	.leave = iw_leave,
};
