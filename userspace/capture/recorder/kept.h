/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The last messages of each port, in a file in memory. One process adds messages; another one reads
 * them at any time, also when the first one was killed.
 */
#ifndef CAPTURE_RECORDER_KEPT_H
#define CAPTURE_RECORDER_KEPT_H

#include "capture/format/entry.h"

/* The most messages of a port, and the most ports. */
enum { KEPT_MAX = 100000, KEPT_PORTS = 256 };

/* Length of the name of a file, with its end. */
enum { KEPT_NAME = 64 };

struct kept;

/*
 * kept_name() - the file for this network namespace
 * @name: of KEPT_NAME bytes
 *
 * Return: false: the namespace cannot be found; errno says why
 */
bool kept_name(char *name);

/* kept_old_name() - likewise, of the process before; false: the name is too long */
bool kept_old_name(char *old, const char *name);

/* kept_bytes() - memory for each port, if so many messages are kept, with frames or without */
size_t kept_bytes(uint32_t room, bool frames);

/*
 * kept_create() - begin to keep messages; the file of an ended process gets its old name
 * @name: of the file; its directory is created
 * @room: how many messages of each port are kept: 1 to KEPT_MAX
 * @frames: with frames of trunks, for which there has to be more room
 * @why: what is wrong, of why_len bytes
 *
 * Return: NULL on an error, such as a process that keeps messages there already
 */
struct kept *kept_create(const char *name, uint32_t room, bool frames, char *why, size_t why_len);

/*
 * kept_add() - keep a message; the oldest one of its port is given up if there is no room
 * @ports: @n_ports ports of the recording; the number of drops of each is kept, too
 *
 * Return: 0, or a negative errno: there is no memory for this port, whose next messages are left
 * out without an error; -EINVAL: a frame, without @frames
 */
int kept_add(struct kept *kept, const struct record_port *ports, unsigned int n_ports,
	     const struct record_entry *entry);

/* kept_drops() - note the drops of the ports; as for kept_add() */
void kept_drops(struct kept *kept, const struct record_port *ports, unsigned int n_ports);

/* kept_close() - end; remove: the messages are given up, old ones too; otherwise they stay */
void kept_close(struct kept *kept, bool remove);

/*
 * struct kept_copy - what is kept
 * @room: how many messages of each port are kept
 * @pid: the process that keeps them; 0: it has ended
 * @entries: @count messages in the order in which they were added, for stored_get(); their port is
 *	an index of @ports
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
 * kept_read() - copy what is kept
 *
 * Return: 0, or a negative errno and @why: -ENOENT: nothing is kept. kept_free() frees the copy.
 */
int kept_read(const char *name, struct kept_copy *copy, char *why, size_t why_len);

/*
 * kept_join() - add the messages of another copy
 * @copy: takes the messages of @later behind its own ones; a port of both has both their drops
 *
 * Return: 0, or -ENOMEM: nothing is changed
 */
int kept_join(struct kept_copy *copy, struct kept_copy *later);

void kept_free(struct kept_copy *copy);

#endif /* CAPTURE_RECORDER_KEPT_H */
