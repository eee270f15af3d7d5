# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The software InfiniBand adapters hca0 and hca1, with ib0 (10.8.0.1) and ib1 (10.8.0.2)."""

from __future__ import annotations

from scenario import GUEST, Unexpected, run
from stacks import ROOT

KNOBS = "/sys/kernel/debug/rca_hca"


def shell(command: str) -> str:
    """A command with the functions of tests/harness/guest/hca.sh."""
    return run(f"exec bash -c '. tests/harness/guest/hca.sh; {command}'")


def up() -> None:
    """Set the adapters and IPoIB up."""
    if not (ROOT / f"build/hca/{GUEST}/rca_hca.ko").exists():
        raise Unexpected(f"no adapter; on the host run: scripts/build-module -m hca {GUEST}")
    shell("hca_up 2")


def child(below: str, address: str, namespace: str = "") -> None:
    """An IPoIB interface in the partition 0x8001, which the port joins, in a namespace."""
    name = f"{below}.8001"
    shell(f"echo 0xffff 0x8001 >$HCA_KNOBS/hca{below[-1]}/1/pkeys")
    run(f"ip link add link {below} name {name} type ipoib pkey 0x8001")
    inside = f"-n {namespace}" if namespace else ""
    if namespace:
        run(f"ip netns add {namespace} && ip -n {namespace} link set lo up &&"
            f" ip link set {name} netns {namespace}")
    run(f"ip {inside} addr add {address}/24 dev {name} && ip {inside} link set {name} up")
    shell(f"hca_wait 60 hca_running {inside} {name}")


def down() -> None:
    """Remove the interfaces and the adapters."""
    run("ip netns del hca2", None)
    run("ip link del ib0.8001", None)
    shell("hca_down")
