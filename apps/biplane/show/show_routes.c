/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/print_json.h"
#include "apps/biplane/show/fib_diff.h"
#include "apps/biplane/show/fib_text.h"
#include "apps/biplane/show/show.h"

static json_int_t get(const _Atomic uint32_t *n)
{
	return (json_int_t)atomic_load_explicit((_Atomic uint32_t *)n, memory_order_relaxed);
}

/* `limit`: 0: all. */
static void write_json(const struct bp_route_list *l, const struct bp_interface_names *names,
	uint64_t limit, bool compact, FILE *out, bool *complete)
{
	const char *line = compact ? "" : "\n    ", *end = compact ? "" : "\n  ";

	bp_print_json_begin(compact, out);
	fprintf(out,
		compact ? "\"total\":%" PRIu32 ",\"routes\":["
			: "\n  \"total\": %" PRIu32 ",\n  \"routes\": [",
		l->n);
	for (uint32_t i = 0; i < l->n && (limit == 0 || i < limit) && *complete; i++) {
		struct bp_route r;
		json_t *row;

		bp_route_list_get(l, i, &r);
		row = bp_json_route(&r, names);
		fprintf(out, "%s%s", i ? "," : "", line);
		*complete = row && json_dumpf(row, out, compact ? JSON_COMPACT : 0) == 0;
		json_decref(row);
	}
	fprintf(out, "%s]%s}\n", l->n ? end : "", compact ? "" : "\n");
}

static void write_text(const struct bp_route_list *l, const struct bp_interface_names *names,
	const struct bp_fib *f, uint64_t limit, FILE *out)
{
	char text[BP_TEXT_ROUTE];
	struct bp_route r;

	for (uint32_t i = 0; i < l->n && (limit == 0 || i < limit); i++) {
		bp_route_list_get(l, i, &r);
		bp_text_route(&r, names, "\n\t", text);
		fputs(text, out);
		fputc('\n', out);
	}
	if (limit != 0 && limit < l->n)
		fprintf(out, "\n%" PRIu64 " of %" PRIu32 " routes; -n 0 shows all\n", limit, l->n);
	if (!l->n)
		fputs(f->max_routes ? "no routes\n" : "no routes: all ports are in bridges\n", out);
	bp_show_refused(get(&f->control->routes4_refused), "IPv4 routes", out);
	bp_show_refused(get(&f->control->routes6_refused), "IPv6 routes", out);
	bp_show_refused(get(&f->control->nexthops_refused), "next hops", out);
	if (get(&f->control->vrfs_refused) != 0)
		fprintf(out,
			"warning: %u interfaces are in VRFs that are not copied (at most %u): the "
			"kernel forwards their packets\n",
			(unsigned)get(&f->control->vrfs_refused), BP_MAX_VRFS);
}

bool bp_show_routes_filter(
	const struct bp_show_source *s, struct bp_fib_filter *out, char *err, size_t err_size)
{
	struct bp_interface_names names;

	*out = s->filter;
	if (!s->vrf)
		return true;
	out->one_vrf = true;
	out->vrf = BP_VRF_MAIN;
	bp_interface_names_read(&s->shm->fib, &names);
	for (unsigned vrf = 1; vrf <= BP_MAX_VRFS; vrf++) {
		if (strcmp(names.vrf[vrf], s->vrf) != 0 || s->vrf[0] == '\0')
			continue;
		out->vrf = (uint8_t)vrf;
		return true;
	}
	if (strcmp(s->vrf, "main") == 0) /* unless a VRF has this name */
		return true;
	snprintf(err, err_size,
		"no VRF '%s' with a routed interface (`biplane show interfaces` lists them)",
		s->vrf);
	return false;
}

static int write_lookup(const struct bp_show_source *s, bool json, bool compact, FILE *out,
	char *err, size_t err_size)
{
	json_t *view = bp_show_lookup(s, err, err_size);

	if (!view)
		return -1;
	if (json) {
		bp_print_json(view, compact, out);
	} else {
		bp_show_lookup_print(view, out);
	}
	json_decref(view);
	return 0;
}

static int write_routes(const struct bp_show_source *s, bool json, bool compact, FILE *out,
	char *err, size_t err_size)
{
	struct bp_interface_names names;
	struct bp_fib_filter filter;
	struct bp_route_list l;
	bool complete = true;

	if (s->address.family)
		return write_lookup(s, json, compact, out, err, err_size);
	if (!bp_show_routes_filter(s, &filter, err, err_size))
		return -1;
	snprintf(err, err_size, "not enough memory");
	if (bp_route_list_read(&l, &s->shm->fib, &filter))
		return -1;
	bp_interface_names_read(&s->shm->fib, &names);
	if (json)
		write_json(&l, &names, s->limit, compact, out, &complete);
	else
		write_text(&l, &names, &s->shm->fib, s->limit, out);
	bp_route_list_free(&l);
	return complete ? 0 : -1;
}

const struct bp_show_view bp_show_routes = {
	.name = "routes",
	.summary = "the active routes; with a prefix (10.0.0.0/8), the routes within it; with an "
		   "address (10.1.2.3), the next hop and the route to it",
	.write = write_routes,
	.diff = bp_fib_diff_routes,
	.takes_family = true,
	.takes_prefix = true,
	.takes_vrf = true,
};
