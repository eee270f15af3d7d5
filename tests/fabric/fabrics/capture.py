# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Connection requests on a wire: captured from a network device and parsed."""

from __future__ import annotations

import ipaddress
import socket
import struct
import time

from scenario import PATIENCE, Unexpected

_ETH_ALL = 3
_OUTGOING = 4
_VLAN, _IP4, _IP6, _UDP = 0x8100, 0x0800, 0x86DD, 17
_ROCE_V2 = 4791
# SOL_PACKET, PACKET_AUXDATA and the flag of a VLAN tag (if_packet.h).
_SOL_PACKET, _AUXDATA, _VLAN_VALID = 263, 8, 1 << 4
_BTH, _DETH, _MAD_HEADER = 12, 8, 24
_CM_CLASS, _REQ = 0x07, 0x0010


class Capture:
    """Packets that a network device receives while this is open."""

    def __init__(self, device: str) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_ALL))
        self._socket.bind((device, _ETH_ALL))
        self._socket.setsockopt(_SOL_PACKET, _AUXDATA, 1)

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._socket.close()

    def request(self) -> dict[str, object]:
        """The next connection request, as it was on the wire."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self._socket.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                frame, extra, _flags, address = self._socket.recvmsg(4096, 256)
            except TimeoutError:
                raise Unexpected("no connection request on the wire") from None
            found = None if address[2] == _OUTGOING else _take_apart(frame, _tag(extra))
            if found:
                return found


def _tag(extra: list[tuple[int, int, bytes]]) -> int | None:
    """The VLAN tag, which the network device has stripped."""
    for level, kind, data in extra:
        if (level, kind) == (_SOL_PACKET, _AUXDATA):
            status, _len, _snaplen, _mac, _net, tci, _tpid = struct.unpack("IIIHHHH", data[:20])
            if status & _VLAN_VALID:
                return tci
    return None


def _take_apart(frame: bytes, tag: int | None) -> dict[str, object] | None:
    """The fields of a frame with a connection request over RoCE v2; None for other frames."""
    at = 12
    kind = int.from_bytes(frame[at:at + 2], "big")
    if kind == _VLAN:
        tag = int.from_bytes(frame[at + 2:at + 4], "big")
        at += 4
        kind = int.from_bytes(frame[at:at + 2], "big")
    at += 2
    found: dict[str, object] = {"dmac": frame[0:6].hex(":"), "tag": tag}
    if kind == _IP4 and frame[at + 9] == _UDP:
        found |= {"tos": frame[at + 1], "ttl": frame[at + 8]}
        at += (frame[at] & 15) * 4
    elif kind == _IP6 and frame[at + 6] == _UDP:
        word = int.from_bytes(frame[at:at + 4], "big")
        found |= {"tos": word >> 20 & 0xFF, "ttl": frame[at + 7]}
        at += 40
    else:
        return None
    sport, dport = struct.unpack(">HH", frame[at:at + 4])
    at += 8 + _BTH + _DETH
    mad = frame[at:at + 256]
    if dport != _ROCE_V2 or len(mad) < 256 or mad[1] != _CM_CLASS or \
            int.from_bytes(mad[16:18], "big") != _REQ:
        return None
    return found | {"sport": sport} | _request(mad[_MAD_HEADER:])


def _request(req: bytes) -> dict[str, object]:
    """Fields of a REQ (IBTA volume 1, 12.7.5), except those that differ for each connection."""
    return {
        "sid": req[8:16].hex(), "pkey": req[48:50].hex(), "mtu": req[50] >> 4,
        "sgid": str(ipaddress.IPv6Address(req[56:72])),
        "dgid": str(ipaddress.IPv6Address(req[72:88])),
        "flow": int.from_bytes(req[88:92], "big") >> 12, "rate": req[91] & 0x3F,
        "class": req[92], "hop": req[93], "sl": req[94] >> 4, "local": req[94] >> 3 & 1,
        "timeout": req[95] >> 3, "lids": req[52:56].hex(), "header": req[140:176].hex(),
    }
