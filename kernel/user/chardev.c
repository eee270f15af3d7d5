// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The character device /dev/rdma_cm_alt: an open of it is a context.
 *
 * Locking: none.
 */
#include "user/chardev.h"

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>

#include "cm/shutdown.h"
#include "ctx/objects.h"
#include "user/ioctl.h"

static int chardev_open(struct inode *inode, struct file *file)
{
	struct rca_ctx *ctx = rca_ctx_create();

	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	file->private_data = ctx;	/* put in chardev_release() */
	return nonseekable_open(inode, file);
}

static int chardev_release(struct inode *inode, struct file *file)
{
	struct rca_ctx *ctx = file->private_data;

	rca_ctx_shutdown(ctx);
	rca_ctx_put(ctx);
	return 0;
}

static long chardev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return rca_ioctl(file->private_data, cmd, (void __user *)arg);
}

static const struct file_operations chardev_fops = {
	.owner = THIS_MODULE,
	.open = chardev_open,
	.release = chardev_release,
	.unlocked_ioctl = chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/* Usable by everyone, as the stock device; ports below 1024 need CAP_NET_BIND_SERVICE. */
static struct miscdevice chardev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "rdma_cm_alt",
	.nodename = "rdma_cm_alt",
	.fops = &chardev_fops,
	.mode = 0666,
};

/* Module init, after everything else. Returns 0 or a negative errno. */
int rca_chardev_init(void)
{
	return misc_register(&chardev);
}

/* Module exit; no file is open. */
void rca_chardev_exit(void)
{
	misc_deregister(&chardev);
}
