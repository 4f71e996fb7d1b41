/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_READING_H
#define BP_SERVICES_HEALTH_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/phd_report.h"
#include "shm/health/phd_layout.h"

/* One observation with its parts found: what services/health/convert.c has between reading and
 * writing. */
struct bp_phd_reading {
	uint8_t value;   /* enum bp_phd_value_kind */
	uint8_t time;    /* enum bp_phd_time_kind */
	uint16_t n;      /* numbers of a compound */
	uint16_t status; /* bits; 0: none */
	bool has_unit;   /* a variable report may say it anew */
	bool has_person;
	uint16_t unit, person;
	const uint8_t *number; /* the value's octets; of a compound the first number's */
	const uint8_t *stamp;  /* the time's octets */
};

/* An attribute of an observation that is read. */
struct bp_phd_known {
	uint16_t attr; /* enum bp_phd_attribute */
	uint8_t len;   /* its octets; of a compound those of each number */
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
static inline bool bp_phd_fits_map(const struct bp_phd_object *o, const uint8_t *data, size_t len)
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
static inline bool bp_phd_reading_fixed(
	struct bp_phd_reading *r, const struct bp_phd_object *o, const uint8_t *data, size_t len)
{
	if (!bp_phd_fits_map(o, data, len))
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
bool bp_phd_reading_variable(struct bp_phd_reading *r, const struct bp_phd_observation *ob);

#endif
