/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The wire between the QPs of one process. Messages arrive in the call that posts them, unless a
 * test holds them, so that a test without threads knows what has happened at both ends.
 */
#ifndef FAKE_WIRE_H
#define FAKE_WIRE_H

#include <stdbool.h>
#include <infiniband/verbs.h>

struct fake_qp;

/**
 * struct fake_message - a message of a connected QP, on its way
 * @opcode: IBV_WR_SEND, IBV_WR_RDMA_WRITE, or one of them with an immediate
 * @imm_data: network byte order
 * @remote_addr: where a write goes
 * @rkey: of that memory
 * @solicited: the sender asks for an event
 * @length: bytes of @data; a change may make it smaller
 * @data: the bytes, a copy
 */
struct fake_message {
	enum ibv_wr_opcode opcode;
	__be32 imm_data;
	uint64_t remote_addr;
	uint32_t rkey;
	bool solicited;
	uint32_t length;
	uint8_t *data;
};

/** fake_wire_qp - the n-th of the QPs that exist, from 0, in the order of creation, or NULL */
struct ibv_qp *fake_wire_qp(unsigned int n);

/** fake_wire_hold - from now on the sends of a QP wait for fake_wire_deliver() */
void fake_wire_hold(struct ibv_qp *qp);

/**
 * fake_wire_deliver - let the oldest send of a held QP arrive, and complete
 * @qp: the QP that sends
 *
 * Its data are read from the memory of the sender now, not when they were posted.
 *
 * Return: false: nothing waits, or the peer has no receive for it
 */
bool fake_wire_deliver(struct ibv_qp *qp);

/**
 * fake_wire_write_part - let some bytes of the oldest write of a held QP arrive before the rest
 * @qp: the QP that sends
 * @first: of its bytes
 * @count: of them
 *
 * A device may write the bytes in any order. What a program sees of them before the completion,
 * or before that of a later message, proves nothing of the others.
 *
 * Return: false: the oldest send is no write of so many bytes, or the peer does not allow it
 */
bool fake_wire_write_part(struct ibv_qp *qp, uint32_t first, uint32_t count);

/** fake_wire_release - let all arrive that waits, and what is posted later at once */
void fake_wire_release(struct ibv_qp *qp);

/** fake_wire_waiting - sends of a QP that did not complete: held, or without a receive */
unsigned int fake_wire_waiting(struct ibv_qp *qp);

/** fake_wire_break - from now on nothing of a QP arrives, nor of its peer: RETRY_EXC_ERR */
void fake_wire_break(struct ibv_qp *qp);

/**
 * fake_wire_alter - change the next message of a connected QP on its way
 * @qp: the QP that sends
 * @alter: makes the change, with the lock of the fabric held; not the opcode
 * @arg: passed to @alter
 */
void fake_wire_alter(struct ibv_qp *qp, void (*alter)(struct fake_message *message, void *arg),
		     void *arg);

/**
 * fake_wire_inject - a message arrives as if the peer had sent it
 * @qp: the QP that receives it
 * @message: any message
 *
 * Return: what the peer's completion would say; IBV_WC_RNR_RETRY_EXC_ERR: no receive is posted,
 * and nothing has happened
 */
enum ibv_wc_status fake_wire_inject(struct ibv_qp *qp, struct fake_message *message);

/** fake_wire_inject_imm - the same of a write of no bytes with an immediate, host byte order */
enum ibv_wc_status fake_wire_inject_imm(struct ibv_qp *qp, uint32_t imm);

/**
 * fake_wire_run - let arrive all that can
 * @qp: the QP whose posts or whose state have changed; both directions are looked at
 *
 * Context: with the lock of the fabric held
 */
void fake_wire_run(struct fake_qp *qp);

#endif /* FAKE_WIRE_H */
