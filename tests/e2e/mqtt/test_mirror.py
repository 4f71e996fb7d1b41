# SPDX-License-Identifier: BSD-3-Clause
"""Action mirror: the frames that leave for the edge, as tcpdump sees and tshark evaluates them."""

import subprocess
from collections import Counter

import pytest

from conftest import config_for, overheat
from lab import CLOUD, CLOUD6, EDGE, MAC, wait_until
from peers import Collector, Expected, Publisher, digest, usual_value

FIELDS = ("eth.dst", "ip.dst", "ipv6.dst", "tcp.dstport", "ip.checksum.status", "tcp.checksum.status",
          "mqtt.msgtype", "mqtt.topic", "mqtt.msg", "mqtt.qos", "_ws.malformed")


@pytest.mark.parametrize("host", (CLOUD, CLOUD6), ids=("ip4", "ip6"))
@pytest.mark.parametrize("version", ("3.1", "3.1.1", "5"))
@pytest.mark.parametrize("driver", ("af_packet", "af_xdp"))
def test_mirrored_frames(lab, gateway, tmp_path, driver, version, host):
    config = config_for(driver, [overheat(action="mirror", publish={"topic": "alarm/{rule}/{topic}"})],
                        mirror={"port": "edge", "mac": MAC["edge"], "ipv4_address": EDGE, "ipv6_address": "fd99::3"})
    del config["mqtt"]["publisher"]
    g = gateway(config)
    expected = Expected()
    cloud = Collector(lab, "cloud")
    pcap, log = tmp_path / "edge.pcap", tmp_path / "tcpdump.log"
    with log.open("wb") as out:
        dump = lab.popen("edge", "tcpdump", "-i", "eth0", "-U", "--immediate-mode", "-Z", "root", "-w", pcap,
                         f"ether src not {MAC['edge']} and tcp dst port 1883 and (dst host {EDGE} or dst host fd99::3)",
                         stderr=out)
    try:
        wait_until("tcpdump", lambda: b"listening on" in log.read_bytes())
        p = Publisher(lab, host, expected, version)
        infos = []
        for i in range(120):
            alias = 1 + i % 3 if version == "5" and i % 2 else None
            infos.append(p.publish(f"plant/oven{i % 3}/temperature", f"{60 + i % 40}.{i}", i % 3, alias=alias,
                                   rich=version == "5" and i % 5 == 0))
        p.finish(infos)
        due = Counter({(t.replace("alarm/", "alarm/overheat/", 1), d): n
                       for (t, d), n in expected.alarms(usual_value).items()})
        cloud.wait_count(len(expected.published))
        assert cloud.counts() == expected.cloud(), "the originals go to the cloud untouched"
        wait_until("the clones to leave", lambda: g.counter("mirror_frame") >= sum(due.values()))
        assert g.counter("mirror_frame") == sum(due.values())
        wait_until("the clones at the edge", lambda: len(judge(pcap, version)) >= sum(due.values()))
    finally:
        dump.terminate()
        dump.wait()
        cloud.close()
    rows = judge(pcap, version)
    for r in rows:
        assert r["eth.dst"] == MAC["edge"] and r["tcp.dstport"] == "1883"
        assert (r["ip.dst"] or r["ipv6.dst"]) == (EDGE if host == CLOUD else "fd99::3")
        assert r["tcp.checksum.status"] == "1", r
        assert host != CLOUD or r["ip.checksum.status"] == "1", r
        assert r["mqtt.msgtype"] == "3" and not r["_ws.malformed"], r
    assert Counter((r["mqtt.topic"], digest(bytes.fromhex(r["mqtt.msg"].replace(":", "")))) for r in rows) == due
    g.balanced()


def judge(pcap, version):
    """tshark's view of each frame, alone: every one must be a PUBLISH by itself."""
    argv = ["tshark", "-r", str(pcap), "-n", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
            "-o", "tcp.desegment_tcp_streams:FALSE", "-o", "tcp.analyze_sequence_numbers:FALSE",
            "-o", f"mqtt.default_version:MQTT v{'5.0' if version == '5' else version}", "-T", "fields", "-E", "separator=|"]
    for f in FIELDS:
        argv += ["-e", f]
    out = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return [dict(zip(FIELDS, line.split("|"), strict=True)) for line in out.splitlines()]


def test_mirrored_frame_over_the_mtu_is_counted_and_not_sent(lab, gateway):
    config = config_for(rules=[overheat(topic="kiln/+/state", value={"json": "$.celsius"}, action="mirror")],
                        mirror={"port": "edge", "mac": MAC["edge"], "ipv4_address": EDGE})
    g = gateway(config)
    cloud = Collector(lab, "cloud")
    p = Publisher(lab, CLOUD)
    body = b'{"celsius": 99, "text": "' + b"x" * 4000 + b'"}'
    p.finish([p.publish("kiln/1/state", body, 1)])
    assert cloud.wait_for_topic("kiln/1/state") == body
    wait_until("the counter", lambda: g.counter("mirror_too_large") == 1)
    assert g.counter("mirror_frame") == 0
    cloud.close()
