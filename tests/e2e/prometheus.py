# SPDX-License-Identifier: BSD-3-Clause
"""A Prometheus in the gateway's namespace, and its API."""

import http.client
import json
import re
import subprocess
import urllib.parse
from pathlib import Path

from lab import ROOT, wait_until

PORT = 9095
RULES = ROOT / "install" / "prometheus" / "biplane.rules.yml"
DASHBOARD = ROOT / "install" / "grafana" / "biplane.json"


def hasty(text):
    """The rules with short times, so that a test need not wait for minutes."""
    text = re.sub(r"_age_seconds > 10", "_age_seconds > 2", re.sub(r"unreachable_seconds > 60", "unreachable_seconds > 1", text))
    return re.sub(r"\[\d+m\]", "[10s]", re.sub(r"for: \w+", "for: 1s", text))


class Prometheus:
    def __init__(self, lab, directory, target="127.0.0.1:9464", rules=None, ns="gw"):
        self.lab, self.ns, self.dir = lab, ns, Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
                  "scrape_configs": [{"job_name": "biplane", "static_configs": [{"targets": [target]}]}]}
        if rules:
            (self.dir / "rules.yml").write_text(rules)
            config["rule_files"] = ["rules.yml"]
        (self.dir / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        self.log = self.dir / "log"
        with self.log.open("wb") as log:
            self.process = lab.popen(ns, "prometheus", f"--config.file={self.dir}/prometheus.yml",
                                     f"--storage.tsdb.path={self.dir}/data", f"--web.listen-address=127.0.0.1:{PORT}",
                                     stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def get(self, path, **parameters):
        with self.lab.inside(self.ns):
            c = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
            c.connect()
        try:
            c.request("GET", f"/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
            answer = json.loads(c.getresponse().read())
        finally:
            c.close()
        assert answer["status"] == "success", f"{parameters}: {answer}\n{self.log.read_text()}"
        return answer["data"]

    def query(self, expression, **parameters):
        """[(labels, value)] of an instant query."""
        return [(r["metric"], float(r["value"][1])) for r in self.get("query", query=expression, **parameters)["result"]]

    def value(self, expression, **parameters):
        """That of the only series, None without one."""
        series = self.query(expression, **parameters)
        assert len(series) <= 1, f"{expression}: {series}"
        return series[0][1] if series else None

    def alerts(self):
        """{name: [labels]} of those that fire."""
        firing = {}
        for a in self.get("alerts")["alerts"]:
            if a["state"] == "firing":
                firing.setdefault(a["labels"]["alertname"], []).append(a["labels"])
        return firing

    def fires(self, name, **labels):
        """Waits until this alert fires with these labels."""
        def now():
            return any(labels.items() <= found.items() for found in self.alerts().get(name, ()))
        wait_until(f"alert {name} {labels}", now, 60, 0.3)

    def quiet(self, *names):
        wait_until(f"the end of {names}", lambda: not set(names) & set(self.alerts()), 60, 0.3)

    def wait_scraped(self):
        def healthy():
            assert self.process.poll() is None, self.log.read_text()
            try:
                targets = self.get("targets")["activeTargets"]
            except (OSError, ValueError):  # a text: it is starting
                return False
            errors = [t["lastError"] for t in targets if t["lastError"]]
            return targets and not errors and all(t["health"] == "up" for t in targets)
        wait_until("Prometheus to scrape the gateway", healthy, 60, 0.2)
        return self

    def __enter__(self):
        return self.wait_scraped()

    def __exit__(self, *exc):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
