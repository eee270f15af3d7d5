// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of options.c and of its effects in id_watch.c and qp_attr.c: lengths, values, and the
 * states in which an option can be set.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_user_cm.h>

#include "cm/cm.h"
#include "fake/addresses.h"
#include "fake/fake_suite.h"
#include "lib/testing.h"

static struct rca_id *new_id(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id = rca_id_create(fake->ctx, fake->queue, RDMA_PS_TCP, IB_QPT_RC,
					  FAKE_COOKIE);

	KUNIT_ASSERT_FALSE(test, IS_ERR(id));
	rca_id_publish(id);
	return id;
}

static struct rca_id *bound(struct kunit *test)
{
	struct fake *fake = test->priv;
	struct rca_id *id = new_id(test);

	id->local = *rca_test_addr(test, "10.9.0.1", 0);
	KUNIT_ASSERT_EQ(test, rca_id_attach(id, &fake->dev, 1, NULL), 0);
	mutex_lock(&id->op);
	KUNIT_EXPECT_EQ(test, rca_id_bind(id, &id->local), 0);
	mutex_unlock(&id->op);
	rca_id_step(id, RCA_IN_BIND);
	return id;
}

/* Options, each with a value that is valid for a new id. */
static const struct option {
	const char *name;
	u32 level;
	u32 option;
	u32 len;
	u8 value[4];
} options[] = {
	{ "TOS", RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 1, { 0x20 } },
	{ "REUSEADDR", RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 4, { 1, 0, 0, 0 } },
	{ "AFONLY", RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, 4, { 1, 0, 0, 0 } },
	{ "ACK_TIMEOUT", RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 1, { 17 } },
	{ "GID_TYPE", RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_GID_TYPE, 1,
	  { IB_UVERBS_GID_TYPE_ROCE_V1 } },
	{ "TRUNK", RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_TRUNK, 1, { RDMA_CM_ALT_TRUNK_REQUIRE } },
	{ "DEADLINE", RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_DEADLINE, 4, { 0xe8, 3, 0, 0 } },
};

static void option_desc(const struct option *option, char *desc)
{
	strscpy(desc, option->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(option, options, option_desc);

static void value_is_read_as_it_was_set(struct kunit *test)
{
	const struct option *o = test->param_value;
	u8 value[RCA_OPTION_OUT_MAX] = {};
	struct rca_id *id = new_id(test);
	u32 len = sizeof(value);

	KUNIT_EXPECT_EQ(test, rca_set_option(id, o->level, o->option, o->value, o->len), 0);
	KUNIT_EXPECT_EQ(test, rca_get_option(id, o->level, o->option, value, &len), 0);
	KUNIT_EXPECT_EQ(test, len, o->len);
	KUNIT_EXPECT_EQ(test, memcmp(value, o->value, o->len), 0);
}

static void other_lengths_are_refused(struct kunit *test)
{
	const struct option *o = test->param_value;
	u8 value[RCA_OPTION_OUT_MAX] = {};
	struct rca_id *id = new_id(test);
	u32 len = 0;

	memcpy(value, o->value, o->len);
	KUNIT_EXPECT_EQ(test, rca_set_option(id, o->level, o->option, value, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_set_option(id, o->level, o->option, value, o->len + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_set_option(id, o->level, o->option, o->value, o->len), 0);
	KUNIT_EXPECT_EQ(test, rca_get_option(id, o->level, o->option, value, &len), -EINVAL);
}

static void option_of_a_removed_id_is_enxio(struct kunit *test)
{
	const struct option *o = test->param_value;
	u8 value[RCA_OPTION_OUT_MAX] = {};
	struct fake *fake = test->priv;
	struct rca_id *id = bound(test);
	u32 len = sizeof(value);

	fake->dev.removing = true;
	rca_teardown_device(&fake->dev);
	KUNIT_EXPECT_EQ(test, rca_set_option(id, o->level, o->option, o->value, o->len), -ENXIO);
	KUNIT_EXPECT_EQ(test, rca_get_option(id, o->level, o->option, value, &len), -ENXIO);
}

static void options_that_there_are_not(struct kunit *test)
{
	u8 value[RCA_OPTION_OUT_MAX] = {};
	struct rca_id *id = new_id(test);
	u32 len = sizeof(value);

	KUNIT_EXPECT_EQ(test, rca_set_option(id, 77, 0, value, 1), -ENOSYS);
	KUNIT_EXPECT_EQ(test, rca_get_option(id, 77, 0, value, &len), -ENOSYS);
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_OPTION_ID, 77, value, 1), -ENOSYS);
	KUNIT_EXPECT_EQ(test, rca_get_option(id, RDMA_OPTION_ID, 77, value, &len), -ENOSYS);
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_OPTION_IB, 77, value, 1), -ENOSYS);
	KUNIT_EXPECT_EQ(test, rca_get_option(id, RDMA_OPTION_IB, 77, value, &len), -ENOSYS);
}

static void values_that_were_not_set(struct kunit *test)
{
	struct rca_id *id = new_id(test);
	u32 value, len = sizeof(value);

	KUNIT_EXPECT_EQ(test, rca_get_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
					     &value, &len), -ENODATA);
	KUNIT_EXPECT_EQ(test, rca_get_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_GID_TYPE,
					     &value, &len), -ENODATA);
	KUNIT_EXPECT_EQ(test, rca_get_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &value,
					     &len), -ENODATA);
}

static void trunk_has_three_values(struct kunit *test)
{
	struct rca_id *id = new_id(test);
	u32 len = 1;
	u8 value = 0xff;

	KUNIT_EXPECT_EQ(test, rca_get_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_TRUNK,
					     &value, &len), 0);
	KUNIT_EXPECT_EQ(test, (int)value, (int)RDMA_CM_ALT_TRUNK_AUTO);
	value = RDMA_CM_ALT_TRUNK_NEVER;
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_TRUNK,
					     &value, 1), 0);
	value = RDMA_CM_ALT_TRUNK_NEVER + 1;
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_TRUNK,
					     &value, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_get_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_TRUNK,
					     &value, &len), 0);
	KUNIT_EXPECT_EQ(test, (int)value, (int)RDMA_CM_ALT_TRUNK_NEVER);
}

/* Datagrams have no trunk. */
static void datagram_that_requires_a_trunk(struct kunit *test)
{
	struct rca_id *id = fake_active_datagram(test, test->priv, FAKE_COOKIE);
	const struct rca_tp_conn conn = {};
	u8 value = RDMA_CM_ALT_TRUNK_REQUIRE;

	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_TRUNK,
					     &value, 1), 0);
	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -EOPNOTSUPP);
}

static int set_bool(struct rca_id *id, u32 option, int value)
{
	return rca_set_option(id, RDMA_OPTION_ID, option, &value, sizeof(value));
}

static void address_options_depend_on_the_state(struct kunit *test)
{
	struct rca_id *id = bound(test);
	u8 type = IB_UVERBS_GID_TYPE_ROCE_V2;

	KUNIT_EXPECT_EQ(test, set_bool(id, RDMA_OPTION_ID_REUSEADDR, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, set_bool(id, RDMA_OPTION_ID_REUSEADDR, 1), 0);
	KUNIT_EXPECT_EQ(test, set_bool(id, RDMA_OPTION_ID_AFONLY, 1), 0);
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_GID_TYPE,
					     &type, 1), -EINVAL);
	KUNIT_ASSERT_EQ(test, rca_listen(id, 0), 0);
	KUNIT_EXPECT_EQ(test, set_bool(id, RDMA_OPTION_ID_REUSEADDR, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, set_bool(id, RDMA_OPTION_ID_AFONLY, 0), -EINVAL);
}

static void ack_timeout_is_for_those_who_acknowledge(struct kunit *test)
{
	struct rca_id *id = fake_active_datagram(test, test->priv, FAKE_COOKIE);
	u8 timeout = 14;

	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
					     &timeout, 1), -EINVAL);
}

static void port_defaults_are_checked(struct kunit *test)
{
	struct rdma_cm_alt_port_default presets[2] = {
		{ .port_num = 1, .gid_type = IB_UVERBS_GID_TYPE_ROCE_V2, .tos = 4 },
		{ .port_num = 2, .gid_type = IB_UVERBS_GID_TYPE_ROCE_V1 },
	};
	u32 option = RDMA_CM_ALT_OPTION_PORT_DEFAULTS;
	struct fake *fake = test->priv;
	struct rca_id *id = new_id(test);

	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, option, presets,
					     sizeof(presets) - 1), -EINVAL);
	presets[1].__reserved[0] = 1;
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, option, presets,
					     sizeof(presets)), -EINVAL);
	presets[1].__reserved[0] = 0;
	presets[0].gid_type = 77;
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, option, presets,
					     sizeof(presets)), -EINVAL);
	presets[0].gid_type = IB_UVERBS_GID_TYPE_ROCE_V2;
	presets[0].ibdev_index = fake->ibdev->index;
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_CM_ALT_OPTION, option, presets,
					     sizeof(presets)), 0);
	/* The defaults apply as soon as the id is attached to the device. */
	KUNIT_ASSERT_EQ(test, rca_id_attach(id, &fake->dev, 1, NULL), 0);
	mutex_lock(&id->op);
	KUNIT_EXPECT_EQ(test, (int)rca_id_tos(id), 4);
	KUNIT_EXPECT_EQ(test, (int)rca_id_gid_type(id, &fake->dev, 1),
			(int)IB_GID_TYPE_ROCE_UDP_ENCAP);
	KUNIT_EXPECT_EQ(test, (int)rca_id_gid_type(id, &fake->dev, 2), (int)IB_GID_TYPE_ROCE);
	mutex_unlock(&id->op);
}

static void failed_bind_leaves_it_unbound(struct kunit *test)
{
	struct rca_id *other = bound(test), *id = new_id(test);
	int reuse = 1;

	id->local = other->local;
	rca_addr_set_port(&id->local, rca_addr_port(&other->opts->bind->addr));
	mutex_lock(&id->op);
	KUNIT_EXPECT_EQ(test, rca_id_bind(id, &id->local), -EADDRINUSE);
	mutex_unlock(&id->op);
	/* The option can still be set, and applies to the next bind. */
	KUNIT_EXPECT_EQ(test, rca_set_option(other, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
					     &reuse, sizeof(reuse)), 0);
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &reuse,
					     sizeof(reuse)), 0);
	KUNIT_EXPECT_FALSE(test, id->opts->bind->reuse);
	mutex_lock(&id->op);
	KUNIT_EXPECT_EQ(test, rca_id_bind(id, &id->local), 0);
	mutex_unlock(&id->op);
	KUNIT_EXPECT_TRUE(test, id->opts->bind->reuse);
}

static void path_of_a_program_is_parsed(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct ib_path_rec_data records[2] = {};
	u32 len = sizeof(records);

	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, records,
					     sizeof(records) - 1), -EINVAL);
	/* No record has the flags primary, outbound and inbound. */
	KUNIT_EXPECT_EQ(test, rca_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, records,
					     sizeof(records)), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_get_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, records,
					     &len), 0);
	KUNIT_EXPECT_EQ(test, len, (u32)sizeof(records[0]));
	len = 1;
	KUNIT_EXPECT_EQ(test, rca_get_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, records,
					     &len), -EINVAL);
}

static void attributes_follow_the_connection(struct kunit *test)
{
	struct rca_id *id = fake_active_id(test, test->priv, FAKE_COOKIE);
	struct rca_tp_conn conn = { .qp_num = 42 };
	struct ib_uverbs_qp_attr attr;

	KUNIT_EXPECT_EQ(test, rca_qp_attr(id, IB_QPS_RESET, &attr), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_qp_attr(id, IB_QPS_ERR, &attr), -EINVAL);
	KUNIT_EXPECT_EQ(test, rca_qp_attr(new_id(test), IB_QPS_INIT, &attr), -EINVAL);
	KUNIT_ASSERT_EQ(test, rca_connect(id, &conn), 0);
	KUNIT_EXPECT_EQ(test, rca_qp_attr(id, IB_QPS_RTR, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.rq_psn, id->psn);
	fake_message(id, RCA_IN_REJ, 28);
	rca_id_flush_work(id);
}

static struct kunit_case options_cases[] = {
	KUNIT_CASE_PARAM(value_is_read_as_it_was_set, option_gen_params),
	KUNIT_CASE_PARAM(other_lengths_are_refused, option_gen_params),
	KUNIT_CASE_PARAM(option_of_a_removed_id_is_enxio, option_gen_params),
	KUNIT_CASE(options_that_there_are_not),
	KUNIT_CASE(values_that_were_not_set),
	KUNIT_CASE(trunk_has_three_values),
	KUNIT_CASE(datagram_that_requires_a_trunk),
	KUNIT_CASE(address_options_depend_on_the_state),
	KUNIT_CASE(ack_timeout_is_for_those_who_acknowledge),
	KUNIT_CASE(port_defaults_are_checked),
	KUNIT_CASE(failed_bind_leaves_it_unbound),
	KUNIT_CASE(path_of_a_program_is_parsed),
	KUNIT_CASE(attributes_follow_the_connection),
	{}
};

static struct kunit_suite options_suite = {
	.name = "rdma_cm_alt_options",
	.init = fake_suite_init,
	.exit = fake_suite_exit,
	.test_cases = options_cases,
};
kunit_test_suite(options_suite);
