// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The peer of the fuzzer: it sends hellos, messages and RDMA writes that no honest peer sends, to
 * either end, as far as the fabric lets them through.
 */
#include <arpa/inet.h>
#include <string.h>

#include "base/compiler.h"
#include "fake/fake_cm.h"
#include "fake/fake_wire.h"
#include "rsocket/wire.h"
#include "world.h"

#define MOST 96

/* Bytes of a hello are changed, or it has another length. */
static void bend_hello(struct rdma_cm_alt_event *event)
{
	uint8_t count = in_u8();

	if (count < 128)
		return;
	if (count & 1)
		event->private_data_len = in_u8();
	for (count = count / 2 & 7; count; count--)
		event->private_data[in_u8() % (RCL_HELLO_LEN + 4)] = in_u8();
}

void peer_begin(void)
{
	fake_cm.on_message = bend_hello;
}

/* Where the peer may write: an entry, a mapping, the ring, or beyond all of them. */
static uint64_t pick_address(const struct rcl_stream *s, uint32_t *len)
{
	uint64_t at = (uintptr_t)s->rx.table;
	uint8_t where = in_u8();

	*len = where & 0x40 ? in_u8() % MOST : 16;
	switch (where % 4) {
	case 0:
		return at + (where & 4 ? 16 : 0);
	case 1:
		*len = where & 0x40 ? *len : 24;
		return at + 32 + 24 * (in_u8() % 8);
	case 2:
		return (uintptr_t)s->rx.buf + in_u32() % (s->rx.size + 16);
	default:
		return at + in_u32();
	}
}

/* An entry that names memory which is there, so that what follows it is looked at, too. */
static void fill_entry(uint8_t *data, const struct rcl_stream *s)
{
	struct rcl_target target = {
		.addr = (uintptr_t)s->rx.table + in_u8(),
		.key = in_u8() & 3 ? s->rx.mr->rkey : in_u32(),
		.len = in_u32(),
	};
	struct rcl_iomap iomap = { .offset = in_u32(), .target = target };

	if (in_u8() & 1)
		memcpy(data, &target, sizeof(target));
	else
		memcpy(data, &iomap, sizeof(iomap));
}

static void write_memory(void)
{
	struct rcl_stream *s = pick_stream();
	struct fake_message message = { .opcode = IBV_WR_RDMA_WRITE };
	uint8_t data[MOST] = { 0 };

	if (!s)
		return;
	if (s->id && s->id->qp && s->rx.mr) {
		message.remote_addr = pick_address(s, &message.length);
		message.rkey = s->rx.mr->rkey;
		message.data = data;
		if (in_u8() & 1)
			fill_entry(data, s);
		else
			in_bytes(data, message.length);
		fake_wire_inject(s->id->qp, &message);
	}
	drop_stream(s);
}

static uint32_t any_message(void)
{
	static const unsigned int types[] = {
		RCL_MSG_DATA, RCL_MSG_CREDIT, RCL_MSG_IOMAP, RCL_MSG_CONTROL,
	};
	uint8_t type = in_u8();

	if (type < 240)
		return rcl_msg(types[type % ARRAY_SIZE(types)], in_u32());
	return in_u32() << 24 | in_u8();
}

/* What an honest peer writes with a message. */
static uint32_t written_with(uint32_t msg)
{
	switch (rcl_msg_type(msg)) {
	case RCL_MSG_DATA:
		return rcl_msg_value(msg);
	case RCL_MSG_CREDIT:
		return msg & 1 ? sizeof(struct rcl_target) : 0;
	case RCL_MSG_IOMAP:
		return sizeof(struct rcl_iomap);
	default:
		return 0;
	}
}

/* On iWARP a message is a SEND in the byte order of its host, and else comes with a write. */
static void send_message(void)
{
	static uint8_t zeros[1 << 16];
	struct rcl_stream *s = pick_stream();
	uint32_t msg = any_message();
	uint8_t how = in_u8();
	struct fake_message message = {
		.opcode = IBV_WR_SEND, .length = how < 250 ? 4 : 3, .data = (uint8_t *)&msg,
	};

	if (!s)
		return;
	if (s->id && s->id->qp && s->rx.mr && !s->iwarp) {
		message = (struct fake_message){
			.opcode = how < 250 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND,
			.imm_data = htonl(msg),
			.remote_addr = (uintptr_t)s->rx.buf,
			.rkey = s->rx.mr->rkey,
			.length = how < 200 ? written_with(msg) : how < 250 ? how % MOST : 0,
			.data = zeros,
		};
		if (message.length > s->rx.size || message.length > sizeof(zeros))
			message.length = 0;
	}
	if (s->id && s->id->qp)
		fake_wire_inject(s->id->qp, &message);
	drop_stream(s);
}

static void credit_with_entry(void)
{
	write_memory();
	send_message();
}

/* The network fails between both. */
static void break_wire(void)
{
	struct rcl_stream *s = pick_stream();

	if (!s)
		return;
	if (in_u8() < 32 && s->id && s->id->qp)
		fake_wire_break(s->id->qp);
	drop_stream(s);
}

static void let_time_pass(void)
{
	service_run(true);
}

const operation peer_operations[] = {
	write_memory, send_message, send_message, credit_with_entry, break_wire, let_time_pass,
};
const unsigned int peer_operations_count = ARRAY_SIZE(peer_operations);
