/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"

/* To two decimals: more would be noise. Null when nothing was divided yet. */
static json_t *ratio(uint64_t a, uint64_t b)
{
	return b ? json_real(round((double)a / (double)b * 100.0) / 100.0) : json_null();
}

static json_t *node_row(const struct bp_node_info *i)
{
	uint64_t calls = atomic_load_explicit(&i->calls, memory_order_relaxed);
	uint64_t objects = atomic_load_explicit(&i->objects, memory_order_relaxed);
	uint64_t cycles = atomic_load_explicit(&i->cycles, memory_order_relaxed);
	size_t max = sizeof(i->name);
	const char *name = bp_text_node(i->name, &max);

	return json_pack("{sI so sI sI so so}", "worker", (json_int_t)i->worker, "node",
		bp_text_json(name, max), "calls", (json_int_t)calls, "packets", (json_int_t)objects,
		"packets_per_call", ratio(objects, calls), "cycles_per_packet",
		ratio(cycles, objects));
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	json_t *list = json_array();

	for (uint32_t n = 0; n < s->shm->workers * BP_MAX_NODES; n++) {
		const struct bp_node_info *i = &s->shm->nodes[n];

		if (!i->name[0])
			continue;
		if (json_array_append_new(list, node_row(i))) {
			snprintf(err, err_size, "not enough memory");
			json_decref(list);
			return NULL;
		}
	}
	return json_pack("{so}", "nodes", list);
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"worker", "WORKER", 1},
		{"node", "NODE", 0},
		{"calls", "CALLS", 1},
		{"packets", "PACKETS", 1},
		{"packets_per_call", "PACKETS/CALL", 1},
		{"cycles_per_packet", "CYCLES/PACKET", 1},
		{NULL, NULL, 0},
	};

	(void)all;
	bp_table_print(out, columns, json_object_get(view, "nodes"),
		"no nodes: the data plane has not started yet");
}

const struct bp_show_view bp_show_nodes = {
	.name = "nodes",
	.summary = "graph nodes of each worker: calls, packets/call, cycles/packet",
	.collect = collect,
	.print = print,
};
