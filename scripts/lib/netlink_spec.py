# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Reads the specification of the netlink family, Documentation/netlink/specs/rdma_cm_alt.yaml, and makes its header and
the policy that the tool reads its messages with.

The table of operations in kernel/diag/netlink.c is written by hand: the kernel's generator (tools/net/ynl) makes one
without a policy, as requests have no attributes, so that any would be accepted, and without the functions that start and
end a dump, of a struct that Linux 6.1 does not have.
"""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
SPEC = ROOT / "Documentation/netlink/specs/rdma_cm_alt.yaml"
HEADER = ROOT / "uapi/rdma/rdma_cm_alt_netlink.h"
POLICY = ROOT / "userspace/tool/core/netlink_policy.h"
TABLE = ROOT / "kernel/diag/netlink.c"
WIDTH = 100


def constant(*words: str) -> str:
    """The name of a constant in C."""
    return "".join(words).replace("-", "_").upper()


class Spec:
    """The specification, as C has it: names of constants, in the order of their numbers."""

    def __init__(self) -> None:
        self.yaml: dict[str, Any] = yaml.safe_load(SPEC.read_text())
        self.attributes = self.yaml["attribute-sets"][0]
        self.operations = self.yaml["operations"]
        self.group = self.yaml["mcast-groups"]["list"][0]

    def attribute(self, name: str) -> str:
        """The constant of an attribute."""
        return constant(self.attributes["name-prefix"], name)

    def operation(self, name: str) -> str:
        """The constant of a command."""
        return constant(self.operations["name-prefix"], name)

    def messages(self) -> dict[str, list[str]]:
        """The attributes that the messages of each command may have, as constants."""
        found = {}
        for one in self.operations["list"]:
            names = (one["event"] if "event" in one else one["dump"]["reply"])["attributes"]
            found[self.operation(one["name"])] = [self.attribute(name) for name in names]
        return found


def typed(attribute: dict) -> str:
    """What the comment says of an attribute: its type and its meaning."""
    kind, doc = attribute["type"], attribute.get("doc", "")
    if kind == "nest":
        kind = "nest, repeated" if attribute.get("multi-attr") else "nest"
    elif kind == "binary":
        size = attribute.get("checks", {}).get("exact-len")
        kind = f"{attribute['sub-type']}[]" if "sub-type" in attribute else f"{size} bytes" if size else ""
    elif kind in ("unused", "pad"):
        kind = ""
    return ": ".join(filter(None, (kind, doc)))


def member(name: str, text: str) -> str:
    """A line of a comment, and those that continue it."""
    lines = textwrap.wrap(f"@{name}: {text}", WIDTH, initial_indent=" * ", subsequent_indent=" *" + " " * 6,
                          break_on_hyphens=False)
    return "\n".join(line.replace(" *" + " " * 6, " *\t") for line in lines)


def enum(name: str, about: str, members: dict[str, str], most: str) -> Iterator[str]:
    """An enum with its comment."""
    yield "/**"
    yield f" * enum {name} - {about}"
    yield from (member(*one) for one in members.items())
    yield " */"
    yield f"enum {name} {{"
    yield from (f"\t{one}," for one in members)
    yield "\t/* private: */"
    yield f"\t__{most},"
    yield f"#define {most} (__{most} - 1)"
    yield "};"
    yield ""


def header(spec: Spec) -> Iterator[str]:
    """The header, in parts of one or more lines."""
    attributes, operations = spec.attributes, spec.operations
    yield "/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */"
    yield "/*"
    yield f" * Generated from {SPEC.relative_to(ROOT)}; do not edit it."
    for paragraph in spec.yaml["doc"].splitlines():
        yield " *"
        yield from textwrap.wrap(paragraph, WIDTH, initial_indent=" * ", subsequent_indent=" * ")
    yield " */"
    yield "#ifndef RDMA_CM_ALT_NETLINK_H"
    yield "#define RDMA_CM_ALT_NETLINK_H"
    yield ""
    yield f"#define {spec.yaml['c-family-name']}\t\"{spec.yaml['name']}\""
    yield f"#define {spec.yaml['c-version-name']}\t{spec.yaml.get('version', 1)}"
    yield ""
    group = constant(spec.group["c-define-name"])
    sent = [spec.operation(one["name"]) for one in operations["list"] if "event" in one]
    yield f"/** {group} - the multicast group of {' and '.join(sent)}; needs CAP_NET_ADMIN */"
    yield f"#define {group}\t\"{spec.group['name']}\""
    yield ""
    yield from enum("rdma_cm_alt_nl_cmd", "commands", {spec.operation("unspec"): "none"} | {
        spec.operation(one["name"]): f"{'dump' if 'dump' in one else 'message to the multicast group'}: {one['doc']}"
        for one in operations["list"]}, spec.operation("max"))
    yield from enum("rdma_cm_alt_nl_attr", attributes["doc"],
                    {spec.attribute(one["name"]): typed(one) for one in attributes["attributes"]},
                    spec.attribute("max"))
    yield "#endif /* RDMA_CM_ALT_NETLINK_H */"


def policy(spec: Spec) -> Iterator[str]:
    """The types that a reader of messages expects, line by line. Those of libnl have no sign."""
    types = {"u64": "U64", "u32": "U32", "s32": "U32", "string": "STRING", "nest": "NESTED"}
    yield "/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */"
    yield "/*"
    yield f" * Generated from {SPEC.relative_to(ROOT)}; do not edit it."
    yield " *"
    yield " * In libnl, NLA_STRING requires the terminating NUL. Attributes that are not listed have"
    yield " * other types, whose lengths are checked where they are read."
    yield " */"
    yield "#ifndef NETLINK_POLICY_H"
    yield "#define NETLINK_POLICY_H"
    yield ""
    yield "#include <netlink/attr.h>"
    yield "#include <rdma/rdma_cm_alt_netlink.h>"
    yield ""
    yield "static const struct nla_policy policy[RDMA_CM_ALT_NL_A_MAX + 1] = {"
    yield from (f"\t[{spec.attribute(one['name'])}] = {{ .type = NLA_{types[one['type']]} }},"
                for one in spec.attributes["attributes"] if one["type"] in types)
    yield "};"
    yield ""
    yield "#endif"


def generated() -> dict[Path, str]:
    """The files that are made of the specification."""
    spec = Spec()
    return {HEADER: "\n".join(header(spec)) + "\n", POLICY: "\n".join(policy(spec)) + "\n"}


def table(spec: Spec) -> set[tuple[str, bool]]:
    """The dumps of the specification, and whether they need CAP_NET_ADMIN in the first user namespace."""
    return {(spec.operation(one["name"]), "admin-perm" in one.get("flags", []))
            for one in spec.operations["list"] if "dump" in one}


def differences() -> list[str]:
    """How the generated files and the table of operations differ from the specification."""
    spec = Spec()
    bad = []
    for path, made in generated().items():
        bad += difflib.unified_diff(path.read_text().splitlines(), made.splitlines(), path.name, SPEC.name, lineterm="")
    rows = re.findall(r"\{ \.cmd = (\w+), (\.flags = GENL_ADMIN_PERM, )?", TABLE.read_text())
    for name, admin in sorted(table(spec) ^ {(name, bool(flags)) for name, flags in rows}):
        bad.append(f"{TABLE.name} and {SPEC.name} differ: {name}{' with CAP_NET_ADMIN' if admin else ''}")
    return bad
