// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A network device without a hardware address: TUN, on which soft-RoCE has a device. The kernel's
 * version decides what stock answers.
 */
#include "steps.h"

#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>

#define TUN_HERE "10.2.0.1"
#define TUN_THERE "10.2.0.2"	/* on the same device */
#define TUN_PEER "10.2.0.9"	/* at the other end, where nobody is */
#define TUN_HERE6 "fd00:2::1"

/*
 * The device exists, and has a carrier, as long as this process has it open. Returns false if the
 * kernel has none.
 */
static bool add_tun(void)
{
	struct ifreq request = { .ifr_name = "tun7", .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd;

	if (system("modprobe -q tun"))
		return false;
	fd = open("/dev/net/tun", O_RDWR);
	NEED(fd < 0);
	NEED(ioctl(fd, TUNSETIFF, &request));
	/* The GIDs are those of the addresses that the device has now: it gets no later ones. */
	NEED(system("ip addr add " TUN_HERE "/24 dev tun7 && "
		    "ip addr add " TUN_THERE "/24 dev tun7 && "
		    "ip addr add " TUN_HERE6 "/64 dev tun7 nodad && ip link set tun7 up && "
		    "rdma link add rtun7 type rxe netdev tun7"));
	return true;
}

static void tun_bind(const char *check, struct rdma_event_channel *ch, const char *ip)
{
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	RET(check, rdma_bind_addr(id, at(ip, 0)));
	answer(check[4] == '6' ? "verbs6" : "verbs", "%s", yes(id->verbs));
	NEED(rdma_destroy_id(id));
}

static void tun_peer(struct rdma_event_channel *ch)
{
	struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);

	RET("peer", rdma_resolve_addr(id, NULL, at(TUN_PEER, 7777), SOON));
	event_answer("peer_event", ch, SOON);
	answer("peer_verbs", "%s", yes(id->verbs));
	if (id->verbs && !RET("peer_route", rdma_resolve_route(id, SOON)))
		event_answer("peer_route_event", ch, SOON);
	NEED(rdma_destroy_id(id));
}

GROUP(tun, ALONE)
{
	struct rdma_event_channel *ch = channel(), *passive = channel();
	struct rdma_conn_param param = conn_param();
	struct rdma_cm_id *listener, *client, *child;
	int port;

	if (!add_tun()) {
		answer("device", "none");
		return;
	}
	tun_bind("bind", ch, TUN_HERE);
	tun_bind("bind6", ch, TUN_HERE6);
	tun_peer(ch);
	listener = make_bound(passive, NULL, 0);
	port = port_of(listener);
	RET("listen", rdma_listen(listener, 0));
	client = make_id(ch, RDMA_PS_TCP);
	RET("own_address", rdma_resolve_addr(client, at(TUN_HERE, 0), at(TUN_THERE, port), SOON));
	event_answer("own_address_event", ch, SOON);
	if (!client->verbs)
		return;
	RET("route", rdma_resolve_route(client, SOON));
	event_answer("route_event", ch, SOON);
	make_qp(client);
	RET("connect", rdma_connect(client, &param));
	child = get_child(passive);
	addr_answer("child", child, port);
	answer("child_verbs", "%s", yes(child->verbs == client->verbs));
	make_qp(child);
	RET("accept", rdma_accept(child, &param));
	event_answer("established", ch, SOON);
	event_answer("established_passive", passive, SOON);
	RET("disconnect", rdma_disconnect(client));
	event_answer("disconnected_passive", passive, SOON);
	RET("disconnect_passive", rdma_disconnect(child));
	event_answer("disconnected", ch, SOON);
}
