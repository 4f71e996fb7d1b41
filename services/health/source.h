/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_SOURCE_H
#define BP_SERVICES_HEALTH_SOURCE_H

#include "services/health/convert.h"
#include "services/health/token.h"
#include "proto/health/coap.h"

/* Declarations shared by evaluating a report and writing its requests: part of convert.c. */

#define BP_PHD_BEFORE_HEAD (BP_COAP_HEADER_LEN + BP_PHD_TOKEN_LEN)

/* Texts in "con" before the value of each observation of a list, and at the end of the body. */
#define BP_PHD_MEMBER_BEGIN "{\\\"o\\\":\\\""
#define BP_PHD_MEMBER_MIDDLE "\\\",\\\"v\\\":"
/* In the text of a layout, these and a comma surround the name. */
#define BP_PHD_BEFORE_NAME (sizeof("," BP_PHD_MEMBER_BEGIN) - 1)
#define BP_PHD_BEHIND_NAME (sizeof(BP_PHD_MEMBER_MIDDLE) - 1)
#define BP_PHD_BODY_END "\"}}"
#define BP_PHD_LIST_END "]" BP_PHD_BODY_END

/* The observations of a report. */
struct bp_phd_source {
	const uint8_t *p, *end; /* fixed_single: the remaining entries */
	unsigned left;
	bool fixed_single;            /* a fixed report of one person */
	struct bp_phd_scan_walk walk; /* else */
};

static inline void bp_phd_source_begin(
	struct bp_phd_source *s, const struct bp_phd_conversion *c, const uint8_t *entries)
{
	s->p = entries;
	s->end = entries + c->bytes;
	s->left = c->n;
	s->fixed_single = !c->mp && !c->variable;
	if (!s->fixed_single) {
		const struct bp_phd_scan_head head = {.report_no = c->report_no,
			.n = c->n,
			.mp = c->mp,
			.scan = c->variable ? BP_PHD_VAR : BP_PHD_FIXED,
			.list = {entries, c->bytes}};

		bp_phd_scan_begin(&s->walk, &head);
	}
}

/* As bp_phd_scan_next(), for the entries of a fixed report of one person. */
static inline int bp_phd_source_fixed_single(struct bp_phd_source *s, struct bp_phd_observation *o)
{
	const size_t there = (size_t)(s->end - s->p);

	if (s->left == 0)
		return there == 0 ? BP_PHD_SCAN_END : BP_PHD_E_COUNT;
	if (there < 4)
		return BP_PHD_E_COUNT;
	o->handle = bp_phd_be16(s->p);
	o->data.len = bp_phd_be16(s->p + 2);
	o->data.p = s->p + 4;
	o->person = 0;
	if (o->data.len > there - 4)
		return BP_PHD_E_LENGTH;
	s->p += 4 + o->data.len;
	s->left--;
	return BP_PHD_OK;
}

static inline int bp_phd_source_next(struct bp_phd_source *s, struct bp_phd_observation *o)
{
	return __builtin_expect(s->fixed_single, 1) ? bp_phd_source_fixed_single(s, o)
						    : bp_phd_scan_next(&s->walk, o);
}

static inline bool bp_phd_source_read(struct bp_phd_decoded *r, const struct bp_phd_conversion *c,
	const struct bp_phd_object *object, const struct bp_phd_observation *o)
{
	const bool good = __builtin_expect(c->variable, 0)
				  ? bp_phd_decode_variable(r, o)
				  : bp_phd_decode_fixed(r, object, o->data.p, o->data.len);

	r->has_person = c->mp;
	r->person = o->person;
	return good;
}

#endif
