// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Writes the captures of this suite, the same bytes each time: make DIRECTORY
 *
 * lost-request, stale-reject and slow-program are those of Documentation/seeing.rst. messages
 * has each CM message over InfiniBand and RoCE v1, trunk has frames of a trunk, and incomplete a
 * REQ without an answer at a port with drops.
 */
#include <errno.h>
#include <stdlib.h>

#include "capture/format/bytes.h"
#include "capture/format/cm.h"
#include "capture/format/trunk.h"

#define MILLISECOND 1000000ull
#define BEGAN (1700000000 * 1000ull * MILLISECOND)
#define PORT 7471

/* Connections of which a long frame has a record. */
enum { CROWD = 80, FIRST_OF_CROWD = 100 };
#define SERVICE (0x1060000 | PORT)

/* What the messages of a connection have in common. */
struct talk {
	struct capture_writer *to;
	struct record_port port;
	enum record_link link;
	uint64_t time;
	uint32_t client, server;	/* communication IDs */
	struct record_id id;
};

static const uint8_t client_ip[4] = { 192, 0, 2, 1 }, server_ip[4] = { 192, 0, 2, 2 };

static void put_mapped(uint8_t *gid, const uint8_t *ip)
{
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, ip, 4);
}

static void must(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "make: %s: %s\n", what, strerror(-ret));
	exit(1);
}

/* The addresses of a message, of which the client is this host. */
static struct record_entry addressed(const struct talk *talk, bool sent)
{
	struct record_entry entry = {
		.time = talk->time, .link = talk->link, .way = sent ? RECORD_SENT : RECORD_RECEIVED,
		.grh = true, .hop_limit = 64, .pkey = 0xffff, .sqpn = 1, .dqpn = 1,
		.qkey = 0x80010000, .private_data = true, .len = RECORD_MAD_LEN,
		.id = talk->id, .pid = 4711, .program = "rping",
	};

	put_mapped(entry.sgid, sent ? client_ip : server_ip);
	put_mapped(entry.dgid, sent ? server_ip : client_ip);
	if (talk->link == RECORD_INFINIBAND) {
		memcpy(entry.sgid, "\xfe\x80\0\0\0\0\0\0\0\2\xc9\3\0\0\0", 15);
		memcpy(entry.dgid, entry.sgid, 15);
		entry.slid = sent ? 1 : 2;
		entry.dlid = sent ? 2 : 1;
		entry.sgid[15] = entry.slid;
		entry.dgid[15] = entry.dlid;
	} else {
		memcpy(entry.smac, "\2\0\xc0\0\2", 5);
		memcpy(entry.dmac, "\2\0\xc0\0\2", 5);
		entry.smac[5] = sent ? 1 : 2;
		entry.dmac[5] = sent ? 2 : 1;
	}
	if (talk->link == RECORD_ROCE_V2)
		entry.udp_sport = 0xc000;
	return entry;
}

static struct record_entry message(const struct talk *talk, unsigned int type, bool sent)
{
	struct record_entry entry = addressed(talk, sent);
	uint8_t *mad = entry.bytes;

	memcpy(mad, "\1\7\2\3", 4);
	put_be64(mad + 8, talk->client);	/* transaction */
	put_be16(mad + 16, type);
	put_be32(mad + 24, sent ? talk->client : talk->server);
	if (type != CM_REQ)
		put_be32(mad + 28, sent ? talk->server : talk->client);
	return entry;
}

static void put_ip_header(uint8_t *header)
{
	header[1] = 0x40;
	put_be16(header + 2, 40961);
	memcpy(header + 16, client_ip, 4);
	memcpy(header + 32, server_ip, 4);
}

static struct record_entry request(const struct talk *talk)
{
	struct record_entry entry = message(talk, CM_REQ, true);
	uint8_t *mad = entry.bytes;

	put_be64(mad + 32, SERVICE);
	put_be64(mad + 40, 0x0002c90300000001);
	put_be24(mad + 56, 0x11);
	mad[59] = 1;				/* responder resources */
	mad[63] = 1;				/* initiator depth */
	mad[67] = 20 << 3 | 1;			/* remote CM response timeout, flow control */
	put_be24(mad + 68, 0x111111);
	mad[71] = 20 << 3 | 7;			/* local CM response timeout, retry count */
	put_be16(mad + 72, 0xffff);
	mad[74] = 3 << 4 | 7;			/* path MTU, RNR retry count */
	mad[75] = 15 << 4;			/* max CM retries */
	memcpy(mad + 80, entry.sgid, 16);
	memcpy(mad + 96, entry.dgid, 16);
	put_be16(mad + 76, entry.slid);
	put_be16(mad + 78, entry.dlid);
	mad[115] = 3;				/* packet rate */
	mad[117] = 64;
	mad[118] = 1 << 3;			/* subnet local */
	mad[119] = 15 << 3;			/* local ACK timeout */
	put_ip_header(mad + 164);
	strcpy(entry.operation, "connect");
	return entry;
}

static struct record_entry reply(const struct talk *talk)
{
	struct record_entry entry = message(talk, CM_REP, false);
	uint8_t *mad = entry.bytes;

	put_be24(mad + 36, 0x22);
	put_be24(mad + 44, 0x222222);
	mad[48] = 1;
	mad[49] = 1;
	mad[50] = 15 << 3 | 1;
	mad[51] = 7 << 5;
	put_be64(mad + 52, 0x0002c90300000002);
	strcpy(entry.event, "connect response");
	return entry;
}

/* Milliseconds pass; then the message is written without its private data. */
static void say(struct talk *talk, unsigned int pause, struct record_entry entry)
{
	talk->time += pause * MILLISECOND;
	entry.time = talk->time;
	record_remove_private_data(&entry);
	must(capture_write(talk->to, &talk->port, 1, &entry), "a message cannot be written");
}

static void ready(struct talk *talk)
{
	struct record_entry entry = message(talk, CM_RTU, true);

	strcpy(entry.operation, "establish");
	say(talk, 1, entry);
}

static void lost_request(struct talk *talk)
{
	static const unsigned int pauses[] = { 300, 600, 1200, 2400 };
	struct record_entry entry = request(talk);

	say(talk, 0, entry);
	entry.way = RECORD_SENT_AGAIN;
	for (int i = 0; i < 4; i++)
		say(talk, pauses[i], entry);
}

static void stale_reject(struct talk *talk)
{
	struct record_entry entry = message(talk, CM_REJ, false);

	say(talk, 0, request(talk));
	put_be32(entry.bytes + 24, 0);
	put_be16(entry.bytes + 34, 10);
	say(talk, 1, entry);
	talk->client++;
	say(talk, 20, request(talk));
	say(talk, 2, reply(talk));
	ready(talk);
}

static void slow_program(struct talk *talk)
{
	struct record_entry entry = message(talk, CM_MRA, false);

	say(talk, 0, request(talk));
	entry.bytes[33] = 22 << 3;		/* 17 s */
	say(talk, 250, entry);
	say(talk, 12050, reply(talk));
	ready(talk);
}

/* A REQ, whose answer the recorder may have lost, and another connection after it. */
static void incomplete(struct talk *talk)
{
	say(talk, 0, request(talk));
	talk->client++;
	say(talk, 5000, request(talk));
	say(talk, 2, reply(talk));
	ready(talk);
}

/* SIDR has one ID; LAP and APR have paths and a status. */
static void datagram(struct talk *talk)
{
	struct record_entry entry = message(talk, CM_SIDR_REQ, true);

	put_be16(entry.bytes + 28, 0xffff);
	put_be16(entry.bytes + 30, 0);
	put_be64(entry.bytes + 32, 0x1110000 | PORT);
	put_ip_header(entry.bytes + 40);
	say(talk, 10, entry);
	entry = message(talk, CM_SIDR_REP, false);
	put_be32(entry.bytes + 24, talk->client);
	put_be32(entry.bytes + 28, 0);
	put_be24(entry.bytes + 32, 0x33);
	put_be64(entry.bytes + 36, 0x1110000 | PORT);
	put_be32(entry.bytes + 44, 0x01234567);
	say(talk, 1, entry);
}

static void each_message(struct talk *talk)
{
	struct record_entry entry = message(talk, CM_LAP, true);

	slow_program(talk);
	put_be24(entry.bytes + 36, 0x22);
	put_be16(entry.bytes + 44, 3);
	put_be16(entry.bytes + 46, 4);
	say(talk, 5, entry);
	entry = message(talk, CM_APR, false);
	entry.bytes[33] = 6;
	say(talk, 1, entry);
	entry = message(talk, CM_DREQ, false);
	put_be24(entry.bytes + 32, 0x11);
	say(talk, 100, entry);
	say(talk, 1, message(talk, CM_DREP, true));
	talk->client += 16;
	entry = request(talk);
	say(talk, 10, entry);
	entry = message(talk, CM_REJ, false);
	put_be32(entry.bytes + 24, 0);
	put_be16(entry.bytes + 34, 8);
	say(talk, 1, entry);
	talk->client += 16;
	datagram(talk);
}

/* Ties the records to ids whose handles are the numbers of the connections plus 2. */
static void tie(struct record_entry *entry)
{
	struct trunk_record record = {};

	while (trunk_next(entry, &record))
		entry->ties[entry->n_ties++] = (struct record_tie){
			.conn = record.conn, .id = { 3, record.conn + 2 }, .pid = 4711,
			.program = "rping",
		};
}

/* A frame whose records have these bytes; the lengths are filled in. */
static void frame(struct talk *talk, bool sent, uint32_t number, const char *records,
		  unsigned int len, unsigned int count)
{
	struct record_entry entry = addressed(talk, sent);

	entry.kind = RECORD_TRUNK;
	entry.qkey = 0;
	entry.sqpn = sent ? 0x44 : 0x55;
	entry.dqpn = sent ? 0x55 : 0x44;
	put_be64(entry.bytes, 0x1122334455667788);
	put_be32(entry.bytes + 8, number);
	put_be32(entry.bytes + 12, number - 1);
	put_be16(entry.bytes + 16, 16);
	put_be16(entry.bytes + 18, 24 + len);
	entry.bytes[20] = count;
	memcpy(entry.bytes + 24, records, len);
	entry.len = 24 + len;
	entry.id = (struct record_id){};
	entry.pid = 0;
	memset(entry.program, 0, sizeof(entry.program));
	entry.session = 0x9c3f;
	tie(&entry);
	say(talk, 1, entry);
}

/* Records of many connections, and one of connection 5 at the end, beyond what a MAD has. */
static void crowd(struct talk *talk)
{
	char records[CROWD * 8 + 16] = { 0 }, *at = records;

	for (uint32_t conn = FIRST_OF_CROWD; conn < FIRST_OF_CROWD + CROWD; conn++, at += 8) {
		memcpy(at, "\3\0\0\10", 4);
		put_be32((uint8_t *)at + 4, conn);
	}
	memcpy(at, "\4\0\0\20\0\0\0\5\0\12\0\0\0\0\0\0", 16);
	frame(talk, true, 3, records, sizeof(records), CROWD + 1);
}

static void frames(struct talk *talk)
{
	char records[128] = "\1\0\0\100\0\0\0\5\0\0\0\0\1\6\x1d\x2f\0\0\0\x11";

	frame(talk, true, 1, records, 64, 1);
	frame(talk, false, 1, "\7\0\0\14\0\0\0\5\0\0\0\x64", 12, 1);
	frame(talk, true, 2, "\4\0\0\20\0\0\0\5\0\12\0\0\0\0\0\0\3\0\0\10\0\0\0\6", 24, 2);
	frame(talk, false, 2, "", 0, 0);
	crowd(talk);
}

static void write_capture(const char *folder, const char *name, enum record_link link,
			  void (*talk_of)(struct talk *talk), unsigned int dropped)
{
	struct talk talk = {
		.port.port = 1,
		.link = link, .time = BEGAN, .client = 0xa1, .server = 0xb1, .id = { 3, 7 },
	};
	char path[4096], why[256];
	FILE *file;

	strcpy(talk.port.device, link == RECORD_INFINIBAND ? "ibp1s0" : "rocep1s0");
	snprintf(path, sizeof(path), "%s/%s.pcapng", folder, name);
	file = fopen(path, "we");
	must(file ? 0 : -errno, path);
	talk.to = capture_create(file, why, sizeof(why));
	must(talk.to ? 0 : -EIO, path);
	talk_of(&talk);
	talk.port.dropped = dropped;
	must(capture_close(talk.to, &talk.port, 1), path);
	must(fclose(file) ? -errno : 0, path);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make DIRECTORY\n");
		return 2;
	}
	write_capture(argv[1], "lost-request", RECORD_ROCE_V2, lost_request, 0);
	write_capture(argv[1], "stale-reject", RECORD_ROCE_V2, stale_reject, 0);
	write_capture(argv[1], "slow-program", RECORD_ROCE_V2, slow_program, 0);
	write_capture(argv[1], "incomplete", RECORD_ROCE_V2, incomplete, 500);
	write_capture(argv[1], "messages-ib", RECORD_INFINIBAND, each_message, 2);
	write_capture(argv[1], "messages-roce1", RECORD_ROCE_V1, each_message, 0);
	write_capture(argv[1], "trunk", RECORD_ROCE_V2, frames, 0);
	return 0;
}
