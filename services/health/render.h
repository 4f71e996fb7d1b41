/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_RENDER_H
#define BP_SERVICES_HEALTH_RENDER_H

#include "services/health/reading.h"
#include "proto/phd_value.h"
#include "shm/health/phd_layout.h"

/*
 * Writes a reading as JSON that stands in a JSON string (the instance's content), so that each
 * quotation mark has a backslash:
 *
 *   {"v":97.5,"u":"%","t":"2026-01-01T12:00:00.00"}
 *
 * v: the number as the device sent it, digit by digit; of a compound a list; bits in hexadecimal as
 * a text, the code of an enumeration as a number; null for what is none, and "why" says NaN, NRes,
 * +INF, -INF, reserved, or absent. n: the names of a compound's numbers. u, t: null where there is
 * none, or the time is none. r: seconds since the device's own beginning, where it has no time of
 * day. s: bits of the measurement's status. p: the person.
 */

/* Room that copies in whole vectors may write to beyond what they are asked for. */
#define BP_PHD_RENDER_SLACK 32u

/* ,"u":"%","t": of that unit; returns its length. */
#define BP_PHD_UNIT_TEXT_MAX 64u
unsigned bp_phd_unit_text(uint16_t unit, char out[BP_PHD_UNIT_TEXT_MAX]);

struct bp_phd_oddities {
	uint16_t special_values, bad_times;
};

#define BP_PHD_QUOTE "\\\""
/* ,"key": in a JSON string */
#define BP_PHD_KEY(name) "," BP_PHD_QUOTE name BP_PHD_QUOTE ":"

/* What ends an observation without a time; in a layout's text it stands behind the unit. */
#define BP_PHD_NO_TIME "null}"
#define BP_PHD_NO_TIME_LEN (sizeof(BP_PHD_NO_TIME) - 1)

/* The longest of each. */
#define BP_PHD_NOT_A_NUMBER "null" BP_PHD_KEY("why") BP_PHD_QUOTE "reserved" BP_PHD_QUOTE
#define BP_PHD_SCALAR_MAX (sizeof(BP_PHD_NOT_A_NUMBER) - 1)
#define BP_PHD_STAMP_MAX (2 * (sizeof(BP_PHD_QUOTE) - 1) + BP_PHD_TIME_MAX)
#define BP_PHD_RELATIVE_MAX (sizeof("null" BP_PHD_KEY("r") "536870.911875") - 1)
#define BP_PHD_PERSON_MAX (sizeof(BP_PHD_KEY("p") "65535") - 1)
_Static_assert(
	BP_PHD_SCALAR_MAX >= BP_PHD_NUMBER_MAX && BP_PHD_SCALAR_MAX >= 8 + 4, "a value fits");

/* Of a status that is not 0, all of ,"s":"..." */
uint32_t bp_phd_status_bound(uint16_t status);

/* At most so many octets come of bp_phd_render_reading(), beside the slack. */
static inline uint32_t bp_phd_render_bound(
	const struct bp_phd_object *o, const struct bp_phd_reading *r)
{
	uint32_t n = BP_PHD_SCALAR_MAX + 1; /* the brace */

	if (bp_phd_is_compound(r->value))
		n += 2 + (uint32_t)r->n * (BP_PHD_NUMBER_MAX + 1) + o->ids_len;
	n += r->has_unit ? BP_PHD_UNIT_TEXT_MAX : o->unit_len;
	if (r->time == BP_PHD_TIME_NONE)
		n += sizeof("null") - 1;
	else
		n += r->time == BP_PHD_TIME_RELATIVE ? BP_PHD_RELATIVE_MAX : BP_PHD_STAMP_MAX;
	if (r->status != 0)
		n += bp_phd_status_bound(r->status);
	if (r->has_person)
		n += BP_PHD_PERSON_MAX;
	return n;
}

/* The bound of a fixed observation without status: bp_phd_object.bound. */
static inline uint32_t bp_phd_render_bound_fixed(const struct bp_phd_object *o)
{
	const struct bp_phd_reading r = {.value = o->value, .time = o->time, .n = o->value_n};

	return bp_phd_render_bound(o, &r);
}

/* Everything from the value to the closing brace; what is before it is text of the layout `l`.
 * Returns the end. */
uint8_t *bp_phd_render_reading(uint8_t *p, const struct bp_phd_layout *l,
	const struct bp_phd_object *o, const struct bp_phd_reading *r, struct bp_phd_oddities *odd);

#endif
