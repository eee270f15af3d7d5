/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A played host of the software adapter's fabric (tests/fabric/hca/fabric/host.c), and what it
 * knows of the identifiers of both sides.
 */
#ifndef WIRE_HOST_H
#define WIRE_HOST_H

#include "sequences.h"

#define NAMES 64

/* An identifier of a capture and the one of this run. */
struct name {
	uint8_t part;
	uint32_t recorded;
	uint32_t real;
};

/* Identifiers of one kind. */
struct names {
	unsigned int count;
	struct name all[NAMES];
};

/**
 * struct host - a host and the messages that it has exchanged in a turn
 * @number: of the host
 * @fd: its file
 * @way: addresses of what it sends
 * @tcp: port of our listener for connections
 * @udp: port of our listener for datagrams
 * @exact: all requests are for the listeners
 * @base: the host chooses its identifiers from this one on
 * @guid: of its adapter
 * @peers: communication IDs that the host has chosen
 * @ours: those of our stack
 * @qps: numbers of our QPs
 * @sequence: what is played
 * @received: kinds of messages that have come, a bit each
 */
struct host {
	unsigned int number;
	int fd;
	struct cm_way way;
	uint16_t tcp;
	uint16_t udp;
	bool exact;
	uint32_t base;
	uint64_t guid;
	struct names peers;
	struct names ours;
	struct names qps;
	const struct sequence *sequence;
	unsigned int received;
};

/* Join the fabric as host @number; the address is 10.8.0.(100 + @number). */
void host_open(struct host *host, unsigned int number);
/* Forget the last turn, and begin one with identifiers that no other turn has had. */
void host_begin(struct host *host, const struct sequence *sequence, uint32_t turn);
/* Send a message of the sequence, with the identifiers of this run; @state for ports. */
void host_send(struct host *host, const struct step *step, uint64_t *state);
/*
 * Take the next message of our stack and learn its identifiers. It answers disconnects of earlier
 * turns. False: there is no message.
 */
bool host_receive(struct host *host, uint8_t *mad);
/* Whether our stack has sent a message with this identifier of the capture. */
bool host_knows(const struct host *host, unsigned int part, uint32_t recorded);
/* Whether our stack has told the QP of a DREQ. */
bool host_knows_qp(const struct host *host, const struct step *dreq);
/* The identifiers of both sides in this run that a message of the peer has. */
uint32_t host_peer(const struct host *host, const struct step *step);
uint32_t host_ours(const struct host *host, const struct step *step);

/* The number of some bytes of a message. */
uint32_t mad_number(const uint8_t *mad, unsigned int at, unsigned int bytes);

#endif /* WIRE_HOST_H */
