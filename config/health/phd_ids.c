/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/health/schema.h"

/* Sorted lists of system-ids: health_devices.allow, and the file that allow_file names. */

static int by_id(const void *a, const void *b)
{
	return memcmp(a, b, 8);
}

bool bp_config_phd_listed(const struct bp_config_phd_ids *ids, const uint8_t system_id[8])
{
	return ids->n != 0 && bsearch(system_id, ids->id, ids->n, 8, by_id) != NULL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool add(struct bp_config_phd_ids *ids, uint32_t *room, const uint8_t id[8])
{
	if (ids->n == *room) {
		const uint32_t more = *room != 0 ? 2 * *room : 64;
		void *grown = realloc(ids->id, (size_t)more * 8);

		if (grown == NULL)
			return false;
		ids->id = grown;
		*room = more;
	}
	memcpy(ids->id[ids->n++], id, 8);
	return true;
}

/* Strips blanks and a comment from a line: the rest starts at *p and has *len bytes. */
static void trim(const char **p, size_t *len)
{
	const char *hash = memchr(*p, '#', *len);

	if (hash != NULL)
		*len = (size_t)(hash - *p);
	for (; *len > 0 && is_blank((*p)[*len - 1]); --*len)
		;
	for (; *len > 0 && is_blank(**p); ++*p, --*len)
		;
}

uint32_t bp_config_phd_ids_parse(
	const char *text, size_t len, uint32_t max, struct bp_config_phd_ids *out)
{
	uint32_t line = 0, room = 0;

	*out = (struct bp_config_phd_ids){0};
	while (len > 0) {
		const char *newline = memchr(text, '\n', len);
		const size_t all = newline != NULL ? (size_t)(newline - text) + 1 : len;
		const char *p = text;
		size_t n = all - (newline != NULL);
		uint8_t id[8];

		line++;
		trim(&p, &n);
		text += all;
		len -= all;
		if (n == 0)
			continue;
		if (out->n == max || !bp_system_id_read(p, n, id) || !add(out, &room, id)) {
			free(out->id);
			*out = (struct bp_config_phd_ids){0};
			return line;
		}
	}
	if (out->n > 1)
		qsort(out->id, out->n, 8, by_id);
	return 0;
}
