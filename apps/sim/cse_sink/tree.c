/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/cse_sink/tree.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_FIRST 4096u

struct sink_tree {
	struct sink_resource *base;
	struct sink_resource **bucket;
	uint32_t buckets, n;
};

/* FNV-1a over the path, so that the hash of a child continues that of its parent. */
static uint64_t hash_more(uint64_t h, const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)p[i]) * UINT64_C(0x100000001b3);
	return h;
}

static uint64_t hash_child(const struct sink_resource *parent, const char *rn, size_t len)
{
	uint64_t h =
		parent != NULL ? hash_more(parent->hash, "/", 1) : UINT64_C(0xcbf29ce484222325);

	return hash_more(h, rn, len);
}

static struct sink_resource *find(
	const struct sink_tree *t, const struct sink_resource *parent, const char *rn, size_t len)
{
	uint64_t h = hash_child(parent, rn, len);
	struct sink_resource *r = t->bucket[h % t->buckets];

	while (r != NULL && (r->hash != h || r->parent != parent || strlen(r->rn) != len ||
				    memcmp(r->rn, rn, len) != 0))
		r = r->next_of_hash;
	return r;
}

static void grow(struct sink_tree *t)
{
	struct sink_resource **bigger = calloc(t->buckets * 2, sizeof(void *));

	if (bigger == NULL)
		return; /* slower, not wrong */
	for (uint32_t i = 0; i < t->buckets; i++) {
		for (struct sink_resource *r = t->bucket[i], *next; r != NULL; r = next) {
			uint64_t at = r->hash % (t->buckets * 2);

			next = r->next_of_hash;
			r->next_of_hash = bigger[at];
			bigger[at] = r;
		}
	}
	free(t->bucket);
	t->bucket = bigger;
	t->buckets *= 2;
}

struct sink_resource *sink_tree_add(struct sink_tree *t, struct sink_resource *parent, uint8_t ty,
	const char *rn, const char *fr, const char *attributes)
{
	size_t len = strlen(rn);
	struct sink_resource *r = calloc(1, sizeof(*r) + len + 1);
	uint64_t at;

	if (r == NULL)
		return NULL;
	memcpy(r->rn, rn, len + 1);
	r->ty = ty;
	r->fr = strdup(fr);
	r->attributes = attributes != NULL ? strdup(attributes) : NULL;
	r->parent = parent;
	r->hash = hash_child(parent, rn, len);
	r->number = t->n++;
	if (t->n > t->buckets)
		grow(t);
	at = r->hash % t->buckets;
	r->next_of_hash = t->bucket[at];
	t->bucket[at] = r;
	if (parent == NULL)
		return r;
	if (parent->last_child != NULL)
		parent->last_child->next = r;
	else
		parent->children = r;
	parent->last_child = r;
	parent->instances += ty == SINK_CIN;
	return r;
}

struct sink_tree *sink_tree_new(const char *cse)
{
	struct sink_tree *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->buckets = BUCKETS_FIRST;
	t->bucket = calloc(t->buckets, sizeof(void *));
	if (t->bucket != NULL)
		t->base = sink_tree_add(t, NULL, SINK_CSE, cse, "", NULL);
	if (t->base == NULL) {
		sink_tree_free(t);
		return NULL;
	}
	return t;
}

void sink_tree_free(struct sink_tree *t)
{
	for (uint32_t i = 0; t->bucket != NULL && i < t->buckets; i++) {
		for (struct sink_resource *r = t->bucket[i], *next; r != NULL; r = next) {
			next = r->next_of_hash;
			free(r->fr);
			free(r->attributes);
			free(r);
		}
	}
	free(t->bucket);
	free(t);
}

struct sink_resource *sink_tree_find(const struct sink_tree *t, const char *path)
{
	struct sink_resource *r = NULL;

	for (;;) {
		size_t len = strcspn(path, "/");

		r = find(t, r, path, len);
		if (r == NULL || path[len] == '\0')
			return r;
		path += len + 1;
	}
}

struct sink_resource *sink_tree_child(
	const struct sink_tree *t, const struct sink_resource *parent, const char *rn)
{
	return find(t, parent, rn, strlen(rn));
}

struct sink_resource *sink_tree_ae(const struct sink_tree *t, const char *fr)
{
	struct sink_resource *r = t->base->children;

	while (r != NULL && (r->ty != SINK_AE || strcmp(r->fr, fr) != 0))
		r = r->next;
	return r;
}

/* Names and originators were checked to need no escapes. */
static void print(const struct sink_resource *r, FILE *out)
{
	fprintf(out, "{\"ty\":%u,\"rn\":\"%s\",\"fr\":\"%s\",\"number\":%u,\"attributes\":%s",
		r->ty, r->rn, r->fr, r->number, r->attributes != NULL ? r->attributes : "null");
	if (r->ty != SINK_CIN) {
		fprintf(out, ",\"instances\":%llu,\"children\":[",
			(unsigned long long)r->instances);
		for (const struct sink_resource *c = r->children; c != NULL; c = c->next) {
			print(c, out);
			if (c->next != NULL)
				putc(',', out);
		}
		putc(']', out);
	}
	putc('}', out);
}

void sink_tree_print(const struct sink_tree *t, FILE *out)
{
	print(t->base, out);
}
