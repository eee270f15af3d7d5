# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The generic netlink family rdma_cm_alt without a library: requests of arbitrary bytes, answers
read one by one.
"""

from __future__ import annotations

import errno
import re
import socket
import struct
import sys
from pathlib import Path

from stacks import ROOT

sys.path.insert(0, str(ROOT / "scripts/lib"))

from netlink_spec import Spec  # noqa: E402  # pylint: disable=wrong-import-position

HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence number, port
REQUEST, ACK, DUMP = 1, 4, 0x300
ERROR, DONE, OVERRUN = 2, 3, 4
GENERIC, CONTROL, DEL_FAMILY, GET_FAMILY = 16, 16, 2, 3
FAMILY_ID, FAMILY_NAME, GROUPS, GROUP_ID = 1, 2, 7, 2
SOL_NETLINK, ADD_MEMBERSHIP = 270, 1


def numbers(enum: str, prefix: str) -> dict[str, int]:
    """The constants of an enum of the header, without their prefix."""
    text = (ROOT / "uapi/rdma/rdma_cm_alt_netlink.h").read_text()
    body = re.search(rf"^enum {enum} \{{(.*?)^\}}", text, re.M | re.S)[1]
    names = re.findall(r"^\t(RDMA_CM_ALT_NL_\w+),$", body, re.M)
    return {name.removeprefix(prefix): number for number, name in enumerate(names)}


CMD = numbers("rdma_cm_alt_nl_cmd", "RDMA_CM_ALT_NL_")
ATTR = numbers("rdma_cm_alt_nl_attr", "RDMA_CM_ALT_NL_A_")
# What the specification says that the messages of a command may have.
MESSAGES = {CMD[command.removeprefix("RDMA_CM_ALT_NL_")]: {ATTR["PAD"], *(ATTR[name.removeprefix("RDMA_CM_ALT_NL_A_")] for name in names)}
            for command, names in Spec().messages().items()}


def attr(number: int, data: bytes) -> bytes:
    """An attribute, padded."""
    return struct.pack("=HH", 4 + len(data), number) + data + bytes(-len(data) % 4)


def attrs(data: bytes) -> list[tuple[int, bytes]]:
    """All attributes of a message."""
    found = []
    while len(data) >= 4:
        length, number = struct.unpack_from("=HH", data)
        if not 4 <= length <= len(data):
            raise ValueError(f"an attribute of {length} bytes where {len(data)} are left")
        found.append((number & 0x3fff, data[4:length]))
        data = data[length + 3 & ~3:]
    return found


class Answer:
    """One message."""

    def __init__(self, kind: int, body: bytes) -> None:
        self.kind, self.body = kind, body
        self.error = -struct.unpack_from("=i", body)[0] if kind in (ERROR, DONE) and len(body) >= 4 else 0
        self.cmd = body[0] if kind >= GENERIC else 0
        self.attrs = dict(attrs(body[4:])) if kind >= GENERIC else {}

    def text(self, name: str) -> str | None:
        """A string attribute."""
        value = self.attrs.get(ATTR[name])
        return None if value is None else value.rstrip(b"\0").decode()

    def number(self, name: str) -> int | None:
        """A number attribute."""
        value = self.attrs.get(ATTR[name])
        return None if value is None else int.from_bytes(value, "little")


class Family:
    """A socket, and the id of the family."""

    def __init__(self, patience: float = 60, room: int = 1 << 16) -> None:
        self.room = room
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, GENERIC)
        self.sock.settimeout(patience)
        self.family = CONTROL
        self.send(GET_FAMILY, REQUEST | ACK, attr(FAMILY_NAME, b"rdma_cm_alt\0"))
        about = dict(attrs(self.all()[0].body[4:]))
        self.family = struct.unpack("=H", about[FAMILY_ID])[0]
        group = dict(attrs(attrs(about[GROUPS])[0][1]))
        self.group = struct.unpack("=I", group[GROUP_ID])[0]

    def __enter__(self) -> Family:
        return self

    def __exit__(self, *_unused) -> None:
        self.sock.close()

    def send(self, cmd: int, flags: int, more: bytes = b"", reserved: int = 0) -> None:
        """Send a request."""
        body = struct.pack("=BBH", cmd, 1, reserved) + more
        self.raw(HEADER.pack(HEADER.size + len(body), self.family, flags, 1, 0) + body)

    def raw(self, data: bytes) -> None:
        """Send arbitrary bytes as a request."""
        self.sock.sendto(data, (0, 0))

    def some(self) -> list[Answer]:
        """Receive one datagram, as answers. The kernel prepares the datagram after the next one of
        a dump meanwhile.
        """
        data, found = self.sock.recv(self.room), []
        while len(data) >= HEADER.size:
            length, kind = HEADER.unpack_from(data)[:2]
            answer = Answer(kind, data[HEADER.size:length])
            if kind == self.family != CONTROL and not MESSAGES[answer.cmd].issuperset(answer.attrs):
                raise ValueError(f"a message of command {answer.cmd} has attributes that its specification lacks: "
                                 f"{sorted(set(answer.attrs) - MESSAGES[answer.cmd])}")
            found.append(answer)
            data = data[length + 3 & ~3:]
        return found

    def all(self) -> list[Answer]:
        """Receive up to the last answer, which is not included; OSError: it was an error."""
        found: list[Answer] = []
        while True:
            for answer in self.some():
                if answer.kind in (ERROR, DONE):
                    if answer.error:
                        raise OSError(answer.error, errno.errorcode.get(answer.error, "?"))
                    return found
                found.append(answer)

    def ask(self, cmd: int, flags: int = REQUEST | DUMP, more: bytes = b"", reserved: int = 0) -> int:
        """Send a request; returns 0 or its errno."""
        self.send(cmd, flags, more, reserved)
        try:
            self.all()
        except OSError as error:
            return error.errno
        return 0

    def dump(self, cmd: int) -> list[Answer]:
        """A dump."""
        self.send(cmd, REQUEST | DUMP)
        return self.all()

    def listen(self) -> None:
        """Subscribe to notifications."""
        self.sock.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, self.group)


def module_users() -> int:
    """Reference count of the module."""
    return int(Path("/sys/module/rdma_cm_alt/refcnt").read_text())
