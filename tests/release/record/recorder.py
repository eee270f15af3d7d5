# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs rdma-cm-alt record beside a test, and reads what it has recorded."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Iterator

from host import TOOL, Running, Unexpected, same, tool, until
from tap import Tap

PROGRAMS = {"send_mad", "send_mad_later", "receive_mad"}


def attached() -> set[str]:
    """Names of our BPF programs that the kernel has."""
    shown = subprocess.run(["/usr/sbin/bpftool", "prog", "show"], capture_output=True, text=True, check=True).stdout
    return {name for name in PROGRAMS if f"name {name} " in shown}


@contextlib.contextmanager
def recording(*args: str) -> Iterator[Running]:
    """rdma-cm-alt record, when it records; the end is the caller's."""
    with Running(TOOL, "record", *args, over=False) as recorder:
        until("its BPF programs are loaded", lambda: attached() == PROGRAMS)
        until("it says so", lambda: "recording" in recorder.said())
        yield recorder


def end(recorder: Running) -> str:
    """Interrupt it; what it has said."""
    os.kill(recorder.pid, signal.SIGINT)
    said = recorder.wait()
    same("its status", recorder.status, 0)
    return said


def messages(name: str, *args: str) -> list[dict]:
    """The messages of a capture."""
    return tool("-j", "record", "-r", name, *args).json


def recorded_so_far(name: str) -> list[dict]:
    """The messages of a capture that is being written; its last one may be incomplete."""
    return tool("-j", "record", "-r", name, status=None).json


def names(found: list[dict], way: str) -> list[str]:
    """Of messages in one direction, without repetitions."""
    return list(dict.fromkeys(one["message"] for one in found if one["way"] == way and one["message"] != "MRA"))


def report(tap: Tap, test: Callable[[str], None], what: str = "") -> None:
    """The result of a test, which gets a directory of its own."""
    why: list[str] = []
    try:
        with tempfile.TemporaryDirectory() as where:
            test(where)
    except Unexpected as unexpected:
        why = str(unexpected).splitlines() or ["no reason given"]
    except Exception:  # a bug in a test fails only that test
        why = traceback.format_exc().splitlines()
    name = test.__name__.replace("_", " ")
    tap.result(not why, f"{what}: {name}" if what else name, why)
