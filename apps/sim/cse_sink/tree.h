/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SIM_CSE_SINK_TREE_H
#define BP_APPS_SIM_CSE_SINK_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The resources, found by their structured path ("cse-in/ae/container"). */
enum { SINK_ACP = 1, SINK_AE, SINK_CNT, SINK_CIN, SINK_CSE };

struct sink_resource {
	struct sink_resource *next_of_hash, *parent, *children, *last_child, *next;
	uint64_t hash;
	uint64_t instances; /* below a container */
	uint32_t number;    /* sequence number of its creation */
	uint8_t ty;
	char *fr;         /* its creator */
	char *attributes; /* JSON object of the requested attributes; NULL: not kept */
	char rn[];
};

struct sink_tree;

struct sink_tree *sink_tree_new(const char *cse);
void sink_tree_free(struct sink_tree *t);
struct sink_resource *sink_tree_find(const struct sink_tree *t, const char *path);
/* The AE that `fr` registered, or NULL. */
struct sink_resource *sink_tree_ae(const struct sink_tree *t, const char *fr);
/* Adds a child that does not exist yet; texts are copied. NULL without memory. */
struct sink_resource *sink_tree_add(struct sink_tree *t, struct sink_resource *parent, uint8_t ty,
	const char *rn, const char *fr, const char *attributes);
struct sink_resource *sink_tree_child(
	const struct sink_tree *t, const struct sink_resource *parent, const char *rn);
/* As JSON: {"ty":.., "rn":.., "fr":.., "attributes":{..}, "children":[..]} */
void sink_tree_print(const struct sink_tree *t, FILE *out);

#endif
