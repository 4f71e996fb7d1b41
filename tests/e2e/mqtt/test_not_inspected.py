# SPDX-License-Identifier: BSD-3-Clause
"""Connections whose MQTT is not inspected are listed with reason, age and client, and are a fault when it lasts."""

import socket
import ssl
import subprocess
import threading

from conftest import config_for
from lab import CLOUD, wait_until

PORT = 8883


def test_tls_on_an_inspected_port(lab, gateway, tmp_path):
    """No attacker: clients use TLS on a port that biplane inspects. Nothing of it can be evaluated, and biplane reports
    that, with the names that both ends say."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
                    "-subj", "/CN=broker.plant.example", "-addext", "subjectAltName=DNS:mqtt.plant.example"],
                   check=True, capture_output=True)
    ours, theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_verify_locations(cert)
    theirs.load_cert_chain(cert, key)
    ours.maximum_version = ssl.TLSVersion.TLSv1_2
    ours.set_alpn_protocols(["mqtt"])
    config = config_for(tcp_ports=[1883, PORT])
    config["monitoring"] = {"not_inspected_warning": "1s"}
    gw = gateway(config)
    with lab.inside("cloud"):
        server = socket.create_server((CLOUD, PORT))
    with lab.inside("dev"):
        client = socket.create_connection((CLOUD, PORT), timeout=10)
    peer, _ = server.accept()
    handshake = threading.Thread(target=lambda: sessions.append(theirs.wrap_socket(peer, server_side=True)))
    sessions = []
    handshake.start()
    client = ours.wrap_socket(client, server_hostname="mqtt.plant.example")
    handshake.join()
    peer = sessions[0]
    stop = threading.Event()

    def talk():
        while not stop.wait(0.1):
            client.sendall(b"x")
            peer.recv(64)

    talker = threading.Thread(target=talk)
    talker.start()
    try:
        view = wait_until("an unread connection", lambda: (v := gw.show("not-inspected"))["not_inspected"] == 1 and v)
        reason, = view["reasons"]
        assert reason["reason"] == "not_inspected_tls" and reason["connections"] == 1
        assert [c["connections"] for c in reason["clients"]] == [1]
        connection, = (c for c in gw.show("connections")["connections"] if c["transport"] == "tls")
        assert connection["tls"] == {"server_name": "mqtt.plant.example", "alpn": "mqtt", "certificate": "broker.plant.example",
                                     "certificate_names": "mqtt.plant.example"}
        explained = gw.command("explain", "connection", connection["client"], "-c", gw.identity).stdout
        assert "server name: mqtt.plant.example" in explained and "certificate: broker.plant.example" in explained
        fault = wait_until("a fault", lambda: next((t for t in gw.show("health")["faults"] if t["active"]), None))
        assert fault["fault"] == "connections_not_inspected" and fault["max"]["count"] == 1
    finally:
        stop.set()
        talker.join()
        for s in (client, peer, server):
            s.close()
    wait_until("no unread connection", lambda: gw.show("not-inspected")["not_inspected"] == 0)
    wait_until("no fault", lambda: gw.show("health")["active"] == 0)
