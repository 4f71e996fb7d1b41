# SPDX-License-Identifier: BSD-3-Clause
"""Clients in Go (Eclipse Paho) and Rust (rumqttc), and mosquitto_pub, through a policy with close and with blank. Their programs are built with
what the package managers of these languages have or download; without them, these tests are skipped. test_policy_close.py and
test_policy_blank.py have paho for Python and MQTT.js."""

import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import config_for
from lab import CLOUD, wait_until
from peers import Collector

CLIENTS = Path(__file__).parents[1] / "clients"
POLICY = {"fail": "closed", "rules": [
    {"name": "close", "action": "close", "packet": "publish", "topic": "plant/secret/#", "client_id": "closed-*"},
    {"name": "blank", "action": "blank", "packet": "publish", "topic": "plant/secret/#"},
]}
QUARANTINE = "$refused/-----"  # of the length of plant/secret/x
TOPICS = ("plant/open/1", "plant/secret/x", "plant/open/2")


@pytest.fixture(scope="module")
def g(lab, module_gateway):
    gateway = module_gateway(config_for(policy=POLICY))
    yield gateway
    gateway.stop()


@pytest.fixture(scope="module")
def cloud(lab, g):
    c = Collector(lab, "cloud", filters=("#", "$refused/#"))
    yield c
    c.close()


def build(folder, language, fetch, *command):
    """`fetch` may need a network that is not there; `command` must succeed."""
    if shutil.which(fetch[0]) is None:
        pytest.skip(f"no {fetch[0]}")
    shutil.copytree(CLIENTS / language, folder / language)
    try:
        fetched = subprocess.run(fetch, cwd=folder / language, capture_output=True, check=False, timeout=120)
    except subprocess.TimeoutExpired:
        pytest.skip(f"no packages: {fetch[0]} does not end")
    if fetched.returncode != 0:
        pytest.skip(f"no packages: {fetched.stderr.decode()}")
    subprocess.run(command, cwd=folder / language, check=True, timeout=600)


@pytest.fixture(scope="module")
def go_client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("go")
    build(folder, "go", ("go", "mod", "download"), "go", "build", "-mod=readonly", "-o", "client", ".")
    return folder / "go/client"


@pytest.fixture(scope="module")
def rust_client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rust")
    build(folder, "rust", ("cargo", "fetch"), "cargo", "build", "--offline", "--quiet")
    return folder / "rust/target/debug/rust-client"


def of(cloud, name):
    """The topics of the messages that this client has published"""
    return [t for t, p in list(cloud.messages) if p.startswith(f"{name} ".encode())]


@pytest.mark.parametrize("language", ["go", "rust"])
def test_client(lab, g, cloud, request, language):
    program = request.getfixturevalue(f"{language}_client")
    for action in ("blanked", "closed"):
        name = f"{action}-{language}"
        printed = lab.run("dev", program, CLOUD, "1883", name, *TOPICS, timeout=60).stdout.decode().splitlines()
        if action == "blanked":
            assert printed == [*(f"acknowledged {t}" for t in TOPICS), "closed"]
            wait_until("all messages", lambda name=name: len(of(cloud, name)) == 3)
            assert of(cloud, name) == ["plant/open/1", QUARANTINE, "plant/open/2"]
        else:
            assert printed == ["acknowledged plant/open/1", "lost", "closed"]
            wait_until("the message before", lambda name=name: of(cloud, name))
            assert of(cloud, name) == ["plant/open/1"]


@pytest.mark.parametrize("version", ["mqttv31", "mqttv311", "mqttv5"])
@pytest.mark.parametrize("qos", [1, 2])
def test_mosquitto_pub(lab, g, cloud, version, qos):
    def publish(name, topic):
        return lab.run("dev", "mosquitto_pub", "-V", version, "-h", CLOUD, "-i", name, "-q", str(qos), "-t", topic, "-m", f"{name} 1",
                       check=False, timeout=60).returncode

    names = [f"{action}-{version}-{qos}" for action in ("blanked", "closed")]
    assert [publish(name, "plant/open/1") for name in names] == [0, 0]
    assert publish(names[0], "plant/secret/x") == 0
    assert publish(names[1], "plant/secret/x") != 0
    wait_until("all messages", lambda: len(of(cloud, names[0])) == 2 and of(cloud, names[1]))
    assert of(cloud, names[0]) == ["plant/open/1", QUARANTINE]
    assert of(cloud, names[1]) == ["plant/open/1"]


def test_every_frame_is_accounted_for(g):
    assert g.counter("policy_blank_fallback") == 0
    assert g.balanced()
