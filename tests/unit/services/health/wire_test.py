# SPDX-License-Identifier: BSD-3-Clause
"""wire_test.py REQUESTS: decodes the requests with tshark, independently of our decoder and encoder."""

import json
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

FIELDS = ["coap.version", "coap.type", "coap.code", "coap.mid", "coap.token", "coap.opt.desc", "coap.opt.uri_path",
          "coap.opt.uri_query", "coap.opt.ctype", "coap.opt.unknown", "coap.opt.end_marker", "coap.payload_length",
          "_ws.expert.message", "udp.payload"]
RVI = {2: "2a", 3: "3", 4: "4", 5: "5"}
OBJECTS = {"S02": ["spo2", "pulse_rate"], "S04": ["spo2", "pulse_rate"], "S06": ["spo2"], "S07": ["spo2", "spo2"],
           "S10": ["distance-1", "distance-2", "activity_time", "intensity", "energy"], "S12": ["fall"]}
VALUES = {"S02": [97.5, 61], "S04": [None, None], "S06": [88], "S07": [98, 95], "S10": [8432, 6250, 95, 62, 412],
          "S12": ["80000000"]}


def write_pcap(path, messages):
    """Each from a port of its own, or tshark takes the second of one message id for a repeat."""
    with path.open("wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i, message in enumerate(messages):
            udp = struct.pack("!HHHH", 20000 + i, 5683, 8 + len(message), 0) + message
            ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0, b"\x0a\x01\x00\x01",
                             b"\x0a\x01\x00\x14")
            frame = bytes(12) + b"\x08\x00" + ip + udp
            f.write(struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame)


def dissect(pcap):
    argv = ["tshark", "-n", "-r", str(pcap), "-T", "json", "--no-duplicate-keys"]
    for field in FIELDS:
        argv += ["-e", field]
    out = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    return [packet["_source"]["layers"] for packet in json.loads(out)]


def check(layers, release, per_report, what, part):
    one = {name: values[0] for name, values in layers.items()}
    assert (one["coap.version"], one["coap.type"], one["coap.code"]) == ("1", "0", "2"), "a confirmable POST"
    assert one["coap.mid"] == str(0x1234 + part)
    token = f"{0xa0b1c2d3e4f50617 + part:016x}"
    assert one["coap.token"].replace(":", "") == token

    fr, rqi = b"Cbiplane".hex(), token.encode().hex()
    if what == "container":
        path, ty = ["cse-in", "1122334455667788"], "03"
    else:
        path, ty = ["cse-in", "1122334455667788", "report" if per_report else OBJECTS[what][part]], "04"
    if release in RVI:
        m2m = [(267, ty), (271, RVI[release].encode().hex()), (279, fr), (283, rqi)]
    else:
        m2m = [(256, fr), (257, rqi), (267, ty)]
    numbers = [int(desc.split()[1].rstrip(",")) for desc in layers["coap.opt.desc"]]
    assert numbers == [11] * len(path) + [12, 15] + [n for n, _ in m2m], numbers
    assert layers["coap.opt.uri_path"] == path
    assert layers["coap.opt.uri_query"] == ["rcn=0"]
    assert one["coap.opt.ctype"] == "application/json"
    assert [v.replace(":", "") for v in layers["coap.opt.unknown"]] == [v for _, v in m2m]
    # its only findings are unknown fields
    assert sorted(layers["_ws.expert.message"]) == [f"Invalid Option Number {n}" for n, _ in m2m], \
        layers["_ws.expert.message"]

    data = bytes.fromhex(one["udp.payload"].replace(":", ""))
    body = json.loads(data[-int(one["coap.payload_length"]):])
    if what == "container":
        assert body == {"m2m:cnt": {"rn": "spo2"}}
        return
    instance = body["m2m:cin"]
    assert instance["rn"] == f"6955b9f001020000002a{part:02x}" and instance["cnf"] == "application/json:0"
    con = json.loads(instance["con"])
    if per_report:
        assert [(o["o"], o["v"]) for o in con] == list(zip(OBJECTS[what], VALUES[what]))
    else:
        assert con["v"] == VALUES[what][part] and "o" not in con


def main():
    if shutil.which("tshark") is None:
        print("tshark is not installed")
        return 77
    lines = subprocess.run([sys.argv[1]], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    requests = [(int(release), int(per_report), what, bytes.fromhex(data))
                for release, per_report, what, data in map(str.split, lines)]
    with tempfile.TemporaryDirectory() as directory:
        pcap = Path(directory) / "requests.pcap"
        write_pcap(pcap, [r[3] for r in requests])
        dissected = dissect(pcap)
    assert len(dissected) == len(requests) > 100
    last, part = None, 0
    for (release, per_report, what, _), layers in zip(requests, dissected):
        part = part + 1 if (release, per_report, what) == last else 0
        last = (release, per_report, what)
        check(layers, release, per_report, what, part)
    print(f"{len(requests)} requests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
