// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A session: numbers of frames, acknowledgements and credits.
 *
 * Frames are numbered across QPs, so the receiver recognises a frame that is sent again on the next
 * QP. Credits are counted anew on each QP. All numbers wrap around: only differences are compared.
 *
 * The two sides cannot both run out of credits. Before a side receives a frame of the peer, it
 * sends at most RCA_SESSION_FRAMES frames with records, and fewer acknowledgements than that: each
 * acknowledgement needs several frames or buffers that the peer does not know of, and there are at
 * most RCA_SESSION_RECEIVES of them. An acknowledgement that the peer has requested leaves the last
 * credit, as frames with records do. A side that has a credit reports all buffers that were posted
 * again. An exchange of acknowledgements ends, because each one needs several of the peer.
 *
 * All functions are pure; the owner of the session serialises its calls.
 */
#include "trunk/session.h"

#include <linux/build_bug.h>
#include <linux/errno.h>

#include "trunk/proto.h"

static_assert(2 * RCA_SESSION_FRAMES <= RCA_SESSION_RECEIVES);

/* Frames may be added at once, and are sent after rca_session_attach(). */
void rca_session_init(struct rca_session *session, u32 number)
{
	*session = (struct rca_session) {
		.number = number,
		.next = 1,
	};
}

/*
 * Continue a session on a new QP, which has RCA_SESSION_RECEIVES receive buffers. @peer_received is
 * from the REQ or REP of the peer; later frames are sent again. The peer has got the same from this
 * host, which has received nothing from an earlier QP since. Returns 0, or -EPROTO without a
 * change: the peer contradicts an earlier message of either host.
 */
int rca_session_attach(struct rca_session *session, u64 cookie, u64 peer_cookie, u32 peer_received)
{
	if (peer_received - session->acked > session->sent - session->acked)
		return -EPROTO;
	session->cookie = cookie;
	session->peer_cookie = peer_cookie;
	session->acked = peer_received;
	session->next = peer_received + 1;
	session->told = session->received;
	session->used = 0;
	session->granted = RCA_SESSION_RECEIVES;
	session->posted = RCA_SESSION_RECEIVES;
	session->told_posted = RCA_SESSION_RECEIVES;
	session->ack_asked = false;
	return 0;
}

/* Frames that the peer has room for. */
static u16 credits(const struct rca_session *session)
{
	return session->granted - session->used;
}

/* Number of the last frame with records that was sent on the QP, or else before the QP. */
static u32 last_sent(const struct rca_session *session)
{
	return session->next - 1;
}

/* Has the peer room for a frame with records? The last credit is kept for an acknowledgement. */
bool rca_session_has_room(const struct rca_session *session)
{
	return credits(session) >= 2;
}

/* Is a frame with records unsent, and has the peer room for it? */
bool rca_session_may_send(const struct rca_session *session)
{
	return last_sent(session) != session->sent && rca_session_has_room(session);
}

/* Can a frame with records be begun? */
bool rca_session_may_add(const struct rca_session *session)
{
	return session->sent - session->acked < RCA_SESSION_FRAMES;
}

/*
 * Must an acknowledgement be sent, and is there a credit for it? A frame with records acknowledges
 * as well: send an unsent one first.
 */
bool rca_session_ack_due(const struct rca_session *session)
{
	u16 untold_posted = session->posted - session->told_posted;

	if (session->ack_asked && rca_session_has_room(session))
		return true;
	return (session->received - session->told >= RCA_SESSION_FRAMES / 2 ||
		untold_posted >= RCA_SESSION_RECEIVES / 2) && credits(session);
}

/*
 * The peer requests an acknowledgement: the next frame is one, which rca_session_ack_due() requires
 * if there is no other.
 */
void rca_session_ask_ack(struct rca_session *session)
{
	session->ack_asked = true;
}

/*
 * Returns the number of a new frame with records, which the owner keeps until @session->acked has
 * reached it. Requires rca_session_may_add().
 */
u32 rca_session_add(struct rca_session *session)
{
	return ++session->sent;
}

/*
 * Count a frame, and set @hdr but for the length and the number of records. @ack: the frame is an
 * acknowledgement, with rca_session_ack_due(); else it is frame @session->next, with
 * rca_session_may_send().
 */
void rca_session_send(struct rca_session *session, bool ack, struct rca_frame_hdr *hdr)
{
	if (!ack)
		session->next++;
	session->used++;
	session->told = session->received;
	session->told_posted = session->posted;
	session->ack_asked = false;
	hdr->cookie = session->peer_cookie;
	hdr->number = last_sent(session);
	hdr->received = session->received;
	hdr->credits = session->posted;
}

/* Is number @a after @b? */
static bool is_after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

/*
 * Does a header only acknowledge frames that were sent on this QP, and grant a possible number of
 * credits?
 */
static bool is_plausible(const struct rca_session *session, const struct rca_frame_hdr *hdr)
{
	u16 left = hdr->credits - session->used;

	return hdr->received - session->acked <= last_sent(session) - session->acked &&
	       left >= credits(session) && left <= RCA_SESSION_RECEIVES;
}

/*
 * Frames up to @session->acked need not be kept afterwards. A foreign or broken frame changes
 * nothing.
 */
enum rca_session_verdict rca_session_receive(struct rca_session *session,
					     const struct rca_frame_hdr *hdr)
{
	u32 expected = session->received + (hdr->records ? 1 : 0);

	if (hdr->cookie != session->cookie)
		return RCA_FRAME_FOREIGN;
	if (!is_plausible(session, hdr) || is_after(hdr->number, expected))
		return RCA_FRAME_BROKEN;
	session->acked = hdr->received;
	session->granted = hdr->credits;
	if (!hdr->records || hdr->number != expected)
		return RCA_FRAME_SKIP;
	session->received = hdr->number;
	return RCA_FRAME_TAKE;
}


void rca_session_posted(struct rca_session *session, unsigned int count)
{
	session->posted += count;
}
