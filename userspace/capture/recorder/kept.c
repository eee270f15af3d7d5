// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The last messages of each port, in a file of fixed slots. The file begins with struct kept_head;
 * the area of each port follows and is added with its first message. One process writes; others
 * copy it at any time, also after that process was killed.
 */
#include "capture/recorder/kept.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/recorder/stored.h"

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
 * A reader may copy a slot while it is being written, and detects this by the number. So the writer
 * clears the number before it writes the words, and the reader checks it again after reading them.
 */
typedef unsigned long __attribute__((may_alias)) kept_word;

/*
 * struct kept_slot - a message
 * @number: of the message, counted from 1 over all ports; 0: it is being written
 * @words: a struct record_entry, without frames up to the end of a MAD. Bytes beyond its length and
 *	ties beyond their number may belong to an older message
 */
struct kept_slot {
	uint64_t number;
	kept_word words[];
};

/* struct kept_area - a port; @added: total of its messages; @slots: of kept_slot_bytes() each */
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

static size_t kept_slot_bytes(bool frames)
{
	return sizeof(struct kept_slot) +
	       (frames ? sizeof(struct record_entry) : KEPT_BYTES_AT + RECORD_MAD_LEN);
}

static struct kept_slot *kept_slot(const struct kept_area *area, bool frames, uint64_t index)
{
	return (void *)((char *)area->slots + index * kept_slot_bytes(frames));
}

/* Number of words for a number of bytes. */
static size_t kept_words(size_t bytes)
{
	return (bytes + sizeof(kept_word) - 1) / sizeof(kept_word);
}

static size_t kept_pages(size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static size_t kept_head_bytes(void)
{
	return kept_pages(sizeof(struct kept_head));
}

/* Offset of an area; 64 bits, as the file may be larger than the address space. */
static uint64_t kept_area_at(uint32_t room, bool frames, unsigned int index)
{
	return kept_head_bytes() + (uint64_t)index * kept_bytes(room, frames);
}

/*
 * The lock of the process that adds messages: an open file description lock, which ends with the
 * last descriptor of the file, also when the process is killed.
 */
static struct flock kept_lock(void)
{
	return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
}

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

/* Whether the open file still has this name: another process may have replaced it. */
static bool is_named(int fd, const char *name)
{
	struct stat opened, named;

	return !fstat(fd, &opened) && !stat(name, &named) && opened.st_dev == named.st_dev &&
	       opened.st_ino == named.st_ino;
}

/*
 * Renames the file of an ended process if it has messages, which may show why the process ended, or
 * else deletes it. Returns false if the process is alive, or on an error.
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
	/* A process that started at the same time may have put the new file aside. */
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

/* Writes only the part that the message uses. */
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

	/* Not if another process has replaced the file. */
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

/* Returns false if a length is invalid, which it may be while the slot is being written. */
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
 * Copies a slot. One that is overwritten meanwhile has a newer message, and is skipped. Returns 1;
 * 0 without a message; or -ENOMEM.
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

/* Appends the messages of a port to *count others. */
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

/* Sorts the messages into the copy; frees them without memory for it. */
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
