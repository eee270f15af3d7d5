// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/trunk/conn_receive.c: a frame that is received. The trunk is not in the table,
 * its work only counts its runs, and its adapter has only a name.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/string.h>

#include "transport/transport.h"
#include "trunk/trunk.h"

/* Longer than the part of a frame that a tracepoint holds. */
#define LEN	300
#define COOKIE	0x1234

/**
 * struct frames - fixture of a test
 * @ibdev: the adapter, without operations
 * @dev: the device of @ibdev
 * @gid: its GID
 * @qp: the queue pair
 * @trunk: the trunk
 * @link: its link
 * @data: the buffer of a frame
 * @runs: number of runs of the work of the trunk
 */
struct frames {
	struct ib_device ibdev;
	struct rca_device dev;
	struct ib_gid_attr gid;
	struct ib_qp qp;
	struct rca_trunk trunk;
	struct rca_trunk_link link;
	u8 data[LEN];
	unsigned int runs;
};

static void work(struct work_struct *work)
{
	struct rca_trunk *trunk = container_of(to_delayed_work(work), struct rca_trunk, work);

	container_of(trunk, struct frames, trunk)->runs++;
	rca_trunk_put(trunk);	/* got in rca_trunk_run() */
}

static int frames_init(struct kunit *test)
{
	struct frames *frames = kunit_kzalloc(test, sizeof(*frames), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, frames);
	test->priv = frames;
	strscpy(frames->ibdev.name, "frames0", sizeof(frames->ibdev.name));
	frames->dev.ibdev = &frames->ibdev;
	frames->qp.qp_num = 17;
	refcount_set(&frames->trunk.ref, 1);
	spin_lock_init(&frames->trunk.lock);
	INIT_DELAYED_WORK(&frames->trunk.work, work);
	frames->gid.gid_type = IB_GID_TYPE_ROCE_UDP_ENCAP;
	frames->trunk.dev = &frames->dev;
	frames->trunk.sgid_attr = &frames->gid;
	frames->trunk.link = &frames->link;
	frames->link.trunk = &frames->trunk;
	frames->link.qp = &frames->qp;
	frames->link.peer_qpn = 18;
	frames->trunk.up = true;
	frames->trunk.session = 1;
	rca_credits_init(&frames->link.credits, COOKIE, COOKIE + 1);
	return 0;
}

static void frames_exit(struct kunit *test)
{
	struct frames *frames = test->priv;

	flush_delayed_work(&frames->trunk.work);
}

/* Receives a frame of @len bytes. */
static void come(struct frames *frames, u32 len, enum ib_wc_status status)
{
	struct rca_link_buf buf = { .link = &frames->link, .data = frames->data };
	struct ib_wc wc = { .wr_cqe = &buf.cqe, .status = status, .byte_len = len };

	rca_link_receive_done(NULL, &wc);
	flush_delayed_work(&frames->trunk.work);
}

/* Writes a frame with this cookie and an invalid record. */
static void write_frame(struct frames *frames, u64 cookie)
{
	const struct rca_frame_hdr hdr = {
		.cookie = cookie,
		.number = 1,
		.credits = RCA_LINK_RECEIVES,
		.len = LEN,
		.records = 1,
	};

	memset(frames->data, 0xff, sizeof(frames->data));
	rca_frame_hdr_pack(frames->data, &hdr);
}

/* The link ends, and nothing else. */
static void expect_end(struct kunit *test, const char *why)
{
	struct frames *frames = test->priv;

	KUNIT_EXPECT_FALSE(test, test_bit(RCA_LINK_LOST, &frames->link.news));
	KUNIT_EXPECT_TRUE(test, test_bit(RCA_LINK_END, &frames->link.news));
	KUNIT_EXPECT_STREQ(test, frames->trunk.why, why);
	KUNIT_EXPECT_EQ(test, frames->runs, 1U);
}

/* A bug of the peer. Tracepoints have recorded the frame. */
static void malformed_frame_ends_the_link(struct kunit *test)
{
	struct frames *frames = test->priv;

	write_frame(frames, COOKIE);
	come(frames, LEN, IB_WC_SUCCESS);
	expect_end(test, "a frame was malformed");
}

/* Any user of any host can send such a frame to the QP: it ends the link, but no connection. */
static void frame_without_the_cookie_ends_the_link(struct kunit *test)
{
	struct frames *frames = test->priv;

	write_frame(frames, COOKIE + 1);
	come(frames, LEN, IB_WC_SUCCESS);
	expect_end(test, "a frame was not the peer's");
	KUNIT_EXPECT_EQ(test, frames->trunk.heard_at, 0UL);
}

static void frame_without_a_header_ends_the_link(struct kunit *test)
{
	come(test->priv, 1, IB_WC_SUCCESS);
	expect_end(test, "a frame was not the peer's");
}

/* Another link may succeed. The buffer holds no frame, and is not read. */
static void failed_receive_ends_the_link(struct kunit *test)
{
	struct frames *frames = test->priv;

	write_frame(frames, COOKIE);
	come(frames, 0, IB_WC_WR_FLUSH_ERR);
	expect_end(test, "the QP has failed");
}

static struct kunit_case frames_cases[] = {
	KUNIT_CASE(malformed_frame_ends_the_link),
	KUNIT_CASE(frame_without_the_cookie_ends_the_link),
	KUNIT_CASE(frame_without_a_header_ends_the_link),
	KUNIT_CASE(failed_receive_ends_the_link),
	{}
};

static struct kunit_suite frames_suite = {
	.name = "rdma_cm_alt_trunk_frames",
	.init = frames_init,
	.exit = frames_exit,
	.test_cases = frames_cases,
};

kunit_test_suite(frames_suite);
