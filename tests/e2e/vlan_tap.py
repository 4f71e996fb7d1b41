#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A VLAN interface in user space, for kernels built without 802.1Q (and for stacked tags).

    vlan_tap.py LOWER TAP TPID:VID [TPID:VID ...]      e.g. vlan_tap.py eth0 v10 8100:10

Creates the tap device TAP in this network namespace. Frames that the kernel sends on TAP leave on LOWER with the given
tags, outermost first; frames received on LOWER with exactly these tags enter TAP without them. Prints "ready" once the
tap exists; runs until SIGTERM.
"""

import fcntl
import os
import selectors
import signal
import socket
import struct
import sys

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
SOL_PACKET, PACKET_AUXDATA = 263, 8
PACKET_OUTGOING = 4
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6


def open_tap(name):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return fd


def open_raw(name):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUFFORCE if hasattr(socket, "SO_RCVBUFFORCE") else 33, 16 << 20)
    s.bind((name, 0))
    return s


def receive_frame(s):
    """The frame as it was on the wire: the kernel takes the outer tag off and gives it next to."""
    frame, aux, _, address = s.recvmsg(65536, 128)
    if address[2] == PACKET_OUTGOING:
        return None
    for level, kind, data in aux:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", data[:20])
            if status & TP_STATUS_VLAN_VALID:
                if not status & TP_STATUS_VLAN_TPID_VALID:
                    tpid = 0x8100
                frame = frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
    return frame


def main(argv):
    lower, tap_name, tags = argv[0], argv[1], b""
    for tag in argv[2:]:
        tpid, vid = tag.split(":")
        tags += struct.pack("!HH", int(tpid, 16), int(vid))
    raw, tap = open_raw(lower), open_tap(tap_name)
    signal.signal(signal.SIGTERM, lambda *a: sys.exit(0))
    wait = selectors.DefaultSelector()
    wait.register(raw, selectors.EVENT_READ)
    wait.register(tap, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, _ in wait.select():
            try:
                if key.fileobj is raw:
                    frame = receive_frame(raw)
                    if frame and frame[12 : 12 + len(tags)] == tags:
                        os.write(tap, frame[:12] + frame[12 + len(tags) :])
                else:
                    frame = os.read(tap, 65536)
                    raw.send(frame[:12] + tags + frame[12:])
            except OSError:  # an interface that is down loses frames, as a wire would
                pass


if __name__ == "__main__":
    main(sys.argv[1:])
