/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/show/mqtt/rules_copy.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "apps/biplane/text_combination.h"
#include "apps/biplane/text_value.h"

static void add_stats(json_t *row, const struct bp_shm *m, uint32_t slot)
{
	uint64_t matched = 0, no_value = 0, raised = 0, cleared = 0;

	for (uint32_t w = 0; w < m->workers && slot < m->max_rules; w++) {
		struct bp_rule_stats *s = &m->rule_stats[(uint64_t)w * m->max_rules + slot];

		matched += atomic_load_explicit(&s->matched, memory_order_relaxed);
		no_value += atomic_load_explicit(&s->no_value, memory_order_relaxed);
		raised += atomic_load_explicit(&s->raised, memory_order_relaxed);
		cleared += atomic_load_explicit(&s->cleared, memory_order_relaxed);
	}
	json_object_set_new(row, "matched", json_integer((json_int_t)matched));
	json_object_set_new(row, "value_missing", json_integer((json_int_t)no_value));
	json_object_set_new(row, "raised", json_integer((json_int_t)raised));
	json_object_set_new(row, "cleared", json_integer((json_int_t)cleared));
}

/* "3 samples", "10 s"; null without hold */
static json_t *hold(const struct bp_rule *r)
{
	char text[48], seconds[32];

	switch (r->hold) {
	case BP_HOLD_COUNT:
		snprintf(text, sizeof(text), "%u samples", r->hold_count);
		return json_string(text);
	case BP_HOLD_TIME:
		bp_number_format((double)r->hold_ns / 1e9, seconds);
		snprintf(text, sizeof(text), "%s s", seconds);
		return json_string(text);
	default:
		return json_null();
	}
}

static json_t *severity(const struct bp_rule *r)
{
	const char *name = bp_severity_name(r->severity);

	return name != NULL ? json_string(name) : json_null();
}

static json_t *rule_row(const struct bp_ruleset *rs, const struct bp_rule *r)
{
	const bool plain = r->role == BP_RULE_PLAIN;
	char source[BP_TEXT_SOURCE], clear[BP_TEXT_RULE_CONDITION];

	bp_text_source(bp_ruleset_source(rs, r->source), source);
	bp_text_rule_condition(rs, r, &r->clear, clear);
	return json_pack("{so so so so so so ss so ss so ss}", "name",
		bp_text_json(r->name, sizeof(r->name)), "filter", bp_text_rule_topics(rs, r),
		"value",
		!plain      ? json_null()
		: r->absent ? json_string("none")
			    : bp_text_json(source, sizeof(source)),
		"raise", bp_text_rule_raise(rs, r), "clear",
		r->has_clear && plain ? json_string(clear) : json_null(), "hold", hold(r), "repeat",
		r->repeat == BP_REPEAT_ON_CHANGE ? "on_change" : "every", "severity", severity(r),
		"action", r->action == BP_ACTION_MIRROR ? "mirror" : "publish", "publish_topic",
		bp_text_json(r->to, sizeof(r->to)), "payload",
		r->payload == BP_PAYLOAD_ENVELOPE ? "envelope" : "original");
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	struct bp_ruleset *rs = bp_rules_copy(s->shm, err, err_size);
	json_t *list = json_array();
	char loaded[BP_TEXT_TIME];

	if (!rs) {
		json_decref(list);
		return NULL;
	}
	for (uint32_t i = 0; i < rs->n_rules; i++) {
		const struct bp_rule *r = bp_ruleset_rule(rs, i);
		json_t *row = rule_row(rs, r);

		if (row)
			add_stats(row, s->shm, r->slot);
		if (json_array_append_new(list, row)) {
			snprintf(err, err_size, "not enough memory");
			json_decref(list);
			free(rs);
			return NULL;
		}
	}
	bp_text_time(rs->loaded_ns, loaded);

	json_t *view = json_pack("{sI so so}", "generation", (json_int_t)rs->generation, "loaded",
		rs->generation ? json_string(loaded) : json_null(), "rules", list);

	free(rs);
	return view;
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"name", "RULE", 0},
		{"filter", "TOPIC", 0},
		{"value", "VALUE", 0},
		{"raise", "RAISE", 0},
		{"clear", "CLEAR", 0},
		{"hold", "HOLD", 0},
		{"repeat", "REPEAT", 0},
		{"severity", "SEVERITY", 0},
		{"action", "ACTION", 0},
		{"publish_topic", "PUBLISH-TOPIC", 0},
		{"matched", "MATCHED", 1},
		{"value_missing", "VALUE-MISSING", 1},
		{"raised", "RAISED", 1},
		{"cleared", "CLEARED", 1},
		{NULL, NULL, 0},
	};
	const json_t *rules = json_object_get(view, "rules");

	(void)all;
	bp_table_print(out, columns, rules, "no rules");
	if (json_array_size(rules))
		fprintf(out, "\n%zu rule%s, generation %" JSON_INTEGER_FORMAT ", loaded %s\n",
			json_array_size(rules), json_array_size(rules) == 1 ? "" : "s",
			bp_show_int(view, "generation"),
			json_string_value(json_object_get(view, "loaded")));
}

const struct bp_show_view bp_show_rules = {
	.name = "rules",
	.summary = "the MQTT rules, with their matches and alarms",
	.collect = collect,
	.print = print,
};
