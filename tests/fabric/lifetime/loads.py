# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Loading the module while memory allocations fail: the load succeeds, or leaves nothing behind.

Only the debug kernel can fail allocations on demand: an allocation of one thread, counted from
a write to its fail-nth, and only below the function that calls a module's init.
"""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import time
from pathlib import Path

import rig
from cmtrace import STOCK
from endpoint import Endpoints
from scenario import DEBUG, Unexpected, run
from stacks import ROOT, Stack

FINIT_MODULE = 313  # the number of the system call on x86-64
FAULTS = Path("/sys/kernel/debug")
# The fault injections that are used, and the setting that extends each beyond its default.
KNOBS = {"failslab": ("ignore-gfp-wait", "N"), "fail_page_alloc": ("ignore-gfp-wait", "N"),
         "fail_usercopy": None}
PLENTY = 1000000
# How many places to try, and how many more to find the last one that makes the load fail, where
# everything must be undone. After that one the kernel only announces the device to others, which
# may fail without consequence.
PLACES, LATE = 8, 4
FEWEST = 3
# Seconds: longer than any deferred work; that of listening has the longest delay.
PUT_OFF = 6
CHANGES = """while :; do ip link add rca-d type dummy; ip addr add 10.9.0.77/24 dev d0
             ip link del rca-d; ip addr del 10.9.0.77/24 dev d0; done"""


def _text_of(function: str) -> tuple[int, int]:
    """The addresses of a kernel function and of the one after it."""
    symbols = sorted((int(words[0], 16), words[2]) for words in
                     map(str.split, Path("/proc/kallsyms").read_text().splitlines()))
    start = next(at for at, name in symbols if name == function)
    return start, next(at for at, _ in symbols if at > start)


def _prepare() -> None:
    """Fail allocations below a module's init, of all kinds.

    Except those that show a slab cache in sysfs: the kernel loses its name then
    (tests/robust/stock/slab_name.c).
    """
    within, without = _text_of("do_one_initcall"), _text_of("sysfs_slab_add")
    for name, more in KNOBS.items():
        knobs = FAULTS / name
        (knobs / "verbose").write_text("0")
        for limit, (start, end) in (("require", within), ("reject", without)):
            (knobs / f"{limit}-start").write_text(hex(start))
            (knobs / f"{limit}-end").write_text(hex(end))
        if more:
            (knobs / more[0]).write_text(more[1])
    (FAULTS / "fail_page_alloc/min-order").write_text("0")


def _load(place: int) -> tuple[int, int]:
    """Load with the n-th allocation failing; returns the errno, and how many allocations were
    left.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    path = ROOT / f"{os.environ['RCA_MODULES']}/{rig.MODULE}.ko"
    with open(path, "rb") as module, open("/proc/thread-self/fail-nth", "r+b", buffering=0) as knob:
        os.pwrite(knob.fileno(), b"%d" % place, 0)
        failed = libc.syscall(FINIT_MODULE, module.fileno(), b"", 0)
        error = ctypes.get_errno() if failed else 0
        left = int(os.pread(knob.fileno(), 32, 0))
        os.pwrite(knob.fileno(), b"0", 0)
    return error, left


def _nothing_there(place: int) -> None:
    """Check that nothing of a module exists whose load has failed."""
    there = [str(path) for path in (rig.PARAMETERS, Path("/dev/rdma_cm_alt"),
                                    *Path("/sys/kernel/slab").glob("rca_*")) if path.exists()]
    if there:
        raise Unexpected(f"failed at {place}, but there is {' '.join(there)}")


def _nothing_leaks() -> None:
    """Two scans: the second one drops objects that moved during the first."""
    knob = FAULTS / "kmemleak"
    for _ in range(2):
        knob.write_text("scan")
        time.sleep(1)
    found = knob.read_text().strip()
    if found:
        raise Unexpected(f"it leaves memory behind:\n{found}")
    knob.write_text("clear")


def _refused(place: int) -> bool:
    """Load with the failure at that allocation; returns whether the load was refused, in which
    case nothing is left of the module.
    """
    error, left = _load(place)
    if left:
        raise Unexpected(f"there is no place {place}")
    if error:
        _nothing_there(place)
    else:
        rig.unload()
    return error != 0


def failing(stacks: dict[str, Stack]) -> None:
    """Allocations fail at several places, late ones among them, while network devices change."""
    rig.nothing_left()
    rig.unload()
    _prepare()
    error, left = _load(PLENTY)
    if error:
        raise Unexpected(f"it cannot be loaded: {os.strerror(error)}")
    rig.unload()
    count = PLENTY - left
    refused: list[int] = []
    changes = subprocess.Popen(("sh", "-c", CHANGES), stdin=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        for place in range(1, count, count // PLACES + 1):
            if _refused(place):
                refused.append(place)
        last = max(refused, default=0)
        beyond = last + count // PLACES
        for _ in range(LATE):
            place = (last + beyond) // 2
            if _refused(place):
                last = place
                refused.append(place)
            else:
                beyond = place
        # A failure is not fatal at most places, so few of these may have been refused: try others.
        others = random.Random(count).sample(range(2, count), count - 2)
        while others and len(refused) < FEWEST:
            if _refused(place := others.pop()):
                refused.append(place)
        time.sleep(PUT_OFF)
    finally:
        os.killpg(changes.pid, 9)
        changes.wait()
        run("ip link del rca-d; ip addr del 10.9.0.77/24 dev d0", None)
    _nothing_leaks()
    if len(refused) < FEWEST:
        raise Unexpected(f"{count} places, refused at {refused}")
    rig.load()
    with Endpoints() as programs:
        programs.listen(stacks[STOCK], "0.0.0.0", 22040)
        programs.client(stacks[STOCK], "hold", "10.9.0.1", 22040).expect("connected")


TESTS = (("a load for which there is no memory leaves nothing behind", failing),) if DEBUG else ()
