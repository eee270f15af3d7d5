// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A fault at each place where the module allocates memory when it is loaded or unloaded, or when
 * a device is added. Loading succeeds or leaves nothing; a device without memory is removed like
 * others.
 *
 * RIG_MODULE in the environment is the module; it is not loaded before and after the tests.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rca_test.h"
#include "sweep.h"

#define MODULE "rdma_cm_alt"
#define KNOBS "/sys/kernel/debug/rca_hca"

/* Seconds for a test in an emulated guest. */
#define LONG_TIME 3000

static bool loaded(void)
{
	return !access("/sys/module/" MODULE, F_OK);
}

static int load_module(void)
{
	int fd = MUST(open(getenv("RIG_MODULE"), O_RDONLY | O_CLOEXEC));
	int ret = OR_ERRNO(syscall(SYS_finit_module, fd, "", 0));

	MUST(close(fd));
	return ret;
}

static int unload_module(void)
{
	return OR_ERRNO(syscall(SYS_delete_module, MODULE, O_NONBLOCK));
}

TEST(load_with_devices)
{
	struct text init = text_of_function("do_one_initcall");
	struct text leaks = text_of_function("sysfs_slab_add");
	struct sweep s = {};

	ktap_timeout(LONG_TIME);
	/* Not in the module loader of the kernel. */
	faults_within(&init, &leaks);	/* tests/robust/stock/slab_name.c */
	while (sweep_more(&s)) {
		if (SWEEP_FAILS(&s, load_module())) {
			EXPECT(!loaded());
			continue;
		}
		EXPECT_EQ(access(DEVICE, F_OK), 0);
		EXPECT_EQ(unload_module(), 0);
	}
	faults_within(NULL, NULL);
	EXPECT(!loaded());
}

TEST(unload_with_devices)
{
	struct sweep s = {};

	ktap_timeout(LONG_TIME);
	while (sweep_more(&s)) {
		EXPECT_EQ(load_module(), 0);
		if (SWEEP_FAILS(&s, unload_module())) {
			EXPECT_EQ(s.ret, -EFAULT);	/* the name was not read */
			EXPECT_EQ(unload_module(), 0);
		}
		EXPECT(!loaded());
	}
}

/* A request of RDMA netlink. */
struct request {
	struct nlmsghdr head;
	char attrs[256];
};

static void put_attr(struct request *req, uint16_t type, const void *data, size_t len)
{
	struct nlattr *attr = (void *)req + NLMSG_ALIGN(req->head.nlmsg_len);

	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + len;
	memcpy((void *)attr + NLA_HDRLEN, data, len);
	req->head.nlmsg_len = NLMSG_ALIGN(req->head.nlmsg_len) + NLA_ALIGN(attr->nla_len);
}

static void put_text(struct request *req, uint16_t type, const char *text)
{
	put_attr(req, type, text, strlen(text) + 1);
}

static struct request make_request(int command)
{
	return (struct request){
		.head = {
			.nlmsg_len = NLMSG_HDRLEN,
			.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		},
	};
}

/* Sends a request; 0 or a negative errno. The kernel handles it inside send(). */
static int ask(int nl, struct request *req)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char more[1024];
	} answer;

	EXPECT_EQ(MUST(send(nl, req, req->head.nlmsg_len, 0)), req->head.nlmsg_len);
	MUST(recv(nl, &answer, sizeof(answer), 0));
	EXPECT_EQ(answer.head.nlmsg_type, NLMSG_ERROR);
	return answer.error.error;
}

static int get_netlink(void)
{
	return MUST(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
}

static int add_link(int nl, const char *type, const char *name, const char *netdev)
{
	struct request req = make_request(RDMA_NLDEV_CMD_NEWLINK);

	put_text(&req, RDMA_NLDEV_ATTR_DEV_NAME, name);
	put_text(&req, RDMA_NLDEV_ATTR_LINK_TYPE, type);
	put_text(&req, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	return ask(nl, &req);
}

static void shell(const char *format, const char *name)
{
	char command[256];

	snprintf(command, sizeof(command), format, name);
	EXPECT_EQ(system(command), 0);
}

/* Adds a device with one fault in the code of the module, and removes it. */
static void sweep_link(const char *type, const char *name, const char *netdev)
{
	struct sweep s = {};
	struct text ours;
	int nl;

	ktap_timeout(LONG_TIME);
	nl = get_netlink();
	EXPECT_EQ(load_module(), 0);
	ours = text_of_module(MODULE);
	faults_within(&ours, NULL);
	while (sweep_more(&s)) {
		SWEEP(&s, add_link(nl, type, name, netdev));
		EXPECT_EQ(s.ret, 0);
		/* The device may have no counters. */
		shell("build/rdma-cm-alt stats >%s", "/dev/null");
		shell("rdma link delete %s", name);
	}
	faults_within(NULL, NULL);
	EXPECT_EQ(unload_module(), 0);
}

TEST(device_of_rxe)
{
	shell("ip link add %s type dummy", "f0");
	shell("ip link set %s up", "f0");
	sweep_link("rxe", "rxe9", "f0");
	shell("ip link delete %s", "f0");
}

TEST(device_of_siw)
{
	if (system("modprobe -q siw"))
		ktap_skip("this kernel has no siw");
	shell("ip link add %s type dummy", "f0");
	shell("ip link set %s up", "f0");
	sweep_link("siw", "siw9", "f0");
	shell("ip link delete %s", "f0");
}

static int set_knob(const char *knob, const char *text)
{
	char path[128];
	int fd, ret;

	snprintf(path, sizeof(path), KNOBS "/%s", knob);
	fd = MUST(open(path, O_WRONLY | O_CLOEXEC));
	ret = OR_ERRNO(write(fd, text, strlen(text)));
	MUST(close(fd));
	return ret < 0 ? ret : 0;
}

/* The new adapter has the lowest number. */
TEST(device_of_the_software_adapter)
{
	struct sweep s = {};
	struct text ours;
	char name[64];
	int number;

	if (access(KNOBS, F_OK))
		ktap_skip("the software adapters are not loaded");
	ktap_timeout(LONG_TIME);
	EXPECT_EQ(load_module(), 0);
	ours = text_of_module(MODULE);
	faults_within(&ours, NULL);
	while (sweep_more(&s)) {
		SWEEP(&s, set_knob("add", "1"));
		EXPECT_EQ(s.ret, 0);
		for (number = 0; number < 1000; number++) {
			snprintf(name, sizeof(name), KNOBS "/hca%d", number);
			if (!access(name, F_OK))
				break;
		}
		EXPECT_EQ(set_knob("remove", strrchr(name, '/') + 1), 0);
	}
	faults_within(NULL, NULL);
	EXPECT_EQ(unload_module(), 0);
}

KTAP_MAIN
