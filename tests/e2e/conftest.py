# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures: one laboratory for the session, a gateway for each test or module that wants one."""

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
# tests use what those of other folders have
sys.path.extend(str(folder) for folder in sorted(Path(__file__).parent.iterdir()) if folder.is_dir())

from lab import BIPLANE, EDGE_MGMT, LAB_NAME, Gateway, Lab, port_devices  # noqa: E402
from peers import Collector  # noqa: E402

# The CSE asks for the name of the host, and no name server answers in a namespace: by default for 10 s each time.
os.environ.setdefault("RES_OPTIONS", "timeout:1 attempts:1")
PASSED = pytest.StashKey[bool]()


def pytest_configure(config):
    # scripts/test ends the suite with SIGTERM; the laboratory must still be removed.
    signal.signal(signal.SIGTERM, lambda *a: pytest.exit("terminated", 130))
    # Other sessions of pytest, which begin at any time, deny other users the folder that all of them share: tests of
    # what another user may do have one for this session.
    if "PYTEST_DEBUG_TEMPROOT" not in os.environ:
        folder = os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.mkdtemp(prefix="bp-")
        os.chmod(folder, 0o755)
        # after pytest's own cleaning, which is registered later
        atexit.register(lambda: config.stash[PASSED] and shutil.rmtree(folder, ignore_errors=True))
        config.stash[PASSED] = False


def pytest_sessionfinish(session, exitstatus):
    session.config.stash[PASSED] = exitstatus in (0, 5)  # 5: -k leaves none


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed:
        for g in _gateways:
            g.dump()


_gateways = []


@pytest.fixture(scope="session")
def lab():
    if os.geteuid() != 0:
        pytest.exit("the end-to-end tests make network namespaces: run them as root", 2)
    if not os.access(BIPLANE, os.X_OK):
        pytest.exit(f"no biplane at {BIPLANE}: build it, or set BIPLANE", 2)
    the_lab = Lab()
    try:
        the_lab.up()
        yield the_lab
    finally:
        the_lab.down()


@pytest.fixture(scope="session")
def hugepages():
    """As many as the data plane needs, if the machine has them; biplane reports a shortage."""
    root = Path(__file__).resolve().parents[2]
    subprocess.run(["bash", "-c", f"tool=e2e self=e2e; . {root}/scripts/lib.sh; hugepages 400"], check=False)


def _factory(lab, tmp, request):
    running = []

    def make(config, *args, start=True):
        g = Gateway(lab, tmp / f"gw{len(running)}", config)
        running.append(g)
        _gateways.append(g)
        if start:
            try:
                g.start(*args)
            except BaseException:
                g.dump()
                raise
        return g

    def finish():
        for g in running:
            _gateways.remove(g)
            g.stop()
    request.addfinalizer(finish)
    return make


@pytest.fixture
def gateway(lab, hugepages, tmp_path, request):
    """gateway(config, *args): a running gateway, ended after the test."""
    return _factory(lab, tmp_path, request)


@pytest.fixture(scope="module")
def module_gateway(lab, hugepages, tmp_path_factory, request):
    return _factory(lab, tmp_path_factory.mktemp("module"), request)


@pytest.fixture
def collect(lab):
    """collect(ns, ...): a subscriber to the broker there, closed after the test."""
    made = []

    def make(ns, *args, **kw):
        c = Collector(lab, ns, *args, **kw)
        made.append(c)
        return c
    yield make
    for c in made:
        c.close()


def overheat(**more):
    return {"name": "overheat", "topic": "plant/+/temperature", "value": "text", "raise": "> 80",
            "action": "publish", "payload": "original", "publish": {"topic": "alarm/{topic}"}, **more}


def config_for(driver="af_packet", rules=None, spool=None, **mqtt):
    """The configuration of most tests: three ports on one segment, alarms to the edge broker."""
    return {
        "ports": port_devices(driver),
        "bridges": [{"name": "bridge0", "ports": ["devices", "cloud", "edge"]}],
        "mqtt": {
            "publisher": {"broker": f"mqtt://{EDGE_MGMT}", "client_id": "biplane-e2e"},
            "spool": {"path": str(spool) if spool else f"/run/biplane-lab-{LAB_NAME}/spool.db"},
            "rules": rules if rules is not None else [overheat()],
            **mqtt,
        },
    }


@pytest.fixture(scope="session", autouse=True)
def tools():
    for tool in ("mosquitto", "mosquitto_pub", "kcat", "tcpdump", "tshark", "ethtool"):
        if not shutil.which(tool):
            pytest.exit(f"{tool} is missing; run scripts/setup", 2)


# ---------------------------------------------------------------- routing


@pytest.fixture(scope="session")
def routed_lab():
    """Three networks around the gateway's namespace; see router_lab.py."""
    import router_lab

    if os.geteuid() != 0:
        pytest.exit("the end-to-end tests make network namespaces: run them as root", 2)
    for tool in (router_lab.LOAD, "/usr/lib/frr/zebra", "vtysh", "iperf3", "traceroute", "tracepath", "rdisc6", "arping"):
        if not shutil.which(tool):
            pytest.exit(f"{tool} is missing; run scripts/setup, and build", 2)
    the_lab = router_lab.RoutedLab()
    try:
        the_lab.up()
        yield the_lab
    finally:
        the_lab.down()


@contextlib.contextmanager
def running_router(the_lab, directory, **more):
    """The router under test, with these further settings; prints diagnostics after a failure."""
    import router_lab

    r = router_lab.make_router(the_lab, directory, **more)
    _gateways.append(r)
    try:
        try:
            r.start()
        except BaseException:
            r.dump()
            raise
        yield r
    finally:
        _gateways.remove(r)
        r.stop()


@pytest.fixture(scope="module")
def router(routed_lab, hugepages, tmp_path_factory):
    """The router under test, for a module's tests."""
    with running_router(routed_lab, tmp_path_factory.mktemp("router")) as r:
        yield r


@pytest.fixture
def gateway_for(routed_lab, hugepages, tmp_path, request):
    """As `gateway`, in the routed laboratory."""
    return _factory(routed_lab, tmp_path, request)


# ---------------------------------------------------------------- two gateways and a WAN


@pytest.fixture(scope="session")
def wan_lab():
    """Sensors, a gateway, a WAN, a gateway, a server; see wan_lab.py."""
    from wan_lab import WanLab

    if os.geteuid() != 0:
        pytest.exit("the end-to-end tests make network namespaces: run them as root", 2)
    the_lab = WanLab()
    try:
        the_lab.up()
        yield the_lab
    finally:
        the_lab.down()


@contextlib.contextmanager
def running_pair(the_lab, directory, *args, **more):
    """Both gateways; prints diagnostics after a failure."""
    from wan_lab import Pair

    pair = Pair(the_lab, directory, *args, **more)
    _gateways.extend(pair.both)
    try:
        try:
            pair.start()
        except BaseException:
            for g in pair.both:
                g.dump()
            raise
        yield pair
    finally:
        for g in pair.both:
            _gateways.remove(g)
        pair.stop()


@pytest.fixture(scope="module")
def wan(wan_lab):
    """The WAN's two wires as one, for gateways that bridge."""
    from wan import Wan

    with Wan(wan_lab) as w:
        yield w
