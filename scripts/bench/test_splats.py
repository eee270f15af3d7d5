# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of the search for splats."""

import re
import unittest

from .splats import find, trace


class SplatsTest(unittest.TestCase):
    def test_known_splats_are_found(self) -> None:
        for text in ("WARNING: CPU: 1 PID: 7 at kernel/x.c:1 f+0x1/0x2",
                     "BUG: KASAN: slab-use-after-free in f+0x1/0x2",
                     "WARNING: possible circular locking dependency detected",
                     "INFO: task rping:12 blocked for more than 240 seconds.",
                     "refcount_t: underflow; use-after-free.",
                     "UBSAN: shift-out-of-bounds in x.c:1:2",
                     "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
                     "unregister_netdevice: waiting for d0 to become free. Usage count = 2",
                     "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
                     "BUG rca_id (Not tainted): Objects remaining in rca_id on __kmem_cache_shutdown()"):
            with self.subTest(text):
                self.assertEqual(find(f"[    1.5] {text}\n", []), [text])

    def test_ordinary_lines_are_not(self) -> None:
        log = ("[    0.7] kasan: KernelAddressSanitizer initialized\n"
               "[    1.0] FAULT_INJECTION: forcing a failure.\n[    1.0] Call Trace:\n"
               "[    2.0] debug: hello\n[    2.0] rdma_cm_alt: warning level 3\n")
        self.assertEqual(find(log, []), [])

    def test_allowed_lines_are_left_out(self) -> None:
        self.assertEqual(find("[    1.5] WARNING: old news\n", [re.compile("old news")]), [])

    def test_the_same_text_counts_once(self) -> None:
        self.assertEqual(find("[    1.5] BUG: a\n[    1.6][ T12] BUG: a\n", []), ["BUG: a"])

    def test_a_trace_begins_with_the_first_splat(self) -> None:
        log = ("[    0.1] booted\n[    1.0] a\n[    1.5] b\n[    2.0] Oops: double fault: 0000 [#1]\n"
               "[    2.0] Modules linked in: x\n[    2.0] RIP: 0010:f+0x1/0x2\n[    2.0] Call Trace:\n")
        self.assertEqual(trace(log, []),
                         "a\nb\nOops: double fault: 0000 [#1]\nRIP: 0010:f+0x1/0x2\nCall Trace:")
        self.assertEqual(trace("[    1.0] a\n", []), "")
