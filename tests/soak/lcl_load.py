# SPDX-License-Identifier: BSD-3-Clause
"""Commands of the soak test that the gateways schedule by latency control labels (LCL): NEAR labels them, FAR removes the
labels. No delay is asserted: the processes of this machine share its cores."""

import contextlib
import socket
import struct
import threading
import time

from datagram_loads import Numbered
from lab import wait_until
from mqtt_loads import CLOUD
from relay_thread import RelayThread
from wan_lab import MAC, sensor

UDP, ETHERTYPE = 7000, 0x88B5
PORT = {"slot": "1ms", "queues": 16, "link_rate": "1Gbps", "best_effort_queue_len": 4096}
DROPS = ("lcl_slot_queues_full", "lcl_handover_full", "lcl_no_mbuf")
LOST = ("lcl_bad_truncated", "lcl_bad_version", "lcl_bad_hops", "lcl_bad_delay", "lcl_bad_nested", "lcl_untrusted", "lcl_lost_label",
        "lcl_terminated")
UNLABELED = ("lcl_unlabeled_mtu", "lcl_unlabeled_headroom", "lcl_unlabeled_no_mbuf")


def flow(name="commands", udp=UDP, id_=7):
    return {"name": name, "match": {"port": "devices", "destination": f"{CLOUD}/32", "udp_port": udp}, "latency_budget": "10ms",
            "hops": 2, "rate": "10Mbps", "burst": 20000, "max_frame_size": 200, "id": id_, "output_port": "wan"}


class LabelRelay(RelayThread):
    """The WAN's kernel routes packets, but not labels: this carries labeled frames from NEAR to FAR, and counts them."""

    def __init__(self, lab):
        super().__init__()
        with lab.inside("wan"):
            self.near = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
            self.far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.near.bind(("near", ETHERTYPE))
        self.far.bind(("far", 0))
        self.near.settimeout(0.2)
        self.addresses = b"".join(bytes.fromhex(MAC[m].replace(":", "")) for m in ("far", "far at wan"))
        self.carried, self.wrong, self.ended = 0, [], threading.Event()

    def turn(self):
        try:
            frame = self.near.recv(2048)
        except OSError:  # no frame, or the link is down
            return not self.ended.wait(0.01)
        version, hops, _, id_, _ = struct.unpack_from("!BBiHI", frame, 14)
        if (version, hops, id_) != (1, 1, 7):
            self.wrong.append(frame)
        with contextlib.suppress(OSError):  # FAR's link can be down
            self.far.send(self.addresses + frame[12:])
            self.carried += 1
        return not self.ended.is_set()

    def __exit__(self, *exc):
        self.ended.set()
        super().__exit__(*exc)

    def sockets(self):
        return self.near, self.far


class Commands(Numbered):
    """Between two faults in which datagrams can be lost, as many labels leave as were added."""
    name = "commands"

    def __init__(self, lab, pair, relay, senders=2, rate=50, first=150):
        self.pair, self.relay = pair, relay
        self.disturbed, self.before, self.checked = True, None, 0
        super().__init__(lab, [sensor(first + n, "routed") for n in range(senders)], (CLOUD, UDP), UDP, rate)

    @staticmethod
    def near_section():
        return {"ports": [{"port": "wan", "trust_labels": True, **PORT}], "flows": [flow()]}

    @staticmethod
    def far_section():
        return {"ports": [{"port": "wan", "trust_labels": True, **PORT}, {"port": "server", **PORT}]}

    def payload(self, n, number):
        return struct.pack(">IQ", n, number) + bytes(20)

    def numbers(self, payload):
        return struct.unpack_from(">IQ", payload)

    def before_fault(self):
        super().before_fault()
        self.disturbed = True

    def _sums(self):
        """Of labels: added, carried over the WAN, removed, dropped, lost. They grow for as long as anything is under way."""
        near, far = self.pair.near.counters(), self.pair.far.counters()
        return {"sent": sum(self.sent), "added": near["lcl_added"], "carried": self.relay.carried, "removed": far["lcl_removed"],
                "dropped near": sum(near[k] for k in DROPS), "dropped far": sum(far[k] for k in DROPS),
                "lost": sum(c[k] for c in (near, far) for k in LOST), "unlabeled": sum(near[k] for k in UNLABELED)}

    def _at_rest(self):
        """No frame is under way."""
        last = None
        while (now := self._sums()) != last:
            last = now
            time.sleep(0.2)
        return now

    def _grown(self):
        now = self._sums()
        return {k: now[k] - self.before[k] for k in now}

    @staticmethod
    def _balanced(d):
        return d["sent"] == d["added"] + d["unlabeled"] and d["added"] == d["carried"] + d["dropped near"] and (
            d["carried"] == d["removed"] + d["dropped far"] + d["lost"])

    def settle(self):
        sending = self._going.is_set()
        self.pause()
        super().settle()
        if not self.disturbed:
            try:
                wait_until("the labels to be removed", lambda: self._balanced(self._grown()), 20, 0.1)
            except AssertionError as e:
                raise AssertionError(f"{e}: {self._grown()}") from None
            self.checked += 1
        self.before, self.disturbed = self._at_rest(), False
        if sending:
            self.resume()

    def check(self):
        super().check()
        assert not self.relay.error, self.relay.error
        assert not self.relay.wrong, f"labels on the WAN: {[f.hex() for f in self.relay.wrong[:3]]}"

    def totals(self):
        return {**super().totals(), "labels_on_the_wan": self.relay.carried, "label_sums_checked": self.checked}
