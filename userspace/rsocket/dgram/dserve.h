/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Datagram sockets in the service thread. */
#ifndef RCL_RSOCKET_DSERVE_H
#define RCL_RSOCKET_DSERVE_H

#include "rsocket/dgram/dgram.h"

/*
 * Fixes the sizes of the buffers, and lets the service thread serve a socket. Does nothing for a
 * socket that is served already.
 */
int rcl_dgram_start(struct rcl_dgram *d);

/* Undoes rcl_dgram_start(), when no other thread uses the socket. */
void rcl_dgram_stop(struct rcl_dgram *d);

#endif /* RCL_RSOCKET_DSERVE_H */
