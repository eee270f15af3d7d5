/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memberships of an id in multicast groups, and the QP's part in them.
 */
#ifndef RCL_MEMBERS_H
#define RCL_MEMBERS_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "id/cmid.h"

/**
 * struct rcl_member - a membership
 * @next: in the id's list; the id's lock protects the list and what follows
 * @cookie: the kernel gives it back as user_arg of the membership's events
 * @owner: cookie of its id
 * @handle: of the kernel; 0: the join is still on its way to the kernel
 * @send_only: for sending alone: the QP is not attached
 * @joined: the event was read: @mgid and @mlid are known
 * @attached: the QP that we attached, or NULL
 * @mgid: GID of the group
 * @mlid: LID of the group
 * @events_taken: events of the membership that this process has read
 * @events_acked: events of the membership that the program is done with
 * @context: of the program
 * @addr: the group, as the program named it
 */
struct rcl_member {
	struct rcl_member *next;
	uint64_t cookie;
	uint64_t owner;
	_Atomic uint32_t handle;
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

/**
 * rcl_member_add - a new membership, on the list of its id
 * @id: the id
 * @addr: the group, as the program names it
 * @send_only: the QP is not attached
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
 * rcl_member_get - the membership that an event names, with a reference
 * @id: the id that it names
 * @cookie: user_arg of the event
 *
 * Return: the membership, or NULL when it is over, or not of this id
 */
struct rcl_member *rcl_member_get(const struct rcl_id *id, uint64_t cookie);

/**
 * rcl_member_put - drop the reference
 * @member: from rcl_member_get()
 */
void rcl_member_put(struct rcl_member *member);

/**
 * rcl_member_joined - the group is joined: attach the id's QP, if it has one
 * @id: the id
 * @member: its membership
 * @ah: names the group
 *
 * Nothing is attached for a membership that is for sending alone, or that
 * another thread is just leaving.
 *
 * Return: 0 or a negative errno
 */
int rcl_member_joined(struct rcl_id *id, struct rcl_member *member,
		      const struct ibv_ah_attr *ah);

/**
 * rcl_member_take - count an event that was read
 * @id: the id
 * @member: its membership
 */
void rcl_member_take(struct rcl_id *id, struct rcl_member *member);

/**
 * rcl_member_ack - one delivered event of the membership is done with
 * @id: the id
 * @cookie: of the membership
 */
void rcl_member_ack(struct rcl_id *id, uint64_t cookie);

/**
 * rcl_members_detach - detach the id's QP from all groups, as it is about to go
 * @id: the id; its memberships last
 */
void rcl_members_detach(struct rcl_id *id);

/**
 * rcl_members_in_child - nobody holds events of the id's memberships
 * @id: the id, which the caller has locked
 */
void rcl_members_in_child(struct rcl_id *id);

/**
 * rcl_members_free - forget the memberships of an id that is gone
 * @id: the id, which nobody else can reach
 */
void rcl_members_free(struct rcl_id *id);

#endif /* RCL_MEMBERS_H */
