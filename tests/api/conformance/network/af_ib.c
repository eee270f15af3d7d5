// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Addresses of family AF_IB where no port has an InfiniBand link layer: reference section 5.1. */
#include "steps.h"

#include <endian.h>
#include <infiniband/ib.h>

static struct sockaddr *ib_at(const char *gid, uint64_t sid, uint64_t mask)
{
	static struct sockaddr_ib addrs[16];
	static int next;
	struct sockaddr_ib *addr = &addrs[next++ % 16];

	memset(addr, 0, sizeof(*addr));
	addr->sib_family = AF_IB;
	addr->sib_pkey = htons(0xffff);
	addr->sib_sid = htobe64(sid);
	addr->sib_sid_mask = htobe64(mask);
	NEED(inet_pton(AF_INET6, gid, &addr->sib_addr) != 1);
	return (struct sockaddr *)addr;
}

/* The port that it got, or that it got one. */
static void sid_answer(const char *check, struct rdma_cm_id *id, bool chosen)
{
	struct sockaddr_ib *addr = (struct sockaddr_ib *)rdma_get_local_addr(id);
	uint64_t sid = be64toh(addr->sib_sid);

	answer(check, "family=%d space=%#llx port=%s mask=%#llx verbs=%s", addr->sib_family,
	       (unsigned long long)sid >> 16,
	       chosen ? yes((sid & 0xffff) && rdma_get_src_port(id)) :
	       (sid & 0xffff) == ntohs(rdma_get_src_port(id)) ? "the same" : "another",
	       (unsigned long long)be64toh(addr->sib_sid_mask), yes(id->verbs));
}

static const struct {
	const char *name;
	const char *gid;
	uint64_t sid;
	uint64_t mask;
} binds[] = {
	{ "nothing", "::", 0, 0 },
	{ "tcp_space", "::", 0x1060000, 0xffffffffffff0000 },
	{ "tcp_port", "::", 0x1061c41, UINT64_MAX },
	{ "tcp_port_0", "::", 0x1060000, UINT64_MAX },
	{ "udp_port", "::", 0x1111c42, UINT64_MAX },
	{ "ib_port", "::", 0x13f1c43, UINT64_MAX },
	{ "ipoib_port", "::", 0x21c44, UINT64_MAX },
	{ "port", "::", 0x1c45, 0xffff },
	{ "port_no_mask", "::", 0x1c46, 0 },
	{ "part_of_the_space", "::", 0x61c47, 0xfffff },
	{ "no_space", "::", 0x1c48, UINT64_MAX },
	{ "high_bits", "::", 0x10000001061c49, UINT64_MAX },
	{ "low_port", "::", 0x10603e7, UINT64_MAX },
	{ "loopback", "::1", 0x1061c4a, UINT64_MAX },
	{ "address", "fe80::1", 0x1061c4b, UINT64_MAX },
	{ "ip_as_gid", "::ffff:" HERE, 0x1061c4c, UINT64_MAX },
	{ "address_other_space", "fe80::1", 0x1111c4d, UINT64_MAX },
};

enum { BINDS = sizeof(binds) / sizeof(binds[0]) };

static void bind_all(enum rdma_port_space ps)
{
	struct rdma_event_channel *ch = channel();

	for (int i = 0; i < BINDS; i++) {
		struct rdma_cm_id *id = make_id(ch, ps);
		char check[64];

		if (!RET(binds[i].name, rdma_bind_addr(id, ib_at(binds[i].gid, binds[i].sid,
								 binds[i].mask)))) {
			snprintf(check, sizeof(check), "%s_address", binds[i].name);
			sid_answer(check, id, !(binds[i].sid & binds[i].mask & 0xffff));
			snprintf(check, sizeof(check), "%s_listen", binds[i].name);
			RET(check, rdma_listen(id, 5));
		}
		NEED(rdma_destroy_id(id));
	}
}

GROUP(af_ib_bind_tcp, ALONE)
{
	bind_all(RDMA_PS_TCP);
}

GROUP(af_ib_bind_udp, ALONE)
{
	bind_all(RDMA_PS_UDP);
}

GROUP(af_ib_bind_ib, ALONE)
{
	bind_all(RDMA_PS_IB);
}

/* One after the other, with the same port number of the port space TCP. */
GROUP(af_ib_conflicts, 0)
{
	struct rdma_event_channel *ch = channel();
	const uint64_t sid = 0x1061c60;
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP), *other;
	int on = 1;

	NEED(rdma_bind_addr(id, ib_at("::", sid, UINT64_MAX)));
	RET("ib", rdma_bind_addr(make_id(ch, RDMA_PS_TCP), ib_at("::", sid, UINT64_MAX)));
	RET("ib_of_ps_ib", rdma_bind_addr(make_id(ch, RDMA_PS_IB), ib_at("::", sid, UINT64_MAX)));
	RET("address", rdma_bind_addr(make_id(ch, RDMA_PS_TCP), at(HERE, 0x1c60)));
	RET("wildcard", rdma_bind_addr(make_id(ch, RDMA_PS_TCP), at("0.0.0.0", 0x1c60)));
	RET("wildcard6", rdma_bind_addr(make_id(ch, RDMA_PS_TCP), at("::", 0x1c60)));
	RET("ps_ib", rdma_bind_addr(make_id(ch, RDMA_PS_IB), at(HERE, 0x1c60)));
	RET("afonly", rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof(on)));
	RET("address_afonly", rdma_bind_addr(make_id(ch, RDMA_PS_TCP), at(HERE, 0x1c60)));
	RET("wildcard_afonly", rdma_bind_addr(make_id(ch, RDMA_PS_TCP), at("0.0.0.0", 0x1c60)));
	NEED(rdma_destroy_id(id));
	id = make_bound(ch, THERE, 0x1c61);
	other = make_id(ch, RDMA_PS_TCP);
	RET("after_address", rdma_bind_addr(other, ib_at("::", sid + 1, UINT64_MAX)));
	NEED(rdma_destroy_id(id));
	RET("when_it_is_gone", rdma_bind_addr(other, ib_at("::", sid + 1, UINT64_MAX)));
	RET("listen", rdma_listen(other, 5));
	RET("listen_again", rdma_listen(other, 5));
}

GROUP(af_ib_resolve, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	struct sockaddr *far = ib_at("2001:db8::1", 0x1061c70, UINT64_MAX);

	RET("far", rdma_resolve_addr(id, NULL, far, SOON));
	quiet_answer("far_event", ch);
	RET("bind_after", rdma_bind_addr(id, at(HERE, 0)));
	RET("listen_after", rdma_listen(id, 5));
	id = make_id(ch, RDMA_PS_TCP);
	RET("source_of_another_space",
	    rdma_resolve_addr(id, ib_at("::", 0x1111c71, UINT64_MAX), far, SOON));
	RET("source_address",
	    rdma_resolve_addr(id, ib_at("fe80::1", 0x1061c72, UINT64_MAX), far, SOON));
	RET("source_wildcard",
	    rdma_resolve_addr(id, ib_at("::", 0x1061c73, UINT64_MAX), far, SOON));
	id = make_bound(ch, HERE, 0);
	RET("bound_to_ip", rdma_resolve_addr(id, NULL, far, SOON));
}
