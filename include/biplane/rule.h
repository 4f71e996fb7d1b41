/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_RULE_H
#define BIPLANE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/severity.h"
#include "biplane/window.h"
#include "proto/payload/value.h"

/*
 * A rule as both planes use it. `struct bp_rule_spec` is the rule of the configuration; shm/rules
 * compiles a list of them into an image in the segment that the workers read.
 */

enum bp_cond_op {
	BP_COND_GT,
	BP_COND_GE,
	BP_COND_LT,
	BP_COND_LE,
	BP_COND_EQ,
	BP_COND_NE,
	BP_COND_INSIDE,  /* a <= value <= b */
	BP_COND_OUTSIDE, /* value < a or value > b */
};

struct bp_condition {
	uint8_t op; /* enum bp_cond_op */
	double a;
	double b; /* INSIDE and OUTSIDE only; a <= b */
};

/* Whether `v` (never NaN) satisfies `c`. */
static inline bool bp_condition_holds(const struct bp_condition *c, double v)
{
	switch ((enum bp_cond_op)c->op) {
	case BP_COND_GT:
		return v > c->a;
	case BP_COND_GE:
		return v >= c->a;
	case BP_COND_LT:
		return v < c->a;
	case BP_COND_LE:
		return v <= c->a;
	case BP_COND_EQ:
		return v == c->a;
	case BP_COND_NE:
		return v != c->a;
	case BP_COND_INSIDE:
		return v >= c->a && v <= c->b;
	case BP_COND_OUTSIDE:
		return v < c->a || v > c->b;
	}
	return false;
}

enum bp_hold { BP_HOLD_NONE, BP_HOLD_COUNT, BP_HOLD_TIME };
enum bp_repeat { BP_REPEAT_EVERY, BP_REPEAT_ON_CHANGE };
enum bp_action { BP_ACTION_PUBLISH, BP_ACTION_MIRROR };
enum bp_destination_choice { BP_DESTINATION_MQTT, BP_DESTINATION_KAFKA, BP_DESTINATION_BOTH };
enum bp_payload { BP_PAYLOAD_ORIGINAL, BP_PAYLOAD_ENVELOPE };

#define BP_RULE_NAME_MAX 63 /* bytes, without the terminating NUL */
#define BP_RULE_FILTER_MAX 1023
#define BP_RULE_TO_MAX 255 /* bytes of the `to` template */

/* Texts that the operator adds to the alarms of a rule. */
#define BP_RULE_ANNOTATIONS_MAX 8u
#define BP_RULE_ANNOTATIONS_SIZE 512u /* bytes of all, each key and value with a NUL */
#define BP_RULE_ANNOTATION_KEY_MAX 63u
struct bp_rule_annotations {
	uint16_t n, used;                    /* used: bytes of text */
	char text[BP_RULE_ANNOTATIONS_SIZE]; /* key NUL value NUL key NUL ... */
};

struct bp_combination_spec; /* shm/rules/combination.h */

struct bp_rule_spec {
	char name[BP_RULE_NAME_MAX + 1];
	char filter[BP_RULE_FILTER_MAX + 1]; /* MQTT topic filter, valid UTF-8 */
	struct bp_value_source value;
	struct bp_window_spec window;
	struct bp_condition raise;
	struct bp_condition clear;
	bool has_clear;
	uint8_t hold;                /* enum bp_hold */
	uint32_t hold_count;         /* BP_HOLD_COUNT: >= 2 */
	uint64_t hold_ns;            /* BP_HOLD_TIME: > 0 */
	uint64_t absent_ns;          /* > 0: raised after this time without a publication; the
				      * rule's value is the silence in seconds */
	uint8_t repeat;              /* enum bp_repeat */
	double deadband;             /* 0: none; with BP_REPEAT_EVERY only */
	uint64_t quiet_ns;           /* 0: none */
	uint8_t action;              /* enum bp_action */
	uint8_t payload;             /* enum bp_payload; ORIGINAL for action mirror */
	uint8_t destination;         /* enum bp_destination_choice, of action publish */
	uint8_t severity;            /* enum bp_severity */
	char to[BP_RULE_TO_MAX + 1]; /* template: {topic}, {rule}, {client} */
	struct bp_rule_annotations annotations;
	/* NULL: none. Otherwise it replaces filter, value, raise and clear, and repeat is on_change
	 * by default. The owner of the spec frees it. */
	struct bp_combination_spec *combination;
	uint64_t max_age_ns; /* of a part of a combination: 0: no limit */
	/* Of a value of type string. The numbers of a condition are indices: EQ and NE one, INSIDE
	 * the first and the last of its list. */
	struct bp_value_strings strings;
};

/* Whether the rule needs the state of (rule, topic). */
static inline bool bp_rule_spec_stateful(const struct bp_rule_spec *r)
{
	return r->has_clear || r->combination != NULL || r->hold != BP_HOLD_NONE ||
	       r->repeat == BP_REPEAT_ON_CHANGE || r->quiet_ns != 0 || r->deadband != 0;
}

/* Destination of mirrored frames. All fields in network byte order, as in the frame. */
struct bp_mirror_target {
	bool enabled;
	bool has_ip4, has_ip6;
	uint8_t port;   /* index of the output port in the configuration */
	uint8_t mac[6]; /* destination MAC: the edge broker's or its next hop's */
	uint8_t ip4[4];
	uint8_t ip6[16];
	uint16_t tcp_port; /* host byte order */
};

#endif
