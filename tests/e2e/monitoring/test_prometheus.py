# SPDX-License-Identifier: BSD-3-Clause
"""A real Prometheus scrapes a gateway under load: values and rates are those of biplane show, the queries of the dashboard
return series, and alerts fire."""

import json
import re
import os
import shutil
import signal
import time

import pytest

from conftest import config_for
from frames import LOCAL_ETHERTYPE, Wire, ethernet
from lab import CLOUD, MAC, port_devices, wait_until
from load import Load
from peers import Expected
from prometheus import DASHBOARD, RULES, Prometheus, hasty

pytestmark = pytest.mark.skipif(not shutil.which("prometheus"), reason="needs the package prometheus")

LISTEN = "127.0.0.1:9464"
SERVICES = {
    "aggregation": {"encapsulate": [{"port": "devices", "to": {"address": CLOUD, "udp_port": 5555}, "max_messages": 4}],
                    "decapsulate": [{"port": "cloud", "to": {"address": CLOUD, "udp_port": 5556},
                                     "allowed_senders": ["10.99.0.0/24"]}]},
    "transform": {"entries": [{"port": "devices", "udp_port": 10000, "sources": [
        {"address": "10.99.0.77", "receivers": [{"address": CLOUD, "mac": MAC["cloud"], "udp_port": 20000,
                                                 "matrix": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]}]}]}]},
    "lcl": {"ports": [{"port": "cloud", "slot": "1ms", "queues": 4, "link_rate": "1Gbps"}]},
    "sampling": [{"name": "local", "match": {"port": "devices", "ethertype": LOCAL_ETHERTYPE}, "one_in": 10, "mirror": "edge"}],
}


def config(tmp_path, **sections):
    return {**config_for(spool=tmp_path / "spool.db"), "monitoring": {"listen": LISTEN}, **sections}


@pytest.fixture
def prometheus(lab, tmp_path):
    running = []

    def start(**kw):
        p = Prometheus(lab, tmp_path / f"prometheus{len(running)}", LISTEN, **kw)
        running.append(p)
        return p.wait_scraped()
    yield start
    for p in running:
        p.stop()


def port(g, name):
    return next(p for p in g.show("ports")["ports"] if p["name"] == name)


def test_values_and_rates_are_those_of_show(lab, gateway, prometheus, tmp_path):
    g = gateway(config(tmp_path))
    p = prometheus()
    load = Load(lab, Expected(), rate=200)
    load.go_on(400)
    # the increase between two moments, by both
    before, began = g.counter("publishes"), time.time()
    load.go_on(1600)
    after, ended = g.counter("publishes"), time.time()
    seconds = ended - began
    wait_until("a scrape after that", lambda: p.value("timestamp(biplane_mqtt_publishes_total)") > ended)
    rate = p.value(f"rate(biplane_mqtt_publishes_total[{round(seconds)}s])", time=ended)
    assert rate == pytest.approx((after - before) / seconds, rel=0.2)
    assert p.value('rate(biplane_port_rx_packets_total{port="devices"}[5s])', time=ended) > rate / 2
    load.finish()
    wait_until("all alarms to be acknowledged", lambda: g.status()["alarms"]["acknowledged"] == load.n, 60)

    def same():
        """At rest each value is that of show."""
        return {q: (p.value(q), v) for q, v in {
            'biplane_port_rx_packets_total{port="devices"}': port(g, "devices")["rx_packets"],
            'biplane_port_rx_bytes_total{port="devices"}': port(g, "devices")["rx_bytes"],
            'biplane_port_tx_packets_total{port="cloud"}': port(g, "cloud")["tx_packets"],
            "biplane_mqtt_publishes_total": g.counter("publishes"),
            "biplane_alarms_raised_total": load.n,
            'biplane_rule_alarms_raised_total{rule="overheat"}': g.show("rules")["rules"][0]["raised"],
            'biplane_publisher_alarms_acknowledged_total{destination="mqtt"}': load.n,
            'biplane_alarm_latency_seconds_count{destination="mqtt",stage="total"}': load.n,
            'biplane_frames_total{outcome="sent"}': g.show("drops")["tx"],
            "sum(biplane_drops_total)": g.show("drops")["drops"] + sum(
                x[k] for x in g.show("ports")["ports"] for k in ("hw_missed", "hw_rx_errors", "hw_tx_errors", "hw_rx_no_mbuf")),
            'biplane_table_entries{table="connections"}': g.show("connections")["total"],
            "biplane_build_info": 1,
            'biplane_plane_up{plane="dataplane"}': 1,
            'biplane_publisher_connected{destination="mqtt"}': 1,
        }.items()}
    last = {}

    def settled():
        last.update(same())
        return all(seen == expected for seen, expected in last.values())
    try:
        wait_until("the values of show", settled, 30, 0.5)
    except AssertionError as e:
        raise AssertionError(f"{e}: { {q: v for q, v in last.items() if v[0] != v[1]} }") from None
    latency = next(s for s in g.show("latency")["stages"] if s["stage"] == "total")
    assert p.value('biplane_alarm_latency_seconds_sum{destination="mqtt",stage="total"}') == pytest.approx(latency["avg_ns"] * latency["count"] / 1e9, rel=0.01)
    for plane in ("dataplane", "controlplane"):
        assert p.value(f'biplane_plane_cpu_seconds_total{{plane="{plane}"}}') > 0
        assert p.value(f'biplane_plane_resident_bytes{{plane="{plane}"}}') > 1 << 20
    # negotiated: Prometheus asks for OpenMetrics, and has the types and units of all families
    metadata = p.get("metadata")
    assert metadata["biplane_port_rx_bytes"][0]["type"] == "counter" and metadata["biplane_port_rx_bytes"][0]["unit"] == "bytes"
    assert metadata["biplane_build"][0]["type"] == "info"
    assert g.stop() == 0


def queries():
    """(panel, query) of the dashboard."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"].replace("$instance", ".+").replace("$__rate_interval", "10s")


# Without a service or a driver that has them; those of routing and health: test_routed.py.
NOT_HERE = re.compile(r"biplane_(netlink|health|table_entries\{[^}]*routes|port_speed)")


def test_queries_of_the_dashboard_return_series(lab, gateway, prometheus, tmp_path):
    ports = port_devices("af_packet")
    ports[2]["routed"] = {"host_interface": {"backend": "off"}} # for mirrored frames
    whole = config(tmp_path, ports=ports, bridges=[{"name": "bridge0", "ports": ["devices", "cloud"]}],
                   fleet={"name": "plant", "state": {"server": "redis://127.0.0.1:9"}}, # its series exist without an answer
                   log={"events": str(tmp_path / "events.json")}, **SERVICES)
    whole["mqtt"]["policy"] = {"rules": [{"name": "commands", "packet": "publish", "topic": "cmd/#", "action": "observe"}]}
    g = gateway(whole)
    p = prometheus()
    load = Load(lab, Expected(), rate=100)
    wire = Wire(lab, "edge")
    wire.send(ethernet(MAC["cloud"], MAC["edge"], LOCAL_ETHERTYPE, bytes(50)))  # for another station than the routed port
    wire.close()
    load.go_on(500)
    wait_until("a drop", lambda: p.value('biplane_port_drops_total{port="edge",reason="dst_mac_mismatch"}'))
    wait_until("two scrapes", lambda: (p.value("count_over_time(biplane_up[10s])") or 0) >= 3)
    empty, seen = [], 0
    for title, query in queries():
        seen += 1
        # without a threshold, so that there are series where nothing is wrong
        if not p.query(re.sub(r" (> 0|== 1)$", "", query)) and not NOT_HERE.search(query):
            empty.append(f"{title}: {query}")
    for name in sorted(set(re.findall(r"biplane_\w+", RULES.read_text()))):
        if not p.query(name) and not NOT_HERE.search(name) and name not in ("biplane_fib_rejected_total",):
            empty.append(f"alert rules: {name}")
    load.finish()
    assert seen > 80
    assert not empty, "\n".join(empty)
    assert g.stop() == 0


def test_alerts_of_a_gateway(lab, gateway, prometheus, tmp_path):
    bridge = {"name": "bridge0", "ports": ["devices", "cloud", "edge"], "fdb_max_entries": 16}
    whole = {**config(tmp_path, bridges=[bridge]), "monitoring": {"listen": LISTEN, "poll_gap_warning": "20ms"}}
    whole["mqtt"]["max_rules"] = len(whole["mqtt"]["rules"])
    g = gateway(whole)
    p = prometheus(rules=hasty(RULES.read_text()))

    fires, quiet = p.fires, p.quiet
    rules = [r for group in p.get("rules")["groups"] for r in group["rules"]]
    assert len(rules) > 15
    wait_until("the evaluation of all rules", lambda: all(
        r["health"] == "ok" for group in p.get("rules")["groups"] for r in group["rules"]), 30, 0.3)
    quiet("BiplaneScrapeFailed", "BiplanePlaneDown", "BiplanePortDown", "BiplaneBrokerUnreachable", "BiplaneFault")

    # a table that accepts no more, and the FDB, which replaces addresses of a port: full alone is no alert
    fires("BiplaneTableNearlyFull", table="rules")
    wire = Wire(lab, "dev")
    stations = [ethernet(MAC["cloud"], f"02:77:00:00:01:{i:02x}", LOCAL_ETHERTYPE, bytes(50)) for i in range(32)]

    def evicts():
        wire.send(*stations)
        return any(a["table"] == "fdb" for a in p.alerts().get("BiplaneTableEvictions", ()))
    wait_until("alert BiplaneTableEvictions", evicts, 60, 0.3)
    assert {a["table"] for a in p.alerts()["BiplaneTableNearlyFull"]} == {"rules"}

    # a link, and frames for it
    with lab.link_down("cloud"):
        fires("BiplanePortDown", port="cloud")
        fires("BiplaneFault", fault="link_down", object="cloud")

        def lost():
            wire.send(*stations * 40)  # the driver keeps some thousands
            return any(a["reason"] == "tx_down" for a in p.alerts().get("BiplaneDrops", ()))
        wait_until("alert BiplaneDrops", lost, 60, 0.3)
    quiet("BiplanePortDown", "BiplaneFault")

    # poll gaps
    pid = g.plane("data plane")["pid"]

    def stopped():
        for _ in range(4):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.05)  # the gap
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.01)
        return "BiplanePollGaps" in p.alerts()
    wait_until("alert BiplanePollGaps", stopped, 60)

    # the broker, and alarms meanwhile
    lab.broker("edge", "stop")
    try:
        fires("BiplaneBrokerUnreachable")
        load = Load(lab, Expected(), rate=50)
        try:
            fires("BiplaneSpoolGrowing")
        finally:
            load.finish()
    finally:
        lab.broker("edge", "start")
    quiet("BiplaneBrokerUnreachable", "BiplaneSpoolGrowing")

    # a reload that is refused, and a control plane that cannot start again
    good = g.file.read_text()
    assert g.reload({**g.config, "workers": 2}).returncode != 0
    fires("BiplaneReloadRefused")
    g.file.write_text("version: 1\nnonsense: true\n")
    os.kill(g.plane("control plane")["pid"], signal.SIGKILL)
    fires("BiplanePlaneDown", plane="controlplane")
    g.file.write_text(good)
    quiet("BiplanePlaneDown")
    fires("BiplanePlaneRestarted", plane="controlplane")

    assert g.stop() == 0
    fires("BiplaneScrapeFailed")
