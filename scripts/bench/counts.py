# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs a guest whose instructions are counted, and evaluates the counts."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path

from . import paths, profile
from .verdicts import FLOOR, MISSED, OURS, STOCK, Found, Row, Target, ratios, spread, verdict

ROW = "count"
PLUGIN = paths.BUILD / "tests/perf/count/counter.so"
# One processor whose clock counts its instructions: nearly the same figures in every run.
EXACT = "-smp 1,sockets=1 -icount shift=1"
OUR_MODULE = "rdma_cm_alt"
# Cases of tests/perf/count.py, the first one being what the others are compared with.
LIVE = ("live-100-1", "live-1000-1", "live-10000-1", "live-100000-1", "live-1000-1000", "live-100000-1000",
        "live-100000-10000")
# Pieces of the case "bulk" in a megabyte.
PIECES = 16
OUR_LIBRARIES = ("librdmacm.so.1", "libc.so.6")

Profiles = dict[tuple[str, str], list[profile.Profile]]


def run(guest: str, out: Path, cases: list[str], *, rounds: int, exact: bool,
        quick: bool = False, stacks: list[str] | None = None) -> tuple[Profiles, list[dict]]:
    """Runs cases of tests/perf/count.py in a guest, for all or some stacks; returns their profiles, and records of failures."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    words = ["exec", "tests/perf/run", "--count", f"-r{rounds}", *(["-q"] if quick else []),
             *(f"-s{stack}" for stack in stacks or ()), *cases]
    # The plugin needs an emulated guest, whose processors take turns.
    done = subprocess.run(
        ["scripts/vm", "-o", out, "-t", "2400", "-m", "4096", f"-q=-plugin {PLUGIN},out={out} {EXACT if exact else ''}",
         guest, "--", " ".join(words)], cwd=paths.ROOT, check=False, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "RCA_ACCEL": "tcg"})
    (out / "log").write_text(done.stdout)
    if done.returncode or not (out / "kallsyms").exists():
        raise paths.BenchError(f"the guest with counted instructions ended with status {done.returncode}: "
                               + done.stdout.strip()[-600:])
    records = [json.loads(line) for line in (out / "perf.jsonl").read_text().splitlines()]
    return profile.load(out, records), [record for record in records if "broken" in record]


def summaries(profiles: Profiles) -> list[dict]:
    """Returns a record for each round of each case and stack."""
    return [{"row": f"{ROW}-{case}", "stack": stack, "variant": "", "round": number, **each.summary()}
            for (case, stack), rounds in profiles.items() for number, each in enumerate(rounds)]


def _values(found: Found, case: str, stack: str, get: Callable[[dict], float]) -> list[float]:
    return [get(record) for record in found.of(f"{ROW}-{case}", stack)]


def _total(record: dict) -> float:
    return record["total"]


def _instructions(found: Found, row: Row, case: str, most: float) -> None:
    ours, stock = (_values(found, case, stack, _total) for stack in (OURS, STOCK))
    if not (ours and stock):
        return
    row.ours, row.stock = spread(ours, ",.0f", ""), spread(stock, ",.0f", "")
    shares = ratios(ours, stock)
    row.ratio = spread(shares, ".2f", "x")
    row.verdict = verdict(statistics.median(shares) <= most)
    for name in (OURS, STOCK):
        record = found.of(f"{ROW}-{case}", name)[0]
        row.note += f"{name}: " + ", ".join(f"{what} {count:,}" for what, count in record["modules"].items())
        row.note += f"; bytes copied {record['copied']:,}, cleared {record['cleared']:,}, in " \
                    f"{record['iterations']:,} iterations that count as instructions; "
        row.note += ", ".join(f"{what} {count:g}" for what, count in record["calls"].items()) + ". "


def _fused(found: Found, row: Row) -> None:
    ours = _values(found, "ib-fused-64", OURS, _total)
    floor = _values(found, "floor-64", FLOOR, _total)
    if ours and floor:
        row.ours, row.floor = spread(ours, ",.0f", ""), spread(floor, ",.0f", "")
        above = statistics.median(ours) / statistics.median(floor)
        row.ratio = f"{above:.2f}x the floor"
        row.verdict = verdict(above <= 1.35)


def _part(found: Found, row: Row, get: Callable[[dict], float], most: float) -> None:
    worst = 0.0
    cells = []
    for case in ("roce-64", "ib-64"):
        if values := _values(found, case, OURS, get):
            cells.append(f"{case} {spread(values, ',.0f', '')}")
            worst = max(worst, statistics.median(values))
    if cells:
        row.ours = "; ".join(cells)
        row.verdict = verdict(worst <= most)


def _at_most(found: Found, row: Row, limits: dict[str, float], get: Callable[[dict], float], form: str) -> None:
    for name in (OURS, STOCK):
        cells = []
        for case, most in limits.items():
            if values := _values(found, case, name, get):
                cells.append(f"{case} {spread(values, form, '')}")
                if name == OURS and row.verdict != MISSED:
                    row.verdict = verdict(statistics.median(values) <= most)
        if cells:
            setattr(row, name, "; ".join(cells))


def _switches(found: Found, row: Row, limits: dict[str, float]) -> None:
    _at_most(found, row, limits, lambda record: record["calls"]["context switches"], ".1f")


def _over_trunks(found: Found, row: Row, limits: dict[str, float]) -> None:
    _at_most(found, row, limits, _total, ",.0f")


def _beside_stock(found: Found, row: Row, prefix: str, limits: dict[str, float]) -> None:
    """Our cases with a prefix beside those of stock without: all of them are needed for a verdict."""
    both = {case: (ours, stock) for case in limits
            if (ours := _values(found, prefix + case, OURS, _total)) and (stock := _values(found, case, STOCK, _total))}
    row.ours, row.stock = ("; ".join(f"{case} {spread(pair[end], ',.0f', '')}" for case, pair in both.items()) or "-"
                           for end in (0, 1))
    shares = {case: statistics.median(ours) / statistics.median(stock) for case, (ours, stock) in both.items()}
    if len(shares) == len(limits):
        row.ratio = "; ".join(f"{share:.2f}x" for share in shares.values())
        row.verdict = verdict(all(share <= limits[case] for case, share in shares.items()))


def _saved(found: Found, row: Row, limits: dict[str, float]) -> None:
    cells = []
    for case, least in limits.items():
        over_ib_cm, over_trunk = (_values(found, name, OURS, _total) for name in (case, f"trunk-{case}"))
        if not (over_ib_cm and over_trunk):
            continue
        saved = statistics.median(over_ib_cm) - statistics.median(over_trunk)
        cells.append(f"{case} {saved:,.0f}")
        if row.verdict != MISSED:
            row.verdict = verdict(saved >= least)
    row.ours = "; ".join(cells)


def _stream(found: Found, row: Row, case: str, parts: int) -> None:
    """A case of rsockets, `parts` of which make what the row is about."""
    ours, stock = ([value * parts for value in _values(found, case, stack, _total)] for stack in (OURS, STOCK))
    if not (ours and stock):
        return
    row.ours, row.stock = spread(ours, ",.0f", ""), spread(stock, ",.0f", "")
    shares = ratios(ours, stock)
    row.ratio = spread(shares, ".2f", "x")
    row.verdict = verdict(statistics.median(shares) <= 1)


def module(record: dict) -> float:
    """Returns the instructions of our module."""
    return record["modules"].get(OUR_MODULE, 0)


def library(record: dict) -> float:
    """Returns the instructions of our library and of libc."""
    return sum(record["modules"].get(name, 0) for name in OUR_LIBRARIES)


def _scale(found: Found, row: Row, cases: tuple[str, ...]) -> None:
    totals = {case: values[0] for case in cases if (values := _values(found, case, OURS, _total))}
    if len(totals) < 2:
        return
    first, *others = totals.values()
    row.ours = "; ".join(f"{case.partition('-')[2]}: {total:,.0f}" for case, total in totals.items())
    row.ratio = f"at most {max(others) / first:.2f}x"
    row.verdict = verdict(max(others) <= 1.2 * first)


TARGETS = [
    Target(f"{ROW}-roce-64", "instructions per connection, both ends, 64 under way, RoCE", "<= 0.72x",
           lambda found, row: _instructions(found, row, "roce-64", 0.72)),
    Target(f"{ROW}-ib-64", "the same, InfiniBand", "<= 0.72x",
           lambda found, row: _instructions(found, row, "ib-64", 0.72)),
    Target(f"{ROW}-roce-1", "instructions per connection, one at a time, RoCE", "<= 0.70x",
           lambda found, row: _instructions(found, row, "roce-1", 0.70)),
    Target(f"{ROW}-ib-1", "the same, InfiniBand", "<= 0.70x",
           lambda found, row: _instructions(found, row, "ib-1", 0.70)),
    Target(f"{ROW}-ib-fused-64", "the same through the fused calls, InfiniBand", "<= 1.35x the floor", _fused),
    Target(f"{ROW}-module", "instructions of the module per connection", "<= 13,000",
           lambda found, row: _part(found, row, module, 13000)),
    Target(f"{ROW}-library", "instructions of the library and libc per connection", "<= 11,000",
           lambda found, row: _part(found, row, library, 11000)),
    Target(f"{ROW}-switches", "context switches per connection", "<= 10, 15 and 30",
           lambda found, row: _switches(found, row, {"roce-64": 10, "ib-64": 15, "ib-1": 30})),
    Target(f"{ROW}-trunk-64", "instructions per connection over a trunk, 64 under way", "<= 100,000",
           lambda found, row: _over_trunks(found, row, {"trunk-roce-64": 100000, "trunk-ib-64": 100000})),
    Target(f"{ROW}-trunk-1", "the same, one at a time", "<= 200,000",
           lambda found, row: _over_trunks(found, row, {"trunk-roce-1": 200000, "trunk-ib-1": 200000})),
    Target(f"{ROW}-trunk-fused-64", "the same, fused calls, 64 under way", "<= 70,000",
           lambda found, row: _over_trunks(found, row, {"trunk-roce-fused-64": 70000, "trunk-ib-fused-64": 70000})),
    Target(f"{ROW}-trunk-saved", "instructions of a connection over ib_cm less those over a trunk", ">= 90,000 and 60,000",
           lambda found, row: _saved(found, row, {"roce-64": 90000, "ib-64": 90000, "roce-1": 60000, "ib-1": 60000})),
    Target(f"{ROW}-trunk-switches", "context switches per connection over a trunk", "<= 5",
           lambda found, row: _switches(found, row, {"trunk-roce-64": 5, "trunk-ib-64": 5})),
    Target(f"{ROW}-ucm", "instructions per connection of programs with Debian's librdmacm", "<= 1x",
           lambda found, row: _beside_stock(found, row, "ucm-", {"roce-64": 1, "ib-64": 1, "roce-1": 1, "ib-1": 1})),
    Target(f"{ROW}-cycle", "instructions per connection from the first call to the last, with a QP, a message and its answer, RoCE",
           "<= 0.78 and 0.64x", lambda found, row: _beside_stock(found, row, "", {"cycle-1": 0.78, "cycle-64": 0.64})),
    Target(f"{ROW}-trunk-cycle", "the same over a trunk", "<= 0.55 and 0.38x",
           lambda found, row: _beside_stock(found, row, "trunk-", {"cycle-1": 0.55, "cycle-64": 0.38})),
    Target(f"{ROW}-messages", "instructions per message of an rsocket and its answer, 64 bytes, RoCE", "<= 1x",
           lambda found, row: _stream(found, row, "messages", 1)),
    Target(f"{ROW}-bulk", "instructions per megabyte of an rsocket, RoCE", "<= 1x",
           lambda found, row: _stream(found, row, "bulk", PIECES)),
    Target(f"{ROW}-streams", "instructions per connection of an rsocket, both ends, RoCE", "<= 1x",
           lambda found, row: _stream(found, row, "streams", 1)),
    *(Target(f"{ROW}-{cases[0]}", what, "<= 1.2x the first",
             lambda found, row, cases=cases: _scale(found, row, cases))
      for what, cases in (
          ("instructions for one more connection, beside how many, to how many peers", LIVE),
          ("for one more address", ("resolve-100-1", "resolve-100000-10000")),
          ("for a connection to a host with how many other listeners", ("listeners-1", "listeners-1000")),
          ("for a connection between hosts with how many ports", ("ports-2", "ports-66")))),
]
