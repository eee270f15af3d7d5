/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memberships of an id in multicast groups: their list, their events, and attaching the QP. */
#ifndef RCL_MEMBERS_H
#define RCL_MEMBERS_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "id/cmid.h"

/**
 * struct rcl_member - a membership
 * @next: in the id's list; the id's lock protects the list and the members
 * @cookie: the kernel returns it as user_arg of the membership's events
 * @owner: cookie of its id
 * @handle: of the kernel; 0: neither the command has returned, nor an event been read
 * @revoking: the command is running in which the kernel drops its events
 * @send_only: the QP is not attached
 * @joined: MULTICAST_JOIN was read: @mgid and @mlid are valid
 * @attached: the QP that the library has attached, or NULL
 * @mgid: GID of the group
 * @mlid: LID of the group
 * @events_taken: events of the membership that this process has read
 * @events_acked: events of the membership that the program has acknowledged
 * @context: of the program
 * @addr: address of the group, as given to the join
 */
struct rcl_member {
	struct rcl_member *next;
	uint64_t cookie;
	uint64_t owner;
	_Atomic uint32_t handle;
	atomic_uint revoking;
	bool send_only;
	bool joined;
	struct ibv_qp *attached;
	union ibv_gid mgid;
	uint16_t mlid;
	uint32_t events_taken;
	uint32_t events_acked;
	void *context;
	struct sockaddr_storage addr;
};

/*
 * Signalled when an event is acknowledged that a thread may wait for. One for all ids, with a lock
 * that is outside of the lock of an id.
 */
extern pthread_cond_t rcl_acked;
extern pthread_mutex_t rcl_acks_lock;

/** rcl_acks_wake - an event was acknowledged: wake the threads that wait for events of any id */
static inline void rcl_acks_wake(void)
{
	pthread_mutex_lock(&rcl_acks_lock);
	pthread_cond_broadcast(&rcl_acked);
	pthread_mutex_unlock(&rcl_acks_lock);
}

/**
 * rcl_member_add - add a membership to the list of an id
 * @id: the id
 * @addr: address of the group
 * @send_only: do not attach the QP
 * @context: of the program
 *
 * Return: the membership with a reference for the caller, which keeps it while another thread
 * reads its event, leaves the group or destroys the id; NULL: there is no memory
 */
struct rcl_member *rcl_member_add(struct rcl_id *id, const struct sockaddr *addr, bool send_only,
				  void *context);

/**
 * rcl_member_remove - undo rcl_member_add() when the join fails
 * @id: the id
 * @member: its membership
 */
void rcl_member_remove(struct rcl_id *id, struct rcl_member *member);

/**
 * rcl_member_unlist - take a membership off the list of its id, and detach the QP
 * @id: the id
 * @addr: the group; of several memberships the latest one that the kernel knows is taken
 *
 * Return: the membership, for rcl_member_free(), or NULL
 */
struct rcl_member *rcl_member_unlist(struct rcl_id *id, const struct sockaddr *addr);

/**
 * rcl_member_free - end of a membership that is on no list
 * @member: freed with the last reference; rcl_member_get() does not find it any more
 */
void rcl_member_free(struct rcl_member *member);

/**
 * rcl_member_wait_acked - wait until the program has acknowledged all events of a membership
 * @id: its id
 * @member: the membership
 * @reported: number of events that the kernel has delivered; of an id that processes share only
 *            those count that this process has read
 */
void rcl_member_wait_acked(struct rcl_id *id, const struct rcl_member *member, uint32_t reported);

/**
 * rcl_member_get - find a membership by its cookie, and take a reference
 * @id: the id of the event
 * @cookie: user_arg of the event
 *
 * Return: the membership, or NULL when the id has left the group, or it belongs to another id
 */
struct rcl_member *rcl_member_get(const struct rcl_id *id, uint64_t cookie);

/**
 * rcl_member_put - drop a reference
 * @member: from rcl_member_get()
 */
void rcl_member_put(struct rcl_member *member);

/**
 * rcl_member_joined - the join has succeeded: attach the id's QP, if it has one
 * @id: the id
 * @member: its membership
 * @ah: address handle attributes of the group
 *
 * The QP is not attached for a membership that is send-only, or that another thread is leaving.
 *
 * Return: 0 or a negative errno
 */
int rcl_member_joined(struct rcl_id *id, struct rcl_member *member,
		      const struct ibv_ah_attr *ah);

/**
 * rcl_member_set_handle - store the handle of a membership, unless it is stored
 * @member: the membership; its first event may be read before the command of the join returns
 * @handle: in the event
 */
void rcl_member_set_handle(struct rcl_member *member, uint32_t handle);

/**
 * rcl_member_count_event - count an event that was read
 * @id: the id
 * @member: its membership
 */
void rcl_member_count_event(struct rcl_id *id, struct rcl_member *member);

/**
 * rcl_member_ack - count an acknowledged event
 * @id: the id
 * @cookie: of the membership
 */
void rcl_member_ack(struct rcl_id *id, uint64_t cookie);

/**
 * rcl_members_detach - detach the id's QP from all groups, before it is destroyed
 * @id: the id; its memberships stay
 */
void rcl_members_detach(struct rcl_id *id);

/**
 * rcl_members_in_child - in the child of a fork() no event is outstanding, and nobody else leaves
 * @leaving: this thread does, in a handler of a signal
 *
 * With the table and all ids locked.
 */
void rcl_members_in_child(bool leaving);

/**
 * rcl_members_free - free all memberships of an id
 * @id: the id, after its last reference
 */
void rcl_members_free(struct rcl_id *id);

#endif /* RCL_MEMBERS_H */
