# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of rdma-cm-alt record --keep, of explain --capture, which writes what was kept, and of monitor -w."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

from host import (BAD, ERROR, HERE, MODULE, NOBODY, OK, ROOT, TOOL, USAGE, Running, connection, failures, ids, refused, run, same, shell, tool,
                  true, until)
from recorder import PROGRAMS, attached, end, messages, names, recorded_so_far, recording
from talk import CONNECTION, talk
from transport import trunks

KEPT = Path("/run/rdma_cm_alt")
# Messages of a connection of this host with itself: each is sent and received.
BOTH = 2 * len(CONNECTION)


def kept_files() -> list[str]:
    """Files of kept messages."""
    return [file.name for file in KEPT.glob("kept-*")]


def recalled(name: str, status: int = OK, *more: str) -> str:
    """What explain says, which writes this file."""
    true("there is no file yet", not Path(name).exists())
    said = tool("explain", "--capture", name, *more, status=status)
    true("it says that the file was written", f"{name} was written" in said.err, said.text)
    same("mode", oct(Path(name).stat().st_mode & 0o777), "0o600")
    return said.text


def of_connection(found: list[dict]) -> list[str]:
    """Their names, in order, without MRAs."""
    return [one["message"] for one in found if one["message"] != "MRA"]


def is_over(found: list[dict], processes: tuple[int, int]) -> bool:
    """Whether the last messages are the end of a connection of these processes."""
    last = found[-4:]
    return of_connection(last) == ["DREQ", "DREQ", "DREP", "DREP"] and all(one["pid"] in processes for one in last)


def last_messages_are_kept(where: str) -> None:
    """explain writes the last messages of each port, with their ties, and explains them."""
    with trunks(False), recording("--keep", "7") as keeper:
        same("files", len(kept_files()), 1)
        talk(over=True)
        processes = talk(over=True)
        until("the end of the second one", lambda: is_over(messages_so_far(where), processes))
        said = recalled(f"{where}/last.pcapng")
        true("how many", "7 messages, of the last 7 of each port" in said, said)
        end(keeper)
    found = messages(f"{where}/last.pcapng")
    same("how many", len(found), 7)
    same("the last ones", of_connection(found)[-4:], ["DREQ", "DREQ", "DREP", "DREP"])
    for one in found:
        true("its program", one["program"] == "rping" and one["pid"] in processes, str(one))
    true("an operation", any(one.get("operation") == "disconnect" for one in found), str(found))
    same("files afterwards", kept_files(), [])
    said = tool("explain", "--capture", f"{where}/none.pcapng", status=ERROR).err
    true("what to do", "no messages are kept" in said and "record --keep NUMBER" in said, said)
    true("there is no file", not Path(f"{where}/none.pcapng").exists())


def messages_so_far(where: str) -> list[dict]:
    """What is kept now."""
    name = f"{where}/so_far.pcapng"
    tool("explain", "--capture", name, status=None)
    found = messages(name)
    os.unlink(name)
    return found or [{"message": "none"}]


def failure_is_explained(where: str) -> None:
    """After a failure explain tells what to type, and that tells the numbers of packets."""
    with trunks(False), recording("--keep", "1000", "--private-data") as keeper:
        talk(over=True)
        refused()
        last = failures()[-1]
        until("its REJ", lambda: messages_so_far(where)[-1]["message"] == "REJ")
        tries = tool("-j", "explain", status=BAD).json["try"]
        wanted = f"rdma-cm-alt explain --capture FILE -i {last['name']}"
        true("what to type", any(wanted in line for line in tries), str(tries))
        said = recalled(f"{where}/failed.pcapng", BAD, "-i", last["name"])
        end(keeper)
    rejects = [one for one in messages(f"{where}/failed.pcapng") if one["message"] == "REJ"]
    received = [one for one in rejects if one["way"] == "received"][-1]
    same("its id", received["name"], last["name"])
    true("its packet", f"REJ in packet {min(one['number'] for one in rejects)}" in said, said)
    tries = tool("-j", "explain", status=BAD).json["try"]
    true("without kept messages", not any("--capture" in line for line in tries), str(tries))


def keeper_is_killed(where: str) -> None:
    """What was kept survives; there is one process that keeps."""
    with trunks(False), recording("--keep", "100") as keeper:
        said = tool("record", "--keep", "5", status=ERROR).err
        true("who keeps", f"process {keeper.pid} keeps messages already" in said, said)
        talk(over=True)
        until("the last message", lambda: len(of_connection(messages_so_far(where))) == BOTH)
        os.kill(keeper.pid, signal.SIGKILL)
        keeper.wait()
    said = recalled(f"{where}/killed.pcapng")
    true("it has ended", "the process that kept them has ended" in said, said)
    found = messages(f"{where}/killed.pcapng")
    same("sent", names(found, "sent"), CONNECTION)
    same("received", names(found, "received"), CONNECTION)
    until("the BPF programs are gone", lambda: not attached())
    with trunks(False), recording("--keep", "100") as keeper:
        same("messages before", len(of_connection(messages_so_far(where))), BOTH)
        talk(over=True)
        until("the next ones", lambda: len(of_connection(messages_so_far(where))) == 2 * BOTH)
        said = recalled(f"{where}/both.pcapng")
        true("which are old", f"the first {len(found)} of them were kept by a process that has ended" in said, said)
        end(keeper)
    times = [one["time"] for one in messages(f"{where}/both.pcapng")]
    same("their order", times, sorted(times))
    same("files afterwards", kept_files(), [])


def resident(pid: int) -> int:
    """Memory of a process in kB, without what it shares with others."""
    status = Path(f"/proc/{pid}/status").read_text()
    return sum(int(kilobytes) for kilobytes in re.findall(r"^Rss(?:Anon|File):\s+(\d+) kB", status, re.M))


def module_is_unloaded(where: str) -> None:
    """The keeper ends, and what it has kept can be read. Memory is as much as it has told."""
    with trunks(False):
        try:
            with recording("--keep", "1000") as keeper:
                talk(over=True)
                until("the last message", lambda: len(of_connection(messages_so_far(where))) == BOTH)
                file = KEPT / kept_files()[0]
                told = int(keeper.said().split("messages of each port, in ")[1].split()[0])
                true("its memory, without what it keeps", resident(keeper.pid) < 15000)
                true("its memory", told * 1000 <= file.stat().st_size <= (told + 20) * 1000, f"{told} {file.stat()}")
                shell("rmmod rdma_cm_alt")
                said = keeper.wait()
                same("its status", keeper.status, MODULE)
                true("what to do", "the module was unloaded" in said and "explain --capture FILE" in said, said)
        finally:
            shell("rig_load")
    recalled(f"{where}/unloaded.pcapng")
    same("messages", len(of_connection(messages(f"{where}/unloaded.pcapng"))), BOTH)
    file.unlink()


def monitor_tells_packets(where: str) -> None:
    """Each line has the number of the packet that belongs to it."""
    name = f"{where}/monitored.pcapng"
    with trunks(False), Running(TOOL, "-j", "monitor", "-w", name, over=False) as monitor:
        until("its BPF programs are loaded", lambda: attached() == PROGRAMS)
        until("it says so", lambda: "recording" in monitor.said())
        for _ in range(4):  # in a guest that is held up, an event may come too late for its packet
            talk(over=True)
            refused()
        until("the failure", lambda: '"serial"' in monitor.said())
        said = end(monitor)
    told = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    found = {one["number"]: one for one in messages(name)}
    tied: dict[str, set] = {}
    for one in told:
        if "packet" in one:
            message = found[one["packet"]]
            what = one.get("operation") or one["event"]
            tied.setdefault(what, set()).add((message["message"], message["way"]))
            true(f"{what}: its id", one["name"] == message["name"] or what == "CONNECT_REQUEST", f"{one} {message}")
    wanted = {"connect": {("REQ", "sent")}, "CONNECT_REQUEST": {("REQ", "received")}, "accept": {("REP", "sent")},
              "REJECTED": {("REJ", "received")}, "DISCONNECTED": {("DREQ", "received"), ("DREP", "received")}}
    for what, message in wanted.items():
        same(what, tied.get(what), message)
    lines = run(TOOL, "record", "-r", name).out.splitlines()
    same("lines of the file", len(lines), len(found))


def monitor_says_packets(where: str) -> None:
    """A line of text names the packet; without -w there is none."""
    for more, there in (([], False), (["-w", f"{where}/text.pcapng"], True)):
        with trunks(False), Running(TOOL, "monitor", "-f", *more, over=False) as monitor:
            if there:
                until("it says so", lambda: "recording" in monitor.said())
            until("a failure", lambda: refused() and "REJECTED" in monitor.said())
            os.kill(monitor.pid, signal.SIGINT)
            said = monitor.wait()
        same("it names the packet", "(packet " in said, there)


def drops_are_counted(where: str) -> None:
    """What does not fit into a small buffer is told, and counted in the file."""
    name = f"{where}/dropped.pcapng"
    with trunks(False), recording("-w", f"{where}/all.pcapng", "-a") as all_of_it, \
            Running(TOOL, "record", "-w", name, "-a", "-B", "4", over=False) as small:
        until("it says so", lambda: "recording" in small.said())
        os.kill(small.pid, signal.SIGSTOP)
        talk(over=True)
        talk(over=True)
        os.kill(small.pid, signal.SIGCONT)
        told = end(small)
        end(all_of_it)
    dropped = len(messages(f"{where}/all.pcapng")) - len(messages(name))
    true("there were drops", dropped > 0, told)
    true("the recorder tells", f" {dropped} messages were not recorded" in told, told)
    said = tool("record", "-r", name)
    true("the file tells", f" {dropped} messages were not recorded" in said.err, said.err)


def clock_is_set(where: str) -> None:
    """Messages are recorded and tied as before when the time of day is set back or forth."""
    for seconds in (-3600, 3600):
        name = f"{where}/{seconds}.pcapng"
        with trunks(False), recording("-w", name) as recorder:
            time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)
            try:
                talk(over=True)
                until("all messages", lambda name=name: len(of_connection(recorded_so_far(name))) == BOTH)
                end(recorder)
            finally:
                time.clock_settime(time.CLOCK_REALTIME, time.time() - seconds)
        same("operations", {one["operation"] for one in messages(name) if "operation" in one},
             {"connect", "accept", "establish", "disconnect"})


def lost_notifications_are_made_up_for(where: str) -> None:
    """A recorder that did not run while much happened says so, and knows the ids that it was not told of."""
    name = f"{where}/lost.pcapng"
    with trunks(False), recording("-w", name, "-B", "16384", "-c", "rping") as recorder:
        os.kill(recorder.pid, signal.SIGSTOP)
        with Running("ucmatose", "-b", HERE, "-p", "7199", "-c", "400", "-C", "0", over=True) as crowd:
            until("it listens", lambda: ids("-s", "listen", "-p", str(crowd.pid)))
            run(TOOL, "run", "ucmatose", "-s", HERE, "-p", "7199", "-c", "400", "-C", "0")
        # There is no room for its notifications any more.
        server, client = connection()
        with server, client:
            os.kill(recorder.pid, signal.SIGCONT)
            until("it tells that some were lost", lambda: "some of it was lost" in recorder.said())
            processes = {server.pid, client.pid}
            # It says so before it asks for the ids that there are; these must not be gone by then.
            until("it knows who they are", lambda: {one["pid"] for one in recorded_so_far(name)} == processes)
        until("all is over", lambda: not ids())
        said = end(recorder)
    true("messages of others are counted", "messages were left out that are tied to no id" in said, said)
    ends = [one for one in messages(name) if one["message"] in ("DREQ", "DREP")]
    same("messages of the end", sorted(one["message"] for one in ends), ["DREP", "DREP", "DREQ", "DREQ"])
    same("their processes", {one["pid"] for one in ends}, processes)


def unit_may_keep(where: str) -> None:
    """The unit of systemd gives its command the capabilities that it needs."""
    unit = (ROOT / "scripts/packaging/examples/rdma-cm-alt-record.service").read_text()
    command = re.search(r"^ExecStart=rdma-cm-alt (.*)$", unit, re.M)[1].replace("${MESSAGES}", "1000").split()
    rights = re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.M)[1].lower().replace("cap_", "+").split()
    only = ",".join(["-all", *rights])
    with trunks(False), Running("setpriv", "--no-new-privs", f"--bounding-set={only}", f"--inh-caps={only}", TOOL, *command,
                                over=False) as keeper:
        until("it says so", lambda: "recording" in keeper.said())
        talk(over=True)
        until("the last message", lambda: len(of_connection(messages_so_far(where))) == BOTH)
        os.kill(keeper.pid, signal.SIGTERM)
        keeper.wait()
        same("its status", keeper.status, 0)
    same("files afterwards", kept_files(), [])


def wrong_options(where: str) -> None:
    """They are refused, and nothing is written."""
    for args in (("--keep", "0"), ("--keep", "100001"), ("--keep", "x"), ("--keep", "5", "-w", f"{where}/file"),
                 ("--keep", "5", "-n", "1"), ("--keep", "5", "--text"), ("-B", "0"), ("-B", "1048577"),
                 ("-r", "/dev/null", "--keep", "5"), ("-r", "/dev/null", "-B", "5")):
        tool("record", *args, status=USAGE)
    same("files", kept_files(), [])
    said = tool("record", "--keep", "5", uid=NOBODY, status=ERROR).err
    true("what is missing", "CAP_NET_ADMIN" in said, said)
    same("files", kept_files(), [])
    true("no file was written", not os.listdir(where))


def failures_point_to_packets(where: str) -> None:
    """A failure that is no message points to the last one of its connection, if there is one."""
    name = f"{where}/blunders.pcapng"
    with trunks(False), Running(TOOL, "-j", "monitor", "-f", "-w", name, over=False) as monitor:
        until("it says so", lambda: "recording" in monitor.said())
        run(TOOL, "run", str(ROOT / "build/tests/release/tool/blunder"), HERE)
        said = end(monitor)
    found = {one["number"]: one for one in messages(name)}
    told = {}
    for one in (json.loads(line) for line in said.splitlines() if line.startswith("{")):
        packet = one.get("packet") or one.get("after_packet")
        same("one of both", "packet" in one and "after_packet" in one, False)
        told[one.get("operation") or one["event"]] = (packet and found[packet]["message"], "packet" in one)
    same("messages", {what: told[what] for what in ("connect", "REJECTED", "UNREACHABLE")},
         {"connect": (None, False), "REJECTED": ("REJ", True), "UNREACHABLE": ("SIDR_REP", True)})
    true("a late accept", told["accept"][0] in ("REJ", "REQ") and not told["accept"][1], str(told))


TESTS = (last_messages_are_kept, failure_is_explained, keeper_is_killed, module_is_unloaded, monitor_tells_packets,
         monitor_says_packets, drops_are_counted, clock_is_set, lost_notifications_are_made_up_for, unit_may_keep,
         wrong_options, failures_point_to_packets)
