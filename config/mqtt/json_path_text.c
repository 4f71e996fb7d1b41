/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/mqtt/schema.h"

/* Returns whether a name can follow a point; other names are written in brackets and quotes. */
static bool is_word(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = name[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

		if (!letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return len > 0;
}

static char *put_quoted(char *p, const char *name, size_t len)
{
	p = stpcpy(p, "['");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c < 0x20) {
			p += sprintf(p, "\\u%04x", c);
			continue;
		}
		if (c == '\'' || c == '\\')
			*p++ = '\\';
		*p++ = (char)c;
	}
	return stpcpy(p, "']");
}

void bp_json_path_format(const struct bp_json_path *path, char *out)
{
	char *p = stpcpy(out, "$");

	for (uint32_t i = 0; i < path->steps; i++) {
		const char *name = path->names + path->step[i].name_off;
		size_t len = path->step[i].name_len;

		if (path->step[i].every)
			p = stpcpy(p, "[*]");
		else if (path->step[i].is_index)
			p += sprintf(p, "[%u]", path->step[i].index);
		else if (is_word(name, len))
			p += sprintf(p, ".%.*s", (int)len, name);
		else
			p = put_quoted(p, name, len);
	}
}
