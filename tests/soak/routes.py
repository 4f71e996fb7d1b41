# SPDX-License-Identifier: BSD-3-Clause
"""The soak test of scripts/soak; see there."""

import argparse
import signal
import statistics
import sys
import tempfile
import time

import own_copy  # noqa: F401, I001: before churn, which reads the environment
from churn import Field, kill_control_plane
from router_lab import RIGHT, ROUTER, RoutedLab, make_router

# Size of each port's ring: packets that arrive while the worker is descheduled, for a second or more, are not lost
# before the router.
FRAMES = 32768


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


def positive(text):
    n = int(text)
    if n < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return n


def options():
    p = argparse.ArgumentParser(prog="scripts/soak routes", add_help=False)
    for name, value in (("kills", 200), ("changes", 5000), ("packets", 20000), ("routes", 100000), ("data-plane", 10),
                        ("seed", int(time.time()))):
        p.add_argument(f"--{name}", type=positive, default=value)
    p.add_argument("--patience", type=float, default=2.0)
    return p.parse_args()


def more_routes(n):
    """Prefixes that nothing else here uses, all of 70.0.0.0/7."""
    return (f"route add {70 + (i >> 18)}.{i >> 10 & 255}.{i >> 2 & 255}.{(i & 3) << 6}/26 via {RIGHT}" for i in range(n))


def soak(lab, router, o):
    lab.batch("gw", more_routes(o.routes))
    router.settled(60)
    say(f"{o.routes} routes are there; seed {o.seed}")

    def progress(n, took):
        if n % 10 == 0 or n == o.kills:
            say(f"{n} of {o.kills} kills, {field.churn.made} changes; tables equal after {statistics.median(took):.2f} s "
                f"in the median, {max(took):.2f} s at most")
    with Field(lab, o.changes, o.packets, o.seed) as field:
        field.begin(router)
        began = time.monotonic()
        if router.kind == "biplane":
            kill_control_plane(router, field, o.kills, progress, o.patience)
        else:
            time.sleep(10)
        seconds = time.monotonic() - began
        sent, made = field.finish()
    say(f"control plane: {sent} packets, none lost, doubled or misled; {made / seconds:.0f} changes a second")
    for i in range(o.data_plane if router.kind == "biplane" else 0):
        router.kill_plane("data plane")
        began = time.monotonic()
        while not lab.pings("left", RIGHT, check=False, count=1):
            assert time.monotonic() - began < 10, "forwarding did not come back"
        router.settled(30)
        say(f"data plane: kill {i + 1} of {o.data_plane}")
    router.balanced()


def main():
    o = options()
    signal.signal(signal.SIGTERM, lambda *a: sys.exit(130))
    signal.signal(signal.SIGHUP, lambda *a: sys.exit(130))
    lab, router, done = RoutedLab(), None, False
    with tempfile.TemporaryDirectory(prefix="biplane-soak-") as directory:
        try:
            lab.up("--no-brokers")
            router = make_router(lab, directory, frames=FRAMES)
            router.start()
            say(f"the router is {ROUTER}")
            soak(lab, router, o)
            done = True
        except AssertionError as e:
            say(f"FAILED: {e}")
            router.dump()
        except KeyboardInterrupt:
            say("interrupted")
        finally:
            try:
                if router:
                    router.stop()
            finally:
                lab.down()
    say("passed" if done else "not passed")
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
