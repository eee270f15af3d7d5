// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Messages of the connection manager as bytes. See cm_mad.h.
 */
#include "cm_mad.h"

#include <string.h>

/* Steele, Vigna: splitmix64. */
uint32_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) >> 32;
}

uint32_t draw_below(uint64_t *state, uint32_t end)
{
	return draw(state) % end;
}

void draw_bytes(uint64_t *state, void *to, size_t len)
{
	uint8_t *bytes = to;

	while (len--)
		*bytes++ = draw(state);
}

void cm_mad_put(uint8_t *mad, unsigned int at, unsigned int bytes, uint64_t value)
{
	while (bytes--) {
		mad[at + bytes] = value;
		value >>= 8;
	}
}

/* The header before a program's private data (IBTA annex A11). */
static void put_ip_header(uint8_t *data, const struct cm_way *way, uint64_t *state)
{
	memset(data, 0, 36);
	data[1] = 4 << 4;
	cm_mad_put(data, 2, 2, 1024 + draw_below(state, 60000));
	memcpy(data + 4 + 12, &way->src, 4);
	memcpy(data + 20 + 12, &way->dst, 4);
}

/* The primary path of a request, and no alternate one. */
static void put_path(uint8_t *mad, const struct cm_way *way)
{
	cm_mad_put(mad, 76, 2, way->slid);
	cm_mad_put(mad, 78, 2, way->dlid);
	memcpy(mad + 80, way->sgid, 16);
	memcpy(mad + 96, way->dgid, 16);
	cm_mad_put(mad, 112, 4, 3);
	cm_mad_put(mad, 116, 4, 0x00000800 | 14 << 3);
	memset(mad + 120, 0, 44);
}

static void put_request(uint8_t *mad, const struct cm_way *way, uint64_t service_id,
			uint64_t *state)
{
	cm_mad_put(mad, 28, 4, 0);
	cm_mad_put(mad, 32, 8, service_id);
	cm_mad_put(mad, 40, 8, 0x0002c90300000000 + way->slid);
	cm_mad_put(mad, 52, 4, 0);
	mad[59] = draw_below(state, 8);
	mad[63] = draw_below(state, 8);
	mad[67] = 14 << 3;
	mad[71] = 14 << 3 | 7;
	cm_mad_put(mad, 72, 2, 0xffff);
	mad[74] = 4 << 4 | 7;
	mad[75] = draw_below(state, 4) << 4;
	put_path(mad, way);
	put_ip_header(mad + CM_REQ_PRIVATE, way, state);
}

void cm_mad_make(uint8_t *mad, uint16_t attr, const struct cm_way *way, uint64_t service_id,
		 uint64_t *state)
{
	memset(mad, 0, 24);
	mad[0] = 1;
	mad[1] = 7;
	mad[2] = 2;
	mad[3] = 3;
	cm_mad_put(mad, 12, 4, draw(state));
	cm_mad_put(mad, 16, 2, attr);
	draw_bytes(state, mad + 24, MAD_BYTES - 24);
	if (attr == CM_REQ) {
		put_request(mad, way, service_id, state);
	} else if (attr == CM_SIDR_REQ) {
		cm_mad_put(mad, 28, 4, 0xffff0000);
		cm_mad_put(mad, 32, 8, service_id);
		put_ip_header(mad + CM_SIDR_REQ_PRIVATE, way, state);
	}
}

void cm_mad_move(uint8_t *mad, const struct cm_way *way, uint64_t *state)
{
	if (mad[17] == CM_REQ) {
		cm_mad_put(mad, 72, 2, 0xffff);
		put_path(mad, way);
		put_ip_header(mad + CM_REQ_PRIVATE, way, state);
	} else if (mad[17] == CM_SIDR_REQ) {
		cm_mad_put(mad, 28, 2, 0xffff);
		put_ip_header(mad + CM_SIDR_REQ_PRIVATE, way, state);
	}
}

void cm_mad_mutate(uint8_t *mad, unsigned int from, uint64_t *state)
{
	static const uint8_t edges[] = { 0, 1, 0x7f, 0x80, 0xfe, 0xff };
	uint32_t places = 1 + draw_below(state, 4);
	unsigned int at;

	while (places--) {
		at = from + draw_below(state, MAD_BYTES - from);
		/* The first bytes after the offset matter most. */
		if (draw_below(state, 2))
			at = from + draw_below(state, 8);
		switch (draw_below(state, 3)) {
		case 0:
			mad[at] ^= 1 << draw_below(state, 8);
			break;
		case 1:
			mad[at] = edges[draw_below(state, sizeof(edges))];
			break;
		default:
			mad[at] = draw(state);
		}
	}
}
