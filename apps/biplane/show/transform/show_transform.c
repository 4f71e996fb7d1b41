/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/show/fib_text.h"
#include "apps/biplane/show/show_rows.h"
#include "apps/biplane/text.h"
#include "apps/biplane/show/transform/transform_entries.h"
#include "shm/words.h"
#include "proto/transform/transform_matrix.h"

/* What became of a source's readings, over all workers. */
struct counts {
	uint64_t readings, saturated, refused;
};

static uint64_t word(const _Atomic uint64_t *w)
{
	return atomic_load_explicit((_Atomic uint64_t *)w, memory_order_relaxed);
}

static struct counts counts_of(const struct bp_shm *m, uint32_t source, uint32_t uid)
{
	struct counts c = {0};

	for (uint32_t w = 0; w < m->workers; w++) {
		const struct bp_transform_source_stats *s =
			&m->transform.source_stats[(size_t)w * m->transform.matrices + source];

		if (word(&s->uid) != uid)
			continue;
		c.readings += word(&s->readings);
		c.saturated += word(&s->saturated);
		c.refused += word(&s->refused);
	}
	return c;
}

/* "10.1.0.9:20000"; * for a field that is not rewritten. */
static json_t *to_text(const struct bp_transform_row *r, unsigned flags)
{
	char address[BP_TEXT_IP] = "*", text[BP_TEXT_IP + 24], udp[8] = "*";
	const char *form = r->family == 6 && (flags & BP_TRANSFORM_ADDRESS) ? "[%s]:%s" : "%s:%s";

	if (flags & BP_TRANSFORM_ADDRESS) {
		struct bp_address a = {.family = r->family};

		memcpy(a.bytes, r->address, sizeof(a.bytes));
		bp_text_ip(&a, address);
	}
	if (flags & BP_TRANSFORM_REFLECT)
		snprintf(address, sizeof(address), "sender");
	if (flags & BP_TRANSFORM_UDP)
		snprintf(udp, sizeof(udp), "%u", r->udp);
	snprintf(text, sizeof(text), form, address, udp);
	return json_string(text);
}

static json_t *mac_text(const struct bp_transform_row *r, unsigned flags)
{
	char text[BP_TEXT_MAC];

	if (!(flags & BP_TRANSFORM_MAC))
		return json_null();
	bp_text_mac(r->mac, text);
	return json_string(text);
}

static json_t *matrix_json(const double m[12], unsigned flags)
{
	double row[3][4];
	json_t *rows;

	if (!(flags & BP_TRANSFORM_MATRIX))
		return json_null();
	bp_transform_matrix_to_rows(m, row);
	rows = json_array();
	for (unsigned i = 0; i < 3; i++)
		json_array_append_new(
			rows, json_pack("[f f f f]", row[i][0], row[i][1], row[i][2], row[i][3]));
	return rows;
}

static json_t *receiver(const struct bp_transform_row *r)
{
	double m[12];
	const unsigned flags = (unsigned)(bp_transform_row_read(r, m) & 0xff);

	return json_pack("{so so so sb}", "to", to_text(r, flags), "mac", mac_text(r, flags),
		"matrix", matrix_json(m, flags), "set", (flags & BP_TRANSFORM_SET) != 0);
}

static json_t *receivers(const struct bp_transform_view *v, const struct bp_transform_source_row *s)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < s->n && i < BP_TRANSFORM_RECEIVERS_MAX; i++)
		if (s->first + i < v->bank->rows)
			json_array_append_new(list, receiver(&v->row[s->first + i]));
	return list;
}

static json_t *source(const struct bp_shm *m, const struct bp_transform_view *v, uint32_t i,
	const struct bp_transform_source_row *s)
{
	const struct counts c = counts_of(m, i, s->uid);
	struct bp_prefix p = {.family = s->family, .length = s->length};
	char text[BP_TEXT_PREFIX];

	memcpy(p.bytes, s->address, sizeof(p.bytes));
	bp_text_prefix(&p, text);
	if (p.length == bp_address_bits(p.family))
		*strchr(text, '/') = '\0';
	return json_pack("{ss si sb sI sI sI so}", "source", text, "entry", (int)s->rule, "added",
		(s->flags & BP_TRANSFORM_ADDED) != 0, "readings", (json_int_t)c.readings,
		"saturated", (json_int_t)c.saturated, "dropped", (json_int_t)c.refused, "receivers",
		receivers(v, s));
}

static bool asked_for(const struct bp_show_source *s, const struct bp_transform_source_row *row)
{
	const struct bp_prefix *within = &s->streams.within;
	struct bp_address a = {.family = row->family};

	if (s->streams.has_rule && s->streams.rule != row->rule)
		return false;
	if (within->family == 0)
		return true;
	memcpy(a.bytes, row->address, sizeof(a.bytes));
	if (within->family != row->family || row->length < within->length)
		return false;
	a.family = row->family;
	return memcmp(bp_prefix_of(a, within->length).bytes, within->bytes, sizeof(a.bytes)) == 0;
}

/* What is in the list of receivers as two cells. */
static json_t *for_people(json_t *row)
{
	char to[512] = "";
	json_int_t set = 0;
	const json_t *r;
	size_t at = 0, i;

	json_array_foreach(json_object_get(row, "receivers"), i, r)
	{
		set += json_is_true(json_object_get(r, "set"));
		if (at < sizeof(to))
			at += (size_t)snprintf(to + at, sizeof(to) - at, "%s%s%s", i ? ", " : "",
				json_string_value(json_object_get(r, "to")),
				json_is_null(json_object_get(r, "matrix")) ? " (no matrix)" : "");
	}
	json_object_set_new(row, "to", json_string(to));
	json_object_set_new(row, "matrices_set", json_integer(set));
	return row;
}

/* Those that are asked for, in the bank's order. The control plane may write another bank over this
 * one meanwhile: what is read then is of both, and within bounds. */
static bool write_all(struct bp_show_rows *w, const struct bp_show_source *s)
{
	uint64_t active;
	const struct bp_transform_view v = bp_transform_view_now(s->shm, &active);
	const uint32_t n = v.bank ? atomic_load_explicit((_Atomic uint32_t *)&v.bank->n_sources,
					    memory_order_acquire)
				  : 0;

	for (uint32_t i = 0; i < n && i < s->shm->transform.matrices && !ferror(w->out); i++) {
		struct bp_transform_source_row copy;
		json_t *row;

		bp_words_load(&copy, &v.source[i], sizeof(copy));
		if ((copy.family != 4 && copy.family != 6) ||
			copy.length > bp_address_bits(copy.family) || !asked_for(s, &copy) ||
			!bp_show_rows_next(w, s))
			continue;
		row = source(s->shm, &v, i, &copy);
		if (row && w->table)
			row = for_people(row);
		if (!bp_show_rows_add(w, row))
			return false;
	}
	return true;
}

static bool write_text(
	struct bp_show_rows *w, const struct bp_show_source *s, const json_t *entries)
{
	static const struct bp_column columns[] = {
		{"source", "SOURCE", 0},
		{"entry", "ENTRY", 1},
		{"readings", "READINGS", 1},
		{"saturated", "SATURATED", 1},
		{"dropped", "DROPPED", 1},
		{"matrices_set", "MATRICES-SET", 1},
		{"to", "TO", 0},
		{NULL, NULL, 0},
	};

	if (!s->shm->transform.head) {
		fputs("no section transform\n", w->out);
		return true;
	}
	bp_transform_entries_print(entries, w->out);
	fputs("\nsources\n", w->out);
	return bp_show_rows_text(w, s, columns,
		bp_stream_filter_any(&s->streams) ? "no source is as asked for" : "no sources");
}

static int write_transform(const struct bp_show_source *s, bool json, bool compact, FILE *out,
	char *err, size_t err_size)
{
	static const struct bp_show_rows_behind view = {.name = "sources",
		.all = write_all,
		.entries = bp_transform_entries,
		.text = write_text};

	return bp_show_rows_behind(&view, s, json, compact, out, err, err_size);
}

const struct bp_show_view bp_show_transform = {
	.name = "transform",
	.summary = "coordinate transformation: readings by entry and by source; receivers and "
		   "matrices",
	.default_limit = 100,
	.write = write_transform,
	.takes_streams = true,
};
