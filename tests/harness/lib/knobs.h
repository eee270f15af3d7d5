/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The software InfiniBand adapters and their fault rules. The client uses the adapter hca0 (LID 1)
 * in the first network namespace, the server the adapter hca1 (LID 2) in the namespace hca1; see
 * tests/harness/guest/hca.sh. Paths have lifetime 14.
 */
#ifndef KNOBS_H
#define KNOBS_H

#define CLIENT_AT "10.8.0.1"
#define SERVER_AT "10.8.0.2"

/* Seconds of the monotonic clock. */
double now(void);

/* Write to a file of the adapters' directory in debugfs. */
void knob(const char *path, const char *text);
/* Add a rule; replace all rules by one. */
void rule(const char *text);
void lose(const char *text);
/* Number of messages matched by the rule that begins with @text. */
unsigned int seen_by(const char *text);
/* Number of messages hit by all rules. */
unsigned int rules_hit(void);

/* Enter the server's network namespace; return to the client's. */
void go_there(void);
void go_here(void);

#endif /* KNOBS_H */
