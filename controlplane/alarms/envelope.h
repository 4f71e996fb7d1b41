/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_ENVELOPE_H
#define BP_CONTROLPLANE_ALARMS_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "biplane/alarm.h"

/* A growing text; zero-initialise it, and call bp_text_free() at the end. */
struct bp_text {
	char *data;
	size_t len, size;
};
void bp_text_free(struct bp_text *t);
/* Appends bytes, or a JSON string. False: there is no memory. */
bool bp_text_add(struct bp_text *t, const char *s, size_t len);
bool bp_text_add_string(struct bp_text *t, const char *s, size_t len);

/*
 * The identity of an alarm, as 32 hexadecimal digits: equal for the same raise or clear at all
 * gateways of a fleet, and different for each other one, so that a consumer can drop repetitions.
 */
#define BP_ALARM_UID_LEN 32u
void bp_alarm_uid(const struct bp_alarm *a, char uid[BP_ALARM_UID_LEN + 1]);

/*
 * Writes the alarm as one JSON object without white space:
 *   {"id":..,"uid":..,"rule":..,"state":"raised"|"cleared","severity":..,"value":..,"topic":..,
 *    "client":"10.0.0.5:40312","client_id":.. or null,"time":"2026-11-21T03:04:05.123456789Z",
 *    "qos":..,"levels":{..},"parts":[..],"annotations":{..}}
 * `time` is RFC 3339 in UTC; an IPv6 client is in brackets; the value is the shortest decimal that
 * reads back as the same double. Without a severity, or with annotations NULL (else a JSON object),
 * these members are left out, and so are levels and parts where the rule is no combination. The
 * alarm has passed bp_alarm_valid(). Replaces the contents of t; returns false when there is no
 * memory.
 */
bool bp_envelope(const struct bp_alarm *a, const char *annotations, struct bp_text *t);

#endif
