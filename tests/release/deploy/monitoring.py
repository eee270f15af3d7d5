# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The dashboard of Grafana and the alert rules of Prometheus, checked with promtool."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import yaml

import metrics
from checks import EXAMPLES, HERE, ROOT, Missing, Unexpected, run

DASHBOARD = EXAMPLES / "monitoring/grafana-dashboard.json"
ALERTS = EXAMPLES / "monitoring/rdma_cm_alt-alerts.yml"
# Grafana's variables in expressions, and values for a test.
VARIABLES = {"$__rate_interval": "5m", "$instance": ".*", "$device": "rxe0|"}
PORT = 'instance="host:9100",device="rxe0",port="1"'


def promtool() -> str:
    """The path of promtool. Its package is not installed, because it would start a server."""
    found = shutil.which("promtool")
    if not found:
        # Debian 13 has it in a package of its own.
        own = subprocess.run(["apt-cache", "show", "promtool"], check=False, capture_output=True).returncode == 0
        done = subprocess.run([str(ROOT / "scripts/unpacked"), "promtool" if own else "prometheus"], text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise Missing(f"promtool: {done.stderr.strip()}")
        found = done.stdout.strip() + "/usr/bin/promtool"
    return found


def panels() -> dict[str, list[str]]:
    """The expressions of each panel, with values in place of Grafana's variables."""
    found: dict[str, list[str]] = {}
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            expression = target["expr"]
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            found.setdefault(panel["title"], []).append(expression)
    return found


def alerts() -> list[dict]:
    """The alert rules."""
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def known_names() -> None:
    """Panels, alerts and the variables of the dashboard select what the module counts."""
    variables = [variable["query"]["query"] for variable in json.loads(DASHBOARD.read_text())["templating"]["list"]
                 if variable["type"] == "query"]
    expressions = [one for several in panels().values() for one in several]
    wrong = [line for one in [*expressions, *(rule["expr"] for rule in alerts()), *variables]
             for line in metrics.unknown(one)]
    if wrong:
        raise Unexpected("\n".join(sorted(set(wrong))))


def input_series() -> list[dict[str, str]]:
    """A counter of each kind that grows, and histograms in which every value is about a millisecond."""
    grows = "0+60x120"
    series = [{"series": f'{metrics.COUNTER}{{{PORT},step="{step}"}}', "values": grows} for step in metrics.steps()]
    for span in metrics.spans():
        labels = f'{PORT},step="{span}"'
        series += [{"series": f'{metrics.BUCKET}{{{labels},le="{bound}"}}', "values": values}
                   for bound, values in (("0.000512", "0x120"), ("0.001024", grows), ("+Inf", grows))]
        series += [{"series": f"{metric}{{{labels}}}", "values": grows} for metric in (metrics.SUM, metrics.COUNT)]
    return series


def panels_show() -> None:
    """The expression of each panel is valid, and has a number as its result when the counters grow."""
    tests = [{"expr": f"count(({one}) == ({one})) > bool 0", "eval_time": "1h",
              "exp_samples": [{"labels": "{}", "value": 1}]}
             for expressions in panels().values() for one in expressions]
    if not tests:
        raise Unexpected("the dashboard has no expressions")
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "test.yml"
        file.write_text(yaml.safe_dump({"evaluation_interval": "1m", "tests": [
            {"interval": "1m", "input_series": input_series(), "promql_expr_test": tests}]}))
        run(promtool(), "test", "rules", str(file))


def alerts_fire() -> None:
    """promtool accepts the rules, and each one fires and stays silent where alerts.yml says so."""
    run(promtool(), "check", "rules", str(ALERTS))
    cases = yaml.safe_load((HERE / "alerts.yml").read_text())["tests"]
    tested = {test["alertname"] for case in cases for test in case["alert_rule_test"] if test.get("exp_alerts")}
    silent = {test["alertname"] for case in cases for test in case["alert_rule_test"] if not test.get("exp_alerts")}
    untested = [rule["alert"] for rule in alerts() if rule["alert"] not in tested & silent]
    if untested:
        raise Unexpected(f"alerts.yml does not test that these fire, and that they are silent: {' '.join(untested)}")
    with tempfile.TemporaryDirectory() as place:
        for file in (HERE / "alerts.yml", ALERTS):
            shutil.copy(file, place)
        run(promtool(), "test", "rules", f"{place}/alerts.yml")


TESTS = (("dashboard and alerts use counters that exist", known_names),
         ("each panel of the dashboard shows something", panels_show),
         ("each alert fires, and only when it should", alerts_fire))
