# SPDX-License-Identifier: BSD-3-Clause
"""What has to stay flat: read at rest after each fault, and compared over the whole run."""

import os
import statistics
from pathlib import Path

PARTS = 5       # the second fifth of the run is compared with the last
GROWTH = 1.1    # a last fifth of more than this times the second
# and by more than this has grown. SQLite writes the log of the spool from its beginning again after 4 MiB. A new control
# plane opens the 28 sockets of its CoAP clients one after the other, as its requests need them.
SLACK = {"kib": 4096, "files": 32, "bytes": 16 << 20, "entries": 64, "threads": 1, "pages": 0}


def memory_kib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"process {pid} has no VmRSS")


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def hugepages(pair):
    """Of the processes, and of files that a killed process may have left: of 2 MiB."""
    kib = sum(int(line.split()[1]) for g in pair.both for p in g.status()["planes"] for line in
              Path(f"/proc/{p['pid']}/smaps_rollup").read_text().splitlines() if line.startswith(("Shared_Hugetlb:", "Private_Hugetlb:")))
    files = sum(f.stat().st_blocks for g in pair.both for f in Path("/dev/hugepages").glob(f"*{g.config['name']}*"))
    return kib // 2048 + files // 4096


def size(path):
    return sum(p.stat().st_size for p in path.parent.glob(path.name + "*"))


def read(pair, spool):
    """{name: (unit, value)}"""
    out = {"hugepages used": ("pages", hugepages(pair)), "spool": ("bytes", size(spool))}
    for g in pair.both:
        for p in g.status()["planes"]:
            name = f"{g.ns} {p['plane']}"
            out[f"{name} memory"] = ("kib", memory_kib(p["pid"]))
            out[f"{name} descriptors"] = ("files", len(os.listdir(f"/proc/{p['pid']}/fd")))
            out[f"{name} threads"] = ("threads", threads(p["pid"]))
        lcl = g.show("lcl")
        out[f"{g.ns} frames in slots"] = ("entries", sum(p["queued"] for p in lcl["ports"]))
        out[f"{g.ns} LCL flows"] = ("entries", len(lcl["flows"]))
    out["near connections"] = ("entries", len(pair.near.show("connections", "-n", 0)["connections"]))
    return out


def parts(values):
    n = len(values)
    return values[n // PARTS:2 * n // PARTS], values[(PARTS - 1) * n // PARTS:]


def growing(rows):
    """[(name, median of the second fifth, of the last)] of the gauges that grew; nothing before ten readings."""
    out = []
    if len(rows) < 2 * PARTS:
        return out
    for name, (unit, _) in rows[0].items():
        early, late = (statistics.median(p) for p in parts([r[name][1] for r in rows if name in r]))
        if late > early + SLACK[unit] and late > early * (GROWTH if early > 0 else 1):
            out.append((name, early, late))
    return out
