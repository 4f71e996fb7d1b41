/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_ALARM_PARTS_H
#define BIPLANE_ALARM_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "biplane/alarm.h"
#include "biplane/truth.h"

/*
 * Parts and named levels of a combination's alarm: with BP_ALARM_F_ENVELOPE they are in the place
 * of the payload, as a sequence of these, each followed by two texts without terminators.
 */
enum bp_alarm_part_kind {
	BP_ALARM_PART = 1,  /* texts: the topic of the configuration, and none */
	BP_ALARM_LEVEL = 2, /* texts: the name, and the level of the topic */
};
struct bp_alarm_part {
	double value;    /* NAN: not known */
	uint64_t age_ns; /* of the part's last value at the time of the alarm */
	uint8_t kind;
	uint8_t truth; /* enum bp_truth */
	uint16_t len[2];
	uint16_t pad;
};

/* As many as a valid alarm has: 8 parts and 8 names. */
#define BP_ALARM_PARTS_MAX 16u

struct bp_alarm_part_view {
	struct bp_alarm_part part;
	const char *text[2];
};
/* Reads the one at offset *at of the alarm's payload, and moves *at. False: there is no further
 * valid one. */
static inline bool bp_alarm_part_next(
	const struct bp_alarm *a, uint32_t *at, struct bp_alarm_part_view *v)
{
	const char *p = bp_alarm_payload(a) + *at;
	uint64_t size = sizeof(v->part);

	if ((a->flags & BP_ALARM_F_ENVELOPE) == 0 || a->payload_len - *at < size)
		return false;
	memcpy(&v->part, p, sizeof(v->part));
	size += (uint64_t)v->part.len[0] + v->part.len[1];
	if (a->payload_len - *at < size)
		return false;
	v->text[0] = p + sizeof(v->part);
	v->text[1] = v->text[0] + v->part.len[0];
	*at += (uint32_t)size;
	return true;
}

#endif
