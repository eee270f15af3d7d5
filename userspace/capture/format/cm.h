/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* CM messages: names and fields (IBTA volume 1, 12.6 and 12.11). */
#ifndef CAPTURE_FORMAT_CM_H
#define CAPTURE_FORMAT_CM_H

#include "capture/format/entry.h"

/* Attribute IDs. */
enum cm_type {
	CM_REQ = 0x10,
	CM_MRA,
	CM_REJ,
	CM_REP,
	CM_RTU,
	CM_DREQ,
	CM_DREP,
	CM_SIDR_REQ,
	CM_SIDR_REP,
	CM_LAP,
	CM_APR,
};

/* Length of the header of the RDMA IP CM service in the private data of REQ and SIDR_REQ. */
enum { CM_IP_HEADER_LEN = 36 };

/* struct cm_field - a field: its first bit is bit @bit, from the highest one, of byte @at */
struct cm_field {
	const char *name;
	uint16_t at;
	uint8_t bit;
	uint8_t bits;		/* 1 to 64, or 128 for a GID */
};

/* struct cm_message - the format of the messages of a type */
struct cm_message {
	const char *name;
	uint16_t private_at;	/* offset of the private data, which reach to the end of the MAD */
	uint16_t ari_at;	/* offset of additional reject or other information; 0: none */
	const struct cm_field *fields;
	unsigned int n_fields;
};

/* cm_type() - the attribute ID of a MAD, or 0 if it is no CM message */
unsigned int cm_type(const struct record_entry *entry);

/* cm_message() - the description of a type, or NULL if there is no such type */
const struct cm_message *cm_message(unsigned int type);

/* cm_name() - "REQ"; "?" if there is no such type */
const char *cm_name(unsigned int type);

/*
 * cm_get() - a field by its name
 *
 * Return: its value; 0 if messages of this type have no such field, or it was not recorded
 */
uint64_t cm_get(const struct record_entry *entry, const char *name);

/* cm_has() - whether messages of this type have the field */
bool cm_has(const struct record_entry *entry, const char *name);

/* cm_number() - the value of a field of at most 64 bits */
uint64_t cm_number(const struct record_entry *entry, const struct cm_field *field);

/*
 * Is the requested service ID one of the IP CM service, and do CM_IP_HEADER_LEN bytes have the form
 * of its header (IBTA annex A11): version 0 and two unicast addresses of IPv4 or IPv6? An id of
 * AF_IB, which sends no header, may request any service ID, and its data may match, too.
 */
bool cm_is_ip_header(uint64_t service_id, const uint8_t *bytes);

/* cm_ip_header() - the header of the IP CM service of a REQ or SIDR_REQ, or NULL if it has none */
const uint8_t *cm_ip_header(const struct record_entry *entry);

#endif /* CAPTURE_FORMAT_CM_H */
