# SPDX-License-Identifier: BSD-3-Clause
"""Real clients of every version and QoS through the gateway, on both drivers: each publication
reaches the cloud broker intact, and exactly the right alarms reach the edge."""

import hashlib
import subprocess

import pytest

from conftest import config_for, overheat
from lab import CLOUD, CLOUD6, ROOT, Background
from peers import Publisher, mosquitto_pub
from traffic import Watch

DRIVERS = ("af_packet", "af_xdp")
VERSIONS = ("3.1", "3.1.1", "5")
TEMPERATURES = ("79.9", "80", "80.1", "-12.5", "1e2", " +81.50 ", "80.0000001", "8e1", "hot", "NaN", "90 C", "")


@pytest.fixture(scope="module", params=DRIVERS)
def gw(module_gateway, request, lab):
    rules = [overheat(), overheat(name="kiln", topic="kiln/+/state", value={"json": "$.celsius"})]
    g = module_gateway(config_for(request.param, rules, reassembly_per_connection="2MiB", alarm_queue_size="32MiB"))
    yield g
    g.balanced()
    assert g.counter("alarms_queue_full") == 0
    # A module has one parameter at a time: the other driver wants the same interfaces.
    assert g.stop() == 0


@pytest.fixture
def watch(lab, gw):
    w = Watch(lab, gw)
    yield w
    w.close()


@pytest.mark.parametrize("host", (CLOUD, CLOUD6), ids=("ip4", "ip6"))
@pytest.mark.parametrize("qos", (0, 1, 2))
@pytest.mark.parametrize("version", VERSIONS)
def test_mosquitto_pub(lab, watch, version, qos, host):
    topic = f"plant/oven{qos}/temperature"
    lines = [t for t in TEMPERATURES if t]
    mosquitto_pub(lab, host, topic, lines, version, qos, watch.expected)
    mosquitto_pub(lab, host, topic, [b"82.5"], version, qos, watch.expected)
    alarms = watch.check()
    assert sum(alarms.values()) == 5


@pytest.mark.parametrize("host", (CLOUD, CLOUD6), ids=("ip4", "ip6"))
@pytest.mark.parametrize("version", VERSIONS)
def test_publications_of_paho(lab, watch, version, host):
    p = Publisher(lab, host, watch.expected, version)
    infos = [p.publish(f"plant/oven{i % 3}/temperature", t, qos=i % 3, rich=version == "5" and i % 2 == 0)
             for i, t in enumerate(TEMPERATURES * 5)]
    infos += [p.publish("plant/oven/other", "99.9", 1), p.publish("plant/a/b/temperature", "99.9", 1)]
    p.finish(infos)
    watch.check()


@pytest.mark.parametrize("qos", (0, 1, 2))
def test_topic_alias(lab, watch, qos):
    p = Publisher(lab, CLOUD, watch.expected, "5")
    infos = []
    for i in range(60):
        # Five topics on three aliases: each alias is mapped again again and again.
        infos.append(p.publish(f"plant/oven{i // 4 % 5}/temperature", f"{60 + i}", qos, alias=1 + i // 4 % 3,
                               rich=i % 7 == 0))
    p.finish(infos)
    watch.check()


@pytest.mark.parametrize("version", ("3.1.1", "5"))
@pytest.mark.parametrize("qos", (0, 1, 2))
def test_payloads_of_ten_bytes_to_one_mebibyte(lab, watch, qos, version):
    p = Publisher(lab, CLOUD, watch.expected, version)
    infos = []
    for i, size in enumerate((17, 127, 128, 1000, 1460, 1461, 16383, 16384, 65536, 300_000, 1 << 20)):
        for celsius in ("79.25", "80.75"):
            infos.append(p.publish(f"kiln/k{i}/state", sized(size, celsius), qos))
    infos.append(p.publish("plant/oven/temperature", b"81.0000000", qos))  # ten bytes
    p.finish(infos)
    watch.check()


def sized(size, celsius):
    """A JSON object of exactly `size` bytes with the value at its end, after incompressible text."""
    head, tail = b'{"t":"', b'","celsius":%s}' % celsius.encode()
    fill = size - len(head) - len(tail)
    if fill < 0:
        return b'{"celsius":%s}' % celsius.encode()
    return head + hashlib.shake_128(celsius.encode()).hexdigest(fill // 2 + 1).encode()[:fill] + tail


@pytest.mark.parametrize("mtu", (128, 576))
def test_small_mtu_splits_every_publish(lab, watch, mtu):
    lab.set_mtu("dev", mtu)
    try:
        p = Publisher(lab, CLOUD, watch.expected, "5")
        infos = [p.publish(f"kiln/k{i % 4}/state", sized(150 + 37 * i, f"{70 + i % 20}.5"), i % 3, rich=i % 5 == 0)
                 for i in range(60)]
        mosquitto_pub(lab, CLOUD, "plant/oven/temperature", [f"{t}.125" for t in range(60, 100)], "3.1.1", 0,
                      watch.expected)
        p.finish(infos)
        watch.check()
    finally:
        lab.set_mtu("dev", 1500)


def test_many_clients_at_once(lab, watch):
    def client(n):
        p = Publisher(lab, CLOUD6 if n % 3 == 0 else CLOUD, watch.expected, VERSIONS[n % 3])
        p.finish([p.publish(f"plant/oven{n}/temperature", f"{60 + (n * 7 + i * 13) % 41}.{i}", (n + i) % 3)
                  for i in range(150)])
    jobs = [Background(client, n) for n in range(16)]
    for j in jobs:
        j.start()
    for j in jobs:
        j.finish()
    watch.check()


@pytest.mark.parametrize("tags", (["8100:10"], ["8100:7", "8100:20"], ["88a8:100", "8100:20"]),
                         ids=("vlan", "vlan_in_vlan", "qinq"))
def test_vlan_tagged(lab, gw, watch, tags):
    if tags[0].startswith("8100") and len(tags) > 1 and "af_packet" in gw.config["ports"][0]["device"]:
        pytest.skip("net_af_packet has no TPID of the outer tag: biplane takes it for a service tag")
    taps = []
    try:
        for ns, host in (("dev", 1), ("cloud", 2)):
            tap = lab.popen(ns, "python3", ROOT / "tests" / "e2e" / "vlan_tap.py", "eth0", "tag0", *tags,
                            stdout=subprocess.PIPE)
            taps.append(tap)
            assert tap.stdout.readline() == b"ready\n"
            lab.run(ns, "ip", "addr", "add", f"10.96.0.{host}/24", "dev", "tag0")
            lab.run(ns, "ip", "link", "set", "tag0", "mtu", 1400, "up")
        p = Publisher(lab, "10.96.0.2", watch.expected, "5")
        infos = [p.publish(f"plant/oven{i % 3}/temperature", f"{70 + i}.5", i % 3, alias=1 + i % 3)
                 for i in range(30)]
        infos += [p.publish("kiln/k/state", sized(5000, "81.5"), 1)]
        p.finish(infos)
        watch.check()
    finally:
        for tap in taps:
            tap.terminate()
            tap.wait()
            tap.stdout.close()
