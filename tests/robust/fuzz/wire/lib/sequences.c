// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See sequences.h. */
#include "sequences.h"

#define MOST_CHANGES 5

/* A line of the file, which is modified; false: it is none. */
static bool take_line(struct sequences *sequences, char *line)
{
	static const char spaces[] = "\n ";
	char *at = NULL, *name = strtok_r(line, spaces, &at), *side = strtok_r(NULL, spaces, &at);
	char *hex = strtok_r(NULL, spaces, &at);
	struct sequence *sequence = &sequences->all[sequences->count - 1];
	struct step *step;

	if (!hex || strlen(hex) != 2 * MAD_BYTES)
		return false;
	if (!sequences->count || strcmp(sequence->name, name)) {
		if (sequences->count == SEQUENCES)
			return false;
		sequence = &sequences->all[sequences->count++];
		snprintf(sequence->name, sizeof(sequence->name) / 2, "%s", name);
	}
	if (sequence->count == STEPS / 2)
		return true;	/* the rest of a long capture is left out */
	step = &sequence->steps[sequence->count++];
	step->of_peer = !strcmp(side, "peer");
	for (int i = 0; i < MAD_BYTES; i++)
		if (sscanf(hex + 2 * i, "%2hhx", &step->mad[i]) != 1)
			return false;
	return step->of_peer || !strcmp(side, "own");
}

void sequences_read(struct sequences *sequences)
{
	const char *path = getenv("FUZZ_SEQUENCES");
	FILE *file = path ? fopen(path, "r") : NULL;
	char line[2 * MAD_BYTES + 128];

	if (!file)
		ktap_fail(__FILE__, __LINE__, "FUZZ_SEQUENCES: %s: cannot be read",
			  path ? path : "not set");
	for (int number = 1; fgets(line, sizeof(line), file); number++)
		if (!take_line(sequences, line))
			ktap_fail(__FILE__, __LINE__, "%s:%d: bad line", path, number);
	fclose(file);
	EXPECT(sequences->count);
}

const struct sequence *sequences_find(const struct sequences *sequences, const char *name)
{
	for (unsigned int i = 0; i < sequences->count; i++)
		if (!strcmp(sequences->all[i].name, name))
			return &sequences->all[i];
	ktap_fail(__FILE__, __LINE__, "there is no capture '%s'", name);
}

static void insert(struct sequence *sequence, unsigned int at, const struct step *step)
{
	if (sequence->count == STEPS)
		return;
	memmove(&sequence->steps[at + 1], &sequence->steps[at],
		(sequence->count - at) * sizeof(*step));
	sequence->steps[at] = *step;
	sequence->count++;
}

static void leave_out(struct sequence *sequence, unsigned int at)
{
	sequence->count--;
	memmove(&sequence->steps[at], &sequence->steps[at + 1],
		(sequence->count - at) * sizeof(sequence->steps[0]));
}

static void change_order(struct sequence *sequence, uint64_t *state)
{
	unsigned int from = draw_below(state, sequence->count);
	struct step step = sequence->steps[from];

	switch (draw_below(state, 4)) {
	case 0:	/* the next message overtakes it */
		leave_out(sequence, from);
		insert(sequence, from < sequence->count ? from + 1 : from, &step);
		break;
	case 1:	/* it comes at another time */
		leave_out(sequence, from);
		insert(sequence, draw_below(state, sequence->count + 1), &step);
		break;
	case 2:	/* it comes twice, the second time at once or later */
		insert(sequence, from + draw_below(state, sequence->count - from + 1), &step);
		break;
	default:
		if (sequence->count > 1)
			leave_out(sequence, from);
	}
}

/* Messages of a second capture between those of the first one; both keep their order. */
static void mix(struct sequence *made, const struct sequence *other, uint64_t *state)
{
	struct step step;
	unsigned int at = 0;
	size_t len;

	for (unsigned int i = 0; i < other->count; i++) {
		at += draw_below(state, 3);
		if (at > made->count)
			at = made->count;
		step = other->steps[i];
		step.part = 1;
		insert(made, at++, &step);
	}
	len = strlen(made->name);
	snprintf(made->name + len, sizeof(made->name) - len, "+%s", other->name);
}

void sequence_make(struct sequence *made, const struct sequences *sequences, uint64_t *state)
{
	unsigned int changes;

	*made = sequences->all[draw_below(state, sequences->count)];
	if (!draw_below(state, 3))
		mix(made, &sequences->all[draw_below(state, sequences->count)], state);
	changes = draw_below(state, MOST_CHANGES + 1);
	while (changes--)
		change_order(made, state);
}

void sequence_text(const struct sequence *sequence, char *text, size_t size)
{
	static const char * const names[] = {
		"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP", "LAP",
		"APR",
	};
	size_t used = snprintf(text, size, "%s:", sequence->name);

	for (unsigned int i = 0; i < sequence->count && used < size; i++) {
		const struct step *step = &sequence->steps[i];
		unsigned int number = step->mad[17] - CM_REQ;
		const char *name = number <= CM_APR - CM_REQ ? names[number] : "?";

		used += snprintf(text + used, size - used, step->of_peer ? "%s %s%s" : "%s (%s)%s",
				 i ? "," : "", name, step->part ? "'" : "");
	}
}
