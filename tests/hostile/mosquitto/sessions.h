/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_HOSTILE_MOSQUITTO_SESSIONS_H
#define BP_TESTS_HOSTILE_MOSQUITTO_SESSIONS_H

#include "mqtt_peer.h"

/*
 * MQTT client sessions from a seed: valid ones of every version, and the same with faults of every
 * kind in them. Each publication has a payload of its own, a decimal number that names the session,
 * so that a delivery or an alarm is attributed by its payload alone.
 */

#define SESSION_PACKETS_MAX 40
#define SESSION_PER 64 /* payload numbers of one session */

struct session {
	uint64_t seed;
	uint32_t number;
	uint8_t version;
	struct bytes out;                /* bytes that the client sends */
	size_t end[SESSION_PACKETS_MAX]; /* of each packet, in `out`, as they were meant */
	unsigned n_packets;
	unsigned n_publications;
	char faults[160]; /* names of the inserted faults */
};

/* Without what continues behind a DISCONNECT, and QoS 2 publications sent twice. */
extern bool session_plain;
/* Always the same session for the same (seed, number). */
void session_make(struct session *s, uint64_t seed, uint32_t number);
void session_free(struct session *s);
/* The number that a payload of session_make() has, or 0. */
uint64_t session_payload(const uint8_t *p, size_t n);

#endif
