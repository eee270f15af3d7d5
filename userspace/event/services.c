// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Service records of the subnet administrator, as addresses.
 *
 * Locking: none.
 */
#include "event/services.h"

#include <endian.h>
#include <infiniband/ib.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rdma_cma_new.h"
#include "core/context.h"
#include "id/cmid.h"

/* Records for which there is room at first. */
#define FIRST_ROOM 6

/* Reads all records: memory for free(), and their number in *count. */
static int read_records(const struct rcl_id *id, struct rdma_cm_alt_service **records,
			uint32_t *count)
{
	struct rdma_cm_alt_services cmd = { .id = id->handle, .out_count = FIRST_ROOM };
	int ret;

	*records = NULL;
	do {
		free(*records);
		cmd.count = cmd.out_count;
		*records = calloc(cmd.count, sizeof(**records));
		if (!*records)
			return -ENOMEM;
		cmd.services_uptr = (uintptr_t)*records;
		ret = RCL_CALL(SERVICES, &cmd);
	} while (!ret && cmd.out_count > cmd.count);
	*count = cmd.out_count;
	return ret;
}

static struct rdma_addrinfo *to_addrinfo(const struct rdma_cm_alt_service *record)
{
	struct rdma_addrinfo *info = calloc(1, sizeof(*info));
	struct sockaddr_ib *sib = calloc(1, sizeof(*sib));

	if (!info || !sib) {
		free(info);
		free(sib);
		return NULL;
	}
	sib->sib_family = AF_IB;
	sib->sib_pkey = record->pkey;
	memcpy(&sib->sib_addr, record->gid, sizeof(sib->sib_addr));
	sib->sib_sid = htobe64(record->service_id);
	sib->sib_sid_mask = UINT64_MAX;
	info->ai_flags = RAI_SA;
	info->ai_family = AF_IB;
	info->ai_port_space = RDMA_PS_IB;
	info->ai_dst_addr = (struct sockaddr *)(void *)sib;
	info->ai_dst_len = sizeof(*sib);
	return info;
}

int rcl_services_get(const struct rcl_id *id, struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *list = NULL, **end = &list;
	struct rdma_cm_alt_service *records;
	uint32_t count, i;
	int ret;

	ret = read_records(id, &records, &count);
	for (i = 0; !ret && i < count; i++) {
		*end = to_addrinfo(&records[i]);
		if (*end)
			end = &(*end)->ai_next;
		else
			ret = -ENOMEM;
	}
	free(records);
	if (ret)
		rdma_freeaddrinfo(list);
	else
		*res = list;
	return ret;
}
