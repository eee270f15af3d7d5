/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Network devices and RDMA devices for tests, created as "ip" and "rdma" would. */
#ifndef RCA_NETRIG_H
#define RCA_NETRIG_H

#include <linux/types.h>

struct ib_device;
struct kunit_suite;

/**
 * NETRIG_NDEV - a network device; its other end is up, and does not answer
 */
#define NETRIG_NDEV "kunit0"

/** NETRIG_OTHER - the other end of NETRIG_NDEV */
#define NETRIG_OTHER "kunit1"

/** NETRIG_IP - address of NETRIG_NDEV, 10.77.0.1/24; it also has fd00:77::1/64 */
#define NETRIG_IP 0x0a4d0001

/** NETRIG_GATEWAY - gateway to 10.78.0.0/24 */
#define NETRIG_GATEWAY 0x0a4d0002

/** NETRIG_RDMA - the RDMA device that netrig_add_rdma() creates */
#define NETRIG_RDMA "kunit_rdma0"

/** NETRIG_PRIO - a packet priority, which VLANs map to NETRIG_VLAN_PRIO */
#define NETRIG_PRIO 6

/** NETRIG_VLAN_PRIO - see NETRIG_PRIO */
#define NETRIG_VLAN_PRIO 5

int netrig_up(void);
void netrig_down(void);
int netrig_set_link(bool up);
int netrig_set_address(u32 ip, bool there);
int netrig_delete_route(void);
int netrig_suite_init(struct kunit_suite *suite);
void netrig_suite_exit(struct kunit_suite *suite);
int netrig_route6(const char *to, const char *gateway, bool there);
int netrig_delete_ndev(const char *name);
int netrig_add_above(const char *kind, const char *name, const char *below);
int netrig_address(const char *name, const char *ip, bool there);
int netrig_mtu(const char *name, int mtu);
int netrig_add_rdma(const char *kind);
int netrig_add_rdma_on(const char *kind, const char *name);
struct ib_device *netrig_get_rdma(void);
int netrig_delete_rdma(void);

#endif /* RCA_NETRIG_H */
