// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See messages.h. The file "messages" of the adapters has the answers of each kind. */
#include "messages.h"

#define OF_CAPTURE "capture "

static void keep_message(struct messages *messages, const uint8_t *mad, bool foreign)
{
	if (messages->known == CORPUS)
		return;
	messages->foreign[messages->known] = foreign;
	memcpy(messages->corpus[messages->known++], mad, MAD_BYTES);
}

/* Adds the message with this transaction to the corpus. */
static void keep_transaction(struct messages *messages, uint64_t transaction)
{
	struct record *records = messages->batches[0];
	uint32_t low = htonl(transaction);

	for (int i = 0; i < 2 * BATCH; i++) {
		if (!memcmp(records[i].mad + 12, &low, sizeof(low))) {
			keep_message(messages, records[i].mad, false);
			return;
		}
	}
}

void messages_answered(struct messages *messages, bool print)
{
	FILE *file = fopen(KNOBS "messages", "r");
	unsigned long long first;
	unsigned int kinds = 0;
	char line[128], *where;

	EXPECT(file);
	while (fgets(line, sizeof(line), file)) {
		where = strstr(line, " first ");
		if (where && sscanf(where, " first %llu", &first) == 1 &&
		    ++kinds > messages->kinds)
			keep_transaction(messages, first);
		if (where)
			strcpy(where, "\n");
		if (print)
			ktap_note("%.*s", (int)strcspn(line, "\n"), line);
	}
	messages->kinds = kinds;
	fclose(file);
}

void messages_read(struct messages *messages)
{
	const char *path = getenv("FUZZ_CORPUS");
	FILE *file = path && *path ? fopen(path, "r") : NULL;
	char line[sizeof(OF_CAPTURE) + 2 * MAD_BYTES + 1];
	uint8_t mad[MAD_BYTES];

	while (file && fgets(line, sizeof(line), file)) {
		bool foreign = !strncmp(line, OF_CAPTURE, strlen(OF_CAPTURE));
		const char *hex = line + (foreign ? strlen(OF_CAPTURE) : 0);

		if (*line == '#')
			continue;
		for (int i = 0; i < MAD_BYTES; i++)
			if (sscanf(hex + 2 * i, "%2hhx", &mad[i]) != 1)
				ktap_fail(__FILE__, __LINE__, "%s: bad line", path);
		keep_message(messages, mad, foreign);
	}
	if (file)
		fclose(file);
}

void messages_write(const struct messages *messages)
{
	const char *path = getenv("FUZZ_NEW");
	FILE *file = path ? fopen(path, "w") : NULL;

	for (unsigned int i = 0; file && i < messages->known; i++) {
		if (messages->foreign[i])
			continue;
		for (int j = 0; j < MAD_BYTES; j++)
			fprintf(file, "%02x%s", messages->corpus[i][j],
				j == MAD_BYTES - 1 ? "\n" : "");
	}
	if (file)
		fclose(file);
}
