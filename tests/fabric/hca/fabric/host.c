// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Hosts that programs play. Host N has the file host/N, the LID 0x900 + N and the GID
 * fe80::2:c903:2:N, which the subnet administrator knows. It is on the switch while its file is
 * open, which one program at a time can do. A read returns MADs that were sent to its QP1, oldest
 * first, as records of inject.h; the file "inject" sends in its name.
 *
 * Locking: @hosts_lock, a mutex, for everything of the hosts, taken in process context.
 */
#include "fabric/host.h"

#include <linux/debugfs.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "fabric/fabric.h"
#include "fabric/inject.h"

#define HOSTS		16
#define HOST_LID	0x900	/* above all ports and the SA, below the simulated hosts */
#define HOST_GUID	0x0002c90300020000ULL
#define WAITING_MAX	1024	/* records that nobody has read; later ones are lost */

/* waiting: a record that was not read. */
struct waiting {
	struct list_head entry;
	struct hca_record record;
};

/* host: one of them, with what waits to be read. */
struct host {
	bool open;
	unsigned int count;
	struct list_head waiting;
	wait_queue_head_t readers;
};

static DEFINE_MUTEX(hosts_lock);
static struct host hosts[HOSTS];

/* hca_host_lid: the LID of the host with a GID, or 0; whether it is played or not. */
u16 hca_host_lid(const union ib_gid *gid)
{
	u64 number = be64_to_cpu(gid->global.interface_id) - HOST_GUID;

	if (gid->global.subnet_prefix != cpu_to_be64(0xfe80000000000000ULL) || number >= HOSTS)
		return 0;
	return HOST_LID + number;
}

static void keep_packet(struct host *host, const struct hca_packet *packet)
{
	struct waiting *waiting = NULL;

	if (host->count < WAITING_MAX)
		waiting = kmalloc(sizeof(*waiting), GFP_KERNEL);
	if (!waiting) {
		hca_count(HCA_TOO_MANY);
		return;
	}
	waiting->record.slid = cpu_to_be16(packet->slid);
	waiting->record.dlid = cpu_to_be16(packet->dlid);
	memcpy(waiting->record.mad, packet->data, sizeof(waiting->record.mad));
	list_add_tail(&waiting->entry, &host->waiting);
	host->count++;
	hca_count(HCA_DELIVERED);
	wake_up_interruptible(&host->readers);
}

/* Keeps a MAD for the program that plays its receiver; false: nobody does. */
bool hca_host_receive(const struct hca_packet *packet)
{
	unsigned int number = packet->dlid - HOST_LID;
	bool open;

	if (packet->dlid < HOST_LID || number >= HOSTS)
		return false;
	mutex_lock(&hosts_lock);
	open = hosts[number].open;
	if (open)
		keep_packet(&hosts[number], packet);
	mutex_unlock(&hosts_lock);
	return open;
}

static int host_open(struct inode *inode, struct file *file)
{
	struct host *host = inode->i_private;
	int ret = 0;

	mutex_lock(&hosts_lock);
	if (host->open)
		ret = -EBUSY;
	host->open = true;
	mutex_unlock(&hosts_lock);
	file->private_data = host;
	return ret ?: nonseekable_open(inode, file);
}

static int host_release(struct inode *inode, struct file *file)
{
	struct host *host = file->private_data;
	struct waiting *waiting, *next;

	mutex_lock(&hosts_lock);
	list_for_each_entry_safe(waiting, next, &host->waiting, entry) {
		list_del(&waiting->entry);
		kfree(waiting);
	}
	host->count = 0;
	host->open = false;
	mutex_unlock(&hosts_lock);
	return 0;
}

/* One record, or -EAGAIN: readers wait with poll(). */
static ssize_t host_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	struct host *host = file->private_data;
	struct waiting *waiting;
	ssize_t ret = sizeof(waiting->record);

	if (len < sizeof(waiting->record))
		return -EINVAL;
	mutex_lock(&hosts_lock);
	waiting = list_first_entry_or_null(&host->waiting, struct waiting, entry);
	if (waiting) {
		list_del(&waiting->entry);
		host->count--;
	}
	mutex_unlock(&hosts_lock);
	if (!waiting)
		return -EAGAIN;
	if (copy_to_user(to, &waiting->record, sizeof(waiting->record)))
		ret = -EFAULT;
	kfree(waiting);
	return ret;
}

static __poll_t host_poll(struct file *file, poll_table *table)
{
	struct host *host = file->private_data;
	__poll_t ready;

	poll_wait(file, &host->readers, table);
	mutex_lock(&hosts_lock);
	ready = host->count ? EPOLLIN | EPOLLRDNORM : 0;
	mutex_unlock(&hosts_lock);
	return ready;
}

static const struct file_operations host_fops = {
	.owner = THIS_MODULE,
	.open = host_open,
	.release = host_release,
	.read = host_read,
	.poll = host_poll,
};

/* Creates the files of all hosts, before any adapter is there. */
void hca_host_files(struct dentry *root)
{
	struct dentry *dir = debugfs_create_dir("host", root);
	unsigned int i;
	char name[4];

	for (i = 0; i < HOSTS; i++) {
		INIT_LIST_HEAD(&hosts[i].waiting);
		init_waitqueue_head(&hosts[i].readers);
		snprintf(name, sizeof(name), "%u", i);
		debugfs_create_file(name, 0400, dir, &hosts[i], &host_fops);
	}
}
