// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The path of an id on InfiniBand: from the cache, from the subnet administrator, or given by user
 * space.
 *
 * Locking: rca_id.op.
 */
#include "cm/route_ib.h"

#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <rdma/ib_sa.h>

#include "cm/path_query.h"
#include "id/timing_net.h"
#include "lib/testing.h"
#include "lib/wire.h"
#include "transport/devices.h"

/* Timeout in ms of a query for another path, while a connection request waits for it. */
#define RENEW_MS	2000

/* Position of the traffic class in an IPv6 flow information. */
#define FLOWINFO_TCLASS_SHIFT	20

/* Traffic class of the flow information in a local address. */
static u8 flowinfo_tclass(__be32 flowinfo)
{
	return be32_to_cpu(flowinfo) >> FLOWINFO_TCLASS_SHIFT;
}

/**
 * rca_route_ib_question() - fill in the path record of a query
 * @id: the id; its address is resolved
 * @opa: the port is Omni-Path, whose records have longer LIDs
 * @rec: filled in
 *
 * Asks for one reversible path between the two GIDs in the partition of the id, for its service.
 * The quality of service depends on the family of the addresses: type of service of the id, or
 * traffic class.
 *
 * Context: Any context. Pure. Expects @id->op to be held by the caller.
 * Return: the component mask: the members of @rec that are valid.
 */
RCA_VISIBLE_IF_KUNIT
ib_sa_comp_mask rca_route_ib_question(const struct rca_id *id, bool opa, struct sa_path_rec *rec)
{
	ib_sa_comp_mask mask = IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID | IB_SA_PATH_REC_PKEY |
			       IB_SA_PATH_REC_NUMB_PATH | IB_SA_PATH_REC_REVERSIBLE |
			       IB_SA_PATH_REC_SERVICE_ID;

	memset(rec, 0, sizeof(*rec));
	rec->rec_type = opa ? SA_PATH_REC_TYPE_OPA : SA_PATH_REC_TYPE_IB;
	rec->sgid = id->sgid_attr->gid;
	memcpy(rec->dgid.raw, id->link.dgid, sizeof(id->link.dgid));
	rec->pkey = cpu_to_be16(id->link.pkey);
	rec->numb_path = 1;
	rec->reversible = 1;
	rec->service_id = rca_wire_addr_service_id(id->ps, &id->dst);
	switch (id->local.sa.sa_family) {
	case AF_INET:
		rec->qos_class = cpu_to_be16(rca_id_opts(id)->tos);
		return mask | IB_SA_PATH_REC_QOS_CLASS;
	case AF_INET6:
		rec->traffic_class = flowinfo_tclass(id->local.in6.sin6_flowinfo);
		return mask | IB_SA_PATH_REC_TRAFFIC_CLASS;
	case AF_IB:
		rec->traffic_class = flowinfo_tclass(id->local.ib.sib_flowinfo);
		return mask | IB_SA_PATH_REC_TRAFFIC_CLASS;
	default:
		return mask;
	}
}

/* Use a cached path. */
static void store_cached(struct rca_id *id, const struct sa_path_rec *path, u32 version)
{
	rca_id_set_path(id, path);
	id->setup->path_version = version;
}

static void set_question(const struct rca_id *id, struct rca_path_question *question)
{
	const u32 user = __kuid_val(rca_account_uid(&id->obj.ctx->account));
	const struct rca_device *dev = id->dev;

	question->epoch = atomic_read(&dev->path_epoch);
	question->mask = rca_route_ib_question(id, rdma_cap_opa_ah(dev->ibdev, id->port_num),
					       &question->rec);
	rca_path_key(&question->key, user, dev->serial, id->port_num, &question->rec,
		     question->mask);
}

/*
 * The greatest age of a cached path for an id, in seconds. A cached path has to be renewed if the
 * peer does not answer over it, so ids that send their request in a single round ask for theirs.
 */
static u32 max_age_s(struct rca_id *id)
{
	const struct rca_timing timing = rca_id_timing(id);
	int here = rca_timing_net_path_cache_s(id->net);

	if (id->qp_type == IB_QPT_UD || rca_timing_once(&timing))
		return 0;
	return here < 0 ? rca_path_cache_default_age_s() : here;
}

/**
 * rca_route_ib_start() - find the path of an id: in the cache, else by a query
 * @id: the id, in the state RCA_ST_ROUTE_QUERY
 * @timeout_ms: total timeout; ib_sa sends the query up to ten times
 * @done: called when the query has ended, unless rca_path_query_cancel() comes first
 * @post: argument of @done
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0, the id has its path and @done is not called; 1, @done will be called; -ENOMEM, or an
 * errno of ib_sa, @done is not called: -EAGAIN if the port does not know its subnet manager.
 */
int rca_route_ib_start(struct rca_id *id, u32 timeout_ms, rca_path_done done, bool post)
{
	struct rca_path_question question;
	struct sa_path_rec path;
	u32 version;

	lockdep_assert_held(&id->op);
	set_question(id, &question);
	version = rca_path_cache_find(&question.key, question.epoch, max_age_s(id), &path);
	if (version) {
		rca_stats_cached_path(rca_device_stats(id->dev, id->port_num));
		store_cached(id, &path, version);
		return 0;
	}
	return rca_path_query_start(id, &question, timeout_ms, done, post);
}

/**
 * rca_route_ib_renew() - replace a cached path over which the peer did not answer
 * @id: the id, in the state RCA_ST_REQ_WAIT
 * @done: called when the subnet administrator has answered or not, unless rca_path_query_cancel()
 *        comes first; the id has the old path if the status is not 0
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: true if @done will be called; false if the request may be sent now: the path was not a
 * cached one, was replaced, or cannot be.
 */
bool rca_route_ib_renew(struct rca_id *id, rca_path_done done)
{
	u32 version = id->setup->path_version;
	struct rca_path_question question;
	struct mem_cgroup *old_memcg;
	struct sa_path_rec path;
	bool asks = false;

	lockdep_assert_held(&id->op);
	if (!version)
		return false;
	set_question(id, &question);
	/* The work of an id has no memory cgroup of its own. */
	old_memcg = set_active_memcg(id->obj.ctx->memcg);
	switch (rca_path_cache_doubt(&question.key, question.epoch, &version, &path)) {
	case RCA_PATH_NEWER:
		store_cached(id, &path, version);
		break;
	case RCA_PATH_ASKED:
		break;
	default:
		id->setup->path_version = 0;
		asks = rca_path_query_start(id, &question, RENEW_MS, done, false) > 0;
	}
	set_active_memcg(old_memcg);
	return asks;
}

/**
 * rca_route_ib_forget() - an id that is destroyed has not connected over its path
 * @id: the id
 *
 * If its path is a cached one, the next id asks the subnet administrator: the peer may have another
 * LID, and the old one may belong to a host that rejects.
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 */
void rca_route_ib_forget(struct rca_id *id)
{
	u32 version = id->setup ? id->setup->path_version : 0;
	struct rca_path_question question;

	lockdep_assert_held(&id->op);
	if (!version || !id->dev)
		return;
	set_question(id, &question);
	rca_path_cache_forget(&question.key, version);
}

/**
 * rca_route_ib_set() - set the path of an id that user space has resolved
 * @id: the id; its address is resolved
 * @given: the path, as an InfiniBand record
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 */
void rca_route_ib_set(struct rca_id *id, const struct sa_path_rec *given)
{
	struct sa_path_rec path = *given;

	lockdep_assert_held(&id->op);
	if (rdma_cap_opa_ah(id->dev->ibdev, id->port_num))
		sa_convert_path_ib_to_opa(&path, (struct sa_path_rec *)given);
	rca_id_set_path(id, &path);
}
