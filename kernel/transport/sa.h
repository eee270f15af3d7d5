/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Our name at ib_sa, which asks the subnet administrator of an InfiniBand fabric for us. */
#ifndef RCA_SA_H
#define RCA_SA_H

struct ib_sa_client;

extern struct ib_sa_client rca_sa_client;

void rca_sa_init(void);
void rca_sa_exit(void);

#endif /* RCA_SA_H */
