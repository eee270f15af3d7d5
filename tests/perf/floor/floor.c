// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The floor of the measurements: connects and disconnects with ib_cm alone, both ends in the
 * kernel, with no addresses, no events and no system calls. No connection manager above ib_cm
 * can be faster.
 *
 * For tests only. Write "ACTIVE PASSIVE COUNT WINDOW [path]" to the parameter run of the
 * module: the names of two devices (port 1 of each, with an InfiniBand link layer), how many
 * connections, and how many of them at a time; with "path" each connection resolves its path
 * first. Reading it returns the time in us of the connects, of the disconnects and of
 * destroying the ids, and the number of failed connections. The same text written to the
 * parameter hold keeps the connections open until the next run or an empty line.
 *
 * Locking: the kernel serialises writes of a module's parameters, so there is one run at a
 * time. Handlers of ib_cm and ib_sa run on both processors; their counters are atomic.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/semaphore.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>

/* Number of records that a path query has found; this module cannot use kernel/lib/compat.h. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
typedef int floor_count_t;
#else
typedef unsigned int floor_count_t;
#endif

#define FLOOR_SERVICE 0x5243410000000001ULL
/* As stock: the peer may take 4.096 us * 2^20 to respond. */
#define FLOOR_RESPONSE_TIMEOUT 20
#define FLOOR_RETRIES 15
#define FLOOR_PACKET_LIFETIME 14
/* QP numbers that no QP has; the two ends use different ones. */
#define FLOOR_QP 0x600000
#define FLOOR_PASSIVE_QP 0x200000
#define FLOOR_MOST 100000
#define FLOOR_HOLD_WINDOW 64
#define FLOOR_QUERY_MS 5000
#define FLOOR_QUESTION \
	(IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID | IB_SA_PATH_REC_PKEY | \
	 IB_SA_PATH_REC_NUMB_PATH | IB_SA_PATH_REC_REVERSIBLE)

/**
 * struct floor_end - an active id
 * @run: its run
 * @id: the id, or NULL
 * @n: its number
 */
struct floor_end {
	struct floor_run *run;
	struct ib_cm_id *id;
	unsigned int n;
};

/**
 * struct floor_run - one run
 * @active: device of the active ends
 * @passive: device of the passive ends
 * @path: path between the two devices
 * @gid: entry of its source GID in the table of @active; without it, ib_cm searches all tables
 *       for each request (holds a reference)
 * @count: number of connections
 * @asks: each connection resolves its path
 * @listener: of the passive ends
 * @ends: active ends
 * @children: passive ids, in the order of their requests
 * @requests: number of received requests
 * @failures: number of connections that failed to connect or to disconnect
 * @room: free slots of the window
 */
struct floor_run {
	struct ib_device *active;
	struct ib_device *passive;
	struct sa_path_rec path;
	const struct ib_gid_attr *gid;
	unsigned int count;
	bool asks;
	struct ib_cm_id *listener;
	struct floor_end *ends;
	struct ib_cm_id **children;
	atomic_t requests;
	atomic_t failures;
	struct semaphore room;
};

static struct ib_sa_client floor_sa;

/* The run whose connections are held, or NULL. */
static struct floor_run *held;

/* Result of the last run. */
static u64 connect_us, disconnect_us, destroy_us;
static int failures;

static int floor_accept(struct floor_run *run, struct ib_cm_id *id,
			const struct ib_cm_event *event)
{
	struct ib_cm_rep_param rep = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.rnr_retry_count = 7,
		.starting_psn = 1,
	};
	unsigned int n = atomic_inc_return(&run->requests) - 1;

	/* ib_cm destroys the new cm_id when its handler returns an error. */
	if (n >= run->count)
		return -ENOMEM;
	rep.qp_num = FLOOR_PASSIVE_QP + n;
	run->children[n] = id;
	if (ib_send_cm_rep(id, &rep))
		atomic_inc(&run->failures);
	return 0;
}

static int floor_passive(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	struct floor_run *run = id->context;

	if (event->event == IB_CM_REQ_RECEIVED)
		return floor_accept(run, id, event);
	if (event->event == IB_CM_DREQ_RECEIVED)
		ib_send_cm_drep(id, NULL, 0);
	return 0;
}

static int floor_active(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	struct floor_run *run = id->context;

	switch (event->event) {
	case IB_CM_REP_RECEIVED:
		if (ib_send_cm_rtu(id, NULL, 0))
			atomic_inc(&run->failures);
		up(&run->room);
		break;
	case IB_CM_DREP_RECEIVED:
		up(&run->room);
		break;
	case IB_CM_REQ_ERROR:
	case IB_CM_REJ_RECEIVED:
	case IB_CM_DREQ_ERROR:
		atomic_inc(&run->failures);
		up(&run->room);
		break;
	default:
		break;
	}
	return 0;
}

static int floor_request(struct floor_run *run, unsigned int n, struct sa_path_rec *path)
{
	struct ib_cm_req_param req = {
		.primary_path = path,
		.ppath_sgid_attr = run->gid,
		.service_id = cpu_to_be64(FLOOR_SERVICE),
		.qp_num = FLOOR_QP + n,
		.qp_type = IB_QPT_RC,
		.starting_psn = 1,
		.responder_resources = 1,
		.initiator_depth = 1,
		.remote_cm_response_timeout = FLOOR_RESPONSE_TIMEOUT,
		.local_cm_response_timeout = FLOOR_RESPONSE_TIMEOUT,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.max_cm_retries = FLOOR_RETRIES,
	};
	struct ib_cm_id *id = ib_create_cm_id(run->active, floor_active, run);

	if (IS_ERR(id))
		return PTR_ERR(id);
	run->ends[n].id = id;
	return ib_send_cm_req(id, &req);
}

static void floor_answered(int status, struct sa_path_rec *path, floor_count_t count, void *context)
{
	struct floor_end *end = context;

	if (!status && count)
		status = floor_request(end->run, end->n, path);
	else if (!status)
		status = -ENOENT;
	if (status) {
		atomic_inc(&end->run->failures);
		up(&end->run->room);
	}
}

static int floor_connect(struct floor_run *run, unsigned int n)
{
	struct floor_end *end = &run->ends[n];
	struct ib_sa_query *query;
	int ret;

	end->run = run;
	end->n = n;
	if (!run->asks)
		return floor_request(run, n, &run->path);
	ret = ib_sa_path_rec_get(&floor_sa, run->active, 1, &run->path, FLOOR_QUESTION,
				 FLOOR_QUERY_MS, GFP_KERNEL, floor_answered, end, &query);
	return min(ret, 0);
}

static int floor_disconnect(struct floor_run *run, unsigned int n)
{
	struct ib_cm_id *id = run->ends[n].id;

	return id ? ib_send_cm_dreq(id, NULL, 0) : -ENOTCONN;
}

/* Start an operation on each connection in turn and wait for the last answer; returns the us. */
static u64 floor_each(struct floor_run *run, unsigned int window,
		      int (*step)(struct floor_run *run, unsigned int n))
{
	ktime_t began = ktime_get();
	unsigned int n;

	sema_init(&run->room, window);
	for (n = 0; n < run->count; n++) {
		down(&run->room);
		if (step(run, n)) {
			atomic_inc(&run->failures);
			up(&run->room);
		}
	}
	for (n = 0; n < window; n++)
		down(&run->room);
	return ktime_us_delta(ktime_get(), began);
}

static u64 floor_destroy(struct floor_run *run)
{
	ktime_t began = ktime_get();
	unsigned int n;

	for (n = 0; n < run->count; n++) {
		if (run->ends[n].id)
			ib_destroy_cm_id(run->ends[n].id);
		if (run->children[n])
			ib_destroy_cm_id(run->children[n]);
	}
	return ktime_us_delta(ktime_get(), began);
}

static int floor_path(struct floor_run *run)
{
	struct sa_path_rec *path = &run->path;
	struct ib_port_attr here, there;
	int ret;

	ret = ib_query_port(run->active, 1, &here) ?: ib_query_port(run->passive, 1, &there) ?:
	      rdma_query_gid(run->active, 1, 0, &path->sgid) ?:
	      rdma_query_gid(run->passive, 1, 0, &path->dgid);
	if (ret)
		return ret;
	run->gid = rdma_get_gid_attr(run->active, 1, 0);
	if (IS_ERR(run->gid)) {
		ret = PTR_ERR(run->gid);
		run->gid = NULL;
		return ret;
	}
	path->rec_type = SA_PATH_REC_TYPE_IB;
	sa_path_set_slid(path, here.lid);
	sa_path_set_dlid(path, there.lid);
	path->pkey = cpu_to_be16(0xffff);
	path->reversible = 1;
	path->numb_path = 1;
	/* With a GRH, as paths of the subnet administrator: the peer does not search either. */
	path->hop_limit = 1;
	path->mtu_selector = IB_SA_EQ;
	path->mtu = here.active_mtu;
	path->rate_selector = IB_SA_EQ;
	path->rate = IB_RATE_10_GBPS;
	path->packet_life_time_selector = IB_SA_EQ;
	path->packet_life_time = FLOOR_PACKET_LIFETIME;
	return 0;
}

static int floor_listen(struct floor_run *run)
{
	struct ib_cm_id *listener = ib_create_cm_id(run->passive, floor_passive, run);
	int ret;

	if (IS_ERR(listener))
		return PTR_ERR(listener);
	ret = ib_cm_listen(listener, cpu_to_be64(FLOOR_SERVICE));
	if (ret)
		ib_destroy_cm_id(listener);
	else
		run->listener = listener;
	return ret;
}

/* Free a run, which may be incomplete; destroys its ids. */
static void floor_free(struct floor_run *run)
{
	if (run->listener)
		ib_destroy_cm_id(run->listener);
	if (run->gid)
		rdma_put_gid_attr(run->gid);
	if (run->passive)
		ib_device_put(run->passive);
	if (run->active)
		ib_device_put(run->active);
	kvfree(run->children);
	kvfree(run->ends);
	kfree(run);
}

/* The name that floor_find_device() looks for, and what it has found. */
static const char *floor_name;
static struct ib_device *floor_found;

static int floor_compare(struct ib_device *dev)
{
	if (!floor_found && !strcmp(dev_name(&dev->dev), floor_name) && ib_device_try_get(dev))
		floor_found = dev;
	return 0;
}

/*
 * Return the device with a reference, or NULL. Newer kernels export no search by name; a client
 * sees all devices.
 */
static struct ib_device *floor_find_device(const char *name)
{
	struct ib_client finder = { .name = "rca_floor", .add = floor_compare };

	floor_name = name;
	floor_found = NULL;
	if (!ib_register_client(&finder))
		ib_unregister_client(&finder);
	return floor_found;
}

static struct floor_run *floor_make(const char *text, unsigned int *window)
{
	char active[IB_DEVICE_NAME_MAX], passive[IB_DEVICE_NAME_MAX], word[8] = "";
	struct floor_run *run;
	int ret = -EINVAL;

	run = kzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return ERR_PTR(-ENOMEM);
	if (sscanf(text, "%63s %63s %u %u %7s", active, passive, &run->count, window, word) < 4 ||
	    !run->count || run->count > FLOOR_MOST || !*window)
		goto err;
	run->asks = !strcmp(word, "path");
	ret = -ENOMEM;
	run->ends = kvcalloc(run->count, sizeof(*run->ends), GFP_KERNEL);
	run->children = kvcalloc(run->count, sizeof(*run->children), GFP_KERNEL);
	if (!run->ends || !run->children)
		goto err;
	ret = -ENODEV;
	run->active = floor_find_device(active);
	run->passive = floor_find_device(passive);
	if (!run->active || !run->passive)
		goto err;
	ret = floor_path(run) ?: floor_listen(run);
	if (ret)
		goto err;
	return run;
err:
	floor_free(run);
	return ERR_PTR(ret);
}

static void floor_end_held(void)
{
	if (!held)
		return;
	floor_each(held, FLOOR_HOLD_WINDOW, floor_disconnect);
	floor_destroy(held);
	floor_free(held);
	held = NULL;
}

static int floor_set(const char *text, const struct kernel_param *kp)
{
	struct floor_run *run;
	unsigned int window;

	floor_end_held();
	run = floor_make(text, &window);
	if (IS_ERR(run))
		return PTR_ERR(run);
	connect_us = floor_each(run, window, floor_connect);
	disconnect_us = floor_each(run, window, floor_disconnect);
	destroy_us = floor_destroy(run);
	failures = atomic_read(&run->failures);
	floor_free(run);
	return 0;
}

static int floor_hold(const char *text, const struct kernel_param *kp)
{
	struct floor_run *run;
	unsigned int window;

	floor_end_held();
	if (!*skip_spaces(text))
		return 0;
	run = floor_make(text, &window);
	if (IS_ERR(run))
		return PTR_ERR(run);
	connect_us = floor_each(run, window, floor_connect);
	failures = atomic_read(&run->failures);
	held = run;
	return 0;
}

static int floor_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%llu %llu %llu %d\n", connect_us, disconnect_us, destroy_us,
			  failures);
}

static const struct kernel_param_ops floor_ops = { .set = floor_set, .get = floor_get };
static const struct kernel_param_ops floor_hold_ops = { .set = floor_hold, .get = floor_get };

module_param_cb(run, &floor_ops, NULL, 0600);
MODULE_PARM_DESC(run, "ACTIVE PASSIVE COUNT WINDOW [path]: connect so many times, and disconnect");
module_param_cb(hold, &floor_hold_ops, NULL, 0600);
MODULE_PARM_DESC(hold, "the same, and the connections stay");

static int __init floor_init(void)
{
	ib_sa_register_client(&floor_sa);
	return 0;
}
module_init(floor_init);

static void __exit floor_exit(void)
{
	floor_end_held();
	ib_sa_unregister_client(&floor_sa);
}
module_exit(floor_exit);

MODULE_DESCRIPTION("A loop of connects over ib_cm alone, for measurements");
MODULE_AUTHOR("The rdma_cm_alt authors");
MODULE_LICENSE("Dual BSD/GPL");
