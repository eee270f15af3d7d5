/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Random calls from many threads and processes on ids that all of them know.
 *
 * A run has one seed. Each thread draws from a stream of its own that is made of the seed and the
 * thread's number, and what it draws next does not depend on what calls return: a seed replays the
 * same calls with the same choices in each thread, only their interleaving differs.
 *
 * Everything that processes share is in struct world, which is mapped by all. Contexts and queues
 * have serial numbers, which are never used twice in a run; their descriptors have the number
 * CTX_FD(serial) or QUEUE_FD(serial) in whatever process has them.
 */
#ifndef STRESS_H
#define STRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rca_test.h"

#define MAX_CTX 128
#define MAX_QUEUES 4096
#define CTX_FD(serial) (1000 + (int)(serial))
#define QUEUE_FD(serial) (2000 + (int)(serial))

#define SLOTS 768		/* ids that a group of processes knows */
#define CROWDED 16		/* the first of them, which are used more */
#define QUEUE_SLOTS 8
#define MEMBER_SLOTS 8
#define ENTRIES 262144		/* ids of a run that are watched */
#define LANES 64		/* threads at a time */
#define PLACES 16
#define WORKERS 4
#define CLEAN_WORKERS (WORKERS / 2)
#define THREADS 3		/* of a worker */
#define TRAIL 200		/* operations of a thread that prove that a seed repeats */
#define FIRST_PORT 17000	/* where ids of a run listen */
#define PORTS 3
#define IWARP_QPS 16
#define COMPLAINTS 16
#define MAX_ERRNO 140

/**
 * enum group - who may be killed
 * @CLEAN: processes that live as long as the run: their accounts must be exact
 * @DIRTY: processes that die at any moment, and what they share
 */
enum group { CLEAN, DIRTY, GROUPS };

/**
 * struct entry - what is known of an id or a membership
 * @key: serial of the context and handle; 0: not used
 * @states: a bit for each state that the id may be in by the events that were seen
 * @seen: events that readers got
 * @reported: how many DESTROY or LEAVE says were delivered, plus 1; 0: not yet
 * @gone: &world.clock after DESTROY or LEAVE had returned
 */
struct entry {
	uint64_t key;
	uint32_t states;
	uint32_t seen;
	uint32_t reported;
	uint32_t gone;
};

/**
 * struct lane - what a thread is doing
 * @pid: its process; 0: not used
 * @op: number of the operation
 * @since: when its present call began, in ns; 0: it makes none
 * @waits: the call may take as long as it likes: a read that blocks
 */
struct lane {
	pid_t pid;
	int op;
	uint64_t since;
	bool waits;
};

/**
 * struct tally - what became of the calls of one operation
 * @calls: how many there were
 * @errors: how many ended with each errno
 * @longest: in ns
 */
struct tally {
	uint64_t calls;
	uint64_t errors[MAX_ERRNO];
	uint64_t longest;
};

/**
 * struct ctx_info - a context of the run
 * @group: who has it
 * @ordered: reads of its queues are made one at a time, so that order can be seen
 * @lock: held by them
 */
struct ctx_info {
	enum group group;
	bool ordered;
	pthread_mutex_t lock;
};

/**
 * struct place - an address that ids are bound and connected to
 * @ip: the address
 * @iwarp: it is on an iWARP device, where a connection needs a QP that exists
 */
struct place {
	char ip[48];
	bool iwarp;
};

#define MAX_OPS 48

struct world {
	uint64_t seed;
	bool stop;
	uint32_t clock;
	uint32_t ctxs;			/* serials that are taken */
	uint32_t queues;
	uint32_t lanes;
	uint32_t qp_nums;
	uint32_t kills;
	uint32_t forks;
	uint32_t passed;
	uint32_t ordered_events;
	uint64_t events[32];		/* by type */
	uint64_t slots[GROUPS][SLOTS];	/* serial of the context << 32 | handle */
	uint64_t members[GROUPS][MEMBER_SLOTS];
	uint32_t queue_slots[GROUPS][QUEUE_SLOTS];
	uint16_t queue_ctx[MAX_QUEUES];
	bool queue_blocks[MAX_QUEUES];
	uint32_t iwarp_qps[IWARP_QPS];
	struct ctx_info ctx[MAX_CTX];
	struct lane lane[LANES];
	struct tally tally[MAX_OPS];
	struct place place[PLACES];
	int places;
	double bound;			/* seconds that a call may take */
	int mail[WORKERS][2];		/* socket pairs: a worker reads 0, others write 1 */
	uint32_t complaints;
	char complaint[COMPLAINTS][200];
	uint64_t trail[CLEAN_WORKERS * THREADS];
	uint64_t untracked;
	struct entry entry[ENTRIES];
};

extern struct world *world;

/**
 * struct hand - a thread
 * @random: state of its stream
 * @number: of the stream
 * @group: what it uses
 * @worker: number of its process
 * @lane: where it says what it does
 * @trail: where it leaves a hash of its first operations, NULL: nowhere
 * @passed: that hash so far
 * @drawn: of so many operations
 */
struct hand {
	uint64_t random;
	int number;
	enum group group;
	int worker;
	struct lane *lane;
	uint64_t *trail;
	uint64_t passed;
	uint32_t drawn;
};

/* A draw: all that an operation may choose by. */
struct draw {
	uint32_t a, b, c, d;
};

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* main.c */
uint64_t now_ns(void);
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct lane *lane_take(void);

/* worker.c */
void worker_run(int number, enum group group);
void hand_begin(struct hand *hand, int number, enum group group, int worker);
uint64_t stream_begin(int number);
int stream_of(int worker, int thread);

/* What an event is answered with: the first operations of the table; they are never drawn. */
enum answer {
	ANSWER_ROUTE, ANSWER_CONNECT, ANSWER_ACCEPT, ANSWER_REJECT, ANSWER_ESTABLISH,
	ANSWER_DISCONNECT, ANSWER_DESTROY, ANSWERS,
};

/* ops.c: the table of operations. */
void op_random(struct hand *hand);
int op_count(void);
/* The hash of the first operations of a stream, without a call. */
uint64_t op_trail(uint64_t random);
const char *op_name(int op);
/* What follows is not the thread's own operation, but what an event asks for. */
void op_answer(struct hand *hand, enum answer answer);

/* calls.c: one call each, timed and judged. */
int call_ioctl(struct hand *hand, int fd, unsigned long cmd, void *arg);
void call_begin(struct hand *hand, bool waits);
void call_end(struct hand *hand, int ret);
int ctx_open(enum group group, bool ordered);
int queue_make(struct hand *hand, uint32_t ctx, uint32_t flags, uint32_t ring);
void queue_read(struct hand *hand, uint32_t queue, struct draw *draw);
void id_get_event(struct hand *hand, uint64_t ref, struct draw *draw);
void id_destroy(struct hand *hand, uint64_t ref);
int id_accept(struct hand *hand, uint64_t ref, bool iwarp, uint32_t how);
int id_connect(struct hand *hand, uint64_t ref, bool iwarp, uint32_t how);
int id_simple(struct hand *hand, uint64_t ref, unsigned long cmd);
int id_resolve_route(struct hand *hand, uint64_t ref);
void id_keep(struct hand *hand, uint32_t where, uint64_t ref);
struct rdma_cm_alt_conn_param make_param(bool iwarp, uint32_t how, const char *data);

/* ring.c: rings of queues, in this process. */
void ring_random(struct hand *hand, uint32_t queue, struct draw *draw);

/* oracle.c: what may happen. */
bool errno_documented(unsigned long cmd, int err);
void oracle_init(void);
void oracle_seen(uint32_t ctx, const event_t *ev, uint32_t clock, bool exact);
void oracle_gone(uint64_t ref, uint32_t reported);
void oracle_account(void);

/* report.c */
void report(double took, double ending);

#endif /* STRESS_H */
