/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Queue pairs of the fake data path: their queues, their states, and what completes.
 *
 * All functions are called with the lock of the fabric held.
 */
#ifndef FAKE_QP_H
#define FAKE_QP_H

#include <stdbool.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>

#define FAKE_MAX_SGE 4
#define FAKE_RNR_FOREVER 7
#define FAKE_GRH_SIZE 40

struct fake_message;

/**
 * struct fake_send - a work request of a send queue
 * @link: in the queue
 * @wr: as it was posted; its sg_list is @sge
 * @sge: its memory
 * @copy: its data if they were posted inline, else NULL
 * @length: bytes of data
 * @signaled: it makes a completion when it succeeds
 */
struct fake_send {
	STAILQ_ENTRY(fake_send) link;
	struct ibv_send_wr wr;
	struct ibv_sge sge[FAKE_MAX_SGE];
	uint8_t *copy;
	uint32_t length;
	bool signaled;
};

/**
 * struct fake_recv - a work request of a receive queue
 * @link: in the queue
 * @wr: as it was posted; its sg_list is @sge
 * @sge: its memory
 */
struct fake_recv {
	STAILQ_ENTRY(fake_recv) link;
	struct ibv_recv_wr wr;
	struct ibv_sge sge[FAKE_MAX_SGE];
};

/*
 * struct fake_qp - a queue pair
 * @qp: the public part, whose state is that of the last ibv_modify_qp()
 * @link: in the list of all QPs, in the order of their creation
 * @state: as the device knows it
 * @cap: sizes of its queues
 * @sq_sig_all: all sends make completions
 * @access: IBV_ACCESS_* of the QP
 * @peer: number of the QP it is connected to; 0: none
 * @qkey: of a UD QP
 * @rnr_retry: how often it sends again without a receive at the peer; 7: for ever
 * @sends: posted and not completed, the oldest first
 * @recvs: likewise
 * @sq_used: slots of the send queue that are in use: until their completion, or that of a later
 *           send, was polled
 * @rq_used: likewise of the receive queue
 * @unsignaled: sends that succeeded without a completion, after the last one with
 * @held: its sends wait for the test
 * @broken: no message of it arrives
 * @alter: changes its next message; NULL: nothing does
 * @alter_arg: for @alter
 */
struct fake_qp {
	struct ibv_qp qp;
	STAILQ_ENTRY(fake_qp) link;
	enum ibv_qp_state state;
	struct ibv_qp_cap cap;
	bool sq_sig_all;
	unsigned int access;
	uint32_t peer;
	uint32_t qkey;
	uint8_t rnr_retry;
	STAILQ_HEAD(, fake_send) sends;
	STAILQ_HEAD(, fake_recv) recvs;
	unsigned int sq_used;
	unsigned int rq_used;
	unsigned int unsignaled;
	bool held;
	bool broken;
	void (*alter)(struct fake_message *message, void *arg);
	void *alter_arg;
};

/** fake_qp_of - the whole of a public QP */
static inline struct fake_qp *fake_qp_of(struct ibv_qp *qp)
{
	return (struct fake_qp *)(void *)qp;
}

/** fake_qp_add - give a new QP its number, which no QP had before */
void fake_qp_add(struct fake_qp *qp);

/** fake_qp_clear - drop what a QP has posted, and its completions */
void fake_qp_clear(struct fake_qp *qp);

/** fake_qp_remove - the same of a QP that is destroyed */
void fake_qp_remove(struct fake_qp *qp);

/** fake_qp_find - the QP with a number, or NULL */
struct fake_qp *fake_qp_find(uint32_t num);

/** fake_qp_nth - the n-th of the QPs that exist, from 0, in the order of creation, or NULL */
struct fake_qp *fake_qp_nth(unsigned int n);

/** fake_qp_receives - is the QP in a state in which messages arrive? */
bool fake_qp_receives(const struct fake_qp *qp);

/** fake_qp_fail - move a QP to ERR: all that it has posted completes with a flush error */
void fake_qp_fail(struct fake_qp *qp);

/**
 * fake_qp_sent - complete the oldest send
 * @qp: the QP
 * @status: its status; a failure always makes a completion
 */
void fake_qp_sent(struct fake_qp *qp, enum ibv_wc_status status);

/**
 * fake_qp_received - complete the oldest receive
 * @qp: the QP
 * @wc: the completion; its wr_id and qp_num are filled in here
 * @solicited: the sender asked for an event
 */
void fake_qp_received(struct fake_qp *qp, struct ibv_wc *wc, bool solicited);

/**
 * fake_qp_scatter - write a message to the memory of the oldest receive
 * @qp: the QP
 * @skip: bytes of that memory to leave out
 * @data: the message
 * @length: its bytes
 *
 * Return: IBV_WC_SUCCESS, or LOC_LEN_ERR or LOC_PROT_ERR with nothing written
 */
enum ibv_wc_status fake_qp_scatter(struct fake_qp *qp, uint32_t skip, const void *data,
				   uint32_t length);

#endif /* FAKE_QP_H */
