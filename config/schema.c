/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/schema_rows.h"
#include "config/service.h"

/*
 * The parts in reading order: the rows of the gateway and of its fleet, then the services from the
 * last of the list to the first, because a service nearer to the port may refer to the services
 * behind it.
 */
#define N_GENERAL 2
#define N_PARTS (N_GENERAL + BP_SERVICE_COUNT)
static const struct bp_schema_part *part(size_t i)
{
	static const struct bp_schema_part none;
	static const struct bp_schema_part *const general[N_GENERAL] = {
		&bp_schema_gateway, &bp_schema_fleet};
	const struct bp_schema_part *p =
		i < N_GENERAL ? general[i] : bp_config_services[N_PARTS - 1 - i]->settings;

	return p != NULL ? p : &none;
}

/* Returns the service of a row; BP_SERVICE_COUNT: none, or a service with its settings in struct
 * bp_config. */
static unsigned service_of(const struct bp_setting *s)
{
	for (unsigned i = N_GENERAL; i < N_PARTS; i++) {
		const unsigned service = N_PARTS - 1 - i;

		if ((uintptr_t)s - (uintptr_t)part(i)->row < part(i)->n * sizeof(*s))
			return bp_config_services[service]->size != 0 ? service : BP_SERVICE_COUNT;
	}
	return BP_SERVICE_COUNT;
}

void *bp_setting_base(const struct bp_setting *s, struct bp_config *c)
{
	const unsigned service = service_of(s);

	return service == BP_SERVICE_COUNT ? c : c->service[service];
}

const void *bp_setting_base_const(const struct bp_setting *s, const struct bp_config *c)
{
	const unsigned service = service_of(s);

	return service == BP_SERVICE_COUNT ? (const void *)c : c->service[service];
}

/* Returns the name of `s` when it is directly below `parent`. */
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

/* Returns the first row of part i or of a later part, or NULL. */
static const struct bp_setting *first_from(size_t i)
{
	while (i < N_PARTS && part(i)->n == 0)
		i++;
	return i < N_PARTS ? part(i)->row : NULL;
}

const struct bp_setting *bp_schema_next(const struct bp_setting *after)
{
	for (size_t i = 0; after != NULL && i < N_PARTS; i++)
		if (part(i)->n != 0 && after + 1 == part(i)->row + part(i)->n)
			return first_from(i + 1);
	return after != NULL ? after + 1 : first_from(0);
}

const struct bp_setting *bp_schema_at(const char *path)
{
	const struct bp_setting *s = bp_schema_next(NULL);

	while (s != NULL && strcmp(s->path, path) != 0)
		s = bp_schema_next(s);
	return s;
}

const struct bp_setting *bp_schema_child(
	const struct bp_setting *of, const struct bp_setting *after)
{
	const struct bp_setting *parent =
		of != NULL && of->like != NULL ? bp_schema_at(of->like) : of;
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

const char *bp_setting_expected(const struct bp_setting *s, char out[BP_EXPECTED_TEXT])
{
	FILE *f = fmemopen(out, BP_EXPECTED_TEXT, "w");

	out[0] = '\0';
	if (f != NULL) {
		s->type->expect(s, f);
		fclose(f);
	}
	return out;
}

bool bp_setting_present(const struct bp_setting *s, const void *base)
{
	if (s->present != NULL)
		return s->present(base);
	return s->given == 0 || *((const bool *)base + s->given - 1);
}

bool bp_setting_has_value(const struct bp_setting *s, const void *base)
{
	return bp_setting_present(s, base) &&
	       ((s->type != &bp_type_string && s->type != &bp_type_filter) ||
		       *(const char *)bp_setting_field_const(s, base) != '\0');
}

const void *bp_list_items(
	const struct bp_setting *s, const struct bp_config *c, const void *base, uint32_t *n)
{
	const struct bp_list_layout *l = s->list;
	const char *settings;
	const void *items;

	if (l->of != NULL)
		return l->of(c, base, n);
	settings = bp_setting_base_const(s, c);
	items = settings + l->items;
	*n = *(const uint32_t *)(settings + l->count);
	if (l->allocated)
		memcpy(&items, items, sizeof(items));
	return items;
}

const struct bp_setting *bp_element_name(const struct bp_setting *list)
{
	const struct bp_setting *s = NULL;

	while ((s = bp_schema_child(list, s)) != NULL)
		if (s->type == &bp_type_name && strcmp(bp_setting_key(s), "name") == 0)
			return s;
	return NULL;
}

const char *bp_element_path(const struct bp_setting *s, const char *path, const void *element,
	uint32_t index, char out[BP_PATH_TEXT])
{
	const struct bp_setting *name = bp_element_name(s);

	if (name != NULL)
		snprintf(out, BP_PATH_TEXT, "%s[%s]", path,
			(const char *)bp_setting_field_const(name, element));
	else
		snprintf(out, BP_PATH_TEXT, "%s[%u]", path, index);
	return out;
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
