# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What each command of rdma-cm-alt tells, and to whom."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess

from host import (BAD, ELSEWHERE, ERROR, HERE, MODULE, NOBODY, NODE, OK, ROOT, SILENT, TOOL, USAGE, Running, Skip,
                  Unexpected, connection, failures, has_listener, ids, refused, run, same, tool, true, until)

# As many as the kernel keeps of a namespace.
KEPT = 256
MANY = 3000


def healthy() -> None:
    """Both ends of a connection."""
    server, client = connection()
    with server, client:
        mine = ids("-p", str(client.pid))
        same("ids of the client", len(mine), 1)
        one = mine[0]
        same("its state", (one["state"], one["ps"], one["qp_type"]), ("connected", "tcp", "rc"))
        same("its peer", one["peer"], f"{HERE}:7174")
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
        same("other devices'", tool("-j", "show", "-d", "nothing").json, [])
        same("by address", len(ids("-a", one["local"])), 2)
        queues = tool("-j", "show", "queues", "-p", str(client.pid)).json
        same("its queue", [queue["queue"] for queue in queues], [one["queue"]])
        same("ids of the queue", queues[0]["ids"], 1)
    until("they have gone", lambda: not ids())


def events_wait() -> None:
    """A queue whose program does not read it."""
    with Running("ucmatose", "-b", HERE) as server:
        until("it listens", lambda: ids("-s", "listen"))
        os.kill(server.pid, signal.SIGSTOP)
        with Running("ucmatose", "-s", HERE, "-c", "3"):
            until("three requests wait", lambda: [
                queue for queue in tool("-j", "show", "queues", "-p", str(server.pid)).json
                if queue["waiting"] == 3])
        os.kill(server.pid, signal.SIGCONT)


def members() -> None:
    """A membership in a multicast group."""
    with Running("mckey", "-m", "239.1.2.3", "-b", "10.9.0.2") as member:
        seen = until("it has joined", lambda: tool("-j", "show", "members").json)
        same("memberships", len(seen), 1)
        same("its group", (seen[0]["peer"], seen[0]["pid"]), ("239.1.2.3:0", member.pid))
        true("its id", seen[0]["id"] in [one["handle"] for one in ids()], str(seen))


def stats() -> None:
    """Counters that go up by what happens, and two formats that say the same."""
    def port(name: str) -> dict:
        return next(entry for entry in tool("-j", "stats").json if entry.get("device") == name)

    before = port("rxe0")
    server, client = connection()
    with server, client:
        pass
    refused()
    after = until("the disconnects are counted", lambda: (
        port("rxe0") if port("rxe0")["counters"]["dreq"] > before["counters"]["dreq"] else None))
    grown = {name: after["counters"][name] - before["counters"][name] for name in after["counters"]}
    same("connects, replies, rejects", (grown["connect"], grown["rep"], grown["rej"]), (2, 1, 1))
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
    spans = [sample for sample in families["rdma_cm_alt_step_seconds"].samples
             if sample.labels["device"] == "rxe0" and sample.labels["step"] == "connect"]
    buckets = [sample.value for sample in spans if sample.name.endswith("_bucket")]
    same("buckets only grow", buckets, sorted(buckets))
    count = next(sample.value for sample in spans if sample.name.endswith("_count"))
    same("the last bucket has all", buckets[-1], count)
    same("all", count, sum(port["microseconds"]["connect"]["buckets"]))


def monitor() -> None:
    """The steps of a connection, in their order."""
    with Running(TOOL, "monitor", "-c", "rping", "--json", over=False) as watching:
        until("it listens", lambda: has_listener(watching.pid))
        server, client = connection()
        with server, client:
            pass
        until("all is over", lambda: not ids())
        until("it tells of the last step", lambda: "\"establish\"" in watching.said())
        said = watching.end()
    stories = [json.loads(line) for line in said.splitlines()]
    steps = [story.get("event") or story["operation"] for story in stories
             if story.get("peer") == f"{HERE}:7174"]
    wanted = ["ADDR_RESOLVED", "resolve", "ROUTE_RESOLVED", "resolve", "connect", "CONNECT_RESPONSE", "establish"]
    same("the client's steps", steps[:len(wanted)], wanted)
    true("times", all(one["time"] <= two["time"] for one, two in zip(stories, stories[1:])), said)


def explained() -> None:
    """Each failure has a step, a meaning and something to try."""
    refused()
    tool("run", "ucmatose", "-s", SILENT, status=None)
    tool("run", "ucmatose", "-s", ELSEWHERE, status=None)
    wanted = {
        f"{HERE}:9999": ("connecting", "nobody listens there", "start the server"),
        SILENT: ("resolving the address", "nobody says whose link address", f"ping {SILENT}"),
        ELSEWHERE: ("resolving the address", "no route", f"ip route get {ELSEWHERE}"),
    }
    for address, (step, what, remedy) in wanted.items():
        said = tool("-j", "explain", address, status=BAD).json
        same(f"{address}: step", said["step"], step)
        true(f"{address}: what", what in said["what"], said["what"])
        true(f"{address}: what to try", any(remedy in line for line in said["try"]), str(said["try"]))
        same(f"{address}: program", said["failures"][-1]["program"][:5], "rping" if ":" in address else "ucmat")
    neighbour = tool("-j", "explain", SILENT, status=BAD).json["path"]["neighbour"]
    true("the neighbour", neighbour in ("failed", "incomplete"), neighbour)
    name = failures()[-1]["name"]
    same("by id", {story["name"] for story in failures(name)}, {name})
    said = tool("explain", "10.9.0.77", status=OK).out
    true("nothing failed", "Nothing failed" in said and "rxe0" in said, said)


def logged() -> None:
    """The kernel's log has failures if that is wanted."""
    control = "/sys/kernel/debug/dynamic_debug/control"
    if not os.path.exists(control):
        raise Skip("this kernel has no dynamic debug")

    def log() -> list[str]:
        return [line for line in run("dmesg").out.splitlines() if "rdma_cm_alt: " in line]

    before = len(log())
    refused()
    same("lines of the log, unless it is wanted", len(log()), before)
    with open(control, "w", encoding="ascii") as file:
        file.write("module rdma_cm_alt +p")
    try:
        refused()
        run(TOOL, "run", "rping", "-c", "-a", ELSEWHERE, "-C", "1")
    finally:
        with open(control, "w", encoding="ascii") as file:
            file.write("module rdma_cm_alt -p")
    lines = "\n".join(log()[before:])
    true("who was rejected, where, and why", re.search(
        rf"rxe\d+/1: 10\.\S+:\d+ to {re.escape(HERE)}:9999: rejected: invalid service ID \(8\); "
        r"rping\[\d+\]", lines), lines)
    # Kernels without CONFIG_SYMBOLIC_ERRNAME, as that of the debug guest, write the number.
    true("who was not found", re.search(
        rf"to {re.escape(ELSEWHERE)}:\d+: \S.*: -(?:ENETUNREACH|101); rping\[\d+\]", lines), lines)


def bounded() -> None:
    """A namespace keeps so many failures, the last ones."""
    first = failures()[-1]["serial"] if failures() else 0
    tool("run", str(ROOT / "build/tests/tool/fail"), HERE, str(KEPT + 44))
    kept = [story["serial"] for story in failures()]
    same("how many are kept", len(kept), KEPT)
    same("which", kept, list(range(first + 45, first + 45 + KEPT)))


def churn() -> None:
    """A list of ids that come and go has none twice, and all that stay."""
    with Running(str(ROOT / "build/tests/tool/hold"), str(MANY)) as holder:
        until("they are there", lambda: len(ids("-p", str(holder.pid))) == MANY)
        server, client = connection()
        with server, client:
            for _round in range(5):
                with Running("ucmatose", "-s", HERE, "-p", "9998", "-c", "50"):
                    seen = [one["name"] for one in ids("-p", str(holder.pid))]
                    same("none twice", len(set(seen)), len(seen))
                    same("all of them", len(seen), MANY)


def others() -> None:
    """Who has no privilege sees his own, and no more."""
    server, client = connection()
    refused()
    with server, client:
        same("ids of root", ids(uid=NOBODY), [])
        same("queues of root", tool("-j", "show", "queues", uid=NOBODY).json, [])
        same("failures of root", failures(uid=NOBODY), [])
        own = Running("rping", "-c", "-a", HERE, "-C", "100000000", uid=NOBODY)
        with own:
            seen = until("his own id", lambda: ids(uid=NOBODY))
            same("his own", [one["pid"] for one in seen], [own.pid])
            true("root sees it, too", own.pid in [one["pid"] for one in ids()])
        tool("run", "rping", "-c", "-a", HERE, "-p", "9999", "-C", "1", uid=NOBODY, status=None)
        same("his own failures", {story["uid"] for story in failures(uid=NOBODY)}, {NOBODY})
        said = tool("monitor", uid=NOBODY, status=ERROR).err
        true("monitor says why not", "CAP_NET_ADMIN" in said, said)
        # Root of a user namespace of his own has no rights in this network namespace.
        inside = command_inside("show", "--json")
        same("root of a namespace", inside.strip(), "[\n]")
        true("counts are for all", tool("stats", uid=NOBODY).out.startswith("no port"))


def command_inside(*args: str) -> str:
    """rdma-cm-alt as root of a new user namespace, made by nobody."""
    said = run("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--",
               "unshare", "-Ur", TOOL, *args)
    if said.status:
        raise Unexpected(f"unshare: {said.text}")
    return said.out


def namespaces() -> None:
    """What happens in one network namespace is not seen in another."""
    subprocess.run(["ip", "netns", "add", "beside"], check=True)
    try:
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
    finally:
        subprocess.run(["ip", "netns", "del", "beside"], check=True)


def checked() -> None:
    """A host that is ready; then what can be wrong, each with its remedy."""
    def failing(*args: str, status: int = BAD, **how) -> dict[str, str]:
        results = tool("-j", "check", *args, status=status, **how).json
        return {result["check"]: result["remedy"] for result in results if not result["pass"]}

    same("ready", failing("10.9.0.2", status=OK), {})
    same("no route", list(failing(ELSEWHERE)), ["route"])
    tool("run", "ucmatose", "-s", SILENT, status=None)
    same("a peer that is silent", list(failing(SILENT)), ["neighbour"])
    same("no device that way", list(failing("127.0.0.1")), ["way"])
    mode = NODE.stat().st_mode & 0o777
    NODE.chmod(0o600)
    try:
        wrong = failing(uid=NOBODY)
        true("the node", "udev rule" in wrong["node"], str(wrong))
    finally:
        NODE.chmod(mode)
    subprocess.run(["ip", "link", "set", "d0", "down"], check=True)
    try:
        true("a port that is down", "interface up" in failing()["device"])
    finally:
        subprocess.run(["ip", "link", "set", "d0", "up"], check=True)
        subprocess.run(["ip", "addr", "replace", "fd00:9::1/64", "dev", "d0", "nodad"], check=True)
        subprocess.run(["ip", "addr", "replace", "fd00:9::2/64", "dev", "d0", "nodad"], check=True)
    wrong = failing(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 20, 1 << 20)),
                    uid=NOBODY)
    true("little memory may be registered", "ulimit -l" in wrong["memlock"], str(wrong))


def runs() -> None:
    """`run` gives a program the library, and its exit status back."""
    same("its status", tool("run", "sh", "-c", "exit 42", status=None).status, 42)
    said = tool("run", "sh", "-c", "echo $LD_LIBRARY_PATH").out.strip()
    same("the library's place", said.split(":")[0], "/usr/local/lib/rdma_cm_alt")
    same("no program", tool("run", "/nothing/there", status=None).status, 127)
    same("no right to run it", tool("run", "/etc/passwd", status=None).status, 126)
    said = tool("run", "-l", "/nothing", "true", status=ERROR).err
    true("no library", "/nothing/librdmacm.so.1" in said, said)
    said = tool("run", "-d", "ucmatose", "-s", ELSEWHERE, status=None).text
    true("the library's story", "rdma_cm_alt: " in said, said)
    said = tool("run", "su", uid=NOBODY, status=ERROR).err
    true("set-user-ID", "set-user-ID" in said, said)


def bench() -> None:
    """Both stacks, and a ratio."""
    rows = {row["step"]: row for row in tool("-j", "bench", "-n", "20", "-r", "1").json}
    same("steps", sorted(rows), ["address", "all", "connect", "disconnect", "route"])
    for row in rows.values():
        true("times", row["ours"] > 0 and row["stock"] > 0, str(row))
        true("ratio", abs(row["speed"] - row["stock"] / row["ours"]) < 0.01, str(row))
    said = tool("bench", "-n", "5", "-r", "1", "10.9.0.2").out
    true("a table", said.count("us") >= 10 and "x" in said, said)
    said = tool("bench", "-n", "5", "-r", "1", SILENT, status=ERROR).err
    true("an address of nobody", "did not connect" in said, said)


def usage() -> None:
    """A wrong command line says what is wrong with it, and nothing else happens."""
    wrong = {
        ("nonsense",): "there is no command nonsense",
        ("show", "everything"): "not everything",
        ("show", "-p", "x"): "x is no process ID",
        ("explain", "10.9.0.1:0"): "0 is no port",
        ("explain", "no such host"): "is no address",
        ("explain", "a", "b"): "is no address",
        ("explain", "-n", "-1", HERE): "-1 is no number",
        ("stats", "x"): "no arguments",
        ("monitor", "x"): "no arguments",
        ("run",): "which program?",
        ("bench", "-n", "many"): "many is no number",
        ("--color=blue", "show"): "not blue",
        (): "Usage:",
    }
    for args, text in wrong.items():
        said = tool(*args, status=USAGE).err
        true(f"rdma-cm-alt {' '.join(args)}", text in said, said)
    for name in ("show", "stats", "monitor", "explain", "check", "run", "bench"):
        true(f"{name} --help", "Usage: rdma-cm-alt" in tool(name, "--help").out)
    true("--version", re.match(r"rdma-cm-alt \d", tool("--version").out))
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([TOOL, "stats"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    same("a full disk", done.returncode, ERROR)


def completed(*words: str) -> set[str]:
    """What bash offers for the last of the words."""
    script = f"""
. {ROOT}/userspace/tool/rdma-cm-alt.bash
COMP_WORDS=(rdma-cm-alt "$@") COMP_CWORD=$#
_rdma_cm_alt rdma-cm-alt "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    said = run("bash", "-c", script, "bash", *words, env={"PATH": "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"})
    same("completion says nothing besides", said.err, "")
    return set(said.out.split())


def completion() -> None:
    """bash offers all commands, all options, and the ids that there are."""
    commands = re.findall(r"^  (\w+) {2,}\w", tool("--help").out.split("Commands", 1)[1], re.M)
    same("commands", len(commands), 7)
    true("all of them", set(commands) <= completed(""), str(completed("")))
    for name in commands:
        known = set(re.findall(r"(--[a-z]+)", tool(name, "--help").out)) - {"--version"}
        same(f"options of {name}", completed(name, "--") - {"--version"}, known)
    same("what to show", completed("show", "l"), {"listeners"})
    with Running("rping", "-s", "-a", HERE) as server:
        until("it listens", lambda: ids("-s", "listen"))
        same("processes", completed("show", "-p", ""), {str(server.pid)})
        same("states", completed("--json", "show", "--state", "l"), {"listen"})
        same("programs", completed("monitor", "-c", ""), {"rping"})
        same("ids", completed("explain", ids()[0]["name"]), {ids()[0]["name"]})


def colours() -> None:
    """Only on terminals, or when it is asked for."""
    refused()
    true("none in a pipe", "\033" not in tool("explain", status=BAD).out)
    true("always", "\033" in tool("--color=always", "explain", status=BAD).out)
    on_terminal = run("script", "-qec", f"{TOOL} explain", "/dev/null").out
    true("on a terminal", "\033[31m" in on_terminal, on_terminal)


def no_module() -> None:
    """Without the module each command says so."""
    subprocess.run(["rmmod", "rdma_cm_alt"], check=True)
    try:
        for name in ("show", "stats", "monitor", "explain", "bench"):
            said = tool(name, status=MODULE).err
            true(name, "modprobe rdma_cm_alt" in said, said)
        said = tool("run", "true", status=MODULE).err
        true("run", "modprobe rdma_cm_alt" in said, said)
        results = tool("-j", "check", status=MODULE).json
        same("check", [result["pass"] for result in results if result["check"] == "module"], [False])
    finally:
        subprocess.run(["bash", "-c", ". tests/lib/rig.sh && rig_load"], check=True, cwd=ROOT)


TESTS = (
    ("both ends of a connection", healthy, True),
    ("events that wait in a queue", events_wait, False),
    ("a membership", members, True),
    ("counters and histograms, also for Prometheus", stats, True),
    ("what happens, while it happens", monitor, True),
    ("failures are explained", explained, True),
    ("failures in the kernel's log", logged, True),
    ("the last 256 failures", bounded, True),
    ("a list of ids that come and go", churn, False),
    ("others see nothing", others, True),
    ("network namespaces", namespaces, True),
    ("is this host ready?", checked, False),
    ("programs are run", runs, False),
    ("a quick comparison", bench, False),
    ("wrong command lines", usage, False),
    ("completion", completion, False),
    ("colours", colours, False),
    ("without the module", no_module, True),
)
