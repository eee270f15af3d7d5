// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A pair with one end on each of two adapters. */
#include "fabric.h"

void pair_listen_apart(struct pair *p)
{
	rule("clear");
	go_there();
	*p = get_listening(SERVER_AT);
	go_here();
}

void pair_apart(struct pair *p)
{
	pair_listen_apart(p);
	p->client = get_client(p->ctx, p->cq, SERVER_AT, p->port, CLIENT);
}
