// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The session of a trunk: begun with a link, continued by the next one, and lost.
 *
 * It is lost if one of the ends does not have it any more, see open.c. Its frames are dropped then,
 * and its connections end, before another one begins.
 *
 * Locking: rca_trunk.lock. Only the work of a trunk begins and loses its session, so it reads the
 * number without the lock.
 */
#include "trunk/trunk.h"

#include <linux/string.h>

#include "trunk/link.h"

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

	if (number != session->number || !rca_hello_is_of(&link->peer.hello, trunk->boot_id))
		rca_trunk_lose_session(trunk);
	spin_lock(&trunk->lock);
	if (!session->number) {
		rca_session_init(session, number);
		memcpy(trunk->boot_id, link->peer.hello.boot_id, sizeof(trunk->boot_id));
		trunk->ca_guid = link->peer.hello.ca_guid;
		trunk->odd = link->active;
		trunk->next_number = link->active ? 1 : 2;
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

	spin_lock(&trunk->lock);
	had_users = trunk->session.number && trunk->users;
	trunk->session = (struct rca_session) {};
	trunk->filling = 0;
	trunk->filled = 0;
	trunk->sent = 0;
	trunk->tries = 0;
	/* Another load of the peer's module may be asked for a session. */
	if (rca_hello_is_of(&trunk->hello, trunk->boot_id))
		trunk->wanted = false;
	spin_unlock(&trunk->lock);
	if (had_users)
		rca_trunk_upcalls->lost(trunk);
}
