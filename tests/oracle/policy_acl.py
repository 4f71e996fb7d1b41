# SPDX-License-Identifier: BSD-3-Clause
"""Random ACL files of mosquitto, what a mosquitto with such a file says about each client and topic, and a model of the policy for subscriptions:
mosquitto accepts each of them."""

import os
import socket
import struct
import subprocess
import time
from pathlib import Path

import mqtt_packets

MOSQUITTO = "/usr/sbin/mosquitto"
CLIENTS = [("pump", None), ("valve", "anna"), ("c-1", "bert"), ("anna", "carl")]  # (client identifier, user name)
LEVELS = ["plant", "anna", "bert", "carl", "pump", "valve", "a", "b", "secret", ""]
NOT_AUTHORIZED = 0x87
PENDING = 16  # publications; mosquitto allows 20


def topic(rng):
    while True:
        # a first level without text and the topics of brokers are the broker's own matter
        levels = rng.choices(LEVELS, k=rng.randint(1, 4))
        if levels[0]:
            return "/".join(levels)


def topic_filter(rng, own=()):
    levels = topic(rng).split("/")
    for i, level in enumerate(levels):
        if rng.random() < 0.25:
            levels[i] = "+"
        elif own and rng.random() < 0.4:
            levels[i] = rng.choice(own)
    if rng.random() < 0.5:
        levels[-1 if rng.random() < 0.5 else len(levels):] = ["#"]
    return "/".join(levels)


def acl(rng):
    lines = ["topic write #"] if rng.random() < 0.3 else []
    for user in (None, "anna", "bert"):
        lines += [f"user {user}"] if user else []
        lines += [f"topic {rng.choice(('write', 'write', 'readwrite', 'read', 'deny'))} {topic_filter(rng)}" for _ in range(rng.randint(1, 5))]
        if rng.random() < 0.3:
            lines += ["topic write plant/#"]
    lines += [f"pattern {rng.choice(('write', 'readwrite', 'deny'))} {topic_filter(rng, ('%c', '%u'))}" for _ in range(rng.randint(0, 4))]
    return "\n".join([*lines, "pattern write plant/#"]) + "\n"


def covers(rule, wanted):
    """Whether each topic that matches the levels of one filter matches those of a rule"""
    if rule == ["#"]:
        return True
    if not rule or not wanted:
        return rule == wanted
    return wanted[0] != "#" and rule[0] in ("+", wanted[0]) and covers(rule[1:], wanted[1:])


def overlaps(a, b):
    """Whether a topic matches both"""
    if ["#"] in (a, b):
        return True
    if not a or not b:
        return a == b
    return (a[0] == b[0] or "+" in (a[0], b[0])) and overlaps(a[1:], b[1:])


def reads(rules, client, user):
    """(a line denies it, levels of its filter) of the lines for reading of this client, in the order in which they decide"""
    of_user, mine, lines = None, True, []
    for line in rules.splitlines():
        kind, *rest = line.split(" ", 2)
        if kind == "user":
            of_user, mine = rest[0], rest[0] == user
        elif kind == "pattern" or (mine if of_user else user is None):
            access, levels = rest[0], rest[1].split("/")
            if kind == "pattern" and "%u" in levels and user is None:
                continue
            levels = [{"%c": client, "%u": user}.get(level, level) for level in levels] if kind == "pattern" else levels
            if access != "write":
                # each topic has a first level
                lines.append((kind == "pattern", access != "deny", ["#"] if levels == ["+", "#"] else levels))
    return [(not allows, levels) for _, allows, levels in sorted(lines, key=lambda line: line[:2])]


def subscriptions(rules, client, user, filters):
    """{filter: allowed}"""
    lines = reads(rules, client, user)
    first = {f: next((denies for denies, levels in lines if (overlaps if denies else covers)(levels, f.split("/"))), True) for f in filters}
    return {f: not denies for f, denies in first.items()}


def receive(s, n):
    data = b""
    while len(data) < n:
        more = s.recv(n - len(data))
        if not more:
            raise RuntimeError("mosquitto closed the connection")
        data += more
    return data


def packet(s):
    first, length = receive(s, 2)  # its answers are short
    return first, receive(s, length)


def answers(path, client, user, topics):
    """Whether mosquitto takes a publication of this client, for each topic"""
    out = {}
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(str(path))
        s.sendall(mqtt_packets.connect(5, client, user))
        first, body = packet(s)
        assert first == 0x20 and body[1] == 0, (client, user, body)
        for i in range(0, len(topics), PENDING):
            some = topics[i:i + PENDING]
            s.sendall(b"".join(mqtt_packets.publish(5, t, b"1", qos=1, identifier=k + 1) for k, t in enumerate(some)))
            for _ in some:
                first, body = packet(s)
                assert first == 0x40, (client, first, body)
                out[some[struct.unpack("!H", body[:2])[0] - 1]] = len(body) == 2 or body[2] != NOT_AUTHORIZED
    return out


def start(folder):
    conf, path = Path(folder) / "mosquitto.conf", Path(folder) / "socket"
    path.unlink(missing_ok=True)
    user = "user root\n" if os.geteuid() == 0 else ""
    conf.write_text(f"{user}listener 0 {path}\nallow_anonymous true\nacl_file {folder}/acl\n")
    broker = subprocess.Popen([MOSQUITTO, "-c", conf], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(str(path))
            return broker, path
        except OSError:
            if broker.poll() is not None:
                raise RuntimeError("mosquitto does not start") from None
            time.sleep(0.02)


def truth(folder, rules, topics):
    """{(client, user): {topic: allowed}}, of a mosquitto with these lines"""
    (Path(folder) / "acl").write_text(rules)
    (Path(folder) / "acl").chmod(0o600)
    broker, path = start(folder)
    try:
        return {(client, user): answers(path, client, user, topics) for client, user in CLIENTS}
    finally:
        broker.terminate()
        broker.wait(20)
