# SPDX-License-Identifier: BSD-3-Clause
"""A small 20601 manager for the tests of the simulator: bytes after the standard's examples, nothing of the gateway."""

import socket
import struct
import threading

AARQ, AARE, RLRQ, RLRE, ABRT, PRST = 0xe200, 0xe300, 0xe400, 0xe500, 0xe600, 0xe700
CONFIG, FIXED, VAR, MP_FIXED, MP_VAR = range(3356, 3361)
ACCEPTED, ACCEPTED_UNKNOWN_CONFIG = 0, 3

# Manager fedcba9876543210 accepts; C06: 0x4001 is accepted; S16: a report is; R02; G01.
AARE_ACCEPTED = "e300002c0000507900268000000080008000000000000000800000000008fedcba987654321000000000000000000000"
CONFIG_ACCEPTED = "e7000016001400010201000e0000ffffffff0d1c000440010000"
REPORT_ACCEPTED = "e7000012001012380201000a0000ffffffff0d1d0000"
RELEASED = "e50000020000"
GET_MDS = "e700000e000c345601030006000000000000"


def aare(result):
    if result in (ACCEPTED, ACCEPTED_UNKNOWN_CONFIG):
        return patch(AARE_ACCEPTED, (4, result))
    return patch("e3000006000000000000", (4, result))


def patch(hexes, *changes):
    """The bytes with 16-bit values put at offsets."""
    b = bytearray.fromhex(hexes)
    for at, value in changes:
        b[at:at + 2] = value.to_bytes(2, "big")
    return bytes(b)


def config_answer(invoke, config, result=0):
    return patch(CONFIG_ACCEPTED, (6, invoke), (22, config), (24, result))


def report_answer(invoke, type_):
    return patch(REPORT_ACCEPTED, (6, invoke), (18, type_))


def roer(invoke, error):
    return patch("e700000c000a00310300000400010000", (6, invoke), (12, error))


def rorj(invoke, problem):
    return patch("e700000a00080032040000020002", (6, invoke), (12, problem))


class Apdu:
    """The fields of an agent's APDU with fixed offsets."""

    def __init__(self, raw):
        self.raw = raw
        self.choice, self.length = struct.unpack_from(">HH", raw)
        assert self.length == len(raw) - 4, raw.hex()
        if self.choice == AARQ:
            self.config = struct.unpack_from(">H", raw, 44)[0]
            self.system_id = raw[36:44].hex()
        if self.choice == PRST:
            self.invoke, self.data = struct.unpack_from(">HH", raw, 6)
            if self.data in (0x100, 0x101):
                self.handle, _, self.type = struct.unpack_from(">HIH", raw, 12)
                self.id = struct.unpack_from(">H", raw, 22)[0]
                if self.type != CONFIG:
                    self.report_no = struct.unpack_from(">H", raw, 24)[0]

    @property
    def is_report(self):
        return self.choice == PRST and self.data in (0x100, 0x101) and self.type != CONFIG


class Manager:
    """Answers agents over UDP or TCP until closed. `answer(apdu, peer)` may return bytes, a list of them, or None
    for the default answer; b"" is silence. All APDUs are kept in `received`, as (peer, Apdu)."""

    def __init__(self, tcp=False, known=(400,), answer=None, address="127.0.0.1"):
        self.tcp, self.known, self.answer = tcp, known, answer
        self.received, self.failed = [], None
        self.changed = threading.Condition()
        self.connections = []
        kind = socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM
        self.socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
        self.socket.bind((address, 0))
        if tcp:
            self.socket.listen(128)
        else:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.socket.settimeout(0.2)
        self.port = self.socket.getsockname()[1]
        self.closing = False
        self.threads = [threading.Thread(target=self._accept if tcp else self._datagrams, daemon=True)]
        self.threads[0].start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.closing = True
        for t in self.threads:
            t.join(30)
        self.socket.close()
        if self.failed:
            raise self.failed

    def usual(self, a):
        if a.choice == AARQ:
            return aare(ACCEPTED if a.config in self.known else ACCEPTED_UNKNOWN_CONFIG)
        if a.choice == RLRQ:
            return bytes.fromhex(RELEASED)
        if a.choice == PRST and a.data == 0x101:
            return config_answer(a.invoke, a.id) if a.type == CONFIG else report_answer(a.invoke, a.type)
        return b""

    def take(self, raw, peer, send):
        a = Apdu(raw)
        with self.changed:
            self.received.append((peer, a))
            self.changed.notify_all()
        said = self.answer(a, peer) if self.answer else None
        for one in said if isinstance(said, list) else [self.usual(a) if said is None else said]:
            if one:
                send(one)

    def wait(self, what, count=1, seconds=30):
        """Until `count` APDUs of which what(apdu) is true were received; returns them."""
        def found():
            return [a for _, a in self.received if what(a)]
        with self.changed:
            ok = self.changed.wait_for(lambda: len(found()) >= count, seconds)
        assert ok, f"only {len(found())} of {count}: {[a.raw.hex() for _, a in self.received][-20:]}"
        return found()

    def apdus(self, what=lambda a: True):
        return [a for _, a in self.received if what(a)]

    def _datagrams(self):
        while not self.closing:
            try:
                raw, peer = self.socket.recvfrom(65536)
                self.take(raw, peer, lambda b, p=peer: self.socket.sendto(b, p))
            except TimeoutError:
                continue
            except Exception as e:  # reported where it can fail the test
                self.failed = e
                return

    def _accept(self):
        while not self.closing:
            try:
                c, peer = self.socket.accept()
            except TimeoutError:
                continue
            t = threading.Thread(target=self._stream, args=(c, peer), daemon=True)
            self.threads.append(t)
            t.start()

    def _stream(self, c, peer):
        self.connections.append(c)
        held = b""
        with c:
            c.settimeout(0.2)
            while not self.closing:
                try:
                    got = c.recv(65536)
                except TimeoutError:
                    continue
                except OSError:
                    return
                if not got:
                    return
                held += got
                while len(held) >= 4 and len(held) >= 4 + int.from_bytes(held[2:4], "big"):
                    n = 4 + int.from_bytes(held[2:4], "big")
                    one, held = held[:n], held[n:]
                    try:
                        self.take(one, peer, c.sendall)
                    except Exception as e:
                        self.failed = e
                        return
