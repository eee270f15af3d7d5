// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A libFuzzer program for the reader of captures. The first byte of an input selects what the
 * others are: a file, or a comment and a packet that get a file around them, so that headers of
 * packets are reached without guessing lengths of blocks. What is read is checked (check.c) and
 * decoded (decoded.c), and read again from a file that ends earlier.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"

/* The first byte: a file, or the type of the link of a packet. */
enum {
	INPUT_FILE,
	INPUT_ETHERNET,
	INPUT_ERF,
	INPUT_INFINIBAND,
	INPUT_COOKED,
	INPUT_COOKED2,
	INPUT_KINDS,
};

enum { FILE_MAX = 4096, BLOCK_MIN = 12, OPTION_COMMENT = 1 };

/* Types of blocks, and what tells the byte order of a section. */
enum {
	BLOCK_OLD_PACKET = 2,
	BLOCK_SIMPLE_PACKET = 3,
	BLOCK_PACKET = 6,
	BLOCK_JOURNAL = 9,
	BLOCK_SECTION = 0x0a0d0d0a,
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
};

struct file {
	size_t len;
	uint8_t bytes[FILE_MAX];
};

void must(bool condition, const char *text, const char *file, int line)
{
	if (condition)
		return;
	fprintf(stderr, "not true: %s (%s:%d)\n", text, file, line);
	abort();
}

static int keep_seen(const struct capture_seen *seen, void *arg)
{
	struct reading *to = arg;

	MUST(seen->number && seen->number <= to->total.packets);
	MUST(seen->entry.port == CAPTURE_PORTS ||
	     (seen->entry.port < to->total.n_ports &&
	      !strcmp(to->total.ports[seen->entry.port].device, seen->port.device)));
	MUST(to->count < to->total.messages && to->total.messages <= to->total.packets);
	MUST(strnlen(seen->port.device, sizeof(seen->port.device)) < sizeof(seen->port.device));
	MUST(strnlen(seen->comment, sizeof(seen->comment)) < sizeof(seen->comment));
	check_entry(&seen->entry);
	if (to->count && to->count <= READ_MAX)
		MUST(seen->number > to->seen[to->count - 1].number);
	if (to->count < READ_MAX)
		to->seen[to->count] = *seen;
	to->count++;
	return 0;
}

/* An error names the place; reading without an error leaves the message as it was. */
static void check_why(const struct reading *got)
{
	size_t len = strnlen(got->why, sizeof(got->why));

	if (!got->ret) {
		MUST(len == sizeof(got->why) && got->why[0] == '?');
		return;
	}
	MUST(got->ret == -EBADMSG || got->ret == -ENODATA || got->ret == -EINVAL);
	MUST(len && len < sizeof(got->why));
	MUST(strstr(got->why, "packet") && strstr(got->why, "at byte "));
	MUST(got->ret != -EINVAL || !got->count);
}

void read_file(struct reading *to, const uint8_t *bytes, size_t len)
{
	FILE *from = fmemopen((void *)bytes, len, "r");

	MUST(from);
	capture_total_free(&to->total);
	to->count = 0;
	memset(to->why, '?', sizeof(to->why));
	to->ret = capture_read_total(from, keep_seen, to, &to->total, to->why, sizeof(to->why));
	fclose(from);
	MUST(to->count == to->total.messages);
	MUST(to->total.n_ports <= CAPTURE_PORTS);
	for (unsigned int i = 0; i < to->total.n_ports; i++)
		MUST(strnlen(to->total.ports[i].device, 64) < 64);
	MUST(strnlen(to->total.recorder, sizeof(to->total.recorder)) <
	     sizeof(to->total.recorder));
	check_why(to);
}

static uint32_t get_u32(const uint8_t *at, bool big)
{
	return big ? (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3] :
		     (uint32_t)at[3] << 24 | at[2] << 16 | at[1] << 8 | at[0];
}

static bool is_packet(uint32_t type)
{
	return type == BLOCK_PACKET || type == BLOCK_OLD_PACKET || type == BLOCK_SIMPLE_PACKET ||
	       type == BLOCK_JOURNAL;
}

/* A file without an error consists of blocks whose lengths agree, and its packets are counted. */
static void check_blocks(const struct reading *got, const struct file *file)
{
	unsigned int packets = 0;
	bool big = false;
	size_t at = 0;

	if (got->ret || file->len < 4 || get_u32(file->bytes, true) != BLOCK_SECTION)
		return;
	while (at < file->len) {
		const uint8_t *block = file->bytes + at;
		uint32_t len;

		MUST(file->len - at >= BLOCK_MIN);
		if (get_u32(block, true) == BLOCK_SECTION)
			big = get_u32(block + 8, true) == BYTE_ORDER_MAGIC;
		len = get_u32(block + 4, big);
		MUST(len >= BLOCK_MIN && len % 4 == 0 && len <= file->len - at);
		MUST(get_u32(block + len - 4, big) == len);
		packets += is_packet(get_u32(block, big));
		at += len;
	}
	MUST(packets == got->total.packets);
}

/* What precedes the end of a file that was cut is read as before. */
static void check_cut(const struct reading *whole, const struct file *file, size_t len)
{
	static struct reading cut;

	read_file(&cut, file->bytes, len);
	MUST(cut.count <= whole->count && cut.total.packets <= whole->total.packets);
	MUST(!cut.ret || cut.ret == -ENODATA || cut.ret == whole->ret);
	for (unsigned int i = 0; i < cut.count && i < READ_MAX; i++) {
		MUST(cut.seen[i].number == whole->seen[i].number);
		MUST(same_entry(&cut.seen[i].entry, &whole->seen[i].entry));
		MUST(!strcmp(cut.seen[i].comment, whole->seen[i].comment));
	}
}

static void put_bytes(struct file *file, const void *bytes, size_t len)
{
	memcpy(file->bytes + file->len, bytes, len);
	file->len += len;
	memset(file->bytes + file->len, 0, -len % 4);
	file->len += -len % 4;
}

static void put_u32(struct file *file, uint32_t number)
{
	const uint8_t bytes[] = { number, number >> 8, number >> 16, number >> 24 };

	put_bytes(file, bytes, sizeof(bytes));
}

/* A file of one packet, which has a comment. */
static void wrap(struct file *file, uint32_t link, const uint8_t *comment, size_t comment_len,
		 const uint8_t *packet, size_t len)
{
	static const uint8_t head[] = {
		0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28, 0, 0, 0,
		1, 0, 0, 0, 20, 0, 0, 0,
	};
	size_t block = 36 + len + -len % 4 + comment_len + -comment_len % 4;

	put_bytes(file, head, sizeof(head));
	put_u32(file, link);
	put_u32(file, 0);
	put_u32(file, 20);
	put_u32(file, BLOCK_PACKET);
	put_u32(file, block);
	put_u32(file, 0);		/* interface */
	put_u32(file, 0);		/* time */
	put_u32(file, 0);
	put_u32(file, len);
	put_u32(file, len);
	put_bytes(file, packet, len);
	put_u32(file, OPTION_COMMENT | (uint32_t)comment_len << 16);
	put_bytes(file, comment, comment_len);
	put_u32(file, block);
}

/* Returns false for an input that is too long or too short. */
static bool make_file(struct file *file, const uint8_t *data, size_t len)
{
	static const uint32_t links[INPUT_KINDS] = {
		[INPUT_ETHERNET] = 1, [INPUT_ERF] = 197, [INPUT_INFINIBAND] = 247,
		[INPUT_COOKED] = 113, [INPUT_COOKED2] = 276,
	};
	size_t comment;

	file->len = 0;
	if (len < 2 || len > FILE_MAX - 128)
		return false;
	if (data[0] % INPUT_KINDS == INPUT_FILE) {
		memcpy(file->bytes, data + 1, len - 1);
		file->len = len - 1;
		return true;
	}
	comment = data[1] < len - 2 ? data[1] : len - 2;
	wrap(file, links[data[0] % INPUT_KINDS], data + 2, comment, data + 2 + comment,
	     len - 2 - comment);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct reading whole;
	static struct file file;

	if (!make_file(&file, data, len))
		return 0;
	read_file(&whole, file.bytes, file.len);
	/* A packet in a file around it is damaged at most inside. */
	MUST(data[0] % INPUT_KINDS == INPUT_FILE || (!whole.ret && whole.total.packets == 1));
	for (unsigned int i = 0; i < whole.count && i < READ_MAX; i++) {
		check_private_data(&whole.seen[i].entry);
		/* Any RC QP sends packets like those of a trunk; only a comment tells. */
		MUST(whole.seen[i].entry.kind == RECORD_CM ||
		     memmem(file.bytes, file.len, "kind=", 5));
	}
	check_blocks(&whole, &file);
	check_written(&whole);
	check_decoded(&whole);
	check_cut(&whole, &file, file.len * data[len - 1] / 256);
	return 0;
}
