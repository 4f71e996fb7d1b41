# SPDX-License-Identifier: BSD-3-Clause
"""The real CSE of the tests (acmecse) as a process, on an address and with ports of its own."""

import itertools
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import coap
from lab import ROOT, wait_until

VENV = Path(os.environ.get("BP_CSE_VENV", ROOT / "build-venv-cse"))
PROGRAM = VENV / "bin" / "acmecse"
ADMIN = "CAdmin"

INI = """\
[basic.config]
cseType=IN
cseID=id-in
cseName=cse-in
adminID={admin}
dataDirectory=${{baseDirectory}}
networkInterface={address}
cseHost={address}
httpPort={http}
logLevel=off
databaseType={database}
consoleTheme=dark
secret=acme

[cse]
enableRemoteCSE=false

[cse.registration]
allowedAEOriginators=C*,S*

[http]
enable=true
listenIF={address}

[coap]
enable=true
listenIF={address}
port={port}
address=coap://{address}:{port}

[mqtt]
enable=false

[websocket]
enable=false

[textui]
startWithTUI=false

[logging]
level=off
enableFileLogging=false
enableScreenLogging=false
"""


def require():
    """Ends the test with a sentence when the CSE is not installed; says so aloud where it is not wanted."""
    if os.access(PROGRAM, os.X_OK):
        return
    if os.environ.get("BP_WITHOUT_CSE"):
        pytest.skip("BP_WITHOUT_CSE is set: not tested against a real CSE")
    pytest.fail(f"no CSE at {PROGRAM}: run scripts/setup, or set BP_WITHOUT_CSE=1 to do without", pytrace=False)


class Acme:
    """One CSE. With database "tinydb" its resources outlive stop(); with "memory" they do not. `argv` makes a
    command of a command, as Lab.argv does for a namespace."""

    def __init__(self, directory, address="127.0.0.1", port=5683, http=8080, database="memory", argv=None):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.address, self.port, self.http = address, port, http
        self.argv = argv or (lambda *a: list(map(str, a)))
        self.process = None
        self.markers = itertools.count(int(time.time() * 1000))
        (self.directory / "acme.ini").write_text(
            INI.format(admin=ADMIN, address=address, port=port, http=http, database=database))

    def start(self, client):
        """Returns when the CSE answers `client`, a coap.Client to it, and is ready to be stopped properly. An HTTP request
        that comes between its HTTP server and its plugins, as those of a gateway that waits for it do, ends it without a
        word and with status 0: the plugins add what they answer, which its HTTP framework refuses then. Whoever runs it
        starts it again."""
        for again in range(9, -1, -1):
            if self.begin(client, again != 0):
                return

    def begin(self, client, may_end):
        """start() once. False: it ended as is said there."""
        with open(self.directory / "log", "wb") as log:
            self.process = subprocess.Popen(
                self.argv(PROGRAM, "--config", "acme.ini", "--base-directory", self.directory, "--headless"),
                cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

        def answers():
            said = (self.directory / "log").read_text(errors="replace")
            if self.process.poll() is not None:
                assert may_end and self.process.returncode == 0, said[-2000:]
                return "ended"
            if "CSE started" not in said:
                return False
            got = client.ask(coap.GET, "cse-in", ADMIN, tries=1)
            return "answers" if got is not None and got.code == 0x45 else False
        return wait_until("the CSE's answer", answers, seconds=240, every=0.2) == "answers"

    def settle(self, client):
        """Waits until all acknowledged changes of the CSE are in its files: its writer is late, and sometimes holds the
        newest change back until the next one, even at a regular stop. No other change may be made meanwhile."""
        def written(marker):
            return all(marker in f.read_text(errors="replace") for f in self.files())

        def marked():
            marker = f"Csettle{next(self.markers)}"
            client.create("cse-in", coap.AE, marker, rn=marker, api="Nsettle", rr=False, srv=["4"])
            end = time.monotonic() + 4
            while time.monotonic() < end:
                if written(marker):
                    return True
                time.sleep(0.05)
            return False
        wait_until("the CSE's files", marked, seconds=180)

    def ask_http(self, path, query="", fr=ADMIN):
        """A retrieve over HTTP, which has no limit of length (CoAP answers of over 1024 bytes come in blocks)."""
        ask = urllib.request.Request(f"http://{self.address}:{self.http}/{path}?{query}",
                                     headers={"X-M2M-Origin": fr, "X-M2M-RI": "h1", "X-M2M-RVI": "4"})
        for again in range(299, -1, -1):
            try:
                with urllib.request.urlopen(ask, timeout=60) as got:
                    return json.load(got)
            except urllib.error.HTTPError as e:  # 500: resources of the answer are just being changed
                if e.code != 500 or again < 290:
                    raise
            except urllib.error.URLError as e:  # under load its HTTP server starts after its CoAP server
                if not isinstance(e.reason, ConnectionRefusedError) or not again or self.process.poll() is not None:
                    raise
            time.sleep(0.1)

    def tree(self, path, ty=None):
        """Structured paths of the descendants, of one resource type or of all."""
        return sorted(self.ask_http(path, "fu=1" + (f"&ty={ty}" if ty else ""))["m2m:uril"])

    def instances(self, container):
        """The attributes of a container's instances, in the order of their creation. It answers with one that it is
        just creating, which has no stateTag yet: that is not there."""
        got = [i for i in self.ask_http(container, "rcn=4&ty=4")["m2m:cnt"].get("m2m:cin", []) if "st" in i]
        return sorted(got, key=lambda i: (i["st"], i["ct"]))

    def files(self):
        """Where a created resource leaves its name."""
        return [next(self.directory.glob(f"data/{name}*")) for name in ("resources", "identifiers")]

    def end(self):
        """At once: no one needs what it has. By SIGINT it takes its time, the more it has."""
        self.stop(signal.SIGKILL)

    def stop(self, how=signal.SIGINT):
        """By SIGINT it writes its database, but see settle(); SIGTERM would lose the last second."""
        if self.process is None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None
