/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Questions to a librdmacm, one line of answer each, the same on every run:
 *
 *	GROUP(bind, 0)
 *	{
 *		struct rdma_event_channel *ch = channel();
 *		struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
 *
 *		RET("null", rdma_bind_addr(id, NULL));
 *	}
 *
 * prints "bind.null: ret=-1 errno=EINVAL". tests/api/conformance/run asks stock and ours and
 * compares. An answer holds no address, handle, QP number or port that the kernel chose, only
 * relations between them.
 *
 * Each group runs in a process of its own, which starts before the library is initialised. A
 * call that crashes is an answer, too ("SIGSEGV"). Programs here use librdmacm's and
 * libibverbs' headers only, and run with whichever library is found.
 */
#ifndef ANSWER_H
#define ANSWER_H

/* Common functions for groups. */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Flags of a group. */
enum {
	/* The debug guest also runs it in make check, not only in make soak. */
	IN_DEBUG = 1,
	/* It mostly waits: starts first, in parallel with the others. */
	WAITS = 2,
	/* Too slow for make check. */
	SLOW = 4,
	/* No other group may run at the same time. */
	ALONE = 8,
	/* The library must not have been called before: it then opens its own descriptors. */
	COLD = 16,
	/* Needs the InfiniBand rig: runs with --ib only, and no other group runs then. */
	ON_IB = 32,
	/* About rsockets: runs with --rsockets only, and no other group runs then. */
	RSOCKETS = 64,
};

struct question_group {
	const char *name;
	const char *file;
	void (*run)(void);
	int kind;
};

void group_register(const char *name, const char *file, void (*run)(void), int kind);

#define GROUP(name, kind)							\
	static void group_##name(void);						\
	__attribute__((constructor)) static void register_##name(void)		\
	{									\
		group_register(#name, __FILE__, group_##name, kind);			\
	}									\
	static void group_##name(void)

/* For a group that is ALONE: a command that runs after it, however it ends. */
void at_group_end(const char *command);

/* Print one answer, under the name of the running group. */
void answer(const char *check, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Result of a call as text; for RET and PTR. */
struct call {
	const char *check;
	int fds;
};

extern sigjmp_buf call_escape;
struct call call_begin(const char *check);
void call_end(const struct call *call, long ret);
void call_end_pointer(const struct call *call, const void *ret);
void call_crashed(const struct call *call);

/*
 * Make a call and print what it returned, errno, and by how many the process's descriptors grew
 * or shrank; returns its value, or -2 when it crashed.
 */
#define RET(check, expression) ({						\
	volatile int ret_value = -2;						\
	struct call ret_call = call_begin(check);				\
										\
	if (!sigsetjmp(call_escape, 1)) {					\
		ret_value = (expression);					\
		call_end(&ret_call, ret_value);					\
	} else {								\
		call_crashed(&ret_call);					\
	}									\
	ret_value;								\
})

/* The same for calls that return a pointer. */
#define PTR(check, expression) ({						\
	void *volatile ptr_value = NULL;					\
	struct call ptr_call = call_begin(check);				\
										\
	if (!sigsetjmp(call_escape, 1)) {					\
		ptr_value = (void *)(expression);				\
		call_end_pointer(&ptr_call, ptr_value);				\
	} else {								\
		call_crashed(&ptr_call);					\
	}									\
	ptr_value;								\
})

/* For void calls. */
#define VOID(check, expression) RET(check, ({ expression; 0; }))

/* A step that must succeed for the questions after it; ends the group when it fails. */
void step_failed(const char *file, int line, const char *what, long value)
	__attribute__((noreturn));
#define NEED(expression) do {							\
	long need_value = (long)(expression);					\
										\
	if (need_value)								\
		step_failed(__FILE__, __LINE__, #expression, need_value);	\
} while (0)
#define NEED_PTR(expression) ({							\
	__typeof__(expression) need_ptr = (expression);				\
										\
	if (!need_ptr)								\
		step_failed(__FILE__, __LINE__, #expression, 0);		\
	need_ptr;								\
})

/* Names and numbers as text. */
const char *errno_name(int error);
const char *event_name(int event);
const char *yes(bool condition);
int count_fds(void);

/* Milliseconds from a to b, scaled to the slow machine that runs the tests. */
int patience(int ms);

/*
 * Run a call in a thread. RUNNING when it did not return within the time: it then continues,
 * and thread_end() waits for it.
 */
#define RUNNING (-1000)
struct thread;
struct thread *thread_begin(int (*call)(void *arg), void *arg);
int thread_wait(struct thread *thread, int ms, int *error);
/* Prints "blocks" or what it returned. */
void thread_answer(const char *check, struct thread *thread, int ms);

#endif /* ANSWER_H */
