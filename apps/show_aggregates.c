/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "apps/agg_entries.h"
#include "apps/agg_text.h"
#include "apps/show.h"
#include "apps/table.h"
#include "apps/text.h"

#define LOOK_ROWS 1000u /* by which the columns are made as wide as they need to be */

static uint64_t word(const _Atomic uint64_t *w)
{
	return atomic_load_explicit((_Atomic uint64_t *)w, memory_order_relaxed);
}

/* Since its last aggregate left; null: none has yet. */
static json_t *idle_ms(uint64_t last_ns, uint64_t now_ns)
{
	if (last_ns == 0)
		return json_null();
	return json_integer((json_int_t)(now_ns > last_ns ? (now_ns - last_ns) / 1000000u : 0));
}

static json_t *stream(
	const struct bp_show_source *s, uint32_t worker, const struct bp_agg_stream_row *r)
{
	const uint64_t messages = word(&r->messages), aggregates = word(&r->aggregates);
	char to[BP_TEXT_ADDRESS], number[5];

	bp_text_address(r->address, r->family == 6, r->udp, to);
	snprintf(number, sizeof(number), "%04x", r->stream);
	return json_pack("{ss si si sb sI sI ss sI sI so sI so}", "to", to, "dscp", r->tos >> 2,
		"ecn", r->tos & 3, "dont_fragment", (int)r->dont_fragment, "rule",
		(json_int_t)r->rule, "worker", (json_int_t)worker, "stream", number, "messages",
		(json_int_t)messages, "aggregates", (json_int_t)aggregates, "mean_fill",
		bp_agg_ratio((double)messages, (double)aggregates), "saved_octets",
		(json_int_t)(word(&r->message_octets) - word(&r->aggregate_octets)), "idle_ms",
		idle_ms(word(&r->last_ns), s->unix_ns));
}

/* How the streams are written: as rows of a table, or (table NULL) of a JSON array. */
struct writer {
	FILE *out;
	struct bp_table *table;
	bool compact;
	uint64_t shown, total; /* total: that were asked for */
};

/* False: no memory. */
static bool write_one(struct writer *w, const struct bp_show_source *s, uint32_t worker,
	const struct bp_agg_stream_row *r)
{
	json_t *row = stream(s, worker, r);
	bool written;

	if (!row)
		return false;
	if (w->table)
		return bp_table_row(w->table, row);
	fprintf(w->out, "%s%s", w->shown > 1 ? "," : "", w->compact ? "" : "\n    ");
	written = json_dumpf(row, w->out, w->compact ? JSON_COMPACT : 0) == 0 || ferror(w->out);
	json_decref(row);
	return written;
}

/* Those that are asked for, in the tables' order; only so many are shown. */
static bool write_all(struct writer *w, const struct bp_show_source *s)
{
	const struct bp_agg_tables *t = &s->shm->agg;
	const uint64_t rows = t->plan ? (uint64_t)s->shm->workers * t->streams : 0;

	for (uint64_t i = 0; i < rows && !ferror(w->out); i++) {
		struct bp_agg_stream_row copy;

		if (!bp_agg_stream_read(&t->rows[i], &copy) ||
			!bp_stream_filter_takes(&s->streams, &copy))
			continue;
		w->total++;
		if (s->limit && w->total > s->limit)
			continue;
		w->shown++;
		if (!write_one(w, s, (uint32_t)(i / t->streams), &copy))
			return false;
	}
	return true;
}

/* The entries' members first, then the streams, which may be many. */
static bool write_json(struct writer *w, const struct bp_show_source *s, const json_t *entries)
{
	const size_t flags = JSON_PRESERVE_ORDER | (w->compact ? JSON_COMPACT : JSON_INDENT(2));
	char *head = json_dumps(entries, flags);
	bool whole;

	if (!head)
		return false;
	/* without the brace at its end, and the line break before it */
	fprintf(w->out, "%.*s", (int)strlen(head) - (w->compact ? 1 : 2), head);
	free(head);
	fputs(w->compact ? ",\"streams\":[" : ",\n  \"streams\": [", w->out);
	whole = write_all(w, s);
	fprintf(w->out,
		w->compact ? "%s],\"total\":%" PRIu64 "}\n" : "%s],\n  \"total\": %" PRIu64 "\n}\n",
		w->shown && !w->compact ? "\n  " : "", w->total);
	return whole;
}

static bool write_streams(struct writer *w, const struct bp_show_source *s)
{
	static const struct bp_column columns[] = {
		{"to", "TO", 0},
		{"dscp", "DSCP", 1},
		{"rule", "RULE", 1},
		{"worker", "WORKER", 1},
		{"stream", "STREAM", 0},
		{"messages", "MESSAGES", 1},
		{"aggregates", "AGGREGATES", 1},
		{"mean_fill", "FILL", 1},
		{"saved_octets", "SAVED-OCTETS", 1},
		{"idle_ms", "IDLE-MS", 1},
		{NULL, NULL, 0},
	};
	bool whole;

	fputs("\nstreams\n", w->out);
	w->table = bp_table_begin(w->out, columns, LOOK_ROWS);
	if (!w->table)
		return false;
	whole = write_all(w, s);
	if (!bp_table_end(w->table, bp_stream_filter_any(&s->streams)
					    ? "no stream is as asked for"
					    : "nothing has been aggregated yet"))
		return false;
	if (whole && w->shown < w->total)
		fprintf(w->out, "\n%" PRIu64 " of %" PRIu64 " streams; -n 0 shows all\n", w->shown,
			w->total);
	return whole;
}

static bool write_text(struct writer *w, const struct bp_show_source *s, const json_t *entries)
{
	if (!s->shm->agg.plan) {
		fputs("the file has no section aggregate or disaggregate\n", w->out);
		return true;
	}
	bp_agg_entries_print(entries, w->out);
	/* a gateway that only takes apart makes no streams */
	return json_array_size(json_object_get(entries, "aggregate")) == 0 || write_streams(w, s);
}

static int write_aggregates(const struct bp_show_source *s, bool json, bool compact, FILE *out,
	char *err, size_t err_size)
{
	struct writer w = {.out = out, .compact = compact};
	json_t *entries = bp_agg_entries(s->shm);
	const bool whole =
		entries && (json ? write_json(&w, s, entries) : write_text(&w, s, entries));

	json_decref(entries);
	if (whole)
		return 0;
	snprintf(err, err_size, "not enough memory");
	return -1;
}

const struct bp_show_view bp_show_aggregates = {
	.name = "aggregates",
	.summary = "UDP messages put into aggregates and restored from them",
	.default_limit = 100,
	.write = write_aggregates,
	.takes_streams = true,
};
