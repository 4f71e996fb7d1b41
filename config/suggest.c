/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/schema.h"

/* Names are compared up to this length; no setting has a longer name. */
#define NAME_MAX_LEN 32

static uint32_t min3(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* Returns the number of edits (insert, delete, replace, swap of adjacent letters) from `a` to
 * `b`. */
static uint32_t distance(const char *a, size_t la, const char *b, size_t lb)
{
	uint32_t d[3][NAME_MAX_LEN + 1];

	for (uint32_t j = 0; j <= lb; j++)
		d[0][j] = j;
	for (uint32_t i = 1; i <= la; i++) {
		uint32_t *row = d[i % 3], *up = d[(i + 2) % 3], *up2 = d[(i + 1) % 3];

		row[0] = i;
		for (uint32_t j = 1; j <= lb; j++) {
			row[j] =
				min3(up[j] + 1, row[j - 1] + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				up2[j - 2] + 1 < row[j])
				row[j] = up2[j - 2] + 1;
		}
	}
	return d[la % 3][lb];
}

/* Copies the first bytes of `in` in lower case, with '-' as '_'; returns their number. */
static size_t fold(const char *in, char out[NAME_MAX_LEN])
{
	size_t n = 0;

	for (; in[n] != '\0' && n < NAME_MAX_LEN; n++) {
		char c = in[n];

		out[n] = c == '-' ? '_' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	return n;
}

const char *bp_suggest(const struct bp_setting *section, const char *key)
{
	const struct bp_setting *s = NULL;
	const char *best = NULL;
	char a[NAME_MAX_LEN];
	size_t len = strlen(key), la;
	uint32_t smallest = UINT32_MAX;

	if (len > NAME_MAX_LEN)
		return NULL;
	la = fold(key, a);
	while ((s = bp_schema_child(section, s)) != NULL) {
		const char *name = bp_setting_key(s);
		size_t lb = strlen(name);
		uint32_t d = distance(a, la, name, lb);

		/* One edit in three letters is a typing error; more edits make another word. */
		if (d < smallest && d <= (lb > la ? lb : la) / 3) {
			smallest = d;
			best = name;
		}
	}
	return best;
}
