# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Two guests on a virtual wire: the near guest runs the command, the far guest is its peer.

To the caller a pair is the near guest. The far guest runs tests/fabric/wire/far until the near guest has ended. It
may request to be started again, like a machine that lost its power. If it ends otherwise, both are lost.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from . import guest, paths

FAR_COMMAND = "exec tests/fabric/wire/far"
# The last line of a far guest that requests to be started again.
AGAIN = b"START AGAIN"
# No time limit: the far guest ends when the near one does.
FOREVER = 7 * 24 * 3600.0
# Two wires: one for the tests, which may disturb it, and one to coordinate them. The value is the last byte but
# one of the hardware addresses, which tests/fabric/wire/rig.sh uses.
WIRES = {"wire": 0, "control": 1}


def is_pair(place: str) -> bool:
    """Whether a place of a suite is a pair of guests, near and far, as in 6.1+6.12."""
    return "+" in place


def exists(place: str) -> bool:
    """Whether both guests exist."""
    return len(members(place)) == 2 and set(members(place)) <= set(paths.guests())


def members(place: str) -> list[str]:
    """Returns the guests of a place."""
    return place.split("+")


def canonical(place: str) -> str:
    """Returns the place's name in the files of suites."""
    return "+".join(paths.canonical(name) for name in members(place))


class Pair(guest.Guest):
    """The pair named `place`; the files of the far guest are kept in `run`/far, far-2, ..."""

    def __init__(self, place: str, run: Path, *, memory: int = 0, append: str = "",
                 qemu: list[str] | None = None, parallel: bool = False) -> None:
        near, far = members(place)
        # Tests get the names of both guests from the kernel command line.
        append = f"{append} rca.pair={place}"
        super().__init__(near, run, memory=memory, append=append, parallel=parallel)
        self._near_options = qemu or []
        self._sockets = Path()
        self._far_name = far
        self._far_options = {"memory": memory, "append": append, "parallel": parallel}
        self.far: list[guest.Guest] = []
        self._ending = threading.Event()
        self._far_lost = ""
        self._heard: dict[Path, int] = {}

    def _plugs(self, end: int) -> list[str]:
        """Returns QEMU's arguments for one end of the wires; datagrams to an end that is down are lost."""
        words = []
        for name, byte in WIRES.items():
            mine, other = (self._sockets / f"{name}.{number}" for number in (end, 1 - end))
            words += ["-netdev", f"dgram,id={name},local.type=unix,local.path={mine},"
                                 f"remote.type=unix,remote.path={other}",
                      "-device", f"virtio-net-pci,netdev={name},romfile=,"
                                 f"mac=52:54:00:08:{byte:02x}:{end + 1:02x}"]
        return words

    def lines(self, command: str, timeout: float) -> Iterator[bytes]:
        """Returns Guest.lines() of the near guest; runs the far guest meanwhile."""
        # The path of a socket must be short.
        self._sockets = Path(tempfile.mkdtemp(prefix="rca-wire-"))
        self._qemu = [*self._plugs(0), *self._near_options]
        thread = threading.Thread(target=self._serve, daemon=True)
        thread.start()
        try:
            yield from super().lines(command, timeout)
        finally:
            self._ending.set()
            # The far guest may be starting just now, so try until the thread has ended.
            while thread.is_alive():
                for far in self.far[-1:]:
                    far.kill()
                thread.join(0.2)
            shutil.rmtree(self._sockets, ignore_errors=True)

    def _boot_far(self) -> guest.Guest:
        number = len(self.far) + 1
        run = self.run / ("far" if number == 1 else f"far-{number}")
        run.mkdir(parents=True, exist_ok=True)
        machine = guest.Guest(self._far_name, run, qemu=self._plugs(1), **self._far_options)
        self.far.append(machine)
        return machine

    def _serve(self) -> None:
        """Runs the far guest, and starts it again on request."""
        while not self._ending.is_set():
            machine = self._boot_far()
            last = b""
            with open(machine.run / "output.log", "wb") as log:
                for line in machine.lines(FAR_COMMAND, FOREVER):
                    log.write(line + b"\n")
                    log.flush()
                    last = line.strip() or last
            if last != AGAIN:
                break
        if not self._ending.is_set():
            self._far_lost = f"lost its peer {self._far_name}, which ended with {machine.verdict()}"
        # The near guest may be starting just now, so try until it has ended.
        while self._far_lost and not self._ending.wait(0.2):
            self.kill()

    def processor_seconds(self) -> float:
        """That of both guests, and of all boots of the far guest."""
        return super().processor_seconds() + sum(far.processor_seconds() for far in self.far)

    def verdict(self) -> str:
        """Describes how the run ended, for the user."""
        return super().verdict() if self.status is not None or not self._far_lost else self._far_lost

    def consoles(self) -> list[Path]:
        """Returns the consoles of both guests, and those of all boots of the far guest."""
        return [self.console, *(machine.console for machine in self.far)]

    def heard(self) -> str:
        """Returns the console output of the far guest's kernel since the last call."""
        text = ""
        for path in self.consoles()[1:]:
            if path.exists():
                data = path.read_bytes()
                text += data[self._heard.get(path, 0):].decode(errors="replace")
                self._heard[path] = len(data)
        return text

    def console_tail(self, count: int = 40) -> str:
        """Returns the last lines of the near console, and of the far console if the far guest ended first."""
        text = super().console_tail(count)
        if self._far_lost and self.far:
            text += f"\nof {self.far[-1].console}:\n{self.far[-1].console_tail(count)}"
        return text


def machine(place: str, run: Path, **options: object) -> guest.Guest:
    """Returns the guest, or the pair of guests, of a place."""
    if not is_pair(place):
        return guest.Guest(place, run, **options)
    if not exists(place):
        raise paths.BenchError(f"'{place}' is no pair of guests; there are: {' '.join(paths.guests())}")
    return Pair(place, run, **options)
