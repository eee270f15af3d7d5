// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma-cm-alt check: whether this host is ready. Each check passes, or fails with a remedy. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <rdma/rdma_cm_alt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/context.h"
#include "tool/core/host.h"
#include "tool/core/roce_defaults.h"
#include "tool/core/tool.h"

#define MODULE		"/sys/module/rdma_cm_alt"

/*
 * Locked memory. A connection takes some pages: for its QP, two CQs, their doorbells, and a buffer
 * in each direction. The default limit of users is 8 MiB, which many connections or large buffers
 * exhaust.
 */
#define MEMLOCK_PAGES	8
#define MEMLOCK_MIB	64

static struct {
	const char *address;
	struct json_object *results;
	unsigned int failed;
} checks;

static void add(bool good, const char *what, const char *remedy, const char *text)
{
	struct json_object *result = json_object_new_object();

	record_put(result, "check", what);
	record_put_bool(result, "pass", good);
	record_put(result, "text", text);
	record_put(result, "remedy", remedy);
	json_object_array_add(checks.results, result);
	checks.failed += !good;
}

static void say(bool good, const char *what, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* @remedy: printed if the check fails */
static void say(bool good, const char *what, const char *remedy, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	add(good, what, good ? NULL : remedy, text);
}

static bool check_module(void)
{
	char version[32] = "?";

	if (access(MODULE, F_OK)) {
		say(false, "module",
		    "modprobe rdma_cm_alt; when it is not found, install rdma-cm-alt-dkms",
		    "rdma_cm_alt is not loaded");
		return false;
	}
	text_read_line(MODULE "/version", version, sizeof(version));
	say(true, "module", NULL, "rdma_cm_alt %s is loaded", version);
	return true;
}

/* Connections over trunks: how many there are, and the first ones. */
struct users {
	unsigned int count;
	char names[128];
};

/* How many are named. */
#define NAMED 3

static void add_user(struct nlmsghdr *nlh, struct nlattr **attrs, void *arg)
{
	struct users *users = arg;
	size_t len = strlen(users->names);

	(void)nlh;
	if (strcmp(client_string(attrs, RDMA_CM_ALT_NL_A_TRANSPORT, ""), "trunk"))
		return;
	if (users->count++ < NAMED)
		snprintf(users->names + len, sizeof(users->names) - len, "%s%u/%u (%s)",
			 len ? ", " : "", client_u32(attrs, RDMA_CM_ALT_NL_A_CTX, 0),
			 client_u32(attrs, RDMA_CM_ALT_NL_A_HANDLE, 0),
			 client_string(attrs, RDMA_CM_ALT_NL_A_COMM, "?"));
}

/* Trunks are on while their module is loaded, which connections over one keep. */
static void check_trunks(void)
{
	struct users users = { 0 };

	if (access(MODULE "_trunk", F_OK))
		return;
	if (!client_may_dump(RDMA_CM_ALT_NL_ID, add_user, &users))
		say(true, "trunks", NULL, "rdma_cm_alt_trunk is loaded");
	else if (!users.count)
		say(true, "trunks", NULL, "rdma_cm_alt_trunk is loaded, not in use");
	else
		say(true, "trunks", NULL,
		    "rdma_cm_alt_trunk is loaded, used by %u connections: %s%s", users.count,
		    users.names, users.count > NAMED ? " ..." : "");
}

/* Programs that use librdmacm as it is are users of this connection manager, too. */
static void check_takeover(void)
{
	if (!access(MODULE "_ucm", F_OK))
		say(true, "takeover", NULL, "rdma_cm_alt_ucm serves programs with any librdmacm");
	else if (takeover_is_set() && !access("/sys/module/rdma_ucm", F_OK))
		say(false, "takeover", "rdma-cm-alt takeover on",
		    "rdma_ucm is loaded in place of rdma_cm_alt_ucm");
}

static const char * const nodes[] = { RCL_DEVICE_PATHS };

/* Returns the device node that the environment selects in place of the default ones. */
static const char *own_node(void)
{
	const char *path = secure_getenv(RCL_DEVICE_VARIABLE);

	return path && *path ? path : NULL;
}

/* Opens the device node as the library does; @path: returns the node that was tried last. */
static int open_node(const char **path)
{
	int fd;

	*path = own_node() ?: nodes[0];
	fd = open(*path, O_RDWR | O_CLOEXEC);
	for (size_t i = 1; fd < 0 && errno == ENOENT && !own_node() && i < COUNT(nodes); i++) {
		*path = nodes[i];
		fd = open(*path, O_RDWR | O_CLOEXEC);
	}
	return fd;
}

static void say_no_node(const char *path, int err)
{
	struct stat st;

	if (err == ENOENT && own_node())
		say(false, "node", "unset it, or let it name the device",
		    RCL_DEVICE_VARIABLE "=%s: %s", path, strerror(err));
	else if (err == ENOENT)
		say(false, "node", "udevadm trigger; in a container: give it one of these devices",
		    "neither %s nor %s is there", nodes[0], nodes[1]);
	else if (stat(path, &st))
		say(false, "node", "look at the directories above it", "%s: %s", path,
		    strerror(errno));
	else
		say(false, "node", err == EACCES || err == EPERM ?
		    "become a member of its group, or change its mode with a udev rule; in a container: "
		    "allow the device" : "dmesg", "%s (mode %03o, group %u): %s", path,
		    st.st_mode & 0777, st.st_gid, strerror(err));
}

static void check_node(void)
{
	struct rdma_cm_alt_info info = { .size = sizeof(info) };
	const char *path;
	int fd = open_node(&path);

	if (fd < 0) {
		say_no_node(path, errno);
		return;
	}
	if (ioctl(fd, RDMA_CM_ALT_INFO, &info))
		say(false, "node", "is it something else? ls -l", "%s does not answer: %s", path,
		    strerror(errno));
	else
		say(true, "node", NULL, "%s answers, records have %u bytes", path,
		    info.out_record_size);
	close(fd);
}

static void check_port(struct json_object *port)
{
	const char *device = record_string(port, "device"), *state = record_string(port, "state");
	struct json_object *netdevs = json_object_object_get(port, "netdevs");
	const char *error = record_string(port, "error");
	int gids = record_number(port, "gids");
	char names[128] = "";

	if (error) {
		say(false, "device", "ls -l /dev/infiniband: programs need its uverbs node, too",
		    "%s cannot be opened: %s", device, error);
		return;
	}
	if (netdevs) {
		json_object_object_foreach(netdevs, name, first) {
			(void)first;
			snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s", name);
		}
	}
	if (!record_number(port, "active"))
		say(false, "device",
		    "ip link: is the interface up? cable? on InfiniBand: a subnet manager?",
		    "%s/%d is not active: %s", device, (int)record_number(port, "port"), state);
	else if (!gids)
		say(false, "device", "ip address: an interface without addresses has no GIDs",
		    "%s/%d has no GID", device, (int)record_number(port, "port"));
	else
		say(true, "device", NULL, "%s/%d is active, %s, %d GIDs%s%s", device,
		    (int)record_number(port, "port"), record_string(port, "link_layer"), gids,
		    *names ? ", on" : "", names);
}

/*
 * Programs get the defaults of the stock module from its directory in configfs. They do not when
 * the directory was removed after the settings, or in a container.
 */
static void check_defaults(struct json_object *port)
{
	const char *device = record_string(port, "device");
	int number = record_number(port, "port");
	struct roce_defaults own, stock;
	char dir[128], text[256], remedy[256];
	bool hidden;

	if (!roce_defaults_own(device, number, &own, dir, sizeof(dir)) ||
	    !roce_defaults_stock(device, number, &stock, &hidden))
		return;
	if (!strcmp(own.mode, stock.mode) && !strcmp(own.tos, stock.tos)) {
		say(true, "defaults", NULL, "%s/%d: %s, type of service %s, as with rdma_cm",
		    device, number, own.mode, own.tos);
		return;
	}
	snprintf(text, sizeof(text), "%s/%d: %s, type of service %s; rdma_cm has %s, %s, which %s",
		 device, number, own.mode, own.tos, stock.mode, stock.tos,
		 hidden ? "no program sees, as its directory in configfs is gone" :
			  "programs use that see configfs, but not those in containers");
	snprintf(remedy, sizeof(remedy),
		 "cd %s && echo '%s' > default_roce_mode && echo %s > default_roce_tos", dir,
		 stock.mode, stock.tos);
	add(true, "defaults", remedy, text);
}

static void check_devices(void)
{
	struct json_object *ports = host_ports();

	if (!json_object_array_length(ports))
		say(false, "device", "load the driver of the adapter, or: "
		    "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev INTERFACE",
		    "there is no RDMA device here");
	for (size_t i = 0; i < json_object_array_length(ports); i++)
		check_port(json_object_array_get_idx(ports, i));
	for (size_t i = 0; i < json_object_array_length(ports); i++)
		check_defaults(json_object_array_get_idx(ports, i));
	json_object_put(ports);
}

static bool may_lock(void)
{
	unsigned long long caps = 0;
	FILE *file = fopen("/proc/self/status", "r");
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	if (file)
		fclose(file);
	return caps >> CAP_IPC_LOCK & 1;
}

static void check_memlock(void)
{
	unsigned long long least = MEMLOCK_PAGES * sysconf(_SC_PAGESIZE), most;
	struct rlimit limit;
	char text[128];
	bool little;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY || may_lock()) {
		say(true, "memlock", NULL, "memory can be registered without a limit");
		return;
	}
	most = limit.rlim_cur;
	little = most < MEMLOCK_MIB << 20;
	snprintf(text, sizeof(text), "%llu KiB may be registered%s", most >> 10,
		 most < least ? ", too little for a connection" :
		 little ? ", little for many connections or large buffers" : "");
	add(most >= least, "memlock", !little ? NULL :
	    "ulimit -l unlimited, /etc/security/limits.d, or LimitMEMLOCK= of the systemd unit",
	    text);
}

static void check_dropin(void)
{
	say(!access(TOOL_DROPIN "/librdmacm.so.1", R_OK), "drop-in",
	    "install the package librdmacm-alt-dropin, or make install",
	    "library for unchanged programs: " TOOL_DROPIN "/librdmacm.so.1");
}

/* Both modules can be used at the same time, and distinguish their ports by service ID. */
static void check_stock(void)
{
	bool loaded = !access("/sys/module/rdma_cm", F_OK);

	say(true, "stock", NULL,
	    loaded ? "rdma_cm is loaded beside it: one port, one server on either" :
		     "rdma_cm is not loaded, and not needed");
}

/*
 * The neighbour was probed just now. A stale state remains only where the user lacks the privilege
 * to start a probe, and then passes.
 */
static void check_neighbour(struct json_object *path)
{
	const char *gateway = record_string(path, "gateway"), *state;
	bool old;

	state = record_string(path, "neighbour");
	if (!state)
		return;
	old = !strcmp(state, "stale") || !strcmp(state, "delay");
	say(old || !strcmp(state, "reachable") || !strcmp(state, "permanent") ||
	    !strcmp(state, "noarp"), "neighbour",
	    "ping it: is the peer up, in the same network and VLAN?", "%s%s%s: %s%s",
	    record_string(path, "address"), gateway ? " by " : "", gateway ?: "", state,
	    old ? ", known from before; to ask again needs CAP_NET_ADMIN" : "");
}

static void check_path(void)
{
	const char *wrong, *text, *address;
	struct json_object *path;
	struct address addr;
	char remedy[256];

	wrong = address_parse(checks.address, &addr);
	if (wrong) {
		say(false, "address", "numbers, or a name that the resolver knows", "%s", wrong);
		return;
	}
	address = addr.text;
	path = host_path(&addr, true);
	text = record_string(path, "route");
	if (text) {
		if (address_is_link_local(&addr))
			snprintf(remedy, sizeof(remedy), "with the interface: %s%%eth0", address);
		else
			snprintf(remedy, sizeof(remedy), "ip route get %s, and add a route",
				 address);
		say(false, "route", remedy, "to %s: %s", address, text);
		json_object_put(path);
		return;
	}
	say(true, "route", NULL, "%s is reached over %s%s%s", address,
	    record_string(path, "netdev"), record_string(path, "gateway") ? " by " : "",
	    record_string(path, "gateway") ?: "");
	text = record_string(path, "link");
	if (text)
		say(!strcmp(text, "up"), "link", "ip link set INTERFACE up; cable?", "%s is %s",
		    record_string(path, "netdev"), text);
	check_neighbour(path);
	say(record_string(path, "device"), "way",
	    "rdma link: a device on that interface, or another route", "%s is the device there",
	    record_string(path, "device") ?: "no RDMA device");
	json_object_put(path);
}

static void print_results(void)
{
	for (size_t i = 0; i < json_object_array_length(checks.results); i++) {
		struct json_object *result = json_object_array_get_idx(checks.results, i);
		bool good = json_object_get_boolean(json_object_object_get(result, "pass"));
		const char *remedy = record_string(result, "remedy");
		const char *on = !good ? "\033[31m" : remedy ? "\033[33m" : "\033[32m";

		printf("%s%-4s%s  %-10s %s\n", options.color ? on : "",
		       !good ? "FAIL" : remedy ? "note" : "pass", options.color ? "\033[0m" : "",
		       record_string(result, "check"), record_string(result, "text"));
		if (remedy)
			printf("      %-10s try: %s\n", "", remedy);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (state->arg_num)
		argp_error(state, "one address at a time");
	checks.address = arg;
	return 0;
}

int cmd_check(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.children = common_child,
		.args_doc = "[ADDRESS]",
		.doc = "Whether this host is ready, and can reach ADDRESS. Status 1: something is "
		       "not as it "
		       "should be, 3: the module is not loaded.",
	};
	bool loaded;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	checks.results = json_object_new_array();
	loaded = check_module();
	if (loaded) {
		check_node();
		check_trunks();
		check_takeover();
	}
	check_devices();
	check_memlock();
	check_dropin();
	check_stock();
	if (checks.address)
		check_path();
	if (options.json)
		puts(json_object_to_json_string_ext(checks.results, JSON_C_TO_STRING_PRETTY |
						    JSON_C_TO_STRING_NOSLASHESCAPE));
	else
		print_results();
	json_object_put(checks.results);
	if (!loaded)
		return TOOL_MODULE;
	return checks.failed ? TOOL_BAD : TOOL_OK;
}
