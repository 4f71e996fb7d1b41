# SPDX-License-Identifier: BSD-3-Clause
"""replay: the same graph over captures, without root or hugepages."""

import json
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from conftest import config_for, overheat
from lab import BIPLANE, CLOUD, ROOT, wait_until
from peers import Collector, Expected, Publisher, text_value, usual_value

FIXTURES = ROOT / "tests" / "fixtures"
RULES = [overheat(name="text"), overheat(name="json", value={"json": "$.celsius"}),
         overheat(name="camera", topic="plant/camera/frame", value={"json": "$.celsius"})]


def replay(directory, *more, rules=None, inputs=(), wrapper=()):
    config = config_for(rules=rules or RULES, reassembly_per_connection="1MiB", websocket_ports=[9001])
    config["ports"] = config["ports"][:2]
    config["bridges"] = [{"name": "bridge0", "ports": ["devices", "cloud"]}]
    file = Path(directory) / "replay.yaml"
    file.write_text(json.dumps({"version": 1, **config}))
    argv = [*wrapper, BIPLANE, "replay", "-c", str(file), "--json"]
    for port, pcap in inputs:
        argv += ["--in", f"{port}={pcap}"]
    p = subprocess.run([*argv, *map(str, more)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       check=False, timeout=120, stdin=subprocess.DEVNULL)
    assert p.returncode == 0, f"{p.returncode}: {p.stderr}"
    return p.stdout


def truth(name):
    """The alarms that the clients' own record of a fixture calls for."""
    due = Counter()
    for p in json.loads((FIXTURES / f"{name}.json").read_text())["published"]:
        celsius = p.get("celsius")
        if celsius is None and "text" in p and p["topic"].endswith("/temperature"):
            celsius = json.loads(p["text"])["celsius"] if p["text"].startswith("{") else text_value(p["text"].encode())
        if celsius is not None and celsius > 80:
            due[p["topic"], float(celsius)] += 1
    return due


def found(out):
    return Counter((a["topic"], a["value"]) for a in out["alarms"])


def test_windows_over_a_capture(tmp_path):
    """Per topic the mean of each three values in a row, as the clients' own record of the capture has them."""
    rule = overheat(name="mean", window={"values": 3, "function": "mean"}, **{"raise": {"above": 20}})
    out = json.loads(replay(tmp_path, rules=[rule], inputs=[("devices", FIXTURES / "subscribe.pcap")]))
    values, due = {}, Counter()
    for p in json.loads((FIXTURES / "subscribe.json").read_text())["published"]:
        if "text" not in p or not p["topic"].endswith("/temperature") or p["text"].startswith("{"):
            continue
        last = values.setdefault(p["topic"], [])
        last.append(text_value(p["text"].encode()))
        if len(last) >= 3 and sum(last[-3:]) / 3 > 20:
            due[p["topic"], round(sum(last[-3:]) / 3, 9)] += 1
    assert len(due) > 5
    assert Counter((a["topic"], round(a["value"], 9)) for a in out["alarms"]) == due


@pytest.mark.parametrize("name", sorted(p.stem for p in FIXTURES.glob("*.pcap")))
def test_capture_gives_the_known_alarms(tmp_path, name):
    """A capture taken on one link has both directions in it; it is replayed into one port."""
    copy = tmp_path / "out.pcap"
    out = json.loads(replay(tmp_path, "--out", f"cloud={copy}", inputs=[("devices", FIXTURES / f"{name}.pcap")]))
    assert found(out) == truth(name)
    assert [a["time_ns"] for a in out["alarms"]] == sorted(a["time_ns"] for a in out["alarms"])
    assert all(a["state"] == "raised" and a["rule"] in ("text", "json", "camera") and "client" in a
               for a in out["alarms"])
    assert frames(copy) == frames(FIXTURES / f"{name}.pcap"), "what is forwarded is what came, in its time"


def frames(pcap):
    return subprocess.run(["tcpdump", "-r", str(pcap), "-n", "-e", "-tt", "-xx", "--nano"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True).stdout


ENCAPSULATIONS = {  # bytes between the MAC addresses and the IPv4 header
    "three_tags": "88a80001" "88a80002" "81000003" "0800",
    "snap": "0400" "aaaa03000000" "0800",
    "pppoe": "8864" "110012340400" "0021",
    "pppoe_in_a_tag": "81000007" "8864" "110012340400" "0021",
    "mpls": "8847" "00012040" "00013140",
}


def encapsulated(source, target, around):
    """A copy of a capture with each IPv4 frame in `around`; how many there are."""
    data = source.read_bytes()
    out, at, n = [data[:24]], 24, 0
    while at < len(data):
        seconds, micros, caught, length = struct.unpack_from("<4I", data, at)
        frame = data[at + 16:at + 16 + caught]
        if frame[12:14] == b"\x08\x00":
            frame = frame[:12] + around + frame[14:]
            n += 1
        out.append(struct.pack("<4I", seconds, micros, len(frame), len(frame) + length - caught) + frame)
        at += 16 + caught
    target.write_bytes(b"".join(out))
    return n


@pytest.mark.parametrize("kind", sorted(ENCAPSULATIONS))
def test_encapsulated_frames_give_the_same_alarms(tmp_path, kind):
    """The same alarms from under three tags, from LLC and SNAP, a PPPoE session and MPLS."""
    pcap = tmp_path / "in.pcap"
    encapsulated(FIXTURES / "session.pcap", pcap, bytes.fromhex(ENCAPSULATIONS[kind]))
    assert found(json.loads(replay(tmp_path, inputs=[("devices", pcap)]))) == truth("session")


def test_not_inspected_is_counted(tmp_path):
    """Frames that are not inspected are reported: four tags."""
    pcap = tmp_path / "in.pcap"
    n = encapsulated(FIXTURES / "session.pcap", pcap, bytes.fromhex("81000009" + ENCAPSULATIONS["three_tags"]))
    out = json.loads(replay(tmp_path, inputs=[("devices", pcap)]))
    assert found(out) == Counter()
    assert out["counters"]["not_inspected_vlan"] == n


def test_pcapng_gives_what_pcap_gives(tmp_path):
    one, two = (replay(tmp_path, inputs=[("devices", FIXTURES / f"v5_alias.{ext}")]) for ext in ("pcap", "pcapng"))
    assert json.loads(one)["alarms"] == json.loads(two)["alarms"] != []


def test_deterministic_byte_for_byte(tmp_path):
    outs = []
    for i in range(2):
        pcap = tmp_path / f"{i}.pcap"
        outs.append((replay(tmp_path, "--out", f"cloud={pcap}",
                            inputs=[("devices", FIXTURES / "v311_qos012.pcap")]), pcap.read_bytes()))
    assert outs[0] == outs[1]


def test_needs_neither_root_nor_hugepages(tmp_path):
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:2]:  # private to pytest; the folder above is shared
        parent.chmod(0o755)
    as_nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "env",
                 "HOME=/nonexistent")
    reachable = subprocess.run([*as_nobody, "test", "-x", BIPLANE], check=False).returncode == 0
    if not reachable:
        pytest.skip(f"an ordinary user can't reach {BIPLANE}")
    out = json.loads(replay(tmp_path, inputs=[("devices", FIXTURES / "v31.pcap")], wrapper=as_nobody))
    assert found(out) == truth("v31")


def test_live_and_replayed_alarms_agree(lab, gateway, tmp_path):
    """tcpdump at the device's interface while the gateway works; then the capture is replayed."""
    g = gateway(config_for(spool=tmp_path / "spool.db"))
    edge, expected = Collector(lab, "edge", ("alarm/#",)), Expected()
    pcap, log = tmp_path / "live.pcap", tmp_path / "tcpdump.log"
    with log.open("wb") as err:
        dump = lab.popen("dev", "tcpdump", "-i", "eth0", "-U", "--immediate-mode", "-B", "65536", "-Z", "root",
                         "-w", pcap, "tcp port 1883", stderr=err)
    try:
        wait_until("tcpdump", lambda: b"listening on" in log.read_bytes())
        for version in ("3.1", "3.1.1", "5"):
            p = Publisher(lab, CLOUD, expected, version)
            p.finish([p.publish(f"plant/oven{i % 4}/temperature", f"{60 + i % 45}.{i}", i % 3,
                                alias=1 + i % 4 if version == "5" else None) for i in range(200)])
        edge.wait_count(sum(expected.alarms(usual_value).values()))

        def complete():
            out = json.loads(replay(tmp_path, inputs=[("devices", pcap)], rules=[overheat()]))
            return len(out["alarms"]) >= len(edge.messages) and out
        out = wait_until("the capture to be complete", complete, 20, 0.5)
    finally:
        dump.terminate()
        dump.wait()
        edge.close()
    assert Counter((f"alarm/{a['topic']}", a["value"]) for a in out["alarms"]) == Counter(
        (t, float(m)) for t, m in edge.messages)
    live = g.show("alarms", "--limit", "0")["alarms"]
    assert len(live) >= 20
    replayed = {(a["rule"], a["topic"], a["value"], a["client"]) for a in out["alarms"]}
    assert {(a["rule"], a["topic"], a["value"], a["client"]) for a in live} <= replayed


def silence_after(source, target, seconds):
    """A copy of a capture with one more frame so long after the last one; the times of all frames in ns."""
    data = source.read_bytes()
    times, at = [], 24
    while at < len(data):
        s, micros, caught, _ = struct.unpack_from("<4I", data, at)
        times.append((s * 1000000 + micros) * 1000)
        at += 16 + caught
    last = max(times) // 1000 + seconds * 1000000
    arp = bytes(range(12)) + b"\x08\x06" + bytes(46)
    target.write_bytes(data + struct.pack("<4I", last // 1000000, last % 1000000, len(arp), len(arp)) + arp)
    return times


def test_silent_topics_in_the_time_of_the_capture(tmp_path):
    """A rule with absent raises exactly its time after the last publication of each topic, up to the last frame."""
    source, pcap = FIXTURES / "session.pcap", tmp_path / "in.pcap"
    times = silence_after(source, pcap, 60)
    topics = {p["topic"] for p in json.loads(source.with_suffix(".json").read_text())["published"]}
    topics.add("will/mortal")  # of a client that is killed
    for seconds, expected in ((45, topics), (120, set())):
        rules = [{"name": "dead", "topic": "#", "absent": f"{seconds}s"}]
        out = json.loads(replay(tmp_path, rules=rules, inputs=[("devices", pcap)]))
        assert sorted(a["topic"] for a in out["alarms"]) == sorted(expected)
        for a in out["alarms"]:
            assert (a["state"], a["value"]) == ("raised", seconds)
            assert a["time_ns"] - seconds * 10**9 in times
