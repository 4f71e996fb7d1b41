/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/schema_rows.h"
#include "config/service.h"

/*
 * The parts in the order in which they are read: the gateway's, then the services' from the last of
 * the list to the first, since one nearer to the port may refer to those behind it.
 */
#define N_PARTS (1 + BP_SERVICE_COUNT)
static const struct bp_schema_part *part(size_t i)
{
	return i == 0 ? &bp_schema_gateway : bp_config_services[BP_SERVICE_COUNT - i]->settings;
}

/* The name of `s` when it is directly below `parent`. */
static const char *name_below(
	const struct bp_setting *parent, size_t parent_len, const struct bp_setting *s)
{
	const char *rest = s->path;

	if (parent != NULL) {
		if (strncmp(rest, parent->path, parent_len) != 0)
			return NULL;
		rest += parent_len;
		if (strncmp(rest, "[]", 2) == 0)
			rest += 2;
		if (*rest++ != '.')
			return NULL;
	}
	return strchr(rest, '.') == NULL ? rest : NULL;
}

const struct bp_setting *bp_schema_next(const struct bp_setting *after)
{
	for (size_t i = 0; after != NULL && i < N_PARTS; i++) {
		const struct bp_setting *end = part(i)->row + part(i)->n;

		if (after + 1 == end)
			return i + 1 < N_PARTS ? part(i + 1)->row : NULL;
	}
	return after != NULL ? after + 1 : part(0)->row;
}

const struct bp_setting *bp_schema_child(
	const struct bp_setting *parent, const struct bp_setting *after)
{
	const size_t len = parent != NULL ? strlen(parent->path) : 0;
	const struct bp_setting *s = bp_schema_next(after != NULL ? after : parent);

	for (; s != NULL; s = bp_schema_next(s)) {
		if (parent != NULL && strncmp(s->path, parent->path, len) != 0)
			return NULL;
		if (name_below(parent, len, s) != NULL)
			return s;
	}
	return NULL;
}

const char *bp_setting_key(const struct bp_setting *s)
{
	const char *dot = strrchr(s->path, '.');

	return dot != NULL ? dot + 1 : s->path;
}

bool bp_setting_present(const struct bp_setting *s, const void *base)
{
	if (s->present != NULL)
		return s->present(base);
	return s->given == 0 || *((const bool *)base + s->given - 1);
}

const void *bp_list_items(
	const struct bp_list_layout *l, const struct bp_config *c, const void *base, uint32_t *n)
{
	const void *items = (const char *)c + l->items;

	if (l->of != NULL)
		return l->of(c, base, n);
	*n = *(const uint32_t *)((const char *)c + l->count);
	if (l->allocated)
		memcpy(&items, items, sizeof(items));
	return items;
}

void bp_field_store(const struct bp_setting *s, void *field, uint64_t v)
{
	switch (s->size) {
	case 1:
		*(uint8_t *)field = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)field = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)field = (uint32_t)v;
		break;
	default:
		*(uint64_t *)field = v;
	}
}

uint64_t bp_field_load(const struct bp_setting *s, const void *field)
{
	switch (s->size) {
	case 1:
		return *(const uint8_t *)field;
	case 2:
		return *(const uint16_t *)field;
	case 4:
		return *(const uint32_t *)field;
	default:
		return *(const uint64_t *)field;
	}
}
