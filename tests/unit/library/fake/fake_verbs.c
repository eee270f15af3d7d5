// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A libibverbs for the unit tests, with the functions that the library under test calls.
 *
 * Locking: verbs_lock around the counters. Tests set the knobs before they start threads.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

#include "fake/fake_verbs.h"

#undef ibv_query_port

struct fake_verbs fake_verbs;

static struct ibv_device devices[2];
static pthread_mutex_t verbs_lock = PTHREAD_MUTEX_INITIALIZER;

void fake_verbs_reset(void)
{
	int i;

	memset(&fake_verbs, 0, sizeof(fake_verbs));
	fake_verbs.devices = 1;
	fake_verbs.fail_errno = ENOMEM;
	fake_verbs.max_depth = 16;
	fake_verbs.extra_wr = 2;
	for (i = 0; i < 2; i++) {
		devices[i].node_type = IBV_NODE_CA;
		devices[i].transport_type = IBV_TRANSPORT_IB;
		strcpy(devices[i].name, i ? "fake1" : "fake0");
	}
}

void fake_verbs_iwarp(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		devices[i].node_type = IBV_NODE_RNIC;
		devices[i].transport_type = IBV_TRANSPORT_IWARP;
	}
}

static bool fails(void)
{
	bool now;

	pthread_mutex_lock(&verbs_lock);
	now = ++fake_verbs.steps == fake_verbs.fail_at;
	pthread_mutex_unlock(&verbs_lock);
	if (now)
		errno = fake_verbs.fail_errno;
	return now;
}

static void count_objects(int *counter, int change)
{
	pthread_mutex_lock(&verbs_lock);
	*counter += change;
	pthread_mutex_unlock(&verbs_lock);
}

void *fake_verbs_object(size_t size)
{
	if (fails())
		return NULL;
	count_objects(&fake_verbs.objects, 1);
	return calloc(1, size);
}

int fake_verbs_destroyed(void *object)
{
	count_objects(&fake_verbs.objects, -1);
	free(object);
	return 0;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list;
	int i;

	if (fake_verbs.list_error) {
		errno = fake_verbs.list_error;
		return NULL;
	}
	list = calloc(3, sizeof(*list));
	for (i = 0; i < fake_verbs.devices; i++)
		list[i] = &devices[i];
	if (num_devices)
		*num_devices = fake_verbs.devices;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return FAKE_GUID + (device == &devices[1]);
}

int ibv_get_device_index(struct ibv_device *device)
{
	return FAKE_INDEX + (device == &devices[1]);
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context,
				  struct ibv_xrcd_init_attr *attr)
{
	struct ibv_xrcd *xrcd = fake_verbs_object(sizeof(*xrcd));

	(void)attr;
	if (!xrcd)
		return NULL;
	xrcd->context = context;
	fake_verbs.xrcds++;
	return xrcd;
}

static int close_xrcd(struct ibv_xrcd *xrcd)
{
	fake_verbs.xrcds--;
	return fake_verbs_destroyed(xrcd);
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context,
				     struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq *srq = fake_verbs_object(sizeof(*srq));

	if (!srq)
		return NULL;
	fake_verbs.last_srq = *attr;
	srq->pd = attr->pd;
	srq->context = context;
	return srq;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context,
				   struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp = fake_verbs_object(sizeof(*qp));

	if (!qp)
		return NULL;
	fake_verbs.last_qp = *attr;
	qp->context = context;
	qp->pd = attr->pd;
	return qp;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct verbs_context *context;

	if (fails())
		return NULL;
	context = calloc(1, sizeof(*context));
	context->sz = sizeof(*context);
	context->context.device = device;
	if (fake_verbs.xrc) {
		context->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
		context->open_xrcd = open_xrcd;
		context->close_xrcd = close_xrcd;
		context->create_srq_ex = create_srq_ex;
		context->create_qp_ex = create_qp_ex;
	}
	if (fake_verbs.data_path)
		fake_verbs.data_path->opened(&context->context);
	count_objects(&fake_verbs.open_contexts, 1);
	return &context->context;
}

int ibv_close_device(struct ibv_context *context)
{
	count_objects(&fake_verbs.open_contexts, -1);
	/* The public part is the last one. */
	free((char *)context - offsetof(struct verbs_context, context));
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	if (fails())
		return errno;
	memset(attr, 0, sizeof(*attr));
	attr->max_qp_rd_atom = fake_verbs.max_depth;
	attr->max_qp_init_rd_atom = fake_verbs.max_depth;
	attr->max_qp_wr = FAKE_MAX_QP_WR;
	attr->max_sge = 4;
	attr->phys_port_cnt = 1;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = fake_verbs_object(sizeof(*pd));

	if (pd)
		pd->context = context;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return fake_verbs_destroyed(pd);
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	const struct fake_data_path *path = fake_verbs.data_path;
	struct ibv_comp_channel *channel;

	channel = fake_verbs_object(path ? path->channel_size : sizeof(*channel));
	if (!channel)
		return NULL;
	channel->context = context;
	if (path)
		path->channel_created(channel);
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	/* The data path counts the CQs of the channel. */
	if (channel->refcnt)
		return EBUSY;
	if (fake_verbs.data_path)
		fake_verbs.data_path->channel_destroyed(channel);
	return fake_verbs_destroyed(channel);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	const struct fake_data_path *path = fake_verbs.data_path;
	struct ibv_cq *cq = fake_verbs_object(path ? path->cq_size : sizeof(*cq));

	(void)comp_vector;
	if (!cq)
		return NULL;
	cq->context = context;
	cq->cqe = cqe;
	cq->cq_context = cq_context;
	cq->channel = channel;
	if (path)
		path->cq_created(cq);
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	if (fake_verbs.data_path)
		fake_verbs.data_path->cq_destroyed(cq);
	return fake_verbs_destroyed(cq);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const struct fake_data_path *path = fake_verbs.data_path;
	struct ibv_qp *qp;

	/* The real library would read through these pointers. */
	if (!attr->send_cq || (!attr->recv_cq && attr->qp_type != IBV_QPT_XRC_SEND))
		abort();
	qp = fake_verbs_object(path ? path->qp_size : sizeof(*qp));
	if (!qp)
		return NULL;
	qp->context = pd->context;
	qp->pd = pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->qp_type = attr->qp_type;
	qp->qp_num = 0x77;
	attr->cap.max_send_wr += fake_verbs.extra_wr;
	attr->cap.max_recv_wr += fake_verbs.extra_wr;
	if (path && !path->qp_created(qp, attr)) {
		fake_verbs_destroyed(qp);
		errno = EINVAL;
		return NULL;
	}
	return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	if (qp->handle & fake_verbs.attached)
		return EBUSY;
	if (fake_verbs.data_path)
		fake_verbs.data_path->qp_destroyed(qp);
	return fake_verbs_destroyed(qp);
}

static void record_move(const struct ibv_qp_attr *attr, int mask)
{
	int i;

	pthread_mutex_lock(&verbs_lock);
	i = fake_verbs.moves;
	if (i < FAKE_MOVES) {
		fake_verbs.state[i] = attr->qp_state;
		fake_verbs.attr[i] = *attr;
		fake_verbs.mask[i] = mask;
		fake_verbs.moves++;
	}
	pthread_mutex_unlock(&verbs_lock);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int ret = 0;

	if (fails())
		return errno;
	record_move(attr, mask);
	if (fake_verbs.data_path)
		ret = fake_verbs.data_path->qp_modified(qp, attr, mask);
	if (!ret)
		qp->state = attr->qp_state;
	return ret;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	fake_verbs.attaches++;
	fake_verbs.group = *gid;
	fake_verbs.group_lid = lid;
	if (fails())
		return errno;
	qp->handle |= 1U << (lid & 31);		/* its own, as there may be several */
	fake_verbs.attached |= 1U << (lid & 31);
	return 0;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	fake_verbs.detaches++;
	fake_verbs.group = *gid;
	fake_verbs.group_lid = lid;
	if (!(fake_verbs.attached & 1U << (lid & 31)))
		return EINVAL;
	qp->handle &= ~(1U << (lid & 31));
	fake_verbs.attached &= ~(1U << (lid & 31));
	return 0;
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	if (!fake_verbs.ece.vendor_id)
		return EOPNOTSUPP;
	*ece = fake_verbs.ece;
	return 0;
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	if (!fake_verbs.ece.vendor_id)
		return EOPNOTSUPP;
	if (fails())
		return errno;
	fake_verbs.ece.options = ece->options;
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq = fake_verbs_object(sizeof(*srq));

	if (!srq)
		return NULL;
	srq->pd = pd;
	srq->context = pd->context;
	attr->attr.max_wr += 2;
	return srq;
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	(void)srq;
	if (!fake_verbs.srq_size)
		return EOPNOTSUPP;
	attr->max_wr = fake_verbs.srq_size;
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	return fake_verbs_destroyed(srq);
}
