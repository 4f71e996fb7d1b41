/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/convert.h"

#include <string.h>

#include "services/health/source.h"
#include "proto/copy.h"

static enum bp_phd_verdict verdict_of(enum bp_phd_error e)
{
	return e == BP_PHD_E_LENGTH || e == BP_PHD_E_COUNT ? BP_PHD_BAD_LENGTH : BP_PHD_BAD_APDU;
}

/* The report's head, strictly: where its entries are and what they are. */
static enum bp_phd_verdict read_head(const uint8_t *apdu, size_t len, struct bp_phd_conversion *c)
{
	struct bp_phd_apdu a;
	struct bp_phd_event_report event;
	struct bp_phd_scan_head head;
	enum bp_phd_error e = bp_phd_apdu_read(apdu, len, &a);

	if (len >= 4 && bp_phd_be16(apdu) != BP_PHD_PRST)
		return BP_PHD_NOT_REPORT;
	if (a.invoke_id_known) {
		c->answerable = true;
		c->invoke_id = a.prst.invoke_id;
		c->confirmed = a.prst.choice == BP_PHD_EVENT_CONFIRMED;
	}
	if (e != BP_PHD_OK)
		return verdict_of(e);
	if (a.prst.choice != BP_PHD_EVENT && a.prst.choice != BP_PHD_EVENT_CONFIRMED)
		return BP_PHD_NOT_REPORT;
	e = bp_phd_event_read(a.prst.body, &event);
	if (e != BP_PHD_OK)
		return verdict_of(e);
	if (event.type < BP_PHD_SCAN_FIXED || event.type > BP_PHD_SCAN_MP_VAR)
		return BP_PHD_NOT_REPORT;
	c->type = event.type;
	if (event.handle != 0)
		return BP_PHD_BAD_HANDLE;
	e = bp_phd_scan_read(event.type, event.info, &head);
	if (e != BP_PHD_OK)
		return verdict_of(e);
	c->report_no = head.report_no;
	c->trailing = head.trailing != 0;
	c->mp = head.mp;
	c->variable = head.scan == BP_PHD_VAR;
	c->n = head.n;
	c->octets = head.list.len;
	c->at = c->octets != 0 ? (uint16_t)(head.list.p - apdu) : 0;
	return BP_PHD_CONVERT;
}

/* What a loop over the observations adds up. */
struct tally {
	unsigned known, unknown;
	uint32_t list; /* octets of all, as one list */
};

/* How many octets an observation may become; 0: it is none. */
static inline uint32_t bound_of(const struct bp_phd_conversion *c, const struct bp_phd_object *o,
	const struct bp_phd_observation *ob, bool straight)
{
	uint32_t bound = o->bound;

	if (!straight && c->variable) {
		struct bp_phd_reading r;

		return bp_phd_source_read(&r, c, o, ob) ? bp_phd_render_bound(o, &r) : 0;
	}
	if (!bp_phd_fits_map(o, ob->data.p, ob->data.len))
		return 0;
	if (o->status_at != BP_PHD_NOT_THERE) {
		const uint16_t status = bp_phd_be16(ob->data.p + o->status_at);

		bound += status != 0 ? bp_phd_status_bound(status) : 0;
	}
	return bound + (straight || !c->mp ? 0 : BP_PHD_PERSON_MAX);
}

/* Octets of a list besides its members, and of one member whose value becomes so long. */
static uint32_t list_frame(const struct bp_phd_layout *l)
{
	return BP_PHD_BEFORE_HEAD + l->object[0].head_len + sizeof(BP_PHD_LIST_END) - 1;
}
static inline uint32_t list_member(const struct bp_phd_object *o, uint32_t bound)
{
	return bound + o->name_len + sizeof(BP_PHD_MEMBER_BEGIN BP_PHD_MEMBER_MIDDLE ",") - 1;
}

/* Walks the report: each observation of a known object is added to *t, and to part[] where it is
 * one by itself. `straight` is a constant: a fixed report of one person. */
static inline __attribute__((always_inline)) enum bp_phd_verdict walk_report(
	const struct bp_phd_layout *l, const struct bp_phd_plan *plan, const uint8_t *entries,
	struct bp_phd_conversion *c, struct tally *t, bool straight)
{
	const bool alone = plan->per_report == 0;
	struct bp_phd_observation ob;
	struct bp_phd_source s;
	unsigned guess = 0;
	int e;

	bp_phd_source_begin(&s, c, entries);
	while ((e = straight ? bp_phd_source_straight(&s, &ob) : bp_phd_source_next(&s, &ob)) ==
		BP_PHD_OK) {
		const int object = bp_phd_layout_find(l, ob.handle, guess);
		const struct bp_phd_object *o = &l->object[object < 0 ? 0 : object];
		const unsigned at = t->known - c->first_part;
		uint32_t bound;

		if (__builtin_expect(object < 0, 0)) {
			t->unknown++;
			continue;
		}
		bound = bound_of(c, o, &ob, straight);
		if (__builtin_expect(bound == 0, 0))
			return c->variable ? BP_PHD_BAD_LENGTH : BP_PHD_BAD_MAP;
		c->trailing |= !c->variable && ob.data.len > o->fixed_len;
		if (alone && at < BP_PHD_TOKEN_PARTS)
			c->part[at] = (struct bp_phd_part){.n = 1,
				.len = BP_PHD_BEFORE_HEAD + o->head_len + bound +
				       sizeof(BP_PHD_BODY_END) - 1,
				.first = (uint32_t)(ob.data.p - entries),
				.octets = ob.data.len,
				.object = (uint16_t)object,
				.person = ob.person};
		t->known++;
		t->list += list_member(o, bound);
		guess = (unsigned)object + 1;
	}
	return e == BP_PHD_SCAN_END ? BP_PHD_CONVERT : verdict_of((enum bp_phd_error)e);
}

/* List number `n` is planned, if it is one of those that are asked for. */
static void put_list_part(struct bp_phd_conversion *c, unsigned n, const struct bp_phd_part *list)
{
	const unsigned at = n - c->first_part;

	if (n < c->first_part || at >= BP_PHD_TOKEN_PARTS)
		return;
	c->part[at] = *list;
	c->part[at].len += BP_PHD_RENDER_SLACK;
}

/* A report that is one list, and longer than a message: as several. It was walked before. */
static enum bp_phd_verdict split_list(const struct bp_phd_layout *l, const struct bp_phd_plan *plan,
	const uint8_t *entries, struct bp_phd_conversion *c)
{
	struct bp_phd_part list = {.len = list_frame(l)};
	struct bp_phd_observation ob;
	struct bp_phd_source s;
	unsigned guess = 0, n = 0;

	bp_phd_source_begin(&s, c, entries);
	while (bp_phd_source_next(&s, &ob) == BP_PHD_OK) {
		const int object = bp_phd_layout_find(l, ob.handle, guess);
		const struct bp_phd_object *o = &l->object[object < 0 ? 0 : object];
		uint32_t member;

		if (object < 0)
			continue;
		member = list_member(o, bound_of(c, o, &ob, false));
		if (list.n != 0 && list.len + member > plan->max_message) {
			put_list_part(c, n++, &list);
			list = (struct bp_phd_part){
				.len = list_frame(l), .first = list.first + list.n};
		}
		list.n++;
		list.len += member;
		if (list.len > plan->max_message)
			return BP_PHD_SLOW;
		guess = (unsigned)object + 1;
	}
	put_list_part(c, n++, &list);
	c->parts = c->total = (uint16_t)n;
	if (n > BP_PHD_PARTS_MAX || n <= c->first_part)
		return BP_PHD_SLOW;
	n -= c->first_part;
	c->parts = (uint16_t)(n < BP_PHD_TOKEN_PARTS ? n : BP_PHD_TOKEN_PARTS);
	return BP_PHD_CONVERT;
}

static inline __attribute__((always_inline)) enum bp_phd_verdict plan_parts(
	const struct bp_phd_layout *l, const struct bp_phd_plan *plan, const uint8_t *apdu,
	unsigned most, struct bp_phd_conversion *c, bool straight)
{
	const uint8_t *entries = apdu + c->at;
	struct tally t = {0};
	enum bp_phd_verdict v = walk_report(l, plan, entries, c, &t, straight);
	unsigned parts = t.known;

	c->observations = (uint16_t)t.known;
	c->unknown_handles = (uint16_t)t.unknown;
	if (v != BP_PHD_CONVERT)
		return v;
	if (t.known == 0)
		return t.unknown == 0 ? BP_PHD_EMPTY : BP_PHD_NO_HANDLE;
	if (plan->per_report != 0) {
		parts = 1;
		c->part[0] = (struct bp_phd_part){.n = t.known, .len = list_frame(l) + t.list};
		if (__builtin_expect(c->part[0].len > plan->max_message, 0))
			return most > BP_PHD_TOKEN_PARTS ? split_list(l, plan, entries, c)
							 : BP_PHD_SLOW;
	}
	c->parts = c->total = (uint16_t)parts;
	if (__builtin_expect(parts > most || parts <= c->first_part, 0))
		return BP_PHD_SLOW;
	parts -= c->first_part;
	if (__builtin_expect(parts > BP_PHD_TOKEN_PARTS, 0))
		parts = BP_PHD_TOKEN_PARTS;
	c->parts = (uint16_t)parts;
	for (unsigned i = 0; i < parts; i++) {
		if (c->part[i].len > plan->max_message)
			return BP_PHD_SLOW;
		c->part[i].len += BP_PHD_RENDER_SLACK;
	}
	c->in_place = c->octets <= sizeof(c->copy);
	if (__builtin_expect(c->in_place, 1))
		bp_copy(c->copy, entries, c->octets);
	return BP_PHD_CONVERT;
}

static inline enum bp_phd_verdict plan_from(const struct bp_phd_layout *l,
	const struct bp_phd_plan *plan, const uint8_t *apdu, size_t len, unsigned first,
	unsigned most, struct bp_phd_conversion *c)
{
	struct bp_phd_fast f;
	enum bp_phd_verdict v;

	/* part[] and copy[] are written as they are used */
	memset(c, 0, offsetof(struct bp_phd_conversion, part));
	c->first_part = (uint16_t)first;
	if (__builtin_expect(bp_phd_fast_read(apdu, len, &f), 1)) {
		c->answerable = true;
		c->invoke_id = f.invoke_id;
		c->confirmed = f.confirmed;
		c->report_no = f.report_no;
		c->type = BP_PHD_SCAN_FIXED;
		c->at = f.at;
		c->octets = (uint16_t)(f.end - f.at);
		c->n = f.n;
		return plan_parts(l, plan, apdu, most, c, true);
	}
	v = read_head(apdu, len, c);
	return v == BP_PHD_CONVERT ? plan_parts(l, plan, apdu, most, c, false) : v;
}

enum bp_phd_verdict bp_phd_convert_plan(const struct bp_phd_layout *l,
	const struct bp_phd_plan *plan, const uint8_t *apdu, size_t len,
	struct bp_phd_conversion *c)
{
	return plan_from(l, plan, apdu, len, 0, BP_PHD_TOKEN_PARTS, c);
}

enum bp_phd_verdict bp_phd_convert_plan_from(const struct bp_phd_layout *l,
	const struct bp_phd_plan *plan, const uint8_t *apdu, size_t len, unsigned first,
	struct bp_phd_conversion *c)
{
	if (first > BP_PHD_PARTS_MAX)
		first = BP_PHD_PARTS_MAX;
	return plan_from(l, plan, apdu, len, first, BP_PHD_PARTS_MAX, c);
}
