// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The SA's service records, which a test writes: answers to GetTable, in as many segments (RMPP) as
 * they need. InfiniBand specification, vol. 1, sections 13.6 and 15.2.5.14.
 *
 * Locking: services_lock for the records. Transfers are touched by the worker of the fabric alone.
 */
#include "fabric/sa.h"

#include <linux/inet.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "fabric/fabric.h"

#define RECORDS		128
#define TRANSFERS	8	/* that wait for their acknowledgement; the oldest one is dropped */
#define SA_HDR		20	/* bytes of a segment that are no data, and count as payload */

/* The record on the wire. */
struct record {
	__be64 id;
	u8 gid[16];
	__be16 pkey;
	u8 reserved[2];
	__be32 lease;
	u8 key[16];
	u8 name[64];
	u8 data[64];
} __packed;
static_assert(sizeof(struct record) == 176);

/**
 * struct transfer - an answer of which not all segments are acknowledged
 * @entry: in transfers
 * @lid: who has asked
 * @tid: number of the question
 * @len: length of @data
 * @data: the records
 */
struct transfer {
	struct list_head entry;
	u16 lid;
	__be64 tid;
	u32 len;
	u8 data[];
};

static DEFINE_MUTEX(services_lock);
static struct record services[RECORDS];
static unsigned int count;
static LIST_HEAD(transfers);
static unsigned int waiting;

/* add_service: "NAME ID GID PKEY". */
static int add_service(char *text)
{
	struct record record = { .lease = cpu_to_be32(U32_MAX) };
	char *name = strsep(&text, " "), *id = strsep(&text, " "), *gid = strsep(&text, " ");
	u64 id_value;
	u16 pkey;

	if (!text || strlen(name) > sizeof(record.name) || kstrtou64(id, 0, &id_value) ||
	    !in6_pton(gid, -1, record.gid, -1, NULL) || kstrtou16(text, 0, &pkey))
		return -EINVAL;
	memcpy(record.name, name, strlen(name));
	record.id = cpu_to_be64(id_value);
	record.pkey = cpu_to_be16(pkey);
	if (count == RECORDS)
		return -ENOSPC;
	/* To tell the record by. */
	record.data[0] = count;
	services[count++] = record;
	return 0;
}

/* hca_sa_write_services: "clear", or "add NAME ID GID PKEY". */
int hca_sa_write_services(char *text)
{
	int ret = -EINVAL;

	mutex_lock(&services_lock);
	if (!strcmp(text, "clear")) {
		count = 0;
		ret = 0;
	} else if (!strcmp(strsep(&text, " "), "add") && text) {
		ret = add_service(text);
	}
	mutex_unlock(&services_lock);
	return ret;
}

void hca_sa_show_services(struct seq_file *file)
{
	unsigned int i;

	mutex_lock(&services_lock);
	for (i = 0; i < count; i++)
		seq_printf(file, "%.64s %#llx %pI6c %#x\n", services[i].name,
			   be64_to_cpu(services[i].id), services[i].gid,
			   be16_to_cpu(services[i].pkey));
	mutex_unlock(&services_lock);
}

static void end_transfer(struct transfer *transfer)
{
	list_del(&transfer->entry);
	waiting--;
	kfree(transfer);
}

/* Module exit, when the fabric is off. */
void hca_sa_services_exit(void)
{
	struct transfer *transfer, *next;

	list_for_each_entry_safe(transfer, next, &transfers, entry)
		end_transfer(transfer);
}

static bool is_wanted(const struct record *record, const struct record *asked,
		      ib_sa_comp_mask mask)
{
	if (mask & IB_SA_SERVICE_REC_SERVICE_ID && record->id != asked->id)
		return false;
	return !(mask & IB_SA_SERVICE_REC_SERVICE_NAME) ||
	       !memcmp(record->name, asked->name, sizeof(record->name));
}

/* find_services: the answer to a question. */
static struct transfer *find_services(const struct hca_packet *packet)
{
	const struct ib_sa_mad *mad = (const struct ib_sa_mad *)packet->data;
	struct transfer *transfer = kzalloc(struct_size(transfer, data, sizeof(services)),
					    GFP_KERNEL);
	unsigned int i;

	if (!transfer)
		return NULL;
	transfer->lid = packet->slid;
	transfer->tid = mad->mad_hdr.tid;
	mutex_lock(&services_lock);
	for (i = 0; i < count; i++) {
		if (!is_wanted(&services[i], (const struct record *)mad->data,
			       mad->sa_hdr.comp_mask))
			continue;
		memcpy(transfer->data + transfer->len, &services[i], sizeof(services[i]));
		transfer->len += sizeof(services[i]);
	}
	mutex_unlock(&services_lock);
	if (waiting == TRANSFERS)
		end_transfer(list_first_entry(&transfers, struct transfer, entry));
	list_add_tail(&transfer->entry, &transfers);
	waiting++;
	return transfer;
}

static struct transfer *find_transfer(const struct hca_packet *packet)
{
	const struct ib_sa_mad *mad = (const struct ib_sa_mad *)packet->data;
	struct transfer *transfer;

	list_for_each_entry(transfer, &transfers, entry)
		if (transfer->lid == packet->slid && transfer->tid == mad->mad_hdr.tid)
			return transfer;
	return NULL;
}

/* new_answer: a MAD with the headers of its question. */
static struct hca_packet *new_answer(const struct hca_packet *packet, u16 status)
{
	struct hca_packet *answer = hca_packet_answer(packet);
	struct ib_sa_mad *reply;

	if (!answer)
		return NULL;
	reply = (struct ib_sa_mad *)answer->data;
	memcpy(reply, packet->data, offsetof(struct ib_sa_mad, data));
	memset(&reply->rmpp_hdr, 0, sizeof(reply->rmpp_hdr));
	reply->mad_hdr.method |= IB_MGMT_METHOD_RESP;
	reply->mad_hdr.status = cpu_to_be16(status);
	return answer;
}

/* send_segment: segment @number of @all, from 1 on. */
static void send_segment(const struct hca_packet *packet, const struct transfer *transfer,
			 u32 number, u32 all)
{
	struct hca_packet *answer = new_answer(packet, 0);
	struct ib_sa_mad *reply;
	u32 from, len, payload = 0;
	u8 flags = IB_MGMT_RMPP_FLAG_ACTIVE;

	if (!answer)
		return;
	reply = (struct ib_sa_mad *)answer->data;
	from = (number - 1) * sizeof(reply->data);
	len = min_t(u32, transfer->len - from, sizeof(reply->data));
	/* The first segment has the length of all, the last one its own. */
	if (number == 1) {
		flags |= IB_MGMT_RMPP_FLAG_FIRST;
		payload = all * SA_HDR + transfer->len;
	}
	if (number == all) {
		flags |= IB_MGMT_RMPP_FLAG_LAST;
		payload = SA_HDR + len;
	}
	reply->rmpp_hdr.rmpp_version = IB_MGMT_RMPP_VERSION;
	reply->rmpp_hdr.rmpp_type = IB_MGMT_RMPP_TYPE_DATA;
	reply->rmpp_hdr.rmpp_rtime_flags = flags;
	reply->rmpp_hdr.seg_num = cpu_to_be32(number);
	reply->rmpp_hdr.paylen_newwin = cpu_to_be32(payload);
	reply->sa_hdr.attr_offset = cpu_to_be16(sizeof(struct record) / 8);
	memcpy(reply->data, transfer->data + from, len);
	hca_fabric_send(answer);
}

/* send_segments: those behind @acked, up to @window. */
static void send_segments(const struct hca_packet *packet, struct transfer *transfer, u32 acked,
			  u32 window)
{
	/* Without a record there is a segment, too. */
	u32 all = max_t(u32, DIV_ROUND_UP(transfer->len, IB_MGMT_SA_DATA), 1), i;

	if (acked >= all) {
		end_transfer(transfer);
		return;
	}
	for (i = acked + 1; i <= min(window, all); i++)
		send_segment(packet, transfer, i, all);
}

/* hca_sa_services: a GetTable of ServiceRecords, or what follows of it. */
void hca_sa_services(const struct hca_packet *packet)
{
	const struct ib_sa_mad *mad = (const struct ib_sa_mad *)packet->data;
	const struct ib_rmpp_hdr *rmpp = &mad->rmpp_hdr;
	u16 status = READ_ONCE(hca_sa.status);
	struct hca_packet *refusal;
	struct transfer *transfer;

	if (ib_get_rmpp_flags((struct ib_rmpp_hdr *)rmpp) & IB_MGMT_RMPP_FLAG_ACTIVE) {
		transfer = find_transfer(packet);
		if (transfer && rmpp->rmpp_type == IB_MGMT_RMPP_TYPE_ACK)
			send_segments(packet, transfer, be32_to_cpu(rmpp->seg_num),
				      be32_to_cpu(rmpp->paylen_newwin));
		else if (transfer)
			end_transfer(transfer);
		return;
	}
	hca_count(status ? HCA_SA_REFUSED : HCA_SA_ANSWERED);
	if (status) {
		refusal = new_answer(packet, status);
		if (refusal)
			hca_fabric_send(refusal);
		return;
	}
	/* A question that comes again begins again. */
	transfer = find_transfer(packet);
	if (transfer)
		end_transfer(transfer);
	transfer = find_services(packet);
	if (transfer)
		send_segments(packet, transfer, 0, 1);
}
