// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Runs the tests of a program, each in a process of its own, and reports KTAP. */
#include "ktap.h"

#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#define MAX_TESTS 256

/* Print the duration of tests that take this many seconds or more. */
#define SLOW 5

enum { PASS = 0, FAIL = 1, SKIP = 4 };

static struct {
	const char *name;
	void (*run)(void);
	enum ktap_where where;
} tests[MAX_TESTS];
static int count;
static const char *running;

void ktap_register(const char *name, void (*run)(void), enum ktap_where where)
{
	if (count == MAX_TESTS) {
		fputs("ktap: too many tests in one program\n", stderr);
		exit(FAIL);
	}
	tests[count].name = name;
	tests[count].where = where;
	tests[count++].run = run;
}

void ktap_timeout(unsigned int seconds)
{
	alarm(seconds);
}

/* One write for each line, as threads and processes of a test may print at the same time. */
static void say(const char *prefix, const char *format, va_list args)
{
	char line[512];
	int len = snprintf(line, sizeof(line), "# %s: %s", running ?: "ktap", prefix);

	len += vsnprintf(line + len, sizeof(line) - len - 1, format, args);
	if (len > (int)sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len++] = '\n';
	if (write(STDOUT_FILENO, line, len) != len)
		_exit(FAIL);
}

void ktap_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("", format, args);
	va_end(args);
}

unsigned long long ktap_env(const char *name, unsigned long long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

double ktap_now(void)
{
	struct timespec now;

	MUST(clock_gettime(CLOCK_MONOTONIC, &now));
	return now.tv_sec + now.tv_nsec / 1e9;
}

void ktap_fail(const char *file, int line, const char *format, ...)
{
	const char *name = strrchr(file, '/');
	char where[128];
	va_list args;

	snprintf(where, sizeof(where), "%s:%d: ", name ? name + 1 : file, line);
	va_start(args, format);
	say(where, format, args);
	va_end(args);
	_exit(FAIL);
}

void ktap_skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("skipped: ", format, args);
	va_end(args);
	_exit(SKIP);
}

bool ktap_kernel_since(unsigned int major, unsigned int minor)
{
	unsigned int release[2];
	struct utsname name;

	MUST(uname(&name));
	if (sscanf(name.release, "%u.%u", &release[0], &release[1]) != 2)
		ktap_fail(__FILE__, __LINE__, "%s is no release", name.release);
	return release[0] > major || (release[0] == major && release[1] >= minor);
}

static const char *number_text(char *text, size_t size, long long value)
{
	const char *name = value < 0 && value > -4096 ? strerrorname_np(-value) : NULL;

	if (name)
		snprintf(text, size, "-%s", name);
	else
		snprintf(text, size, "%lld (0x%llx)", value, value);
	return text;
}

void ktap_expect_eq(const char *file, int line, const char *what, long long is, long long wanted)
{
	char is_text[64], wanted_text[64];

	if (is != wanted)
		ktap_fail(file, line, "%s is %s, wanted %s", what,
			  number_text(is_text, sizeof(is_text), is),
			  number_text(wanted_text, sizeof(wanted_text), wanted));
}

static int run_one(int n)
{
	int status;
	pid_t pid;

	running = tests[n].name;
	pid = fork();
	if (pid < 0) {
		ktap_note("fork: %m");
		return FAIL;
	}
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		alarm(KTAP_TIMEOUT);
		tests[n].run();
		_exit(PASS);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	kill(-pid, SIGKILL);	/* processes that the test has left behind */
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) == SIGALRM)
		ktap_note("timed out");
	else
		ktap_note("killed by signal %d", WTERMSIG(status));
	return FAIL;
}

static bool test_wanted(int n, int argc, char **argv)
{
	const char *guest = getenv("GUEST");
	bool left;
	int i;

	for (i = 1; i < argc; i++)
		if (strstr(tests[n].name, argv[i]))
			return true;
	if (argc > 1)
		return false;
	left = tests[n].where == KTAP_SOAK ||
	       (tests[n].where == KTAP_STOCK && guest && !strcmp(guest, "debug"));
	if (!left || getenv("KTAP_ALL"))
		return true;
	printf("# left to make soak: %s\n", tests[n].name);
	return false;
}

/* Arguments: parts of the names of the tests to run; none: all of them. */
int ktap_run(int argc, char **argv)
{
	bool failed = false;
	int done = 0, n;
	time_t start;

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("KTAP version 1");
	for (n = 0; n < count; n++) {
		int ret;

		if (!test_wanted(n, argc, argv))
			continue;
		start = time(NULL);
		ret = run_one(n);
		if (time(NULL) - start >= SLOW)
			ktap_note("took %ld s", (long)(time(NULL) - start));
		failed |= ret != PASS && ret != SKIP;
		printf("%s %d %s%s\n", ret == PASS || ret == SKIP ? "ok" : "not ok", ++done,
		       tests[n].name, ret == SKIP ? " # SKIP see above" : "");
	}
	printf("1..%d\n", done);
	return failed ? FAIL : PASS;
}
