# SPDX-License-Identifier: BSD-3-Clause
"""Connections whose MQTT is not inspected are listed with reason, age and client, and are a fault when it lasts."""

import socket
import threading

from conftest import config_for
from lab import CLOUD, wait_until

PORT = 8883


def test_tls_on_an_inspected_port(lab, gateway):
    """No attacker: clients use TLS on a port that biplane inspects. Nothing of it can be evaluated, and biplane reports
    that."""
    config = config_for(tcp_ports=[1883, PORT])
    config["monitoring"] = {"not_inspected_warning": "1s"}
    gw = gateway(config)
    with lab.inside("cloud"):
        server = socket.create_server((CLOUD, PORT))
    with lab.inside("dev"):
        client = socket.create_connection((CLOUD, PORT), timeout=10)
    peer, _ = server.accept()
    stop = threading.Event()

    def talk():
        while not stop.wait(0.1):
            client.sendall(b"\x17\x03\x03\x00\x01x")
            peer.recv(64)

    client.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    talker = threading.Thread(target=talk)
    talker.start()
    try:
        view = wait_until("an unread connection", lambda: (v := gw.show("not-inspected"))["not_inspected"] == 1 and v)
        reason, = view["reasons"]
        assert reason["reason"] == "not_inspected_not_mqtt" and reason["connections"] == 1
        assert [c["connections"] for c in reason["clients"]] == [1]
        fault = wait_until("a fault", lambda: next((t for t in gw.show("health")["faults"] if t["active"]), None))
        assert fault["fault"] == "connections_not_inspected" and fault["max"]["count"] == 1
    finally:
        stop.set()
        talker.join()
        for s in (client, peer, server):
            s.close()
    wait_until("no unread connection", lambda: gw.show("not-inspected")["not_inspected"] == 0)
    wait_until("no fault", lambda: gw.show("health")["active"] == 0)
