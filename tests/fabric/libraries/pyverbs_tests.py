# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs the tests of RDMA CM that pyverbs has, as the package rdma-core has them among its documents, over soft-RoCE."""

import sys
import unittest

DOCUMENTS = "/usr/share/doc/rdma-core"
sys.path[:0] = [DOCUMENTS, f"{DOCUMENTS}/tests"]

from args_parser import parser  # noqa: E402
from tests import test_rdmacm  # noqa: E402
from tests.base import RDMATestCase  # noqa: E402


def address(case: RDMATestCase, *gid: object) -> None:
    """They look for the network device below the PCI device, which rxe0 does not have."""
    case.args.append([*gid, *case.get_ip_mac_address("d0")])


RDMATestCase._get_ip_mac = address  # pylint: disable=protected-access
parser.parse_args()
unittest.main(test_rdmacm)
