/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The subnet administrator: it answers PathRecord, MCMemberRecord, ServiceRecord and
 * ClassPortInfo.
 */
#ifndef HCA_SA_H
#define HCA_SA_H

#include <linux/types.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_sa.h>

/* Older kernels have no name for it. */
#define HCA_SA_GET_TABLE	0x12

/* What an SA says in the status of an answer. */
#define HCA_SA_NO_RESOURCES	0x0100
#define HCA_SA_REQ_INVALID	0x0200
#define HCA_SA_NO_RECORDS	0x0300
#define HCA_SA_INVALID_GID	0x0500
#define HCA_SA_INSUFFICIENT	0x0600

struct hca_packet;
struct seq_file;

/**
 * struct hca_sa_settings - what a test can say about the SA; plain words, written at any time
 * @lid: where it is; the ports are told of a change by an event
 * @status: it refuses PathRecords and ServiceRecords with this status, 0 for none
 * @lifetime: packet lifetime in PathRecords, as an exponent
 * @hop_limit: in PathRecords; more than 1 makes paths with a global route header
 * @sl: service level in PathRecords
 * @mtu: in PathRecords, as the enumeration of the verbs has it
 * @rate: in PathRecords, as the enumeration of the verbs has it
 */
struct hca_sa_settings {
	u32 lid;
	u32 status;
	u32 lifetime;
	u32 hop_limit;
	u32 sl;
	u32 mtu;
	u32 rate;
};

extern struct hca_sa_settings hca_sa;

/* hca_sa_lid: where the SA is now. */
static inline u16 hca_sa_lid(void)
{
	return READ_ONCE(hca_sa.lid);
}

void hca_sa_request(const struct hca_packet *packet);

/* sa_group.c: multicast groups */
u16 hca_sa_join(const struct ib_sa_mad *mad, void *record);
u16 hca_sa_leave(const struct ib_sa_mad *mad, void *record);
u16 hca_sa_get_group(const struct ib_sa_mad *mad, void *record);
bool hca_sa_receives(const union ib_gid *mgid, u64 port_guid);
void hca_sa_port_gone(u64 port_guid);
void hca_sa_forget(void);
void hca_sa_show_groups(struct seq_file *file);

/* sa_service.c: service records */
void hca_sa_services(const struct hca_packet *packet);
int hca_sa_write_services(char *text);
void hca_sa_show_services(struct seq_file *file);
void hca_sa_services_exit(void);

#endif /* HCA_SA_H */
