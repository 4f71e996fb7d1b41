/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_ALARM_H
#define BIPLANE_ALARM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * One alarm as a worker hands it to the control plane: a fixed header, then the strings without
 * terminators, in the order of the length fields. `to` is the topic to publish on. The worker has
 * already expanded its template, so a reload cannot change an alarm that is in the queue.
 */
enum bp_alarm_state { BP_ALARM_RAISED = 1, BP_ALARM_CLEARED = 2 };

#define BP_ALARM_F_ENVELOPE 0x01 /* publish an envelope, else the original payload */
#define BP_ALARM_F_RETAIN 0x02   /* the device's PUBLISH had RETAIN */
#define BP_ALARM_F_MIRROR 0x04   /* action mirror: recorded (replay), not to be published */
#define BP_ALARM_F_IP6 0x08      /* client_ip is IPv6, else IPv4 in its first four bytes */
#define BP_ALARM_F_REPEAT 0x10   /* the pair was raised before (repeat: every) */
#define BP_ALARM_F_KAFKA 0x20    /* to the cluster of mqtt.kafka */
#define BP_ALARM_F_NOT_MQTT 0x40 /* not to the broker of mqtt.publisher */
#define BP_ALARM_F_ORIGIN 0x80   /* of another gateway: its id there follows the strings */
_Static_assert((BP_ALARM_F_ENVELOPE ^ BP_ALARM_F_RETAIN ^ BP_ALARM_F_MIRROR ^ BP_ALARM_F_IP6 ^
		       BP_ALARM_F_REPEAT ^ BP_ALARM_F_KAFKA ^ BP_ALARM_F_NOT_MQTT ^
		       BP_ALARM_F_ORIGIN) == 0xff,
	"each flag has a bit of its own");

struct bp_alarm {
	uint64_t id;      /* increases over the whole gateway */
	uint64_t time_ns; /* arrival of the frame that completed the PUBLISH; Unix time */
	double value;
	uint8_t state;        /* enum bp_alarm_state */
	uint8_t flags;        /* BP_ALARM_F_* */
	uint8_t qos;          /* of the device's PUBLISH */
	uint8_t severity;     /* enum bp_severity */
	uint16_t client_port; /* host byte order */
	uint8_t rule_len;
	uint8_t value_text; /* enum bp_alarm_value, from bit 6 on, and the bytes of the string */
	uint8_t client_ip[16];
	uint32_t payload_len;   /* 0 with BP_ALARM_F_ENVELOPE */
	uint16_t client_id_len; /* 0: unknown */
	uint16_t topic_len;
	uint16_t to_len;
	uint16_t transition[3]; /* bp_alarm_transition(), the lowest 16 bits first */
	char text[];            /* rule, client id, topic, to, payload, string of the value */
};

/* The type of the value in the publication. */
enum bp_alarm_value {
	BP_ALARM_NUMBER,
	BP_ALARM_BOOLEAN, /* the value is 1 or 0 */
	BP_ALARM_STRING,
	BP_ALARM_STRING_TRUNCATED, /* only the beginning of it is stored */
};
static inline enum bp_alarm_value bp_alarm_value_type(uint8_t value_text)
{
	return (enum bp_alarm_value)(value_text >> 6);
}
static inline uint8_t bp_alarm_value_len(uint8_t value_text)
{
	return value_text & 63;
}
static inline uint8_t bp_alarm_value_text(enum bp_alarm_value type, uint8_t len)
{
	return (uint8_t)((unsigned)type << 6 | (len & 63u));
}

/* The number of the raise to which the alarm belongs (shm/rules/rule_state.h); 0: unknown. */
static inline uint64_t bp_alarm_transition(const struct bp_alarm *a)
{
	return (uint64_t)a->transition[0] | (uint64_t)a->transition[1] << 16 |
	       (uint64_t)a->transition[2] << 32;
}
static inline void bp_alarm_set_transition(struct bp_alarm *a, uint64_t transition)
{
	for (unsigned i = 0; i < 3; i++)
		a->transition[i] = (uint16_t)(transition >> 16 * i);
}

#define BP_ALARM_HEAD ((uint32_t)sizeof(struct bp_alarm))

/* Views into a record; `a` must have been checked with bp_alarm_valid(). */
static inline const char *bp_alarm_rule(const struct bp_alarm *a)
{
	return a->text;
}
static inline const char *bp_alarm_client_id(const struct bp_alarm *a)
{
	return a->text + a->rule_len;
}
static inline const char *bp_alarm_topic(const struct bp_alarm *a)
{
	return bp_alarm_client_id(a) + a->client_id_len;
}
static inline const char *bp_alarm_to(const struct bp_alarm *a)
{
	return bp_alarm_topic(a) + a->topic_len;
}
static inline const char *bp_alarm_payload(const struct bp_alarm *a)
{
	return bp_alarm_to(a) + a->to_len;
}
static inline const char *bp_alarm_value_string(const struct bp_alarm *a)
{
	return bp_alarm_payload(a) + a->payload_len;
}

/* Bytes that the record takes, from its own length fields. */
static inline uint64_t bp_alarm_size(const struct bp_alarm *a)
{
	return (uint64_t)BP_ALARM_HEAD + a->rule_len + a->client_id_len + a->topic_len + a->to_len +
	       a->payload_len + bp_alarm_value_len(a->value_text) +
	       ((a->flags & BP_ALARM_F_ORIGIN) != 0 ? sizeof(uint64_t) : 0);
}

/* The id that the gateway gave which raised the alarm. */
static inline uint64_t bp_alarm_origin(const struct bp_alarm *a)
{
	uint64_t id = a->id;

	if ((a->flags & BP_ALARM_F_ORIGIN) != 0)
		memcpy(&id, bp_alarm_value_string(a) + bp_alarm_value_len(a->value_text),
			sizeof(id));
	return id;
}

/*
 * Times of an alarm in the data plane: CLOCK_MONOTONIC, ns. In the ring they follow the strings, at
 * the next multiple of 8 bytes. The spool does not store them.
 */
struct bp_alarm_times {
	uint64_t received_ns;  /* start of the walk that received the frame */
	uint64_t evaluated_ns; /* the record was written */
};

/* Offset of the times in the record of an alarm of `size` bytes. */
static inline uint64_t bp_alarm_times_at(uint64_t size)
{
	return (size + 7) & ~7ull;
}

/*
 * The connection of an alarm, for its event. In the ring it follows the times. The spool does not
 * store it.
 */
struct bp_alarm_flow {
	uint64_t flow; /* distinguishes connections of the same addresses and ports */
	uint8_t broker_ip[16];
	uint16_t broker_port;            /* host byte order; 0: unknown */
	uint16_t vlan_outer, vlan_inner; /* 0: none */
	uint8_t port;                    /* ingress port of the client's segments + 1; 0: unknown */
	uint8_t pad;
};

/* Whether a record of `size` bytes agrees with its length fields. */
static inline int bp_alarm_valid(const struct bp_alarm *a, uint64_t size)
{
	return size >= BP_ALARM_HEAD && bp_alarm_size(a) <= size &&
	       (a->state == BP_ALARM_RAISED || a->state == BP_ALARM_CLEARED);
}

/* Reads the times of a valid record of `size` bytes; false: it has none. They are not checked. */
static inline bool bp_alarm_times(
	const struct bp_alarm *a, uint64_t size, struct bp_alarm_times *times)
{
	const uint64_t at = bp_alarm_times_at(bp_alarm_size(a));

	if (at + sizeof(*times) > size)
		return false;
	memcpy(times, (const char *)a + at, sizeof(*times));
	return true;
}

/* Reads the connection of a valid record of `size` bytes; false: it has none. */
static inline bool bp_alarm_flow(
	const struct bp_alarm *a, uint64_t size, struct bp_alarm_flow *flow)
{
	const uint64_t at =
		bp_alarm_times_at(bp_alarm_size(a)) + (uint64_t)sizeof(struct bp_alarm_times);

	if (at + sizeof(*flow) > size)
		return false;
	memcpy(flow, (const char *)a + at, sizeof(*flow));
	return true;
}

#endif
