// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Runs groups of questions in processes, and prints answers.
 *
 * usage: conformance -l              prints the groups: name, file, kinds
 *        conformance [-j N] GROUP...
 *
 * Answers go to the standard output, one write each. The last one of a group is
 * "GROUP.end: ok", or how its process ended.
 */
#include "answer.h"

#include <dirent.h>
#include <stdarg.h>
#include <sys/prctl.h>

#define MAX_GROUPS 512
#define LINE 1024
#define CLEANUP_LEN 512

/* Seconds for a group; a slow one gets more. */
#define LIMIT 180
#define SLOW_LIMIT 600

static struct question_group groups[MAX_GROUPS];
static int count;
static const char *running = "main";
static int factor = 1;

sigjmp_buf call_escape;
static volatile sig_atomic_t in_call;
static pthread_t main_thread;
static int crash_signal;

void group_register(const char *name, const char *file, void (*run)(void), int kind)
{
	if (count == MAX_GROUPS)
		abort();
	groups[count++] = (struct question_group){ name, file, run, kind };
}

void answer(const char *check, const char *format, ...)
{
	char line[LINE];
	va_list args;
	int len;

	len = snprintf(line, sizeof(line), "%s.%s: ", running, check);
	va_start(args, format);
	len += vsnprintf(line + len, sizeof(line) - len, format, args);
	va_end(args);
	if (len > LINE - 2)
		len = LINE - 2;
	line[len++] = '\n';
	if (write(STDOUT_FILENO, line, len) != len)
		_exit(3);
}

const char *errno_name(int error)
{
	static char number[16];

	if (strerrorname_np(error))
		return strerrorname_np(error);
	snprintf(number, sizeof(number), "%d", error);
	return number;
}

const char *event_name(int event)
{
	static const char *const names[] = {
		"ADDR_RESOLVED", "ADDR_ERROR", "ROUTE_RESOLVED", "ROUTE_ERROR", "CONNECT_REQUEST",
		"CONNECT_RESPONSE", "CONNECT_ERROR", "UNREACHABLE", "REJECTED", "ESTABLISHED",
		"DISCONNECTED", "DEVICE_REMOVAL", "MULTICAST_JOIN", "MULTICAST_ERROR",
		"ADDR_CHANGE", "TIMEWAIT_EXIT", "ADDRINFO_RESOLVED", "ADDRINFO_ERROR", "USER",
		"INTERNAL",
	};
	static char number[16];

	if (event >= 0 && event < (int)(sizeof(names) / sizeof(*names)))
		return names[event];
	snprintf(number, sizeof(number), "event%d", event);
	return number;
}

const char *yes(bool condition)
{
	return condition ? "yes" : "no";
}

int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int fds = -3;	/* ".", ".." and the directory itself */

	if (!dir)
		return -1;
	while (readdir(dir))
		fds++;
	closedir(dir);
	return fds;
}

int patience(int ms)
{
	return ms * factor;
}

static void on_crash(int number)
{
	if (!in_call || !pthread_equal(pthread_self(), main_thread)) {
		signal(number, SIG_DFL);
		raise(number);
		return;
	}
	crash_signal = number;
	siglongjmp(call_escape, 1);
}

struct call call_begin(const char *check)
{
	struct call call = { check, count_fds() };

	in_call = 1;
	errno = 0;
	return call;
}

/* Descriptor changes; prints nothing when there are none, or when they do not count (fds is -1). */
static const char *grown(const struct call *call)
{
	static char text[32];
	int fds = call->fds < 0 ? 0 : count_fds() - call->fds;

	text[0] = 0;
	if (fds)
		snprintf(text, sizeof(text), " fds=%+d", fds);
	return text;
}

void call_end(const struct call *call, long ret)
{
	int error = errno;

	in_call = 0;
	if (ret == -1)
		answer(call->check, "ret=-1 errno=%s%s", errno_name(error), grown(call));
	else
		answer(call->check, "ret=%ld%s", ret, grown(call));
	errno = error;
}

void call_end_pointer(const struct call *call, const void *ret)
{
	int error = errno;

	in_call = 0;
	if (ret)
		answer(call->check, "ret=pointer%s", grown(call));
	else
		answer(call->check, "ret=NULL errno=%s%s", errno_name(error), grown(call));
	errno = error;
}

void call_crashed(const struct call *call)
{
	in_call = 0;
	answer(call->check, "SIG%s", sigabbrev_np(crash_signal));
}

void step_failed(const char *file, int line, const char *what, long value)
{
	const char *name = strrchr(file, '/');

	answer("step", "failed: %s:%d: %s = %ld, errno %s", name ? name + 1 : file, line, what,
	       value, errno_name(errno));
	_exit(1);
}

struct thread {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int (*call)(void *arg);
	void *arg;
	int ret, error;
	bool done;
};

static void *thread_run(void *arg)
{
	struct thread *thread = arg;
	int ret;

	errno = 0;
	ret = thread->call(thread->arg);
	pthread_mutex_lock(&thread->lock);
	thread->ret = ret;
	thread->error = errno;
	thread->done = true;
	pthread_cond_signal(&thread->changed);
	pthread_mutex_unlock(&thread->lock);
	return NULL;
}

struct thread *thread_begin(int (*call)(void *arg), void *arg)
{
	struct thread *thread = NEED_PTR((struct thread *)calloc(1, sizeof(*thread)));

	pthread_mutex_init(&thread->lock, NULL);
	pthread_cond_init(&thread->changed, NULL);
	thread->call = call;
	thread->arg = arg;
	NEED(pthread_create(&thread->thread, NULL, thread_run, thread));
	return thread;
}

int thread_wait(struct thread *thread, int ms, int *error)
{
	struct timespec until;
	int ret = RUNNING;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	pthread_mutex_lock(&thread->lock);
	while (!thread->done)
		if (pthread_cond_timedwait(&thread->changed, &thread->lock, &until))
			break;
	if (thread->done) {
		ret = thread->ret;
		if (error)
			*error = thread->error;
	}
	pthread_mutex_unlock(&thread->lock);
	return ret;
}

void thread_answer(const char *check, struct thread *thread, int ms)
{
	int error = 0, ret = thread_wait(thread, ms, &error);

	if (ret == RUNNING)
		answer(check, "blocks");
	else if (ret == -1)
		answer(check, "ret=-1 errno=%s", errno_name(error));
	else
		answer(check, "ret=%d", ret);
}

/* In shared memory: a command that the parent runs after a group's process has ended. */
static char *cleanup;

void at_group_end(const char *command)
{
	snprintf(cleanup, CLEANUP_LEN, "%s", command);
}

static pid_t start_group(const struct question_group *group)
{
	pid_t pid = fork();
	int number;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	running = group->name;
	main_thread = pthread_self();
	for (number = SIGQUIT; number <= SIGSEGV; number++)
		if (number == SIGSEGV || number == SIGABRT || number == SIGBUS || number == SIGFPE)
			signal(number, on_crash);
	alarm((group->kind & SLOW ? SLOW_LIMIT : LIMIT) * factor);
	if (!(group->kind & COLD))
		rdma_destroy_event_channel(NEED_PTR(rdma_create_event_channel()));
	group->run();
	_exit(0);
}

static void ended(const struct question_group *group, pid_t pid, int status)
{
	running = group->name;
	kill(-pid, SIGKILL);	/* Processes that the group has started and not ended. */
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		answer("end", "timeout");
	else if (WIFSIGNALED(status))
		answer("end", "SIG%s", sigabbrev_np(WTERMSIG(status)));
	else
		answer("end", status ? "a step failed" : "ok");
	if (*cleanup && system(cleanup))
		fprintf(stderr, "%s: not cleaned up: %s\n", group->name, cleanup);
	*cleanup = '\0';
}

static const struct question_group *find_group(const char *name)
{
	int n;

	for (n = 0; n < count; n++)
		if (!strcmp(groups[n].name, name))
			return &groups[n];
	fprintf(stderr, "there is no group %s\n", name);
	exit(2);
}

static void list(void)
{
	int n;

	for (n = 0; n < count; n++)
		printf("%s %s%s%s%s%s%s%s\n", groups[n].name, groups[n].file,
		       groups[n].kind & IN_DEBUG ? " debug" : "",
		       groups[n].kind & WAITS ? " waits" : "", groups[n].kind & SLOW ? " slow" : "",
		       groups[n].kind & ALONE ? " alone" : "",
		       groups[n].kind & ON_IB ? " ib" : "",
		       groups[n].kind & RSOCKETS ? " rsockets" : "");
}

/* Wait for one process; returns whether it was one that counts against the jobs. */
static bool reap(const struct question_group **groups_by_slot, pid_t *pids)
{
	int status, n;
	pid_t pid;

	do
		pid = wait(&status);
	while (pid < 0 && errno == EINTR);
	for (n = 0; n < MAX_GROUPS; n++)
		if (pids[n] == pid) {
			pids[n] = 0;
			ended(groups_by_slot[n], pid, status);
			return !(groups_by_slot[n]->kind & WAITS);
		}
	return false;
}

/* First all waiting groups at once, then others, a few at a time, then each of the rest. */
static void run_all(int argc, char **argv, int jobs)
{
	const struct question_group *slots[MAX_GROUPS];
	pid_t pids[MAX_GROUPS] = { 0 };
	int pass, n, left = 0, busy = 0;

	for (pass = 0; pass < 3; pass++)
		for (n = 0; n < argc; n++) {
			const struct question_group *group = find_group(argv[n]);

			if (pass != (group->kind & ALONE ? 2 : group->kind & WAITS ? 0 : 1))
				continue;
			while ((pass && busy >= jobs) || (pass == 2 && left)) {
				busy -= reap(slots, pids);
				left--;
			}
			slots[n] = group;
			pids[n] = start_group(group);
			left++;
			busy += !(group->kind & WAITS);
		}
	while (left--)
		reap(slots, pids);
}

int main(int argc, char **argv)
{
	const char *times = getenv("CONFORMANCE_PATIENCE");
	int option, jobs = 3;

	if (times)
		factor = atoi(times);
	while ((option = getopt(argc, argv, "lj:")) != -1) {
		if (option == 'l') {
			list();
			return 0;
		}
		if (option != 'j') {
			fprintf(stderr, "usage: conformance -l | conformance [-j N] GROUP...\n");
			return 2;
		}
		jobs = atoi(optarg);
	}
	if (argc - optind > MAX_GROUPS)
		return 2;
	cleanup = mmap(NULL, CLEANUP_LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (cleanup == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	run_all(argc - optind, argv + optind, jobs);
	return 0;
}
