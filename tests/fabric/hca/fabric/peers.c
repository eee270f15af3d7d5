// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Simulated hosts, for measurements with thousands of peers. Each has a LID and a GID, is known to
 * the subnet administrator, accepts every connection and answers every disconnect. Nothing is kept
 * for a connection: its identifiers at the host are those that the other end has chosen, which are
 * unique there.
 *
 * A reply to a request that a test has sent in the name of a host (see inject.c) is confirmed. What
 * follows depends on the identifier that the test has chosen: nothing, a disconnect, a reject, or
 * an alternate path.
 */
#include "fabric/peers.h"

#include <rdma/ib_cm.h>
#include <rdma/ibta_vol1_c12.h>

#include "fabric/fabric.h"
#include "fabric/messages.h"

#define FIRST_LID	0x1000	/* above all ports and the SA */
#define FIRST_GUID	0x0002c90300010000ULL
static_assert(FIRST_LID + HCA_PEERS_MAX <= 0xc000);	/* the LIDs of groups follow */

u32 hca_peers;	/* how many there are, at most HCA_PEERS_MAX; written at any time */

static u32 peers(void)
{
	return min_t(u32, READ_ONCE(hca_peers), HCA_PEERS_MAX);
}

/* hca_peer_lid: the LID of the host with a GID, or 0. */
u16 hca_peer_lid(const union ib_gid *gid)
{
	u64 number = be64_to_cpu(gid->global.interface_id) - FIRST_GUID;

	if (gid->global.subnet_prefix != cpu_to_be64(0xfe80000000000000ULL) || number >= peers())
		return 0;
	return FIRST_LID + number;
}

/* hca_peer_has: whether a LID is that of a simulated host. */
bool hca_peer_has(u16 lid)
{
	return lid >= FIRST_LID && lid - FIRST_LID < peers();
}

/* An answer to a CM message, without its contents. */
static struct hca_packet *answer_new(const struct hca_packet *packet, __be16 attr_id)
{
	struct hca_packet *answer = hca_packet_answer(packet);
	struct ib_mad_hdr *hdr;

	if (!answer)
		return NULL;
	hdr = (struct ib_mad_hdr *)answer->data;
	*hdr = *hca_packet_mad(packet);
	hdr->attr_id = attr_id;
	return answer;
}

static struct hca_packet *accept_request(const struct hca_packet *packet)
{
	const struct cm_req_msg *req = (const struct cm_req_msg *)packet->data;
	struct hca_packet *answer = answer_new(packet, CM_REP_ATTR_ID);
	u32 comm_id = IBA_GET(CM_REQ_LOCAL_COMM_ID, req);
	struct cm_rep_msg *rep;

	if (!answer)
		return NULL;
	rep = (struct cm_rep_msg *)answer->data;
	IBA_SET(CM_REP_LOCAL_COMM_ID, rep, comm_id);
	IBA_SET(CM_REP_REMOTE_COMM_ID, rep, comm_id);
	/* A QP number must be another one for each connection; Linux counts in the upper bytes. */
	IBA_SET(CM_REP_LOCAL_QPN, rep, swab32(comm_id) & 0xffffff);
	IBA_SET(CM_REP_STARTING_PSN, rep, IBA_GET(CM_REQ_STARTING_PSN, req));
	IBA_SET(CM_REP_RESPONDER_RESOURCES, rep, IBA_GET(CM_REQ_INITIATOR_DEPTH, req));
	IBA_SET(CM_REP_INITIATOR_DEPTH, rep, IBA_GET(CM_REQ_RESPONDER_RESOURCES, req));
	IBA_SET(CM_REP_RNR_RETRY_COUNT, rep, 7);
	IBA_SET(CM_REP_LOCAL_CA_GUID, rep, FIRST_GUID + packet->dlid - FIRST_LID);
	return answer;
}

static struct hca_packet *accept_disconnect(const struct hca_packet *packet)
{
	const struct cm_dreq_msg *dreq = (const struct cm_dreq_msg *)packet->data;
	struct hca_packet *answer = answer_new(packet, CM_DREP_ATTR_ID);
	struct cm_drep_msg *drep;

	if (!answer)
		return NULL;
	drep = (struct cm_drep_msg *)answer->data;
	IBA_SET(CM_DREP_LOCAL_COMM_ID, drep, IBA_GET(CM_DREQ_REMOTE_COMM_ID, dreq));
	IBA_SET(CM_DREP_REMOTE_COMM_ID, drep, IBA_GET(CM_DREQ_LOCAL_COMM_ID, dreq));
	return answer;
}

/* A message of a connection whose reply is @packet; all of them start with the two identifiers. */
static struct hca_packet *follow_new(const struct hca_packet *packet, __be16 attr_id)
{
	const struct cm_rep_msg *rep = (const struct cm_rep_msg *)packet->data;
	struct hca_packet *answer = answer_new(packet, attr_id);
	struct cm_rtu_msg *rtu;

	if (!answer)
		return NULL;
	rtu = (struct cm_rtu_msg *)answer->data;
	IBA_SET(CM_RTU_LOCAL_COMM_ID, rtu, IBA_GET(CM_REP_REMOTE_COMM_ID, rep));
	IBA_SET(CM_RTU_REMOTE_COMM_ID, rtu, IBA_GET(CM_REP_LOCAL_COMM_ID, rep));
	return answer;
}

static struct hca_packet *confirm_reply(const struct hca_packet *packet)
{
	const struct cm_rep_msg *rep = (const struct cm_rep_msg *)packet->data;
	struct hca_packet *answer = follow_new(packet, CM_RTU_ATTR_ID);
	struct cm_dreq_msg *dreq;
	struct cm_rej_msg *rej;

	if (!answer)
		return NULL;
	hca_fabric_send(answer);
	switch (IBA_GET(CM_REP_REMOTE_COMM_ID, rep) % 4) {
	case 0:
		return NULL;
	case 1:
		answer = follow_new(packet, CM_REJ_ATTR_ID);
		if (answer) {
			rej = (struct cm_rej_msg *)answer->data;
			IBA_SET(CM_REJ_MESSAGE_REJECTED, rej, 1);
			IBA_SET(CM_REJ_REASON, rej, IB_CM_REJ_CONSUMER_DEFINED);
		}
		return answer;
	case 2:
		return follow_new(packet, CM_LAP_ATTR_ID);
	default:
		answer = follow_new(packet, CM_DREQ_ATTR_ID);
		if (answer) {
			dreq = (struct cm_dreq_msg *)answer->data;
			IBA_SET(CM_DREQ_REMOTE_QPN_EECN, dreq, IBA_GET(CM_REP_LOCAL_QPN, rep));
		}
		return answer;
	}
}

/* Answers a MAD to a simulated host; the packet stays with the caller. */
void hca_peer_answer(const struct hca_packet *packet)
{
	const struct ib_mad_hdr *hdr = hca_packet_mad(packet);
	struct hca_packet *answer = NULL;

	if (hdr->mgmt_class == IB_MGMT_CLASS_CM && hdr->attr_id == CM_REQ_ATTR_ID)
		answer = accept_request(packet);
	else if (hdr->mgmt_class == IB_MGMT_CLASS_CM && hdr->attr_id == CM_REP_ATTR_ID)
		answer = confirm_reply(packet);
	else if (hdr->mgmt_class == IB_MGMT_CLASS_CM && hdr->attr_id == CM_DREQ_ATTR_ID)
		answer = accept_disconnect(packet);
	hca_messages_to_peer(packet);
	hca_count(HCA_DELIVERED);
	if (answer)
		hca_fabric_send(answer);
}
