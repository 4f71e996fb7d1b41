/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "proto/payload/utf8.h"
#include "proto/payload/value_items.h"

/* Values with a type, a scale or several elements. */

bool bp_value_strings_valid(const struct bp_value_strings *strings)
{
	if (strings->n > BP_VALUE_STRINGS_MAX)
		return false;
	for (uint32_t i = 0; i < strings->n; i++) {
		if (strings->len[i] > BP_VALUE_STRING_MAX)
			return false;
	}
	return true;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* All of [at, end). */
static bool decode_text(const uint8_t *at, const uint8_t *end, struct bp_value_text *text)
{
	text->len = 0;
	text->truncated = text->replaced = false;
	return bp_value_text_add_checked(text, at, (size_t)(end - at));
}

/* The whole payload, without the blanks around it, is the value. An empty one has none. */
static void pick_text(struct bp_pick *pick, const uint8_t *payload, size_t len)
{
	const uint8_t *p = payload, *end = payload + len;
	double value;

	while (p != end && is_blank(*p))
		p++;
	while (p != end && is_blank(end[-1]))
		end--;
	len = (size_t)(end - p);
	if (pick->source->type == BP_VALUE_NUMBER && bp_value_text(p, len, &value))
		bp_pick_number(pick, value, p, end);
	else if (pick->source->type == BP_VALUE_STRING && len != 0)
		bp_pick_string(pick, p, end);
	else if (pick->source->type == BP_VALUE_BOOLEAN &&
		 ((len == 4 && memcmp(p, "true", 4) == 0) ||
			 (len == 5 && memcmp(p, "false", 5) == 0)))
		bp_pick_number(pick, *p == 't', p, end);
}

static bool pick(struct bp_pick *p, const uint8_t *payload, size_t len, bool beginning)
{
	double value;

	switch ((enum bp_value_kind)p->source->kind) {
	case BP_VALUE_TEXT:
		if (!beginning) /* all of the payload is the value */
			pick_text(p, payload, len);
		return true;
	case BP_VALUE_JSON:
		if (!beginning)
			return bp_pick_json(p, payload, len);
		bp_pick_json_beginning(p, payload, len);
		return true;
	case BP_VALUE_BINARY:
		if (p->source->type == BP_VALUE_NUMBER &&
			bp_value_binary(payload, len, &p->source->binary, &value))
			bp_pick_number(p, value, payload, payload + len);
		return true;
	case BP_VALUE_CBOR:
		return bp_pick_items(p, &bp_cbor_format, payload, len, beginning);
	case BP_VALUE_MSGPACK:
		return bp_pick_items(p, &bp_msgpack_format, payload, len, beginning);
	case BP_VALUE_SPARKPLUG: /* needs the birth of its device */
		return false;
	}
	return false;
}

bool bp_value_select(const uint8_t *payload, size_t len, bool beginning,
	const struct bp_value_source *source, const struct bp_value_strings *strings,
	const struct bp_value_rank *rank, struct bp_value_result *out)
{
	struct bp_pick p;

	bp_pick_init(&p, source, strings, rank,
		source->kind == BP_VALUE_JSON      ? bp_json_text
		: source->kind == BP_VALUE_CBOR    ? bp_cbor_format.decode
		: source->kind == BP_VALUE_MSGPACK ? bp_msgpack_format.decode
						   : decode_text);
	if (pick(&p, payload, len, beginning))
		return bp_pick_result(&p, beginning, out);
	out->elements = p.elements;
	return false;
}
