/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Channels of events and completions, whose descriptors are above those of the program. */
#ifndef RCL_RSOCKET_CHANNELS_H
#define RCL_RSOCKET_CHANNELS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

/** rcl_event_channel - create an event channel with O_NONBLOCK; NULL with errno on failure */
struct rdma_event_channel *rcl_event_channel(void);

/** rcl_event_channel_close - close a channel of rcl_event_channel() */
void rcl_event_channel_close(struct rdma_event_channel *channel);

/** rcl_comp_channel - create a completion channel; NULL with errno on failure */
struct ibv_comp_channel *rcl_comp_channel(struct ibv_context *verbs);

#endif /* RCL_RSOCKET_CHANNELS_H */
