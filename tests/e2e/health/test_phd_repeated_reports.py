# SPDX-License-Identifier: BSD-3-Clause
"""A device on TCP loses its association before the answer, associates again, and repeats its report. The CSE, which did
not answer, has stored it already: it receives the same requests again. A report after the answer is another
measurement, even with the same bytes."""

import itertools
import socket

import pytest

from lab import wait_until
from router_lab import only_biplane, own
from test_phd_hostile_cse import cse, router  # noqa: F401  fixtures
from test_phd_slow_path import accepted, asked, fixed_report

pytestmark = only_biplane
_ids = itertools.count(1)


class Device:
    """An oximeter that numbers its reports again in each association, and has no clock."""

    def __init__(self, lab):
        self.lab, self.name, self.sockets = lab, f"0022092258af{next(_ids):04x}", []
        self.associate()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for s in self.sockets:
            s.close()

    def connect(self):
        with self.lab.inside("left"):
            s = socket.create_connection((own("left"), 6024), timeout=30)
        self.sockets.append(s)

    def associate(self):
        """By a new connection."""
        self.connect()
        aarq = bytes.fromhex("e2000032800000000001002a507900268000000080008000000000000000008000000008" +
                             self.name + "01900001010000000000")
        self.sockets[-1].sendall(aarq)
        assert self.sockets[-1].recv(2048)[:6] == bytes.fromhex("e300002c0000")

    def send(self, values):
        self.sockets[-1].sendall(fixed_report(1, 0, values))

    def measure(self, values):
        """Repeats it until it is answered well."""
        assert asked(self.sockets[-1], fixed_report(1, 0, values)) == accepted(1)

    def names(self, cse):
        return {n for n in cse.stored if self.name in n[0]}


def unanswered(cse, device, values):
    """The device reports, and the CSE has it and does not say so. The names of the instances."""
    cse.lied_to.clear()
    cse.lie = lambda request: []
    device.send(values)

    def names():
        return {(m.path(), m.json()["m2m:cin"]["rn"]) for m, _ in cse.lied_to}
    wait_until("the CSE to have all of it", lambda: len(names()) == len(values))
    return names()


def killed(router, device):
    router.kill_plane("control plane")


def killed_twice(router, device):
    router.kill_plane("control plane")
    device.associate()
    router.kill_plane("control plane")


def closed(router, device):
    device.sockets[-1].close()


def aborted(router, device):
    device.sockets[-1].sendall(bytes.fromhex("e60000020000"))


def unnoticed(router, device):
    """The old connection stays, as where a network is gone."""


@pytest.mark.parametrize("how", (killed, killed_twice, closed, aborted, unnoticed))
def test_repeated_in_the_next_association(routed_lab, router, cse, how):  # noqa: F811
    with Device(routed_lab) as device:
        device.measure([710, 610])
        before = device.names(cse)
        assert len(before) == 2
        names = unanswered(cse, device, [720, 620])
        assert not names & before
        how(router, device)
        device.associate()
        cse.lie = None
        device.measure([720, 620])
        assert device.names(cse) == before | names
        # later reports have names of their own
        device.measure([730, 630])
        assert len(device.names(cse)) == 6


@pytest.mark.parametrize("how", (killed, closed, aborted, unnoticed))
def test_equal_measurements(routed_lab, router, cse, how):  # noqa: F811
    """The same bytes in two associations: the first ones were answered."""
    with Device(routed_lab) as device:
        device.measure([710, 610])
        how(router, device)
        device.associate()
        device.measure([710, 610])
        assert len(device.names(cse)) == 4


def test_not_repeated(routed_lab, router, cse):  # noqa: F811
    """It reports something else in the next association, and in the one after that it has equal bytes again."""
    with Device(routed_lab) as device:
        device.measure([710, 610])
        unanswered(cse, device, [720, 620])
        killed(router, device)
        device.associate()
        cse.lie = None
        device.measure([730, 630])
        closed(router, device)
        device.associate()
        device.measure([720, 620])
        names = device.names(cse)
        assert len({rn[:-2] for _, rn in names}) == 3, names  # reports: the part is the name's end
