// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Processes that repeatedly attach a QP to the same multicast group of a rxe device and detach
 * it again. rxe (6.1 and 6.12) removes the group from its tree with the last QP that is
 * detached, while another process that has found the group there (rxe_get_mcg()) is about to
 * attach its QP (rxe_attach_mcg()). That QP is then a member of a group that no lookup finds:
 * it cannot be detached, so it cannot be destroyed, and when its process ends
 * uverbs_destroy_ufile_hw() warns, which ends a guest. Uses stock modules and libibverbs only:
 *
 *	group_race DEVICE [SECONDS [PROCESSES]]
 *
 * The exit status is 0 when no QP was lost. No suite may let two processes join and leave one
 * group of one rxe device at the same time.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GROUP "ff0e::7471"

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	return context;
}

static struct ibv_qp *make_qp(struct ibv_context *context)
{
	struct ibv_cq *cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return cq && pd ? ibv_create_qp(pd, &attr) : NULL;
}

/* Returns whether every QP that was attached could be detached. */
static int member(const char *device, time_t end)
{
	struct ibv_context *context = open_device(device);
	struct ibv_qp *qp = context ? make_qp(context) : NULL;
	unsigned long count;
	union ibv_gid group;
	int ret;

	if (!qp)
		errx(2, "no QP on %s", device);
	if (inet_pton(AF_INET6, GROUP, group.raw) != 1)
		errx(2, "inet_pton");
	for (count = 0; time(NULL) < end; count++) {
		ret = ibv_attach_mcast(qp, &group, 0);
		if (ret)
			errx(2, "attach %lu: %s", count, strerror(ret));
		ret = ibv_detach_mcast(qp, &group, 0);
		if (ret) {
			printf("attached %lu times, then not detached: %s; QP destroyed: %s\n",
			       count + 1, strerror(ret), strerror(ibv_destroy_qp(qp)));
			fflush(stdout);
			sleep(1);	/* so that all of this is seen before the guest ends */
			return 1;
		}
	}
	printf("attached and detached %lu times\n", count);
	return 0;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 30);
	int processes = argc > 3 ? atoi(argv[3]) : 4;
	int bad = 0;

	if (argc < 2)
		errx(2, "usage: %s DEVICE [SECONDS [PROCESSES]]", argv[0]);
	for (int i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(2, "fork");
		if (!pid)
			exit(member(argv[1], end));
	}
	for (int i = 0; i < processes; i++) {
		int status = 0;

		wait(&status);
		bad |= status;
	}
	return bad ? 1 : 0;
}
