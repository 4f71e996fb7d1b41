# SPDX-License-Identifier: BSD-3-Clause
"""An edge node of Sparkplug B with one device, by pysparkplug. Runs in its own environment (build-venv-sparkplug), and in a
namespace of the laboratory: SparkplugNode starts it, sends it commands as lines of JSON, and waits for its answers."""

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path

GROUP, NODE, DEVICE = "plant", "line", "motor"


class SparkplugNode:
    """The other end: `metrics` of the node and of the device are lists of [name, alias, datatype, value]."""

    def __init__(self, lab, host, node, device, ns="dev"):
        from lab import ROOT

        python = ROOT / "build-venv-sparkplug" / "bin" / "python"
        self.process = lab.popen(ns, python, Path(__file__).resolve(), host, json.dumps([node, device]),
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        assert line == "done\n", f"the Sparkplug client answered {line!r}"

    def command(self, *args):
        self.process.stdin.write(json.dumps(args) + "\n")
        self.process.stdin.flush()
        self._answer()

    def data(self, kind, *metrics, skip=0):
        """An NDATA or DDATA message; skip: sequence numbers that are not sent."""
        self.command("data", kind, metrics, skip)

    def births(self, node, device):
        self.command("births", node, device)

    def kill(self):
        """Ends without DISCONNECT: the broker publishes the will."""
        self.process.kill()
        self.close()

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


def main():
    import pysparkplug as spb

    def metric(name, alias, datatype, value, historical=False):
        return spb.Metric(timestamp=spb.get_current_timestamp(), name=name, alias=alias, value=value,
                          datatype=spb.DataType[datatype], is_historical=historical)

    def send(kind, payload, datatypes):
        device = DEVICE if kind[0] == "D" else None
        topic = spb.Topic(message_type=spb.MessageType[kind], group_id=GROUP, edge_node_id=NODE, device_id=device)
        client.publish(spb.Message(topic=topic, payload=payload, qos=spb.QoS.AT_MOST_ONCE, retain=False),
                       include_dtypes=datatypes)

    host, (node_metrics, device_metrics) = sys.argv[1], json.loads(sys.argv[2])
    client = spb.Client()
    node = spb.EdgeNode(GROUP, NODE, [metric(*m) for m in node_metrics], client=client)
    node.register(spb.Device(DEVICE, [metric(*m) for m in device_metrics]))
    node.connect(host)
    while node._bd_seq_metric.value == 0:  # the thread of the client has not sent the births yet
        time.sleep(0.01)
    print("done", flush=True)
    for line in sys.stdin:
        command, *args = json.loads(line)
        if command == "data":
            kind, metrics, skip = args
            for _ in range(skip):
                node._seq
            payload = getattr(spb, {"NDATA": "NData", "DDATA": "DData"}[kind])
            send(kind, payload(timestamp=spb.get_current_timestamp(), seq=node._seq, metrics=tuple(metric(*m) for m in metrics)),
                 False)
        elif command == "births":
            node._EdgeNode__seq_cycler = itertools.cycle(range(256))
            bdseq = metric("bdSeq", None, "INT64", 0)  # of the first session; node._bd_seq_metric is of the next
            send("NBIRTH", spb.NBirth(timestamp=spb.get_current_timestamp(), seq=node._seq,
                                      metrics=tuple(metric(*m) for m in args[0]) + (bdseq,)), True)
            send("DBIRTH", spb.DBirth(timestamp=spb.get_current_timestamp(), seq=node._seq,
                                      metrics=tuple(metric(*m) for m in args[1])), True)
        print("done", flush=True)
    node.disconnect()


if __name__ == "__main__":
    main()
