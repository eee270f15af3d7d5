# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Evaluates the measurements: the table of targets, and whether they are met.

A value is the median of the rounds, followed by the minimum and maximum. A ratio is computed from the two values of
the same round, because only those were measured at the same time.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

OURS, STOCK, FLOOR = "ours", "stock", "floor"
# Bytes of a piece of "rsocket-bulk".
PIECE = 65536
MET, MISSED = "met", "missed"
NOT_RUN = "not measured"

Record = dict[str, object]


@dataclass
class Row:
    """A line of the table."""

    what: str
    target: str
    ours: str = "-"
    stock: str = "-"
    floor: str = "-"
    ratio: str = "-"
    verdict: str = NOT_RUN
    note: str = ""

    def cells(self) -> list[str]:
        """Returns the cells in the order of the table."""
        return [self.what, self.ours, self.stock, self.floor, self.ratio, self.target, self.verdict]


TITLES = ["what", "ours", "stock", "floor", "ratio", "target", "verdict"]


def percentile(values: Iterable[float], part: float) -> float:
    """Returns the value that this part of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


class Found:
    """All records, and queries on them."""

    def __init__(self, records: list[Record]) -> None:
        self._records = records

    def of_rows(self, prefix: str) -> list[Record]:
        """Returns the complete records of ours in all rows whose names begin so."""
        return [record for record in self._records
                if record["row"].startswith(prefix) and record["stack"] == OURS and "broken" not in record]

    def of(self, row: str, stack: str, variant: str | None = None) -> list[Record]:
        """Returns the complete records of a row and a stack, in the order of the rounds."""
        return [record for record in self._records
                if (record["row"], record["stack"]) == (row, stack) and "broken" not in record
                and variant in (None, record["variant"])]

    def broken(self, row: str) -> str:
        """Returns why records of a row are missing."""
        for record in self._records:
            if record["row"] == row and "broken" in record:
                return f"{record['stack']} {record['variant']}: {record['broken']}"
        return ""

    def pooled(self, row: str, stack: str, key: str) -> list[float]:
        """Returns all values of all rounds."""
        return [value for record in self.of(row, stack) for value in record.get(key, [])]


def spread(values: list[float], form: str, unit: str) -> str:
    """Formats the median, and the minimum and maximum if there are several values."""
    text = format(statistics.median(values), form) + unit
    if len(values) > 1:
        text += f" ({min(values):{form}}..{max(values):{form}})"
    return text


def verdict(good: bool) -> str:
    """Returns the word for the result."""
    return MET if good else MISSED


def ratios(above: list[float], below: list[float]) -> list[float]:
    """Returns the ratios of the rounds that both lists have."""
    return [one / other for one, other in zip(above, below) if other]


def _calls(found: Found, row: Row, key: str, most: float) -> None:
    """Each variant has to meet the target, and all of them are reported."""
    for name in (OURS, STOCK):
        cells = []
        for record in found.of(key, name):
            if "calls" not in record:
                row.note += f"{name}: {record.get('why')}. "
                row.verdict = MISSED
                continue
            variant = f"{record['variant']} at a time: " if record["variant"] else ""
            cells.append(f"{variant}{record['calls']:g}")
            row.note += f"{name}: {variant}" + ", ".join(
                f"{call} {count:g}" for call, count in record["each"].items()) + ". "
            if name == OURS and row.verdict != MISSED:
                row.verdict = verdict(record["calls"] <= most)
        if cells:
            setattr(row, name, "; ".join(cells))


def _use(record: Record) -> str:
    """Formats the processor time of a connection and its end, by consumer."""
    count = record["count"]
    parts = {part: record[f"{part}_us"] / count
             for part in ("client_user", "client_system", "server_user", "server_system", "busy")
             if f"{part}_us" in record}
    rest = parts.get("busy", 0) - sum(us for part, us in parts.items() if part != "busy")
    told = [f"{part.replace('_', ' ')} {us:.0f}" for part, us in parts.items() if part != "busy"]
    return ", ".join([*told, f"the rest of the kernel {rest:.0f}"])


def _rate(found: Found, row: Row, key: str) -> None:
    def each(key: str, name: str) -> list[float]:
        return [record["up_us"] / record["count"] for record in found.of(key, name)]

    ours, stock, floor = each(key, OURS), each("rate", STOCK), each("rate", FLOOR)
    for name, where, values in ((OURS, key, ours), (STOCK, "rate", stock), (FLOOR, "rate", floor)):
        if values:
            setattr(row, name, spread(values, ".0f", " us"))
        if values and where == key:
            record = found.of(where, name)[-1]
            row.note += f"{name}, us of processors for a connection and its end: {_use(record)}. "
    if key == "rate" and (values := each("rate-path", FLOOR)):
        row.note += f"floor with a query of the path: {spread(values, '.0f', ' us')}. "
        row.note += f"Of it: {_use(found.of('rate-path', FLOOR)[-1])}. "
    if not (ours and stock and floor):
        return
    gain = ratios(stock, ours)
    above = statistics.median(ratios(ours, floor))
    row.ratio = f"{spread(gain, '.2f', 'x')}; {above:.2f}x the floor"
    row.verdict = verdict(statistics.median(gain) >= 1.2)


def _resolve(found: Found, row: Row) -> None:
    def each(key: str, name: str) -> list[float]:
        return [statistics.median(record["resolve"]) for record in found.of(key, name)]

    ours, stock = each("resolve", OURS), each("resolve", STOCK)
    if ours and stock:
        row.ours, row.stock = spread(ours, ".1f", " us"), spread(stock, ".1f", " us")
        gain = ratios(stock, ours)
        row.ratio = spread(gain, ".1f", "x")
        row.verdict = verdict(statistics.median(gain) >= 6)
        mean = {name: [statistics.fmean(record["resolve"]) for record in found.of("resolve", name)]
                for name in (OURS, STOCK)}
        row.note = "these are medians; means: " + ", ".join(
            f"{name} {spread(values, '.0f', ' us')}" for name, values in mean.items())
        row.note += f", {spread(ratios(mean[STOCK], mean[OURS]), '.1f', 'x')}. "
    ours, stock = each("resolve-own", OURS), each("resolve-own", STOCK)
    if ours and stock:
        row.note += (f"an address of this host: {spread(ours, '.1f', ' us')}, stock "
                    f"{spread(stock, '.1f', ' us')}, {spread(ratios(stock, ours), '.1f', 'x')}. ")


def _loss(found: Found, row: Row, key: str, most: float) -> None:
    each = {name: found.pooled(key, name, "connect") for name in (OURS, STOCK)}
    for name, values in each.items():
        if values:
            setattr(row, name, f"{percentile(values, 0.99) / 1e6:.3f} s")
    for name in (OURS, STOCK):
        if ends := found.pooled(key, name, "disconnect"):
            row.note += f"{name}: disconnect p99 {percentile(ends, 0.99) / 1e6:.3f} s. "
    if each[OURS]:
        row.verdict = verdict(percentile(each[OURS], 0.99) / 1e6 <= most)
        if each[STOCK]:
            row.ratio = f"{percentile(each[STOCK], 0.99) / percentile(each[OURS], 0.99):.1f}x"


def _storm(found: Found, row: Row) -> None:
    for name in (OURS, STOCK):
        burst, paced = (found.of("storm", name, variant) for variant in ("at once", "paced"))
        if not (burst and paced):
            continue
        times = ratios([record["up_us"] for record in burst], [record["up_us"] for record in paced])
        failures = sum(record["failures"] for record in burst)
        lost = f", {failures} failed" if failures else ""
        setattr(row, name, f"{spread(times, '.2f', 'x')} the paced time{lost}")
        row.note += f"{name}: " + ", ".join(
            f"{record['up_us'] / 1e6:.2f} s {record['variant']}" for record in (*burst, *paced)) + ". "
        if name == OURS:
            row.verdict = verdict(statistics.median(times) <= 1.2 and not failures)


def _dead(found: Found, row: Row) -> None:
    for name in (OURS, STOCK):
        idle, beside = (found.pooled("dead", name, key) for key in ("idle", "beside"))
        if not (idle and beside):
            continue
        times = percentile(beside, 0.99) / percentile(idle, 0.99)
        setattr(row, name, f"{times:.2f}x of {percentile(idle, 0.99) / 1e3:.1f} ms")
        row.note += f"{name}: median {statistics.median(beside) / statistics.median(idle):.2f}x. "
        if name == OURS:
            row.verdict = verdict(times <= 1.3)


def _ids(found: Found, row: Row) -> None:
    for name in (OURS, STOCK):
        for record in found.of("ids", name):
            setattr(row, name, f"{record['ids']}")
            if record["failures"]:
                row.note += f"{name} ends with {record['why']}. "
            if name == OURS:
                row.verdict = verdict(record["ids"] >= 100000)


def _close(found: Found, row: Row) -> None:
    each: dict[str, dict[int, list[float]]] = {}
    for name in (OURS, STOCK):
        for record in found.of("close", name):
            counts = each.setdefault(name, {})
            counts.setdefault(record["count"], []).append(record["close_us"] / record["count"])
            if record["count"] >= 16000 and not record["round"]:
                row.note += f"{name}: quiet {record['after_us'] / 1e6:.1f} s after the close. "
    both = set(each.get(OURS, ())) & set(each.get(STOCK, ()))
    if not both:
        return
    most = max(both)
    row.ours, row.stock = (spread(each[name][most], ".0f", " us/id") for name in (OURS, STOCK))
    gain = ratios(each[STOCK][most], each[OURS][most])
    # Linear: twice the ids take twice the time. A quadratic close would take four times as long from 4,000 on.
    steps = [statistics.median(each[OURS][count]) for count in sorted(both) if count >= 4000]
    growth = steps[-1] / steps[0] if steps else 1
    row.ratio = f"{spread(gain, '.1f', 'x')}; {growth:.1f}x the time per id of 4,000"
    row.verdict = verdict(statistics.median(gain) >= 6 and growth <= 1.5)


def _memory(found: Found, row: Row) -> None:
    for name in (OURS, STOCK, FLOOR):
        each = [(record["slab"] + record["rest"]) / record["count"] / 2
                for record in found.of("memory", name)]
        if not each:
            continue
        setattr(row, name, spread(each, ".0f", " B"))
        if name == OURS:
            row.verdict = verdict(statistics.median(each) <= 1536)
        record = found.of("memory", name)[0]
        caches = sorted(record["caches"].items(), key=lambda item: -item[1])
        row.note += f"{name}: " + ", ".join(f"{cache} {size / record['count'] / 2:.0f}"
                                            for cache, size in caches) + ". "


def _destroy(found: Found, row: Row) -> None:
    for name in (OURS, STOCK):
        each = {str(record["variant"]): [value / 1e3 for value in record["destroy"]]
                for record in found.of("iw-destroy", name)}
        if not each:
            continue
        setattr(row, name, "; ".join(f"{variant}: {spread(values, '.2f', ' ms')}"
                                     for variant, values in each.items()))
        if name == OURS:
            row.verdict = verdict(max(map(max, each.values())) <= 10)


def _disconnect(found: Found, row: Row) -> None:
    for name in (OURS, STOCK):
        for record in found.of("disconnect", name):
            setattr(row, name, f"{record['disconnect_us'] / 1e6:.1f} s")
            if name == OURS:
                # If the record has no deadline, the option was refused.
                deadline = record.get("deadline_us", 0)
                # An earlier end means that the peer answered, or that the id was never connected.
                row.verdict = verdict(0.9 * deadline <= record["disconnect_us"] <= deadline + 0.5e6)
                row.target += f" ({deadline / 1e6:g} s)"


def _rsocket(found: Found, row: Row, key: str, unit: str, get: Callable[[Record], float], least: float) -> None:
    """`get` returns what is better if it is more."""
    ours, stock = ([get(record) for record in found.of(key, name)] for name in (OURS, STOCK))
    if ours and stock:
        row.ours, row.stock = spread(ours, ",.1f", unit), spread(stock, ",.1f", unit)
        gain = ratios(ours, stock)
        row.ratio = spread(gain, ".2f", "x")
        row.verdict = verdict(statistics.median(gain) >= least)


def _crowd(found: Found, row: Row) -> None:
    memory = {}
    for name in (OURS, STOCK):
        for record in found.of("rsocket-crowd", name):
            memory[name, record["variant"]] = record["resident"] / record["count"] / 1024
            setattr(row, name, f"{memory[name, record['variant']]:,.0f} KiB, "
                               f"{record['descriptors'] / record['count']:.1f} descriptors")
            if name == OURS:
                row.note += f"{record['count']} of ours: {record['idle_us'] / 1e3:.1f} ms of processor time in 5 s. "
                row.verdict = verdict(record["idle_us"] < 5000 and row.verdict != MISSED)
    if len(memory) == 3:
        each = memory[OURS, "100"] / memory[STOCK, "100"]
        row.ratio = f"{each:.2f}x the memory"
        row.verdict = verdict(each <= 1.01 and row.verdict != MISSED)


@dataclass
class Target:
    """A row of the table: its records, the target, and the function that evaluates it."""

    key: str
    what: str
    target: str
    judge: Callable[[Found, Row], None]


TARGETS = [
    Target("calls", "CM system calls per connection, both ends, one at a time", "<= 12",
           lambda found, row: _calls(found, row, "calls", 12)),
    Target("calls-100", "the same with 100 in flight", "<= 9.5",
           lambda found, row: _calls(found, row, "calls-100", 9.5)),
    Target("calls-fused", "the same through the fused calls", "<= 6",
           lambda found, row: _calls(found, row, "calls-fused", 6)),
    Target("rate", "time per connection without QPs", ">= 1.2x",
           lambda found, row: _rate(found, row, "rate")),
    Target("rate-fused", "the same without QPs, fused calls", ">= 1.2x",
           lambda found, row: _rate(found, row, "rate-fused")),
    Target("resolve", "address and route, warm neighbour", ">= 6x", _resolve),
    Target("loss-roce", "connect p99, 1 % of messages lost, RoCE", "<= 0.7 s",
           lambda found, row: _loss(found, row, "loss-roce", 0.7)),
    Target("loss-ib", "connect p99, 1 % of messages lost, InfiniBand", "<= 0.2 s",
           lambda found, row: _loss(found, row, "loss-ib", 0.2)),
    Target("storm", "8,000 connects at once", "all made, <= 1.2x the paced time", _storm),
    Target("dead", "connect p99 beside 1,000 ids to dead peers", "<= 1.3x of idle", _dead),
    Target("ids", "ids to one destination", ">= 100000", _ids),
    Target("close", "close with 16,000 ids and events", ">= 6x, linear", _close),
    Target("memory", "kernel memory of an idle connection end", "<= 1536 B", _memory),
    Target("iw-destroy", "destroy of an iWARP id that connects to a dead peer", "<= 10 ms", _destroy),
    Target("rsocket-messages", "messages of an rsocket and their answers, 64 bytes, RoCE", ">= 1x",
           lambda found, row: _rsocket(found, row, "rsocket-messages", " per ms",
                                       lambda record: record["count"] * 1e3 / record["up_us"], 1)),
    Target("rsocket-bulk", "data of an rsocket, RoCE", ">= 1x",
           lambda found, row: _rsocket(found, row, "rsocket-bulk", " MB/s",
                                       lambda record: record["count"] * PIECE / record["up_us"], 1)),
    Target("rsocket-crowd", "a client's idle rsocket: memory, descriptors", "<= 1x the memory, no processor", _crowd),
    Target("disconnect", "synchronous disconnect from a dead peer", "the id's deadline", _disconnect),
]


def judge(records: list[Record], targets: list[Target]) -> list[Row]:
    """Returns the table."""
    found = Found(records)
    rows = []
    for target in targets:
        row = Row(target.what, target.target)
        target.judge(found, row)
        failed = [record for record in found.of(target.key, OURS) if record.get("failures")]
        if failed:
            row.note = f"{failed[0]['failures']} of ours failed: {failed[0]['why']}. {row.note}"
            row.verdict = MISSED
        if broken := found.broken(target.key):
            row.note = f"broken: {broken}. {row.note}"
            row.verdict = MISSED
        rows.append(row)
    return rows


def text(rows: list[Row]) -> str:
    """Formats the table for a terminal."""
    lines = [TITLES, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(TITLES))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
                     for line in lines)


def rst(rows: list[Row]) -> str:
    """Formats the table for the documents."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for cells in (TITLES, *(row.cells() for row in rows)):
        lines += [f"   {'*' if not number else ' '} - {cell}" for number, cell in enumerate(cells)]
    return "\n".join(lines)


def _steps(output: str) -> dict[str, float]:
    """Parses the output of cmtime: us per connection of each step, without QPs."""
    table = output.rpartition("test - no QPs")[2]
    return {name: float(each) for name, each in
            re.findall(r"(?m)^([a-z ]+?) {2,}(\d+) +\d+ +\d+ +\d+ +\d+ +\d+$", table)}


def cmtime(records: list[Record]) -> str:
    """Formats the results of cmtime, which have no target."""
    found: dict[str, dict[str, list[float]]] = {}
    for record in records:
        if record["row"] == "cmtime" and "output" in record:
            for name, each in _steps(str(record["output"])).items():
                found.setdefault(name, {}).setdefault(str(record["stack"]), []).append(each)
    if not found:
        return "cmtime: not measured"
    lines = [f"{'cmtime without QPs, us each':28}{OURS:>8}{STOCK:>8}"]
    for name, each in found.items():
        cells = [f"{statistics.median(each[stack]):.0f}" if stack in each else "-"
                 for stack in (OURS, STOCK)]
        lines.append(f"{name:28}{cells[0]:>8}{cells[1]:>8}")
    return "\n".join(lines)


def notes(rows: list[Row]) -> str:
    """Formats the details that do not fit into the table."""
    return "\n".join(f"{row.what}: {row.note.strip()}" for row in rows if row.note)
