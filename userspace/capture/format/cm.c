// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* CM messages: names and fields. */
#include "capture/format/cm.h"

#include <string.h>

#include "capture/format/bytes.h"

enum {
	MAD_CLASS_AT = 1,
	MAD_ATTRIBUTE_AT = 16,
	MAD_HDR_LEN = 24,
	CLASS_CM = 7,
};

/* Service IDs 0x0000000001PPNNNN are those of the IP CM service: IP protocol and port. */
#define SERVICE_ID_IP(id) ((id) >> 24 == 1)

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LOCAL_COMM_ID "local_comm_id", 24, 0, 32
#define REMOTE_COMM_ID "remote_comm_id", 28, 0, 32

static const struct cm_field req_fields[] = {
	{ "local_comm_id", 24, 0, 32 },
	{ "service_id", 32, 0, 64 },
	{ "local_ca_guid", 40, 0, 64 },
	{ "local_qkey", 52, 0, 32 },
	{ "local_qpn", 56, 0, 24 },
	{ "responder_resources", 59, 0, 8 },
	{ "local_eecn", 60, 0, 24 },
	{ "initiator_depth", 63, 0, 8 },
	{ "remote_eecn", 64, 0, 24 },
	{ "remote_cm_response_timeout", 67, 0, 5 },
	{ "transport_service_type", 67, 5, 2 },
	{ "end_to_end_flow_control", 67, 7, 1 },
	{ "starting_psn", 68, 0, 24 },
	{ "local_cm_response_timeout", 71, 0, 5 },
	{ "retry_count", 71, 5, 3 },
	{ "partition_key", 72, 0, 16 },
	{ "path_mtu", 74, 0, 4 },
	{ "rdc_exists", 74, 4, 1 },
	{ "rnr_retry_count", 74, 5, 3 },
	{ "max_cm_retries", 75, 0, 4 },
	{ "srq", 75, 4, 1 },
	{ "extended_transport_type", 75, 5, 3 },
	{ "primary_local_lid", 76, 0, 16 },
	{ "primary_remote_lid", 78, 0, 16 },
	{ "primary_local_gid", 80, 0, 128 },
	{ "primary_remote_gid", 96, 0, 128 },
	{ "primary_flow_label", 112, 0, 20 },
	{ "primary_packet_rate", 115, 2, 6 },
	{ "primary_traffic_class", 116, 0, 8 },
	{ "primary_hop_limit", 117, 0, 8 },
	{ "primary_sl", 118, 0, 4 },
	{ "primary_subnet_local", 118, 4, 1 },
	{ "primary_local_ack_timeout", 119, 0, 5 },
	{ "alternate_local_lid", 120, 0, 16 },
	{ "alternate_remote_lid", 122, 0, 16 },
	{ "alternate_local_gid", 124, 0, 128 },
	{ "alternate_remote_gid", 140, 0, 128 },
	{ "alternate_flow_label", 156, 0, 20 },
	{ "alternate_packet_rate", 159, 2, 6 },
	{ "alternate_traffic_class", 160, 0, 8 },
	{ "alternate_hop_limit", 161, 0, 8 },
	{ "alternate_sl", 162, 0, 4 },
	{ "alternate_subnet_local", 162, 4, 1 },
	{ "alternate_local_ack_timeout", 163, 0, 5 },
};

static const struct cm_field mra_fields[] = {
	{ LOCAL_COMM_ID },
	{ REMOTE_COMM_ID },
	{ "message_mraed", 32, 0, 2 },
	{ "service_timeout", 33, 0, 5 },
};

static const struct cm_field rej_fields[] = {
	{ LOCAL_COMM_ID },
	{ REMOTE_COMM_ID },
	{ "message_rejected", 32, 0, 2 },
	{ "reject_info_length", 33, 0, 7 },
	{ "reason", 34, 0, 16 },
};

static const struct cm_field rep_fields[] = {
	{ LOCAL_COMM_ID },
	{ REMOTE_COMM_ID },
	{ "local_qkey", 32, 0, 32 },
	{ "local_qpn", 36, 0, 24 },
	{ "local_eecn", 40, 0, 24 },
	{ "starting_psn", 44, 0, 24 },
	{ "responder_resources", 48, 0, 8 },
	{ "initiator_depth", 49, 0, 8 },
	{ "target_ack_delay", 50, 0, 5 },
	{ "failover_accepted", 50, 5, 2 },
	{ "end_to_end_flow_control", 50, 7, 1 },
	{ "rnr_retry_count", 51, 0, 3 },
	{ "srq", 51, 3, 1 },
	{ "local_ca_guid", 52, 0, 64 },
};

static const struct cm_field id_fields[] = {
	{ LOCAL_COMM_ID },
	{ REMOTE_COMM_ID },
};

static const struct cm_field dreq_fields[] = {
	{ LOCAL_COMM_ID },
	{ REMOTE_COMM_ID },
	{ "remote_qpn", 32, 0, 24 },
};

static const struct cm_field sidr_req_fields[] = {
	{ "request_id", 24, 0, 32 },
	{ "partition_key", 28, 0, 16 },
	{ "service_id", 32, 0, 64 },
};

static const struct cm_field sidr_rep_fields[] = {
	{ "request_id", 24, 0, 32 },
	{ "status", 28, 0, 8 },
	{ "additional_info_length", 29, 0, 8 },
	{ "qpn", 32, 0, 24 },
	{ "service_id", 36, 0, 64 },
	{ "qkey", 44, 0, 32 },
};

static const struct cm_field lap_fields[] = {
	{ LOCAL_COMM_ID },
	{ REMOTE_COMM_ID },
	{ "remote_qpn", 36, 0, 24 },
	{ "remote_cm_response_timeout", 39, 0, 5 },
	{ "alternate_local_lid", 44, 0, 16 },
	{ "alternate_remote_lid", 46, 0, 16 },
	{ "alternate_local_gid", 48, 0, 128 },
	{ "alternate_remote_gid", 64, 0, 128 },
	{ "alternate_flow_label", 80, 0, 20 },
	{ "alternate_traffic_class", 83, 0, 8 },
	{ "alternate_hop_limit", 84, 0, 8 },
	{ "alternate_packet_rate", 85, 2, 6 },
	{ "alternate_sl", 86, 0, 4 },
	{ "alternate_subnet_local", 86, 4, 1 },
	{ "alternate_local_ack_timeout", 87, 0, 5 },
};

static const struct cm_field apr_fields[] = {
	{ LOCAL_COMM_ID },
	{ REMOTE_COMM_ID },
	{ "additional_info_length", 32, 0, 8 },
	{ "ap_status", 33, 0, 8 },
};

#define MESSAGE(type, fields, ari_at, private_at) \
	[CM_##type] = { #type, private_at, ari_at, fields, COUNT_OF(fields) }

static const struct cm_message messages[] = {
	MESSAGE(REQ, req_fields, 0, 164),
	MESSAGE(MRA, mra_fields, 0, 34),
	MESSAGE(REJ, rej_fields, 36, 108),
	MESSAGE(REP, rep_fields, 0, 60),
	MESSAGE(RTU, id_fields, 0, 32),
	MESSAGE(DREQ, dreq_fields, 0, 36),
	MESSAGE(DREP, id_fields, 0, 32),
	MESSAGE(SIDR_REQ, sidr_req_fields, 0, 40),
	MESSAGE(SIDR_REP, sidr_rep_fields, 48, 120),
	MESSAGE(LAP, lap_fields, 0, 88),
	MESSAGE(APR, apr_fields, 36, 108),
};

unsigned int cm_type(const struct record_entry *entry)
{
	if (entry->kind != RECORD_CM || entry->len < MAD_HDR_LEN ||
	    entry->bytes[MAD_CLASS_AT] != CLASS_CM)
		return 0;
	return get_be16(entry->bytes + MAD_ATTRIBUTE_AT);
}

const struct cm_message *cm_message(unsigned int type)
{
	return type < COUNT_OF(messages) && messages[type].name ? &messages[type] : NULL;
}

const char *cm_name(unsigned int type)
{
	const struct cm_message *message = cm_message(type);

	return message ? message->name : "?";
}

static const struct cm_field *find_field(const struct record_entry *entry, const char *name)
{
	const struct cm_message *message = cm_message(cm_type(entry));

	for (unsigned int i = 0; message && i < message->n_fields; i++)
		if (!strcmp(message->fields[i].name, name))
			return &message->fields[i];
	return NULL;
}

/* Bytes that were not recorded are zero. */
uint64_t cm_number(const struct record_entry *entry, const struct cm_field *field)
{
	unsigned int last = (field->bit + field->bits - 1) / 8;
	unsigned int below = (last + 1) * 8 - field->bit - field->bits;
	uint64_t value = 0;

	for (unsigned int i = 0; i <= last; i++)
		value = value << 8 | entry->bytes[field->at + i];
	value >>= below;
	return field->bits >= 64 ? value : value & ((1ull << field->bits) - 1);
}

uint64_t cm_get(const struct record_entry *entry, const char *name)
{
	const struct cm_field *field = find_field(entry, name);

	return field ? cm_number(entry, field) : 0;
}

bool cm_has(const struct record_entry *entry, const char *name)
{
	return find_field(entry, name);
}

/* An IPv4 address is at the end of its 16 bytes, behind zeros; 224.0.0.0/4 is multicast. */
static bool is_ipv4(const uint8_t *field)
{
	static const uint8_t zeros[12];

	return !memcmp(field, zeros, sizeof(zeros)) && field[12] && field[12] < 224;
}

/* Global (2000::/3), unique local (fc00::/7), link-local (fe80::/10), and loopback. */
static bool is_ipv6(const uint8_t *field)
{
	static const uint8_t loopback[16] = { [15] = 1 };

	return field[0] >> 5 == 1 || field[0] >> 1 == 0xfc >> 1 ||
	       (field[0] == 0xfe && field[1] >> 6 == 2) ||
	       !memcmp(field, loopback, sizeof(loopback));
}

bool cm_is_ip_header(uint64_t service_id, const uint8_t *bytes)
{
	const uint8_t *source = bytes + 4, *destination = bytes + 20;

	if (!SERVICE_ID_IP(service_id) || bytes[0])
		return false;
	switch (bytes[1]) {
	case 4 << 4:
		return is_ipv4(source) && is_ipv4(destination);
	case 6 << 4:
		return is_ipv6(source) && is_ipv6(destination);
	default:
		return false;
	}
}

const uint8_t *cm_ip_header(const struct record_entry *entry)
{
	unsigned int type = cm_type(entry);
	const struct cm_message *message = cm_message(type);
	const uint8_t *header;

	if ((type != CM_REQ && type != CM_SIDR_REQ) ||
	    entry->len < message->private_at + CM_IP_HEADER_LEN)
		return NULL;
	header = entry->bytes + message->private_at;
	return cm_is_ip_header(cm_get(entry, "service_id"), header) ? header : NULL;
}
