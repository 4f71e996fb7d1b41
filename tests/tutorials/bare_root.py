#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tutorials as a reader does, from the first command on: each in a root that has only the minimal packages of Debian 12 and a clone
of the repository. "without-package" is the section of that name of docs/howto/install.md, "quickstart" is `scripts/quickstart --all`. It must run as root, and
needs the network.

  bare_root.py [--ccache DIR] [--keep] [PAGE...]

Commands that install and build use the network and the time of this machine; pages that begin with the same ones share their result.
All other commands of a page run in a network namespace and a copy of that root, of which nothing remains.

  --ccache DIR  builds use this compiler cache; without it they compile all files
  --keep        use what was installed and built last time, with the clone of then

Roots and logs are in build-tutorials/. The last line is "N passed, N failed"."""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import tutorial  # noqa: E402

TOP = ROOT / "build-tutorials"
BASE = TOP / "base"
CLONE = "/root/biplane"
RELEASE = "bookworm"
INSTALL_PAGE = ROOT / "docs" / "howto" / "install.md"
WITHOUT_PACKAGE = "without-package"
QUICKSTART = "quickstart"
INSTALLED = re.compile(r"`biplane` \(\[install\]")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")  # of this machine, for its package index of Python
# What the installer of Debian writes, and what an administrator answers.
ANSWERS = """
printf '127.0.0.1\\tlocalhost\\n::1\\tlocalhost ip6-localhost ip6-loopback\\n' >/etc/hosts
echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/90answers
printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d   # there is no init
chmod 755 /usr/sbin/policy-rc.d
"""
ENTER = """
root=$1 ccache=$2
shift 2
ip link set lo up 2>/dev/null || true
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /dev "$root/dev"
! mountpoint -q "$root/dev/hugepages" || umount -l "$root/dev/hugepages"
mount -t tmpfs tmpfs "$root/run"
mkdir "$root/run/lock"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
[ -z "$ccache" ] || mount --bind "$ccache" "$root/var/cache/ccache"
exec env -i PATH=${ccache:+/usr/lib/ccache:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \\
	TERM=dumb DEBIAN_FRONTEND=noninteractive PIP_CERT=/etc/pip.crt CCACHE_DIR=/var/cache/ccache CCACHE_COMPILERCHECK=content \\
	CCACHE_NOHASHDIR=1 chroot "$root" "$@"
"""
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


def entering(root, ccache, *command, more=()):
    return [*NAMESPACES, *more, "sh", "-ec", ENTER, "sh", str(root), ccache, *command]


def logged(argv, log, **kw):
    with log.open("wb") as f:
        p = subprocess.run(argv, stdout=f, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False, **kw)
    if p.returncode != 0:
        raise AssertionError("\n".join([f"{log} ends with:", *log.read_text(errors="replace").splitlines()[-30:]]))


def sources():
    """The lines of sources.list of this machine that are Debian's own."""
    lines = subprocess.run(["apt-get", "indextargets", "--format", "deb $(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"],
                           stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return [x for x in sorted(set(lines)) if re.search(rf" {RELEASE}(-updates|-security)? main$", x)] or [
        f"deb http://deb.debian.org/debian {RELEASE} main"]


def clone(into):
    """The tracked files, and new ones that are not ignored."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    there = b"\0".join(n for n in names.split(b"\0") if n and os.path.lexists(ROOT / os.fsdecode(n)))
    into.mkdir(parents=True)
    tar = subprocess.run(["tar", "-c", "--null", "--no-recursion", "-T", "-"], cwd=ROOT, input=there, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "--no-same-owner", "-C", into], input=tar, check=True)


def make_base(ccache):
    if BASE.exists():
        return
    say("making the bare root")
    new = TOP / "base.new"
    subprocess.run(["rm", "-rf", "--one-file-system", new], check=True)
    packages = ["--include=ccache"] if ccache else []
    (TOP / "sources.list").write_text("\n".join(sources()) + "\n")
    logged(["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", *packages, "--skip=cleanup/apt/lists", "--aptopt=APT::Install-Recommends \"false\"",
            "--aptopt=Acquire::Check-Valid-Until \"false\"", "--dpkgopt=force-unsafe-io", RELEASE, new, TOP / "sources.list"], TOP / "base.log")
    (new / "etc/apt/apt.conf.d/99mmdebstrap").unlink(missing_ok=True)
    for file, target in (("/etc/resolv.conf", "etc/resolv.conf"), ("/etc/pip.conf", "etc/pip.conf"), (CERTIFICATES, "etc/pip.crt")):
        if Path(file).exists():
            shutil.copy(file, new / target)
    if ccache:
        (new / "var/cache/ccache").mkdir(exist_ok=True)
    subprocess.run(["chroot", new, "sh", "-ec", ANSWERS], check=True)
    clone(new / CLONE[1:])
    new.rename(BASE)


def mounted(below, name):
    """A root with these layers below, the last one on top, and a new one for what is written. Returns (root, the new layer)."""
    top = TOP / name
    subprocess.run(["rm", "-rf", "--one-file-system", top], check=True)
    for d in ("upper", "work", "root"):
        (top / d).mkdir(parents=True)
    lower = ":".join(str(p) for p in reversed(below))
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={lower},upperdir={top}/upper,workdir={top}/work", top / "root"], check=True)
    return top / "root", top / "upper"


class Layers:
    """Results of the commands that install and build."""

    def __init__(self, ccache):
        self.ccache = ccache

    def after(self, commands):
        """The layers with the results of these commands, one after the other."""
        below = [BASE]
        for i, command in enumerate(commands):
            name = "layer-" + hashlib.sha256("\n".join(commands[:i + 1]).encode()).hexdigest()[:12]
            done = TOP / name / "done"
            if not done.exists():
                say(f"running: {command}")
                root, _ = mounted(below, name)
                began = time.monotonic()
                try:
                    logged(entering(root, self.ccache, "bash", "-ec", f"cd {CLONE}\n{command}"), TOP / f"{name}.log")
                finally:
                    subprocess.run(["umount", "-l", root], check=True)
                say(f"took {time.monotonic() - began:.0f} s")
                done.touch()
            below.append(TOP / name / "upper")
        return below


def sh_lines(text):
    """Commands of a block; a comment at their end is none of theirs."""
    return [re.sub(r"\s+# .*", "", line) for line in text.splitlines()]


def install_block(section):
    """Commands of the first block of a section of docs/howto/install.md."""
    text = INSTALL_PAGE.read_text(encoding="utf-8").partition(f"## {section}\n")[2]
    return sh_lines(re.search(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1])


def prepares(page):
    """Commands of the page that install and build, and whether it needs the clone afterwards."""
    text = page.read_text(encoding="utf-8")
    own = [line for kind, block, _ in tutorial.blocks(page) if kind == "sh" for line in block.splitlines() if tutorial.PREPARES.match(line)]
    if not INSTALLED.search(text):
        return own, True
    return install_block("Package") + own, False


def run(name, layers):
    if name == WITHOUT_PACKAGE:
        # the root has no systemd that could read the units
        layers.after([c for c in install_block("Without a package") if not c.startswith("systemd-")] + ["biplane version"])
        return
    if name == QUICKSTART:
        # no network: it fails if it installs more than that
        root, _ = mounted(layers.after(["scripts/setup --lab"]), name)
        try:
            logged(entering(root, layers.ccache, "bash", "-ec", f"cd {CLONE}\nscripts/quickstart --all", more=["--net"]), TOP / f"{name}.log")
        finally:
            subprocess.run(["umount", "-l", root], check=True)
            subprocess.run(["rm", "-rf", "--one-file-system", TOP / name], check=True)
        return
    commands, in_clone = prepares(tutorial.TUTORIALS / f"{name}.md")
    root, _ = mounted(layers.after(commands), f"page-{name}")
    block = root / "block"
    try:
        folder = TOP / "logs" / name
        folder.mkdir(parents=True, exist_ok=True)
        shell = tutorial.Shell(entering(root, "", "bash", more=["--net"]), folder, block, "/block")
        try:
            shell.run(f"cd {CLONE if in_clone else '/root'}")
            tutorial.run_page(shell, name)
        finally:
            shell.close()
    finally:
        subprocess.run(["umount", "-l", root], check=True)
        subprocess.run(["rm", "-rf", "--one-file-system", TOP / f"page-{name}"], check=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ccache", default="")
    p.add_argument("--keep", action="store_true")
    p.add_argument("pages", nargs="*", metavar="PAGE")
    o, everything = p.parse_args(), [*tutorial.PAGES, WITHOUT_PACKAGE, QUICKSTART]
    for page in o.pages:
        if page not in everything:
            p.error(f"no page '{page}', one of: {', '.join(everything)}")
    if os.geteuid() != 0:
        p.error("must be root, to make roots and network namespaces")
    if "BP_TUTORIALS" not in os.environ:  # all mounts go with a mount namespace
        os.environ["BP_TUTORIALS"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    if TOP.exists() and not o.keep:
        subprocess.run(["rm", "-rf", "--one-file-system", TOP], check=True)
    TOP.mkdir(exist_ok=True)
    make_base(o.ccache)
    layers, failed, pages = Layers(o.ccache), 0, o.pages or everything
    for name in pages:
        try:
            run(name, layers)
            say(f"{name}: passed")
        except (AssertionError, subprocess.CalledProcessError) as e:
            failed += 1
            say(f"{name}: FAILED: {e}")
    print(f"{len(pages) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
