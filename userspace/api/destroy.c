// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Destroying ids, one by one or many in one system call.
 *
 * Locking: none of its own; an atomic flag says that a thread destroys the id.
 */
#include "api/destroy.h"

#include <rdma/rdma_cma_alt.h>
#include <rdma/rdma_verbs.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "core/batch.h"
#include "core/context.h"
#include "event/event.h"
#include "id/cmid.h"
#include "id/members.h"
#include "id/report.h"

/**
 * struct destroy_entry - one of many ids to destroy
 * @cmd: its command
 * @refused: it belongs to another process, see rcl_refuse_id(); not written by the kernel, as @ours
 * @ours: this call destroys it, no other thread
 */
struct destroy_entry {
	struct rdma_cm_alt_destroy cmd;
	bool refused;
	bool ours;
};

void rcl_id_drop_request(struct rcl_id *listener)
{
	struct rcl_id *child;

	if (!listener->failed_request)
		return;
	child = rcl_id_get(listener->failed_request);
	listener->failed_request = 0;
	if (!child)
		return;
	if (!child->accepted)
		rdma_destroy_ep(&child->id);
	rcl_id_put(child);
}

/* Returns false when another thread destroys the id. */
static bool begin_destroy(struct rcl_id *id)
{
	if (atomic_exchange(&id->destroying, true))
		return false;
	rcl_id_drop_request(id);
	rcl_members_detach(id);
	return true;
}

/* After the command with the result @ret. Returns 0 when the id is freed. */
static int finish_destroy(struct rcl_id *id, int ret, uint32_t reported)
{
	if (ret && ret != -ENOENT) {
		id->destroying = false;
		return ret;
	}
	rcl_event_drop(id);
	/*
	 * ENOENT: the program has destroyed the channel before, and the kernel the id with it. The
	 * number of delivered events is unknown then.
	 */
	if (!ret)
		rcl_id_wait_acked(id, reported);
	rcl_id_free(id);
	return 0;
}

RCL_EXPORT int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct rdma_cm_alt_destroy cmd = { 0 };
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id)
		return rcl_fail(-EINVAL, __func__, "no id");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	if (!begin_destroy(priv))
		return rcl_fail_id(priv, -ENOENT, __func__, "another thread destroys it");
	cmd.id = priv->handle;
	rcl_id_begin_revoke(priv);
	ret = RCL_CALL(DESTROY, &cmd);
	rcl_id_end_revoke(priv);
	ret = finish_destroy(priv, ret, cmd.out_events_reported);
	if (ret)
		return rcl_fail_id(priv, ret, __func__, "the kernel did not destroy it");
	return 0;
}

RCL_EXPORT void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (!id || rcl_refuse_id(rcl_id_of(id), __func__))
		return;
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

RCL_EXPORT int rdma_alt_destroy_many(struct rdma_cm_id **ids, int count, int *errors)
{
	struct destroy_entry *entries;
	int i, ret, first = 0, done = 0;
	int32_t *results;

	if (count < 0 || (count && !ids))
		return rcl_fail(-EINVAL, __func__, "no ids, or %d of them", count);
	entries = calloc((size_t)count + 1, sizeof(*entries));
	results = calloc((size_t)count + 1, sizeof(*results));
	if (!entries || !results) {
		free(entries);
		free(results);
		return rcl_fail(-ENOMEM, __func__, "no memory for %d commands", count);
	}
	for (i = 0; i < count; i++) {
		entries[i].cmd.size = sizeof(entries[i].cmd);
		entries[i].refused = rcl_refuse_id(rcl_id_of(ids[i]), __func__);
		entries[i].ours = ids[i] && !entries[i].refused &&
				  begin_destroy(rcl_id_of(ids[i]));
		/* The handle of others is 0, for which the kernel has no id. */
		if (!entries[i].ours)
			continue;
		entries[i].cmd.id = rcl_id_of(ids[i])->handle;
		rcl_id_begin_revoke(rcl_id_of(ids[i]));
	}
	rcl_batch(RDMA_CM_ALT_CMD_DESTROY, &entries[0].cmd, sizeof(*entries), (uint32_t)count,
		  results);
	for (i = 0; i < count; i++) {
		if (entries[i].ours)
			rcl_id_end_revoke(rcl_id_of(ids[i]));
		ret = 0;
		if (entries[i].refused)
			ret = -EACCES;
		else if (ids[i] && !entries[i].ours)
			ret = -ENOENT;		/* another thread destroys it */
		else if (ids[i])
			ret = finish_destroy(rcl_id_of(ids[i]), results[i],
					     entries[i].cmd.out_events_reported);
		if (ret)
			rcl_log("%s: number %d of %d is not destroyed: %s", __func__, i, count,
				strerror(-ret));
		if (errors)
			errors[i] = -ret;
		first = first ? first : ret;
		if (ids[i] && !ret) {
			ids[i] = NULL;
			done++;
		}
	}
	free(entries);
	free(results);
	if (first && !done)
		return rcl_fail(first, __func__, "none of %d ids was destroyed", count);
	if (first)
		errno = -first;
	return done;
}
