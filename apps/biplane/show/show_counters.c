/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"

static void append_group(json_t *list, const struct bp_shm *m, bp_counter_group_t group)
{
	for (unsigned c = 0; c < BP_C_COUNT; c++) {
		const struct bp_counter_info *i = &bp_counter_info[c];

		if (i->name != NULL && i->group == group)
			json_array_append_new(list,
				json_pack("{ss ss sI ss}", "group",
					bp_counter_group_info[group].name, "name", i->name, "count",
					(json_int_t)bp_shm_counter(m, c), "description", i->help));
	}
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	json_t *list = json_array();

	(void)err;
	(void)err_size;
	for (unsigned g = 0; g < BP_CG_COUNT; g++)
		append_group(list, s->shm, g);
	return json_pack("{so}", "counters", list);
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"group", "GROUP", 0},
		{"name", "COUNTER", 0},
		{"count", "COUNT", 1},
		{"description", "DESCRIPTION", 0},
		{NULL, NULL, 0},
	};

	(void)all;
	bp_table_print(out, columns, json_object_get(view, "counters"), "no counters");
}

const struct bp_show_view bp_show_counters = {
	.name = "counters",
	.summary = "all counters, with group and description",
	.collect = collect,
	.print = print,
};
