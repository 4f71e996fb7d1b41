#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The mock cluster of librdkafka, which listens on 127.0.0.1, with errors on command.

  kafka_mock.py BROKERS TOPIC PARTITIONS

Prints the TCP ports of its brokers in one line. Reads commands from its standard input, and answers each with "ok":

  fail      the first broker is down, the leaders of the partitions move between the others, and connections are closed when they
            have a produce request
  mend      the end of all

The cluster does not check the sequence numbers of an idempotent producer. So no single request of several in flight is answered with
an error: a broker would refuse those after it, and the cluster would store them, of which the producer concludes that it has stored
the first one, too.

Ends at the end of its standard input."""

import ctypes
import sys
import threading

PRODUCE = 0  # number of the request in Kafka's protocol
CLOSED = -195  # RD_KAFKA_RESP_ERR__TRANSPORT: the connection is closed in place of an answer
DOWN = 1
EVERY = 0.2
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
        self.brokers, self.topic, self.partitions = brokers, topic.encode(), partitions
        self.failing, self.lock, self.turn = False, threading.Lock(), 0

    def ports(self):
        return [b.rpartition(":")[2] for b in self.lib.rd_kafka_mock_cluster_bootstraps(self.cluster).decode().split(",")]

    def fail(self):
        self.lib.rd_kafka_mock_broker_set_down(self.cluster, DOWN)
        with self.lock:
            for _ in range(self.partitions):
                self.move()
            self.failing = True

    def move(self):
        """The leader of each partition in turn, to the next broker that is up."""
        partition, broker = self.turn % self.partitions, DOWN + 1 + self.turn // self.partitions % (self.brokers - 1)
        self.turn += 1
        self.lib.rd_kafka_mock_partition_set_leader(self.cluster, self.topic, partition, broker)

    def disturb(self):
        with self.lock:
            if self.failing:
                self.move()
                self.lib.rd_kafka_mock_push_request_errors_array(self.cluster, ctypes.c_int16(PRODUCE), ctypes.c_size_t(1),
                                                                 (ctypes.c_int * 1)(CLOSED))

    def mend(self):
        with self.lock:
            self.failing = False
            self.lib.rd_kafka_mock_clear_request_errors(self.cluster, ctypes.c_int16(PRODUCE))
        self.lib.rd_kafka_mock_broker_set_up(self.cluster, DOWN)


def main():
    cluster = Cluster(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    end = threading.Event()

    def disturb():
        while not end.wait(EVERY):
            cluster.disturb()
    thread = threading.Thread(target=disturb)
    thread.start()
    print(" ".join(cluster.ports()), flush=True)
    for line in sys.stdin:
        {"fail": cluster.fail, "mend": cluster.mend}[line.strip()]()
        print("ok", flush=True)
    end.set()
    thread.join()


if __name__ == "__main__":
    main()
