/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Timeouts and retries of an id. */
#ifndef RCA_TIMING_H
#define RCA_TIMING_H

#include <linux/types.h>

/* Message fields have 5 bits for timeouts and 4 for retries (IBTA volume 1, 12.7). */
#define RCA_MAX_RESPONSE	31
#define RCA_MAX_RETRIES		15

/*
 * Longest packet lifetime that ib_cm is told, 17 s: it keeps a connection that has ended for twice
 * as long, in memory that is charged to nobody.
 */
#define RCA_MAX_LIFETIME	22

/* Timeout in a message receipt acknowledgement (MRA): 68.7 s, as the stock rdma_cm. */
#define RCA_MAX_MRA		24

/* A day: fits into jiffies and the ints of ib_cm. */
#define RCA_MAX_DEADLINE_MS	86400000

/**
 * struct rca_timing - the settings of an id
 * @deadline_ms: limit of an operation, independent of the peer; 0: not set
 * @response: n + 1 of 4.096 us * 2^n, the response timeout of the peer; 0: not set
 * @retries: retransmissions of a message, plus 1; 0: not set
 * @mra: n + 1 of 4.096 us * 2^n, the MRA timeout for a program that takes long to answer a REP; 0:
 *       not set
 *
 * Each is read and written independently, without a lock.
 */
struct rca_timing {
	u32 deadline_ms;
	u8 response;
	u8 retries;
	u8 mra;
};

/**
 * struct rca_req_timers - the timers of a REQ while ib_cm retransmits it
 * @remote: response timeout of the peer, as n of 4.096 us * 2^n
 * @local: timeout of the peer for our answer to its REP, likewise
 * @retries: number of retransmissions
 * @interval_ms: time between two transmissions
 * @late_ms: when the peer has sent a quarter of its REPs, and needs an MRA: late enough for most
 *           programs, early enough if the MRA is lost
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
bool rca_timing_once(const struct rca_timing *timing);
u32 rca_timing_total(const struct rca_timing *timing, u8 lifetime);
u8 rca_timing_repeat(u32 interval_ms);
u32 rca_timing_drep_timeout(const struct rca_timing *timing, u8 repeat);
u32 rca_timing_linger(const struct rca_timing *timing, u8 repeat);
u8 rca_timing_mra(const struct rca_timing *timing);
void rca_timing_req(const struct rca_timing *timing, u8 lifetime, unsigned int number,
		    unsigned int unanswered, u32 left_ms, struct rca_req_timers *timers);
u32 rca_timing_datagram(const struct rca_timing *timing, u8 lifetime, u8 *retries);

#endif /* RCA_TIMING_H */
