// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma-cm-alt bench: connection times of this host over rdma_cm_alt and over the stock module. */
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/core/host.h"
#include "tool/core/tool.h"

enum { DEFAULT_COUNT = 200, DEFAULT_ROUNDS = 3, KEY_WORKER = 256, LINE = 512 };

static struct {
	char address[NI_MAXHOST];
	const char *library;
	long count, rounds;
	const char *worker;	/* the stack that this process measures */
} wanted = { .library = TOOL_DROPIN, .count = DEFAULT_COUNT, .rounds = DEFAULT_ROUNDS };

static const struct argp_option bench_options[] = {
	{ "count", 'n', "NUMBER", 0, "Connections in a round (default 200)", 0 },
	{ "rounds", 'r', "NUMBER", 0, "Rounds of each, in turn (default 3)", 0 },
	{ "library", 'l', "DIRECTORY", 0, "Where the drop-in librdmacm.so.1 is", 0 },
	{ "worker", KEY_WORKER, "STACK", OPTION_HIDDEN, NULL, 0 },
	{ 0 }
};

static long parse_number(const char *arg, struct argp_state *state)
{
	char *end;
	long value = strtol(arg, &end, 10);

	if (*end || value <= 0 || value > 1000000)
		argp_error(state, "%s is no number from 1 to 1000000", arg);
	return value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct address address;
	const char *wrong;

	switch (key) {
	case 'n':
		wanted.count = parse_number(arg, state);
		return 0;
	case 'r':
		wanted.rounds = parse_number(arg, state);
		return 0;
	case 'l':
		wanted.library = arg;
		return 0;
	case KEY_WORKER:
		wanted.worker = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			argp_error(state, "one address at a time");
		wrong = address_parse(arg, &address);
		if (wrong)
			argp_error(state, "%s", wrong);
		if (address.port)
			argp_error(state, "%s has a port: bench takes one of its own", arg);
		snprintf(wanted.address, sizeof(wanted.address), "%s", address.text);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool has_device(struct json_object *ports, const char *netdev)
{
	for (size_t i = 0; i < json_object_array_length(ports); i++) {
		struct json_object *port = json_object_array_get_idx(ports, i);
		struct json_object *netdevs = json_object_object_get(port, "netdevs");

		if (netdevs && json_object_object_get(netdevs, netdev) &&
		    record_number(port, "active"))
			return true;
	}
	return false;
}

/* Selects the first IPv4 address of this host that is on an active RDMA device. */
static void find_address(void)
{
	struct json_object *ports = host_ports();
	struct ifaddrs *list;

	if (getifaddrs(&list))
		fail(TOOL_ERROR, "the addresses of this host: %s", strerror(errno));
	for (struct ifaddrs *entry = list; entry && !*wanted.address; entry = entry->ifa_next)
		if (entry->ifa_addr && entry->ifa_addr->sa_family == AF_INET &&
		    has_device(ports, entry->ifa_name))
			getnameinfo(entry->ifa_addr, sizeof(struct sockaddr_in), wanted.address,
				    sizeof(wanted.address), NULL, 0, NI_NUMERICHOST);
	freeifaddrs(list);
	json_object_put(ports);
	if (!*wanted.address)
		fail(TOOL_ERROR,
		     "no IPv4 address of this host is on an RDMA device that is active: "
		     "say which one it shall use, or: rdma-cm-alt check");
}

/* Detects an unusable address early: the errno of the first failing call says little about it. */
static void check_address(void)
{
	struct json_object *path;
	struct address address;
	const char *wrong = address_parse(wanted.address, &address);

	if (wrong)
		fail(TOOL_USAGE, "%s", wrong);
	path = host_path(&address, false);
	if (!record_number(path, "local"))
		fail(TOOL_ERROR,
		     "%s is no address of this host, where bench runs both ends: ip address",
		     address.text);
	if (!record_string(path, "device"))
		fail(TOOL_ERROR,
		     "%s is on no RDMA device: rdma link says on which interfaces they are",
		     address.text);
	json_object_put(path);
}

/* Returns the results that a worker printed; NULL: it failed, and printed the reason. */
static struct json_object *run_worker(bool ours)
{
	char line[LINE] = "", count[16];
	int ends[2], status = -1;
	FILE *said;
	pid_t pid;

	if (pipe(ends))
		fail(TOOL_ERROR, "pipe: %s", strerror(errno));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		if (ours)
			run_setup(wanted.library);
		snprintf(count, sizeof(count), "%ld", wanted.count);
		execl("/proc/self/exe", "rdma-cm-alt", "bench", ours ? "--worker=ours" :
		      "--worker=stock", "-n", count, wanted.address, NULL);
		_exit(127);
	}
	close(ends[1]);
	said = fdopen(ends[0], "r");
	if (!said || !fgets(line, sizeof(line), said))
		*line = '\0';
	if (said)
		fclose(said);
	waitpid(pid, &status, 0);
	/* The worker has printed the reason. */
	if (WIFEXITED(status) && WEXITSTATUS(status) == BENCH_LIBRARY)
		exit(TOOL_ERROR);
	return status || !*line ? NULL : json_tokener_parse(line);
}

static int compare(const void *a, const void *b)
{
	double one = *(const double *)a, two = *(const double *)b;

	return (one > two) - (one < two);
}

static double number_of(struct json_object *round, const char *step)
{
	return json_object_get_double(json_object_object_get(round, step));
}

static double median(struct json_object *rounds, const char *key)
{
	size_t n = json_object_array_length(rounds);
	double values[n];

	for (size_t i = 0; i < n; i++)
		values[i] = number_of(json_object_array_get_idx(rounds, i), key);
	qsort(values, n, sizeof(values[0]), compare);
	return values[n / 2];
}

static void add_number(struct json_object *row, const char *key, double value, const char *unit)
{
	char text[32];

	snprintf(text, sizeof(text), unit, value);
	json_object_object_add(row, key, options.json ? json_object_new_double(value) :
							json_object_new_string(text));
}

static void print_results(struct json_object *ours, struct json_object *stock)
{
	static const struct column columns[] = {
		{ "step", "STEP", false }, { "ours", "RDMA_CM_ALT", true },
		{ "stock", "RDMA_CM", true }, { "speed", "SPEED", true },
	};
	static const char * const steps[] = { "address", "route", "connect", "disconnect", "all" };
	struct json_object *rows = json_object_new_array();

	for (size_t i = 0; i < COUNT(steps); i++) {
		struct json_object *row = json_object_new_object();
		double took = median(ours, steps[i]);

		record_put(row, "step", steps[i]);
		add_number(row, "ours", took, "%.0f us");
		if (json_object_array_length(stock)) {
			double took_stock = median(stock, steps[i]);

			add_number(row, "stock", took_stock, "%.0f us");
			/* A coarse clock advances only at a timer tick, so that a time may be 0. */
			if (took > 0 && took_stock > 0)
				add_number(row, "speed", took_stock / took, "%.2fx");
		}
		json_object_array_add(rows, row);
	}
	table_print(rows, columns, COUNT(columns));
	json_object_put(rows);
}

int cmd_bench(int argc, char **argv)
{
	static const struct argp argp = {
		.options = bench_options,
		.parser = parse,
		.children = common_child,
		.args_doc = "[ADDRESS]",
		.doc = "Connects to a server of its own over ADDRESS of this host (the first one "
		       "that is on "
		       "an RDMA device), one after the other, over both connection managers in "
		       "turn. Medians; "
		       "\"all\" is a whole life, with its QPs.",
	};
	struct json_object *ours = json_object_new_array(), *stock = json_object_new_array();
	bool beside = !access("/dev/infiniband/rdma_cm", F_OK);

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (wanted.worker)
		bench_worker(wanted.address, wanted.count, !strcmp(wanted.worker, "ours"));
	if (access("/sys/module/rdma_cm_alt", F_OK))
		fail(TOOL_MODULE, "the module is not loaded: modprobe rdma_cm_alt");
	if (!*wanted.address)
		find_address();
	check_address();
	if (!beside)
		tool_warn("the stock module rdma_ucm is not loaded, so there is nothing to compare "
			  "with");
	if (!options.json)
		printf("%ld rounds of %ld connections to %s and back, both ends on this host\n",
		       wanted.rounds, wanted.count, wanted.address);
	for (long i = 0; i < wanted.rounds; i++) {
		struct json_object *two = beside ? run_worker(false) : NULL,
				   *one = run_worker(true);

		if (!one || (beside && !two))
			fail(TOOL_ERROR, "%s did not connect to %s", one ? "stock" : "rdma_cm_alt",
			     wanted.address);
		json_object_array_add(ours, one);
		if (two)
			json_object_array_add(stock, two);
	}
	print_results(ours, stock);
	json_object_put(ours);
	json_object_put(stock);
	return TOOL_OK;
}
