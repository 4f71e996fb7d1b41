# SPDX-License-Identifier: BSD-3-Clause
"""Sampling on a veth link: the frames that an analyser at the mirror port receives."""

import os

from frames import BROADCAST, LOCAL_ETHERTYPE, Wire, ethernet
from lab import port_devices

A, B = "02:77:00:00:00:0a", "02:77:00:00:00:0b"
LAST = 0x88B6  # not sampled


def entry(one_in, name="local", **match):
    return {"name": name, "match": {"port": "devices", "ethertype": LOCAL_ETHERTYPE, **match}, "one_in": one_in, "mirror": "edge"}


def config(*entries):
    ports = port_devices("af_packet")
    ports[2]["routed"] = {"host_interface": {"backend": "off"}}
    return {"ports": ports, "bridges": [{"name": "bridge0", "ports": ["devices", "cloud"]}], "sampling": list(entries)}


class Ends:
    def __init__(self, lab):
        self.dev, self.cloud, self.edge = (Wire(lab, ns) for ns in ("dev", "cloud", "edge"))

    def pass_through(self, n):
        """n frames from the device to the cloud, none of which is lost; returns them."""
        sent = [ethernet(B, A, LOCAL_ETHERTYPE, os.urandom(50)) for _ in range(n)]
        last = ethernet(BROADCAST, A, LAST, os.urandom(50))
        for i in range(0, n, 50):
            self.dev.send(*sent[i:i + 50])
        self.dev.send(last)
        got = [f for f in self.cloud.listen(last) if f[12:14] == LOCAL_ETHERTYPE.to_bytes(2, "big")]
        assert got == sent
        return sent


def test_mirrors_one_in_ten_and_reloads(lab, gateway):
    g = gateway(config(entry(10)))
    ends = Ends(lab)
    sent = ends.pass_through(500)

    def view():
        return g.show("sampling")["entries"]

    assert view() == [{"name": "local", "port": "devices", "one_in": 10, "mirror": "edge", "matched": 500, "mirrored": 50, "not_mirrored": 0}]
    mark = ethernet(BROADCAST, A, LOCAL_ETHERTYPE, b"the last one".ljust(50))
    g.config["sampling"] = [entry(1)]
    done = g.reload(g.config)
    assert done.returncode == 0, done.stderr
    ends.dev.send(mark)
    got = ends.edge.listen(mark)
    assert len(got) == 50
    places = [sent.index(f) for f in got]  # each is one that was sent, to the last byte
    assert [p // 10 for p in places] == list(range(50)), "one of each ten, in order"
    assert len({p % 10 for p in places}) > 1, "not always the same one"
    assert view()[0]["matched"] == 1 and view()[0]["mirrored"] == 1
    drops = g.balanced()
    assert drops["originated"] == 51
    assert g.counter("sampling_matched") == 501
    assert "local" in g.command("show", "sampling", "-c", g.identity).stdout
    # the last entry goes with a restart only, and a bad file changes nothing
    g.config["sampling"] = []
    done = g.reload(g.config)
    assert done.returncode != 0 and "restart" in done.stderr, done.stderr
    g.config["sampling"] = [dict(entry(1), mirror="cloud")]
    done = g.reload(g.config)
    assert done.returncode != 0 and "is in a bridge" in done.stderr
    assert view()[0]["mirror"] == "edge"


def test_continues_when_either_plane_is_killed(lab, gateway):
    g = gateway(config(entry(2)))
    ends = Ends(lab)
    ends.pass_through(20)
    g.kill_plane("control plane")
    ends.pass_through(20)
    assert g.show("sampling")["entries"][0]["mirrored"] == 20, "the same entries go on with their figures"
    g.kill_plane("data plane")
    ends.pass_through(20)
    assert g.show("sampling")["entries"][0]["mirrored"] == 10
