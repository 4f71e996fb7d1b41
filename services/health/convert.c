/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/convert.h"

#include <string.h>

#include "proto/net/copy.h"
#include "proto/net/frame.h"
#include "services/health/copy_text.h"
#include "services/health/decode.h"
#include "services/health/source.h"

static enum bp_phd_verdict verdict_of(enum bp_phd_error e)
{
	return e == BP_PHD_E_LENGTH || e == BP_PHD_E_COUNT ? BP_PHD_BAD_LENGTH : BP_PHD_BAD_APDU;
}

/* Strict check of the head of a report: offset and kind of its entries. */
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
	c->bytes = head.list.len;
	c->at = c->bytes != 0 ? (uint16_t)(head.list.p - apdu) : 0;
	return BP_PHD_CONVERT;
}

/* Totals of a loop over the observations. */
struct tally {
	unsigned known, unknown;
	uint32_t list; /* bytes of all, as one list */
};

/* Maximum size in bytes of the text of an observation; 0: none. */
static inline uint32_t bound_of(const struct bp_phd_conversion *c, const struct bp_phd_object *o,
	const struct bp_phd_observation *ob, bool fixed_single)
{
	uint32_t bound = o->bound;

	if (!fixed_single && c->variable) {
		struct bp_phd_decoded r;

		return bp_phd_source_read(&r, c, o, ob) ? bp_phd_render_bound(o, &r) : 0;
	}
	if (!bp_phd_matches_map(o, ob->data.p, ob->data.len))
		return 0;
	if (o->status_at != BP_PHD_NOT_THERE) {
		const uint16_t status = bp_phd_be16(ob->data.p + o->status_at);

		bound += status != 0 ? bp_phd_status_bound(status) : 0;
	}
	return bound + (fixed_single || !c->mp ? 0 : BP_PHD_PERSON_MAX);
}

/* Bytes of a list without its members, and of one member with a value of this length. */
static uint32_t list_frame(const struct bp_phd_layout *l)
{
	return BP_PHD_BEFORE_HEAD + l->object[0].head_len + sizeof(BP_PHD_LIST_END) - 1;
}
static inline uint32_t list_member(const struct bp_phd_object *o, uint32_t bound)
{
	return bound + o->name_len + sizeof(BP_PHD_MEMBER_BEGIN BP_PHD_MEMBER_MIDDLE ",") - 1;
}

/* Walks over the report: each observation of a known object is added to *t, and to part[] if it
 * becomes a separate instance. `fixed_single` is a constant: a fixed report of one person. */
static inline __attribute__((always_inline)) enum bp_phd_verdict walk_report(
	const struct bp_phd_layout *l, const struct bp_phd_settings *plan, const uint8_t *entries,
	struct bp_phd_conversion *c, struct tally *t, bool fixed_single)
{
	const bool alone = plan->per_report == 0;
	struct bp_phd_observation ob;
	struct bp_phd_source s;
	unsigned guess = 0;
	int e;

	bp_phd_source_begin(&s, c, entries);
	while ((e = fixed_single ? bp_phd_source_fixed_single(&s, &ob)
				 : bp_phd_source_next(&s, &ob)) == BP_PHD_OK) {
		const int object = bp_phd_layout_find(l, ob.handle, guess);
		const struct bp_phd_object *o = &l->object[object < 0 ? 0 : object];
		const unsigned at = t->known - c->first_part;
		uint32_t bound;

		if (__builtin_expect(object < 0, 0)) {
			t->unknown++;
			continue;
		}
		bound = bound_of(c, o, &ob, fixed_single);
		if (__builtin_expect(bound == 0, 0))
			return c->variable ? BP_PHD_BAD_LENGTH : BP_PHD_BAD_MAP;
		c->trailing |= !c->variable && ob.data.len > o->fixed_len;
		if (alone && at < BP_PHD_TOKEN_PARTS)
			c->part[at] = (struct bp_phd_part){.n = 1,
				.len = BP_PHD_BEFORE_HEAD + o->head_len + bound +
				       sizeof(BP_PHD_BODY_END) - 1,
				.first = (uint32_t)(ob.data.p - entries),
				.bytes = ob.data.len,
				.object = (uint16_t)object,
				.person = ob.person};
		t->known++;
		t->list += list_member(o, bound);
		guess = (unsigned)object + 1;
	}
	return e == BP_PHD_SCAN_END ? BP_PHD_CONVERT : verdict_of((enum bp_phd_error)e);
}

/* Plans list number `n`, if it is a requested one. */
static void put_list_part(struct bp_phd_conversion *c, unsigned n, const struct bp_phd_part *list)
{
	const unsigned at = n - c->first_part;

	if (n < c->first_part || at >= BP_PHD_TOKEN_PARTS)
		return;
	c->part[at] = *list;
	c->part[at].len += BP_PHD_RENDER_SLACK;
}

/* Splits a report that is one list and longer than a message into several lists. It was validated
 * before. */
static enum bp_phd_verdict split_list(const struct bp_phd_layout *l,
	const struct bp_phd_settings *plan, const uint8_t *entries, struct bp_phd_conversion *c)
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
	const struct bp_phd_layout *l, const struct bp_phd_settings *plan, const uint8_t *apdu,
	unsigned most, struct bp_phd_conversion *c, bool fixed_single)
{
	const uint8_t *entries = apdu + c->at;
	struct tally t = {0};
	enum bp_phd_verdict v = walk_report(l, plan, entries, c, &t, fixed_single);
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
	c->in_place = c->bytes <= sizeof(c->copy);
	if (__builtin_expect(c->in_place, 1))
		bp_copy(c->copy, entries, c->bytes);
	return BP_PHD_CONVERT;
}

static inline enum bp_phd_verdict plan_from(const struct bp_phd_layout *l,
	const struct bp_phd_settings *plan, const uint8_t *apdu, size_t len, unsigned first,
	unsigned most, struct bp_phd_conversion *c)
{
	struct bp_phd_fast f;
	enum bp_phd_verdict v;

	/* part[] and copy[] are written before they are read */
	memset(c, 0, offsetof(struct bp_phd_conversion, part));
	c->first_part = (uint16_t)first;
	if (__builtin_expect(bp_phd_fast_read(apdu, len, &f), 1)) {
		c->answerable = true;
		c->invoke_id = f.invoke_id;
		c->confirmed = f.confirmed;
		c->report_no = f.report_no;
		c->type = BP_PHD_SCAN_FIXED;
		c->at = f.at;
		c->bytes = (uint16_t)(f.end - f.at);
		c->n = f.n;
		return plan_parts(l, plan, apdu, most, c, true);
	}
	v = read_head(apdu, len, c);
	return v == BP_PHD_CONVERT ? plan_parts(l, plan, apdu, most, c, false) : v;
}

enum bp_phd_verdict bp_phd_convert_plan(const struct bp_phd_layout *l,
	const struct bp_phd_settings *plan, const uint8_t *apdu, size_t len,
	struct bp_phd_conversion *c)
{
	return plan_from(l, plan, apdu, len, 0, BP_PHD_TOKEN_PARTS, c);
}

enum bp_phd_verdict bp_phd_convert_plan_from(const struct bp_phd_layout *l,
	const struct bp_phd_settings *plan, const uint8_t *apdu, size_t len, unsigned first,
	struct bp_phd_conversion *c)
{
	if (first > BP_PHD_PARTS_MAX)
		first = BP_PHD_PARTS_MAX;
	return plan_from(l, plan, apdu, len, first, BP_PHD_PARTS_MAX, c);
}

/* ---- writing the requests ---- */

/* Writes sixteen hex digits at head[at] and adds them to the sum of the head. */
static inline uint64_t put_hex16(uint8_t *head, uint16_t at, const uint64_t digits[2], uint64_t sum)
{
	memcpy(head + at, digits, 16);
	return bp_sum_add(sum, bp_sum_moved(bp_sum_add(digits[0], digits[1]), at));
}

/* The name's digits: of the time 8, the life 4, the report's number 8, the part's 2. */
static inline uint64_t put_name(
	uint8_t *head, uint16_t at, const struct bp_phd_identity *id, unsigned part, uint64_t sum)
{
	uint64_t first[2], last[2];

	bp_hex16_words(
		(uint64_t)id->associated_s << 32 | (uint64_t)id->life << 16 | id->report >> 16,
		first);
	bp_hex16_words((uint64_t)id->life << 40 | (uint64_t)id->report << 8 | part, last);
	/* the first sixteen overwrite the excess of the last */
	memcpy(head + at + BP_PHD_RN_TEXT - 16, last, 16);
	sum = put_hex16(head, at, first, sum);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	last[1] >>= 16;
#else
	last[1] <<= 16;
#endif
	return bp_sum_add(sum, bp_sum_moved(last[1], at));
}

/* Writes header, token and the head of the object's request, patched, and their sum. Returns the
 * position of the value. */
static inline uint8_t *put_head(uint8_t *p, const struct bp_phd_layout *l,
	const struct bp_phd_settings *plan, const struct bp_phd_object *o, unsigned part,
	const struct bp_phd_identity *id, struct bp_phd_conversion *c)
{
	const enum bp_coap_type type = plan->con != 0 ? BP_COAP_CON : BP_COAP_NON;
	uint8_t *head = p + BP_PHD_BEFORE_HEAD;
	uint64_t digits[2], sum, token;
	uint32_t first;

	bp_put_be32(p, (1u << 6 | (unsigned)type << 4 | BP_PHD_TOKEN_LEN) << 24 |
			       BP_COAP_POST << 16 | id->mid);
	bp_phd_token_store(p + BP_COAP_HEADER_LEN, id->token);
	memcpy(&first, p, sizeof(first));
	memcpy(&token, p + BP_COAP_HEADER_LEN, sizeof(token));
	sum = bp_sum_add(token, (uint64_t)first + o->head_sum);
	bp_put_text(head, l->text + o->head, o->head_len);
	if (o->patches != 0) {
		bp_hex16_words(bp_phd_load_be64(id->system_id), digits);
		for (unsigned i = 0; i < o->patches; i++)
			sum = put_hex16(head, o->patch[i], digits, sum);
	}
	bp_hex16_words(id->token, digits);
	sum = put_hex16(head, o->rqi, digits, sum);
	if (o->rn != 0)
		sum = put_name(head, o->rn, id, part, sum);
	c->sum = sum;
	c->summed = BP_PHD_BEFORE_HEAD + o->head_len;
	return head + o->head_len;
}

/* All except the first have a leading comma. */
static inline uint8_t *put_member_begin(
	uint8_t *p, const struct bp_phd_layout *l, const struct bp_phd_object *o, bool first)
{
	return bp_put_text(p, l->text + o->name - BP_PHD_BEFORE_NAME + first,
		BP_PHD_BEFORE_NAME - first + o->name_len + BP_PHD_BEHIND_NAME);
}

/* Those observations of the report that are in this part, as a list. */
static uint8_t *put_list(uint8_t *p, const struct bp_phd_layout *l, struct bp_phd_conversion *c,
	const struct bp_phd_part *part, const uint8_t *entries)
{
	struct bp_phd_observation ob;
	struct bp_phd_decoded r;
	struct bp_phd_source s;
	unsigned guess = 0, at = 0;
	bool first = true;

	bp_phd_source_begin(&s, c, entries);
	while (bp_phd_source_next(&s, &ob) == BP_PHD_OK) {
		const int i = bp_phd_layout_find(l, ob.handle, guess);
		const struct bp_phd_object *o;

		if (i < 0 || at++ < part->first)
			continue;
		if (at > part->first + part->n)
			break;
		o = &l->object[i];
		guess = (unsigned)i + 1;
		if (!bp_phd_source_read(&r, c, o, &ob))
			continue; /* cannot happen: it was validated before */
		p = put_member_begin(p, l, o, first);
		first = false;
		p = bp_phd_render_decoded(p, l, o, &r, &c->odd);
	}
	return bp_put(p, BP_PHD_LIST_END);
}

static uint8_t *put_one(uint8_t *p, const struct bp_phd_layout *l, struct bp_phd_conversion *c,
	const struct bp_phd_part *part, const uint8_t *entries)
{
	const struct bp_phd_object *o = &l->object[part->object];
	const struct bp_phd_observation ob = {
		.person = part->person, .data = {entries + part->first, part->bytes}};
	struct bp_phd_decoded r;

	if (bp_phd_source_read(&r, c, o, &ob))
		p = bp_phd_render_decoded(p, l, o, &r, &c->odd);
	return bp_put(p, BP_PHD_BODY_END);
}

size_t bp_phd_convert_write(const struct bp_phd_layout *l, const struct bp_phd_settings *plan,
	const uint8_t *apdu, struct bp_phd_conversion *c, unsigned i,
	const struct bp_phd_identity *id, uint8_t *out, size_t size)
{
	const uint8_t *entries = c->in_place ? c->copy : apdu + c->at;
	const struct bp_phd_part *part = &c->part[i];
	uint8_t *p;

	if (i >= c->parts || size < part->len)
		return 0;
	if (plan->per_report != 0) {
		p = put_head(out, l, plan, &l->object[0], c->first_part + i, id, c);
		p = put_list(p, l, c, part, entries);
	} else {
		p = put_head(out, l, plan, &l->object[part->object], c->first_part + i, id, c);
		p = put_one(p, l, c, part, entries);
	}
	return (size_t)(p - out);
}
