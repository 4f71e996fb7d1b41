/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "apps/biplane/show/fib_diff.h"
#include "apps/biplane/show/fib_text.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"

static json_t *used_ago(const struct bp_show_source *s, uint32_t used_s)
{
	uint64_t now_s = s->mono_ns / 1000000000u;

	if (!used_s)
		return json_null();
	return json_integer((json_int_t)(now_s > used_s ? now_s - used_s : 0));
}

static json_t *neighbor(const struct bp_show_source *s, const struct bp_neighbor_info *n,
	const struct bp_interface_names *names)
{
	char ip[BP_TEXT_IP], mac[BP_TEXT_MAC], spare[8];

	bp_text_ip(&n->address, ip);
	bp_text_mac(n->mac, mac);
	return json_pack("{ss ss ss ss so}", "dst", ip, "dev",
		bp_interface_name(names, n->interface, spare), "lladdr", mac, "state",
		bp_text_neighbor_state(n->state), "last_used_s", used_ago(s, n->used_s));
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	json_t *list = json_array();
	struct bp_interface_names names;
	struct bp_neighbor_list l;
	json_int_t total;
	bool complete;

	complete = bp_neighbor_list_read(&l, &s->shm->fib, &s->filter) == 0;
	if (s->shm->fib.max_routes)
		bp_interface_names_read(&s->shm->fib, &names);
	for (uint32_t i = 0; complete && i < l.n && (s->limit == 0 || i < s->limit); i++)
		complete = json_array_append_new(list, neighbor(s, &l.item[i], &names)) == 0;
	total = (json_int_t)l.n;
	bp_neighbor_list_free(&l);
	if (complete)
		return json_pack("{so sI sI}", "neighbors", list, "total", total, "refused",
			(json_int_t)atomic_load(&s->shm->fib.control->neighbors_refused));
	snprintf(err, err_size, "not enough memory");
	json_decref(list);
	return NULL;
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"dst", "ADDRESS", 0},
		{"dev", "INTERFACE", 0},
		{"lladdr", "MAC", 0},
		{"state", "STATE", 0},
		{"last_used_s", "LAST-USED-S", 1},
		{NULL, NULL, 0},
	};
	const json_t *rows = json_object_get(view, "neighbors");

	(void)all;
	bp_table_print(out, columns, rows, "no neighbors");
	if ((json_int_t)json_array_size(rows) < bp_show_int(view, "total"))
		fprintf(out, "\n%zu of %" JSON_INTEGER_FORMAT " neighbors; -n 0 shows all\n",
			json_array_size(rows), bp_show_int(view, "total"));
	bp_show_refused(bp_show_int(view, "refused"), "neighbors", out);
}

const struct bp_show_view bp_show_neighbors = {
	.name = "neighbors",
	.summary = "neighbors (ARP and ND) of the interfaces, with MAC and last use",
	.collect = collect,
	.print = print,
	.diff = bp_fib_diff_neighbors,
	.takes_family = true,
};
