// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The status of an event as text: reject reasons, SIDR status, errnos. And advice.
 *
 * Locking: none.
 */
#include "base/reason.h"

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <string.h>

#include "base/compiler.h"
#include "base/err.h"

static const char * const reject_texts[] = {
	[1] = "the peer has no queue pair left",
	[2] = "the peer has no end-to-end context left",
	[3] = "the peer has no resources left",
	[4] = "the peer has waited too long for our next message",
	[5] = "the peer does not support what the request asks for",
	[6] = "the peer does not know our communication ID",
	[7] = "the communication IDs belong to no connection of the peer",
	[8] = "nobody listens there for this port (service ID)",
	[9] = "the peer does not take this transport service for this port",
	[10] = "the peer has an old connection with the number of our queue pair",
	[11] = "the reliable datagram channel does not exist",
	[12] = "the peer does not take the GID of the path for its own or for ours",
	[13] = "the peer does not take the LID of the path for its own or for ours",
	[14] = "the peer does not take the service level of the path",
	[15] = "the peer does not take the traffic class of the path",
	[16] = "the peer does not take the hop limit of the path",
	[17] = "the peer's port cannot receive at the packet rate of the path",
	[18] = "the peer does not take the GID of the alternate path",
	[19] = "the peer does not take the LID of the alternate path",
	[20] = "the peer does not take the service level of the alternate path",
	[21] = "the peer does not take the traffic class of the alternate path",
	[22] = "the peer does not take the hop limit of the alternate path",
	[23] = "the peer's port cannot receive at the packet rate of the alternate path",
	[24] = "the connection manager for this is at another port",
	[25] = "the service is at another port",
	[26] = "the peer does not take the MTU of the path",
	[27] = "the peer has not the responder resources that the request asks for",
	[28] = "the peer's program, or its connection manager for it, has refused",
	[29] = "the peer does not take the RNR retry count",
	[30] = "the peer has the communication ID of the request in use already",
	[31] = "the peer does not know this version of the connection manager's messages",
	[32] = "the peer does not take the flow label of the path",
	[33] = "the peer does not take the flow label of the alternate path",
	[35] = "the peer does not support the vendor's option (ECE)",
};

static const char * const sidr_texts[] = {
	[1] = "nobody listens there for this port (service ID)",
	[2] = "the peer's program, or its connection manager for it, has refused",
	[3] = "the peer has no queue pair for this",
	[4] = "the service is at another port",
	[5] = "the peer does not know this version of the connection manager's messages",
};

static const char *text_of(const char * const *texts, int count, int number)
{
	if (number < 0 || number >= count || !texts[number])
		return "a reason that the standard does not name";
	return texts[number];
}

const char *rcl_reject_text(int reason)
{
	return text_of(reject_texts, ARRAY_SIZE(reject_texts), reason);
}

const char *rcl_sidr_text(int status)
{
	return text_of(sidr_texts, ARRAY_SIZE(sidr_texts), status);
}

static bool is_failure(const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		return true;
	default:
		return false;
	}
}

const char *rcl_event_text(const struct rdma_cm_event *event)
{
	if (!is_failure(event))
		return NULL;
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		return "the device goes away";
	/* The kernel's values are checked: strerror() takes errnos. */
	if (event->status < -RCL_MAX_ERRNO)
		return "a status that cannot be";
	if (event->status < 0)
		return strerror(-event->status);
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return rcl_reject_text(event->status);
	if (event->event == RDMA_CM_EVENT_UNREACHABLE && event->status)
		return rcl_sidr_text(event->status);
	return "no reason is known";
}

/* Status 0 matches any status. */
static const struct {
	enum rdma_cm_event_type event;
	int status;
	const char *text;
} what_to_do[] = {
	{ RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT,
	  "the peer's address has no neighbour entry: does the host answer ping (ip neigh)?" },
	{ RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH,
	  "the peer's address has no neighbour entry: does the host answer ping (ip neigh)?" },
	{ RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH, "there is no route to the peer (ip route get)" },
	{ RDMA_CM_EVENT_ADDR_ERROR, -ENODEV,
	  "the route to the peer leads over no RDMA device (ip route get, rdma link)" },
	{ RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT,
	  "the subnet administrator has not answered in time: is a subnet manager running?" },
	{ RDMA_CM_EVENT_ROUTE_ERROR, 0,
	  "is the port active (rdma link), is the peer on this subnet?" },
	{ RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT,
	  "is the host up, at the same MAC, and does nothing filter RDMA (RoCE: UDP port 4791)?" },
	{ RDMA_CM_EVENT_UNREACHABLE, 1,
	  "is the server running, on that port, with this port space?" },
	{ RDMA_CM_EVENT_REJECTED, 3, "look at the limits and at the memory of the peer" },
	{ RDMA_CM_EVENT_REJECTED, 8,
	  "is the server running, on that port, with this port space?" },
	{ RDMA_CM_EVENT_REJECTED, 27,
	  "ask for a smaller initiator_depth, or let the server offer more responder_resources" },
	{ RDMA_CM_EVENT_REJECTED, 28,
	  "its private data may say why; a server that ends while it connects does this, too" },
	{ RDMA_CM_EVENT_REJECTED, -ECONNREFUSED,
	  "is the server running, on that port? It may also have said no (rdma_reject)" },
	{ RDMA_CM_EVENT_REJECTED, -ECONNRESET, "the peer has closed the TCP connection" },
	{ RDMA_CM_EVENT_CONNECT_ERROR, -ENODEV,
	  "the connection goes over another device than that of the queue pair" },
	{ RDMA_CM_EVENT_DEVICE_REMOVAL, 0,
	  "destroy the id, and connect again over another device" },
	{ RDMA_CM_EVENT_MULTICAST_ERROR, -ETIMEDOUT,
	  "the subnet administrator has not answered in time: is a subnet manager running?" },
};

const char *rcl_event_advice(const struct rdma_cm_event *event)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(what_to_do); i++)
		if (event->event == what_to_do[i].event &&
		    (!what_to_do[i].status || event->status == what_to_do[i].status))
			return what_to_do[i].text;
	return NULL;
}

const char *rcl_errno_advice(int err)
{
	switch (err) {
	case -EADDRNOTAVAIL:
		return "; no device in this namespace has it (ip address), or a wildcard its port";
	case -EADDRINUSE:
		return "; another listener, of this or the stock connection manager, has the port";
	case -EACCES:
		return "; below net.ipv4.ip_unprivileged_port_start it needs CAP_NET_BIND_SERVICE";
	case -ENODEV:
		return "; no RDMA device has it, or the route leads over none (rdma link)";
	case -ENETUNREACH:
	case -EHOSTUNREACH:
		return "; there is no route (ip route get)";
	case -EDQUOT:
		return "; the user or the process has too many (max_user_*, max_context_percent)";
	case -EPERM:
		return "; the queue pair belongs to another user, which needs CAP_NET_RAW";
	case -ECONNREFUSED:
		return "; is the server running, on that port?";
	case -ETIMEDOUT:
		return "; is the host up, and does nothing on the way filter?";
	case -ENXIO:
		return "; the device has gone";
	default:
		return "";
	}
}
