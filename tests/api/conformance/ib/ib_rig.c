// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Common functions of questions about InfiniBand. */
#include "ib.h"

#include <endian.h>

union ibv_gid ib_gid(int hca)
{
	char path[80], text[64];
	union ibv_gid gid;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/hca%d/ports/1/gids/0", hca);
	file = NEED_PTR(fopen(path, "r"));
	NEED(fscanf(file, "%63s", text) != 1);
	fclose(file);
	NEED(inet_pton(AF_INET6, text, &gid) != 1);
	return gid;
}

const char *ib_gid_name(const union ibv_gid *gid, const union ibv_gid *here,
			const union ibv_gid *there)
{
	static const union ibv_gid none;

	if (!memcmp(gid, here, sizeof(*gid)))
		return "here";
	if (!memcmp(gid, there, sizeof(*gid)))
		return "there";
	return memcmp(gid, &none, sizeof(none)) ? "other" : "none";
}

struct sockaddr *ib_at(const union ibv_gid *gid, uint64_t sid, uint64_t mask)
{
	static struct sockaddr_ib addrs[16];
	static int next;
	struct sockaddr_ib *addr = &addrs[next++ % 16];

	memset(addr, 0, sizeof(*addr));
	addr->sib_family = AF_IB;
	addr->sib_pkey = htons(0xffff);
	addr->sib_sid = htobe64(sid);
	addr->sib_sid_mask = htobe64(mask);
	if (gid)
		memcpy(&addr->sib_addr, gid, sizeof(*gid));
	return (struct sockaddr *)addr;
}

static void write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);

	NEED(fd < 0);
	NEED(write(fd, value, strlen(value)) < 0);
	close(fd);
}

void ib_knob(const char *name, const char *value)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/kernel/debug/rca_hca/%s", name);
	write_file(path, value);
}

void ib_keep_paths(bool keep)
{
	write_file("/proc/sys/net/rdma_cm_alt/path_cache_s", keep ? "-1" : "0");
}

struct ibv_path_data ib_path_data(struct rdma_cm_id *id)
{
	struct ibv_sa_path_rec *path = NEED_PTR(id->route.path_rec);

	return (struct ibv_path_data){
		.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL,
		.path = {
			.dgid = path->dgid,
			.sgid = path->sgid,
			.dlid = path->dlid,
			.slid = path->slid,
			.flowlabel_hoplimit = htobe32(ntohl(path->flow_label) << 8 |
						      path->hop_limit),
			.tclass = path->traffic_class,
			.reversible_numpath = 0x80 | 1,
			.pkey = path->pkey,
			.qosclass_sl = htobe16(path->sl),
			.mtu = 0x80 | path->mtu,
			.rate = 0x80 | path->rate,
			.packetlifetime = 0x80 | path->packet_life_time,
		},
	};
}
