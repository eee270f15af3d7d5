// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma-cm-alt show: ids, listeners, queues, multicast memberships, kept paths and peers. */
#include <string.h>
#include <unistd.h>

#include "tool/core/address.h"
#include "tool/core/tool.h"

static const struct column id_columns[] = {
	{ "state", "STATE", false },
	{ "ps", "PS", false },
	{ "local", "LOCAL", false },
	{ "peer", "PEER", false },
	{ "device", "DEVICE", false },
	{ "port", "PORT", true },
	{ "transport", "TRANSPORT", false },
	{ "qpn", "QPN", true },
	{ "name", "ID", true },
	{ "age", "AGE", true },
	{ "pid", "PID", true },
	{ "program", "PROGRAM", false },
};

static const struct column queue_columns[] = {
	{ "name", "QUEUE", true },
	{ "ids", "IDS", true },
	{ "waiting", "WAITING", true },
	{ "ring", "RING", true },
	{ "readers", "READERS", true },
	{ "pid", "PID", true },
	{ "program", "PROGRAM", false },
};

static const struct column member_columns[] = {
	{ "peer", "GROUP", false },
	{ "local", "LOCAL", false },
	{ "device", "DEVICE", false },
	{ "port", "PORT", true },
	{ "name", "MEMBERSHIP", true },
	{ "id", "OF ID", true },
	{ "age", "AGE", true },
	{ "pid", "PID", true },
	{ "program", "PROGRAM", false },
};

static const struct column path_columns[] = {
	{ "device", "DEVICE", false },
	{ "port", "PORT", true },
	{ "gid", "GID", false },
	{ "peer_gid", "PEER GID", false },
	{ "service", "SERVICE", false },
	{ "pkey", "PKEY", false },
	{ "dlid", "DLID", true },
	{ "sl", "SL", true },
	{ "age", "AGE", true },
};

static const struct column peer_columns[] = {
	{ "device", "DEVICE", false },
	{ "port", "PORT", true },
	{ "gid", "GID", false },
	{ "peer_gid", "PEER GID", false },
	{ "pkey", "PKEY", false },
	{ "hellos", "HELLOS", true },
	{ "protocol", "PROTOCOL", true },
	{ "guid", "PEER GUID", false },
	{ "trunk", "TRUNK", false },
	{ "bad_frames", "BAD FRAMES", true },
	{ "age", "AGE", true },
};

static const struct kind {
	const char *name;
	enum rdma_cm_alt_nl_cmd cmd;
	struct json_object *(*record)(struct nlattr **attrs);
	const struct column *columns;
	int count;
	const char *state;	/* only records in this state */
} kinds[] = {
	{ "ids", RDMA_CM_ALT_NL_ID, record_id, id_columns, COUNT(id_columns), NULL },
	{ "listeners", RDMA_CM_ALT_NL_ID, record_id, id_columns, COUNT(id_columns), "listen" },
	{ "queues", RDMA_CM_ALT_NL_QUEUE, record_queue, queue_columns, COUNT(queue_columns), NULL },
	{ "members", RDMA_CM_ALT_NL_MEMBER, record_member, member_columns,
	  COUNT(member_columns), NULL },
	{ "paths", RDMA_CM_ALT_NL_PATH, record_path, path_columns, COUNT(path_columns), NULL },
	{ "peers", RDMA_CM_ALT_NL_PEER, record_peer, peer_columns, COUNT(peer_columns), NULL },
};

static struct {
	const struct kind *kind;
	struct filter filter;
	bool by_address;
	struct address address;
} wanted = { .kind = kinds };

static const struct argp_option show_options[] = {
	{ "address", 'a', "ADDRESS", 0,
	  "Only with this address or network, ours or the peer's", 0 },
	{ "device", 'd', "DEVICE[/PORT]", 0, "Only of this RDMA device, or of its port", 0 },
	{ "pid", 'p', "PID", 0, "Only of this process", 0 },
	{ "program", 'c', "NAME", 0, "Only of programs with this name", 0 },
	{ "state", 's', "STATE", 0, "Only ids in this state", 0 },
	{ 0 }
};

/* Rejects filters on properties that the requested kind of record does not have. */
static void check_kind(struct argp_state *state)
{
	const struct filter *filter = &wanted.filter;
	bool is_queues = wanted.kind->cmd == RDMA_CM_ALT_NL_QUEUE;
	bool has_no_owner = wanted.kind->cmd == RDMA_CM_ALT_NL_PATH ||
			    wanted.kind->cmd == RDMA_CM_ALT_NL_PEER;

	if (filter->state && wanted.kind->cmd != RDMA_CM_ALT_NL_ID)
		argp_error(state, "%s have no state: -s is for ids", wanted.kind->name);
	if (filter->state && wanted.kind->state && strcmp(filter->state, wanted.kind->state))
		argp_error(state, "listeners are in the state %s, and in no other: show ids -s %s",
			   wanted.kind->state, filter->state);
	if (is_queues && (wanted.by_address || *filter->device))
		argp_error(state, "queues have no %s: -c and -p are for them",
			   wanted.by_address ? "address" : "device");
	if (has_no_owner && (wanted.by_address || filter->pid || filter->program))
		argp_error(state, "%s have no %s: -d is for them", wanted.kind->name,
			   wanted.by_address ? "IP address" : "process");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char *wrong;

	switch (key) {
	case 'a':
		wrong = address_parse_net(arg, &wanted.address);
		if (wrong)
			argp_error(state, "%s", wrong);
		wanted.by_address = true;
		return 0;
	case 'c':
		filter_program(&wanted.filter, arg, state);
		return 0;
	case 'd':
		filter_device(&wanted.filter, arg, state);
		return 0;
	case 'p':
		filter_pid(&wanted.filter, arg, state);
		return 0;
	case 's':
		filter_state(&wanted.filter, arg, state);
		return 0;
	case ARGP_KEY_ARG:
		wanted.kind = NULL;
		for (size_t i = 0; i < COUNT(kinds); i++)
			if (!strcmp(arg, kinds[i].name))
				wanted.kind = &kinds[i];
		if (!wanted.kind || state->arg_num)
			argp_error(state,
				   "it shows ids, listeners, queues, members, paths or peers, not %s",
				   arg);
		return 0;
	case ARGP_KEY_END:
		check_kind(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool is_wanted(struct json_object *record, struct nlattr **attrs)
{
	const char *state = record_string(record, "state");

	if (wanted.by_address &&
	    !address_matches(&wanted.address, attrs[RDMA_CM_ALT_NL_A_LOCAL]) &&
	    !address_matches(&wanted.address, attrs[RDMA_CM_ALT_NL_A_PEER]))
		return false;
	if (wanted.kind->state && (!state || strcmp(state, wanted.kind->state)))
		return false;
	return filter_matches(&wanted.filter, record);
}

static void add(struct nlmsghdr *nlh, struct nlattr **attrs, void *rows)
{
	struct json_object *record = wanted.kind->record(attrs);

	(void)nlh;
	if (is_wanted(record, attrs))
		json_object_array_add(rows, record);
	else
		json_object_put(record);
}

int cmd_show(int argc, char **argv)
{
	static const struct argp argp = {
		.options = show_options, .parser = parse, .children = common_child,
		.args_doc = "[ids|listeners|queues|members|paths|peers]",
		.doc = "What there is in this network namespace: yours, and with CAP_NET_ADMIN "
		       "everybody's; paths and peers, which all users share, with it only.",
	};
	struct json_object *rows = json_object_new_array();

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	client_dump(wanted.kind->cmd, add, rows);
	table_print(rows, wanted.kind->columns, wanted.kind->count);
	if (!options.json && !json_object_array_length(rows))
		tool_warn("there are no such %s in this network namespace%s", wanted.kind->name,
			  geteuid() ? " that are yours; with CAP_NET_ADMIN everybody's are shown"
				    : "");
	json_object_put(rows);
	return TOOL_OK;
}
