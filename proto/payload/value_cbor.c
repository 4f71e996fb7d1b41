/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "proto/payload/value_items.h"

/*
 * CBOR (RFC 8949). The payload must be well-formed; strings that are not on the path are not
 * checked for UTF-8. Tags are skipped: a bignum is then a byte string, which has no value.
 */

enum { UNSIGNED, NEGATIVE, BYTES, TEXT, ARRAY, MAP, TAG, SIMPLE };

#define INDEFINITE 31u
#define MALFORMED_INFO 28u /* 28, 29 and 30 are reserved */

struct head {
	uint8_t major;
	uint8_t info; /* additional information */
	uint64_t argument;
	const uint8_t *next;
};

static enum bp_item_result read_head(const uint8_t *p, const uint8_t *end, struct head *h)
{
	unsigned width;

	if (p == end)
		return BP_ITEM_MORE;
	h->major = *p >> 5;
	h->info = *p++ & 31;
	if (h->info >= MALFORMED_INFO && h->info != INDEFINITE)
		return BP_ITEM_MALFORMED;
	width = h->info < 24 || h->info == INDEFINITE ? 0 : 1u << (h->info - 24);
	if ((size_t)(end - p) < width)
		return BP_ITEM_MORE;
	h->argument = width != 0 ? bp_item_integer(p, width) : h->info;
	h->next = p + width;
	return BP_ITEM_OK;
}

static double half(uint16_t bits)
{
	const int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
	const double v = exponent == 0    ? ldexp(mantissa, -24)
			 : exponent != 31 ? ldexp(mantissa + 1024, exponent - 25)
			 : mantissa == 0  ? INFINITY
					  : NAN;

	return bits & 0x8000 ? -v : v;
}

static enum bp_item_result simple(const struct head *h, bool tagged, struct bp_item *item)
{
	item->kind = BP_ITEM_OTHER;
	switch (h->info) {
	case 20:
	case 21:
		item->kind = BP_ITEM_BOOLEAN;
		item->number = h->info - 20;
		break;
	case 24: /* values that fit in one byte have no second one */
		return h->argument < 32 ? BP_ITEM_MALFORMED : BP_ITEM_OK;
	case 25:
		item->number = half((uint16_t)h->argument);
		if (isfinite(item->number))
			item->kind = BP_ITEM_NUMBER;
		break;
	case 26:
		bp_item_set_float32(item, (uint32_t)h->argument);
		break;
	case 27:
		bp_item_set_float64(item, h->argument);
		break;
	case INDEFINITE:
		item->kind = BP_ITEM_END;
		return tagged ? BP_ITEM_MALFORMED : BP_ITEM_OK;
	default:
		break;
	}
	return BP_ITEM_OK;
}

/* The end of a string in chunks, each of the same major type and with a length. */
static enum bp_item_result chunks(
	const uint8_t *p, const uint8_t *end, uint8_t major, const uint8_t **next)
{
	for (;;) {
		struct head h;
		const enum bp_item_result r = read_head(p, end, &h);

		if (r != BP_ITEM_OK)
			return r;
		if (h.major == SIMPLE && h.info == INDEFINITE) {
			*next = h.next;
			return BP_ITEM_OK;
		}
		if (h.major != major || h.info == INDEFINITE)
			return BP_ITEM_MALFORMED;
		if (h.argument > (size_t)(end - h.next))
			return BP_ITEM_MORE;
		p = h.next + h.argument;
	}
}

static enum bp_item_result string(const struct head *h, const uint8_t *end, struct bp_item *item)
{
	item->kind = h->major == TEXT ? BP_ITEM_STRING : BP_ITEM_OTHER;
	item->text = h->next;
	if (item->endless)
		return chunks(h->next, end, h->major, &item->next);
	if (h->argument > (size_t)(end - h->next))
		return BP_ITEM_MORE;
	item->next = h->next + h->argument;
	return BP_ITEM_OK;
}

static enum bp_item_result item_of(
	const struct head *h, bool tagged, const uint8_t *end, struct bp_item *item)
{
	item->next = h->next;
	item->endless = h->info == INDEFINITE;
	item->n = h->argument;
	if (item->endless && h->major <= NEGATIVE)
		return BP_ITEM_MALFORMED;
	switch (h->major) {
	case UNSIGNED:
		item->kind = BP_ITEM_NUMBER;
		item->number = (double)h->argument;
		return BP_ITEM_OK;
	case NEGATIVE: /* -1 - argument, rounded once */
		item->kind = BP_ITEM_NUMBER;
		item->number = h->argument == UINT64_MAX ? -0x1p64 : -(double)(h->argument + 1);
		return BP_ITEM_OK;
	case BYTES:
	case TEXT:
		return string(h, end, item);
	case ARRAY:
		item->kind = BP_ITEM_ARRAY;
		return BP_ITEM_OK;
	case MAP:
		item->kind = BP_ITEM_MAP;
		return BP_ITEM_OK;
	default:
		return simple(h, tagged, item);
	}
}

static enum bp_item_result read(const uint8_t *p, const uint8_t *end, struct bp_item *item)
{
	bool tagged = false;
	struct head h;

	for (;;) {
		const enum bp_item_result r = read_head(p, end, &h);

		if (r != BP_ITEM_OK)
			return r;
		item->at = p;
		if (h.major != TAG)
			return item_of(&h, tagged, end, item);
		if (h.info == INDEFINITE)
			return BP_ITEM_MALFORMED;
		tagged = true;
		p = h.next;
	}
}

/* The bytes of the next chunk of a string, or of all of one with a length; NULL: its end. */
static const uint8_t *next_chunk(const uint8_t **p, const uint8_t *end, size_t *len)
{
	const uint8_t *chunk;
	struct head h;

	if (*p == end || read_head(*p, end, &h) != BP_ITEM_OK || h.major != TEXT)
		return NULL;
	if (h.info == INDEFINITE) { /* the first head */
		*p = h.next;
		return next_chunk(p, end, len);
	}
	chunk = h.next;
	*len = h.argument;
	*p = chunk + h.argument;
	return chunk;
}

static bool decode(const uint8_t *at, const uint8_t *end, struct bp_value_text *text)
{
	const uint8_t *chunk;
	size_t len;

	text->len = 0;
	text->truncated = text->replaced = false;
	while ((chunk = next_chunk(&at, end, &len)) != NULL) {
		if (!bp_value_text_add_checked(text, chunk, len))
			return false;
	}
	return true;
}

static bool same(const struct bp_item *item, const uint8_t *want, size_t len)
{
	const uint8_t *p = item->at, *chunk;
	size_t n;

	while ((chunk = next_chunk(&p, item->next, &n)) != NULL) {
		if (n > len || memcmp(chunk, want, n) != 0)
			return false;
		want += n;
		len -= n;
	}
	return len == 0;
}

const struct bp_item_format bp_cbor_format = {.read = read, .decode = decode, .same = same};
