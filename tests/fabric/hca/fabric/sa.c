// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The subnet administrator: requests to QP1 at its LID are answered here, multicast groups are in
 * sa_group.c, service records in sa_service.c. It is at a LID of its own, so it stays when adapters
 * go.
 *
 * Locking: hca_lock for the ports.
 */
#include "fabric/sa.h"

#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/peers.h"
#include "port.h"

struct hca_sa_settings hca_sa = {
	.lid = HCA_SM_LID,
	.lifetime = 14,
	.hop_limit = 1,
	.mtu = IB_MTU_2048,
	.rate = IB_RATE_10_GBPS,
};

/* common_pkey: a P_Key by which two ports can talk, the one that is wanted or the first. */
static u16 common_pkey(const struct hca_port *a, const struct hca_port *b, u16 wanted)
{
	unsigned int i;

	for (i = 0; i < HCA_PKEYS; i++) {
		if (wanted && (a->pkeys[i] & 0x7fff) != (wanted & 0x7fff))
			continue;
		if (a->pkeys[i] && hca_port_pkey_index(b, a->pkeys[i]) >= 0)
			return a->pkeys[i];
	}
	return 0;
}

/*
 * find_peer: the end that is a simulated or played host, which is in every partition. Returns the
 * status.
 */
static u16 find_peer(struct sa_path_rec *path, const struct hca_port *from, u16 wanted)
{
	u16 lid = hca_peer_lid(&path->dgid) ?: hca_host_lid(&path->dgid);
	u16 pkey = common_pkey(from, from, wanted);

	if (!lid || !pkey)
		return HCA_SA_NO_RECORDS;
	path->pkey = cpu_to_be16(pkey);
	path->sgid = from->gids[0];
	sa_path_set_slid(path, from->lid);
	sa_path_set_dlid(path, lid);
	return 0;
}

/* find_ends: the two ports of a path, or why there is none. */
static u16 find_ends(struct sa_path_rec *path, ib_sa_comp_mask mask)
{
	struct hca_port *from = NULL, *to = NULL;
	u16 pkey, wanted = 0;

	lockdep_assert_held(&hca_lock);
	if (mask & IB_SA_PATH_REC_SGID)
		from = hca_port_by_gid(&path->sgid);
	else if (mask & IB_SA_PATH_REC_SLID)
		from = hca_port_by_lid(be32_to_cpu(sa_path_get_slid(path)));
	if (mask & IB_SA_PATH_REC_DGID)
		to = hca_port_by_gid(&path->dgid);
	else if (mask & IB_SA_PATH_REC_DLID)
		to = hca_port_by_lid(be32_to_cpu(sa_path_get_dlid(path)));
	if (mask & IB_SA_PATH_REC_PKEY)
		wanted = be16_to_cpu(path->pkey);
	if (from && from->up && !to && (mask & IB_SA_PATH_REC_DGID))
		return find_peer(path, from, wanted);
	if (!from || !to || !from->up || !to->up)
		return HCA_SA_NO_RECORDS;
	pkey = common_pkey(from, to, wanted);
	if (!pkey)
		return HCA_SA_NO_RECORDS;
	path->pkey = cpu_to_be16(pkey);
	if (!(mask & IB_SA_PATH_REC_SGID))
		path->sgid = from->gids[0];
	if (!(mask & IB_SA_PATH_REC_DGID))
		path->dgid = to->gids[0];
	sa_path_set_slid(path, from->lid);
	sa_path_set_dlid(path, to->lid);
	return 0;
}

/* path_record: a path between two ports. Returns the status. */
static u16 path_record(const struct ib_sa_mad *mad, void *record)
{
	struct sa_path_rec path = {};
	u16 status = READ_ONCE(hca_sa.status);

	if (status)
		return status;
	ib_sa_unpack_path((void *)mad->data, &path);
	path.rec_type = SA_PATH_REC_TYPE_IB;
	spin_lock_irq(&hca_lock);
	status = find_ends(&path, mad->sa_hdr.comp_mask);
	spin_unlock_irq(&hca_lock);
	if (status)
		return status;
	path.reversible = 1;
	path.numb_path = 1;
	path.mtu_selector = IB_SA_EQ;
	path.mtu = READ_ONCE(hca_sa.mtu);
	path.rate_selector = IB_SA_EQ;
	path.rate = READ_ONCE(hca_sa.rate);
	path.packet_life_time_selector = IB_SA_EQ;
	path.packet_life_time = READ_ONCE(hca_sa.lifetime);
	path.hop_limit = READ_ONCE(hca_sa.hop_limit);
	if (!(mad->sa_hdr.comp_mask & IB_SA_PATH_REC_SL))
		path.sl = READ_ONCE(hca_sa.sl);
	ib_sa_pack_path(&path, record);
	return 0;
}

/* class_port_info: what the SA can do. */
static u16 class_port_info(void *record)
{
	struct ib_class_port_info *info = record;

	memset(info, 0, sizeof(*info));
	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = IB_SA_CLASS_VERSION;
	/* The upper 27 bits; the lower five are the time to answer, as an exponent. */
	info->cap_mask2_resp_time =
		cpu_to_be32(IB_SA_CAP_MASK2_SENDONLY_FULL_MEM_SUPPORT << 5 | 18);
	return 0;
}

/* serve: the answer to a request. Returns the status. */
static u16 serve(const struct ib_sa_mad *mad, void *record)
{
	u16 attr = be16_to_cpu(mad->mad_hdr.attr_id);
	u8 method = mad->mad_hdr.method;

	if (attr == IB_SA_ATTR_CLASS_PORTINFO && method == IB_MGMT_METHOD_GET)
		return class_port_info(record);
	if (attr == IB_SA_ATTR_PATH_REC && method == IB_MGMT_METHOD_GET)
		return path_record(mad, record);
	if (attr == IB_SA_ATTR_MC_MEMBER_REC) {
		if (method == IB_MGMT_METHOD_SET)
			return hca_sa_join(mad, record);
		if (method == IB_SA_METHOD_DELETE)
			return hca_sa_leave(mad, record);
		if (method == IB_MGMT_METHOD_GET)
			return hca_sa_get_group(mad, record);
	}
	return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
}

/* Answers a MAD to the SA; the packet stays with the caller. */
void hca_sa_request(const struct hca_packet *packet)
{
	const struct ib_sa_mad *mad = (const struct ib_sa_mad *)packet->data;
	struct hca_packet *answer;
	struct ib_sa_mad *reply;
	u16 status;

	/* Answers to nothing that was asked, and other classes, are not for an SA. */
	if (mad->mad_hdr.mgmt_class != IB_MGMT_CLASS_SUBN_ADM ||
	    (mad->mad_hdr.method & IB_MGMT_METHOD_RESP)) {
		hca_count(HCA_NO_QP);
		return;
	}
	if (mad->mad_hdr.attr_id == cpu_to_be16(IB_SA_ATTR_SERVICE_REC) &&
	    mad->mad_hdr.method == HCA_SA_GET_TABLE) {
		hca_sa_services(packet);
		return;
	}
	answer = hca_packet_answer(packet);
	if (!answer)
		return;
	reply = (struct ib_sa_mad *)answer->data;
	memcpy(reply, mad, sizeof(*reply));
	memset(&reply->rmpp_hdr, 0, sizeof(reply->rmpp_hdr));
	status = serve(mad, reply->data);
	reply->mad_hdr.status = cpu_to_be16(status);
	/* Set is answered like Get. */
	if (mad->mad_hdr.method == IB_MGMT_METHOD_SET)
		reply->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	else
		reply->mad_hdr.method |= IB_MGMT_METHOD_RESP;
	hca_count(status ? HCA_SA_REFUSED : HCA_SA_ANSWERED);
	hca_fabric_send(answer);
}
