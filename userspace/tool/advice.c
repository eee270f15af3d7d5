// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What a failure means, and what to try. */
#include "advice.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "reason.h"
#include "tool.h"

#define ANY INT32_MIN

/* The first line that fits counts. An event, or an operation, and its status. */
static const struct line {
	const char *what;
	int status;
	const char *meaning;
	const char *try;
} lines[] = {
	{ "ADDR_ERROR", -ENODEV, "no RDMA device belongs to the way to this address",
	  "rdma link: is there a device on the network interface that leads to the peer?" },
	{ "ADDR_ERROR", -ENETUNREACH, "there is no route to this address",
	  "ip route get ADDRESS, and add a route or correct the address" },
	{ "ADDR_ERROR", -EHOSTUNREACH, "the neighbour does not answer, or the route forbids it",
	  "ping ADDRESS: is the peer up, and in the same network?" },
	{ "ADDR_ERROR", -ETIMEDOUT,
	  "nobody says whose link address this is (ARP, neighbour discovery)",
	  "ping ADDRESS: is the peer up, in the same network and VLAN, and the cable in?" },
	{ "ADDR_ERROR", -EADDRNOTAVAIL, "the device has no GID of the source address",
	  "ip address: is the source address on the interface of the device? rdma link" },
	{ "ADDR_ERROR", -EINVAL, "the peer's queue key is not ours",
	  "use the same queue key at both ends" },
	{ "ADDR_ERROR", ANY, "the address could not be resolved",
	  "ip route get ADDRESS; rdma link" },
	{ "ROUTE_ERROR", -ETIMEDOUT, "the subnet manager did not answer",
	  "sminfo: is a subnet manager running? raise the timeout of rdma_resolve_route()" },
	{ "ROUTE_ERROR", ANY, "there is no path to the peer in the subnet",
	  "saquery --src-to-dst: does the subnet manager know both ports?" },
	{ "UNREACHABLE", -ETIMEDOUT, "the peer's connection manager did not answer",
	  "is the peer up, with its RDMA device? may UDP port 4791 (RoCE) pass firewalls in "
	  "both directions?" },
	{ "UNREACHABLE", ANY, "the peer could not be reached",
	  "is the peer up, with its RDMA device? on iWARP: does the TCP port answer?" },
	{ "REJECTED", 8, NULL,
	  "start the server, or correct the port; on the peer: rdma-cm-alt show listeners" },
	{ "REJECTED", 10, NULL,
	  "nothing: the connect is repeated until the peer has forgotten the old one" },
	{ "REJECTED", 28, NULL,
	  "ask the server program: its log, and the private data of the reject" },
	{ "REJECTED", 4, NULL,
	  "was the server busy? raise RDMA_OPTION_IB_PATH's packet lifetime or the timing" },
	{ "REJECTED", 3, NULL,
	  "is the server's backlog full (rdma_listen), or a limit reached? on the peer: "
	  "rdma-cm-alt explain" },
	{ "REJECTED", -ECONNREFUSED, "the peer's TCP refused it: nobody listens there",
	  "start the server, or correct the port" },
	{ "REJECTED", -ECONNRESET, "the program on the other side has rejected it",
	  "ask the server program: its log, and the private data of the reject" },
	{ "REJECTED", ANY, NULL,
	  "see the meaning of the reason in the InfiniBand specification, volume 1, 12.6.7.2" },
	{ "CONNECT_ERROR", ANY, "the connection could not be made",
	  "does the QP fit: its type, its state, responder resources and initiator depth?" },
	{ "DISCONNECTED", -ETIMEDOUT, "the peer did not answer the disconnect request",
	  "is the peer still up?" },
	{ "DISCONNECTED", ANY, "the connection ended with an error", "is the peer still up?" },
	{ "DEVICE_REMOVAL", ANY, "the RDMA device was taken away", "dmesg; rdma dev" },
	{ "MULTICAST_ERROR", ANY, "the group could not be joined, or was lost",
	  "does the subnet manager run, or is the interface up?" },
	{ "request", -EDQUOT, "a request found no room: a limit of the server's user or context",
	  "let the server take its events faster, or raise the limits: rdma_cm_alt(4)" },
	{ "request", -ENOBUFS, "a request found the backlog full",
	  "a larger backlog for rdma_listen(), or let the server take its events faster" },
	{ "request", -ENOMEM, "there was no memory for a request",
	  "the memory limit of the server's cgroup, or of the host" },
	{ "request", -EHOSTUNREACH, "a request came from where no answer can go",
	  "ip route get ADDRESS of the peer: the way back must lead over the same device" },
	{ "request", ANY, "a request could not be given to the server", "dmesg" },
	{ "resolve", -EADDRINUSE, "the address and port are in use",
	  "rdma-cm-alt show -a ADDRESS says who has it; stock programs: rdma resource show cm_id" },
	{ "listen", -EADDRINUSE,
	  "the address and port are in use, perhaps by a program over the stock stack",
	  "rdma-cm-alt show listeners; rdma resource show cm_id" },
	{ "resolve", -EADDRNOTAVAIL, "the address is not one of this host",
	  "ip address: the server binds to an address of its own" },
	{ "resolve", -EACCES, "the port is a privileged one",
	  "a port from net.ipv4.ip_unprivileged_port_start on, or CAP_NET_BIND_SERVICE" },
	{ "resolve", -ENODEV, "no RDMA device has the address",
	  "rdma link: is there a device on the interface with this address?" },
	{ "connect", -EACCES, "the QP is another user's", "connect with a QP of the same user" },
};

static const char *name_of(struct json_object *story)
{
	return record_string(story, "event") ?: record_string(story, "operation");
}

static const struct line *find_by(const char *name, int status)
{
	for (size_t i = 0; name && i < COUNT(lines); i++)
		if (!strcmp(lines[i].what, name) &&
		    (lines[i].status == ANY || lines[i].status == status))
			return &lines[i];
	return NULL;
}

/* A resolution that fails at once has no event. */
static const struct line *find(struct json_object *story)
{
	int status = record_number(story, "status");
	const char *name = name_of(story);

	return find_by(name, status) ?:
	       (name && !strcmp(name, "resolve") ? find_by("ADDR_ERROR", status) : NULL);
}

const char *advice_step(struct json_object *story)
{
	static const struct {
		const char *name, *step;
	} steps[] = {
		{ "ADDR_ERROR", "resolving the address" },
		{ "ROUTE_ERROR", "resolving the route" },
		{ "UNREACHABLE", "connecting" },
		{ "REJECTED", "connecting" },
		{ "CONNECT_ERROR", "connecting" },
		{ "DISCONNECTED", "disconnecting" },
		{ "DEVICE_REMOVAL", "at any time" },
		{ "MULTICAST_ERROR", "joining a group" },
		{ "request", "taking a request" },
	};
	const char *name = name_of(story), *state = record_string(story, "state") ?: "";

	/* One operation does them all, and stays where it failed. */
	if (name && !strcmp(name, "resolve"))
		return !strcmp(state, "idle") ? "binding to an address" :
		       !strcmp(state, "bound") ? "resolving the address" : "resolving the route";

	for (size_t i = 0; name && i < COUNT(steps); i++)
		if (!strcmp(steps[i].name, name))
			return steps[i].step;
	return name ?: "?";
}

const char *advice_what(struct json_object *story)
{
	int status = record_number(story, "status");
	const struct line *line = find(story);
	static char text[256];

	if (status > 0 && !strcmp(name_of(story) ?: "", "REJECTED"))
		snprintf(text, sizeof(text), "%s (reason %d)", rcl_reject_text(status), status);
	else if (status > 0)
		snprintf(text, sizeof(text), "%s (SIDR status %d)", rcl_sidr_text(status), status);
	else if (line && line->meaning)
		snprintf(text, sizeof(text), "%s%s%s%s", line->meaning, status ? " (" : "",
			 status ? strerrorname_np(-status) ?: "?" : "", status ? ")" : "");
	else
		snprintf(text, sizeof(text), "%s", status ? strerror(-status) : "no error");
	return text;
}

static void add(struct json_object *tries, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct json_object *tries, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	json_object_array_add(tries, json_object_new_string(text));
}

/* What this host sees now may be the reason, and is more than a guess. */
static void look_at_path(struct json_object *tries, struct json_object *path)
{
	const char *address = record_string(path, "address");
	const char *netdev = record_string(path, "netdev");
	const char *link = record_string(path, "link");
	const char *neighbour = record_string(path, "neighbour");

	if (record_string(path, "route"))
		add(tries, "there is no route to %s now: ip route get %s", address, address);
	if (link && !strcmp(link, "down"))
		add(tries, "%s is down: ip link set %s up, or put the cable in", netdev, netdev);
	if (netdev && !record_string(path, "device"))
		add(tries,
		    "%s has no RDMA device: rdma link add NAME type rxe netdev %s (software), or "
		    "load the driver of the adapter",
		    netdev, netdev);
	if (record_string(path, "device") && !record_number(path, "active"))
		add(tries, "the port of %s is not active (%s): rdma link",
		    record_string(path, "device"), record_string(path, "port_state"));
	if (neighbour && (strstr(neighbour, "failed") || strstr(neighbour, "incomplete")))
		add(tries,
		    "the neighbour does not answer (%s): is the peer up, in the same network and "
		    "VLAN?",
		    neighbour);
}

struct json_object *advice_try(struct json_object *story, struct json_object *path)
{
	struct json_object *tries = json_object_new_array();
	const struct line *line = story ? find(story) : NULL;
	const char *address = path ? record_string(path, "address") : NULL;
	const char *here;

	if (path)
		look_at_path(tries, path);
	if (!line)
		return tries;
	here = strstr(line->try, "ADDRESS");
	if (here && address)
		add(tries, "%.*s%s%s", (int)(here - line->try), line->try, address,
		    here + strlen("ADDRESS"));
	else
		add(tries, "%s", line->try);
	return tries;
}
