/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/convert.h"

#include <string.h>

#include "services/health/copy_text.h"
#include "services/health/sfloat_table.h"
#include "services/health/source.h"
#include "proto/frame.h"

/* Sixteen hex digits at head[at], which come to the head's sum. */
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
	/* the first sixteen go over what the last have too much */
	memcpy(head + at + BP_PHD_RN_TEXT - 16, last, 16);
	sum = put_hex16(head, at, first, sum);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	last[1] >>= 16;
#else
	last[1] <<= 16;
#endif
	return bp_sum_add(sum, bp_sum_moved(last[1], at));
}

/* Header, token and the head of the object's request, patched, and the sum of all that. Returns
 * where the value goes. */
static inline uint8_t *put_head(uint8_t *p, const struct bp_phd_layout *l,
	const struct bp_phd_plan *plan, const struct bp_phd_object *o, unsigned part,
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

/* All but the first with the comma before them. */
static inline uint8_t *put_member_begin(
	uint8_t *p, const struct bp_phd_layout *l, const struct bp_phd_object *o, bool first)
{
	return bp_put_text(p, l->text + o->name - BP_PHD_BEFORE_NAME + first,
		BP_PHD_BEFORE_NAME - first + o->name_len + BP_PHD_BEHIND_NAME);
}

/* The usual member: an SFLOAT that is a number, of a fixed report of one person, without time and
 * status. NULL: it is another. */
static inline uint8_t *put_plain_member(uint8_t *p, const struct bp_phd_layout *l,
	const struct bp_phd_conversion *c, const struct bp_phd_object *o,
	const struct bp_phd_observation *ob, bool first)
{
	const struct bp_phd_sfloat *v = bp_phd_sfloats;

	if (v == NULL || c->mp || c->variable || o->value != BP_PHD_VALUE_SFLOAT ||
		o->time != BP_PHD_TIME_NONE || !bp_phd_fits_map(o, ob->data.p, ob->data.len) ||
		(o->status_at != BP_PHD_NOT_THERE && bp_phd_be16(ob->data.p + o->status_at) != 0))
		return NULL;
	v += bp_phd_be16(ob->data.p + o->value_at);
	if (v->len == 0)
		return NULL;
	p = put_member_begin(p, l, o, first);
	memcpy(p, v, sizeof(*v)); /* what is behind the text is written over */
	return bp_put_text(p + v->len, l->text + o->unit, o->unit_len + BP_PHD_NO_TIME_LEN);
}

/* Those observations of the report that are in this part, as a list. */
static uint8_t *put_list(uint8_t *p, const struct bp_phd_layout *l, struct bp_phd_conversion *c,
	const struct bp_phd_part *part, const uint8_t *entries)
{
	struct bp_phd_observation ob;
	struct bp_phd_reading r;
	struct bp_phd_source s;
	unsigned guess = 0, at = 0;
	bool first = true;
	uint8_t *end;

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
		end = put_plain_member(p, l, c, o, &ob, first);
		if (__builtin_expect(end != NULL, 1)) {
			p = end;
			first = false;
			continue;
		}
		if (!bp_phd_source_read(&r, c, o, &ob))
			continue; /* it was read before: can't be */
		p = put_member_begin(p, l, o, first);
		first = false;
		p = bp_phd_render_reading(p, l, o, &r, &c->odd);
	}
	return bp_put(p, BP_PHD_LIST_END);
}

static uint8_t *put_one(uint8_t *p, const struct bp_phd_layout *l, struct bp_phd_conversion *c,
	const struct bp_phd_part *part, const uint8_t *entries)
{
	const struct bp_phd_object *o = &l->object[part->object];
	const struct bp_phd_observation ob = {
		.person = part->person, .data = {entries + part->first, part->octets}};
	struct bp_phd_reading r;

	if (bp_phd_source_read(&r, c, o, &ob))
		p = bp_phd_render_reading(p, l, o, &r, &c->odd);
	return bp_put(p, BP_PHD_BODY_END);
}

size_t bp_phd_convert_write(const struct bp_phd_layout *l, const struct bp_phd_plan *plan,
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
