// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The fuzzer of the ioctls. It mutates known programs and keeps those that add coverage, without
 * the calls that do not contribute.
 *
 * usage: fuzz [TEST]            the tests; environment: FUZZ_CORPUS, a file of programs; FUZZ_SEED;
 *                               FUZZ_EXECUTIONS and FUZZ_SECONDS, both minima; FUZZ_LAST, a file
 *                               for the last programs; FUZZ_NEW, a file for new ones
 *        fuzz --replay FILE     executes programs and prints the result of each call
 *        fuzz --show FILE       prints FUZZ_LAST as text
 *        fuzz --merge FILE      writes the corpus and FUZZ_MORE, reduced to what adds coverage
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fuzz.h"
#include "ktap.h"

#define HERE "tests/robust/fuzz/ioctl/"
#define MOST 20000		/* programs */
#define OFTEN 5000		/* programs in the history; half as many between two checks */
#define PATIENCE_MS 60000
#define SLOW_MS 2000		/* programs that take longer are printed */

static struct program *corpus[MOST];
static unsigned int known;

static void keep_program(const struct program *program)
{
	if (known == MOST)
		return;
	corpus[known] = malloc(sizeof(*program));
	*corpus[known++] = *program;
}

static void load_programs(const char *path)
{
	FILE *file = fopen(path, "re");
	int line;

	if (!file)
		ktap_fail(__FILE__, __LINE__, "%s: %m", path);
	line = programs_read(file, keep_program);
	fclose(file);
	if (line)
		ktap_fail(__FILE__, __LINE__, "%s: line %d is no call", path, line);
}

static void load_corpus(void)
{
	const char *path = getenv("FUZZ_CORPUS") ?: HERE "corpus.txt";

	load_programs(HERE "seeds.txt");
	if (*path)
		load_programs(path);
}

/* At the lowest priority, so that workers finish what a call has started before the next call. */
static void init(void)
{
	struct sched_param param = {};

	sched_setscheduler(0, SCHED_IDLE, &param);
	if (!cover_init())
		ktap_skip("this kernel has no KCOV");
	execute_init();
	quiet_init();
}

/* The last programs, as a ring. */
static struct program *history;

static struct result run_program(const struct program *program)
{
	history[executions % OFTEN] = *program;
	return execute(program);
}

/* Executes each program of the history again to find the one that leaves objects. */
static void find_leak(const char *left)
{
	unsigned long count = executions < OFTEN ? executions : OFTEN, first = executions - count;
	char what[256];

	snprintf(what, sizeof(what), "%s", left);
	ktap_note("after %lu programs there are %s; looking for the one", executions, what);
	fflush(stdout);
	quiet_base();
	for (unsigned long i = 0; i < count; i++) {
		execute(&history[(first + i) % OFTEN]);
		left = quiet_wait(PATIENCE_MS / 4);
		if (!left)
			continue;
		printf("# the program, for tests/robust/fuzz/ioctl/run --replay:\n");
		program_print(stdout, &history[(first + i) % OFTEN]);
		fflush(stdout);
		ktap_fail(__FILE__, __LINE__, "it leaves %s", left);
	}
	ktap_fail(__FILE__, __LINE__, "after %lu programs, none of them alone, there are %s",
		  executions, what);
}

static void expect_quiet(void)
{
	const char *left = quiet_wait(PATIENCE_MS);

	if (left)
		find_leak(left);
}

static struct result again(const struct program *program)
{
	cover_restore();
	return run_program(program);
}

/* Removes the calls that the new coverage does not need. */
static void shorten(struct program *program, const struct result *found)
{
	struct program shorter;
	struct result result;

	program->calls = found->last + 1;
	while (program->calls < MAX_CALLS && program->call[program->calls].entry)
		program->calls++;
	for (unsigned int i = program->calls; i-- > 0 && program->calls > 1;) {
		shorter = *program;
		program_cut(&shorter, i);
		result = again(&shorter);
		if (result.edges >= found->edges && result.states >= found->states)
			*program = shorter;
	}
	again(program);
}

/* One of the newest programs, or the longer one of two. */
static const struct program *pick(void)
{
	const struct program *one = corpus[chance_below(known)];
	const struct program *other = corpus[chance_below(known)];

	if (!chance_below(3))
		return corpus[known - 1 - chance_below(known / 8 + 1)];
	return one->calls > other->calls ? one : other;
}

static void try_new(FILE *file)
{
	struct program program = *pick();
	struct result result;

	program_change(&program, pick());
	cover_save();
	result = run_program(&program);
	if (!result.edges && !result.states)
		return;
	/* The new coverage may not repeat. */
	shorten(&program, &result);
	keep_program(&program);
	if (file) {
		program_print(file, &program);
		fflush(file);
	}
}

static void print_slowest(void)
{
	char *text = NULL, *line, *rest;
	size_t len;
	FILE *file = open_memstream(&text, &len);

	program_print(file, &slowest);
	fclose(file);
	rest = text;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			ktap_note("slow: %s", line);
	free(text);
}

static void print_figures(void)
{
	ktap_note("%lu executions, %lu calls, %lu edges, %lu states", executions, calls_made,
		  cover_edges(), cover_states());
	ktap_note("the longest program took %lu ms", longest_ms);
	if (longest_ms > SLOW_MS)
		print_slowest();
	ktap_note("what they left was gone after %lu ms at most", longest_quiet_ms);
}

static void begin_corpus(void)
{
	history = calloc(OFTEN, sizeof(*history));
	init();
	load_corpus();
}

TEST(known_programs)
{
	ktap_timeout(600);
	begin_corpus();
	for (unsigned int i = 0; i < known; i++)
		run_program(corpus[i]);
	expect_quiet();
	print_figures();
}

TEST(new_programs)
{
	unsigned long most = ktap_env("FUZZ_EXECUTIONS", 1000);
	unsigned long seconds = ktap_env("FUZZ_SECONDS", 0);
	unsigned long seed = ktap_env("FUZZ_SEED", 1), checked = 0, old;
	const char *path = getenv("FUZZ_NEW");
	FILE *file = path ? fopen(path, "we") : NULL;
	time_t end = time(NULL) + seconds;

	ktap_timeout(seconds + 1500 + most / 100);
	begin_corpus();
	chance_seed(seed);
	old = known;
	for (unsigned int i = 0; i < old; i++)
		run_program(corpus[i]);
	while (executions < most || time(NULL) < end) {
		try_new(file);
		if (executions - checked < OFTEN / 2)
			continue;
		expect_quiet();
		checked = executions;
	}
	expect_quiet();
	print_figures();
	ktap_note("seed %lu: %lu programs were known, %lu are new", seed, old, known - old);
}

static void replay(const struct program *program)
{
	const char *left;

	printf("# a program\n");
	execute(program);
	left = quiet_wait(PATIENCE_MS);
	if (left)
		printf("# it leaves %s\n", left);
	quiet_base();
}

static void show(const struct program *program)
{
	program_print(stdout, program);
}

static int each_of(const char *path, void (*take)(const struct program *program))
{
	FILE *file = fopen(path, "re");
	int line;

	if (!file) {
		perror(path);
		return 1;
	}
	if (last_programs(file, take))
		return 0;
	rewind(file);
	line = programs_read(file, take);
	if (line)
		fprintf(stderr, "%s: line %d is no call\n", path, line);
	return line ? 1 : 0;
}

static int by_length(const void *a, const void *b)
{
	const struct program *one = *(const struct program * const *)a;
	const struct program *other = *(const struct program * const *)b;

	return one->calls < other->calls ? -1 : one->calls > other->calls;
}

/* Writes the programs that add coverage to the seeds and to shorter programs. */
static int merge(const char *path)
{
	const char *more = getenv("FUZZ_MORE");
	unsigned int seeds;
	FILE *file;

	load_programs(HERE "seeds.txt");
	seeds = known;
	load_programs(HERE "corpus.txt");
	if (more)
		load_programs(more);
	qsort(corpus + seeds, known - seeds, sizeof(corpus[0]), by_length);
	file = fopen(path, "we");
	if (!file) {
		perror(path);
		return 1;
	}
	fprintf(file, "# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause\n"
		"# Programs of tests/robust/fuzz/ioctl; written by its run --%s.\n\n", "merge");
	for (unsigned int i = 0; i < known; i++)
		if (execute(corpus[i]).edges && i >= seeds)
			program_print(file, corpus[i]);
	fclose(file);
	print_figures();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--show"))
		return each_of(argv[2], show);
	if (argc == 3 && !strcmp(argv[1], "--replay")) {
		verbose = true;
		init();
		return each_of(argv[2], replay);
	}
	if (argc == 3 && !strcmp(argv[1], "--merge")) {
		init();
		return merge(argv[2]);
	}
	return ktap_run(argc, argv);
}
