# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The guest's modules and devices as a test moves them: load, unload, delete, add; what is left."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

from endpoint import PATIENCE, Unexpected
from stacks import ROOT

MODULE = "rdma_cm_alt"
PARAMETERS = Path("/sys/module") / MODULE
# Name of a device, its network device.
DEVICES = {"rxe0": "d0", "rxe1": "v0"}


def run(*command: str, status: int | None = 0) -> str:
    """A command that must end with this status (None: any) within the usual time."""
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False)
    if status is not None and done.returncode != status:
        raise Unexpected(f"{' '.join(command)}: status {done.returncode}, not {status}: "
                         f"{done.stdout.strip()}")
    return done.stdout


def load() -> None:
    """Our module in."""
    run("insmod", f"{os.environ['RCA_MODULES']}/{MODULE}.ko")


def loaded() -> bool:
    """Whether it is."""
    return PARAMETERS.exists()


def unload() -> None:
    """Our module out; nobody may use it."""
    run("rmmod", MODULE)


def add_device(name: str) -> None:
    """A software device comes."""
    run("rdma", "link", "add", name, "type", "rxe", "netdev", DEVICES[name])


def delete_device(name: str) -> None:
    """A software device goes; waits for everybody who has it open."""
    run("rdma", "link", "delete", name)


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
    deadline = time.monotonic() + PATIENCE
    while True:
        users = int((PARAMETERS / "refcnt").read_text())
        objects = _objects()
        stock = [line for line in run("rdma", "resource", "show", "cm_id").splitlines()
                 if "comm endpoint" in line or "comm rping" in line]
        if not users and not objects and not stock:
            return
        if time.monotonic() > deadline:
            raise Unexpected("\n".join([f"references of the module: {users}",
                                        f"objects: {objects}", *stock]))
        time.sleep(0.2)
