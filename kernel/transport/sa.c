// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Our name at ib_sa: it counts what we have asked for, so that the module does
 * not go while an answer may still come.
 *
 * Locking: none.
 */
#include "transport/sa.h"

#include <rdma/ib_sa.h>

/* For every query and every membership. */
struct ib_sa_client rca_sa_client;

/**
 * rca_sa_init() - register with ib_sa
 *
 * Context: Process context. Module init.
 */
void rca_sa_init(void)
{
	ib_sa_register_client(&rca_sa_client);
}

/**
 * rca_sa_exit() - wait for the answers that are to come
 *
 * Context: Process context. Sleeps. Module exit; no id exists any more.
 */
void rca_sa_exit(void)
{
	ib_sa_unregister_client(&rca_sa_client);
}
