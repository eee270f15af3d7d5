/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Random calls from many threads and processes on shared ids.
 *
 * A run has one seed. Each thread has its own random stream, derived from the seed and the number
 * of the thread, and its draws do not depend on the results of calls: a seed repeats the calls of
 * each thread, only their interleaving differs.
 *
 * Processes share struct world. Contexts and queues have serial numbers, which are unique in a
 * run; their descriptors have the number CTX_FD(serial) or QUEUE_FD(serial) in every process.
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

#define SLOTS 768		/* ids that a group of processes shares */
#define CROWDED 16		/* of them that are used more often */
#define QUEUE_SLOTS 8
#define MEMBER_SLOTS 8
#define ENTRIES 262144		/* ids of a run that are checked */
#define LANES 64		/* threads at a time */
#define PLACES 16
#define WORKERS 4
#define CLEAN_WORKERS (WORKERS / 2)
#define THREADS 3		/* of a worker */
#define TRAIL 200		/* operations of a thread that must be those of the seed */
#define FIRST_PORT 17000	/* where ids of a run listen */
#define PORTS 3
#define IWARP_QPS 16
#define COMPLAINTS 16
#define MAX_ERRNO 140

/*
 * Groups of processes. Those of CLEAN live as long as the run, so the numbers of their events
 * must be exact; those of DIRTY are killed at any moment.
 */
enum group { CLEAN, DIRTY, GROUPS };

/* What is known of an id or a membership. */
struct entry {
	uint64_t key;		/* serial of the context << 32 | handle; 0: unused */
	uint32_t states;	/* bits of the states that fit the events so far */
	uint32_t seen;		/* events that were read */
	uint32_t reported;	/* events that DESTROY or LEAVE reported, plus 1; 0: not yet */
	uint32_t gone;		/* &world.clock after DESTROY or LEAVE returned */
};

/* The present call of a thread. */
struct lane {
	pid_t pid;		/* 0: unused */
	int op;			/* number of the operation */
	uint64_t since;		/* begin of the call in ns; 0: there is none */
	bool waits;		/* the call may block */
};

/* The calls of an operation. */
struct tally {
	uint64_t calls;
	uint64_t errors[MAX_ERRNO];	/* calls that failed, by errno */
	uint64_t longest;		/* ns */
};

/* A context of the run. */
struct ctx_info {
	enum group group;
	bool ordered;		/* one thread at a time reads its queues */
	pthread_mutex_t lock;	/* of these reads */
};

/* An address that ids are bound and connected to. */
struct place {
	char ip[48];
	bool iwarp;		/* of an iWARP device, where a connection needs a QP that exists */
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

/* A thread. */
struct hand {
	uint64_t random;	/* state of its stream */
	int number;		/* of the stream */
	enum group group;
	int worker;		/* number of its process */
	struct lane *lane;
	uint64_t *trail;	/* for the hash of its first operations, or NULL */
	uint64_t passed;	/* that hash so far */
	uint32_t drawn;		/* operations in it */
};

/* The random numbers of an operation. */
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

/* Reactions to events: the first operations of the table, which are never drawn. */
enum answer {
	ANSWER_ROUTE, ANSWER_CONNECT, ANSWER_ACCEPT, ANSWER_REJECT, ANSWER_ESTABLISH,
	ANSWER_DISCONNECT, ANSWER_DESTROY, ANSWERS,
};

/* ops.c: the table of operations. */
void op_random(struct hand *hand);
int op_count(void);
/* The hash of the first operations of a stream, which are not executed. */
uint64_t op_trail(uint64_t random);
const char *op_name(int op);
/* The next calls count as a reaction to an event. */
void op_answer(struct hand *hand, enum answer answer);

/* calls.c: single calls, timed and checked. */
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

/* oracle.c: the results and events that are allowed. */
bool errno_documented(unsigned long cmd, int err);
void oracle_init(void);
void oracle_seen(uint32_t ctx, const event_t *ev, uint32_t clock, bool exact);
void oracle_gone(uint64_t ref, uint32_t reported);
void oracle_account(void);

/* report.c */
void report(double took, double ending);

#endif /* STRESS_H */
