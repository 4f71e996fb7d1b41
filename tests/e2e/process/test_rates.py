# SPDX-License-Identifier: BSD-3-Clause
"""The history of a running gateway: `biplane show rates`."""

import os
import signal

from conftest import config_for
from lab import CLOUD, wait_until
from peers import Publisher


def rates(g, *args):
    return g.show("rates", "--step", "1s", "--since", "10m", *args)


def values(view, name, **of):
    return next(s["values"] for s in view["series"] if s["name"] == name and all(s.get(k) == v for k, v in of.items()))


def total(view, name, **of):
    """What the rates of all intervals add up to."""
    return round(sum(r * s for r, s in zip(values(view, name, **of), view["seconds"]) if r is not None), 1)


def publish(lab, n):
    p = Publisher(lab, CLOUD, client_id="oven-7")
    p.finish([p.publish("plant/oven/temperature", str(81 + i), 1) for i in range(n)])


def test_rates_add_up_to_the_counters(lab, gateway):
    g = gateway(config_for())
    publish(lab, 20)
    wait_until("the alarms to be acknowledged", lambda: g.status()["alarms"]["acknowledged"] == 20)
    wait_until("the alarms in the history", lambda: total(rates(g), "alarms_acknowledged") == 20)
    view = rates(g)
    assert total(view, "publishes") == total(view, "matches") == total(view, "alarms_raised") == 20
    assert any(v for v in values(view, "alarm_delay_p99"))
    assert all(0 <= v <= 1 for v in values(view, "busy", worker=0) + values(view, "sleep", worker=0))
    assert max(values(view, "busy", worker=0)) > 0
    assert max(values(view, "connections")) >= 1

    def received():
        return next(p["rx_packets"] for p in g.show("ports")["ports"] if p["name"] == "devices")
    # the first sample is at the start, when the counters are 0
    wait_until("the rates to add up to the counter of the port", lambda: received() == total(rates(g), "rx_packets", port="devices"))
    assert received() > 0
    assert view["restarted"] == [False] * len(view["times"])
    text = g.command("show", "rates", "-c", g.identity, "--step", "1s").stdout
    assert "RX-PKT/S" in text and "alarm_delay_p50" in text
    wrong = g.command("show", "ports", "-c", g.identity, "--since", "1m")
    assert wrong.returncode == 64 and "--since and --step are for rates" in wrong.stderr


def test_a_stalled_data_plane_and_a_restart_are_visible(lab, gateway):
    g = gateway(config_for())
    pid = g.plane("data plane")["pid"]
    wait_until("two samples", lambda: len(rates(g)["times"]) >= 1)
    newest = rates(g)["times"][-1]
    os.kill(pid, signal.SIGSTOP)
    try:
        # below the timeout of the watchdog, 10 s
        wait_until("no heartbeat for 4 s", lambda: g.status()["planes"][0]["heartbeat_age_s"] >= 4)
    finally:
        os.kill(pid, signal.SIGCONT)
    view = wait_until("a missed sample", lambda: (v := rates(g)) and sum(v["missed"]) >= 2 and v)
    at = next(i for i, n in enumerate(view["missed"]) if n >= 2)
    assert view["seconds"][at] >= 3 and view["times"][at] > newest
    assert values(view, "drops")[at] is not None

    publish(lab, 3)
    wait_until("the publications in the history", lambda: total(rates(g), "publishes") == 3)
    g.kill_plane("data plane")
    g.wait_ready()
    view = wait_until("the restart in the history", lambda: (v := rates(g)) and sum(v["restarted"]) == 1 and v)
    at = view["restarted"].index(True)
    assert values(view, "publishes")[at] is None and values(view, "rx_bytes", port="cloud")[at] is None
    # the samples of the data plane before are still there
    assert total(view, "publishes") == 3
    publish(lab, 2)
    wait_until("the publications in the history", lambda: total(rates(g), "publishes") == 5)
    assert "data plane restarted" in g.command("show", "rates", "-c", g.identity, "--step", "1s").stdout


def test_history_can_be_off(gateway):
    g = gateway({**config_for(), "monitoring": {"history": "off"}})
    view = g.show("rates")
    assert view["history_s"] == 0 and view["times"] == []
    assert g.command("show", "rates", "-c", g.identity).stdout == "no history: monitoring.history is off\n"
