# SPDX-License-Identifier: BSD-3-Clause
"""poll_mode: adaptive. Threads of the data plane sleep without traffic, and the first frame wakes them."""

import os
import re
import sys
from pathlib import Path

import pytest

from conftest import config_for, running_router
from frames import LOCAL_ETHERTYPE, Wire, ethernet
from lab import wait_until
from router_lab import LEFT, RIGHT, own, routed_config, router_mac
from test_route_ports import behind_taps

NS_PER_MS = 1_000_000


def slept(g):
    return g.counter("worker_sleeps"), g.counter("worker_sleep_ns")


def average_sleep_ms(g, sleeps=100):
    """Over that many sleeps without traffic; more under load, never less."""
    count, ns = slept(g)
    wait_until("the worker to sleep", lambda: slept(g)[0] >= count + sleeps, 60)
    count_after, ns_after = slept(g)
    return (ns_after - ns) / (count_after - count) / NS_PER_MS


def voluntary_switches(pid, name):
    for task in Path(f"/proc/{pid}/task").iterdir():
        status = (task / "status").read_text()
        if re.search(r"^Name:\s*(.*)", status)[1] == name:
            return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.M)[1])
    raise AssertionError(f"no thread {name}")


def worker_cpus(pid):
    for task in Path(f"/proc/{pid}/task").iterdir():
        status = (task / "status").read_text()
        if re.search(r"^Name:\s*rte-worker", status):
            return re.search(r"^Cpus_allowed_list:\s*(\S+)", status, re.M)[1]
    raise AssertionError("no worker")


def test_worker_that_sleeps_may_use_each_cpu(lab, gateway):
    if Path("/sys/devices/system/node/node1").exists():
        pytest.skip("on several NUMA nodes, each worker has its CPU")
    allowed = re.search(r"^Cpus_allowed_list:\s*(\S+)", Path("/proc/self/status").read_text(), re.M)[1]
    one = min(os.sched_getaffinity(0))
    for workers, cpus in ((1, allowed), ([one], str(one))):
        g = gateway({**config_for(), "workers": workers})
        assert worker_cpus(g.plane("data plane")["pid"]) == cpus
        g.stop()


PM_QOS = Path("/dev/cpu_dma_latency")


def cpu_latency_us():
    """The lowest limit of all requests."""
    with PM_QOS.open("rb") as f:
        return int.from_bytes(f.read(4), sys.byteorder, signed=True)


@pytest.mark.skipif(not PM_QOS.exists(), reason="the kernel has no PM QoS device")
def test_limit_of_the_cpu_latency_lasts_as_long_as_the_data_plane(lab, gateway, tmp_path):
    before = cpu_latency_us()
    assert before > 7, "another program limits the latency"
    g = gateway({**config_for(), "runtime": {"directory": str(tmp_path / "run"), "cpu_latency_limit": "7us"}})
    assert cpu_latency_us() == 7
    g.stop()
    assert cpu_latency_us() == before


@pytest.mark.parametrize("driver", ("af_packet", "af_xdp"))
def test_worker_waits_for_events_of_its_queues(lab, gateway, driver):
    """Without an event descriptor for each queue it would take naps of at most 0.25 ms."""
    g = gateway(config_for(driver))
    assert average_sleep_ms(g) > 2
    dev, cloud = Wire(lab, "dev"), Wire(lab, "cloud")
    try:
        for _ in range(10):
            frame = ethernet("ff:ff:ff:ff:ff:ff", "02:77:00:00:00:0a", LOCAL_ETHERTYPE, os.urandom(50))
            average_sleep_ms(g, 3)
            dev.send(frame)
            cloud.listen(frame)
    finally:
        dev.close()
        cloud.close()


def test_workers_wait_for_their_own_queues(lab, gateway):
    """The queues of a port are sockets of one fanout group: each worker waits for its own."""
    config = config_for()
    for p in config["ports"]:
        p["device"] += ",qpairs=2"
    g = gateway({**config, "workers": 2})
    assert average_sleep_ms(g, 200) > 2
    dev, cloud = Wire(lab, "dev"), Wire(lab, "cloud")
    try:
        for n in range(32):  # the hash of some of them leads to either queue
            frame = ethernet("ff:ff:ff:ff:ff:ff", f"02:77:00:00:01:{n:02x}", LOCAL_ETHERTYPE, os.urandom(50))
            dev.send(frame)
            cloud.listen(frame)
    finally:
        dev.close()
        cloud.close()


def test_taps_wake_the_worker(routed_lab, hugepages, tmp_path):
    ports = routed_config()["ports"][:2]
    for i, p in enumerate(ports):
        p["device"] = f"net_tap{i},iface=t-{p['name']},mac={router_mac(p['name'])}"
    with running_router(routed_lab, tmp_path, ports=ports) as r, behind_taps(routed_lab, ("left", "right")):
        assert average_sleep_ms(r) > 2
        routed_lab.pings("tap-left", RIGHT)
        assert average_sleep_ms(r) > 2


def test_exception_thread_sleeps(routed_lab, router):
    pid = router.plane("data plane")["pid"]
    worker, thread = (voluntary_switches(pid, n) for n in ("rte-worker-1", "bp-exception"))
    average_sleep_ms(router, 200)
    worker, thread = (voluntary_switches(pid, n) - before
                      for n, before in (("rte-worker-1", worker), ("bp-exception", thread)))
    assert thread < worker, "it polls"  # ten times a second, not two thousand times
    routed_lab.pings("left", own("left"))
    routed_lab.pings("gw", LEFT)
