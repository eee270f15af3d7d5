// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The frames of a session, which are kept until the peer acknowledges them.
 *
 * A record goes into the frame that is being filled. Frames stay when a link ends, and the next
 * link of the trunk sends those that the peer has not received.
 *
 * Locking: rca_trunk.lock.
 */
#include "trunk/trunk.h"

#include <linux/lockdep.h>

/* The buffer of the frame in a slot. Pure. */
u8 *rca_trunk_frame(const struct rca_trunk *trunk, unsigned int slot)
{
	return trunk->frames + slot * RCA_FRAME_MAX;
}

static unsigned int slot_of(u32 number)
{
	return number % RCA_SESSION_FRAMES;
}

/* The frame that is being filled is complete. Expects @trunk->lock to be held. */
void rca_trunk_close_frame(struct rca_trunk *trunk)
{
	unsigned int slot = slot_of(rca_session_add(&trunk->session));

	lockdep_assert_held(&trunk->lock);
	trunk->lens[slot] = trunk->filling;
	trunk->records[slot] = trunk->filled;
	trunk->filling = 0;
	trunk->filled = 0;
}

/* Begins a frame, if none is being filled. Returns false if the peer has to acknowledge first. */
static bool begin_frame(struct rca_trunk *trunk)
{
	if (trunk->filling)
		return true;
	if (!rca_session_may_add(&trunk->session))
		return false;
	trunk->filling = RCA_FRAME_HDR_LEN;
	return true;
}

/* Appends a record to the frame that is being filled. Returns 0 or a negative errno. */
static int append(struct rca_trunk *trunk, const struct rca_trunk_record *record)
{
	u8 *data = rca_trunk_frame(trunk, slot_of(trunk->session.sent + 1));
	int len = rca_record_pack(data + trunk->filling, RCA_FRAME_MAX - trunk->filling, record);

	if (len < 0)
		return len;
	trunk->filling += len;
	trunk->filled++;
	return 0;
}

/**
 * rca_trunk_add() - put a record into a frame
 * @trunk: the trunk
 * @record: the record
 *
 * The frame is sent by rca_trunk_push(), or on the next link.
 *
 * Context: Process context. Does not sleep. Expects @trunk->lock to be held by the caller.
 * Return: 0; -EAGAIN: too much is not acknowledged; -ENOTCONN: there is no session; another errno:
 * the record is invalid.
 */
int rca_trunk_add(struct rca_trunk *trunk, const struct rca_trunk_record *record)
{
	int ret;

	lockdep_assert_held(&trunk->lock);
	if (!trunk->session.number)
		return -ENOTCONN;
	if (!begin_frame(trunk))
		return -EAGAIN;
	ret = append(trunk, record);
	if (ret == -EMSGSIZE && trunk->filled) {
		rca_trunk_close_frame(trunk);
		if (!begin_frame(trunk))
			return -EAGAIN;
		ret = append(trunk, record);
	}
	if (!ret && trunk->filled == U8_MAX)
		rca_trunk_close_frame(trunk);
	return ret;
}

/* Is number @a after @b? */
static bool is_after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

/**
 * rca_trunk_has_to_send() - does a trunk need a link?
 * @trunk: the trunk
 *
 * A frame whose SEND has completed is in the memory of the peer, which handles what it has received
 * before its link ends. So frames that only wait for an acknowledgement need none.
 *
 * Context: Process context. Does not sleep. Expects @trunk->lock to be held by the caller.
 * Return: whether there are records that the peer may not have, or connections that wait.
 */
bool rca_trunk_has_to_send(const struct rca_trunk *trunk)
{
	const struct rca_session *session = &trunk->session;

	lockdep_assert_held(&trunk->lock);
	if (!session->number)
		return false;
	return trunk->filled || !list_empty(&trunk->waiting) ||
	       (is_after(session->sent, trunk->sent) && session->sent != session->acked);
}
