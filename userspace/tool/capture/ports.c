// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Makes entries of messages: adds what only sysfs knows, such as partitions and LIDs. Messages that
 * ib_cm answers without a cm_id get the addresses of the message that they answer.
 */
#include "tool/capture/ports.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/core/tool.h"
#include "tool/record/crc.h"

/* enum ib_gid_type and enum rdma_network_type of the kernel. */
enum { GID_IB, GID_ROCE_V1, GID_ROCE_V2 };
enum { NETWORK_IB, NETWORK_ROCE_V1, NETWORK_IPV4, NETWORK_IPV6 };

enum { IPV4_LEN = 20, PROTOCOL_UDP = 17 };

/* Rows of the table of partitions in which that of a trunk is looked for. */
enum { TABLE = 128 };

/* Received messages whose addresses are kept for answers; enough for those of some milliseconds. */
enum { ASKED = 256 };

/* P_Keys that are kept of a port. */
enum { PKEYS = 8 };

/* For how long something is kept, as the subnet manager may change it, or a device be replaced. */
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

static struct record_entry asked[ASKED];
static unsigned int n_asked;

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
			warn("messages of %s/%u and of further ports are not recorded: there are "
			     "more than %d", port->device, port->port, PORTS_MAX);
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

/* The P_Key of the port for a partition: the module does not tell whether it is a full member. */
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
 * the last 20 bytes. If the driver does not tell its type, it is found by its contents.
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

/* An answer has the transaction ID of its question. */
static const struct record_entry *question(const struct record_entry *answer)
{
	unsigned int last = n_asked > ASKED ? n_asked - ASKED : 0;

	for (unsigned int i = n_asked; i > last; i--) {
		const struct record_entry *entry = &asked[(i - 1) % ASKED];

		if (entry->port == answer->port && !memcmp(entry->bytes + 8, answer->bytes + 8, 8))
			return entry;
	}
	return NULL;
}

static void set_answer(struct record_entry *entry)
{
	const struct record_entry *to = question(entry);

	if (!to)
		return;
	entry->link = to->link;
	entry->grh = to->grh;
	entry->sl = to->sl;
	memcpy(entry->sgid, to->dgid, sizeof(entry->sgid));
	memcpy(entry->dgid, to->sgid, sizeof(entry->dgid));
	memcpy(entry->dmac, to->smac, sizeof(entry->dmac));
	entry->slid = to->dlid;
	entry->dlid = to->slid;
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
	*entry = (struct record_entry){
		.time = message->time + ahead,
		.port = port - ports,
		.link = link_of(message, info->ethernet),
		.way = (enum record_way)message->way,
		.kind = (enum record_kind)message->kind,
		.grh = info->ethernet || message->grh_valid,
		.sl = message->sl,
		.qkey = message->qkey,
		.pkey = message->kind == WIRE_TRUNK ?
			member_pkey(port, message->pkey, message->time) :
			pkey(port, message->pkey_index, message->time),
		.session = message->session,
		.private_data = true,
		.len = message->len,
	};
	memcpy(entry->bytes, message->bytes, sizeof(entry->bytes));
	if (message->way == WIRE_RECEIVED)
		set_received(entry, message, info);
	else
		set_sent(entry, message, info);
	if (message->way == WIRE_RECEIVED && message->kind == WIRE_CM)
		asked[n_asked++ % ASKED] = *entry;
	if (message->way != WIRE_RECEIVED && !message->addressed)
		set_answer(entry);
	return true;
}
