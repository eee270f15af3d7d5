# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The generic netlink family that rdma-cm-alt reads: requests and situations that the tool does not cause."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import shutil
import socket
import struct
import subprocess
import time
from collections import Counter
from pathlib import Path

from genl import (ACK, ADD_MEMBERSHIP, ATTR, CMD, CONTROL, DEL_FAMILY, DONE, DUMP, ERROR, FAMILY_NAME, GENERIC, HEADER, OVERRUN,
                  REQUEST, SOL_NETLINK, Family, attr, module_users)
from host import (DEBUG, ELSEWHERE, HERE, HOLD, NOBODY, ROOT, SILENT, TOOL, Running, Skip, Unexpected, connection, failures,
                  ids, listener_port, monitor, namespace, run, same, shell, tool, true, until)

DUMPS = ("ID", "MEMBER", "QUEUE", "PORT", "FAILURE", "PATH")
# Requests of the fuzzer, for root and for nobody each.
REQUESTS = 1000 if DEBUG else 5000
# More queues than one message of a dump can hold.
MANY = 700


def strict() -> None:
    """Undefined requests are refused, so that they can be defined later."""
    with Family() as family:
        for name in DUMPS:
            cmd = CMD[name]
            same(f"{name}: a dump", family.ask(cmd), 0)
            same(f"{name}: no dump", family.ask(cmd, REQUEST | ACK), errno.EOPNOTSUPP)
            same(f"{name}: an attribute", family.ask(cmd, more=attr(ATTR["CTX"], bytes(8))), errno.EINVAL)
            same(f"{name}: one of later", family.ask(cmd, more=attr(1000, bytes(4))), errno.EINVAL)
            same(f"{name}: a reserved field", family.ask(cmd, reserved=1), errno.EINVAL)
        for cmd in (CMD["UNSPEC"], CMD["STORY"], max(CMD.values()) + 1, 255):
            same(f"command {cmd}", family.ask(cmd), errno.EOPNOTSUPP)


def device_goes() -> None:
    """A device that is removed during a dump of the counters does not hide those of other devices."""
    names = [f"rxg{number}" for number in range(8)]
    for name in names:
        shell(f"ip link add d{name} type dummy && ip link set d{name} up && rdma link add {name} type rxe netdev d{name}")
    try:
        with Family(room=8192) as family:
            family.send(CMD["PORT"], REQUEST | DUMP)
            seen: Counter[str | None] = Counter()
            while names[0] not in seen:
                seen.update(answer.text("DEV") for answer in family.some())
            true("not all of them came at once", names[-1] not in seen, str(seen))
            shell(f"rdma link delete {names[0]}")
            seen.update(answer.text("DEV") for answer in family.all())
            same("each once", {name: seen[name] for name in names}, {name: 1 for name in names})
            same("what has no port", seen[None], 1)
    finally:
        for name in names:
            shell(f"ip link delete d{name}")


def namespace_number() -> None:
    """A namespace with the inode number of a deleted one does not show the queues of that one."""
    shell("ip netns add gone")
    number = os.stat("/run/netns/gone").st_ino
    with Running(HOLD, "0", "leave", netns="gone") as holder:
        until("it has a queue", lambda: tool("-j", "show", "queues", "-p", str(holder.pid), netns="gone").json)
        until("it has left", lambda: os.stat(f"/proc/{holder.pid}/ns/net").st_ino != number)
        shell("ip netns del gone")
        for tries in range(50):
            shell(f"ip netns add again{tries}")
            if os.stat(f"/run/netns/again{tries}").st_ino == number:
                break
            time.sleep(0.1)
        try:
            if os.stat(f"/run/netns/again{tries}").st_ino != number:
                raise Skip("the number did not come again")
            same("queues", tool("-j", "show", "queues", netns=f"again{tries}").json, [])
        finally:
            for number in range(tries + 1):
                shell(f"ip netns del again{number}")


def elsewhere() -> None:
    """Counters without a port are those of all namespaces, and are not shown in containers."""
    with namespace("beside"):
        true("here", any("device" not in port for port in tool("-j", "stats").json))
        there = tool("-j", "stats", netns="beside").json
        true("there", there and all("device" in port for port in there), str(there))


def exclusive() -> None:
    """With exclusive devices, other namespaces do not see their counters."""
    # The mode must not change while a namespace is deleted: tests/robust/stock/compat_devices.
    shell("rig_namespaces_gone")
    if run("rdma", "system", "set", "netns", "exclusive").status:
        raise Skip("there are other network namespaces")
    try:
        with namespace("beside"):
            same("counts", tool("-j", "stats", netns="beside").json, [])
            true("here", any("device" in port for port in tool("-j", "stats").json))
    finally:
        until("the mode is as it was", lambda: not run("rdma", "system", "set", "netns", "shared").status)


def newest(what: str) -> dict:
    """The last failure of this operation."""
    return [story for story in failures() if story.get("operation") == what][-1]


def asked() -> None:
    """A failure has the addresses of the request, even if the id does not keep them."""
    run(TOOL, "run", str(ROOT / "build/tests/release/tool/fail"), HERE, "1")
    same("a port that is taken", newest("resolve")["local"].partition(":")[0], HERE)
    run(TOOL, "run", "rping", "-s", "-a", ELSEWHERE, "-C", "1")
    same("an address of somebody else", newest("resolve")["local"], f"{ELSEWHERE}:7174")
    run(TOOL, "run", "ucmatose", "-b", ELSEWHERE, "-s", HERE)
    story = newest("resolve")
    same("a source of somebody else", (story["local"].partition(":")[0], story["peer"]), (ELSEWHERE, f"{HERE}:7471"))
    run(TOOL, "run", "mckey", "-b", HERE, "-m", SILENT)
    same("a group that is none", newest("join")["peer"].partition(":")[0], SILENT)


def told_owner() -> None:
    """A notification has the process ID and the user ID."""
    with Family() as listener:
        listener.listen()
        with Running("rping", "-s", "-a", HERE, "-C", "1") as server:
            until("it listens", lambda: ids("-p", str(server.pid)))
            story = listener.some()[0]
            same("its number, and user", (story.number("PID"), story.number("UID")), (server.pid, 0))


def hostile_name() -> None:
    """Control characters in the name of a program are not printed."""
    name = "\033[7m\tx\u00e4\u009b-of-more"
    hostile = Path("/tmp") / name
    shutil.copy(HOLD, hostile)
    try:
        with Running(str(hostile), "1") as holder:
            mine = until("it holds", lambda: ids("-p", str(holder.pid)))
            said = tool("show", "-p", str(holder.pid)).out
            true("the table", said.count("\n") == 2 and said.isascii() and "\033" not in said, repr(said))
            same("the object", mine[0]["program"], "?[7m?x????-of-m")
            same("by the whole name", [one["name"] for one in ids("-c", name)], [mine[0]["name"]])
        with monitor() as watching:
            run(TOOL, "run", str(hostile), "bind", HERE)
            until("it tells", lambda: "?[7m" in watching.said())
            said = watching.end()
        true("monitor", "\033" not in said, repr(said))
    finally:
        hostile.unlink()


def forged() -> None:
    """monitor ignores messages that a process with CAP_NET_ADMIN, not the kernel, sends."""
    def message(kind: int, body: bytes) -> bytes:
        return HEADER.pack(HEADER.size + len(body), kind, 0, 0, 0) + body

    with Family() as forger, monitor() as watching:
        story = struct.pack("=BBH", CMD["STORY"], 1, 0) + attr(ATTR["OP"], b"forged\0") + attr(ATTR["COMM"], b"forger\0")
        farewell = struct.pack("=BBH", DEL_FAMILY, 1, 0) + attr(FAMILY_NAME, b"rdma_cm_alt\0")
        for data in (message(forger.family, story), message(CONTROL, farewell), message(OVERRUN, bytes(4)), message(DONE, bytes(4)),
                     message(ERROR, struct.pack("=i", -errno.ENOBUFS) + bytes(16)),
                     message(ERROR, struct.pack("=i", -errno.EPERM) + bytes(16)),
                     message(forger.family, story + bytes(80000)), message(forger.family, story[:6])):
            before = len(watching.said())
            forger.sock.sendto(data, (listener_port(watching.pid), 0))
            # To the group as well, and by that to the kernel, which ignores it.
            forger.sock.sendto(data, (0, 1 << forger.group - 1))
            run(TOOL, "run", HOLD, "bind", HERE)
            seen = until("it tells of what is true", lambda before=before: watching.said()[before:])
            # The second long message may not fit into the socket buffer.
            true("and of nothing else", "forge" not in seen and ("lost" not in seen or len(data) > 1 << 16), seen)
        same("it still runs", watching.status, None)
        said = watching.end()
    true("nothing of it was told", "forge" not in said and "error" not in said, said)


def unread_dump() -> None:
    """An unfinished dump holds a reference of the module until its socket is closed."""
    with Running(HOLD, "500"):
        until("they are there", lambda: len(ids()) >= 500)
        before = module_users()
        with Family() as family:
            family.send(CMD["ID"], REQUEST | DUMP)
            same("references", module_users(), before + 1)
        until("they are given back", lambda: module_users() == before)


def unload() -> None:
    """Unloading does not wait for unfinished dumps and listeners."""
    with Family() as family, Family() as listener:
        listener.listen()
        family.send(CMD["PORT"], REQUEST | DUMP)
        first = family.some()
        if module_users():
            same("in the middle", run("rmmod", "rdma_cm_alt").status, 1)
            family.all()
        true("counts", first)
        same("with a listener", run("rmmod", "rdma_cm_alt").text, "")
        shell("rig_load")
        listener.sock.settimeout(0.1)
        try:
            raise Unexpected(f"it heard {listener.some()}")
        except TimeoutError:
            pass
    with Family() as family:
        same("again", family.ask(CMD["ID"]), 0)


def early() -> None:
    """A user who joins all groups before the module is loaded gets no notifications."""
    shell("rmmod rdma_cm_alt")
    os.seteuid(NOBODY)
    try:
        spy = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, GENERIC)
        spy.bind((0, 0))
        joined = [group for group in range(1, 65) if joins(spy, group)]
    finally:
        os.seteuid(0)
    shell("rig_load")
    with spy, Family() as listener:
        true("the group was among them", listener.group in joined, f"{listener.group} in {joined}")
        listener.listen()
        run(TOOL, "run", HOLD, "bind", HERE)
        true("who may hears it", listener.some())
        spy.settimeout(0.5)
        heard = set()
        try:
            while True:
                heard.add(struct.unpack_from("=IH", spy.recv(65536))[1])
        except TimeoutError:
            pass
        true("who may not does not", listener.family not in heard, str(heard))


def loading() -> None:
    """A dump fails until the module is loaded completely: a module whose init fails is freed, whatever is under way."""
    shell("rmmod rdma_cm_alt")
    answers: list[int] = []
    with subprocess.Popen(["bash", "-c", ". tests/harness/guest/rig.sh; rig_load"], cwd=ROOT) as load:
        while load.poll() is None:
            with contextlib.suppress(OSError), Family() as family:
                answers.append(family.ask(CMD["ID"]))
    same("rig_load", load.returncode, 0)
    with Family() as family:
        answers.append(family.ask(CMD["ID"]))
    true("first refused, then answered", answers == sorted(answers, reverse=True) and set(answers) <= {errno.EAGAIN, 0},
         str(answers))
    # Linux 6.1 lets some time pass between the registration of the family and the end of init.
    true("some were refused", errno.EAGAIN in answers or os.environ["GUEST"] != "6.1", str(answers))


def joins(sock: socket.socket, group: int) -> bool:
    """Whether the socket can join the group."""
    try:
        sock.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, group)
    except OSError:
        return False
    return True


def many_queues() -> None:
    """A dump of more queues than fit one message has each queue once, in order."""
    with Running(HOLD, str(MANY), "channels") as holder:
        seen = until("they are there", lambda: (lambda rows: rows if len(rows) == MANY else None)(
            tool("-j", "show", "queues", "-p", str(holder.pid)).json))
        same("queues", [queue["queue"] for queue in seen], list(range(1, MANY + 1)))
        same("of one context", len({queue["context"] for queue in seen}), 1)


def other_processes() -> None:
    """A process outside the PID namespace of the reader has no process ID in the dump."""
    with Running(HOLD, "3"):
        until("they are there", lambda: len(ids()) == 3)
        inside = run("unshare", "-pf", TOOL, "-j", "show").json
        same("ids", len(inside), 3)
        true("no process", not any("pid" in one for one in inside), str(inside))


def listeners_lose() -> None:
    """A listener that does not read gets ENOBUFS, and later notifications after that."""
    with Family() as listener:
        listener.listen()
        run(TOOL, "run", str(ROOT / "build/tests/release/tool/fail"), HERE, "3000")
        try:
            while True:
                listener.some()
        except OSError as error:
            same("told", error.errno, errno.ENOBUFS)
        true("and hears the rest", listener.some())


def any_attr(rng: random.Random) -> bytes:
    """An attribute that may be invalid."""
    data = rng.randbytes(rng.choice((0, 1, 4, 8, 16, 48, 200)))
    made = bytearray(attr(rng.choice((rng.randrange(64), rng.randrange(1 << 16))), data))
    if rng.random() < 0.2:
        struct.pack_into("=H", made, 0, rng.randrange(1 << 16))
    return bytes(made)


def any_request(rng: random.Random, family: int) -> bytes:
    """A request that is nearly valid."""
    body = struct.pack("=BBH", rng.choice((*range(8), rng.randrange(256))), rng.choice((0, 1, 2)),
                       rng.choice((0, 0, 0, rng.randrange(1 << 16))))
    body += b"".join(any_attr(rng) for _ in range(rng.choice((0, 0, 0, 1, 3))))
    flags = rng.choice((REQUEST | DUMP, REQUEST | DUMP, REQUEST | ACK, REQUEST, rng.randrange(1 << 16)))
    length = HEADER.size + len(body)
    if rng.random() < 0.1:
        length = rng.choice((0, HEADER.size, length - 1, length + 1, rng.randrange(1 << 32)))
    data = HEADER.pack(length, family, flags, rng.randrange(1 << 32), rng.choice((0, rng.randrange(1 << 32)))) + body
    return data[:rng.randrange(len(data))] if rng.random() < 0.1 else data


def drain(family: Family, uid: int) -> int:
    """Read the answers; the number of messages. None shows an object of another user."""
    count = 0
    while True:
        try:
            answers = family.some()
        except BlockingIOError:
            return count
        except OSError as error:
            same("error of the socket", error.errno, errno.ENOBUFS)
            continue
        for answer in answers:
            if answer.kind == family.family:
                count += 1
                true("whose it is", uid == 0 or answer.number("UID") in (None, uid), str(answer.attrs))


def fuzz(seed: int, uid: int) -> int:
    """Send random requests; the number of messages in the answers."""
    rng, count = random.Random(seed), 0
    family = Family()
    family.sock.setblocking(False)
    for number in range(REQUESTS):
        if not number % 100:
            family.sock.close()  # often in the middle of a dump
            family = Family()
            family.sock.setblocking(False)
        try:
            family.raw(any_request(rng, family.family) + bytes(rng.choice((0, 0, 0, 4, OVERRUN))))
        except OSError as error:
            true("why it is not sent", error.errno in (errno.ENOBUFS, errno.EAGAIN, errno.ENODATA), str(error))
        if rng.random() < 0.7:
            count += drain(family, uid)
    family.sock.close()
    return count


def fuzzed() -> None:
    """Random requests of root and of nobody, while there are objects to show."""
    seed = random.randrange(1 << 32)
    server, client = connection()
    with server, client:
        tool("run", str(ROOT / "build/tests/release/tool/fail"), HERE, "20")
        until("they are kept", failures)
        try:
            true("root is answered", fuzz(seed, 0) > REQUESTS / 100)
            child = os.fork()
            if not child:
                try:
                    os.setgroups([])
                    os.setgid(NOBODY)
                    os.setuid(NOBODY)
                    os._exit(0 if fuzz(seed, NOBODY) else 2)
                except BaseException as error:  # pylint: disable=broad-exception-caught
                    print(f"# nobody: {error}", flush=True)
                    os._exit(1)
            same("nobody is answered with counts alone", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        except Unexpected as unexpected:
            raise Unexpected(f"seed {seed}: {unexpected}") from unexpected
        with Family() as family:
            same("after it", sorted(one.number("PID") for one in family.dump(CMD["ID"]))[:1] != [], True)


TESTS = (
    ("netlink: what has no meaning is refused", strict, True),
    ("netlink: a device goes during a dump", device_goes, False),
    ("netlink: a namespace with the number of another", namespace_number, True),
    ("netlink: counts of all namespaces", elsewhere, True),
    ("netlink: exclusive namespaces", exclusive, False),
    ("netlink: a hostile name", hostile_name, False),
    ("netlink: forged messages", forged, True),
    ("netlink: what was asked for", asked, False),
    ("netlink: whose story it is", told_owner, False),
    ("netlink: an unread dump", unread_dump, True),
    ("netlink: many queues", many_queues, True),
    ("netlink: other PID namespaces", other_processes, True),
    ("netlink: a listener that does not read", listeners_lose, False),
    ("netlink: any requests", fuzzed, True),
    ("netlink: a listener before the module is there", early, True),
    ("netlink: a dump while the module is being loaded", loading, True),
    ("netlink: unloading meanwhile", unload, True),
)
