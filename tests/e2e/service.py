# SPDX-License-Identifier: BSD-3-Clause
"""A gateway whose planes run as the units start them: users, capabilities, directories, notifications."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from lab import BIPLANE, ROOT, Gateway, remove_segment, wait_until

DATA, CONTROL, VIEWER, STRANGER, MONITOR = 64101, 64102, 64103, 64104, 64105
LOOK = 64100  # the group biplane
NUMBER = {"biplane-data": DATA, "biplane-control": CONTROL, "biplane-monitor": MONITOR, "biplane": LOOK}
PLANES = ("dataplane", "controlplane")


def unit(plane):
    """Settings of the unit of a plane: {"User": "biplane-data", ...}; the last line of a name counts."""
    text = (ROOT / "install" / f"biplane-{plane}@.service.in").read_text()
    return dict(re.findall(r"^([A-Za-z]+)=(.*)$", text, re.M))


def as_unit(plane, without=(), more=()):
    """setpriv's words for what the unit gives, less the capabilities `without`."""
    u = unit(plane)
    groups = [str(NUMBER[g]) for g in u["SupplementaryGroups"].split() if g in NUMBER]
    caps = [c.removeprefix("CAP_").lower() for c in u["AmbientCapabilities"].split() if c not in without]
    bound = [c.removeprefix("CAP_").lower() for c in u["CapabilityBoundingSet"].split() if c not in without]
    return as_user(NUMBER[u["User"]], groups, [*caps, *more], [*bound, *more])


def as_user(user, groups=(), caps=(), bound=None):
    def words(names):
        return ",".join(["-all", *(f"+{c}" for c in names)])
    return ["setpriv", f"--reuid={user}", f"--regid={user}",
            f"--groups={','.join(map(str, groups))}" if groups else "--clear-groups", "--no-new-privs",
            f"--inh-caps={words(caps)}", f"--ambient-caps={words(caps)}",
            f"--bounding-set={words(caps if bound is None else bound)}"]


def drop_in(name):
    """The capabilities that a drop-in of install/ adds."""
    text = (ROOT / "install" / name).read_text()
    return [c.removeprefix("CAP_").lower() for c in re.search(r"^AmbientCapabilities=(.*)$", text, re.M)[1].split()]


def may_lock_memory():
    """LimitMEMLOCK=infinity; where this machine may not raise it, the capability serves as well."""
    p = subprocess.run(["prlimit", "--memlock=unlimited", "true"], check=False, stderr=subprocess.DEVNULL)
    return ([], ["prlimit", "--memlock=unlimited"]) if p.returncode == 0 else (["ipc_lock"], [])


class Notified:
    """The service manager's end of NOTIFY_SOCKET."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        os.chmod(path, 0o666)
        self.socket.setblocking(False)
        self.heard = []

    def take(self):
        """New output since the last call."""
        new = []
        with contextlib.suppress(BlockingIOError):
            while True:
                new.append(self.socket.recv(4096).decode())
        self.heard += new
        return new

    def has(self, what):
        self.take()
        return any(what in h.split("\n") for h in self.heard)

    def close(self):
        self.socket.close()


class Service(Gateway):
    """Both planes, each by itself, as the units start them, in directories as tmpfiles.d makes them."""

    def __init__(self, lab, config, watchdog_s=None, more=()):
        self.top = Path(tempfile.mkdtemp(prefix="bp-service-", dir="/run"))
        self.top.chmod(0o755)
        super().__init__(lab, self.top, config)
        self.dir.chmod(0o755)
        self.biplane = self.top / Path(BIPLANE).name  # where every user may run it
        for program in (BIPLANE, f"{BIPLANE}d"):
            shutil.copy(program, self.top)
            (self.top / Path(program).name).chmod(0o755)
        self.run_dir, self.lib = self.top / "run", self.top / "lib"
        self.config["runtime"] = {"directory": str(self.run_dir)}
        if "spool" in self.config.get("mqtt", {}):
            self.config["mqtt"]["spool"]["path"] = str(self.lib / "spool.db")
        self.made, self.found = [], []
        self.make_directories()
        self.watchdog_s = watchdog_s
        self.more = list(more)  # capabilities of the data plane
        self.manager = {p: Notified(self.top / f"{p}.notify") for p in PLANES}
        self.planes = {}

    def make_directories(self):
        """Creates the directories of tmpfiles.conf and the unit's StateDirectory."""
        text = (ROOT / "install" / "tmpfiles.conf").read_text()
        rows = [line.split()[1:5] for line in text.splitlines() if line.startswith("d ")]
        assert len(rows) == 5, rows
        for path, mode, user, group in rows:
            if path.startswith("/dev/hugepages"):
                if not os.path.ismount("/dev/hugepages"):
                    continue
                where = Path(path)
                if where.exists():  # an installed package's, say
                    self.found.append((where, where.stat()))
                else:
                    self.made.append(where)
            else:
                where = self.run_dir / path.removeprefix("/run/biplane").lstrip("/")
            self.directory(where, mode, user, group)
        self.directory(self.lib, unit("controlplane")["StateDirectoryMode"], "biplane-control", "biplane-control")

    @staticmethod
    def directory(where, mode, user, group):
        where.mkdir(exist_ok=True)
        os.chown(where, NUMBER.get(user, 0), NUMBER.get(group, 0))
        where.chmod(int(mode, 8))

    def spawn(self, plane, **kw):
        env = {**os.environ, "NOTIFY_SOCKET": str(self.manager[plane].path)}
        env.pop("WATCHDOG_USEC", None)
        if self.watchdog_s:
            env["WATCHDOG_USEC"] = str(int(self.watchdog_s * 1e6))
        more, limit = may_lock_memory() if plane == "dataplane" else ([], [])
        more = [*more, *(self.more if plane == "dataplane" else [])]
        with (self.top / f"{plane}.log").open("ab") as log:
            st = os.fstat(log.fileno())
            env["JOURNAL_STREAM"] = f"{st.st_dev}:{st.st_ino}"
            self.planes[plane] = self.lab.popen(
                self.ns, *limit, *as_unit(plane, more=more, **kw), self.biplane, plane, "-c", self.file, env=env, stdout=log,
                stderr=log, stdin=subprocess.DEVNULL, cwd="/")
        return self.planes[plane]

    def text(self, plane):
        log = self.top / f"{plane}.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def ready(self, plane, seconds=60):
        def said():
            p = self.planes[plane]
            assert p.poll() is None, f"{plane} ended with {p.returncode}: {self.text(plane)[-2000:]}"
            return self.manager[plane].has("READY=1")
        wait_until(f"READY=1 of the {plane}", said, seconds)

    def start(self, *args, edge=True):
        self.write()
        self.file.chmod(0o644)
        self.identity.write_text(self.file.read_text())
        self.identity.chmod(0o644)
        for plane in PLANES:
            self.spawn(plane)
            self.ready(plane)
        self.segment = self.status()["segment"]["path"]
        if edge and "publisher" in self.config.get("mqtt", {}):
            wait_until("the edge broker", lambda: self.status()["publisher"]["connected"])
        return self

    def as_other(self, user, groups, *args):
        """A command as a user without any capability."""
        return subprocess.run([*as_user(user, groups), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=60, stdin=subprocess.DEVNULL, cwd="/")

    def end(self, plane, seconds=60):
        p = self.planes.pop(plane)
        p.send_signal(signal.SIGTERM)
        return p.wait(seconds)

    def stop(self, seconds=120):
        for plane in list(self.planes):
            p = self.planes[plane]
            if p.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    p.send_signal(signal.SIGCONT)
                self.end(plane)
        for m in self.manager.values():
            m.close()
        if self.segment:
            remove_segment(self.segment)
        for where, st in self.found:
            os.chown(where, st.st_uid, st.st_gid)
            where.chmod(st.st_mode & 0o7777)
        for where in self.made:
            with contextlib.suppress(OSError):
                where.rmdir()
        shutil.rmtree(self.top, ignore_errors=True)

    def dump(self, lines=60):
        for plane in PLANES:
            print(f"\n----- the end of {plane}'s log\n{self.text(plane)[-4000:]}\n----- heard: {self.manager[plane].heard}")
