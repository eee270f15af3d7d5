# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Changes during a run of the stress program: devices, a network namespace, attempts to unload the module.

rxe2 (on d2, 10.12.0.1), hca1 (ib1, 10.8.0.2) and siw0 (10.11.0.1) are removed and added again; rxe0, rxe1
and hca0 stay. The namespace "stress" has a macvlan of d2 with 10.12.0.21, and workers of the program.

No device is removed while the namespace is deleted, because of a bug in ib_core
(tests/robust/stock/compat_devices). The deletion has ended when the interface mark0 is gone.
"""

from __future__ import annotations

import json
import os
import random
import socket
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import transport

ROOT = Path(__file__).resolve().parents[3]
STRESS = ROOT / "build/tests/robust/stress/stress"
WATCHER = ROOT / "tests/robust/stress/watcher"
WORLD = "/tmp/stress.world"
NETNS = "stress"
KNOBS = Path("/sys/kernel/debug/rca_hca")
# Index of interfaces with the same index in two namespaces.
FIRST_INDEX = 1000
# From rdma/rdma_netlink.h and linux/netlink.h.
NETLINK_RDMA = 20
DELLINK = (5 << 10) + 4
DEV_INDEX = 1
REQUEST_ACK = 0x5
# Limit in seconds of an unplug, and of the calls of the program.
BOUND = 30
# Messages are repeated 4 times, after a second each, so that most operations of a round end with it. ib_cm may
# repeat the reply of an id that is being destroyed for as long (tests/robust/stock/notified_id); BOUND is longer.
PATIENCE = "cd /proc/sys/net/rdma_cm_alt && echo 18 >response_timeout && echo 4 >max_retries"


class Trouble(Exception):
    """An error of the module or of a command."""


def shell(command: str, status: int | None = 0, lib: str = "") -> str:
    """A command with the functions of tests/harness/guest/LIB.sh, which must end with this status (None: any)."""
    text = f". tests/harness/guest/rig.sh; . tests/harness/guest/{lib}.sh; {command}" if lib else command
    try:
        done = subprocess.run(["bash", "-c", text], cwd=ROOT, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=4 * BOUND, check=False)
    except subprocess.TimeoutExpired:
        raise Trouble(f"{command}: not done after {4 * BOUND} s") from None
    if status is not None and done.returncode != status:
        raise Trouble(f"{command}: status {done.returncode}: {done.stdout.strip()}")
    return done.stdout


def lines(command: str, *given: str) -> None:
    """A command with these lines as input."""
    text = "\n".join(given)
    shell(f"{command} <<'END'\n{text}\nEND\n")


def rdma_index(name: str) -> int:
    """The index of a device."""
    return json.loads(shell(f"rdma -j dev show {name}"))[0]["ifindex"]


def rdma_delete(index: int) -> None:
    """Like `rdma link delete`, without starting a program, which takes long in a busy guest."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA) as link:
        attr = struct.pack("=HHI", 8, DEV_INDEX, index)
        link.send(struct.pack("=IHHII", 16 + len(attr), DELLINK, REQUEST_ACK, 1, 0) + attr)
        error = struct.unpack_from("=i", link.recv(4096), 16)[0]
    if error:
        raise Trouble(f"the device with number {index} cannot be deleted: {os.strerror(-error)}")


class Garden:
    """The devices of a run and the random changes."""

    def __init__(self, fabrics: list[str]) -> None:
        self._fabrics = fabrics
        self._farm: subprocess.Popen | None = None
        self._stock: subprocess.Popen | None = None
        self._watcher: subprocess.Popen | None = None
        self._number = 0
        self._late: list[str] = []
        self.counts: Counter[str] = Counter()
        self.longest: dict[str, float] = {}

    def up(self) -> None:
        """Add the devices and addresses."""
        shell(PATIENCE)
        shell("ip link add d2 type dummy && ip link set d2 up && ip addr add 10.12.0.1/24 dev d2 && "
              "rdma link add rxe2 type rxe netdev d2")
        if "ib" in self._fabrics:
            shell("hca_up 2", lib="hca")
        if "iwarp" in self._fabrics:
            shell("siw_up", lib="siw")
        self._plant_namespace()

    def down(self) -> None:
        """Remove them."""
        shell(f"ip netns del {NETNS}; rig_namespaces_gone; ip link del stress{self._number}", None, "rig")
        shell("rdma link delete rxe2; ip link delete d2", None)
        if "ib" in self._fabrics:
            shell("hca_down", None, "hca")
        if "iwarp" in self._fabrics:
            shell("siw_down", None, "siw")

    def addresses(self) -> list[str]:
        """The addresses for the program, which uses the first one for half of its operations."""
        found = ["10.9.0.1", "10.9.0.2", "fd00:9::1", "10.7.0.1", "127.0.0.1", "10.12.0.1",
                 "10.12.0.21", "10.7.0.99", "192.0.2.1"]
        if "ib" in self._fabrics:
            found += ["10.8.0.1", "10.8.0.2", "fd00:8::1"]
        if "iwarp" in self._fabrics:
            found += ["iwarp:10.11.0.1", "iwarp:10.11.0.2"]
        return found

    def _plant_namespace(self) -> None:
        # rxe routes by the index of the interface, see tests/fabric/lifetime/namespaces.py.
        self._number += 1
        index, name = FIRST_INDEX + self._number, f"stress{self._number}"
        shell(f"ip netns add {NETNS} && ip netns exec {NETNS} bash -c '{PATIENCE}'")
        lines("ip -b -", f"link add mark0 type veth peer name mark1 netns {NETNS}",
              f"link add link d2 name rcam index {index} type macvlan mode bridge",
              f"link set rcam netns {NETNS}",
              f"link add {name} index {index} type dummy",
              f"addr add 10.12.0.21/32 dev {name}", f"link set {name} up")
        lines(f"ip -n {NETNS} -b -", "link set lo up", "addr add 10.12.0.21/24 dev rcam",
              "link set rcam up")

    def _namespace_goes(self) -> bool:
        """Whether its deletion has not ended; when it has, a new one is created."""
        if Path(f"/run/netns/{NETNS}").exists():
            return False
        if Path("/sys/class/net/mark0").exists():
            return True
        self._plant_namespace()
        return False

    def _timed(self, name: str, unplug: Callable[[], object]) -> None:
        began = time.monotonic()
        unplug()
        took = time.monotonic() - began
        self.counts[name] += 1
        self.longest[name] = max(took, self.longest.get(name, 0))
        if took > BOUND:
            self._late.append(f"{name}: it took {took:.0f} s")

    def _replug_rxe(self) -> None:
        if self._namespace_goes():
            return
        index = rdma_index("rxe2")
        self._timed("unplug of rxe2", lambda: rdma_delete(index))
        shell("rdma link add rxe2 type rxe netdev d2")

    def _replug_hca(self) -> None:
        if self._namespace_goes():
            return
        self._timed("unplug of hca1", lambda: (KNOBS / "remove").write_text("hca1", encoding="ascii"))
        shell("echo 1 >$HCA_KNOBS/add; hca_wait 20 test -e /sys/class/net/ib1 && hca_address 1",
              lib="hca")

    def _replug_siw(self) -> None:
        if self._namespace_goes():
            return
        self.stop_farm()
        index = rdma_index("siw0")
        self._timed("unplug of siw0", lambda: rdma_delete(index))
        shell("siw_link", lib="siw")
        self.start_farm()

    def _drop_namespace(self) -> None:
        if self._namespace_goes():
            return
        shell(f"ip netns del {NETNS}; ip link del stress{self._number}")
        self.counts["namespace deleted"] += 1

    def _unload(self) -> None:
        said = shell("rmmod rdma_cm_alt", 1)
        if "in use" not in said:
            raise Trouble(f"rmmod of a module in use says: {said}")
        self.counts["unload refused"] += 1

    def _flap(self) -> None:
        lines("ip -b -", "link set d2 down", "link set d2 up", "addr replace 10.12.0.1/24 dev d2")
        self.counts["link down and up"] += 1

    def start_stock(self) -> None:
        """Start a server of the stock stack, which accepts all connections."""
        self._stock = subprocess.Popen(["rping", "-s", "-P", "-a", "10.9.0.2", "-p", "17002"],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)

    def stop_stock(self) -> None:
        """Kill it with its connections."""
        if self._stock:
            self.counts["server of stock killed"] += 1
            self._stock.kill()
            self._stock.wait()
            self._stock = None

    def start_watcher(self, seed: int) -> None:
        """Start the program that reads dumps and notifications over netlink."""
        self._watcher = subprocess.Popen(  # pylint: disable=consider-using-with
            ["nice", "-n", "19", WATCHER, str(seed), f"/run/netns/{NETNS}"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = self._watcher.stdout.readline()
        if said != "listening\n":
            raise Trouble(f"{WATCHER}: {said}{self._watcher.stdout.read()}")

    def stop_watcher(self) -> str:
        """End it; its output."""
        if not self._watcher:
            return "it has not begun"
        self._watcher.terminate()
        return self._watcher.communicate(timeout=2 * BOUND)[0]

    def start_farm(self) -> None:
        """Start the process with QPs for iWARP."""
        if "iwarp" in self._fabrics:
            self._farm = subprocess.Popen([STRESS, "-q", "siw0", "-f", WORLD],
                                          stdin=subprocess.DEVNULL)

    def stop_farm(self) -> None:
        """Kill it."""
        if self._farm:
            self._farm.kill()
            self._farm.wait()
            self._farm = None

    def tend(self, seed: int, program: subprocess.Popen) -> None:
        """Make one change after the other until the program ends."""
        chance = random.Random(seed)
        actions = [self._replug_rxe, self._replug_rxe, self._drop_namespace, self._unload, self._flap]
        if "ib" in self._fabrics:
            actions += [self._replug_hca, self._replug_hca]
        if "iwarp" in self._fabrics:
            actions += [self._replug_siw]
        # While this is open the module cannot be unloaded, even after the end of the program.
        with open("/dev/rdma_cm_alt", "rb"):
            while program.poll() is None:
                time.sleep(chance.uniform(0, 1))
                chance.choice(actions)()
        # Reported late, because the next round needs the devices.
        if self._late:
            late, self._late = self._late, []
            raise Trouble("\n".join(late))


def leftovers() -> list[str]:
    """References and objects of the module that are left."""
    found = []
    # The module of trunks is one.
    users = int(Path("/sys/module/rdma_cm_alt/refcnt").read_text(encoding="ascii")) - transport.loaded()
    if users:
        found.append(f"references of the module: {users}")
    for cache in Path("/sys/kernel/slab").glob("rca_*"):
        (cache / "shrink").write_text("1", encoding="ascii")
        count = int((cache / "objects").read_text(encoding="ascii").split()[0])
        if count:
            found.append(f"{cache.name}: {count} objects")
    return found


def resources() -> str:
    """The resources of the devices that stay."""
    lines = shell("rdma resource show", None).splitlines()
    return "\n".join(sorted(line.split(":", 1)[1] for line in lines
                            if any(name in line for name in ("rxe0", "rxe1", "hca0"))))


def leaks() -> list[str]:
    """The report of kmemleak about objects that are some seconds old."""
    path = Path("/sys/kernel/debug/kmemleak")
    if not path.exists() or not os.environ.get("GUEST", "").startswith("debug"):
        return []
    time.sleep(6)
    for _ in range(2):
        path.write_text("scan", encoding="ascii")
        time.sleep(1)
    return path.read_text(encoding="ascii").splitlines()
