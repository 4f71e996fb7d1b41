/* SPDX-License-Identifier: BSD-3-Clause */
#include "phd/convert.h"

#include <string.h>

#include "phd/copy_text.h"
#include "phd/source.h"

/* Header, token and the head of the object's request, patched. Returns where the value goes. */
static inline uint8_t *put_head(uint8_t *p, const struct bp_phd_layout *l,
	const struct bp_phd_plan *plan, const struct bp_phd_object *o, unsigned part,
	const struct bp_phd_identity *id)
{
	const enum bp_coap_type type = plan->con != 0 ? BP_COAP_CON : BP_COAP_NON;
	uint8_t *head = p + BP_PHD_BEFORE_HEAD;
	uint64_t system_id[2];

	p[0] = (uint8_t)(1u << 6 | (unsigned)type << 4 | BP_PHD_TOKEN_LEN);
	p[1] = BP_COAP_POST;
	p[2] = (uint8_t)(id->mid >> 8);
	p[3] = (uint8_t)id->mid;
	bp_phd_token_store(p + BP_COAP_HEADER_LEN, id->token);
	memcpy(head, l->text + o->head, o->head_len);
	if (o->patches != 0) {
		bp_hex16((uint8_t *)system_id, bp_phd_load_be64(id->system_id));
		for (unsigned i = 0; i < o->patches; i++)
			memcpy(head + o->patch[i], system_id, sizeof(system_id));
	}
	bp_hex16(head + o->rqi, id->token);
	if (o->rn != 0) {
		uint8_t *rn = head + o->rn;

		/* digits: of the time 8, the life 4, the report's number 8, the part's 2; the first
		 * sixteen go over what the last have too much */
		bp_hex16(rn + BP_PHD_RN_TEXT - 16,
			(uint64_t)id->life << 40 | (uint64_t)id->report << 8 | part);
		bp_hex16(rn, (uint64_t)id->associated_s << 32 | (uint64_t)id->life << 16 |
				     id->report >> 16);
	}
	return head + o->head_len;
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

	bp_phd_source_begin(&s, c, entries);
	while (bp_phd_source_next(&s, &ob) == BP_PHD_OK) {
		const int i = bp_phd_layout_find(l, ob.handle, guess);
		const struct bp_phd_object *o;

		if (i < 0 || at++ < part->first)
			continue;
		if (at > part->first + part->n)
			break;
		o = &l->object[i];
		if (!bp_phd_source_read(&r, c, o, &ob))
			continue; /* it was read before: can't be */
		/* all but the first with the comma before them */
		p = bp_put_text(p, l->text + o->name - BP_PHD_BEFORE_NAME + first,
			BP_PHD_BEFORE_NAME - first + o->name_len + BP_PHD_BEHIND_NAME);
		first = false;
		p = bp_phd_render_reading(p, l, o, &r, &c->odd);
		guess = (unsigned)i + 1;
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
		p = put_head(out, l, plan, &l->object[0], c->first_part + i, id);
		p = put_list(p, l, c, part, entries);
	} else {
		p = put_head(out, l, plan, &l->object[part->object], c->first_part + i, id);
		p = put_one(p, l, c, part, entries);
	}
	return (size_t)(p - out);
}
