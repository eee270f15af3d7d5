// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Runs one end of tests with two ends: PROGRAM server|client TEST..., or PROGRAM list. */
#include "duo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define MAX_TESTS 64

/* Seconds for one test. */
#define TIME 90
#define TIME_DEBUG 400

static struct {
	const char *name;
	const char *flags;
	void (*server)(void);
	void (*client)(void);
} tests[MAX_TESTS];
static unsigned int count;
static const char *running;
static jmp_buf skipped;

void duo_register(const char *name, const char *flags, void (*server)(void),
		  void (*client)(void))
{
	if (count == MAX_TESTS)
		ktap_fail(__FILE__, __LINE__, "too many tests in one program");
	tests[count].name = name;
	tests[count].flags = flags;
	tests[count].server = server;
	tests[count++].client = client;
}

const char *test_name(void)
{
	return running;
}

void give(const void *data, size_t len)
{
	if (send(STDIN_FILENO, data, len, MSG_NOSIGNAL) != (ssize_t)len)
		ktap_fail(__FILE__, __LINE__, "the other end is gone");
}

void take(void *data, size_t len)
{
	ssize_t got = recv(STDIN_FILENO, data, len, MSG_TRUNC);

	if (got <= 0)
		ktap_fail(__FILE__, __LINE__, "the other end is gone");
	EXPECT_EQ(got, len);
}

void give_number(uint64_t number)
{
	give(&number, sizeof(number));
}

uint64_t take_number(void)
{
	uint64_t number;

	take(&number, sizeof(number));
	return number;
}

void meet(void)
{
	char byte = 'm';

	give(&byte, 1);
	take(&byte, 1);
	EXPECT_EQ(byte, 'm');
}

void tell(const char *format, ...)
{
	va_list args;

	fputs("> ", stdout);	/* what tests/api/verbs/run looks for */
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

const char *errno_name(void)
{
	return strerrorname_np(errno) ?: "?";
}

void skip_test(const char *why)
{
	printf("skip %s\n", why);
	longjmp(skipped, 1);
}

static void run_test(unsigned int i, bool server)
{
	bool debug = getenv("GUEST") && !strcmp(getenv("GUEST"), "debug");

	alarm(debug ? TIME_DEBUG : TIME);
	running = tests[i].name;
	printf("begin %s\n", running);
	meet();
	if (!setjmp(skipped)) {
		if (server)
			tests[i].server();
		else
			tests[i].client();
	}
	meet();
	printf("end %s\n", running);
}

int duo_run(int argc, char **argv)
{
	unsigned int i;
	int arg;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && !strcmp(argv[1], "list")) {
		for (i = 0; i < count; i++)
			printf("%s %s\n", tests[i].name, tests[i].flags);
		return 0;
	}
	if (argc < 3) {
		fprintf(stderr, "usage: %s list | server TEST... | client TEST...\n", argv[0]);
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (arg = 2; arg < argc; arg++)
		for (i = 0; i < count; i++)
			if (!strcmp(argv[arg], tests[i].name))
				run_test(i, !strcmp(argv[1], "server"));
	return 0;
}
