# SPDX-License-Identifier: BSD-3-Clause
"""Route changes at a given rate under numbered traffic, so that a packet that is lost, doubled or
sent where no table ever sent it is seen."""

import random
import subprocess
import threading
import time

from router_lab import FAR, FAR6, RIGHT, RIGHT6, family_of, takes, traffic

CHUNK = 0.05  # seconds' worth of changes given to one `ip -batch`
# Of each kind that has traffic. Few, so that a moment without a route, be it of 10 µs, meets a packet.
PREFIXES = 16


class Plan:
    """Prefixes that traffic goes to, where it may arrive, and the changes that are made.

    moving     each is replaced between right and edge: either may have its packets
    covered    longer prefixes come and go under one that leads the same way: only that way is right
    still      never changed
    others     come and go without traffic: volume
    """

    def __init__(self, seed=1):
        self.random = random.Random(seed)
        self.destinations, self.where = [], {}
        self.present = {}
        both = {"right", "edge"}
        for i in range(PREFIXES):
            self._destination(f"30.0.{i}.9", both)
            self._destination(f"40.0.{i}.9", {"right"})
            self._destination(f"41.0.{i}.9", {"edge"})
            self._destination(f"fd30:{i:x}::9", both)
            self._destination(f"fd40:{i:x}::9", {"right"})
        self._destination("42.0.0.9", {"right"})
        self._destination("43.0.0.9", {"edge"})

    def _destination(self, address, where):
        self.destinations.append(address)
        self.where[address] = where

    def begin(self):
        """The routes there are from the beginning."""
        yield from (f"route replace {p} via {g}" for p, g in (
            ("40.0.0.0/16", RIGHT), ("41.0.0.0/16", FAR), ("42.0.0.0/16", RIGHT), ("43.0.0.0/16", FAR)))
        yield from (f"-6 route replace {p} via {g}" for p, g in (("fd40::/16", RIGHT6),))
        yield from (f"route replace 30.0.{i}.0/24 via {(RIGHT, FAR)[i & 1]}" for i in range(PREFIXES))
        yield from (f"-6 route replace fd30:{i:x}::/32 via {(RIGHT6, FAR6)[i & 1]}" for i in range(PREFIXES))

    def change(self):
        kind, i = self.random.random(), self.random.randrange(PREFIXES)
        if kind < 0.35:
            return f"route replace 30.0.{i}.0/24 via {self.random.choice((RIGHT, FAR))}"
        if kind < 0.5:
            return self._toggle(f"40.0.{i}.0/{self.random.choice((24, 29, 32))}", RIGHT)
        if kind < 0.65:
            return self._toggle(f"41.0.{i}.0/{self.random.choice((24, 29, 32))}", FAR)
        if kind < 0.75:
            return f"-6 route replace fd30:{i:x}::/32 via {self.random.choice((RIGHT6, FAR6))}"
        if kind < 0.8:
            return self._toggle(f"fd40:{i:x}::/{self.random.choice((32, 48, 64))}", RIGHT6)
        return self._toggle(f"60.{self.random.randrange(64)}.{self.random.randrange(256)}.0/24", self.random.choice((RIGHT, FAR)))

    def _toggle(self, prefix, via):
        option = "-6 " if family_of(prefix) == 6 else ""
        if self.present.pop(prefix, None):
            return f"{option}route del {prefix}"
        self.present[prefix] = via
        return f"{option}route add {prefix} via {via}"

    def end(self):
        """Commands that remove all of it."""
        yield from (f"route flush root {p}.0.0.0/8" for p in (30, 40, 41, 42, 43, 60))
        yield from (f"-6 route flush root {p}::/16" for p in ("fd30", "fd40"))


class Churn:
    """Makes changes of a plan at `rate` a second in the gateway, until it is stopped."""

    def __init__(self, lab, plan, rate):
        self.lab, self.plan, self.rate, self.made = lab, plan, rate, 0
        self._stop, self._go, self._idle = threading.Event(), threading.Event(), threading.Event()
        self._error = None
        self._go.set()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _batch(self, lines):
        """By one `ip -batch` per address family, because ip takes no family option within a line of a batch."""
        for family in (4, 6):
            own = [x.removeprefix("-6 ") for x in lines if x.startswith("-6 ") == (family == 6)]
            if own:
                subprocess.run(self.lab.argv("gw", "ip", f"-{family}", "-batch", "-"), input="\n".join(own) + "\n", text=True,
                               check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)

    def _run(self):
        try:
            due = time.monotonic()
            while not self._stop.is_set():
                if not self._go.is_set():
                    self._idle.set()
                    self._go.wait()
                    due = time.monotonic()
                n = int(self.rate * CHUNK)
                self._batch([self.plan.change() for _ in range(n)])
                self.made += n
                due = max(due + CHUNK, time.monotonic() - 1)
                time.sleep(max(0, due - time.monotonic()))
        except subprocess.CalledProcessError as e:
            self._error = AssertionError(f"ip -batch: {e.stdout}")
        finally:
            self._idle.set()

    def pause(self):
        """Returns once the changes made are all in the kernel, and no more come until resume()."""
        self._idle.clear()
        self._go.clear()
        assert self._idle.wait(60), "the changes did not end"
        self.check()

    def resume(self):
        self._idle.clear()
        self._go.set()

    def stop(self):
        self._stop.set()
        self._go.set()
        self._thread.join(60)
        self.check()

    def check(self):
        if self._error:
            raise self._error


class Field:
    """Churn and traffic together; leaves the laboratory as it was."""

    def __init__(self, lab, changes=2000, packets=10000, seed=1):
        self.lab, self.plan = lab, Plan(seed)
        self.changes, self.packets = changes, packets

    def __enter__(self):
        for ns in ("right", "edge"):
            takes(self.lab, ns, "30.0.0.0/8", "40.0.0.0/8", "41.0.0.0/8", "42.0.0.0/8", "43.0.0.0/8", "fd30::/16", "fd40::/16")
        for a in (RIGHT, FAR, RIGHT6, FAR6):
            self.lab.pings("left", a, count=1)
        lines = list(self.plan.begin())
        self.lab.batch("gw", [x for x in lines if not x.startswith("-6")])
        self.lab.batch("gw", [x[3:] for x in lines if x.startswith("-6")], 6)
        return self

    def begin(self, router):
        router.settled()
        self._traffic = traffic(self.lab, "left", self.plan.destinations, ("right", "edge"), rate=self.packets)
        self.sent = self._traffic.__enter__()
        self.churn = Churn(self.lab, self.plan, self.changes)

    def finish(self):
        """Every packet arrived once, where a table sent it."""
        self.churn.stop()
        self.sent.finish()
        self.sent.check_places(lambda d: self.plan.where[d])
        self.sent.check_all_arrived()
        return self.sent.count_sent(), self.churn.made

    def __exit__(self, *error):
        try:
            if hasattr(self, "churn"):
                self.churn.stop()
        finally:
            if hasattr(self, "sent"):
                self.sent.kill()
            for x in self.plan.end():
                self.lab.ip("gw", *x.split(), check=False)


def kill_control_plane(router, field, times, progress=None, patience=2.0):
    """kill -9 at random moments while routes change; after each restart the tables equal the kernel's
    within `patience` seconds. Returns how long each took."""
    chance, took = random.Random(7), []
    for i in range(times):
        time.sleep(chance.uniform(0.05, 0.5))
        router.kill_plane("control plane")
        restarted = time.monotonic()
        time.sleep(chance.uniform(0, 0.3))  # changes continue while it reads the tables
        field.churn.pause()
        paused = time.monotonic()
        try:
            done = router.tables_equal(30)
        finally:
            field.churn.resume()
        took.append(done - paused)
        assert done - max(restarted, paused) <= patience, f"kill {i + 1}: the tables took {done - paused:.2f} s"
        if progress:
            progress(i + 1, took)
    return took
