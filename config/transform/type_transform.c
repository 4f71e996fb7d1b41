/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/transform/type_transform.h"
#include "config/transform/settings.h"
#include "proto/payload/number.h"
#include "proto/transform/transform_matrix.h"

/*
 * Types of section transform: lists of sources in an entry and of receivers in a source, and the
 * settings of a receiver that are stored as bits and not as fields of their own.
 */

/* ---- lists: the elements of all entries in one array, grown by doubling ---- */

static uint32_t table_size(uint32_t n)
{
	uint32_t room = 16;

	while (room < n)
		room *= 2;
	return n == 0 ? 0 : room;
}

/* Grows the array by `more` zeroed elements after n; false: there is no memory. */
static bool grow(void *list, size_t element, uint32_t n, uint32_t more)
{
	char *items;

	memcpy(&items, list, sizeof(items));
	if (table_size(n + more) > table_size(n)) {
		items = realloc(items, (size_t)table_size(n + more) * element);
		if (items == NULL)
			return false;
		memcpy(list, &items, sizeof(items));
	}
	memset(items + (size_t)n * element, 0, (size_t)more * element);
	return true;
}

/* Returns whether the limit over all entries allows the additional elements. */
static bool admit(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, uint32_t have)
{
	if (n->n <= BP_TRANSFORM_MATRICES_MAX - have)
		return true;
	bp_reader_error(r, s, n, "%u are given, and %u before", n->n, have);
	return false;
}

static void read_sources(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_transform_config *t = &bp_config_transform_set(r->config)->entries;
	const struct bp_transform_rule *rule = field;
	const uint32_t first = t->n_sources;

	if (!bp_list_given(r, s, n) || !admit(r, s, n, first))
		return;
	if (!grow(&t->source, sizeof(*t->source), first, n->n)) {
		bp_reader_error(r, s, n, "there is no memory for %u of them", n->n);
		return;
	}
	t->n_sources += n->n;
	for (uint32_t i = first; i < t->n_sources; i++)
		t->source[i].rule = (uint32_t)(rule - t->rule);
	bp_read_elements(r, s, n, &t->source[first]);
}

static void read_receivers(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_transform_config *t = &bp_config_transform_set(r->config)->entries;
	struct bp_transform_source *source = field;

	if (!bp_list_given(r, s, n) || !admit(r, s, n, t->n_receivers))
		return;
	if (!grow(&t->receiver, sizeof(*t->receiver), t->n_receivers, n->n)) {
		bp_reader_error(r, s, n, "there is no memory for %u of them", n->n);
		return;
	}
	source->first = t->n_receivers;
	source->n = n->n;
	t->n_receivers += n->n;
	bp_read_elements(r, s, n, &t->receiver[source->first]);
}

static void expect_some(const struct bp_setting *s, FILE *out)
{
	fprintf(out, "a list of at most %llu mappings, %u in all entries together",
		(unsigned long long)s->max, BP_TRANSFORM_MATRICES_MAX);
}

const struct bp_type bp_type_transform_sources = {.read = read_sources, .expect = expect_some};
const struct bp_type bp_type_receivers = {.read = read_receivers, .expect = expect_some};

const void *bp_transform_sources_of(const struct bp_config *c, const void *rule, uint32_t *n)
{
	const uint32_t which = (uint32_t)((const struct bp_transform_rule *)rule -
					  bp_config_transform(c)->entries.rule);
	const struct bp_transform_source *first = bp_config_transform(c)->entries.source;
	uint32_t left = bp_config_transform(c)->entries.n_sources;

	while (left > 0 && first->rule != which)
		first++, left--;
	*n = 0;
	while (*n < left && first[*n].rule == which)
		++*n;
	return first;
}

const void *bp_transform_receivers_of(const struct bp_config *c, const void *source, uint32_t *n)
{
	const struct bp_transform_source *s = source;

	*n = s->n;
	return s->n == 0 ? NULL : &bp_config_transform(c)->entries.receiver[s->first];
}

/* ---- a receiver ---- */

static bool parse_address(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_transform_receiver *to = field;
	struct bp_address a;

	if (!bp_type_address.parse(s, c, text, &a, fault))
		return false;
	memcpy(to->address, a.bytes, sizeof(to->address));
	to->family = a.family;
	to->flags |= BP_TRANSFORM_ADDRESS;
	return true;
}

static void format_address(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_transform_receiver *to = field;
	struct bp_address a = {.family = to->family};

	memcpy(a.bytes, to->address, sizeof(a.bytes));
	bp_type_address.format(s, c, &a, out);
}

static void expect_address(const struct bp_setting *s, FILE *out)
{
	bp_type_address.expect(s, out);
}

const struct bp_type bp_type_receiver_address = {
	.parse = parse_address, .format = format_address, .expect = expect_address};

static bool parse_udp(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	const struct bp_setting number = {.min = s->min, .max = s->max, .size = sizeof(uint16_t)};
	struct bp_transform_receiver *to = field;

	if (!bp_type_uint.parse(&number, c, text, &to->udp, fault))
		return false;
	to->flags |= BP_TRANSFORM_UDP;
	return true;
}

static void format_udp(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	fprintf(out, "%u", ((const struct bp_transform_receiver *)field)->udp);
}

static void expect_udp(const struct bp_setting *s, FILE *out)
{
	fprintf(out, "a UDP port from %llu to %llu", (unsigned long long)s->min,
		(unsigned long long)s->max);
}

const struct bp_type bp_type_receiver_udp = {
	.parse = parse_udp, .format = format_udp, .expect = expect_udp};

static bool parse_mac(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_transform_receiver *to = field;

	if (!bp_type_mac.parse(s, c, text, to->mac, fault))
		return false;
	to->flags |= BP_TRANSFORM_MAC;
	return true;
}

static void format_mac(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	bp_type_mac.format(s, c, ((const struct bp_transform_receiver *)field)->mac, out);
}

static void expect_mac(const struct bp_setting *s, FILE *out)
{
	bp_type_mac.expect(s, out);
}

const struct bp_type bp_type_receiver_mac = {
	.parse = parse_mac, .format = format_mac, .expect = expect_mac};

static bool parse_reply(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	const struct bp_setting yes_or_no = {.size = sizeof(bool)};
	struct bp_transform_receiver *to = field;
	bool reflect;

	if (!bp_type_bool.parse(&yes_or_no, c, text, &reflect, fault))
		return false;
	if (reflect)
		to->flags |= BP_TRANSFORM_REFLECT;
	return true;
}

static void format_reply(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_transform_receiver *to = field;

	fputs(to->flags & BP_TRANSFORM_REFLECT ? "true" : "false", out);
}

static void expect_reply(const struct bp_setting *s, FILE *out)
{
	bp_type_bool.expect(s, out);
}

const struct bp_type bp_type_receiver_reflect = {
	.parse = parse_reply, .format = format_reply, .expect = expect_reply};

/* ---- [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]] ---- */

static bool read_number(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, double *v)
{
	const uint8_t *text = (const uint8_t *)n->text, *end;
	char shown[BP_SHOWN];

	if (n->bad)
		return false;
	if (n->kind != BP_YAML_SCALAR || bp_yaml_is_null(n)) {
		bp_reader_error(r, s, n, "this is not a number");
		return false;
	}
	*v = NAN; /* unchanged when the number is too large for a double */
	end = text + n->n;
	if (bp_number_parse(text, end, true, v) != end || !isfinite(*v)) {
		bp_reader_error(r, s, n, "'%s' is not a finite decimal number",
			bp_shown(n->text, n->n, shown));
		return false;
	}
	return true;
}

static bool read_row(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, double row[4])
{
	unsigned i = 0;

	if (n->bad)
		return false;
	if (n->kind != BP_YAML_LIST || n->n != 4) {
		bp_reader_error(
			r, s, n, "found a row of %u numbers", n->kind == BP_YAML_LIST ? n->n : 1);
		return false;
	}
	for (struct bp_yaml *item = n->first; item != NULL; item = item->next) {
		if (!read_number(r, s, item, &row[i++]))
			return false;
	}
	return true;
}

static void read_matrix(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_transform_receiver *to = field;
	double row[3][4];
	unsigned i = 0;

	if (n->kind != BP_YAML_LIST) {
		bp_reader_error(
			r, s, n, "found a %s", n->kind == BP_YAML_MAP ? "mapping" : "single value");
		return;
	}
	if (n->n != 3) {
		bp_reader_error(r, s, n, "%u are given", n->n);
		return;
	}
	for (struct bp_yaml *item = n->first; item != NULL; item = item->next) {
		if (!read_row(r, s, item, row[i++]))
			return;
	}
	bp_transform_matrix_from_rows((const double(*)[4])row, to->m);
	to->flags |= BP_TRANSFORM_MATRIX;
}

/* Writes enough digits to read the same double back. */
static void format_matrix(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_transform_receiver *to = field;
	double row[3][4];

	bp_transform_matrix_to_rows(to->m, row);
	for (unsigned i = 0; i < 12; i++)
		fprintf(out, "%s%.17g%s",
			i == 0       ? "[["
			: i % 4 == 0 ? "["
				     : "",
			row[i / 4][i % 4],
			i == 11      ? "]]"
			: i % 4 == 3 ? "], "
				     : ", ");
}

static void expect_matrix(const struct bp_setting *s, FILE *out)
{
	fputs("three rows of four numbers, [[a, b, c, shift of x], [d, e, f, shift of y], "
	      "[g, h, i, shift of z]]",
		out);
}

const struct bp_type bp_type_matrix = {
	.read = read_matrix, .format = format_matrix, .expect = expect_matrix};
