# SPDX-License-Identifier: BSD-3-Clause
"""MQTT over WebSocket: paho as the client, mosquitto as the broker, biplane between them."""

import subprocess
import threading

import paho.mqtt.client as mqtt
import pytest

from conftest import config_for, overheat
from lab import CLOUD, wait_until

PORT = 9001


@pytest.fixture(scope="module")
def broker(lab, tmp_path_factory):
    conf = tmp_path_factory.mktemp("websocket") / "mosquitto.conf"
    # mosquitto 2.0.11 ends if it has WebSocket listeners only
    conf.write_text(f"listener 1884 127.0.0.1\nlistener {PORT}\nprotocol websockets\nallow_anonymous true\n")
    conf.chmod(0o644)
    conf.parent.chmod(0o755)
    p = lab.popen("cloud", "mosquitto", "-c", conf, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until("a listening broker", lambda: str(PORT) in lab.run("cloud", "ss", "-ltn").stdout.decode())
    yield
    p.terminate()
    p.wait(10)


@pytest.fixture(scope="module")
def gw(lab, broker, module_gateway):
    return module_gateway(config_for(websocket_ports=[PORT], rules=[overheat(payload="original")]))


class Device:
    def __init__(self, lab, version=mqtt.MQTTv311, client_id="browser", path="/mqtt"):
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=version, client_id=client_id,
                                  transport="websockets")
        self.client.ws_set_options(path=path)
        up = threading.Event()
        self.client.on_connect = lambda *a: up.set()
        with lab.inside("dev"):
            self.client.connect(CLOUD, PORT)
            self.client.loop_start()
        assert up.wait(30), "no CONNACK"

    def publish(self, payload, qos=1):
        m = self.client.publish("plant/oven1/temperature", payload, qos)
        m.wait_for_publish(30)
        assert m.is_published()

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()


def alarm_of(edge, payload):
    return wait_until(f"an alarm with {payload[:20]}", lambda: payload.encode() in [p for _, p in list(edge.messages)])


@pytest.mark.parametrize("version", [mqtt.MQTTv311, mqtt.MQTTv5])
def test_alarm_from_a_websocket(lab, gw, collect, version):
    """Publications in one frame, in a frame of several segments, and with each QoS raise their alarms."""
    edge = collect("edge", ["alarm/#"])
    device = Device(lab, version, f"browser-{version}")
    try:
        for qos in (0, 1, 2):
            device.publish(f"8{qos}.{version}", qos)
        large = f"89.{version}" + " " * 40000
        device.publish(large)
        for payload in (*(f"8{qos}.{version}" for qos in (0, 1, 2)), large):
            alarm_of(edge, payload)
        view = next(c for c in gw.show("connections")["connections"] if c["client_id"] == f"browser-{version}")
        assert view["transport"] == "websocket" and view["to_broker"] == "inspecting"
    finally:
        device.close()
    assert len(edge.messages) == 4


def test_restart_of_the_data_plane(lab, gw, collect):
    """A killed data plane: the connection continues, and so does its inspection."""
    edge = collect("edge", ["alarm/#"])
    device = Device(lab, client_id="long-lived")
    adopted = gw.counter("connections_adopted")
    try:
        device.publish("90")
        alarm_of(edge, "90")
        gw.kill_plane("data plane")
        device.publish("91")
        alarm_of(edge, "91")
        assert gw.counter("connections_adopted") > adopted
    finally:
        device.close()


def test_page_of_the_same_server(lab, gw):
    """An HTTP request that is no upgrade passes, and is listed with its reason."""
    before = gw.counter("not_inspected_websocket_upgrade")
    lab.run("dev", "curl", "-s", "-m", "10", f"http://{CLOUD}:{PORT}/", check=False)
    wait_until("a connection that is not inspected",
               lambda: gw.counter("not_inspected_websocket_upgrade") > before)
