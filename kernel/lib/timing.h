/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How long to wait for a peer, and how often to ask: settings of an id, and of the module. */
#ifndef RCA_TIMING_H
#define RCA_TIMING_H

#include <linux/types.h>

/* The fields of messages have 5 bits for times and 4 for retries (IBTA volume 1, 12.7). */
#define RCA_MAX_RESPONSE	31
#define RCA_MAX_RETRIES		15

/* What a message receipt acknowledgement (MRA) asks a peer to wait: 68.7 s, as stock says. */
#define RCA_MAX_MRA		24

/* A day: jiffies and ib_cm's ints have room for it. */
#define RCA_MAX_DEADLINE_MS	86400000

/**
 * struct rca_timing - the settings of an id; zero: it has none, those of the module count
 * @deadline_ms: when an operation that waits for the peer ends; 0: not set
 * @response: 4.096 us * 2^n for an answer of the peer, beside the way; plus 1, 0: not set
 * @retries: how often a message is sent again; plus 1, 0: not set
 * @mra: 4.096 us * 2^n that a peer shall wait for a program that takes long to answer its
 *       reply; plus 1, 0: not set
 *
 * Each is written and read on its own, without a lock.
 */
struct rca_timing {
	u32 deadline_ms;
	u8 response;
	u8 retries;
	u8 mra;
};

/**
 * struct rca_req_timers - the timers of a request while ib_cm retransmits it
 * @remote: what the peer may take to answer, as 4.096 us * 2^n
 * @local: what the peer may wait for our answer to its reply, likewise
 * @retries: how often the request is sent again
 * @interval_ms: between two of them
 * @late_ms: when the peer has sent a quarter of its replies, and is to be told that we take
 *           longer: late enough for a program, early enough for a message that gets lost
 */
struct rca_req_timers {
	u8 remote;
	u8 local;
	u8 retries;
	u32 interval_ms;
	u32 late_ms;
};

u32 rca_timing_ms(unsigned int time);
int rca_timing_set(struct rca_timing *timing, u32 name, const void *val, u32 len);
int rca_timing_get(const struct rca_timing *timing, u32 name, void *val, u32 *len);
bool rca_timing_is_set(const struct rca_timing *timing);
void rca_timing_inherit(struct rca_timing *child, const struct rca_timing *parent);
u32 rca_timing_deadline(const struct rca_timing *timing);
bool rca_timing_once(const struct rca_timing *timing);
u32 rca_timing_total(const struct rca_timing *timing, u8 lifetime);
u8 rca_timing_repeat(u32 interval_ms);
u32 rca_timing_drep_timeout(const struct rca_timing *timing, u8 repeat);
u8 rca_timing_mra(const struct rca_timing *timing);
u8 rca_timing_mra_request(void);
void rca_timing_req(const struct rca_timing *timing, u8 lifetime, unsigned int number,
		    unsigned int unanswered, u32 left_ms, struct rca_req_timers *timers);
u32 rca_timing_datagram(const struct rca_timing *timing, u8 lifetime, u8 *retries);

#endif /* RCA_TIMING_H */
