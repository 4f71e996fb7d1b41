/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/reading.h"

#define ATTR_TIME_REL 2449 /* MDC_ATTR_TIME_STAMP_REL: u32 of 1/8 ms */

static const struct bp_phd_known known[] = {
	{BP_PHD_ATTR_BASIC, 2, .value = BP_PHD_VALUE_SFLOAT},
	{BP_PHD_ATTR_SIMPLE, 4, .value = BP_PHD_VALUE_FLOAT},
	{BP_PHD_ATTR_TIME_ABS, 8, .time = BP_PHD_TIME_ABSOLUTE},
	{BP_PHD_ATTR_STATUS, 2, 0, 0},
	{BP_PHD_ATTR_COMPOUND_SFLOAT, 2, .value = BP_PHD_VALUE_COMPOUND_SFLOAT},
	{BP_PHD_ATTR_COMPOUND_FLOAT, 4, .value = BP_PHD_VALUE_COMPOUND_FLOAT},
	{BP_PHD_ATTR_BITS16, 2, .value = BP_PHD_VALUE_BITS16},
	{BP_PHD_ATTR_BITS32, 4, .value = BP_PHD_VALUE_BITS32},
	{BP_PHD_ATTR_ENUM_OID, 2, .value = BP_PHD_VALUE_OID},
	{BP_PHD_ATTR_UNIT, 2, 0, 0},
	{BP_PHD_ATTR_TIME_BO, 8, .time = BP_PHD_TIME_BASE_OFFSET},
	{ATTR_TIME_REL, 4, .time = BP_PHD_TIME_RELATIVE},
};

const struct bp_phd_known *bp_phd_known(uint16_t attr)
{
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].attr == attr)
			return &known[i];
	}
	return NULL;
}

/* Whether `value` is count, length and that many numbers of `each` octets. */
static bool compound_fits(struct bp_phd_bytes value, unsigned each)
{
	return value.len >= BP_PHD_COMPOUND_HEAD &&
	       bp_phd_be16(value.p + 2) == value.len - BP_PHD_COMPOUND_HEAD &&
	       bp_phd_be16(value.p) * each == (unsigned)value.len - BP_PHD_COMPOUND_HEAD;
}

static void take(
	struct bp_phd_reading *r, const struct bp_phd_known *k, const struct bp_phd_bytes *value)
{
	if (k->value != BP_PHD_VALUE_NONE && r->value == BP_PHD_VALUE_NONE) {
		r->value = k->value;
		r->number = value->p;
		if (bp_phd_is_compound(k->value)) {
			r->n = bp_phd_be16(value->p);
			r->number += BP_PHD_COMPOUND_HEAD;
		}
	}
	if (k->time != BP_PHD_TIME_NONE && r->time == BP_PHD_TIME_NONE) {
		r->time = k->time;
		r->stamp = value->p;
	}
	if (k->attr == BP_PHD_ATTR_STATUS)
		r->status = bp_phd_be16(value->p);
	if (k->attr == BP_PHD_ATTR_UNIT) {
		r->unit = bp_phd_be16(value->p);
		r->has_unit = true;
	}
}

bool bp_phd_reading_variable(struct bp_phd_reading *r, const struct bp_phd_observation *ob)
{
	struct bp_phd_bytes list = ob->data, value;
	uint16_t attr;

	*r = (struct bp_phd_reading){.value = BP_PHD_VALUE_NONE, .time = BP_PHD_TIME_NONE};
	while (bp_phd_attribute_next(&list, &attr, &value)) {
		const struct bp_phd_known *k = bp_phd_known(attr);

		if (k == NULL)
			continue;
		if (bp_phd_is_compound(k->value) ? !compound_fits(value, k->len)
						 : value.len != k->len)
			return false;
		take(r, k, &value);
	}
	return true;
}
