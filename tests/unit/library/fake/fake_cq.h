/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Completion queues and completion channels of the fake data path. ibv_get_cq_event() and
 * ibv_ack_cq_events() are here.
 */
#ifndef FAKE_CQ_H
#define FAKE_CQ_H

#include <stdbool.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>

struct fake_cqe;

/**
 * struct fake_channel - a completion channel: a pipe with pointers to CQs
 * @channel: the public part; its descriptor is the read end
 * @write_end: the other end
 */
struct fake_channel {
	struct ibv_comp_channel channel;
	int write_end;
};

/**
 * enum fake_armed - which completion makes an event
 * @FAKE_ARMED_NO: none
 * @FAKE_ARMED_SOLICITED: that of a receive whose sender asked for an event, or one in error
 * @FAKE_ARMED_ANY: the next one
 */
enum fake_armed {
	FAKE_ARMED_NO,
	FAKE_ARMED_SOLICITED,
	FAKE_ARMED_ANY,
};

/*
 * struct fake_cq - a completion queue
 * @cq: the public part
 * @entries: completions that were not polled, the oldest first
 * @count: their number
 * @armed: by ibv_req_notify_cq()
 * @events: events that were put into the channel
 * @acked: events that were acknowledged, or were still in the channel when the CQ was destroyed
 */
struct fake_cq {
	struct ibv_cq cq;
	STAILQ_HEAD(, fake_cqe) entries;
	int count;
	enum fake_armed armed;
	unsigned int events;
	unsigned int acked;
};

/**
 * fake_channel_init - make the descriptor of a channel
 * @channel: allocated as struct fake_channel
 */
void fake_channel_init(struct ibv_comp_channel *channel);

/** fake_channel_fini - close the descriptors of a channel */
void fake_channel_fini(struct ibv_comp_channel *channel);

/**
 * fake_cq_init - start with an empty CQ
 * @cq: allocated as struct fake_cq
 */
void fake_cq_init(struct ibv_cq *cq);

/**
 * fake_cq_fini - drop the completions and the events of a CQ
 * @cq: the CQ; a complaint if the program does not acknowledge its events within two seconds
 */
void fake_cq_fini(struct ibv_cq *cq);

/**
 * fake_cq_add - add a completion; a complaint if the CQ is full
 * @cq: the CQ
 * @wc: the completion
 * @solicited: the sender asked for an event
 * @used: slots of the queue that are in use, which become free when the completion is polled
 * @slots: number of those that this completion makes free
 *
 * Context: with the lock of the fabric held
 */
void fake_cq_add(struct ibv_cq *cq, const struct ibv_wc *wc, bool solicited, unsigned int *used,
		 unsigned int slots);

/**
 * fake_cq_forget - drop the completions of a QP that goes
 * @cq: the CQ
 * @qp_num: number of the QP
 *
 * Context: with the lock of the fabric held
 */
void fake_cq_forget(struct ibv_cq *cq, uint32_t qp_num);

/** fake_cq_poll - ibv_poll_cq() */
int fake_cq_poll(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);

/** fake_cq_arm - ibv_req_notify_cq(): completions that are there already make no event */
int fake_cq_arm(struct ibv_cq *cq, int solicited_only);

#endif /* FAKE_CQ_H */
