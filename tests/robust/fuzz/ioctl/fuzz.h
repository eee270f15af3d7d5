/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The fuzzer of the ioctls: programs, their execution, and a model of the objects they create.
 *
 * A program is a list of calls. Members that it does not name have their default values. Handles
 * and descriptors are relative ("the last one", "the one before it"), so a program stays meaningful
 * when calls are inserted or removed.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdio.h>

#include "memory.h"

#define MAX_CALLS 32		/* of a program */
#define MAX_VALUES 12		/* of a call */
#define CTXS 2			/* the second one belongs to an unprivileged user */

typedef struct rdma_cm_alt_event event_t;

/* Kinds of members. */
enum kind {
	K_NUMBER, K_SIZE, K_ZERO, K_SET, K_ID, K_MEMBER, K_QUEUE, K_ADDR,
	K_LEN,		/* length of the memory at .pointer */
	K_IN, K_INOUT, K_OUT_POINTER,
	K_OUT,
	K_TAIL,		/* a byte behind the struct that the kernel knows */
};

/* A member of the struct of an ioctl, or an argument of another call. */
struct member {
	const char *name;
	uint16_t offset;
	uint16_t size;
	uint8_t kind;		/* enum kind */
	uint8_t pointer;	/* K_LEN: number of the member that is the pointer */
	uint64_t low;		/* K_NUMBER: the range of useful values */
	uint64_t high;
	const uint64_t *set;	/* K_SET: the values or flags */
	uint32_t values;	/* K_SET: their number */
};

/* A kind of call. */
struct row {
	const char *name;
	uint32_t cmd;		/* number of the ioctl; of other calls: enum other */
	uint16_t size;		/* of its struct; 0: no ioctl */
	uint16_t least;		/* bytes of the struct that are mandatory */
	const struct member *members;
	uint32_t count;		/* of members */
};

/* Calls other than the ioctls of the table. */
enum other { TAKE, READ, MMAP, MUNMAP, HEAD, CLOSE, DUP, HANGUP, RAW, BLOCK, USER };

extern const unsigned int row_count;

bool row_is_ioctl(const struct row *row);
int row_find(const char *name);
const struct row *row_get(unsigned int number);
int member_find(const struct row *row, const char *name);

/* The content of the memory. */
enum fill { BYTES, NUMBER, PATHS, DEFAULTS, FILLS };

extern const char * const fill_names[FILLS];

/* How the value of a member is chosen. */
enum way {
	PLAIN,		/* the number */
	FRESH,		/* a number that was not used before */
	THE_ID, THE_MEMBER, THE_QUEUE,	/* the object that was created .number before the last */
	ADDRESS,	/* numbers of an address and a port */
	MEMORY,		/* where, fill, length, seed */
};

/* The value of a member. */
struct value {
	uint8_t member;		/* its number in the row */
	uint8_t way;		/* enum way */
	uint8_t other;		/* handles: other context; MEMORY: enum where; ADDRESS: port */
	uint8_t fill;		/* MEMORY: enum fill */
	uint32_t len;		/* MEMORY: bytes */
	uint64_t number;
};

/* A call. */
struct call {
	uint8_t row;		/* number of its row */
	uint8_t ctx;
	uint8_t where;		/* enum where, of its struct */
	uint8_t entry;		/* not a call, but an entry of the batch before it */
	uint32_t values;	/* members that do not have their default values */
	struct value value[MAX_VALUES];
};

struct program {
	uint32_t calls;
	struct call call[MAX_CALLS];
};

/* text.c: programs as text */
void program_print(FILE *file, const struct program *program);
int programs_read(FILE *file, void (*take)(const struct program *program));

/* cover.c: coverage */
bool cover_init(void);
void cover_on(void);
void cover_off(void);
/* Counts a state that is not visible in the code that was executed. */
void cover_state(uint64_t what);
unsigned long cover_edges(void);
unsigned long cover_states(void);
void cover_save(void);
void cover_restore(void);

/* known.c: the objects that programs have created */
#define MAX_KNOWN 64

/* An id. */
struct id {
	uint32_t handle;
	uint8_t last;		/* last event that was read, + 1 */
	uint8_t done;		/* last call that succeeded, + 1 */
	uint32_t seen;		/* events that were read */
	uint64_t cookie;	/* of its events */
	bool sure;		/* the cookie is known */
	bool accepted;		/* ACCEPT has succeeded */
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
	uint8_t what;		/* 0: records; 1: head */
	bool writable;
};

/* A context and its objects. */
struct ctx {
	int fd;			/* -1: not open */
	bool used;		/* it was opened */
	uint32_t ids;
	uint32_t members;
	uint32_t queues;
	uint32_t rings;
	bool ringed;		/* it had a ring: the number of events read is unknown */
	bool vague;		/* it has objects that are not listed here */
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
void known_event(struct ctx *ctx, const uint8_t *record, size_t len);
void known_reported(struct ctx *ctx, const char *what, uint32_t handle, uint32_t said);
void known_member_reported(struct ctx *ctx, const char *what, uint32_t handle, uint32_t said);

/* answer.c: the effect of calls on the objects */
void answer_judge(struct ctx *ctx, const struct row *row, const uint8_t *cmd, size_t size, int ret);
bool errno_documented(uint32_t cmd, int err);

/* others.c: calls other than ioctls */
int other_call(struct ctx *ctx, const struct call *call);
void ctx_open(struct ctx *ctx);
void others_begin(void);
void others_reset(void);

/* execute.c */
struct result {
	unsigned int edges;	/* new ones */
	unsigned int states;
	unsigned int last;	/* number of the last call that reached something new */
};

extern unsigned long executions, calls_made, longest_ms;
extern struct program slowest;
extern bool verbose;

void execute_init(void);
unsigned long now_ms(void);
/* Restarts the timer of a hang. */
void patience_begin(void);
struct result execute(const struct program *program);
const struct value *value_find(const struct call *call, unsigned int member);
void alarm_on(void);
void alarm_off(void);
/* A finding: prints the program and ends the test. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* quiet.c: objects that are left in the kernel */
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
