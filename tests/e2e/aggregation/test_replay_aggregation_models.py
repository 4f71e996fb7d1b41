# SPDX-License-Identifier: BSD-3-Clause
"""The paper's models (Lin et al. 2018) held against replay: Poisson messages in a capture with a clock of
nanoseconds go in, and all that is evaluated are the times and bytes of the capture that comes out.

tests/unit/apps/sim/agg asks the same of the aggregator alone, with many more messages and without anything of a
data plane. Formulas and statistics here are written a second time, from docs/performance/aggregation-models.md.
"""

import json
import math
import random
import struct
import subprocess

import pytest

from agg_frames import frame_of
from lab import BIPLANE

T0 = 1_700_000_000_000_000_000
GAP = 10_000  # ns, between two messages on average: 100,000 a second
TO = {"address": "10.1.0.9", "udp_port": 5555}
NANOSECONDS = 0xA1B23C4D


def write(path, frames):
    """frames: (ns, bytes)"""
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", NANOSECONDS, 2, 4, 0, 0, 65535, 1))
        for ns, data in frames:
            f.write(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(data), len(data)) + data)


def read(path):
    data, at, out = path.read_bytes(), 24, []
    assert struct.unpack_from("<I", data)[0] == NANOSECONDS, "the clock of what went in"
    while at < len(data):
        s, ns, kept, length = struct.unpack_from("<IIII", data, at)
        assert kept == length
        out.append((s * 10**9 + ns, data[at + 16:at + 16 + kept]))
        at += 16 + kept
    return out


def messages(format_, count, seed):
    """The paper's, of 16 bytes that begin with a number, as a Poisson process."""
    r, now = random.Random(seed), 0.0
    flag = b"\xfa" + bytes(5) if format_ == "lin2018" else b""
    template = frame_of("10.0.0.7", TO["address"], flag + bytes(4) + b"IOTMESSAGE..", sport=40007, dport=TO["udp_port"])
    at, sum_at = len(template) - 16, 14 + 20 + 6
    rest = ~struct.unpack_from("!H", template, sum_at)[0] & 0xFFFF  # what the checksum covers when the number is 0
    for i in range(count):
        now += r.expovariate(1 / GAP)
        s = rest + (i >> 16) + (i & 0xFFFF)
        s = ~((s & 0xFFFF) + (s >> 16)) & 0xFFFF
        yield (T0 + int(now), template[:sum_at] + struct.pack("!H", s or 0xFFFF) + template[sum_at + 2:at] +
               struct.pack("!I", i) + template[at + 4:])


def replay(directory, name, section, entry, frames):
    """The output on the other port of a bridge."""
    config = {"ports": [{"name": "a", "device": "net_null0"}, {"name": "b", "device": "net_null1"}],
              "bridges": [{"name": "bridge0", "ports": ["a", "b"]}], "aggregation": {section: [entry]}}
    (directory / f"{name}.yaml").write_text(json.dumps({"version": 1, **config}))
    write(directory / f"{name}.in.pcap", frames)
    out = directory / f"{name}.out.pcap"
    p = subprocess.run([BIPLANE, "replay", "-c", directory / f"{name}.yaml", "--json", "--in",
                        f"a={directory / f'{name}.in.pcap'}", "--out", f"b={out}"],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    assert p.returncode == 0, p.stderr
    return read(out)


def aggregate(directory, format_, n, count, seed, max_delay="unlimited", name="encapsulate"):
    """count N-packets' worth of messages; the frames that leave."""
    out = replay(directory, name, "encapsulate", {"port": "a", "to": TO, "format": format_, "max_messages": n,
                                                  "max_delay": max_delay}, messages(format_, n * count, seed))
    return out


def erlang(n, t):
    term = total = 1.0
    for j in range(1, n):
        term *= t / j
        total += term
    return 1 - math.exp(-t) * total


def ks(gaps, n):
    """p of the Kolmogorov-Smirnov test of gaps, in units of GAP, against Erlang-n: Kolmogorov's limit, with
    Stephens' correction."""
    gaps, count = sorted(gaps), len(gaps)
    d = max(max(erlang(n, g) - i / count, (i + 1) / count - erlang(n, g)) for i, g in enumerate(gaps))
    x = (math.sqrt(count) + 0.12 + 0.11 / math.sqrt(count)) * d
    return 1.0 if x < 0.2 else min(1, max(0, 2 * sum((-1)**(k - 1) * math.exp(-2 * k * k * x * x)
                                                     for k in range(1, 101))))


def gaps_of(frames):
    return [(b[0] - a[0]) / GAP for a, b in zip(frames, frames[1:])]


@pytest.mark.parametrize("format_", ["lin2018", "full"])
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_n_packet_departures_are_erlang(tmp_path, format_, n):
    """Equation 1; and Equations 2 and 3, by the bytes: 16 N of 48 + 16 N is N / (3 + N)."""
    count = 3000
    out = aggregate(tmp_path, format_, n, count, seed=n)
    assert len(out) == count
    # at the instant at which their last message came
    came = [ns for ns, _ in messages(format_, n * count, n)]
    assert [ns for ns, _ in out] == came[n - 1::n]
    assert ks(gaps_of(out), n) > 0.01
    # the test would see another N, and another rate
    assert ks(gaps_of(out), n + 1) < 1e-9
    assert ks([g * 1.1 for g in gaps_of(out)], n) < 1e-4
    total_bytes = sum(len(frame) for _, frame in out)
    if format_ == "lin2018":
        assert total_bytes == count * (48 + 16 * n)
        assert 16 * n * count * (3 + n) == total_bytes * n
    else:
        assert total_bytes == count * (42 + 16 + 9 + (n - 1) + 16 * n)
    assert [struct.unpack_from("!I", f, len(f) - 16 * (n - i))[0] for _, f in out for i in range(n)] == \
        list(range(n * count))


def test_a_timeout_is_no_erlang(tmp_path):
    """Its fill and delay have a closed form of their own."""
    n, limit = 5, 2.0  # times 1 / lambda
    out = aggregate(tmp_path, "lin2018", n, 6000, seed=42, max_delay="20us")
    assert ks(gaps_of(out), n) < 1e-12
    came = [ns for ns, _ in messages("lin2018", n * 6000, 42)]
    held = [(len(f) - 48) // 16 for _, f in out]
    assert sum(held) == len(came)
    waits, at = [], 0
    for (ns, _), k in zip(out, held):
        waits += [ns - c for c in came[at:at + k]]
        # the last one of all leaves in its time too, when no frame comes any more
        assert (k == n and waits[-1] == 0) or waits[-k] == 20_000, "full, or when its oldest has waited 20 us"
        at += k
    at_least = [1 - sum(math.exp(-limit) * limit**i / math.factorial(i) for i in range(k)) for k in range(n)]
    mean_held = sum(at_least)
    assert math.isclose(len(came) / len(out), mean_held, rel_tol=0.02)
    assert math.isclose(sum(waits) / len(waits) / GAP, sum(k * p for k, p in enumerate(at_least)) / mean_held, rel_tol=0.03)


def test_pace_is_a_queue_with_fixed_service(tmp_path):
    """Restored messages leave as from the paper's second switch with service times of `pacing_gap`, to the nanosecond."""
    n, gap = 8, 8_000  # a load of 0.8
    packets = aggregate(tmp_path, "full", n, 4000, seed=8)
    out = replay(tmp_path, "pace", "decapsulate", {"port": "a", "to": TO, "format": "full", "allowed_senders": ["10.0.0.0/24"],
                                                   "pacing_gap": f"{gap}ns"}, packets)
    free, due = 0, []
    for ns, _ in packets:
        for _ in range(n):
            free = max(ns, free + gap) if due else ns
            due.append(free)
    assert [ns for ns, _ in out] == due
    assert [f[-16:-12] for _, f in out] == [struct.pack("!I", i) for i in range(4000 * n)]
    wait = sum(ns - packets[i // n][0] for i, (ns, _) in enumerate(out)) / len(out)
    # E_8/D/1 at 0.8 by Crommelin's series, and half of the other seven gaps
    assert math.isclose(wait, crommelin(n, n * gap / GAP) * GAP + (n - 1) / 2 * gap, rel_tol=0.1)


def crommelin(n, service):
    """Mean waiting time in E_n/D/1, in units of 1 / lambda."""
    def above(a, k):  # P(a Poisson number with mean a is more than k)
        return sum(math.exp(j * math.log(a) - a - math.lgamma(j + 1)) for j in range(k + 1, int(k + 60 + 12 * math.sqrt(k))))

    return sum(service * above(i * service, i * n - 1) - n * above(i * service, i * n) for i in range(1, 120))
