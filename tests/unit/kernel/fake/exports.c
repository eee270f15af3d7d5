// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the tests of trunks, which are in another module, need of this one: its fixtures, and what
 * the engine does not export.
 *
 * Locking: none.
 */
#include "cm/cm.h"
#include "event/queue.h"
#include "fake/device_bench.h"
#include "fake/fake_suite.h"
#include "id/id.h"
#include "lib/compat.h"
#include "lib/sockaddr.h"
#include "lib/testing.h"
#include "lib/wire.h"
#include "transport/transport.h"

RCA_EXPORT(device_bench_exit);
RCA_EXPORT(device_bench_init);
RCA_EXPORT(device_bench_roce_init);
RCA_EXPORT(device_bench_suite_exit);
RCA_EXPORT(fake_active_id);
RCA_EXPORT(fake_child);
RCA_EXPORT(fake_expect_event);
RCA_EXPORT(fake_expect_state);
RCA_EXPORT(fake_message);
RCA_EXPORT(fake_suite_exit);
RCA_EXPORT(fake_suite_init);
RCA_EXPORT(fake_trunks);
RCA_EXPORT(rca_addr_port);
RCA_EXPORT(rca_cm_event);
RCA_EXPORT(rca_event_alloc);
RCA_EXPORT(rca_id_flush_work);
RCA_EXPORT(rca_obj_lookup);
RCA_EXPORT(rca_post);
RCA_EXPORT(rca_req_handler_for);
RCA_EXPORT(rca_stats_elsewhere);
RCA_EXPORT(rca_stats_sum);
RCA_EXPORT(rca_stats_trunk_name);
RCA_EXPORT(rca_wire_put_hdr);
RCA_EXPORT(rca_wire_service_id);
RCA_EXPORT(rig_bind_soon);
RCA_EXPORT(rig_destroy);
RCA_EXPORT(rig_expect_event);
RCA_EXPORT(rig_expect_no_event);
RCA_EXPORT(rig_expect_state);
RCA_EXPORT(rig_listening);
RCA_EXPORT(rig_new_id);
RCA_EXPORT(rig_params);
RCA_EXPORT(rig_resolved);
