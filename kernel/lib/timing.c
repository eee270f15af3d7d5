// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Timers of the CM protocol: what an id says (or its namespace, see timing_net.c),
 * else the module's parameters, and the rounds in which a request is sent.
 *
 * ib_cm sends a request again after twice the packet lifetime of the path and the
 * time that the peer may take to answer; of the latter the stock rdma_cm says 4.3
 * s, so that a lost message costs 4.6 s on RoCE. Peers answer in milliseconds, and
 * one that needs longer says so when it is asked again (MRA): the first round has
 * a short one, each further round twice as much. A peer that has many requests of
 * ours before it needs longer: what is repeated too early is one more for it to look
 * at. All rounds together take as long as the stock rdma_cm tries.
 *
 * Locking: none; settings are single words.
 */
#include "lib/timing.h"

#include <kunit/visibility.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <rdma/rdma_cm_alt.h>

/* What the stock rdma_cm says: 4.3 s. No round of ours that nobody asked for says more. */
#define STOCK_RESPONSE	20

/* A peer answers so many messages in the response timeout; for twice as many it gets twice that. */
#define LOAD_STEP	32

/* How long the answer to a disconnect request is waited for when nobody says, and for how many. */
#define FAREWELL_MS	10000
#define FAREWELL_TRIES	8

/* Stock's messages are repeated each 4.1 s, as 2^n ms. */
#define STOCK_REPEAT	12

static unsigned int response_timeout = 13;
static unsigned int max_retries = RCA_MAX_RETRIES;
static unsigned int mra_timeout = RCA_MAX_MRA;
static unsigned int deadline_ms;

static int set_time(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, RCA_MAX_RESPONSE);
}

static int set_retries(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, RCA_MAX_RETRIES);
}

static int set_mra(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, RCA_MAX_MRA);
}

static int set_deadline(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, RCA_MAX_DEADLINE_MS);
}

static const struct kernel_param_ops time_ops = { .set = set_time, .get = param_get_uint };
static const struct kernel_param_ops retries_ops = { .set = set_retries, .get = param_get_uint };
static const struct kernel_param_ops mra_ops = { .set = set_mra, .get = param_get_uint };
static const struct kernel_param_ops deadline_ops = { .set = set_deadline, .get = param_get_uint };

module_param_cb(response_timeout, &time_ops, &response_timeout, 0644);
MODULE_PARM_DESC(response_timeout, "time for a peer to answer, 4.096 us * 2^n, 0 to 31");
module_param_cb(max_retries, &retries_ops, &max_retries, 0644);
MODULE_PARM_DESC(max_retries, "how often a message is sent again, 0 to 15");
module_param_cb(mra_timeout, &mra_ops, &mra_timeout, 0644);
MODULE_PARM_DESC(mra_timeout, "how long peers shall wait for our programs, 4.096 us * 2^n, 0 to 24");
module_param_cb(deadline_ms, &deadline_ops, &deadline_ms, 0644);
MODULE_PARM_DESC(deadline_ms, "when connect and disconnect are given up; 0: as the stock rdma_cm, and 10 s");

/**
 * rca_timing_ms() - a time as messages have it, in milliseconds
 * @time: n of 4.096 us * 2^n, up to 31
 *
 * Context: Any context. Pure.
 * Return: milliseconds, as ib_cm has it.
 */
u32 rca_timing_ms(unsigned int time)
{
	return 1u << (time > 8 ? time - 8 : 0);
}

static u32 interval_ms(u8 lifetime, u8 response)
{
	return 2 * rca_timing_ms(min_t(u8, lifetime, RCA_MAX_RESPONSE - 2)) +
	       rca_timing_ms(response);
}

/* The value of a setting: the id's, else the module's. */
static u8 pick(const u8 *own, const unsigned int *common)
{
	u8 set = READ_ONCE(*own);	/* pairs with set_u8() */

	return set ? set - 1 : READ_ONCE(*common);
}

static int set_u8(u8 *own, const void *val, u32 len, u8 max)
{
	u8 value;

	if (len != sizeof(value))
		return -EINVAL;
	value = *(const u8 *)val;
	if (value > max)
		return -EINVAL;
	WRITE_ONCE(*own, value + 1);	/* pairs with pick() */
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
	WRITE_ONCE(*own, value);	/* pairs with rca_timing_deadline() */
	return 0;
}

/**
 * rca_timing_set() - change a setting of an id
 * @timing: its settings
 * @name: RDMA_CM_ALT_OPTION_*
 * @val: the value
 * @len: its length in bytes
 *
 * Context: Any context.
 * Return: 0; -ENOSYS the option is none of these; -EINVAL wrong length or value.
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
EXPORT_SYMBOL_IF_KUNIT(rca_timing_set);

static int put(const void *value, u32 size, void *val, u32 *len)
{
	if (*len < size)
		return -EINVAL;
	memcpy(val, value, size);
	*len = size;
	return 0;
}

/**
 * rca_timing_get() - read a setting of an id, the module's where it has none
 * @timing: its settings
 * @name: RDMA_CM_ALT_OPTION_*
 * @val: where the value goes
 * @len: in: bytes that there is room for; out: bytes of the value
 *
 * Context: Any context.
 * Return: 0; -ENOSYS the option is none of these; -EINVAL no room.
 */
int rca_timing_get(const struct rca_timing *timing, u32 name, void *val, u32 *len)
{
	u32 deadline;
	u8 value;

	switch (name) {
	case RDMA_CM_ALT_OPTION_RESPONSE_TIMEOUT:
		value = pick(&timing->response, &response_timeout);
		break;
	case RDMA_CM_ALT_OPTION_MAX_RETRIES:
		value = pick(&timing->retries, &max_retries);
		break;
	case RDMA_CM_ALT_OPTION_MRA_TIMEOUT:
		value = rca_timing_mra(timing);
		break;
	case RDMA_CM_ALT_OPTION_DEADLINE:
		deadline = rca_timing_deadline(timing);
		return put(&deadline, sizeof(deadline), val, len);
	default:
		return -ENOSYS;
	}
	return put(&value, sizeof(value), val, len);
}
EXPORT_SYMBOL_IF_KUNIT(rca_timing_get);

/**
 * rca_timing_is_set() - is any of the settings of an id its own?
 * @timing: the settings
 *
 * Context: Any context.
 * Return: true: one is, or more.
 */
bool rca_timing_is_set(const struct rca_timing *timing)
{
	return READ_ONCE(timing->deadline_ms) || READ_ONCE(timing->response) ||
	       READ_ONCE(timing->retries) || READ_ONCE(timing->mra);
}

/**
 * rca_timing_inherit() - the id of a request has the settings of its listener
 * @child: the settings of the id, which nobody else knows yet
 * @parent: those of the listener
 *
 * Context: Any context.
 */
void rca_timing_inherit(struct rca_timing *child, const struct rca_timing *parent)
{
	child->deadline_ms = READ_ONCE(parent->deadline_ms);
	child->response = READ_ONCE(parent->response);
	child->retries = READ_ONCE(parent->retries);
	child->mra = READ_ONCE(parent->mra);
}

/**
 * rca_timing_deadline() - when a connect ends, whatever the peer does
 * @timing: the settings of the id
 *
 * Context: Any context.
 * Return: milliseconds from its begin; 0: it has no such end.
 */
u32 rca_timing_deadline(const struct rca_timing *timing)
{
	return READ_ONCE(timing->deadline_ms) ?: READ_ONCE(deadline_ms);
}
EXPORT_SYMBOL_IF_KUNIT(rca_timing_deadline);

/**
 * rca_timing_once() - is a request given up after one round?
 * @timing: the settings of the id
 *
 * Who says how often, and not how long, gets that often and no more.
 *
 * Context: Any context.
 * Return: true: there is one round.
 */
bool rca_timing_once(const struct rca_timing *timing)
{
	return !rca_timing_deadline(timing) &&
	       pick(&timing->retries, &max_retries) != RCA_MAX_RETRIES;
}
EXPORT_SYMBOL_IF_KUNIT(rca_timing_once);

/**
 * rca_timing_total() - how long a request is sent again and again
 * @timing: the settings of the id
 * @lifetime: packet lifetime of the path
 *
 * Without a deadline it is as long as the stock rdma_cm tries.
 *
 * Context: Any context.
 * Return: milliseconds, after which nothing new is tried.
 */
u32 rca_timing_total(const struct rca_timing *timing, u8 lifetime)
{
	return rca_timing_deadline(timing) ?:
	       (RCA_MAX_RETRIES + 1) * interval_ms(lifetime, STOCK_RESPONSE);
}
EXPORT_SYMBOL_IF_KUNIT(rca_timing_total);

/**
 * rca_timing_repeat() - how an id keeps by which time a disconnect request is repeated
 * @interval_ms: the time; what a peer has asked for may be any
 *
 * Context: Any context. Pure.
 * Return: milliseconds, as 2^n; no more than with stock.
 */
u8 rca_timing_repeat(u32 interval_ms)
{
	return min_t(u32, interval_ms ? order_base_2(interval_ms) : 0, STOCK_REPEAT);
}
EXPORT_SYMBOL_IF_KUNIT(rca_timing_repeat);

/**
 * rca_timing_drep_timeout() - how long the answer to a disconnect request is waited for
 * @timing: the settings of the id
 * @repeat: by which time the request is repeated, see rca_timing_repeat()
 *
 * A peer that hears none of them stays connected for ever, so there is time for
 * several, also for a client of stock, which asks for long timers.
 *
 * Context: Any context.
 * Return: milliseconds.
 */
u32 rca_timing_drep_timeout(const struct rca_timing *timing, u8 repeat)
{
	return rca_timing_deadline(timing) ?: max(FAREWELL_MS, FAREWELL_TRIES << repeat);
}
EXPORT_SYMBOL_IF_KUNIT(rca_timing_drep_timeout);

/**
 * rca_timing_mra() - how long a peer shall wait that repeats its reply
 * @timing: the settings of the id
 *
 * Context: Any context.
 * Return: n of 4.096 us * 2^n.
 */
u8 rca_timing_mra(const struct rca_timing *timing)
{
	return pick(&timing->mra, &mra_timeout);
}
EXPORT_SYMBOL_IF_KUNIT(rca_timing_mra);

/**
 * rca_timing_mra_request() - how long a peer shall wait that repeats its request
 *
 * Context: Any context.
 * Return: n of 4.096 us * 2^n.
 */
u8 rca_timing_mra_request(void)
{
	return READ_ONCE(mra_timeout);
}
EXPORT_SYMBOL_IF_KUNIT(rca_timing_mra_request);

/**
 * rca_timing_req() - the timers of a round of requests
 * @timing: the settings of the id
 * @lifetime: packet lifetime of the path
 * @number: of the round, from 0
 * @unanswered: messages to the same peer that it has not answered, this request included
 * @left_ms: time that is left; the round ends soon after it
 * @timers: filled in
 *
 * The peer sends its reply again by a timer that our request gives it, which has
 * to cover the way there and back. A response timeout that is set for the id or its
 * namespace is as it is in the first round, however many requests there are.
 *
 * Context: Any context. Pure but for the parameters of the module.
 */
void rca_timing_req(const struct rca_timing *timing, u8 lifetime, unsigned int number,
		    unsigned int unanswered, u32 left_ms, struct rca_req_timers *timers)
{
	u8 response = pick(&timing->response, &response_timeout);
	u8 most = max_t(u8, response, STOCK_RESPONSE);
	u8 both = max_t(u8, response, min_t(u8, lifetime, RCA_MAX_RESPONSE - 1) + 1);
	u32 sends;

	if (!READ_ONCE(timing->response))
		number += fls(unanswered / LOAD_STEP);
	timers->remote = min_t(unsigned int, response + number, most);
	timers->local = min_t(unsigned int, both + number, max(both, most));
	timers->interval_ms = interval_ms(lifetime, timers->remote);
	sends = left_ms / timers->interval_ms + !!(left_ms % timers->interval_ms);
	timers->retries = min_t(u32, pick(&timing->retries, &max_retries), sends ? sends - 1 : 0);
	timers->late_ms = rca_timing_ms(timers->local) * (timers->retries + 1) / 4;
}
EXPORT_SYMBOL_IF_KUNIT(rca_timing_req);

/**
 * rca_timing_datagram() - the timers of a request for a peer's QP
 * @timing: the settings of the id
 * @lifetime: packet lifetime of the path
 * @retries: how often it is sent again
 *
 * There is one round of those. It has short timers for who asks for them, else
 * it would end too soon.
 *
 * Context: Any context.
 * Return: milliseconds between two of them.
 */
u32 rca_timing_datagram(const struct rca_timing *timing, u8 lifetime, u8 *retries)
{
	*retries = pick(&timing->retries, &max_retries);
	if (!READ_ONCE(timing->response))
		return rca_timing_ms(STOCK_RESPONSE);
	return interval_ms(lifetime, pick(&timing->response, &response_timeout));
}
EXPORT_SYMBOL_IF_KUNIT(rca_timing_datagram);
