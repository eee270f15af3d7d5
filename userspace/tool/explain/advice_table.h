/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Table of failures; advice.c uses it. */
#ifndef ADVICE_TABLE_H
#define ADVICE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define ANY INT32_MIN

/*
 * An entry of the table; the first entry that matches is used.
 *
 * @what: name of the event or operation
 * @in: states of the id, separated by spaces; NULL: any. For an event, the state that the id left
 *      because of it; for an operation, the state after it. "path": the event reports a change of
 *      the path, independent of the state
 * @status: the status, or ANY
 * @meaning: description; NULL: the status has a description of its own
 * @try: suggested action; ADDRESS is replaced by the address of the peer
 */
struct line {
	const char *what;
	const char *in;
	int status;
	const char *meaning;
	const char *try;
};

/* advice_is_among() - whether a space-separated list has a word; NULL has all words */
bool advice_is_among(const char *word, const char *words);
/* advice_line() - the first matching entry, or NULL */
const struct line *advice_line(const char *what, const char *in, int status);

/* waits_for() - description of what an id in a state waits for, or NULL */
const char *waits_for(const char *state);
/* waits_advice() - entry for a missing answer; NULL: the state does not wait for an answer */
const struct line *waits_advice(const char *state);

#endif /* ADVICE_TABLE_H */
