# SPDX-License-Identifier: BSD-3-Clause
"""A client without the right to publish on the topics that rules watch, and a mosquitto with an ACL, which refuses
each of its publications with reason code 0x87 (not authorized): one alarm a connection, and with mqtt.evaluate
acknowledged none."""

import json
import subprocess

import pytest

from conftest import config_for, overheat
from lab import CLOUD, wait_until
from peers import Publisher

PORT = 1884


@pytest.fixture(scope="module")
def strict_broker(lab, tmp_path_factory):
    """A further broker in the cloud: plant/allowed/temperature may be published there, and nothing else."""
    d = tmp_path_factory.mktemp("acl")
    (d / "acl").write_text("topic write plant/allowed/temperature\n")
    (d / "conf").write_text(f"listener {PORT} 0.0.0.0\nallow_anonymous true\nacl_file {d}/acl\nuser root\n"
                            "persistence false\nlog_dest none\n")
    p = lab.popen("cloud", "mosquitto", "-c", d / "conf", stdin=subprocess.DEVNULL)
    try:
        wait_until("the broker to listen", lambda: f":{PORT} ".encode() in lab.run("cloud", "ss", "-tlnH").stdout)
        yield
    finally:
        p.terminate()
        p.wait()


@pytest.mark.parametrize("qos", (1, 2))
@pytest.mark.parametrize("evaluate", ("published", "acknowledged"))
def test_refused_publications(lab, strict_broker, gateway, collect, evaluate, qos):
    g = gateway(config_for(rules=[overheat(payload="envelope")], tcp_ports=[1883, PORT], evaluate=evaluate))
    edge = collect("edge", ("alarm/#",))
    connections, each = 3, 4
    reasons = []
    for n in range(connections):
        p = Publisher(lab, CLOUD, version="5", port=PORT)
        p.client.on_publish = lambda client, data, mid, reason, properties: reasons.append(reason.value)
        for _ in range(each):
            p.publish("plant/denied/temperature", "91", qos).wait_for_publish(30)
        p.finish([p.publish("plant/allowed/temperature", f"92.{n}", qos)])
    if qos == 1:  # with QoS 2 paho reports the reason code of PUBCOMP
        assert [r >= 0x80 for r in reasons] == ([True] * each + [False]) * connections
    edge.wait_count(connections + (connections if evaluate == "published" else 0))
    topics = [json.loads(payload)["topic"] for _, payload in edge.messages]
    assert topics.count("plant/allowed/temperature") == connections
    assert topics.count("plant/denied/temperature") == (connections if evaluate == "published" else 0)
    assert g.counter("alarms_raised") == len(topics)
    assert g.counter("publishes_refused") == connections * each
    assert g.counter("publishes_refused_late") == (connections if evaluate == "published" else 0)
    wait_until("a fault of the gateway",
               lambda: any(f["fault"] == "publications_refused" and f["total"]["count"] == connections * each
                           for f in g.show("health")["faults"]))
    assert "publications refused by a broker" in g.log.read_text()
    g.balanced()
