/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A pair whose ends are apart: each is at one of the adapters of knobs.h. */
#ifndef FABRIC_H
#define FABRIC_H

#include "knobs.h"
#include "rca_test.h"

/* pair_listen() there, without any rule; pair_route() from here. */
void pair_listen_apart(struct pair *p);
void pair_apart(struct pair *p);

#endif /* FABRIC_H */
