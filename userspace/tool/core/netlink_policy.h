/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Generated from Documentation/netlink/specs/rdma_cm_alt.yaml; do not edit it.
 *
 * In libnl, NLA_STRING requires the terminating NUL. Attributes that are not listed have
 * other types, whose lengths are checked where they are read.
 */
#ifndef NETLINK_POLICY_H
#define NETLINK_POLICY_H

#include <netlink/attr.h>
#include <rdma/rdma_cm_alt_netlink.h>

static const struct nla_policy policy[RDMA_CM_ALT_NL_A_MAX + 1] = {
	[RDMA_CM_ALT_NL_A_CTX] = { .type = NLA_U64 },
	[RDMA_CM_ALT_NL_A_HANDLE] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_ID] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_UID] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_PID] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_COMM] = { .type = NLA_STRING },
	[RDMA_CM_ALT_NL_A_STATE] = { .type = NLA_STRING },
	[RDMA_CM_ALT_NL_A_PS] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_QP_TYPE] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_DEV] = { .type = NLA_STRING },
	[RDMA_CM_ALT_NL_A_PORT] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_QPN] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_AGE] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_TIME] = { .type = NLA_U64 },
	[RDMA_CM_ALT_NL_A_SERIAL] = { .type = NLA_U64 },
	[RDMA_CM_ALT_NL_A_OP] = { .type = NLA_STRING },
	[RDMA_CM_ALT_NL_A_EVENT] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_STATUS] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_COUNTER] = { .type = NLA_NESTED },
	[RDMA_CM_ALT_NL_A_SPAN] = { .type = NLA_NESTED },
	[RDMA_CM_ALT_NL_A_NAME] = { .type = NLA_STRING },
	[RDMA_CM_ALT_NL_A_VALUE] = { .type = NLA_U64 },
	[RDMA_CM_ALT_NL_A_QUEUE] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_IDS] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_WAITING] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_RING] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_READERS] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_RECORD] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_BEFORE] = { .type = NLA_STRING },
	[RDMA_CM_ALT_NL_A_SINCE] = { .type = NLA_U64 },
	[RDMA_CM_ALT_NL_A_SERVICE] = { .type = NLA_U64 },
	[RDMA_CM_ALT_NL_A_PKEY] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_DLID] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_SL] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_HELLOS] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_PROTOCOL] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_FEATURES] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_GUID] = { .type = NLA_U64 },
	[RDMA_CM_ALT_NL_A_FAILURES] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_TRUNK] = { .type = NLA_STRING },
	[RDMA_CM_ALT_NL_A_FRAMES_SENT] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_FRAMES_RECEIVED] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_TRANSPORT] = { .type = NLA_STRING },
	[RDMA_CM_ALT_NL_A_NO_TRUNK] = { .type = NLA_STRING },
	[RDMA_CM_ALT_NL_A_RETRY] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_COMMON] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_COMM_ID] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_REMOTE_COMM_ID] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_SESSION] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_NUMBER] = { .type = NLA_U32 },
	[RDMA_CM_ALT_NL_A_BAD_FRAMES] = { .type = NLA_U32 },
};

#endif
