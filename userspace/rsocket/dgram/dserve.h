/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Datagram sockets in the service thread. */
#ifndef RCL_RSOCKET_DSERVE_H
#define RCL_RSOCKET_DSERVE_H

#include "rsocket/dgram/dgram.h"

/**
 * rcl_dgram_start - let the service thread serve a socket
 * @d: the locked socket; nothing happens if it is served already
 *
 * Fixes the sizes of the buffers.
 *
 * Return: 0 or a negative errno
 */
int rcl_dgram_start(struct rcl_dgram *d);

/** rcl_dgram_stop - undo rcl_dgram_start(); no other thread uses the socket any more */
void rcl_dgram_stop(struct rcl_dgram *d);

#endif /* RCL_RSOCKET_DSERVE_H */
