# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Compares what tshark and rdma-cm-alt read in a capture."""

from __future__ import annotations

import json
import subprocess
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LUA = ROOT / "userspace/tool/record/rdma_cm_alt.lua"
OPTIONS = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
# The messages whose fields the dissector in Lua shows under our own names.
OURS = ("MRA", "SIDR_REQ", "SIDR_REP", "LAP", "APR")
# Names of Wireshark's fields, which begin with infiniband.cm., by message and our names. The packet rate is left out:
# Wireshark 4.0 takes it from bits that the standard reserves.
NAMES = {
    "REQ": {"local_comm_id": "req", "service_id": "req.serviceid", "local_ca_guid": "req.localcaguid",
            "local_qpn": "req.localqpn", "responder_resources": "req.responderres", "initiator_depth": "req.initdepth",
            "remote_cm_response_timeout": "req.remoteresptout", "transport_service_type": "req.transpsvctype",
            "end_to_end_flow_control": "req.e2eflowctrl", "starting_psn": "req.startpsn",
            "local_cm_response_timeout": "req.localresptout", "retry_count": "req.retrcount",
            "partition_key": "req.pkey", "path_mtu": "req.pppmtu", "rnr_retry_count": "req.rnrretrcount",
            "max_cm_retries": "req.maxcmretr", "srq": "req.srq", "primary_local_lid": "req.prim_locallid",
            "primary_remote_lid": "req.prim_remotelid", "primary_flow_label": "req.prim_flowlabel",
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
    return done(["tshark", "-X", f"lua_script:{LUA}", *OPTIONS, "-r", str(capture), *words])


def fields(capture: Path, names: list[str], wanted: str = "") -> list[list[str]]:
    """The fields of each packet, as text; "" where a packet has none."""
    chosen = [word for name in names for word in ("-e", name)]
    found = tshark(capture, "-T", "fields", "-E", "separator=|", "-E", "occurrence=f", *chosen, *(["-Y", wanted] if wanted else []))
    return [line.split("|") for line in found.splitlines()]


def number(text: str) -> int:
    """A number as tshark prints it: decimal, hexadecimal, bytes, or a truth value."""
    if text in ("True", "False"):
        return int(text == "True")
    try:
        return int(text, 0)
    except ValueError:
        return int(text.replace(":", ""), 16)


def is_sound(capture: Path) -> None:
    wrong = tshark(capture, "-Y", "_ws.malformed || _ws.expert.severity >= \"Warning\" || ip.checksum.status == 0 || "
                   "udp.checksum.status == 0")
    if wrong:
        raise Differs(f"tshark objects to {wrong}")
    packets = fields(capture, ["frame.number", "frame.interface_name", "frame.packet_flags_direction"])
    if not packets or not all(len(packet) == 3 and all(packet) for packet in packets):
        raise Differs(f"packets without interface or direction: {packets}")


def is_same(capture: Path) -> None:
    compared = 0
    for message in messages(capture):
        if message["message"] == "FRAME":
            continue
        name = message["message"]
        names = {field: f"rdma_cm_alt_cm.{field}" for field in message if field in SHOWN_BY_LUA} if name in OURS else \
            {field: f"infiniband.cm.{theirs}" for field, theirs in NAMES[name].items()}
        names["transaction"] = "infiniband.mad.transactionid"
        read = fields(capture, ["frame.time_epoch", *names.values()], f"frame.number == {message['number']}")
        if len(read) != 1:
            raise Differs(f"packet {message['number']}: tshark shows {len(read)} packets")
        seconds, nanoseconds = read[0][0].split(".")
        if int(seconds) * 10**9 + int(nanoseconds) != message["time"]:
            raise Differs(f"packet {message['number']}: the time is {read[0][0]}, not {message['time']} ns")
        for (ours, theirs), value in zip(names.items(), read[0][1:], strict=True):
            if not value or number(value) != message[ours]:
                raise Differs(f"packet {message['number']}, {name}: {ours} is {message[ours]}, {theirs} is {value or 'missing'}")
            compared += 1
    if not compared and capture.stem != "trunk":
        raise Differs("there was no CM message to compare")


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
    records = [[(record["type"], record["conn"]) for record in message["records"]] for message in messages(capture)]
    if records != [[("REQ", 5)], [("HELD", 5)], [("REJ", 5), ("RTU", 6)], []]:
        raise Differs(f"rdma-cm-alt reads {records}")
    shown = fields(capture, ["rdma_cm_alt_trunk.number", "rdma_cm_alt_trunk.records", "_ws.col.Info"])
    expected = [["1", "1", "Frame 1: REQ of 5"], ["1", "1", "Frame 1: HELD of 5"],
                ["2", "2", "Frame 2: REJ of 5: stale connection (10), RTU of 6"], ["2", "0", "Frame 2: acknowledgement"]]
    if shown != expected:
        raise Differs(f"tshark reads {shown}")
