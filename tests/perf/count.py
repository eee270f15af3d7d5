# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs whose instructions QEMU counts: for each stack a short and a long run, whose difference is the cost of one more
connection.

The guest runs under the plugin of tests/perf/count/. Each run is a part of its output, in the order of the records. Other
objects may be there meanwhile, which another process of the driver holds.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from guest import (FLOOR, FLOOR_RUN, IB, KNOBS, MUTE, ROCE, Records, calm, drive, fail, neighbour, peers,
                   start)
from stacks import OURS, ROOT, STOCK, OverNode, Stack
from transport import trunks

OUT = Path("/out")
ROW = "count"


@dataclass(frozen=True)
class Case:
    """Runs of the driver with `words`, for some stacks; with the words of a driver that holds objects meanwhile, with so many
    more adapters of four ports each, over trunks, while the recorder keeps messages, and with Debian's librdmacm over
    rdma_cm_alt_ucm."""

    words: str
    window: int
    few: int
    more: int
    stacks: tuple[str, ...] = (OURS, STOCK)
    held: str = ""
    adapters: int = 0
    trunks: bool = False
    kept: bool = False
    ucm: bool = False


# What one more connection or address costs with others, peers and listeners there, which `held` holds.
FAR = "-a 10.16.0.0 -e -P"


def _live(words: str, live: int, peers: int, few: int, more: int) -> Case:
    held = f"{FAR} {peers} -n {live} -w 64 hold"
    return Case(f"{FAR} {peers} %s {words}", 1, few, more, (OURS,), held)


SCALE = {
    **{f"live-{live}-{peers}": _live("rate", live, peers, 100, 1100)
       for live, peers in ((100, 1), (1000, 1), (10000, 1), (100000, 1), (1000, 1000), (100000, 1000),
                           (100000, 10000))},
    **{f"resolve-{live}-{peers}": _live("resolve", live, peers, 100, 1100)
       for live, peers in ((100, 1), (100000, 10000))},
    **{f"listeners-{count}": Case(f"{IB} %s rate", 1, 40, 440, (OURS,), f"{IB} -p 20000 -n {count} listeners")
       for count in (1, 1000)},
    **{f"ports-{2 + 4 * adapters}": Case(f"{IB} %s rate", 1, 40, 440, (OURS,), adapters=adapters)
       for adapters in (0, 16)},
}
PEERS = 10000
INFINIBAND = Path("/sys/class/infiniband")
PATH_CACHE = Path("/proc/sys/net/rdma_cm_alt/path_cache_s")

CASES = {
    "roce-64": Case(f"{ROCE} %s rate", 64, 200, 1200),
    "ib-64": Case(f"{IB} %s rate", 64, 200, 1200),
    "roce-1": Case(f"{ROCE} %s rate", 1, 40, 440),
    "ib-1": Case(f"{IB} %s rate", 1, 40, 440),
    "kept-roce-64": Case(f"{ROCE} %s rate", 64, 200, 1200, (OURS,), kept=True),
    "ib-fused-64": Case(f"{IB} -F %s rate", 64, 200, 1200, (OURS,)),
    **{f"trunk-{name}": Case(f"{fabric} %s rate", window, few, more, (OURS,), trunks=True)
       for name, fabric, window, few, more in (("roce-64", ROCE, 64, 200, 1200), ("ib-64", IB, 64, 200, 1200),
                                               ("roce-1", ROCE, 1, 40, 440), ("ib-1", IB, 1, 40, 440))},
    **{f"trunk-{name}": Case(f"{fabric} -F %s rate", 64, 200, 1200, (OURS,), trunks=True)
       for name, fabric in (("roce-fused-64", ROCE), ("ib-fused-64", IB))},
    "floor-1": Case("-a none %s floor", 1, 40, 440, (FLOOR,)),
    "floor-64": Case("-a none %s floor", 64, 200, 1200, (FLOOR,)),
    "messages": Case(f"{ROCE} %s messages", 1, 100, 1100),
    "bulk": Case(f"{ROCE} %s bulk", 1, 64, 1088),
    "streams": Case(f"{ROCE} %s streams", 1, 20, 120),
    # What a connection of an rsocket is compared with.
    "roce-qp-1": Case(f"{ROCE} -Q %s rate", 1, 40, 240),
    # From the first call to the last, with a QP that carries a message and its answer.
    **{f"{over}cycle-{window}": Case(f"{ROCE} -M %s cycle", window, few, more, (OURS,) if over else (OURS, STOCK),
                                     trunks=bool(over))
       for over in ("", "trunk-") for window, few, more in ((64, 200, 1200), (1, 40, 440))},
    "resolve": Case(f"-a {MUTE} %s resolve", 1, 40, 540),
    # Last, as a node that is made again is hidden from no stack.
    **{f"ucm-{name}": Case(f"{fabric} %s rate", window, few, more, (OURS,), ucm=True)
       for name, fabric, window, few, more in (("roce-64", ROCE, 64, 200, 1200), ("ib-64", IB, 64, 200, 1200),
                                               ("roce-1", ROCE, 1, 40, 440), ("ib-1", IB, 1, 40, 440))},
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


@contextmanager
def _adapters(count: int) -> Iterator[None]:
    """More adapters are plugged in meanwhile."""
    before = set(INFINIBAND.iterdir())
    for _ in range(count):
        (KNOBS / "add").write_text("4")
    if count:
        calm()
    yield
    for device in set(INFINIBAND.iterdir()) - before:
        (KNOBS / "remove").write_text(device.name)


@contextmanager
def over(on_trunks: bool) -> Iterator[None]:
    """Connections are made over trunks, of which the first run opens those that it needs, or over ib_cm."""
    with trunks(on_trunks):
        yield
    if on_trunks:
        calm()


@contextmanager
def _held(stack: Stack, words: str) -> Iterator[None]:
    """Another process holds its objects meanwhile."""
    if not words:
        yield
        return
    holder = start(stack, words, 900)
    try:
        said = holder.stdout.readline()
        if '"failures": 0' not in said:
            fail(f"'{words}' does not hold its objects: {said or holder.stderr.read()}")
        yield
    finally:
        holder.kill()
        holder.communicate()
        calm()


@contextmanager
def _kept(on: bool) -> Iterator[None]:
    """The recorder keeps the last messages meanwhile."""
    if not on:
        yield
        return
    with subprocess.Popen([ROOT / "build/rdma-cm-alt", "record", "--keep", "1000"], stderr=subprocess.PIPE, text=True) as keeper:
        said = keeper.stderr.readline()
        if "keeping the last 1000" not in said:
            fail(f"the recorder does not keep messages: {said}{keeper.stderr.read()}")
        yield
        keeper.terminate()


def _switch_ucm(on: bool) -> None:
    subprocess.run(["bash", "-c", f". tests/harness/guest/rig.sh && rig_switch_ucm {int(on)}"], cwd=ROOT, check=True)


@contextmanager
def _stack_of(case: Case, stack: Stack) -> Iterator[Stack]:
    """The stack of a case, whose node is that of rdma_cm_alt_ucm meanwhile."""
    if not case.ucm:
        yield stack
        return
    _switch_ucm(True)
    try:
        yield OverNode()
    finally:
        _switch_ucm(False)


def _over_trunks() -> int:
    """The number of connections that were requested over trunks so far."""
    ports = json.loads(subprocess.run([ROOT / "build/rdma-cm-alt", "-j", "stats"], check=True, capture_output=True).stdout)
    return sum(port["counters"].get("trunk-connect", 0) for port in ports)


def _run(stack: Stack, case: Case, count: int, records: Records) -> dict:
    """A counted run, all of whose connections were made over trunks if that is the case."""
    before = _over_trunks() if case.trunks else 0
    found = run_case(stack, case, count, records, True)
    if case.trunks and "broken" not in found:
        used = _over_trunks() - before
        if used < count:
            return {"broken": f"{count - used} of {count} connections were not made over a trunk"}
    return found


def _rounds(stack: Stack, add: Callable[[dict, int], None], case: Case, records: Records,
            parts: Iterator[int]) -> None:
    # The first run fills the caches of the kernel, that of paths among them.
    run_case(stack, case, case.more if case.held else case.few, records, False)
    for number in records.rounds(3):
        for count in (case.few, case.more):
            (OUT / "maps").unlink(missing_ok=True)
            found = _run(stack, case, count, records)
            # Every run that was marked has a part, whatever came of it.
            part = next(parts) if (OUT / "maps").exists() else 0
            if "broken" in found:
                add({"broken": found["broken"]}, number)
                break
            shutil.move(OUT / "maps", OUT / f"{part}.maps")
            add({"count": count, "part": part}, number)


def measure(stacks: tuple[Stack, Stack], records: Records, names: list[str],
            only: list[str] | None) -> None:
    """Runs the named cases, all of SCALE if one is called "scale", or all of CASES; for all stacks or some."""
    known = {**CASES, **SCALE}
    names = [name for word in names for name in (SCALE if word == "scale" else [word])]
    for name in names:
        if name not in known:
            fail(f"no case is called '{name}'; there are: {' '.join(known)}")
    # The floor is a module, whose driver is the same with either stack.
    by_name = {FLOOR: stacks[0], **{stack.name: stack for stack in stacks}}
    parts = itertools.count(1)
    neighbour()
    if any(name in SCALE for name in names):
        peers(PEERS)
        # A path must not become too old while objects are created.
        PATH_CACHE.write_text("3600")

    def run_all(name: str) -> None:
        case = known[name]
        for stack in case.stacks:
            if stack not in (only or case.stacks) or (stack == FLOOR and not FLOOR_RUN.exists()):
                continue

            def add(found: dict, number: int, stack: str = stack, name: str = name) -> None:
                records.add(ROW, stack, found, name, number)

            with _adapters(case.adapters), _held(by_name[stack], case.held), _kept(case.kept), \
                    _stack_of(case, by_name[stack]) as used:
                _rounds(used, add, case, records, parts)

    # A trunk that was closed is not opened again until a connection has a hello, which is once in a minute.
    for on_trunks, group in itertools.groupby(names or CASES, lambda name: known[name].trunks):
        with over(on_trunks):
            for name in group:
                run_all(name)
    Path("/proc/sys/kernel/kptr_restrict").write_text("0")
    shutil.copyfile("/proc/kallsyms", OUT / "kallsyms")
