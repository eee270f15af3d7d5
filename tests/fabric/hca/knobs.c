// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The files in debugfs by which a test controls adapters, links and the subnet manager. What a port
 * has, sysfs shows. tests/fabric/hca/hca.rst describes the texts.
 *
 *   rca_hca/add              write a number of ports: adds an adapter
 *   rca_hca/add_roce         write the name of a network device: adds an adapter of RoCE v1
 *   rca_hca/remove           write a name: removes that adapter
 *   rca_hca/rules            write a rule, "clear" or "seed N"; read what they did
 *   rca_hca/inject           write MADs to send (fabric/inject.c)
 *   rca_hca/host/N           read MADs that host N gets while the file is open (fabric/host.c)
 *   rca_hca/counters         packets by their fate
 *   rca_hca/messages         messages of connection managers by kind; write "clear"
 *   rca_hca/groups           multicast groups; write "forget" to drop all of them
 *   rca_hca/services         service records; write "add NAME ID GID PKEY" or "clear"
 *   rca_hca/peers            write how many simulated hosts there are (fabric/peers.c)
 *   rca_hca/sm_lid           write the LID of the SA; all ports get an event
 *   rca_hca/sa_*             the contents of PathRecords
 *   rca_hca/copied           write anything: a generation ID tells that this machine is a copy
 *   rca_hca/hcaN/fatal       write anything: IB_EVENT_DEVICE_FATAL
 *   rca_hca/hcaN/slow        milliseconds after which send requests of QP1 complete
 *   rca_hca/hcaN/P/state     write "up" or "down"
 *   rca_hca/hcaN/P/lid       write the LID
 *   rca_hca/hcaN/P/pkeys     write the P_Key table, as numbers
 *   rca_hca/hcaN/P/gids      the GID table; write "ROW GID"
 *   rca_hca/hcaN/P/event     write reregister, sm_change, lid_change, pkey_change or gid_change
 */
#include "knobs.h"

#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/inject.h"
#include "fabric/messages.h"
#include "fabric/peers.h"
#include "fabric/rules.h"
#include "fabric/sa.h"
#include "hca.h"
#include "port.h"

#define TEXT_MAX 512

static struct dentry *root;

/* knob: a file is two functions that are handed what the file is about. */
struct knob {
	const char *name;
	int (*write)(void *about, char *text);
	void (*show)(void *about, struct seq_file *file);
};

/* about: the private data of a file. */
struct about {
	const struct knob *knob;
	void *object;
};

static int add_write(void *unused, char *text)
{
	u32 ports;
	int ret = kstrtou32(text, 0, &ports);

	return ret ?: hca_device_add(ports);
}

static int add_roce_write(void *unused, char *text)
{
	return hca_device_add_roce(text);
}

static int remove_write(void *unused, char *text)
{
	return hca_device_remove(text);
}

static int rules_write(void *unused, char *text)
{
	u32 seed;

	if (!strcmp(text, "clear")) {
		hca_rules_clear();
		return 0;
	}
	if (sscanf(text, "seed %u", &seed) == 1) {
		hca_rules_seed(seed);
		return 0;
	}
	return hca_rules_add(text);
}

static void rules_show(void *unused, struct seq_file *file)
{
	hca_rules_show(file);
}

static void counters_show(void *unused, struct seq_file *file)
{
	hca_count_show(file);
}

static int messages_write(void *unused, char *text)
{
	if (strcmp(text, "clear"))
		return -EINVAL;
	hca_messages_clear();
	return 0;
}

static void messages_show(void *unused, struct seq_file *file)
{
	hca_messages_show(file);
}

static int groups_write(void *unused, char *text)
{
	if (strcmp(text, "forget"))
		return -EINVAL;
	hca_sa_forget();
	return 0;
}

static void groups_show(void *unused, struct seq_file *file)
{
	hca_sa_show_groups(file);
}

static int services_write(void *unused, char *text)
{
	return hca_sa_write_services(text);
}

static void services_show(void *unused, struct seq_file *file)
{
	hca_sa_show_services(file);
}

/* What the driver of the generation ID calls is not exported. -ENOENT: there is no such driver. */
static int copied_write(void *unused, char *text)
{
	struct kprobe probe = { .symbol_name = "add_vmfork_randomness" };
	void (*copied)(const void *id, size_t len);
	int ret = register_kprobe(&probe);
	u8 id[16];

	if (ret)
		return ret;
	copied = (void *)probe.addr;
	unregister_kprobe(&probe);
	get_random_bytes(id, sizeof(id));
	copied(id, sizeof(id));
	return 0;
}

static int fatal_write(void *object, char *text)
{
	struct hca_device *dev = object;

	hca_port_event(&dev->port[0], IB_EVENT_DEVICE_FATAL);
	return 0;
}

static int state_write(void *object, char *text)
{
	if (strcmp(text, "up") && strcmp(text, "down"))
		return -EINVAL;
	hca_port_set_up(object, text[0] == 'u');
	return 0;
}

static int lid_write(void *object, char *text)
{
	u16 lid;
	int ret = kstrtou16(text, 0, &lid);

	return ret ?: hca_port_set_lid(object, lid);
}

static int pkeys_write(void *object, char *text)
{
	u16 pkeys[HCA_PKEYS];
	unsigned int count = 0;
	char *word;
	int ret;

	while ((word = strsep(&text, " "))) {
		if (count == HCA_PKEYS)
			return -EINVAL;
		ret = kstrtou16(word, 0, &pkeys[count++]);
		if (ret)
			return ret;
	}
	return hca_port_set_pkeys(object, pkeys, count);
}

static int gids_write(void *object, char *text)
{
	char *row = strsep(&text, " ");
	union ib_gid gid;
	u32 index;
	int ret = kstrtou32(row, 0, &index);

	if (ret)
		return ret;
	if (!text || !in6_pton(text, -1, gid.raw, -1, NULL))
		return -EINVAL;
	return hca_port_set_gid(object, index, &gid);
}

static void gids_show(void *object, struct seq_file *file)
{
	struct hca_port *port = object;
	union ib_gid gids[HCA_GIDS];
	int i;

	spin_lock_irq(&hca_lock);
	memcpy(gids, port->gids, sizeof(gids));
	spin_unlock_irq(&hca_lock);
	for (i = 0; i < HCA_GIDS; i++)
		seq_printf(file, "%d %pI6c\n", i, gids[i].raw);
}

static int event_write(void *object, char *text)
{
	static const struct {
		const char *name;
		enum ib_event_type type;
	} events[] = {
		{ "reregister", IB_EVENT_CLIENT_REREGISTER },
		{ "sm_change", IB_EVENT_SM_CHANGE },
		{ "lid_change", IB_EVENT_LID_CHANGE },
		{ "pkey_change", IB_EVENT_PKEY_CHANGE },
		{ "gid_change", IB_EVENT_GID_CHANGE },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		if (!strcmp(text, events[i].name)) {
			hca_port_event(object, events[i].type);
			return 0;
		}
	}
	return -EINVAL;
}

/* all_ports: an event on each port; an adapter that comes or goes meanwhile may miss it. */
static void all_ports(enum ib_event_type type)
{
	struct hca_device *dev, *found;
	u32 skip, seen, i;

	for (skip = 0;; skip++) {
		seen = 0;
		found = NULL;
		spin_lock_irq(&hca_lock);
		list_for_each_entry(dev, &hca_devices, entry)
			if (seen++ == skip && dev->dir && ib_device_try_get(&dev->ib))
				found = dev;
		spin_unlock_irq(&hca_lock);
		if (seen <= skip)
			return;
		if (!found)
			continue;
		for (i = 0; i < found->ports; i++)
			hca_port_event(&found->port[i], type);
		ib_device_put(&found->ib);
	}
}

static int sm_lid_write(void *unused, char *text)
{
	u16 lid;
	int ret = kstrtou16(text, 0, &lid);

	if (ret)
		return ret;
	if (!lid || lid >= be16_to_cpu(IB_MULTICAST_LID_BASE))
		return -EINVAL;
	WRITE_ONCE(hca_sa.lid, lid);
	all_ports(IB_EVENT_SM_CHANGE);
	return 0;
}

static int knob_show(struct seq_file *file, void *unused)
{
	struct about *about = file->private;

	if (about->knob->show)
		about->knob->show(about->object, file);
	return 0;
}

static int knob_open(struct inode *inode, struct file *file)
{
	return single_open(file, knob_show, inode->i_private);
}

static ssize_t knob_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	struct about *about = file_inode(file)->i_private;
	char *text;
	int ret;

	if (!about->knob->write)
		return -EPERM;
	if (len > TEXT_MAX)
		return -E2BIG;
	text = memdup_user_nul(from, len);
	if (IS_ERR(text))
		return PTR_ERR(text);
	ret = about->knob->write(about->object, strim(text));
	kfree(text);
	return ret ?: len;
}

static const struct file_operations knob_fops = {
	.owner = THIS_MODULE,
	.open = knob_open,
	.read = seq_read,
	.write = knob_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static const struct knob root_knobs[] = {
	{ "add", add_write },
	{ "add_roce", add_roce_write },
	{ "remove", remove_write },
	{ "rules", rules_write, rules_show },
	{ "counters", NULL, counters_show },
	{ "messages", messages_write, messages_show },
	{ "groups", groups_write, groups_show },
	{ "services", services_write, services_show },
	{ "sm_lid", sm_lid_write },
	{ "copied", copied_write },
};

static const struct knob device_knobs[] = {
	{ "fatal", fatal_write },
};

static const struct knob port_knobs[] = {
	{ "state", state_write },
	{ "lid", lid_write },
	{ "pkeys", pkeys_write },
	{ "gids", gids_write, gids_show },
	{ "event", event_write },
};

static struct about root_about[ARRAY_SIZE(root_knobs)];

/* add_files: a file for each knob. Returns what is left of @about. */
static struct about *add_files(struct dentry *dir, const struct knob *knobs, size_t count,
			       struct about *about, void *object)
{
	for (; count; count--, knobs++, about++) {
		about->knob = knobs;
		about->object = object;
		debugfs_create_file(knobs->name, 0600, dir, about, &knob_fops);
	}
	return about;
}

void hca_knobs_init(void)
{
	root = debugfs_create_dir("rca_hca", NULL);
	add_files(root, root_knobs, ARRAY_SIZE(root_knobs), root_about, NULL);
	debugfs_create_file("inject", 0200, root, NULL, &hca_inject_fops);
	hca_host_files(root);
	debugfs_create_u32("peers", 0600, root, &hca_peers);
	debugfs_create_u32("sa_status", 0600, root, &hca_sa.status);
	debugfs_create_u32("sa_lifetime", 0600, root, &hca_sa.lifetime);
	debugfs_create_u32("sa_hop_limit", 0600, root, &hca_sa.hop_limit);
	debugfs_create_u32("sa_sl", 0600, root, &hca_sa.sl);
	debugfs_create_u32("sa_mtu", 0600, root, &hca_sa.mtu);
	debugfs_create_u32("sa_rate", 0600, root, &hca_sa.rate);
}

/* Waits for the users of the files. */
void hca_knobs_exit(void)
{
	debugfs_remove_recursive(root);
}

/* Creates the files of a registered adapter. */
void hca_knobs_add_device(struct hca_device *dev)
{
	size_t count = ARRAY_SIZE(device_knobs) + dev->ports * ARRAY_SIZE(port_knobs);
	struct dentry *dir, *port_dir;
	struct about *about;
	char name[8];
	u32 i;

	about = kcalloc(count, sizeof(*about), GFP_KERNEL);
	if (!about)
		return;
	dev->abouts = about;
	dir = debugfs_create_dir(dev_name(&dev->ib.dev), root);
	about = add_files(dir, device_knobs, ARRAY_SIZE(device_knobs), about, dev);
	debugfs_create_u32("slow", 0600, dir, &dev->slow_ms);
	for (i = 0; i < dev->ports; i++) {
		snprintf(name, sizeof(name), "%u", dev->port[i].num);
		port_dir = debugfs_create_dir(name, dir);
		about = add_files(port_dir, port_knobs, ARRAY_SIZE(port_knobs), about,
				  &dev->port[i]);
	}
	WRITE_ONCE(dev->dir, dir);
}

/* Removes the files of an adapter, which is still registered, and waits for their users. */
void hca_knobs_remove_device(struct hca_device *dev)
{
	debugfs_remove_recursive(xchg(&dev->dir, NULL));
	kfree(xchg(&dev->abouts, NULL));
}
