# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What connections are made over: the module of trunks, which is loaded or not."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = "rdma_cm_alt_trunk"
LOADED = Path("/sys/module", NAME)


def loaded() -> bool:
    """Whether trunks are on."""
    return LOADED.exists()


def load() -> None:
    """Switch trunks on."""
    if not loaded():
        subprocess.run(["insmod", f"{os.environ['RCA_MODULES']}/{NAME}.ko"], check=True, timeout=60)


def unload(seconds: float = 30) -> None:
    """Switch trunks off, as soon as no connection of a program that has ended is over one."""
    end = time.monotonic() + seconds
    while loaded():
        done = subprocess.run(["rmmod", NAME], capture_output=True, text=True, check=False, timeout=60)
        if done.returncode and time.monotonic() > end:
            raise RuntimeError(f"the module of trunks is in use: {done.stderr}")
        time.sleep(0.05 * bool(done.returncode))


@contextmanager
def trunks(on: bool) -> Iterator[None]:
    """
    Trunks are on or off meanwhile. Without them all connections are made over ib_cm: for tests that drop or count its
    messages, depend on its timers, or compare with its limits.
    """
    before = loaded()
    (load if on else unload)()
    try:
        yield
    finally:
        (load if before else unload)()


@contextmanager
def closed(seconds: float) -> Iterator[None]:
    """Trunks are off meanwhile, so that devices have only what programs use. The last connections over one may take so long."""
    before = loaded()
    unload(seconds)
    try:
        yield
    finally:
        if before:
            load()
