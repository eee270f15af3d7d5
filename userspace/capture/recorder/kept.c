// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Keeps the last messages of each port in a file of fixed slots, whose form is in kept_file.h. */
#include "capture/recorder/kept.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "capture/recorder/kept_file.h"

#define DIRECTORY	"/run/rdma_cm_alt"

enum { NO_AREA = -1, NO_MEMORY = -2 };

struct kept {
	char *name;
	int fd;
	struct kept_head *head;
	uint32_t room;
	bool frames;
	uint64_t number;
	unsigned int n_areas;
	struct kept_area *areas[KEPT_PORTS];
	int area_of[KEPT_PORTS];	/* index of a port of the recording: its area */
};

size_t kept_bytes(uint32_t room, bool frames)
{
	return kept_pages(sizeof(struct kept_area) + room * kept_slot_bytes(frames));
}

bool kept_name(char *name)
{
	struct stat stat_net;

	if (stat("/proc/self/ns/net", &stat_net))
		return false;
	snprintf(name, KEPT_NAME, DIRECTORY "/kept-%lu", (unsigned long)stat_net.st_ino);
	return true;
}

bool kept_old_name(char *old, const char *name)
{
	return snprintf(old, KEPT_NAME, "%s.old", name) < KEPT_NAME;
}

static bool lock(int fd)
{
	struct flock whole = kept_lock();

	return !fcntl(fd, F_OFD_SETLK, &whole);
}

static bool make_directory(const char *name)
{
	char *copy = strdup(name);
	bool made = copy && (!mkdir(dirname(copy), 0755) || errno == EEXIST);

	free(copy);
	return made;
}

/* Whether the name is still that of the open file, which another process may have replaced. */
static bool is_named(int fd, const char *name)
{
	struct stat opened, named;

	return !fstat(fd, &opened) && !stat(name, &named) && opened.st_dev == named.st_dev &&
	       opened.st_ino == named.st_ino;
}

/*
 * Puts the file of an ended process aside, if it has messages: they may tell why it has ended.
 * Returns false if its process runs, or on an error.
 */
static bool put_aside(const char *name, uint32_t *pid)
{
	int fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct kept_head head = { 0 };
	char old[KEPT_NAME];
	bool gone;

	*pid = 0;
	if (fd < 0)
		return errno == ENOENT;
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head))
		head = (struct kept_head){ 0 };
	gone = lock(fd);
	if (!gone)
		*pid = head.pid;
	else if (is_named(fd, name))
		gone = head.n_ports && kept_old_name(old, name) ? !rename(name, old) :
								   !unlink(name);
	close(fd);
	return gone;
}

static void *map(int fd, off_t at, size_t bytes)
{
	int ret = posix_fallocate(fd, at, bytes);
	void *mapped;

	if (ret) {
		errno = ret;
		return NULL;
	}
	mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
	return mapped == MAP_FAILED ? NULL : mapped;
}

static bool create_ring(struct kept *kept)
{
	kept->fd = open(kept->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (kept->fd < 0 || !lock(kept->fd))
		return false;
	/* Another process that has just started may have taken it for that of an ended one. */
	if (!is_named(kept->fd, kept->name)) {
		errno = EAGAIN;
		return false;
	}
	kept->head = map(kept->fd, 0, kept_head_bytes());
	if (!kept->head)
		return false;
	kept->head->entry_size = sizeof(struct record_entry);
	kept->head->room = kept->room;
	kept->head->pid = getpid();
	kept->head->frames = kept->frames;
	__atomic_store_n(&kept->head->magic, KEPT_MAGIC, __ATOMIC_RELEASE);
	return true;
}

struct kept *kept_create(const char *name, uint32_t room, bool frames, char *why, size_t why_len)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	uint32_t pid;

	if (kept)
		*kept = (struct kept){
			.name = strdup(name), .fd = -1, .room = room, .frames = frames,
		};
	if (!kept || !kept->name) {
		snprintf(why, why_len, "there is no memory");
	} else if (!make_directory(name)) {
		snprintf(why, why_len, "the directory of %s cannot be created: %m", name);
	} else if (!put_aside(name, &pid)) {
		if (pid)
			snprintf(why, why_len, "process %u keeps messages already, in %s", pid,
				 name);
		else
			snprintf(why, why_len,
				 "%s, which is there already, cannot be put aside: %m", name);
	} else if (!create_ring(kept)) {
		snprintf(why, why_len, "%s cannot be created: %m", name);
	} else {
		memset(kept->area_of, NO_AREA, sizeof(kept->area_of));
		return kept;
	}
	if (kept)
		kept_close(kept, kept->fd >= 0);
	return NULL;
}

static void put_words(struct kept_slot *slot, size_t at, const void *from, size_t bytes)
{
	kept_word *to = slot->words + at / sizeof(kept_word);

	for (size_t i = 0; i < kept_words(bytes); i++)
		__atomic_store_n(to + i, ((const kept_word *)from)[i], __ATOMIC_RELEASE);
}

/* Only what the message uses is written. */
static void put_entry(struct kept_slot *slot, const struct record_entry *entry, uint32_t port)
{
	kept_word head[KEPT_BYTES_AT / sizeof(kept_word)];

	memcpy(head, entry, sizeof(head));
	memcpy((char *)head + offsetof(struct record_entry, port), &port, sizeof(port));
	put_words(slot, 0, head, sizeof(head));
	put_words(slot, KEPT_BYTES_AT, entry->bytes, entry->len);
	put_words(slot, KEPT_TIES_AT, entry->ties, entry->n_ties * sizeof(entry->ties[0]));
}

static int add_area(struct kept *kept, unsigned int port)
{
	size_t bytes = kept_bytes(kept->room, kept->frames);
	uint64_t at = kept_area_at(kept->room, kept->frames, kept->n_areas);
	struct kept_area *area = map(kept->fd, at, bytes);

	if (!area)
		return -errno;
	kept->area_of[port] = kept->n_areas;
	kept->areas[kept->n_areas++] = area;
	return 0;
}

int kept_add(struct kept *kept, const struct record_port *ports, unsigned int n_ports,
	     const struct record_entry *entry)
{
	unsigned int port = entry->port;
	struct kept_area *area;
	struct kept_slot *slot;
	bool is_new;

	if (port >= n_ports || port >= KEPT_PORTS)
		return -ERANGE;
	if (entry->len > record_longest(entry->kind) || entry->n_ties > RECORD_TIES ||
	    (!kept->frames && (entry->kind != RECORD_CM || entry->n_ties)))
		return -EINVAL;
	if (kept->area_of[port] == NO_MEMORY)
		return 0;
	is_new = kept->area_of[port] == NO_AREA;
	if (is_new) {
		int ret = add_area(kept, port);

		if (ret) {
			kept->area_of[port] = NO_MEMORY;
			return ret;
		}
		kept->areas[kept->area_of[port]]->port = ports[port];
	}
	area = kept->areas[kept->area_of[port]];
	slot = kept_slot(area, kept->frames, area->added++ % kept->room);
	__atomic_store_n(&slot->number, 0, __ATOMIC_RELAXED);
	put_entry(slot, entry, kept->area_of[port]);
	__atomic_store_n(&slot->number, ++kept->number, __ATOMIC_RELEASE);
	if (is_new)
		__atomic_store_n(&kept->head->n_ports, kept->n_areas, __ATOMIC_RELEASE);
	return 0;
}

void kept_drops(struct kept *kept, const struct record_port *ports, unsigned int n_ports)
{
	for (unsigned int i = 0; i < n_ports && i < KEPT_PORTS; i++)
		if (kept->area_of[i] >= 0)
			__atomic_store_n(&kept->areas[kept->area_of[i]]->port.dropped,
					 ports[i].dropped, __ATOMIC_RELAXED);
}

void kept_close(struct kept *kept, bool remove)
{
	char old[KEPT_NAME];

	/* Not the file of a process that has replaced this one. */
	if (remove && is_named(kept->fd, kept->name))
		unlink(kept->name);
	if (remove && kept->head && kept_old_name(old, kept->name))
		unlink(old);
	for (unsigned int i = 0; i < kept->n_areas; i++)
		munmap(kept->areas[i], kept_bytes(kept->room, kept->frames));
	if (kept->head)
		munmap(kept->head, kept_head_bytes());
	if (kept->fd >= 0)
		close(kept->fd);
	free(kept->name);
	free(kept);
}
