// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A call that is repeated with a fault at each place where the kernel may fail. */
#include "sweep.h"


#include "ktap.h"

#define DEBUGFS "/sys/kernel/debug"

/* Stack frames that are examined for a fault: the maximum of the kernel. */
#define DEPTH 32

/* More than happen at random. */
#define MOST_FAULTS 1000000

/* More places than any call has. */
#define MAX_PLACES 5000

static int nth_fd = -1;

static void set_knob(const char *file, const char *value)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		ktap_skip("no fault injection: there is no %s", file);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		ktap_fail(__FILE__, __LINE__, "%s: %m", file);
	MUST(close(fd));
}

void sweep_setup(void)
{
	/* By default only allocations that may not sleep fail. */
	set_knob(DEBUGFS "/failslab/ignore-gfp-wait", "N");
	set_knob(DEBUGFS "/failslab/verbose", "0");
	/* What a test that failed may have left. */
	set_knob(DEBUGFS "/failslab/probability", "0");
	set_knob(DEBUGFS "/failslab/interval", "1");
	set_knob(DEBUGFS "/failslab/task-filter", "N");
	set_knob(DEBUGFS "/fail_page_alloc/ignore-gfp-wait", "N");
	set_knob(DEBUGFS "/fail_page_alloc/ignore-gfp-highmem", "N");
	set_knob(DEBUGFS "/fail_page_alloc/min-order", "0");
	set_knob(DEBUGFS "/fail_page_alloc/verbose", "0");
	set_knob(DEBUGFS "/fail_usercopy/verbose", "0");
}

bool sweep_more(struct sweep *sweep)
{
	if (!sweep->nth) {
		sweep_setup();
	} else if (!sweep->reached) {
		if (sweep->ret < 0)
			ktap_fail(__FILE__, __LINE__, "failed without a fault: %s",
				  strerrorname_np(-sweep->ret));
		ktap_note("%u places, %u of them errors", sweep->nth - 1, sweep->errors);
		ktap_note("faults tried: %u allocations and copies that fail", sweep->nth - 1);
		return false;
	}
	if (++sweep->nth > MAX_PLACES)
		ktap_fail(__FILE__, __LINE__, "no end after %u places", MAX_PLACES);
	return true;
}

void sweep_arm(struct sweep *sweep)
{
	char text[16];
	int len;

	if (nth_fd < 0)
		nth_fd = MUST(open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC));
	len = snprintf(text, sizeof(text), "%u", sweep->nth);
	if (pwrite(nth_fd, text, len, 0) != len)
		ktap_fail(__FILE__, __LINE__, "fail-nth: %m");
}

void sweep_disarm(struct sweep *sweep, long ret)
{
	char text[16] = "";

	sweep->ret = ret;
	/* The rest of the count; the fault may hit this read itself. */
	sweep->reached = pread(nth_fd, text, sizeof(text) - 1, 0) > 0 && !strtoul(text, NULL, 0);
	while (pwrite(nth_fd, "0", 1, 0) != 1)
		;
	if (ret < 0)
		sweep->errors++;
}

bool sweep_failed(const char *file, int line, const struct sweep *sweep, int other)
{
	int error = -sweep->ret;

	if (error <= 0)
		return false;
	if (error != ENOMEM && error != EFAULT && error != other)
		ktap_fail(file, line, "place %u: %s", sweep->nth, strerrorname_np(error) ?: "?");
	return true;
}

/* Calls @look for each function that the kernel knows. */
static void each_function(void (*look)(struct text *text, const char *what, unsigned long at,
				       const char *name, const char *module),
			  struct text *text, const char *what)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], name[256], module[128], type;
	unsigned long at;

	EXPECT(file);
	while (fgets(line, sizeof(line), file)) {
		*module = 0;
		if (sscanf(line, "%lx %c %255s [%127[^]]", &at, &type, name, module) < 3)
			continue;
		if (type == 't' || type == 'T')
			look(text, what, at, name, module);
	}
	fclose(file);
	if (!text->start || !text->end)
		ktap_fail(__FILE__, __LINE__, "no %s in /proc/kallsyms", what);
}

static void find_start(struct text *text, const char *what, unsigned long at, const char *name,
		       const char *module)
{
	(void)module;
	if (!strcmp(name, what))
		*text = (struct text){ at, -1UL };
}

static void find_end(struct text *text, const char *what, unsigned long at, const char *name,
		     const char *module)
{
	(void)what;
	(void)name;
	(void)module;
	if (at > text->start && at < text->end)
		text->end = at;
}

struct text text_of_function(const char *name)
{
	struct text text = {};

	each_function(find_start, &text, name);
	each_function(find_end, &text, name);
	return text;
}

static void add_function(struct text *text, const char *what, unsigned long at, const char *name,
			 const char *module)
{
	(void)name;
	if (strcmp(module, what))
		return;
	if (!text->start || at < text->start)
		text->start = at;
	if (at + 1 > text->end)
		text->end = at + 1;
}

struct text text_of_module(const char *name)
{
	struct text text = {}, last;

	each_function(add_function, &text, name);
	last = (struct text){ text.end, text.end + (1 << 16) };
	each_function(find_end, &last, name);
	text.end = last.end;
	return text;
}

static void set_number(const char *attr, const char *file, unsigned long value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), DEBUGFS "/%s/%s", attr, file);
	snprintf(text, sizeof(text), "%#lx", value);
	set_knob(path, text);
}

void faults_within(const struct text *within, const struct text *but)
{
	static const char * const attrs[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	unsigned int i;

	for (i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++) {
		set_number(attrs[i], "stacktrace-depth", DEPTH);
		set_number(attrs[i], "require-start", within ? within->start : 0);
		set_number(attrs[i], "require-end", within ? within->end : -1UL);
		set_number(attrs[i], "reject-start", but ? but->start : 0);
		set_number(attrs[i], "reject-end", but ? but->end : 0);
	}
}

void faults_random(unsigned int percent)
{
	sweep_setup();
	set_number("failslab", "times", MOST_FAULTS);
	set_number("failslab", "probability", percent);
}

/* How many slab allocations may still fail. The call allocates, and survives such a fault. */
static unsigned int faults_left(void)
{
	char text[32] = "";
	int fd;

	do {
		fd = open(DEBUGFS "/failslab/times", O_RDONLY | O_CLOEXEC);
	} while (fd < 0 && errno == ENOMEM);
	EXPECT(MUST(read(fd, text, sizeof(text) - 1)) > 0);
	MUST(close(fd));
	return strtoul(text, NULL, 0);
}

unsigned int faults_end(void)
{
	set_number("failslab", "probability", 0);
	faults_within(NULL, NULL);
	return MOST_FAULTS - faults_left();
}

static void allow_faults_of_this_task(bool allow)
{
	set_knob("/proc/thread-self/make-it-fail", allow ? "1" : "0");
	set_knob(DEBUGFS "/failslab/task-filter", allow ? "Y" : "N");
}

/*
 * The kernel lets every "interval"th allocation fail, and counts on from the last fault, although
 * it does not show the count. The first fault hits this function itself: the count begins there.
 */
void faults_at(const struct text *within, const struct text *but, unsigned int nth)
{
	sweep_setup();
	set_number("failslab", "times", 0);
	set_number("failslab", "probability", 100);
	set_number("failslab", "interval", nth);
	faults_within(NULL, NULL);
	allow_faults_of_this_task(true);
	set_number("failslab", "times", 1);
	while (faults_left())
		;
	allow_faults_of_this_task(false);
	faults_within(within, but);
	set_number("failslab", "times", 1);
}

bool faults_hit(void)
{
	return !faults_left();
}
