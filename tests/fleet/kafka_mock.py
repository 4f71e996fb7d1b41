#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The mock cluster of librdkafka, which listens on 127.0.0.1, with errors on command.

  kafka_mock.py BROKERS TOPIC PARTITIONS

Prints the TCP ports of its brokers in one line. Reads commands from its standard input, and answers each with "ok":

  fail      the brokers answer most produce requests with errors, and the first broker closes its connections
  mend      they answer normally again

Ends at the end of its standard input."""

import ctypes
import sys
import threading

PRODUCE = 0  # number of the request in Kafka's protocol
# The answers, in turn; 0 is success, and -195 closes the connection. After OUT_OF_ORDER_SEQUENCE_NUMBER (45), an idempotent producer
# must begin again. The others are errors of a leader or of its replicas, and temporary.
ANSWERS = (6, 0, 7, 19, 0, 20, -195, 0, 5, 45, 0)
EVERY = 0.1
PRODUCER = 0


class Cluster:
    def __init__(self, brokers, topic, partitions):
        self.lib = lib = ctypes.CDLL("librdkafka.so.1")
        for name in ("rd_kafka_new", "rd_kafka_conf_new", "rd_kafka_mock_cluster_new"):
            getattr(lib, name).restype = ctypes.c_void_p
        lib.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        error = ctypes.create_string_buffer(256)
        conf = ctypes.c_void_p(lib.rd_kafka_conf_new())
        lib.rd_kafka_conf_set(conf, b"log_level", b"0", error, len(error))
        owner = ctypes.c_void_p(lib.rd_kafka_new(PRODUCER, conf, error, len(error)))
        if not owner:
            raise SystemExit(error.value.decode())
        self.cluster = ctypes.c_void_p(lib.rd_kafka_mock_cluster_new(owner, brokers))
        if not self.cluster or lib.rd_kafka_mock_topic_create(self.cluster, topic.encode(), partitions, brokers):
            raise SystemExit("no mock cluster")
        self.failing, self.lock = False, threading.Lock()

    def ports(self):
        return [b.rpartition(":")[2] for b in self.lib.rd_kafka_mock_cluster_bootstraps(self.cluster).decode().split(",")]

    def fail(self):
        self.failing = True
        self.lib.rd_kafka_mock_broker_set_down(self.cluster, 1)
        self.push()

    def push(self):
        """Answers for the next requests, after those that wait."""
        with self.lock:
            if self.failing:
                self.lib.rd_kafka_mock_push_request_errors_array(self.cluster, ctypes.c_int16(PRODUCE), ctypes.c_size_t(len(ANSWERS)),
                                                                 (ctypes.c_int * len(ANSWERS))(*ANSWERS))

    def mend(self):
        with self.lock:
            self.failing = False
            self.lib.rd_kafka_mock_clear_request_errors(self.cluster, ctypes.c_int16(PRODUCE))
        self.lib.rd_kafka_mock_broker_set_up(self.cluster, 1)


def main():
    cluster = Cluster(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    end = threading.Event()

    def push():
        while not end.wait(EVERY):
            cluster.push()
    thread = threading.Thread(target=push)
    thread.start()
    print(" ".join(cluster.ports()), flush=True)
    for line in sys.stdin:
        {"fail": cluster.fail, "mend": cluster.mend}[line.strip()]()
        print("ok", flush=True)
    end.set()
    thread.join()


if __name__ == "__main__":
    main()
