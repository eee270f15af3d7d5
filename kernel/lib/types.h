/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Forward declarations of types that several folders use. */
#ifndef RCA_TYPES_H
#define RCA_TYPES_H

#include <linux/types.h>

struct rca_bind;
struct rca_ctx;
struct rca_defaults;
struct rca_demux;
struct rca_device;
struct rca_event;
struct rca_id;
struct rca_listener;
struct rca_member;
struct rca_obj;
struct rca_queue;
struct rca_source;
union rca_addr;

#endif /* RCA_TYPES_H */
