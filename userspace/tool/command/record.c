// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma-cm-alt record: records CM messages, and prints captures of them. */
#include "capture/decode/print.h"
#include "capture/recorder/kept.h"
#include "capture/recorder/live.h"
#include "capture/recorder/source.h"
#include "tool/core/tool.h"

enum { KEY_PRIVATE_DATA = 300, KEY_PACKET, KEY_TEXT, KEY_KEEP };

static struct record_options wanted;

static const struct argp_option record_options[] = {
	{ "write", 'w', "FILE", 0, "Record to this file, as pcapng", 0 },
	{ "text", KEY_TEXT, NULL, 0, "Print what is recorded; without -w always", 0 },
	{ "all", 'a', NULL, 0,
	  "Record messages of stock and other users of ib_cm, too", 0 },
	{ "trunks", 'm', NULL, 0, "Record frames of trunks, too", 0 },
	{ "keep", KEY_KEEP, "NUMBER", 0,
	  "Keep the last so many messages of each port in memory, which explain can write", 0 },
	{ "buffer", 'B', "KILOBYTES", 0,
	  "Size of the buffer for messages that are not read yet (default 1024)", 0 },
	{ "read", 'r', "FILE", 0, "Print this capture: pcapng or pcap", 0 },
	{ "device", 'd', "DEVICE[/PORT]", 0, "Only of this RDMA device, or of its port", 0 },
	{ "id", 'i', "CONTEXT/HANDLE", 0, "Only of this id, as show prints it", 0 },
	{ "pid", 'p', "PID", 0, "Only of this process", 0 },
	{ "program", 'c', "NAME", 0, "Only of programs with this name", 0 },
	{ "count", 'n', "NUMBER", 0, "At most so many messages", 0 },
	{ "packet", KEY_PACKET, "NUMBER", 0, "Only this packet, with all its fields", 0 },
	{ "private-data", KEY_PRIVATE_DATA, NULL, 0,
	  "With the private data that programs sent", 0 },
	{ 0 }
};

static void take_number(const char *arg, const char *what, uint32_t *number,
			struct argp_state *state)
{
	if (!options_number(arg, number))
		argp_error(state, "%s is no %s: it is 1 to %u", *arg ? arg : "''", what,
			   UINT32_MAX);
}

static void take_keep(const char *arg, struct argp_state *state)
{
	if (!options_number(arg, &wanted.keep) || wanted.keep > KEPT_MAX)
		argp_error(state, "%s is no number of messages to keep: it is 1 to %u",
			   *arg ? arg : "''", KEPT_MAX);
}

static void take_buffer(const char *arg, struct argp_state *state)
{
	if (!options_number(arg, &wanted.buffer) || wanted.buffer > SOURCE_KILOBYTES_MAX)
		argp_error(state, "%s is no size of a buffer: it is 1 to %u kB",
			   *arg ? arg : "''", SOURCE_KILOBYTES_MAX);
}

/* Options that contradict each other. */
static void check_options(struct argp_state *state)
{
	bool records = wanted.write_to || wanted.text || wanted.all || wanted.trunks ||
		       wanted.keep || wanted.buffer;

	if (wanted.read_from && records)
		argp_error(state, "-r prints a capture: -w, --text, -a, -m, --keep and -B are for "
			   "recording");
	if (wanted.keep && (wanted.write_to || wanted.text || wanted.count))
		argp_error(state, "--keep keeps messages in memory until it is interrupted: -w, "
			   "--text and -n are for other recordings");
	if (wanted.packet && !wanted.read_from)
		argp_error(state, "--packet is of a capture: give it by -r FILE");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'w':
		wanted.write_to = arg;
		return 0;
	case KEY_TEXT:
		wanted.text = true;
		return 0;
	case 'a':
		wanted.all = true;
		return 0;
	case 'm':
		wanted.trunks = true;
		return 0;
	case 'r':
		wanted.read_from = arg;
		return 0;
	case 'd':
		if (!options_device(&wanted, arg))
			argp_error(state, "%s is no DEVICE or DEVICE/PORT, such as mlx5_0/1",
				   *arg ? arg : "''");
		return 0;
	case 'i':
		if (!options_id(arg, &wanted.id))
			argp_error(state, "%s is no id: it is CONTEXT/HANDLE, as show prints it",
				   *arg ? arg : "''");
		return 0;
	case 'p':
		take_number(arg, "process ID", &wanted.pid, state);
		return 0;
	case 'c':
		wanted.program = arg;
		return 0;
	case 'n':
		take_number(arg, "number of messages", &wanted.count, state);
		return 0;
	case KEY_PACKET:
		take_number(arg, "number of a packet", &wanted.packet, state);
		return 0;
	case KEY_KEEP:
		take_keep(arg, state);
		return 0;
	case 'B':
		take_buffer(arg, state);
		return 0;
	case KEY_PRIVATE_DATA:
		wanted.private_data = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "there are no arguments: a file to print is given by -r");
		return 0;
	case ARGP_KEY_END:
		check_options(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_record(int argc, char **argv)
{
	static const struct argp argp = {
		.options = record_options, .parser = parse, .children = common_child,
		.doc = "Records the CM messages of this host until it is interrupted, and ties "
		       "them to ids and programs. Needs CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON and "
		       "CAP_SYS_ADMIN. With -r it prints the messages of a capture, a line each, "
		       "which needs neither rights nor the module.",
	};

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (wanted.read_from)
		print_capture(&wanted);
	else
		live_record(&wanted);
	return TOOL_OK;
}
