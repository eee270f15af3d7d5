// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Copies CM messages and frames of trunks into a ring buffer. Runs at tracepoints of ib_mad and of
 * the module. The structs of the kernel have only the members that are read; the offsets of these
 * in the running kernel come from its BTF when the program is loaded.
 */
#include "wire.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* The helpers that read kernel memory require a GPL-compatible license. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { CM_CLASS = 0x07, PORTS = 256, AH_GRH = 1, NO_POINTER = 4096 };
/* enum ib_wc_flags of the kernel. */
enum { WC_GRH = 1, WC_SMAC = 1 << 4, WC_NETWORK_TYPE = 1 << 6 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ib_device {
	char name[WIRE_DEVICE_LEN];
};

union ib_gid {
	__u8 raw[WIRE_GID_LEN];
};

enum ib_gid_type { GID_TYPE };

struct ib_gid_attr {
	union ib_gid gid;
	enum ib_gid_type gid_type;
};

struct ib_global_route {
	const struct ib_gid_attr *sgid_attr;
	union ib_gid dgid;
	__u8 hop_limit;
};

struct ib_ah_attr {
	__u16 dlid;
};

struct roce_ah_attr {
	__u8 dmac[6];
};

struct rdma_ah_attr {
	struct ib_global_route grh;
	__u8 sl;
	__u8 ah_flags;
	union {
		struct ib_ah_attr ib;
		struct roce_ah_attr roce;
	};
};

struct cm_av {
	struct rdma_ah_attr ah_attr;
};

struct cm_id_private {
	struct cm_av av;
};

struct ib_qp {
	__u32 qp_num;
};

struct ib_mad_port_private {
	struct ib_device *device;
	int port_num;
};

struct ib_mad_qp_info {
	struct ib_mad_port_private *port_priv;
	struct ib_qp *qp;
};

struct ib_mad_send_buf {
	void *mad;
	void *context[2];
	int retries;
};

struct ib_ud_wr {
	__u32 remote_qpn;
	__u32 remote_qkey;
	__u16 pkey_index;
};

struct ib_mad_send_wr_private {
	struct ib_mad_send_buf send_buf;
	struct ib_ud_wr send_wr;
};

struct ib_wc {
	__u32 src_qp;
	__u32 slid;
	int wc_flags;
	__u16 pkey_index;
	__u8 sl;
	__u8 dlid_path_bits;
	__u8 smac[6];
	__u8 network_hdr_type;
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} messages SEC(".maps");

/* Messages for which the ring buffer had no room. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PORTS);
	__type(key, struct wire_port);
	__type(value, __u64);
} drops SEC(".maps");

static void count_drop(const struct wire_port *port)
{
	__u64 one = 1, *count = bpf_map_lookup_elem(&drops, port);

	if (count) {
		__sync_fetch_and_add(count, 1);
	} else if (bpf_map_update_elem(&drops, port, &one, BPF_NOEXIST)) {
		count = bpf_map_lookup_elem(&drops, port);	/* another processor was first */
		if (count)
			__sync_fetch_and_add(count, 1);
	}
}

/* Returns a message with room for @most bytes, and zeroed members; NULL: there is no room. */
static __always_inline struct wire_message *begin(const struct wire_port *port, __u8 kind, __u8 way,
						  __u64 most)
{
	struct wire_message *message =
		bpf_ringbuf_reserve(&messages, offsetof(struct wire_message, bytes) + most, 0);

	if (!message) {
		count_drop(port);
		return NULL;
	}
	__builtin_memset(message, 0, offsetof(struct wire_message, bytes));
	message->time = bpf_ktime_get_ns();
	message->port = *port;
	message->kind = kind;
	message->way = way;
	return message;
}

static void get_port(struct wire_port *port, const struct ib_mad_qp_info *qp_info)
{
	const struct ib_device *device = BPF_CORE_READ(qp_info, port_priv, device);

	__builtin_memset(port, 0, sizeof(*port));
	port->port = BPF_CORE_READ(qp_info, port_priv, port_num);
	bpf_core_read_str(port->device, sizeof(port->device), &device->name);
}

static int is_cm(const void *mad)
{
	__u8 class = 0;

	bpf_probe_read_kernel(&class, sizeof(class), mad + 1);
	return class == CM_CLASS;
}

/*
 * ib_cm sends some messages without a cm_id, and after Linux 6.12 more: then the context is NULL,
 * or a number that determines how they are repeated.
 */
static void get_destination(struct wire_message *message, const struct cm_id_private *cm_id)
{
	const struct ib_gid_attr *sgid_attr;

	if ((unsigned long)cm_id < NO_POINTER)
		return;
	message->addressed = 1;
	message->sl = BPF_CORE_READ(cm_id, av.ah_attr.sl);
	message->lid = BPF_CORE_READ(cm_id, av.ah_attr.ib.dlid);
	bpf_core_read(message->mac, sizeof(message->mac), &cm_id->av.ah_attr.roce.dmac);
	message->grh_valid = BPF_CORE_READ(cm_id, av.ah_attr.ah_flags) & AH_GRH;
	message->hop_limit = BPF_CORE_READ(cm_id, av.ah_attr.grh.hop_limit);
	bpf_core_read(message->gid, sizeof(message->gid), &cm_id->av.ah_attr.grh.dgid);
	sgid_attr = BPF_CORE_READ(cm_id, av.ah_attr.grh.sgid_attr);
	if (!sgid_attr)
		return;
	message->gid_type = BPF_CORE_READ(sgid_attr, gid_type);
	bpf_core_read(message->own_gid, sizeof(message->own_gid), &sgid_attr->gid);
}

static int record_sent(struct bpf_raw_tracepoint_args *ctx)
{
	const struct ib_mad_send_wr_private *wr = (void *)ctx->args[0];
	const struct ib_mad_qp_info *qp_info = (void *)ctx->args[1];
	const void *mad = BPF_CORE_READ(wr, send_buf.mad);
	struct wire_message *message;
	struct wire_port port;

	if (!is_cm(mad))
		return 0;
	get_port(&port, qp_info);
	message = begin(&port, WIRE_CM, WIRE_SENT, WIRE_MAD);
	if (!message)
		return 0;
	if (BPF_CORE_READ(wr, send_buf.retries) > 0)
		message->way = WIRE_SENT_AGAIN;
	message->qpn = BPF_CORE_READ(qp_info, qp, qp_num);
	message->peer_qpn = BPF_CORE_READ(wr, send_wr.remote_qpn);
	message->qkey = BPF_CORE_READ(wr, send_wr.remote_qkey);
	message->pkey_index = BPF_CORE_READ(wr, send_wr.pkey_index);
	get_destination(message, BPF_CORE_READ(wr, send_buf.context[0]));
	message->len = WIRE_MAD;
	bpf_probe_read_kernel(message->bytes, WIRE_MAD, mad);
	bpf_ringbuf_submit(message, 0);
	return 0;
}

SEC("raw_tp/ib_mad_ib_send_mad")
int send_mad(struct bpf_raw_tracepoint_args *ctx)
{
	return record_sent(ctx);
}

/* Messages that waited for room in the send queue. */
SEC("raw_tp/ib_mad_send_done_resend")
int send_mad_later(struct bpf_raw_tracepoint_args *ctx)
{
	return record_sent(ctx);
}

SEC("raw_tp/ib_mad_recv_done_handler")
int receive_mad(struct bpf_raw_tracepoint_args *ctx)
{
	const struct ib_mad_qp_info *qp_info = (void *)ctx->args[0];
	const struct ib_wc *wc = (void *)ctx->args[1];
	const void *mad = (void *)ctx->args[2];
	struct wire_message *message;
	struct wire_port port;
	int flags;

	if (!is_cm(mad))
		return 0;
	get_port(&port, qp_info);
	message = begin(&port, WIRE_CM, WIRE_RECEIVED, WIRE_MAD);
	if (!message)
		return 0;
	message->qpn = BPF_CORE_READ(qp_info, qp, qp_num);
	message->peer_qpn = BPF_CORE_READ(wc, src_qp);
	message->qkey = 0x80010000;		/* of QP 1, the only one that takes CM messages */
	message->pkey_index = BPF_CORE_READ(wc, pkey_index);
	message->sl = BPF_CORE_READ(wc, sl);
	message->lid = BPF_CORE_READ(wc, slid);
	message->path_bits = BPF_CORE_READ(wc, dlid_path_bits);
	flags = BPF_CORE_READ(wc, wc_flags);
	message->grh_valid = flags & WC_GRH;
	/* Drivers do not set members that their hardware does not report. */
	message->gid_type = flags & WC_NETWORK_TYPE ? BPF_CORE_READ(wc, network_hdr_type) :
						      WIRE_GID_TYPE_UNKNOWN;
	if (flags & WC_SMAC)
		bpf_core_read(message->mac, sizeof(message->mac), &wc->smac);
	/* ib_mad receives the GRH in front of the message. */
	bpf_probe_read_kernel(message->grh, WIRE_GRH_LEN, mad - WIRE_GRH_LEN);
	message->len = WIRE_MAD;
	bpf_probe_read_kernel(message->bytes, WIRE_MAD, mad);
	bpf_ringbuf_submit(message, 0);
	return 0;
}

/* TP_PROTO: device, port, sgid, dgid, pkey, qpn, peer_qpn, sent, data, len, gid_type, session. */
SEC("raw_tp/rca_frame")
int frame(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 len = ctx->args[9];
	struct wire_message *message;
	struct wire_port port = {};

	port.port = ctx->args[1];
	bpf_probe_read_kernel_str(port.device, sizeof(port.device), (void *)ctx->args[0]);
	message = begin(&port, WIRE_TRUNK, ctx->args[7] & 0xff ? WIRE_SENT : WIRE_RECEIVED,
			WIRE_FRAME);
	if (!message)
		return 0;
	message->addressed = 1;
	message->grh_valid = 1;
	bpf_probe_read_kernel(message->own_gid, WIRE_GID_LEN, (void *)ctx->args[2]);
	bpf_probe_read_kernel(message->gid, WIRE_GID_LEN, (void *)ctx->args[3]);
	message->pkey = ctx->args[4];
	message->qpn = ctx->args[5];
	message->peer_qpn = ctx->args[6];
	message->gid_type = ctx->args[10];
	message->session = ctx->args[11];
	if (len > WIRE_FRAME)
		len = WIRE_FRAME;
	message->len = len;
	bpf_probe_read_kernel(message->bytes, len, (void *)ctx->args[8]);
	bpf_ringbuf_submit(message, 0);
	return 0;
}
