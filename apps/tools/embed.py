#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the files of the console as a C table: apps/biplane/monitor/assets.h."""

import hashlib
import sys
from pathlib import Path

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}


def array(data):
    lines = [", ".join(map(str, data[i:i + 32])) for i in range(0, len(data), 32)]
    return ",\n\t".join(lines)


def main():
    files = sorted(map(Path, sys.argv[1:]), key=lambda p: p.name)
    print("/* Made by apps/tools/embed.py. */")
    print('#include "apps/biplane/monitor/assets.h"\n')
    print("#include <stdint.h>\n")
    for i, path in enumerate(files):
        print(f"static const unsigned char data{i}[] = {{\n\t{array(path.read_bytes())}}};")
    print("\nconst struct bp_monitor_asset bp_monitor_assets[] = {")
    for i, path in enumerate(files):
        etag = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        print(f'\t{{"{path.name}", "{TYPES[path.suffix]}", "\\"{etag}\\"", data{i}, sizeof(data{i})}},')
    print("\t{NULL, NULL, NULL, NULL, 0},\n};")


main()
