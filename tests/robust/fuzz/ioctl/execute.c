// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Executes a program. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "image.h"
#include "ktap.h"

#define INTERRUPT_MS 3		/* until a call that waits for an event is interrupted */
#define BOUND_MS 30000		/* limit of a program */
#define HANG_MS 120000		/* limit of 64 programs */

unsigned long executions, calls_made, longest_ms;
struct program slowest;
bool verbose;

static const struct program *current;
static timer_t timer, hang;

void complain(const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ktap_note("after %lu executions:", executions);
	if (current) {
		printf("# the program, for tests/robust/fuzz/ioctl/run --replay:\n");
		program_print(stdout, current);
		fflush(stdout);
	}
	ktap_fail(__FILE__, __LINE__, "%s", text);
}

static void interrupt(int signal)
{
	if (signal == SIGXCPU)
		complain("it does not end");
}

static void set_timer(timer_t which, unsigned long after_ms, unsigned long then_ms)
{
	struct itimerspec time = {
		.it_value = { after_ms / 1000, after_ms % 1000 * 1000000 },
		.it_interval = { then_ms / 1000, then_ms % 1000 * 1000000 },
	};

	timer_settime(which, 0, &time, NULL);
}

void execute_init(void)
{
	struct sigaction action = { .sa_handler = interrupt };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2 };

	sigaction(SIGUSR2, &action, NULL);
	sigaction(SIGXCPU, &action, NULL);
	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
	event.sigev_signo = SIGXCPU;
	MUST(timer_create(CLOCK_MONOTONIC, &event, &hang));
	memory_init();
	for (unsigned int i = 0; i < CTXS; i++)
		ctxs[i].fd = -1;
}

/* Periodic, because the first signal may come before the call. */
void alarm_on(void)
{
	set_timer(timer, INTERRUPT_MS, INTERRUPT_MS);
}

void alarm_off(void)
{
	set_timer(timer, 0, 0);
}

void patience_begin(void)
{
	set_timer(hang, HANG_MS, 0);
}

static bool may_wait(const struct image *image)
{
	struct rdma_cm_alt_get_event cmd;

	memcpy(&cmd, image->bytes, sizeof(cmd));
	return image->row->cmd == RDMA_CM_ALT_GET_EVENT &&
	       !(cmd.flags & RDMA_CM_ALT_GET_EVENT_NONBLOCK);
}

/* Makes a call with its struct at @call->where. Returns 0 or a negative errno. */
int image_call(struct ctx *ctx, const struct call *call, const struct image *image)
{
	struct area *area = memory_place(call->where, image->bytes, image->size);
	bool waits = may_wait(image);
	uint8_t may[BIGGEST];
	int ret;

	if (waits)
		alarm_on();
	cover_on();
	ret = ioctl(ctx->fd, image->row->cmd, area->user);
	ret = ret < 0 ? -errno : ret;
	cover_off();
	if (waits)
		alarm_off();
	image_answer(may, image->row, image->size, ret);
	if (memory_changed(area, may) != NOTHING_CHANGED)
		complain("%s says %d, and byte %ld of its struct has changed", image->row->name,
			 ret, memory_changed(area, may));
	if (!ret && !area->whole && area->len < image->row->least)
		complain("%s works without all of its struct", image->row->name);
	image_judge(ctx, image, area->bytes ?: image->bytes, area->len, ret);
	return ret;
}

static int ioctl_call(struct ctx *ctx, const struct call *call, const struct call *end)
{
	struct image image;

	if (!ctx->used)
		ctx_open(ctx);
	if (ctx->fd < 0)
		return 0;
	if (row_get(call->row)->cmd == RDMA_CM_ALT_BATCH)
		return batch_call(ctx, call, end);
	image_build(&image, ctx, call);
	return image_call(ctx, call, &image);
}

static void print_result(const struct call *call, int ret)
{
	struct program one = { .calls = 1, .call = { *call } };

	if (!verbose)
		return;
	printf("# %s: ", ret ? strerrorname_np(-ret) : "ok");
	program_print(stdout, &one);
	fflush(stdout);
}

static void one_call(const struct call *call, const struct call *end)
{
	struct ctx *ctx = &ctxs[call->ctx % CTXS];
	int ret;

	memory_begin();
	if (row_is_ioctl(row_get(call->row))) {
		ret = ioctl_call(ctx, call, end);
	} else {
		cover_on();
		ret = other_call(ctx, call);
		cover_off();
	}
	calls_made++;
	print_result(call, ret);
}

unsigned long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Executes a program and closes what it has opened. Returns the new coverage. */
struct result execute(const struct program *program)
{
	unsigned long edges = cover_edges(), states = cover_states(), start = now_ms(), took;
	unsigned long last = edges + states;
	struct result result = {};

	others_begin();
	current = program;
	executions++;
	last_program(program);
	if (executions % 64 == 1)
		patience_begin();
	known_listener = 0;
	known_path_count = 0;
	memset(known_paths, 0, sizeof(known_paths));
	for (unsigned int i = 0; i < program->calls; i++) {
		if (program->call[i].entry)
			continue;
		one_call(&program->call[i], program->call + program->calls);
		if (cover_edges() + cover_states() != last)
			result.last = i;
		last = cover_edges() + cover_states();
	}
	cover_on();
	others_reset();
	cover_off();
	took = now_ms() - start;
	if (took > longest_ms) {
		longest_ms = took;
		slowest = *program;
	}
	if (took > BOUND_MS)
		complain("it took %lu ms", took);
	current = NULL;
	result.edges = cover_edges() - edges;
	result.states = cover_states() - states;
	return result;
}
