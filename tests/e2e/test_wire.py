# SPDX-License-Identifier: BSD-3-Clause
"""A bridge of two ports is a wire: every frame arrives, unchanged, in order, in both directions."""

import os
import random

import pytest

from conftest import config_for
from frames import LOCAL_ETHERTYPE, Wire, ethernet, ip4, tcp
from lab import CLOUD, DEVICE, MAC, port_devices

THERE, BACK = (MAC["cloud"], MAC["dev"]), (MAC["dev"], MAC["cloud"])
# One MQTT PUBLISH, so that these reach inspection.
PUBLISH = b"\x30\x18\x00\x13plant/a/temperature99."


@pytest.fixture(params=("af_packet", "af_xdp"))
def driver(request):
    return request.param


def odd_frames(dst, src):
    rng = random.Random(2)
    eth = [dst, src]
    addresses = (DEVICE, CLOUD)

    def segment(**kw):
        return ip4(*addresses, 6, tcp(*addresses, 40000, 1883, PUBLISH, **kw))

    frames = {
        "smallest": ethernet(*eth, LOCAL_ETHERTYPE),
        "one_byte": ethernet(*eth, LOCAL_ETHERTYPE, b"x"),
        "runt": ethernet(*eth, LOCAL_ETHERTYPE, rng.randbytes(30)),
        "minimum": ethernet(*eth, LOCAL_ETHERTYPE, rng.randbytes(46)),
        "maximum": ethernet(*eth, LOCAL_ETHERTYPE, rng.randbytes(1500)),
        "maximum_vlan": ethernet(*eth, LOCAL_ETHERTYPE, rng.randbytes(1500), [(0x8100, 100)]),
        "length_field": ethernet(*eth, 3, b"\xaa\xaa\x03" + bytes(43)),
        "lldp": ethernet("01:80:c2:00:00:0e", src, 0x88CC, rng.randbytes(60)),
        "spanning_tree": ethernet("01:80:c2:00:00:00", src, 38, b"\x42\x42\x03" + bytes(35)),
        "pause": ethernet("01:80:c2:00:00:01", src, 0x8808, b"\0\x01\0\xff" + bytes(42)),
        "multicast": ethernet("01:00:5e:00:00:fb", src, 0x0800, rng.randbytes(64)),
        "broadcast": ethernet("ff:ff:ff:ff:ff:ff", src, LOCAL_ETHERTYPE, rng.randbytes(64)),
        "to_nobody": ethernet("02:99:99:99:99:99", src, LOCAL_ETHERTYPE, rng.randbytes(64)),
        "profinet": ethernet(*eth, 0x8892, rng.randbytes(60)),
        "mpls": ethernet(*eth, 0x8847, rng.randbytes(60)),
        "empty_ip4": ethernet(*eth, 0x0800),
        "empty_ip6": ethernet(*eth, 0x86DD, b"\x60"),
        "priority_tag": ethernet(*eth, LOCAL_ETHERTYPE, rng.randbytes(60), [(0x8100, 0xE000)]),
        "vlan_4095_dei": ethernet(*eth, LOCAL_ETHERTYPE, rng.randbytes(60), [(0x8100, 0x1FFF)]),
        # Shorter ones the kernel of the receiver gives to nobody.
        "vlan_almost_empty": ethernet(*eth, 0x8100, b"\0\x0a\x08\0\x45\0"),
        "vlan_in_vlan": ethernet(*eth, 0x0800, segment(), [(0x8100, 7), (0x8100, 20)]),
        "qinq": ethernet(*eth, 0x0800, segment(), [(0x88A8, 100), (0x8100, 20)]),
        "s_tag_alone": ethernet(*eth, LOCAL_ETHERTYPE, rng.randbytes(60), [(0x88A8, 100)]),
        "three_tags": ethernet(*eth, 0x0800, segment(), [(0x88A8, 1), (0x8100, 2), (0x8100, 3)]),
        "qinq_maximum": ethernet(*eth, LOCAL_ETHERTYPE, rng.randbytes(1492), [(0x88A8, 100), (0x8100, 20)]),
        "good_segment": ethernet(*eth, 0x0800, segment()),
        "bad_tcp_checksum": ethernet(*eth, 0x0800, segment(bad_sum=True)),
        "bad_ip_checksum": ethernet(*eth, 0x0800, ip4(*addresses, 6, tcp(*addresses, 40000, 1883, PUBLISH), bad_sum=True)),
        "bad_both_vlan": ethernet(*eth, 0x0800, ip4(*addresses, 6, tcp(*addresses, 4, 1883, PUBLISH, bad_sum=True),
                                                   bad_sum=True), [(0x8100, 5)]),
        "total_length_lies": ethernet(*eth, 0x0800, ip4(*addresses, 6, tcp(*addresses, 40000, 1883, PUBLISH), total=1500)),
        "total_length_short": ethernet(*eth, 0x0800, ip4(*addresses, 6, tcp(*addresses, 40000, 1883, PUBLISH), total=8)),
        "header_length_lies": ethernet(*eth, 0x0800, ip4(*addresses, 6, tcp(*addresses, 40000, 1883, PUBLISH), ihl=15)),
        "header_length_zero": ethernet(*eth, 0x0800, ip4(*addresses, 6, tcp(*addresses, 40000, 1883, PUBLISH), ihl=0)),
        "ip_options": ethernet(*eth, 0x0800, ip4(*addresses, 6, tcp(*addresses, 40000, 1883, PUBLISH), options=b"\x94\4\0\0")),
        "tcp_offset_lies": ethernet(*eth, 0x0800, segment(offset=15)),
        "tcp_offset_zero": ethernet(*eth, 0x0800, segment(offset=0)),
        "fragment_first": ethernet(*eth, 0x0800, ip4(*addresses, 6, segment()[20:44], fragment=0x2000)),
        "fragment_later": ethernet(*eth, 0x0800, ip4(*addresses, 6, rng.randbytes(40), fragment=3)),
        "all_flags": ethernet(*eth, 0x0800, segment(flags=0xFF)),
        "trailer": ethernet(*eth, 0x0800, segment() + bytes(20)),
        "udp_1883": ethernet(*eth, 0x0800, ip4(*addresses, 17, rng.randbytes(40))),
        "ip_version_7": ethernet(*eth, 0x0800, b"\x75" + segment()[1:]),
    }
    for n in range(60):
        frames[f"random_{n}"] = ethernet(*eth, rng.choice((0x0800, 0x86DD, 0x8100, 0x88A8, 0x9100, LOCAL_ETHERTYPE)),
                                         rng.randbytes(rng.randrange(1500)))
    return frames


def carried(driver, frame):
    """What the kernel does to frames before net_af_packet sees them, and nobody can undo: it puts IPv4
    fragments together, and an outer tag comes without its TPID. net_af_xdp has every frame as it is."""
    if driver == "af_xdp":
        return True
    outer, inner = frame[12:14], frame[16:18]
    if outer in (b"\x88\xa8", b"\x81\x00"):  # taken for a service tag if a VLAN tag follows
        return (outer == b"\x88\xa8") == (inner == b"\x81\x00")
    return not (outer == b"\x08\x00" and len(frame) >= 34 and int.from_bytes(frame[20:22], "big") & 0x3FFF)


def test_every_frame_passes_unchanged(lab, gateway, driver):
    config = config_for(driver)
    config["ports"] = port_devices(driver, ("devices", "cloud"))
    config["bridge"] = [["devices", "cloud"]]
    g = gateway(config)
    ends = {"dev": Wire(lab, "dev"), "cloud": Wire(lab, "cloud")}
    try:
        for sender, receiver, addresses in (("dev", "cloud", THERE), ("cloud", "dev", BACK)):
            for name, frame in odd_frames(*addresses).items():
                if not carried(driver, frame):
                    continue
                ends[sender].send(frame)
                try:
                    before = [f for f in ends[receiver].listen(frame, 5) if not kernel_chatter(f)]
                except AssertionError as e:
                    raise AssertionError(f"{sender} to {receiver}, {name}: {frame.hex()}: {e}") from None
                assert not before, f"{sender} to {receiver}, before {name}: {[f.hex() for f in before]}"
            end = ethernet(*addresses, LOCAL_ETHERTYPE, os.urandom(46))
            ends[sender].send(end)
            surplus = [f for f in ends[receiver].listen(end) if not kernel_chatter(f)]
            assert not surplus, f"{sender} to {receiver}: frames came twice: {[f.hex() for f in surplus]}"
        drops = g.balanced()
        assert drops["drops"] == 0, drops
        assert drops["made"] == 0, drops
    finally:
        for e in ends.values():
            e.close()


def kernel_chatter(frame):
    """What the two kernels say by themselves: ARP, neighbour discovery, and their answers to us."""
    ethertype = frame[12:14]
    if ethertype == b"\x08\x06":
        return True
    if ethertype == b"\x86\xdd":
        return len(frame) > 20 and frame[20] in (0, 58)  # hop by hop (MLD), ICMPv6
    # A reset, or an ICMP complaint, about a segment that nobody asked for.
    return ethertype == b"\x08\x00" and (frame[23:24] == b"\x01" or (frame[23:24] == b"\x06" and len(frame) == 54
                                                                     and frame[47] & 4 != 0 and frame[47] != 0xFF))


def test_order_and_count_under_a_burst(lab, gateway, driver):
    """Ten thousand frames one way: all arrive in the order they left, or a counter says which did not."""
    config = config_for(driver)
    config["ports"] = port_devices(driver, ("devices", "cloud"))
    config["bridge"] = [["devices", "cloud"]]
    g = gateway(config)
    dev, cloud = Wire(lab, "dev"), Wire(lab, "cloud")
    try:
        for burst in range(100):
            frames = [ethernet(*THERE, LOCAL_ETHERTYPE, (burst * 100 + i).to_bytes(4, "big") + bytes(46 + i))
                      for i in range(100)]
            dev.send(*frames)
            got = [f for f in cloud.listen(frames[-1]) if not kernel_chatter(f)]
            assert got == frames[:-1]
        g.balanced()
    finally:
        dev.close()
        cloud.close()
