# SPDX-License-Identifier: BSD-3-Clause
"""Signs of trouble reach a person: a counter, a line in the log and `show health`, when it begins and when it ends."""

import contextlib
import ctypes
import json
import os
import signal
import time
from pathlib import Path

from frames import LOCAL_ETHERTYPE, Wire, ethernet
from lab import MAC, port_devices, wait_until

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
WALL = 0x40000000  # of waitpid: threads, too
_libc = ctypes.CDLL(None, use_errno=True)


def config(driver="af_packet", **monitoring):
    return {
        "ports": port_devices(driver, ("devices", "cloud")),
        "bridges": [{"name": "bridge0", "ports": ["devices", "cloud"]}],
        "monitoring": {"log_interval": "1s", **monitoring},
    }


def rows(g, kind):
    """By whose they are. There are some from the data plane's first moments on."""
    wait_until("rows of trouble", lambda: g.show("health")["faults"])
    return {r["object"]: r for r in g.show("health")["faults"] if r["fault"] == kind}


def said(g, *words):
    """Lines of the log that have all of these words."""
    return [line for line in g.log.read_text().splitlines() if all(w in line for w in words)]


def test_a_link_that_goes_down_and_comes_up_again(lab, gateway):
    g = gateway(config())
    assert g.counter("link_down") == 0
    assert not rows(g, "link_down")["cloud"]["active"]
    with lab.link_down("cloud"):
        wait_until("cloud's link to be told of", lambda: rows(g, "link_down")["cloud"]["active"])
        assert g.counter("link_down") == 1
        assert not rows(g, "link_down")["devices"]["active"]
        wait_until("a line", lambda: said(g, "warning dataplane: link down", " port=cloud "))
    wait_until("a line", lambda: said(g, "info dataplane: link up port=cloud down_ms="))
    row = rows(g, "link_down")["cloud"]
    assert (row["active"], row["occurrences"], row["total"]["unit"]) == (False, 1, "ns")
    assert row["since"] < row["until"]
    assert row["duration_ns"] > 0 and row["total"]["count"] == row["max"]["count"] > 0
    text = g.command("show", "health", "-c", g.identity).stdout
    assert "link_down" in text and "cloud" in text and " devices " not in text and "0 active" in text


def test_the_log_follows_a_reload(lab, gateway):
    """Level and form, in both planes: only the control plane reads the file."""
    g = gateway(config())

    def down_and_up():
        """Its lines in the log."""
        before = len(g.log.read_text())
        with lab.link_down("cloud"):
            wait_until("the fault", lambda: rows(g, "link_down")["cloud"]["active"])
        wait_until("the end of it", lambda: not rows(g, "link_down")["cloud"]["active"])
        return g.log.read_text()[before:]

    def events(text):
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    assert g.reload({**g.config, "log": {"level": "error"}}).returncode == 0
    wait_until("the data plane to be silent", lambda: down_and_up() == "", 60)
    assert g.reload({**g.config, "log": {"level": "info", "format": "json"}}).returncode == 0
    wait_until("the control plane's event", lambda: any(e["component"] == "controlplane" for e in events(g.log.read_text())))
    wait_until("the data plane's event", lambda: any(
        e["component"] == "dataplane" and e["level"] == "warning" and "link down" in e["message"] for e in events(down_and_up())), 60)


def test_link_that_never_was_up(lab, gateway):
    with lab.link_down("cloud"):
        g = gateway(config(link_up_delay="2s"))
        wait_until("a line", lambda: said(g, "warning dataplane: link has not come up since the start", " port=cloud "))
        row = rows(g, "link_down")["cloud"]
        assert row["active"] and row["occurrences"] == 1
        assert row["duration_ns"] >= 2_000_000_000
    wait_until("a line", lambda: said(g, "info dataplane: link up port=cloud "))
    assert g.counter("link_down") == 1


def flood(lab, stop, seconds=20, payload=bytes(1400)):
    """Frames from dev until stop() is true."""
    wire = Wire(lab, "dev")
    frame = ethernet(MAC["cloud"], MAC["dev"], LOCAL_ETHERTYPE, payload)
    end = time.monotonic() + seconds
    try:
        while not stop():
            assert time.monotonic() < end
            wire.send(*[frame] * 5000)
    finally:
        wire.close()


def test_delayed_data_plane_reports_poll_gaps(lab, gateway):
    """Stopped and continued: its worker was away, and the interface's ring, which no one emptied, ran over."""
    g = gateway(config("af_xdp"))  # which knows what it lost
    pid = g.plane("data plane")["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        until = time.monotonic() + 1.5
        flood(lab, lambda: time.monotonic() > until)
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until("the overrun to be counted", lambda: g.counter("poll_gaps"))
    wait_until("a line", lambda: said(g, "warning dataplane: poll gap above monitoring.poll_gap_warning", " worker=0 ", " limit_ms=100 "))
    wait_until("the row to have what is counted",
               lambda: rows(g, "poll_gaps")["worker 0"]["total"]["count"] == g.counter("poll_gaps"))
    row = rows(g, "poll_gaps")["worker 0"]
    assert row["max"]["unit"] == "ns" and row["max"]["count"] > 1_000_000_000
    wait_until("frames that were dropped to be counted", lambda: g.counter("nic_missed"))

    def all_agree():
        port = next(p for p in g.show("ports")["ports"] if p["name"] == "devices")
        return g.counter("nic_missed") == rows(g, "nic_missed")["devices"]["total"]["count"] == port["hw_missed"]
    wait_until("counter, row and port to agree", all_agree)
    wait_until("a line", lambda: said(g, "warning dataplane: frames dropped by the NIC", "(imissed); ", " port=devices "))
    wait_until("the end of it", lambda: said(g, "info dataplane: the NIC drops no more frames (imissed) port=devices "), 30)
    assert not rows(g, "nic_missed")["devices"]["active"]
    g.balanced()


def test_packet_buffers_that_run_out(lab, gateway):
    """A port that may send a megabit a second holds some thousand frames back, which are all that there are."""
    scheduled = {"port": "cloud", "link_rate": "1Mbps", "slot": "10ms", "queues": 2, "slot_queue_len": 16,
                 "best_effort_queue_len": 4096, "handover_queue_len": 64}
    g = gateway({**config("af_xdp", mbuf_low_percent=10), "mbufs": 512, "lcl": {"ports": [scheduled]}})
    assert g.counter("mbufs_low") == g.counter("nic_no_mbuf") == 0
    flood(lab, lambda: g.counter("mbufs_low") and g.counter("nic_no_mbuf"), 60, bytes(46))
    (pool, row), = rows(g, "mbufs_low").items()
    wait_until("a line", lambda: said(g, "warning dataplane: free mbufs are below monitoring.mbuf_low_percent", f" pool={pool} ", " low_percent=10 "))
    wait_until("a line", lambda: said(g, "warning dataplane: no mbuf for received frames (rx_nombuf)", " port=devices "))
    wait_until("the end of it", lambda: said(g, f"info dataplane: free mbufs are above monitoring.mbuf_low_percent again pool={pool} "), 60)
    wait_until("the end of it", lambda: said(g, "info dataplane: mbufs for all received frames again (rx_nombuf) port=devices "), 60)
    row = rows(g, "mbufs_low")[pool]
    assert not row["active"] and row["max"]["unit"] == "free mbufs" and row["total"]["count"] > 0
    lowest = int(said(g, "mbuf_low_percent again")[-1].split("min_free=")[1].split(" ")[0])
    assert row["max"]["count"] <= lowest
    wait_until("the row to have what is counted",
               lambda: rows(g, "nic_no_mbuf")["devices"]["total"]["count"] == g.counter("nic_no_mbuf"))
    wait_until("an exact packet sum", lambda: g.show("drops")["balanced"], 60)


@contextlib.contextmanager
def held(tid):
    """One thread stopped, the others of its process not."""
    def call(request):
        if _libc.ptrace(request, tid, None, None) != 0:
            raise OSError(ctypes.get_errno(), f"ptrace {request:#x} of {tid}")
    call(PTRACE_SEIZE)
    try:
        call(PTRACE_INTERRUPT)
        os.waitpid(tid, WALL)
        yield
    finally:
        call(PTRACE_DETACH)


def test_hung_worker(gateway):
    g = gateway(config(worker_stall_timeout="500ms"))
    pid = g.plane("data plane")["pid"]
    tid = next(int(t.name) for t in Path(f"/proc/{pid}/task").iterdir()
               if (t / "comm").read_text().strip().startswith("rte-worker") or "lcore" in (t / "comm").read_text())
    with held(tid):
        wait_until("the worker to be told of", lambda: rows(g, "worker_stalls")["worker 0"]["active"])
        assert g.counter("worker_stalls") >= 1
        assert g.show("health")["active"] >= 1
        assert g.status()["faults"]
        wait_until("a line", lambda: said(g, "error dataplane: worker does not poll its queues", " worker=0 "))
        assert g.plane("data plane")["heartbeat_age_s"] <= 5  # the rest of it lives
    wait_until("a line", lambda: said(g, "info dataplane: worker polls its queues again worker=0 "))
    row = rows(g, "worker_stalls")["worker 0"]
    assert not row["active"] and row["max"]["count"] >= 500_000_000
    wait_until("the overrun to be counted", lambda: g.counter("poll_gaps"))
    g.balanced()
