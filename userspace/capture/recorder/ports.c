// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Converts messages to entries, with data from sysfs such as partitions and LIDs. Messages that
 * ib_cm sends without a cm_id get the addresses of the last message of their transaction. These are
 * answers to messages of no connection and, after Linux 6.12, messages that are not repeated.
 */
#include "capture/recorder/ports.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/format/crc.h"
#include "tool/core/tool.h"

/* enum ib_gid_type and enum rdma_network_type of the kernel. */
enum { GID_IB, GID_ROCE_V1, GID_ROCE_V2 };
enum { NETWORK_IB, NETWORK_ROCE_V1, NETWORK_IPV4, NETWORK_IPV6 };

enum { IPV4_LEN = 20, PROTOCOL_UDP = 17 };

/* Number of rows of the partition table that are searched for that of a trunk. */
enum { TABLE = 128 };

/* Number of messages whose addresses are remembered: those of some milliseconds. */
enum { ADDRESSES = 512 };

/* Number of P_Keys that are cached per port. */
enum { PKEYS = 8 };

/* Lifetime of cached values: the subnet manager may change them, or a device be replaced. */
#define KNOWN_NS 1000000000ULL

/*
 * struct port_pkey - a P_Key
 * @until: CLOCK_MONOTONIC in nanoseconds, when it is read again
 * @of: its index, or its partition
 */
struct port_pkey {
	uint64_t until;
	uint16_t of;
	uint16_t pkey;
};

struct port_info {
	uint64_t until;
	bool ethernet;
	uint16_t lid;
	struct port_pkey by_index[PKEYS];
	struct port_pkey by_partition[PKEYS];
};

static struct record_port ports[PORTS_MAX];
static struct port_info infos[PORTS_MAX];
static unsigned int n_ports;

/* struct addresses - those of a message, from this host to the peer */
struct addresses {
	uint8_t transaction[8];
	uint32_t port;
	enum record_link link;
	bool grh;
	uint8_t sl;
	uint8_t sgid[16];
	uint8_t dgid[16];
	uint8_t mac[6];
	uint16_t slid;
	uint16_t dlid;
};

static struct addresses addresses[ADDRESSES];
static unsigned int n_addresses;

static bool read_port(const struct record_port *port, const char *file, char *line, size_t len)
{
	char path[192];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%.*s/ports/%" PRIu32 "/%s",
		 (int)sizeof(port->device), port->device, port->port, file);
	return text_read_line(path, line, len);
}

static void learn_port(unsigned int index, uint64_t time)
{
	char line[64];

	infos[index].until = time + KNOWN_NS;
	infos[index].ethernet = read_port(&ports[index], "link_layer", line, sizeof(line)) &&
				!strncmp(line, "Ethernet", strlen("Ethernet"));
	if (read_port(&ports[index], "lid", line, sizeof(line)))
		infos[index].lid = strtoul(line, NULL, 0);
}

struct record_port *ports_find(const struct wire_port *port)
{
	static bool told_full;

	for (unsigned int i = 0; i < n_ports; i++)
		if (ports[i].port == port->port && !strcmp(ports[i].device, port->device))
			return &ports[i];
	if (n_ports == PORTS_MAX) {
		if (!told_full)
			tool_warn("messages of %s/%u and of further ports are not recorded: there "
				  "are more than %d", port->device, port->port, PORTS_MAX);
		told_full = true;
		return NULL;
	}
	memcpy(ports[n_ports].device, port->device, sizeof(ports[n_ports].device));
	ports[n_ports].device[sizeof(ports[n_ports].device) - 1] = '\0';
	ports[n_ports].port = port->port;
	return &ports[n_ports++];
}

struct record_port *ports_all(unsigned int *count)
{
	*count = n_ports;
	return ports;
}

static uint16_t read_pkey(const struct record_port *port, unsigned int index)
{
	char file[32], line[32];

	snprintf(file, sizeof(file), "pkeys/%u", index);
	return read_port(port, file, line, sizeof(line)) ? strtoul(line, NULL, 0) : 0;
}

/* The P_Key at an index of the table, at this time. */
static uint16_t pkey(const struct record_port *port, unsigned int index, uint64_t time)
{
	struct port_pkey *known = &infos[port - ports].by_index[index % PKEYS];

	if (known->of != index || time >= known->until)
		*known = (struct port_pkey){
			.until = time + KNOWN_NS, .of = index, .pkey = read_pkey(port, index),
		};
	return known->pkey;
}

static uint16_t find_pkey(const struct record_port *port, uint16_t value)
{
	for (unsigned int index = 0; index < TABLE; index++) {
		uint16_t found = read_pkey(port, index);

		if ((found & 0x7fff) == (value & 0x7fff))
			return found;
	}
	return value;
}

/* The P_Key of the port for a partition: the module does not report whether it is a full member. */
static uint16_t member_pkey(const struct record_port *port, uint16_t value, uint64_t time)
{
	uint16_t partition = value & 0x7fff;
	struct port_pkey *known = &infos[port - ports].by_partition[partition % PKEYS];

	if (known->of != partition || time >= known->until)
		*known = (struct port_pkey){
			.until = time + KNOWN_NS,
			.of = partition,
			.pkey = find_pkey(port, value),
		};
	return known->pkey;
}

static void map_ip(uint8_t *gid, const uint8_t *ip)
{
	memset(gid, 0, 10);
	gid[10] = 0xff;
	gid[11] = 0xff;
	memcpy(gid + 12, ip, 4);
}

/*
 * The network header of a received message, which has the place of the GRH: an IPv4 header is in
 * the last 20 bytes. If the driver does not report its type, it is found by its contents.
 */
static unsigned int network_type(const struct wire_message *message)
{
	const uint8_t *grh = message->grh, *ip = grh + WIRE_GRH_LEN - IPV4_LEN;

	if (message->gid_type != WIRE_GID_TYPE_UNKNOWN)
		return message->gid_type;
	if (ip[0] == 0x45 && crc_internet(0, ip, IPV4_LEN) == 0xffff)
		return NETWORK_IPV4;
	return grh[6] == PROTOCOL_UDP ? NETWORK_IPV6 : NETWORK_ROCE_V1;
}

static void read_grh(struct record_entry *entry, const struct wire_message *message)
{
	const uint8_t *ip = message->grh + WIRE_GRH_LEN - IPV4_LEN;

	if (entry->link != RECORD_INFINIBAND && network_type(message) == NETWORK_IPV4) {
		entry->hop_limit = ip[8];
		map_ip(entry->sgid, ip + 12);
		map_ip(entry->dgid, ip + 16);
		return;
	}
	entry->hop_limit = message->grh[7];
	memcpy(entry->sgid, message->grh + 8, sizeof(entry->sgid));
	memcpy(entry->dgid, message->grh + 24, sizeof(entry->dgid));
}

static enum record_link link_of(const struct wire_message *message, bool ethernet)
{
	if (!ethernet)
		return RECORD_INFINIBAND;
	if (message->way == WIRE_RECEIVED && message->kind != WIRE_TRUNK)
		return network_type(message) == NETWORK_IPV4 ||
		       network_type(message) == NETWORK_IPV6 ? RECORD_ROCE_V2 : RECORD_ROCE_V1;
	return message->gid_type == GID_ROCE_V1 ? RECORD_ROCE_V1 : RECORD_ROCE_V2;
}

static void set_received(struct record_entry *entry, const struct wire_message *message,
			 const struct port_info *info)
{
	entry->sqpn = message->peer_qpn;
	entry->dqpn = message->qpn;
	entry->slid = message->lid;
	entry->dlid = info->lid | message->path_bits;
	memcpy(entry->smac, message->mac, sizeof(entry->smac));
	if (message->kind == WIRE_TRUNK) {
		memcpy(entry->sgid, message->gid, sizeof(entry->sgid));
		memcpy(entry->dgid, message->own_gid, sizeof(entry->dgid));
	} else if (entry->grh) {
		read_grh(entry, message);
	}
}

static void set_sent(struct record_entry *entry, const struct wire_message *message,
		     const struct port_info *info)
{
	entry->sqpn = message->qpn;
	entry->dqpn = message->peer_qpn;
	entry->slid = info->lid;
	entry->hop_limit = message->hop_limit;
	memcpy(entry->sgid, message->own_gid, sizeof(entry->sgid));
	memcpy(entry->dgid, message->gid, sizeof(entry->dgid));
	if (info->ethernet)
		memcpy(entry->dmac, message->mac, sizeof(entry->dmac));
	else
		entry->dlid = message->lid;
}

static const uint8_t *transaction_of(const struct record_entry *entry)
{
	return entry->bytes + 8;
}

static void note_addresses(const struct record_entry *entry)
{
	bool received = entry->way == RECORD_RECEIVED;
	struct addresses *noted = &addresses[n_addresses++ % ADDRESSES];

	*noted = (struct addresses){
		.port = entry->port,
		.link = entry->link,
		.grh = entry->grh,
		.sl = entry->sl,
		.slid = received ? entry->dlid : entry->slid,
		.dlid = received ? entry->slid : entry->dlid,
	};
	memcpy(noted->transaction, transaction_of(entry), sizeof(noted->transaction));
	memcpy(noted->sgid, received ? entry->dgid : entry->sgid, sizeof(noted->sgid));
	memcpy(noted->dgid, received ? entry->sgid : entry->dgid, sizeof(noted->dgid));
	memcpy(noted->mac, received ? entry->smac : entry->dmac, sizeof(noted->mac));
}

/* The addresses of the last message of the same transaction, such as the request of an answer. */
static const struct addresses *find_addresses(const struct record_entry *entry)
{
	for (unsigned int i = 1; i <= ADDRESSES; i++) {
		const struct addresses *noted = &addresses[(n_addresses - i) % ADDRESSES];

		if (noted->port == entry->port &&
		    !memcmp(noted->transaction, transaction_of(entry), sizeof(noted->transaction)))
			return noted;
	}
	return NULL;
}

static void set_addresses(struct record_entry *entry)
{
	const struct addresses *noted = find_addresses(entry);

	if (!noted)
		return;
	entry->link = noted->link;
	entry->grh = noted->grh;
	entry->sl = noted->sl;
	memcpy(entry->sgid, noted->sgid, sizeof(entry->sgid));
	memcpy(entry->dgid, noted->dgid, sizeof(entry->dgid));
	memcpy(entry->dmac, noted->mac, sizeof(entry->dmac));
	entry->slid = noted->slid;
	entry->dlid = noted->dlid;
}

bool ports_entry(const struct wire_message *message, int64_t ahead, struct record_entry *entry)
{
	const struct record_port *port = ports_find(&message->port);
	struct port_info *info;

	if (!port)
		return false;
	info = &infos[port - ports];
	if (message->time >= info->until)
		learn_port(port - ports, message->time);
	/* Only the part before the bytes is cleared, as the rest is much longer. */
	memset(entry, 0, offsetof(struct record_entry, bytes));
	entry->time = message->time + ahead;
	entry->port = port - ports;
	entry->link = link_of(message, info->ethernet);
	entry->way = (enum record_way)message->way;
	entry->kind = (enum record_kind)message->kind;
	entry->grh = info->ethernet || message->grh_valid;
	entry->sl = message->sl;
	entry->qkey = message->qkey;
	entry->pkey = message->kind == WIRE_TRUNK ?
		      member_pkey(port, message->pkey, message->time) :
		      pkey(port, message->pkey_index, message->time);
	entry->session = message->session;
	entry->private_data = true;
	entry->len = message->len;
	memcpy(entry->bytes, message->bytes, message->len);
	if (message->way == WIRE_RECEIVED)
		set_received(entry, message, info);
	else
		set_sent(entry, message, info);
	if (message->kind == WIRE_TRUNK)
		return true;
	if (message->way == WIRE_RECEIVED || message->addressed)
		note_addresses(entry);
	else
		set_addresses(entry);
	return true;
}
