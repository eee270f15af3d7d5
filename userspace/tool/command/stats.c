// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma-cm-alt stats: counters and histograms of each port, as text, JSON, or for Prometheus. */
#include <inttypes.h>
#include <linux/genetlink.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>

#include "tool/core/tool.h"

enum { KEY_PROMETHEUS = 'p', KEY_ALL = 'a' };

static struct {
	bool prometheus;
	bool all;
} wanted;

static const struct argp_option stats_options[] = {
	{ "prometheus", KEY_PROMETHEUS, NULL, 0, "In the text format of Prometheus", 0 },
	{ "all", KEY_ALL, NULL, 0, "Also what never happened", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	switch (key) {
	case KEY_PROMETHEUS:
		wanted.prometheus = true;
		return 0;
	case KEY_ALL:
		wanted.all = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "there are no arguments");
		return 0;
	case ARGP_KEY_END:
		if (options.json && wanted.prometheus)
			argp_error(state, "either --json or --prometheus");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static uint64_t number_of(struct json_object *object, const char *key)
{
	return json_object_get_uint64(json_object_object_get(object, key));
}

static struct json_object *buckets_of(const struct nlattr *attr)
{
	struct json_object *buckets = json_object_new_array();
	const uint64_t *counts = attr ? nla_data(attr) : NULL;

	for (int i = 0; attr && i < nla_len(attr) / (int)sizeof(*counts); i++) {
		uint64_t count;

		memcpy(&count, &counts[i], sizeof(count));
		json_object_array_add(buckets, json_object_new_uint64(count));
	}
	return buckets;
}

/* A message repeats the nested attribute for each counter: the parsed table would keep only one. */
static void add_port(struct nlmsghdr *nlh, struct nlattr **attrs, void *ports)
{
	struct json_object *port = json_object_new_object();
	struct json_object *counters = json_object_new_object();
	struct json_object *spans = json_object_new_object();
	struct nlattr *pos;
	int left;

	if (attrs[RDMA_CM_ALT_NL_A_DEV]) {
		record_put(port, "device", client_string(attrs, RDMA_CM_ALT_NL_A_DEV, NULL));
		record_put_number(port, "port", client_u32(attrs, RDMA_CM_ALT_NL_A_PORT, 0));
	}
	json_object_object_add(port, "counters", counters);
	json_object_object_add(port, "microseconds", spans);
	nlmsg_for_each_attr(pos, nlh, GENL_HDRLEN, left) {
		struct nlattr *in[RDMA_CM_ALT_NL_A_MAX + 1];
		struct json_object *span;
		const char *name;

		if ((nla_type(pos) != RDMA_CM_ALT_NL_A_COUNTER &&
		     nla_type(pos) != RDMA_CM_ALT_NL_A_SPAN) || !client_nest(pos, in))
			continue;
		name = client_string(in, RDMA_CM_ALT_NL_A_NAME, "?");
		if (nla_type(pos) == RDMA_CM_ALT_NL_A_COUNTER) {
			record_put_number(counters, name,
					  client_u64(in, RDMA_CM_ALT_NL_A_VALUE, 0));
		} else if (nla_type(pos) == RDMA_CM_ALT_NL_A_SPAN) {
			span = json_object_new_object();
			record_put_number(span, "sum", client_u64(in, RDMA_CM_ALT_NL_A_VALUE, 0));
			json_object_object_add(span, "buckets",
					       buckets_of(in[RDMA_CM_ALT_NL_A_BUCKETS]));
			json_object_object_add(spans, name, span);
		}
	}
	json_object_array_add(ports, port);
}

/* Bucket @n of @count counts times below 2^n us; the last bucket also counts all longer times. */
static void print_longest(size_t n, size_t count)
{
	if (n + 1 < count)
		printf(", all below %" PRIu64 " us\n", (uint64_t)1 << n);
	else
		printf(", some of %" PRIu64 " us or more\n", n ? (uint64_t)1 << (n - 1) : 0);
}

static void print_text(struct json_object *port)
{
	struct json_object *spans = json_object_object_get(port, "microseconds");
	const char *device = record_string(port, "device");
	char name[64] = "no port yet";

	if (device)
		snprintf(name, sizeof(name), "%s/%d", device, (int)record_number(port, "port"));
	printf("%s\n", name);
	json_object_object_foreach(json_object_object_get(port, "counters"), key, value) {
		if (wanted.all || json_object_get_uint64(value))
			printf("    %-20s %12" PRIu64 "\n", key, json_object_get_uint64(value));
	}
	json_object_object_foreach(spans, span, details) {
		struct json_object *buckets = json_object_object_get(details, "buckets");
		uint64_t count = 0, sum = number_of(details, "sum");
		size_t n = json_object_array_length(buckets), longest = 0;

		for (size_t i = 0; i < n; i++) {
			uint64_t here =
				json_object_get_uint64(json_object_array_get_idx(buckets, i));

			count += here;
			longest = here ? i : longest;
		}
		if (!count)
			continue;
		printf("    %-20s %12" PRIu64 " in %" PRIu64 " us on average", span, count,
		       sum / count);
		print_longest(longest, n);
	}
}

static void label(struct json_object *port, char *text, size_t len)
{
	const char *device = record_string(port, "device");

	snprintf(text, len, "device=\"%s\",port=\"%d\"", device ? device : "",
		 (int)record_number(port, "port"));
}

/* Prints all digits: queries subtract sums, where rounding would show. */
static const char *seconds(uint64_t us)
{
	static char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
	return text;
}

/* The buckets of Prometheus are cumulative: each counts all values below its bound. */
static void print_span(const char *labels, const char *span, struct json_object *details)
{
	struct json_object *buckets = json_object_object_get(details, "buckets");
	size_t n = json_object_array_length(buckets);
	uint64_t count = 0;

	for (size_t i = 0; i < n; i++) {
		count += json_object_get_uint64(json_object_array_get_idx(buckets, i));
		if (i + 1 < n)
			printf("rdma_cm_alt_step_seconds_bucket{%s,step=\"%s\",le=\"%s\"} %" PRIu64
			       "\n",
			       labels, span, seconds((uint64_t)1 << i), count);
	}
	printf("rdma_cm_alt_step_seconds_bucket{%s,step=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", labels,
	       span, count);
	printf("rdma_cm_alt_step_seconds_sum{%s,step=\"%s\"} %s\n", labels, span,
	       seconds(number_of(details, "sum")));
	printf("rdma_cm_alt_step_seconds_count{%s,step=\"%s\"} %" PRIu64 "\n", labels, span, count);
}

static void print_prometheus(struct json_object *ports)
{
	size_t n = json_object_array_length(ports);
	char labels[128];

	puts("# HELP rdma_cm_alt_steps_total Steps of ids, by what happened\n"
	     "# TYPE rdma_cm_alt_steps_total counter");
	for (size_t i = 0; i < n; i++) {
		struct json_object *port = json_object_array_get_idx(ports, i);

		label(port, labels, sizeof(labels));
		json_object_object_foreach(json_object_object_get(port, "counters"), key, value)
			printf("rdma_cm_alt_steps_total{%s,step=\"%s\"} %" PRIu64 "\n", labels, key,
			       json_object_get_uint64(value));
	}
	puts("# HELP rdma_cm_alt_step_seconds How long steps took that ended with an answer\n"
	     "# TYPE rdma_cm_alt_step_seconds histogram");
	for (size_t i = 0; i < n; i++) {
		struct json_object *port = json_object_array_get_idx(ports, i);

		label(port, labels, sizeof(labels));
		json_object_object_foreach(json_object_object_get(port, "microseconds"), key, value)
			print_span(labels, key, value);
	}
}

int cmd_stats(int argc, char **argv)
{
	static const struct argp argp = {
		.options = stats_options, .parser = parse, .children = common_child,
		.doc = "Counters and latency histograms of each port since the module was loaded.",
	};
	struct json_object *ports = json_object_new_array();

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	client_dump(RDMA_CM_ALT_NL_PORT, add_port, ports);
	if (options.json)
		puts(json_object_to_json_string_ext(ports, JSON_C_TO_STRING_PRETTY));
	else if (wanted.prometheus)
		print_prometheus(ports);
	else
		for (size_t i = 0; i < json_object_array_length(ports); i++)
			print_text(json_object_array_get_idx(ports, i));
	json_object_put(ports);
	return TOOL_OK;
}
