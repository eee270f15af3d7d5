// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Private data of connections and of datagrams, and its maximum size over IPv4 and IPv6. */
#include "rca_datagram.h"

/* A kind of ids: how to make a pair of them, and the size of its messages' private data. */
struct kind {
	struct pair (*get_routed)(const char *ip);
	struct pair (*get_requested)(event_t *request);
	uint32_t request_room, reply_room, reject_room;
	uint32_t replied, rejected;
	int rejected_status;
};

static const struct kind kinds[] = {
	{
		.get_routed = get_routed,
		.get_requested = get_requested,
		.request_room = 56,
		.reply_room = 196,
		.reject_room = 148,
		.replied = RDMA_CM_ALT_EVENT_CONNECT_RESPONSE,
		.rejected = RDMA_CM_ALT_EVENT_REJECTED,
		.rejected_status = 28,
	},
	{
		.get_routed = get_datagram_routed,
		.get_requested = get_datagram_requested,
		.request_room = 180,
		.reply_room = 136,
		.reject_room = 136,
		.replied = RDMA_CM_ALT_EVENT_ESTABLISHED,
		.rejected = RDMA_CM_ALT_EVENT_UNREACHABLE,
		.rejected_status = SIDR_REJECT,
	},
};

#define FOR_EACH_KIND \
	for (const struct kind *kind = kinds; kind < kinds + sizeof(kinds) / sizeof(*kinds); kind++)

static const uint8_t *pattern(void)
{
	static uint8_t data[256];

	for (int i = 0; i < 256; i++)
		data[i] = i * 7 + 1;
	return data;
}

/* The data that was sent, then zeros up to the end of the record's member. */
static void check_data(const event_t *ev, uint32_t sent, uint32_t room)
{
	static const uint8_t zero[256];

	EXPECT_EQ(ev->private_data_len, room);
	EXPECT(!memcmp(ev->private_data, pattern(), sent));
	EXPECT(!memcmp(ev->private_data + sent, zero, sizeof(zero) - sent));
}

static void check_request(const struct kind *kind, uint32_t len)
{
	struct pair p = kind->get_routed(HERE);
	event_t ev;

	EXPECT_EQ(rca_connect(p.ctx, p.client, pattern(), len), 0);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	check_data(&ev, len, kind->request_room);
}

TEST(of_a_request)
{
	FOR_EACH_KIND {
		check_request(kind, 0);
		check_request(kind, 1);
		check_request(kind, kind->request_room);
	}
}

TEST(too_much_in_a_request_is_einval)
{
	FOR_EACH_KIND {
		uint32_t many[] = { kind->request_room + 1, 216, 255, 256, 65535, UINT32_MAX };
		struct pair p = kind->get_routed(HERE);

		for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++)
			EXPECT_EQ(rca_connect(p.ctx, p.client, pattern(), many[i]), -EINVAL);
		EXPECT_EQ(rca_connect(p.ctx, p.client, pattern(), kind->request_room), 0);
		EXPECT_EVENT(p.lq, CONNECT_REQUEST, 0);
	}
}

TEST(of_a_reply)
{
	FOR_EACH_KIND {
		uint32_t many[] = { kind->reply_room + 1, 255, 256, UINT32_MAX };
		uint32_t room = kind->reply_room;
		struct pair p = kind->get_requested(NULL);
		event_t ev;

		for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++)
			EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, pattern(), many[i]), -EINVAL);
		EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, pattern(), room), 0);
		expect_event(__FILE__, __LINE__, p.cq, kind->replied, p.client, 0, &ev);
		check_data(&ev, room, room);
	}
}

TEST(of_a_reject)
{
	FOR_EACH_KIND {
		uint32_t many[] = { kind->reject_room + 1, 256, UINT32_MAX };
		uint32_t room = kind->reject_room;
		struct pair p = kind->get_requested(NULL);
		event_t ev;

		for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++)
			EXPECT_EQ(rca_reject(p.ctx, p.server, 0, pattern(), many[i]), -EINVAL);
		EXPECT_EQ(rca_reject(p.ctx, p.server, 0, pattern(), room), 0);
		expect_event(__FILE__, __LINE__, p.cq, kind->rejected, p.client,
			     kind->rejected_status, &ev);
		check_data(&ev, room, room);
	}
}

TEST(of_a_request_that_cannot_be_read_is_efault)
{
	uint8_t *page = MUST(mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	FOR_EACH_KIND {
		struct pair p = kind->get_routed(HERE);

		EXPECT_EQ(rca_connect(p.ctx, p.client, page, 1), -EFAULT);
		EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 1), -EFAULT);
		/* With length 0 nothing is read. */
		EXPECT_EQ(rca_connect(p.ctx, p.client, page, 0), 0);
		EXPECT_EVENT(p.lq, CONNECT_REQUEST, 0);
	}
}

TEST(of_a_reply_that_cannot_be_read_is_efault)
{
	FOR_EACH_KIND {
		struct pair p = kind->get_requested(NULL);

		EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, NULL, 1), -EFAULT);
		EXPECT_EQ(rca_reject(p.ctx, p.server, 0, NULL, 1), -EFAULT);
		EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, NULL, 0), 0);
		expect_event(__FILE__, __LINE__, p.cq, kind->replied, p.client, 0, NULL);
	}
}

KTAP_MAIN
