/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Messages of the connection manager as bytes (IBTA volume 1, 12.6), for tests that play a
 * peer; and random numbers that a seed reproduces.
 */
#ifndef CM_MAD_H
#define CM_MAD_H

#include <stddef.h>
#include <stdint.h>

#define MAD_BYTES 256

/* Attributes; the first one and the last. */
enum {
	CM_REQ = 0x10, CM_MRA, CM_REJ, CM_REP, CM_RTU, CM_DREQ, CM_DREP, CM_SIDR_REQ, CM_SIDR_REP,
	CM_LAP, CM_APR,
};

/* Offsets of the private data. */
enum { CM_REQ_PRIVATE = 164, CM_SIDR_REQ_PRIVATE = 40 };

/**
 * struct cm_way - addresses of a message
 * @slid: LID of the sender
 * @dlid: LID of the receiver
 * @sgid: GID of the sender
 * @dgid: GID of the receiver
 * @src: IPv4 address of the sender, network byte order
 * @dst: IPv4 address of the receiver
 */
struct cm_way {
	uint16_t slid;
	uint16_t dlid;
	uint8_t sgid[16];
	uint8_t dgid[16];
	uint32_t src;
	uint32_t dst;
};

uint32_t draw(uint64_t *state);
uint32_t draw_below(uint64_t *state, uint32_t end);
void draw_bytes(uint64_t *state, void *to, size_t len);

/* A valid message. The service ID is used in requests only. */
void cm_mad_make(uint8_t *mad, uint16_t attr, const struct cm_way *way, uint64_t service_id,
		 uint64_t *state);
/*
 * Give a message of another fabric the path and the IP CM header of this one, which a recorder may
 * have removed. The rest stays.
 */
void cm_mad_move(uint8_t *mad, const struct cm_way *way, uint64_t *state);
/* Write a number of some bytes at an offset. */
void cm_mad_put(uint8_t *mad, unsigned int at, unsigned int bytes, uint64_t value);
/* Change some random bytes at or after the offset @from. */
void cm_mad_mutate(uint8_t *mad, unsigned int from, uint64_t *state);

#endif /* CM_MAD_H */
