# SPDX-License-Identifier: BSD-3-Clause
"""docs/reference/drivers.md: a row of its table for each driver. A test determines the cells and compares them."""

import re
from collections import Counter
from pathlib import Path

from frames import LOCAL_ETHERTYPE, ethernet, ip4, tcp
from lab import wait_until

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "drivers.md"
COLUMNS = ("Driver", "Two workers", "rx_checksum", "tx_checksum", "Largest MTU", "Longer frames", "rx_scatter", "tx_multi_segs", "Wakeup")
THERE, BACK = ("02:99:00:00:00:02", "02:99:00:00:00:01"), ("02:99:00:00:00:01", "02:99:00:00:00:02")
FLOWS = 64
WAKES_NS = 2_000_000  # a worker without events of its queues takes naps of at most 0.25 ms
SLEEPS = 60


def page_rows():
    rows = {}
    for line in PAGE.read_text().splitlines():
        cells = [c.strip().replace("`", "") for c in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == len(COLUMNS) and not set(line) <= set("|- "):
            rows[cells[0]] = dict(zip(COLUMNS, cells, strict=True))
    assert rows.pop("Driver") == dict(zip(COLUMNS, COLUMNS, strict=True)), f"{PAGE}: expected the columns {COLUMNS}"
    return rows


def check_row(found):
    """The page has exactly these cells; otherwise the failure has the row to write there."""
    row = page_rows().get(found["Driver"])
    assert row == found, "the row must be | " + " | ".join(f"`{found[c]}`" if c == "Driver" else str(found[c]) for c in COLUMNS) + " |"


def flows():
    """(sender's MACs, frames) of as many connections in each direction, as the hash must distribute them."""
    for addresses, ips in ((THERE, ("10.95.0.1", "10.95.0.2")), (BACK, ("10.95.0.2", "10.95.0.1"))):
        ports = [(2000 + n, 3000) if addresses is THERE else (3000, 2000 + n) for n in range(FLOWS)]
        yield [ethernet(*addresses, 0x0800, ip4(*ips, 6, tcp(*ips, *p, b"payload"))) for p in ports]


def segments():
    """Two segments to the broker's port, the second with a wrong checksum."""
    ips = ("10.95.0.3", "10.95.0.4")
    return [ethernet(*THERE, 0x0800, ip4(*ips, 6, tcp(*ips, 4000, 1883, b"\xc0\x00" * 3, seq=1 + 6 * n, bad_sum=n == 1)))
            for n in range(2)]


def long_frames(addresses, mtu):
    return [ethernet(*addresses, LOCAL_ETHERTYPE, bytes(i % 251 for i in range(n))) for n in (100, mtu // 2, mtu - 1, mtu)]


def too_long_frame(addresses, mtu):
    # beyond the tags that a port of this MTU receives
    return ethernet(*addresses, LOCAL_ETHERTYPE, bytes(i % 251 for i in range(mtu + 100)))


def mtu_limit(text):
    """The largest MTU in the error of a data plane that did not start with a larger one."""
    found = re.search(r"takes at most (\d+): set mtu|set mtu to (\d+) or less", text)
    assert found, text
    return int(found[1] or found[2])


def wakeup(g, sleeps=SLEEPS):
    """How a worker without traffic waits."""
    def slept():
        counters = {c["name"]: c["count"] for c in g.show("counters")["counters"]}
        return counters["worker_sleeps"], counters["worker_sleep_ns"]
    count, ns = slept()
    wait_until("the worker to sleep", lambda: slept()[0] >= count + sleeps, 60)
    count_after, ns_after = slept()
    return "events" if (ns_after - ns) / (count_after - count) > WAKES_NS else "naps"


def by_worker(g):
    received = {}
    for n in g.show("nodes")["nodes"]:
        if n["node"].startswith("ethernet"):
            received[n["worker"]] = received.get(n["worker"], 0) + n["packets"]
    return received


def distribution(g):
    """How the frames of flows() reached two workers."""
    wait_until("the workers to count the frames", lambda: sum(by_worker(g).values()) >= 2 * FLOWS)
    if sum(n > FLOWS // 4 for n in by_worker(g).values()) < 2:
        return "one worker"
    return "RSS" if cells_of(g)["rss"] == "hardware" else "PACKET_FANOUT_HASH"


def cells_of(g):
    """The outcome of each offload, which is the same for all ports."""
    ports = [{o["offload"]: o["outcome"] for o in p["offloads"]} for p in g.show("ports")["ports"]]
    assert all(p == ports[0] for p in ports), ports
    return ports[0]


def offload_cells(g):
    return {k: v for k, v in cells_of(g).items() if k in COLUMNS}


def send(sender, receiver, frames):
    """All of them arrive, unchanged."""
    sender.send(*frames)
    wait_until("all frames to arrive", lambda: not Counter(frames) - Counter(receiver.frames()))


def longer_frame(g, names, dev, cloud, mtu):
    """What becomes of a frame above the MTU."""
    before, frame = fault_counters(g, names), too_long_frame(THERE, mtu)
    try:
        dev.send(frame)
    except OSError:
        return "refused by the kernel"

    def received():
        return sum(p["hw_rx_bytes"] for p in g.show("ports")["ports"])
    for n in range(2):  # the statistics of the NIC that are read second are newer than the frame
        seen = received()
        send(dev, cloud, [ethernet(*THERE, LOCAL_ETHERTYPE, bytes([n]) * 100)])
        wait_until("the statistics of the port to be read", lambda seen=seen: received() > seen)
    if frame in cloud.frames():
        return "forwarded"
    after = fault_counters(g, names)
    counted = ", ".join(k for k in after if after[k] != before[k])
    return f"dropped: {counted}" if counted else "dropped, not counted"


def row_of(g, names, dev, cloud, mtu, sent=None):
    """The cells of a gateway between two interfaces. sent: the MTU of the senders, if lower."""
    row = {"Wakeup": wakeup(g)}
    send(dev, cloud, segments())
    wait_until("the segments", lambda: (g.counter("segments"), g.counter("segments_bad_checksum")) == (1, 1))
    for (sender, receiver), frames in zip(((dev, cloud), (cloud, dev)), flows(), strict=True):
        send(sender, receiver, frames)
    row["Two workers"] = distribution(g)
    for sender, receiver, addresses in ((dev, cloud, THERE), (cloud, dev, BACK)):
        send(sender, receiver, long_frames(addresses, min(mtu, sent or mtu)))
    row["Longer frames"] = longer_frame(g, names, dev, cloud, mtu)
    g.balanced()
    return {**row, **offload_cells(g)}


def fault_counters(g, names):
    """Where a port counts frames that it does not receive or send."""
    ports = {p["name"]: p for p in g.show("ports")["ports"]}
    out = {k: sum(ports[n][k] for n in names) for k in ("hw_missed", "hw_rx_errors", "hw_tx_errors", "hw_rx_no_mbuf")}
    out.update((d["reason"], d["count"]) for d in g.show("drops")["reasons"])
    return out
