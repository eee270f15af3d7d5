/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Credits of a link: how many frames each end may send, and the cookies that frames need. */
#ifndef RCA_TRUNK_CREDITS_H
#define RCA_TRUNK_CREDITS_H

#include <linux/types.h>

struct rca_frame_hdr;

/** RCA_LINK_RECEIVES - receive buffers of the QP of a trunk */
#define RCA_LINK_RECEIVES	16

/**
 * struct rca_credits - credits of one end of a link
 * @cookie: cookie of this host on the QP, in the frames that it receives
 * @peer_cookie: cookie of the peer on the QP
 * @used: frames that were sent on the QP, modulo 2^16
 * @granted: frames for which the peer's receive buffers had room so far, modulo 2^16
 * @posted: receive buffers posted on the QP so far, modulo 2^16
 * @told_posted: value of @posted that the peer knows
 * @ack_asked: the peer has requested a frame
 *
 * The owner serialises all calls for a link.
 */
struct rca_credits {
	u64 cookie;
	u64 peer_cookie;
	u16 used;
	u16 granted;
	u16 posted;
	u16 told_posted;
	bool ack_asked;
};

void rca_credits_init(struct rca_credits *credits, u64 cookie, u64 peer_cookie);
bool rca_credits_may_send(const struct rca_credits *credits);
bool rca_credits_ack_due(const struct rca_credits *credits);
bool rca_credits_owed(const struct rca_credits *credits);
void rca_credits_ask_ack(struct rca_credits *credits);
void rca_credits_send(struct rca_credits *credits, struct rca_frame_hdr *hdr);
int rca_credits_receive(struct rca_credits *credits, const struct rca_frame_hdr *hdr);
void rca_credits_posted(struct rca_credits *credits, unsigned int count);

#endif /* RCA_TRUNK_CREDITS_H */
