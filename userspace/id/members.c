// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memberships of an id in multicast groups: their list, their events, and the QP's part in them.
 *
 * Locking: the id's lock for the list of memberships, and around attaching and detaching, so that
 * no QP is attached for a membership that another thread is leaving. References of the table keep a
 * membership after that.
 */
#include "id/members.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/log.h"
#include "base/sockaddr.h"
#include "base/table.h"

/* Threads seldom wait for acknowledgements: an id needs no condition of its own. */
pthread_mutex_t rcl_acks_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t rcl_acked = PTHREAD_COND_INITIALIZER;

struct rcl_member *rcl_member_get(const struct rcl_id *id, uint64_t cookie)
{
	struct rcl_member *member = rcl_table_get(RCL_KIND_MEMBER, cookie);

	if (member && member->owner != id->cookie) {
		rcl_member_put(member);
		member = NULL;
	}
	return member;
}

void rcl_member_put(struct rcl_member *member)
{
	if (rcl_table_put(member->cookie))
		free(member);
}

void rcl_member_free(struct rcl_member *member)
{
	if (rcl_table_kill(member->cookie))
		free(member);
}

/* With the id's lock held, like the functions up to attach_qp(). */
static bool is_listed(const struct rcl_id *id, const struct rcl_member *member)
{
	const struct rcl_member *m = id->members;

	while (m && m != member)
		m = m->next;
	return m;
}

static void unlist(struct rcl_id *id, struct rcl_member *member)
{
	struct rcl_member **pos = &id->members;

	while (*pos && *pos != member)
		pos = &(*pos)->next;
	if (*pos)
		*pos = member->next;
}

static bool same_group(const struct rcl_member *a, const struct rcl_member *b)
{
	return a->mlid == b->mlid && !memcmp(&a->mgid, &b->mgid, sizeof(a->mgid));
}

/* A QP is attached to a group once, however many memberships need it. */
static bool is_group_in_use(const struct rcl_id *id, const struct rcl_member *member)
{
	const struct rcl_member *m;

	for (m = id->members; m; m = m->next) {
		if (m != member && m->attached == id->id.qp && same_group(m, member))
			return true;
	}
	return false;
}

/* A QP that the program has attached itself is detached, too. */
static void detach_qp(struct rcl_id *id, struct rcl_member *member)
{
	member->attached = NULL;
	if (!id->id.qp || !member->joined || member->send_only ||
	    is_group_in_use(id, member))
		return;
	ibv_detach_mcast(id->id.qp, &member->mgid, member->mlid);
}

static int attach_qp(struct rcl_id *id, struct rcl_member *member)
{
	int ret;

	if (!id->id.qp || member->send_only)
		return 0;
	ret = rcl_verbs_err(ibv_attach_mcast(id->id.qp, &member->mgid, member->mlid));
	if (!ret)
		member->attached = id->id.qp;
	return ret;
}

int rcl_member_joined(struct rcl_id *id, struct rcl_member *member,
		      const struct ibv_ah_attr *ah)
{
	int ret = 0;

	pthread_mutex_lock(&id->lock);
	/* A second event, which a correct kernel does not send, does not change the group. */
	if (is_listed(id, member) && !member->joined) {
		member->mgid = ah->grh.dgid;
		member->mlid = ah->dlid;
		member->joined = true;
		ret = attach_qp(id, member);
	}
	pthread_mutex_unlock(&id->lock);
	if (ret)
		rcl_log("id %u: joined a group, but its QP cannot be attached: %s", id->handle,
			strerror(-ret));
	return ret;
}

void rcl_member_set_handle(struct rcl_member *member, uint32_t handle)
{
	uint32_t none = 0;

	if (rcl_handle_valid(handle))
		atomic_compare_exchange_strong(&member->handle, &none, handle);
}

void rcl_member_count_event(struct rcl_id *id, struct rcl_member *member)
{
	pthread_mutex_lock(&id->lock);
	member->events_taken++;
	pthread_mutex_unlock(&id->lock);
}

static void settle_in_child(void *object, void *arg)
{
	struct rcl_member *member = object;
	const bool *leaving = arg;

	member->events_acked = member->events_taken;
	if (!*leaving)
		member->revoking = 0;
}

void rcl_members_in_child(bool leaving)
{
	rcl_table_each(RCL_KIND_MEMBER, settle_in_child, &leaving);
}

void rcl_member_ack(struct rcl_id *id, uint64_t cookie)
{
	struct rcl_member *member = rcl_member_get(id, cookie);

	if (!member)
		return;
	pthread_mutex_lock(&id->lock);
	member->events_acked++;
	pthread_mutex_unlock(&id->lock);
	rcl_acks_wake();
	rcl_member_put(member);
}

void rcl_members_detach(struct rcl_id *id)
{
	struct rcl_member *m;
	int cancel;

	if (!id->id.qp)
		return;
	cancel = rcl_lock(&id->lock);
	for (m = id->members; m; m = m->next) {
		if (m->attached && m->attached == id->id.qp)
			detach_qp(id, m);
	}
	rcl_unlock(&id->lock, cancel);
}

void rcl_members_free(struct rcl_id *id)
{
	struct rcl_member *m, *next;

	for (m = id->members; m; m = next) {
		next = m->next;
		rcl_member_free(m);
	}
	id->members = NULL;
}

struct rcl_member *rcl_member_add(struct rcl_id *id, const struct sockaddr *addr, bool send_only,
				  void *context)
{
	struct rcl_member *member = calloc(1, sizeof(*member));

	if (!member)
		return NULL;
	member->cookie = rcl_table_add(RCL_KIND_MEMBER, member);
	if (!member->cookie) {
		free(member);
		return NULL;
	}
	member->owner = id->cookie;
	member->send_only = send_only;
	member->context = context;
	memcpy(&member->addr, addr, rcl_addr_len(addr));
	rcl_table_get(RCL_KIND_MEMBER, member->cookie);
	pthread_mutex_lock(&id->lock);
	member->next = id->members;
	id->members = member;
	pthread_mutex_unlock(&id->lock);
	return member;
}

void rcl_member_remove(struct rcl_id *id, struct rcl_member *member)
{
	pthread_mutex_lock(&id->lock);
	unlist(id, member);
	pthread_mutex_unlock(&id->lock);
	rcl_member_free(member);
}

struct rcl_member *rcl_member_unlist(struct rcl_id *id, const struct sockaddr *addr)
{
	struct rcl_member *m;
	int cancel;

	cancel = rcl_lock(&id->lock);
	for (m = id->members; m; m = m->next) {
		if (atomic_load(&m->handle) && !memcmp(&m->addr, addr, rcl_addr_len(addr)))
			break;
	}
	if (m) {
		detach_qp(id, m);
		unlist(id, m);
	}
	rcl_unlock(&id->lock, cancel);
	return m;
}

/* The number of events to wait for, which is not positive when there are none. */
static int32_t missing_acks(struct rcl_id *id, const struct rcl_member *member, uint32_t reported)
{
	int32_t missing;

	pthread_mutex_lock(&id->lock);
	missing = (int32_t)(reported - member->events_acked);
	pthread_mutex_unlock(&id->lock);
	return missing;
}

void rcl_member_wait_acked(struct rcl_id *id, const struct rcl_member *member, uint32_t reported)
{
	int32_t missing;

	pthread_mutex_lock(&id->lock);
	if (id->shared)
		reported = member->events_taken;
	pthread_mutex_unlock(&id->lock);
	missing = missing_acks(id, member, reported);
	if (missing <= 0)
		return;
	rcl_log("id %u: rdma_leave_multicast waits for rdma_ack_cm_event of %d more events",
		id->handle, missing);
	pthread_mutex_lock(&rcl_acks_lock);
	while (missing_acks(id, member, reported) > 0)
		rcl_cond_wait(&rcl_acked, &rcl_acks_lock);
	pthread_mutex_unlock(&rcl_acks_lock);
}
