/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/transform/check_transform.h"
#include "config/transform/type_transform.h"
#include "proto/transform/transform_matrix.h"
#include "services/transform/method.h"

/* The sources of an entry, and their receivers. */

#define WHITHER (BP_TRANSFORM_ADDRESS | BP_TRANSFORM_REFLECT)

/* A source and its position in the file. */
struct given {
	const struct bp_transform_source *source;
	const struct bp_yaml *node;
	uint32_t i;
};

static int by_prefix(const void *a, const void *b)
{
	const struct given *x = a, *y = b;
	const int order =
		memcmp(&x->source->address, &y->source->address, sizeof(x->source->address));

	return order != 0 ? order : x->i < y->i ? -1 : x->i > y->i;
}

/* Equal sources keep the order of the file. */
static void check_doubles(
	struct bp_reader *r, const struct bp_transform_entry *e, struct given *all, uint32_t n)
{
	char text[BP_ADDRESS_TEXT];

	qsort(all, n, sizeof(*all), by_prefix);
	for (uint32_t i = 1; i < n; i++) {
		if (memcmp(&all[i].source->address, &all[i - 1].source->address,
			    sizeof(all[i].source->address)) != 0)
			continue;
		BP_AT_ERROR(r, bp_place(all[i].node, "address"),
			BP_ENTRY ".sources[%u].address: %s is given twice (first on line "
				 "%u); expected it once, with all its receivers",
			e->i, all[i].i, bp_prefix_text(&all[i].source->address, text),
			all[i - 1].node->line);
	}
}

/* The data plane looks up the source of a reading once per prefix length. */
static void check_lengths(struct bp_reader *r, const struct bp_transform_entry *e,
	const struct given *all, uint32_t n)
{
	bool has[2][129] = {{false}};
	uint32_t count[2] = {0, 0};

	for (uint32_t i = 0; i < n; i++) {
		const struct bp_prefix *p = &all[i].source->address;
		const unsigned f = p->family == 6;

		if (has[f][p->length])
			continue;
		has[f][p->length] = true;
		if (++count[f] != BP_TRANSFORM_LENGTHS_MAX + 1)
			continue;
		BP_AT_ERROR(r, bp_place(all[i].node, "address"),
			BP_ENTRY ".sources[%u].address: earlier sources have %u different prefix "
				 "lengths of IPv%u; expected no more than that",
			e->i, all[i].i, BP_TRANSFORM_LENGTHS_MAX, p->family);
	}
}

static void check_matrix(struct bp_reader *r, const struct bp_transform_entry *e,
	const double m[12], const struct bp_yaml *at, const char *path)
{
	const enum bp_transform_matrix_fault fault = bp_transform_matrix_check(m);

	if (fault == BP_TRANSFORM_MATRIX_LARGE)
		BP_AT_ERROR(r, at,
			"%s.matrix: an element has a magnitude of 2^31 or more; expected less",
			path);
	else if (fault == BP_TRANSFORM_MATRIX_SINGULAR && !e->rule->allow_singular)
		BP_AT_ERROR(r, at,
			"%s.matrix: the matrix is singular; expected one that is not, or "
			"allow_singular: true in this entry",
			path);
}

/* Checks that a receiver's address has the IP version of the reading. */
static void check_version(struct bp_reader *r, const struct bp_transform_entry *e,
	const struct given *s, const struct bp_transform_receiver *to, const struct bp_yaml *node,
	const char *path)
{
	const bool own = to != NULL && (to->flags & WHITHER) != 0;
	const struct bp_transform_receiver *of = own ? to : &e->rule->otherwise;

	if ((of->flags & BP_TRANSFORM_ADDRESS) == 0 || of->family == s->source->address.family)
		return;
	if (own)
		BP_AT_ERROR(r, bp_place(node, "address"),
			"%s.address: readings of this source are IPv%u; expected an IPv%u address",
			path, s->source->address.family, s->source->address.family);
	else
		BP_AT_ERROR(r, node,
			"%s: readings of this source are IPv%u, and the entry's receiver has an "
			"IPv%u address; expected a receiver with an IPv%u address",
			path, s->source->address.family, of->family, s->source->address.family);
}

static void check_receivers(
	struct bp_reader *r, const struct bp_transform_entry *e, const struct given *s)
{
	const struct bp_yaml *list = bp_yaml_find(s->node, "receivers");
	const struct bp_yaml *node =
		list != NULL && list->kind == BP_YAML_LIST ? list->first : NULL;
	uint32_t n;
	const struct bp_transform_receiver *to =
		bp_transform_receivers_of(r->config, s->source, &n);
	char path[96];

	if (n == 0) {
		snprintf(path, sizeof(path), BP_ENTRY ".sources[%u]", e->i, s->i);
		check_version(r, e, s, NULL, s->node, path);
	}
	for (uint32_t i = 0; i < n; i++, node = node->next) {
		snprintf(path, sizeof(path), BP_ENTRY ".sources[%u].receivers[%u]", e->i, s->i, i);
		bp_check_receiver(r, e, &to[i], node, path);
		check_version(r, e, s, &to[i], node, path);
		if (to[i].flags & BP_TRANSFORM_MATRIX)
			check_matrix(r, e, to[i].m, bp_place(node, "matrix"), path);
	}
}

static void check_source(
	struct bp_reader *r, const struct bp_transform_entry *e, const struct given *s)
{
	const struct bp_prefix *to = &e->rule->to;

	if (to->family != 0 && to->family != s->source->address.family)
		BP_AT_ERROR(r, bp_place(s->node, "address"),
			BP_ENTRY ".sources[%u].address: it is IPv%u and to is IPv%u; expected "
				 "an IPv%u address or prefix",
			e->i, s->i, s->source->address.family, to->family, to->family);
	else
		check_receivers(r, e, s);
}

void bp_check_sources(struct bp_reader *r, const struct bp_transform_entry *e)
{
	const struct bp_yaml *list = bp_yaml_find(e->node, "sources");
	const struct bp_yaml *node =
		list != NULL && list->kind == BP_YAML_LIST ? list->first : NULL;
	uint32_t n;
	const struct bp_transform_source *source = bp_transform_sources_of(r->config, e->rule, &n);
	struct given *all = n != 0 ? calloc(n, sizeof(*all)) : NULL;

	if (n == 0 && e->rule->drop_unknown && !e->rule->loader)
		BP_AT_WARNING(r, list != NULL ? list : e->node,
			BP_ENTRY ": there are no sources, so every reading is dropped; expected "
				 "sources, unknown_source: forward, or matrix_loader: true",
			e->i);
	if (n != 0 && all == NULL) {
		BP_AT_ERROR(r, list, "no memory to check %u sources; expected fewer", n);
		return;
	}
	for (uint32_t i = 0; i < n; i++, node = node->next) {
		all[i] = (struct given){&source[i], node, i};
		check_source(r, e, &all[i]);
	}
	check_lengths(r, e, all, n);
	if (n != 0)
		check_doubles(r, e, all, n);
	free(all);
}
