// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The session of a trunk, and its frames, which are kept until the peer acknowledges them.
 *
 * A record goes into the frame that is being filled. Frames stay when a link ends, and the next
 * link of the trunk sends those that the peer has not received.
 *
 * A session is lost if one of the ends does not have it any more, see open.c. Its frames are then
 * dropped, and its connections end, before another one begins.
 *
 * Locking: rca_trunk.lock. Only the work of a trunk begins and loses its session, so it reads the
 * number without the lock.
 */
#include "trunk/trunk.h"

#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/string.h>

#include "trunk/link.h"

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
	if (!ret && record->type != RCA_RECORD_PING)
		trunk->needed = trunk->session.sent + 1;
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
 * before its link ends. So frames that only wait for an acknowledgement need none, and neither does
 * a PING.
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
	return !list_empty(&trunk->waiting) ||
	       (is_after(trunk->needed, trunk->sent) && is_after(trunk->needed, session->acked));
}

/**
 * rca_trunk_join_session() - the QP of a link gets the session of its trunk, or a new one
 * @trunk: the trunk
 * @link: its link, to which nothing was sent yet
 * @number: number of the session that both ends will use
 * @peer_received: number of the last frame of it that the peer has received
 *
 * Context: Process context. Sleeps. From the work of @trunk.
 * Return: 0; -EPROTO: the peer contradicts what it said before.
 */
int rca_trunk_join_session(struct rca_trunk *trunk, const struct rca_trunk_link *link, u32 number,
			   u32 peer_received)
{
	struct rca_session *session = &trunk->session;
	int ret;

	if (number != session->number || !rca_hello_is_of(&link->peer.hello, trunk->boot_id)) {
		rca_trunk_because(trunk, "the peer does not have the session");
		rca_trunk_lose_session(trunk);
	} else {
		rca_trunk_count_one(trunk, RCA_STAT_REPLACED);
	}
	spin_lock(&trunk->lock);
	if (!session->number) {
		rca_session_init(session, number);
		memcpy(trunk->boot_id, link->peer.hello.boot_id, sizeof(trunk->boot_id));
		trunk->ca_guid = link->peer.hello.ca_guid;
		trunk->odd = link->active;
		trunk->next_number = link->active ? 1 : 2;
		trunk->heard_at = jiffies;
	}
	ret = rca_session_attach(session, link->cookie, link->peer.cookie, peer_received);
	if (!ret)
		trunk->sent = peer_received;
	spin_unlock(&trunk->lock);
	return ret;
}

/**
 * rca_trunk_lose_session() - a trunk has no session any more
 * @trunk: the trunk, whose link has no QP that is connected
 *
 * Context: Process context. Sleeps. From the work of @trunk. Takes and releases @trunk->lock.
 */
void rca_trunk_lose_session(struct rca_trunk *trunk)
{
	bool had_users;
	u32 number;

	spin_lock(&trunk->lock);
	number = trunk->session.number;
	had_users = number && trunk->users;
	trunk->session = (struct rca_session) {};
	trunk->filling = 0;
	trunk->filled = 0;
	trunk->sent = 0;
	trunk->needed = 0;
	trunk->tries = 0;
	/* Another load of the peer's module may be asked for a session. */
	if (rca_hello_is_of(&trunk->hello, trunk->boot_id))
		trunk->wanted = false;
	spin_unlock(&trunk->lock);
	rca_trunk_lost(trunk, number, had_users);
	if (had_users)
		rca_trunk_upcalls->lost(trunk);
	spin_lock(&trunk->lock);
	trunk->peer_ended = false;
	spin_unlock(&trunk->lock);
}
