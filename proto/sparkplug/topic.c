/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "proto/sparkplug/sparkplug.h"

static const char *const type_name[] = {
	[BP_SPARKPLUG_NONE] = "",
	[BP_SPARKPLUG_NBIRTH] = "NBIRTH",
	[BP_SPARKPLUG_NDEATH] = "NDEATH",
	[BP_SPARKPLUG_NDATA] = "NDATA",
	[BP_SPARKPLUG_NCMD] = "NCMD",
	[BP_SPARKPLUG_DBIRTH] = "DBIRTH",
	[BP_SPARKPLUG_DDEATH] = "DDEATH",
	[BP_SPARKPLUG_DDATA] = "DDATA",
	[BP_SPARKPLUG_DCMD] = "DCMD",
};
#define N_TYPES (sizeof(type_name) / sizeof(type_name[0]))
#define PREFIX_LEN 8u /* of spBv1.0/ */

const char *bp_sparkplug_type_name(uint8_t type)
{
	return type < N_TYPES ? type_name[type] : "";
}

/* The level at *at, and moves behind its slash; NULL: there is none, or it is empty. */
static const uint8_t *level(const uint8_t **at, const uint8_t *end, uint16_t *len)
{
	const uint8_t *begin = *at, *slash;

	if (begin == NULL || begin == end)
		return NULL;
	slash = memchr(begin, '/', (size_t)(end - begin));
	*len = (uint16_t)((slash ? slash : end) - begin);
	*at = slash ? slash + 1 : NULL;
	return *len == 0 ? NULL : begin;
}

static uint8_t type_of(const uint8_t *p, uint16_t len)
{
	for (unsigned i = BP_SPARKPLUG_NBIRTH; i < N_TYPES; i++) {
		if (strlen(type_name[i]) == len && memcmp(type_name[i], p, len) == 0)
			return (uint8_t)i;
	}
	return BP_SPARKPLUG_NONE;
}

bool bp_sparkplug_topic(const uint8_t *topic, uint32_t len, struct bp_sparkplug_topic *out)
{
	const uint8_t *at = topic + PREFIX_LEN, *end = topic + len, *type;
	uint16_t type_len;

	*out = (struct bp_sparkplug_topic){.type = BP_SPARKPLUG_NONE};
	if (len > UINT16_MAX || !bp_sparkplug_is_topic(topic, len))
		return false;
	out->group = level(&at, end, &out->group_len);
	type = level(&at, end, &type_len);
	out->node = level(&at, end, &out->node_len);
	if (out->group == NULL || type == NULL || out->node == NULL)
		return false;
	out->type = type_of(type, type_len);
	if (out->type == BP_SPARKPLUG_NONE)
		return false;
	if (out->type < BP_SPARKPLUG_DBIRTH)
		return at == NULL;
	out->device = level(&at, end, &out->device_len);
	return out->device != NULL && at == NULL;
}

static char *put(char *at, const void *text, uint32_t len)
{
	memcpy(at, text, len);
	return at + len;
}

uint32_t bp_sparkplug_data_topic(const struct bp_sparkplug_topic *t, char *out)
{
	char *at = put(out, "spBv1.0/", PREFIX_LEN);

	at = put(at, t->group, t->group_len);
	at = put(at, t->device ? "/DDATA/" : "/NDATA/", 7);
	at = put(at, t->node, t->node_len);
	if (t->device != NULL) {
		*at++ = '/';
		at = put(at, t->device, t->device_len);
	}
	return (uint32_t)(at - out);
}
