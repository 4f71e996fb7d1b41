/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/health/coap.h"

#include <string.h>

#define MARKER 0xffu
#define NUMBER_MAX 65535u

/* Nibbles of the first byte of an option, and the offsets of the longer forms (3.1). */
#define EXT8 13u
#define EXT16 14u
#define EXT8_BASE 13u
#define EXT16_BASE 269u

/* The number from a nibble and the bytes after it; NULL if it is invalid. */
static const uint8_t *read_number(
	const uint8_t *p, const uint8_t *end, unsigned nibble, uint32_t *value)
{
	if (nibble < EXT8) {
		*value = nibble;
		return p;
	}
	if (nibble == EXT8 && end - p >= 1) {
		*value = p[0] + EXT8_BASE;
		return p + 1;
	}
	if (nibble == EXT16 && end - p >= 2) {
		*value = ((uint32_t)p[0] << 8 | p[1]) + EXT16_BASE;
		return p + 2;
	}
	return NULL;
}

/* Reads the option at p < end, with o->number as the preceding number. Returns the end of it, or
 * NULL. */
static const uint8_t *read_option(const uint8_t *p, const uint8_t *end, struct bp_coap_option *o)
{
	const unsigned first = *p++;
	uint32_t delta, len;

	p = read_number(p, end, first >> 4, &delta);
	if (p == NULL)
		return NULL;
	p = read_number(p, end, first & 0x0f, &len);
	if (p == NULL || len > (size_t)(end - p) || delta > NUMBER_MAX - o->number)
		return NULL;
	o->number += delta;
	o->value = p;
	o->len = len;
	return p + len;
}

enum bp_coap_error bp_coap_read(const uint8_t *p, size_t len, struct bp_coap *out)
{
	const uint8_t *at, *end, *payload = NULL;
	struct bp_coap_option o = {0};
	unsigned token_len;

	if (len < BP_COAP_HEADER_LEN)
		return BP_COAP_E_SHORT;
	end = p + len;
	if (p[0] >> 6 != 1)
		return BP_COAP_E_VERSION;
	token_len = p[0] & 0x0f;
	if (token_len > BP_COAP_TOKEN_MAX)
		return BP_COAP_E_TOKEN;
	if (p[1] == BP_COAP_EMPTY && (token_len != 0 || len > BP_COAP_HEADER_LEN))
		return BP_COAP_E_EMPTY;
	if (len - BP_COAP_HEADER_LEN < token_len)
		return BP_COAP_E_SHORT;
	at = p + BP_COAP_HEADER_LEN + token_len;
	while (at != end && *at != MARKER) {
		at = read_option(at, end, &o);
		if (at == NULL)
			return BP_COAP_E_OPTION;
	}
	if (at != end) {
		payload = at + 1;
		if (payload == end)
			return BP_COAP_E_MARKER;
	}
	out->type = p[0] >> 4 & 3;
	out->code = p[1];
	out->token_len = (uint8_t)token_len;
	out->mid = (uint16_t)(p[2] << 8 | p[3]);
	memset(out->token, 0, sizeof(out->token));
	memcpy(out->token, p + BP_COAP_HEADER_LEN, token_len);
	out->options = p + BP_COAP_HEADER_LEN + token_len;
	out->options_len = (uint32_t)(at - out->options);
	out->payload = payload;
	out->payload_len = payload != NULL ? (uint32_t)(end - payload) : 0;
	return BP_COAP_OK;
}

bool bp_coap_next(const struct bp_coap *m, const uint8_t **cursor, struct bp_coap_option *o)
{
	const uint8_t *end = m->options + m->options_len, *after;

	if (*cursor == NULL) {
		*cursor = m->options;
		o->number = 0;
	}
	if (*cursor == end)
		return false;
	after = read_option(*cursor, end, o);
	*cursor = after != NULL ? after : end;
	return after != NULL;
}

bool bp_coap_uint(const struct bp_coap_option *o, uint32_t *value)
{
	uint32_t v = 0;

	if (o->len > sizeof(v))
		return false;
	for (uint32_t i = 0; i < o->len; i++)
		v = v << 8 | o->value[i];
	*value = v;
	return true;
}

/* ---- writing ---- */

/* Reserves `n` more bytes; returns NULL after the first failure. */
static uint8_t *take(struct bp_coap_writer *w, size_t n)
{
	uint8_t *p = w->p;

	if (w->full || n > (size_t)(w->end - p)) {
		w->full = true;
		return NULL;
	}
	w->p += n;
	return p;
}

void bp_coap_begin(struct bp_coap_writer *w, uint8_t *out, size_t size, enum bp_coap_type type,
	uint8_t code, uint16_t mid, const uint8_t *token, uint8_t n)
{
	uint8_t *p;

	*w = (struct bp_coap_writer){.p = out, .end = out + size, .full = n > BP_COAP_TOKEN_MAX};
	p = take(w, BP_COAP_HEADER_LEN + n);
	if (p == NULL)
		return;
	p[0] = (uint8_t)(1u << 6 | (unsigned)type << 4 | n);
	p[1] = code;
	p[2] = (uint8_t)(mid >> 8);
	p[3] = (uint8_t)mid;
	if (n != 0)
		memcpy(p + BP_COAP_HEADER_LEN, token, n);
}

static unsigned nibble_of(uint32_t v)
{
	return v < EXT8_BASE ? v : v < EXT16_BASE ? EXT8 : EXT16;
}

static uint8_t *put_number(uint8_t *p, uint32_t v)
{
	if (v >= EXT16_BASE) {
		*p++ = (uint8_t)((v - EXT16_BASE) >> 8);
		*p++ = (uint8_t)(v - EXT16_BASE);
	} else if (v >= EXT8_BASE) {
		*p++ = (uint8_t)(v - EXT8_BASE);
	}
	return p;
}

void bp_coap_option(struct bp_coap_writer *w, uint32_t number, const void *value, uint32_t len)
{
	const uint32_t delta = number - w->last;
	uint8_t head[5], *p, *to;
	size_t head_len;

	if (number < w->last || number > NUMBER_MAX || len > UINT16_MAX + EXT16_BASE) {
		w->full = true;
		return;
	}
	head[0] = (uint8_t)(nibble_of(delta) << 4 | nibble_of(len));
	p = put_number(put_number(head + 1, delta), len);
	head_len = (size_t)(p - head);
	to = take(w, head_len + len);
	if (to == NULL)
		return;
	memcpy(to, head, head_len);
	if (len != 0)
		memcpy(to + head_len, value, len);
	w->last = number;
}

void bp_coap_option_uint(struct bp_coap_writer *w, uint32_t number, uint32_t value)
{
	const uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16),
		(uint8_t)(value >> 8), (uint8_t)value};
	uint32_t skip = 0;

	while (skip < sizeof(bytes) && bytes[skip] == 0)
		skip++;
	bp_coap_option(w, number, bytes + skip, (uint32_t)sizeof(bytes) - skip);
}

size_t bp_coap_end(struct bp_coap_writer *w, const uint8_t *out, const void *payload, uint32_t len)
{
	if (len != 0) {
		uint8_t *p = take(w, 1 + (size_t)len);

		if (p != NULL) {
			p[0] = MARKER;
			memcpy(p + 1, payload, len);
		}
	}
	return w->full ? 0 : (size_t)(w->p - out);
}
