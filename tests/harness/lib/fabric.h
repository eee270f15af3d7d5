/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A pair with one end on each of the two adapters of knobs.h. */
#ifndef FABRIC_H
#define FABRIC_H

#include "knobs.h"
#include "rca_test.h"

/* As get_listening() and get_routed() do, on the server's adapter. All rules are cleared. */
void pair_listen_apart(struct pair *p);
void pair_apart(struct pair *p);

#endif /* FABRIC_H */
