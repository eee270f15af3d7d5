/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Index of the peers' QPs, to find connections that their peers have lost. */
#ifndef RCA_PEER_QP_H
#define RCA_PEER_QP_H

#include <linux/types.h>

struct rca_id;

int rca_peer_qps_init(void);
void rca_peer_qps_exit(void);
bool rca_peer_qp_claim(struct rca_id *id, __be64 ca_guid, u32 qp_num);
void rca_peer_qp_release(struct rca_id *id);

#endif /* RCA_PEER_QP_H */
