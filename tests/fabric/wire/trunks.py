# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Trunks between two hosts over RoCE, as show peers tells at both ends."""

from __future__ import annotations

import errno
import ipaddress
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from cmtrace import OURS, STOCK
from hosts import DEBUG, Host, Hosts, Program
from loss import CLIENT, LOSSY, SERVER, expect, start_client, start_server
from scenario import Unexpected, same, wait_for

TOOL = "build/rdma-cm-alt"
COUNT = 8
NAME = "rdma_cm_alt_trunk"
PARAMETERS = f"/sys/module/{NAME}/parameters"
# What is loaded to switch trunks on at a host, by its name, unless it is that of its guest.
trunk_modules: dict[str, str] = {}


def gid(host: Host) -> ipaddress.IPv6Address:
    """The GID of its IPv4 address."""
    return ipaddress.IPv6Address(f"::ffff:{host.ip}")


def peer_at(host: Host, other: Host) -> dict:
    """What a host says of the other one; {}: nothing."""
    for peer in json.loads(host.do(f"{TOOL} -j show peers")):
        if ipaddress.IPv6Address(peer["peer_gid"]) == gid(other):
            return peer
    return {}


def connect(hosts: Hosts, stacks: tuple[str, str], client_is_far: bool = False) -> None:
    """A client, and a server on the other host."""
    port = hosts.port()
    here, there = (hosts.far, hosts.near) if client_is_far else (hosts.near, hosts.far)
    server = there.start(stacks[1], f"rping -s -a {there.ip} -p {port} -C 1", trace=True)
    server.until(f"^@{stacks[1]} listen")
    here.start(stacks[0], f"rping -c -a {there.ip} -p {port} -C 1").done()
    server.done()


def counters(host: Host) -> dict[str, int]:
    """What a host has counted on its port."""
    return next(port["counters"] for port in json.loads(host.do(f"{TOOL} -j stats")) if port.get("device") == "rxe0")


def _unload(host: Host, name: str) -> None:
    """Unload a module. What uses it ends in a moment."""
    host.do(f"for try in $(seq 300); do [ ! -e /sys/module/{name} ] || rmmod {name} && exit; sleep 0.1; done; exit 1")


def unload(host: Host) -> None:
    """Unload the module. The agent kills the programs that use it, which takes a moment."""
    host.end_all()
    switch(host, False)
    _unload(host, "rdma_cm_alt")


def switch(host: Host, on: bool) -> None:
    """Load or unload the module of trunks."""
    if on:
        host.do(f"[ -e /sys/module/{NAME} ] || insmod {trunk_modules.get(host.name, f'$RCA_MODULES/{NAME}.ko')}")
    else:
        _unload(host, NAME)


def load(host: Host, modules: str = "$RCA_MODULES", parameters: str = "") -> None:
    """Load the module again. The module of trunks is from the same place, then, and gets the parameters."""
    unload(host)
    trunk_modules[host.name] = f"{modules}/{NAME}.ko {parameters}"
    host.do(f"insmod {modules}/rdma_cm_alt.ko")


@contextmanager
def trunks(*hosts: Host) -> Iterator[None]:
    """Switch trunks on at these hosts for a while. Programs of that time end then: they may have connections over one."""
    try:
        for host in hosts:
            switch(host, True)
        yield
    finally:
        for host in hosts:
            host.end_all()
        for host in hosts:
            switch(host, False)


def stock_tells_nothing(hosts: Hosts) -> None:
    """A stock client makes nobody known; a stock server is told, and tells nothing."""
    with trunks(*hosts.both):
        connect(hosts, (STOCK, OURS))
        if peer_at(hosts.far, hosts.near):
            raise Unexpected(f"a stock client is known: {peer_at(hosts.far, hosts.near)}")
        connect(hosts, (OURS, STOCK))
        told = peer_at(hosts.near, hosts.far)
        if told.get("hellos") != 1 or "protocol" in told:
            raise Unexpected(f"after one connection to a stock server: {told}")
        if peer_at(hosts.far, hosts.near):
            raise Unexpected("a hello to a stock server was read")


def not_told(hosts: Hosts) -> None:
    """Nobody is told while trunks are off."""
    connect(hosts, (OURS, OURS))
    known = [peer_at(hosts.near, hosts.far), peer_at(hosts.far, hosts.near)]
    if any(known):
        raise Unexpected(f"known: {known}")


def trunk_opens(hosts: Hosts) -> None:
    """The server's host knows the client's after the first connection, and opens a trunk at the second."""
    before = peer_at(hosts.near, hosts.far).get("hellos", 0)  # to a stock server
    with trunks(*hosts.both):
        connect(hosts, (OURS, OURS))
        wait_for("a hello", lambda: "protocol" in peer_at(hosts.far, hosts.near))
        heard = peer_at(hosts.far, hosts.near)
        guid = hosts.near.do("cat /sys/class/infiniband/rxe0/node_guid").replace(":", "").strip()
        if (heard["protocol"], heard["features"], heard["guid"]) != (2, 1, f"0x{guid}") or heard["hellos"]:
            raise Unexpected(f"the server's host: {heard}; its client has the GUID {guid}")
        told = peer_at(hosts.near, hosts.far)
        if told["hellos"] != before + 1 or "protocol" in told or "trunk" in told:
            raise Unexpected(f"the client's host: {told}")
        connect(hosts, (OURS, OURS))
        for host, other in ((hosts.far, hosts.near), (hosts.near, hosts.far)):
            wait_for(f"a trunk at {host.name}", lambda: is_open(host, other))
        if peer_at(hosts.near, hosts.far)["boot_id"] == heard["boot_id"]:
            raise Unexpected(f"both hosts have the boot identifier {heard['boot_id']}")
    for host, other in ((hosts.far, hosts.near), (hosts.near, hosts.far)):
        wait_for(f"no trunk at {host.name}", lambda: "trunk" not in peer_at(host, other))


def is_open(host: Host, other: Host) -> bool:
    """Is there a trunk, on which both hosts have sent a frame?"""
    found = peer_at(host, other)
    return found.get("trunk") == "open" and bool(found["frames_sent"]) and bool(found["frames_received"])


def wait_for_trunk(hosts: Hosts) -> None:
    """A trunk between the hosts, at both ends."""
    wait_for("a trunk", lambda: is_open(hosts.near, hosts.far) and is_open(hosts.far, hosts.near))


def trunk_qps(host: Host) -> int:
    """The number of QPs of trunks."""
    return sum(qp.get("comm") == NAME for qp in json.loads(host.do("rdma -j resource show qp")))


def peer_refuses(hosts: Hosts) -> None:
    """A host that has told its hello, and switches trunks off before its peer asks: the peer forgets the hello, nothing
    stays, and connections are made.
    """
    with trunks(*hosts.both):
        connect(hosts, (OURS, OURS), client_is_far=True)
        wait_for("a hello", lambda: peer_at(hosts.near, hosts.far).get("age", 99) < 5)
        switch(hosts.far, False)
        connect(hosts, (OURS, OURS), client_is_far=True)
        wait_for("the hello is forgotten", lambda: "age" not in peer_at(hosts.near, hosts.far))
        wait_for("no QP", lambda: not trunk_qps(hosts.near))
        connect(hosts, (OURS, OURS), client_is_far=True)


def peer_restarts(hosts: Hosts) -> None:
    """A host that was started again opens a new trunk in place of the one that its peer believes to have."""
    with trunks(*hosts.both):
        for _ in range(2):
            connect(hosts, (OURS, OURS))
        wait_for("a trunk", lambda: is_open(hosts.near, hosts.far))
        before = peer_at(hosts.near, hosts.far)["boot_id"]
        hosts.far.start_again()
        switch(hosts.far, True)
        # The near host has told its hellos, and the far host has forgotten them.
        for _ in range(2):
            connect(hosts, (OURS, OURS), client_is_far=True)
        wait_for("another trunk", lambda: is_open(hosts.far, hosts.near))
        wait_for("it at the near host", lambda: peer_at(hosts.near, hosts.far)["boot_id"] != before
                 and is_open(hosts.near, hosts.far))
        # That of the former trunk is destroyed later.
        wait_for("one QP at the near host", lambda: trunk_qps(hosts.near) == 1)


def trunk_qp_numbers(host: Host) -> list[int]:
    """The numbers of the QPs of trunks."""
    return [qp["lqpn"] for qp in json.loads(host.do("rdma -j resource show qp")) if qp.get("comm") == NAME]


@contextmanager
def held_over_trunk(hosts: Hosts) -> Iterator[tuple[Program, Program]]:
    """Connections over a trunk that stay: their programs, of the far host and of the near one."""
    # A host that knows the other one may tell it nothing for a minute.
    for host in hosts.both:
        load(host)
    with trunks(*hosts.both):
        for _ in range(2):
            connect(hosts, (OURS, OURS))
        wait_for_trunk(hosts)
        kept, port = start_server(hosts, hosts.far, OURS, COUNT, "hold")
        keeping = start_client(hosts.near, OURS, (hosts.far.ip, port), COUNT, "hold")
        for program in (kept, keeping):
            program.until("^all$")
        yield kept, keeping


def qp_fails(hosts: Hosts) -> None:
    """The wire is dead until the QP fails: connections stay, and those under way are made over the next QP, each once."""
    with held_over_trunk(hosts) as (kept, keeping):
        before = trunk_qp_numbers(hosts.near)
        sent = peer_at(hosts.near, hosts.far)["frames_sent"]
        server, port = start_server(hosts, hosts.far, OURS, COUNT)
        with hosts.disturbed("loss 100%"):
            client = start_client(hosts.near, OURS, (hosts.far.ip, port), COUNT)
            wait_for("the end of the QP", lambda: not is_open(hosts.near, hosts.far))
        for program in (client, server):
            program.done("(?m)^end$", LOSSY)
        expect(client, COUNT, CLIENT)
        expect(server, COUNT, SERVER)
        expect(keeping, COUNT, CLIENT[:3])
        expect(kept, COUNT, SERVER[:2])
        now = peer_at(hosts.near, hosts.far)
        if trunk_qp_numbers(hosts.near) == before or now["frames_sent"] <= sent:
            raise Unexpected(f"QPs: {before} before; {sent} frames before, now {now}")


def by_socket(hosts: Hosts) -> str:
    """A packet from a UDP socket."""
    return f"/usr/bin/python3 tests/fabric/wire/forge.py {hosts.near.ip} {hosts.far.ip}"


def by_queue_pair(hosts: Hosts) -> str:
    """A message of a queue pair of uverbs, which may belong to anybody."""
    hosts.near.do("chmod 666 /dev/infiniband/uverbs*")
    gids = hosts.near.do("cd /sys/class/infiniband/rxe0/ports/1/gids && grep . *").split()
    index = next(index for index, found in (row.split(":", 1) for row in gids)
                 if ipaddress.IPv6Address(found) == gid(hosts.near))
    return f"build/tests/fabric/wire/forge_qp rxe0 {index} {hosts.far.ip}"


def forged_packet(how: Callable[[Hosts], str], hosts: Hosts) -> None:
    """A user who is nobody sends a packet to the trunk's QP at the other host: the QP is replaced, and no connection ends."""
    forge = how(hosts)
    with held_over_trunk(hosts) as (kept, keeping):
        before = trunk_qp_numbers(hosts.far)

        def qp_is_replaced() -> bool:
            # What the tool of iproute2 shows to everybody.
            for qp in json.loads(hosts.near.do("rdma -j resource show qp")):
                if qp.get("comm") == NAME and "rqpn" in qp:
                    hosts.near.do(f"setpriv --reuid 65534 --clear-groups {forge} {qp['rqpn']} {qp['sq-psn']}")
            return not set(before) & set(trunk_qp_numbers(hosts.far))

        wait_for("the end of the QP", qp_is_replaced)
        server, port = start_server(hosts, hosts.far, OURS, COUNT)
        client = start_client(hosts.near, OURS, (hosts.far.ip, port), COUNT)
        for program in (client, server):
            program.done("(?m)^end$")
        expect(client, COUNT, CLIENT)
        expect(server, COUNT, SERVER)
        if not peer_at(hosts.far, hosts.near)["bad_frames"] or not counters(hosts.far)["trunk-bad-frame"]:
            raise Unexpected("the frame was not counted")

        def is_barred() -> bool:
            # Each link is replaced at once, until the third one in a minute has ended so.
            qp_is_replaced()
            return peer_at(hosts.far, hosts.near).get("retry_ms", 0) > 100000

        wait_for("five minutes without a trunk", is_barred)
        wait_for("no QP", lambda: not trunk_qps(hosts.far))
        logged = [entry for entry in json.loads(hosts.far.do(f"{TOOL} -j explain || true"))["failures"]
                  if entry.get("operation") == "trunk"]
        same("the failure log", [(entry["device"], entry["status"]) for entry in logged], [("rxe0", -errno.EBADMSG)])
        connect(hosts, (OURS, OURS))
        expect(keeping, COUNT, CLIENT[:3])
        expect(kept, COUNT, SERVER[:2])


@contextmanager
def filtered(hosts: Hosts) -> Iterator[None]:
    """Of RoCE only the packets to queue pair 1 pass, those of ib_cm. Others are lost where they arrive: soft-RoCE of 6.1 hears of
    a packet that its own host drops, and sends it again for ever.
    """
    udp = "u32 match ip protocol 17 0xff match ip dport 4791 0xffff"
    for host in hosts.both:
        host.do("modprobe -a sch_ingress cls_u32 act_gact && tc qdisc add dev wire0 clsact && "
                f"tc filter add dev wire0 ingress protocol ip prio 1 {udp} match u32 1 0xffffff at 32 action pass && "
                f"tc filter add dev wire0 ingress protocol ip prio 2 {udp} action drop")
    try:
        yield
    finally:
        for host in hosts.both:
            host.do("tc qdisc del dev wire0 clsact")


def qp_is_filtered(hosts: Hosts) -> None:
    """Nothing arrives at the QP of a trunk: connects that were sent over it are made over ib_cm, and idle connections stay."""
    with held_over_trunk(hosts) as (kept, keeping):
        server, port = start_server(hosts, hosts.far, OURS, COUNT)
        with filtered(hosts):
            began = time.monotonic()
            client = start_client(hosts.near, OURS, (hosts.far.ip, port), COUNT)
            for program in (client, server):
                program.done("(?m)^end$")
            took = time.monotonic() - began
            if took > 20 * (3 if DEBUG else 1):
                raise Unexpected(f"the connections took {took:.1f} s")
            time.sleep(max(0.0, 34 - took))
            expect(keeping, COUNT, CLIENT[:3])
            expect(kept, COUNT, SERVER[:2])
        expect(client, COUNT, CLIENT)
        expect(server, COUNT, SERVER)
        connect(hosts, (OURS, OURS))


def tests(everything: bool) -> list[tuple[str, Callable[[Hosts], None]]]:
    """First of all, while the hosts do not know each other."""
    found = [("trunk: nobody is told while they are off", not_told),
             ("trunk: stock tells nothing", stock_tells_nothing),
             ("trunk: the second connection opens one", trunk_opens),
             ("trunk: a peer refuses", peer_refuses),
             ("trunk: its QP fails", qp_fails),
             ("trunk: its QP is filtered", qp_is_filtered),
             ("trunk: a user sends a packet to its QP", partial(forged_packet, by_socket)),
             ("trunk: a user's QP sends a message to its QP", partial(forged_packet, by_queue_pair))]
    return found + ([("trunk: a host is started again", peer_restarts)] if everything else [])
