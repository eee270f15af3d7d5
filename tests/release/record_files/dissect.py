# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Compares what tshark and rdma-cm-alt read in a capture."""

from __future__ import annotations

import json
import os
import subprocess
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LUA = ROOT / "userspace/capture/format/rdma_cm_alt.lua"
OPTIONS = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
# The messages whose fields the dissector in Lua shows under our own names.
OURS = ("MRA", "SIDR_REQ", "SIDR_REP", "LAP", "APR")
# Names of Wireshark's fields, which begin with infiniband.cm., by message and our names. Left out are the packet rate,
# which Wireshark 4.0 takes from bits that the standard reserves, and the flow label, of which it shows 12 bits of 20.
NAMES = {
    "REQ": {"local_comm_id": "req", "service_id": "req.serviceid", "local_ca_guid": "req.localcaguid",
            "local_qpn": "req.localqpn", "responder_resources": "req.responderres", "initiator_depth": "req.initdepth",
            "remote_cm_response_timeout": "req.remoteresptout", "transport_service_type": "req.transpsvctype",
            "end_to_end_flow_control": "req.e2eflowctrl", "starting_psn": "req.startpsn",
            "local_cm_response_timeout": "req.localresptout", "retry_count": "req.retrcount",
            "partition_key": "req.pkey", "path_mtu": "req.pppmtu", "rnr_retry_count": "req.rnrretrcount",
            "max_cm_retries": "req.maxcmretr", "srq": "req.srq", "primary_local_lid": "req.prim_locallid",
            "primary_remote_lid": "req.prim_remotelid",
            "primary_traffic_class": "req.prim_tfcclass",
            "primary_hop_limit": "req.prim_hoplim", "primary_sl": "req.prim_sl",
            "primary_subnet_local": "req.prim_subnetlocal", "primary_local_ack_timeout": "req.prim_localacktout",
            "alternate_local_lid": "req.alt_locallid", "alternate_remote_lid": "req.alt_remotelid"},
    "REP": {"local_comm_id": "rep", "remote_comm_id": "rep.remotecommid", "local_qpn": "rep.localqpn",
            "starting_psn": "rep.startpsn", "responder_resources": "rep.respres", "initiator_depth": "rep.initdepth",
            "target_ack_delay": "rep.tgtackdelay", "failover_accepted": "rep.failoveracc",
            "end_to_end_flow_control": "rep.e2eflowctrl", "rnr_retry_count": "rep.rnrretrcount", "srq": "rep.srq",
            "local_ca_guid": "rep.localcaguid"},
    "RTU": {"local_comm_id": "rtu.localcommid", "remote_comm_id": "rtu.remotecommid"},
    "REJ": {"local_comm_id": "rej.localcommid", "remote_comm_id": "rej.remotecommid", "message_rejected": "rej.msgrej",
            "reject_info_length": "rej.rejinfolen", "reason": "rej.reason"},
    "DREQ": {"local_comm_id": "dreq.localcommid", "remote_comm_id": "dreq.remotecommid",
             "remote_qpn": "req.remoteqpneecn"},
    "DREP": {"local_comm_id": "drsp.localcommid", "remote_comm_id": "drsp.remotecommid"},
}
# Members of a message in JSON that are fields of it, of those that the dissector in Lua shows.
SHOWN_BY_LUA = {"local_comm_id", "remote_comm_id", "message_mraed", "service_timeout", "request_id", "partition_key",
                "service_id", "status", "qpn", "qkey", "remote_qpn", "remote_cm_response_timeout", "alternate_local_lid",
                "alternate_remote_lid", "ap_status"}
# Since 4.4, Wireshark loads no Lua script for root.
AS_USER = ["unshare", "--user", "--map-user=1000"] if os.geteuid() == 0 else []
ETHERNET, ERF, LRH, GRH, VCRC = 14, 16, 8, 40, 2


class Differs(Exception):
    """Two programs read different things, or one failed; the text says which and what."""


def done(command: list[str]) -> str:
    """Runs a command that must succeed; returns what it printed."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise Differs(f"{' '.join(command)} ended with {ran.returncode}: {ran.stderr.strip()}")
    return ran.stdout


def messages(capture: str | Path, *words: str) -> list[dict]:
    """What rdma-cm-alt reads."""
    return json.loads(done(["rdma-cm-alt", "-j", "record", "-r", str(capture), *words]))


def tshark(capture: Path, *words: str) -> str:
    return done([*AS_USER, "tshark", "-X", f"lua_script:{LUA}", *OPTIONS, "-r", str(capture), *words])


def fields(capture: Path, names: list[str]) -> list[list[str]]:
    """The fields of each packet, as text; "" where a packet has none."""
    chosen = [word for name in names for word in ("-e", name)]
    found = tshark(capture, "-T", "fields", "-E", "separator=|", "-E", "occurrence=f", *chosen)
    return [line.split("|") for line in found.splitlines()]


def number(text: str) -> int:
    """A number as tshark prints it: decimal, hexadecimal, bytes, or a truth value."""
    if text in ("True", "False"):
        return int(text == "True")
    try:
        return int(text, 0)
    except ValueError:
        return int(text.replace(":", ""), 16)


def is_valid(capture: Path) -> None:
    wrong = tshark(capture, "-Y", "_ws.malformed || _ws.expert.severity >= \"Warning\" || ip.checksum.status == 0 || "
                   "udp.checksum.status == 0")
    if wrong:
        raise Differs(f"tshark objects to {wrong}")


def is_sound(capture: Path) -> None:
    is_valid(capture)
    packets = fields(capture, ["frame.number", "frame.interface_name", "frame.packet_flags_direction"])
    if not packets or not all(len(packet) == 3 and all(packet) for packet in packets):
        raise Differs(f"packets without interface or direction: {packets}")


def _headers(message: dict) -> dict[str, str]:
    """Names of Wireshark's fields by our names of the headers of a message."""
    names = {"pkey": "infiniband.bth.p_key", "destination_qp": "infiniband.bth.destqp", "source_qp": "infiniband.deth.srcqp"}
    if message["link"] == "InfiniBand":
        names |= {"source_lid": "infiniband.lrh.slid", "destination_lid": "infiniband.lrh.dlid", "sl": "infiniband.lrh.sl"}
    if message["message"] == "FRAME":
        del names["source_qp"]  # an RC packet has none
    addresses = ("infiniband.grh.sgid", "infiniband.grh.dgid")
    if message["link"] == "RoCE v2":
        addresses = ("ip.src", "ip.dst") if message["source_gid"].startswith("::ffff:") else ("ipv6.src", "ipv6.dst")
    if "source_gid" in message:
        names |= dict(zip(("source_gid", "destination_gid"), addresses, strict=True))
    return names


def _names(message: dict) -> dict[str, str]:
    """Names of Wireshark's fields by our names of the members of a message."""
    name = message["message"]
    if name == "FRAME":
        return _headers(message)
    names = {field: f"rdma_cm_alt_cm.{field}" for field in message if field in SHOWN_BY_LUA} if name in OURS else \
        {field: f"infiniband.cm.{theirs}" for field, theirs in NAMES[name].items()}
    return {**names, **_headers(message), "transaction": "infiniband.mad.transactionid"}


def value_of(name: str, text: str) -> int | str:
    """A field that tshark has printed, as rdma-cm-alt has it."""
    if not name.endswith("_gid"):
        return number(text)
    return f"::ffff:{text}" if "." in text and ":" not in text else text


def is_same(capture: Path) -> None:
    """Both programs read the same headers, fields and times."""
    found = messages(capture)
    columns = sorted({theirs for message in found for theirs in _names(message).values()})
    packets = {int(row[0]): row[1:] for row in fields(capture, ["frame.number", "frame.time_epoch", *columns])}
    compared = 0
    for message in found:
        where = f"packet {message['number']}, {message['message']}"
        if message["number"] not in packets:
            raise Differs(f"{where}: tshark does not show it")
        time, *values = packets[message["number"]]
        seconds, nanoseconds = time.split(".")
        if int(seconds) * 10**9 + int(nanoseconds) != message["time"]:
            raise Differs(f"{where}: the time is {time}, not {message['time']} ns")
        read = dict(zip(columns, values, strict=True))
        for ours, theirs in _names(message).items():
            if not read[theirs] or value_of(ours, read[theirs]) != message[ours]:
                raise Differs(f"{where}: {ours} is {message[ours]}, {theirs} is {read[theirs] or 'missing'}")
            compared += 1
    if not compared:
        raise Differs("there was no message to compare")


def _masked(packet: bytes, network: int, transport: int, infiniband: bool) -> bytes:
    """The bytes that the invariant CRC counts: what changes on the way is replaced by ones."""
    copy = bytearray(packet)
    if infiniband:
        copy[0] |= 0xf0
    if transport > network and copy[network] >> 4 == 4:
        for at in (1, 8, 10, 11):
            copy[network + at] = 0xff
    elif transport > network:
        copy[network] |= 0x0f
        copy[network + 1:network + 4] = b"\xff" * 3
        copy[network + 7] = 0xff
    if transport - network in (28, 48):
        copy[transport - 2:transport] = b"\xff" * 2
    copy[transport + 4] = 0xff
    return bytes(copy if infiniband else b"\xff" * 8 + copy)


def has_crc(capture: Path) -> None:
    """Computes the invariant CRC of each packet from its bytes, as annex A17 of IBTA volume 1 has it."""
    for packet in json.loads(tshark(capture, "-T", "json", "-x")):
        layers = packet["_source"]["layers"]
        raw = bytes.fromhex(layers["frame_raw"][0])
        infiniband = "erf" in layers
        # The ERF header is no part of the frame that tshark shows.
        data = raw[:-VCRC] if infiniband else raw[ETHERNET:]
        network = LRH if infiniband else 0
        if infiniband:
            transport = network + (GRH if data[1] & 3 == 3 else 0)
        else:
            transport = {"0800": 28, "86dd": 48, "8915": GRH}[raw[12:14].hex()]
        expected = zlib.crc32(_masked(data[:-4], network, transport, infiniband)).to_bytes(4, "little")
        if data[-4:] != expected:
            raise Differs(f"packet {layers['frame']['frame.number']}: the CRC is {data[-4:].hex()}, not {expected.hex()}")


def trunk(capture: Path) -> None:
    """The frames and records of both programs are the same, and those that make.c wrote."""
    crowd = range(100, 180)
    records = [[(record["type"], record["conn"], record["name"]) for record in message["records"]] for message in messages(capture)]
    if records != [[("REQ", 5, "3/7")], [("HELD", 5, "3/7")], [("REJ", 5, "3/7"), ("RTU", 6, "3/8")], [],
                   [*(("RTU", conn, f"3/{conn + 2}") for conn in crowd), ("REJ", 5, "3/7")]]:
        raise Differs(f"rdma-cm-alt reads {records}")
    shown = fields(capture, ["rdma_cm_alt_trunk.number", "rdma_cm_alt_trunk.records", "_ws.col.Info"])
    expected = [["1", "1", "Frame 1: REQ of 5"], ["1", "1", "Frame 1: HELD of 5"],
                ["2", "2", "Frame 2: REJ of 5: stale connection (10), RTU of 6"], ["2", "0", "Frame 2: acknowledgement"],
                ["3", "81", f"Frame 3: {''.join(f'RTU of {conn}, ' for conn in crowd)}REJ of 5: stale connection (10)"]]
    if shown != expected:
        raise Differs(f"tshark reads {shown}")
