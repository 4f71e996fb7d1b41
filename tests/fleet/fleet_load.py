#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The devices of the fleet test: many MQTT connections that publish at a steady rate, and a log of what they published.

  fleet_load.py --broker HOST --log FILE [--connections N] [--rate N] [--prefix NAME] [--bind ADDRESS] [--seed N]

Prints "ready" when all devices are connected and publish. Ends at the end of its standard input: each device then
publishes a value that clears its alarm, waits for all acknowledgements, disconnects; the log is written as JSON.

Half of the devices use MQTT 3.1.1, half MQTT 5 with a topic alias; of each, half QoS 0 and half QoS 1. They never ping.
"""
import argparse
import asyncio
import fcntl
import json
import socket
import struct
import sys
import termios
import time

import mqtt_bytes
import oracle

STALL_CHECK = 0.01  # resolution of gaps of connections that publish with QoS 0
RECONNECT = 0.1
LAST_ACKS = 60  # seconds


def unsent(sock):
    """Bytes that the peer has not acknowledged."""
    return struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, b"\0\0\0\0"))[0]


class Device(asyncio.Protocol):
    def __init__(self, options, index):
        self.options, self.index = options, index
        self.version, self.qos = (5, 4)[index % 2], index // 2 % 2
        self.topic = f"plant/{options.prefix}{index}/temperature"
        self.phase = index * 7 % len(oracle.CYCLE)
        self.samples = []  # [sample, kind, time]
        self.unacked, self.stalled = {}, None  # packet id: (sample, time of the write); sample and time of the oldest
        self.lost, self.again, self.resets, self.clients, self.refused = [], [], [], [], 0
        self.up, self.transport, self.buffer, self.ending, self.aliased = False, None, bytearray(), False, False
        self.longest, self.longest_at, self.down = 0.0, 0.0, None

    # ------------------------------------------------------------ connection

    async def connect(self):
        loop = asyncio.get_running_loop()
        bind = (self.options.bind, 0) if self.options.bind else None
        while True:
            try:
                await asyncio.wait_for(loop.create_connection(lambda: self, self.options.broker, 1883, local_addr=bind), 10)
                return
            except (OSError, TimeoutError, asyncio.TimeoutError):
                self.refused += 1
                await asyncio.sleep(RECONNECT)

    def connection_made(self, transport):
        self.transport, self.sock = transport, transport.get_extra_info("socket")
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.clients.append("{}:{}".format(*self.sock.getsockname()))
        self.buffer.clear()
        self.aliased = False
        transport.write(mqtt_bytes.connect(f"{self.options.prefix}{self.index}", self.version))

    def connection_lost(self, exc):
        self.up = False
        if self.ending:
            return
        self.resets.append(time.time())
        self.down = min([self.resets[-1], *self._waiting()])
        if self.qos == 0 and self.stalled:
            self.lost += [n for n, *_ in self.samples if n >= self.stalled[0]]
            self.stalled = None
        asyncio.get_running_loop().call_later(RECONNECT, lambda: asyncio.ensure_future(self.connect()))

    def data_received(self, data):
        self.buffer += data
        for kind, body in mqtt_bytes.packets(self.buffer):
            if kind == mqtt_bytes.CONNACK:
                if body[1] != 0:
                    raise SystemExit(f"{self.topic}: the broker refused the connection: {body.hex()}")
                self.up = True
                if self.down:
                    self._gap(self.down)
                    self.down = None
                self._publish_again()
            elif kind == mqtt_bytes.PUBACK:
                n, since = self.unacked.pop(struct.unpack_from("!H", body)[0], (None, None))
                if n is not None:
                    self._gap(since)

    def _publish_again(self):
        """QoS 1: what the broker has not acknowledged before the connection was lost."""
        for pid, (n, since) in sorted(self.unacked.items(), key=lambda i: i[1][0]):
            self.again.append(n)
            self._write(n, pid, dup=True)

    # ------------------------------------------------------------ publications

    def publish(self, kind=None):
        if not self.up:
            return
        n = len(self.samples)
        if kind is None:
            kind = oracle.CYCLE[(n + self.phase) % len(oracle.CYCLE)]
        now = time.time()
        self.samples.append((n, kind, now))
        pid = 0
        if self.qos:
            pid = n % 65535 + 1
            self.unacked[pid] = (n, now)
        elif self.stalled is None:
            self.stalled = (n, now)
        self._write(n, pid)

    def _write(self, n, pid, dup=False):
        alias = 1 if self.version == 5 else 0
        topic = "" if alias and self.aliased else self.topic
        self.aliased = True
        payload = oracle.value_of(n, self.samples[n][1]).encode()
        self.transport.write(mqtt_bytes.publish(topic, payload, self.qos, pid, self.version, alias, dup))

    def check_stall(self):
        """QoS 0: whether the peer's TCP has acknowledged all bytes."""
        if self.stalled and self.up and not self.transport.get_write_buffer_size() and unsent(self.sock) == 0:
            self._gap(self.stalled[1])
            self.stalled = None

    def _waiting(self):
        """Since when what has not been acknowledged waits."""
        return ([since for _, since in self.unacked.values()] + ([self.stalled[1]] if self.stalled else []) +
                ([self.down] if self.down else []))

    def _gap(self, since):
        took = time.time() - since
        if took > self.longest:
            self.longest, self.longest_at = took, since

    def quiet(self):
        return self.up and not self.unacked and self.stalled is None

    async def end(self):
        self.publish(oracle.BELOW)
        end = time.monotonic() + LAST_ACKS
        while not self.quiet() and time.monotonic() < end:
            self.check_stall()
            await asyncio.sleep(0.02)
        if not self.quiet():
            if waiting := self._waiting():
                self._gap(min(waiting))
            self.lost += sorted({n for n, _ in self.unacked.values()} |
                                ({n for n, *_ in self.samples if n >= self.stalled[0]} if self.stalled else set()))
        self.ending = True
        if self.up:
            self.transport.write(mqtt_bytes.disconnect())
            self.transport.close()

    def log(self):
        return {"topic": self.topic, "clients": self.clients, "version": self.version, "qos": self.qos, "samples": self.samples,
                "lost": self.lost, "again": self.again, "resets": self.resets, "refused": self.refused,
                "gap": round(self.longest, 4), "gap_at": self.longest_at}


async def run(options):
    devices = [Device(options, i) for i in range(options.connections)]
    for i in range(0, len(devices), 50):  # not all SYNs together: the broker's backlog is 100
        await asyncio.gather(*(d.connect() for d in devices[i:i + 50]))
    while not all(d.up for d in devices):
        await asyncio.sleep(0.02)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), lambda: sys.stdin.buffer.raw.read(4096) or stop.set())
    begin, done, checked, said = time.monotonic(), 0, 0.0, False
    while not stop.is_set():
        now = time.monotonic()
        while done <= (now - begin) * options.rate:
            devices[done % len(devices)].publish()
            done += 1
        if now - checked >= STALL_CHECK:
            checked = now
            for d in devices:
                d.check_stall()
        if not said and done > len(devices):
            said = True
            print("ready", flush=True)
        await asyncio.sleep(0.002)
    loop.remove_reader(sys.stdin.fileno())
    await asyncio.gather(*(d.end() for d in devices))
    seconds = time.monotonic() - begin
    with open(options.log, "w") as f:
        json.dump({"seconds": seconds, "rate": options.rate, "devices": [d.log() for d in devices]}, f)


def main():
    p = argparse.ArgumentParser(description="devices of the fleet test")
    p.add_argument("--broker", required=True)
    p.add_argument("--log", required=True)
    p.add_argument("--connections", type=int, default=300)
    p.add_argument("--rate", type=float, default=2000)
    p.add_argument("--prefix", default="d")
    p.add_argument("--bind")
    asyncio.run(run(p.parse_args()))


if __name__ == "__main__":
    main()
