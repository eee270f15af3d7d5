# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Messages of the connection manager (IBTA volume 1, 12.6) as bytes, and what a comparison reads of them.

Fields are bit ranges of the MAD, which begins with its header of 24 bytes.
"""

from __future__ import annotations

LENGTH = 256
_CLASS = 7
_HEADER = bytes((1, _CLASS, 2, 3))
NAMES = {0x10: "REQ", 0x11: "MRA", 0x12: "REJ", 0x13: "REP", 0x14: "RTU", 0x15: "DREQ", 0x16: "DREP",
         0x17: "SIDR_REQ", 0x18: "SIDR_REP", 0x19: "LAP", 0x1a: "APR"}
ATTRIBUTES = {name: number for number, name in NAMES.items()}
# Messages that their sender repeats until they are answered, with the messages that are answers.
ANSWERED_BY = {"REQ": ("REP", "REJ", "MRA"), "REP": ("RTU", "REJ", "MRA", "DREQ"), "DREQ": ("DREP",),
               "SIDR_REQ": ("SIDR_REP",), "LAP": ("APR", "MRA")}
# The message that an MRA or a reject is about.
ABOUT = {0: "REQ", 1: "REP", 2: "other", 3: "other"}
ABOUT_MRA = {0: "REQ", 1: "REP", 2: "LAP", 3: "?"}
NO_SERVICE, CONSUMER_DEFINED = 8, 28
UNSUPPORTED = 1  # the status of a SIDR_REP: nobody listens

# Name of a field: byte, bit (from the highest of that byte), bits. Fields of all messages but SIDR's come first.
_IDS = {"local": (24, 0, 32), "remote": (28, 0, 32)}
FIELDS: dict[str, dict[str, tuple[int, int, int]]] = {
    "REQ": {"local": (24, 0, 32), "service_id": (32, 0, 64), "ca_guid": (40, 0, 64), "qpn": (56, 0, 24),
            "responder_resources": (59, 0, 8), "initiator_depth": (63, 0, 8), "remote_timeout": (67, 0, 5),
            "transport": (67, 5, 2), "flow_control": (67, 7, 1), "psn": (68, 0, 24), "local_timeout": (71, 0, 5),
            "retry_count": (71, 5, 3), "pkey": (72, 0, 16), "mtu": (74, 0, 4), "rnr_retry_count": (74, 5, 3),
            "max_retries": (75, 0, 4), "srq": (75, 4, 1), "slid": (76, 0, 16), "dlid": (78, 0, 16),
            "sgid": (80, 0, 128), "dgid": (96, 0, 128), "flow_label": (112, 0, 20), "rate": (115, 2, 6),
            "traffic_class": (116, 0, 8), "hop_limit": (117, 0, 8), "sl": (118, 0, 4), "subnet_local": (118, 4, 1),
            "ack_timeout": (119, 0, 5), "alternate_slid": (120, 0, 16), "alternate_dlid": (122, 0, 16),
            "alternate_sgid": (124, 0, 128), "alternate_dgid": (140, 0, 128)},
    "MRA": {**_IDS, "about": (32, 0, 2), "timeout": (33, 0, 5)},
    "REJ": {**_IDS, "about": (32, 0, 2), "reason": (34, 0, 16)},
    "REP": {**_IDS, "qpn": (36, 0, 24), "psn": (44, 0, 24), "responder_resources": (48, 0, 8),
            "initiator_depth": (49, 0, 8), "ack_delay": (50, 0, 5), "flow_control": (50, 7, 1),
            "rnr_retry_count": (51, 0, 3), "srq": (51, 3, 1), "ca_guid": (52, 0, 64)},
    "RTU": _IDS,
    "DREQ": {**_IDS, "qpn": (32, 0, 24)},
    "DREP": _IDS,
    "SIDR_REQ": {"local": (24, 0, 32), "pkey": (28, 0, 16), "service_id": (32, 0, 64)},
    "SIDR_REP": {"remote": (24, 0, 32), "status": (28, 0, 8), "qpn": (32, 0, 24), "service_id": (36, 0, 64),
                 "qkey": (44, 0, 32)},
    "LAP": {**_IDS, "qpn": (36, 0, 24), "alternate_slid": (44, 0, 16), "alternate_dlid": (46, 0, 16),
            "alternate_sgid": (48, 0, 128), "alternate_dgid": (64, 0, 128)},
    "APR": {**_IDS, "status": (33, 0, 8)},
}
# First byte of the private data; the header of the RDMA IP CM service is the first part of that of a request.
PRIVATE = {"REQ": 164, "MRA": 34, "REJ": 108, "REP": 60, "RTU": 32, "DREQ": 36, "DREP": 32, "SIDR_REQ": 40,
           "SIDR_REP": 120, "LAP": 88, "APR": 108}
IP_HEADER = {"REQ": 36, "SIDR_REQ": 36}
# What differs from one run to the next, or belongs to the adapter and not to the connection manager.
_OWN = {"local", "remote", "service_id", "ca_guid", "qpn", "psn", "slid", "dlid", "sgid", "dgid", "pkey", "rate",
        "about", "reason", "status"}
REASONS = {1: "no QP", 4: "timeout", 6: "invalid communication ID", 8: "invalid service ID", 10: "stale connection",
           24: "port redirect", 28: "consumer defined"}


class BadMessage(Exception):
    """A message that cannot be played, and why."""


class Mad:
    """One message, which can be changed."""

    def __init__(self, raw: bytes) -> None:
        if len(raw) != LENGTH or raw[1] != _CLASS:
            raise BadMessage(f"{len(raw)} bytes of class {raw[1] if len(raw) > 1 else '?'} are no message of the "
                             "connection manager")
        self.raw = bytearray(raw)
        number = int.from_bytes(raw[16:18], "big")
        if number not in NAMES:
            raise BadMessage(f"attribute {number:#x} is no message of the connection manager")
        self.name = NAMES[number]
        self._fields = FIELDS[self.name]

    @classmethod
    def new(cls, name: str, tid: int, **fields: int) -> Mad:
        """A message with these fields, all others 0."""
        raw = bytearray(LENGTH)
        raw[:4] = _HEADER
        raw[8:16] = tid.to_bytes(8, "big")
        raw[16:18] = ATTRIBUTES[name].to_bytes(2, "big")
        mad = cls(bytes(raw))
        for field, value in fields.items():
            mad[field] = value
        return mad

    @property
    def tid(self) -> int:
        """The transaction."""
        return int.from_bytes(self.raw[8:16], "big")

    @tid.setter
    def tid(self, value: int) -> None:
        self.raw[8:16] = value.to_bytes(8, "big")

    def __contains__(self, field: str) -> bool:
        return field in self._fields

    def _place(self, field: str) -> tuple[int, int, int]:
        """First byte, number of bytes, bits below the field in the last one."""
        byte, bit, bits = self._fields[field]
        count = (bit + bits + 7) // 8
        return byte, count, count * 8 - bit - bits

    def __getitem__(self, field: str) -> int:
        byte, count, below = self._place(field)
        value = int.from_bytes(self.raw[byte:byte + count], "big") >> below
        return value & ((1 << self._fields[field][2]) - 1)

    def __setitem__(self, field: str, value: int) -> None:
        byte, count, below = self._place(field)
        mask = ((1 << self._fields[field][2]) - 1) << below
        rest = int.from_bytes(self.raw[byte:byte + count], "big") & ~mask
        self.raw[byte:byte + count] = (rest | (value << below & mask)).to_bytes(count, "big")

    def get(self, field: str) -> int:
        """A field, or 0 if the message has none of this name."""
        return self[field] if field in self else 0

    def kind(self) -> str:
        """The name, with what makes one of its name another answer: "REJ of REQ, reason 10 (stale connection)"."""
        if self.name == "MRA":
            return f"MRA of {ABOUT_MRA[self['about']]}"
        if self.name == "REJ":
            reason = self["reason"]
            return f"REJ of {ABOUT[self['about']]}, reason {reason} ({REASONS.get(reason, 'other')})"
        if "status" in self:
            return f"{self.name}, status {self['status']}"
        return self.name

    def data(self) -> bytes:
        """The private data of the program, without zeros at the end: a message has no length of them."""
        return bytes(self.raw[PRIVATE[self.name] + IP_HEADER.get(self.name, 0):]).rstrip(b"\0")

    def set_data(self, data: bytes) -> None:
        """Put private data of a program into the message."""
        at = PRIVATE[self.name] + IP_HEADER.get(self.name, 0)
        if len(data) > LENGTH - at:
            raise BadMessage(f"{len(data)} bytes of private data do not fit into {self.name}: {LENGTH - at} do")
        self.raw[at:at + len(data)] = data

    def parameters(self) -> dict[str, int | str]:
        """The fields that the connection manager or its user has chosen, and the private data in hex."""
        chosen = {field: self[field] for field in self._fields
                  if field not in _OWN and not field.startswith("alternate")}
        return {**chosen, "private_data": self.data().hex()}

    def same_as(self, other: Mad) -> bool:
        """Whether one of the two is a repetition of the other."""
        return self.name == other.name and self.kind() == other.kind() and \
            all(self.get(field) == other.get(field) for field in ("local", "remote", "qpn", "psn"))
