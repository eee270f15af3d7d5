# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Unit tests of what needs no guest: messages, captures, variants, comparisons, and the generated captures."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import unittest
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "tests/harness/python")]

# pylint: disable=wrong-import-position
import captures  # noqa: E402
import compare  # noqa: E402
import variants  # noqa: E402
from mads import BadMessage, Mad  # noqa: E402
from peer import Table, gid  # noqa: E402
from play import Answer, Record  # noqa: E402

FILE = Path("a.pcapng")


def _generator() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("generate", str(ROOT / "tests/replay/generate"))
    spec = importlib.util.spec_from_loader("generate", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


GENERATE = _generator()


def lines(name: str) -> list[list[str]]:
    """The messages of a generated capture."""
    script = GENERATE.Script()
    getattr(GENERATE, name)(script)
    return [line.split() for line in script.lines]


def capture(name: str) -> captures.Capture:
    """A generated capture."""
    return captures.of_lines(FILE, lines(name))


class FakeHost:
    """What a table needs of a host."""

    number, lid, our_lid, our_gid = 3, 0x903, 1, 0xfe80 << 112 | 1


def record(*texts: str, program: tuple[str, ...] = (), **parameters: int) -> Record:
    """What a play has seen; all of it after packet 7."""
    return Record([Answer(text, dict(parameters), Mad.new(text.split()[0], 1), 7) for text in texts],
                  [(text, 7) for text in program])


class Messages(unittest.TestCase):
    """mads.py"""

    def test_fields_keep_their_neighbours(self) -> None:
        mad = Mad.new("REQ", 9, retry_count=7, local_timeout=21, mtu=4, rnr_retry_count=5)
        self.assertEqual(mad.raw[71], 21 << 3 | 7)
        self.assertEqual(mad.raw[74], 4 << 4 | 5)
        mad["local_timeout"] = 1
        self.assertEqual((mad["local_timeout"], mad["retry_count"], mad.tid), (1, 7, 9))

    def test_private_data(self) -> None:
        mad = Mad.new("REQ", 9)
        mad.set_data(b"\0a\0")
        self.assertEqual((mad.data(), mad.raw[200:203]), (b"\0a", b"\0a\0"))
        with self.assertRaisesRegex(BadMessage, "57 bytes of private data do not fit into REQ: 56 do"):
            mad.set_data(bytes(57))

    def test_what_is_no_message(self) -> None:
        for raw in (b"", bytes(256), bytes(Mad.new("REQ", 1).raw[:255]), bytes((1, 7)) + bytes(254)):
            with self.assertRaises(BadMessage):
                Mad(raw)

    def test_a_repetition_is_known(self) -> None:
        one = Mad.new("REJ", 1, remote=5, reason=10)
        self.assertTrue(one.same_as(Mad.new("REJ", 1, remote=5, reason=10)))
        self.assertFalse(one.same_as(Mad.new("REJ", 1, remote=5, reason=28)))
        self.assertFalse(one.same_as(Mad.new("REJ", 1, remote=6, reason=10)))


class Captures(unittest.TestCase):
    """captures.py"""

    def test_calls_of_the_program(self) -> None:
        self.assertEqual([step.call for step in capture("client").steps],
                         ["connect", "", "establish", "disconnect", ""])
        self.assertEqual([step.call for step in capture("server").steps], ["", "accept", "", "", "disconnect"])

    def test_what_the_stack_does_itself_is_no_call(self) -> None:
        steps = capture("stale_request").steps
        self.assertEqual([(step.number, step.call) for step in steps if step.call], [(2, "accept")])
        steps = capture("stale_reject").steps
        self.assertEqual([(step.number, step.call) for step in steps if step.call], [(1, "connect"), (5, "establish")])

    def test_what_nobody_listens_for_is_answered_without_a_call(self) -> None:
        found = capture("datagrams_unanswered")
        self.assertEqual([conversation.nobody for conversation in found.conversations], [True, False])
        self.assertEqual([step.call for step in found.steps], ["", "", "connect", ""])

    def test_two_conversations(self) -> None:
        found = capture("cancelled_request")
        self.assertEqual([step.conversation and step.conversation.number for step in found.steps], [1, 1, 2, 2, 2])

    def test_a_request_that_the_stack_sends_again_is_of_the_same_conversation(self) -> None:
        found = capture("stale_reject")
        self.assertEqual([step.conversation and step.conversation.number for step in found.steps], [1] * 5)

    def test_the_other_side_can_be_played(self) -> None:
        found = captures.of_lines(FILE, lines("client"), GENERATE.OUR_GID)
        self.assertEqual([step.from_peer for step in found.steps], [True, False, True, True, False])

    def test_a_host_that_is_both_ends(self) -> None:
        once = lines("client")
        sent = [[*words[:2], "sent", *words[3:]] for words in once]
        received = [[*words[:2], "received", *words[3:]] for words in once]
        twice = [words for pair in zip(sent, received) for words in pair]
        with self.assertRaisesRegex(captures.BadCapture, "packet 1 was sent and received .* --peer"):
            captures.of_lines(FILE, twice)
        found = captures.of_lines(FILE, twice, GENERATE.PEER_GID)
        self.assertEqual([(step.mad.name, step.from_peer) for step in found.steps],
                         [("REQ", False), ("REP", True), ("RTU", False), ("DREQ", False), ("DREP", True)])
        for words in twice:
            words[9] = words[8]
        with self.assertRaisesRegex(captures.BadCapture, "at one address: record one program only"):
            captures.of_lines(FILE, twice, GENERATE.OUR_GID)

    def test_calls_that_the_recorder_has_noted(self) -> None:
        noted = lines("server")
        for words in noted:
            words[-3] = "-"
        noted[1][-3] = "accept"
        self.assertEqual([step.call for step in captures.of_lines(FILE, noted).steps],
                         ["", "accept", "", "", "disconnect"])

    def test_bad_captures_name_the_packet(self) -> None:
        bad = lines("client")
        bad[2][-1] = bad[2][-1][:32] + "0099" + bad[2][-1][36:]
        with self.assertRaisesRegex(captures.BadCapture, "packet 3: attribute 0x99"):
            captures.of_lines(FILE, bad)
        bad = lines("server")
        bad[0][-1] = bad[0][-1][:64] + "1234567812345678" + bad[0][-1][80:]
        with self.assertRaisesRegex(captures.BadCapture, "packet 1: the service ID 0x1234567812345678"):
            captures.of_lines(FILE, bad)

    def test_nobody_to_play(self) -> None:
        with self.assertRaisesRegex(captures.BadCapture, "--peer"):
            captures.of_lines(FILE, lines("client"), "fe80::77")
        seen = lines("client")
        seen[0][2] = "seen"
        with self.assertRaisesRegex(captures.BadCapture, "packet 1 was recorded between the hosts"):
            captures.of_lines(FILE, seen)


class Tables(unittest.TestCase):
    """The table of identifiers in peer.py"""

    def test_identifiers_and_addresses_are_those_of_the_run(self) -> None:
        found = capture("client")
        table = Table(found, FakeHost(), {1: 21000})  # type: ignore[arg-type]
        self.assertIsNone(table.real(found.steps[1]), "the stack has sent no request yet")
        real = Mad.new("REQ", 77, local=0x1234, qpn=0x99)
        self.assertTrue(table.fits(found.steps[0].mad, real))
        table.learn(found.steps[0].mad, real)
        reply = table.real(found.steps[1])
        assert reply
        self.assertEqual((reply["remote"], reply["local"], reply.tid), (0x1234, GENERATE.PEERS, 77))

    def test_a_request_gets_the_path_of_the_fabric(self) -> None:
        found = capture("server")
        request = Table(found, FakeHost(), {1: 21000}).real(found.steps[0])  # type: ignore[arg-type]
        assert request
        self.assertEqual((request["slid"], request["dlid"], request["sgid"]), (0x903, 1, gid(3)))
        self.assertEqual(request["service_id"], GENERATE.TCP | 21000)
        self.assertEqual(bytes(request.raw[180:184]), bytes((10, 8, 0, 103)))

    def test_a_request_of_roce_gets_the_path_of_the_fabric(self) -> None:
        found = capture("roce_server")
        self.assertEqual((found.steps[0].mad["slid"], found.steps[0].mad["hop_limit"]), (0xffff, 64))
        request = Table(found, FakeHost(), {1: 21000}).real(found.steps[0])  # type: ignore[arg-type]
        assert request
        self.assertEqual((request["slid"], request["sgid"], request["hop_limit"], request["subnet_local"]),
                         (0x903, gid(3), 0, 1))

    def test_a_stranger_stays_one(self) -> None:
        found = capture("unknown_dreq")
        mad = Table(found, FakeHost(), {}).real(found.steps[0])  # type: ignore[arg-type]
        assert mad
        self.assertEqual(mad["remote"], 0x7777)


class Variants(unittest.TestCase):
    """variants.py"""

    def test_the_seed_decides(self) -> None:
        found = capture("server")
        self.assertEqual(variants.some(found, 5, 3), variants.some(found, 5, 3))
        self.assertNotEqual([variants.some(found, seed, 3) for seed in range(9)], [variants.some(found, 5, 3)] * 9)

    def test_each_message_of_the_peer(self) -> None:
        names = [variant.name for variant in variants.every(capture("client"))]
        self.assertEqual(names, ["as recorded", "lost 2", "late 2", "doubled 2", "swapped 2", "lost 5", "late 5",
                                 "doubled 5"])
        with self.assertRaisesRegex(ValueError, "'lost 1'"):
            variants.named(capture("client"), "lost 1")


class Comparisons(unittest.TestCase):
    """compare.py"""

    def test_the_same(self) -> None:
        self.assertEqual(compare.stacks(capture("client"), record("REQ", "RTU"), record("REQ", "RTU")), [])

    def test_a_missing_answer_names_the_packet(self) -> None:
        found = compare.stacks(capture("client"), record("REQ", "RTU"), record("REQ"))
        self.assertEqual([each.text() for each in found], ["after packet 7: answers: stock: RTU; ours: nothing"])

    def test_parameters_and_events(self) -> None:
        found = compare.stacks(capture("client"), record("REQ", program=("A", "B"), mtu=4),
                               record("REQ", program=("A", "C"), mtu=5))
        self.assertEqual([(each.what, each.stock, each.ours) for each in found],
                         [("REQ: mtu", "4", "5"), ("program", "B", "C")])

    def test_an_mra_counts_where_one_was_recorded(self) -> None:
        stock, ours = record("REQ", "MRA of REP", "RTU"), record("REQ", "RTU")
        self.assertEqual(compare.stacks(capture("client"), stock, ours), [])
        self.assertEqual(len(compare.stacks(capture("slow_client"), stock, ours)), 1)

    def test_private_data_of_both(self) -> None:
        found = compare.stacks(capture("client"), record("REQ", private_data="01"), record("REQ", private_data=""))
        self.assertEqual([(each.what, each.stock, each.ours) for each in found], [("REQ: private_data", "01", "")])

    def test_private_data_of_the_capture(self) -> None:
        played = record("REQ", "RTU", "DREP")
        played.answers[0].recorded = 1
        self.assertEqual([each.what for each in compare.with_capture(capture("private_data"), played)],
                         ["REQ: private_data"])
        played.answers[0].mad = Mad(bytes.fromhex(lines("private_data")[0][-1]))
        self.assertEqual(compare.with_capture(capture("private_data"), played), [])

    def test_with_the_capture(self) -> None:
        found = compare.with_capture(capture("server"), record("REP"))
        self.assertEqual([each.text(("recorded", "ours")) for each in found],
                         ["after packet 4: answers: recorded: DREP; ours: nothing"])

    def test_the_table(self) -> None:
        rows = compare.load_intended(HERE / "intended.conf")
        wanted = compare.Difference("answers", "nothing", "DREP", 6)
        self.assertTrue(any(row.fits("both-disconnect", "as recorded", wanted) for row in rows))
        self.assertTrue(any(row.fits("both-disconnect", "late 5", wanted) for row in rows))
        self.assertFalse(any(row.fits("both-disconnect", "swapped 5", wanted) for row in rows))
        self.assertFalse(any(row.fits("client", "as recorded", wanted) for row in rows))


if __name__ == "__main__":
    unittest.main()
