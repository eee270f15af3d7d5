// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Timers of the CM protocol: settings of the id (or a namespace, see timing_net.c), else defaults;
 * and the rounds in which a REQ is sent.
 *
 * ib_cm retransmits a REQ after twice the packet lifetime of the path plus the response timeout of
 * the peer. The stock rdma_cm sets the latter to 4.3 s, so that a lost message costs 4.6 s on RoCE.
 * Peers answer in milliseconds, and one that needs longer answers a retransmission with an MRA. So
 * the first round has a short timeout, and each further round doubles it. A peer with many
 * outstanding REQs from this host needs longer, and each early retransmission adds to its load. The
 * interval of a round does not change, so such a round has fewer retransmissions, and the next one
 * gets an interval for the REQs that are outstanding then. All rounds together last as long as the
 * stock rdma_cm tries.
 *
 * Locking: none; settings are single words.
 */
#include "lib/timing.h"

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <rdma/rdma_cm_alt.h>

#include "lib/compat.h"

/* Response timeout of the first round: 34 ms. */
#define DEFAULT_RESPONSE	13

/* Response timeout of the stock rdma_cm: 4.3 s. Rounds use no more unless a setting does. */
#define STOCK_RESPONSE	20

/* Messages that a peer answers within the response timeout; twice as many get twice the time. */
#define LOAD_STEP	16

/*
 * Retransmissions before the messages that are unanswered then determine the interval. The peer
 * retransmits its REP as often, so few of them are lost together even where one of five is.
 */
#define LOAD_RETRIES	7

/* Default timeout for the DREP, and the number of DREQs that must fit into it. */
#define DREP_TIMEOUT_MS	10000
#define DREP_TRIES	8

/* Retransmission interval of the stock rdma_cm: 4.1 s, as 2^n ms. */
#define STOCK_REPEAT	12

/* Convert a timeout of messages, n of 4.096 us * 2^n up to 31, to ms as ib_cm does. */
u32 rca_timing_ms(unsigned int time)
{
	return 1u << (time > 8 ? time - 8 : 0);
}
RCA_EXPORT(rca_timing_ms);

static u32 interval_ms(u8 lifetime, u8 response)
{
	return 2 * rca_timing_ms(min_t(u8, lifetime, RCA_MAX_LIFETIME)) +
	       rca_timing_ms(response);
}

/* A setting that may not be set. */
static u8 setting(u8 set, u8 otherwise)
{
	return set ? set - 1 : otherwise;
}

static int set_u8(u8 *own, const void *val, u32 len, u8 max)
{
	u8 value;

	if (len != sizeof(value))
		return -EINVAL;
	value = *(const u8 *)val;
	if (value > max)
		return -EINVAL;
	WRITE_ONCE(*own, value + 1);	/* pairs with rca_timing_inherit() */
	return 0;
}

static int set_ms(u32 *own, const void *val, u32 len)
{
	u32 value;

	if (len != sizeof(value))
		return -EINVAL;
	memcpy(&value, val, sizeof(value));
	if (value > RCA_MAX_DEADLINE_MS)
		return -EINVAL;
	WRITE_ONCE(*own, value);	/* pairs with rca_timing_inherit() */
	return 0;
}

/**
 * rca_timing_set() - change a setting of an id
 * @timing: the settings of the id
 * @name: RDMA_CM_ALT_OPTION_*
 * @val: the value
 * @len: its length in bytes
 *
 * Context: Any context.
 * Return: 0; -ENOSYS: not an option for timing; -EINVAL: wrong length or value.
 */
int rca_timing_set(struct rca_timing *timing, u32 name, const void *val, u32 len)
{
	switch (name) {
	case RDMA_CM_ALT_OPTION_RESPONSE_TIMEOUT:
		return set_u8(&timing->response, val, len, RCA_MAX_RESPONSE);
	case RDMA_CM_ALT_OPTION_MAX_RETRIES:
		return set_u8(&timing->retries, val, len, RCA_MAX_RETRIES);
	case RDMA_CM_ALT_OPTION_MRA_TIMEOUT:
		return set_u8(&timing->mra, val, len, RCA_MAX_MRA);
	case RDMA_CM_ALT_OPTION_DEADLINE:
		return set_ms(&timing->deadline_ms, val, len);
	default:
		return -ENOSYS;
	}
}

static int copy_value(const void *value, u32 size, void *val, u32 *len)
{
	if (*len < size)
		return -EINVAL;
	memcpy(val, value, size);
	*len = size;
	return 0;
}

/**
 * rca_timing_get() - read a setting of an id, or the default if it is not set
 * @timing: the settings of the id
 * @name: RDMA_CM_ALT_OPTION_*
 * @val: set to the value
 * @len: in: size of @val; out: length of the value
 *
 * Context: Any context.
 * Return: 0; -ENOSYS: not an option for timing; -EINVAL: @val is too small.
 */
int rca_timing_get(const struct rca_timing *timing, u32 name, void *val, u32 *len)
{
	u8 value;

	switch (name) {
	case RDMA_CM_ALT_OPTION_RESPONSE_TIMEOUT:
		value = setting(timing->response, DEFAULT_RESPONSE);
		break;
	case RDMA_CM_ALT_OPTION_MAX_RETRIES:
		value = setting(timing->retries, RCA_MAX_RETRIES);
		break;
	case RDMA_CM_ALT_OPTION_MRA_TIMEOUT:
		value = rca_timing_mra(timing);
		break;
	case RDMA_CM_ALT_OPTION_DEADLINE:
		return copy_value(&timing->deadline_ms, sizeof(timing->deadline_ms), val, len);
	default:
		return -ENOSYS;
	}
	return copy_value(&value, sizeof(value), val, len);
}

/* Has the id any setting of its own? */
bool rca_timing_is_set(const struct rca_timing *timing)
{
	return READ_ONCE(timing->deadline_ms) || READ_ONCE(timing->response) ||
	       READ_ONCE(timing->retries) || READ_ONCE(timing->mra);
}

/* A new id, not shared yet, inherits the settings of its listener. */
void rca_timing_inherit(struct rca_timing *child, const struct rca_timing *parent)
{
	child->deadline_ms = READ_ONCE(parent->deadline_ms);
	child->response = READ_ONCE(parent->response);
	child->retries = READ_ONCE(parent->retries);
	child->mra = READ_ONCE(parent->mra);
}

/*
 * Is a REQ sent in a single round? It is if the number of retries is set, but no deadline: then the
 * REQ is sent as often as that, and no more.
 */
bool rca_timing_once(const struct rca_timing *timing)
{
	return !timing->deadline_ms && setting(timing->retries, RCA_MAX_RETRIES) != RCA_MAX_RETRIES;
}

/*
 * Time in ms after which a REQ is not sent again, for a path of this packet lifetime. Without a
 * deadline it is the time that the stock rdma_cm tries.
 */
u32 rca_timing_total(const struct rca_timing *timing, u8 lifetime)
{
	return timing->deadline_ms ?:
	       (RCA_MAX_RETRIES + 1) * interval_ms(lifetime, STOCK_RESPONSE);
}

/*
 * Encode the interval after which a DREQ is retransmitted, which depends on what the peer has asked
 * for, as 2^n ms for rca_timing_drep_timeout(); at most that of the stock rdma_cm.
 */
u8 rca_timing_repeat(u32 interval_ms)
{
	return min_t(u32, interval_ms ? order_base_2(interval_ms) : 0, STOCK_REPEAT);
}

/* In milliseconds. */
static u32 default_drep_timeout(u8 repeat)
{
	return max(DREP_TIMEOUT_MS, DREP_TRIES << repeat);
}

/**
 * rca_timing_drep_timeout() - timeout for the DREP
 * @timing: the settings of the id
 * @repeat: retransmission interval, from rca_timing_repeat()
 *
 * A peer that receives no DREQ remains connected forever, so the timeout allows for several, also
 * with a client on the stock rdma_cm, which asks for long timers.
 *
 * Context: Any context.
 * Return: milliseconds.
 */
u32 rca_timing_drep_timeout(const struct rca_timing *timing, u8 repeat)
{
	return timing->deadline_ms ?: default_drep_timeout(repeat);
}

/**
 * rca_timing_linger() - timeout for the DREP of an id that is destroyed
 * @timing: the settings of the id
 * @repeat: retransmission interval, from rca_timing_repeat()
 *
 * No deadline extends it: an id that waits after its program has ended holds its device and its
 * network namespace.
 *
 * Context: Any context.
 * Return: milliseconds.
 */
u32 rca_timing_linger(const struct rca_timing *timing, u8 repeat)
{
	return min(rca_timing_drep_timeout(timing, repeat), default_drep_timeout(repeat));
}

/* MRA timeout for a peer that retransmits its REP: n of 4.096 us * 2^n. */
u8 rca_timing_mra(const struct rca_timing *timing)
{
	return setting(timing->mra, RCA_MAX_MRA);
}

/**
 * rca_timing_req() - compute the timers of a round of REQs
 * @timing: the settings of the id
 * @lifetime: packet lifetime of the path
 * @number: number of the round, from 0
 * @unanswered: unanswered messages of the user to the same peer, including this REQ
 * @left_ms: remaining time; the round ends soon after it
 * @timers: set to the timers
 *
 * The peer retransmits its REP by a timer that the REQ contains, which has to cover both directions
 * of the path. A response timeout that is set for the id or a namespace is used unchanged in the
 * first round, independent of the number of REQs; so is a number of retransmissions.
 *
 * Context: Any context.
 */
void rca_timing_req(const struct rca_timing *timing, u8 lifetime, unsigned int number,
		    unsigned int unanswered, u32 left_ms, struct rca_req_timers *timers)
{
	u8 response = setting(timing->response, DEFAULT_RESPONSE);
	u8 most = max_t(u8, response, STOCK_RESPONSE);
	u8 both = max_t(u8, response, min_t(u8, lifetime, RCA_MAX_LIFETIME) + 1);
	unsigned int load = timing->response ? 0 : fls(unanswered / LOAD_STEP);
	u32 sends;

	number += load;
	timers->remote = min_t(unsigned int, response + number, most);
	timers->local = min_t(unsigned int, both + number, max(both, most));
	timers->interval_ms = interval_ms(lifetime, timers->remote);
	sends = left_ms / timers->interval_ms + !!(left_ms % timers->interval_ms);
	timers->retries = min_t(u32, setting(timing->retries, RCA_MAX_RETRIES),
				sends ? sends - 1 : 0);
	/* The peer, which counts its REPs alike, waits no shorter than without load. */
	if (load && !timing->retries)
		timers->retries = min(timers->retries, LOAD_RETRIES);
	timers->late_ms = rca_timing_ms(timers->local) * (timers->retries + 1) / 4;
}

/**
 * rca_timing_datagram() - compute the retransmission interval of a SIDR_REQ
 * @timing: the settings of the id
 * @lifetime: packet lifetime of the path
 * @retries: set to the number of retransmissions
 *
 * A SIDR_REQ is sent in a single round, which would end too soon with short timers. So only an id
 * with a response timeout of its own gets short ones.
 *
 * Context: Any context.
 * Return: milliseconds between two transmissions.
 */
u32 rca_timing_datagram(const struct rca_timing *timing, u8 lifetime, u8 *retries)
{
	*retries = setting(timing->retries, RCA_MAX_RETRIES);
	if (!timing->response)
		return rca_timing_ms(STOCK_RESPONSE);
	return interval_ms(lifetime, setting(timing->response, DEFAULT_RESPONSE));
}
