// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Progress of a stream.
 *
 * Completions are handled by threads in calls. Of the threads that wait for the same stream, one
 * sleeps in ibv_get_cq_event(), which is the cheapest way; the others poll the channel and their
 * eventfd. The thread that handles completions wakes the others.
 *
 * Locking: rcl_sock.lock, which is released while a thread sleeps.
 */
#include "rsocket/stream/progress.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "rsocket/stream/endpoint.h"
#include "rsocket/stream/maps.h"
#include "rsocket/stream/post.h"
#include "rsocket/wait.h"

#define BATCH 16

void rcl_stream_broken(struct rcl_stream *s, int err)
{
	if (s->state != RCL_STREAM_UP && s->state != RCL_STREAM_ACCEPTING)
		return;
	/* Not an error if the peer has ended its direction: all of its data have arrived. */
	if (err && s->can_recv)
		s->sock.err = -err;
	s->state = RCL_STREAM_DOWN;
	s->can_recv = false;
	s->can_send = false;
	rcl_stream_wake(s);
}

void rcl_stream_lost(struct rcl_stream *s)
{
	/*
	 * Having received our SHUTDOWN, librdmacm may destroy its queue pair in rclose() before its
	 * DISCONNECT is sent.
	 */
	rcl_stream_broken(s, s->librdmacm && s->shut_send ? 0 : -ECONNRESET);
}

void rcl_stream_finish(struct rcl_stream *s)
{
	rcl_stream_broken(s, 0);
	/* In the error state the adapter flushes all receives, for which nobody waits. */
	if (!rcl_tx_all_done(s))
		rcl_endpoint_fail(s);
}

/* The peer has violated the protocol: its data cannot be trusted any more. */
static void protocol_error(struct rcl_stream *s)
{
	if (s->state == RCL_STREAM_DOWN)
		return;
	/* Later messages of the same batch announce too much. */
	s->rx.freed += s->rx.room;
	s->rx.room = 0;
	rcl_endpoint_fail(s);
	rcl_stream_broken(s, -EPROTO);
}

/* Ends a connection whose directions have both ended, once all data has arrived. */
static void end_if_all_done(struct rcl_stream *s)
{
	if (rcl_stream_is_over(s) && rcl_tx_all_done(s))
		rcl_stream_broken(s, 0);
}

/*
 * Reads the message of a completion; false: the peer has sent something else. With iWARP a message
 * is in memory, which the peer can write to at any time, in the byte order of the sender.
 */
static bool read_message(const struct rcl_stream *s, const struct ibv_wc *wc, uint32_t *msg)
{
	if (!s->iwarp) {
		*msg = be32toh(wc->imm_data);
		return wc->wc_flags & IBV_WC_WITH_IMM;
	}
	memcpy(msg, s->rx.buf + s->rx.size + wc->wr_id * sizeof(*msg), sizeof(*msg));
	return wc->byte_len == sizeof(*msg);
}

/*
 * Were @len bytes written with a message? With iWARP, where a message is a SEND after the RDMA
 * WRITE, nothing reports this. A program then gets what the buffer contains: it was zeroed for
 * this connection.
 */
static bool was_written(const struct rcl_stream *s, const struct ibv_wc *wc, uint32_t len)
{
	return s->iwarp || wc->byte_len == len;
}

static bool data_came(struct rcl_stream *s, const struct ibv_wc *wc, uint32_t len)
{
	if (!len || len > s->rx.room || !was_written(s, wc, len))
		return false;
	s->rx.room -= len;
	s->rx.avail += len;
	s->rx.count++;
	return true;
}

static bool credit_came(struct rcl_stream *s, const struct ibv_wc *wc, uint32_t limit)
{
	bool has_entry = was_written(s, wc, sizeof(struct rcl_target));

	s->tx.limit = (uint16_t)limit;
	s->tx.news += has_entry;
	return has_entry || was_written(s, wc, 0);
}

static bool iomap_came(struct rcl_stream *s, const struct ibv_wc *wc, uint32_t index)
{
	/* All peers take a credit for it, as for data. */
	s->rx.count++;
	return was_written(s, wc, sizeof(struct rcl_iomap)) && !rcl_maps_came(s, index);
}

static bool control_came(struct rcl_stream *s, const struct ibv_wc *wc, uint32_t control)
{
	if (!was_written(s, wc, 0))
		return false;
	if (control == RCL_CONTROL_DISCONNECT) {
		rcl_stream_broken(s, 0);
	} else if (control == RCL_CONTROL_SHUTDOWN) {
		s->can_recv = false;
		end_if_all_done(s);
	}
	return true;
}

static bool message_came(struct rcl_stream *s, const struct ibv_wc *wc)
{
	uint32_t msg;

	if (!read_message(s, wc, &msg))
		return false;
	switch (rcl_msg_type(msg)) {
	case RCL_MSG_DATA:
		return data_came(s, wc, rcl_msg_value(msg));
	case RCL_MSG_CREDIT:
		return credit_came(s, wc, rcl_msg_value(msg));
	case RCL_MSG_IOMAP:
		return iomap_came(s, wc, rcl_msg_value(msg));
	case RCL_MSG_CONTROL:
		return control_came(s, wc, rcl_msg_value(msg));
	default:
		return false;
	}
}

/*
 * Receives are flushed when the queue pair fails; the completion of a send has the reason. Without
 * such a completion, this library has moved the queue pair to the error state because of an event
 * of the connection manager.
 */
static void receive_failed(struct rcl_stream *s)
{
	int ret = rcl_tx_reap(s);

	if (ret)
		rcl_stream_broken(s, ret);
	else
		rcl_stream_lost(s);
}

/*
 * Handles at most as many messages as the completion queue had room for, so that a peer which never
 * stops does not keep the lock.
 */
static unsigned int handle_receives(struct rcl_stream *s)
{
	struct ibv_wc wc[BATCH];
	unsigned int handled = 0;
	int i, count;

	do {
		count = ibv_poll_cq(s->recv_cq.cq, BATCH, wc);
		for (i = 0; i < count; i++) {
			if (wc[i].status == IBV_WC_SUCCESS) {
				s->tx.mute = false;
				handled++;
				if (!message_came(s, &wc[i]))
					protocol_error(s);
			} else {
				receive_failed(s);
			}
		}
		/* With iWARP the buffers of messages are reused in order. */
		if (count > 0 && handled && s->state == RCL_STREAM_UP &&
		    rcl_endpoint_post_receives(s, (unsigned int)count))
			rcl_stream_broken(s, -ECONNRESET);
	} while (count == BATCH && handled < s->rx.posted);
	s->rx.more = count == BATCH;
	if (count < 0)
		rcl_stream_broken(s, -ECONNRESET);
	return handled;
}

static void reap(struct rcl_stream *s)
{
	int ret = rcl_tx_reap(s);

	/* Not an error if the peer has ended the connection before. */
	if (ret)
		handle_receives(s);
	if (ret)
		rcl_stream_broken(s, ret);
	else
		end_if_all_done(s);
}

/* Sends the control message for which there was no work request before. */
static void tell_owed(struct rcl_stream *s)
{
	int ret;

	if (!rcl_tx_may_control(s))
		reap(s);
	if (!rcl_tx_may_control(s) || s->state != RCL_STREAM_UP)
		return;
	s->tx.owed = false;
	ret = s->tx.owed_control == RCL_CONTROL_PROBE ? rcl_tx_probe(s) :
							rcl_tx_control(s, s->tx.owed_control);
	if (ret)
		rcl_stream_broken(s, ret);
}

static bool limit_is_old(const struct rcl_stream *s)
{
	return (uint16_t)(s->rx.count - s->rx.told) >= s->rx.most / 4;
}

void rcl_stream_give(struct rcl_stream *s)
{
	uint32_t half = s->rx.size / 2;
	struct rcl_target target = { .key = s->rx.mr->rkey, .len = half };
	bool announce = s->rx.freed >= half;
	int ret;

	/* Credits would use up each work request that becomes free. */
	if (s->state != RCL_STREAM_UP || s->tx.owed || (!announce && !limit_is_old(s)))
		return;
	if (!rcl_tx_may_control(s))
		reap(s);
	if (!rcl_tx_may_control(s) || s->state != RCL_STREAM_UP)
		return;
	if (limit_is_old(s) && s->rx.most < s->sock.rq_size) {
		ret = rcl_endpoint_post_receives(s, s->sock.rq_size - s->rx.most);
		if (ret)
			return rcl_stream_broken(s, ret);
		s->rx.most = s->sock.rq_size;
	}
	target.addr = (uintptr_t)s->rx.buf + s->rx.give;
	ret = rcl_tx_credit(s, (uint16_t)(s->rx.count + s->rx.most), announce ? &target : NULL);
	if (ret)
		return rcl_stream_broken(s, ret);
	s->rx.told = s->rx.count;
	if (!announce)
		return;
	s->rx.freed -= half;
	s->rx.room += half;
	s->rx.give = s->rx.give ? 0 : half;
}

void rcl_stream_tell(struct rcl_stream *s, enum rcl_control control)
{
	s->tx.owed = true;
	s->tx.owed_control = control;
	tell_owed(s);
}

/* Makes an event in the channel as soon as the peer's adapter answers. */
static void make_event(struct rcl_stream *s)
{
	/* If no probe can be posted, the completion of an earlier control message does it. */
	rcl_cq_arm(&s->send_cq);
	if (!rcl_tx_may_control(s))
		reap(s);
	if (s->state == RCL_STREAM_UP && rcl_tx_may_control(s))
		rcl_tx_probe(s);
}

void rcl_stream_progress(struct rcl_stream *s)
{
	unsigned int handled;

	if (!s->comp || (s->state != RCL_STREAM_UP && s->state != RCL_STREAM_DOWN))
		return;
	handled = handle_receives(s);
	if (!s->can_send || !rcl_tx_may_control(s) || rcl_tx_slots_left(s) < 2 ||
	    rcl_tx_bytes_left(s) < RCL_SEND_LEAST)
		reap(s);
	if (s->tx.owed)
		tell_owed(s);
	rcl_stream_give(s);
	/* There is no event for what was left, for which a thread might sleep now. */
	if (s->rx.more && s->state == RCL_STREAM_UP)
		make_event(s);
	if (handled)
		rcl_sock_changed(&s->sock);
}

static void event_taken(struct rcl_stream *s, const struct ibv_cq *told)
{
	rcl_cq_told(told == s->recv_cq.cq ? &s->recv_cq :
		    told == s->wake_cq.cq ? &s->wake_cq : &s->send_cq);
}

/* Reads an event of the channel, which has one; false: the stream is broken. */
static bool take_event(struct rcl_stream *s)
{
	struct ibv_cq *told;
	void *context;

	if (ibv_get_cq_event(s->comp, &told, &context)) {
		rcl_stream_broken(s, -ECONNRESET);
		return false;
	}
	event_taken(s, told);
	return true;
}

void rcl_stream_arm(struct rcl_stream *s, bool sends)
{
	if (s->unread) {
		s->unread = false;
		if (!take_event(s))
			return;
	}
	rcl_cq_arm(&s->recv_cq);
	/*
	 * The completion of a control message makes room for a credit that had no work request, and
	 * may be the last one of the connection.
	 */
	if (sends || !rcl_tx_may_control(s) || rcl_stream_is_over(s))
		rcl_cq_arm(&s->send_cq);
}

void rcl_stream_drain(struct rcl_stream *s)
{
	struct pollfd fd = { .fd = s->comp->fd, .events = POLLIN };
	bool any = false;

	if (s->sleeper)
		return;
	s->unread = false;
	/* poll() first: the descriptor is a blocking one, for ibv_get_cq_event(). */
	while ((s->recv_cq.armed || s->send_cq.armed) && poll(&fd, 1, 0) > 0) {
		if (!take_event(s))
			return;
		any = true;
	}
	/* Other threads may wait for the queue, which is not armed any more. */
	if (any)
		rcl_sock_changed(&s->sock);
}

/*
 * Makes a thread return that sleeps in ibv_get_cq_event(). A receiver must not wait for the peer,
 * whose host may be silent.
 */
static void wake_sleeper(struct rcl_stream *s)
{
	if (s->state != RCL_STREAM_UP)
		rcl_endpoint_fail(s);
	else if (s->can_recv || !rcl_endpoint_wake(s))
		make_event(s);
}

void rcl_stream_wake(struct rcl_stream *s)
{
	if (s->sleeper)
		wake_sleeper(s);
	rcl_sock_changed(&s->sock);
}

/* Called if the sleeping thread is cancelled: another waiter takes its place. */
static void give_back(void *arg)
{
	struct rcl_stream *s = arg;

	pthread_mutex_lock(&s->sock.lock);
	s->sleeper = false;
	rcl_sock_changed(&s->sock);
	pthread_mutex_unlock(&s->sock.lock);
	rcl_sock_put(&s->sock);
}

/*
 * Sleeps until the channel has an event, and reads it, or finds out that it is there and leaves it
 * to the next arming: reading costs a system call, and the answer has arrived.
 */
static int await_event(struct rcl_stream *s, struct ibv_cq **told)
{
	struct pollfd fd = { .fd = s->comp->fd, .events = POLLIN };
	bool polls = rcl_cancel_loses();
	void *context;
	int ret;

	*told = NULL;
	pthread_cleanup_push(give_back, s);
	rcl_sleep_begin();
	do {
		ret = polls ? ppoll(&fd, 1, NULL, NULL) :
			      ibv_get_cq_event(s->comp, told, &context);
	} while (polls && ret < 0 && errno == EINTR && rcl_signals_restart());
	rcl_sleep_end();
	pthread_cleanup_pop(0);
	return ret < 0 ? rcl_errno() : 0;
}

static int sleep_for_event(struct rcl_stream *s)
{
	struct ibv_cq *told;
	int ret;

	s->sleeper = true;
	pthread_mutex_unlock(&s->sock.lock);
	ret = await_event(s, &told);
	pthread_mutex_lock(&s->sock.lock);
	s->sleeper = false;
	if (!ret && told)
		event_taken(s, told);
	else if (!ret)
		s->unread = true;
	/*
	 * Threads that poll the channel may have missed the event, or left the channel to this
	 * thread.
	 */
	rcl_sock_changed(&s->sock);
	return ret;
}

static int sleep_and_poll(struct rcl_stream *s, int64_t deadline)
{
	struct pollfd fds[2] = { { .fd = s->sleeper ? -1 : s->comp->fd, .events = POLLIN } };
	int ret = rcl_sleep_on(&s->sock, fds, 1, deadline, NULL);

	if (ret > 0)
		rcl_stream_drain(s);
	return ret > 0 ? 0 : ret ? ret : -EAGAIN;
}

/* Polls for completions without sleeping: an early answer then needs no wake-up. */
static bool spin(struct rcl_stream *s, bool (*test)(struct rcl_stream *s), int64_t end)
{
	while (rcl_now_ns() < end) {
		rcl_stream_progress(s);
		if (test(s))
			return true;
	}
	return false;
}

static int sleep_until(struct rcl_stream *s, bool (*test)(struct rcl_stream *s), bool sends,
		       int64_t deadline)
{
	int ret;

	for (;;) {
		/* There is no event for completions from before the arming. */
		rcl_stream_arm(s, sends);
		rcl_stream_progress(s);
		if (test(s))
			return 0;
		/* A mute stream cannot post the control message that wakes the sleeper. */
		if (deadline == RCL_FOREVER && !s->sleeper && !s->tx.mute)
			ret = sleep_for_event(s);
		else
			ret = sleep_and_poll(s, deadline);
		if (ret)
			return ret;
		/* Before arming, which is a system call: what the caller waits for may be there. */
		rcl_stream_progress(s);
		if (test(s))
			return 0;
	}
}

int rcl_stream_wait(struct rcl_stream *s, bool (*test)(struct rcl_stream *s), bool sends,
		    int64_t deadline)
{
	int64_t begin;
	int ret = 0;

	rcl_stream_progress(s);
	if (test(s))
		return 0;
	if (!deadline)
		return -EAGAIN;
	begin = rcl_now_ns();
	if (!spin(s, test, begin + rcl_spin_ns(&s->spin)))
		ret = sleep_until(s, test, sends, deadline);
	rcl_spin_learn(&s->spin, rcl_now_ns() - begin);
	return ret;
}
