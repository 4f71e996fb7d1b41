/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_CONNECTION_RECORD_H
#define BP_SERVICES_MQTT_CONNECTION_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/limits.h"

/*
 * The state of an MQTT connection between two packets, as the gateways of a fleet share it: what
 * another gateway needs to continue inspection of the connection at this position. A sequence of
 * bytes of bounded length, independent of the machine:
 *
 *   "BPC4", fixed fields, client identifier, user name, will message, then for each direction the
 *   identifiers of QoS 2 publications in flight and the topic aliases.
 *
 * A record of a connection that is not of the main network begins with "BPC5", and its key has the
 * name of the network. A record of "BPC3", of an earlier release, has no user name: it is unknown
 * then.
 *
 * Numbers are little-endian. Nothing in it depends on the secret keys of a gateway.
 */
#define BP_CONNECTION_RECORD_MAX 8192u
#define BP_RECORD_CLIENT_ID_MAX 1024u /* longer ones are left out */
#define BP_RECORD_USER_MAX 1024u      /* likewise: unknown to the other gateway */
#define BP_RECORD_WILL_MAX 2048u      /* topic and payload; likewise */
#define BP_RECORD_QOS2_MAX 128u       /* further ones are left out: evaluated twice if repeated */

/* Identifies a connection: in host byte order, addresses as in the frame. */
struct bp_connection_key {
	uint8_t client_ip[16], broker_ip[16]; /* IPv4: the first four bytes, the others 0 */
	uint16_t client_port, broker_port;    /* TCP ports */
	uint16_t vlan_outer, vlan_inner;
	uint32_t tunnel; /* struct bp_frame */
	uint8_t ip6;
	uint8_t pad[3];
	/* name of its network, then zeros; "": the main one */
	char network[BP_NAME_MAX + 1];
};
/* Whether the values are in range, of a key that is not trusted. */
bool bp_connection_key_sound(const struct bp_connection_key *k);

struct bp_record_will {
	const uint8_t *topic; /* NULL: none */
	const uint8_t *payload;
	uint16_t topic_len, payload_len;
	uint32_t delay, session_expiry; /* seconds */
	uint16_t keep_alive;
	uint8_t qos, retain;
	bool unknown; /* there is one, which the record does not have; topic is NULL */
};

enum bp_record_user { BP_RECORD_USER_UNKNOWN, BP_RECORD_USER_NONE, BP_RECORD_USER_GIVEN };

/* Pointers refer to the bytes that were decoded. */
struct bp_connection_record {
	struct bp_connection_key key;
	uint32_t next[2]; /* sequence number of the next packet, by direction */
	uint32_t window[2];
	uint32_t syn_seq, broker_isn;
	uint32_t publishes;
	uint64_t known; /* bits of published topics: bp_topic_known_bits() */
	uint16_t alias_max[2], mss, suspicious;
	uint8_t scale[2];
	uint8_t version, flags, proof, session, has_alias_max, marks;
	uint8_t pending; /* BP_FLOW_PUSHED */
	const uint8_t *client_id;
	uint16_t client_id_len;
	uint16_t user_len;
	const uint8_t *user;
	uint8_t user_state; /* enum bp_record_user */
	struct bp_record_will will;
	uint16_t n_qos2[2], n_aliases[2];
	const uint8_t *qos2[2];    /* n identifiers: bp_record_qos2() */
	const uint8_t *aliases[2]; /* n entries: bp_record_alias() */
};

/* An alias in a record that is written, or of one that was read. */
struct bp_record_alias {
	uint16_t alias, topic_len;
	const uint8_t *topic;
};

/*
 * Writes a record to out[0..size). `qos2` in r: pointers to identifiers in the order of the
 * machine's memory, n_qos2 of them, strictly ascending, and at most BP_RECORD_QOS2_MAX;
 * aliases[dir]: n_aliases[dir] entries, strictly ascending. Aliases that do not fit are left out,
 * and the record says so (BP_SESSION_ALIASES_LOST). Returns its length; 0: size is too small for
 * the other fields.
 */
size_t bp_connection_record_write(const struct bp_connection_record *r,
	const uint16_t *const qos2[2], const struct bp_record_alias *const aliases[2], uint8_t *out,
	size_t size);

/*
 * Reads a record of any origin. True: all fields are within their bounds and consistent with each
 * other, strings are valid topics, and no byte is left over.
 */
bool bp_connection_record_read(const uint8_t *p, size_t n, struct bp_connection_record *r);

/* Identifier i of r->qos2[dir]. */
uint16_t bp_record_qos2(const struct bp_connection_record *r, unsigned dir, uint16_t i);
/* The next alias of r->aliases[dir]; *at begins as r->aliases[dir]. */
struct bp_record_alias bp_record_next_alias(const uint8_t **at);

bool bp_connection_key_equal(const struct bp_connection_key *a, const struct bp_connection_key *b);

#endif
