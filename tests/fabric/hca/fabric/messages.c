// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counts of the messages of connection managers: those that ports receive, by attribute; those that
 * simulated hosts receive, by attribute and reason, with the transaction of the first of each. A
 * message that answers another one has its transaction, so a test learns which of its messages was
 * the first with that answer.
 *
 * Locking: @messages_lock, a mutex, taken in process context.
 */
#include "fabric/messages.h"

#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>
#include <rdma/ibta_vol1_c12.h>

#include "fabric/fabric.h"

#define FIRST_ATTR	0x10
#define KINDS_MAX	128

static const char *const attr_names[] = {
	"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR",
};

/* kind: messages to simulated hosts with the same attribute and the same reason. */
struct kind {
	u16 attr;	/* counted from FIRST_ATTR on */
	u16 code;	/* reason of a reject, status of the others that have one */
	u64 first;	/* transaction of the first one */
	u64 count;
};

static DEFINE_MUTEX(messages_lock);
static u64 to_port[ARRAY_SIZE(attr_names)];
static struct kind kinds[KINDS_MAX];
static unsigned int num_kinds;
static u64 too_many;

/* The attribute of a message, counted from FIRST_ATTR on; negative: it is none. */
static int message_attr(const struct hca_packet *packet)
{
	const struct ib_mad_hdr *hdr = hca_packet_mad(packet);
	unsigned int attr;

	if (!hdr || hdr->mgmt_class != IB_MGMT_CLASS_CM)
		return -1;
	attr = be16_to_cpu(hdr->attr_id) - FIRST_ATTR;
	return attr < ARRAY_SIZE(attr_names) ? attr : -1;
}

static u16 message_code(const struct hca_packet *packet)
{
	const void *msg = packet->data;

	switch (be16_to_cpu(hca_packet_mad(packet)->attr_id)) {
	case 0x12:
		return IBA_GET(CM_REJ_REASON, (const struct cm_rej_msg *)msg);
	case 0x18:
		return IBA_GET(CM_SIDR_REP_STATUS, (const struct cm_sidr_rep_msg *)msg);
	case 0x1a:
		return IBA_GET(CM_APR_AR_STATUS, (const struct cm_apr_msg *)msg);
	default:
		return 0;
	}
}

/* Counts a packet that goes to the QP of a port. */
void hca_messages_to_port(const struct hca_packet *packet)
{
	int attr = message_attr(packet);

	if (attr < 0)
		return;
	mutex_lock(&messages_lock);
	to_port[attr]++;
	mutex_unlock(&messages_lock);
}

/* Counts a packet that goes to a simulated host. */
void hca_messages_to_peer(const struct hca_packet *packet)
{
	int attr = message_attr(packet);
	struct kind *kind;
	u16 code;

	if (attr < 0)
		return;
	code = message_code(packet);
	mutex_lock(&messages_lock);
	for (kind = kinds; kind < kinds + num_kinds; kind++)
		if (kind->attr == attr && kind->code == code)
			break;
	if (kind == kinds + KINDS_MAX) {
		too_many++;
	} else {
		if (kind == kinds + num_kinds) {
			num_kinds++;
			*kind = (struct kind) {
				.attr = attr, .code = code,
				.first = be64_to_cpu(hca_packet_mad(packet)->tid),
			};
		}
		kind->count++;
	}
	mutex_unlock(&messages_lock);
}

void hca_messages_clear(void)
{
	mutex_lock(&messages_lock);
	memset(to_port, 0, sizeof(to_port));
	num_kinds = 0;
	too_many = 0;
	mutex_unlock(&messages_lock);
}

void hca_messages_show(struct seq_file *file)
{
	const struct kind *kind;
	unsigned int i;

	mutex_lock(&messages_lock);
	for (i = 0; i < ARRAY_SIZE(attr_names); i++)
		seq_printf(file, "port %s %llu\n", attr_names[i], to_port[i]);
	for (kind = kinds; kind < kinds + num_kinds; kind++)
		seq_printf(file, "peer %s %u %llu first %llu\n", attr_names[kind->attr], kind->code,
			   kind->count, kind->first);
	if (too_many)
		seq_printf(file, "peer others %llu\n", too_many);
	mutex_unlock(&messages_lock);
}
