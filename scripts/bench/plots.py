# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Plots of the measurements, as PNG and SVG."""

from __future__ import annotations

import statistics
from pathlib import Path

from .verdicts import FLOOR, OURS, STOCK, Found, Record

# Two points of a picture are at least this part of all connects apart.
STEP = 0.0005

COLOURS = {OURS: "tab:blue", STOCK: "tab:red", FLOOR: "tab:gray"}


def slowest(records: list[Record], row: str) -> list[str]:
    """Returns the records of a picture of latency: stack, milliseconds, and the part of all connects done by then."""
    lines = []
    for name in (OURS, STOCK):
        values = sorted(Found(records).pooled(row, name, "connect"))
        shown = 0.0
        for number in range(int(0.895 * len(values)), len(values)):
            part = (number + 1) / len(values)
            if part - shown >= STEP or number + 1 == len(values):
                lines.append(f"{name}\t{values[number] / 1e3:.4g}\t{part:.4f}")
                shown = part
    return lines


def _latency(axes: object, found: Found, row: str) -> bool:
    for name in (OURS, STOCK):
        values = sorted(found.pooled(row, name, "connect"))
        if values:
            # Nine tenths of the values are fast and uninteresting: leaving them out keeps the file small.
            first = int(0.895 * len(values))
            axes.step([value / 1e3 for value in values[first:]],
                      [(number + 1) / len(values) for number in range(first, len(values))],
                      where="post", label=name, color=COLOURS[name])
    axes.set(xscale="log", xlabel="connect latency in ms", ylabel="part of all connections",
             ylim=(0.9, 1.001))
    return bool(axes.lines)


def _rate(axes: object, found: Found) -> bool:
    for name in (OURS, STOCK, FLOOR):
        points = sorted((record["count"], record["count"] / record["up_us"] * 1e6)
                        for record in found.of("rate-curve", name))
        if points:
            axes.plot(*zip(*points), marker="o", label=name, color=COLOURS[name])
    axes.set(xlabel="connections", ylabel="connections per second", ylim=(0, None))
    return bool(axes.lines)


def _close(axes: object, found: Found) -> bool:
    for name in (OURS, STOCK):
        times: dict[int, list[float]] = {}
        for record in found.of("close", name):
            times.setdefault(record["count"], []).append(record["close_us"] / 1e6)
        points = sorted((count, statistics.median(values)) for count, values in times.items())
        if points:
            axes.plot(*zip(*points), marker="o", label=name, color=COLOURS[name])
    axes.set(xlabel="ids with an event that nobody read", ylabel="close in s", ylim=(0, None))
    return bool(axes.lines)


def _scale(axes: object, found: Found) -> bool:
    lines: dict[int, list[tuple[int, float]]] = {}
    for record in found.of_rows("count-live-"):
        live, peers = map(int, record["row"].split("-")[2:])
        lines.setdefault(peers, []).append((live, record["total"]))
    for peers, points in sorted(lines.items()):
        axes.plot(*zip(*sorted(points)), marker="o", label=f"to {peers:,} peer{'s' if peers > 1 else ''}")
    axes.set(xscale="log", xlabel="connections that are there", ylabel="instructions for one more", ylim=(0, None))
    return bool(axes.lines)


def draw(records: list[Record], directory: Path) -> list[Path]:
    """Draws the plots for which there are records; returns the files."""
    # Loading matplotlib takes a second, and a report without plots does not need it.
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("Agg")
    # Makes the output reproducible.
    matplotlib.rcParams["svg.hashsalt"] = "rdma_cm_alt"
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel

    found = Found(records)
    pictures = {
        "latency-ib": (lambda axes: _latency(axes, found, "loss-ib"),
                       "1 % of CM messages lost, InfiniBand"),
        "latency-roce": (lambda axes: _latency(axes, found, "loss-roce"),
                         "1 % of packets lost, RoCE"),
        "rate": (lambda axes: _rate(axes, found), "connections without QPs"),
        "scale": (lambda axes: _scale(axes, found), "one more connection, and its end"),
        "close": (lambda axes: _close(axes, found), "close of an event channel"),
    }
    files = []
    for name, (fill, title) in pictures.items():
        figure, axes = pyplot.subplots(figsize=(6, 4))
        if fill(axes):
            axes.set_title(title)
            axes.grid(alpha=0.3)
            axes.legend()
            for kind in ("png", "svg"):
                files.append(directory / f"{name}.{kind}")
                figure.savefig(files[-1], bbox_inches="tight", dpi=120,
                               metadata={"Date": None} if kind == "svg" else None)
        pyplot.close(figure)
    return files
