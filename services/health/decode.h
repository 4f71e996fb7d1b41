/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_DECODE_H
#define BP_SERVICES_HEALTH_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/health/phd_report.h"
#include "proto/health/phd_value.h"
#include "shm/health/phd_layout.h"

/* One parsed observation: the intermediate form of services/health/convert.c between reading and
 * writing. */
struct bp_phd_decoded {
	uint8_t value;   /* enum bp_phd_value_kind */
	uint8_t time;    /* enum bp_phd_time_kind */
	uint16_t n;      /* numbers of a compound */
	uint16_t status; /* bits; 0: none */
	bool has_unit;   /* a variable report may contain it again */
	bool has_person;
	uint16_t unit, person;
	const uint8_t
		*number; /* the bytes of the value; for a compound, those of the first number */
	const uint8_t *stamp; /* the bytes of the time */
};

/* An attribute of an observation that is read. */
struct bp_phd_known {
	uint16_t attr; /* enum bp_phd_attribute */
	uint8_t len;   /* its length, bytes; for a compound that of each number */
	uint8_t value; /* enum bp_phd_value_kind, or NONE */
	uint8_t time;  /* enum bp_phd_time_kind, or NONE */
};
/* NULL: it is passed over. */
const struct bp_phd_known *bp_phd_known(uint16_t attr);

#define BP_PHD_COMPOUND_HEAD 4u /* count u16, length u16 */

static inline uint16_t bp_phd_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}
static inline uint32_t bp_phd_be32(const uint8_t *p)
{
	return (uint32_t)bp_phd_be16(p) << 16 | bp_phd_be16(p + 2);
}
static inline bool bp_phd_is_compound(uint8_t value)
{
	return value == BP_PHD_VALUE_COMPOUND_SFLOAT || value == BP_PHD_VALUE_COMPOUND_FLOAT;
}

/*
 * Whether data[0..len), an observation of a fixed report, is what the object's map says. Agents
 * append a time stamp that their map does not declare, of 8 bytes (absolute, base offset) or 4
 * (relative): the places of the values before it are certain, and it is ignored. Any other length
 * may be another map's.
 */
static inline bool bp_phd_matches_map(
	const struct bp_phd_object *o, const uint8_t *data, size_t len)
{
	const size_t extra = len - o->fixed_len;

	if ((extra != 0 && extra != 4 && extra != 8) || o->fixed_len == 0)
		return false;
	if (__builtin_expect(bp_phd_is_compound(o->value), 0)) {
		const unsigned each = o->value == BP_PHD_VALUE_COMPOUND_SFLOAT ? 2 : 4;

		return bp_phd_be16(data + o->value_at) == o->value_n &&
		       bp_phd_be16(data + o->value_at + 2) == o->value_n * each;
	}
	return true;
}

/*
 * The parts of data[0..len), an observation of a fixed report, by the object's map. False when it
 * contradicts the map.
 */
static inline bool bp_phd_decode_fixed(
	struct bp_phd_decoded *r, const struct bp_phd_object *o, const uint8_t *data, size_t len)
{
	if (!bp_phd_matches_map(o, data, len))
		return false;
	r->value = o->value;
	r->time = o->time;
	r->n = o->value_n;
	r->status = 0;
	r->has_unit = r->has_person = false;
	r->number = data + o->value_at;
	r->stamp = data + o->time_at;
	if (o->status_at != BP_PHD_NOT_THERE)
		r->status = bp_phd_be16(data + o->status_at);
	if (__builtin_expect(bp_phd_is_compound(o->value), 0))
		r->number += BP_PHD_COMPOUND_HEAD;
	return true;
}

/*
 * The same for an observation of a variable report; of several values or times the first is taken.
 * False when an attribute that is read does not have the length of its type.
 */
bool bp_phd_decode_variable(struct bp_phd_decoded *r, const struct bp_phd_observation *ob);

/*
 * The text of each of the 65,536 SFLOATs, as bp_phd_sfloat_text() writes it: one megabyte, of which
 * a ward's readings use a few cache lines. Generating the text each time took a third of the time
 * of a report.
 */
struct bp_phd_sfloat {
	char text[12]; /* the longest is -20480000000 */
	uint16_t sum;  /* folded bp_sum() of the text, as if it began at an even offset */
	uint8_t len;   /* 0: it is none of the numbers */
	uint8_t pad;
};
_Static_assert(sizeof(struct bp_phd_sfloat) == 16, "one load");

/* NULL as long as bp_phd_sfloat_prepare() was not called: everything works without it, slower. */
extern const struct bp_phd_sfloat *bp_phd_sfloats;

/* Once, before the threads that convert. */
void bp_phd_sfloat_prepare(void);

/*
 * Writes a reading as JSON inside a JSON string (the content of the instance), so each quotation
 * mark has a backslash:
 *
 *   {"v":97.5,"u":"%","t":"2026-01-01T12:00:00.00"}
 *
 * v: the number with the digits that the device sent; a list for a compound; hexadecimal text for
 * bits; a number for an enumeration code; null for a special value, and "why" is then NaN, NRes,
 * +INF, -INF, reserved, or absent. n: the names of the numbers of a compound. u, t: null where
 * there is none or the time is invalid. r: seconds since the device's own epoch, where the device
 * has no time of day. s: status bits of the measurement. p: the person.
 */

/* Headroom, bytes: copies of whole vectors may write this far past the requested length. */
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

/* The end of an observation without a time; in the text of a layout it follows the unit. */
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

/* The complete ,"s":"..." of a status that is not 0. */
uint32_t bp_phd_status_bound(uint16_t status);

/* Maximum length of the output of bp_phd_render_decoded(), bytes, without the slack. */
static inline uint32_t bp_phd_render_bound(
	const struct bp_phd_object *o, const struct bp_phd_decoded *r)
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
	const struct bp_phd_decoded r = {.value = o->value, .time = o->time, .n = o->value_n};

	return bp_phd_render_bound(o, &r);
}

/* Writes the part from the value to the closing brace; the part before it is text of the layout
 * `l`. Returns the end. */
uint8_t *bp_phd_render_decoded(uint8_t *p, const struct bp_phd_layout *l,
	const struct bp_phd_object *o, const struct bp_phd_decoded *r, struct bp_phd_oddities *odd);

#endif
