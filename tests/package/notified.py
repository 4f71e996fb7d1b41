# SPDX-License-Identifier: BSD-3-Clause
"""The service manager's end of NOTIFY_SOCKET: notified.py SOCKET LOG; each message becomes lines of LOG."""

import os
import socket
import sys

path, log = sys.argv[1:]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(path)
os.chmod(path, 0o666)
with open(log, "a", buffering=1, encoding="utf-8") as out:
    while True:
        out.write(s.recv(4096).decode() + "\n")
