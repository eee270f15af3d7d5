// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Mutations of programs. */
#include <string.h>

#include "cm_mad.h"
#include "fuzz.h"

static uint64_t state;

void chance_seed(uint64_t seed)
{
	state = seed;
}

static uint64_t any(void)
{
	return (uint64_t)draw(&state) << 32 | draw(&state);
}

uint64_t chance_below(uint64_t end)
{
	return any() % end;
}

static bool one_in(unsigned int n)
{
	return !chance_below(n);
}

static uint64_t odd_number(unsigned int bytes)
{
	uint64_t mask = bytes < 8 ? (1ULL << 8 * bytes) - 1 : -1ULL;

	switch (chance_below(4)) {
	case 0:
		return chance_below(20);
	case 1:
		return ((1ULL << chance_below(8 * bytes)) - chance_below(3) + 1) & mask;
	case 2:
		return -chance_below(5) & mask;
	default:
		return any() & mask;
	}
}

static uint64_t of_set(const struct member *member)
{
	uint64_t number = member->set[chance_below(member->values)];

	while (one_in(3))
		number |= member->set[chance_below(member->values)];
	return one_in(12) ? odd_number(member->size) : number;
}

static void set_memory(struct value *value, const struct member *member)
{
	static const uint32_t lens[] = { 0, 1, 2, 4, 8, 56, 57, 64, 92, 136, 148, 180, 196, 256,
					 536, 568, 1072, 4096, 8192 };

	value->way = MEMORY;
	value->other = one_in(3) ? chance_below(WHERES) : GOOD;
	value->fill = member->kind == K_INOUT ? chance_below(FILLS) : BYTES;
	value->len = one_in(8) ? chance_below(600) : lens[chance_below(COUNT(lens))];
	value->number = one_in(2) ? chance_below(64) : any();
	if (value->fill == NUMBER)
		value->len = one_in(2) ? 1 : 4;
	if (value->fill == DEFAULTS)
		value->len = one_in(8) ? value->len : 16 * chance_below(4);
	if (value->fill == PATHS)
		value->len = sizeof(known_paths[0]) * (1 + chance_below(2)) + (one_in(8) ? 1 : 0);
	/* Half of the paths stay unchanged. */
	if (value->fill == PATHS && one_in(2))
		value->number = 0;
}

static void set_handle(struct value *value, enum way way)
{
	value->way = way;
	value->other = one_in(16);
	value->number = chance_below(one_in(4) ? 8 : 3);
	if (one_in(16)) {
		value->way = PLAIN;
		value->number = odd_number(4);
	}
}

static void set_size(struct value *value, const struct row *row)
{
	const uint32_t sizes[] = { 0, 4, 8, row->least - 1, row->least, row->least + 4,
				   row->size - 1, row->size, row->size + 8, 4096, 4097, -1 };

	value->number = sizes[chance_below(COUNT(sizes))];
}

/* A value that is valid or nearly so. */
static void set_value(struct value *value, const struct row *row, unsigned int number)
{
	const struct member *member = &row->members[number];

	*value = (struct value){ .member = number };
	switch (member->kind) {
	case K_SIZE:
		set_size(value, row);
		break;
	case K_SET:
		value->number = of_set(member);
		break;
	case K_ID:
		set_handle(value, THE_ID);
		break;
	case K_MEMBER:
		set_handle(value, THE_MEMBER);
		break;
	case K_QUEUE:
		set_handle(value, THE_QUEUE);
		break;
	case K_ADDR:
		value->way = ADDRESS;
		value->number = chance_below(address_count);
		value->other = chance_below(port_count);
		break;
	case K_IN:
	case K_INOUT:
	case K_OUT_POINTER:
		set_memory(value, member);
		break;
	case K_NUMBER:
		if (!strcmp(member->name + strlen(member->name) - 2, "ms"))
			value->number = one_in(4) ? chance_below(3) : 1000;
		else if (one_in(4))
			value->number = odd_number(member->size);
		else
			value->number = member->low +
					chance_below(member->high - member->low + 1 ?: UINT64_MAX);
		if (strstr(member->name, "qp_num") && !one_in(8))
			value->way = FRESH;
		break;
	default:
		value->number = odd_number(member->size);
	}
}

/* Members that the kernel writes, and those that must be 0, are drawn rarely. */
static unsigned int draw_member(const struct row *row)
{
	unsigned int number;
	enum kind kind;

	do {
		number = chance_below(row->count);
		kind = row->members[number].kind;
	} while ((kind == K_OUT || kind == K_ZERO || kind == K_SIZE || kind == K_LEN ||
		  kind == K_TAIL) && !one_in(12));
	return number;
}

static struct value *value_of(struct call *call, unsigned int member)
{
	for (unsigned int i = 0; i < call->values; i++)
		if (call->value[i].member == member)
			return &call->value[i];
	if (call->values == MAX_VALUES)
		return NULL;
	return &call->value[call->values++];
}

static void change_value(struct call *call)
{
	const struct row *row = row_get(call->row);
	unsigned int member;
	struct value *value;

	if (!row->count)
		return;
	/* A value that the call has, or another member. */
	if (call->values && !one_in(3)) {
		value = &call->value[chance_below(call->values)];
		if (one_in(10))
			*value = call->value[--call->values];
		else if (value->way == PLAIN && one_in(3))
			value->number ^= 1ULL << chance_below(32);
		else
			set_value(value, row, value->member);
		return;
	}
	member = draw_member(row);
	value = value_of(call, member);
	if (value)
		set_value(value, row, member);
}

static void new_call(struct call *call)
{
	const struct row *row;

	*call = (struct call){ .row = chance_below(row_count), .ctx = one_in(8) };
	row = row_get(call->row);
	if (one_in(10))
		call->where = chance_below(WHERES);
	/* Without its handle a call fails early. */
	for (unsigned int i = 0; i < row->count; i++)
		if (row->members[i].kind == K_ID || row->members[i].kind == K_MEMBER ||
		    (row->members[i].kind == K_QUEUE && one_in(2)))
			set_value(value_of(call, i), row, i);
	for (unsigned int i = chance_below(5); i; i--)
		change_value(call);
}

static struct call *insert_call(struct program *program, unsigned int at)
{
	if (program->calls == MAX_CALLS)
		return NULL;
	memmove(&program->call[at + 1], &program->call[at],
		(program->calls - at) * sizeof(program->call[0]));
	program->calls++;
	return &program->call[at];
}

void program_cut(struct program *program, unsigned int call)
{
	program->calls--;
	memmove(&program->call[call], &program->call[call + 1],
		(program->calls - call) * sizeof(program->call[0]));
}

/* Inserts consecutive calls of another program. */
static void splice(struct program *program, const struct program *other)
{
	unsigned int from = chance_below(other->calls), at = chance_below(program->calls + 1);
	unsigned int count = one_in(3) ? other->calls : 1 + chance_below(4);
	struct call *call;

	for (; count && from < other->calls; count--) {
		call = insert_call(program, at++);
		if (!call)
			return;
		*call = other->call[from++];
	}
}

static void change_once(struct program *program, const struct program *other)
{
	unsigned int at = chance_below(program->calls);
	struct call *call = &program->call[at];

	switch (chance_below(16)) {
	case 0:
	case 1:
		call = insert_call(program, chance_below(program->calls + 1));
		if (call)
			new_call(call);
		break;
	case 2:
	case 3:
		splice(program, other);
		break;
	case 4:
		if (program->calls > 1)
			program_cut(program, at);
		break;
	case 5:
		call = insert_call(program, at + 1 + chance_below(program->calls - at));
		if (!call)
			break;
		*call = program->call[at];
		change_value(call);
		break;
	case 6:
		call->where = one_in(2) ? chance_below(WHERES) : GOOD;
		break;
	case 7:
		if (one_in(2))
			call->ctx ^= 1;
		else
			call->entry = !call->entry;
		break;
	default:
		change_value(call);
	}
}

/* Changes a program at random, with calls of @other. */
void program_change(struct program *program, const struct program *other)
{
	do {
		change_once(program, other);
	} while (!one_in(3));
}
