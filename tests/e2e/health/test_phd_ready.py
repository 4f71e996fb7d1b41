# SPDX-License-Identifier: BSD-3-Clause
"""A device with existing containers causes no request to the CSE when it returns: after a restart without the segment,
and by another association. Verified by the requests that the CSE received: provisioning again would begin with a
retrieve of the AE."""

import collections
import json
import subprocess
import time

import pytest

from lab import wait_until
from router_lab import RIGHT, only_biplane, own
from test_phd import SIM, ended
from test_phd_restart import (MOVED, Devices, Sink, check_stored, devices, directory, killed, notice_nothing,  # noqa: F401
                              router, stopped)

pytestmark = only_biplane


class Asked(Sink):
    def values(self):
        found = super().values()
        self.said = json.loads(self.file.read_text())
        return found

    def made_once(self, count):
        """The AEs of the gateway and of the given number of devices exist, and no creation found its resource already
        there."""
        assert (self.said["aes"], self.said["acps"], self.said["retrieves"]) == (1 + count, 1, 0), self.said


class Sinks:
    """One after the other at the same address: the CSE that lost its tree."""

    def __init__(self, *sinks):
        self.sinks, self.moved = sinks, 0

    def values(self):
        found = collections.defaultdict(collections.Counter)
        for s in self.sinks:
            for device, values in s.found.items():
                found[device].update(values)
        return found


@pytest.fixture
def sink(routed_lab, router, directory):  # noqa: F811
    s = Asked(routed_lab, directory)
    yield s
    s.close()


def provisioning(router):  # noqa: F811
    return router.status()["health_devices"]["provisioning"]


@pytest.mark.parametrize("how", (stopped, killed))
def test_restored_sessions_are_ready(routed_lab, router, sink, devices, how):  # noqa: F811
    for d in devices:
        d.measured(3)
    lost_at = time.time()
    how(router)
    back_at = time.time()
    for d in devices:
        d.measured(3, since=back_at)
    count = sum(d.count for d in devices)
    wait_until("all of them to be counted", lambda: provisioning(router)["already_provisioned"] == count, 30, 0.2)
    assert provisioning(router) == {"completed": 0, "rejected": 0, "already_provisioned": count, "pending": 0}
    notice_nothing(devices)
    check_stored(devices, sink, lost_at, back_at)
    sink.made_once(count)


def test_cse_emptied_meanwhile(routed_lab, router, sink, devices, directory):  # noqa: F811
    """The first report of each says so, and is answered so that the device repeats it once its containers are there."""
    for d in devices:
        d.measured(3)
    lost_at = time.time()
    assert router.stop() == 0
    sink.found = sink.values()
    other = directory / "other"
    other.mkdir()
    second = Asked(routed_lab, other)
    try:
        router.start()
        back_at = time.time()
        for d in devices:
            d.measured(3, since=back_at)
        count = sum(d.count for d in devices)
        wait_until("all of them to be provisioned", lambda: provisioning(router)["completed"] >= count, 60, 0.2)
        now = provisioning(router)
        assert now["already_provisioned"] == count and now["pending"] == 0, now
        notice_nothing(devices)
        second.found = second.values()
        check_stored(devices, Sinks(sink, second), lost_at, back_at)
        assert second.said["aes"] == 1 + count
    finally:
        second.close()


def test_another_path_after_a_restart(routed_lab, router, sink, devices):  # noqa: F811
    """Containers of another path are others: no one is ready before they are made."""
    for d in devices:
        d.measured(2)
    config = json.loads(json.dumps(router.config))
    config["health_devices"]["cse"]["path"] = f"cse-in/{{system_id}}/{MOVED}{{object}}"
    lost_at = time.time()
    assert router.stop() == 0
    router.config = config
    router.start()
    back_at = time.time()
    for d in devices:
        d.measured(2, since=back_at)
    # figures are written once a second
    now = wait_until("all to be told as done",
                     lambda: (n := provisioning(router))["completed"] >= sum(d.count for d in devices) and n)
    assert now["already_provisioned"] == 0, now
    notice_nothing(devices)
    check_stored(devices, sink, lost_at, back_at)
    assert sink.moved >= 2 * sum(d.count for d in devices)


@pytest.mark.parametrize("kind", ("oximeter", "activity"))
def test_device_reconnects(routed_lab, router, sink, kind):  # noqa: F811
    """Each time by an association of its own, with another control plane, and with another segment."""
    def measure(first):
        sim = routed_lab.popen("left", SIM, "--to", f"{own('left')}:6024", "--report-file", "-", "--system-id",
                               "0022092259cc0100", "--device", kind, "--count", 10, "--confirmed", "--reports", 2, "--rate", 0,
                               "--retries", 0, "--timeout", "500ms", "--first", first, stdout=subprocess.PIPE)
        status, lines, summary = ended(sim)
        assert status == 0 and summary["answered"] == 20 and summary["associations"] == 10, summary
        wait_until("their sessions to end", lambda: router.show("sessions")["sessions"] == [], 30, 0.1)
        return [v for line in lines if line["event"] == "report" for v in line["values"]]
    def read_back():  # a device that returns before that is provisioned again
        wait_until("what is known to be read back",
                   lambda: (now := router.try_status()) and now["health_devices"]["store"]["configurations_read"] == 10, 60, 0.2)
    measure(0)
    measure(100)
    router.kill_plane("control plane")
    router.settled(60)
    read_back()
    measure(200)
    stopped(router)
    read_back()
    measure(300)
    wait_until("all of them to be counted", lambda: provisioning(router)["already_provisioned"] == 10, 30, 0.2)
    assert provisioning(router)["completed"] == 0
    found = sink.values()
    assert len(found) == 10
    sink.made_once(10)
