// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The SA's multicast groups: who is a member, with which rights.
 *
 * A group is made by the first that joins with all that a new group needs; the broadcast groups of
 * IPoIB are there when they are asked for, as if the subnet manager had made them.
 *
 * Locking: @groups_lock, a mutex; hca_lock inside of it, for the ports.
 */
#include "fabric/sa.h"

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "fabric/fabric.h"
#include "port.h"

#define FULL_MEMBER	BIT(0)
#define NON_MEMBER	BIT(1)
#define SEND_ONLY	BIT(2)
#define SEND_ONLY_FULL	BIT(3)

#define FIRST_MLID	0xc000
#define LAST_MLID	0xfffe
#define IPOIB_QKEY	0x0b1b

/* The record on the wire. */
struct record {
	union ib_gid mgid;
	union ib_gid port_gid;
	__be32 qkey;
	__be16 mlid;
	u8 mtu;
	u8 tclass;
	__be16 pkey;
	u8 rate;
	u8 lifetime;
	__be32 sl_flow_hop;
	u8 scope_state;
	u8 proxy;
	u8 reserved[2];
} __packed;
static_assert(sizeof(struct record) == 52);

/**
 * struct group - a multicast group
 * @entry: in the list of groups (lock: groups_lock)
 * @members: who is in it (lock: groups_lock)
 * @record: what it is like, without a member (lock: groups_lock)
 * @kept: it was made by the subnet manager and stays when the last member goes (immutable)
 */
struct group {
	struct list_head entry;
	struct list_head members;
	struct record record;
	bool kept;
};

/**
 * struct member - a port in a group
 * @entry: in the group (lock: groups_lock)
 * @port_gid: the port
 * @state: the rights it joined with, a bit each (lock: groups_lock)
 * @joins: how often it joined (lock: groups_lock)
 */
struct member {
	struct list_head entry;
	union ib_gid port_gid;
	u8 state;
	u32 joins;
};

static DEFINE_MUTEX(groups_lock);
static LIST_HEAD(groups);

static struct group *find_group(const union ib_gid *mgid)
{
	struct group *group;

	list_for_each_entry(group, &groups, entry)
		if (!memcmp(&group->record.mgid, mgid, sizeof(*mgid)))
			return group;
	return NULL;
}

static struct member *find_member(struct group *group, const union ib_gid *port)
{
	struct member *member;

	list_for_each_entry(member, &group->members, entry)
		if (!memcmp(&member->port_gid, port, sizeof(*port)))
			return member;
	return NULL;
}

static u16 free_mlid(void)
{
	struct group *group;
	u16 mlid;

	for (mlid = FIRST_MLID; mlid < LAST_MLID; mlid++) {
		bool taken = false;

		list_for_each_entry(group, &groups, entry)
			taken |= group->record.mlid == cpu_to_be16(mlid);
		if (!taken)
			break;
	}
	return mlid;
}

static void free_group(struct group *group)
{
	struct member *member, *next;

	list_for_each_entry_safe(member, next, &group->members, entry)
		kfree(member);
	list_del(&group->entry);
	kfree(group);
}

/* is_broadcast: ff1x:401b:PKEY::ffff:ffff, the group of an IPoIB subnet. */
static bool is_broadcast(const union ib_gid *mgid)
{
	static const u8 tail[10] = { [6] = 0xff, 0xff, 0xff, 0xff };

	return mgid->raw[0] == 0xff && mgid->raw[2] == 0x40 && mgid->raw[3] == 0x1b &&
	       !memcmp(mgid->raw + 6, tail, sizeof(tail));
}

/* new_mgid: for those that leave it to the SA; from ff12:a01b::/32. */
static void new_mgid(union ib_gid *mgid)
{
	static u32 next = 1;

	memset(mgid, 0, sizeof(*mgid));
	mgid->raw[0] = 0xff;
	mgid->raw[1] = 0x12;
	mgid->raw[2] = 0xa0;
	mgid->raw[3] = 0x1b;
	mgid->global.interface_id = cpu_to_be64(next++);
}

/* make_group: a group as @record says. Returns the status. */
static u16 make_group(const struct record *record, ib_sa_comp_mask mask, struct group **made)
{
	ib_sa_comp_mask needed = IB_SA_MCMEMBER_REC_PKEY | IB_SA_MCMEMBER_REC_QKEY |
				 IB_SA_MCMEMBER_REC_SL | IB_SA_MCMEMBER_REC_FLOW_LABEL |
				 IB_SA_MCMEMBER_REC_TRAFFIC_CLASS;
	bool broadcast = is_broadcast(&record->mgid);
	struct group *group;

	if (!broadcast && (mask & needed) != needed)
		return HCA_SA_INSUFFICIENT;
	if (!broadcast && !(record->scope_state & (FULL_MEMBER | SEND_ONLY_FULL)))
		return HCA_SA_REQ_INVALID;
	group = kzalloc(sizeof(*group), GFP_KERNEL);
	if (!group)
		return HCA_SA_NO_RESOURCES;
	INIT_LIST_HEAD(&group->members);
	group->record = *record;
	memset(&group->record.port_gid, 0, sizeof(group->record.port_gid));
	group->kept = broadcast;
	if (broadcast) {
		group->record.qkey = cpu_to_be32(IPOIB_QKEY);
		group->record.pkey = cpu_to_be16((record->mgid.raw[4] << 8 | record->mgid.raw[5]) |
						 0x8000);
		group->record.tclass = 0;
		group->record.sl_flow_hop = 0;
	}
	if (!(mask & IB_SA_MCMEMBER_REC_MGID) ||
	    !memchr_inv(&record->mgid, 0, sizeof(record->mgid)))
		new_mgid(&group->record.mgid);
	group->record.mlid = cpu_to_be16(free_mlid());
	group->record.mtu = IB_SA_EQ << 6 | (mask & IB_SA_MCMEMBER_REC_MTU && !broadcast ?
					     record->mtu & 0x3f : IB_MTU_2048);
	group->record.rate = IB_SA_EQ << 6 | (mask & IB_SA_MCMEMBER_REC_RATE && !broadcast ?
					      record->rate & 0x3f : IB_RATE_10_GBPS);
	group->record.lifetime = IB_SA_EQ << 6 | (READ_ONCE(hca_sa.lifetime) & 0x3f);
	group->record.scope_state = group->record.mgid.raw[1] << 4;
	list_add_tail(&group->entry, &groups);
	*made = group;
	return 0;
}

/* may_join: the port is there and in the partition. */
static bool may_join(const union ib_gid *port_gid, __be16 pkey)
{
	struct hca_port *port;
	bool may;

	spin_lock_irq(&hca_lock);
	port = hca_port_by_gid(port_gid);
	may = port && hca_port_shares_pkey(port, be16_to_cpu(pkey));
	spin_unlock_irq(&hca_lock);
	return may;
}

static u16 join_locked(const struct record *asked, ib_sa_comp_mask mask, struct record *answer)
{
	u8 state = asked->scope_state & 0xf;
	struct group *group = find_group(&asked->mgid);
	struct member *member;
	u16 status;

	if (!state || !(mask & IB_SA_MCMEMBER_REC_PORT_GID))
		return HCA_SA_INSUFFICIENT;
	if (!group) {
		status = make_group(asked, mask, &group);
		if (status)
			return status;
	} else if ((mask & IB_SA_MCMEMBER_REC_QKEY && asked->qkey != group->record.qkey) ||
		   (mask & IB_SA_MCMEMBER_REC_PKEY && asked->pkey != group->record.pkey)) {
		return HCA_SA_REQ_INVALID;
	}
	member = find_member(group, &asked->port_gid);
	if (!member) {
		member = may_join(&asked->port_gid, group->record.pkey) ?
			 kzalloc(sizeof(*member), GFP_KERNEL) : NULL;
		if (!member) {
			if (list_empty(&group->members) && !group->kept)
				free_group(group);
			return HCA_SA_REQ_INVALID;
		}
		member->port_gid = asked->port_gid;
		list_add_tail(&member->entry, &group->members);
	}
	member->state |= state;
	member->joins++;
	*answer = group->record;
	answer->port_gid = member->port_gid;
	answer->scope_state |= member->state;
	return 0;
}

/*
 * The handlers of MCMemberRecord write the record of the answer and return the status of the MAD.
 */
u16 hca_sa_join(const struct ib_sa_mad *mad, void *record)
{
	u16 status;

	mutex_lock(&groups_lock);
	status = join_locked((const struct record *)mad->data, mad->sa_hdr.comp_mask, record);
	mutex_unlock(&groups_lock);
	return status;
}

/* Removes join states of a port, with the last one the membership. */
u16 hca_sa_leave(const struct ib_sa_mad *mad, void *record)
{
	const struct record *asked = (const struct record *)mad->data;
	u8 state = asked->scope_state & 0xf;
	struct member *member = NULL;
	struct group *group;
	struct record *answer = record;

	mutex_lock(&groups_lock);
	group = find_group(&asked->mgid);
	if (group)
		member = find_member(group, &asked->port_gid);
	if (!member || !(member->state & state)) {
		mutex_unlock(&groups_lock);
		return HCA_SA_REQ_INVALID;
	}
	*answer = group->record;
	answer->port_gid = asked->port_gid;
	answer->scope_state |= state;
	member->state &= ~state;
	if (!member->state) {
		list_del(&member->entry);
		kfree(member);
	}
	if (list_empty(&group->members) && !group->kept)
		free_group(group);
	mutex_unlock(&groups_lock);
	return 0;
}

u16 hca_sa_get_group(const struct ib_sa_mad *mad, void *record)
{
	const struct record *asked = (const struct record *)mad->data;
	struct record *answer = record;
	struct group *group;

	mutex_lock(&groups_lock);
	group = find_group(&asked->mgid);
	if (group)
		*answer = group->record;
	mutex_unlock(&groups_lock);
	return group ? 0 : HCA_SA_NO_RECORDS;
}

/* Whether a port has joined a group for more than sending. */
bool hca_sa_receives(const union ib_gid *mgid, u64 port_guid)
{
	struct member *member;
	struct group *group;
	bool receives = false;

	mutex_lock(&groups_lock);
	group = find_group(mgid);
	if (group)
		list_for_each_entry(member, &group->members, entry)
			if (member->port_gid.global.interface_id == cpu_to_be64(port_guid))
				receives |= member->state & (FULL_MEMBER | NON_MEMBER);
	mutex_unlock(&groups_lock);
	return receives;
}

/* drop: the members for which @port_guid is right leave, all of them for 0. */
static void drop_members(u64 port_guid, bool all)
{
	struct member *member, *next_member;
	struct group *group, *next;

	mutex_lock(&groups_lock);
	list_for_each_entry_safe(group, next, &groups, entry) {
		list_for_each_entry_safe(member, next_member, &group->members, entry) {
			if (!all &&
			    member->port_gid.global.interface_id != cpu_to_be64(port_guid))
				continue;
			list_del(&member->entry);
			kfree(member);
		}
		if (all || (list_empty(&group->members) && !group->kept))
			free_group(group);
	}
	mutex_unlock(&groups_lock);
}

void hca_sa_port_gone(u64 port_guid)
{
	drop_members(port_guid, false);
}

/* Drops all groups and members, as a new subnet manager does. */
void hca_sa_forget(void)
{
	drop_members(0, true);
}

void hca_sa_show_groups(struct seq_file *file)
{
	struct member *member;
	struct group *group;

	mutex_lock(&groups_lock);
	list_for_each_entry(group, &groups, entry) {
		seq_printf(file, "%pI6c mlid %#x pkey %#x qkey %#x\n", group->record.mgid.raw,
			   be16_to_cpu(group->record.mlid), be16_to_cpu(group->record.pkey),
			   be32_to_cpu(group->record.qkey));
		list_for_each_entry(member, &group->members, entry)
			seq_printf(file, "  %pI6c state %#x joins %u\n", member->port_gid.raw,
				   member->state, member->joins);
	}
	mutex_unlock(&groups_lock);
}
