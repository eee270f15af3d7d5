# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The CDI file of a host, and the manifests of Kubernetes."""

from __future__ import annotations

import copy
import json
import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from checks import EXAMPLES, HERE, ROOT, Unexpected, run

SCRIPT = EXAMPLES / "rdma_cm_alt-cdi.sh"
MANIFESTS = EXAMPLES / "kubernetes"
# Directories of a host that the script looks into.
PLACES = ("/dev", "/sys/class", "/usr/local/lib")


def cdi(files: dict[str, str]) -> Any:
    """What the script prints on a host that has these files in PLACES, in mounts of its own."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for path in (*PLACES, *files):
            (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
            if path in PLACES:
                (root / path[1:]).mkdir()
            else:
                (root / path[1:]).write_text(files[path])
        mounts = "".join(f"mount --bind {root}{path} {path} && " for path in PLACES)
        text = f"exec 3>{root}/errors && {mounts}sh {shlex.quote(str(SCRIPT))} 2>&3"
        return yaml.safe_load(run("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", text))


FULL = {"/dev/rdma_cm_alt": "", "/dev/infiniband/rdma_cm": "", "/usr/local/lib/rdma_cm_alt/librdmacm.so.1": "",
        "/sys/class/infiniband_verbs/uverbs0/ibdev": "mlx5_0\n", "/sys/class/infiniband_verbs/uverbs1/ibdev": "rxe0\n",
        "/sys/class/infiniband_verbs/abi_version": "6\n"}
BARE = {"/dev/rdma_cm_alt": ""}


def nodes(spec: Any, device: str) -> list[str]:
    """The paths of a device of a CDI file."""
    edits = [one["containerEdits"] for one in spec["devices"] if one["name"] == device]
    if len(edits) != 1:
        raise Unexpected(f"there is not one device {device}, but {len(edits)}")
    return [node["path"] for node in edits[0].get("deviceNodes", [])]


def is_valid() -> None:
    """Files of a host with everything and of one with the module alone obey the schema."""
    schema = json.loads((HERE / "cdi.schema.json").read_text())
    validator = jsonschema.Draft7Validator(schema)
    for files in (FULL, BARE):
        spec = cdi(files)
        wrong = [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(spec)]
        if wrong:
            raise Unexpected("\n".join(wrong))
    # Each of these makes a file invalid, so the schema is not one that accepts everything.
    for break_it in (lambda spec: spec.pop("kind"), lambda spec: spec["devices"][0].update(name="-"),
                     lambda spec: spec["devices"][0]["containerEdits"].update(nodes=[]),
                     lambda spec: spec["devices"][0]["containerEdits"]["deviceNodes"][0].update(path="dev"),
                     lambda spec: spec["devices"].clear()):
        broken = copy.deepcopy(spec)
        break_it(broken)
        if validator.is_valid(broken):
            raise Unexpected(f"the schema accepts {broken}")


def has_devices() -> None:
    """The devices have the nodes of their names, and only those that the host has."""
    spec = cdi(FULL)
    both = ["/dev/rdma_cm_alt", "/dev/infiniband/rdma_cm_alt"]
    wanted = {"cm": both, "stock": ["/dev/infiniband/rdma_cm"], "mlx5_0": ["/dev/infiniband/uverbs0"],
              "rxe0": ["/dev/infiniband/uverbs1"], "drop-in": [],
              "all": [*both, "/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0", "/dev/infiniband/uverbs1"]}
    found = {one["name"]: nodes(spec, one["name"]) for one in spec["devices"]}
    if found != wanted:
        raise Unexpected(f"{found}, not {wanted}")
    edits = next(one["containerEdits"] for one in spec["devices"] if one["name"] == "drop-in")
    if edits["mounts"][0]["hostPath"] != "/usr/local/lib/rdma_cm_alt" or \
       edits["env"] != [f"LD_LIBRARY_PATH={edits['mounts'][0]['containerPath']}"]:
        raise Unexpected(str(edits))
    names = [one["name"] for one in cdi(BARE)["devices"]]
    if names != ["cm", "all"]:
        raise Unexpected(f"without other devices: {names}")


def manifests() -> list[Any]:
    """All objects of the manifests."""
    found = [one for file in sorted(MANIFESTS.glob("*.yml")) for one in yaml.safe_load_all(file.read_text())]
    if not found:
        raise Unexpected(f"there are no manifests in {MANIFESTS}")
    return found


def of_kind(kind: str) -> Any:
    """The only object of this kind."""
    found = [one for one in manifests() if one["kind"] == kind]
    if len(found) != 1:
        raise Unexpected(f"there is not one {kind}, but {len(found)}")
    return found[0]


def group() -> tuple[str, list[dict]]:
    """The resource of the device plugin, and the paths that pods get by it."""
    arguments = of_kind("DaemonSet")["spec"]["template"]["spec"]["containers"][0]["args"]
    domain = next(one.split("=")[1] for one in arguments if one.startswith("--domain="))
    device = yaml.safe_load(arguments[arguments.index("--device") + 1])
    return f"{domain}/{device['name']}", device["groups"][0]["paths"]


def pods_get() -> None:
    """The pod asks for the resource of the plugin, which has the nodes of the CDI file and the drop-in."""
    resource, paths = group()
    container = of_kind("Pod")["spec"]["containers"][0]
    if container["resources"]["limits"] != {resource: 1}:
        raise Unexpected(f"the pod does not ask for {resource}: {container['resources']}")
    seen = {one.get("mountPath", one["path"]) for one in paths if one.get("type", "Device") == "Device"}
    wanted = set(nodes(cdi(FULL), "cm")) | {"/dev/infiniband/uverbs*"}
    if seen != wanted:
        raise Unexpected(f"pods get {seen}, not {wanted}")
    libraries = [one["mountPath"] for one in paths if one.get("type") == "Mount"]
    where = [one["value"] for one in container["env"] if one["name"] == "LD_LIBRARY_PATH"]
    if libraries != where:
        raise Unexpected(f"the drop-in is in {libraries}, LD_LIBRARY_PATH is {where}")


def plugin_sees() -> None:
    """The plugin has the directories of the host in which it looks for paths, at the same places."""
    spec = of_kind("DaemonSet")["spec"]["template"]["spec"]
    volumes = {one["name"]: one["hostPath"]["path"] for one in spec["volumes"]}
    for container in spec["initContainers"] + spec["containers"]:
        for mount in container["volumeMounts"]:
            if mount["name"] not in volumes:
                raise Unexpected(f"{container['name']} mounts {mount['name']}, which is no volume")
    seen = [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]
            if volumes[mount["name"]] == mount["mountPath"]]
    hidden = [one["path"] for one in group()[1] if not any(one["path"].startswith(f"{place}/") for place in seen)]
    if hidden:
        raise Unexpected(f"the plugin cannot see {hidden}: it has {seen}")


def loads() -> None:
    """The node loads the modules of the drop-in of modprobe, besides those that the softdep of the module loads."""
    spec = of_kind("DaemonSet")["spec"]["template"]["spec"]
    wanted = re.findall(r"^(\w+)$", (ROOT / "scripts/packaging/modules-load.d/rdma_cm_alt.conf").read_text(), re.M)
    command = spec["initContainers"][0]["command"]
    if not wanted or command[command.index("modprobe") + 1:] != ["-a", *wanted]:
        raise Unexpected(f"{command}, not {wanted}")


TESTS = (("the CDI file is valid", is_valid),
         ("the CDI file has the devices of the host", has_devices),
         ("Kubernetes: pods get the nodes and the drop-in", pods_get),
         ("Kubernetes: the plugin sees what it offers", plugin_sees),
         ("Kubernetes: nodes load the modules that are loaded at boot", loads))
