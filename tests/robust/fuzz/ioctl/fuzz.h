/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The fuzzer of the ioctls: programs of calls, their execution, what is known of them.
 *
 * A program is a list of calls. Members of a struct that it does not name are 0, or what they
 * have to be. Handles and descriptors are not numbers but "the last one that was made, or the one
 * before it", so that a program keeps its sense when calls are taken out or put in.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <rdma/rdma_cm_alt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define MAX_CALLS 32		/* of a program */
#define MAX_VALUES 12		/* of a call */
#define CTXS 2			/* the second one is an ordinary user's */
#define POISON 0xa5

typedef struct rdma_cm_alt_event event_t;
typedef struct rdma_cm_alt_sockaddr addr_t;

/* What a member is. */
enum kind {
	K_NUMBER, K_SIZE, K_ZERO, K_SET, K_ID, K_MEMBER, K_QUEUE, K_ADDR,
	K_LEN,		/* of what .pointer points to */
	K_IN, K_INOUT, K_OUT_POINTER,
	K_OUT,
	K_TAIL,		/* a byte behind the struct as the kernel knows it */
};


/**
 * struct member - a member of the struct of an ioctl, or an argument of another call
 * @name: its name
 * @offset: where it is
 * @size: its bytes
 * @kind: enum kind
 * @pointer: K_LEN: number of the member that points there
 * @low: K_NUMBER: the smallest value that makes sense
 * @high: K_NUMBER: the largest one
 * @set: K_SET: the values, or the flags
 * @values: K_SET: how many
 */
struct member {
	const char *name;
	uint16_t offset;
	uint16_t size;
	uint8_t kind;
	uint8_t pointer;
	uint64_t low;
	uint64_t high;
	const uint64_t *set;
	uint32_t values;
};

/**
 * struct row - a kind of call
 * @name: its name
 * @cmd: number of the ioctl; other calls: enum other
 * @size: bytes of its struct; 0: it is no ioctl
 * @least: bytes of the mandatory part
 * @members: what it has
 * @count: how many
 */
struct row {
	const char *name;
	uint32_t cmd;
	uint16_t size;
	uint16_t least;
	const struct member *members;
	uint32_t count;
};

/* Calls that are no ioctls of the table. */
enum other { TAKE, READ, MMAP, MUNMAP, HEAD, CLOSE, DUP, HANGUP, RAW, BLOCK, USER };

extern const unsigned int row_count;

bool row_is_ioctl(const struct row *row);
int row_find(const char *name);
const struct row *row_get(unsigned int number);
int member_find(const struct row *row, const char *name);

/* Where memory is. */
enum where {
	GOOD,		/* in the middle of some */
	EDGE,		/* before a page that is not there */
	SHORT,		/* likewise, a byte is missing */
	HALF,		/* likewise, half of it */
	ODD,		/* not aligned */
	ACROSS,		/* on two pages */
	FIXED,		/* cannot be written */
	NOWHERE,	/* not there at all */
	NIL, KERNEL, WRAP, GAP,
	WHERES,
};

extern const char * const where_names[WHERES];

/* What is in it. */
enum fill { BYTES, NUMBER, PATHS, DEFAULTS, FILLS };

extern const char * const fill_names[FILLS];

/* How a member gets its value. */
enum way {
	PLAIN,		/* the number */
	FRESH,		/* a number that was not there yet */
	THE_ID, THE_MEMBER, THE_QUEUE,	/* the one that was made so many before the last */
	ADDRESS,	/* number and port of addresses */
	MEMORY,		/* where, fill, length, seed */
};

/**
 * struct value - what a member is set to
 * @member: number of the member in its row
 * @way: enum way
 * @other: handles: of the other context; MEMORY: enum where; ADDRESS: number of the port
 * @fill: MEMORY: enum fill
 * @len: MEMORY: bytes
 * @number: the number
 */
struct value {
	uint8_t member;
	uint8_t way;
	uint8_t other;
	uint8_t fill;
	uint32_t len;
	uint64_t number;
};

/**
 * struct call - one call
 * @row: number of its kind
 * @ctx: in which context
 * @where: where its struct is
 * @entry: it is not made, but one of the batch before
 * @values: how many members are not as they are by default
 * @value: those
 */
struct call {
	uint8_t row;
	uint8_t ctx;
	uint8_t where;
	uint8_t entry;
	uint32_t values;
	struct value value[MAX_VALUES];
};

struct program {
	uint32_t calls;
	struct call call[MAX_CALLS];
};

/* text.c: programs as text */
void program_print(FILE *file, const struct program *program);
int programs_read(FILE *file, void (*take)(const struct program *program));

/* addresses.c: those of the rig */
#define PORT_OF_LISTENER 4
extern const unsigned int address_count, port_count;
const char *address_name(unsigned int number);
int address_find(const char *name);
addr_t address_make(unsigned int number, unsigned int port, uint16_t listener);

/* memory.c: what calls point to */
#define AREAS 12

/**
 * struct area - a piece of memory for a call
 * @user: where the call finds it; may be nowhere
 * @bytes: what the program sees of it; NULL: nothing
 * @len: how much of it is there
 * @whole: all of it is there, and may be written
 */
struct area {
	uint64_t user;
	uint8_t *bytes;
	size_t len;
	bool whole;
};

void memory_init(void);
void memory_begin(void);
struct area *memory_place(enum where where, const void *data, size_t len);
#define NOTHING_CHANGED INT64_MAX

long memory_changed(const struct area *area, const uint8_t *may);
/* The first byte of so many that was not written; -1: none. */
long poison_left(const uint8_t *bytes, size_t len);

/* cover.c: what was reached */
bool cover_init(void);
void cover_on(void);
void cover_off(void);
/* Something that is not code, and no less worth to be reached. */
void cover_state(uint64_t what);
unsigned long cover_edges(void);
unsigned long cover_states(void);
void cover_save(void);
void cover_restore(void);

/* known.c: what the calls before have made */
#define MAX_KNOWN 64

/**
 * struct id - an id
 * @handle: its handle
 * @last: last event that was seen, + 1
 * @done: last call that succeeded, + 1
 * @seen: events that were read
 * @cookie: what its events carry
 * @sure: the cookie is known
 * @accepted: its request was accepted
 */
struct id {
	uint32_t handle;
	uint8_t last;
	uint8_t done;
	uint32_t seen;
	uint64_t cookie;
	bool sure;
	bool accepted;
};

struct membership {
	uint32_t handle;
	uint32_t seen;
};

struct queue {
	int fd;
	uint32_t ring_bytes;
	uint32_t record_size;
};

struct ring {
	uint8_t *map;
	size_t bytes;
	int fd;
	uint8_t what;		/* 0: records; 1: head; else something else */
	bool writable;
};

/**
 * struct ctx - a context and what is there in it
 * @fd: its descriptor; -1: not open
 * @used: it was opened
 * @ids: how many ids
 * @members: how many memberships
 * @queues: how many queues
 * @rings: how many mappings
 * @ringed: there was a ring, so that nobody can tell what was read
 * @vague: more was made than is known here
 */
struct ctx {
	int fd;
	bool used;
	uint32_t ids;
	uint32_t members;
	uint32_t queues;
	uint32_t rings;
	bool ringed;
	bool vague;
	struct id id[MAX_KNOWN];
	struct membership member[MAX_KNOWN];
	struct queue queue[MAX_KNOWN];
	struct ring ring[8];
};

extern struct ctx ctxs[CTXS];
extern struct ib_path_rec_data known_paths[2];
extern unsigned int known_path_count;
extern uint16_t known_listener;

struct id *known_id(struct ctx *ctx, uint32_t handle);
void known_id_add(struct ctx *ctx, uint32_t handle, uint64_t cookie, bool sure);
void known_id_gone(struct ctx *ctx, uint32_t handle);
void known_member_add(struct ctx *ctx, uint32_t handle);
void known_member_gone(struct ctx *ctx, uint32_t handle);
void known_queue_add(struct ctx *ctx, int fd, uint32_t record_size, uint32_t ring_bytes);
/* An event, as it was read, of so many bytes. */
void known_event(struct ctx *ctx, const uint8_t *record, size_t len);
void known_reported(struct ctx *ctx, const char *what, uint32_t handle, uint32_t said);
void known_member_reported(struct ctx *ctx, const char *what, uint32_t handle, uint32_t said);

/* answer.c: what the calls mean for that */
void answer_judge(struct ctx *ctx, const struct row *row, const uint8_t *cmd, size_t size, int ret);
bool errno_documented(uint32_t cmd, int err);

/* others.c: calls that are no ioctls */
int other_call(struct ctx *ctx, const struct call *call);
void ctx_open(struct ctx *ctx);
void others_begin(void);
void others_reset(void);

/* execute.c */
struct result {
	unsigned int edges;	/* that nobody had seen */
	unsigned int states;
	unsigned int last;	/* call of the last of them */
};

extern unsigned long executions, calls_made, longest_ms;
extern struct program slowest;
extern bool verbose;

void execute_init(void);
unsigned long now_ms(void);
/* From now on it may take that long. */
void patience_begin(void);
struct result execute(const struct program *program);
const struct value *value_find(const struct call *call, unsigned int member);
void alarm_on(void);
void alarm_off(void);
/* Something is wrong: tells the program, and ends. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* quiet.c: what the kernel has */
extern unsigned long longest_quiet_ms;

void quiet_init(void);
void quiet_base(void);
const char *quiet_wait(unsigned int patience_ms);
void last_program(const struct program *program);
bool last_programs(FILE *file, void (*take)(const struct program *program));

/* change.c: new programs */
uint64_t chance_below(uint64_t end);
void chance_seed(uint64_t seed);
void program_change(struct program *program, const struct program *other);
void program_cut(struct program *program, unsigned int call);

#endif /* FUZZ_H */
