/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/show/fib_diff.h"
#include "apps/biplane/show/fib_text.h"

/* Both sides in one order, walked together. */
struct walk {
	const struct bp_fib_filter *filter;
	struct bp_interface_names names;
	struct bp_fib_diff *d;
};

static int compare_hops(const void *a, const void *b)
{
	const struct bp_hop *x = a, *y = b;
	int order;

	if (x->interface != y->interface)
		return x->interface - y->interface;
	if (x->gateway.family != y->gateway.family)
		return x->gateway.family - y->gateway.family;
	order = memcmp(x->gateway.bytes, y->gateway.bytes, sizeof(x->gateway.bytes));
	return order ? order : x->weight - y->weight;
}

/* In one order; the weight of a single hop says nothing. */
static uint32_t hops_normal(const struct bp_route *r, struct bp_hop out[BP_HOPS_MAX])
{
	uint32_t n = r->n_hops < BP_HOPS_MAX ? r->n_hops : BP_HOPS_MAX;

	for (uint32_t i = 0; i < n; i++) {
		out[i] = r->hop[i];
		if (n == 1)
			out[i].weight = 1;
	}
	if (n > 1)
		qsort(out, n, sizeof(*out), compare_hops);
	return n;
}

static bool same_hops(const struct bp_route *a, const struct bp_route *b)
{
	struct bp_hop x[BP_HOPS_MAX], y[BP_HOPS_MAX];
	uint32_t n = hops_normal(a, x);

	if (hops_normal(b, y) != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (compare_hops(&x[i], &y[i]) != 0)
			return false;
	return true;
}

static bool same_route(const struct bp_route *a, const struct bp_route *b)
{
	return a->type == b->type && a->protocol == b->protocol && a->metric == b->metric &&
	       a->object == b->object && same_hops(a, b);
}

static bool add_one(struct walk *w, enum bp_fib_side side, const struct bp_route *r)
{
	char text[BP_TEXT_ROUTE];

	bp_text_route(r, &w->names, " ", text);
	return bp_fib_diff_add(w->d, side, strdup(text));
}

static bool add_both(struct walk *w, const struct bp_route *kernel, const struct bp_route *biplane)
{
	char k[BP_TEXT_ROUTE], b[BP_TEXT_ROUTE], *text = NULL;

	bp_text_route(kernel, &w->names, " ", k);
	bp_text_route(biplane, &w->names, " ", b);
	if (asprintf(&text, "kernel %s; biplane %s", k, b) < 0)
		return false;
	return bp_fib_diff_add(w->d, BP_DIFF_BOTH, text);
}

/* The kernel's route, or NULL, against biplane's of the same prefix, or NULL. */
static bool one_prefix(struct walk *w, const struct bp_route *kernel, const struct bp_route *own)
{
	if (own && own->origin == BP_ORIGIN_STATIC) {
		w->d->only_in_file++;
		return true;
	}
	if (!own)
		return add_one(w, BP_DIFF_KERNEL_ONLY, kernel);
	if (!kernel)
		return add_one(w, BP_DIFF_BIPLANE_ONLY, own);
	if (!same_route(kernel, own))
		return add_both(w, kernel, own);
	w->d->same++;
	return true;
}

static bool all_prefixes(
	struct walk *w, const struct bp_kernel_state *k, const struct bp_route_list *l)
{
	uint32_t i = 0, j = 0;
	bool complete = true;

	while (complete && (i < k->n_routes || j < l->n)) {
		const struct bp_route *kernel = i < k->n_routes ? &k->route[i] : NULL;
		struct bp_route own;
		int order;

		if (kernel && !bp_fib_wanted(w->filter, &kernel->prefix)) {
			i++;
			continue;
		}
		order = !kernel     ? 1
			: j == l->n ? -1
				    : bp_prefix_order(&kernel->prefix, &l->item[j].prefix);
		if (order >= 0)
			bp_route_list_get(l, j, &own);
		complete = one_prefix(w, order <= 0 ? kernel : NULL, order >= 0 ? &own : NULL);
		i += order <= 0;
		j += order >= 0;
	}
	return complete;
}

bool bp_fib_diff_routes(
	const struct bp_show_source *s, const struct bp_kernel_state *k, struct bp_fib_diff *d)
{
	struct walk w = {.filter = &s->filter, .d = d};
	struct bp_route_list l;
	bool complete;

	if (bp_route_list_read(&l, &s->shm->fib, &s->filter))
		return false;
	if (s->shm->fib.max_routes)
		bp_interface_names_read(&s->shm->fib, &w.names);
	complete = all_prefixes(&w, k, &l);
	bp_route_list_free(&l);
	return complete;
}
