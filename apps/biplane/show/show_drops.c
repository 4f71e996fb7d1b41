/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/general.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"

static uint64_t group_sum(const struct bp_shm *m, bp_counter_group_t group)
{
	uint64_t sum = 0;

	for (int c = 0; c < BP_C_COUNT; c++)
		if (bp_counter_info[c].group == group)
			sum += bp_shm_counter(m, c);
	return sum;
}

static json_t *reasons(const struct bp_shm *m)
{
	json_t *list = json_array();

	for (int c = 0; c < BP_C_COUNT; c++) {
		const struct bp_counter_info *i = &bp_counter_info[c];

		if (i->group == BP_CG_DROP)
			json_array_append_new(list,
				json_pack("{ss sI ss}", "reason", i->name, "count",
					(json_int_t)bp_shm_counter(m, c), "description", i->help));
	}
	return list;
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	uint64_t rx = 0, tx = 0;

	(void)err;
	(void)err_size;
	/* over all rows, not only the ports of today: the sum is the segment's */
	for (unsigned p = 0; p < BP_MAX_PORTS; p++) {
		struct bp_show_port_sum sum;

		bp_show_port_sum(s->shm, p, &sum);
		rx += sum.rx_packets;
		tx += sum.tx_packets;
	}

	uint64_t originated = group_sum(s->shm, BP_CG_ORIGINATED),
		 drops = group_sum(s->shm, BP_CG_DROP);
	uint64_t punted = group_sum(s->shm, BP_CG_PUNTED);
	uint64_t terminated = group_sum(s->shm, BP_CG_TERMINATED);
	json_int_t difference = (json_int_t)(rx + originated - tx - drops - punted - terminated);

	return json_pack("{sI sI sI sI sI sI sI sb so}", "rx", (json_int_t)rx, "originated",
		(json_int_t)originated, "tx", (json_int_t)tx, "drops", (json_int_t)drops, "punted",
		(json_int_t)punted, "terminated", (json_int_t)terminated, "difference", difference,
		"balanced", difference == 0, "reasons", reasons(s->shm));
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"reason", "REASON", 0},
		{"count", "COUNT", 1},
		{"description", "DESCRIPTION", 0},
		{NULL, NULL, 0},
	};
	const json_t *list = json_object_get(view, "reasons");
	json_int_t difference = bp_show_int(view, "difference");
	json_t *rows = json_array();

	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *row = json_array_get(list, i);

		if (all || bp_show_int(row, "count"))
			json_array_append(rows, row);
	}
	bp_table_print(out, columns, rows, "no frames dropped");
	json_decref(rows);
	fprintf(out,
		"\nrx %" JSON_INTEGER_FORMAT " + originated %" JSON_INTEGER_FORMAT
		" = tx %" JSON_INTEGER_FORMAT " + drops %" JSON_INTEGER_FORMAT
		" + punted %" JSON_INTEGER_FORMAT " + terminated %" JSON_INTEGER_FORMAT ": ",
		bp_show_int(view, "rx"), bp_show_int(view, "originated"), bp_show_int(view, "tx"),
		bp_show_int(view, "drops"), bp_show_int(view, "punted"),
		bp_show_int(view, "terminated"));
	if (difference == 0)
		fputs("ok\n", out);
	else
		fprintf(out, "difference %+" JSON_INTEGER_FORMAT " (frames in flight; 0 at rest)\n",
			difference);
}

const struct bp_show_view bp_show_drops = {
	.name = "drops",
	.summary = "dropped frames by reason, and the balance of all frames",
	.collect = collect,
	.print = print,
};
