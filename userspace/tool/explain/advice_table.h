/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What each failure means: data of advice.c. */
#ifndef ADVICE_TABLE_H
#define ADVICE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define ANY INT32_MIN

/*
 * A failure; the first line that fits counts.
 *
 * @what: an event, or an operation
 * @in: the states that the id was in when it happened, with blanks between them; NULL: any. Of an
 *      event the state that the id left with it, of an operation the one that it is in after it;
 *      "path": the event says that the way changed, and nothing of the id
 * @status: of it, or ANY
 * @meaning: in words; NULL: status has words of its own
 * @try: what to do; ADDRESS is the peer's
 */
struct line {
	const char *what;
	const char *in;
	int status;
	const char *meaning;
	const char *try;
};

/* advice_is_among() - whether a word is in a list with blanks between; NULL has all words */
bool advice_is_among(const char *word, const char *words);
/* advice_line() - what fits; NULL: nothing does */
const struct line *advice_line(const char *what, const char *in, int status);

/* waits_for() - what an id in a state waits for, for people; NULL: nothing */
const char *waits_for(const char *state);
/* waits_advice() - what helps when the answer does not come; NULL: it waits for none */
const struct line *waits_advice(const char *state);

#endif /* ADVICE_TABLE_H */
