# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What the parts of this suite share: paths, results, commands."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
EXAMPLES = ROOT / "scripts/packaging/examples"


class Unexpected(Exception):
    """A result differs from the expected one."""


class Missing(Exception):
    """A program that the test needs is not installed."""


def run(*command: str, status: int = 0, **more) -> str:
    """Runs a command, which ends with this status, and returns its output."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, **more)
    if done.returncode != status:
        raise Unexpected(f"status {done.returncode} from: {' '.join(command)}\n{done.stdout[-4000:]}")
    return done.stdout
