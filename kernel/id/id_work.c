// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The work of an id: what callbacks may not do, and what has to be done at a
 * certain time. There is one of it, as an id waits for one thing at a time; what
 * that is its state tells.
 *
 * Locking: rca_id.op while it runs.
 */
#include <kunit/visibility.h>
#include <linux/jiffies.h>
#include <linux/timer.h>

#include "id/id.h"
#include "lib/compat.h"
#include "device/devices.h"
#include "id/send_window.h"

/* When nobody can be left that still sends to the QP, as ib_cm would reckon it generously. */
#define TIMEWAIT	msecs_to_jiffies(1000)

/* Something happens to the id that has an event without details. */
static bool step_and_post(struct rca_id *id, enum rca_input input)
{
	struct rca_step step;
	unsigned long flags;

	spin_lock_irqsave(&id->lock, flags);
	step = rca_id_step_locked(id, input);
	if (step.verdict == RCA_TAKE && step.post != RCA_NO_EVENT)
		rca_id_post_locked(id, NULL, step.post, 0);
	spin_unlock_irqrestore(&id->lock, flags);
	return step.verdict == RCA_TAKE;
}

/**
 * rca_id_ask() - ask the peer to disconnect
 * @id: the id
 *
 * Where the QP has received before the peer's ready-to-use, that has to come first: its id
 * is kicked then.
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 * Return: true: the peer is asked, or will be; false: it cannot be.
 */
bool rca_id_ask(struct rca_id *id)
{
	int ret;

	lockdep_assert_held(&id->op);
	/* Before it is known, as the message may come at once. */
	if (id->setup)
		WRITE_ONCE(id->setup->unsent, true);	/* pairs with handle_event() */
	ret = id->dev->tp->disconnect(id->lower);
	if (!id->setup)
		return !ret;
	if (ret != -EAGAIN)
		WRITE_ONCE(id->setup->unsent, false);
	return !ret || ret == -EAGAIN;
}

static void send_disconnect(struct rca_id *id)
{
	if (rca_id_ask(id))
		return;
	/* It could not be sent: the connection is over for us all the same. */
	rca_pace_end(id);
	step_and_post(id, RCA_IN_DISCONNECT_FAIL);
}

/**
 * rca_id_farewell() - how long the answer to the disconnect request of an id is waited for
 * @id: the id
 *
 * Context: Any context.
 * Return: jiffies.
 */
unsigned long rca_id_farewell(const struct rca_id *id)
{
	const struct rca_timing timing = rca_id_timing(id);

	return msecs_to_jiffies(rca_timing_farewell(&timing, id->repeat));
}

/**
 * rca_id_disconnect() - send a disconnect request as soon as it is its turn
 * @id: the id, in the state RCA_ST_DREQ_SENT
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 */
void rca_id_disconnect(struct rca_id *id)
{
	unsigned long farewell = rca_id_farewell(id);

	lockdep_assert_held(&id->op);
	/* TCP knows by itself when it has waited enough. */
	if (id->dev->tp->over_tcp) {
		send_disconnect(id);
		return;
	}
	rca_id_unkick(id);	/* the deadline of the connect does not count any more */
	/* Without memory it goes out at once, and ib_cm says when it has waited enough. */
	if (!rca_id_need_setup(id)) {
		send_disconnect(id);
		return;
	}
	id->setup->farewell = jiffies + farewell;
	if (rca_pace_begin(id))
		send_disconnect(id);
	/* Its turn may have come meanwhile, and is not to be put off. */
	rca_id_kick_later(id, farewell);
}

/*
 * The peer does not answer our disconnect request. ib_cm would ask for longer: it
 * has to forget the connection. Its timewait becomes ours.
 */
static void end_disconnect(struct rca_id *id)
{
	if (!step_and_post(id, RCA_IN_DREQ_TIMEOUT))
		return;
	rca_pace_end(id);
	rca_id_drop_lower(id);
	rca_id_unkick(id);	/* its turn may just have come: there is nothing to send any more */
	rca_id_kick_at(id, TIMEWAIT);
}

static void go_on_disconnecting(struct rca_id *id)
{
	long left;

	if (!id->setup)
		return;
	left = id->setup->farewell - jiffies;
	if (id->setup->unsent || (rca_pace_granted(id) && rca_pace_begin(id)))
		send_disconnect(id);
	if (left > 0)
		rca_id_kick_later(id, left);
	else
		end_disconnect(id);
}

/* True: the answer to the disconnect request of a destroyed id is worth waiting for. */
static bool go_on_destroying(struct rca_id *id)
{
	bool waited;

	if (!id->lower || !id->setup)
		return false;
	waited = id->setup->unsent && time_before(jiffies, id->setup->farewell);
	if (!waited && !(rca_pace_granted(id) && rca_pace_begin(id)))
		return false;
	if (!rca_id_ask(id))
		return false;
	rca_id_kick_later(id, rca_id_farewell(id));
	return true;
}

/**
 * rca_id_work() - the function of &rca_id.work
 * @work: the work
 *
 * Context: Process context. Sleeps. Takes and releases the id's op mutex.
 */
void rca_id_work(struct work_struct *work)
{
	struct rca_id *id = container_of(work, struct rca_id, work);

	mutex_lock(&id->op);
	switch (rca_id_state(id)) {
	case RCA_ST_REQ_SENT:
	case RCA_ST_REQ_WAIT:
	case RCA_ST_SIDR_SENT:
	case RCA_ST_REP_RCVD:
		if (id->setup && id->setup->retry)
			id->setup->retry->again(id);
		break;
	case RCA_ST_DREQ_SENT:
		go_on_disconnecting(id);
		break;
	case RCA_ST_DISCONNECTED:
		if (!id->lower)
			step_and_post(id, RCA_IN_TIMEWAIT_EXIT);
		break;
	case RCA_ST_CLOSED:
	case RCA_ST_SIDR_DONE:
		rca_id_drop_lower(id);
		break;
	case RCA_ST_DESTROYING:
		if (go_on_destroying(id))
			break;
		rca_id_drop_lower(id);
		rca_id_detach(id);
		rca_id_unkick(id);
		break;
	default:
		break;
	}
	mutex_unlock(&id->op);
	rca_id_put(id);		/* got in rca_id_kick() */
}

/**
 * rca_id_kick() - have the work of an id run
 * @id: the id
 *
 * Context: Any context.
 */
void rca_id_kick(struct rca_id *id)
{
	rca_id_get(id);		/* put in rca_id_work() */
	if (!queue_work(rca_wq, &id->work))
		rca_id_put(id);	/* it is queued, and has a reference */
}

/**
 * rca_id_alarm() - the function of &rca_setup.timer
 * @timer: the timer
 *
 * Context: Softirq.
 */
void rca_id_alarm(struct timer_list *timer)
{
	struct rca_setup *setup = timer_container_of(setup, timer, timer);
	struct rca_id *id = setup->id;

	/* The reference of the timer becomes that of the work. */
	if (!queue_work(rca_wq, &id->work))
		rca_id_put(id);
}

/**
 * rca_id_kick_at() - have the work of an id run at another time than it may wait for
 * @id: the id; it has a setup
 * @delay: in how many jiffies
 *
 * Context: Any context. Expects @id->op to be held by the caller, or @id->lock in a state in
 * which the setup stays.
 */
void rca_id_kick_at(struct rca_id *id, unsigned long delay)
{
	rca_id_get(id);		/* put in rca_id_work() */
	if (mod_timer(&id->setup->timer, jiffies + delay))
		rca_id_put(id);	/* it was pending, and has a reference */
}

/**
 * rca_id_kick_later() - have the work of an id run, unless it waits for its time already
 * @id: the id; it has a setup
 * @delay: in how many jiffies
 *
 * Context: Process context. Expects @id->op to be held by the caller.
 */
void rca_id_kick_later(struct rca_id *id, unsigned long delay)
{
	lockdep_assert_held(&id->op);
	if (!timer_pending(&id->setup->timer))
		rca_id_kick_at(id, delay);
}

/* The timer does not go off any more; true: it was pending. */
static bool disarm(struct rca_id *id)
{
	struct rca_setup *setup;
	bool ret;

	rcu_read_lock();
	setup = READ_ONCE(id->setup);	/* the timer of one that was dropped is not pending */
	ret = setup && timer_delete(&setup->timer);
	rcu_read_unlock();
	return ret;
}

/**
 * rca_id_unkick() - the work of an id is not needed any more, if it waits for its time
 * @id: the id, which the caller has a reference of
 *
 * Context: Any context.
 */
void rca_id_unkick(struct rca_id *id)
{
	if (disarm(id))
		rca_id_put(id);		/* got in rca_id_kick_at() */
	if (cancel_work(&id->work))
		rca_id_put(id);		/* got in rca_id_kick() */
}

#if IS_ENABLED(CONFIG_KUNIT)
/**
 * rca_id_kicked() - will the work of an id run?
 * @id: the id
 *
 * Context: Any context. For tests.
 * Return: true: it will.
 */
bool rca_id_kicked(const struct rca_id *id)
{
	return (id->setup && timer_pending(&id->setup->timer)) || work_pending(&id->work);
}
EXPORT_SYMBOL_IF_KUNIT(rca_id_kicked);

/**
 * rca_id_flush() - have the work of an id run now, if it waits, and wait for its end
 * @id: the id, which the caller has a reference of
 *
 * Context: Process context. Sleeps. For tests.
 */
void rca_id_flush(struct rca_id *id)
{
	if (disarm(id)) {
		rca_id_kick(id);
		rca_id_put(id);		/* got in rca_id_kick_at() */
	}
	flush_work(&id->work);
}
EXPORT_SYMBOL_IF_KUNIT(rca_id_flush);
#endif
