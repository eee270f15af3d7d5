# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Writes the packets of a capture as other programs record them: as pcap, with other headers of the link."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import dissect

ETHERNET, WLAN, SLL, SLL2 = 1, 105, 113, 276
# The file says that each frame ends with two words of 16 bits, the FCS of Ethernet.
FCS = 0x24000000
HEADER = 14
NANOSECONDS = 10**9
# Types of packets of Linux: PACKET_HOST and PACKET_OUTGOING; EPB_OUTBOUND of pcapng.
RECEIVED, SENT, OUTBOUND = 0, 4, 2
# Blocks and options of pcapng.
SECTION, INTERFACE, PACKET, FLAGS = 0x0a0d0d0a, 1, 6, 2


def _packets(capture: Path) -> Iterator[tuple[int, bool, bytes]]:
    """Time in nanoseconds, whether it was sent, and bytes of each packet of a capture of ours, which is little-endian."""
    data = capture.read_bytes()
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == PACKET:
            high, low, size = struct.unpack_from("<III", data, at + 12)
            packet = data[at + 28:at + 28 + size]
            options = at + 28 + size + -size % 4
            sent = False
            while options < at + length - 4:
                code, option = struct.unpack_from("<HH", data, options)
                if code == FLAGS:
                    sent = data[options + 4] & 3 == OUTBOUND
                options += 4 + option + -option % 4
            yield high << 32 | low, sent, packet
        at += length


def _link(form: str, packet: bytes, sent: bool) -> bytes:
    """The packet with the header of another link."""
    address, kind, rest = packet[6:12], packet[12:HEADER], packet[HEADER:]
    way = SENT if sent else RECEIVED
    if form == "sll":
        return struct.pack(">HHH6s2x2s", way, 1, 6, address, kind) + rest
    if form == "sll2":
        return struct.pack(">2s2xIHBB6s2x", kind, 1, 1, way, 6, address) + rest
    return packet + zlib.crc32(packet).to_bytes(4, "little") if form == "ethernet-fcs" else packet


def convert(capture: Path, form: str, to: Path) -> None:
    """Writes the packets of a capture over Ethernet as pcap in nanoseconds.

    Forms: ethernet-fcs, with checksums of frames; sll and sll2, as tcpdump -i any does; wlan, which is a wrong type of link.
    """
    link = {"ethernet-fcs": FCS | ETHERNET, "sll": SLL, "sll2": SLL2, "wlan": WLAN}[form]
    parts = [struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, link)]
    for time, sent, packet in _packets(capture):
        made = _link(form, packet, sent)
        parts += [struct.pack("<IIII", *divmod(time, NANOSECONDS), len(made), len(made)), made]
    to.write_bytes(b"".join(parts))


def _block(kind: int, body: bytes) -> bytes:
    size = struct.pack("<I", 12 + len(body) + -len(body) % 4)
    return struct.pack("<I", kind) + size + body + bytes(-len(body) % 4) + size


def section(link: int, packets: list[bytes]) -> bytes:
    """A section of pcapng with one interface."""
    blocks = [_block(SECTION, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1)), _block(INTERFACE, struct.pack("<HHI", link, 0, 0))]
    blocks += [_block(PACKET, struct.pack("<IIIII", 0, 0, 0, len(packet), len(packet)) + packet) for packet in packets]
    return b"".join(blocks)


def is_like(converted: Path, capture: Path) -> None:
    """Both have the same messages; pcap has no names of ports and no comments, and Ethernet does not tell the direction."""
    left_out = {"device", "port", "context", "handle", "name", "pid", "program", "operation", "event"}
    found, expected = dissect.messages(converted), dissect.messages(capture)
    if len(found) != len(expected):
        raise dissect.Differs(f"{converted.name} has {len(found)} messages, not {len(expected)}")
    for one, other in zip(found, expected, strict=True):
        wanted = {key: value for key, value in other.items() if key not in left_out}
        if converted.stem.endswith("-fcs"):
            wanted["way"] = "seen"
        if {key: value for key, value in one.items() if key not in left_out} != wanted:
            raise dissect.Differs(f"packet {one['number']} of {converted.name} is {one}, not {wanted}")
