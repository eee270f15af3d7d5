/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts of the messages of connection managers, by kind.
 */
#ifndef HCA_MESSAGES_H
#define HCA_MESSAGES_H

struct hca_packet;
struct seq_file;

void hca_messages_to_port(const struct hca_packet *packet);
void hca_messages_to_peer(const struct hca_packet *packet);
void hca_messages_clear(void);
void hca_messages_show(struct seq_file *file);

#endif /* HCA_MESSAGES_H */
