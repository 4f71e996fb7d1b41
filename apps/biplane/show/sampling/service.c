/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/service.h"

#include <stdatomic.h>
#include <stdio.h>

#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "shm/sampling/sampling.h"

static json_int_t sum(const struct bp_shm *m, size_t entry, size_t member)
{
	uint64_t n = 0;

	for (uint32_t w = 0; w < m->workers; w++) {
		const char *row = (const char *)&bp_sampling_tables(m)
					  ->stats[(size_t)w * BP_SAMPLING_MAX + entry];

		n += atomic_load_explicit((_Atomic uint64_t *)(row + member), memory_order_relaxed);
	}
	return (json_int_t)n;
}

static json_t *port_json(const struct bp_shm *m, unsigned port)
{
	return port < BP_MAX_PORTS ? bp_text_json(m->ports[port].name, sizeof(m->ports[port].name))
				   : json_null();
}

static json_t *entry_json(const struct bp_shm *m, const struct bp_sampling_rule *r, size_t i)
{
	return json_pack("{so so sI so sI sI sI}", "name", bp_text_json(r->name, sizeof(r->name)),
		"port", port_json(m, r->match.port), "one_in", (json_int_t)r->one_in, "mirror",
		port_json(m, r->mirror), "matched",
		sum(m, i, offsetof(struct bp_sampling_stats, matched)), "mirrored",
		sum(m, i, offsetof(struct bp_sampling_stats, mirrored)), "not_mirrored",
		sum(m, i, offsetof(struct bp_sampling_stats, not_mirrored)));
}

/* While they are being changed, those are shown that could be read. */
static json_t *view_of(const struct bp_shm *m)
{
	struct bp_sampling_rules rules = {0};
	json_t *entries = json_array();
	uint64_t seen = 0;

	if (bp_sampling_tables(m) &&
		!bp_seqlock_read(&bp_sampling_tables(m)->plan->lock, &seen, &rules, sizeof(rules)))
		rules.n = 0;
	for (uint32_t i = 0; i < rules.n && i < BP_SAMPLING_MAX; i++)
		json_array_append_new(entries, entry_json(m, &rules.rule[i], i));
	return json_pack(
		"{sb so}", "configured", bp_sampling_tables(m) != NULL, "entries", entries);
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	json_t *view = view_of(s->shm);

	if (!view)
		snprintf(err, err_size, "not enough memory");
	return view;
}

static void print_view(const json_t *view, FILE *out)
{
	static const struct bp_column columns[] = {
		{"name", "NAME", 0},
		{"port", "PORT", 0},
		{"one_in", "ONE-IN", 1},
		{"mirror", "MIRROR", 0},
		{"matched", "MATCHED", 1},
		{"mirrored", "MIRRORED", 1},
		{"not_mirrored", "NOT-MIRRORED", 1},
		{NULL, NULL, 0},
	};

	bp_table_print(out, columns, json_object_get(view, "entries"),
		json_is_true(json_object_get(view, "configured")) ? "no entries"
								  : "no section sampling");
}

static void print(const json_t *view, bool all, FILE *out)
{
	(void)all;
	print_view(view, out);
}

static const struct bp_show_view sampling = {
	.name = "sampling",
	.summary =
		"frames matched and mirrored by each entry of sampling, since the last change of "
		"the entries",
	.collect = collect,
	.print = print,
};

static const struct bp_show_view *const views[] = {&sampling, NULL};

static bool present(const struct bp_shm *shm)
{
	return bp_sampling_tables(shm) != NULL;
}

const struct bp_service_views bp_views_sampling = {
	.views = views,
	.replay = {"sampling", view_of, print_view, present},
};
