# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The pictures of the documents, drawn from the recorded results in tests/perf/results.

They are SVG with text as text, narrow enough for a telephone, and with a second set of colours that a reader in the
dark sees. Each names the digest of the records that it shows, so a picture that is out of date is found without
drawing it again.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable

from . import published
from .verdicts import OURS, STOCK

LICENCE = "SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause"
NAMES = {OURS: "rdma_cm_alt", STOCK: "stock rdma_cm", "trunk": "over a trunk"}
PAPER, INK, LINES = "#ffffff", "#1f2328", "#d0d7de"
COLOURS = {OURS: "#0550ae", STOCK: "#bc4c00", "trunk": "#1a7f37"}
# The colours of a reader in the dark.
DARK = {PAPER: "#0d1117", INK: "#e6edf3", LINES: "#3d444d",
        COLOURS[OURS]: "#58a6ff", COLOURS[STOCK]: "#f0883e", COLOURS["trunk"]: "#3fb950"}
SETTINGS = {"svg.hashsalt": "rdma_cm_alt", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11,
            "figure.facecolor": PAPER, "axes.facecolor": PAPER, "text.color": INK, "axes.edgecolor": INK,
            "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK, "grid.color": LINES,
            "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}


def _latency(axes: object) -> None:
    for name in (OURS, STOCK):
        points = [(float(ms), 100 * float(part)) for stack, ms, part in published.records("latency-ib") if stack == name]
        axes.step(*zip(*points), where="post", label=NAMES[name], color=COLOURS[name], linewidth=2.5)
    axes.set(xscale="log", xlim=(4, 20000), ylim=(90, 100.15), ylabel="% of connects that are done")
    axes.set_xticks([10, 100, 1000, 10000], ["10 ms", "0.1 s", "1 s", "10 s"])
    axes.set_title("Connects when 1 % of messages is lost", loc="left", fontsize=12)
    axes.grid(color=LINES)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.08))


def _instructions(axes: object) -> None:
    counts = [(case, int(number)) for case, number in published.records(published.TRUNK)]
    cases = [case for case, _ in reversed(counts)]
    numbers = [number for _, number in reversed(counts)]
    axes.barh([NAMES[case] for case in cases], numbers, color=[COLOURS[case] for case in cases], height=0.6)
    for place, number in enumerate(numbers):
        axes.text(1.02 * number, place, f"{number:,}", va="center")
    axes.set(xlim=(0, 1.28 * max(numbers)))
    axes.set_title("Instructions of a connection", loc="left", fontsize=12)
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(bottom=False, labelbottom=False, left=False)


# Each with its records and its height in inches.
PICTURES: dict[str, tuple[Callable[[object], None], str, float]] = {
    "latency-ib": (_latency, "latency-ib", 3.2),
    "instructions": (_instructions, published.TRUNK, 1.9),
}


def _mark(records: str) -> str:
    """Returns the comment of a picture that names its records."""
    digest = hashlib.sha256((published.RESULTS / f"{records}.tsv").read_bytes()).hexdigest()
    return f"<!-- drawn by scripts/perf pictures from {records}.tsv {digest[:16]} -->"


def _dark() -> str:
    rules = [f'[style*="{what}: {light}"] {{ {what}: {dark} !important }}'
             for light, dark in DARK.items() for what in ("fill", "stroke")]
    return "<style>@media (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}</style>"


def draw() -> list[str]:
    """Draws all pictures; returns their names."""
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("Agg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel

    for name, (fill, records, height) in PICTURES.items():
        with matplotlib.rc_context(SETTINGS):
            figure, axes = pyplot.subplots(figsize=(4.4, height), layout="constrained")
            fill(axes)
            text = io.StringIO()
            figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
            pyplot.close(figure)
        first, *lines = text.getvalue().splitlines()
        begin = next(number for number, line in enumerate(lines) if line.lstrip().startswith("<defs>"))
        lines = [first, f"<!-- {LICENCE} -->", _mark(records), *lines[:begin], _dark(), *lines[begin:]]
        (published.RESULTS / f"{name}.svg").write_text("".join(f"{line.rstrip()}\n" for line in lines))
    return list(PICTURES)


def outdated() -> list[str]:
    """Returns what is wrong with the pictures that are there."""
    wrong = []
    for name, (_, records, _) in PICTURES.items():
        path = published.RESULTS / f"{name}.svg"
        text = path.read_text() if path.exists() else ""
        if _mark(records) not in text:
            wrong.append(f"tests/perf/results/{name}.svg is not drawn from {records}.tsv; run scripts/perf pictures")
        elif _dark() not in text:
            wrong.append(f"tests/perf/results/{name}.svg has other colours for the dark; run scripts/perf pictures")
    return wrong
