# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The measurements in a guest: starts the driver with each stack and stores its results.

A record is a line of JSON: the row it belongs to, the stack, the variant, the round, and the
result of the driver. Rounds of the stacks are interleaved, so that other load of the machine
affects all of them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from cmcalls import STRACE, parse
from stacks import ROOT, OURS, STOCK, Stack

DRIVE = str(ROOT / "build/tests/perf/drive")
FLOOR = "floor"
KNOBS = Path("/sys/kernel/debug/rca_hca")
FLOOR_RUN = Path("/sys/module/rca_floor/parameters/run")
FLOOR_HOLD = FLOOR_RUN.with_name("hold")

# The two ends of each fabric; the server of IB is in another namespace, so that packets leave the
# adapter.
ROCE = "-a 10.9.0.2"
# The address has a neighbour entry, and no host answers there.
MUTE = "10.7.0.98"
IB = "-a 10.8.0.2 -N /run/netns/hca1"


def both() -> tuple[Stack, Stack]:
    """Ours and stock. Created when all devices and namespaces exist."""
    return Stack(OURS), Stack(STOCK)


class Records:
    """The records; each one is on the disk as soon as it is known."""

    def __init__(self, path: Path, rounds: int, scale: float) -> None:
        self._file = open(path, "a", encoding="ascii")
        self._rounds = rounds
        self._scale = scale
        self._qpn = 0x20000

    def rounds(self, most: int) -> range:
        """The number of rounds that the options ask for, at most the given one."""
        return range(min(most, self._rounds))

    @staticmethod
    def turns(stacks: tuple[Stack, Stack], number: int) -> tuple[Stack, ...]:
        """The order alternates from round to round."""
        return stacks[::-1] if number % 2 else stacks

    def count(self, most: int) -> int:
        """Fewer connections in a short run, which only proves that the row works."""
        return max(20, int(most * self._scale))

    def qpn(self, count: int) -> int:
        """The first of a range of QP numbers; the range wraps around."""
        if self._qpn + count > 0x1f0000:
            self._qpn = 0x20000
        self._qpn += count
        return self._qpn - count

    def add(self, row: str, stack: str, found: dict, variant: str = "", number: int = 0) -> None:
        """Store one record."""
        record = {"row": row, "stack": stack, "variant": variant, "round": number, **found}
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        short = {key: value for key, value in found.items()
                 if isinstance(value, (int, float, str)) and key not in ("mode", "window", "why")}
        for key, value in found.items():
            if isinstance(value, list) and value:
                ordered = sorted(value)
                short[f"{key}_median"] = ordered[len(ordered) // 2]
                short[f"{key}_p99"] = ordered[int(len(ordered) * 0.99)]
        if found.get("failures"):
            short["why"] = found["why"]
        print(f"{time.monotonic():7.1f} {row:12} {stack:6} {variant:9} {number} {short}", flush=True)


def neighbour() -> None:
    """A neighbour entry for the address of MUTE, as if the host had answered."""
    words = f"ip neigh replace {MUTE} lladdr 02:00:00:00:00:98 dev v0 nud permanent"
    subprocess.run(words.split(), check=True)


def peers(count: int) -> None:
    """Simulated hosts behind the first adapter, from the address 10.16.0.0 on."""
    subprocess.run(["bash", "-c", f". tests/harness/guest/hca.sh && hca_peers {count}"], cwd=ROOT,
                   check=True)


def start(stack: Stack, words: str, limit: int, before: list[str] | None = None) -> subprocess.Popen:
    """Start the driver."""
    command = [*(before or []), DRIVE, "-t", str(limit), *words.split()]
    # The process has no threads, so preexec_fn is safe.
    return subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
        command, env=stack.env, cwd="/tmp", preexec_fn=stack.enter, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told(process: subprocess.Popen) -> dict:
    """Result of a driver; a failed driver prints the reason, which is stored as a record, too."""
    said, errors = process.communicate()
    try:
        return json.loads(said)
    except json.JSONDecodeError:
        return {"broken": f"status {process.returncode}: {errors.strip()[-300:]}"}


def drive(stack: Stack, words: str, limit: int = 180, before: list[str] | None = None) -> dict:
    """Run the driver to its end."""
    return told(start(stack, words, limit, before))


def calls(stack: Stack, words: str, window: int, records: Records) -> dict:
    """CM system calls of both ends for one more connection: the difference between a long and a
    short run.
    """
    totals = []
    # The short run is long enough for the set-up of a channel: its ring is mapped after some
    # reads.
    few = window + 40
    more = few + records.count(200)
    log = Path("/tmp/perf.strace")
    for count in (few, more):
        log.unlink(missing_ok=True)
        found = drive(stack, f"{words} -n {count} -w {window} rate", before=[*STRACE, "-o", str(log)])
        if "broken" in found or found["failures"]:
            return found
        # strace is not a child of this process: its log may be late.
        previous = -1
        while previous != (previous := log.stat().st_size):
            time.sleep(0.5)
        totals.append(parse(log.read_text()))
    each = {name: (totals[1][name] - totals[0][name]) / (more - few)
            for name in sorted({*totals[0], *totals[1]})}
    each = {name: round(value, 2) for name, value in each.items() if value}
    return {"calls": round(sum(each.values()), 2), "each": each}


def busy_us() -> float:
    """Time for which processors were busy, since the boot of the guest."""
    user, nice, system, _, _, hard, soft = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + hard + soft) * 1e6 / os.sysconf("SC_CLK_TCK")


def calm() -> None:
    """Wait until the guest is nearly idle for half a second."""
    before = -1e9
    while (now := busy_us()) - before > 40e3:
        before = now
        time.sleep(0.5)


def floor(count: int, window: int, how: str = "") -> dict:
    """The loop in the kernel."""
    before = busy_us()
    FLOOR_RUN.write_text(f"hca0 hca1 {count} {window} {how}")
    used = busy_us() - before
    up, down, destroy, failures = map(int, FLOOR_RUN.read_text().split())
    return {"count": count, "window": window, "up_us": up, "down_us": down, "destroy_us": destroy,
            "busy_us": used, "failures": failures, "why": ""}


def _memory() -> tuple[float, float]:
    """Kernel memory in slabs and in other pages, computed as in the driver."""
    kb = {name: float(rest.split()[0]) for name, _, rest in
          (line.partition(":") for line in Path("/proc/meminfo").read_text().splitlines())}
    others = ("MemFree", "Buffers", "Cached", "AnonPages", "PageTables", "KernelStack", "Slab")
    # Free pages on the per-CPU lists count as used there.
    at_hand = sum(int(count) for count in
                  re.findall(r"(?m)^ +count: +(\d+)$", Path("/proc/zoneinfo").read_text()))
    rest = (kb["MemTotal"] - sum(kb[name] for name in others)) * 1024
    return kb["Slab"] * 1024, rest - at_hand * os.sysconf("SC_PAGE_SIZE")


def _slabs() -> dict[str, int]:
    """Bytes of each cache."""
    lines = [line.split() for line in Path("/proc/slabinfo").read_text().splitlines()[2:]]
    return {words[0]: 4096 * int(words[5]) * int(words[14]) for words in lines}


def floor_memory(count: int) -> dict:
    """The cost of idle connections of ib_cm alone."""
    calm()
    caches, before = _slabs(), _memory()
    FLOOR_HOLD.write_text(f"hca0 hca1 {count} 64")
    calm()
    after = _memory()
    more = {name: size - caches.get(name, 0) for name, size in _slabs().items()}
    failures = int(FLOOR_HOLD.read_text().split()[3])
    FLOOR_HOLD.write_text("\n")
    return {"count": count, "slab": after[0] - before[0], "rest": after[1] - before[1],
            "caches": {name: size for name, size in more.items() if size >= 32 * count},
            "failures": failures, "why": ""}


def rules(*lines: str) -> None:
    """Change the rules of the wire between the software adapters."""
    for line in ("clear", *lines):
        (KNOBS / "rules").write_text(line + "\n")


def fail(text: str) -> None:
    """The measurements cannot continue."""
    sys.exit(f"perf: error: {text}")
