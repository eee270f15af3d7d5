// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Credits of a link.
 *
 * The QP of a link delivers each frame once and in order, or fails; what it has not delivered then
 * is derived again from the states of connections (conn_receive.c). So a link only counts receive
 * buffers. All numbers wrap around: only differences are compared.
 *
 * The two ends cannot both run out of credits. The last credit is only used by a frame that reports
 * RCA_LINK_RECEIVES / 2 buffers that were posted again, which gives the peer as many credits; and
 * an end that has received as many frames sends one, with or without records. An exchange of frames
 * without records ends, because each one needs several of the peer.
 *
 * All functions are pure; the owner of the link serialises its calls.
 */
#include "trunk/credits.h"

#include <linux/errno.h>

#include "trunk/proto.h"

/* The QPs of both ends have RCA_LINK_RECEIVES receive buffers. */
void rca_credits_init(struct rca_credits *credits, u64 cookie, u64 peer_cookie)
{
	*credits = (struct rca_credits) {
		.cookie = cookie,
		.peer_cookie = peer_cookie,
		.granted = RCA_LINK_RECEIVES,
		.posted = RCA_LINK_RECEIVES,
		.told_posted = RCA_LINK_RECEIVES,
	};
}

/* Frames that the peer has room for. */
static u16 credits_left(const struct rca_credits *credits)
{
	return credits->granted - credits->used;
}

/* Would a frame report enough buffers to use the last credit? */
static bool reports_many(const struct rca_credits *credits)
{
	u16 unreported = credits->posted - credits->told_posted;

	return unreported >= RCA_LINK_RECEIVES / 2;
}

/* Has the peer room for a frame with records? */
bool rca_credits_may_send(const struct rca_credits *credits)
{
	return credits_left(credits) >= (reports_many(credits) ? 1 : 2);
}

/* Must a frame be sent, even one without records, and may it? */
bool rca_credits_ack_due(const struct rca_credits *credits)
{
	return (credits->ack_asked || reports_many(credits)) && rca_credits_may_send(credits);
}

/*
 * Must the peer have reported buffers by now? It does when it has received RCA_LINK_RECEIVES / 2
 * frames since it has told them last.
 */
bool rca_credits_owed(const struct rca_credits *credits)
{
	return credits_left(credits) <= RCA_LINK_RECEIVES / 2;
}

/* The peer requests a frame, which rca_credits_ack_due() requires. */
void rca_credits_ask_ack(struct rca_credits *credits)
{
	credits->ack_asked = true;
}

/* Count a frame, which requires rca_credits_may_send(), and set the cookie and credits of @hdr. */
void rca_credits_send(struct rca_credits *credits, struct rca_frame_hdr *hdr)
{
	credits->used++;
	credits->told_posted = credits->posted;
	credits->ack_asked = false;
	hdr->cookie = credits->peer_cookie;
	hdr->credits = credits->posted;
}

/*
 * Count the credits of a received frame. Returns 0; -EBADMSG: it lacks the cookie, so any host may
 * have sent it; -EPROTO: the peer takes back credits, or grants more than it can have. A refused
 * frame changes nothing.
 */
int rca_credits_receive(struct rca_credits *credits, const struct rca_frame_hdr *hdr)
{
	u16 now = hdr->credits - credits->used;

	if (hdr->cookie != credits->cookie)
		return -EBADMSG;
	if (now < credits_left(credits) || now > RCA_LINK_RECEIVES)
		return -EPROTO;
	credits->granted = hdr->credits;
	return 0;
}

/* Receive buffers were posted again. */
void rca_credits_posted(struct rca_credits *credits, unsigned int count)
{
	credits->posted += count;
}
