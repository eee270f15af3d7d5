/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Rules that drop, delay, duplicate, reorder or change MADs.
 */
#ifndef HCA_RULES_H
#define HCA_RULES_H

#include <linux/types.h>

struct hca_packet;
struct seq_file;

/* hca_verdict: what happens to a packet. */
enum hca_verdict {
	HCA_PASS,
	HCA_DROP,
	HCA_DELAY,
	HCA_DUPLICATE,
	HCA_REORDER,
	HCA_MUTATE,
};

enum hca_verdict hca_rules_judge(struct hca_packet *packet, unsigned int *ms);
int hca_rules_add(char *text);
void hca_rules_clear(void);
void hca_rules_seed(u32 seed);
void hca_rules_show(struct seq_file *file);

#endif /* HCA_RULES_H */
