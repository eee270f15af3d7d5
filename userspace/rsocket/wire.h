/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The wire formats of rsockets: private data of a connection, messages, and entries of tables in
 * the peer's memory. They are those of librdmacm, with which rsockets can connect.
 */
#ifndef RCL_RSOCKET_WIRE_H
#define RCL_RSOCKET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** RCL_HELLO_LEN - bytes of struct rcl_hello in the private data of a REQ and a REP */
#define RCL_HELLO_LEN 40

/** RCL_HELLO_IB - bytes in front of it in a REQ over AF_IB, for the header of the IP CM service */
#define RCL_HELLO_IB 36

/** RCL_SGL_ENTRIES - entries of the array that announces to the peer where it may write */
#define RCL_SGL_ENTRIES 2

/**
 * struct rcl_target - a range of memory into which the other end may write
 * @addr: its address
 * @key: the rkey of its memory region
 * @len: bytes; 0: none
 *
 * This is also the layout in memory, in the byte order of the host whose memory it is.
 */
struct rcl_target {
	uint64_t addr;
	uint32_t key;
	uint32_t len;
};

/**
 * struct rcl_iomap - an entry of the table of mappings: a range that the other end may write to
 *                    directly
 * @offset: its offset for riowrite()
 * @target: the range
 */
struct rcl_iomap {
	uint64_t offset;
	struct rcl_target target;
};

/**
 * struct rcl_hello - private data of a REQ or REP
 * @swap: the sender has the other byte order; ignored by rcl_hello_pack()
 * @credits: messages that the sender can receive before it announces a new limit
 * @iomaps: entries of its table of mappings, which follows the array
 * @librdmacm: the sender is librdmacm, whose array and data are in two memory regions, and not this
 *             library, where they are in one; ignored by rcl_hello_pack()
 * @sgl: its array of struct rcl_target; @sgl.len is the number of entries
 * @data: the first range for data
 */
struct rcl_hello {
	bool swap;
	uint16_t credits;
	uint32_t iomaps;
	bool librdmacm;
	struct rcl_target sgl;
	struct rcl_target data;
};

/**
 * rcl_hello_pack - write the private data of a REQ or REP
 * @wire: RCL_HELLO_LEN bytes
 * @hello: the content; @hello->iomaps is a result of rcl_iomaps_round()
 */
void rcl_hello_pack(uint8_t *wire, const struct rcl_hello *hello);

/**
 * rcl_hello_unpack - read the private data of a REQ or REP
 * @hello: filled in
 * @wire: the private data
 * @len: its length
 *
 * Return: 0; -ENOTSUP: another version; -EPROTO: too short, or no valid array
 */
int rcl_hello_unpack(struct rcl_hello *hello, const uint8_t *wire, size_t len);

/**
 * rcl_iomaps_round - round a number of mappings up to one that a hello can express
 * @wanted: the number
 *
 * Return: the smallest such number that is at least @wanted; at most 32,512
 */
uint32_t rcl_iomaps_round(uint32_t wanted);

/** rcl_target_swap - the same range in the other byte order */
struct rcl_target rcl_target_swap(struct rcl_target target);

/** rcl_iomap_swap - the same mapping in the other byte order */
struct rcl_iomap rcl_iomap_swap(struct rcl_iomap iomap);

/**
 * enum rcl_msg_type - types of messages
 * @RCL_MSG_DATA: the value is the number of bytes that were written before it
 * @RCL_MSG_CREDIT: the low 16 bits are the number of data messages up to which the peer may send;
 *                  an entry of the array may have been written before it
 * @RCL_MSG_IOMAP: the value is the index of a mapping that was written before it
 * @RCL_MSG_CONTROL: the value is an &enum rcl_control
 */
enum rcl_msg_type {
	RCL_MSG_DATA = 0,
	RCL_MSG_CREDIT = 4,
	RCL_MSG_IOMAP = 6,
	RCL_MSG_CONTROL = 7,
};

/**
 * enum rcl_control - values of RCL_MSG_CONTROL
 * @RCL_CONTROL_DISCONNECT: the sender neither sends nor receives any more
 * @RCL_CONTROL_PROBE: never in a message; a write of 0 bytes, which the program does not notice
 * @RCL_CONTROL_SHUTDOWN: the sender sends no more
 */
enum rcl_control {
	RCL_CONTROL_DISCONNECT = 0,
	RCL_CONTROL_PROBE = 1,
	RCL_CONTROL_SHUTDOWN = 2,
};

/* The largest value of a message. */
#define RCL_MSG_MAX 0x1fffffffU

/** rcl_msg - a message of a type and a value, host byte order */
static inline uint32_t rcl_msg(enum rcl_msg_type type, uint32_t value)
{
	return (uint32_t)type << 29 | (value & RCL_MSG_MAX);
}

/** rcl_msg_type - the type of a message; others than those of &enum rcl_msg_type are reserved */
static inline unsigned int rcl_msg_type(uint32_t msg)
{
	return msg >> 29;
}

/** rcl_msg_value - the value of a message */
static inline uint32_t rcl_msg_value(uint32_t msg)
{
	return msg & RCL_MSG_MAX;
}

#endif /* RCL_RSOCKET_WIRE_H */
