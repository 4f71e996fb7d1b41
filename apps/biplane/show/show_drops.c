/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/general.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"

static uint64_t group_sum(const struct bp_shm *m, bp_counter_group_t group)
{
	uint64_t sum = 0;

	for (int c = 0; c < BP_C_COUNT; c++)
		if (bp_counter_info[c].group == group)
			sum += bp_shm_counter(m, c);
	return sum;
}

/* The ports with drops for this reason. */
static json_t *ports_of(const struct bp_shm *m, bp_counter_t reason)
{
	json_t *list = json_array();

	for (unsigned p = 0; p < bp_show_ports_in_use(m); p++) {
		const uint64_t n = bp_shm_port_drops(m, p, reason);

		if (n != 0)
			json_array_append_new(list,
				json_pack("{so sI}", "port",
					bp_text_json(m->ports[p].name, sizeof(m->ports[p].name)),
					"count", (json_int_t)n));
	}
	return list;
}

static json_t *reasons(const struct bp_shm *m)
{
	json_t *list = json_array();

	for (int c = 0; c < BP_C_COUNT; c++) {
		const struct bp_counter_info *i = &bp_counter_info[c];

		if (i->group == BP_CG_DROP)
			json_array_append_new(list,
				json_pack("{ss sI so ss}", "reason", i->name, "count",
					(json_int_t)bp_shm_counter(m, c), "ports",
					ports_of(m, (bp_counter_t)c), "description", i->help));
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

/* "devices 12, cloud 3" */
static json_t *ports_text(const json_t *ports)
{
	json_t *text = json_string(""), *more;

	for (size_t i = 0; i < json_array_size(ports); i++) {
		const json_t *p = json_array_get(ports, i);

		more = json_sprintf("%s%s%s %" JSON_INTEGER_FORMAT, json_string_value(text),
			i != 0 ? ", " : "", json_string_value(json_object_get(p, "port")),
			bp_show_int(p, "count"));
		json_decref(text);
		text = more;
	}
	return text;
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"reason", "REASON", 0},
		{"count", "COUNT", 1},
		{"ports", "PORTS", 0},
		{"description", "DESCRIPTION", 0},
		{NULL, NULL, 0},
	};
	const json_t *list = json_object_get(view, "reasons");
	json_int_t difference = bp_show_int(view, "difference");
	json_t *rows = json_array();

	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *row = json_array_get(list, i);

		if (all || bp_show_int(row, "count")) {
			json_t *line = json_copy(row);

			json_object_set_new(
				line, "ports", ports_text(json_object_get(row, "ports")));
			json_array_append_new(rows, line);
		}
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
	.summary = "dropped frames by reason and port, and the balance of all frames",
	.collect = collect,
	.print = print,
};
