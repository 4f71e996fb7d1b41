# SPDX-License-Identifier: BSD-3-Clause
"""A monitor for tests of the console: serves its files, and JSON as `biplane show VIEW --json` has it, which the test can change.

    python3 tests/e2e/console_stub.py [PORT]        for a look at the page
"""

import contextlib
import json
import math
import queue
import socket
import sys
import threading
import time
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

CONSOLE = Path(__file__).resolve().parents[2] / "apps" / "biplane" / "monitor" / "console"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml"}
# as of the monitor
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; "
          "form-action 'none'; frame-ancestors 'none'")
PORTS = ["devices", "cloud", "edge"]


def utc(seconds=None):
    return datetime.fromtimestamp(time.time() if seconds is None else seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def port(name, n):
    return {"name": name, "device": f"net_af_packet{n},iface={name}", "driver": "net_af_packet", "bridge": "line-1", "offloads": [],
            "mac": f"02:99:00:00:01:0{n + 1}", "link_up": True, "full_duplex": True, "speed_mbps": 10000, "mtu": 1500, "numa": -1,
            "rx_queues": 1, "tx_queues": 1, "workers": [0], "rx_packets": 812345, "rx_bytes": 98123456, "tx_packets": 798765,
            "tx_bytes": 97654321, "tx_dropped": 0, "mac_moves": 0, "mac_moves_refused": 0, "fdb_full": 0, "hw_rx_bytes": 98123456,
            "hw_tx_bytes": 97654321, "hw_missed": 0, "hw_rx_errors": 0, "hw_tx_errors": 0, "hw_rx_no_mbuf": 0}


def rule(name, topic, value, above, below, matched, raised):
    return {"name": name, "filter": topic, "value": value, "raise": f"> {above}", "clear": f"< {below}", "hold": None, "repeat": "every",
            "action": "publish", "publish_topic": "alarm/{topic}", "payload": "envelope", "matched": matched, "value_missing": 0,
            "raised": raised, "cleared": raised - 1}


def policy_rule(name, action, packet, decisions, **more):
    return {"name": name, "action": action, "packet": packet, "topic": None, "client_id": None, "user_name": None, "conditions": None,
            "decisions": decisions, "undecided": 0, "last": None, **more}


def connection(n):
    lost = n % 17 == 16
    return {"client": f"10.0.{n // 200}.{n % 200 + 1}:{33000 + n}", "broker": "10.9.0.2:1883", "vlan": None, "version": "3.1.1" if n % 3 else "5.0",
            "client_id": f"oven-{n:03}", "state": "open", "to_broker": "not_inspected" if lost else "inspecting", "from_broker": "no_data",
            "not_inspected_reason": "not_inspected_tls" if lost else "", "suspicious": [], "awaits_ack": False, "adopted": False, "publishes": 4711 * (n + 1) % 9973,
            "reassembly_bytes": 0, "idle_ms": 37 * n % 4000, "worker": 0}


def session(n):
    return {"system_id": f"00092258{n:08x}", "device": f"10.0.1.{n + 1}:49200", "transport": ("udp", "tcp")[n % 2], "state": "operating",
            "type": ("pulse_oximeter", "weighing_scale")[n % 2], "config_id": 400, "reports": 31 * (n + 1), "stored": 30 * (n + 1),
            "refused": n % 2, "age_s": 600 + n}


def alarm(n, at, state="raised", **more):
    return {"id": 1795713115427790 + n, "time": utc(at), "time_ns": int(at * 1e9), "rule": "overheat", "state": state, "severity": ("critical", "minor", None)[n % 3],
            "value": 91.5 if state == "raised" else 73.25, "client": f"10.0.0.{n % 5 + 1}:33392", "client_id": f"oven-{n % 5:03}",
            "topic": f"plant/oven{n % 5}/temperature", "publish_topic": f"alarm/plant/oven{n % 5}/temperature", "action": "publish", **more}


def alarm_event(a):
    address, _, tcp_port = a["client"].rpartition(":")
    kept = ("state", "severity", "rule", "value", "id", "client_id", "topic", "publish_topic", "action")
    return {"timestamp": a["time"], "event_type": "alarm", "src_ip": address, "src_port": int(tcp_port), "proto": "TCP",
            "alarm": {k: a[k] for k in kept if a[k] is not None}}


def data():
    """Answers by path, without query."""
    now = time.time()
    ports = [port(name, n) for n, name in enumerate(PORTS)]
    connections = [connection(n) for n in range(120)]
    planes = [{"plane": name, "pid": pid, "running": True, "started": utc(now - 9000), "uptime_s": 9000 if n < 2 else None,
               "heartbeat_age_s": 0 if n < 2 else None, "restarts": 0 if n < 2 else None, "restarts_hung": 0 if n < 2 else None}
              for n, (name, pid) in enumerate((("data plane", 3410), ("control plane", 3411), ("supervisor", 3408)))]
    found = {
        "status": {"instance": "plant", "ok": True, "faults": [], "planes": planes, "workers": 1,
                   "ports": [{"port": p, "link_up": True, "speed_mbps": 10000} for p in PORTS],
                   "publisher": {"connected": True, "connects": 1, "disconnects": 0},
                   "alarms": {"read": 42, "acknowledged": 42, "in_flight": 0, "spooled": 0, "unspooled": 0, "dropped_size": 0,
                              "dropped_age": 0, "unordered": 0, "invalid": 0},
                   "spool": {"rows": 0, "bytes": 0, "errors": 0}, "reloads": {"done": 1, "refused": 0, "generation": 2},
                   "netlink": None, "health_devices": None,
                   "segment": {"path": "/run/biplane/biplane-plant.seg", "bytes": 184692736, "hugepages": False}},
        "show/ports": {"ports": ports},
        "show/drops": {"rx": 1000000, "originated": 12, "tx": 999000, "drops": 112, "punted": 0, "terminated": 900, "difference": 0,
                       "balanced": True, "reasons": [
                           {"reason": "no_output_port", "count": 81, "ports": [{"port": PORTS[0], "count": 80}, {"port": PORTS[1], "count": 1}], "description": "no port of the bridge to send to"},
                           {"reason": "ip_bad_checksum", "count": 31, "ports": [], "description": "wrong IPv4 header checksum"},
                           {"reason": "hairpin", "count": 0, "ports": [], "description": "output port is the input port"}]},
        "show/rules": {"generation": 2, "loaded": utc(now - 9000), "rules": [
            rule("overheat", "plant/+/temperature", "json $.celsius", 80, 75, 34123, 22),
            rule("pressure", "plant/+/pressure", "json $.bar", 6.5, 6, 9120, 3),
            rule("vibration", "plant/+/vibration/#", "text", 12, 9, 80123, 8)]},
        "show/policy": {"enabled": True, "generation": 2, "rules": [
            policy_rule("known-clients", "allow", "connect", 120, client_id="oven-*"),
            policy_rule("large", "observe", "publish", 3, conditions="larger_than 65536", last=utc(now - 60)),
            policy_rule("own-values", "allow", "publish", 4711, topic="plant/{client}/#", undecided=2)],
            "default": {"action": "observe", "decisions": 0, "undecided": 0, "last": None}},
        "show/connections": {"total": len(connections), "connections": connections},
        "show/not-inspected": {"connections": len(connections), "not_inspected": 7, "reasons": [
            {"reason": "not_inspected_tls", "connections": 7, "max_duration_ms": 812345, "publishes_before": 0, "more_clients": False,
             "clients": [{"address": "10.0.0.17", "connections": 4}, {"address": "10.0.0.34", "connections": 3}]}]},
        "show/sessions": {"sessions": [session(n) for n in range(12)], "total": 12},
        "show/health": {"active": 0, "faults": [
            {"fault": "link_down", "object": "edge", "active": False, "since": utc(now - 7200), "until": utc(now - 7190),
             "duration_ns": 10 * 10 ** 9, "occurrences": 1, "total": {"count": 10 ** 10, "unit": "ns"}, "max": None,
             "description": "the link of a port is down"}]},
        "show/latency": {"stages": [
            {"stage": s, "count": 42, "avg_ns": n, "p50_ns": n, "p90_ns": 2 * n, "p99_ns": 3 * n, "p999_ns": 4 * n, "max_ns": 5 * n}
            for s, n in (("evaluate", 1200), ("handover", 21000), ("publish", 15000), ("acknowledge", 61000), ("total", 98000))],
            "invalid": 0},
        "show/alarms": {"alarms": [alarm(n, now - 20 * (n + 1), "cleared" if n % 2 == 0 else "raised") for n in range(12)]},
        "config": {"version": 1, "name": "plant", "workers": 1, "poll_mode": "busy",
                   "ports": [{"name": p, "device": f"net_af_packet{n},iface={p}"} for n, p in enumerate(PORTS)],
                   "bridges": [{"name": "line-1", "ports": PORTS}],
                   "aggregation": {"max_streams": 1024, "encapsulate": [], "decapsulate": []}, "sampling": [],
                   "mqtt": {"publisher": {"broker": "mqtt://192.0.2.10:1883", "client_id": "biplane-plant"},
                            "spool": {"path": "/var/lib/biplane/spool.db", "max_size": "256MiB"}, "tcp_ports": [1883], "brokers": [],
                            "rules": [{"name": "overheat", "topic": "plant/+/temperature", "value": {"json": "$.celsius"},
                                       "raise": {"above": 80}, "clear": {"below": 75}, "publish": {"topic": "alarm/{topic}"}}]}},
    }
    return {k: {"schema_version": 1, **v} if k != "config" else v for k, v in found.items()}


def ready(**failed):
    """The answer of /readyz; failed: reasons by check."""
    fine = {"dataplane": "running", "controlplane": "running", "ports": "all links are up", "tables": "nothing is routed", "publisher": "connected"}
    checks = [{"check": c, "ok": c not in failed, "reason": failed.get(c, r)} for c, r in fine.items()]
    return {"ready": not failed, "checks": checks}


def wave(t, base, part, period):
    return base * (1 + part * math.sin(2 * math.pi * t / period) + part / 3 * math.sin(2 * math.pi * t / 7.3))


def rates(since, step):
    now = int(time.time()) // step * step
    times = [t for t in range(now - since // step * step, now + 1, step)]
    series = [
        ("drops", None, [0.2 if t % 60 < 4 else 0 for t in times]), ("publishes", None, [wave(t, 5200, 0.2, 240) for t in times]),
        ("matches", None, [wave(t, 1900, 0.2, 240) for t in times]), ("alarms_raised", None, [0.5 if t % 45 < 3 else 0 for t in times]),
        ("alarms_cleared", None, [0.5 if t % 45 in (20, 21, 22) else 0 for t in times]),
        ("alarms_acknowledged", None, [0.5 if t % 45 < 3 else 0 for t in times]),
        ("alarm_delay_p50", None, [int(wave(t, 61000, 0.1, 90)) if t % 45 < 30 else None for t in times]),
        ("alarm_delay_p99", None, [int(wave(t, 118000, 0.2, 130)) if t % 45 < 30 else None for t in times]),
        ("alarms_in_flight", None, [0 for t in times]), ("spool_rows", None, [0 for t in times]),
        ("connections", None, [120 for t in times])]
    for n, name in enumerate(PORTS):
        rx = [wave(t, (12000, 9000, 300)[n], 0.25, 200 + 40 * n) for t in times]
        series += [("rx_packets", name, rx), ("rx_bytes", name, [p * 140 for p in rx]), ("tx_packets", name, [p * 0.8 for p in rx]),
                   ("tx_bytes", name, [p * 90 for p in rx]), ("nic_dropped", name, [0 for p in rx])]
    result = [{"name": n, "unit": "", **({"port": p} if p else {}), "values": v} for n, p, v in series]
    result.append({"name": "busy", "unit": "share", "worker": 0, "values": [wave(t, 0.3, 0.2, 240) for t in times]})
    return {"schema_version": 1, "since_s": since, "step_s": step, "history_s": 3600, "samples": 3600, "times": times,
            "seconds": [step] * len(times), "missed": [0] * len(times), "restarted": [False] * len(times), "series": result}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.server.stub.connections.add(self.connection)

    def finish(self):
        self.server.stub.connections.discard(self.connection)
        super().finish()

    def log_message(self, *_):
        pass

    def send(self, status, content_type, body):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def json(self, status, answer):
        self.send(status, "application/json", json.dumps(answer).encode())

    def do_GET(self):
        stub, url = self.server.stub, urlparse(self.path)
        stub.requests.append((time.monotonic(), self.path))
        name = "index.html" if url.path == "/" else url.path.removeprefix("/console/")
        if url.path == "/" or url.path.startswith("/console/"):
            file = CONSOLE / name
            if "/" not in name and file.is_file():
                self.send(200, TYPES[file.suffix], file.read_bytes())
            else:
                self.json(404, {"error": "there is no such page"})
        elif stub.token and self.headers.get("Authorization") != f"Bearer {stub.token}":
            self.json(401, {"error": "expected the header Authorization: Bearer TOKEN"})
        elif url.path == "/readyz":
            self.json(200 if stub.ready["ready"] else 503, stub.ready)
        elif url.path == "/api/v1/events":
            self.events()
        else:
            self.api(url.path.removeprefix("/api/v1/"), parse_qs(url.query))

    def api(self, name, query):
        stub = self.server.stub
        if name in stub.errors:
            answer = stub.errors[name]
            if name in stub.refuse:  # only so often
                stub.refuse[name] -= 1
                if not stub.refuse[name]:
                    del stub.errors[name]
            self.json(*answer)
        elif name == "rates":
            self.json(200, stub.rates(int(query["since"][0][:-1]), int(query["step"][0][:-1])))
        elif name in stub.data:
            self.json(200, stub.data[name])
        else:
            self.json(404, {"error": "there is no such resource"})

    def events(self):
        waiting = queue.Queue()
        self.server.stub.streams.append(waiting)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            while (text := waiting.get()) is not None:
                self.wfile.write(text.encode())
                self.wfile.flush()
        except OSError:
            pass
        finally:
            self.server.stub.streams.remove(waiting)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # clients that close their connection
            super().handle_error(request, client_address)


class Stub:
    """with Stub() as stub: stub.url; all members may be changed while it runs."""

    def __init__(self, port_number=0):
        self.data, self.errors, self.ready, self.rates, self.token = data(), {}, ready(), rates, ""
        self.requests, self.streams, self.connections, self.refuse = [], [], set(), {}
        self.server, self.port = None, port_number

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        self.server = Server(("127.0.0.1", self.port), Handler)
        self.server.stub, self.port = self, self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        for waiting in list(self.streams):
            waiting.put(None)
        self.server.shutdown()
        self.server.server_close()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def emit(self, event):
        """To all pages that are connected now."""
        for waiting in list(self.streams):
            waiting.put(f"id: {time.monotonic_ns()}\ndata: {json.dumps(event)}\n\n")


if __name__ == "__main__":
    with Stub(int(sys.argv[1]) if len(sys.argv) > 1 else 9464) as running:
        print(running.url)
        while True:
            time.sleep(5)
            running.emit(alarm_event(alarm(1000 + int(time.time()), time.time())))
