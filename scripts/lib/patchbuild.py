# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Builds a folder of modules after each patch of a series: no warning, and no symbol that only a later patch has."""

import re
import subprocess
import sys
from pathlib import Path


class Builder:
    """Builds the modules of a folder against a kernel that is prepared elsewhere."""

    def __init__(self, kernel: Path, work: Path, home: Path) -> None:
        self.kernel = kernel
        self.work = work
        self.home = work / home
        self.missing: dict[tuple[str, str], set[str]] = {}
        if not (kernel / "Makefile").exists() or not (kernel / "scripts/mod/modpost").exists():
            sys.exit(f"series: error: {kernel} is not prepared; in it: make prepare modules_prepare")

    def build(self, name: str) -> None:
        """Builds what the folder has, if it has a makefile yet."""
        if not (self.home / "Makefile").exists():
            print(f"{name}: nothing to build", flush=True)
            return
        tests = (self.home / "tests").exists()
        # Without a complete build of the kernel there is no list of its symbols. finish() looks at ours.
        done = subprocess.run(
            ["nice", "make", "-C", self.kernel, f"M={self.home}", "-j2", "W=1", "KBUILD_MODPOST_WARN=1",
             f"KCPPFLAGS=-I{self.work / 'include/uapi'}{' -DCONFIG_RDMA_CM_ALT_KUNIT=1' if tests else ''}",
             "CONFIG_RDMA_CM_ALT=m", "CONFIG_RDMA_CM_ALT_TRUNK=m", "CONFIG_RDMA_CM_ALT_UCM=m",
             f"CONFIG_RDMA_CM_ALT_KUNIT={'y' if tests else ''}", "modules"],
            text=True, check=False, capture_output=True)
        said = done.stdout + done.stderr
        # Paths are relative to the folder with some kernels. Nothing else is compiled.
        bad = [line for line in said.splitlines() if re.search(r":\d+: (warning|error): |: fatal error: ", line)]
        if done.returncode or bad:
            sys.exit(f"series: error: {name} does not build cleanly:\n" + ("\n".join(bad) or said[-3000:]))
        modules = sorted(self.home.glob("rdma_cm_alt*.ko"))
        if not modules:
            sys.exit(f"series: error: {name}: no module was linked:\n{said[-3000:]}")
        for module in modules:
            listed = subprocess.run(["nm", "-u", module], text=True, check=True, capture_output=True).stdout
            self.missing[name, module.name] = set(listed.split()) - {"U"}
        print(f"{name}: built", flush=True)

    def finish(self) -> None:
        """Fails if a module, at some patch, needs a symbol that only the complete module of its name defines."""
        for (name, module), needed in self.missing.items():
            listed = subprocess.run(["nm", "--defined-only", self.home / module], text=True, check=True,
                                    capture_output=True).stdout
            early = needed & {line.split()[-1] for line in listed.splitlines()}
            if early:
                sys.exit(f"series: error: {name}: {module} needs what a later patch adds: {' '.join(sorted(early))}")
