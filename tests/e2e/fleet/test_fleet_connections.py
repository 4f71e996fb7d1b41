# SPDX-License-Identifier: BSD-3-Clause
"""MQTT connections that move from one gateway of a fleet to another while TCP continues. Two gateways bridge the same
two networks, one of them at a time; they share their state in Redis."""

import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

from conftest import overheat
from json_doc import differences
from lab import CLOUD, EDGE_MGMT, Gateway, wait_until
from peers import Collector, Publisher

REDIS_PORT = 6379
OF_MARK = 32           # bytes of epoch and version before a record
CONNECTIONS, INTERVAL = 60, 0.1  # seconds between messages of a connection
FEVER = {"name": "fever", "topic": "fever/+", "value": "text", "raise": {"above": 80}, "clear": {"below": 75}, "repeat": "on_change",
         "publish": {"topic": "alarm/{topic}"}}
STUFFY = {"name": "stuffy", "topic": "air/+", "value": "text", "raise": {"above": 80}, "clear": {"below": 75}, "hold": "3 samples",
          "repeat": "on_change", "publish": {"topic": "alarm/{topic}"}}
PUBLISHES = 4 + 45 + 19  # where a record has the number of PUBLISH packets that were inspected


class Pair:
    """Kernel bridges br-devices and br-cloud in the gateways' namespace, to which one gateway is attached."""

    def __init__(self, lab, directory):
        self.lab = lab
        self.gateways = []
        lab.run("gw", "ip", "link", "set", "lo", "up")
        for side in ("devices", "cloud"):
            lab.run("gw", "ip", "link", "add", f"br-{side}", "type", "bridge")
            lab.run("gw", "ip", "link", "set", side, "up", "master", f"br-{side}")
            lab.run("gw", "ip", "link", "set", f"br-{side}", "up")
            for i in (1, 2):
                self.attach(side, i)
        with (directory / "redis.log").open("wb") as log:
            self.redis = lab.popen("gw", "redis-server", "--port", REDIS_PORT, "--bind", "127.0.0.1", "--save", "", "--dir", directory,
                                   stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        wait_until("Redis to answer", lambda: self.command("PING") == b"PONG")
        for i in (1, 2):
            self.gateways.append(Gateway(lab, directory / f"gw{i}", self.config(i, directory)))

    def attach(self, side, i):
        here, there = f"{side[0]}{i}", f"p{i}-{side}"
        self.lab.run("gw", "ip", "link", "add", here, "numtxqueues", 1, "numrxqueues", 1, "type", "veth", "peer", "name", there,
                     "numtxqueues", 1, "numrxqueues", 1)
        for end in (here, there):
            self.lab.run("gw", "ethtool", "-K", end, *"tx off rx off tso off gso off gro off".split())
        self.lab.run("gw", "ip", "link", "set", here, "master", f"br-{side}")
        self.lab.run("gw", "ip", "link", "set", there, "up")

    def config(self, i, directory):
        return {
            "name": f"lab-{self.lab.name}-{i}",
            "runtime": {"directory": str(directory / f"gw{i}" / "run"), "hugepages": "never", "memory": "128MiB", "watchdog": "off"},
            "ports": [{"name": s, "device": f"net_af_packet{n},iface=p{i}-{s},framecnt=1024"} for n, s in enumerate(("devices", "cloud"))],
            "bridges": [{"name": "line", "ports": ["devices", "cloud"]}],
            "monitoring": {"history": "off", "capture_buffer": "off", "poll_gap_warning": "off", "worker_stall_timeout": "off"},
            "mqtt": {"max_rules": 10, "max_connections": 1000, "rules": [overheat(), FEVER, STUFFY], "spool": {"path": str(directory / f"gw{i}.spool")},
                     "publisher": {"broker": f"mqtt://{EDGE_MGMT}", "client_id": f"biplane-{i}"}},
            "fleet": {"name": "plant", "state": {"server": f"redis://127.0.0.1:{REDIS_PORT}"}},
        }

    def start(self):
        for g in self.gateways:
            g.start()
        self.use(0)
        wait_until("both control planes to have an epoch", lambda: all((g.show("fleet")["state"] or {}).get("epoch") for g in self.gateways))

    def use(self, index):
        """Attaches this gateway alone."""
        here, there = index + 1, 2 - index
        commands = f"link set d{there} down\nlink set c{there} down\nlink set c{here} up\nlink set d{here} up\n"
        self.lab.run("gw", "ip", "-batch", "-", input=commands.encode())

    def command(self, *words):
        """The answer of Redis: a text, or b"" for none."""
        request = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words)
        try:
            with self.lab.inside("gw"), socket.create_connection(("127.0.0.1", REDIS_PORT), timeout=5) as s:
                s.sendall(request)
                f = s.makefile("rb")
                line = f.readline()
                return f.read(max(int(line[1:]), 0)) if line[:1] == b"$" else line[1:-2]
        except ConnectionError:
            return b""

    def copies(self, gateway):
        """Unacknowledged alarms of a gateway in Redis."""
        return int(self.command("HLEN", f"biplane:plant:alarms:copies:{gateway.config['name']}") or 0)

    def claimed(self, gateway):
        """Alarms of a gateway that others have claimed, and that it does not know of yet."""
        return int(self.command("SCARD", f"biplane:plant:alarms:taken:{gateway.config['name']}") or 0)

    def record(self, publisher):
        """Epoch of a connection's record, and number of PUBLISH packets; None if there is none."""
        client = publisher.client.socket().getsockname()
        value = self.command("GET", f"biplane:plant:mqtt:{client[0]}:{client[1]}-{CLOUD}:1883")
        at = OF_MARK + PUBLISHES
        return (int(value[:16], 16), struct.unpack_from("<I", value, at)[0]) if len(value) > at + 4 else None

    def wait_record(self, publisher, publishes):
        wait_until(f"a record after {publishes} publications", lambda: (self.record(publisher) or (0, 0))[1] == publishes)

    def is_owner(self, publisher, gateway):
        return (self.record(publisher) or (0, 0))[0] == gateway.show("fleet")["state"]["epoch"]

    def stop(self):
        for g in self.gateways:
            g.stop()
        self.redis.kill()
        self.redis.wait()
        for side in ("devices", "cloud"):
            for i in (1, 2):
                self.lab.run("gw", "ip", "link", "del", f"{side[0]}{i}", check=False)
            self.lab.run("gw", "ip", "link", "set", side, "nomaster", check=False)
            self.lab.run("gw", "ip", "link", "del", f"br-{side}", check=False)


@pytest.fixture(scope="module")
def pair(lab, tmp_path_factory):
    p = Pair(lab, tmp_path_factory.mktemp("fleet"))
    try:
        p.start()
        yield p
    except BaseException:
        for g in p.gateways:
            g.dump()
        raise
    finally:
        p.stop()


@pytest.fixture(scope="module")
def alarms(lab, pair):
    # of a persistent session: a gateway can reach a broker that is back before this client does
    c = Collector(lab, "edge", ("alarm/#",), client_id="fleet-alarms", clean=False)
    yield c
    c.close()


def kill(gateway):
    for pid in (gateway.process.pid, *(p["pid"] for p in gateway.status()["planes"])):
        os.kill(pid, signal.SIGKILL)
    gateway.process.wait()


def outcomes(gateway):
    return gateway.show("fleet")["connections"]


def test_connection_continues_at_another_gateway(lab, pair, alarms):
    one, two = pair.gateways
    p = Publisher(lab, CLOUD, version="5")
    p.publish("plant/oven/temperature", "20", alias=3)
    p.publish("plant/oven/temperature", "21", alias=3)
    pair.wait_record(p, 2)
    pair.use(1)
    # the topic is known from the record alone
    p.publish("plant/oven/temperature", "95", alias=3)
    alarms.wait_count(1)
    assert alarms.messages == [("alarm/plant/oven/temperature", b"95")]
    assert outcomes(two)["adopted"]["at_position"] == 1
    connection, = two.show("connections")["connections"]
    assert connection["adopted"]
    # and back, to a gateway that remembers an older position
    pair.wait_record(p, 3)
    pair.use(0)


    # a request and its response resynchronize it; the first record is refused, and the next packet takes the record over
    def used():
        p.publish("plant/oven/temperature", "22", 1).wait_for_publish(20)
        return pair.is_owner(p, one)
    wait_until("a record of the first gateway", used, 20, 0.1)
    p.finish()
    assert one.show("fleet")["gateway"] == one.config["name"]
    status = two.status()["fleet"]
    assert status["connected"] and status["adopted"] == 1 and status["not_adopted"] == 0
    for g in (one, two):
        assert not differences("show fleet", g.show("fleet"))
        assert not differences("status", g.status())


def test_stale_record_is_refused(lab, pair, alarms):
    one, two = pair.gateways
    pair.use(0)
    before = outcomes(two)["not_adopted"]
    p = Publisher(lab, CLOUD)
    p.publish("plant/kiln/temperature", "20")
    pair.wait_record(p, 1)
    control = one.plane("control plane")["pid"]
    os.kill(control, signal.SIGSTOP)
    try:
        # the record lacks a packet that the first gateway has inspected
        p.publish("plant/kiln/temperature", "21", 1).wait_for_publish(20)
        pair.use(1)
        p.publish("plant/kiln/temperature", "22", 1).wait_for_publish(20)
        after = wait_until("the record to be refused", lambda: outcomes(two)["not_adopted"] != before and outcomes(two)["not_adopted"])
        assert after == {**before, "stale": before["stale"] + 1}
        # a request and its response have resynchronized it
        p.publish("plant/kiln/temperature", "97", 1).wait_for_publish(20)
        alarms.wait_for_topic("alarm/plant/kiln/temperature")
        wait_until("a record of the second gateway", lambda: pair.is_owner(p, two))
    finally:
        os.kill(control, signal.SIGCONT)
    # the first gateway comes back, and overwrites nothing
    wait_until("its record to be refused", lambda: one.show("fleet")["state"]["writes"]["refused_stale"] >= 1)
    p.finish()


class Load(threading.Thread):
    """Connections that each publish a message in INTERVAL, spread over it. The payload of message 7 is 95.7."""

    def __init__(self, lab):
        super().__init__(daemon=True)
        self.publishers = [Publisher(lab, CLOUD, version="5", client_id=f"share-{i}") for i in range(CONNECTIONS)]
        self.sent, self.stopped = 0, False
        self.start()

    def run(self):
        while not self.stopped:
            for i, p in enumerate(self.publishers):
                # of three: QoS 0, QoS 0 with a topic alias, QoS 1
                p.publish(f"plant/s{i}/temperature", f"95.{self.sent}", i % 3 // 2, alias=1 if i % 3 == 1 else None)
                time.sleep(INTERVAL / CONNECTIONS)
            self.sent += 1

    def wait_sent(self, more):
        n = self.sent + more
        wait_until("the publishers", lambda: self.sent >= n)

    def finish(self):
        self.stopped = True
        self.join()
        for p in self.publishers:
            p.finish()


def test_share_of_connections_that_continue(lab, pair, alarms):
    """A gateway is killed. Each moved connection is counted with its outcome. All messages of one that is adopted are
    evaluated, and those of one that a response can resynchronize some messages later."""
    one, two = pair.gateways
    pair.use(0)
    before = outcomes(two)
    load = Load(lab)
    load.wait_sent(10)
    kill(one)
    killed = load.sent  # the alarm of this message may have been lost with the gateway
    pair.use(1)
    load.wait_sent(10)
    load.finish()
    now = wait_until("all outcomes", lambda: total(outcomes(two)) == total(before) + CONNECTIONS and outcomes(two))
    adopted = sum(now["adopted"].values()) - sum(before["adopted"].values())
    missing = {k: v - before["not_adopted"][k] for k, v in now["not_adopted"].items() if v != before["not_adopted"][k]}
    assert adopted >= CONNECTIONS / 2, (adopted, missing)  # nearly all, unless the machine is busy
    numbers = range(killed + 1, load.sent)

    def lost():
        """By connection: the messages without an alarm."""
        seen = raised(alarms)
        return {i: n for i in range(CONNECTIONS) if (n := [n for n in numbers if (i, n) not in seen])}
    wait_until("all alarms of the adopted connections", lambda: CONNECTIONS - len(lost()) >= adopted, every=0.2)
    wait_until("the last alarm of each connection with QoS 1",
               lambda: not any(load.sent - 1 in n for i, n in lost().items() if i % 3 == 2), every=0.2)
    print(f"{adopted} of {CONNECTIONS} adopted; not adopted: {missing}; messages without an alarm: {lost()}")


def raised(alarms):
    """(connection, number) of the alarms of the load."""
    return {(int(t[len("alarm/plant/s"):-len("/temperature")]), int(payload.split(b".")[1]))
            for t, payload in list(alarms.messages) if t.startswith("alarm/plant/s")}


def total(o):
    return sum(o["adopted"].values()) + sum(o["not_adopted"].values())


def test_alarms_of_a_dead_gateway(lab, pair, alarms):
    """The edge broker is away when the first gateway raises alarms and dies. The second one delivers each of them, and
    clears them with the same identity; the first one returns and repeats none."""
    one, two = pair.gateways
    one.start()
    pair.use(0)
    lab.broker("edge", "stop")
    try:
        p = Publisher(lab, CLOUD)
        for i in range(20):
            p.publish(f"fever/{i}", "95", 1).wait_for_publish(20)
        wait_until("the copies", lambda: pair.copies(one) == 20)
        wait_until("the states at the second gateway", lambda: two.counter("states_fleet_raised") == 20)
        kill(one)
        pair.use(1)
        wait_until("the claim", lambda: pair.copies(two) == 20)

        def inspected():
            # the connection is adopted, or a request and its response resynchronize it
            p.publish("fever/20", "95", 1).wait_for_publish(20)
            return pair.copies(two) == 21
        wait_until("a new alarm", inspected, every=0.1)
        for i in range(10):
            p.publish(f"fever/{i}", "96", 1).wait_for_publish(20)
            p.publish(f"fever/{i}", "70", 1).wait_for_publish(20)
        wait_until("the clears", lambda: pair.copies(two) == 31)
    finally:
        lab.broker("edge", "start")
    wait_until("all alarms", lambda: len(fever(alarms)) >= 31)
    wait_until("no copies", lambda: pair.copies(two) == 0)
    assert pair.claimed(one) == 20
    # they are in its ring, in its spool, or in both
    one.start()
    wait_until("the first gateway to end its alarms", lambda: pair.claimed(one) == 0)
    # a repeated one would arrive before the last one
    p.publish("fever/20", "70", 1).wait_for_publish(20)
    wait_until("the last alarm", lambda: any(a["topic"] == "fever/20" and a["state"] == "cleared" for a in fever(alarms)))
    # one of each uid; the uid of a clear is not that of its raise
    assert len({a["uid"] for a in fever(alarms)}) == len(fever(alarms)) == 32
    by_topic = {f"fever/{i}": [a["state"] for a in fever(alarms) if a["topic"] == f"fever/{i}"] for i in range(21)}
    assert by_topic == {f"fever/{i}": ["raised"] if 10 <= i < 20 else ["raised", "cleared"] for i in range(21)}
    p.finish()


def test_hold_continues_at_another_gateway(lab, pair, alarms):
    """Two values of a hold of three pass the gateway that dies, the third one the other."""
    one, _ = pair.gateways
    one.start()
    pair.use(0)
    p = Publisher(lab, CLOUD)
    for value in ("90", "91"):
        p.publish("air/hall", value, 1).wait_for_publish(20)
    pair.wait_record(p, 2)  # and with it the hold
    kill(one)
    pair.use(1)
    p.publish("air/hall", "92", 1).wait_for_publish(20)
    assert json.loads(alarms.wait_for_topic("alarm/air/hall"))["value"] == 92
    p.finish()


def fever(alarms):
    return [json.loads(payload) for t, payload in list(alarms.messages) if t.startswith("alarm/fever/")]
