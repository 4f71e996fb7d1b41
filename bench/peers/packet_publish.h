/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_PEERS_PACKET_PUBLISH_H
#define BP_BENCH_PEERS_PACKET_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * TCP segments of MQTT connections as Ethernet frames, without a TCP stack: the connections of
 * bench/peers/packet_mqtt.c. Connection c has the client address + c, and a TCP port of its own.
 */
#define PACKET_CLIENT_PORT 32768u
#define PACKET_HEADERS 54u /* Ethernet, IPv4, TCP without options */
#define PACKET_CONTROL_MAX (PACKET_HEADERS + 32u)
#define PACKET_HIGH_EVERY 100u /* one publication in so many is above the threshold */
#define PACKET_BROKER_ISN 1000u

struct packet_mqtt_ends {
	uint8_t client_mac[6], broker_mac[6];
	uint32_t client, broker; /* addresses in host order */
};

/* The frames of the handshake, in this order. */
enum packet_control { PACKET_SYN, PACKET_SYN_ACK, PACKET_CONNECT, PACKET_CONNACK, PACKET_CONTROLS };

/* Bytes that the CONNECT, and the SYN, take of the sequence numbers of the client. */
uint32_t packet_first_seq(uint32_t isn);

/* Writes a frame of the handshake of connection `c` into out[PACKET_CONTROL_MAX]; returns its
 * length. */
uint32_t packet_control(const struct packet_mqtt_ends *e, enum packet_control kind, uint32_t c,
	uint32_t isn, uint8_t *out);
/* The broker's acknowledgment of the bytes of connection `c` before `ack`. */
uint32_t packet_ack(const struct packet_mqtt_ends *e, uint32_t c, uint32_t ack, uint8_t *out);

/*
 * Writes a PUBLISH with QoS 0 of connection `c` that fills a frame of `len` bytes, with sequence
 * number 0. Frames of at least 124 bytes have topic plant/NNNNN/temperature and a JSON object with
 * the member celsius; smaller ones have topic t and one digit. `high`: the value is above the
 * threshold of the rule (80, or 8).
 */
void packet_publish(
	const struct packet_mqtt_ends *e, uint32_t c, bool high, uint32_t len, uint8_t *out);
/* Changes the sequence number of a frame, and its checksum. */
void packet_set_seq(uint8_t *frame, uint32_t seq);

#endif
