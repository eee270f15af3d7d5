# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The failures that rdma-cm-alt explains."""

from __future__ import annotations

import os
import re
import time

from host import (BAD, ELSEWHERE, HERE, HOLD, NONE, OK, ROOT, SILENT, TOOL, Running, Skip, failures, ids, mute,
                  refused, run, same, tool, true, until)

# Failures that the kernel keeps for a namespace.
KEPT = 256


def explained() -> None:
    """Each failure has a step, an explanation and a remedy."""
    refused()
    tool("run", "ucmatose", "-s", SILENT, status=None)
    tool("run", "ucmatose", "-s", ELSEWHERE, status=None)
    wanted = {
        f"{HERE}:9999": ("connecting", "nobody listens there", "start the server"),
        SILENT: ("resolving the address", "nobody says whose link address", f"ping {SILENT}"),
        ELSEWHERE: ("resolving the address", "no route", f"ip route get {ELSEWHERE}"),
    }
    for address, (step, what, remedy) in wanted.items():
        said = tool("-j", "explain", address, status=BAD).json
        same(f"{address}: step", said["step"], step)
        true(f"{address}: what", what in said["what"], said["what"])
        true(f"{address}: what to try", any(remedy in line for line in said["try"]), str(said["try"]))
        same(f"{address}: program", said["failures"][-1]["program"][:5], "rping" if ":" in address else "ucmat")
    neighbour = tool("-j", "explain", SILENT, status=BAD).json["path"]["neighbour"]
    true("the neighbour", neighbour in ("failed", "incomplete"), neighbour)
    name = failures()[-1]["name"]
    same("by id", {story["name"] for story in failures(name)}, {name})
    said = tool("explain", "10.9.0.77", status=OK).out
    true("nothing failed", "Nothing failed" in said and "rxe0" in said, said)


def where_it_was() -> None:
    """Step and remedy depend on the call or the state of the failure."""
    run(TOOL, "run", str(ROOT / "build/tests/release/tool/blunder"), HERE)
    mine = [story for story in failures() if story["program"] == "blunder"]
    pid = mine[-1]["pid"]
    wanted = {
        ("connect", "bound"): ("connecting", "does not fit the state of the id, bound", "monitor -c blunder"),
        ("REJECTED", "rep-sent"): ("accepting", "(reason 28)", "ask the client"),
        ("accept", "failed"): ("accepting", "the client had given up", "slow to take its events"),
        ("UNREACHABLE", "sidr-sent"): ("looking up the peer's QP", "(SIDR status 1)", "start the server"),
    }
    for story in mine:
        if story["pid"] != pid or story.get("operation") == "reject":  # what the library does about a failed accept
            continue
        key = (story["event"], story["before"]) if "event" in story else (story["operation"], story["state"])
        step, what, remedy = wanted.pop(key)
        said = tool("-j", "explain", story["name"], status=BAD).json
        same(f"{key}: step", said["step"], step)
        true(f"{key}: what", what in said["what"], said["what"])
        true(f"{key}: what to try", any(remedy in line for line in said["try"]), str(said["try"]))
    same("failures that did not happen", list(wanted), [])


def waiting(address: str, state: str) -> dict:
    """explain ADDRESS, when its id is in this state."""
    def look() -> dict | None:
        said = tool("-j", "explain", address, status=None).json
        return said if [one["state"] for one in said["ids"]] == [state] else None

    return until(f"{address}: an id waits", look)


def waits() -> None:
    """explain shows what an id waits for, since when and on which device."""
    began = time.time_ns()
    with mute("10.7.0.98"), Running(HOLD, "wait", SILENT), Running(HOLD, "wait", "10.7.0.98") as holder:
        said = waiting(SILENT, "addr-query")
        one = said["ids"][0]
        true("for the neighbour", "ARP" in one["waits_for"], str(one))
        true("since when", began < one["since"] < time.time_ns(), f"{began} {one}")
        same("on which device", (said["path"]["netdev"], said["path"]["device"]), ("v0", "rxe1"))
        true("what to try", any(f"ping {SILENT}" in line for line in said["try"]), str(said["try"]))
        text = tool("explain", one["name"], status=OK).out
        true("by its name", re.search(r"waits for +the neighbour's answer.*\n +since +\d.* s\n", text), text)
        true("where", "the way to the peer leads over v0" in text, text)
        one = waiting("10.7.0.98", "req-sent")["ids"][0]
        same("a connect", (one["pid"], one["device"], one["waits_for"]),
             (holder.pid, "rxe1", "the peer's reply to the connect request"))
        text = tool("explain", status=None).out
        true("those that wait", text.startswith("Waiting now\n") and "req-sent, for " in text, text)
    until("they have gone", lambda: not ids())
    said = tool("explain", one["name"], status=NONE)
    true("no such id", f"there is no id {one['name']}" in said.err and not said.out, said.text)


def same_address() -> None:
    """Addresses are compared by value; link-local ones with their interface."""
    with mute("fe80::98"), Running(HOLD, "wait", "fe80::98%v0"):
        one = waiting("fe80::98%v0", "req-sent")["ids"][0]
        same("with its interface", one["peer"], "[fe80::98%v0]:7471")
        true("ours, too", one["local"].startswith("[fe80::") and "%v0]:" in one["local"], one["local"])
        for form in (one["peer"], "fe80:0:0::0098%v0", "FE80::98", "[fe80:0::98]:7471", "fe80::90/124", one["local"]):
            same(form, [found["name"] for found in ids("-a", form)], [one["name"]])
        for form in ("fe80::9", "fe80::98%d0", "[fe80::98]:747", "fe80::90/125"):
            same(form, ids("-a", form), [])
        same("the way", tool("-j", "explain", "fe80:0::98").json["path"]["netdev"], "v0")
        said = tool("-j", "check", "fe80::98", status=BAD).json
        true("which interface?", "fe80::98%" in [row for row in said if row["check"] == "route"][0]["remedy"], str(said))
    refused()
    for form in (f"::ffff:{HERE}", "[::FFFF:0a09:0001]:9999", "10.9.1:9999"):
        same(form, failures(form)[-1]["peer"], f"{HERE}:9999")
    same("another port", tool("-j", "explain", f"{HERE}:999", status=OK).json["failures"], [])


def logged() -> None:
    """With dynamic debug the kernel logs failures."""
    control = "/sys/kernel/debug/dynamic_debug/control"
    if not os.path.exists(control):
        raise Skip("this kernel has no dynamic debug")

    def log() -> list[str]:
        return [line for line in run("dmesg").out.splitlines() if "rdma_cm_alt: " in line]

    before = len(log())
    refused()
    same("lines of the log, unless it is wanted", len(log()), before)
    with open(control, "w", encoding="ascii") as file:
        file.write("module rdma_cm_alt +p")
    try:
        refused()
        run(TOOL, "run", "rping", "-c", "-a", ELSEWHERE, "-C", "1")
    finally:
        with open(control, "w", encoding="ascii") as file:
            file.write("module rdma_cm_alt -p")
    lines = "\n".join(log()[before:])
    true("who was rejected, where, and why", re.search(
        rf"rxe\d+/1: 10\.\S+:\d+ to {re.escape(HERE)}:9999: rejected: invalid service ID \(8\); "
        r"rping\[\d+\]", lines), lines)
    # Kernels without CONFIG_SYMBOLIC_ERRNAME, as that of the debug guest, write the number.
    true("who was not found", re.search(
        rf"to {re.escape(ELSEWHERE)}:\d+: \S.*: -(?:ENETUNREACH|101); rping\[\d+\]", lines), lines)


def bounded() -> None:
    """A namespace keeps the last 256 failures."""
    first = failures()[-1]["serial"] if failures() else 0
    tool("run", str(ROOT / "build/tests/release/tool/fail"), HERE, str(KEPT + 44))
    kept = [story["serial"] for story in failures()]
    same("how many are kept", len(kept), KEPT)
    same("which", kept, list(range(first + 45, first + 45 + KEPT)))


TESTS = (
    ("failures are explained", explained, True),
    ("a failure is explained by where it happened", where_it_was, True),
    ("an id that waits, and one that is not there", waits, True),
    ("addresses in any form", same_address, True),
    ("failures in the kernel's log", logged, True),
    ("the last 256 failures", bounded, True),
)
