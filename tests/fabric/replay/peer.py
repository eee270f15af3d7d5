# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The played peer: a host of the software InfiniBand adapter's fabric, and the table of what is recorded and what is real.

See tests/fabric/hca/fabric/host.c for the host, tests/fabric/replay/replay.rst for its files.
"""

from __future__ import annotations

import ipaddress
import os
import time
from pathlib import Path

from captures import Capture, Step
from mads import PRIVATE, Mad

KNOBS = Path("/sys/kernel/debug/rca_hca")
HOSTS = 16
OUR_ADDRESS = "10.8.0.1"
_PORT = Path("/sys/class/infiniband/hca0/ports/1")
_RECORD = 260


def address(number: int) -> str:
    """The IP address of a host."""
    return f"10.8.0.{100 + number}"


def gid(number: int) -> int:
    """The GID of a host."""
    return 0xfe80 << 112 | 0x0002c90300020000 + number


def hardware_address(number: int) -> str:
    """That of its IPoIB interface: a QP number and the GID."""
    return ":".join(f"{byte:02x}" for byte in (0x80000001).to_bytes(4, "big") + gid(number).to_bytes(16, "big"))


class Host:
    """A host while it is played."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.lid = 0x900 + number
        self.our_lid = int((_PORT / "lid").read_text(), 0)
        self.our_gid = int(ipaddress.IPv6Address((_PORT / "gids/0").read_text().strip()))
        self._from = os.open(KNOBS / f"host/{number}", os.O_RDONLY | os.O_CLOEXEC)
        self._to = os.open(KNOBS / "inject", os.O_WRONLY | os.O_CLOEXEC)

    def fileno(self) -> int:
        """For select()."""
        return self._from

    def close(self) -> None:
        """Leave the fabric."""
        os.close(self._from)
        os.close(self._to)

    def send(self, mad: Mad) -> None:
        """Send to our port."""
        os.write(self._to, self.lid.to_bytes(2, "big") + self.our_lid.to_bytes(2, "big") + bytes(mad.raw))

    def received(self) -> Mad | None:
        """The next message of our port, or None if there is none yet."""
        try:
            record = os.read(self._from, _RECORD)
        except BlockingIOError:
            return None
        return Mad(record[4:])


class Table:
    """Recorded identifiers and those of this run.

    Those of our side are learned from what the stack sends. The peer keeps its own, but for the GUID of its adapter: a
    new one for each run, so that no earlier run has left a connection of the same identifiers.
    """

    def __init__(self, capture: Capture, host: Host, ports: dict[int, int]) -> None:
        self._host = host
        self._ports = ports
        self._guids: dict[int, int] = {}
        self._guid = 0x0002c90370000000 | (time.monotonic_ns() // 1000000 & 0xfffff) << 8 | host.number << 4
        self._expected = self._chosen(capture)
        self._local: dict[int, int] = {}
        self._qpn: dict[int, int] = {}
        self._tid: dict[int, int] = {}

    @staticmethod
    def _chosen(capture: Capture) -> set[int]:
        """The recorded identifiers that our side has chosen; the peer may also have used others, of strangers."""
        chosen: set[int] = set()
        strange = {0}
        for step in capture.steps:
            if step.from_peer:
                strange.add(step.mad.get("remote"))
                strange -= chosen
            elif step.mad.get("local") not in strange:
                chosen.add(step.mad.get("local"))
        return chosen

    def knows(self, local: int) -> bool:
        """Whether an identifier of our side is that of a recorded one."""
        return local in self._local.values()

    def fits(self, recorded: Mad, real: Mad) -> bool:
        """Whether a message may be the one that was recorded: its name, its reason, its identifiers."""
        if recorded.kind() != real.kind() or recorded.get("remote") != real.get("remote"):
            return False
        known = self._local.get(recorded.get("local"))
        return real.get("local") == known if known is not None else not self.knows(real.get("local"))

    def learn(self, recorded: Mad, real: Mad) -> None:
        """A message of the stack is the one that was recorded."""
        if recorded.get("local"):
            self._local[recorded["local"]] = real["local"]
        if recorded.name in ("REQ", "REP"):
            self._qpn[recorded["qpn"]] = real["qpn"]
        self._tid[recorded.tid] = real.tid

    def guid(self, recorded: int) -> int:
        """The GUID of the peer's adapter in this run."""
        return self._guids.setdefault(recorded, self._guid + len(self._guids))

    def real(self, step: Step) -> Mad | None:
        """The message to send for a recorded one of the peer; None: it answers a message that the stack did not send."""
        mad = Mad(bytes(step.mad.raw))
        remote = mad.get("remote")
        if remote in self._expected:
            if remote not in self._local:
                return None
            mad["remote"] = self._local[remote]
        mad.tid = self._tid.get(mad.tid, mad.tid)
        if "ca_guid" in mad:
            mad["ca_guid"] = self.guid(mad["ca_guid"])
        if mad.name in ("DREQ", "LAP"):
            mad["qpn"] = self._qpn.get(mad["qpn"], mad["qpn"])
        if mad.name == "REQ":
            self._path(mad)
        if mad.name in ("REQ", "SIDR_REQ"):
            self._service(mad, step)
        if mad.name == "SIDR_REP" and step.conversation:
            mad["service_id"] = mad["service_id"] & ~0xffff | self._ports[step.conversation.number]
        if mad.get("alternate_dgid"):
            self._ends(mad, "alternate_")
        return mad

    def _ends(self, mad: Mad, prefix: str) -> None:
        mad[f"{prefix}slid"], mad[f"{prefix}sgid"] = self._host.lid, gid(self._host.number)
        mad[f"{prefix}dlid"], mad[f"{prefix}dgid"] = self._host.our_lid, self._host.our_gid

    def _path(self, mad: Mad) -> None:
        """The path of this fabric, whatever the recorded one was."""
        self._ends(mad, "")
        mad["pkey"], mad["subnet_local"], mad["hop_limit"] = 0xffff, 1, 0
        mad["rate"], mad["sl"], mad["flow_label"], mad["traffic_class"] = 3, 0, 0, 0

    def _service(self, mad: Mad, step: Step) -> None:
        """The real port, and the IP CM header with the real addresses, which recorders may have removed."""
        assert step.conversation
        mad["service_id"] = mad["service_id"] & ~0xffff | self._ports[step.conversation.number]
        if mad.name == "SIDR_REQ":
            mad["pkey"] = 0xffff
        at = PRIVATE[mad.name]
        header = bytearray(mad.raw[at:at + 36])
        header[0], header[1] = 0, 0x40
        header[4:36] = bytes(12) + ipaddress.IPv4Address(address(self._host.number)).packed + \
            bytes(12) + ipaddress.IPv4Address(OUR_ADDRESS).packed
        mad.raw[at:at + 36] = header
