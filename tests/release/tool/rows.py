# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The output of show, stats and monitor, for root and for other users."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import members as members_of_json
import metrics
from host import (ERROR, HERE, HOLD, NOBODY, ROOT, TOOL, Running, Skip, Unexpected, connection, failures, has_listener, ids,
                  monitor, namespace, refused, run, same, shell, tool, true, until)
from transport import loaded, trunks

MANY = 3000
FAIL = str(ROOT / "build/tests/release/tool/fail")


def healthy() -> None:
    """Both ends of a connection over ib_cm."""
    with trunks(False):
        server, client = connection()
    with server, client:
        mine = ids("-p", str(client.pid))
        same("ids of the client", len(mine), 1)
        one = mine[0]
        same("its state", (one["state"], one["ps"], one["qp_type"]), ("connected", "tcp", "rc"))
        same("its peer", one["peer"], f"{HERE}:7174")
        same("what it is made over", (one["transport"], one["no_trunk"]), ("ib_cm", "off"))
        same("the GID of its peer", one["peer_gid"], f"::ffff:{HERE}")
        true("its device", one["device"].startswith("rxe") and one["port"] == 1, str(one))
        true("its QP", one["qpn"] > 1, str(one))
        same("its owner", (one["uid"], one["pid"], one["program"]), (0, client.pid, "rping"))
        peer = [other for other in ids("-p", str(server.pid)) if other.get("peer") == one["local"]]
        same("the other end", [other["state"] for other in peer], ["connected"])
        same("listeners", [other["local"] for other in tool("-j", "show", "listeners").json],
             [f"{HERE}:7174"])
        table = tool("show", "-p", str(client.pid)).out.splitlines()
        same("rows of the table", len(table), 2)
        true("the table has the peer", one["peer"] in table[1], table[1])
        same("nobody's", tool("-j", "show", "-c", "nobody").json, [])
        same("other devices'", tool("-j", "show", "-d", "rxe1").json, [])
        same("its port", len(ids("-d", "rxe0/1", "-p", str(client.pid))), 1)
        same("its address as IPv6", len(ids("-a", "[::ffff:{}]:{}".format(*one["local"].split(":")))), 2)
        same("by address", len(ids("-a", one["local"])), 2)
        queues = tool("-j", "show", "queues", "-p", str(client.pid)).json
        same("its queue", [queue["queue"] for queue in queues], [one["queue"]])
        same("ids of the queue", queues[0]["ids"], 1)
    until("they have gone", lambda: not ids())


def events_wait() -> None:
    """A queue that is not read has pending events; a queue that was read for a while has a ring."""
    with Running("ucmatose", "-b", HERE, "-c", "10") as server:
        until("it listens", lambda: ids("-s", "listen"))
        os.kill(server.pid, signal.SIGSTOP)
        with Running("ucmatose", "-s", HERE, "-c", "10") as client:
            until("ten requests wait", lambda: [
                queue for queue in tool("-j", "show", "queues", "-p", str(server.pid)).json
                if queue["waiting"] == 10])
            queues = tool("-j", "show", "queues", "-p", str(client.pid)).json
            true("the client's ring", [queue["ring"] > 1 for queue in queues] == [True], str(queues))
        os.kill(server.pid, signal.SIGCONT)


def members() -> None:
    """A membership in a multicast group."""
    with Running("mckey", "-m", "239.1.2.3", "-b", "10.9.0.2") as member:
        seen = until("it has joined", lambda: tool("-j", "show", "members").json)
        same("memberships", len(seen), 1)
        same("its group", (seen[0]["peer"], seen[0]["pid"]), ("239.1.2.3:0", member.pid))
        true("its id", seen[0]["id"] in [one["handle"] for one in ids()], str(seen))


def has_trunk(seconds: float) -> bool:
    """Whether there is a trunk before so many seconds are over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if any("trunk" in peer for peer in tool("-j", "show", "peers").json):
            return True
        time.sleep(0.1)
    return False


def peers() -> None:
    """A host that connects to itself tells itself, and hears it; nobody else may see that."""
    # A module that was just loaded knows no peers, so it tells the first ones at once.
    shell("rig_unload && rig_load")
    true("off by default", not loaded())
    with trunks(True):
        # A connection opens a trunk if the last one was less than ten seconds ago: not the first one, and not on a busy machine.
        true("a trunk is shown", any(opens_trunk(tries) for tries in range(6)))
    true("another user", "not permitted" in tool("show", "peers", uid=NOBODY, status=ERROR).err, "")


def opens_trunk(tries: int) -> bool:
    """A connection, and what is seen if it opens a trunk."""
    server, client = connection()
    with server, client:
        if not tries or not has_trunk(4):
            return False
        seen = [peer for peer in tool("-j", "show", "peers", "-d", "rxe0").json if "protocol" in peer]
        true("it is known", any(peer["gid"] == peer["peer_gid"] and peer["hellos"] for peer in seen), str(seen))
        same("what it speaks", {(peer["protocol"], peer["common"]) for peer in seen}, {(2, 2)})
        same("of another device", tool("-j", "show", "peers", "-d", "rxe1").json, [])
        made = {one["transport"] for one in ids("-s", "connected")}
        true("what connections are made over", made <= {"ib_cm", "trunk"} and "ib_cm" in made, str(made))
        said = tool("-j", "explain", HERE, status=None).json
        same("peers of the address", {peer["peer_gid"] for peer in said["peers"]}, {f"::ffff:{HERE}"})
        true("their text", f" -> ::ffff:{HERE}: " in tool("explain", HERE, status=None).out)
        same("another user sees no peers", "peers" in tool("-j", "explain", HERE, status=None, uid=NOBODY).json, False)
        with trunks(False):
            why_not(client.pid)
        return True


def why_not(pid: int) -> None:
    """explain says that trunks are off by now."""
    mine = ids("-p", str(pid))[0]
    same("the connection that has opened it", mine["no_trunk"], "none")
    said = tool("-j", "explain", mine["name"], status=None).json["ids"][0]
    true("an id", said["why_no_trunk"].startswith("trunks are off: "), str(said))
    true("its text", re.search(r"^  transport +ib_cm\n  no trunk +trunks are off: ", tool("explain", mine["name"], status=None).out,
                               re.M))


def stats() -> None:
    """Counters grow with the operations, and all formats show the same values."""
    def port(name: str) -> dict:
        return next(entry for entry in tool("-j", "stats").json if entry.get("device") == name)

    before = port("rxe0")
    with trunks(False):
        server, client = connection()
        with server, client:
            pass
        refused()
    after = until("the disconnects are counted", lambda: (
        port("rxe0") if port("rxe0")["counters"]["dreq"] > before["counters"]["dreq"] else None))
    grown = {name: after["counters"][name] - before["counters"][name] for name in after["counters"]}
    same("connects, replies, rejects", (grown["connect"], grown["rep"], grown["rej"]), (2, 1, 1))
    same("nothing of trunks, which are off", [count for name, count in grown.items() if name.startswith(("trunk-", "hello-"))],
         [0] * 10)
    took = sum(after["microseconds"]["connect"]["buckets"])
    same("connects that were answered", took - sum(before["microseconds"]["connect"]["buckets"]), 1)
    for step in ("address", "route", "accept"):
        both = [sum(port["microseconds"][step]["buckets"]) for port in (before, after)]
        true(f"{step}: it was measured", both[1] > both[0], str(both))
    text = tool("stats").out
    true("the text has them", re.search(rf"^ +rej +{after['counters']['rej']}$", text, re.M), text)
    true("a name without counts is left out", "ready-to-use" not in text, text)
    prometheus(after)


def prometheus(port: dict) -> None:
    """The text format, as a client of Prometheus reads it."""
    from prometheus_client.parser import text_string_to_metric_families  # pylint: disable=import-outside-toplevel

    text = tool("stats", "--prometheus").out
    families = {family.name: family for family in text_string_to_metric_families(text)}
    same("families", sorted(families), ["rdma_cm_alt_step_seconds", "rdma_cm_alt_steps"])
    counts = {sample.labels["step"]: sample.value for sample in families["rdma_cm_alt_steps"].samples
              if sample.labels["device"] == "rxe0"}
    same("rejects", counts["rej"], port["counters"]["rej"])
    same("counters that tests/release/deploy knows", sorted(counts), sorted(metrics.steps()))
    spans = [sample for sample in families["rdma_cm_alt_step_seconds"].samples
             if sample.labels["device"] == "rxe0" and sample.labels["step"] == "connect"]
    buckets = [sample.value for sample in spans if sample.name.endswith("_bucket")]
    same("buckets only grow", buckets, sorted(buckets))
    count = next(sample.value for sample in spans if sample.name.endswith("_count"))
    same("the last bucket has all", buckets[-1], count)
    total = next(sample.value for sample in spans if sample.name.endswith("_sum"))
    same("their sum", round(total * 1e6), port["microseconds"]["connect"]["sum"])
    same("all", count, sum(port["microseconds"]["connect"]["buckets"]))
    same("durations that tests/release/deploy knows",
         list(dict.fromkeys(sample.labels["step"] for sample in families["rdma_cm_alt_step_seconds"].samples)),
         metrics.spans())


def collected(directory: Path, path: str) -> dict[str, str]:
    """The files in a directory with an old file after the cron line of the man page."""
    line = re.search(r"^\* \* \* \* \* root (.*)$", members_of_json.PAGE.read_text(), re.M)[1]
    file = directory / "rdma_cm_alt.prom"
    file.write_text("old")
    run("sh", "-c", line, env={"PATH": path, "F": str(file)})
    return {one.name: one.read_text()[:6] for one in directory.iterdir()}


def textfile() -> None:
    """The cron line leaves a complete file or none, also when the command fails midway."""
    usual = f"{Path(TOOL).parent}:/usr/bin:/bin"
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as failing:
        same("the file", collected(Path(name), usual), {"rdma_cm_alt.prom": "# HELP"})
        half = Path(failing) / "rdma-cm-alt"
        half.write_text("#!/bin/sh\necho '# HELP half'\nexit 3\n")
        half.chmod(0o755)
        same("no file", collected(Path(name), f"{failing}:{usual}"), {})


def monitored() -> None:
    """monitor prints the steps of a connection in order."""
    with monitor("-c", "rping", "--json") as watching:
        server, client = connection()
        with server, client:
            pass
        until("all is over", lambda: not ids())
        until("it tells of the last step", lambda: "\"establish\"" in watching.said())
        said = watching.end()
    stories = [json.loads(line) for line in said.splitlines()]
    members_of_json.note(("monitor",), stories)
    steps = [story.get("event") or story["operation"] for story in stories
             if story.get("peer") == f"{HERE}:7174"]
    wanted = ["ADDR_RESOLVED", "resolve", "ROUTE_RESOLVED", "resolve", "connect", "CONNECT_RESPONSE", "establish"]
    same("the client's steps", steps[:len(wanted)], wanted)
    true("times", all(one["time"] <= two["time"] for one, two in zip(stories, stories[1:])), said)


def with_packets() -> None:
    """With -w, monitor has the numbers of packets in the file that it writes."""
    if not Path("/sys/kernel/btf/vmlinux").exists():
        members_of_json.BY_CHANCE["monitor"] = {"packet", "after_packet"}
        raise Skip("this kernel has no BTF, which recording needs")
    with tempfile.TemporaryDirectory() as where, trunks(False), \
            Running(TOOL, "monitor", "-f", "-w", f"{where}/file.pcapng", "--json", over=False) as watching:
        until("it records", lambda: "recording" in watching.said())
        run(TOOL, "run", str(ROOT / "build/tests/release/tool/blunder"), HERE)
        until("it tells of the last step", lambda: "UNREACHABLE" in watching.said())
        said = watching.end()
    failed = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    members_of_json.note(("monitor",), failed)
    same("a packet each", [key for one in failed for key in ("packet", "after_packet") if key in one and one[key] < 1], [])
    same("both kinds", {key for one in failed for key in one if "packet" in key}, {"packet", "after_packet"})


def joining() -> None:
    """monitor prints the result of a join with the group."""
    with monitor("-c", "mckey", "--json") as watching:
        with Running("mckey", "-m", "239.1.2.3", "-b", "10.9.0.2") as member:
            until("it tells of the group", lambda: "MULTICAST_JOIN" in watching.said())
            said = watching.end()
    stories = [json.loads(line) for line in said.splitlines()]
    members_of_json.note(("monitor",), stories)
    told = [(story["peer"], story["status"], story["pid"]) for story in stories
            if story.get("event") == "MULTICAST_JOIN"]
    same("what was told", told, [("239.1.2.3:0", 0, member.pid)])


def only_failures() -> None:
    """The status of a user event has no defined meaning, so the event is not a failure."""
    with monitor() as everything, monitor("-f") as failing:
        same("its end", run(TOOL, "run", HOLD, "user", HERE).status, 0)
        refused()
        until("it is told", lambda: "REJECTED" in failing.said() and "REJECTED" in everything.said())
        lines = [line for line in everything.end().splitlines() if " USER" in line]
        same("its own event", [line.split(" USER")[1] for line in lines], [": status 3", f": status {-errno.EINVAL}"])
        said = failing.end().splitlines()
    same("failures", [("REJECTED" in line, " hold " in line) for line in said], [(True, False)])


def crowded() -> None:
    """Failures without pause in another network namespace displace none of this one."""
    # They fit the socket's buffer, however late the monitor reads them.
    few = 50
    with namespace("crowd"), monitor("-f", "--json", "-c", "fail") as watching:
        with Running(TOOL, "monitor", "-f", over=False, netns="crowd") as other, \
                Running(FAIL, "0.0.0.0", "100000000", netns="crowd") as flood:
            until("the other one is told", lambda: len(other.said()) > 100000)
            run(TOOL, "run", FAIL, HERE, str(few))
            until("all are told", lambda: watching.said().count("\n") >= few)
            same("the flood goes on", flood.status, None)
        said = watching.end()
    stories = [json.loads(line) for line in said.splitlines()]
    same("what was told", [(story["operation"], story["status"]) for story in stories],
         [("resolve", -errno.EADDRINUSE)] * few)


def cannot_write() -> None:
    """monitor ends when its output cannot be written."""
    reader, writer = os.pipe()
    os.close(reader)
    for where in ("/dev/full", writer):
        # SIGPIPE is ignored, as by this interpreter.
        with open(where, "wb") as file, subprocess.Popen(
                [TOOL, "monitor"], stdout=file, stderr=subprocess.PIPE, restore_signals=False, text=True) as watching:
            try:
                until("it listens", lambda pid=watching.pid: has_listener(pid))
                run(TOOL, "run", HOLD, "bind", HERE)
                until(f"{where}: it ends", lambda one=watching: one.poll() is not None)
                same(f"{where}: its status", watching.returncode, ERROR)
                said = watching.stderr.read()
                true(f"{where}: why", "cannot be written" in said, said)
            finally:
                watching.kill()


def churn() -> None:
    """A dump during changes has no id twice, and every id that exists throughout."""
    with Running(HOLD, str(MANY)) as holder:
        until("they are there", lambda: len(ids("-p", str(holder.pid))) == MANY)
        server, client = connection()
        with server, client:
            for _round in range(5):
                with Running("ucmatose", "-s", HERE, "-p", "9998", "-c", "50"):
                    seen = [one["name"] for one in ids("-p", str(holder.pid))]
                    same("none twice", len(set(seen)), len(seen))
                    same("all of them", len(seen), MANY)


def others() -> None:
    """An unprivileged user sees only his own objects and failures."""
    server, client = connection()
    refused()
    with server, client:
        same("ids of root", ids(uid=NOBODY), [])
        same("queues of root", tool("-j", "show", "queues", uid=NOBODY).json, [])
        # Earlier tests may have left failures of nobody.
        same("failures of root", {story["uid"] for story in failures(uid=NOBODY)} - {NOBODY}, set())
        own = Running("rping", "-c", "-a", HERE, "-C", "100000000", uid=NOBODY)
        with own:
            seen = until("his own id", lambda: ids(uid=NOBODY))
            same("his own", [one["pid"] for one in seen], [own.pid])
            true("root sees it, too", own.pid in [one["pid"] for one in ids()])
        tool("run", "rping", "-c", "-a", HERE, "-p", "9999", "-C", "1", uid=NOBODY, status=None)
        same("his own failures", {story["uid"] for story in failures(uid=NOBODY)}, {NOBODY})
        said = tool("monitor", uid=NOBODY, status=ERROR).err
        true("monitor says why not", "CAP_NET_ADMIN" in said, said)
        # Root of a new user namespace has no privileges in this network namespace.
        inside = command_inside("show", "--json")
        same("root of a namespace", json.loads(inside), [])
        true("counts are for all", tool("stats", uid=NOBODY).out.startswith("no port"))


def command_inside(*args: str) -> str:
    """rdma-cm-alt as root of a new user namespace, made by nobody."""
    said = run("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--",
               "unshare", "-Ur", TOOL, *args)
    if said.status:
        raise Unexpected(f"unshare: {said.text}")
    return said.out


def namespaces() -> None:
    """Objects and failures are visible in their own network namespace only."""
    with namespace("beside"):
        server, client = connection()
        with server, client:
            same("ids", ids(netns="beside"), [])
            same("queues", tool("-j", "show", "queues", netns="beside").json, [])
        refused()
        same("failures", failures(netns="beside"), [])
        before = failures()
        tool("run", "ucmatose", "-s", HERE, netns="beside", status=None)
        same("failures here", failures(), before)
        same("failures there", {story["program"] for story in failures(netns="beside")}, {"ucmatose"})


TESTS = (
    ("both ends of a connection", healthy, True),
    ("events that wait in a queue", events_wait, False),
    ("a membership", members, True),
    ("peers", peers, False),
    ("counters and histograms, also for Prometheus", stats, True),
    ("a file for Prometheus", textfile, False),
    ("what happens, while it happens", monitored, True),
    ("what happens, with the numbers of packets", with_packets, False),
    ("what becomes of a membership", joining, True),
    ("what is a failure", only_failures, True),
    ("what happens beside a flood in another namespace", crowded, False),
    ("what happens cannot be written", cannot_write, False),
    ("a list of ids that come and go", churn, False),
    ("others see nothing", others, True),
    ("network namespaces", namespaces, True),
)
