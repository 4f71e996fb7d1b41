#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Devices with a connection each, which publish by turns with QoS 0.

  devices.py BROKER CONNECTIONS

Prints "ready" when all are connected. Each line "RATE SECONDS PERCENT" on standard input is a load: so many values per
second of all devices together, the given percentage of them above the threshold of the laboratory's rule. After each
load it prints a JSON object with the number of values and of alarms. Ends at the end of its standard input.
"""
import json
import resource
import socket
import sys
import time

LATE_S = 0.05  # after a pause of this process, what is late by more than this is not sent
NORMAL, HIGH = b"20", b"95"


def packet(first, body):
    length, n = b"", len(body)
    while True:
        n, low = divmod(n, 128)
        length += bytes([low | (0x80 if n else 0)])
        if n == 0:
            return bytes([first]) + length + body


def text(s):
    return len(s).to_bytes(2, "big") + s


def connect(broker, index):
    s = socket.create_connection((broker, 1883), timeout=30)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.sendall(packet(0x10, text(b"MQTT") + bytes([4, 2, 0, 0]) + text(b"bench-%d" % index)))
    return s


def is_accepted(s):
    answer = b""
    while len(answer) < 4:
        more = s.recv(4 - len(answer))
        if not more:
            return False
        answer += more
    return answer == bytes([0x20, 2, 0, 0])


class Load:
    def __init__(self, broker, n):
        self.sockets, self.turn = [], 0
        for first in range(0, n, 100):  # fewer than the backlog of the broker
            some = [connect(broker, i) for i in range(first, min(first + 100, n))]
            if not all(map(is_accepted, some)):
                sys.exit(f"devices.py: the broker refused one of the connections {first} to {first + len(some) - 1}")
            self.sockets += some
        self.values = [tuple(packet(0x30, text(b"plant/d%d/temperature" % i) + v) for v in (NORMAL, HIGH)) for i in range(n)]

    def run(self, rate, seconds, percent):
        begin = now = time.monotonic()
        end, sent, alarms, due_from = begin + seconds, 0, 0, begin
        while now < end:
            due = int((now - due_from) * rate)
            if due - sent > rate * LATE_S + 1:
                due_from += (due - sent) / rate
                due = sent
            for _ in range(due - sent):
                high = sent * percent // 100 != (sent + 1) * percent // 100
                self.sockets[self.turn].sendall(self.values[self.turn][high])
                self.turn = (self.turn + 1) % len(self.sockets)
                sent += 1
                alarms += high
            time.sleep(0.001)
            now = time.monotonic()
        return {"sent": sent, "alarms": alarms, "seconds": round(now - begin, 3)}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    load = Load(sys.argv[1], int(sys.argv[2]))
    print("ready", flush=True)
    for line in sys.stdin:
        rate, seconds, percent = line.split()
        print(json.dumps(load.run(int(rate), float(seconds), int(percent))), flush=True)


if __name__ == "__main__":
    main()
