/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/template.h"

#include <string.h>

#include "services/health/source.h"

/* Collects text until the template is full. */
struct maker {
	struct bp_phd_template *q;
	size_t n;
	bool full;
};

static void add(struct maker *m, const void *text, size_t len)
{
	if (m->full || len > BP_PHD_TEMPLATE_TEXT - m->n) {
		m->full = true;
		return;
	}
	memcpy(m->q->text + m->n, text, len);
	m->n += len;
}

/* The frame up to the first list member, with zeroes in the patched fields. */
static void add_head(struct maker *m, const struct bp_phd_layout *l,
	const struct bp_phd_settings *plan, const uint8_t *before, size_t before_len)
{
	const struct bp_phd_object *o = &l->object[0];
	const enum bp_coap_type type = plan->con != 0 ? BP_COAP_CON : BP_COAP_NON;
	struct bp_phd_template *q = m->q;
	uint8_t coap[BP_PHD_BEFORE_HEAD] = {
		(uint8_t)(1u << 6 | (unsigned)type << 4 | BP_PHD_TOKEN_LEN), BP_COAP_POST};
	size_t head;

	add(m, before, before_len);
	q->coap = (uint16_t)m->n;
	add(m, coap, sizeof(coap));
	head = m->n;
	add(m, l->text + o->head, o->head_len);
	if (m->full)
		return;
	q->rqi = (uint16_t)(head + o->rqi);
	memset(q->text + q->rqi, 0, BP_PHD_RQI_TEXT);
	q->rn = 0;
	if (o->rn != 0) {
		q->rn = (uint16_t)(head + o->rn);
		memset(q->text + q->rn, 0, BP_PHD_RN_TEXT);
	}
	q->patches = o->patches;
	for (unsigned i = 0; i < o->patches; i++) {
		q->patch[i] = (uint16_t)(head + o->patch[i]);
		memset(q->text + q->patch[i], 0, BP_PHD_SYSTEM_ID_TEXT);
	}
}

/* Whether an observation is of the kind. */
static bool is_plain(const struct bp_phd_object *o, const struct bp_phd_observation *ob)
{
	return o->value == BP_PHD_VALUE_SFLOAT && o->time == BP_PHD_TIME_NONE &&
	       bp_phd_matches_map(o, ob->data.p, ob->data.len) &&
	       (o->status_at == BP_PHD_NOT_THERE || bp_phd_be16(ob->data.p + o->status_at) == 0);
}

/* A member of the list: its value is at offset `at` of the report. */
static void add_member(
	struct maker *m, const struct bp_phd_layout *l, const struct bp_phd_object *o, size_t at)
{
	static const uint8_t differs[2];
	struct bp_phd_template *q = m->q;
	const unsigned i = q->values++;

	add(m, l->text + o->name - BP_PHD_BEFORE_NAME + (i == 0),
		BP_PHD_BEFORE_NAME - (i == 0) + o->name_len + BP_PHD_BEHIND_NAME);
	if (i == 0)
		q->first = (uint16_t)m->n;
	else
		q->behind[i - 1].len = (uint16_t)(m->n - q->behind[i - 1].at);
	q->behind[i].at = (uint16_t)m->n;
	add(m, l->text + o->unit, o->unit_len + BP_PHD_NO_TIME_LEN);
	q->value[i] =
		(struct bp_phd_template_place){.at = (uint8_t)at, .by = (uint8_t)((at & 1) * 8)};
	memcpy((uint8_t *)q->mask + at, differs, 2);
}

/* The fields that differ between two reports of the shape, besides the values. */
static void set_mask(struct bp_phd_template *q, const uint8_t *apdu, size_t len)
{
	uint8_t *mask = (uint8_t *)q->mask;

	memset(q->expected, 0, sizeof(q->expected));
	memcpy(q->expected, apdu, len);
	memset(mask, 0, sizeof(q->mask));
	memset(mask, 0xff, len);
	memset(mask + BP_PHD_AT_INVOKE, 0, 2);
	mask[BP_PHD_AT_DATA + 1] = 0xfe;           /* confirmed or not */
	memset(mask + BP_PHD_AT_HANDLE + 2, 0, 4); /* the time of the event */
	memset(mask + BP_PHD_AT_REPORT_NO, 0, 2);
}

/* With the complete mask. */
static void apply_mask(struct bp_phd_template *q)
{
	uint8_t fixed[BP_PHD_TEMPLATE_APDU];

	for (unsigned i = 0; i < BP_PHD_TEMPLATE_APDU / 16; i++)
		q->expected[i] &= q->mask[i];
	memcpy(fixed, q->expected, sizeof(fixed));
	/* bp_phd_template_read() adds these two bytes whole */
	memset(fixed + BP_PHD_AT_DATA, 0, 2);
	q->expected_sum = bp_sum_fold(bp_sum(fixed, sizeof(fixed), 0));
}

/* Whether the whole report is of this kind: then only a full template prevents its use. */
static bool is_of_the_kind(const struct bp_phd_layout *l, const struct bp_phd_settings *plan,
	const struct bp_phd_conversion *c, const uint8_t *apdu, size_t len)
{
	struct bp_phd_observation ob;
	struct bp_phd_source s;
	unsigned guess = 0;

	if (bp_phd_sfloats == NULL || len < BP_PHD_TEMPLATE_APDU_MIN ||
		len > BP_PHD_TEMPLATE_APDU || plan->per_report == 0 || c->parts != 1 ||
		c->first_part != 0 || c->unknown_handles != 0 || c->trailing || c->mp ||
		c->variable || !c->in_place || c->observations > BP_PHD_TEMPLATE_VALUES)
		return false;
	bp_phd_source_begin(&s, c, apdu + c->at);
	while (bp_phd_source_fixed_single(&s, &ob) == BP_PHD_OK) {
		const int i = bp_phd_layout_find(l, ob.handle, guess);

		if (i < 0 || !is_plain(&l->object[i], &ob))
			return false;
		guess = (unsigned)i + 1;
	}
	return c->observations != 0;
}

static void add_members(struct maker *m, const struct bp_phd_layout *l,
	const struct bp_phd_conversion *c, const uint8_t *apdu)
{
	struct bp_phd_observation ob;
	struct bp_phd_source s;
	unsigned guess = 0;

	bp_phd_source_begin(&s, c, apdu + c->at);
	while (bp_phd_source_fixed_single(&s, &ob) == BP_PHD_OK) {
		const int i = bp_phd_layout_find(l, ob.handle, guess);

		if (i < 0 || m->q->values == BP_PHD_TEMPLATE_VALUES)
			return; /* cannot happen: it was validated before */
		add_member(m, l, &l->object[i], (size_t)(ob.data.p - apdu) + l->object[i].value_at);
		guess = (unsigned)i + 1;
	}
}

static void sum_up(struct bp_phd_template *q)
{
	q->sum = bp_sum_fold(bp_sum(q->text + q->coap, (size_t)q->first - q->coap, 0));
	for (unsigned i = 0; i < q->values; i++)
		q->behind[i].sum =
			bp_sum_fold(bp_sum(q->text + q->behind[i].at, q->behind[i].len, 0));
}

/* Reserves at least the space that the general path reserves. */
static uint16_t bound_of(const struct bp_phd_template *q, const struct maker *m,
	const struct bp_phd_conversion *c, size_t before_len)
{
	size_t bound = m->n + q->values * sizeof(struct bp_phd_sfloat) + BP_PHD_TEMPLATE_STEP;

	if (bound < before_len + c->part[0].len)
		bound = before_len + c->part[0].len;
	return (uint16_t)(bound < BP_PHD_TEMPLATE_READ ? BP_PHD_TEMPLATE_READ : bound);
}

bool bp_phd_template_init(struct bp_phd_template *q, const struct bp_phd_layout *l,
	const struct bp_phd_settings *plan, const struct bp_phd_conversion *c, const uint8_t *apdu,
	size_t len, const uint8_t *before, size_t before_len)
{
	struct maker m = {.q = q};

	if (!bp_phd_template_is_of(q, l))
		q->values = 0;
	q->life = atomic_load_explicit(&l->life, memory_order_relaxed);
	if (!is_of_the_kind(l, plan, c, apdu, len))
		return false;
	q->values = 0;
	set_mask(q, apdu, len);
	add_head(&m, l, plan, before, before_len);
	add_members(&m, l, c, apdu);
	add(&m, BP_PHD_LIST_END, sizeof(BP_PHD_LIST_END) - 1);
	if (m.full || q->values == 0) {
		q->values = 0;
		return false;
	}
	q->behind[q->values - 1].len = (uint16_t)(m.n - q->behind[q->values - 1].at);
	q->len = (uint16_t)len;
	q->bound = bound_of(q, &m, c, before_len);
	sum_up(q);
	apply_mask(q);
	return true;
}
