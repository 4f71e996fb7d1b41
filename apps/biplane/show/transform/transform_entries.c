/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/transform/transform_entries.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "apps/biplane/show/fib_text.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "shm/transform/transform_writer.h"
#include "services/transform/layout.h"
#include "services/transform/method.h"

struct bp_transform_view bp_transform_view_now(const struct bp_shm *m, uint64_t *active)
{
	const struct bp_transform_tables *t = &m->transform;
	struct bp_transform_view v = {0};

	*active = t->head ? bp_generation_active(&t->generation) : 0;
	if (*active == 0 || !bp_transform_valid(bp_transform_bank_at(t, *active), t->matrices))
		return v;
	return bp_transform_view_of(t, *active);
}

static uint64_t word(const _Atomic uint64_t *w)
{
	return atomic_load_explicit((_Atomic uint64_t *)w, memory_order_relaxed);
}

static json_t *port_name(const struct bp_shm *m, unsigned port)
{
	if (port >= bp_show_ports_in_use(m))
		return json_null();
	return bp_text_json(m->ports[port].name, sizeof(m->ports[port].name));
}

static json_t *to_text(const struct bp_prefix *to)
{
	char text[BP_TEXT_PREFIX];

	if (to->family != 4 && to->family != 6)
		return json_string("any");
	bp_text_prefix(to, text);
	return json_string(text);
}

static const char *layout_name(const struct bp_transform_layout *l)
{
	if (memcmp(l, &bp_transform_layout_kunze2021, sizeof(*l)) == 0)
		return "kunze2021";
	if (memcmp(l, &bp_transform_layout_kunze2021_timed, sizeof(*l)) == 0)
		return "kunze2021_timed";
	return "own";
}

/* How many sources and receivers each entry has. */
struct sizes {
	uint64_t sources[BP_TRANSFORM_RULES_MAX], receivers[BP_TRANSFORM_RULES_MAX];
};

static void count(const struct bp_transform_view *v, struct sizes *s)
{
	const uint32_t n =
		atomic_load_explicit((_Atomic uint32_t *)&v->bank->n_sources, memory_order_acquire);

	memset(s, 0, sizeof(*s));
	for (uint32_t i = 0; i < n && i < v->bank->sources; i++) {
		const unsigned rule = v->source[i].rule;

		if (rule >= BP_TRANSFORM_RULES_MAX)
			continue;
		s->sources[rule]++;
		s->receivers[rule] += v->source[i].n;
	}
}

/* Of all workers. */
static void put_counts(json_t *row, const struct bp_shm *m, unsigned rule)
{
	static const struct {
		const char *name;
		size_t at;
	} counts[] = {
#define COUNT(name, member) {name, offsetof(struct bp_transform_rule_stats, member)}
		COUNT("readings", readings),
		COUNT("sent", sent),
		COUNT("no_matrix", bare),
		COUNT("saturated", saturated),
		COUNT("dropped", refused),
		COUNT("overflow", overflow),
		COUNT("unknown", unknown),
		COUNT("no_mbuf", no_mbuf),
#undef COUNT
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint64_t sum = 0;

		for (uint32_t w = 0; w < m->workers; w++) {
			const struct bp_transform_rule_stats *s =
				&m->transform.rule_stats[(size_t)w * BP_TRANSFORM_RULES_MAX + rule];

			sum += word((const _Atomic uint64_t *)((const char *)s + counts[i].at));
		}
		json_object_set_new(row, counts[i].name, json_integer((json_int_t)sum));
	}
}

static json_t *entry(const struct bp_shm *m, const struct bp_transform_rule *r, unsigned i,
	const struct sizes *s)
{
	const struct bp_transform_ops *ops =
		bp_transform_ops(r->method < BP_TRANSFORM_METHODS ? r->method : 0);
	json_t *row = json_pack("{si so si so ss ss ss ss ss sb sI sI}", "entry", (int)i, "port",
		port_name(m, r->port), "udp_port", (int)r->udp, "to", to_text(&r->to), "layout",
		layout_name(&r->layout), "method", ops->name, "implementation", ops->how,
		"unknown_source", r->drop_unknown ? "drop" : "forward", "on_overflow",
		r->drop_overflow ? "drop" : "saturate", "matrix_loader", (int)r->loader, "sources",
		(json_int_t)s->sources[i], "receivers", (json_int_t)s->receivers[i]);

	if (row)
		put_counts(row, m, i);
	return row;
}

json_t *bp_transform_entries(const struct bp_shm *m)
{
	uint64_t active;
	const struct bp_transform_view v = bp_transform_view_now(m, &active);
	json_t *rows = json_array();
	struct sizes s;
	uint64_t used = 0;

	bp_transform_methods_init();
	if (v.bank) {
		count(&v, &s);
		for (uint32_t i = 0; i < v.bank->n_rules && i < BP_TRANSFORM_RULES_MAX; i++) {
			/* the control plane may be writing another bank over this one */
			const struct bp_transform_rule rule = v.bank->rule[i].rule;

			json_array_append_new(rows, entry(m, &rule, i, &s));
			used += s.receivers[i];
		}
	}
	return json_pack("{so s{sI sI} so}", "generation",
		m->transform.head ? json_integer((json_int_t)(active >> 1)) : json_null(),
		"matrices", "used", (json_int_t)used, "capacity", (json_int_t)m->transform.matrices,
		"transform", rows);
}

void bp_transform_entries_print(const json_t *entries, FILE *out)
{
	static const struct bp_column settings[] = {
		{"entry", "ENTRY", 1},
		{"port", "PORT", 0},
		{"udp_port", "UDP-PORT", 1},
		{"to", "TO", 0},
		{"layout", "LAYOUT", 0},
		{"method", "METHOD", 0},
		{"implementation", "IMPLEMENTATION", 0},
		{"sources", "SOURCES", 1},
		{"receivers", "RECEIVERS", 1},
		{"unknown_source", "UNKNOWN-SOURCE", 0},
		{"on_overflow", "OVERFLOW", 0},
		{NULL, NULL, 0},
	};
	static const struct bp_column counts[] = {
		{"entry", "ENTRY", 1},
		{"readings", "READINGS", 1},
		{"sent", "SENT", 1},
		{"no_matrix", "NO-MATRIX", 1},
		{"saturated", "SATURATED", 1},
		{"dropped", "DROPPED", 1},
		{"unknown", "UNKNOWN-SOURCE", 1},
		{"overflow", "OVERFLOW", 1},
		{"no_mbuf", "NO-MBUF", 1},
		{NULL, NULL, 0},
	};
	const json_t *rows = json_object_get(entries, "transform");
	const json_t *matrices = json_object_get(entries, "matrices");

	if (json_array_size(rows) == 0) {
		fputs("no active entries of section transform yet\n", out);
		return;
	}
	fputs("transform\n", out);
	bp_table_print(out, settings, rows, "");
	fputs("\nreadings, and datagrams to receivers\n", out);
	bp_table_print(out, counts, rows, "");
	fprintf(out, "\n%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " matrices in use\n",
		bp_show_int(matrices, "used"), bp_show_int(matrices, "capacity"));
}
