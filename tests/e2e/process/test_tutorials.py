# SPDX-License-Identifier: BSD-3-Clause
"""The tutorials work as they are written, with the built biplane, each in namespaces of its own (network, mounts, processes).
tests/tutorials/bare_root.py also runs what they install and build."""

import shutil
from pathlib import Path

import pytest

from lab import BIPLANE, ROOT
from tutorial import PAGES, Shell, run_page

NAMESPACES = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
PRELUDE = """
ip link set lo up
mount -t tmpfs tmpfs /run && mkdir /run/netns /run/lock
[ ! -d /etc/frr ] || mount -t tmpfs tmpfs /etc/frr
[ ! -d /dev/hugepages ] || mount -t hugetlbfs hugetlbfs /dev/hugepages
unset BP_LAB
export PATH={path}:$PATH BIPLANE={biplane}
"""


@pytest.mark.parametrize("name", PAGES)
def test_tutorial_output_is_as_written(name, tmp_path, hugepages):
    for folder in ("scripts", "docs", "build-venv-cse"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    shell = Shell([*NAMESPACES, "bash"], tmp_path)
    try:
        shell.run(PRELUDE.format(path=Path(BIPLANE).resolve().parent, biplane=Path(BIPLANE).resolve()))
        run_page(shell, name, lambda commands: commands.replace("$PWD/build/apps:$PATH", "$PATH"))
    finally:
        shell.close()
        shutil.copy(shell.log, tmp_path / "log.txt")
    print(shell.output()[-3000:])
