/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Common parts of the readers of pcap and pcapng: reading bytes, errors, and messages. */
#ifndef CAPTURE_FORMAT_INPUT_H
#define CAPTURE_FORMAT_INPUT_H

#include "capture/format/entry.h"

/* The longest block or packet of a capture; a greater length is damage. */
#define INPUT_MAX (16u << 20)

/*
 * struct input - a file that is read
 * @offset: of the next byte in the file
 * @at: offset of the current block or packet
 * @bytes: result of input_take()
 * @room: allocated at @bytes
 * @big: numbers have the highest byte first
 * @in_packet: the current block or packet is packet number @total->packets
 * @stopped: the value of each() that ended the reading; 0: it goes on
 */
struct input {
	FILE *from;
	uint64_t offset;
	uint64_t at;
	uint8_t *bytes;
	size_t room;
	bool big;
	bool in_packet;
	int stopped;
	int (*each)(const struct capture_seen *seen, void *arg);
	void *arg;
	struct capture_total *total;
	char *why;
	size_t why_len;
};

uint16_t input_u16(const struct input *in, const uint8_t *at);
uint32_t input_u32(const struct input *in, const uint8_t *at);
uint64_t input_u64(const struct input *in, const uint8_t *at);

/* Sets the error message, which begins with the position; returns @error. */
int input_bad(struct input *in, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Reads at most INPUT_MAX bytes. @before: number of bytes of in->bytes that are kept in front of
 * them. Returns 0, or a negative errno with the message: -ENODATA if the file ends before.
 */
int input_take(struct input *in, size_t before, size_t len);

/* Does the file end here? */
bool input_ends(struct input *in);

/*
 * Adds a port to in->total, and sets @index to its index there, or to CAPTURE_PORTS if there is no
 * room. Returns 0, or -ENOMEM with the message.
 */
int input_port(struct input *in, const struct record_port *port, unsigned int *index);

/*
 * Passes the message of a packet to each(). @seen: number, port and its index, time and way of the
 * packet; its comments are parsed already. @link: type of the link. Returns 0, or the result of
 * each().
 */
int input_packet(struct input *in, struct capture_seen *seen, int link, const uint8_t *bytes,
		 size_t len);

/* The readers of both kinds; called with the first 4 bytes in in->bytes. */
int read_pcapng(struct input *in);
int read_pcap(struct input *in);

/* Whether a file with these first bytes is a pcap file. */
bool is_pcap(const uint8_t *magic);

#endif /* CAPTURE_FORMAT_INPUT_H */
