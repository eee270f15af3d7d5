# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Compares the members of JSON objects that this run printed with those of the man page."""

from __future__ import annotations

import re
from collections import defaultdict

from stacks import ROOT

PAGE = ROOT / "Documentation/man/rdma-cm-alt.8"
# Documented members that are printed only in the middle of a call.
BY_CHANCE = {"show ids and listeners": {"busy"}, "show members": {"busy"},
             # Of a capture of stock's messages, and of a comment of a person.
             "record": {"stock", "comment"},
             # Only over InfiniBand: tests/fabric/fabrics/paths.py looks at these.
             "show paths": {"device", "port", "gid", "peer_gid", "service", "pkey", "dlid", "sl", "age"}}
# The kinds of inner objects; empty: its names are not members.
WITHIN = {("explain", "ids"): "show ids and listeners", ("explain", "failures"): "monitor", ("explain", "path"): "path",
          ("explain", "peers"): "show peers", ("record", "records"): "records of frames",
          ("stats", "counters"): "", ("stats", "microseconds"): "spans"}
SHOWN = {"queues": "show queues", "members": "show members", "paths": "show paths",
         "peers": "show peers"}

MOST = 100

seen: defaultdict[str, set[str]] = defaultdict(set)


def documented() -> dict[str, set[str]]:
    """The members of each kind of object in the man page."""
    parts = re.findall(r"^\.Ss Members of (.*)\n((?:.*\n)*?)(?=\.S[hs] )", PAGE.read_text(), re.M)
    return {kind: set(re.findall(r"^\.It Va (\w+)$", text, re.M)) for kind, text in parts}


def look(kind: str, value) -> None:
    """Record the members of a value."""
    if isinstance(value, list):
        for one in value[:MOST]:
            look(kind, one)
    elif isinstance(value, dict) and kind == "spans":
        for one in value.values():
            seen["stats"] |= one.keys()
    elif isinstance(value, dict) and kind:
        seen[kind] |= value.keys()
        for key, part in value.items():
            if (kind, key) in WITHIN:
                look(WITHIN[kind, key], part)
            elif isinstance(part, dict):
                raise AssertionError(f"{kind}: {key} is an object that nobody has told of")


def note(args: tuple[str, ...], value) -> None:
    """Record the output of a command."""
    words = [arg for arg in args if arg not in ("-j", "--json")]
    if "--capture" in words:
        look("explain --capture", value)
    elif words:
        look(words[0] if words[0] != "show" else SHOWN.get((words + [""])[1], "show ids and listeners"), value)


def wrong(whole: bool) -> list[str]:
    """Members that were printed and are not documented; after the whole suite also the reverse."""
    page = documented()
    found = defaultdict(set, {kind: set(names) for kind, names in seen.items()})
    # Documented with explain, which adds them to ids and peers.
    for kind in ("show ids and listeners", "show peers"):
        found["explain"] |= found[kind] & {"waits_for", "why_no_trunk"}
        found[kind] -= {"waits_for", "why_no_trunk"}
    lines = [f"{kind}: {', '.join(sorted(names - page.get(kind, set())))}: not in rdma-cm-alt.8"
             for kind, names in found.items() if names - page.get(kind, set())]
    rest = {kind: names - found[kind] - BY_CHANCE.get(kind, set()) for kind, names in page.items() if whole}
    return lines + [f"{kind}: {', '.join(sorted(names))}: in rdma-cm-alt.8, and never seen"
                    for kind, names in rest.items() if names]
