/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The file of kept messages, for kept.c, which writes it, and kept_copy.c, which reads it. It
 * begins with struct kept_head; an area for each port follows, added with its first message.
 */
#ifndef TOOL_CAPTURE_KEPT_FILE_H
#define TOOL_CAPTURE_KEPT_FILE_H

#include <assert.h>
#include <fcntl.h>
#include <unistd.h>

#include "tool/capture/kept.h"

#define KEPT_MAGIC	0x315450454b414352ULL	/* "RCAKEPT1" */

/*
 * struct kept_head - the beginning of the file
 * @magic: set last
 * @entry_size: of struct record_entry, which another version of the program may have changed
 * @n_ports: areas that are complete
 */
struct kept_head {
	uint64_t magic;
	uint32_t entry_size;
	uint32_t room;
	uint32_t pid;
	uint32_t n_ports;
};

/*
 * struct kept_slot - a message
 * @number: of the message, from 1 in order of all ports; 0: it is being written
 */
struct kept_slot {
	uint64_t number;
	struct record_entry entry;
};

/* struct kept_area - a port; @added: its messages so far */
struct kept_area {
	struct record_port port;
	uint64_t added;
	struct kept_slot slots[];
};

/*
 * The reader may copy a slot while it is written, and then sees by its number that it was. So each
 * word is written after the number was cleared, and read before it is looked at again.
 */
typedef uint32_t __attribute__((may_alias)) kept_word;

enum { KEPT_ENTRY_WORDS = sizeof(struct record_entry) / sizeof(kept_word) };

static_assert(sizeof(struct record_entry) % sizeof(kept_word) == 0, "an entry is of words");

static inline size_t kept_pages(size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static inline size_t kept_head_bytes(void)
{
	return kept_pages(sizeof(struct kept_head));
}

/* Where an area begins; the file may be longer than memory that can be mapped at once. */
static inline uint64_t kept_area_at(uint32_t room, unsigned int index)
{
	return kept_head_bytes() + (uint64_t)index * kept_bytes(room);
}

/*
 * The process that adds messages holds this lock. Locks of open files end with the last descriptor
 * of them, also when a process is killed.
 */
static inline struct flock kept_lock(void)
{
	return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
}

#endif /* TOOL_CAPTURE_KEPT_FILE_H */
