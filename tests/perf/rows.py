# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The measurements in one guest, row by row of the table."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from guest import (FLOOR, FLOOR_HOLD, FLOOR_RUN, IB, KNOBS, MUTE, ROCE, Records, calls, drive, floor,
                   floor_memory, neighbour, rules, start, told)
from stacks import ROOT, Program, Stack

# Default number of connections outstanding at a time.
WINDOW = 64
# For latencies: few enough that the connections do not queue behind each other.
FEW = 16
Stacks = tuple[Stack, Stack]


def system_calls(stacks: Stacks, records: Records) -> None:
    """With QPs, as programs have them; one at a time, and a hundred at a time."""
    for window, row in ((1, "calls"), (100, "calls-100")):
        for stack in stacks:
            port = 21000 + window
            records.add(row, stack.name, calls(stack, f"{ROCE} -p {port} -Q", window, records))
    for window in (1, 64):
        found = calls(stacks[0], f"{ROCE} -p {22000 + window} -Q -F", window, records)
        records.add("calls-fused", stacks[0].name, found, str(window))


def _rate(stacks: Stacks, records: Records, row: str, count: int, variant: str, number: int) -> None:
    """Each once: both stacks, ours with the calls that do many steps, the two floors."""
    for stack in records.turns(stacks, number):
        found = drive(stack, f"{IB} -n {count} -w {WINDOW} -q {records.qpn(count)} rate")
        records.add(row, stack.name, found, variant, number)
    found = drive(stacks[0], f"{IB} -n {count} -w {WINDOW} -q {records.qpn(count)} -F rate")
    records.add(f"{row}-fused", stacks[0].name, found, variant, number)
    if FLOOR_RUN.exists():
        records.add(row, FLOOR, floor(count, WINDOW), variant, number)
        records.add(f"{row}-path", FLOOR, floor(count, WINDOW, "path"), variant, number)


def rate(stacks: Stacks, records: Records) -> None:
    """Connections without QPs, and the loop in the kernel for comparison."""
    for number in records.rounds(5):
        _rate(stacks, records, "rate", records.count(3000), "", number)


def rate_curve(stacks: Stacks, records: Records) -> None:
    """The same with other numbers of connections; for the plot."""
    for number, count in enumerate(map(records.count, (250, 1000, 4000, 10000))):
        _rate(stacks, records, "rate-curve", count, str(count), number)


def resolve(stacks: Stacks, records: Records) -> None:
    """Address and route with a known neighbour, and of an address of this host."""
    count = records.count(1000)
    neighbour()
    for number in records.rounds(5):
        for row, address in (("resolve", MUTE), ("resolve-own", "10.9.0.2")):
            for stack in records.turns(stacks, number):
                records.add(row, stack.name, drive(stack, f"-a {address} -n {count} resolve"),
                            number=number)


def loss(stacks: Stacks, records: Records) -> None:
    """One message in a hundred is lost."""
    count = records.count(2000)
    before = (KNOBS / "sa_lifetime").read_text()
    (KNOBS / "sa_lifetime").write_text("14\n")
    for number in records.rounds(3):
        for stack in records.turns(stacks, number):
            # Both stacks lose the same messages.
            rules(f"seed {number + 1}", "drop CM percent=1")
            found = drive(stack, f"{IB} -n {count} -w {FEW} -q {records.qpn(count)} rate")
            records.add("loss-ib", stack.name, found, number=number)
    rules()
    (KNOBS / "sa_lifetime").write_text(before)


def storm(stacks: Stacks, records: Records) -> None:
    """All at once, and with a window in the application."""
    count = records.count(8000)
    for number in records.rounds(2):
        for stack in records.turns(stacks, number):
            for variant, window in (("paced", WINDOW), ("at once", 0)):
                words = f"{IB} -n {count} -w {window} -q {records.qpn(count)} storm"
                records.add("storm", stack.name, drive(stack, words, 300), variant, number)


def dead(stacks: Stacks, records: Records) -> None:
    """Live connections through a port while other ids try to reach dead peers."""
    count = records.count(500)
    neighbour()
    for number in records.rounds(2):
        for stack in records.turns(stacks, number):
            words = (f"-a 10.7.0.1 -n {count} -i 10 -d {MUTE} -u 10.7.0.99 -m 1000 "
                     f"-q {records.qpn(2 * count)} dead")
            records.add("dead", stack.name, drive(stack, words, 240), number=number)


def ids(stacks: Stacks, records: Records) -> None:
    """Ids to one destination."""
    for stack in stacks:
        records.add("ids", stack.name, drive(stack, f"{ROCE} -n {records.count(100000)} ids", 300))


def memory(stacks: Stacks, records: Records) -> None:
    """Idle connections; both ends are on this host."""
    count = records.count(8000)
    for number in records.rounds(2):
        for stack in records.turns(stacks, number):
            Path("/proc/sys/vm/drop_caches").write_text("3")
            found = drive(stack, f"{IB} -n {count} -q {records.qpn(count)} memory", 240)
            records.add("memory", stack.name, found, number=number)
        if FLOOR_HOLD.exists():
            records.add("memory", FLOOR, floor_memory(count), number=number)


def close(stacks: Stacks, records: Records) -> None:
    """A channel of ids with unread events."""
    for number in records.rounds(2):
        for count in map(records.count, (2000, 4000, 8000, 16000)):
            if number and count != records.count(16000):
                continue
            for stack in records.turns(stacks, number):
                words = f"{IB} -n {count} -q {records.qpn(count)} close"
                records.add("close", stack.name, drive(stack, words, 300), str(count), number)


def destroy(stacks: Stacks, records: Records) -> None:
    """An iWARP id that connects to a host that accepts TCP but never answers MPA, and to a dead
    host.
    """
    mute = ("import socket, time; held = socket.create_server(('10.11.0.2', 7471), backlog=64); "
            "time.sleep(3600)")
    # Stock waits until TCP gives up: 7 s instead of 131 s.
    retries = Path("/proc/sys/net/ipv4/tcp_syn_retries")
    before = retries.read_text()
    retries.write_text("2")
    with subprocess.Popen(["ip", "netns", "exec", "peer", sys.executable, "-c", mute]) as listener:
        time.sleep(2)
        for variant, address, count in (("mute", "10.11.0.2", 3), ("dead", "10.11.0.99", 2)):
            for stack in stacks:
                words = f"-a 10.11.0.1 -d {address} -n {count} destroy"
                records.add("iw-destroy", stack.name, drive(stack, words, 180), variant)
        listener.kill()
    retries.write_text(before)


def disconnect(stacks: Stacks, records: Records) -> None:
    """Both stacks at the same time: they only wait. The deadline expires before the last of 16
    requests.
    """
    lost = f"PERF_GONE=echo 'drop DREQ' >{KNOBS}/rules"
    rules()
    running = [start(stack, f"{IB} -p {7500 + number} -n 1 -q {records.qpn(1)} -D 2000 disconnect", 240,
                     ["env", lost]) for number, stack in enumerate(stacks)]
    for stack, process in zip(stacks, running):
        records.add("disconnect", stack.name, told(process))
    rules()


def streams(stacks: Stacks, records: Records) -> None:
    """Messages and data of rsockets, and what idle ones occupy. Stock stalls with some hundreds of them."""
    for number in records.rounds(5):
        for mode, count in (("messages", records.count(2000)), ("bulk", records.count(640))):
            for stack in records.turns(stacks, number):
                records.add(f"rsocket-{mode}", stack.name, drive(stack, f"{ROCE} -n {count} {mode}"), number=number)
    for stack, count in ((stacks[0], 1000), (stacks[0], 100), (stacks[1], 100)):
        found = drive(stack, f"{ROCE} -n {records.count(count)} crowd")
        records.add("rsocket-crowd", stack.name, found, variant=str(count))


def cmtime(stacks: Stacks, records: Records) -> None:
    """The benchmark of upstream (cmtime), without QPs; its output is stored unchanged."""
    program = ROOT / "build/cmtime/cmtime"
    if not program.exists():
        print("cmtime: skipped: there is none of a newer release (scripts/fetch-cmtime)", flush=True)
        return
    count = records.count(2000)
    for number in records.rounds(3):
        for stack in stacks:
            common = [str(program), "-b", "10.9.0.1", "-C", "10.9.0.1", "-p", f"{7600 + number}",
                      "-c", str(count)]
            server = Program(stack, [*common, "-L", "-q", str(0x800000 + records.qpn(count))],
                             Path("/tmp/cmtime-server"))
            time.sleep(1)
            client = Program(stack, [*common, "-q", str(records.qpn(count))],
                             Path("/tmp/cmtime-client"))
            good = client.wait(time.monotonic() + 120) and not client.status
            client.end()
            server.end()
            found = {"count": count, "output": client.output()}
            records.add("cmtime", stack.name, found if good else {"broken": client.output()[-300:]},
                        number=number)


# The order matters: rows that disturb the next one come last.
ROWS: dict[str, Callable[[Stacks, Records], None]] = {
    "resolve": resolve, "rate": rate, "memory": memory, "iw-destroy": destroy, "calls": system_calls,
    "storm": storm, "close": close, "dead": dead, "ids": ids, "loss": loss, "rsocket": streams, "cmtime": cmtime,
    "rate-curve": rate_curve, "disconnect": disconnect,
}
