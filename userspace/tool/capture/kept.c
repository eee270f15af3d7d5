// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Keeps the last messages of each port in a file of fixed slots. The file begins with struct head;
 * an area for each port follows, which is added with its first message. The lock of the file is
 * held as long as its process adds messages.
 */
#include "tool/capture/kept.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY	"/run/rdma_cm_alt"
#define MAGIC		0x315450454b414352ULL	/* "RCAKEPT1" */

enum { NO_AREA = -1 };

/*
 * struct head - the beginning of the file
 * @magic: set last
 * @entry_size: of struct record_entry, which another version of the program may have changed
 * @n_ports: areas that are complete
 */
struct head {
	uint64_t magic;
	uint32_t entry_size;
	uint32_t room;
	uint32_t pid;
	uint32_t n_ports;
};

/* struct slot - @number: of the message, from 1 in order of all ports; 0: it is being written */
struct slot {
	uint64_t number;
	struct record_entry entry;
};

/* struct area - a port; @added: its messages so far */
struct area {
	struct record_port port;
	uint64_t added;
	struct slot slots[];
};

struct kept {
	char *name;
	int fd;
	struct head *head;
	uint32_t room;
	uint64_t number;
	unsigned int n_areas;
	struct area *areas[KEPT_PORTS];
	int area_of[KEPT_PORTS];	/* index of a port of the recording: its area */
};

static size_t pages(size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static size_t head_bytes(void)
{
	return pages(sizeof(struct head));
}

/* Where an area begins; the file may be longer than memory that can be mapped at once. */
static uint64_t area_at(uint32_t room, unsigned int index)
{
	return head_bytes() + (uint64_t)index * kept_bytes(room);
}

/* Locks of open files end with the last descriptor of them, also when a process is killed. */
static struct flock whole_file(void)
{
	return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
}

static bool lock(int fd)
{
	struct flock whole = whole_file();

	return !fcntl(fd, F_OFD_SETLK, &whole);
}

static bool is_locked(int fd)
{
	struct flock whole = whole_file();

	return !fcntl(fd, F_OFD_GETLK, &whole) && whole.l_type != F_UNLCK;
}

size_t kept_bytes(uint32_t room)
{
	return pages(sizeof(struct area) + room * sizeof(struct slot));
}

bool kept_name(char *name, size_t len)
{
	struct stat stat_net;

	if (stat("/proc/self/ns/net", &stat_net))
		return false;
	snprintf(name, len, DIRECTORY "/kept-%lu", (unsigned long)stat_net.st_ino);
	return true;
}

static bool make_directory(const char *name)
{
	char *copy = strdup(name);
	bool made = copy && (!mkdir(dirname(copy), 0755) || errno == EEXIST);

	free(copy);
	return made;
}

/* Removes the file of an ended process. Returns false if its process runs. */
static bool remove_old(const char *name, uint32_t *pid)
{
	int fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct head head = { 0 };
	bool removed;

	*pid = 0;
	if (fd < 0)
		return errno == ENOENT;
	removed = lock(fd);
	if (removed)
		removed = !unlink(name);
	else if (pread(fd, &head, sizeof(head), 0) == sizeof(head))
		*pid = head.pid;
	close(fd);
	return removed;
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

static bool create_file(struct kept *kept)
{
	kept->fd = open(kept->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (kept->fd < 0 || !lock(kept->fd))
		return false;
	kept->head = map(kept->fd, 0, head_bytes());
	if (!kept->head)
		return false;
	kept->head->entry_size = sizeof(struct record_entry);
	kept->head->room = kept->room;
	kept->head->pid = getpid();
	__atomic_store_n(&kept->head->magic, MAGIC, __ATOMIC_RELEASE);
	return true;
}

struct kept *kept_create(const char *name, uint32_t room, char *why, size_t why_len)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	uint32_t pid;

	if (kept)
		*kept = (struct kept){ .name = strdup(name), .fd = -1, .room = room };
	if (!kept || !kept->name) {
		snprintf(why, why_len, "there is no memory");
	} else if (!make_directory(name)) {
		snprintf(why, why_len, "the directory of %s cannot be created: %m", name);
	} else if (!remove_old(name, &pid)) {
		if (pid)
			snprintf(why, why_len, "process %u keeps messages already, in %s", pid,
				 name);
		else
			snprintf(why, why_len, "%s, which is there already, cannot be removed: %m",
				 name);
	} else if (!create_file(kept)) {
		snprintf(why, why_len, "%s cannot be created: %m", name);
	} else {
		memset(kept->area_of, NO_AREA, sizeof(kept->area_of));
		return kept;
	}
	if (kept)
		kept_close(kept, kept->fd >= 0);
	return NULL;
}

/*
 * The reader may copy a slot while it is written, and then sees by its number that it was. So each
 * word is written after the number was cleared, and read before it is looked at again.
 */
typedef uint32_t __attribute__((may_alias)) word_t;

static_assert(sizeof(struct record_entry) % sizeof(word_t) == 0, "an entry is of words");

static void put_entry(struct record_entry *slot, const struct record_entry *entry)
{
	for (size_t i = 0; i < sizeof(*entry) / sizeof(word_t); i++)
		__atomic_store_n((word_t *)slot + i, ((const word_t *)entry)[i],
				 __ATOMIC_RELEASE);
}

static void get_entry(struct record_entry *entry, const struct record_entry *slot)
{
	for (size_t i = 0; i < sizeof(*entry) / sizeof(word_t); i++)
		((word_t *)entry)[i] = __atomic_load_n((const word_t *)slot + i, __ATOMIC_ACQUIRE);
}

static int add_area(struct kept *kept, unsigned int port)
{
	size_t bytes = kept_bytes(kept->room);
	struct area *area = map(kept->fd, area_at(kept->room, kept->n_areas), bytes);

	if (!area)
		return -errno;
	kept->area_of[port] = kept->n_areas;
	kept->areas[kept->n_areas++] = area;
	return 0;
}

int kept_add(struct kept *kept, const struct record_port *ports, unsigned int n_ports,
	     const struct record_entry *entry)
{
	struct record_entry kept_entry = *entry;
	unsigned int port = entry->port;
	struct area *area;
	struct slot *slot;
	bool is_new;

	if (port >= n_ports || port >= KEPT_PORTS)
		return -ERANGE;
	is_new = kept->area_of[port] == NO_AREA;
	if (is_new) {
		int ret = add_area(kept, port);

		if (ret)
			return ret;
		kept->areas[kept->area_of[port]]->port = ports[port];
	}
	area = kept->areas[kept->area_of[port]];
	slot = &area->slots[area->added++ % kept->room];
	__atomic_store_n(&slot->number, 0, __ATOMIC_RELAXED);
	kept_entry.port = kept->area_of[port];
	put_entry(&slot->entry, &kept_entry);
	__atomic_store_n(&slot->number, ++kept->number, __ATOMIC_RELEASE);
	if (is_new)
		__atomic_store_n(&kept->head->n_ports, kept->n_areas, __ATOMIC_RELEASE);
	return 0;
}

void kept_drops(struct kept *kept, const struct record_port *ports, unsigned int n_ports)
{
	for (unsigned int i = 0; i < n_ports && i < KEPT_PORTS; i++)
		if (kept->area_of[i] != NO_AREA)
			__atomic_store_n(&kept->areas[kept->area_of[i]]->port.dropped,
					 ports[i].dropped, __ATOMIC_RELAXED);
}

void kept_close(struct kept *kept, bool remove)
{
	if (remove)
		unlink(kept->name);
	for (unsigned int i = 0; i < kept->n_areas; i++)
		munmap(kept->areas[i], kept_bytes(kept->room));
	if (kept->head)
		munmap(kept->head, head_bytes());
	if (kept->fd >= 0)
		close(kept->fd);
	free(kept->name);
	free(kept);
}

/* struct taken - a message of a copy, before they are in order */
struct taken {
	uint64_t number;
	struct record_entry entry;
};

/* A slot that is written meanwhile has a newer message, and is left out. */
static bool take_slot(const struct slot *slot, uint32_t port, struct taken *taken)
{
	taken->number = __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE);
	if (!taken->number)
		return false;
	get_entry(&taken->entry, &slot->entry);
	return __atomic_load_n(&slot->number, __ATOMIC_RELAXED) == taken->number &&
	       taken->entry.port == port && taken->entry.len <= RECORD_MAD_LEN &&
	       taken->entry.n_ties <= RECORD_TIES;
}

static int by_number(const void *a, const void *b)
{
	uint64_t left = ((const struct taken *)a)->number;
	uint64_t right = ((const struct taken *)b)->number;

	return left < right ? -1 : left > right;
}

static int copy_entries(struct kept_copy *copy, struct taken *all, size_t count)
{
	if (count)
		qsort(all, count, sizeof(*all), by_number);
	copy->entries = calloc(count + 1, sizeof(*copy->entries));
	if (!copy->entries)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		copy->entries[i] = all[i].entry;
	copy->count = count;
	return 0;
}

static int copy_areas(struct kept_copy *copy, const char *areas)
{
	struct taken *all = NULL, *more;
	size_t count = 0;
	int ret;

	copy->ports = calloc(copy->n_ports + 1, sizeof(*copy->ports));
	if (!copy->ports)
		return -ENOMEM;
	for (unsigned int i = 0; i < copy->n_ports; i++) {
		const struct area *area = (const void *)(areas + i * kept_bytes(copy->room));

		copy->ports[i] = area->port;
		copy->ports[i].device[sizeof(copy->ports[i].device) - 1] = '\0';
		more = reallocarray(all, count + copy->room, sizeof(*all));
		if (!more) {
			free(all);
			return -ENOMEM;
		}
		all = more;
		for (uint32_t j = 0; j < copy->room; j++)
			count += take_slot(&area->slots[j], i, &all[count]);
	}
	ret = copy_entries(copy, all, count);
	free(all);
	return ret;
}

static bool is_good(const struct head *head, uint64_t bytes)
{
	return head->magic == MAGIC && head->entry_size == sizeof(struct record_entry) &&
	       head->room && head->room <= KEPT_MAX && head->n_ports <= KEPT_PORTS &&
	       bytes >= area_at(head->room, head->n_ports);
}

static int copy_file(int fd, struct kept_copy *copy, const char *name, char *why, size_t why_len)
{
	struct head head;
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
	ret = file == MAP_FAILED ? -errno : copy_areas(copy, file + head_bytes());
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

void kept_free(struct kept_copy *copy)
{
	free(copy->ports);
	free(copy->entries);
	*copy = (struct kept_copy){ 0 };
}
