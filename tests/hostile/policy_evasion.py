#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A hostile client that wants a refused publication to reach its broker (docs/explanation/security.md), as frames through `biplane replay`.
Each attack is a connection of its own, with each action and fallback. policy_evasion.py BIPLANE [unittest arguments]"""

import json
import struct
import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))
import mqtt_packets
from policy_attacks import DESTINATION_OPTIONS, FRAGMENT, HOP_BY_HOP, FALLBACKS, MARK, NAMED, OPEN_PASSES, REFUSED, WEBSOCKET_PORT, Network, Peer
from policy_sessions import RST, SYN, capture

CONFIG = {"version": 1, "ports": [{"name": "devices", "device": "net_null0"}, {"name": "cloud", "device": "net_null1"}],
          "bridges": [{"name": "b", "ports": ["devices", "cloud"]}],
          "mqtt": {"min_ttl": 5, "websocket_ports": WEBSOCKET_PORT, "connection_cpu_percent": 100, "worker_cpu_percent": 100,
                   "policy": {"default": "allow", "quarantine": "$refused", "rules": [
                       {"name": "secrets", "packet": "publish", "topic": REFUSED}]}}}
FAILS = {"closed": {"fail": "closed"}, "open": {"fail": "open"}, "closed at the bridge": {"fail_overrides": [{"interface": "b", "fail": "closed"}]},
         "open at the bridge": {"fail": "closed", "fail_overrides": [{"interface": "b", "fail": "open"}]}}
ACTIONS = {"close": ("close", "close"), "blank": ("blank", "close"), "pass": ("blank", "pass")}  # and the fallback
QUARANTINED = ("$refused/---", MARK)


def frames_of(data):
    at = 24
    while at < len(data):
        seconds, ns, size, _ = struct.unpack("<IIII", data[at:at + 16])
        yield (seconds - 1700000000) * 1000000 + ns // 1000, data[at + 16:at + 16 + size]
        at += 16 + size


def fragment_of(peer, frame):
    """The offset of a fragment; None of a whole datagram"""
    ip = frame[14 + 4 * len(peer.vlan):]
    if not peer.ip6:
        fragment = struct.unpack("!H", ip[6:8])[0]
        return fragment & 0x1FFF if fragment & 0x3FFF else None
    fragment = struct.unpack("!H", ip[42:44])[0] if ip[6] == FRAGMENT else 0
    return fragment & 0xFFF8 if fragment else None


def tcp_of(peer, frame):
    """(flags, sequence number, payload) of a whole datagram; None of others"""
    at = 12 + 4 * len(peer.vlan)
    if frame[at:at + 2] not in (b"\x08\0", b"\x86\xdd"):
        at += 8
    ip = frame[at + 2:]
    if peer.ip6:
        ip, protocol, tcp = ip[:40 + struct.unpack("!H", ip[4:6])[0]], ip[6], 40
        while protocol in (HOP_BY_HOP, DESTINATION_OPTIONS) or (protocol == FRAGMENT and ip[tcp + 2:tcp + 4] == b"\0\0"):
            protocol, tcp = ip[tcp], tcp + 8 + (8 * ip[tcp + 1] if protocol != FRAGMENT else 0)
    else:
        ip, protocol, tcp = ip[:struct.unpack("!H", ip[2:4])[0]], ip[9], 4 * (ip[0] & 15)
        if struct.unpack("!H", ip[6:8])[0] & 0x3FFF:
            return None
    if protocol != 6:
        return None
    tcp = ip[tcp:]
    return tcp[13], struct.unpack("!I", tcp[4:8])[0], tcp[4 * (tcp[12] >> 4):]


def unmasked(stream):
    """The MQTT in the frames of WebSocket, and in a Pong"""
    at, out = stream.find(b"\r\n\r\n") + 4, b""
    while at + 6 <= len(stream) and at + 6 + (stream[at + 1] & 127) <= len(stream):
        first, n, key = stream[at], stream[at + 1] & 127, stream[at + 2:at + 6]
        out += bytes(b ^ key[i % 4] for i, b in enumerate(stream[at + 6:at + 6 + n])) if not first & 8 or first & 15 == 10 else b""
        at += 6 + n
    return out


class Outcome:
    """What of the attacks left to the broker, for one of FAILS and one action"""

    def __init__(self, biplane, fail, action):
        network = Network()
        self.attacks = {}
        for number, (name, (attack, with_)) in enumerate(NAMED.items(), 1):
            peer = Peer(network, number, **with_)
            self.attacks[name] = peer, attack(peer)
        with tempfile.TemporaryDirectory(prefix="bp-evasion-") as folder:
            out = self.replay(biplane, Path(folder), fail, action, network)
        self.left = defaultdict(list)
        for i, frame in out:
            self.left[network.peers[i]].append(frame)

    @staticmethod
    def replay(biplane, folder, fail, action, network):
        settings = json.loads(json.dumps(CONFIG))
        policy = settings["mqtt"]["policy"]
        policy.update(FAILS[fail])
        policy["rules"][0]["action"], policy["fallback"] = ACTIONS[action]
        (folder / "biplane.yaml").write_text(json.dumps(settings))
        for at_client, name in ((True, "devices"), (False, "cloud")):
            frames = [(i, f) for i, (f, of) in enumerate(network.frames) if of == at_client]
            (folder / f"{name}.pcap").write_bytes(capture(frames))
        subprocess.run([biplane, "replay", "-c", folder / "biplane.yaml", "--in", f"devices={folder}/devices.pcap", "--in",
                        f"cloud={folder}/cloud.pcap", "--out", f"cloud={folder}/out.pcap"], stdout=subprocess.DEVNULL, check=True, timeout=120)
        return list(frames_of((folder / "out.pcap").read_bytes()))

    def streams(self, name):
        """The stream of each connection to the broker: its bytes by position, and whether each has one value only."""
        peer, _ = self.attacks[name]
        streams, one_value = [], True
        for frame in self.left[peer]:
            segment = tcp_of(peer, frame)
            if segment is None:
                continue
            flags, seq, payload = segment
            if flags & SYN and seq in peer.isns:
                streams.append((seq, {}))
            if not streams or flags & RST:
                continue
            first, values = streams[-1]
            for i, byte in enumerate(payload):
                at = (seq - first - 1 + i) & 0xFFFFFFFF
                one_value &= values.setdefault(at, byte) == byte
        return [bytes(v[i] for i in range(next(i for i in range(len(v) + 1) if i not in v))) for _, v in streams], one_value


class Evasion(unittest.TestCase):
    maxDiff = None

    def attack(self, name):
        for fail, action in OUTCOME:
            with self.subTest(fail=fail, action=action):
                if fail.startswith("open") and name in OPEN_PASSES:
                    continue
                outcome = OUTCOME[fail, action]
                peer, arrives = outcome.attacks[name]
                streams, one_value = outcome.streams(name)
                self.assertTrue(one_value, "bytes left with two values")
                if peer.port == WEBSOCKET_PORT:
                    streams = [unmasked(s) for s in streams]
                got = [p for s in streams for p in mqtt_packets.publications(s, 5 if name.startswith("topic_alias") else 4)]
                offsets = [fragment_of(peer, f) for f in outcome.left[peer]]
                self.assertNotIn(0, offsets, "without its first fragment, no datagram is read")
                if action == "pass" and name.startswith(FALLBACKS):
                    self.assertIn((REFUSED, MARK), got)
                    continue
                refused = (MARK,) if action == "close" else (MARK, REFUSED.encode())
                marked = [f.hex() for f, offset in zip(outcome.left[peer], offsets) if offset is None and all(r in f for r in refused)]
                self.assertEqual(marked, [], "a frame with the refused packet left")
                self.assertNotIn(REFUSED, [topic for topic, _ in got])
                if action == "close":
                    self.assertEqual(got, got if arrives is None else arrives)
                elif arrives is not None:  # the connection may continue
                    self.assertEqual([p for p in got if p != QUARANTINED][:len(arrives)], arrives)


for name_ in NAMED:
    setattr(Evasion, f"test_{name_}", lambda self, name=name_: self.attack(name))


if __name__ == "__main__":
    with ThreadPoolExecutor() as pool:
        OUTCOME = {way: pool.submit(Outcome, sys.argv[1], *way) for way in product(FAILS, ACTIONS)}
        OUTCOME = {way: outcome.result() for way, outcome in OUTCOME.items()}
    unittest.main(argv=sys.argv[1:], verbosity=1)
