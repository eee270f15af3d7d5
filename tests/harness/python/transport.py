# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What connections of the module are made over: the module parameter trunks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SWITCH = Path("/sys/module/rdma_cm_alt/parameters/trunks")


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
