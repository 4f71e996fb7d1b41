# SPDX-License-Identifier: BSD-3-Clause
"""A pulse oximeter (ISO/IEEE 11073) with an association that outlives this process: device.py associate|release ADDRESS
sends the request from always the same UDP port until the gateway answers. Exits with 0 if the answer accepts it."""

import socket
import sys
import time

ASSOCIATE = bytes.fromhex("e2000032800000000001002a5079002680000000800080000000000000000080000000" "08" "0022092258070100" "0190"
                          "0001010000000000")  # standard configuration 400
RELEASE = bytes.fromhex("e40000020000")
ACCEPTED = {"associate": bytes.fromhex("e300002c0000"), "release": bytes.fromhex("e5000002")}


def main(what, address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("0.0.0.0", 40000))
        s.connect((address, 6024))
        s.settimeout(0.5)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                s.send(ASSOCIATE if what == "associate" else RELEASE)
                answer = s.recv(2048)
            except (TimeoutError, ConnectionError):
                continue
            print(answer.hex())
            return 0 if answer.startswith(ACCEPTED[what]) else 1
    print("no answer")
    return 1


sys.exit(main(*sys.argv[1:]))
