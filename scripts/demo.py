#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The traffic of scripts/quickstart.

Four devices publish through biplane to the cloud broker: three mosquitto_pub (MQTT 3.1.1 and 5) and
one paho-mqtt client (MQTT 5, topic aliases). A mosquitto_sub subscribes at the cloud broker and one at
the edge broker. Prints one line for each publication; with --summary, the results in five lines.
"""

import json
import random
import statistics
import subprocess
import sys
import threading
import time

from demo_lab import BIPLANE, PREFIX, STATE, colour, in_ns, inside

RESULT = STATE / "demo.json"
CLOUD = "10.99.0.2"
THRESHOLD = 80.0
PATIENCE = 10  # timeout of a message, s; then it counts as lost


class Subscriber:
    """mosquitto_sub in a namespace; notes for each topic when its messages arrived."""

    def __init__(self, ns, topics, arrived):
        argv = in_ns(ns, "stdbuf", "-oL", "mosquitto_sub", "-h", "127.0.0.1", "-q", "1", "-F", "%U %t %p")
        for t in (*topics, "ready"):
            argv += ["-t", t]
        self.ns, self.ready, self.arrived = ns, threading.Event(), arrived
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()
        end = time.monotonic() + PATIENCE
        while not self.ready.wait(0.1):
            if time.monotonic() > end:
                raise SystemExit(f"quickstart: no answer from the broker in {PREFIX}{ns}")
            subprocess.run(in_ns(ns, "mosquitto_pub", "-h", "127.0.0.1", "-t", "ready", "-m", "1"), check=False)

    def _read(self):
        for line in self.process.stdout:
            when, topic, payload = line.rstrip("\n").split(" ", 2)
            if topic == "ready":
                self.ready.set()
            else:
                self.arrived(self.ns, topic, payload, float(when))

    def close(self):
        self.process.terminate()
        self.process.wait()


class MosquittoPub:
    def __init__(self, topic, version, qos):
        self.topic, self.label = topic, f"mosquitto_pub, MQTT {version}, QoS {qos}"
        flag = {"3.1.1": "mqttv311", "5": "mqttv5"}[version]
        self.process = subprocess.Popen(in_ns("dev", "mosquitto_pub", "-h", CLOUD, "-V", flag, "-q", str(qos),
                                              "-t", topic, "-i", topic.split("/")[1], "-l"),
                                        stdin=subprocess.PIPE, text=True)

    def publish(self, value):
        self.process.stdin.write(value + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


class Paho:
    def __init__(self, topic):
        import paho.mqtt.client as mqtt
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        self.topic, self.label = topic, "paho-mqtt, MQTT 5, QoS 2, topic alias"
        api = [mqtt.CallbackAPIVersion.VERSION2] if hasattr(mqtt, "CallbackAPIVersion") else []  # Debian 12 has paho-mqtt 1.6
        self.client = mqtt.Client(*api, topic.split("/")[1], protocol=mqtt.MQTTv5)
        self.properties = Properties(PacketTypes.PUBLISH)
        self.properties.TopicAlias = 1
        with inside("dev"):
            self.client.connect(CLOUD)
            self.client.loop_start()

    def publish(self, value):
        self.client.publish(self.topic, value, 2, properties=self.properties)

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()


class Show:
    """Matches arrivals with publications (a topic's messages keep their order) and prints them."""

    def __init__(self):
        self.lock, self.begin = threading.Lock(), time.time()
        self.wait = {"cloud": {}, "edge": {}}
        self.published, self.surplus = [], []

    def publish(self, device, value):
        p = {"topic": device.topic, "value": value, "time": time.time(), "due": float(value) > THRESHOLD}
        with self.lock:
            self.wait["cloud"].setdefault(device.topic, []).append(p)
            if p["due"]:
                self.wait["edge"].setdefault(f"alarm/{device.topic}", []).append(p)
            self.published.append(p)
        device.publish(value)

    def arrived(self, ns, topic, payload, when):
        with self.lock:
            waiting = self.wait[ns].get(topic)
            if not waiting or not same(ns, payload, waiting[0]):
                self.surplus.append((ns, topic, payload))
                print(colour(31, f"  unexpected at the {ns} broker: {topic} {payload}"))
                return
            p = waiting.pop(0)
            p[ns] = when - p["time"]
            if "cloud" in p and (not p["due"] or "edge" in p):
                self.line(p)

    def line(self, p):
        at = p["time"] - self.begin
        text = f"  {at:5.1f} s  {p['topic']:24} {p['value']:>6}   --> cloud {p['cloud'] * 1e3:6.2f} ms"
        if p["due"]:
            text += colour("1;31", f"   ALARM --> edge {p['edge'] * 1e3:6.2f} ms")
        print(text, flush=True)

    def complete(self):
        with self.lock:
            return not any(q for ns in self.wait.values() for q in ns.values())


def same(ns, payload, p):
    """Whether the expected messages arrived: the payload at the cloud broker, an envelope at the edge broker."""
    if ns == "cloud":
        return payload == p["value"]
    try:
        a = json.loads(payload)
    except ValueError:
        return False
    return a.get("topic") == p["topic"] and a.get("value") == float(p["value"]) and a.get("state") == "raised"


def traffic(seconds):
    rng, show = random.Random(), Show()
    subscribers = [Subscriber("cloud", ["plant/#"], show.arrived), Subscriber("edge", ["alarm/#"], show.arrived)]
    devices = [MosquittoPub("plant/oven1/temperature", "3.1.1", 0), MosquittoPub("plant/oven2/temperature", "3.1.1", 1),
               MosquittoPub("plant/kiln/temperature", "5", 1), Paho("plant/press/temperature")]
    try:
        for d in devices:
            print(f"  {d.topic:24} {d.label}")
        print(f"  {'':24} an alarm is due above {THRESHOLD:g}\n")
        heat = {d.topic: rng.uniform(70, 78) for d in devices}
        end = time.time() + seconds
        while time.time() < end:
            d = devices[len(show.published) % len(devices)]
            heat[d.topic] = min(95, max(60, heat[d.topic] + rng.gauss((77 - heat[d.topic]) / 8, 3)))
            show.publish(d, f"{heat[d.topic]:.1f}")
            time.sleep(0.2)
        for d in devices:  # the last value of each is over the threshold, so that it raises an alarm
            show.publish(d, "85.5")
        end = time.time() + PATIENCE
        while not show.complete() and time.time() < end:
            time.sleep(0.02)
    finally:
        for d in devices:
            d.close()
        for s in subscribers:
            s.close()
    RESULT.write_text(json.dumps({"published": show.published, "surplus": show.surplus}))


def show(what):
    p = subprocess.run([BIPLANE, "show", what, "-c", str(STATE / "biplane.yaml"), "--json"], stdout=subprocess.PIPE, check=True)
    return json.loads(p.stdout)


def forwarding():
    """Frames received and sent by all ports, and frames dropped."""
    ports = show("ports")["ports"]
    drops = sum(c["count"] for c in show("counters")["counters"] if c["group"] == "drop")
    return sum(p["rx_packets"] for p in ports), sum(p["tx_packets"] for p in ports), drops


def summary():
    result = json.loads(RESULT.read_text())
    sent, surplus = result["published"], result["surplus"]
    due = [p for p in sent if p["due"]]
    cloud = len([p for p in sent if "cloud" in p]) + len([s for s in surplus if s[0] == "cloud"])
    edge = len([p for p in due if "edge" in p]) + len([s for s in surplus if s[0] == "edge"])
    right = not surplus and cloud == len(sent) and edge == len(due)

    def median(ns, among):
        times = [p[ns] * 1e3 for p in among if ns in p]
        return f"{statistics.median(times):.2f} ms" if times else "-"
    received, forwarded, dropped = forwarding()
    print(f"  MQTT messages   {cloud} of {len(sent)} reached the cloud broker    median delay {median('cloud', sent)}")
    print(f"  alarms          {edge} of {len(due)} reached the edge broker     median delay {median('edge', due)}, measurement above {THRESHOLD:g} to alarm")
    print(f"  unexpected      {len(surplus)} messages or alarms")
    print(f"  frames          {received} received, {forwarded} sent, {dropped} dropped")
    print(colour("1;32", "  result          ok") if right else colour("1;31", "  result          FAILED: the first two lines must be complete, the third 0"))
    return 0 if right else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["--summary"]:
        sys.exit(summary())
    try:
        traffic(float(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(130)
