/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Options of rdma-cm-alt record. */
#ifndef CAPTURE_FORMAT_OPTIONS_H
#define CAPTURE_FORMAT_OPTIONS_H

#include "capture/format/entry.h"

/*
 * struct record_options - messages to record, or to print from a file, and their form
 * @read_from: name of a file that is printed; NULL: record
 * @write_to: name of the file that is written; NULL: none
 * @text: print each message
 * @all: messages of stock and other users of ib_cm, too
 * @trunks: frames of trunks, too
 * @private_data: with private data
 * @keep: number of the last messages of each port that are kept in memory; 0: none
 * @buffer: kB of the buffer for messages that are not read yet; 0: the default
 * @count: number of messages after which the recording ends; 0: no limit
 * @packet: print this packet with all its fields; 0: all packets, a line each
 * @device: "": any; @port: 0: any port of it
 * @id: its handle is 0: any
 * @pid: 0: any
 * @program: NULL: any
 */
struct record_options {
	const char *read_from;
	const char *write_to;
	bool text;
	bool all;
	bool trunks;
	bool private_data;
	uint32_t keep;
	uint32_t buffer;
	uint32_t count;
	uint32_t packet;
	char device[64];
	uint32_t port;
	struct record_id id;
	uint32_t pid;
	const char *program;
};

/* options_number() - take a number of 1 to UINT32_MAX; false: no such number; nothing is set */
bool options_number(const char *arg, uint32_t *number);

/* options_id() - take CONTEXT/HANDLE, which need not be of this host; likewise */
bool options_id(const char *arg, struct record_id *id);

/* options_device() - take DEVICE or DEVICE/PORT, which need not be of this host; likewise */
bool options_device(struct record_options *options, const char *arg);

/* record_matches() - whether a message passes the filters of device, port, id, pid and program */
bool record_matches(const struct record_options *options, const struct record_port *port,
		    const struct record_entry *entry);

#endif /* CAPTURE_FORMAT_OPTIONS_H */
