# SPDX-License-Identifier: BSD-3-Clause
"""Captures as replay reads and writes them, with nanoseconds."""

import struct
from pathlib import Path

SECOND = 1_000_000_000
HEAD = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)


def write(path, frames):
    """frames: (nanoseconds, bytes) pairs."""
    with Path(path).open("wb") as f:
        f.write(HEAD)
        for ns, frame in frames:
            f.write(struct.pack("<IIII", ns // SECOND, ns % SECOND, len(frame), len(frame)) + frame)


def read(path):
    """The same pairs."""
    data = Path(path).read_bytes()
    assert data[:4] == HEAD[:4]
    at, frames = len(HEAD), []
    while at < len(data):
        seconds, ns, length = struct.unpack("<III", data[at:at + 12])
        frames.append((seconds * SECOND + ns, data[at + 16:at + 16 + length]))
        at += 16 + length
    return frames
