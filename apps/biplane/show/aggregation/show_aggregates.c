/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/show/aggregation/agg_entries.h"
#include "apps/biplane/show/aggregation/agg_text.h"
#include "apps/biplane/show/show_rows.h"
#include "apps/biplane/text.h"

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
		"ecn", r->tos & 3, "dont_fragment", (int)r->dont_fragment, "entry",
		(json_int_t)r->rule, "worker", (json_int_t)worker, "stream", number, "messages",
		(json_int_t)messages, "aggregates", (json_int_t)aggregates, "avg_messages",
		bp_agg_ratio((double)messages, (double)aggregates), "saved_bytes",
		(json_int_t)(word(&r->message_bytes) - word(&r->aggregate_bytes)), "idle_ms",
		idle_ms(word(&r->last_ns), s->unix_ns));
}

/* Those that are asked for, in the tables' order. */
static bool write_all(struct bp_show_rows *w, const struct bp_show_source *s)
{
	const struct bp_agg_tables *t = &s->shm->agg;
	const uint64_t rows = t->plan ? (uint64_t)s->shm->workers * t->streams : 0;

	for (uint64_t i = 0; i < rows && !ferror(w->out); i++) {
		struct bp_agg_stream_row copy;

		if (!bp_agg_stream_read(&t->rows[i], &copy) ||
			!bp_stream_filter_takes(&s->streams, &copy) || !bp_show_rows_next(w, s))
			continue;
		if (!bp_show_rows_add(w, stream(s, (uint32_t)(i / t->streams), &copy)))
			return false;
	}
	return true;
}

static bool write_streams(struct bp_show_rows *w, const struct bp_show_source *s)
{
	static const struct bp_column columns[] = {
		{"to", "TO", 0},
		{"dscp", "DSCP", 1},
		{"entry", "ENTRY", 1},
		{"worker", "WORKER", 1},
		{"stream", "STREAM", 0},
		{"messages", "MESSAGES", 1},
		{"aggregates", "AGGREGATES", 1},
		{"avg_messages", "AVG-MSGS", 1},
		{"saved_bytes", "SAVED-BYTES", 1},
		{"idle_ms", "IDLE-MS", 1},
		{NULL, NULL, 0},
	};

	fputs("\nstreams\n", w->out);
	return bp_show_rows_text(w, s, columns,
		bp_stream_filter_any(&s->streams) ? "no stream matches the filter" : "no streams");
}

static bool write_text(
	struct bp_show_rows *w, const struct bp_show_source *s, const json_t *entries)
{
	if (!s->shm->agg.plan) {
		fputs("no entry in section aggregation\n", w->out);
		return true;
	}
	bp_agg_entries_print(entries, w->out);
	/* a gateway that only takes apart makes no streams */
	return json_array_size(json_object_get(entries, "encapsulate")) == 0 || write_streams(w, s);
}

static int write_aggregates(const struct bp_show_source *s, bool json, bool compact, FILE *out,
	char *err, size_t err_size)
{
	static const struct bp_show_rows_behind view = {
		.name = "streams", .all = write_all, .entries = bp_agg_entries, .text = write_text};

	return bp_show_rows_behind(&view, s, json, compact, out, err, err_size);
}

const struct bp_show_view bp_show_aggregates = {
	.name = "aggregates",
	.summary = "aggregation of UDP messages: messages/aggregate, bytes saved, delay, flush "
		   "reasons, "
		   "losses, streams",
	.default_limit = 100,
	.write = write_aggregates,
	.takes_streams = true,
};
