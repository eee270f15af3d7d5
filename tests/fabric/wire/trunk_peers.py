# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Hosts with trunks, and peers that open none: their trunks are off, they have the stock connection manager, or speak
other versions of the protocol.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from cmtrace import OURS, STOCK
from hosts import Host, Hosts, Program
from loss import CLIENT, SERVER, expect, start_client, start_server
from scenario import Skip, Unexpected, same, wait_for
from trunks import (TOOL, connect, counters, load, peer_at, switch, trunk_qps, trunks, unload,
                    wait_for_trunk)

COUNT = 4
IB_CM = "/sys/class/infiniband/rxe0/ports/1/cm"
# A module that speaks versions 2 and 3 of the protocol, see version3.patch.
NEWER = "build/version3/$GUEST"

# The beginnings of what explain says.
ASKED = "the peer has requested it, and has not used one"
NO_HELLO = "the peer has not said hello"
OFF = "trunks were off when it was requested"
NO_VERSION = "the peer speaks other versions of the trunk protocol"


class Pair(NamedTuple):
    """A connection that stays, and its ends."""

    client: Program
    server: Program

    def end(self) -> None:
        """The client is killed, and the server is told; nothing else has happened to it before."""
        self.client.kill()
        self.server.until("DISCONNECTED 0")
        same("events of the server", self.server.output.count("DISCONNECTED"), 1)


def hold(here: Host, there: Host, hosts: Hosts, stacks: tuple[str, str] = (OURS, OURS)) -> Pair:
    """A connection from `here` to `there`."""
    server, port = start_server(hosts, there, stacks[1], 1, "hold")
    pair = Pair(start_client(here, stacks[0], (there.ip, port), 1, "hold"), server)
    for program in pair:
        program.until("^all$")
    return pair


def ids(host: Host) -> list[dict]:
    """Its connections, the oldest first."""
    shown = json.loads(host.do(f"{TOOL} -j show ids -s connected"))
    return sorted(shown, key=lambda one: (one["context"], one["handle"]))


def transports(host: Host) -> list[str]:
    """What its connections are made over, the oldest first."""
    return [one["transport"] for one in ids(host)]


def why(host: Host, what: str) -> list[str]:
    """What explain says of trunks to this address, or of this id. Its status tells whether it knows of failures."""
    said = json.loads(host.do(f"{TOOL} -j explain {what} || true"))
    return [found.get("why_no_trunk") or "it has one" for found in said["ids"] + said.get("peers", [])]


def expect_reasons(host: Host, wanted: list[str]) -> None:
    """The reasons of its connections, the oldest first."""
    told = [text for one in ids(host) for text in why(host, one["name"])]
    if len(told) != len(wanted) or not all(text.startswith(part) for text, part in zip(told, wanted)):
        raise Unexpected(f"explain at {host.name}: {told}, not {wanted}")


def expect_no_trunk(host: Host) -> None:
    """None was opened, tried or refused."""
    tried = {name: count for name, count in counters(host).items() if name.startswith("trunk-") and count}
    if tried or trunk_qps(host):
        raise Unexpected(f"{host.name}: {tried}, {trunk_qps(host)} QPs")


def one_is_off(far_is_off: bool, hosts: Hosts) -> None:
    """Connections are made over ib_cm; when trunks are switched on there, too, the next ones use a trunk."""
    on, off = hosts.both if far_is_off else reversed(hosts.both)
    for host in hosts.both:
        load(host)
    with trunks(*hosts.both):
        switch(off, False)
        held = [hold(on, off, hosts), hold(off, on, hosts)]
        expect_reasons(on, [NO_HELLO, ASKED])
        expect_reasons(off, [ASKED, OFF])
        told = why(on, off.ip)
        if len(told) != 1 or not told[0].startswith(NO_HELLO):
            raise Unexpected(f"explain at {on.name} of {off.ip}: {told}")
        same(f"peers that {off.name} knows", peer_at(off, on), {})
        for host in hosts.both:
            expect_no_trunk(host)
        switch(off, True)
        for _ in range(2):
            connect(hosts, (OURS, OURS), client_is_far=on is hosts.far)
        wait_for_trunk(hosts)
        held += [hold(on, off, hosts), hold(off, on, hosts)]
        for host in hosts.both:
            same(f"connections of {host.name}", transports(host), ["ib_cm"] * 2 + ["trunk"] * 2)
        for pair in held:
            pair.end()


def messages(host: Host) -> dict[str, int]:
    """The messages of ib_cm that the host has sent and received, without those that were repeated."""
    shown = host.do(f"cd {IB_CM}_rx_msgs/.. && for group in cm_rx_msgs cm_tx_msgs cm_rx_duplicates cm_tx_retries; do "
                    "for file in $group/*; do echo $file $(cat $file); done; done")
    counts = {name: int(count) for name, count in (line.split() for line in shown.splitlines())}
    for group, repeated in (("cm_rx_msgs", "cm_rx_duplicates"), ("cm_tx_msgs", "cm_tx_retries")):
        for name in [name for name in counts if name.startswith(f"{group}/")]:
            counts[name] -= counts.pop(name.replace(group, repeated))
    return counts


def talk_to_stock(hosts: Hosts) -> dict[str, int]:
    """Some connections in both directions, from beginning to end; returns the messages at the stock host."""
    before = messages(hosts.far)
    for client, server, stacks in ((hosts.near, hosts.far, (OURS, STOCK)), (hosts.far, hosts.near, (STOCK, OURS))):
        serving, port = start_server(hosts, server, stacks[1], COUNT)
        asking = start_client(client, stacks[0], (server.ip, port), COUNT)
        for program, wanted in ((asking, CLIENT), (serving, SERVER)):
            program.done("(?m)^end$")
            expect(program, COUNT, wanted)
    return {name: count - before[name] for name, count in messages(hosts.far).items()}


def stock_sees_nothing(hosts: Hosts) -> None:
    """A host without the module gets the same messages, trunks or not; explain says why there is none."""
    load(hosts.near)
    unload(hosts.far)
    try:
        without = talk_to_stock(hosts)
        same("requests that were counted", (without["cm_rx_msgs/req"], without["cm_tx_msgs/req"]), (COUNT, COUNT))
        with trunks(hosts.near):
            with_trunks = talk_to_stock(hosts)
            differ = {name: (count, with_trunks[name]) for name, count in without.items() if count != with_trunks[name]}
            same("messages without and with trunks that differ", differ, {})
            # The first three had one.
            same("hellos", counters(hosts.near)["hello-sent"], 3)
            held = [hold(hosts.near, hosts.far, hosts, (OURS, STOCK)),
                    hold(hosts.far, hosts.near, hosts, (STOCK, OURS))]
            expect_reasons(hosts.near, [NO_HELLO, ASKED])
            expect_no_trunk(hosts.near)
            for pair in held:
                pair.end()
    finally:
        load(hosts.far)


def newer_at(hosts: Hosts, oldest: int) -> None:
    """Load the module that speaks a later version, too, at the far host."""
    if not hosts.far.do(f"ls {NEWER} 2>/dev/null || true"):
        raise Skip("scripts/check has not built the module with a later version of the protocol for the far host")
    load(hosts.near)
    load(hosts.far, NEWER, f"trunk_oldest={oldest}")


def newer_peer(client_is_far: bool, hosts: Hosts) -> None:
    """Versions 2 and 3 meet 2: they use 2, which skips what the newer one appends to records."""
    newer_at(hosts, 2)
    try:
        with trunks(*hosts.both):
            for _ in range(2):
                connect(hosts, (OURS, OURS), client_is_far)
            wait_for_trunk(hosts)
            for host, other, newest in ((hosts.near, hosts.far, 3), (hosts.far, hosts.near, 2)):
                found = peer_at(host, other)
                same(f"versions at {host.name}", (found["protocol"], found["common"]), (newest, 2))
            held = [hold(hosts.near, hosts.far, hosts), hold(hosts.far, hosts.near, hosts)]
            for host in hosts.both:
                same(f"connections of {host.name}", transports(host), ["trunk"] * 2)
            for pair in held:
                pair.end()
            for host in hosts.both:
                same(f"sessions that {host.name} has lost", counters(host)["trunk-lost"], 0)
    finally:
        load(hosts.far)


def no_common_version(hosts: Hosts) -> None:
    """A peer that speaks version 3 alone: connections are made over ib_cm, and explain says why at both ends."""
    newer_at(hosts, 3)
    try:
        with trunks(*hosts.both):
            for client_is_far in (False, False, True, True):
                connect(hosts, (OURS, OURS), client_is_far)
            wait_for("hellos", lambda: "common" in peer_at(*hosts.both) and "common" in peer_at(hosts.far, hosts.near))
            held = [hold(hosts.near, hosts.far, hosts), hold(hosts.far, hosts.near, hosts)]
            expect_reasons(hosts.near, [NO_VERSION, ASKED])
            expect_reasons(hosts.far, [ASKED, NO_VERSION])
            for host in hosts.both:
                expect_no_trunk(host)
            for pair in held:
                pair.end()
    finally:
        load(hosts.far)


def tests(everything: bool) -> list[tuple[str, Callable[[Hosts], None]]]:
    """They load the module again, so that the hosts do not know each other."""
    found = [("trunk peer: they are off at the far host, and switched on", partial(one_is_off, True)),
             ("trunk peer: a stock host sees nothing", stock_sees_nothing),
             ("trunk peer: it speaks a later version, too", partial(newer_peer, False))]
    if everything:
        found += [("trunk peer: they are off at the near host, and switched on", partial(one_is_off, False)),
                  ("trunk peer: it speaks a later version, too, far client", partial(newer_peer, True)),
                  ("trunk peer: no common version", no_common_version)]
    return found
