/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Ports: finding them by address, changing them, and saying so.
 */
#ifndef HCA_PORT_H
#define HCA_PORT_H

#include "hca.h"

void hca_port_init(struct hca_device *dev, u32 num);
struct hca_port *hca_port_by_lid(u16 lid);
struct hca_port *hca_port_by_gid(const union ib_gid *gid);
int hca_port_pkey_index(const struct hca_port *port, u16 pkey);
bool hca_port_shares_pkey(const struct hca_port *port, u16 pkey);
void hca_port_event(struct hca_port *port, enum ib_event_type type);
void hca_port_set_up(struct hca_port *port, bool up);
int hca_port_set_lid(struct hca_port *port, u16 lid);
int hca_port_set_pkeys(struct hca_port *port, const u16 *pkeys, unsigned int count);
int hca_port_set_gid(struct hca_port *port, unsigned int index, const union ib_gid *gid);

/* hca_pkeys_match: the same partition, and not both only limited members of it. */
static inline bool hca_pkeys_match(u16 a, u16 b)
{
	return (a & 0x7fff) && (a & 0x7fff) == (b & 0x7fff) && ((a | b) & 0x8000);
}

#endif /* HCA_PORT_H */
