# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Operations on the guest's modules and devices: load, unload, delete, add; and counting objects
that are left.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from scenario import PATIENCE, Unexpected, run, wait_for

MODULE = "rdma_cm_alt"
PARAMETERS = Path("/sys/module") / MODULE
# Name of a device, its network device.
DEVICES = {"rxe0": "d0", "rxe1": "v0"}


def load() -> None:
    """Load our module."""
    run(f"insmod {os.environ['RCA_MODULES']}/{MODULE}.ko")


def loaded() -> bool:
    """Whether our module is loaded."""
    return PARAMETERS.exists()


def unload() -> None:
    """Unload our module; no process may use it."""
    run(f"rmmod {MODULE}")


def add_device(name: str) -> None:
    """Add a software device."""
    run(f"rdma link add {name} type rxe netdev {DEVICES[name]}")


def delete_device(name: str) -> None:
    """Remove a software device; waits for all processes that have it open."""
    run(f"rdma link delete {name}")


def start_delete(name: str) -> subprocess.Popen:
    """The same in the background."""
    return subprocess.Popen(("rdma", "link", "delete", name), stdin=subprocess.DEVNULL)


def finish_delete(command: subprocess.Popen, name: str) -> None:
    """The device of start_delete() must be removed soon."""
    try:
        if command.wait(PATIENCE):
            raise Unexpected(f"rdma link delete {name}: status {command.returncode}")
    except subprocess.TimeoutExpired:
        command.kill()
        raise Unexpected(f"{name} cannot be deleted: somebody still has it open") from None


def _objects() -> dict[str, int]:
    """Number of objects in our slab caches."""
    for cache in Path("/sys/kernel/slab").glob("rca_*"):
        (cache / "shrink").write_text("1", encoding="ascii")
    text = Path("/proc/slabinfo").read_text(encoding="ascii")
    return {name: int(count) for name, count in re.findall(r"^(rca_\w+) +(\d+)", text, re.MULTILINE)
            if int(count)}


def nothing_left() -> None:
    """Wait until all objects that programs used of our module are freed, partly in the background.
    """
    left: list[str] = []

    def is_empty() -> bool:
        users = int((PARAMETERS / "refcnt").read_text())
        objects = _objects()
        stock = [line for line in run("rdma resource show cm_id").splitlines()
                 if "comm endpoint" in line or "comm rping" in line]
        left[:] = [f"references of the module: {users}", f"objects: {objects}", *stock]
        return not (users or objects or stock)

    try:
        wait_for("the end of everything", is_empty, 0.2)
    except Unexpected as unexpected:
        raise Unexpected(unexpected, *left) from None
