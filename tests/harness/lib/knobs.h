/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The software InfiniBand adapters and what makes them misbehave. The client's end is here, at
 * adapter hca0 (LID 1), the server's in the network namespace hca1, at adapter hca1 (LID 2); see
 * tests/harness/guest/hca.sh. Paths have lifetime 14.
 */
#ifndef KNOBS_H
#define KNOBS_H

#define CLIENT_AT "10.8.0.1"
#define SERVER_AT "10.8.0.2"

/* Seconds since some time. */
double now(void);

/* A file of the adapters' in debugfs, by its path there. */
void knob(const char *path, const char *text);
/* One rule more; one rule and no other. */
void rule(const char *text);
void lose(const char *text);
/* How many messages the rule that begins like this has matched. */
unsigned int seen_by(const char *text);
/* How many messages all rules have hit. */
unsigned int rules_hit(void);

/* Where the next socket or id is made. */
void go_there(void);
void go_here(void);

#endif /* KNOBS_H */
