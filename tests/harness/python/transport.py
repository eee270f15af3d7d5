# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What connections of the module are made over: the module parameter trunks."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SWITCH = Path("/sys/module/rdma_cm_alt/parameters/trunks")
TOOL = Path(__file__).resolve().parents[3] / "build/rdma-cm-alt"


@contextmanager
def trunks(on: bool) -> Iterator[None]:
    """
    Trunks are on or off meanwhile. Without them all connections are made over ib_cm: for tests that drop or count its
    messages, depend on its timers, or compare with its limits.
    """
    before = SWITCH.read_text()
    SWITCH.write_text(str(int(on)))
    try:
        yield
    finally:
        SWITCH.write_text(before)


def no_trunk_is_open() -> bool:
    """Whether no trunk of the host is open, so that devices have only what programs use."""
    said = subprocess.run([TOOL, "-j", "show", "peers"], capture_output=True, check=True, timeout=60)
    return not any("trunk" in peer for peer in json.loads(said.stdout))


@contextmanager
def closed(seconds: float) -> Iterator[None]:
    """No trunk opens meanwhile, and those without connections have been closed, if that takes no longer."""
    with trunks(False):
        end = time.monotonic() + seconds
        while not no_trunk_is_open() and time.monotonic() < end:
            time.sleep(0.1)
        yield
