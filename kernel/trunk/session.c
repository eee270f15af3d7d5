// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A session: numbers of frames, acknowledgements and credits.
 *
 * Frames are numbered across QPs, so a frame that is sent again on the next QP is known to the
 * receiver. Credits are counted anew on each QP. All numbers wrap around: only differences are
 * compared.
 *
 * Both sides cannot run out of credits together. Before a side hears of the peer, it sends at most
 * RCA_SESSION_FRAMES frames with records, and fewer than as many acknowledgements: each of these
 * needs several frames or buffers that the peer does not know of, and there are at most
 * RCA_SESSION_RECEIVES of them. One that the peer has asked for leaves the last credit, as frames
 * with records do. A side that has a credit tells the other one of all buffers that
 * were posted again. An exchange of acknowledgements ends, because one needs several of the peer.
 *
 * All functions are pure; the owner of the session serialises its calls.
 */
#include "trunk/session.h"

#include <linux/build_bug.h>
#include <linux/errno.h>

#include "trunk/proto.h"

static_assert(2 * RCA_SESSION_FRAMES <= RCA_SESSION_RECEIVES);

/**
 * rca_session_init() - begin a session
 * @session: the session
 * @number: its number
 *
 * Frames may be added, and are sent after rca_session_attach().
 */
void rca_session_init(struct rca_session *session, u32 number)
{
	*session = (struct rca_session) {
		.number = number,
		.next = 1,
	};
}

/**
 * rca_session_attach() - a new QP is up
 * @session: the session
 * @cookie: cookie of this host on the QP
 * @peer_cookie: cookie of the peer
 * @peer_received: number of the last frame that the peer has received, as it says in its REQ or REP
 *
 * The peer has heard the same from this host, and nothing was received from an earlier QP since;
 * RCA_SESSION_RECEIVES receive buffers are posted. The frames after @peer_received are sent again.
 *
 * Return: 0; -EPROTO: the peer contradicts what it or this host said before; nothing is changed.
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

/* Number of the last frame with records that was sent on the QP, or of the last one before it. */
static u32 last_sent(const struct rca_session *session)
{
	return session->next - 1;
}

/**
 * rca_session_has_room() - whether the peer has room for a frame with records
 * @session: the session
 *
 * The last credit is kept for an acknowledgement.
 *
 * Return: whether there are credits for one.
 */
bool rca_session_has_room(const struct rca_session *session)
{
	return credits(session) >= 2;
}

/**
 * rca_session_may_send() - whether a frame with records has to and may be sent
 * @session: the session
 *
 * Return: whether frame @session->next waits, with rca_session_has_room().
 */
bool rca_session_may_send(const struct rca_session *session)
{
	return last_sent(session) != session->sent && rca_session_has_room(session);
}

/**
 * rca_session_may_add() - whether a frame with records can be begun
 * @session: the session
 *
 * Return: whether fewer than RCA_SESSION_FRAMES are kept.
 */
bool rca_session_may_add(const struct rca_session *session)
{
	return session->sent - session->acked < RCA_SESSION_FRAMES;
}

/**
 * rca_session_ack_due() - whether the peer has to hear of received frames and posted buffers
 * @session: the session
 *
 * A frame with records tells the peer as well, so send one first where one waits.
 *
 * Return: whether an acknowledgement is to be sent, and there is a credit for it.
 */
bool rca_session_ack_due(const struct rca_session *session)
{
	u16 untold_posted = session->posted - session->told_posted;

	if (session->ack_asked && rca_session_has_room(session))
		return true;
	return (session->received - session->told >= RCA_SESSION_FRAMES / 2 ||
		untold_posted >= RCA_SESSION_RECEIVES / 2) && credits(session);
}

/**
 * rca_session_ask_ack() - the peer asks for an acknowledgement
 * @session: the session
 *
 * The next frame that is sent is one; rca_session_ack_due() tells when none comes otherwise.
 */
void rca_session_ask_ack(struct rca_session *session)
{
	session->ack_asked = true;
}

/**
 * rca_session_add() - a new frame with records
 * @session: the session, with rca_session_may_add()
 *
 * The owner keeps the frame until @session->acked has reached its number.
 *
 * Return: number of the frame.
 */
u32 rca_session_add(struct rca_session *session)
{
	return ++session->sent;
}

/**
 * rca_session_send() - a frame is sent
 * @session: the session
 * @ack: an acknowledgement, with rca_session_ack_due(); else the frame with records of number
 *       @session->next, with rca_session_may_send()
 * @hdr: all is set but the length and the number of records
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

/* Whether number @a is after @b. */
static bool is_after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

/* Whether a header acknowledges what was sent on this QP, and grants what the QP can have. */
static bool is_plausible(const struct rca_session *session, const struct rca_frame_hdr *hdr)
{
	u16 left = hdr->credits - session->used;

	return hdr->received - session->acked <= last_sent(session) - session->acked &&
	       left >= credits(session) && left <= RCA_SESSION_RECEIVES;
}

/**
 * rca_session_receive() - a frame was received
 * @session: the session
 * @hdr: header of the frame
 *
 * Frames up to @session->acked need no longer be kept afterwards.
 *
 * Return: what to do with the frame. One that is foreign or broken has changed nothing.
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

/**
 * rca_session_posted() - receive buffers were posted again
 * @session: the session
 * @count: how many
 */
void rca_session_posted(struct rca_session *session, unsigned int count)
{
	session->posted += count;
}
