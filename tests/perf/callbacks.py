# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""How long callbacks of ours hold the workers of ib_cm, ib_mad and ib_core, which all users of RDMA share.

Probes at the start and the end of each callback measure its time. They are in the kernel's trace, so the module has no
code for it.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from guest import IB, ROCE, Records, drive, fail
from stacks import Stack

TRACING = Path("/sys/kernel/tracing")
ROW = "callbacks"
# Functions that the core calls, on a worker of its own or in softirq.
CALLBACKS = ("conn_handler", "listen_handler", "query_callback", "neigh_event", "netdev_event")
# What loads them: a storm of connects, and a channel that is closed with thousands of ids.
LOADS = {"storm-ib": f"{IB} -n 4000 -w 0 storm", "storm-roce": f"{ROCE} -n 4000 -w 0 storm",
         "close-ib": f"{IB} -n 4000 close", "rate-ib": f"{IB} -n 4000 -w 64 rate"}


def _write(name: str, text: str) -> None:
    with open(TRACING / name, "a", encoding="ascii") as file:
        file.write(text + "\n")


class Probe:
    """Measures one function of the module."""

    def __init__(self, number: int, function: str, address: str) -> None:
        self.function = function
        self._name = f"{function}_{number}"
        _write("kprobe_events", f"p:rca/{self._name} 0x{address}")
        _write("kprobe_events", f"r:rca/{self._name}_end 0x{address}")
        _write("synthetic_events", f"rca_{self._name} u64 us")
        self._trigger("rca", self._name, "hist:keys=common_pid:ts0=common_timestamp.usecs")
        self._trigger("rca", f"{self._name}_end",
                      "hist:keys=common_pid:us=common_timestamp.usecs-$ts0:"
                      f"onmatch(rca.{self._name}).trace(rca_{self._name},$us)")
        self._trigger("synthetic", f"rca_{self._name}", "hist:keys=us:size=16384")

    @staticmethod
    def _trigger(system: str, event: str, text: str) -> None:
        _write(f"events/{system}/{event}/trigger", text)

    def times(self) -> Counter[int]:
        """The number of calls by their time in us."""
        text = (TRACING / f"events/synthetic/rca_{self._name}/hist").read_text()
        return Counter({int(us): int(hits) for us, hits in
                        re.findall(r"us: +(\d+) +\} hitcount: +(\d+)", text)})


def arm() -> list[Probe]:
    """Probes on all callbacks; names may be those of several functions."""
    Path("/proc/sys/kernel/kptr_restrict").write_text("0")
    found = [line.split() for line in Path("/proc/kallsyms").read_text().splitlines() if line.endswith("[rdma_cm_alt]")]
    wanted = [(name, address) for address, _, name, *_ in found if name in CALLBACKS]
    if not wanted:
        fail("no callback of the module is in /proc/kallsyms")
    return [Probe(number, name, address) for number, (name, address) in enumerate(wanted)]


def percentile(times: Counter[int], part: float) -> int:
    """The time that this part of the calls does not exceed."""
    left = sum(times.values()) * part
    for us in sorted(times):
        left -= times[us]
        if left <= 0:
            return us
    return max(times, default=0)


def measure(stack: Stack, records: Records) -> None:
    """Records the times of each callback under each load."""
    probes = arm()
    before = {probe: probe.times() for probe in probes}
    for load, words in LOADS.items():
        found = drive(stack, f"{words} -q {records.qpn(4000)}", 300)
        if "broken" in found or found.get("failures"):
            records.add(ROW, stack.name, {"broken": found.get("broken", found.get("why"))}, load)
            continue
        for probe in probes:
            now = probe.times()
            times = now - before[probe]
            before[probe] = now
            if count := sum(times.values()):
                records.add(ROW, stack.name, {
                    "function": probe.function, "count": count, "median": percentile(times, 0.5),
                    "p99": percentile(times, 0.99), "p999": percentile(times, 0.999),
                    "max": max(times)}, load)
