#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Demonstration of aggregation for scripts/quickstart: scripts/lab with --wan scripts/demo_aggregation.py [DRIVER]

Sensors send small UDP messages to one server. Gateway NEAR aggregates them, eight in a packet; tcpdump captures
on the WAN; gateway FAR restores them. Exits 0 only if the server received each datagram once, from its sender,
in order, with its TTL and DSCP, and if the datagrams crossed the WAN in aggregates.
"""

import collections
import json
import random
import re
import select
import socket
import subprocess
import sys
import time

from demo_lab import BIPLANE, LAB, STATE, colour, in_ns, inside, watch

SERVER = ("10.10.0.2", 5555)
SENDERS = 40
EACH = 10
PATIENCE = 10  # timeout of the messages, s; then they count as lost
FRAME = 42  # bytes of Ethernet, IP and UDP before a message
IP_RECVTTL = 12  # of linux/in.h; Python has no name for it


def address(n):
    return f"10.7.0.{11 + n}"


def open_senders():
    for n in range(SENDERS):
        subprocess.run(in_ns("sensors", "ip", "addr", "replace", f"{address(n)}/24", "dev", "eth0"), check=True)
    sockets = []
    with inside("sensors"):
        for n in range(SENDERS):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind((address(n), 40000 + 7 * n))
            s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 64 - n % 3)
            s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 46 << 2 if n % 8 == 0 else 0)
            sockets.append(s)
    return sockets


def open_server():
    with inside("server"):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(SERVER)
        for option in (IP_RECVTTL, socket.IP_RECVTOS):
            s.setsockopt(socket.IPPROTO_IP, option, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    return s


def receive(server, timeout):
    """(source, TTL, TOS, payload), or None on timeout."""
    if not select.select([server], [], [], timeout)[0]:
        return None
    payload, control, _, source = server.recvmsg(2048, 256)
    fields = {kind: data[0] for level, kind, data in control if level == socket.IPPROTO_IP}
    return source, fields[socket.IP_TTL], fields[socket.IP_TOS], payload


def send(senders):
    """The sent datagrams as the server must receive them: FAR is the last router and decrements the TTL."""
    rng, sent = random.Random(), []
    for i in range(EACH):
        for n, s in enumerate(senders):
            text = f"{n:02} {i} {rng.uniform(15, 25):.1f} C" + "." * rng.randrange(0, 20)
            s.sendto(text.encode(), SERVER)
            sent.append((s.getsockname(), s.getsockopt(socket.IPPROTO_IP, socket.IP_TTL) - 1,
                         s.getsockopt(socket.IPPROTO_IP, socket.IP_TOS), text.encode()))
            time.sleep(0.0002)
    return sent


def on_the_wan(file):
    """Lines of tcpdump, and bytes of all frames."""
    lines = subprocess.run(["tcpdump", "-nn", "-q", "-t", "-r", file], check=True, capture_output=True, text=True).stdout.splitlines()
    return lines, sum(FRAME + int(re.search(r"length (\d+)", line)[1]) for line in lines)


def by_sender(datagrams):
    found = collections.defaultdict(list)
    for source, *rest in datagrams:
        found[source].append(rest)
    return found


def traffic(file):
    subprocess.run(in_ns("sensors", "ping", "-q", "-c", "1", "-W", "5", SERVER[0]), check=True, stdout=subprocess.DEVNULL)
    senders, server, tcpdump = open_senders(), open_server(), watch("wan", "near", file, f"udp dst port {SERVER[1]}")
    got = []
    try:
        sent, end = send(senders), time.monotonic() + PATIENCE
        while len(got) < len(sent) and time.monotonic() < end:
            datagram = receive(server, 0.2)
            got += [datagram] if datagram else []
        while datagram := receive(server, 0.1):  # any further datagram is an error
            got.append(datagram)
    finally:
        tcpdump.terminate()
        tcpdump.wait()
    return sent, got


def show(sent, got, file):
    lines, total = on_the_wan(file)
    plain = sum(FRAME + len(payload) for *_, payload in sent)
    print(f"  {SENDERS} sensors sent {len(sent)} messages of {min(len(d[3]) for d in sent)} to {max(len(d[3]) for d in sent)} bytes "
          f"to {SERVER[0]}:{SERVER[1]}")
    print("  on the WAN, as tcpdump sees it:")
    for line in lines[:4]:
        print(f"      {line}")
    print(f"      ... {len(lines)} packets, {len(sent) / max(len(lines), 1):.1f} messages in each: "
          f"{total} bytes of frames in place of {plain}, {100 - 100 * total / plain:.0f} % less")
    print("  at the server:")
    for (host, port), ttl, tos, payload in got[:4]:
        print(f"      {host}:{port}  TTL {ttl}  DSCP {tos >> 2}  {payload.decode()}")
    print(f"      ... {len(got)} datagrams")
    view = json.loads(subprocess.run([BIPLANE, "show", "aggregates", "--json", "-c", STATE / "near.yaml"], check=True,
                                     capture_output=True, text=True).stdout)
    near = view["encapsulate"][0]
    print(f"  gateway NEAR: an aggregate holds {near['avg_messages']} messages on average, each waited {near['avg_delay_us'] / 1e3:.1f} ms; "
          "flush reasons: " + ", ".join(f"{n} {why}" for why, n in near["flush_reasons"].items() if n))
    right = by_sender(got) == by_sender(sent) and 2 * len(lines) <= len(sent)
    print(colour("1;32", "  each datagram arrived once, from its sender and in order") if right
          else colour("1;31", "  error: the sent and the received datagrams must be equal"))
    return 0 if right else 1


def main(driver):
    if not (STATE / "near.pid").exists():
        subprocess.run([LAB, "gateway", "start", driver], check=True)
    file = STATE / "wan.pcap"
    sent, got = traffic(file)
    return show(sent, got, file)


if __name__ == "__main__":
    try:
        sys.exit(main(*(sys.argv[1:] or ["af_packet"])))
    except KeyboardInterrupt:
        sys.exit(130)
