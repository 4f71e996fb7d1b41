/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>

#include "proto/payload/value_items.h"

/*
 * MessagePack (github.com/msgpack/msgpack, spec.md). Strings that are not on the path are not
 * checked for UTF-8, as they may be bytes of older encoders. Extensions, and so timestamps, have no
 * value.
 */

enum {
	NIL = 0xc0,
	NEVER_USED,
	FALSE,
	TRUE,
	BIN8,
	EXT8 = 0xc7,
	FLOAT32 = 0xca,
	FLOAT64,
	UINT8,
	INT8 = 0xd0,
	FIXEXT1 = 0xd4,
	STR8 = 0xd9,
	ARRAY16 = 0xdc,
	MAP16 = 0xde,
	NEGATIVE_FIXINT = 0xe0,
};

/* The next `n` bytes belong to the item. */
static enum bp_item_result skip(struct bp_item *item, const uint8_t *end, uint64_t n)
{
	if (n > (size_t)(end - item->next))
		return BP_ITEM_MORE;
	item->next += n;
	return BP_ITEM_OK;
}

/* An integer of `width` bytes at `next`, which moves behind it. */
static enum bp_item_result integer(
	struct bp_item *item, const uint8_t *end, unsigned width, uint64_t *v)
{
	if ((size_t)(end - item->next) < width)
		return BP_ITEM_MORE;
	*v = bp_item_integer(item->next, width);
	item->next += width;
	return BP_ITEM_OK;
}

static enum bp_item_result bytes(
	struct bp_item *item, const uint8_t *end, enum bp_item_kind kind, uint64_t n)
{
	item->kind = (uint8_t)kind;
	item->text = item->next;
	return skip(item, end, n);
}

/* A length of `width` bytes, then as many bytes, with `extra` ones. */
static enum bp_item_result sized(struct bp_item *item, const uint8_t *end, enum bp_item_kind kind,
	unsigned width, unsigned extra)
{
	uint64_t n;
	const enum bp_item_result r = integer(item, end, width, &n);

	return r != BP_ITEM_OK ? r : bytes(item, end, kind, n + extra);
}

static enum bp_item_result container(
	struct bp_item *item, const uint8_t *end, enum bp_item_kind kind, unsigned width)
{
	item->kind = (uint8_t)kind;
	return integer(item, end, width, &item->n);
}

static enum bp_item_result number(struct bp_item *item, const uint8_t *end, uint8_t type)
{
	const unsigned width = 1u << (type & 3u), sign = 64 - 8 * width;
	uint64_t v;
	const enum bp_item_result r = integer(item, end, width, &v);

	if (r != BP_ITEM_OK)
		return r;
	item->kind = BP_ITEM_NUMBER;
	if (type == FLOAT32)
		bp_item_set_float32(item, (uint32_t)v);
	else if (type == FLOAT64)
		bp_item_set_float64(item, v);
	else if (type < INT8)
		item->number = (double)v;
	else
		item->number = (double)((int64_t)(v << sign) >> sign);
	return BP_ITEM_OK;
}

/* 0xc0 to 0xdf: the types with a byte of their own. */
static enum bp_item_result typed(struct bp_item *item, const uint8_t *end, uint8_t type)
{
	if (type >= MAP16)
		return container(item, end, BP_ITEM_MAP, 2u << (type - MAP16));
	if (type >= ARRAY16)
		return container(item, end, BP_ITEM_ARRAY, 2u << (type - ARRAY16));
	if (type >= STR8)
		return sized(item, end, BP_ITEM_STRING, 1u << (type - STR8), 0);
	if (type >= FIXEXT1)
		return bytes(item, end, BP_ITEM_OTHER, 1 + (1u << (type - FIXEXT1)));
	if (type >= FLOAT32)
		return number(item, end, type);
	if (type >= EXT8) /* with a byte for its type */
		return sized(item, end, BP_ITEM_OTHER, 1u << (type - EXT8), 1);
	if (type >= BIN8)
		return sized(item, end, BP_ITEM_OTHER, 1u << (type - BIN8), 0);
	if (type == NEVER_USED)
		return BP_ITEM_MALFORMED;
	item->kind = type == NIL ? BP_ITEM_OTHER : BP_ITEM_BOOLEAN;
	item->number = type == TRUE;
	return BP_ITEM_OK;
}

static enum bp_item_result read(const uint8_t *p, const uint8_t *end, struct bp_item *item)
{
	uint8_t type;

	if (p == end)
		return BP_ITEM_MORE;
	type = *p;
	item->at = p;
	item->next = p + 1;
	item->endless = false;
	if (type < 0x80 || type >= NEGATIVE_FIXINT) {
		item->kind = BP_ITEM_NUMBER;
		item->number = (int8_t)type;
		return BP_ITEM_OK;
	}
	if (type < 0xa0) {
		item->kind = type < 0x90 ? BP_ITEM_MAP : BP_ITEM_ARRAY;
		item->n = type & 15;
		return BP_ITEM_OK;
	}
	if (type < NIL)
		return bytes(item, end, BP_ITEM_STRING, type & 31);
	return typed(item, end, type);
}

static bool decode(const uint8_t *at, const uint8_t *end, struct bp_value_text *text)
{
	struct bp_item item;

	text->len = 0;
	text->truncated = text->replaced = false;
	return read(at, end, &item) == BP_ITEM_OK && item.kind == BP_ITEM_STRING &&
	       bp_value_text_add_checked(text, item.text, (size_t)(item.next - item.text));
}

const struct bp_item_format bp_msgpack_format = {.read = read, .decode = decode};
