// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Reads captures of both kinds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/format/bytes.h"
#include "capture/format/input.h"
#include "capture/format/pcapng.h"

static int read_any(struct input *in)
{
	int ret = input_take(in, 0, 4);

	if (ret)
		return ret;
	if (is_pcap(in->bytes))
		return read_pcap(in);
	if (get_be32(in->bytes) == PCAPNG_SECTION)
		return read_pcapng(in);
	return input_bad(in, -EINVAL, "the file is no capture: it begins neither as pcapng nor as "
			 "pcap (a compressed one has to be unpacked before)");
}

int capture_read_total(FILE *from, int (*each)(const struct capture_seen *seen, void *arg),
		       void *arg, struct capture_total *total, char *why, size_t why_len)
{
	struct capture_total unused;
	struct input in = {
		.from = from, .each = each, .arg = arg, .total = total ?: &unused,
		.why = why, .why_len = why_len,
	};
	int ret;

	memset(in.total, 0, sizeof(*in.total));
	ret = read_any(&in);
	free(in.bytes);
	if (!total)
		capture_total_free(&unused);
	return ret;
}

void capture_total_free(struct capture_total *total)
{
	free(total->ports);
	total->ports = NULL;
	total->n_ports = 0;
}

int capture_read(FILE *from, int (*each)(const struct capture_seen *seen, void *arg), void *arg,
		 char *why, size_t why_len)
{
	return capture_read_total(from, each, arg, NULL, why, why_len);
}
