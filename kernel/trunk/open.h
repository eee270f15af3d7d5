/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Opening and ending trunks. */
#ifndef RCA_TRUNK_OPEN_H
#define RCA_TRUNK_OPEN_H

#include <linux/types.h>

#include "transport/transport.h"

struct ib_cm_id;
struct rca_device;
struct rca_trunk;
struct rca_trunk_open;
struct sa_path_rec;

/* open.c */
bool rca_open_accept(struct rca_trunk *trunk, const struct rca_trunk_open *open,
		     const struct sa_path_rec *path, bool yields, struct ib_cm_id *cm_id);
void rca_open_requested(struct rca_device *dev, const struct rca_tp_request *req,
			const struct ib_gid_attr *sgid_attr);
void rca_open_end_device(struct rca_device *dev);

/* service.c */
void rca_trunk_listen(struct rca_device *dev);
void rca_trunk_unlisten(struct rca_device *dev);

#endif /* RCA_TRUNK_OPEN_H */
