# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Names of the counters and durations of the module, from its sources.

The suite `tool` compares them with what the command prints.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def _names(file: str, pattern: str) -> list[str]:
    found = re.findall(pattern, (ROOT / "kernel" / file).read_text())
    if not found:
        raise LookupError(f"kernel/{file}: nothing matches {pattern}")
    return found


def steps() -> list[str]:
    """The values of the label "step" of rdma_cm_alt_steps_total."""
    return [*_names("lib/fsm.h", r'\((?:RCA_IN_\w+), "([^"]+)"\)'),
            *_names("diag/netlink_dump.c", r'put_counter\(skb, "([^"]+)"'),
            *_names("transport/stats.c", r'\[RCA_STAT_\w+\] = "([^"]+)"')]


def spans() -> list[str]:
    """The values of the label "step" of the histogram rdma_cm_alt_step_seconds."""
    return _names("transport/stats.c", r'\[RCA_SPAN_\w+\] = "([^"]+)"')


COUNTER = "rdma_cm_alt_steps_total"
HISTOGRAM = "rdma_cm_alt_step_seconds"
BUCKET, SUM, COUNT = f"{HISTOGRAM}_bucket", f"{HISTOGRAM}_sum", f"{HISTOGRAM}_count"


def unknown(expression: str) -> list[str]:
    """What an expression of PromQL selects and the module does not have, one sentence each."""
    wrong = []
    for metric, labels in re.findall(r"\b(rdma_cm_alt\w*)(?:\{([^}]*)\})?", expression):
        if metric not in (COUNTER, BUCKET, SUM, COUNT):
            wrong.append(f"there is no metric {metric}")
            continue
        known = steps() if metric == COUNTER else spans()
        for label, operator, value in re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', labels):
            if label not in ("device", "port", "step", "le", "instance"):
                wrong.append(f"{metric} has no label {label}")
            elif label == "step":
                wrong += [f"{metric} has no step {one}" for one in (value.split("|") if "~" in operator else [value])
                          if not any(re.fullmatch(one, name) for name in known)]
    return wrong
