# SPDX-License-Identifier: BSD-3-Clause
"""Frames of every kind that a wire carries, good and bad, from the devices to the cloud or back; no more than 1,500
bytes behind the header, and tags."""

import random

from frames import LOCAL_ETHERTYPE, ethernet, ip4, tcp
from lab import CLOUD, DEVICE, MAC

THERE, BACK = (MAC["cloud"], MAC["dev"]), (MAC["dev"], MAC["cloud"])
# One MQTT PUBLISH, so that these reach inspection.
PUBLISH = b"\x30\x18\x00\x13plant/a/temperature99."


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
        # Shorter ones the kernel of the receiver gives to no one.
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


def kernel_chatter(frame):
    """Packets of the two kernels: ARP, neighbor discovery, and their answers to us."""
    ethertype = frame[12:14]
    if ethertype == b"\x08\x06":
        return True
    if ethertype == b"\x86\xdd":
        return len(frame) > 20 and frame[20] in (0, 58)  # hop by hop (MLD), ICMPv6
    # A reset, or an ICMP complaint, about a segment that no one asked for.
    return ethertype == b"\x08\x00" and (frame[23:24] == b"\x01" or (frame[23:24] == b"\x06" and len(frame) == 54
                                                                     and frame[47] & 4 != 0 and frame[47] != 0xFF))
