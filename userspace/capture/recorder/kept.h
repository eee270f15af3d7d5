/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The last messages of each port, in a file in memory. One process adds messages; others can read
 * them at any time, also after that process was killed.
 */
#ifndef CAPTURE_RECORDER_KEPT_H
#define CAPTURE_RECORDER_KEPT_H

#include "capture/format/entry.h"

/* Largest number of messages of a port, and of ports. */
enum { KEPT_MAX = 100000, KEPT_PORTS = 256 };

/* Length of the name of a file, with its end. */
enum { KEPT_NAME = 64 };

struct kept;

/*
 * The name of the file for this network namespace: KEPT_NAME bytes. False with errno: the namespace
 * cannot be found.
 */
bool kept_name(char *name);

/* Likewise, of the previous process; false: the name is too long. */
bool kept_old_name(char *old, const char *name);

/* Memory per port for @room messages, with or without frames. */
size_t kept_bytes(uint32_t room, bool frames);

/*
 * Creates the file and its directory; the file of an ended process is renamed to kept_old_name().
 * Keeps 1 to KEPT_MAX messages of each port, with @frames those of trunks, too, which need larger
 * slots. Returns NULL with @why (of @why_len bytes) on an error, for example if another process
 * keeps messages there.
 */
struct kept *kept_create(const char *name, uint32_t room, bool frames, char *why, size_t why_len);

/*
 * Adds a message, in place of the oldest one of its port if there is no room, and stores the drops
 * of the ports of the recording. Returns 0; -EINVAL: a frame, without @frames; another negative
 * errno: there is no memory for the port, whose further messages are ignored.
 */
int kept_add(struct kept *kept, const struct record_port *ports, unsigned int n_ports,
	     const struct record_entry *entry);

/* Stores the drops of the ports, as kept_add(). */
void kept_drops(struct kept *kept, const struct record_port *ports, unsigned int n_ports);

/* Closes the file; @remove: deletes it and the old one. */
void kept_close(struct kept *kept, bool remove);

/*
 * struct kept_copy - a copy of the file
 * @room: number of messages of each port that are kept
 * @pid: the process that adds messages; 0: it has ended
 * @entries: @count messages in their order, for stored_get(); their port is an index of @ports
 */
struct kept_copy {
	uint32_t room;
	uint32_t pid;
	unsigned int n_ports;
	struct record_port *ports;
	size_t count;
	struct record_entry **entries;
};

/*
 * Copies the file. Returns 0, or a negative errno with @why: -ENOENT: there is no file. kept_free()
 * frees the copy.
 */
int kept_read(const char *name, struct kept_copy *copy, char *why, size_t why_len);

/*
 * Moves the messages of @later behind those of @copy; drops of common ports are added. Returns 0,
 * or -ENOMEM without a change.
 */
int kept_join(struct kept_copy *copy, struct kept_copy *later);

void kept_free(struct kept_copy *copy);

#endif /* CAPTURE_RECORDER_KEPT_H */
