// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The neighbour entry of the next hop: reads it from the kernel, and starts its resolution. */
#include "tool/core/neighbour.h"

#include <arpa/inet.h>
#include <linux/neighbour.h>
#include <netlink/route/neighbour.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tool/core/tool.h"

/* The kernel sends three solicitations, one second apart. */
enum { ANSWER_MS = 4000, LOOK_MS = 50, DISCARD_PORT = 9 };

/* Whether resolution has ended; @known: the state of an entry not probed lately counts, too. */
static bool is_settled(int state, bool known)
{
	return state & (NUD_REACHABLE | NUD_PERMANENT | NUD_NOARP | NUD_FAILED) ||
	       (known && state & (NUD_STALE | NUD_DELAY));
}

/* Makes the kernel resolve the neighbour by sending to the discard port; needs no privilege. */
static void send_something(const struct address *to)
{
	int fd = socket(to->addr.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage addr = to->addr;

	/* The port is at the same offset in both families. */
	((struct sockaddr_in *)&addr)->sin_port = htons(DISCARD_PORT);
	if (fd < 0)
		return;
	if (!connect(fd, (struct sockaddr *)&addr, to->addr.ss_family == AF_INET ?
		     sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)))
		(void)!send(fd, "", 0, MSG_NOSIGNAL);
	close(fd);
}

/* Probes an existing entry at once. False: it fails without CAP_NET_ADMIN. */
static bool probe(struct nl_sock *sock, struct rtnl_neigh *neigh)
{
	rtnl_neigh_set_state(neigh, NUD_PROBE);
	return !rtnl_neigh_add(sock, neigh, NLM_F_REPLACE);
}

static struct rtnl_neigh *look(struct nl_sock *sock, int ifindex, struct nl_addr *hop)
{
	struct rtnl_neigh *neigh;
	struct nl_cache *cache;

	if (rtnl_neigh_alloc_cache(sock, &cache))
		return NULL;
	neigh = rtnl_neigh_get(cache, ifindex, hop);
	nl_cache_free(cache);
	return neigh;
}

static struct rtnl_neigh *wait_for(struct nl_sock *sock, int ifindex, struct nl_addr *hop,
				   const struct address *ask, struct rtnl_neigh *neigh)
{
	static const struct timespec interval = { .tv_nsec = LOOK_MS * 1000000L };
	bool known = false;

	if (neigh && rtnl_neigh_get_state(neigh) & (NUD_STALE | NUD_DELAY))
		known = !probe(sock, neigh);
	else if (!neigh || !is_settled(rtnl_neigh_get_state(neigh) & ~NUD_FAILED, false))
		send_something(ask);
	for (int left = ANSWER_MS; left > 0; left -= LOOK_MS) {
		if (neigh)
			rtnl_neigh_put(neigh);
		neigh = look(sock, ifindex, hop);
		if (neigh && is_settled(rtnl_neigh_get_state(neigh), known))
			break;
		nanosleep(&interval, NULL);
	}
	return neigh;
}

void neighbour_put(struct json_object *path, struct nl_sock *sock, int ifindex,
		   struct nl_addr *hop, const struct address *ask)
{
	struct rtnl_neigh *neigh = look(sock, ifindex, hop);
	char text[64];

	if (ask)
		neigh = wait_for(sock, ifindex, hop, ask, neigh);
	record_put(path, "neighbour",
		   neigh ? rtnl_neigh_state2str(rtnl_neigh_get_state(neigh), text, sizeof(text)) :
			   "none");
	if (neigh && rtnl_neigh_get_lladdr(neigh))
		record_put(path, "neighbour_address",
			   nl_addr2str(rtnl_neigh_get_lladdr(neigh), text, sizeof(text)));
	if (neigh)
		rtnl_neigh_put(neigh);
}
