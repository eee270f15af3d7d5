// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A run: starts the processes, kills and restarts some of them, checks that no call hangs, and
 * reports at the end. tests/robust/stress/run gives the addresses, and adds and removes devices and
 * namespaces meanwhile. The exit status is 0 when nothing was wrong.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "farm.h"
#include "stress.h"

struct world *world;

static struct {
	uint64_t seed;
	double seconds;
	double bound;		/* seconds that a call may take */
	const char *netns;
	const char *file;
	const char *farm;
} options = { .seed = 1, .seconds = 10, .bound = 30, .file = "/tmp/stress.world" };

static pid_t workers[WORKERS];
static int generation;

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

void complain(const char *format, ...)
{
	uint32_t n = __atomic_fetch_add(&world->complaints, 1, __ATOMIC_RELAXED);
	va_list args;

	if (n >= COMPLAINTS)
		return;
	va_start(args, format);
	vsnprintf(world->complaint[n], sizeof(world->complaint[n]), format, args);
	va_end(args);
}

static bool alive(pid_t tid)
{
	return !kill(tid, 0) || errno != ESRCH;
}

/* A lane for this thread; those of killed threads are free. */
struct lane *lane_take(void)
{
	for (;;) {
		for (int i = 0; i < LANES; i++) {
			struct lane *lane = &world->lane[i];
			pid_t had = __atomic_load_n(&lane->pid, __ATOMIC_ACQUIRE);

			if (had && alive(had))
				continue;
			if (!__atomic_compare_exchange_n(&lane->pid, &had, gettid(), false,
							 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				continue;
			lane->since = 0;
			return lane;
		}
		usleep(1000);
	}
}

static void map_world(bool fresh)
{
	int fd = open(options.file, O_RDWR | (fresh ? O_CREAT | O_TRUNC : 0), 0600);

	if (fd < 0 || (fresh && ftruncate(fd, sizeof(*world))))
		err(2, "%s", options.file);
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (world == MAP_FAILED)
		err(2, "mmap");
	close(fd);
}

static void prepare(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	for (int i = 0; i < MAX_CTX; i++)
		pthread_mutex_init(&world->ctx[i].lock, &attr);
	for (int i = 0; i < WORKERS; i++)
		if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, world->mail[i]))
			err(2, "socketpair");
	oracle_init();
}

static enum group group_of(int worker)
{
	return worker < CLEAN_WORKERS ? CLEAN : DIRTY;
}

/* Enters the other network namespace, if it exists at present. */
static void elsewhere(void)
{
	int fd = options.netns ? open(options.netns, O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		setns(fd, CLONE_NEWNET);
		close(fd);
	}
}

static void start_worker(int worker, bool away)
{
	int number = worker + WORKERS * generation;

	workers[worker] = fork();
	if (workers[worker] < 0)
		err(2, "fork");
	if (workers[worker])
		return;
	if (away)
		elsewhere();
	worker_run(number, group_of(worker));
}

/* Writes the blocked tasks to the kernel's log, once. */
static void show_blocked(void)
{
	static bool shown;
	int fd;

	if (shown)
		return;
	shown = true;
	fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "w", 1) != 1)
		warn("sysrq");
	close(fd);
}

/* Reports calls that exceed the time limit. */
static void check_hangs(void)
{
	static bool told[LANES];

	for (int i = 0; i < LANES; i++) {
		struct lane *lane = &world->lane[i];
		uint64_t since = __atomic_load_n(&lane->since, __ATOMIC_ACQUIRE);
		double took = since ? (now_ns() - since) / 1e9 : 0;
		pid_t pid = lane->pid;

		if (!since || lane->waits || took < world->bound / 4 || !pid || !alive(pid))
			continue;
		show_blocked();
		if (took < world->bound)
			continue;
		if (!told[i])
			complain("%s: the call has not returned after %.0f s (thread %d)",
				 op_name(lane->op), took, pid);
		told[i] = true;
	}
}

/* Kills and restarts workers until the time is over. Returns how long it took. */
static double run_world(void)
{
	uint64_t began = now_ns(), random = ~world->seed, next = began;
	double took = 0;

	while (took < options.seconds && !world->complaints) {
		usleep(50000);
		took = (now_ns() - began) / 1e9;
		check_hangs();
		if (now_ns() < next)
			continue;
		next = now_ns() + random_next(&random) % 1500 * 1000000;
		if (took > 1) {
			int victim = WORKERS / 2 + random_next(&random) % (WORKERS / 2);

			kill(workers[victim], SIGKILL);
			waitpid(workers[victim], NULL, 0);
			world->kills++;
			generation++;
			start_worker(victim, random_next(&random) % 2);
		}
	}
	return took;
}

/* Prints the kernel stacks of the processes that have not ended. */
static void show_stacks(void)
{
	char command[120];

	show_blocked();
	fflush(stdout);
	for (int i = 0; i < WORKERS; i++) {
		snprintf(command, sizeof(command),
			 "grep . /proc/%d/task/*/stack /proc/%d/task/*/status | grep -E 'stack:|State:'",
			 workers[i], workers[i]);
		if (alive(workers[i]) && system(command) < 0)
			warn("system");
	}
}

/* Returns how long the processes took to end and release their contexts. */
static double finish(void)
{
	uint64_t began = now_ns();
	int left = WORKERS, status;
	bool shown = false;
	pid_t pid;

	__atomic_store_n(&world->stop, true, __ATOMIC_SEQ_CST);
	while (left && (now_ns() - began) / 1e9 < 2 * world->bound) {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid <= 0) {
			check_hangs();
			if (!shown && (now_ns() - began) / 1e9 > world->bound) {
				show_stacks();
				shown = true;
			}
			usleep(10000);
			continue;
		}
		for (int i = 0; i < WORKERS; i++)
			left -= workers[i] == pid;
		if (status)
			complain("a process ended with status %#x", status);
	}
	if (left)
		complain("%d processes have not ended after %.0f s", left, 2 * world->bound);
	for (int i = 0; i < WORKERS; i++) {
		close(world->mail[i][0]);
		close(world->mail[i][1]);
	}
	return (now_ns() - began) / 1e9;
}

/* Whether no id holds the port: then it can be bound exclusively. */
static bool port_is_free(int ctx, const char *ip, uint16_t port)
{
	uint32_t id;
	int ret = rca_create(ctx, -1, RDMA_PS_TCP, IB_UVERBS_QPT_RC, 0, &id);

	if (!ret) {
		ret = rca_bind(ctx, id, ip, port);
		rca_destroy(ctx, id);
	}
	return ret != -EADDRINUSE;
}

/* All processes have ended, so all ports must be free. */
static void check_ports(int ctx)
{
	for (int i = 0; i < world->places; i++)
		for (int port = FIRST_PORT; port < FIRST_PORT + PORTS; port++)
			if (!port_is_free(ctx, world->place[i].ip, port))
				complain("port %d of %s is still in use", port, world->place[i].ip);
}

static void add_place(const char *ip, bool iwarp)
{
	struct place *place;

	if (world->places == PLACES || strlen(ip) >= sizeof(place->ip))
		errx(2, "too many addresses, or a long one: %s", ip);
	place = &world->place[world->places++];
	strcpy(place->ip, ip);
	place->iwarp = iwarp;
}

static const char usage[] =
	"usage: stress [-s SEED] [-t SECONDS] [-b BOUND] [-n NETNS] [-f FILE] [iwarp:]ADDRESS...\n"
	"       stress -q DEVICE [-f FILE]    makes QPs for the iWARP addresses of a run\n";

static void read_options(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "s:t:b:n:f:q:")) != -1) {
		switch (opt) {
		case 's':
			options.seed = strtoull(optarg, NULL, 0);
			break;
		case 't':
			options.seconds = atof(optarg);
			break;
		case 'b':
			options.bound = atof(optarg);
			break;
		case 'n':
			options.netns = optarg;
			break;
		case 'f':
			options.file = optarg;
			break;
		case 'q':
			options.farm = optarg;
			break;
		default:
			errx(2, "%s", usage);
		}
	}
	if (optind == argc && !options.farm)
		errx(2, "%s", usage);
}

int main(int argc, char **argv)
{
	double took, ending;
	int anchor;

	read_options(argc, argv);
	map_world(!options.farm);
	if (options.farm)
		return farm_run(options.farm);
	world->seed = options.seed;
	world->bound = options.bound;
	for (; optind < argc; optind++) {
		bool iwarp = !strncmp(argv[optind], "iwarp:", 6);

		add_place(argv[optind] + (iwarp ? 6 : 0), iwarp);
	}
	prepare();
	/* Guests have hung when a process was killed while its pages were read through 9p. */
	if (mlockall(MCL_CURRENT))
		err(2, "mlockall");
	/* As long as this is open the module cannot be unloaded. */
	anchor = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (anchor < 0)
		err(2, "%s", DEVICE);
	for (int i = 0; i < WORKERS; i++)
		start_worker(i, false);
	took = run_world();
	ending = finish();
	oracle_account();
	check_ports(anchor);
	report(took, ending);
	return world->complaints ? 1 : 0;
}
