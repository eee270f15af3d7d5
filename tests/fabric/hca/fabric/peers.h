/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Simulated hosts on the switch, which accept every connection.
 */
#ifndef HCA_PEERS_H
#define HCA_PEERS_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct hca_packet;

#define HCA_PEERS_MAX	28672

extern u32 hca_peers;

u16 hca_peer_lid(const union ib_gid *gid);
bool hca_peer_has(u16 lid);
void hca_peer_answer(const struct hca_packet *packet);

#endif /* HCA_PEERS_H */
