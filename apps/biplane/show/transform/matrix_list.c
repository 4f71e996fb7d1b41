/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/transform/matrix_list.h"

#include <jansson.h>
#include <string.h>

#include "apps/biplane/show/fib_text.h"
#include "apps/biplane/print_json.h"
#include "apps/biplane/show/transform/transform_entries.h"
#include "proto/transform/transform_matrix.h"

static const char *whence(const struct bp_transform_source_row *s, uint64_t state)
{
	if ((state & BP_TRANSFORM_MATRIX) == 0)
		return "none";
	if (s->flags & BP_TRANSFORM_ADDED)
		return "added";
	return state & BP_TRANSFORM_SET ? "set" : "file";
}

static void write_text(const char *source, unsigned entry, unsigned receiver, const char *from,
	const double row[3][4], FILE *out)
{
	fprintf(out, "%s, receiver %u, entry %u: %s\n", source, receiver, entry, from);
	for (unsigned i = 0; strcmp(from, "none") != 0 && i < 3; i++)
		fprintf(out, "  [%.17g, %.17g, %.17g, %.17g]\n", row[i][0], row[i][1], row[i][2],
			row[i][3]);
}

static bool write_json(const char *source, unsigned entry, unsigned receiver, const char *from,
	const double row[3][4], FILE *out)
{
	json_t *o = json_pack("{si ss si ss s[[ffff][ffff][ffff]]}", "entry", (int)entry, "source",
		source, "receiver", (int)receiver, "from", from, "matrix", row[0][0], row[0][1],
		row[0][2], row[0][3], row[1][0], row[1][1], row[1][2], row[1][3], row[2][0],
		row[2][1], row[2][2], row[2][3]);
	const bool whole = o != NULL && json_dumpf(o, out, JSON_COMPACT) == 0;

	json_decref(o);
	return whole;
}

static bool asked_for(const struct bp_transform_source_row *s, const struct bp_prefix *source)
{
	return source->family == 0 || (s->family == source->family && s->length == source->length &&
					      memcmp(s->address, source->bytes, 16) == 0);
}

/* The matrices of one source. `shown`: matrices printed so far. False: write error. */
static bool list_source(const struct bp_transform_view *v, const struct bp_transform_source_row *s,
	bool json, FILE *out, int *shown)
{
	struct bp_prefix p = {.family = s->family, .length = s->length};
	char text[BP_TEXT_PREFIX];

	memcpy(p.bytes, s->address, sizeof(p.bytes));
	bp_text_prefix(&p, text);
	for (uint32_t i = 0; i < s->n; i++) {
		double m[12], row[3][4];
		uint64_t state;

		/* the control plane may be writing another bank over this one */
		if (s->first >= v->bank->rows || i >= v->bank->rows - s->first)
			break;
		state = bp_transform_row_read(&v->row[s->first + i], m);
		bp_transform_matrix_to_rows(m, row);
		if (json && *shown > 0)
			fputs(",\n", out);
		++*shown;
		if (!json)
			write_text(
				text, s->rule, i, whence(s, state), (const double(*)[4])row, out);
		else if (!write_json(
				 text, s->rule, i, whence(s, state), (const double(*)[4])row, out))
			return false;
	}
	return true;
}

int bp_matrix_list(const struct bp_shm *m, const struct bp_prefix *source, bool json, FILE *out,
	char *err, size_t err_size)
{
	uint64_t active;
	const struct bp_transform_view v = bp_transform_view_now(m, &active);
	uint32_t n;
	int shown = 0;

	if (v.bank == NULL) {
		snprintf(err, err_size, "this instance has no active entries of transform");
		return -1;
	}
	n = atomic_load_explicit(&v.bank->n_sources, memory_order_acquire);
	if (json) {
		bp_print_json_begin(true, out);
		fputs("\"matrices\":[", out);
	}
	for (uint32_t i = 0; i < n && i < v.bank->sources && !ferror(out); i++) {
		if (asked_for(&v.source[i], source) &&
			!list_source(&v, &v.source[i], json, out, &shown)) {
			snprintf(err, err_size, "not enough memory");
			return -1;
		}
	}
	if (json)
		fputs("]}\n", out);
	if (bp_generation_active(&m->transform.generation) != active)
		fputs("biplane transform matrix list: warning: the rules changed while they were "
		      "read; list "
		      "them again\n",
			stderr);
	return shown;
}
