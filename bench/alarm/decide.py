#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A typical application in the cloud: subscribes to the measurements, compares each with the threshold, publishes
alarms.

  bench/alarm/decide.py BROKER
"""
import sys

import paho.mqtt.client as mqtt

TOPIC = "plant/1/temperature"


def main():
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)

    def on_connect(c, *_):
        c.subscribe(TOPIC, 1)

    def on_message(c, _, message):
        if float(message.payload) > 80:
            c.publish("alarm/" + TOPIC, message.payload, 1)

    client.on_connect, client.on_message = on_connect, on_message
    client.connect(sys.argv[1])
    client.loop_forever()


if __name__ == "__main__":
    main()
