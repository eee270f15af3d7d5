/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The move of an id to another channel. */
#ifndef RCL_MOVE_H
#define RCL_MOVE_H

#include "id/cmid.h"

/**
 * rcl_id_move - move an id to another channel
 * @id: the id
 * @channel: the channel, or NULL for a new one that the id owns
 *
 * Waits until the program has acknowledged the events that were delivered on the old channel.
 *
 * Return: 0 or a negative errno
 */
int rcl_id_move(struct rcl_id *id, struct rdma_event_channel *channel);

#endif /* RCL_MOVE_H */
