# SPDX-License-Identifier: BSD-3-Clause
"""scripts/bench leaves nothing behind when it is interrupted, or killed and run again.

Each run is in namespaces of its own (mounts, processes, network), where no one else makes anything: all that is there
afterwards and was not before is its own. This file is also the program that begins those namespaces.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PLACES = ("/tmp", "/run", "/dev/shm")
ELSEWHERE = Path("/mnt")  # where the source tree is visible if it is below one of these directories
HUGEPAGES = "/dev/hugepages"
# A case, and the program that runs in its middle
CASES = [("bridge", "dpdk-testpmd"), ("lcl-hops", "lcl_hops"), ("alarm-paper", "alarm_latency"), ("peers", "alarm_load"),
         ("ndr", "packet_load"), ("phd-associations", "biplane-cse-sink")]
KILLED = [("transform-sockets", "biplaned")]


# ---------------------------------------------------------------- in the namespaces


def processes():
    """{number: name} of all but this one and what has ended."""
    found = {}
    for d in Path("/proc").glob("[0-9]*"):
        try:
            name, state = (d / "stat").read_text(encoding="utf-8").split("(", 1)[1].rsplit(")", 1)
        except (OSError, IndexError):
            continue
        if int(d.name) != os.getpid() and state.split()[0] != "Z":
            found[int(d.name)] = name
    return found


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout.splitlines()


def what_is_there():
    """All that a run could leave, a line each."""
    lines = [f"process {pid} {name}" for pid, name in processes().items()]
    lines += [f"namespace {line}" for line in said("ip", "netns")]
    lines += [f"interface {line.split()[1]}" for line in said("ip", "-o", "link")]
    lines += [f"mount {line}" for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    lines += [f"setting {line}" for line in said("sysctl", "-a", "--pattern", r"^net\.")]
    for place in (*PLACES, HUGEPAGES):
        lines += [f"file {p}" for p in Path(place).rglob("*")]
    return set(lines)


def mount(kind, place):
    Path(place).mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", kind, kind, place], check=True)


def hidden(path):
    """Whether it is not to be seen once the places are new ones."""
    return any(Path(place) in path.parents for place in PLACES)


def not_ignored():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as it is where this runs in the background


def begin(build, case, told=2):
    """build: a folder of the source tree, relative to it; told: the file for its output."""
    tree = ELSEWHERE if hidden(ROOT) else ROOT
    return subprocess.Popen([tree / "scripts" / "bench", "--quick", "--build", tree / build, case], stdin=subprocess.DEVNULL, stdout=told, stderr=told,
                            start_new_session=True, preexec_fn=not_ignored)


def in_the_middle(bench, program):
    while program[:15] not in processes().values():  # the kernel reports no more
        if bench.poll() is not None:
            sys.exit(f"scripts/bench ended with {bench.returncode} before {program} ran")
        time.sleep(0.02)
    # as of several processes at a time, which the case fleet has
    Path(f"/run/dpdk/bench-{bench.pid}-1").mkdir()
    Path(f"{HUGEPAGES}/bench-{bench.pid}-1map_0").touch()


def reap():
    """Reaps orphaned processes: this is the first process of the namespace."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def interrupted(how, build, case, program):
    bench = begin(build, case)
    in_the_middle(bench, program)
    if how == signal.SIGINT:
        os.killpg(bench.pid, how)  # as a terminal does
    else:
        bench.send_signal(how)
    if bench.wait() != 128 + how:
        sys.exit(f"scripts/bench ended with {bench.returncode}; expected {128 + how}")


def unread(how, build, case, program):
    """Its reader leaves, as "head" does and a pager."""
    ours, its = os.pipe()
    bench = begin(build, case, its)
    os.close(its)
    in_the_middle(bench, program)
    os.close(ours)
    if bench.wait() != 128 + how:
        sys.exit(f"scripts/bench ended with {bench.returncode}; expected {128 + how}")


def killed(how, build, case, program):
    before = what_is_there()
    bench = begin(build, case)
    in_the_middle(bench, program)
    bench.send_signal(how)
    bench.wait()
    if not what_is_there() - before:
        sys.exit("nothing was left by the run that was killed: the next one has nothing to remove")
    interrupted(signal.SIGTERM, build, "nodes", "biplane-bench")


def in_namespaces(how, *run):
    # of other laboratories and unit tests: they come and go, and a mount goes in all namespaces when its directory is removed
    for m in (*Path("/run/netns").glob("*"), *Path("/run").glob("biplane-lab*/*/spool"), *Path("/dev/shm").glob("biplane-test-*/*")):
        subprocess.run(["umount", "--lazy", m], check=False)
    if hidden(ROOT):
        subprocess.run(["mount", "--bind", ROOT, ELSEWHERE], check=True)
    for place in PLACES:
        mount("tmpfs", place)
    mount("hugetlbfs", HUGEPAGES)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    Path("/run/netns").mkdir()
    subprocess.run(["mount", "--bind", "--make-shared", "/run/netns", "/run/netns"], check=True)  # as the first "ip netns" does
    Path("/run/dpdk").mkdir()  # which DPDK makes, and never removes
    before = what_is_there()
    {signal.SIGKILL: killed, signal.SIGPIPE: unread}.get(how, interrupted)(how, *run)
    reap()
    left = sorted(what_is_there() ^ before)
    if left:
        sys.exit("not as before:\n" + "\n".join(left))


# ---------------------------------------------------------------- the tests


@pytest.fixture(scope="module")
def build():
    from lab import BIPLANE

    there = Path(BIPLANE).resolve().parents[1]
    if os.geteuid() != 0:
        pytest.exit("the end-to-end tests make network namespaces: run them as root", 2)
    if not (there / "bench" / "biplane-bench").exists():
        pytest.exit(f"no bench/biplane-bench in {there}: build it, or set BIPLANE", 2)
    if hidden(there) and not there.is_relative_to(ROOT):
        pytest.exit(f"{there} is neither in {ROOT} nor outside of {', '.join(PLACES)}", 2)
    return there.relative_to(ROOT) if there.is_relative_to(ROOT) else there


def alone(run, *how):
    """This run with each of these signals, all at a time."""
    begun = [subprocess.Popen(["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc", sys.executable,
                               __file__, str(int(h)), *map(str, run)], stderr=subprocess.PIPE, text=True) for h in how]
    said_of = [p.communicate()[1] for p in begun]
    for h, p, text in zip(how, begun, said_of):
        assert p.returncode == 0, f"{h.name}:\n{text}"


@pytest.mark.parametrize("case,program", CASES, ids=lambda v: v)
def test_an_interrupted_run_leaves_nothing(build, case, program):
    alone((build, case, program), signal.SIGINT, signal.SIGTERM)


def test_run_with_a_closed_pipe_leaves_no_files(build):
    alone((build, *CASES[0]), signal.SIGPIPE)


@pytest.mark.parametrize("case,program", KILLED, ids=lambda v: v)
def test_next_run_removes_leftovers_of_a_killed_run(build, case, program):
    alone((build, case, program), signal.SIGKILL)


if __name__ == "__main__":
    in_namespaces(signal.Signals(int(sys.argv[1])), *sys.argv[2:])
