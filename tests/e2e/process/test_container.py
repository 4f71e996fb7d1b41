# SPDX-License-Identifier: BSD-3-Clause
"""docs/examples/container: biplane as its image runs it, without the rights of root and with a read-only root; and what
Kubernetes has to say of the manifest."""

import json
import os
import re
import shlex
import shutil
import subprocess

import kubernetes_validate
import pytest
import yaml

from frames import BROADCAST, LOCAL_ETHERTYPE, Wire, ethernet
from lab import BIPLANE, LAB_NAME, ROOT, wait_until
from service import may_lock_memory

EXAMPLES = ROOT / "docs" / "examples" / "container"
TEXT = (EXAMPLES / "Containerfile").read_text()
FILE = "/etc/biplane/biplane.yaml"
# The root of the built image, or that of this machine with this biplane.
IMAGE = os.environ.get("BP_IMAGE_ROOT", "/")
PROGRAM = "biplane" if IMAGE != "/" else "/etc/biplane/biplane"


def instruction(name):
    """The last one of this name, with its continued lines."""
    return re.findall(rf"^{name} ((?:.*\\\n)*.*)$", TEXT, re.M)[-1]


USER = int(instruction("USER").split(":")[0])


class Container:
    """The image's command in a root that is read-only in its mount namespace, with /run/biplane, /var/lib/biplane and
    /etc/biplane of its own."""

    def __init__(self, directory, config, caps=()):
        self.dir = directory
        for d in ("run", "state", "etc"):
            (directory / d).mkdir()
        for d in ("run", "state"):
            shutil.chown(directory / d, USER, USER)
        if IMAGE == "/":
            for program in (BIPLANE, f"{BIPLANE}d"):
                shutil.copy(program, directory / "etc")
        (directory / "etc" / "biplane.yaml").write_text(json.dumps(config))
        more, self.limit = may_lock_memory()
        words = ",".join(["-all", *(f"+{c}" for c in (*caps, *more))])
        self.privileges = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs", f"--inh-caps={words}",
                           f"--ambient-caps={words}", f"--bounding-set={words}"]
        self.process, self.log = None, directory / "log"

    def argv(self, *command):
        mounts = "\n".join((
            "set -e", f"mount --bind {shlex.quote(IMAGE)} /mnt", "mkdir -p /mnt/run/biplane /mnt/var/lib/biplane /mnt/etc/biplane",
            *(f"mount --rbind {d} /mnt{d}" for d in ("/dev", "/proc", "/sys", "/tmp")),
            *(f"mount --bind {shlex.quote(str(self.dir / a))} /mnt{b}" for a, b in (
                ("run", "/run/biplane"), ("state", "/var/lib/biplane"), ("etc", "/etc/biplane"))),
            "mount -o remount,ro,bind /mnt",
            'exec chroot /mnt "$@"'))
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", mounts, "sh", *self.limit, *self.privileges,
                PROGRAM, *command]

    def start(self):
        command = json.loads(instruction("CMD"))
        assert command == ["run", "-c", FILE] and json.loads(instruction("ENTRYPOINT")) == ["biplane"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(self.argv(*command), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def health(self):
        """The exit status of HEALTHCHECK."""
        command = json.loads(re.search(r"CMD (\[.*)$", instruction("HEALTHCHECK"), re.S)[1])
        assert command[0] == "biplane"
        return subprocess.run(self.argv(*command[1:]), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60).returncode

    def status_of(self, name):
        pids = [self.process.pid]
        text = subprocess.run(["pgrep", "-P", str(self.process.pid)], stdout=subprocess.PIPE, text=True, check=False).stdout
        pids += map(int, text.split())
        found = []
        for pid in pids:
            with open(f"/proc/{pid}/status") as f:
                found.append(dict(x.split(":\t", 1) for x in f.read().splitlines())[name].split())
        return found

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)


def config(*devices):
    return {"version": 1, "name": f"lab-{LAB_NAME}-container", "workers": 1, "poll_mode": "adaptive",
            "runtime": {"hugepages": "never", "memory": "256MiB"},
            "ports": [{"name": f"p{i}", "device": d} for i, d in enumerate(devices)],
            "bridges": [{"name": "line", "ports": ["p0", "p1"]}],
            "monitoring": {"listen": "unix:/run/biplane/http"}}


@pytest.mark.parametrize(("devices", "caps"), ((("net_null0", "net_null1"), ()),
                                               (("net_af_packet0,iface=devices", "net_af_packet1,iface=cloud"), ("net_raw", "net_admin")),
                                               (("net_af_xdp0,iface=devices", "net_af_xdp1,iface=cloud"),
                                                ("net_raw", "net_admin", "sys_admin"))))
def test_unprivileged_with_a_read_only_root(lab, tmp_path, devices, caps):
    """As with NICs under vfio-pci, no capability at all; with AF_PACKET and AF_XDP, those of the page. Frames pass."""
    box = Container(tmp_path, config(*devices), caps)
    with lab.inside("gw"):
        box.start()
    try:
        try:
            wait_until("the health check to pass", lambda: box.process.poll() is not None or box.health() == 0, 60, 0.2)
        finally:
            text = box.log.read_text()
        assert box.process.poll() is None, text
        for uid, bound, new in zip(*(box.status_of(n) for n in ("Uid", "CapBnd", "NoNewPrivs")), strict=True):
            assert uid == [str(USER)] * 4 and new == ["1"]
            assert int(bound[0], 16) & ~(1 << 14) == sum(1 << {"net_admin": 12, "net_raw": 13, "sys_admin": 21}[c] for c in caps)
        if caps:
            dev, cloud = Wire(lab, "dev"), Wire(lab, "cloud")
            try:
                frame = ethernet(BROADCAST, "02:77:00:00:00:0b", LOCAL_ETHERTYPE, b"through the container")
                dev.send(frame)
                cloud.listen(frame)
            finally:
                dev.close()
                cloud.close()
    finally:
        status = box.stop()
    assert status == 0, box.log.read_text()
    assert box.health() == 69


def test_the_manifest_is_valid():
    documents = list(yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text()))
    for d in documents:
        kubernetes_validate.validate(d, kubernetes_validate.latest_version(), strict=True)
    config_map, daemon_set = documents
    pod = daemon_set["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsUser"] == USER
    assert pod["containers"][0]["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                                       "capabilities": {"drop": ["ALL"]}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**daemon_set, "spec": {**daemon_set["spec"], "template": 1}}, kubernetes_validate.latest_version(), strict=True)


def test_the_configuration_of_the_manifest(tmp_path):
    """As its command writes it, with the variable of the device plugin."""
    config_map, daemon_set = yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text())
    (tmp_path / "in.yaml").write_text(config_map["data"]["biplane.yaml"])
    script = daemon_set["spec"]["template"]["spec"]["containers"][0]["args"][0]
    script = script.replace("/etc/biplane/biplane.yaml", str(tmp_path / "in.yaml")).replace("/run/biplane/", f"{tmp_path}/")
    script, n = re.subn(r"exec biplane run -c (\S+)", rf"exec {BIPLANE} config check -c \1", script)
    assert n == 1
    p = subprocess.run(["sh", "-ec", script], env={"PATH": "/usr/bin:/bin", "PCIDEVICE_EXAMPLE_COM_PLANT": "0000:03:02.0,0000:03:02.1"},
                       capture_output=True, text=True, check=False)
    assert p.returncode == 0, p.stdout + p.stderr
    assert '"0000:03:02.1"' in (tmp_path / "biplane.yaml").read_text()
