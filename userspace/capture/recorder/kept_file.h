/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The file of kept messages, for kept.c, which writes it, and kept_copy.c, which reads it. It
 * begins with struct kept_head; an area for each port follows, added with its first message.
 */
#ifndef CAPTURE_RECORDER_KEPT_FILE_H
#define CAPTURE_RECORDER_KEPT_FILE_H

#include <assert.h>
#include <fcntl.h>
#include <unistd.h>

#include "capture/recorder/kept.h"

#define KEPT_MAGIC	0x325450454b414352ULL	/* "RCAKEPT2" */

/*
 * struct kept_head - the beginning of the file
 * @magic: set last
 * @entry_size: of struct record_entry, which another version of the program may have changed
 * @n_ports: areas that are complete
 * @frames: 1: slots have room for frames; 0: for MADs only
 */
struct kept_head {
	uint64_t magic;
	uint32_t entry_size;
	uint32_t room;
	uint32_t pid;
	uint32_t n_ports;
	uint32_t frames;
};

/*
 * The reader may copy a slot while it is written, and then sees by its number that it was. So each
 * word is written after the number was cleared, and read before it is looked at again.
 */
typedef unsigned long __attribute__((may_alias)) kept_word;

/*
 * struct kept_slot - a message
 * @number: of the message, from 1 in order of all ports; 0: it is being written
 * @words: of a struct record_entry, without frames up to the end of a MAD; the bytes beyond its
 *	length and the ties beyond their number may be those of an older message
 */
struct kept_slot {
	uint64_t number;
	kept_word words[];
};

/* struct kept_area - a port; @added: its messages so far; @slots: each of kept_slot_bytes() */
struct kept_area {
	struct record_port port;
	uint64_t added;
	uint64_t slots[];
};

enum {
	KEPT_BYTES_AT = offsetof(struct record_entry, bytes),
	KEPT_TIES_AT = offsetof(struct record_entry, ties),
};

static_assert(sizeof(struct record_entry) % sizeof(kept_word) == 0 &&
	      KEPT_BYTES_AT % sizeof(kept_word) == 0 && KEPT_TIES_AT % sizeof(kept_word) == 0 &&
	      sizeof(struct record_tie) % sizeof(kept_word) == 0, "an entry is of words");

static inline size_t kept_slot_bytes(bool frames)
{
	return sizeof(struct kept_slot) +
	       (frames ? sizeof(struct record_entry) : KEPT_BYTES_AT + RECORD_MAD_LEN);
}

static inline struct kept_slot *kept_slot(const struct kept_area *area, bool frames, uint64_t index)
{
	return (void *)((char *)area->slots + index * kept_slot_bytes(frames));
}

/* How many words have so many bytes. */
static inline size_t kept_words(size_t bytes)
{
	return (bytes + sizeof(kept_word) - 1) / sizeof(kept_word);
}

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
static inline uint64_t kept_area_at(uint32_t room, bool frames, unsigned int index)
{
	return kept_head_bytes() + (uint64_t)index * kept_bytes(room, frames);
}

/*
 * The process that adds messages holds this lock. Locks of open files end with the last descriptor
 * of them, also when a process is killed.
 */
static inline struct flock kept_lock(void)
{
	return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
}

#endif /* CAPTURE_RECORDER_KEPT_FILE_H */
