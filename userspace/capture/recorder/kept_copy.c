// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Copies what is kept, while messages are added or after their process has ended. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "capture/recorder/kept_file.h"
#include "capture/recorder/stored.h"

/* struct taken - a message of a copy, before they are in order; @stored: as of stored.h */
struct taken {
	uint64_t number;
	struct record_entry *stored;
};

static void get_words(const struct kept_slot *slot, size_t at, void *to, size_t bytes)
{
	const kept_word *from = slot->words + at / sizeof(kept_word);

	for (size_t i = 0; i < kept_words(bytes); i++)
		((kept_word *)to)[i] = __atomic_load_n(from + i, __ATOMIC_ACQUIRE);
}

/* Returns whether the lengths are those of a slot; they may be anything while it is written. */
static bool get_entry(const struct kept_slot *slot, bool frames, struct record_entry *entry)
{
	get_words(slot, 0, entry, KEPT_BYTES_AT);
	if (entry->len > record_longest(frames ? entry->kind : RECORD_CM) ||
	    entry->n_ties > (frames ? RECORD_TIES : 0))
		return false;
	get_words(slot, KEPT_BYTES_AT, entry->bytes, entry->len);
	get_words(slot, KEPT_TIES_AT, entry->ties, entry->n_ties * sizeof(entry->ties[0]));
	return true;
}

/*
 * A slot that is written meanwhile has a newer message, and is left out. Returns 1, 0 without a
 * message, or -ENOMEM.
 */
static int take_slot(const struct kept_slot *slot, bool frames, uint32_t port, struct taken *taken)
{
	struct record_entry entry;

	taken->number = __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE);
	if (!taken->number || !get_entry(slot, frames, &entry) ||
	    __atomic_load_n(&slot->number, __ATOMIC_RELAXED) != taken->number ||
	    entry.port != port)
		return 0;
	taken->stored = stored_new(&entry);
	return taken->stored ? 1 : -ENOMEM;
}

static int by_number(const void *a, const void *b)
{
	uint64_t left = ((const struct taken *)a)->number;
	uint64_t right = ((const struct taken *)b)->number;

	return left < right ? -1 : left > right;
}

/* Takes the messages of a port, behind *count others. */
static int take_area(const struct kept_area *area, const struct kept_head *head, uint32_t port,
		     struct taken **all, size_t *count)
{
	struct taken *more = reallocarray(*all, *count + head->room, sizeof(*more));
	int ret = more ? 0 : -ENOMEM;

	if (more)
		*all = more;
	for (uint32_t i = 0; i < head->room && ret >= 0; i++) {
		ret = take_slot(kept_slot(area, head->frames, i), head->frames, port,
				&more[*count]);
		if (ret > 0)
			++*count;
	}
	return ret < 0 ? ret : 0;
}

/* Puts the messages in order; those that are not copied are freed. */
static int copy_entries(struct kept_copy *copy, struct taken *all, size_t count)
{
	copy->entries = calloc(count + 1, sizeof(*copy->entries));
	if (count)
		qsort(all, count, sizeof(*all), by_number);
	for (size_t i = 0; i < count; i++)
		if (copy->entries)
			copy->entries[copy->count++] = all[i].stored;
		else
			free(all[i].stored);
	return copy->entries ? 0 : -ENOMEM;
}

static int copy_areas(struct kept_copy *copy, const struct kept_head *head, const char *areas)
{
	struct taken *all = NULL;
	size_t count = 0;
	int ret = 0, ret_entries;

	copy->ports = calloc(copy->n_ports + 1, sizeof(*copy->ports));
	if (!copy->ports)
		return -ENOMEM;
	for (unsigned int i = 0; i < copy->n_ports && !ret; i++) {
		const struct kept_area *area =
			(const void *)(areas + i * kept_bytes(head->room, head->frames));

		copy->ports[i] = area->port;
		copy->ports[i].device[sizeof(copy->ports[i].device) - 1] = '\0';
		ret = take_area(area, head, i, &all, &count);
	}
	ret_entries = copy_entries(copy, all, count);
	free(all);
	return ret ?: ret_entries;
}

static bool is_good(const struct kept_head *head, uint64_t bytes)
{
	return head->magic == KEPT_MAGIC && head->entry_size == sizeof(struct record_entry) &&
	       head->room && head->room <= KEPT_MAX && head->n_ports <= KEPT_PORTS &&
	       head->frames <= 1 &&
	       bytes >= kept_area_at(head->room, head->frames, head->n_ports);
}

static bool is_locked(int fd)
{
	struct flock whole = kept_lock();

	return !fcntl(fd, F_OFD_GETLK, &whole) && whole.l_type != F_UNLCK;
}

static int copy_file(int fd, struct kept_copy *copy, const char *name, char *why, size_t why_len)
{
	struct kept_head head;
	size_t bytes;
	char *file;
	int ret;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) || !head.magic) {
		snprintf(why, why_len, "%s is being created: try again", name);
		return -EAGAIN;
	}
	bytes = lseek(fd, 0, SEEK_END);
	if (!is_good(&head, bytes)) {
		snprintf(why, why_len, "%s is of another version of rdma-cm-alt, or damaged", name);
		return -EBADMSG;
	}
	copy->room = head.room;
	copy->n_ports = head.n_ports;
	if (is_locked(fd))
		copy->pid = head.pid;
	file = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	ret = file == MAP_FAILED ? -errno : copy_areas(copy, &head, file + kept_head_bytes());
	if (file != MAP_FAILED)
		munmap(file, bytes);
	if (ret)
		snprintf(why, why_len, "%s cannot be read: %s", name, strerror(-ret));
	return ret;
}

int kept_read(const char *name, struct kept_copy *copy, char *why, size_t why_len)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int ret;

	*copy = (struct kept_copy){ 0 };
	if (fd < 0) {
		ret = -errno;
		if (ret == -ENOENT)
			snprintf(why, why_len, "no messages are kept: "
				 "rdma-cm-alt record --keep NUMBER");
		else
			snprintf(why, why_len, "%s cannot be opened: %s", name, strerror(-ret));
		return ret;
	}
	ret = copy_file(fd, copy, name, why, why_len);
	close(fd);
	if (ret)
		kept_free(copy);
	return ret;
}

/* The index of a port in a copy that has room for it. */
static unsigned int add_port(struct kept_copy *copy, const struct record_port *port)
{
	for (unsigned int i = 0; i < copy->n_ports; i++)
		if (copy->ports[i].port == port->port &&
		    !strcmp(copy->ports[i].device, port->device)) {
			copy->ports[i].dropped += port->dropped;
			return i;
		}
	copy->ports[copy->n_ports] = *port;
	return copy->n_ports++;
}

int kept_join(struct kept_copy *copy, struct kept_copy *later)
{
	struct record_port *ports;
	struct record_entry **entries;
	unsigned int index[KEPT_PORTS];

	ports = reallocarray(copy->ports, copy->n_ports + later->n_ports + 1, sizeof(*ports));
	if (!ports)
		return -ENOMEM;
	copy->ports = ports;
	entries = reallocarray(copy->entries, copy->count + later->count + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	copy->entries = entries;
	for (unsigned int i = 0; i < later->n_ports; i++)
		index[i] = add_port(copy, &later->ports[i]);
	for (size_t i = 0; i < later->count; i++) {
		entries[copy->count] = later->entries[i];
		entries[copy->count++]->port = index[later->entries[i]->port];
	}
	later->count = 0;
	if (copy->room < later->room)
		copy->room = later->room;
	copy->pid = later->pid;
	return 0;
}

void kept_free(struct kept_copy *copy)
{
	free(copy->ports);
	for (size_t i = 0; i < copy->count; i++)
		free(copy->entries[i]);
	free(copy->entries);
	*copy = (struct kept_copy){ 0 };
}
