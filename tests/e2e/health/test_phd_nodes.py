# SPDX-License-Identifier: BSD-3-Clause
"""Reports of health devices by the data plane alone: the sink in the CSE's place checks every field of every request,
and tshark checks the layers below."""

import itertools
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import running_router
from lab import BIPLANE, wait_until
from router_lab import RIGHT, host, only_biplane, own
from traced import changed, nodes, objects, tracing

SIM = os.environ.get("BP_PHD_SIM", str(Path(BIPLANE).resolve().parent / "biplane-phd-sim"))
SINK = os.path.join(os.path.dirname(BIPLANE), "biplane-cse-sink")
pytestmark = only_biplane
_devices = itertools.count(1)


class Sink:
    def __init__(self, lab, *options):
        self.process = lab.popen("right", SINK, "--listen", "[::]:5683", *options, stdout=subprocess.PIPE)
        assert self.process.stdout.readline().split() == [b"ready", b"5683"]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def report(self):
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=30)
        said = json.loads(out)
        assert self.process.returncode == 0, said["what_was_wrong"]
        return said


def phd(directory, cse=RIGHT, **more):
    more_cse = more.pop("cse_more", {})
    return {"listen": {"udp_port": 6024, "tcp_port": 6024}, "max_sessions": 16384, "store": {"path": str(directory / "phd.db")},
            "limits": {"sessions_per_address": 16384, "association_rate": 20000},
            "cse": {"coap": f"coap://[{cse}]:5683" if ":" in cse else f"coap://{cse}:5683", "path": "cse-in/{system_id}/{object}", **more_cse}, **more}


def simulate(lab, *options, family=4, seconds=120):
    to = f"[{own('left', 6)}]:6024" if family == 6 else f"{own('left')}:6024"
    sim = lab.popen("left", SIM, "--to", to, "--report-file", "-", "--system-id", f"0022092258{next(_devices):02x}0000",
                    *options, stdout=subprocess.PIPE)
    out, _ = sim.communicate(timeout=seconds)
    lines = [json.loads(line) for line in out.splitlines()]
    return sim.returncode, lines[:-1], lines[-1]


def measured(lines):
    """Device and value of each observation, however often it was sent."""
    return sorted((line["device"], str(v["value"])) for line in lines if line["event"] == "report"
                  for v in line["values"])


def stored(node, path=()):
    """The same of what the sink has: device and value of each instance's observations."""
    if node["ty"] == 4:
        con = json.loads(node["attributes"]["con"], parse_float=str, parse_int=str)
        return [(path[1], str(one["v"])) for one in (con if isinstance(con, list) else [con])]
    return sorted(itertools.chain(*(stored(child, (*path, node["rn"])) for child in node["children"])))


CONFIRMED = ("--confirmed", "--retries", 0, "--timeout", "500ms", "--association-timeout", "500ms", "--rate", 0)


def grown(router, before):
    return {k: v - before[k] for k, v in router.counters().items()}


def all_stored_once(said, lines, summary):
    assert stored(said["tree"]) == measured(lines)
    assert said["instances"] == summary["observations"] == len(measured(lines))


@pytest.mark.parametrize("family,cse_family", ((4, 4), (6, 4), (4, 6), (6, 6)))
def test_by_the_data_plane(routed_lab, hugepages, tmp_path, family, cse_family):
    """Each measurement becomes a request of the data plane; the kernel gets signalling, and what comes before the
    containers are there."""
    with running_router(routed_lab, tmp_path, health_devices=phd(tmp_path, host("right", cse_family))) as router, \
            Sink(routed_lab) as sink:
        before = router.counters()
        status, lines, summary = simulate(routed_lab, "--device", "oximeter", "--count", 20, "--reports", 50, *CONFIRMED,
                                          "--report", "mixed", family=family)
        assert status == 0 and summary["answered"] == 1000, summary
        said = sink.report()
        all_stored_once(said, lines, summary)
        counts = grown(router, before)
        # reports during the association may use the slow path
        assert summary["observations"] - 40 * 3 <= counts["cse_stored"] <= summary["observations"]
        assert counts["cse_requests"] >= counts["cse_stored"] and counts["phd_responses"] >= 940
        assert counts["punt_phd_slow_path"] <= 3 * 20
        assert counts["cse_unknown_token"] == counts["phd_discarded"] == counts["phd_checksum"] == 0
        router.balanced()


def test_requests_as_others_read_them(routed_lab, hugepages, tmp_path):
    """tshark finds nothing to complain of in what leaves to the CSE and to the devices, checksums included."""
    pcap = {side: tmp_path / f"{side}.pcap" for side in ("left", "right")}
    with running_router(routed_lab, tmp_path, health_devices=phd(tmp_path)) as router, Sink(routed_lab, "--separate", "30") as sink:
        dumps = []
        for side in pcap:
            log = tmp_path / f"{side}.log"
            with open(log, "wb") as err:
                dumps.append(routed_lab.popen(side, "tcpdump", "-i", "eth0", "-U", "--immediate-mode", "-Z", "root", "-w",
                                              pcap[side], "udp", stderr=err))
            wait_until("tcpdump", lambda: b"listening on" in log.read_bytes())
        status, lines, summary = simulate(routed_lab, "--device", "activity", "--count", 5, "--reports", 20, *CONFIRMED)
        assert status == 0 and summary["answered"] == 100, summary
        for d in dumps:
            d.terminate()
            d.wait(10)
        said = sink.report()
        all_stored_once(said, lines, summary)
        assert said["separate"] > 0 and said["separate_acked"] >= said["separate"]
        router.balanced()
    for side, fields in (("right", ("coap.code", "coap.payload")), ("left", ("udp.port",))):
        out = subprocess.run(["tshark", "-r", pcap[side], "-n", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
                              "-Y", f"ip.src == {own(side)}", "-T", "fields", "-e", "ip.checksum.status", "-e",
                              "udp.checksum.status", "-e", "ip.flags.df", "-e", "_ws.malformed",
                              *itertools.chain(*(("-e", f) for f in fields))], capture_output=True, text=True, check=True).stdout
        rows = [line.split("\t") for line in out.splitlines()]
        # the kernel's own datagrams may have partial checksums on a veth
        good = [r for r in rows if r[1] == "1"]
        assert len(good) >= summary["observations" if side == "right" else "reports"] * 0.9
        # oneM2M's four options have numbers that Wireshark does not know, and calls malformed
        unknown = {"right": ",".join(["_ws.malformed"] * 4), "left": ""}[side]
        assert all(r[0] == "1" and r[3] in ("", unknown) for r in good), good[:3]


@pytest.mark.parametrize("settings,cse", (({"ack": "forwarded"}, {}), ({"content_instance_per": "report"}, {}),
                                          ({}, {"release": 3}), ({}, {"confirmable": False})))
def test_as_the_file_has_it(routed_lab, hugepages, tmp_path, settings, cse):
    with running_router(routed_lab, tmp_path, health_devices=phd(tmp_path, cse_more=cse, **settings)) as router, \
            Sink(routed_lab, "--release", str(cse.get("release", 4))) as sink:
        before = router.counters()
        status, lines, summary = simulate(routed_lab, "--device", "oximeter", "--count", 10, "--reports", 20, *CONFIRMED)
        assert status == 0 and summary["answered"] == 200, summary
        wait_until("what was forwarded to be stored", lambda: router.show("sessions") is not None, 5)
        said = sink.report()
        assert stored(said["tree"]) == measured(lines)
        counts = grown(router, before)
        assert counts["cse_requests"] >= (180 if settings.get("content_instance_per") == "report" else 360)
        router.balanced()


def test_loss_and_errors(routed_lab, hugepages, tmp_path):
    """Requests and answers get lost on either leg, and the CSE has no time for some: each is stored once."""
    with running_router(routed_lab, tmp_path, health_devices=phd(tmp_path)) as router, \
            Sink(routed_lab, "--drop", "10", "--drop-answers", "10", "--error", "10:5.03:5103", "--instances-only") as sink:
        before = router.counters()
        status, lines, summary = simulate(routed_lab, "--device", "oximeter", "--count", 50, "--reports", 20, "--loss", 10,
                                          "--duplicate", 10, *CONFIRMED)
        assert status == 0 and summary["answered"] == 1000, summary
        said = sink.report()
        all_stored_once(said, lines, summary)
        counts = grown(router, before)
        assert counts["phd_duplicates"] > 100 and counts["cse_busy"] > 50 and said["answers_dropped"] > 50
        router.balanced()


def test_late_repetitions_of_the_association(routed_lab, hugepages, tmp_path):
    """The control plane reads two association requests of each device at once. The second one is the repetition of the
    first, and possibly arrives after the first report: the association remains, and each measurement is stored once."""
    with running_router(routed_lab, tmp_path, health_devices=phd(tmp_path)) as router, \
            Sink(routed_lab, "--drop-answers", "20", "--instances-only") as sink:
        _, lines, _ = simulate(routed_lab, "--device", "oximeter", "--count", 200, "--reports", 1, *CONFIRMED)  # creates the containers
        first = f"0022092258{next(_devices) - 1:02x}0000"
        control_plane, before = router.plane("control plane")["pid"], router.counters()
        sim = routed_lab.popen("left", SIM, "--to", f"{own('left')}:6024", "--report-file", "-", "--system-id", first,
                               "--device", "oximeter", "--count", 200, "--reports", 10, *CONFIRMED, stdout=subprocess.PIPE)
        os.kill(control_plane, signal.SIGSTOP)
        try:
            time.sleep(0.9)  # the devices repeat their requests after 0.5 s
        finally:
            os.kill(control_plane, signal.SIGCONT)
        out, _ = sim.communicate(timeout=60)
        *more, summary = [json.loads(line) for line in out.splitlines()]
        assert sim.returncode == 0 and summary["answered"] == 2000, summary
        assert summary["aborted"] == 0 and summary["associations"] == 200, summary
        assert stored(sink.report()["tree"]) == measured(lines + more)
        counts = grown(router, before)
        assert counts["phd_duplicates"] > 50
        router.balanced()


def test_ten_thousand_devices(routed_lab, hugepages, tmp_path):
    """All the devices that one simulator can be, each with a session and containers of its own."""
    with running_router(routed_lab, tmp_path, health_devices=phd(tmp_path, cse_more={"max_inflight": 64})) as router, Sink(routed_lab) as sink:
        before = router.counters()
        status, lines, summary = simulate(routed_lab, "--device", "oximeter", "--count", 10000, "--reports", 3, "--confirmed",
                                          "--retries", 0, "--timeout", "3s", "--association-timeout", "3s", "--rate", 0,
                                          "--associations", 3000)
        assert status == 0 and summary["answered"] == 30000 and summary["associations"] == 10000, summary
        said = sink.report()
        all_stored_once(said, lines, summary)
        assert grown(router, before)["cse_stored"] > 30000
        router.balanced()


def test_trace_names_the_report_and_its_request(routed_lab, hugepages, tmp_path):
    with running_router(routed_lab, tmp_path, health_devices=phd(tmp_path)) as router, Sink(routed_lab):
        with tracing(router, "-n", 40, "--json", "-i", "left", "udp dst port 6024") as t:
            status, _, summary = simulate(routed_lab, "--device", "oximeter", "--count", 2, "--reports", 50, *CONFIRMED)
            assert status == 0, summary
            traces = objects(t)
    assert all(nodes(trace)[:2] == ["ip4", "phd"] for trace in traces)
    slow = next(trace for trace in traces if "punt_phd_signaling" in changed(trace, "phd"))
    assert nodes(slow) == ["ip4", "phd", "exception"] and slow["outcome"] == "queued for the kernel: punt_phd_signaling"
    report = next(trace for trace in traces if "cse_requests" in changed(trace, "phd"))
    assert report["outcome"] == "sent on right" and nodes(report)[2] == "port_tx-1" and "phd_reports_confirmed" in changed(report, "phd")
