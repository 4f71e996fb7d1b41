/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/payload/value_items.h"

#include <math.h>
#include <string.h>

static void set_number(struct bp_item *item, double v)
{
	item->kind = isfinite(v) ? BP_ITEM_NUMBER : BP_ITEM_OTHER;
	item->number = v;
}

void bp_item_set_float32(struct bp_item *item, uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	set_number(item, (double)f);
}

void bp_item_set_float64(struct bp_item *item, uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	set_number(item, d);
}

struct container {
	uint64_t left; /* elements or pairs */
	bool endless;
	bool map;
	bool value; /* of a map: the next item is the value of a pair */
};

struct walk {
	struct bp_pick *pick;
	const struct bp_item_format *format;
	struct container open[BP_JSON_DEPTH_MAX];
};

static struct container *innermost(struct walk *w)
{
	return w->pick->depth != 0 ? &w->open[w->pick->depth - 1] : NULL;
}

static bool has_name(const struct walk *w, const struct bp_item *item)
{
	size_t len = 0;
	const uint8_t *want = bp_pick_name(w->pick, &len);

	if (want == NULL || item->kind != BP_ITEM_STRING)
		return false;
	if (item->endless)
		return w->format->same(item, want, len);
	return (size_t)(item->next - item->text) == len && memcmp(item->text, want, len) == 0;
}

/* The item begins in its container. Returns whether it is a value, and not a name. */
static bool begin(struct walk *w, const struct bp_item *item)
{
	struct container *c = innermost(w);

	if (c == NULL)
		return true; /* the root */
	if (c->map && !c->value) {
		w->pick->hit = has_name(w, item);
		c->value = true;
		return false;
	}
	if (!c->map)
		bp_pick_element(w->pick);
	c->value = false;
	c->left--; /* of one without a length, it does not count */
	return true;
}

static bool open_container(struct walk *w, const struct bp_item *item)
{
	if (w->pick->depth == BP_JSON_DEPTH_MAX)
		return false;
	w->open[w->pick->depth] = (struct container){
		.left = item->n, .endless = item->endless, .map = item->kind == BP_ITEM_MAP};
	bp_pick_open(w->pick, item->kind == BP_ITEM_MAP);
	return true;
}

static void take_scalar(struct bp_pick *pick, const struct bp_item *item)
{
	const uint8_t type = pick->source->type;

	if ((item->kind == BP_ITEM_NUMBER && type == BP_VALUE_NUMBER) ||
		(item->kind == BP_ITEM_BOOLEAN && type == BP_VALUE_BOOLEAN))
		bp_pick_number(pick, item->number, item->at, item->next);
	else if (item->kind == BP_ITEM_STRING && type == BP_VALUE_STRING)
		bp_pick_string(pick, item->at, item->next);
}

/* False: it is malformed, or nested too deep. */
static bool take(struct walk *w, const struct bp_item *item)
{
	const struct container *c = innermost(w);
	bool value, last = false;

	if (item->kind == BP_ITEM_END) {
		if (c == NULL || !c->endless || c->value)
			return false;
		bp_pick_close(w->pick);
		return true;
	}
	value = begin(w, item);
	if (value)
		last = bp_pick_value(w->pick);
	if (item->kind == BP_ITEM_ARRAY || item->kind == BP_ITEM_MAP) {
		if (!value)
			w->pick->hit = false; /* a container as a name is on no path */
		return open_container(w, item);
	}
	if (last)
		take_scalar(w->pick, item);
	return true;
}

bool bp_pick_items(struct bp_pick *pick, const struct bp_item_format *format,
	const uint8_t *payload, size_t len, bool beginning)
{
	const uint8_t *p = payload, *end = payload + len;
	struct walk w = {.pick = pick, .format = format};
	const struct container *c;
	struct bp_item item;

	do {
		const enum bp_item_result r = format->read(p, end, &item);

		if (r != BP_ITEM_OK)
			return beginning && r == BP_ITEM_MORE;
		if (!take(&w, &item))
			return false;
		p = item.next;
		while ((c = innermost(&w)) != NULL && !c->endless && c->left == 0)
			bp_pick_close(pick);
	} while (pick->depth != 0);
	return p == end && !beginning;
}
