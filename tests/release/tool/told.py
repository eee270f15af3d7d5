# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""rdma-cm-alt with messages that the module does not send in a guest: large numbers, rare statuses, invalid ones."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import struct
import tempfile

from genl import ATTR, CMD, HEADER, attr
from host import BAD, OK, ROOT, Said, same, tool, true
from transport import trunks as trunks_are

PRELOAD = ROOT / "build/tests/release/tool/told.so"
MULTI = 2
# See kernel/transport/transport.h.
BUCKETS = 28
EVENTS = {"UNREACHABLE": 7, "REJECTED": 8, "DISCONNECTED": 10, "USER": 18}


def value(name: str, data: int | str | bytes) -> bytes:
    """An attribute; bytes are not encoded."""
    if isinstance(data, str):
        data = data.encode() + b"\0"
    elif isinstance(data, int):
        long = name in ("CTX", "TIME", "SERIAL", "VALUE", "SINCE")
        data = struct.pack("=Q" if long else "=I", data & ((1 << 64) - 1 if long else 0xffffffff))
    return attr(ATTR[name], data)


def message(cmd: str, *parts: bytes, **attrs: int | str | bytes) -> bytes:
    """A message of a dump."""
    body = struct.pack("=BBH", CMD[cmd], 1, 0) + b"".join(value(name, data) for name, data in attrs.items()) + b"".join(parts)
    return HEADER.pack(HEADER.size + len(body), 100, MULTI, 0, 0) + body


def told(messages: list[bytes], *args: str, status: int = OK) -> Said:
    """rdma-cm-alt, which gets these messages in place of those of the module."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(messages))
        file.flush()
        return tool(*args, status=status, env={**os.environ, "LD_PRELOAD": str(PRELOAD), "TOLD": file.name})


def span(name: str, took: int, counts: dict[int, int]) -> bytes:
    """A histogram."""
    buckets = struct.pack(f"={BUCKETS}Q", *(counts.get(n, 0) for n in range(BUCKETS)))
    return value("SPAN", value("NAME", name) + value("VALUE", took) + value("BUCKETS", buckets))


def port(*parts: bytes) -> bytes:
    """Counts of a port."""
    return message("PORT", *parts, DEV="rxe9", PORT=1)


def large() -> None:
    """Large numbers are exact, and the last bucket has no upper bound."""
    took = 123_456_789_012_345_678
    counter = value("COUNTER", value("NAME", "connect") + value("VALUE", (1 << 64) - 1))
    messages = [port(counter, span("connect", took, {3: 10, 20: (1 << 40) + 1}),
                     span("route", (1 << 64) - 1, {1: 1, BUCKETS - 1: 2}), span("accept", 7, {0: 1}))]
    text = told(messages, "stats", "--prometheus").out
    same("sums", dict(re.findall(r'_sum{device="rxe9",port="1",step="(\w+)"} (.*)', text)),
         {"connect": "123456789012.345678", "route": "18446744073709.551615", "accept": "0.000007"})
    same("bounds", re.findall(r'step="accept",le="(.*)"}', text),
         [f"{(1 << n) // 10**6}.{(1 << n) % 10**6:06}" for n in range(BUCKETS - 1)] + ["+Inf"])
    true("a counter", f'steps_total{{device="rxe9",port="1",step="connect"}} {(1 << 64) - 1}\n' in text, text)
    true("a count", f'_count{{device="rxe9",port="1",step="connect"}} {(1 << 40) + 11}\n' in text, text)
    lines = {line.split()[0]: line for line in told(messages, "stats").out.splitlines() if " on average" in line}
    true("a bound", lines["connect"].endswith(f"on average, all below {1 << 20} us"), lines["connect"])
    true("no bound", lines["route"].endswith(f"on average, some of {1 << BUCKETS - 2} us or more"), lines["route"])
    true("the least one", lines["accept"].endswith("on average, all below 1 us"), lines["accept"])


def failure(**attrs: int | str | bytes) -> bytes:
    """A failure."""
    given = {"CTX": 9, "HANDLE": 1, "TIME": 10**18, "SERIAL": 5, "STATE": "failed", "BEFORE": "connected",
             "COMM": "rping", "UID": 0, "PID": 4, "STATUS": 0, "PS": 0x106, **attrs}
    return message("FAILURE", **{name: data for name, data in given.items() if data is not None})


def statuses() -> None:
    """The event determines the meaning of a status: a reason, a SIDR status, or neither."""
    for event, status, text in (
            ("REJECTED", 8, "nobody listens there for this port (service ID) (reason 8)"),
            ("DISCONNECTED", 28, "the peer's program, or its connection manager for it, has refused (reason 28)"),
            ("DISCONNECTED", 6, "the peer does not know our communication ID (reason 6)"),
            ("UNREACHABLE", 3, "the peer has no queue pair for this (SIDR status 3)"),
            ("USER", 3, "status 3"), ("USER", -errno.EINVAL, f"status {-errno.EINVAL}")):
        said = told([failure(EVENT=EVENTS[event], STATUS=status, BEFORE="dreq-sent")], "-j", "explain", status=BAD).json
        same(f"{event} {status}", (said["failures"][0]["event"], said["what"]), (event, text))
    said = told([failure(EVENT=EVENTS["DISCONNECTED"], STATUS=28, BEFORE="dreq-sent")], "-j", "explain", status=BAD).json
    true("a reject of a disconnect is no lost peer", said["try"] and "ping" not in said["try"][0], str(said["try"]))


def wrong() -> None:
    """Invalid messages and attributes are skipped with a message."""
    good, short = failure(OP="listen", STATUS=-errno.EADDRINUSE), "not as it should be"
    for attrs in ({"STATUS": b"\1\0"}, {"CTX": b"\1\0\0\0"}, {"STATE": b"fail"}, {"COMM": b""}, {"OP": b"x"}, {"TIME": b"1234567"}):
        said = told([failure(**{"OP": "listen", **attrs}), good], "-j", "explain", status=BAD)
        same(f"{attrs}: failures", [story["status"] for story in json.loads(said.out)["failures"]], [-errno.EADDRINUSE])
        same(f"{attrs}: words", said.err.count(short), 1)
    nest = value("NAME", b"con") + value("VALUE", b"1234")
    said = told([port(value("COUNTER", nest), value("SPAN", nest), span("route", 5, {2: 1}))], "-j", "stats").json[0]
    same("counters, and spans", (said["counters"], list(said["microseconds"])), ({}, ["route"]))


def hostile() -> None:
    """Control characters are replaced, JSON stays valid, and names in commands are quoted."""
    evil, clean = b"a\x1b[7m\"\\\xff\xc3\n\0", "a?[7m\"\\???"
    for name, member in (("STATE", "state"), ("BEFORE", "before"), ("OP", "operation"), ("DEV", "device"), ("COMM", "program")):
        messages = [failure(**{"OP": "listen", "STATUS": -errno.EINVAL, name: evil})]
        said = told(messages, "-j", "explain", status=BAD)
        same(f"{name}: JSON", (said.json["failures"][0][member], said.out.isascii()), (clean, True))
        for args in (("explain",), ("--color=always", "explain", "-n", "1")):
            text = told(messages, *args, status=BAD).out.replace("\033[31m", "").replace("\033[0m", "")
            true(f"{name}: {args}", text.isascii() and not re.search(r"[^ -~\n]", text), repr(text))
    text = told([port(value("COUNTER", value("NAME", evil) + value("VALUE", 5)))], "stats").out
    true("a counter", clean in text and "\033" not in text, repr(text))
    for name in ("$(touch x)", "a'b;c", "rping", "`x`", "-x y", "'"):
        said = told([failure(OP="connect", STATUS=-errno.EINVAL, STATE="bound", COMM=name)], "-j", "explain", status=BAD).json
        line = next(line for line in said["try"] if "monitor -c" in line).split("order: ")[1]
        same(f"{name}: to copy", shlex.split(line), ["rdma-cm-alt", "monitor", "-c", name])
        same(f"{name}: quoted when it must be", "'" in line, name != "rping")


def trunks() -> None:
    """Why there is no trunk: each reason of an id, and each state of a peer."""
    here, there = bytes(10) + b"\xff\xff\x0a\x09\0\x01", bytes(10) + b"\xff\xff\x0a\x09\0\x09"
    way = {"DEV": "rxe9", "PORT": 1, "SGID": here, "DGID": there}
    one = {"CTX": 9, "HANDLE": 1, "STATE": "connected", "PS": 0x106, "QP_TYPE": 2, "COMM": "rping", "UID": 0, "PID": 4, "AGE": 1, **way}
    speaks = {"PROTOCOL": 1, "FEATURES": 0, "AGE": 3}

    def ask(why: str, **peer: int | str | bytes) -> dict:
        messages = [message("ID", **one, TRANSPORT="ib_cm", NO_TRUNK=why)]
        messages += [message("PEER", **way, PKEY=0x7fff, **peer)] if peer else []
        return told(messages, "-j", "explain", "9/1").json["ids"][0]

    for why, text in (("off", "trunks were off when"), ("iwarp", "iWARP has no trunks"), ("qp-type", "trunks have neither"),
                      ("path", "its path differs"), ("never", "the program does not"),
                      ("elsewhere", "the peer's module has no such listener"),
                      ("asked", "the peer has requested it"), ("later", "later"), ("none", "none to the peer was open")):
        with trunks_are(True):
            said = ask(why)
        true(f"{why}: {text}", said["why_no_trunk"].startswith(text), str(said))
        same(f"{why}: as the module says it", (said["no_trunk"], said["transport"]), (why, "ib_cm"))
    with trunks_are(False):
        same("none, no trunks now, and no peers", ask("none")["why_no_trunk"].split(":")[0], "trunks are off")
        same("none, and no trunks now", ask("none", HELLOS=1)["why_no_trunk"].split(":")[0], "trunks are off")
    with trunks_are(True):
        for peer, text in (({}, "has not said hello"), (speaks, "none is open: one is opened when"),
                           ({**speaks, "COMMON": 1}, "none is open: one is opened when"),
                           ({**speaks, "PROTOCOL": 4, "COMMON": 0}, "other versions of the trunk protocol than this host, 4 at most"),
                           ({**speaks, "FAILURES": 3, "RETRY": 2500}, "3 times in a row: it is tried again in 2.5 s"),
                           ({**speaks, "FAILURES": 2}, "2 times in a row: it is tried again at any time"),
                           ({**speaks, "BAD_FRAMES": 3, "RETRY": 299000}, "none is opened for 299.0 s"),
                           ({**speaks, "TRUNK": "opening"}, "a trunk is being opened"),
                           ({**speaks, "TRUNK": "open"}, "one is now"), ({**speaks, "TRUNK": "idle"}, "one is now")):
            said = ask("none", HELLOS=1, **peer)
            true(f"{peer}: {text}", text in said["why_no_trunk"], str(said))
        messages = [message("PEER", **way, PKEY=0x7fff, HELLOS=1, **speaks, FAILURES=1, RETRY=900)]
        said = told(messages, "-j", "explain", "10.9.0.9").json["peers"][0]
        same("a peer", (said["retry_ms"], "tried again in 0.9 s" in said["why_no_trunk"]), (900, True))
        same("another address", "peers" in told(messages, "-j", "explain", "10.9.0.1").json, False)
    numbers = {"SESSION": 7, "NUMBER": 12}
    said = told([message("ID", **one, TRANSPORT="trunk", **numbers)], "-j", "explain", "9/1").json["ids"][0]
    same("a trunk", (said["transport"], "why_no_trunk" in said), ("trunk", False))
    same("its numbers", (said["session"], said["number"]), (7, 12))
    said = told([failure(OP="accept", STATUS=-errno.ECONNABORTED, **numbers)], "-j", "explain", status=BAD).json["failures"][0]
    same("numbers of a failure", (said["session"], said["number"]), (7, 12))


def captures() -> None:
    """Captures as JSON: every message that they have, and what is said of it."""
    found = []
    for path in sorted((ROOT / "tests/release/record_files/captures").glob("*.pcapng")) + \
            sorted((ROOT / "build/tests/replay").glob("*.pcapng")):
        found += tool("-j", "record", "-r", str(path), "--private-data").json
        told_of = tool("-j", "explain", "--capture", str(path), status=None).json
        true(f"explain of {path}", isinstance(told_of, list), str(told_of))
    same("messages", {one["message"] for one in found},
         {"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "LAP", "APR", "SIDR_REQ", "SIDR_REP", "FRAME"})


TESTS = (
    ("captures in JSON", captures, True),
    ("told: why there is no trunk", trunks, True),
    ("told: large numbers", large, True),
    ("told: what a status means", statuses, True),
    ("told: messages that are wrong", wrong, True),
    ("told: hostile names", hostile, True),
)
