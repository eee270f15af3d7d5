// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/cm/listen.c: many wildcard listeners when an RDMA device goes and
 * comes.
 *
 * Locking: rca_device.demux_mutex, to count the service IDs of the device.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/hashtable.h>

#include "cm/internal.h"
#include "fake/device_bench.h"
#include "fake/netrig.h"
#include "transport/transport.h"

/* More than an update handles in one section of the mutex, which the listeners share. */
#define MANY 40

static unsigned int count_service_ids(struct rca_device *dev)
{
	struct rca_demux *demux;
	unsigned int count = 0;
	int bucket;

	mutex_lock(&dev->demux_mutex);
	hash_for_each(dev->demuxes, bucket, demux, node)
		count++;
	mutex_unlock(&dev->demux_mutex);
	return count;
}

/* Waits until all listeners, which have a port each, listen on the device of the suite. */
static void expect_all_listen(struct kunit *test)
{
	struct rca_id *bound = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	int i;

	KUNIT_ASSERT_EQ(test, rig_bind_soon(test, bound, DEVICE_IP), 0);
	for (i = 0; i < DEVICE_PATIENCE_MS / 20 && count_service_ids(bound->dev) < MANY; i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, count_service_ids(bound->dev), MANY);
	rig_destroy(test, bound);
}

static void all_listen_on_a_new_device(struct kunit *test)
{
	struct rca_id *first = NULL, *last = NULL, *client, *child;
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		last = rig_listening(test, "0.0.0.0", RDMA_PS_TCP);
		first = first ?: last;
	}
	expect_all_listen(test);
	KUNIT_ASSERT_EQ(test, netrig_delete_rdma(), 0);
	rig_expect_state(test, last, RCA_ST_LISTEN);
	KUNIT_ASSERT_EQ(test, netrig_add_rdma("rxe"), 0);
	expect_all_listen(test);
	rig_connected(test, first, DEVICE_IP, &client, &child);
	rig_connected(test, last, DEVICE_IP, &client, &child);
}

static struct kunit_case wildcard_cases[] = {
	KUNIT_CASE(all_listen_on_a_new_device),
	{}
};

DEVICE_SUITE(wildcard_suite, roce, "wildcard", wildcard_cases, device_bench_exit);
kunit_test_suite(wildcard_suite);
