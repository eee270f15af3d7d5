# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Plays one variant of a capture against one stack: the peer's messages, and the calls of the recorded program.

The program is tests/fabric/fabrics/agent.c. A message of the peer is sent when the stack has sent what preceded it in
the capture, after the recorded pause. What the stack sends that was not recorded is noted, and the play goes on.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from agent import Agent
from captures import Capture, Step
from mads import ANSWERED_BY, Mad
from peer import OUR_ADDRESS, Host, Table, address
from scenario import DEBUG, Unexpected
from stacks import Stack
from variants import Variant

# Seconds. Stock repeats a message after TIMEOUT on the adapter's paths; the peer repeats a lost one sooner.
TIMEOUT = 4.4
PEER_TIMEOUT = 1.0
REPLY_TIMEOUT = 3.0  # for the peer's reply, if the play cannot go on: a stack that is about to repeat its request is deaf
LIMIT = 2.5 * TIMEOUT  # for a message of the stack, which may be a repetition
HELD = 0.5  # the same while the message is held that it would answer
LONGEST_PAUSE = 5.0
CARRIERS = ("connect", "accept", "reject")  # calls that take private data
QUIET = 2.0 if DEBUG else 0.6  # the play is over when nothing has happened for so long
_TICK_MS = 50


@dataclass
class Answer:
    """A message of the stack.

    `after`: the packet that the peer had sent last. `times`: how often it came. `recorded`: its packet in the capture.
    """

    text: str
    parameters: dict[str, int | str]
    mad: Mad
    after: int
    times: int = 1
    recorded: int = 0


@dataclass
class Record:
    """What a play has seen."""

    answers: list[Answer] = field(default_factory=list)
    program: list[tuple[str, int]] = field(default_factory=list)  # results and events, and the packet before each
    missing: list[int] = field(default_factory=list)  # packets of the stack that did not come
    unsent: list[int] = field(default_factory=list)  # packets of the peer that answer one of those


class Play:
    """One run. Use it once."""

    def __init__(self, capture: Capture, variant: Variant, stack: Stack, host: Host, first_port: int, quiet: float = QUIET) -> None:
        self._capture, self._variant, self._host, self._quiet = capture, variant, host, quiet
        ports = {conversation.port: first_port + at for at, conversation in enumerate(capture.conversations)}
        self._ports = {conversation.number: ports[conversation.port] for conversation in capture.conversations}
        self._table = Table(capture, host, self._ports)
        self._record = Record()
        self._agent = Agent(stack)
        self._ids: dict[int, int] = {}  # of the agent, by conversation
        self._listeners: dict[int, int] = {}
        self._events: list[tuple[str, int]] = []
        self._came: list[Answer] = []  # not yet found in the capture, oldest first
        self._later: list[tuple[float, Step]] = []
        self._if_repeated: Step | None = None
        self._reply: Step | None = None  # the peer's, which has no answer
        self._reply_due = 0.0
        self._held: Step | None = None
        self._asked = False  # for an event; the answer was not read
        self._after = 0
        self._busy = time.monotonic()

    def run(self) -> Record:
        """Play to the end."""
        try:
            self._prepare()
            for step in self._capture.steps:
                self._do_step(step)
            self._let_go()
            self._settle()
            record = self._record
            self._record = Record()  # what the end of the program causes does not count
            self._clean_up()
            return record
        finally:
            self._agent.leave()
            self._agent.end()

    def _prepare(self) -> None:
        """Listeners, and ids with their routes."""
        for conversation in self._capture.conversations:
            port = self._ports[conversation.number]
            if conversation.active:
                number = self._agent.id(conversation.space)
                self._ids[conversation.number] = self._agent.routed("-", address(self._host.number), port, number)
            elif port not in self._listeners and not conversation.nobody:
                self._listeners[port] = self._agent.listening(OUR_ADDRESS, port, self._agent.id(conversation.space))

    # What happens meanwhile.

    def _look(self) -> None:
        """Take what has come: messages, events, and times at which the peer sends."""
        while (mad := self._host.received()) is not None:
            self._busy = time.monotonic()
            self._note(mad)
        for due, step in list(self._later):
            if time.monotonic() >= due:
                self._later.remove((due, step))
                self._send(step)
        if not self._asked:
            self._agent.start("event", _TICK_MS)
            self._asked = True
        ready = select.select([self._host, self._agent], [], [], _TICK_MS / 1000)[0]
        if self._agent in ready:
            self._take_event()

    def _take_event(self) -> None:
        """The answer of the program that was asked for an event."""
        if not self._asked:
            return
        self._asked = False
        answer = self._agent.answer()
        if answer != "none":
            self._busy = time.monotonic()
            self._note_event(answer.split(), self._agent.must("bytes"))

    def _ask(self, call: str, number: int, *data: str) -> str:
        """A call of the program, which may have been asked for an event."""
        self._take_event()
        return self._agent.ask(call, number, *data)

    def _note(self, mad: Mad) -> None:
        if mad.name in ANSWERED_BY["REP"]:
            self._reply = None
        for answer in self._record.answers:
            if answer.mad.same_as(mad):
                answer.times += 1
                self._came.append(Answer(answer.text, {}, mad, self._after))
                if self._if_repeated:
                    step, self._if_repeated = self._if_repeated, None
                    self._send(step)
                return
        answer = Answer(mad.kind(), mad.parameters(), mad, self._after)
        self._record.answers.append(answer)
        self._came.append(answer)

    def _note_event(self, words: list[str], data: str) -> None:
        """An event and its private data in hex."""
        name, status = words[1].removeprefix("RDMA_CM_EVENT_"), words[2]
        number = int(words[-1])
        if name == "CONNECT_REQUEST":
            listener = int(words[3])
            waiting = [conversation for conversation in self._capture.conversations
                       if not conversation.active and conversation.number not in self._ids
                       and self._listeners.get(self._ports[conversation.number]) == listener]
            if waiting:
                self._ids[waiting[0].number] = number
        conversation = next((key for key, known in self._ids.items() if known == number), 0)
        self._events.append((name, conversation))
        if name == "CONNECT_RESPONSE":
            self._reply = None
        if name == "TIMEWAIT_EXIT":
            return  # the play may end before
        text = f"{name}, status {status}, of connection {conversation}" + (f", private data {data}" if data else "")
        self._record.program.append((text, self._after))

    def _until(self, condition: Callable[[], object], limit: float) -> bool:
        """Look until it holds; False when the time is over."""
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() >= end:
                return False
            self._look()
            if limit == LIMIT and self._reply and time.monotonic() > self._reply_due:
                self._send(self._reply, again=True)
            if self._later and limit == LIMIT:
                end = time.monotonic() + limit  # what the peer sends late may be what the stack waits for
        return True

    def _wait(self, seconds: float) -> None:
        self._until(lambda: False, min(seconds, LONGEST_PAUSE))

    # The steps of the capture.

    def _do_step(self, step: Step) -> None:
        if not step.from_peer:
            if step.call:
                self._wait(step.pause)
                self._call(step)
            self._await(step)
            return
        self._wait(step.pause)
        if self._variant.applies("late", step):
            self._later.append((time.monotonic() + 2 * TIMEOUT, step))
        elif self._variant.applies("lost", step) and step.mad.name in ANSWERED_BY:
            self._later.append((time.monotonic() + PEER_TIMEOUT, step))
        elif self._variant.applies("lost", step):
            self._if_repeated = step
        elif self._variant.applies("swapped", step):
            self._held = step
        else:
            self._send(step)
            if self._variant.applies("doubled", step):
                self._send(step)
            self._let_go()

    def _let_go(self) -> None:
        """Send what the message before has overtaken."""
        if self._held:
            step, self._held = self._held, None
            self._send(step)

    def _send(self, step: Step, again: bool = False) -> None:
        mad = self._table.real(step)
        if mad is None:
            self._record.unsent.append(step.number)
            return
        self._busy = time.monotonic()
        if not again:
            self._after = step.number
        if mad.name == "REP":
            self._reply, self._reply_due = step, self._busy + REPLY_TIMEOUT
        self._host.send(mad)

    def _await(self, step: Step) -> None:
        """The stack's message that was recorded here."""
        found: list[Answer] = []

        def comes() -> bool:
            found[:] = [answer for answer in self._came if self._table.fits(step.mad, answer.mad)]
            return bool(found)

        if not self._until(comes, HELD if self._held else LIMIT):
            self._record.missing.append(step.number)
            return
        self._came.remove(found[0])
        found[0].recorded = step.number
        self._table.learn(step.mad, found[0].mad)

    def _has_event(self, step: Step) -> bool:
        """Whether the program may make the call of a step: it has read the event that the call answers."""
        assert step.conversation
        number = step.conversation.number
        names = {"accept": {"CONNECT_REQUEST"}, "reject": {"CONNECT_REQUEST", "CONNECT_RESPONSE"},
                 "establish": {"CONNECT_RESPONSE"}}.get(step.call, set())
        if step.mad.name == "DREP":
            names = {"DISCONNECTED", "TIMEWAIT_EXIT"}
        return number in self._ids and (not names or any((name, number) in self._events for name in names))

    def _call(self, step: Step) -> None:
        assert step.conversation
        if not self._until(lambda: self._has_event(step), HELD if self._held else LIMIT):
            self._record.program.append((f"no event before {step.call} for packet {step.number}", self._after))
            return
        data = step.mad.data() if step.call in CARRIERS else b""
        said = self._ask(step.call, self._ids[step.conversation.number], *([f"0x{data.hex()}"] if data else []))
        self._record.program.append((f"{step.call} of connection {step.conversation.number}: {said}", self._after))

    # The end.

    def _settle(self) -> None:
        if self._if_repeated:
            self._until(lambda: not self._if_repeated, LIMIT)
        self._until(lambda: not self._later, 3 * TIMEOUT)
        self._busy = time.monotonic()
        self._until(lambda: time.monotonic() - self._busy > self._quiet, 10 * self._quiet)

    def _clean_up(self) -> None:
        """Destroy all ids; the peer lets a connection go."""
        for number in [*self._ids.values(), *self._listeners.values()]:
            try:
                self._ask("destroy", number)
            except Unexpected:
                return
        end = time.monotonic() + self._quiet
        while time.monotonic() < end:
            mad = self._host.received()
            if mad is None:
                time.sleep(0.01)
            elif mad.name == "DREQ":
                self._host.send(Mad.new("DREP", mad.tid, local=mad["remote"], remote=mad["local"]))
