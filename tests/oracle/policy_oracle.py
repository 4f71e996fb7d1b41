#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sessions of hostile and of unlucky clients through `biplane replay`, with a policy that refuses. To the broker leaves what a mosquitto with
the same ACL file allows, up to the first packet that it refuses (close), or with the quarantine topic in those that it refuses (blank), and
nothing else. policy_oracle.py BIPLANE [SEED [ROUNDS [SESSIONS [close|blank|pass]]]]"""

import os
import random
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import mqtt_packets
import policy_acl
import policy_sessions as sessions

ROUNDS, SESSIONS = 3, 1000
TOPICS = FILTERS = 150
QUARANTINES = ("$refused", "$r", "$quarantine/of/refused/messages")
MODES = {"close": ("close",), "blank": ("blank", "close"), "pass": ("blank", "pass")}
SKIPPED = 77
CONFIG = """\
version: 1
ports: [{name: devices, device: net_null0}, {name: devices2, device: net_null1}, {name: cloud, device: net_null2}, {name: cloud2, device: net_null3}]
bridges: [{name: b, ports: [devices, devices2, cloud, cloud2]}]
mqtt:
  connection_cpu_percent: 100
  worker_cpu_percent: 100
  reassembly_total: 256MiB
"""
DEVICES, BROKERS = ("devices", "devices2"), ("cloud", "cloud2")
DISCONNECT, CONNACK_V3, CONNACK_V5 = b"\xe0\x01\x87", b"\x20\x02\x00\x05", b"\x20\x03\x00\x87\x00"


def config(biplane, folder, policy):
    """The policy that biplane makes of the ACL file, with another action"""
    out = subprocess.run([biplane, "policy", "import", f"{folder}/acl"], stdout=subprocess.PIPE, check=True, timeout=60).stdout.decode()
    head = f"policy:\n  fail: closed\n  fallback: {policy.fallback}\n  quarantine: {policy.quarantine}\n"
    path = Path(folder) / "biplane.yaml"
    path.write_text(CONFIG + "".join(f"  {line}\n" for line in out.replace("observe", policy.action).replace("policy:\n", head).splitlines()))
    return path


def replay(biplane, folder, policy, steps):
    """{port: [(number of the frame that arrived, frame that leaves)]}"""
    arrive = {name: [] for name in DEVICES + BROKERS}
    for i, (session, step) in enumerate(steps):
        at = session.endpoint
        arrive[DEVICES[at.device] if step.of_client else BROKERS[at.answers]].append((i, step.frame))
    args = []
    for name, frames in arrive.items():
        (Path(folder) / f"{name}.pcap").write_bytes(sessions.capture(frames))
        args += ["--in", f"{name}={folder}/{name}.pcap", "--out", f"{name}={folder}/{name}-out.pcap"]
    p = subprocess.run([biplane, "replay", "-c", config(biplane, folder, policy), *args, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       check=False, timeout=600)
    if p.returncode != 0:
        raise RuntimeError(f"biplane replay: {p.returncode}: {p.stderr.decode()}")
    return {name: list(frames_of((Path(folder) / f"{name}-out.pcap").read_bytes())) for name in arrive}


def frames_of(data):
    """(number of the frame that arrived, frame)"""
    assert data[:4] == b"\x4d\x3c\xb2\xa1", data[:4]  # nanoseconds
    at = 24
    while at < len(data):
        seconds, ns, size, whole = struct.unpack("<IIII", data[at:at + 16])
        assert size == whole
        yield (seconds - 1700000000) * 1000000 + ns // 1000, data[at + 16:at + 16 + size]
        at += 16 + size


def to_broker(frame):
    return struct.unpack("!H", frame[36:38])[0] == sessions.BROKER_PORT


def parse(frame):
    """(endpoint of the client, flags, sequence number, payload), after all sums and lengths are checked"""
    ip, tcp = frame[14:34], frame[34:]
    assert ip[0] == 0x45 and struct.unpack("!H", ip[2:4])[0] == 20 + len(tcp), frame.hex()
    assert sessions.complement(ip) in (b"\0\0", b"\xff\xff"), frame.hex()
    assert sessions.complement(ip[12:20] + struct.pack("!HH", 6, len(tcp)) + tcp) in (b"\0\0", b"\xff\xff"), frame.hex()
    sport, dport, seq, _, offset, flags = struct.unpack("!HHIIBB", tcp[:14])
    key = (ip[12:16], sport) if dport == sessions.BROKER_PORT else (ip[16:20], dport)
    return key, flags, seq, tcp[4 * (offset >> 4):]


class Broker:
    """What has left of a session: all of it, and what has not got lost behind biplane"""

    def __init__(self, session):
        self.session = session
        self.left, self.got, self.reached = {}, {}, {}
        self.resets, self.ends, self.answers = [], 0, b""

    def to_broker(self, step, flags, seq, payload):
        at = (seq - self.session.isn - 1) & 0xFFFFFFFF
        if flags & sessions.RST:
            self.resets.append(at)
            return
        if flags & sessions.SYN or not payload:
            return
        assert not step.empty, f"acknowledged bytes at {at} leave"
        assert at <= step.judged, f"bytes at {at} leave before those at {step.judged}"
        for i, byte in enumerate(payload, at):
            assert self.left.setdefault(i, byte) == byte, f"position {i} leaves with two values"
            if not step.lost:
                self.got[i] = byte

    def judged(self, step):
        """Bytes that were judged, of a segment that leaves without them"""
        for i in range(step.judged, step.end if step.empty else 0):
            self.left.setdefault(i, self.session.arrived.data[i])

    def to_client(self, step, flags, seq, payload):
        if step.of_client:
            self.answers += payload
            self.ends += (flags & (sessions.RST | sessions.FIN)) != 0
            return
        at = (seq - self.session.broker_isn - 1) & 0xFFFFFFFF
        for i, byte in enumerate(payload, at):
            # the client has the others already
            assert i < step.seen or byte == self.session.reaches[i], f"byte {i} of the broker reaches the client as {byte:#x}"
            self.reached[i] = byte

    def judge(self):
        script, arrived, left, got = self.session.script, self.session.arrived, stream(self.left), stream(self.got)
        assert len(left) == len(self.left), "bytes leave behind a gap"
        self.judge_publications(*(mqtt_packets.publications(s, script.version) for s in (left, got)))
        assert left == arrived.data[:len(left)], f"other bytes left: {left.hex()}"
        assert got == left[:len(got)]
        reached, reaches = len(self.reached), len(self.session.reaches)
        assert len(stream(self.reached)) == reached, "bytes of the broker leave behind a gap"
        assert arrived.ended is not None or reached == reaches, f"{reached} of {reaches} bytes of the broker reach the client"
        if arrived.ended is None:
            assert len(left) == len(got) == len(arrived.data), "bytes are missing"
            assert not self.resets and not self.ends and not self.answers, "the connection was ended"
            return
        assert len(left) == arrived.ended, f"{len(left)} bytes left"
        # later ones have the number that the broker says it expects
        assert self.resets and self.resets[0] == max(self.resets) == len(left), f"resets at {self.resets}, {len(left)} bytes left"
        assert self.ends, "the client's connection was not ended"
        if arrived.ended < script.connect_end:
            assert self.answers.startswith(CONNACK_V5 if script.version == 5 else CONNACK_V3), self.answers
        else:
            assert self.answers == (DISCONNECT if script.version == 5 else b""), self.answers

    def judge_publications(self, left, got):
        script, arrived = self.session.script, self.session.arrived
        assert left == arrived.published, f"left: {left}, expected: {arrived.published}"
        assert got == left[:len(got)], f"received: {got}"
        refused = [t for t, _ in left if not script.allowed.get(t, t.startswith("$"))]
        assert not refused or arrived.passed, f"{refused} is refused"


def stream(values):
    """The bytes from position 0 on"""
    n = next(i for i in range(len(values) + 1) if i not in values)
    return bytes(values[i] for i in range(n))


def leave(endpoint, ports):
    """Frames of a connection that leave with one that arrived, by port: all of them where their receiver is; others where none knows that"""
    found = []
    for of, names in ((False, (DEVICES[endpoint.device],)), (True, BROKERS)):
        by_port = {name: [f for f in frames if to_broker(f) == of] for name, frames in ports.items()}
        some = [frames for frames in by_port.values() if frames]
        assert all(frames == some[0] for frames in some), "ports have different frames"
        assert not some or any(by_port.get(name) for name in names), f"frames leave by {list(ports)} alone"
        found += [(of, f) for f in some[0]] if some else []
    return found


def judge(steps, out):
    brokers = {s: Broker(s) for s, _ in steps}
    leaves = defaultdict(lambda: defaultdict(list))
    for name, frames in out.items():
        for i, frame in frames:
            leaves[i][name].append(frame)
    for i, (session, step) in enumerate(steps):
        broker = brokers[session]
        broker.judged(step)
        try:
            for of, frame in leave(session.endpoint, leaves[i]):
                key, flags, seq, payload = parse(frame)
                assert key == session.endpoint.key
                (broker.to_broker if of else broker.to_client)(step, flags, seq, payload)
        except AssertionError as e:
            return broker, f"frame {i}: {e}"
    for broker in brokers.values():
        try:
            broker.judge()
        except AssertionError as e:
            return broker, e
    return None


def explain(steps, broker):
    """The frames of a session, and its stream"""
    session, script = broker.session, broker.session.script
    print(f"client {script.client} user {script.user} version {script.version}, first sequence number {session.isn}",
          "packets:", *script.packets, f"left     {stream(broker.left).hex()}",
          f"expected {session.arrived.data.hex()}", f"ended at {session.arrived.ended}", script.policy, sep="\n")
    for i, (of, step) in enumerate(steps):
        if of is session:
            _, flags, seq, payload = parse(step.frame)
            at = (seq - (session.isn if step.of_client else session.broker_isn) - 1) & 0xFFFFFFFF
            print(f"  {i} {'client' if step.of_client else 'broker'} flags {flags:#x} at {at} {payload.hex()}{' lost' if step.lost else ''}",
                  f"acknowledged {step.acknowledged} judged {step.judged}")


def generate(rng, policy, answers, first, n):
    """Sessions, some of which have the addresses and ports of the one before"""
    groups, number = [], first
    while number < first + n:
        endpoint, group = sessions.Endpoint(number), []
        for _ in range(2 if rng.random() < 0.1 else 1):
            group.append(sessions.Session(rng, endpoint, sessions.Script(rng, policy, *answers), number))
            number += 1
        groups.append(group)
    return groups


def judge_round(biplane, folder, rng, mode, n, counts):
    policy = sessions.Policy(*MODES[mode], *([rng.choice(QUARANTINES)] if mode != "close" else []))
    acl, topics = policy_acl.acl(rng), sorted({policy_acl.topic(rng) for _ in range(TOPICS)})
    filters = sorted({policy_acl.topic_filter(rng) for _ in range(FILTERS)})
    answers = policy_acl.truth(folder, acl, topics), {client: policy_acl.subscriptions(acl, *client, filters) for client in policy_acl.CLIENTS}
    groups = generate(rng, policy, answers, 1, n)
    steps = list(sessions.interleaved(rng, groups))
    found = judge(steps, replay(biplane, folder, policy, steps))
    if found is not None:
        print(found[1], acl, sep="\n")
        explain(steps, found[0])
        return False
    for s in (s for group in groups for s in group):
        counts["sessions"] += 1
        counts["frames"] += len(s.steps)
        counts["publications"] += len(s.arrived.published)
        counts["overwritten"] += s.arrived.blanked
        counts["passed"] += s.arrived.passed
        counts["codes"] += s.arrived.codes
        counts["ended"] += s.arrived.ended is not None
    return True


def main(biplane, seed=None, rounds=ROUNDS, n=SESSIONS, mode=None):
    if not os.access(policy_acl.MOSQUITTO, os.X_OK):
        print("there is no mosquitto on this machine")
        return SKIPPED
    seed = int(seed) if seed is not None else random.randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    counts = defaultdict(int)
    with tempfile.TemporaryDirectory(prefix="bp-oracle-") as folder:
        for number in range(int(rounds)):
            of_round = mode or list(MODES)[number % len(MODES)]
            if not judge_round(biplane, folder, random.Random(f"{seed} {number}"), of_round, int(n), counts):
                print(f"round {number}, {of_round}")
                return 1
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    return 0 if 0 < counts["ended"] < counts["sessions"] or mode == "pass" else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
