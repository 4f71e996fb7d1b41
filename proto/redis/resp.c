/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/redis/resp.h"

#include <stdbool.h>
#include <string.h>

struct reader {
	const char *at, *end;
	struct bp_resp *values;
	uint32_t n;
	bool invalid; /* else more bytes are needed */
};

static bool invalid(struct reader *r)
{
	r->invalid = true;
	return false;
}

/* Reads a line without its CR LF. */
static bool read_line(struct reader *r, const char **line, size_t *len)
{
	const size_t left = (size_t)(r->end - r->at);
	const char *lf = memchr(r->at, '\n', left < BP_RESP_LINE_MAX ? left : BP_RESP_LINE_MAX);

	if (lf == NULL)
		return left < BP_RESP_LINE_MAX ? false : invalid(r);
	if (lf == r->at || lf[-1] != '\r')
		return invalid(r);
	*line = r->at;
	*len = (size_t)(lf - r->at) - 1;
	r->at = lf + 1;
	return true;
}

/* A decimal number with an optional minus sign; one more than 18 digits could overflow. */
static bool read_number(struct reader *r, int64_t *out)
{
	const char *line;
	bool negative;
	size_t len;
	int64_t v = 0;

	if (!read_line(r, &line, &len))
		return false;
	negative = len > 0 && line[0] == '-';
	line += negative;
	len -= negative;
	if (len == 0 || len > 18)
		return invalid(r);
	for (size_t i = 0; i < len; i++) {
		if (line[i] < '0' || line[i] > '9')
			return invalid(r);
		v = v * 10 + (line[i] - '0');
	}
	*out = negative ? -v : v;
	return true;
}

static bool read_text(struct reader *r, struct bp_resp *v)
{
	int64_t len;

	if (!read_number(r, &len))
		return false;
	if (len == -1) {
		v->type = BP_RESP_NIL;
		return true;
	}
	if (len < 0 || (uint64_t)len > BP_RESP_TEXT_MAX)
		return invalid(r);
	if ((size_t)(r->end - r->at) < (size_t)len + 2)
		return false;
	v->type = BP_RESP_TEXT;
	v->text = r->at;
	v->len = (size_t)len;
	r->at += len + 2;
	return r->at[-2] == '\r' && r->at[-1] == '\n' ? true : invalid(r);
}

static bool read_value(struct reader *r, unsigned depth);

static bool read_array(struct reader *r, struct bp_resp *v, unsigned depth)
{
	const uint32_t self = r->n - 1;
	int64_t n;

	if (!read_number(r, &n))
		return false;
	v->type = n == -1 ? BP_RESP_NIL : BP_RESP_ARRAY;
	if (n == -1)
		return true;
	if (n < 0 || n > BP_RESP_VALUES_MAX || depth == BP_RESP_DEPTH_MAX)
		return invalid(r);
	v->n = (uint32_t)n;
	for (int64_t i = 0; i < n; i++)
		if (!read_value(r, depth + 1))
			return false;
	v->skip = r->n - self;
	return true;
}

static bool read_value(struct reader *r, unsigned depth)
{
	struct bp_resp *v;
	char type;

	if (r->n == BP_RESP_VALUES_MAX)
		return invalid(r);
	if (r->at == r->end)
		return false;
	v = &r->values[r->n++];
	*v = (struct bp_resp){.skip = 1};
	type = *r->at++;
	switch (type) {
	case '+':
	case '-':
		v->type = type == '+' ? BP_RESP_STATUS : BP_RESP_ERROR;
		return read_line(r, &v->text, &v->len);
	case ':':
		v->type = BP_RESP_INTEGER;
		return read_number(r, &v->integer);
	case '$':
		return read_text(r, v);
	case '*':
		return read_array(r, v, depth);
	default:
		return invalid(r);
	}
}

ssize_t bp_resp_read(const char *bytes, size_t len, struct bp_resp values[BP_RESP_VALUES_MAX])
{
	struct reader r = {.at = bytes, .end = bytes + len, .values = values};

	if (read_value(&r, 0))
		return r.at - bytes;
	return r.invalid ? -1 : 0;
}
