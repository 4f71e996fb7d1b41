# SPDX-License-Identifier: BSD-3-Clause
"""Screenshots as PNG files of 256 colors, a third of the size of the browser's."""

import collections
import struct
import zlib


def _chunks(data):
    at = 8
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at + 8:at + 8 + length]
        at += length + 12


def _rows(data, stride, size):
    """The lines of an image without their filters (PNG, section 9)."""
    before = bytearray(stride)
    for at in range(0, len(data), stride + 1):
        kind, line = data[at], bytearray(data[at + 1:at + 1 + stride])
        for i in range(stride if kind else 0):
            left, up = line[i - size] if i >= size else 0, before[i]
            if kind == 1:
                value = left
            elif kind == 2:
                value = up
            elif kind == 3:
                value = (left + up) // 2
            else:
                corner = before[i - size] if i >= size else 0
                p = left + up - corner
                value = min((left, up, corner), key=lambda v: abs(p - v))
            line[i] = (line[i] + value) & 0xff
        yield line
        before = line


def _near(color, palette):
    return min(range(len(palette)), key=lambda i: sum((a - b) ** 2 for a, b in zip(color, palette[i])))


def smaller(png):
    """An 8-bit RGB or RGBA image with a palette instead."""
    parts = list(_chunks(png))
    width, height, depth, kind = struct.unpack_from(">IIBB", parts[0][1])
    assert depth == 8 and kind in (2, 6)
    size = 3 if kind == 2 else 4
    image = zlib.decompress(b"".join(d for k, d in parts if k == b"IDAT"))
    colors = [[tuple(line[i:i + 3]) for i in range(0, width * size, size)] for line in _rows(image, width * size, size)]
    palette = [c for c, _ in collections.Counter(c for line in colors for c in line).most_common(256)]
    index = {c: i for i, c in enumerate(palette)}
    lines = bytearray()
    for line in colors:
        lines.append(0)
        for c in line:
            if c not in index:
                index[c] = _near(c, palette)
            lines.append(index[c])

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return (png[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) +
            chunk(b"PLTE", bytes(v for c in palette for v in c)) + chunk(b"IDAT", zlib.compress(bytes(lines), 9)) + chunk(b"IEND", b""))
