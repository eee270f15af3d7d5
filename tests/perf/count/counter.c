// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A plugin of QEMU that counts the instructions a guest executes, block by block, without any
 * change to the guest.
 *
 *	qemu-system-x86_64 -accel tcg,thread=single -plugin counter.so,out=DIR ...
 *
 * The guest marks the measured part with two instructions (tests/perf/mark.h). At the end of part
 * N the file DIR/N.blocks is written, with a line for each block that was executed in it:
 *
 *	ADDRESS INSTRUCTIONS EXECUTIONS COPIED CLEARED
 *
 * COPIED and CLEARED are the bytes that one execution of the block copies and fills with string
 * instructions (rep movs, rep stos). QEMU executes one iteration of those at a time, as a block of
 * its own, and each counts as one instruction.
 *
 * The counters are not atomic: the processors of the guest must take turns in one thread.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin.h"

#define VISIBLE __attribute__((visibility("default")))

VISIBLE int qemu_plugin_version = 1;

/**
 * struct block - instructions that QEMU has translated together
 * @address: virtual address of the first one
 * @size: number of instructions
 * @executions: how often they were executed since the start of the guest; QEMU adds to it
 * @before: @executions at the start of the measured part
 * @copied: bytes that an execution copies with a string instruction
 * @cleared: bytes that an execution fills
 * @next: the block that was translated before
 */
struct block {
	uint64_t address;
	unsigned int size;
	uint64_t executions;
	uint64_t before;
	unsigned int copied;
	unsigned int cleared;
	struct block *next;
};

static struct block *blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *out = ".";
static unsigned int parts;

static void write_part(void)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u.blocks", out, ++parts);
	file = fopen(path, "w");
	for (struct block *block = blocks; file && block; block = block->next)
		if (block->executions != block->before)
			fprintf(file, "%" PRIx64 " %u %" PRIu64 " %u %u\n", block->address,
				block->size, block->executions - block->before, block->copied,
				block->cleared);
	if (!file || fclose(file))
		fprintf(stderr, "counter: cannot write %s\n", path);
}

static void begin_count(unsigned int processor, void *unused)
{
	(void)processor;
	(void)unused;
	pthread_mutex_lock(&lock);
	for (struct block *block = blocks; block; block = block->next)
		block->before = block->executions;
	pthread_mutex_unlock(&lock);
}

static void end_count(unsigned int processor, void *unused)
{
	(void)processor;
	(void)unused;
	pthread_mutex_lock(&lock);
	write_part();
	pthread_mutex_unlock(&lock);
}

/* Returns the width of an iteration of a string instruction, or 0 if @code is none. */
static unsigned int string_width(const uint8_t *code, size_t size, uint8_t bytes, uint8_t words)
{
	bool wide = size == 3 && code[1] == 0x48;
	uint8_t operation = code[size - 1];

	if (code[0] != 0xf3 || (size != 2 && !wide))
		return 0;
	if (operation == bytes)
		return 1;
	return operation == words ? (wide ? 8 : 4) : 0;
}

static void look_at(struct block *block, struct qemu_plugin_insn *insn)
{
	static const uint8_t mark[] = { 0x0f, 0x1f, 0x84, 0x00 };
	const uint8_t *code = qemu_plugin_insn_data(insn);
	size_t size = qemu_plugin_insn_size(insn);

	if (size == 2 || size == 3) {
		block->copied += string_width(code, size, 0xa4, 0xa5);
		block->cleared += string_width(code, size, 0xaa, 0xab);
	} else if (size == 8 && !memcmp(code, mark, sizeof(mark)) && !memcmp(code + 5, "RCA", 3)) {
		qemu_plugin_register_vcpu_insn_exec_cb(insn, code[4] == 1 ? begin_count : end_count,
						       NO_REGISTERS, NULL);
	}
}

static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
	struct block *block = calloc(1, sizeof(*block));

	(void)id;
	if (!block)
		abort();
	block->address = qemu_plugin_tb_vaddr(tb);
	block->size = qemu_plugin_tb_n_insns(tb);
	for (size_t i = 0; i < block->size; i++)
		look_at(block, qemu_plugin_tb_get_insn(tb, i));
	pthread_mutex_lock(&lock);
	block->next = blocks;
	blocks = block;
	pthread_mutex_unlock(&lock);
	qemu_plugin_register_vcpu_tb_exec_inline(tb, ADD_U64, &block->executions, 1);
}

VISIBLE int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc, char **argv);

VISIBLE int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], "out=", 4)) {
			fprintf(stderr, "counter: '%s' is no option; out=DIR is\n", argv[i]);
			return 1;
		}
		out = strdup(argv[i] + 4);
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
