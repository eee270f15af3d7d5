# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The commands check, run and bench of rdma-cm-alt, its command line, completion and colours."""

from __future__ import annotations

import os
import re
import resource
import shutil
import stat
import subprocess
import time
from pathlib import Path

from host import (BAD, DROPIN, ELSEWHERE, ERROR, HERE, HOLD, MODULE, NOBODY, NODE, OK, ROOT, SILENT, TOOL, USAGE,
                  Running, ids, monitor, namespace, refused, run, same, shell, tool, true, until)
from members import PAGE

PORTS = Path("/sys/class/infiniband")


def checked() -> None:
    """check passes on a host that is ready, and reports each problem with its remedy."""
    def failing(*args: str, status: int = BAD, **how) -> dict[str, str]:
        results = tool("-j", "check", *args, status=status, **how).json
        return {result["check"]: result["remedy"] for result in results if not result["pass"]}

    same("ready", failing("10.9.0.2", status=OK), {})
    same("no route", list(failing(ELSEWHERE)), ["route"])
    same("a peer that is silent", list(failing(SILENT)), ["neighbour"])
    asked()
    same("no device that way", list(failing("127.0.0.1")), ["way"])
    mode = NODE.stat().st_mode & 0o777
    NODE.chmod(0o600)
    try:
        wrong = failing(uid=NOBODY)
        true("the node", "udev rule" in wrong["node"], str(wrong))
    finally:
        NODE.chmod(mode)
    other_nodes()
    shell("ip link set d0 down")
    try:
        true("a port that is down", "interface up" in failing()["device"])
    finally:
        shell("ip link set d0 up && ip addr replace fd00:9::1/64 dev d0 nodad && ip addr replace fd00:9::2/64 dev d0 nodad")
    memory()


def defaults() -> None:
    """check compares the defaults of a port with stock's, whose directory in configfs may be gone; its remedy is right."""
    device = next(name for name in sorted(os.listdir(PORTS)) if (PORTS / name / "rdma_cm_alt/1").exists())
    own, stock = PORTS / device / "rdma_cm_alt/1", Path("/sys/kernel/config/rdma_cm") / device

    def row(**how) -> dict[str, str]:
        rows = [row for row in tool("-j", "check", **how).json if row["check"] == "defaults"]
        return next((row for row in rows if row["text"].startswith(f"{device}/1:")), {})

    true("alike", "remedy" not in row() and "as with rdma_cm" in row()["text"], str(row()))
    stock.mkdir()
    try:
        (stock / "ports/1/default_roce_tos").write_text("106")
        true("a directory that programs see", "containers" in row()["text"], str(row()))
        stock.rmdir()
        true("without the directory", "106, which no program sees" in row()["text"], str(row()))
        true("it is gone again", not stock.exists())
        same("not for users", row(uid=NOBODY), {})
        shell(row()["remedy"])
        same("after the remedy", (own / "default_roce_tos").read_text(), "106\n")
        true("alike again", "remedy" not in row(), str(row()))
    finally:
        stock.exists() or stock.mkdir()
        (stock / "ports/1/default_roce_tos").write_text("0")
        stock.rmdir()
        (own / "default_roce_tos").write_text("0")


def limited(size: int, *args: str, **how):
    """The tool with this limit of locked memory."""
    return tool(*args, uid=NOBODY, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (size, size)), **how)


def memory() -> None:
    """The limit of locked memory suffices for a connection or not; a small limit is noted."""
    page = resource.getpagesize()
    for size, status, word in ((7 * page, BAD, "FAIL"), (8 * page, OK, "note"), (8 << 20, OK, "note"),
                               ((64 << 20) - 1, OK, "note"), (64 << 20, OK, "pass")):
        said = limited(size, "check", status=status).out
        true(f"{size} bytes", re.search(rf"^{word} +memlock +{size >> 10} KiB", said, re.M), said)
        same(f"{size} bytes: advice", "ulimit -l" in said, word != "pass")
        result = next(row for row in limited(size, "-j", "check", status=status).json if row["check"] == "memlock")
        same(f"{size} bytes: JSON", (result["pass"], "remedy" in result), (word != "FAIL", word != "pass"))


def other_nodes() -> None:
    """check tries the same device nodes as the library, in the same order."""
    def node(status: int = OK, **how) -> str:
        return next(row["text"] for row in tool("-j", "check", status=status, **how).json if row["check"] == "node")

    number, second, away = NODE.stat().st_rdev, Path("/dev/infiniband") / NODE.name, NODE.with_name("away")
    own = {**os.environ, "RDMA_CM_ALT_DEVICE": str(away)}
    true("the first one", node().startswith(f"{NODE} answers"), node())
    true("one that is not there", node(BAD, env=own).startswith(f"RDMA_CM_ALT_DEVICE={away}: No such"), node(BAD, env=own))
    there = second.exists()
    NODE.rename(away)
    try:
        true("one of his own", node(env=own).startswith(f"{away} answers"), node(env=own))
        if not there:
            same("neither", node(BAD), f"neither {NODE} nor {second} is there")
            os.mknod(second, 0o600 | stat.S_IFCHR, number)
        true("the second one", node().startswith(f"{second} answers"), node())
        same("a connection over it", tool("run", "ucmatose", "-s", ELSEWHERE, status=None).text.count("Unable to open"), 0)
        second.chmod(0o600)
        true("it is not for him", node(BAD, uid=NOBODY).startswith(f"{second} (mode 600"), node(BAD, uid=NOBODY))
    finally:
        away.rename(NODE)
        if not there:
            second.unlink(missing_ok=True)


def asked() -> None:
    """check resolves the neighbour again, whatever its state is."""
    def state() -> str:
        results = {result["check"]: result for result in tool("-j", "check", "10.6.0.2", status=BAD).json}
        same("all but the device", [name for name, result in results.items() if not result["pass"]], ["way"])
        return results["neighbour"]["text"]

    with namespace("peer"):
        shell("ip link add p0 type veth peer name p1 netns peer && ip addr add 10.6.0.1/24 dev p0 && ip link set p0 up && "
              "ip -n peer addr add 10.6.0.2/24 dev p1 && ip -n peer link set p1 up")
        same("one that nobody has asked for", state(), "10.6.0.2: reachable")
        shell("ip neigh change 10.6.0.2 dev p0 nud stale")
        same("one of before", state(), "10.6.0.2: reachable")
        shell("ip route add 10.5.0.0/24 via 10.6.0.2")
        same("by a gateway", tool("-j", "explain", "10.5.0.1").json["path"]["gateway"], "10.6.0.2")


def runs() -> None:
    """run starts a program over the library and returns its exit status."""
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
    said = tool("run", "busybox", "true", status=ERROR).err
    true("linked statically", "busybox is linked statically" in said, said)
    said = tool("run", "-s", "--", "sh", "-c", "echo $LD_PRELOAD").out.strip()
    same("sockets", said, "/usr/local/lib/rdma_cm_alt/librspreload.so")
    own = {**os.environ, "RDMA_CM_ALT_DEVICE": "/dev/nothing"}
    said = tool("run", "true", status=ERROR, env=own).err
    true("no node", "RDMA_CM_ALT_DEVICE=/dev/nothing: No such file" in said, said)


def stock_library() -> str:
    """The path where the loader finds it."""
    return re.search(r"librdmacm\.so\.1 .*=> (\S+)", run("ldconfig", "-p").out)[1]


def bench() -> None:
    """bench measures both stacks and prints their ratio."""
    rows = {row["step"]: row for row in tool("-j", "bench", "-n", "20", "-r", "1").json}
    same("steps", sorted(rows), ["address", "all", "connect", "disconnect", "route"])
    # A clock with the resolution of a tick measures 0 for some steps.
    fine = time.clock_getres(time.CLOCK_MONOTONIC) < 1e-6
    for row in rows.values():
        took = row["ours"] > 0 and row["stock"] > 0
        true("times", took or not fine, str(row))
        true("ratio", abs(row["speed"] - row["stock"] / row["ours"]) < 0.01 if took else "speed" not in row, str(row))
    true("a life", rows["all"]["speed"] > 0, str(rows))
    said = tool("bench", "-n", "5", "-r", "1", "10.9.0.2").out
    true("a table", said.count("us") >= 10 and "x" in said, said)
    still = {**os.environ, "LD_PRELOAD": str(ROOT / "build/tests/release/tool/still.so")}
    said = tool("bench", "-n", "1", "-r", "1", env=still).out
    true("no ratio of what no clock sees", said.count("0 us") == 10 and "x" not in said, said)
    said = tool("bench", "-n", "5", "-r", "1", SILENT, status=ERROR).err
    true("an address of nobody", "is no address of this host" in said, said)
    said = tool("bench", "127.0.0.1", status=ERROR).err
    true("one without a device", "on no RDMA device" in said, said)
    short = ("bench", "-n", "1", "-r", "1")
    said = tool("run", TOOL, *short, status=ERROR).err
    true("over itself", f"{DROPIN}/librdmacm.so.1, which the loader finds first" in said, said)
    true("and no more", "did not connect" not in said, said)
    for file, what in ((f"{DROPIN}/librdmacm.so.1", "is rdma_cm_alt's own library"),
                       (stock_library(), "is not rdma_cm_alt's library")):
        said = tool(*short, status=ERROR, env={**os.environ, "LD_PRELOAD": file}).err
        true(f"{file} in LD_PRELOAD", what in said, said)


def usage() -> None:
    """A wrong command line is reported and has no effect."""
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
        ("show", "-d", "nothing"): "nothing is no RDMA device here: it is one of rxe0",
        ("show", "-d", ""): "'' is no RDMA device",
        ("show", "-d", "rxe0/2"): "2 is no port of rxe0",
        ("show", "-a", ""): "an address is 192.0.2.1",
        ("show", "-a", ":7471"): ":7471 is no address",
        ("show", "-a", "10.9.0.0/33"): "it is 0 to 32",
        ("show", "-a", f"{HERE}:"): "it is 1 to 65535",
        ("show", "-a", "fe80::1%nosuch"): "no interface nosuch",
        ("show", "-c", ""): "the name of a program is missing",
        ("show", "-p", "4194305"): "it is 1 to 4194304",
        ("show", "queues", "-s", "listen"): "queues have no state",
        ("show", "queues", "-a", HERE): "queues have no address",
        ("show", "queues", "-d", "rxe0"): "queues have no device",
        ("show", "members", "-s", "idle"): "members have no state",
        ("show", "paths", "-s", "idle"): "paths have no state",
        ("show", "paths", "-a", HERE): "paths have no IP address",
        ("show", "paths", "-c", "rping"): "paths have no process",
        ("show", "peers", "-a", HERE): "peers have no IP address",
        ("show", "listeners", "-s", "bound"): "listeners are in the state listen",
        ("monitor", "-c", ""): "the name of a program is missing",
        ("explain", ""): "an address is 192.0.2.1",
        ("bench", ""): "an address is 192.0.2.1",
        ("bench", f"{HERE}:7471"): "bench takes one of its own",
        ("stats", "-j", "--prometheus"): "either --json or --prometheus",
        (): "Usage:",
    }
    for args, text in wrong.items():
        said = tool(*args, status=USAGE).err
        true(f"rdma-cm-alt {' '.join(args)}", text in said, said)
    names = re.search(r"RCA_STATE_NAMES\((.*?)\n\n", (ROOT / "kernel/lib/fsm.h").read_text(), re.S)[1]
    said = tool("show", "-s", "nonsense", status=USAGE).err
    same("states", re.search(r"it is one of (.*)", said)[1].split(", "), re.findall(r'"(.*?)"', names))
    for name in ("show", "stats", "monitor", "explain", "check", "run", "bench"):
        said = tool(name, "--help").out
        true(f"{name} --help", "Usage: rdma-cm-alt" in said)
        options = set(re.findall(r"--([a-z]+)", said))
        same(f"options of {name} that its page does not have", options - set(re.findall(r"Fl -([a-z]+)", PAGE.read_text())), set())
    for args in (("--version",), ("show", "--version")):
        true(str(args), re.match(r"rdma-cm-alt \d", tool(*args).out))
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([TOOL, "stats"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    same("a full disk", done.returncode, ERROR)


def completed(*words: str) -> set[str]:
    """The completions of bash for the last word."""
    script = f"""
. {ROOT}/userspace/tool/rdma-cm-alt.bash
COMP_WORDS=(rdma-cm-alt "$@") COMP_CWORD=$#
_rdma_cm_alt rdma-cm-alt "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    said = run("bash", "-c", script, "bash", *words, env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"})
    same("completion says nothing besides", said.err, "")
    return set(said.out.splitlines()) - {""}


def completion() -> None:
    """bash completes commands, options and ids."""
    commands = re.findall(r"^  (\w+) {2,}\w", tool("--help").out.split("Commands", 1)[1], re.M)
    same("commands", len(commands), 9)
    true("all of them", set(commands) <= completed(""), str(completed("")))
    for name in commands:
        known = set(re.findall(r"^ {2,6}(?:-., )?(--[a-z]+(?:-[a-z]+)*)", tool(name, "--help").out, re.M)) - {"--version"}
        same(f"options of {name}", completed(name, "--") - {"--version"}, known)
    same("what to show", completed("show", "l"), {"listeners"})
    with Running("rping", "-s", "-a", HERE) as server:
        until("it listens", lambda: ids("-s", "listen"))
        same("processes", completed("show", "-p", ""), {str(server.pid)})
        same("states", completed("--json", "show", "--state", "l"), {"listen"})
        same("programs", completed("monitor", "-c", ""), {"rping"})
        same("ids", completed("explain", ids()[0]["name"]), {ids()[0]["name"]})
    hostile_completion()


def hostile_completion() -> None:
    """The name of a program is quoted for the shell and not executed."""
    did = Path("/tmp/did")
    for name, quoted in (("$(touch did)", r"\$\(touch\ did\)"), (r'a"b\c;d,e', r'a\"b\\c\;d\,e'), ("`>did`", r"\`\>did\`")):
        hostile = Path("/tmp") / name
        shutil.copy(HOLD, hostile)
        try:
            with Running(str(hostile), "1") as holder:
                until("it holds", lambda pid=holder.pid: ids("-p", str(pid)))
                for words in (("show", "-c", ""), ("monitor", "--program", name[:1]), ("show", "-c", quoted[:-1])):
                    same(f"{name}: {words}", completed(*words), {quoted})
                for words in (("show", "-p", ""), ("show", "-s", ""), ("explain", ""), ("show", "-d", "")):
                    true(f"{name}: {words}", completed(*words), "nothing was offered")
                same("what bash reads there", run("bash", "-c", f"printf %s {quoted}").out, name)
            true(f"{name} was not executed", not did.exists())
        finally:
            hostile.unlink()
            did.unlink(missing_ok=True)


def colours() -> None:
    """Colours are printed on terminals, or on request."""
    refused()
    true("none in a pipe", "\033" not in tool("explain", status=BAD).out)
    true("always", "\033" in tool("--color=always", "explain", status=BAD).out)
    on_terminal = run("script", "-qec", f"{TOOL} explain", "/dev/null").out
    true("on a terminal", "\033[31m" in on_terminal, on_terminal)


def terminal() -> None:
    """An empty list is reported; the environment may disable colours."""
    said = tool("show", "listeners", "-c", "nobody")
    same("nobody's", (said.out, "there are no such listeners" in said.err), ("", True))
    for name, value in (("TERM", "dumb"), ("NO_COLOR", "1"), ("NO_COLOR", "")):
        said = run("script", "-qec", f"{name}={value} {TOOL} check", "/dev/null").out
        same(f"{name}={value}: colours", "\033[3" in said, (name, value) == ("NO_COLOR", ""))


def no_module() -> None:
    """Each command reports that the module is not loaded."""
    with monitor() as watching:
        shell("rmmod rdma_cm_alt")
        said = watching.wait()
        true("monitor ends with it", "the module was unloaded" in said, said)
        same("its status", watching.status, MODULE)
    try:
        for name in ("show", "stats", "monitor", "explain", "bench"):
            said = tool(name, status=MODULE).err
            true(name, "modprobe rdma_cm_alt" in said, said)
        said = tool("run", "true", status=MODULE).err
        true("run", "modprobe rdma_cm_alt" in said, said)
        results = tool("-j", "check", status=MODULE).json
        same("check", [result["pass"] for result in results if result["check"] == "module"], [False])
    finally:
        shell("rig_load")


TESTS = (
    ("is this host ready?", checked, False),
    ("the defaults of RoCE ports", defaults, False),
    ("programs are run", runs, False),
    ("a quick comparison", bench, False),
    ("wrong command lines", usage, False),
    ("completion", completion, False),
    ("colours", colours, False),
    ("nothing to show, and no colours", terminal, False),
    ("without the module", no_module, True),
)
