// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of RAI_SA: services that the subnet administrator knows. */
#include <endian.h>
#include <infiniband/ib.h>

#include "fake/fixture.h"
#include "base/rdma_cma_new.h"

#define EVENT_ADDRINFO_RESOLVED 16
#define EVENT_ADDRINFO_ERROR 17

static struct rdma_addrinfo sa = { .ai_flags = RAI_SA };
static struct rdma_cm_alt_service records[9];

/* Records that differ. */
static void add_services(unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		records[i].service_id = 0x1000000 + i;
		records[i].gid[15] = i;
		records[i].pkey = htobe16(0x8001 + i);
	}
	fake.services = records;
	fake.service_count = count;
}

/* The list has the records in their order, and nothing more. */
static void assert_records(const struct rdma_addrinfo *info, unsigned int count)
{
	const struct sockaddr_ib *sib;
	unsigned int i;

	for (i = 0; i < count; i++, info = info->ai_next) {
		assert_non_null(info);
		assert_int_equal(info->ai_flags, RAI_SA);
		assert_int_equal(info->ai_family, AF_IB);
		assert_int_equal(info->ai_port_space, RDMA_PS_IB);
		assert_int_equal(info->ai_dst_len, sizeof(*sib));
		sib = (const struct sockaddr_ib *)(const void *)info->ai_dst_addr;
		assert_int_equal(sib->sib_family, AF_IB);
		assert_int_equal(sib->sib_pkey, htobe16(0x8001 + i));
		assert_true(sib->sib_sid == htobe64(0x1000000 + i));
		assert_true(sib->sib_sid_mask == UINT64_MAX);
		assert_memory_equal(&sib->sib_addr, records[i].gid, 16);
	}
	assert_null(info);
}

TEST(service_is_a_number_or_a_name)
{
	static const struct {
		const char *service;
		uint32_t flags;
		uint64_t id;
		const char *name;
	} cases[] = {
		{ "0x1234", RDMA_CM_ALT_SERVICE_BY_ID, 0x1234, "" },
		{ "17", RDMA_CM_ALT_SERVICE_BY_ID, 17, "" },
		{ "0xffffffffffffffff", RDMA_CM_ALT_SERVICE_BY_ID, UINT64_MAX, "" },
		{ "0x1ffffffffffffffff", 0, 0, "0x1ffffffffffffffff" },
		{ "17x", 0, 0, "17x" },
		{ "a service", 0, 0, "a service" },
		{ "", 0, 0, "" },
	};
	struct rdma_event_channel *ch = rdma_create_event_channel();
	const struct rdma_cm_alt_resolve_service *last =
		&fake.last[FAKE(RESOLVE_SERVICE)].resolve_service;
	unsigned int i;

	fake.service_event = FAKE_NO_EVENT;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rdma_cm_id *id = new_id(ch);

		assert_int_equal(rdma_resolve_addrinfo(id, NULL, cases[i].service, &sa), 0);
		assert_int_equal(last->id, handle_of(id));
		assert_int_equal(last->timeout_ms, 2000);
		assert_int_equal(last->flags, cases[i].flags);
		assert_true(last->service_id == cases[i].id);
		assert_int_equal(last->name_len, strlen(cases[i].name));
		assert_memory_equal(fake.private_data, cases[i].name, last->name_len);
		assert_fails(EBUSY, rdma_resolve_addrinfo(id, NULL, "1", &sa));
		assert_int_equal(rdma_destroy_id(id), 0);
	}
	rdma_destroy_event_channel(ch);
}

/* Also more records than there is room for at first. */
TEST(event_brings_all_records)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_addrinfo *info;
	unsigned int count;

	for (count = 1; count <= 9; count++) {
		add_services(count);
		assert_int_equal(rdma_resolve_addrinfo(id, NULL, "7", &sa), 0);
		assert_fails(ENOENT, rdma_query_addrinfo(id, &info));
		take_and_ack(ch, EVENT_ADDRINFO_RESOLVED);
		assert_non_null(id->verbs);
		assert_int_equal(rdma_query_addrinfo(id, &info), 0);
		assert_records(info, count);
		rdma_freeaddrinfo(info);
	}
	/* One that nobody takes goes with the id. */
	assert_int_equal(rdma_resolve_addrinfo(id, NULL, "7", &sa), 0);
	take_and_ack(ch, EVENT_ADDRINFO_RESOLVED);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(failure_is_an_event_and_the_id_may_ask_again)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = new_id(ch);
	struct rdma_cm_event *event;
	struct rdma_addrinfo *info;

	fake.service_event = EVENT_ADDRINFO_ERROR;
	fake.status = -ETIMEDOUT;
	assert_int_equal(rdma_resolve_addrinfo(id, NULL, "7", &sa), 0);
	event = take(ch, EVENT_ADDRINFO_ERROR);
	assert_int_equal(event->status, -ETIMEDOUT);
	rdma_ack_cm_event(event);
	assert_fails(ENOENT, rdma_query_addrinfo(id, &info));
	/* The records cannot be read. */
	fake.service_event = EVENT_ADDRINFO_RESOLVED;
	fake.status = 0;
	add_services(1);
	fake.fail[FAKE(SERVICES)] = ENOMEM;
	assert_int_equal(rdma_resolve_addrinfo(id, NULL, "7", &sa), 0);
	event = take(ch, EVENT_ADDRINFO_ERROR);
	assert_int_equal(event->status, -ENOMEM);
	rdma_ack_cm_event(event);
	fake.fail[FAKE(RESOLVE_SERVICE)] = EINVAL;
	assert_fails(EINVAL, rdma_resolve_addrinfo(id, NULL, "7", &sa));
	assert_int_equal(rdma_resolve_addrinfo(id, NULL, "7", &sa), 0);
	take_and_ack(ch, EVENT_ADDRINFO_RESOLVED);
	assert_int_equal(rdma_query_addrinfo(id, &info), 0);
	assert_records(info, 1);
	rdma_freeaddrinfo(info);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

TEST(synchronous_call_waits_for_the_records)
{
	struct rdma_cm_id *id = new_id(NULL);
	struct rdma_addrinfo *info;

	add_services(2);
	assert_int_equal(rdma_resolve_addrinfo(id, NULL, "7", &sa), 0);
	assert_int_equal(rdma_query_addrinfo(id, &info), 0);
	assert_records(info, 2);
	rdma_freeaddrinfo(info);
	fake.service_event = EVENT_ADDRINFO_ERROR;
	fake.status = -EINVAL;
	assert_fails(EINVAL, rdma_resolve_addrinfo(id, NULL, "7", &sa));
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* getaddrinfo: the port that knows the service is the source. */
TEST(active_ib_ports_are_asked)
{
	struct rdma_addrinfo *info;
	const struct sockaddr_ib *sib;

	assert_fails(ENOENT, rdma_getaddrinfo(NULL, "7", &sa, &info));
	assert_int_equal(fake.calls[FAKE(RESOLVE_SERVICE)], 1);
	add_services(2);
	assert_int_equal(rdma_getaddrinfo(NULL, "7", &sa, &info), 0);
	assert_records(info, 2);
	assert_int_equal(fake.calls[FAKE(RESOLVE_SERVICE)], 2);
	assert_int_equal(info->ai_src_len, sizeof(*sib));
	sib = (const struct sockaddr_ib *)(const void *)info->ai_next->ai_src_addr;
	assert_int_equal(sib->sib_family, AF_IB);
	assert_int_equal(sib->sib_pkey, htobe16(0x8002));
	assert_int_equal(sib->sib_addr.sib_raw[15], 9);
	rdma_freeaddrinfo(info);
	/* Nobody knows it. */
	fake.service_event = EVENT_ADDRINFO_ERROR;
	fake.status = -ENOENT;
	assert_fails(ENOENT, rdma_getaddrinfo(NULL, "7", &sa, &info));
	assert_int_equal(fake.calls[FAKE(RESOLVE_SERVICE)], 3);
}

RUN
