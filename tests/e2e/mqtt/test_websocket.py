# SPDX-License-Identifier: BSD-3-Clause
"""MQTT over WebSocket: paho as the client, mosquitto and RabbitMQ as the brokers, biplane between them; and a policy in front of RabbitMQ."""

import os
import shutil
import socket
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

import paho.mqtt.client as mqtt
import pytest

from browser import Browser
from conftest import config_for, overheat
from lab import CLOUD, wait_until
from peers import Client, Collector, mqtt_js

PORT = 9001
RABBIT_PORT, RABBIT_TCP_PORT = 15675, 1885


@pytest.fixture(scope="module")
def broker(lab, tmp_path_factory):
    conf = tmp_path_factory.mktemp("websocket") / "mosquitto.conf"
    # mosquitto 2.0.11 ends if it has WebSocket listeners only
    conf.write_text(f"user root\nlistener 1884 127.0.0.1\nlistener {PORT}\nprotocol websockets\nhttp_dir {conf.parent}\nallow_anonymous true\n")
    (conf.parent / "index.html").write_text("<title>devices</title>")
    conf.chmod(0o644)
    conf.parent.chmod(0o755)
    p = lab.popen("cloud", "mosquitto", "-c", conf, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until("a listening broker", lambda: str(PORT) in lab.run("cloud", "ss", "-ltn").stdout.decode())
    yield
    p.terminate()
    p.wait(10)


@pytest.fixture(scope="module")
def rabbit(lab, tmp_path_factory):
    """RabbitMQ begins to start; it takes some seconds. Its port mapper is not the one of the machine."""
    folder = tmp_path_factory.mktemp("rabbit")
    (folder / "enabled_plugins").write_text("[rabbitmq_web_mqtt].")
    (folder / "rabbitmq.conf").write_text(f"listeners.tcp = none\nmqtt.listeners.tcp.1 = 0.0.0.0:{RABBIT_TCP_PORT}\nweb_mqtt.tcp.port = {RABBIT_PORT}\nmqtt.allow_anonymous = true\nloopback_users = none\nlog.file = false\n")
    env = {**os.environ, "HOME": str(folder), "RABBITMQ_HOME": str(folder), "RABBITMQ_NODENAME": f"{lab.prefix}rabbit@localhost", "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia", "RABBITMQ_LOG_BASE": str(folder),
           "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/enabled_plugins", "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq", "RUNNING_UNDER_SYSTEMD": "1"}
    # the script in /usr/sbin becomes another user
    script, = Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*/sbin/rabbitmq-server")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": env}
    mapper = lab.popen("cloud", "epmd", **quiet)
    p = lab.popen("cloud", script, **quiet)
    yield
    for process in (p, mapper):
        process.kill()
        process.wait(10)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def gw(lab, broker, rabbit, module_gateway):
    return module_gateway(config_for(websocket_ports=[PORT, RABBIT_PORT], tcp_ports=[1883, RABBIT_TCP_PORT], rules=[overheat(payload="original")]))


class Device:
    def __init__(self, lab, version=mqtt.MQTTv311, client_id="browser", path="/mqtt", port=PORT):
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=version, client_id=client_id,
                                  transport="websockets")
        self.client.ws_set_options(path=path)
        up = threading.Event()
        self.client.on_connect = lambda *a: up.set()
        with lab.inside("dev"):
            self.client.connect(CLOUD, port)
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


# A client of MQTT as a page has it: the WebSocket is the browser's own, with its request, masks and frames.
PAGE = """
const done = arguments[arguments.length - 1], utf8 = (s) => new TextEncoder().encode(s);
const string = (s) => [utf8(s).length >> 8, utf8(s).length & 255, ...utf8(s)];
const length = (n) => { const b = []; do { b.push(n % 128 | (n >= 128 ? 128 : 0)); n = n >> 7; } while (n > 0); return b; };
const packet = (first, body) => new Uint8Array([first, ...length(body.length), ...body]);
const publish = (value) => packet(0x30, [...string("plant/browser/temperature"), ...utf8(value)]);
const ws = new WebSocket(arguments[0], ["mqtt"]);
ws.binaryType = "arraybuffer";
ws.onerror = () => done("error");
ws.onopen = () => ws.send(packet(0x10, [...string("MQTT"), 4, 2, 0, 60, ...string("chromium")]));
ws.onmessage = (m) => {
  const answer = new Uint8Array(m.data);
  if (answer[0] !== 0x20 || answer[3] !== 0) { done("refused"); return; }
  const two = [...publish("81.1"), ...publish("82.1")], cut = publish("83.1");
  ws.send(new Uint8Array(two));
  ws.send(cut.slice(0, 7));
  ws.send(cut.slice(7));
  ws.send(publish("84.1" + " ".repeat(70000)));
  window.mqtt = ws;
  done("sent");
};
"""


@contextmanager
def browser_in(lab, ns, folder):
    """Chromium in a namespace, with its driver."""
    with lab.inside(ns):
        browser = Browser(folder=folder)
        try:
            yield browser
        finally:
            browser.close()


def test_a_browser(lab, gw, collect, tmp_path):
    """Chromium's own frames: two packets in a message, a packet in two, and a message of several segments."""
    edge = collect("edge", ["alarm/#"])
    with browser_in(lab, "dev", tmp_path) as browser:
        # a page of the same server, as a browser denies one from elsewhere access to local addresses
        browser.driver.get(f"http://{CLOUD}:{PORT}/index.html")
        assert browser.driver.title == "devices"
        assert browser.driver.execute_async_script(PAGE, f"ws://{CLOUD}:{PORT}/mqtt") == "sent"
        for payload in ("81.1", "82.1", "83.1", "84.1" + " " * 70000):
            alarm_of(edge, payload)
        view = next(c for c in gw.show("connections")["connections"] if c["client_id"] == "chromium")
        assert view["transport"] == "websocket" and view["to_broker"] == "inspecting"


def wait_for_rabbit(lab, port):
    wait_until("RabbitMQ", lambda: f":{port} " in lab.run("cloud", "ss", "-ltn").stdout.decode(), 60)


def test_another_broker(lab, gw, collect):
    """RabbitMQ: other frames and another head of the answer; and it accepts compression if a client offers it."""
    wait_for_rabbit(lab, RABBIT_PORT)
    edge = collect("edge", ["alarm/#"])
    device = Device(lab, client_id="of-rabbit", path="/ws", port=RABBIT_PORT)
    try:
        large = "83" + " " * 40000
        for qos, payload in enumerate(("81", "82", large)):
            device.publish(payload, min(qos, 1))
            alarm_of(edge, payload)
        view = next(c for c in gw.show("connections")["connections"] if c["client_id"] == "of-rabbit")
        assert view["transport"] == "websocket" and view["to_broker"] == "inspecting"
    finally:
        device.close()
    before = gw.counter("not_inspected_websocket_extension")
    with lab.inside("dev"), socket.create_connection((CLOUD, RABBIT_PORT), 10) as s:
        s.sendall(f"GET /ws HTTP/1.1\r\nHost: {CLOUD}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mqtt\r\n"
                  "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n".encode())
        assert b"permessage-deflate" in s.recv(4096)
        wait_until("a compressed connection", lambda: gw.counter("not_inspected_websocket_extension") > before)


POLICY = {"rules": [
    {"name": "close", "action": "close", "packet": "publish", "topic": "plant/secret/#", "client_id": "closed*"},
    {"name": "secrets", "action": "blank", "packet": "publish", "topic": "plant/secret/#"},
    {"name": "readers", "action": "blank", "packet": "subscribe", "topic": "plant/secret/x"},
]}
QUARANTINE = "$refused/-----"  # of the length of plant/secret/x


@pytest.fixture
def policy(gw):
    before = gw.config
    assert gw.reload(before | {"mqtt": before["mqtt"] | {"policy": POLICY}}).returncode == 0
    yield
    assert gw.reload(before).returncode == 0


def test_policy_of_another_broker(lab, gw, policy):
    """RabbitMQ with refused packets: it acknowledges those that are overwritten, and loses the connection of the others."""
    wait_for_rabbit(lab, RABBIT_TCP_PORT)
    of_broker = {"lab": lab, "host": CLOUD, "port": RABBIT_TCP_PORT}
    # for RabbitMQ, # has the topics with $, too
    seen = Collector(lab, "cloud", filters=("#",), port=RABBIT_TCP_PORT, qos=1)
    c = Client(client_id="blanked", protocol=mqtt.MQTTv311, **of_broker).connected()
    assert c.subscribe([("plant/open/x", 0), ("plant/secret/x", 0)]) == [0, 0x80]
    for qos in (0, 1):
        for topic in ("plant/secret/x", "plant/open/x"):
            c.publish(topic, b"%d" % qos, qos=qos)
    wait_until("all messages", lambda: len(seen.messages) == 4 and len(c.messages) == 2)
    assert sorted(seen.messages) == sorted((topic, b"%d" % qos) for qos in (0, 1) for topic in (QUARANTINE, "plant/open/x"))
    assert {topic for topic, _ in c.messages} == {"plant/open/x"} and not c.ends
    c.close()
    topics = ["plant/open/1", "plant/secret/x", "plant/open/2"]
    assert mqtt_js(client_id="js", **of_broker) == [*(f"acknowledged {t}" for t in topics), "closed"]
    c = Client(client_id="closed", protocol=mqtt.MQTTv311, **of_broker).connected()
    c.publish("plant/open/3", "3", qos=1)
    c.client.publish("plant/secret/x", "3", qos=1)
    wait_until("the end", lambda: c.ends)
    wait_until("the allowed ones", lambda: ("plant/open/3", b"3") in seen.messages)
    assert ("plant/secret/x", b"3") not in seen.messages and (QUARANTINE, b"3") not in seen.messages
    c.close()
    seen.close()


def test_dots_in_topics_of_another_broker(lab, gw, policy):
    """For RabbitMQ, plant.secret.x is plant/secret/x: rules that refuse topics do not match it, but a default that refuses does."""
    wait_for_rabbit(lab, RABBIT_TCP_PORT)
    of_broker = {"lab": lab, "host": CLOUD, "port": RABBIT_TCP_PORT}
    seen = Collector(lab, "cloud", filters=("plant/#",), port=RABBIT_TCP_PORT, qos=1)
    c = Client(client_id="dots", protocol=mqtt.MQTTv311, **of_broker).connected()
    c.publish("plant.secret.x", "1", qos=1)
    wait_until("the publication", lambda: seen.messages == [("plant/secret/x", b"1")])
    c.close()
    rules = [{"name": "clients", "action": "allow", "packet": "connect"}, {"name": "open", "action": "allow", "topic": "plant/open/x"}]
    assert gw.reload(gw.config | {"mqtt": gw.config["mqtt"] | {"policy": {"default": "close", "rules": rules}}}).returncode == 0
    for use in (lambda c: c.client.publish("plant.secret.x", "2", qos=1), lambda c: c.client.subscribe("plant.*.x")):
        c = Client(client_id="dots", protocol=mqtt.MQTTv311, **of_broker).connected()
        c.publish("plant/open/x", "2", qos=1)
        use(c)
        wait_until("the end", lambda c=c: c.ends)
        c.close()
    wait_until("the allowed ones", lambda: len(seen.messages) == 3)
    assert {topic for topic, payload in seen.messages if payload == b"2"} == {"plant/open/x"}
    seen.close()
