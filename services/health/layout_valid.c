/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/layout.h"
#include "services/health/render.h"
#include "services/health/source.h"

static bool inside(size_t at, size_t len, size_t size)
{
	return at <= size && len <= size - at;
}

/* Octets of a value in a fixed report; of a kind that is none: more than there can be. */
static size_t value_octets(const struct bp_phd_object *o)
{
	switch (o->value) {
	case BP_PHD_VALUE_NONE:
		return 0;
	case BP_PHD_VALUE_SFLOAT:
	case BP_PHD_VALUE_BITS16:
	case BP_PHD_VALUE_OID:
		return 2;
	case BP_PHD_VALUE_FLOAT:
	case BP_PHD_VALUE_BITS32:
		return 4;
	case BP_PHD_VALUE_COMPOUND_SFLOAT:
		return BP_PHD_COMPOUND_HEAD + 2u * o->value_n;
	case BP_PHD_VALUE_COMPOUND_FLOAT:
		return BP_PHD_COMPOUND_HEAD + 4u * o->value_n;
	default:
		return SIZE_MAX;
	}
}

static size_t time_octets(const struct bp_phd_object *o)
{
	switch (o->time) {
	case BP_PHD_TIME_NONE:
		return 0;
	case BP_PHD_TIME_ABSOLUTE:
	case BP_PHD_TIME_BASE_OFFSET:
		return 8;
	case BP_PHD_TIME_RELATIVE:
		return 4;
	default:
		return SIZE_MAX;
	}
}

/* What is read of an observation lies in it. */
static bool map_valid(const struct bp_phd_object *o)
{
	return inside(o->value_at, value_octets(o), o->fixed_len) &&
	       inside(o->time_at, time_octets(o), o->fixed_len) &&
	       (o->status_at == BP_PHD_NOT_THERE || inside(o->status_at, 2, o->fixed_len));
}

/* What is copied lies in the text, what is patched in the request. */
static bool text_valid(const struct bp_phd_object *o, size_t text)
{
	if (!inside(o->head, o->head_len, text) ||
		!inside(o->unit, o->unit_len + BP_PHD_NO_TIME_LEN, text) ||
		o->name < BP_PHD_BEFORE_NAME ||
		!inside(o->name, o->name_len + BP_PHD_BEHIND_NAME, text) ||
		!inside(o->ids, o->ids_len, text))
		return false;
	if (o->patches > BP_PHD_PATCHES || !inside(o->rqi, BP_PHD_RQI_TEXT, o->head_len) ||
		(o->rn != 0 && !inside(o->rn, BP_PHD_RN_TEXT, o->head_len)))
		return false;
	for (unsigned i = 0; i < o->patches; i++) {
		if (!inside(o->patch[i], BP_PHD_SYSTEM_ID_TEXT, o->head_len))
			return false;
	}
	return true;
}

bool bp_phd_layout_valid(const struct bp_phd_layout *l)
{
	if (l->n > BP_PHD_OBJECTS_MAX || l->size < sizeof(*l) ||
		l->size > sizeof(*l) + BP_PHD_TEXT_MAX)
		return false;
	for (unsigned i = 0; i < l->n; i++) {
		const struct bp_phd_object *o = &l->object[i];

		if (o->handle != l->handle[i] || !map_valid(o) ||
			!text_valid(o, l->size - sizeof(*l)) ||
			o->bound != bp_phd_render_bound_fixed(o))
			return false;
	}
	return true;
}
