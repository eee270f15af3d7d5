# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Compares the counters of ib_cm in sysfs with ours, as Documentation/seeing.rst relates them."""

from __future__ import annotations

from pathlib import Path

from host import ROOT, Unexpected, connection, refused, same, tool, true, until
from transport import closed

PORT = Path("/sys/class/infiniband/rxe0/ports/1")
GROUPS = ("cm_tx_msgs", "cm_tx_retries", "cm_rx_msgs", "cm_rx_duplicates")
MESSAGES = {"req", "mra", "rej", "rep", "rtu", "dreq", "drep", "sidr_req", "sidr_rep", "lap", "apr"}
# Our counters and the messages that they count, without retransmissions: sent ones and received ones.
SENT = {"connect": "req", "accept": "rep", "establish": "rtu"}
CAME = {"rep": "rep", "rtu": "rtu", "rej": "rej"}


def _theirs() -> dict[str, dict[str, int]]:
    return {group: {file.name: int(file.read_text(encoding="ascii")) for file in (PORT / group).iterdir()}
            for group in GROUPS}


def _ours() -> dict[str, int]:
    return next(port for port in tool("-j", "stats").json if port.get("device") == "rxe0")["counters"]


def _grown(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    return {name: after[name] - before[name] for name in after}


def counters() -> None:
    """The counters exist and agree with ours. No trunk opens meanwhile: its messages are counted in sysfs only."""
    with closed(60):
        _without_trunks()


def _without_trunks() -> None:
    before, ours_before = _theirs(), _ours()
    for group in GROUPS:
        same(f"files of {group}", set(before[group]), MESSAGES)
    server, client = connection()
    with server, client:
        pass
    refused()
    seen = {}

    def agree() -> bool:
        theirs = {group: _grown(counts, before[group]) for group, counts in _theirs().items()}
        ours = _grown(_ours(), ours_before)
        seen.update(theirs=theirs, ours=ours)
        sent = {name: theirs["cm_tx_msgs"][message] - theirs["cm_tx_retries"][message]
                for name, message in SENT.items()}
        came = {name: theirs["cm_rx_msgs"][message] - theirs["cm_rx_duplicates"][message]
                for name, message in CAME.items()}
        return (all(ours[name] for name in (*SENT, *CAME)) and
                all(theirs[group]["dreq"] for group in ("cm_tx_msgs", "cm_rx_msgs")) and
                all(sent[name] == ours[name] for name in SENT) and
                all(came[name] == ours[name] for name in CAME))

    try:
        until("they agree with ours", agree)
    except Unexpected as unexpected:
        raise Unexpected(f"{unexpected}\n{seen}") from None
    text = (ROOT / "Documentation/seeing.rst").read_text(encoding="utf-8")
    for name, message in (SENT | CAME).items():
        true(f"the document has {name}", f"``{name}``" in text and f"/{message}``" in text)


TESTS = (
    ("the counters of ib_cm, beside ours", counters, True),
)
