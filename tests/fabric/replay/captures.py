# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Captures as conversations: which messages are the peer's, and which call of the program caused one of ours.

Files are read by the program entries, which uses the reader of rdma-cm-alt record.
"""

from __future__ import annotations

import ipaddress
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from mads import CONSUMER_DEFINED, NO_SERVICE, UNSUPPORTED, BadMessage, Mad
from stacks import ROOT

ENTRIES = ROOT / "build/tests/fabric/replay/entries"
# The service IDs of the port spaces of rdma_cm, without the port.
SPACES = {0x1060000: "tcp", 0x1110000: "udp"}
# What a connection manager also sends without a call of the program.
OF_ITSELF = ("REJ", "DREQ")


class BadCapture(Exception):
    """A capture that cannot be played: file, packet, what is wrong."""


@dataclass
class Conversation:
    """The messages of one connection, or of one question for a QP."""

    number: int
    active: bool  # the recorded side has begun it
    space: str
    port: int
    nobody: bool = False  # listens on its port


@dataclass
class Step:
    """A message of a capture.

    `again`: an earlier one is the same. `call`: what the program does, so that the stack sends it. `pause`: seconds
    since the message before. `noted`: the recorder knows of a call behind it.
    """

    number: int
    mad: Mad
    from_peer: bool
    pause: float
    again: bool
    call: str = ""
    noted: bool = False
    conversation: Conversation | None = None


@dataclass
class Capture:
    """A file's messages in their order."""

    name: str
    steps: list[Step] = field(default_factory=list)
    conversations: list[Conversation] = field(default_factory=list)

    def own(self) -> list[Step]:
        """The messages of the recorded stack, without repetitions."""
        return [step for step in self.steps if not step.from_peer and not step.again]


def lines(path: Path) -> list[list[str]]:
    """The lines that the program entries prints for a file, in words."""
    if not ENTRIES.exists():
        raise SystemExit(f"{ENTRIES} is not there; on the host run: make tests")
    done = subprocess.run([ENTRIES, "read", path], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BadCapture(f"{path}: {done.stderr.strip()}")
    return [line.split() for line in done.stdout.splitlines()]


def _service(mad: Mad, number: int) -> tuple[str, int]:
    service = mad["service_id"]
    space = SPACES.get(service & ~0xffff)
    if not space:
        raise BadMessage(f"packet {number}: the service ID {service:#018x} is not of the port spaces TCP and UDP")
    return space, service & 0xffff


class _Reader:
    """Puts the messages of a capture into conversations, one after another."""

    def __init__(self, name: str) -> None:
        self.capture = Capture(name)
        self._owner: dict[tuple[bool, int], Conversation] = {}  # by whose identifier, and the identifier
        self._last = 0

    def _begin(self, step: Step) -> Conversation:
        space, port = _service(step.mad, step.number)
        conversation = Conversation(len(self.capture.conversations) + 1, not step.from_peer, space, port)
        self.capture.conversations.append(conversation)
        return conversation

    def _retry(self, step: Step) -> Conversation | None:
        """The conversation of an own request that the stack sends once more with another identifier."""
        for other in self.capture.steps:
            if not other.from_peer and other.mad.name == "REQ" and step.mad.name == "REQ" and \
                    other.mad["qpn"] == step.mad["qpn"] and other.mad["psn"] == step.mad["psn"]:
                return other.conversation
        return None

    def _find(self, step: Step) -> Conversation | None:
        """The conversation of a message; None: of none that began in the capture."""
        mad = step.mad
        local, remote = (step.from_peer, mad.get("local")), (not step.from_peer, mad.get("remote"))
        found = self._owner.get(local) or self._owner.get(remote)
        if mad.name in ("REQ", "SIDR_REQ") and not step.again:
            found = None if step.from_peer else self._retry(step)
            step.call = "" if found or step.from_peer else "connect"
            found = found or self._begin(step)
        if found and local[1]:
            self._owner[local] = found
        if found and not step.from_peer and (mad.get("reason") == NO_SERVICE or
                                             mad.name == "SIDR_REP" and mad["status"] == UNSUPPORTED):
            found.nobody = True
        return found

    def _call(self, step: Step) -> str:
        """The call of the program behind an own message that was sent for the first time."""
        mad, answers = step.mad, step.conversation and not step.conversation.active
        if mad.name == "SIDR_REP" and mad["status"] == UNSUPPORTED:
            return ""
        if mad.name in ("REP", "SIDR_REP") and answers:
            return "accept" if not mad.get("status") else "reject"
        if mad.name == "REJ" and mad["reason"] == CONSUMER_DEFINED:
            return "reject"
        if mad.name == "DREP" and any(other.call == "disconnect" and other.conversation is step.conversation
                                      for other in self.capture.steps):
            return ""  # the program has done so before
        return {"RTU": "establish", "DREQ": "disconnect", "DREP": "disconnect"}.get(mad.name, step.call)

    def add(self, number: int, time: int, raw: bytes, from_peer: bool, operation: str) -> None:
        """The next message; raises BadMessage. `operation` as the recorder has noted it, "-" if it has not."""
        mad = Mad(raw)
        again = any(other.from_peer == from_peer and other.mad.same_as(mad) for other in self.capture.steps)
        pause = max(0, time - self._last) / 1e9 if self._last else 0.0
        step = Step(number, mad, from_peer, pause, again)
        step.conversation = self._find(step)
        if not from_peer and not again and step.conversation:
            step.call = self._call(step)
        step.noted = operation != "-"
        self._last = time
        self.capture.steps.append(step)


def read(path: Path, peer: str = "") -> Capture:
    """Read a file. `peer`: GID of the side that is played, by default the one that did not record."""
    return of_lines(path, lines(path), peer)


def _one_end(path: Path, entries: list[list[str]], peer: str) -> list[list[str]]:
    """The messages as one end has seen them: a host that is both ends records each message twice."""
    def seen(*ways: str) -> set[tuple[str, str]]:
        return {(words[8], words[-1]) for words in entries if words[2] in ways}

    twice = seen("sent", "again") & seen("received")
    if not twice:
        return entries
    first = next(words for words in entries if (words[8], words[-1]) in twice)
    if not peer:
        raise BadCapture(f"{path}: packet {first[0]} was sent and received by the host that recorded it: name the GID of "
                         "the side to play with --peer, or record one program only (rdma-cm-alt record -c PROGRAM)")
    if first[8] == first[9]:
        raise BadCapture(f"{path}: packet {first[0]} was sent and received by the host that recorded it, at one address: "
                         "record one program only (rdma-cm-alt record -c PROGRAM)")
    return [words for words in entries if (words[2] == "received") == _is(words[8], peer)]


def _is(gid: str, other: str) -> bool:
    return ipaddress.IPv6Address(gid) == ipaddress.IPv6Address(other)


def of_lines(path: Path, entries: list[list[str]], peer: str = "") -> Capture:
    """The same of the lines that the program entries prints, in words; the file is not opened."""
    reader = _Reader(path.name.removesuffix(".pcapng"))
    for words in _one_end(path, [words for words in entries if words[3] == "cm"], peer):
        number, time, way, sgid, raw = int(words[0]), int(words[1]), words[2], words[8], words[-1]
        operation = words[-3]
        if way == "seen" and not peer:
            raise BadCapture(f"{path}: packet {number} was recorded between the hosts: name the GID of the side to play "
                             "with --peer")
        from_peer = _is(sgid, peer) if peer else way == "received"
        try:
            reader.add(number, time, bytes.fromhex(raw), from_peer, operation)
        except BadMessage as bad:
            raise BadCapture(f"{path}: packet {number}: {bad}") from bad
    if not any(step.from_peer for step in reader.capture.steps):
        raise BadCapture(f"{path}: no packet was sent by {peer or 'the peer'}; name the GID of the side to play with "
                         "--peer")
    if any(step.noted for step in reader.capture.steps):
        # The recorder knows the calls, so what it knows no call of was sent by the connection manager itself, if that
        # sends it without one. It answers a disconnect request before the program does.
        for step in reader.capture.steps:
            if not step.noted and step.mad.name in OF_ITSELF:
                step.call = ""
    return reader.capture
