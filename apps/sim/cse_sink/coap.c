/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/cse_sink/coap.h"

#include <string.h>

const struct sink_numbers sink_numbers_old = {256, 257, 0, 265};
const struct sink_numbers sink_numbers_new = {279, 283, 271, 307};

struct reader {
	const uint8_t *p, *end;
};

/* The rest of an option's delta or length whose first four bits are `half`; -1: invalid. */
static int32_t extended(struct reader *r, unsigned half)
{
	if (half < 13)
		return (int32_t)half;
	if (half == 13 && r->end - r->p >= 1)
		return 13 + *r->p++;
	if (half == 14 && r->end - r->p >= 2) {
		r->p += 2;
		return 269 + (r->p[-2] << 8 | r->p[-1]);
	}
	return -1;
}

static int32_t uint_of(const uint8_t *p, size_t len)
{
	int32_t v = 0;

	for (size_t i = 0; i < len; i++)
		v = v << 8 | p[i];
	return v;
}

static const char *segment(struct sink_message *m, struct sink_text t)
{
	size_t used = strlen(m->path), slash = used > 0;

	if (t.len == 0)
		return "an empty path segment";
	if (memchr(t.p, '/', t.len) != NULL || memchr(t.p, '\0', t.len) != NULL)
		return "a path segment with a slash or a NUL";
	if (used + slash + t.len >= sizeof(m->path))
		return "a path of over 511 bytes";
	if (slash)
		m->path[used] = '/';
	memcpy(m->path + used + slash, t.p, t.len);
	m->path[used + slash + t.len] = '\0';
	return NULL;
}

static const char *number_option(int32_t *out, struct sink_text t)
{
	const uint8_t *p = (const uint8_t *)t.p;

	if (*out >= 0)
		return "an option twice";
	if (t.len > 2)
		return "a number of over 2 bytes";
	if (t.len > 0 && p[0] == 0)
		return "a number that is not in its shortest form";
	*out = uint_of(p, t.len);
	return NULL;
}

static const char *text_option(struct sink_text *out, struct sink_text t)
{
	if (out->p != NULL)
		return "an option twice";
	if (t.len > 255)
		return "a text option of over 255 bytes";
	*out = t;
	return NULL;
}

static const char *option(
	struct sink_message *m, const struct sink_numbers *n, uint32_t number, struct sink_text t)
{
	if (number == SINK_URI_PATH)
		return segment(m, t);
	if (number == SINK_CONTENT_FORMAT)
		return number_option(&m->format, t);
	if (number == SINK_TY)
		return number_option(&m->ty, t);
	if (number == SINK_URI_QUERY)
		return text_option(&m->query, t);
	if (number == n->fr)
		return text_option(&m->fr, t);
	if (number == n->rqi)
		return text_option(&m->rqi, t);
	if (number == n->rvi && n->rvi != 0)
		return text_option(&m->rvi, t);
	return "an unexpected option";
}

static const char *options(struct sink_message *m, const struct sink_numbers *n, struct reader r)
{
	uint32_t number = 0;

	while (r.p < r.end) {
		uint8_t first = *r.p++;
		const char *wrong;
		int32_t delta, len;

		if (first == 0xff) {
			if (r.p == r.end)
				return "a payload marker without a payload";
			m->payload = (struct sink_text){(const char *)r.p, (size_t)(r.end - r.p)};
			return NULL;
		}
		delta = extended(&r, first >> 4);
		len = delta < 0 ? -1 : extended(&r, first & 15);
		if (len < 0 || len > r.end - r.p)
			return "an option longer than the message";
		number += (uint32_t)delta;
		wrong = option(m, n, number, (struct sink_text){(const char *)r.p, (size_t)len});
		if (wrong != NULL)
			return wrong;
		r.p += len;
	}
	return NULL;
}

const char *sink_read(
	struct sink_message *m, const struct sink_numbers *n, const uint8_t *p, size_t len)
{
	*m = (struct sink_message){.format = -1, .ty = -1};
	if (len < 4 || p[0] >> 6 != 1)
		return "no CoAP message of version 1";
	m->type = p[0] >> 4 & 3;
	m->code = p[1];
	m->mid = (uint16_t)(p[2] << 8 | p[3]);
	m->token_len = p[0] & 15;
	if (m->token_len > 8 || len < 4 + m->token_len)
		return "a token longer than 8 bytes or the message";
	memcpy(m->token, p + 4, m->token_len);
	if (m->code == 0)
		return len == 4 ? NULL : "an empty message with contents";
	return options(m, n, (struct reader){p + 4 + m->token_len, p + len});
}

struct writer {
	uint8_t *p, *end;
	uint32_t last;
};

static void put(struct writer *w, const void *p, size_t len)
{
	if ((size_t)(w->end - w->p) < len) {
		w->p = w->end;
		return;
	}
	memcpy(w->p, p, len);
	w->p += len;
}

static void put_option(struct writer *w, uint32_t number, const void *p, size_t len)
{
	uint32_t v[2] = {number - w->last, (uint32_t)len};
	uint8_t head[5], n = 1;

	head[0] = 0;
	for (unsigned i = 0; i < 2; i++) {
		unsigned half = v[i] < 13 ? v[i] : v[i] < 269 ? 13 : 14;

		head[0] = (uint8_t)(head[0] | half << (i == 0 ? 4 : 0));
		if (half == 14)
			head[n++] = (uint8_t)((v[i] - 269) >> 8);
		if (half >= 13)
			head[n++] = (uint8_t)(v[i] - (half == 13 ? 13 : 269));
	}
	put(w, head, n);
	put(w, p, len);
	w->last = number;
}

size_t sink_write(uint8_t *out, size_t size, const struct sink_message *m,
	const struct sink_numbers *n, uint8_t type, uint16_t mid, uint8_t code, uint16_t rsc,
	const char *body)
{
	struct writer w = {out, out + size, 0};
	bool empty = rsc == 0;
	uint8_t head[] = {(uint8_t)(0x40 | type << 4 | (empty ? 0 : m->token_len)), code,
		(uint8_t)(mid >> 8), (uint8_t)mid};
	uint8_t status[] = {(uint8_t)(rsc >> 8), (uint8_t)rsc}, json = 50;

	put(&w, head, sizeof(head));
	if (empty)
		return (size_t)(w.p - out);
	put(&w, m->token, m->token_len);
	if (body != NULL)
		put_option(&w, SINK_CONTENT_FORMAT, &json, 1);
	/* In the order of their numbers, which the generations have differently. */
	if (n->rvi == 0) {
		put_option(&w, n->rqi, m->rqi.p, m->rqi.len);
	} else {
		put_option(&w, n->rvi, m->rvi.p, m->rvi.len);
		put_option(&w, n->rqi, m->rqi.p, m->rqi.len);
	}
	put_option(&w, n->rsc, status, 2);
	if (body != NULL) {
		put(&w, "\xff", 1);
		put(&w, body, strlen(body));
	}
	return (size_t)(w.p - out);
}
