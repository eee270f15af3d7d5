// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_bind_addr and ports: reference sections 1.1 and 5. */
#include "steps.h"

#include <grp.h>
#include <net/if.h>
#include <sys/prctl.h>

static void bound_answer(const char *check, const struct rdma_cm_id *id)
{
	answer(check, "verbs=%s pd=%s port_num=%u", yes(id->verbs), yes(id->pd), id->port_num);
}

GROUP(bind, IN_DEBUG)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	struct sockaddr odd = { .sa_family = AF_UNIX };

	bound_answer("fields_before", id);
	answer("port_before", "%d %d", port_of(id), ntohs(rdma_get_dst_port(id)));
	RET("null", rdma_bind_addr(id, NULL));
	RET("family", rdma_bind_addr(id, &odd));
	RET("not_local", rdma_bind_addr(id, at(NOT_OURS, 0)));
	RET("link_local", rdma_bind_addr(id, at("fe80::1", 0)));
	bound_answer("fields_after_failures", id);
	RET("address", rdma_bind_addr(id, at(HERE, 0)));
	bound_answer("fields", id);
	answer("ephemeral", "%s", yes(port_of(id) >= 32768 && port_of(id) <= 60999));
	addr_answer("addresses", id, port_of(id));
	RET("again", rdma_bind_addr(id, at(HERE, 0)));
	RET("again_other", rdma_bind_addr(id, at(THERE, 0)));
	RET("destroy", rdma_destroy_id(id));

	id = make_id(ch, RDMA_PS_TCP);
	RET("wildcard", rdma_bind_addr(id, at(NULL, 0)));
	bound_answer("fields_wildcard", id);
	addr_answer("addresses_wildcard", id, port_of(id));
	RET("destroy_wildcard", rdma_destroy_id(id));
	id = make_id(ch, RDMA_PS_TCP);
	RET("loopback", rdma_bind_addr(id, at("127.0.0.1", 0)));
	bound_answer("fields_loopback", id);
	RET("destroy_loopback", rdma_destroy_id(id));
	id = make_id(ch, RDMA_PS_TCP);
	RET("loopback6", rdma_bind_addr(id, at("::1", 0)));
	bound_answer("fields_loopback6", id);
	RET("destroy_loopback6", rdma_destroy_id(id));
	id = make_id(ch, RDMA_PS_TCP);
	RET("ipv6", rdma_bind_addr(id, at(HERE6, 0)));
	bound_answer("fields_ipv6", id);
	addr_answer("addresses_ipv6", id, port_of(id));
	RET("destroy_ipv6", rdma_destroy_id(id));
	id = make_id(ch, RDMA_PS_TCP);
	RET("wildcard6", rdma_bind_addr(id, at("::", 0)));
	bound_answer("fields_wildcard6", id);
	id = make_id(ch, RDMA_PS_TCP);
	RET("mapped", rdma_bind_addr(id, at("::ffff:" HERE, 0)));
	id = make_id(ch, RDMA_PS_TCP);
	RET("multicast", rdma_bind_addr(id, at("239.1.1.1", 0)));
	id = make_id(ch, RDMA_PS_TCP);
	RET("broadcast", rdma_bind_addr(id, at("255.255.255.255", 0)));
}

GROUP(bind_link_local, ALONE)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
	struct sockaddr_in6 addr = *(struct sockaddr_in6 *)at("fe80::5", 0);

	NEED(system("ip -6 addr add fe80::5/64 dev d0 nodad"));
	RET("without_scope", rdma_bind_addr(id, (struct sockaddr *)&addr));
	addr.sin6_scope_id = if_nametoindex("d0");
	RET("with_scope", rdma_bind_addr(id, (struct sockaddr *)&addr));
	bound_answer("fields", id);
	id = make_id(ch, RDMA_PS_TCP);
	addr.sin6_scope_id = 9999;
	RET("no_such_scope", rdma_bind_addr(id, (struct sockaddr *)&addr));
	NEED(system("ip -6 addr del fe80::5/64 dev d0"));
}

GROUP(bind_no_rdma, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	NEED(system("ip link add plain0 type dummy; ip link set plain0 up; "
		    "ip addr add 10.5.0.1/24 dev plain0") == -1);
	RET("plain_netdev", rdma_bind_addr(id, at("10.5.0.1", 0)));
	RET("retry", rdma_bind_addr(id, at(HERE, 0)));
	bound_answer("retry_fields", id);
	NEED(system("ip link del plain0") == -1);
}

GROUP(bind_other_spaces, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_IB);
	struct rdma_cm_id *tcp = make_id(ch, RDMA_PS_TCP);
	int port;

	RET("ib", rdma_bind_addr(id, at(HERE, 0)));
	port = port_of(id);
	RET("tcp_same_port", rdma_bind_addr(tcp, at(HERE, port)));
	if (!rdma_create_id(ch, &id, NULL, RDMA_PS_UDP))
		RET("udp_same_port", rdma_bind_addr(id, at(HERE, port)));
	else
		answer("udp_same_port", "no id: %s", errno_name(errno));
	if (!rdma_create_id(ch, &id, NULL, RDMA_PS_IPOIB))
		RET("ipoib_on_roce", rdma_bind_addr(id, at(HERE, 0)));
	else
		answer("ipoib_on_roce", "no id: %s", errno_name(errno));
}

/* Two binds, one after the other: which port is left for the second. */
static void conflict(const char *check, const char *first, const char *second, int reuse,
		     int afonly)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *ids[2];
	int n;

	for (n = 0; n < 2; n++) {
		ids[n] = make_id(ch, RDMA_PS_TCP);
		if (reuse & 1 << n)
			NEED(rdma_set_option(ids[n], RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
					     &(int){ 1 }, sizeof(int)));
		if (afonly & 1 << n)
			NEED(rdma_set_option(ids[n], RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY,
					     &(int){ 1 }, sizeof(int)));
	}
	NEED(rdma_bind_addr(ids[0], at(first, 0)));
	RET(check, rdma_bind_addr(ids[1], at(second, port_of(ids[0]))));
	NEED(rdma_destroy_id(ids[0]));
	NEED(rdma_destroy_id(ids[1]));
	rdma_destroy_event_channel(ch);
}

GROUP(conflicts, IN_DEBUG)
{
	conflict("same", HERE, HERE, 0, 0);
	conflict("other_address", HERE, THERE, 0, 0);
	conflict("other_device", HERE, ELSEWHERE, 0, 0);
	conflict("wildcard_after_address", HERE, NULL, 0, 0);
	conflict("address_after_wildcard", NULL, HERE, 0, 0);
	conflict("wildcards", NULL, NULL, 0, 0);
	conflict("loopback_after_address", HERE, "127.0.0.1", 0, 0);
	conflict("address_after_loopback", "127.0.0.1", HERE, 0, 0);
	conflict("same6", HERE6, HERE6, 0, 0);
	conflict("other_address6", HERE6, THERE6, 0, 0);
	conflict("other_family", HERE, HERE6, 0, 0);
	conflict("wildcard6_after_wildcard", NULL, "::", 0, 0);
	conflict("wildcard_after_wildcard6", "::", NULL, 0, 0);
	conflict("wildcard6_after_address", HERE, "::", 0, 0);
	conflict("address_after_wildcard6", "::", HERE, 0, 0);
	conflict("wildcards_afonly_first", "::", NULL, 0, 1);
	conflict("wildcards_afonly_second", NULL, "::", 0, 2);
	conflict("wildcards_afonly_both", NULL, "::", 0, 3);
	conflict("reuse_both", HERE, HERE, 3, 0);
	conflict("reuse_first", HERE, HERE, 1, 0);
	conflict("reuse_second", HERE, HERE, 2, 0);
	conflict("reuse_wildcards", NULL, NULL, 3, 0);
	conflict("reuse_wildcard_and_address", NULL, HERE, 3, 0);
}

GROUP(reuse_listen, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *ids[3];
	int n;

	for (n = 0; n < 3; n++) {
		ids[n] = make_id(ch, RDMA_PS_TCP);
		NEED(rdma_set_option(ids[n], RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
				     &(int){ 1 }, sizeof(int)));
	}
	NEED(rdma_bind_addr(ids[0], at(HERE, 0)));
	RET("second", rdma_bind_addr(ids[1], at(HERE, port_of(ids[0]))));
	RET("listen_while_two", rdma_listen(ids[0], 0));
	RET("destroy_second", rdma_destroy_id(ids[1]));
	RET("listen_alone", rdma_listen(ids[0], 0));
	RET("third_after_listen", rdma_bind_addr(ids[2], at(HERE, port_of(ids[0]))));
}

GROUP(port_freed, 0)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id = make_bound(ch, HERE, 0);
	int port = port_of(id), first;

	NEED(rdma_destroy_id(id));
	id = make_id(ch, RDMA_PS_TCP);
	RET("same_port", rdma_bind_addr(id, at(HERE, port)));
	first = port_of(make_bound(ch, HERE, 0));
	answer("ephemeral_differ", "%s", yes(first != port_of(make_bound(ch, HERE, 0))));
}

GROUP(privileged_port, 0)
{
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id = make_id(channel(), RDMA_PS_TCP);

	RET("as_root", rdma_bind_addr(id, at(HERE, 1023)));
	NEED(rdma_destroy_id(id));
	NEED(setgroups(0, NULL));
	NEED(setresgid(65534, 65534, 65534));
	NEED(setresuid(65534, 65534, 65534));
	NEED(prctl(PR_SET_DUMPABLE, 1));
	ch = channel();
	id = make_id(ch, RDMA_PS_TCP);
	RET("as_nobody", rdma_bind_addr(id, at(HERE, 1023)));
	RET("as_nobody_above", rdma_bind_addr(id, at(HERE, 1024)));
	id = make_id(ch, RDMA_PS_TCP);
	RET("resolve_as_nobody", rdma_resolve_addr(id, at(HERE, 1022), at(HERE, 1), 1000));
}

GROUP(ephemeral_range, ALONE)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *id;
	int n, inside = 0, first;

	NEED(system("cp /proc/sys/net/ipv4/ip_local_port_range /tmp/range; "
		    "echo '50000 50003' >/proc/sys/net/ipv4/ip_local_port_range"));
	for (n = 0; n < 4; n++) {
		id = make_bound(ch, HERE, 0);
		first = port_of(id);
		inside += first >= 50000 && first <= 50003;
	}
	answer("inside", "%d", inside);
	id = make_id(ch, RDMA_PS_TCP);
	RET("exhausted", rdma_bind_addr(id, at(HERE, 0)));
	RET("exhausted_other_address", rdma_bind_addr(id, at(THERE, 0)));
	NEED(system("cat /tmp/range >/proc/sys/net/ipv4/ip_local_port_range"));
}

GROUP(bind_netns, ALONE)
{
	struct rdma_event_channel *ch = channel();
	struct rdma_cm_id *here = make_bound(ch, HERE, 0), *id = make_id(ch, RDMA_PS_TCP);

	NEED(unshare(CLONE_NEWNET));
	RET("id_of_old_netns", rdma_bind_addr(id, at(HERE, 0)));
	id = make_id(ch, RDMA_PS_TCP);
	RET("address_of_old_netns", rdma_bind_addr(id, at(HERE, 0)));
	RET("wildcard_same_port", rdma_bind_addr(id, at(NULL, port_of(here))));
}
