/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_MQTT_MQTT_TABLES_H
#define BP_SHM_MQTT_MQTT_TABLES_H

#include "shm/ring.h"
#include "shm/service.h"

/* The tables of MQTT inspection, by their index in the service's. */
enum {
	BP_MT_RULES,
	BP_MT_RULE_STATS,
	BP_MT_POLICY_STATS,
	BP_MT_POLICY_RATES,
	BP_MT_POLICY_CONNECTIONS,
	BP_MT_RULE_STATE,
	BP_MT_SPARKPLUG,
	BP_MT_WATCH,
	BP_MT_WATCH_TOPIC,
	BP_MT_PART_STATE,
	BP_MT_WINDOW_BUCKETS,
	BP_MT_WINDOWS,
	BP_MT_ALARM_RING,
	BP_MT_ALARM_TAIL,
	BP_MT_ALARM_LOG,
	BP_MT_ALARM_LATENCY,
	BP_MT_FLOWS,
	BP_MT_REASSEMBLY,
	BP_MT_ADOPT_REQUESTS,
	BP_MT_ADOPT_OFFERS,
	BP_MQTT_TABLES,
};

#define BP_ALARM_RING_MIN 4096u /* bytes of a worker's */

/*
 * A worker's part of the tables adopt_requests and adopt_offers: a ring of records that its plane
 * writes, and its plane's position in the ring of the other table. A request is a struct
 * bp_connection_key of a connection that the worker has met mid-stream; the answer is a struct
 * bp_adopt_offer, and a connection record where the fleet has one (services/mqtt/
 * connection_record.h), with the holds of the connection. A longer record is a struct
 * bp_hold_report. Bytes of the rings:
 */
#define BP_ADOPT_REQUESTS_BYTES (128u << 10)
#define BP_ADOPT_OFFERS_BYTES (256u << 10)
#define BP_ADOPT_OFF_BYTES 64u /* without a fleet */
#define BP_ADOPT_FOUND 1u      /* a record follows */
#define BP_ADOPT_NOT_FOUND 2u
#define BP_ADOPT_STATE 3u /* no answer: struct bp_state_offer and a topic follow */
struct bp_adopt_offer {
	uint32_t result;
	uint32_t holds_len; /* of an answer; at most BP_ADOPT_HOLDS_MAX */
	/* struct bp_connection_key, the holds of the connection, and the record follow. A hold is a
	 * struct bp_state_offer and a topic, without a gap between them. */
};
#define BP_ADOPT_HOLDS_MAX 32768u
/* Another gateway has raised or cleared a rule for a topic, or changed its hold. The control plane
 * finds the rule: a worker does not search for it. */
#define BP_OFFER_CLEARED 0u
#define BP_OFFER_RAISED 1u
#define BP_OFFER_HOLD 2u
struct bp_state_offer {
	uint64_t rule_uid;
	uint64_t transition; /* BP_OFFER_HOLD: its Unix time, in the units of a transition */
	uint64_t hold;       /* BP_OFFER_HOLD: as in struct bp_hold_report */
	uint32_t rule;       /* index in the active rules; UINT32_MAX: none has this uid */
	uint16_t state;
	uint16_t topic_len;
	uint32_t seq, dir; /* BP_OFFER_HOLD of an answer: as in struct bp_stream_place */
};
#define BP_STATE_TOPIC_MAX 4096u
/* The packet of a connection that has changed something: where it begins in its stream. */
struct bp_stream_place {
	uint32_t slot; /* of the flow in the table of the worker; UINT32_MAX: it was no packet */
	uint16_t worker, life;
	uint32_t seq;
	uint32_t dir;
};
/* A worker has changed the hold of a rule for a topic, which follows. Longer than a key. */
struct bp_hold_report {
	uint64_t rule_uid;
	uint64_t unix_ns; /* of the change */
	uint64_t hold;    /* values in a row, or the Unix time of the first one, ns; 0: none */
	uint8_t client_ip[16];
	struct bp_stream_place place;
	uint16_t topic_len;
	uint8_t ip6;
	uint8_t pad[29];
};
struct bp_adopt_part {
	struct bp_ring_tail read;
	struct bp_ring_data ring;
};

#endif
