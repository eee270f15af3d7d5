# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The guest's modules and devices as a test moves them: load, unload, delete, add; what is left."""

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
    """Our module in."""
    run(f"insmod {os.environ['RCA_MODULES']}/{MODULE}.ko")


def loaded() -> bool:
    """Whether it is."""
    return PARAMETERS.exists()


def unload() -> None:
    """Our module out; nobody may use it."""
    run(f"rmmod {MODULE}")


def add_device(name: str) -> None:
    """A software device comes."""
    run(f"rdma link add {name} type rxe netdev {DEVICES[name]}")


def delete_device(name: str) -> None:
    """A software device goes; waits for everybody who has it open."""
    run(f"rdma link delete {name}")


def start_delete(name: str) -> subprocess.Popen:
    """Likewise, in the background."""
    return subprocess.Popen(("rdma", "link", "delete", name), stdin=subprocess.DEVNULL)


def finish_delete(command: subprocess.Popen, name: str) -> None:
    """The device of start_delete() must be gone soon."""
    try:
        if command.wait(PATIENCE):
            raise Unexpected(f"rdma link delete {name}: status {command.returncode}")
    except subprocess.TimeoutExpired:
        command.kill()
        raise Unexpected(f"{name} cannot be deleted: somebody still has it open") from None


def _objects() -> dict[str, int]:
    """Objects in our slab caches."""
    for cache in Path("/sys/kernel/slab").glob("rca_*"):
        (cache / "shrink").write_text("1", encoding="ascii")
    text = Path("/proc/slabinfo").read_text(encoding="ascii")
    return {name: int(count) for name, count in re.findall(r"^(rca_\w+) +(\d+)", text, re.MULTILINE)
            if int(count)}


def nothing_left() -> None:
    """Everything that programs used of our module comes back, in the background at times."""
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
