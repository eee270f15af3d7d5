// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The kernel forgets the name of a slab cache that it cannot show in sysfs: sysfs_slab_add() does
 * not put the kobject whose kobject_init_and_add() has failed. With stock's modules alone.
 *
 * To see it:  scripts/vm debug -- 'modprobe -a stp llc; build/tests/robust/stock/slab_name \
 *	/lib/modules/$(uname -r)/kernel/net/bridge/bridge.ko bridge'
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sweep.h"

#define LEAKS "/sys/kernel/debug/kmemleak"

static int load_module(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	int ret;

	if (fd < 0) {
		perror(file);
		exit(2);
	}
	ret = OR_ERRNO(syscall(SYS_finit_module, fd, "", 0));
	close(fd);
	return ret;
}

int main(int argc, char **argv)
{
	struct text culprit = text_of_function("sysfs_slab_add");
	struct sweep s = {};

	if (argc != 3) {
		fprintf(stderr, "usage: slab_name FILE MODULE\n");
		return 2;
	}
	faults_within(&culprit, NULL);
	while (sweep_more(&s)) {
		SWEEP(&s, load_module(argv[1]));
		if (!s.ret)
			syscall(SYS_delete_module, argv[2], O_NONBLOCK);
	}
	faults_within(NULL, NULL);
	sleep(6);
	return system("echo scan >" LEAKS "; sleep 1; echo scan >" LEAKS "; ! grep . " LEAKS) != 0;
}
