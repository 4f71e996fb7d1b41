#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The application of the peer: subscribes to the measurements at its broker, decides as the rule of the fleet test does
(raise above 80, clear below 75, hold 3 samples), and publishes alarms to the edge broker. Its state is in its memory.

  peer_app.py BROKER EDGE-BROKER
"""
import hashlib
import json
import sys

import paho.mqtt.client as mqtt

HOLD = 3


def main():
    raised, counts = set(), {}
    edge = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    edge.max_queued_messages_set(0)
    edge.reconnect_delay_set(1, 1)
    edge.connect_async(sys.argv[2])
    edge.loop_start()

    def publish(topic, state, value):
        # the same at both servers, for the same publication: a consumer can drop repeats of the pair
        uid = hashlib.sha256(f"{topic} {state} {value!r}".encode()).hexdigest()[:32]
        edge.publish(f"alarm/{topic}", json.dumps({"uid": uid, "state": state, "value": value, "topic": topic}), 1)

    def on_message(_, __, message):
        topic, value = message.topic, float(message.payload)
        if topic in raised:
            if value < 75:
                raised.discard(topic)
                publish(topic, "cleared", value)
            return
        counts[topic] = counts.get(topic, 0) + 1 if value > 80 else 0
        if counts[topic] == HOLD:
            counts[topic] = 0
            raised.add(topic)
            publish(topic, "raised", value)

    broker = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="application", clean_session=False)
    broker.reconnect_delay_set(1, 1)
    broker.on_connect = lambda c, *_: c.subscribe("plant/+/temperature", 1)
    broker.on_message = on_message
    broker.connect_async(sys.argv[1])
    broker.loop_forever(retry_first_connection=True)


if __name__ == "__main__":
    main()
