# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The examples against published schemas, which come from the npm registry.

The packages are those of npm/package-lock.json. They stay in the cache, so only the first run needs the registry.
"""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import containers
from checks import HERE, ROOT, Missing, Unexpected
from monitoring import DASHBOARD

sys.path.append(str(ROOT / "scripts"))

from bench import paths  # noqa: E402



# Types as JSON has them: TypeScript takes no string where a type has an enumeration of strings.
PLAIN = """import type { Dashboard } from "@grafana/schema";
type Plain<T> = T extends string ? `${T}` : T extends (infer U)[] ? Plain<U>[] :
    T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
"""


def packages() -> Path:
    """The directory with the packages."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            raise Missing(f"{program} is missing: apt-get install npm")
    files = sorted((HERE / "npm").iterdir())
    key = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    place = paths.cache() / f"store/npm-{key}"
    if not (place / "complete").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for file in files:
            shutil.copy(file, place)
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=place, text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            raise Missing(f"npm cannot install the packages: {done.stdout.strip().splitlines()[-1:]}")
        (place / "complete").touch()
    return place


def validated(objects: list) -> str:
    """What the schemas of Kubernetes say about these objects; empty if all are valid."""
    done = subprocess.run(["node", str(packages() / "manifests.mjs")], input=json.dumps(objects), text=True,
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode not in (0, 1) or (done.returncode == 1) != bool(done.stdout.strip()):
        raise Unexpected(done.stdout)
    return done.stdout


def types_accept(text: str) -> str:
    """What the compiler of TypeScript says about this text; empty if it has the types that it is declared with."""
    place = packages()
    (place / "example.ts").write_text(text)
    done = subprocess.run(["node", "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--skipLibCheck",
                           "--module", "nodenext", "example.ts"], cwd=place, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout


def objects_as_types(objects: list) -> str:
    """The objects of Kubernetes as TypeScript, whose types know every member: the schemas allow unknown ones."""
    text = ""
    for number, one in enumerate(objects):
        members = {name: value for name, value in one.items() if name not in ("apiVersion", "kind")}
        text += (f'import {{ {one["kind"]} as Kind{number} }} from "kubernetes-models/{one["apiVersion"]}";\n'
                 f"new Kind{number}({json.dumps(members, indent=1)});\n")
    return text


def kubernetes() -> None:
    """The manifests are valid; one without its selector is not, nor one with an unknown member."""
    objects = containers.manifests()
    said = validated(objects) + types_accept(objects_as_types(objects))
    if said:
        raise Unexpected(said)
    broken = copy.deepcopy(containers.of_kind("DaemonSet"))
    del broken["spec"]["selector"]
    if "selector" not in validated([broken]):
        raise Unexpected("a DaemonSet without a selector is valid")
    broken = copy.deepcopy(containers.of_kind("Pod"))
    broken["spec"]["hostNetworks"] = True
    if "hostNetworks" not in types_accept(objects_as_types([broken])):
        raise Unexpected("a Pod with an unknown member has the types")


def grafana() -> None:
    """The dashboard has Grafana's types, and one with a wrong value has not."""
    head, text = f"{PLAIN}export const dashboard: Plain<Dashboard> = ", DASHBOARD.read_text()
    said = types_accept(head + text)
    if said:
        raise Unexpected(said)
    if not types_accept(head + text.replace('"graphTooltip": 1', '"graphTooltip": "crosshair"')):
        raise Unexpected("the types accept a wrong value")


TESTS = (("Kubernetes: the manifests are valid", kubernetes),
         ("Grafana's types accept the dashboard", grafana))
