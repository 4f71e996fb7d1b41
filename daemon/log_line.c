/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/log_line.h"

#include <stdbool.h>
#include <string.h>

static const struct {
	const char *word;
	int level;
} levels[] = {
	{"error: ", BP_LINE_ERROR},
	{"warning: ", BP_LINE_WARNING},
	{"info: ", BP_LINE_INFO},
};

static const char ours[] = "biplane ";

static int named(const char *line, size_t len)
{
	for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		const size_t n = strlen(levels[i].word);

		if (len >= n && memcmp(line, levels[i].word, n) == 0)
			return levels[i].level;
	}
	return 0;
}

/* What stands behind "biplane dataplane: ", or NULL: the line has no such beginning. */
static const char *behind_name(const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);

	if (colon == NULL || (size_t)(colon - line) + 2 > len || colon[1] != ' ')
		return NULL;
	for (const char *p = line; p < colon; p++)
		if ((*p < 'a' || *p > 'z') && *p != ' ')
			return NULL;
	return colon + 2;
}

int bp_line_level(const char *line, size_t len)
{
	int level = named(line, len);
	const char *rest = level != 0 ? NULL : behind_name(line, len);

	if (rest != NULL)
		level = named(rest, len - (size_t)(rest - line));
	if (level != 0)
		return level;
	return len >= sizeof(ours) - 1 && memcmp(line, ours, sizeof(ours) - 1) == 0
		       ? BP_LINE_ERROR
		       : BP_LINE_WARNING;
}
