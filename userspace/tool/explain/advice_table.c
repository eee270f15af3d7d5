// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Table of failures: meaning and suggested action, by operation or event, state and status. */
#include "tool/explain/advice_table.h"

#include <errno.h>
#include <string.h>

#include "tool/core/tool.h"

#define CONNECTING	"route-resolved req-sent req-wait"
#define UP		"connected dreq-sent"

static const struct line lines[] = {
	{ "ADDR_ERROR", "sidr-sent", ANY, "the peer's queue key is not ours",
	  "use the same queue key (qkey) at both ends" },
	{ "ADDR_ERROR", NULL, -ENODEV, "no RDMA device belongs to the way to this address",
	  "rdma link: is there a device on the network interface that leads to the peer?" },
	{ "ADDR_ERROR", NULL, -ENETUNREACH, "there is no route to this address",
	  "ip route get ADDRESS, and add a route or correct the address" },
	{ "ADDR_ERROR", NULL, -EHOSTUNREACH,
	  "the neighbour does not answer, or the route forbids it",
	  "ping ADDRESS: is the peer up, and in the same network?" },
	{ "ADDR_ERROR", NULL, -ETIMEDOUT,
	  "nobody says whose link address this is (ARP, neighbour discovery)",
	  "ping ADDRESS: is the peer up, in the same network and VLAN, and the cable in?" },
	{ "ADDR_ERROR", NULL, -EADDRNOTAVAIL, "the device has no GID of the source address",
	  "ip address: is the source address on the interface of the device? rdma link" },
	{ "ADDR_ERROR", NULL, ANY, "the address could not be resolved",
	  "ip route get ADDRESS; rdma link" },
	{ "ROUTE_ERROR", NULL, -ETIMEDOUT, "the subnet manager did not answer",
	  "sminfo: is a subnet manager running? raise the timeout of rdma_resolve_route()" },
	{ "ROUTE_ERROR", NULL, ANY, "there is no path to the peer in the subnet",
	  "saquery --src-to-dst: does the subnet manager know both ports?" },
	{ "UNREACHABLE", "rep-sent", ANY,
	  "the client did not confirm that it is connected (ready-to-use)",
	  "ask the client: its log, and rdma-cm-alt explain there; is the way back to ADDRESS "
	  "open?" },
	{ "UNREACHABLE", "sidr-sent", -ETIMEDOUT, "the peer did not say which QP serves that port",
	  "is the server up, with its RDMA device? may UDP port 4791 (RoCE) pass firewalls in "
	  "both directions?" },
	{ "UNREACHABLE", "sidr-sent", ANY, NULL,
	  "start the server, or correct the port; on the peer: rdma-cm-alt show listeners" },
	{ "UNREACHABLE", "path", ANY,
	  "the peer has another link address now than the id's path",
	  "ip neighbour: was the peer's address moved to another machine? connect again" },
	{ "UNREACHABLE", NULL, -ETIMEDOUT, "the peer's connection manager did not answer",
	  "is the peer up, with its RDMA device? may UDP port 4791 (RoCE), or the TCP port "
	  "(iWARP), pass firewalls in both directions?" },
	{ "UNREACHABLE", NULL, ANY, "the peer could not be reached",
	  "is the peer up, with its RDMA device? on iWARP: does the TCP port answer?" },
	{ "REJECTED", "rep-sent " UP, ANY, NULL,
	  "ask the client why it has ended what was accepted: its log, and rdma-cm-alt explain "
	  "there" },
	{ "REJECTED", NULL, 8, NULL,
	  "start the server, or correct the port; on the peer: rdma-cm-alt show listeners" },
	{ "REJECTED", NULL, 10, NULL,
	  "nothing: the connect is repeated until the peer has forgotten the old one" },
	{ "REJECTED", NULL, 28, NULL,
	  "ask the server program: its log, and the private data of the reject" },
	{ "REJECTED", NULL, 4, NULL,
	  "was the server busy? raise RDMA_OPTION_IB_PATH's packet lifetime or the timing" },
	{ "REJECTED", NULL, 3, NULL,
	  "is the server's backlog full (rdma_listen), or a limit reached? on the peer: "
	  "rdma-cm-alt explain" },
	{ "REJECTED", NULL, -ECONNREFUSED, "the peer's TCP refused it: nobody listens there",
	  "start the server, or correct the port" },
	{ "REJECTED", NULL, -ECONNRESET, "the program on the other side has rejected it",
	  "ask the server program: its log, and the private data of the reject" },
	{ "REJECTED", NULL, ANY, NULL,
	  "see the meaning of the reason in the InfiniBand specification, volume 1, 12.6.7.2" },
	{ "CONNECT_ERROR", "rep-sent", ANY, "the connection that was accepted could not be made",
	  "ask the client: its log, and rdma-cm-alt explain there" },
	{ "CONNECT_ERROR", NULL, ANY, "the connection could not be made",
	  "does the QP fit: its type, its state, responder resources and initiator depth?" },
	{ "DISCONNECTED", "dreq-sent", -ETIMEDOUT, "the peer did not answer the disconnect request",
	  "nothing, when the peer is gone: the id has ended; else: is the way to it still open?" },
	{ "DISCONNECTED", "dreq-sent", ANY, "the peer had given up the connection",
	  "nothing: the id has ended; why the peer had: its log, and rdma-cm-alt explain there" },
	{ "DISCONNECTED", NULL, -ETIMEDOUT, "the peer does not answer any more",
	  "ping ADDRESS: is the peer still up?" },
	{ "DISCONNECTED", NULL, ANY, "the connection ended with an error",
	  "ping ADDRESS: is the peer still up?" },
	{ "DEVICE_REMOVAL", NULL, ANY, "the RDMA device was taken away", "dmesg; rdma dev" },
	{ "MULTICAST_ERROR", NULL, ANY, "the group could not be joined, or was lost",
	  "does the subnet manager run, or is the interface up?" },
	{ "request", NULL, -EDQUOT,
	  "a request found no room: a limit of the server's user or context",
	  "let the server take its events faster, or raise the limits: rdma_cm_alt(4)" },
	{ "request", NULL, -ENOBUFS, "a request found the backlog full",
	  "a larger backlog for rdma_listen(), or let the server take its events faster" },
	{ "request", NULL, -ENOMEM, "there was no memory for a request",
	  "the memory limit of the server's cgroup, or of the host" },
	{ "request", NULL, -EHOSTUNREACH, "a request came from where no answer can go",
	  "ip route get ADDRESS of the peer: the way back must lead over the same device" },
	{ "request", NULL, -ESTALE, "the client has lost a connection with the same QP",
	  "nothing: its connect is repeated" },
	{ "request", NULL, -EMSGSIZE,
	  "a request over a trunk, from an IP address, has more private data than an event",
	  "the client: fewer bytes, or an AF_IB address like that of the listener" },
	{ "request", NULL, ANY, "a request could not be given to the server", "dmesg" },
	{ "resolve", NULL, -EADDRINUSE, "the address and port are in use",
	  "rdma-cm-alt show -a ADDRESS says who has it; stock programs: rdma resource show cm_id" },
	{ "resolve", "idle", -EADDRNOTAVAIL,
	  "the address is not one of this host, or what is bound to all addresses has the port",
	  "ip address; rdma-cm-alt show listeners; rdma resource show cm_id" },
	{ "resolve", "idle", -EACCES, "the port is a privileged one",
	  "a port from net.ipv4.ip_unprivileged_port_start on, or CAP_NET_BIND_SERVICE" },
	{ "resolve", "idle", -ENODEV, "no RDMA device has the address",
	  "rdma link: is there a device on the interface with this address?" },
	{ "listen", NULL, -EADDRINUSE,
	  "the address and port are in use, perhaps by a program over the stock stack",
	  "rdma-cm-alt show listeners; rdma resource show cm_id" },
	{ "listen", NULL, -EACCES,
	  "the port is a privileged one of the host, whose device the namespace uses",
	  "a port from the host's net.ipv4.ip_unprivileged_port_start on, or the host's "
	  "CAP_NET_BIND_SERVICE when the port is bound" },
	{ "connect", NULL, -EPERM, "the QP is another user's",
	  "connect with a QP of the same user" },
	{ "connect", CONNECTING, -EOPNOTSUPP,
	  "the id requires a trunk (RDMA_CM_ALT_OPTION_TRUNK), and none is open",
	  "rdma-cm-alt show peers: is it open? modprobe rdma_cm_alt_trunk at both ends" },
	{ "accept", NULL, -EPERM, "the QP is another user's",
	  "accept with a QP of the same user" },
	{ "connect", CONNECTING, -ECONNREFUSED, "the peer's TCP refused it: nobody listens there",
	  "start the server, or correct the port" },
	{ "connect", CONNECTING, -ETIMEDOUT, "the peer's TCP did not answer",
	  "ping ADDRESS: is the peer up? may the TCP port pass firewalls?" },
	{ "connect", CONNECTING, -EHOSTUNREACH, "TCP found no way to the peer",
	  "ping ADDRESS: is the peer up, and in the same network?" },
	{ "connect", CONNECTING, -ENETUNREACH, "TCP found no route to the peer",
	  "ip route get ADDRESS, and add a route or correct the address" },
	{ "accept", NULL, -ECONNRESET, "the client had given up before the server accepted",
	  "is the server slow to take its events? on the client: rdma-cm-alt explain" },
};

bool advice_is_among(const char *word, const char *words)
{
	size_t len = strlen(word);

	for (const char *pos = words; pos && *pos; pos += strspn(pos, " ")) {
		size_t next = strcspn(pos, " ");

		if (next == len && !strncmp(pos, word, len))
			return true;
		pos += next;
	}
	return !words;
}

const struct line *advice_line(const char *what, const char *in, int status)
{
	for (size_t i = 0; i < COUNT(lines); i++)
		if (!strcmp(lines[i].what, what) && advice_is_among(in, lines[i].in) &&
		    (lines[i].status == ANY || lines[i].status == status))
			return &lines[i];
	return NULL;
}
