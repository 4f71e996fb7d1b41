/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/health/onem2m.h"

#include <string.h>

/* Longest text of Uri-Path and Uri-Query (RFC 7252, 5.10), and of FR (TS-0008). */
#define TEXT_MAX 255u

#define FIRST_NUMBERS .fr = 256, .rqi = 257, .ty = 267, .rsc = 265
#define NUMBERS .fr = 279, .rqi = 283, .ty = 267, .rsc = 307, .rvi = 271

const struct bp_m2m_options bp_m2m_options[BP_M2M_RELEASES] = {
	[BP_M2M_R1] = {FIRST_NUMBERS},
	[BP_M2M_R2] = {FIRST_NUMBERS},
	[BP_M2M_R2A] = {NUMBERS, .rvi_text = "2a"},
	[BP_M2M_R3] = {NUMBERS, .rvi_text = "3"},
	[BP_M2M_R4] = {NUMBERS, .rvi_text = "4"},
	[BP_M2M_R5] = {NUMBERS, .rvi_text = "5"},
};

void bp_m2m_reply_read(const struct bp_coap *m, enum bp_m2m_release r, struct bp_m2m_reply *out)
{
	const uint8_t *cursor = NULL;
	struct bp_coap_option o;
	uint32_t rsc;

	out->code = m->code;
	out->rsc = 0;
	while (bp_coap_next(m, &cursor, &o)) {
		if (o.number != bp_m2m_options[r].rsc)
			continue;
		if (out->rsc != 0 || !bp_coap_uint(&o, &rsc) || rsc == 0 || rsc > UINT16_MAX)
			rsc = BP_M2M_UNREADABLE;
		out->rsc = (uint16_t)rsc;
	}
}

enum bp_m2m_outcome bp_m2m_outcome(const struct bp_m2m_reply *r, bool named)
{
	if (r->rsc == BP_M2M_CONFLICT && r->code >> 5 == 4)
		return named ? BP_M2M_STORED : BP_M2M_REFUSED;
	if (r->rsc == BP_M2M_NOT_REACHABLE && r->code >> 5 >= 4)
		return BP_M2M_BUSY;
	switch (r->code) {
	case BP_COAP_CODE(2, 1):
		return r->rsc == BP_M2M_CREATED || r->rsc == 0 ? BP_M2M_STORED : BP_M2M_REFUSED;
	case BP_COAP_CODE(4, 1):
	case BP_COAP_CODE(4, 3):
		return BP_M2M_DENIED;
	case BP_COAP_CODE(4, 4):
		return BP_M2M_NO_TARGET;
	case BP_COAP_CODE(4, 29):
	case BP_COAP_CODE(5, 3):
	case BP_COAP_CODE(5, 4):
		return BP_M2M_BUSY;
	default:
		return BP_M2M_REFUSED;
	}
}

/* One option for each part of `text`. */
static void put_parts(struct bp_coap_writer *w, uint32_t number, const char *text, char separator)
{
	for (;;) {
		const char *end = strchrnul(text, separator);
		const size_t len = (size_t)(end - text);

		if (len == 0 || len > TEXT_MAX)
			w->full = true;
		else
			bp_coap_option(w, number, text, (uint32_t)len);
		if (*end == '\0')
			return;
		text = end + 1;
	}
}

static void put_text(struct bp_coap_writer *w, uint32_t number, const char *text)
{
	const size_t len = strnlen(text, TEXT_MAX + 1);

	if (len > TEXT_MAX)
		w->full = true;
	else
		bp_coap_option(w, number, text, (uint32_t)len);
}

/* The oneM2M options in the order of their numbers, which is not the same in all releases. */
static void put_m2m(
	struct bp_coap_writer *w, const struct bp_m2m_options *n, const struct bp_m2m_request *q)
{
	const bool ty_last = n->ty > n->fr;

	if (q->ty != 0 && !ty_last)
		bp_coap_option_uint(w, n->ty, q->ty);
	if (n->rvi != 0)
		put_text(w, n->rvi, n->rvi_text);
	put_text(w, n->fr, q->fr);
	put_text(w, n->rqi, q->rqi);
	if (q->ty != 0 && ty_last)
		bp_coap_option_uint(w, n->ty, q->ty);
}

size_t bp_m2m_create(struct bp_coap_writer *w, const uint8_t *out, enum bp_m2m_release r,
	const struct bp_m2m_request *q)
{
	const size_t body_len = q->body != NULL ? q->body_len : 0;

	if (body_len > UINT16_MAX)
		return 0;
	put_parts(w, BP_COAP_URI_PATH, q->path, '/');
	if (body_len != 0)
		bp_coap_option_uint(w, BP_COAP_CONTENT_FORMAT, BP_M2M_FORMAT_JSON);
	if (q->query != NULL)
		put_parts(w, BP_COAP_URI_QUERY, q->query, '&');
	put_m2m(w, &bp_m2m_options[r], q);
	return bp_coap_end(w, out, q->body, (uint32_t)body_len);
}
