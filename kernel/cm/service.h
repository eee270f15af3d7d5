/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Service records of the subnet administrator: where a service is. */
#ifndef RCA_SERVICE_H
#define RCA_SERVICE_H

#include <linux/types.h>
#include <rdma/rdma_cm_alt.h>

#include "id/id.h"
#include "lib/compat.h"

/**
 * struct rca_services - service records of an id
 * @count: number of records in @list
 * @list: the records, as user space gets them
 */
struct rca_services {
	u32 count;
	struct rdma_cm_alt_service list[] __counted_by(count);
};

/**
 * struct rca_service_wanted - what service records must have
 * @has_id: @service_id is given
 * @service_id: their service ID, in host byte order
 * @name: their name, filled up with zeros
 * @name_len: its length; 0: any name
 */
struct rca_service_wanted {
	bool has_id;
	u64 service_id;
	u8 name[64];
	u32 name_len;
};

int rca_service_resolve(struct rca_id *id, const struct rca_service_wanted *wanted, u32 timeout_ms);
void rca_service_cancel(struct rca_id *id);
struct rca_services *rca_services_copy(struct rca_id *id);

#endif /* RCA_SERVICE_H */
