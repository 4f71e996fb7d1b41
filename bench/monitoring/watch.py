#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Watches a gateway as its operators do: Prometheus scrapes each second, a console is open (its requests, and the stream of
events). Prints a JSON object with the number of answers and events when it gets SIGTERM.

    watch.py HOST PORT
"""

import http.client
import json
import signal
import sys
import threading
import time

# What apps/biplane/monitor/console requests for its first page, with the periods in seconds.
CONSOLE = (("/api/v1/status", 2), ("/readyz", 4), ("/api/v1/rates?since=10m&step=5s", 2), ("/api/v1/show/ports", 2),
           ("/api/v1/show/drops", 2), ("/api/v1/config", 30))
counts = {"scrapes": 0, "answers": 0, "failed": 0, "events": 0, "bytes": 0}


def get(connection, path, headers=None):
    connection.request("GET", path, headers=headers or {})
    answer = connection.getresponse()
    body = answer.read()
    counts["bytes"] += len(body)
    if answer.status not in (200, 503):
        raise OSError(f"{path}: {answer.status}")


def each(address, name, period, path, headers=None):
    connection = http.client.HTTPConnection(*address, timeout=10)
    while True:
        begin = time.monotonic()
        try:
            get(connection, path, headers)
            counts[name] += 1
        except (OSError, http.client.HTTPException):
            counts["failed"] += 1
            connection.close()
        time.sleep(max(0.0, period - (time.monotonic() - begin)))


def stream(address):
    connection = http.client.HTTPConnection(*address)
    connection.request("GET", "/api/v1/events")
    answer = connection.getresponse()
    if answer.status != 200:
        counts["failed"] += 1
        return
    for line in answer:
        counts["events"] += line.startswith(b"data:")
        counts["bytes"] += len(line)


def main():
    address = (sys.argv[1], int(sys.argv[2]))
    accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
    jobs = [threading.Thread(target=each, args=(address, "scrapes", 1, "/metrics", accept), daemon=True),
            threading.Thread(target=stream, args=(address,), daemon=True)]
    jobs += [threading.Thread(target=each, args=(address, "answers", period, path), daemon=True) for path, period in CONSOLE]
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    for job in jobs:
        job.start()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
