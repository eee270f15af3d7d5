# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The role of Ansible, without a host. tests/release/deploy/role executes it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import yaml

from checks import EXAMPLES, ROOT, Missing, Unexpected, run

PLACE = EXAMPLES / "ansible"
ROLE = PLACE / "roles/rdma_cm_alt"


def lint() -> None:
    """ansible-lint accepts the playbook and the role."""
    if not shutil.which("ansible-lint"):
        raise Missing("ansible-lint is missing: apt-get install ansible-lint")
    run("ansible-lint", "--offline", "--nocolor", "-q", "rdma_cm_alt.yml", cwd=PLACE)


def read(file: str) -> Any:
    """A file of the role."""
    return yaml.safe_load((ROLE / file).read_text())


def settings_exist() -> None:
    """Variables that tasks and handlers use are settings of the role, or results of tasks; all settings are used."""
    files = [Path("tasks/main.yml"), Path("tasks/present.yml"), Path("tasks/absent.yml"), Path("handlers/main.yml")]
    text = "".join((ROLE / file).read_text() for file in files)
    used = set(re.findall(r"\brdma_cm_alt_\w+\b(?!\.conf)", re.sub(r"^ *#.*$", "", text, flags=re.M)))
    made = {task["register"] for file in files for task in read(str(file)) if "register" in task}
    made |= {name for file in files for task in read(str(file)) for name in task.get("ansible.builtin.set_fact", {})}
    settings = set(read("defaults/main.yml"))
    if used - made != settings:
        raise Unexpected(f"without a default: {sorted(used - made - settings)}; unused: {sorted(settings - used)}")


def loads() -> None:
    """The role loads the modules that are loaded at boot."""
    wanted = re.findall(r"^(\w+)$", (ROOT / "scripts/packaging/modules-load.d/rdma_cm_alt.conf").read_text(), re.M)
    commands = [task["ansible.builtin.command"]["cmd"] for task in read("tasks/present.yml")
                if "modprobe" in str(task.get("ansible.builtin.command"))]
    if commands != [" ".join(["modprobe", "-a", *wanted])]:
        raise Unexpected(f"{commands}, not {wanted}")


TESTS = (("Ansible: ansible-lint accepts the playbook and the role", lint),
         ("Ansible: the role has the settings that it uses", settings_exist),
         ("Ansible: the role loads the modules that are loaded at boot", loads))
