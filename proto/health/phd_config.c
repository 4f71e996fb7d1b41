/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/health/phd_config.h"

#include <string.h>

#include "proto/health/phd_fields.h"

/* ---- attributes of an object ---- */

static enum bp_phd_error read_u16(struct bp_phd_bytes value, uint16_t *v)
{
	return bp_phd_take_u16(&value, v) && value.len == 0 ? BP_PHD_OK : BP_PHD_E_LENGTH;
}

/* TYPE: partition and code */
static enum bp_phd_error read_type(struct bp_phd_bytes value, struct bp_phd_object_model *o)
{
	return bp_phd_take_u16(&value, &o->partition) && bp_phd_take_u16(&value, &o->code) &&
			       value.len == 0
		       ? BP_PHD_OK
		       : BP_PHD_E_LENGTH;
}

/* A SEQUENCE OF with entries of `size` bytes, and nothing after it. */
static enum bp_phd_error open_list(
	struct bp_phd_bytes value, uint16_t size, uint16_t *n, struct bp_phd_bytes *entries)
{
	if (!bp_phd_take_list(&value, n, entries) || value.len != 0)
		return BP_PHD_E_LENGTH;
	return (uint32_t)*n * size == entries->len ? BP_PHD_OK : BP_PHD_E_COUNT;
}

static enum bp_phd_error read_ids(struct bp_phd_bytes value, struct bp_phd_object_model *o)
{
	struct bp_phd_bytes entries;
	uint16_t n;
	enum bp_phd_error e = open_list(value, 2, &n, &entries);

	if (e != BP_PHD_OK || n > BP_PHD_IDS_MAX)
		return e;
	while (o->n_ids < n)
		bp_phd_take_u16(&entries, &o->ids[o->n_ids++]);
	return BP_PHD_OK;
}

static enum bp_phd_error read_supplemental(struct bp_phd_bytes value, struct bp_phd_object_model *o)
{
	struct bp_phd_bytes entries;
	uint16_t n, partition;
	enum bp_phd_error e = open_list(value, 4, &n, &entries);

	if (e != BP_PHD_OK)
		return e;
	while (o->n_supplemental < n && o->n_supplemental < BP_PHD_SUPPLEMENTAL_MAX) {
		bp_phd_take_u16(&entries, &partition);
		bp_phd_take_u16(&entries, &o->supplemental[o->n_supplemental++]);
	}
	return BP_PHD_OK;
}

static enum bp_phd_error read_map(struct bp_phd_bytes value, struct bp_phd_object_model *o)
{
	struct bp_phd_bytes entries;
	uint16_t n;
	enum bp_phd_error e = open_list(value, 4, &n, &entries);

	if (e != BP_PHD_OK)
		return e;
	if (n > BP_PHD_MAP_MAX)
		return BP_PHD_E_FIELD;
	for (; o->n_map < n; o->n_map++) {
		bp_phd_take_u16(&entries, &o->map[o->n_map].attr);
		bp_phd_take_u16(&entries, &o->map[o->n_map].len);
	}
	return BP_PHD_OK;
}

/* One bit for each attribute that is read; 0: skipped. */
static unsigned attribute_bit(uint16_t id)
{
	switch (id) {
	case BP_PHD_ATTR_ID_TYPE:
		return 1 << 0;
	case BP_PHD_ATTR_UNIT:
		return 1 << 1;
	case BP_PHD_ATTR_METRIC_SPEC:
		return 1 << 2;
	case BP_PHD_ATTR_VALUE_MAP:
		return 1 << 3;
	case BP_PHD_ATTR_SUPPLEMENTAL:
		return 1 << 4;
	case BP_PHD_ATTR_IDS:
		return 1 << 5;
	default:
		return 0;
	}
}

static enum bp_phd_error read_attribute(
	uint16_t id, struct bp_phd_bytes value, struct bp_phd_object_model *o)
{
	switch (id) {
	case BP_PHD_ATTR_ID_TYPE:
		return read_type(value, o);
	case BP_PHD_ATTR_UNIT:
		return read_u16(value, &o->unit);
	case BP_PHD_ATTR_METRIC_SPEC:
		return read_u16(value, &o->metric_spec);
	case BP_PHD_ATTR_VALUE_MAP:
		return read_map(value, o);
	case BP_PHD_ATTR_SUPPLEMENTAL:
		return read_supplemental(value, o);
	case BP_PHD_ATTR_IDS:
		return read_ids(value, o);
	default:
		return BP_PHD_OK;
	}
}

static enum bp_phd_error read_attributes(
	struct bp_phd_bytes list, uint16_t n, struct bp_phd_object_model *o)
{
	enum bp_phd_error e = bp_phd_attributes_prove(list, n);
	struct bp_phd_bytes value;
	unsigned seen = 0;
	uint16_t id;

	while (e == BP_PHD_OK && bp_phd_attribute_next(&list, &id, &value)) {
		unsigned bit = attribute_bit(id);

		e = (seen & bit) != 0 ? BP_PHD_E_FIELD : read_attribute(id, value, o);
		seen |= bit;
	}
	return e;
}

/* ---- objects ---- */

/* ConfigObject: class, handle, attributes. */
static enum bp_phd_error read_object(struct bp_phd_bytes *list, struct bp_phd_object_model *o)
{
	struct bp_phd_bytes attributes;
	uint16_t n;

	memset(o, 0, sizeof(*o));
	if (!bp_phd_take_u16(list, &o->class) || !bp_phd_take_u16(list, &o->handle) ||
		!bp_phd_take_list(list, &n, &attributes))
		return BP_PHD_E_LENGTH;
	return read_attributes(attributes, n, o);
}

static bool handle_is_new(const struct bp_phd_model *m, uint16_t handle)
{
	for (uint16_t i = 0; i < m->n; i++) {
		if (m->object[i].handle == handle)
			return false;
	}
	return handle != 0; /* which is the MDS */
}

/*
 * Objects beyond the capacity are read as well, to distinguish an invalid report from a large one.
 */
static enum bp_phd_error read_objects(
	struct bp_phd_bytes list, uint16_t count, struct bp_phd_model *out)
{
	enum bp_phd_error field = BP_PHD_OK;

	for (; count != 0; count--) {
		struct bp_phd_object_model o;
		enum bp_phd_error e;

		if (list.len == 0)
			return BP_PHD_E_COUNT;
		e = read_object(&list, &o);
		if (e == BP_PHD_OK &&
			(out->n == BP_PHD_OBJECTS_MAX || !handle_is_new(out, o.handle)))
			e = BP_PHD_E_FIELD;
		if (e == BP_PHD_OK)
			out->object[out->n++] = o;
		else if (e == BP_PHD_E_FIELD)
			field = e;
		else
			return e;
	}
	return list.len == 0 ? field : BP_PHD_E_COUNT;
}

enum bp_phd_error bp_phd_config_read(struct bp_phd_bytes info, struct bp_phd_model *out)
{
	struct bp_phd_bytes list;
	enum bp_phd_error e;
	uint16_t count;

	out->n = 0;
	if (!bp_phd_take_u16(&info, &out->config_id) || !bp_phd_take_list(&info, &count, &list) ||
		info.len != 0)
		return BP_PHD_E_LENGTH;
	e = read_objects(list, count, out);
	if (e == BP_PHD_OK)
		out->content = bp_phd_model_content(out);
	return e;
}

/* ---- content ---- */

/* SipHash-2-4 of 16-bit numbers, with the key 0: not secret, but a second preimage is
 * infeasible. */
struct hash {
	uint64_t v0, v1, v2, v3;
	uint64_t block; /* numbers that wait for the next compression */
	unsigned n;     /* numbers so far */
};

static uint64_t rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static void rounds(struct hash *h, unsigned n)
{
	for (; n != 0; n--) {
		h->v0 += h->v1;
		h->v2 += h->v3;
		h->v1 = rotate(h->v1, 13) ^ h->v0;
		h->v3 = rotate(h->v3, 16) ^ h->v2;
		h->v0 = rotate(h->v0, 32);
		h->v2 += h->v1;
		h->v0 += h->v3;
		h->v1 = rotate(h->v1, 17) ^ h->v2;
		h->v3 = rotate(h->v3, 21) ^ h->v0;
		h->v2 = rotate(h->v2, 32);
	}
}

static void compress(struct hash *h, uint64_t block)
{
	h->v3 ^= block;
	rounds(h, 2);
	h->v0 ^= block;
}

static void add(struct hash *h, uint16_t v)
{
	h->block |= (uint64_t)v << (16 * (h->n & 3));
	if ((++h->n & 3) == 0) {
		compress(h, h->block);
		h->block = 0;
	}
}

static uint64_t finish(struct hash *h)
{
	compress(h, h->block | (uint64_t)(2 * h->n) << 56); /* bytes */
	h->v2 ^= 0xff;
	rounds(h, 4);
	return h->v0 ^ h->v1 ^ h->v2 ^ h->v3;
}

static void add_object(struct hash *h, const struct bp_phd_object_model *o)
{
	add(h, o->class);
	add(h, o->handle);
	add(h, o->partition);
	add(h, o->code);
	add(h, o->unit);
	add(h, o->metric_spec);
	add(h, o->n_ids);
	for (uint16_t i = 0; i < o->n_ids; i++)
		add(h, o->ids[i]);
	add(h, o->n_supplemental);
	for (uint16_t i = 0; i < o->n_supplemental; i++)
		add(h, o->supplemental[i]);
	add(h, o->n_map);
	for (uint16_t i = 0; i < o->n_map; i++) {
		add(h, o->map[i].attr);
		add(h, o->map[i].len);
	}
}

uint64_t bp_phd_model_content(const struct bp_phd_model *m)
{
	struct hash h = {.v0 = 0x736f6d6570736575u,
		.v1 = 0x646f72616e646f6du,
		.v2 = 0x6c7967656e657261u,
		.v3 = 0x7465646279746573u};

	add(&h, m->config_id);
	add(&h, m->n);
	for (uint16_t i = 0; i < m->n; i++)
		add_object(&h, &m->object[i]);
	return finish(&h);
}
