#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Demonstration of LCL scheduling for scripts/quickstart: scripts/lab with --lcl scripts/demo_lcl.py [DRIVER]

A sender's datagrams cross two gateways and the line between them in bursts, while best-effort traffic loads the line to
50 %: once through gateways without section lcl, once with it. The output shows the delays, and the labels on the line by
tcpdump. Exits 0 only if each datagram arrived once and in order in both runs, and with section lcl each frame had a valid
label on the line, with n = 1 and the sequence numbers 0, 1, 2 ..., and none at the server. The delays depend on the
machine and are not checked.
"""

import json
import random
import select
import socket
import struct
import subprocess
import sys
import time
from collections import Counter, namedtuple

from demo_lab import BIPLANE, LAB, STATE, colour, in_ns, inside, watch

SERVER, PORT, OTHER = "10.6.0.3", 7000, 7001
BURSTS, EACH = 150, 6
BUDGET, TAU = 10, 1  # ms, of the laboratory's files
TIMES = 3  # of the measurement, while a worker does not get its CPU
PATIENCE = 5  # timeout of a datagram, s; then it counts as lost
GATEWAYS = ("near", "far")
MESSAGE = struct.Struct("!IQ108x")  # number, time of sending
BULK = bytes(1400)
SO_TIMESTAMPNS, SO_RCVBUFFORCE = 35, 33  # of linux/socket.h; Python has no names for them
LABEL = struct.Struct("!HBBiHI")  # docs/reference/lcl-format.md
BEHIND = 12 + LABEL.size  # offset of the original EtherType
IN_UDP = 14 + 20 + 8
WIDE = 28  # characters of a full bar

Label = namedtuple("Label", "ethertype version n d flow sequence")
# Sent and received datagrams: sequence numbers in order, delays in ms; best effort in Mb/s; frames of the flow on the
# line; labelled frames at the server.
Run = namedtuple("Run", "got delays other line labelled")


def opened(ns, port=None):
    with inside(ns):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        if port:
            s.bind((SERVER, port))
            s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)  # the socket is read only after the run
        else:
            s.connect((SERVER, PORT))
    return s


def send(flow, other):
    """Bytes of best effort that were sent in a second."""
    rng, begin = random.Random(), time.monotonic()
    due, number, total = [begin, begin], 0, 0
    while number < BURSTS * EACH:
        time.sleep(max(0, min(due) - time.monotonic()))
        if due[0] <= due[1]:
            for number in range(number, number + EACH):
                flow.send(MESSAGE.pack(number, time.time_ns()))
            number += 1
            due[0] = time.monotonic() + rng.uniform(0.01, 0.02)
        else:
            for _ in range(rng.randrange(15, 40)):
                other.sendto(BULK, (SERVER, OTHER))
                total += len(BULK) + IN_UDP
            due[1] = time.monotonic() + rng.uniform(0.001, 0.009)
    return total / (time.monotonic() - begin)


def receive(server):
    """(number, delay in ms) of each received datagram, by the kernel's receive timestamp."""
    got, end = [], time.monotonic() + PATIENCE
    while select.select([server], [], [], 0.2 if len(got) >= BURSTS * EACH else max(0, end - time.monotonic()))[0]:
        payload, control, *_ = server.recvmsg(2048, 64)
        number, sent = MESSAGE.unpack(payload)
        second, nanosecond = struct.unpack("@qq", next(data for _, kind, data in control if kind == SO_TIMESTAMPNS))
        got.append((number, (second * 10**9 + nanosecond - sent) / 1e6))
    return got


def frames(file):
    """Of a capture as tcpdump writes it."""
    data, at = file.read_bytes(), 24
    while at + 16 <= len(data):
        length = struct.unpack_from("@I", data, at + 8)[0]
        if at + 16 + length > len(data):
            return  # it is being written
        yield data[at + 16:at + 16 + length]
        at += 16 + length


def label(frame):
    """The label, or None if the EtherType is not LCL."""
    found = Label(*LABEL.unpack_from(frame, 12)) if len(frame) >= BEHIND + 2 else None
    return found if found and found.ethertype == 0x88b5 else None


def number_in(frame):
    """Of a labelled frame, the number of the datagram."""
    return MESSAGE.unpack_from(frame, LABEL.size + IN_UDP)[0]


def traffic():
    subprocess.run(in_ns("sensors", "ping", "-q", "-c", "1", "-W", "5", SERVER), check=True, stdout=subprocess.DEVNULL)
    line, end = STATE / "line.pcap", STATE / "server.pcap"
    flow, other, server, sink = opened("sensors"), opened("sensors"), opened("server", PORT), opened("server", OTHER)
    taps = [watch("wan", "near", line, f"ether proto 0x88b5 or udp dst port {PORT}"), watch("server", "eth0", end, "ether proto 0x88b5")]
    try:
        rate = send(flow, other) * 8 / 1e6
        got, limit = receive(server), time.monotonic() + PATIENCE
        while len(list(frames(line))) < BURSTS * EACH and time.monotonic() < limit:
            time.sleep(0.05)
    finally:
        for p in taps:
            p.terminate()
            p.wait()
        for s in (flow, other, server, sink):
            s.close()
    return Run([n for n, _ in got], [d for _, d in got], rate, list(frames(line)), len(list(frames(end))))


def gateways(driver):
    """The files of both, which may have been changed by hand."""
    for g in GATEWAYS:
        file = STATE / f"{g}.yaml"
        if not file.exists():
            file.write_text(subprocess.run([LAB, "config", g, driver], check=True, stdout=subprocess.PIPE, text=True).stdout)
    return {g: (STATE / f"{g}.yaml").read_text() for g in GATEWAYS}


def through(files):
    """Result of the traffic through gateways that start with these files."""
    subprocess.run([LAB, "gateway", "stop"], check=True)
    for g, text in files.items():
        (STATE / f"{g}.yaml").write_text(text)
    subprocess.run([LAB, "gateway", "start"], check=True)
    return traffic()


def picture(runs):
    """The delays of both, side by side: a row for each tau."""
    rows = BUDGET + 4
    counts = [Counter(min(int(d // TAU), rows) for d in run.delays) for run in runs]
    most = max((n for c in counts for n in c.values()), default=1)
    for row in range(rows + 1):
        name = f"{row * TAU:2} - {(row + 1) * TAU:2} ms" if row < rows else f"above {rows * TAU} ms"
        bars = [(("#" * -(-c[row] * WIDE // most)) + f" {c[row]}").ljust(WIDE + 8) if c[row] else " " * (WIDE + 8) for c in counts]
        print(f"      {name:12} {''.join(bars)}".rstrip())


def figures(runs):
    def line(name, values):
        print(f"      {name:12} {''.join(v.ljust(WIDE + 8) for v in values)}".rstrip())

    delays = [run.delays or [0] for run in runs]
    line("min", [f"{min(d):.2f} ms" for d in delays])
    line("mean", [f"{sum(d) / len(d):.2f} ms" for d in delays])
    line("max", [f"{max(d):.2f} ms" for d in delays])
    line("PDV", [f"{max(d) - min(d):.2f} ms" for d in delays])
    middle = [sorted(d)[len(d) // 100:len(d) - len(d) // 100] for d in delays]
    line("P1 to P99", [f"{m[-1] - m[0]:.2f} ms" for m in middle])
    within = sum(abs(d - BUDGET) <= TAU for d in delays[1])
    line("d0 +- tau", ["", f"{100 * within / len(delays[1]):.1f} % of frames"])


def labels(run):
    print("\n  labels on the line, behind the MAC addresses (docs/reference/lcl-format.md):")
    for i, frame in enumerate(run.line[:6]):
        found = label(frame)
        if found is None:
            print(f"      {frame[12:14].hex()}  no label")
            continue
        text = frame[12:BEHIND + 2].hex()
        parts = [text[a:b] for a, b in ((0, 4), (4, 6), (6, 8), (8, 16), (16, 20), (20, 28), (28, 32))]
        came = f"at the server, without it, after {run.delays[i]:5.2f} ms" if i < len(run.delays) else ""
        print(f"      {' '.join(parts)}   n {found.n}  d {found.d / 1e6:5.2f} ms  flow {found.flow}  sequence {found.sequence}   {came}")


def scheduled():
    """(gateway, state of its port with LCL) of both."""
    for g, port in (("near", "wan"), ("far", "server")):
        view = json.loads(subprocess.run([BIPLANE, "show", "lcl", "--json", "-c", STATE / f"{g}.yaml"], check=True,
                                         stdout=subprocess.PIPE, text=True).stdout)
        yield g, next(p for p in view["ports"] if p["port"] == port)


def held():
    """CPU time counters of the gateways."""
    for g, p in scheduled():
        print(f"  gateway {g.upper()}: longest poll gap of its worker {p['poll_gap_max_ns'] / 1e6:.1f} ms; "
              f"bound violated in {p['violations']} of {p['seconds']} seconds")


def wrong(plain, lcl):
    """Descriptions of the failed checks."""
    numbers = list(range(BURSTS * EACH))
    found = [label(f) for f in lcl.line]
    return [what for what, is_right in (
        ("without LCL, not each datagram arrived once and in order", plain.got == numbers),
        ("with LCL, not each datagram arrived once and in order", lcl.got == numbers),
        ("without LCL, a frame had a label", not any(map(label, plain.line)) and not plain.labelled),
        ("a frame on the line had no good label with n = 1",
         all(f and (f.version, f.n, f.flow) == (1, 1, 1) and abs(f.d) <= 10**9 for f in found)),
        ("the sequence numbers on the line are not 0, 1, 2 ...",
         all(found) and [f.sequence for f in found] == numbers == [number_in(f) for f in lcl.line]),
        ("labelled frames came to the server", lcl.labelled == 0)) if not is_right]


def show(plain, lcl, gap):
    print(f"  {BURSTS * EACH} datagrams in bursts of {EACH}, with {plain.other:.0f} and {lcl.other:.0f} Mb/s of large datagrams at the same time; end-to-end delay:")
    print(f"      {'':12} {'without LCL'.ljust(WIDE + 8)}with LCL: d0 = {BUDGET} ms, tau = {TAU} ms")
    picture((plain, lcl))
    figures((plain, lcl))
    held()
    labels(lcl)
    print("\n$ biplane show lcl   (gateway FAR, which removes the labels)", flush=True)
    subprocess.run([BIPLANE, "show", "lcl", "-c", STATE / "far.yaml"], check=False)
    faults = wrong(plain, lcl)
    for fault in faults:
        print(f"  {fault}")
    if faults and gap > BUDGET:
        print("  LCL needs a CPU for each worker (docs/explanation/lcl.md); run it again when other load has ended")
    print(colour("1;32", "  each datagram arrived once and in order; with LCL, each had its label on the line, and none at the server") if not faults
          else colour("1;31", "  error"), flush=True)
    if faults:  # diagnostics for a failed run
        for g in GATEWAYS:
            for view in ("ports", "drops", "lcl"):
                subprocess.run([BIPLANE, "show", view, "-c", STATE / f"{g}.yaml"], check=False)
    return 1 if faults else 0


def main(driver):
    files = gateways(driver)
    try:
        for _ in range(TIMES):
            plain = through({g: text.partition("lcl:\n")[0] for g, text in files.items()})
            lcl = through(files)
            gap = max(p["poll_gap_max_ns"] for _, p in scheduled()) / 1e6
            if gap <= BUDGET or not wrong(plain, lcl):
                break
            print(f"  a worker had no CPU for {gap:.0f} ms, because of other load on this machine: the measurement is repeated", flush=True)
    finally:
        for g, text in files.items():
            (STATE / f"{g}.yaml").write_text(text)
    return show(plain, lcl, gap)


if __name__ == "__main__":
    try:
        sys.exit(main(*(sys.argv[1:] or ["af_packet"])))
    except KeyboardInterrupt:
        sys.exit(130)
