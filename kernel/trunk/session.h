/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A session: numbers of frames, acknowledgements and credits, across the QPs of a trunk. */
#ifndef RCA_TRUNK_SESSION_H
#define RCA_TRUNK_SESSION_H

#include <linux/types.h>

struct rca_frame_hdr;

/** RCA_SESSION_FRAMES - frames that are kept until the peer acknowledges them: a power of two */
#define RCA_SESSION_FRAMES	8
/** RCA_SESSION_RECEIVES - receive buffers of the QP of a trunk */
#define RCA_SESSION_RECEIVES	16

/**
 * struct rca_session - a session
 * @number: its number; 0: there is no session
 * @cookie: cookie of this host on the QP, in the frames that it receives
 * @peer_cookie: cookie of the peer on the QP
 * @sent: number of the last frame with records, which may still wait to be sent
 * @acked: number of the last frame that the peer has received
 * @received: number of the last frame with records that was received
 * @told: value of @received that the peer knows
 * @next: number of the next frame to send: a frame that was added and not sent yet, or that has to
 *        be sent again on a new QP; else @sent + 1
 * @used: frames that were sent on the QP, modulo 2^16
 * @granted: frames for which the peer's receive buffers had room so far, modulo 2^16
 * @posted: receive buffers posted on the QP so far, modulo 2^16
 * @told_posted: value of @posted that the peer knows
 * @ack_asked: the peer has requested an acknowledgement
 *
 * The owner serialises all calls for a session. It keeps the frames @acked + 1 to @sent.
 */
struct rca_session {
	u64 cookie;
	u64 peer_cookie;
	u32 number;
	u32 sent;
	u32 acked;
	u32 received;
	u32 told;
	u32 next;
	u16 used;
	u16 granted;
	u16 posted;
	u16 told_posted;
	bool ack_asked;
};

/**
 * enum rca_session_verdict - what to do with a received frame
 * @RCA_FRAME_TAKE: handle its records
 * @RCA_FRAME_SKIP: an acknowledgement, or a frame that was handled before
 * @RCA_FRAME_FOREIGN: it lacks the cookie, so any host may have sent it: end the QP
 * @RCA_FRAME_BROKEN: it contradicts earlier ones: end the session
 */
enum rca_session_verdict { RCA_FRAME_TAKE, RCA_FRAME_SKIP, RCA_FRAME_FOREIGN, RCA_FRAME_BROKEN };

void rca_session_init(struct rca_session *session, u32 number);
int rca_session_attach(struct rca_session *session, u64 cookie, u64 peer_cookie, u32 peer_received);
bool rca_session_has_room(const struct rca_session *session);
bool rca_session_may_send(const struct rca_session *session);
bool rca_session_may_add(const struct rca_session *session);
bool rca_session_ack_due(const struct rca_session *session);
void rca_session_ask_ack(struct rca_session *session);
u32 rca_session_add(struct rca_session *session);
void rca_session_send(struct rca_session *session, bool ack, struct rca_frame_hdr *hdr);
enum rca_session_verdict rca_session_receive(struct rca_session *session,
					     const struct rca_frame_hdr *hdr);
void rca_session_posted(struct rca_session *session, unsigned int count);

#endif /* RCA_TRUNK_SESSION_H */
