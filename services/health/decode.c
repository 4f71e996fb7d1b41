/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/decode.h"

#include <stdio.h>
#include <string.h>

#include "proto/net/frame.h"
#include "proto/health/phd_names.h"
#include "proto/health/phd_value.h"
#include "services/health/copy_text.h"

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

/* Whether `value` has a count, a length and that many numbers of `each` bytes. */
static bool compound_valid(struct bp_phd_bytes value, unsigned each)
{
	return value.len >= BP_PHD_COMPOUND_HEAD &&
	       bp_phd_be16(value.p + 2) == value.len - BP_PHD_COMPOUND_HEAD &&
	       bp_phd_be16(value.p) * each == (unsigned)value.len - BP_PHD_COMPOUND_HEAD;
}

static void take(
	struct bp_phd_decoded *r, const struct bp_phd_known *k, const struct bp_phd_bytes *value)
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

bool bp_phd_decode_variable(struct bp_phd_decoded *r, const struct bp_phd_observation *ob)
{
	struct bp_phd_bytes list = ob->data, value;
	uint16_t attr;

	*r = (struct bp_phd_decoded){.value = BP_PHD_VALUE_NONE, .time = BP_PHD_TIME_NONE};
	while (bp_phd_attribute_next(&list, &attr, &value)) {
		const struct bp_phd_known *k = bp_phd_known(attr);

		if (k == NULL)
			continue;
		if (bp_phd_is_compound(k->value) ? !compound_valid(value, k->len)
						 : value.len != k->len)
			return false;
		take(r, k, &value);
	}
	return true;
}

/* ---- text of SFLOATs ---- */

static struct bp_phd_sfloat table[UINT16_MAX + 1] __attribute__((aligned(64)));
const struct bp_phd_sfloat *bp_phd_sfloats;

void bp_phd_sfloat_prepare(void)
{
	if (bp_phd_sfloats != NULL)
		return;
	for (uint32_t v = 0; v <= UINT16_MAX; v++) {
		enum bp_phd_special special;
		char text[BP_PHD_NUMBER_MAX];
		const unsigned n = bp_phd_sfloat_text((uint16_t)v, text, &special);

		memcpy(table[v].text, text, n);
		table[v].sum = bp_sum_fold(bp_sum((const uint8_t *)text, n, 0));
		table[v].len = (uint8_t)n;
	}
	bp_phd_sfloats = table;
}

#define QUOTE BP_PHD_QUOTE
#define KEY(name) BP_PHD_KEY(name)

unsigned bp_phd_unit_text(uint16_t unit, char out[BP_PHD_UNIT_TEXT_MAX])
{
	const char *name = bp_phd_unit_name(unit);
	int n;

	if (unit == 0)
		n = snprintf(out, BP_PHD_UNIT_TEXT_MAX, KEY("u") "null" KEY("t"));
	else if (name != NULL && strlen(name) <= 32)
		n = snprintf(out, BP_PHD_UNIT_TEXT_MAX, KEY("u") QUOTE "%s" QUOTE KEY("t"), name);
	else
		n = snprintf(out, BP_PHD_UNIT_TEXT_MAX, KEY("u") QUOTE "%u" QUOTE KEY("t"), unit);
	return (unsigned)n;
}

/* ---- values ---- */

static __attribute__((noinline)) uint8_t *put_why(uint8_t *p, const char *why)
{
	p = bp_put(p, KEY("why") QUOTE);
	p = bp_put_bytes(p, why, strlen(why));
	return bp_put(p, QUOTE);
}

static inline uint8_t *put_number(
	uint8_t *p, const uint8_t *number, bool is_short, enum bp_phd_special *special)
{
	const unsigned n = is_short ? bp_phd_sfloat_text(bp_phd_be16(number), (char *)p, special)
				    : bp_phd_float_text(bp_phd_be32(number), (char *)p, special);

	return __builtin_expect(n != 0, 1) ? p + n : bp_put(p, "null");
}

static __attribute__((noinline)) uint8_t *put_compound(uint8_t *p, const struct bp_phd_layout *l,
	const struct bp_phd_object *o, const struct bp_phd_decoded *r, struct bp_phd_oddities *odd)
{
	const bool is_short = r->value == BP_PHD_VALUE_COMPOUND_SFLOAT;
	enum bp_phd_special first = BP_PHD_FINITE, special;

	*p++ = '[';
	for (unsigned i = 0; i < r->n; i++) {
		if (i != 0)
			*p++ = ',';
		p = put_number(p, r->number + (size_t)i * (is_short ? 2 : 4), is_short, &special);
		if (special == BP_PHD_FINITE)
			continue;
		odd->special_values++;
		if (first == BP_PHD_FINITE)
			first = special;
	}
	*p++ = ']';
	if (first != BP_PHD_FINITE)
		p = put_why(p, bp_phd_special_text[first]);
	if (r->n == o->value_n)
		p = bp_put_bytes(p, l->text + o->ids, o->ids_len);
	return p;
}

static __attribute__((noinline)) uint8_t *put_other(uint8_t *p, const struct bp_phd_decoded *r)
{
	switch (r->value) {
	case BP_PHD_VALUE_BITS16:
		p = bp_put(p, QUOTE);
		p = bp_put_hex(p, bp_phd_be16(r->number), 4);
		return bp_put(p, QUOTE);
	case BP_PHD_VALUE_BITS32:
		p = bp_put(p, QUOTE);
		p = bp_put_hex(p, bp_phd_be32(r->number), 8);
		return bp_put(p, QUOTE);
	case BP_PHD_VALUE_OID:
		return bp_put_decimal(p, bp_phd_be16(r->number));
	default:
		return put_why(bp_put(p, "null"), "absent");
	}
}

/* A numeric SFLOAT, from the table of texts. NULL: a special value. */
static inline uint8_t *put_sfloat_text(uint8_t *p, const struct bp_phd_decoded *r)
{
	const struct bp_phd_sfloat *text = bp_phd_sfloats;

	if (r->value != BP_PHD_VALUE_SFLOAT || text == NULL)
		return NULL;
	text += bp_phd_be16(r->number);
	memcpy(p, text, sizeof(*text)); /* the bytes after the text are overwritten */
	return text->len != 0 ? p + text->len : NULL;
}

static inline uint8_t *put_value(uint8_t *p, const struct bp_phd_layout *l,
	const struct bp_phd_object *o, const struct bp_phd_decoded *r, struct bp_phd_oddities *odd)
{
	enum bp_phd_special special;
	uint8_t *end = put_sfloat_text(p, r);

	if (__builtin_expect(end != NULL, 1))
		return end;
	if (__builtin_expect(
		    r->value == BP_PHD_VALUE_SFLOAT || r->value == BP_PHD_VALUE_FLOAT, 1)) {
		p = put_number(p, r->number, r->value == BP_PHD_VALUE_SFLOAT, &special);
		if (__builtin_expect(special != BP_PHD_FINITE, 0)) {
			odd->special_values++;
			p = put_why(p, bp_phd_special_text[special]);
		}
		return p;
	}
	if (bp_phd_is_compound(r->value))
		return put_compound(p, l, o, r, odd);
	return put_other(p, r);
}

/* ---- times ---- */

/* 1/8 ms as seconds, exactly. */
static uint8_t *put_relative(uint8_t *p, uint32_t ticks)
{
	uint32_t rest = ticks % 8000 * 125;

	p = bp_put(p, "null" KEY("r"));
	p = bp_put_decimal(p, ticks / 8000);
	*p++ = '.';
	for (uint32_t unit = 100000; unit != 0; unit /= 10) {
		*p++ = (uint8_t)('0' + rest / unit);
		rest %= unit;
	}
	return p;
}

static inline uint8_t *put_time(
	uint8_t *p, const struct bp_phd_decoded *r, struct bp_phd_oddities *odd)
{
	unsigned n;

	if (r->time == BP_PHD_TIME_NONE)
		return bp_put(p, "null");
	if (r->time == BP_PHD_TIME_RELATIVE)
		return put_relative(p, bp_phd_be32(r->stamp));
	if (r->time == BP_PHD_TIME_ABSOLUTE)
		n = bp_phd_abs_time_text(r->stamp, (char *)p + sizeof(QUOTE) - 1);
	else
		n = bp_phd_bo_time_text(r->stamp, (char *)p + sizeof(QUOTE) - 1);
	if (__builtin_expect(n == 0, 0)) {
		odd->bad_times++;
		return bp_put(p, "null");
	}
	p = bp_put(p, QUOTE);
	return bp_put(p + n, QUOTE);
}

/* ---- status and person ---- */

/* MeasurementStatus (20601 A.3.3.8), from the top bit. */
static const char *const status_names[16] = {
	"invalid",
	"questionable",
	"not-available",
	"calibration-ongoing",
	"test-data",
	"demo-data",
	[8] = "validated-data",
	"early-indication",
	"msmt-ongoing",
};

/* The name of a bit without a name: "bit-" and its number. */
static uint8_t *put_status(uint8_t *p, uint16_t status)
{
	const char *separator = "";

	p = bp_put(p, KEY("s") QUOTE);
	for (unsigned i = 0; i < 16; i++) {
		if ((status & 0x8000u >> i) == 0)
			continue;
		p = bp_put_bytes(p, separator, strlen(separator));
		if (status_names[i] != NULL)
			p = bp_put_bytes(p, status_names[i], strlen(status_names[i]));
		else
			p = bp_put_decimal(bp_put(p, "bit-"), i);
		separator = ",";
	}
	return bp_put(p, QUOTE);
}

uint32_t bp_phd_status_bound(uint16_t status)
{
	uint32_t n = sizeof(KEY("s") QUOTE QUOTE) - 1;

	for (unsigned i = 0; i < 16; i++) {
		if ((status & 0x8000u >> i) != 0)
			n += 1 + (status_names[i] != NULL ? (uint32_t)strlen(status_names[i])
							  : sizeof("bit-15") - 1);
	}
	return n;
}

static __attribute__((noinline)) uint8_t *put_rest(uint8_t *p, const struct bp_phd_decoded *r)
{
	if (r->status != 0)
		p = put_status(p, r->status);
	if (r->has_person)
		p = bp_put_decimal(bp_put(p, KEY("p")), r->person);
	return p;
}

/* ---- complete observations ---- */

uint8_t *bp_phd_render_decoded(uint8_t *p, const struct bp_phd_layout *l,
	const struct bp_phd_object *o, const struct bp_phd_decoded *r, struct bp_phd_oddities *odd)
{
	p = put_value(p, l, o, r, odd);
	if (__builtin_expect(
		    r->time == BP_PHD_TIME_NONE && !r->has_unit && r->status == 0 && !r->has_person,
		    1))
		return bp_put_text(p, l->text + o->unit, o->unit_len + BP_PHD_NO_TIME_LEN);
	if (__builtin_expect(r->has_unit, 0))
		p += bp_phd_unit_text(r->unit, (char *)p);
	else
		p = bp_put_text(p, l->text + o->unit, o->unit_len);
	p = put_time(p, r, odd);
	if (__builtin_expect(r->status != 0 || r->has_person, 0))
		p = put_rest(p, r);
	*p++ = '}';
	return p;
}
