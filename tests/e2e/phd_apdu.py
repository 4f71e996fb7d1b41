# SPDX-License-Identifier: BSD-3-Clause
"""APDUs of devices, valid or not, after the standard's examples: each field can have an invalid value. And datagrams
with any source address."""

import contextlib
import socket
import struct
import time

from frames import checksum, ethernet, ip4
from router_lab import host_mac, own, pause, router_mac
from vlan_tap import open_raw

PORT = 6024
EVENT, EVENT_CONFIRMED, GET, RORS_EVENT, RORS_GET, ROER, RORJ = 0x0100, 0x0101, 0x0103, 0x0201, 0x0203, 0x0300, 0x0400
CONFIG, FIXED, VAR, MP_FIXED, MP_VAR = range(3356, 3361)
NUMERIC, NU_VALUE, ID_TYPE, UNIT, METRIC_SPEC, VALUE_MAP, SYSTEM_ID, SYS_TYPES = 6, 2636, 2351, 2454, 2630, 2645, 2436, 2650
ABRT, RLRQ, RLRE = (bytes.fromhex(f"{c}00020000") for c in ("e600", "e400", "e500"))
LATER = bytes.fromhex("040000020067")  # the end of rorj 103: the device is to ask again


def octet_string(body):
    return struct.pack(">H", len(body)) + body


def counted(entries, count=None):
    """A SEQUENCE OF; `count`: the count field, if not the real one."""
    body = b"".join(entries)
    return struct.pack(">HH", len(entries) if count is None else count, len(body)) + body


def aarq(system_id, config=400):
    """Of an agent with 20601, MDER, a system-id of 8 bytes (16 digits) and a configuration."""
    return bytes.fromhex("e2000032800000000001002a5079002680000000800080000000000000000080000000" "08" + system_id +
                         f"{config:04x}" "0001010000000000")


def prst(invoke, choice, body):
    data = struct.pack(">HH", invoke, choice) + octet_string(body)
    return struct.pack(">H", 0xe700) + octet_string(octet_string(data))


def event(invoke, type_, info, confirmed=True):
    return prst(invoke, EVENT_CONFIRMED if confirmed else EVENT, struct.pack(">HIH", 0, 0xffffffff, type_) + octet_string(info))


def attribute(id_, value):
    return struct.pack(">H", id_) + octet_string(value)


def numeric(handle, code=19384, unit=544, value_map=((NU_VALUE, 2),), more=()):
    """A configuration's object: its metric, and the attributes of its fixed reports."""
    attributes = [attribute(ID_TYPE, struct.pack(">HH", 2, code)), attribute(METRIC_SPEC, b"\x40\x40"),
                  attribute(UNIT, struct.pack(">H", unit)),
                  attribute(VALUE_MAP, counted([struct.pack(">HH", *m) for m in value_map])), *more]
    return struct.pack(">HH", NUMERIC, handle) + counted(attributes)


def config_report(config, objects, invoke=1, count=None):
    return event(invoke, CONFIG, struct.pack(">H", config) + counted(objects, count))


def config_result(answer):
    """0 accepted, 1 unsupported, 2 standard and unknown; None: it is no answer to a configuration report."""
    return int.from_bytes(answer[-2:], "big") if answer[:2] == b"\xe7\x00" and len(answer) == 26 else None


def fixed(invoke, number, values, handle=1, confirmed=True):
    """`values`: of an object of two bytes each, as its map has them (SFLOAT; below 2048: that integer)."""
    entries = [struct.pack(">H", handle) + octet_string(struct.pack(">H", v)) for v in values]
    return event(invoke, FIXED, struct.pack(">HH", 0xf000, number) + counted(entries), confirmed)


def variable(invoke, number, values, handle=1):
    entries = [struct.pack(">H", handle) + counted([attribute(NU_VALUE, struct.pack(">H", v))]) for v in values]
    return event(invoke, VAR, struct.pack(">HH", 0xf000, number) + counted(entries))


def accepted(invoke, type_=FIXED):
    return prst(invoke, RORS_EVENT, struct.pack(">HIH", 0, 0xffffffff, type_) + octet_string(b""))


def rorj(invoke, problem):
    return prst(invoke, RORJ, struct.pack(">H", problem))


def roer(invoke, error):
    return prst(invoke, ROER, struct.pack(">HH", error, 0))


def get_invoke(apdu):
    """The invoke-id of the manager's GET of the MDS, or None."""
    return int.from_bytes(apdu[6:8], "big") if apdu[:2] == b"\xe7\x00" and apdu[8:10] == b"\x01\x03" else None


class Device:
    """A device by hand, on the left."""

    def __init__(self, lab, system_id, tcp=False, address=None, port=0, to=own("left")):
        self.lab, self.system_id, self.tcp = lab, system_id, tcp
        self.connect(address, port, to)

    def connect(self, address=None, port=0, to=own("left")):
        tcp, self.held = self.tcp, b""
        with self.lab.inside("left"):
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
            if address or port:
                # not for any port: of sockets that allow it, two over UDP may be given the same one
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(port != 0))
                self.socket.bind((address or "0.0.0.0", port))
            self.socket.settimeout(20)
            self.socket.connect((to, PORT))
        self.address, self.port = self.socket.getsockname()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        with contextlib.suppress(OSError):
            self.socket.send(ABRT)
        self.socket.close()

    def reconnect(self):
        """By another port, without a word."""
        self.socket.close()
        self.connect()

    def send(self, *apdus):
        for a in apdus:
            self.socket.sendall(a) if self.tcp else self.socket.send(a)

    def hear(self, seconds=20):
        """The next APDU; None: timeout. b"": the connection ended."""
        self.socket.settimeout(seconds)
        try:
            if not self.tcp:
                return self.socket.recv(65536)
            while len(self.held) < 4 or len(self.held) < 4 + int.from_bytes(self.held[2:4], "big"):
                got = self.socket.recv(65536)
                if not got:
                    return b""
                self.held += got
        except TimeoutError:
            return None
        except ConnectionResetError:
            return b""
        n = 4 + int.from_bytes(self.held[2:4], "big")
        apdu, self.held = self.held[:n], self.held[n:]
        return apdu

    def ask(self, what, seconds=20):
        """The answer to what is not repeated."""
        self.send(what)
        return self.hear(seconds)

    def insist(self, what, seconds=60, each=3):
        """The answer to what is repeated until there is one that is not 'later'."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            got = self.ask(what, each)
            if got is not None and not got.endswith(LATER):
                return got
            pause(0.02)
        raise AssertionError(f"no answer to {what[:60].hex()}")

    def associate(self, config=400):
        """The result of an association."""
        aare = self.insist(aarq(self.system_id, config))
        assert aare[:2] == b"\xe3\x00", aare.hex()
        return int.from_bytes(aare[4:6], "big")

    def declare(self, config, objects):
        """Associates with a configuration of its own. Over UDP what gets lost is repeated."""
        assert self.associate(config) == 3
        assert config_result(self.insist(config_report(config, objects))) == 0

    def measure(self, invoke, *values, **kw):
        """A confirmed report, asked until it is stored."""
        assert (got := self.insist(fixed(invoke, invoke, values, **kw))) == accepted(invoke), got.hex()


class Anybody:
    """Sends datagrams from the left, with any sender."""

    def __init__(self, lab):
        with lab.inside("left"):
            self.socket = open_raw("eth0")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.socket.close()

    @staticmethod
    def frame(address, port, payload, to=None):
        to = to or own("left")
        udp = struct.pack(">HHHH", port, PORT, 8 + len(payload), 0) + payload
        pseudo = socket.inet_aton(address) + socket.inet_aton(to) + struct.pack(">HH", 17, len(udp))
        udp = udp[:6] + struct.pack(">H", checksum(pseudo + udp) or 0xffff) + udp[8:]
        return ethernet(router_mac("left"), host_mac("left"), 0x0800, ip4(address, to, 17, udp))

    def send(self, address, port, payload, to=None):
        self.socket.send(self.frame(address, port, payload, to))


def memory_kib(pid):
    """Private memory of a process."""
    with open(f"/proc/{pid}/status") as f:
        words = dict(line.split(":", 1) for line in f)
    return int(words["RssAnon"].split()[0])

