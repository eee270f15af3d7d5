# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The test runner: boots guests, runs suites in them and on the host, and reports the results."""
