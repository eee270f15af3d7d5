# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs whose instructions QEMU counts: for each stack a short and a long run, whose difference is the cost of one more
connection.

The guest runs under the plugin of tests/perf/count/. Each run is a part of its output, in the order of the records.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from guest import FLOOR, FLOOR_RUN, IB, MUTE, ROCE, Records, drive, fail, neighbour
from stacks import OURS, STOCK, Stack

OUT = Path("/out")
ROW = "count"


@dataclass(frozen=True)
class Case:
    """Runs of the driver with `words`, and which stacks they are for."""

    words: str
    window: int
    few: int
    more: int
    stacks: tuple[str, ...] = (OURS, STOCK)


CASES = {
    "roce-64": Case(f"{ROCE} %s rate", 64, 200, 1200),
    "ib-64": Case(f"{IB} %s rate", 64, 200, 1200),
    "roce-1": Case(f"{ROCE} %s rate", 1, 40, 440),
    "ib-1": Case(f"{IB} %s rate", 1, 40, 440),
    "ib-fused-64": Case(f"{IB} -F %s rate", 64, 200, 1200, (OURS,)),
    "floor-1": Case("-a none %s floor", 1, 40, 440, (FLOOR,)),
    "floor-64": Case("-a none %s floor", 64, 200, 1200, (FLOOR,)),
    "resolve": Case(f"-a {MUTE} %s resolve", 1, 40, 540),
}


def run_case(stack: Stack, case: Case, count: int, records: Records, is_counted: bool) -> dict:
    """Runs a case with so many connections; a counted run leaves the memory map of the driver."""
    stack.env["PERF_FLOOR"] = f"hca0 hca1 {count} {case.window}"
    own = f"-n {count} -w {case.window} -q {records.qpn(count)}"
    if is_counted:
        own += f" -k {OUT / 'maps'}"
    found = drive(stack, case.words % own, 300)
    if found.get("failures"):
        found["broken"] = found["why"]
    return found


def measure(stacks: tuple[Stack, Stack], records: Records, names: list[str],
            only: list[str] | None) -> None:
    """Runs the named cases, or all of them, for all stacks or some."""
    for name in names:
        if name not in CASES:
            fail(f"no case is called '{name}'; there are: {' '.join(CASES)}")
    by_name = {FLOOR: stacks[0], **{stack.name: stack for stack in stacks}}
    part = 0
    neighbour()
    for name in names or CASES:
        case = CASES[name]
        wanted = [stack for stack in case.stacks if stack in (only or case.stacks)
                  and (stack != FLOOR or FLOOR_RUN.exists())]
        # The first runs fill the caches of the kernel.
        for stack in wanted:
            run_case(by_name[stack], case, case.few, records, False)
        for number in records.rounds(3):
            for stack in wanted:
                for count in (case.few, case.more):
                    found = run_case(by_name[stack], case, count, records, True)
                    if "broken" in found:
                        records.add(ROW, stack, {"broken": found["broken"]}, name, number)
                        break
                    part += 1
                    shutil.move(OUT / "maps", OUT / f"{part}.maps")
                    records.add(ROW, stack, {"count": count, "part": part}, name, number)
    Path("/proc/sys/kernel/kptr_restrict").write_text("0")
    shutil.copyfile("/proc/kallsyms", OUT / "kallsyms")
