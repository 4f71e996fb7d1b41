/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/aggregation/agg_entries.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "apps/biplane/show/aggregation/agg_sums.h"
#include "apps/biplane/show/fib_text.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/text.h"

static const char *const flush_name[] = {
#define X(id, name, help) [BP_AGG_FLUSH_##id] = (name),
	BP_AGG_FLUSHES(X)
#undef X
};

json_t *bp_agg_ratio(double a, double b)
{
	return b > 0 ? json_real(round(a / b * 100.0) / 100.0) : json_null();
}

void bp_text_agg_to(const struct bp_agg_to *to, char out[BP_TEXT_AGG_TO])
{
	char address[BP_TEXT_PREFIX], ports[16];
	const bool six = to->address.family == 6;

	bp_text_prefix(&to->address, address);
	if (to->address.length == bp_address_bits(to->address.family))
		*strchr(address, '/') = '\0';
	if (to->udp_first == to->udp_last)
		snprintf(ports, sizeof(ports), "%u", to->udp_first);
	else
		snprintf(ports, sizeof(ports), "%u-%u", to->udp_first, to->udp_last);
	snprintf(out, BP_TEXT_AGG_TO, six ? "[%s]:%s" : "%s:%s", address, ports);
}

static void put(json_t *object, const char *key, uint64_t n)
{
	json_object_set_new(object, key, json_integer((json_int_t)n));
}

static json_t *port_name(const struct bp_shm *m, unsigned port)
{
	if (port >= bp_show_ports_in_use(m))
		return json_null();
	return bp_text_json(m->ports[port].name, sizeof(m->ports[port].name));
}

static json_t *format_name(uint8_t format)
{
	if (format == BP_AGG_FORMAT_FULL)
		return json_string("full");
	return json_string(format == BP_AGG_FORMAT_LIN2018 ? "lin2018" : "unknown");
}

static json_t *to_text(const struct bp_agg_to *to)
{
	char text[BP_TEXT_AGG_TO];

	bp_text_agg_to(to, text);
	return json_string(text);
}

/* "10.1.0.1:5555"; null where aggregates have a message's source. */
static json_t *from_text(const struct bp_agg_rule *r)
{
	char text[BP_TEXT_ADDRESS];

	if (r->from.family != 4 && r->from.family != 6)
		return json_null();
	bp_text_address(r->from.bytes, r->from.family == 6, r->from_udp, text);
	return json_string(text);
}

/* [{"below_us": 1, "count": n}, ..., {"below_us": null, "count": n}] */
static json_t *histogram(const uint64_t n[BP_AGG_DELAYS])
{
	json_t *list = json_array();

	for (unsigned b = 0; b < BP_AGG_DELAYS; b++)
		json_array_append_new(
			list, json_pack("{so sI}", "below_us",
				      b < BP_AGG_DELAYS - 1 ? json_integer((json_int_t)1 << b)
							    : json_null(),
				      "count", (json_int_t)n[b]));
	return list;
}

static json_t *flushed(const uint64_t n[BP_AGG_FLUSH_COUNT])
{
	json_t *reasons = json_object();

	for (unsigned i = 0; i < BP_AGG_FLUSH_COUNT; i++)
		put(reasons, flush_name[i], n[i]);
	return reasons;
}

static json_t *senders(const struct bp_prefix *prefix, uint32_t n)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < n; i++) {
		char text[BP_TEXT_PREFIX];

		bp_text_prefix(&prefix[i], text);
		json_array_append_new(list, json_string(text));
	}
	return list;
}

/* The settings of an entry; null if they are unknown. */
static json_t *aggregate_rule(
	const struct bp_shm *m, uint32_t i, const struct bp_agg_rule *r, bool known)
{
	if (!known)
		return json_pack("{sI sn sn sn sn sn sn sn sn sn}", "entry", (json_int_t)i, "port",
			"to", "source", "allowed_senders", "format", "max_messages", "max_delay_ns",
			"max_message_size", "mtu");
	return json_pack("{sI so so so so so si so si so}", "entry", (json_int_t)i, "port",
		port_name(m, r->port), "to", to_text(&r->to), "source", from_text(r),
		"allowed_senders", r->n_senders ? senders(r->senders, r->n_senders) : json_null(),
		"format", format_name(r->format), "max_messages", (int)r->messages, "max_delay_ns",
		r->max_delay_ns ? json_integer((json_int_t)r->max_delay_ns) : json_null(),
		"max_message_size", (int)r->max_message, "mtu",
		r->mtu ? json_integer(r->mtu) : json_null());
}

static json_t *aggregate(
	const struct bp_shm *m, uint32_t i, const struct bp_agg_rule *r, bool known)
{
	const struct bp_agg_sum s = bp_agg_sum_of(m, i);
	/* queued messages are not yet counted in an aggregate */
	const uint64_t left = s.messages > s.waiting ? s.messages - s.waiting : 0;
	const double saved = (double)s.message_bytes - (double)s.aggregate_bytes;
	json_t *row = aggregate_rule(m, i, r, known);

	put(row, "messages", s.messages);
	put(row, "message_bytes", s.message_bytes);
	put(row, "aggregates", s.aggregates);
	put(row, "aggregate_bytes", s.aggregate_bytes);
	json_object_set_new(row, "avg_messages", bp_agg_ratio((double)left, (double)s.aggregates));
	put(row, "saved_bytes", s.message_bytes - s.aggregate_bytes);
	json_object_set_new(
		row, "savings_percent", bp_agg_ratio(saved * 100.0, (double)s.message_bytes));
	put(row, "bypassed", s.passed);
	put(row, "streams", s.streams);
	put(row, "streams_created", s.begun);
	put(row, "streams_evicted", s.evicted);
	put(row, "queued", s.waiting);
	json_object_set_new(row, "flush_reasons", flushed(s.flushed));
	json_object_set_new(
		row, "avg_delay_us", bp_agg_ratio((double)s.delay_ns / 1e3, (double)left));
	json_object_set_new(row, "delay", histogram(s.delay));
	return row;
}

static json_t *disaggregate_rule(
	const struct bp_shm *m, uint32_t i, const struct bp_disagg_rule *r, bool known)
{
	if (!known)
		return json_pack("{sI sn sn sn sn sn}", "entry", (json_int_t)i, "port", "to",
			"format", "allowed_senders", "pacing_gap_ns");
	return json_pack("{sI so so so so so}", "entry", (json_int_t)i, "port",
		port_name(m, r->port), "to", to_text(&r->to), "format", format_name(r->format),
		"allowed_senders", senders(r->senders, r->n_senders), "pacing_gap_ns",
		r->gap_ns != 0 ? json_integer((json_int_t)r->gap_ns) : json_null());
}

static json_t *disaggregate(
	const struct bp_shm *m, uint32_t i, const struct bp_disagg_rule *r, bool known)
{
	const struct bp_disagg_sum s = bp_disagg_sum_of(m, i);
	json_t *row = disaggregate_rule(m, i, r, known);

	put(row, "aggregates", s.aggregates);
	put(row, "aggregate_bytes", s.aggregate_bytes);
	put(row, "messages", s.messages);
	put(row, "message_bytes", s.message_bytes);
	json_object_set_new(
		row, "avg_messages", bp_agg_ratio((double)s.messages, (double)s.aggregates));
	put(row, "bypassed", s.plain);
	put(row, "dropped", s.refused);
	put(row, "missing", s.missing);
	put(row, "late", s.late);
	put(row, "lost", s.missing > s.late ? s.missing - s.late : 0);
	put(row, "duplicate", s.duplicate);
	put(row, "stale", s.stale);
	put(row, "streams_created", s.lives);
	put(row, "streams_expired", s.forgotten);
	put(row, "paced", s.paced);
	put(row, "queued", s.waiting);
	put(row, "early_flush", s.early);
	json_object_set_new(
		row, "avg_pacing_delay_us", bp_agg_ratio((double)s.pace_ns / 1e3, (double)s.paced));
	json_object_set_new(row, "pacing_delay", histogram(s.pace));
	return row;
}

/* Of all entries together, and the bound that is each worker's own. */
static json_t *worker(const struct bp_shm *m, uint32_t w)
{
	struct bp_agg_sum a = {0};
	struct bp_disagg_sum d = {0};

	for (uint32_t i = 0; i < BP_AGG_RULES_MAX; i++) {
		bp_agg_sum_add(m, w, i, &a);
		bp_disagg_sum_add(m, w, i, &d);
	}
	return json_pack("{sI sI sI sI sI sI sI sI sI sI}", "worker", (json_int_t)w, "messages",
		(json_int_t)a.messages, "aggregates", (json_int_t)a.aggregates, "queued",
		(json_int_t)a.waiting, "streams", (json_int_t)a.streams, "streams_max",
		(json_int_t)m->agg.streams, "streams_evicted", (json_int_t)a.evicted, "restored",
		(json_int_t)d.messages, "dropped", (json_int_t)d.refused, "pacing_queued",
		(json_int_t)d.waiting);
}

json_t *bp_agg_entries(const struct bp_shm *m)
{
	json_t *made = json_array(), *split = json_array(), *workers = json_array();
	struct bp_agg_rules rules;
	uint64_t generation;

	if (!m->agg.plan)
		return json_pack("{sn so so so}", "generation", "encapsulate", made, "decapsulate",
			split, "workers", workers);
	generation = bp_agg_rules_read(m, &rules);
	for (uint32_t i = 0; i < rules.n_aggregate; i++)
		json_array_append_new(made, aggregate(m, i, &rules.aggregate[i], generation != 0));
	for (uint32_t i = 0; i < rules.n_disaggregate; i++)
		json_array_append_new(
			split, disaggregate(m, i, &rules.disaggregate[i], generation != 0));
	for (uint32_t w = 0; w < m->workers; w++)
		json_array_append_new(workers, worker(m, w));
	if (json_array_size(made) == rules.n_aggregate &&
		json_array_size(split) == rules.n_disaggregate &&
		json_array_size(workers) == m->workers)
		return json_pack("{sI so so so}", "generation", (json_int_t)(generation >> 1),
			"encapsulate", made, "decapsulate", split, "workers", workers);
	json_decref(made);
	json_decref(split);
	json_decref(workers);
	return NULL;
}
