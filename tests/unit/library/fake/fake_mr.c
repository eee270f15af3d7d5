// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions of the fake data path. Keys are never used again: one of a region that was
 * deregistered is refused.
 *
 * Locking: the lock of the fabric.
 */
#include "fake/fake_mr.h"

#include <errno.h>
#include <stddef.h>
#include <sys/queue.h>

#include "fake/fake_fabric.h"
#include "fake/fake_verbs.h"

#undef ibv_reg_mr

/**
 * struct fake_mr - a memory region
 * @mr: the public part
 * @access: IBV_ACCESS_*
 * @link: in the list of all regions
 */
struct fake_mr {
	struct ibv_mr mr;
	unsigned int access;
	LIST_ENTRY(fake_mr) link;
};

static LIST_HEAD(, fake_mr) regions = LIST_HEAD_INITIALIZER(regions);
static uint32_t last_key = 0x1000;

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	struct fake_mr *region;

	(void)iova;
	if ((access & IBV_ACCESS_REMOTE_WRITE) && !(access & IBV_ACCESS_LOCAL_WRITE)) {
		errno = EINVAL;
		return NULL;
	}
	region = fake_verbs_object(sizeof(*region));
	if (!region)
		return NULL;
	region->access = access;
	region->mr.context = pd->context;
	region->mr.pd = pd;
	region->mr.addr = addr;
	region->mr.length = length;
	fake_fabric_lock();
	/* Different, so that one in the place of the other is refused. */
	region->mr.lkey = ++last_key;
	region->mr.rkey = ++last_key;
	LIST_INSERT_HEAD(&regions, region, link);
	fake_fabric_unlock();
	return &region->mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct fake_mr *region = (struct fake_mr *)(void *)mr;

	fake_fabric_lock();
	LIST_REMOVE(region, link);
	fake_fabric_unlock();
	return fake_verbs_destroyed(mr);
}

static bool inside(const struct ibv_mr *mr, uint64_t addr, uint32_t length)
{
	/* An address before the region is an offset beyond its end. */
	uint64_t offset = addr - (uintptr_t)mr->addr;

	return length <= mr->length && offset <= mr->length - length;
}

bool fake_mr_local(struct ibv_pd *pd, const struct ibv_sge *sge, bool write)
{
	struct fake_mr *region;

	if (!sge->length)
		return true;
	LIST_FOREACH(region, &regions, link) {
		if (region->mr.lkey == sge->lkey && region->mr.pd == pd)
			return (!write || (region->access & IBV_ACCESS_LOCAL_WRITE)) &&
			       inside(&region->mr, sge->addr, sge->length);
	}
	return false;
}

bool fake_mr_remote(struct ibv_pd *pd, uint32_t rkey, uint64_t addr, uint32_t length)
{
	struct fake_mr *region;

	if (!length)
		return true;
	LIST_FOREACH(region, &regions, link) {
		if (region->mr.rkey == rkey && region->mr.pd == pd)
			return (region->access & IBV_ACCESS_REMOTE_WRITE) &&
			       inside(&region->mr, addr, length);
	}
	return false;
}

void fake_dma_write(uint64_t addr, const void *data, uint32_t length)
{
	const uint8_t *from = data;
	uint8_t *to = (uint8_t *)(uintptr_t)addr;
	uint32_t i;

	for (i = 0; i < length; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}
