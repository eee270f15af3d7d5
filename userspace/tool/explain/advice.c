// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Meaning of a failure, and suggested actions. */
#include "tool/explain/advice.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/reason.h"
#include "tool/core/tool.h"
#include "tool/explain/advice_table.h"

static const char *name_of(struct json_object *failure)
{
	return record_string(failure, "event") ?: record_string(failure, "operation") ?: "?";
}

/* Returns the state in which the failure happened, as used by the entries of advice_table.h. */
static const char *where(struct json_object *failure)
{
	const char *state = record_string(failure, "state") ?: "", *name = name_of(failure);

	if (!record_string(failure, "event") || !strcmp(name, "MULTICAST_ERROR"))
		return state;
	if (!strcmp(name, "UNREACHABLE") && strcmp(state, "failed"))
		return "path";
	/* The request could not be sent after the call returned; the id can connect again. */
	if (!strcmp(name, "CONNECT_ERROR") && !strcmp(state, "route-resolved"))
		return state;
	return record_string(failure, "before") ?: "";
}

/* A single operation binds and resolves; the state of the id is that before the failed step. */
static const char *step_of_resolve(struct json_object *failure)
{
	const char *state = record_string(failure, "state") ?: "";

	if (!strcmp(state, "addr-resolved"))
		return "resolving the route";
	if (!strcmp(state, "idle") &&
	    (record_string(failure, "local") || !record_string(failure, "peer")))
		return "binding to an address";
	return "resolving the address";
}

/* States in which each operation is allowed; in other states it fails with EINVAL. */
static const struct {
	const char *name, *step, *states;
} operations[] = {
	{ "listen", "listening", "idle bound" },
	{ "connect", "connecting", "route-resolved" },
	{ "accept", "accepting", "req-rcvd sidr-rcvd" },
	{ "reject", "rejecting", "req-rcvd rep-rcvd sidr-rcvd" },
	{ "establish", "establishing", "rep-rcvd" },
	{ "disconnect", "disconnecting", NULL },
	{ "join", "joining a group", NULL },
	{ "leave", "leaving a group", NULL },
	{ "request", "taking a request", NULL },
	{ "resolve", NULL, "idle bound addr-resolved" },
};

static bool came_at_wrong_time(struct json_object *failure)
{
	const char *name = name_of(failure), *state = record_string(failure, "state") ?: "";

	if (record_number(failure, "status") != -EINVAL || !*state)
		return false;
	for (size_t i = 0; i < COUNT(operations); i++)
		if (!strcmp(operations[i].name, name))
			return !advice_is_among(state, operations[i].states);
	return false;
}

static const struct line *find(struct json_object *failure)
{
	int status = record_number(failure, "status");
	const char *name = name_of(failure), *in = where(failure), *step;
	const struct line *line = NULL;

	if (!strcmp(name, "CONNECT_ERROR") && !strcmp(in, "route-resolved"))
		line = advice_line("connect", in, status);
	line = line ?: advice_line(name, in, status);
	if (line || strcmp(name, "resolve"))
		return line;
	/* A resolution that fails at once fails the call, without an event. */
	step = step_of_resolve(failure);
	return !strcmp(step, "resolving the address") ? advice_line("ADDR_ERROR", in, status) :
	       !strcmp(step, "resolving the route") ? advice_line("ROUTE_ERROR", in, status) : NULL;
}

/* Returns the step that an id performs in a state. */
static const char *step_in(const char *state)
{
	static const struct {
		const char *states, *step;
	} steps[] = {
		{ "addr-query", "resolving the address" },
		{ "route-query", "resolving the route" },
		{ "route-resolved req-sent req-wait", "connecting" },
		{ "sidr-sent", "looking up the peer's QP" },
		{ "rep-rcvd", "establishing" },
		{ "rep-sent", "accepting" },
		{ "connected", "being connected" },
		{ "dreq-sent", "disconnecting" },
		{ "listen", "listening" },
		{ "path", "keeping the way to the peer" },
	};

	for (size_t i = 0; i < COUNT(steps); i++)
		if (advice_is_among(state, steps[i].states))
			return steps[i].step;
	return NULL;
}

const char *advice_step(struct json_object *failure)
{
	static const struct {
		const char *name, *step;
	} events[] = {
		{ "ADDR_ERROR", "resolving the address" },
		{ "ROUTE_ERROR", "resolving the route" },
		{ "DISCONNECTED", "disconnecting" },
		{ "DEVICE_REMOVAL", "at any time" },
		{ "MULTICAST_ERROR", "joining a group" },
	};
	const char *name = name_of(failure);

	if (!strcmp(name, "resolve"))
		return step_of_resolve(failure);
	if (!strcmp(name, "connect") && !strcmp(record_string(failure, "ps") ?: "", "udp"))
		return "looking up the peer's QP";
	for (size_t i = 0; i < COUNT(operations); i++)
		if (!strcmp(operations[i].name, name))
			return operations[i].step;
	if (strcmp(name, "MULTICAST_ERROR") && step_in(where(failure)))
		return step_in(where(failure));
	for (size_t i = 0; i < COUNT(events); i++)
		if (!strcmp(events[i].name, name))
			return events[i].step;
	return record_string(failure, "event") ? "connecting" : name;
}

const char *advice_what(struct json_object *failure)
{
	int status = record_number(failure, "status");
	const struct line *line = find(failure);
	const char *name = name_of(failure);
	static char text[256];

	/*
	 * A positive status comes from the peer, which may also reject an established connection.
	 * In other events a positive status comes from a program.
	 */
	if (status > 0 && (!strcmp(name, "REJECTED") || !strcmp(name, "DISCONNECTED")))
		snprintf(text, sizeof(text), "%s (reason %d)", rcl_reject_text(status), status);
	else if (status > 0 && !strcmp(name, "UNREACHABLE"))
		snprintf(text, sizeof(text), "%s (SIDR status %d)", rcl_sidr_text(status), status);
	else if (status > 0 || !strcmp(name, "USER"))
		snprintf(text, sizeof(text), "status %d", status);
	else if (came_at_wrong_time(failure))
		snprintf(text, sizeof(text),
			 "the call does not fit the state of the id, %s (EINVAL)",
			 record_string(failure, "state"));
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

/* The present state of the path may be the cause of the failure: report what is wrong with it. */
static void look_at_path(struct json_object *tries, struct json_object *path)
{
	const char *address = record_string(path, "address");
	const char *netdev = record_string(path, "netdev");
	const char *link = record_string(path, "link");
	const char *neighbour = record_string(path, "neighbour");

	if (record_string(path, "route"))
		add(tries, "there is no route to %s now: ip route get %s", address, address);
	if (link && !strcmp(link, "down"))
		add(tries, "%s is down: ip link set %s up, or put the cable in", netdev,
		    text_quoted(netdev));
	if (netdev && !record_string(path, "device"))
		add(tries,
		    "%s has no RDMA device: rdma link add NAME type rxe netdev %s (software), or "
		    "load the driver of the adapter",
		    netdev, text_quoted(netdev));
	if (record_string(path, "device") && !record_number(path, "active"))
		add(tries, "the port of %s is not active (%s): rdma link",
		    record_string(path, "device"), record_string(path, "port_state"));
	if (neighbour && (strstr(neighbour, "failed") || strstr(neighbour, "incomplete")))
		add(tries,
		    "the neighbour does not answer (%s): is the peer up, in the same network and "
		    "VLAN?",
		    neighbour);
}

/*
 * Inserts the peer's address into a text; ip(8) takes the interface of a link-local address as a
 * separate argument.
 */
static void add_line(struct json_object *tries, const char *text, const char *address)
{
	const char *here = address ? strstr(text, "ADDRESS") : NULL;
	const char *scope = here ? strchr(address, '%') : NULL;

	if (!here)
		add(tries, "%s", text);
	else if (scope && strstr(text, "ip route get"))
		add(tries, "%.*s%.*s oif %s%s", (int)(here - text), text, (int)(scope - address),
		    address, text_quoted(scope + 1), here + strlen("ADDRESS"));
	else
		add(tries, "%.*s%s%s", (int)(here - text), text, text_quoted(address),
		    here + strlen("ADDRESS"));
}

struct json_object *advice_try(struct json_object *id, struct json_object *failure,
			       struct json_object *path)
{
	struct json_object *tries = json_object_new_array();
	const struct line *waits = id ? waits_advice(record_string(id, "state")) : NULL;
	const struct line *line = failure ? find(failure) : NULL;
	const char *address = path ? record_string(path, "address") : NULL;

	if (path)
		look_at_path(tries, path);
	if (waits)
		add_line(tries, waits->try, address);
	if (failure && came_at_wrong_time(failure))
		add(tries, "let the program wait for the event of the step before; its order: "
		    "rdma-cm-alt monitor -c %s",
		    text_quoted(record_string(failure, "program") ?: "PROGRAM"));
	else if (line && (!waits || strcmp(line->try, waits->try)))
		add_line(tries, line->try, address);
	return tries;
}
