/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/cse/provision_path.h"

#include <stdio.h>
#include <string.h>

static bool add(char *out, size_t size, size_t *used, const char *p, size_t len)
{
	if (len >= size - *used)
		return false;
	memcpy(out + *used, p, len);
	*used += len;
	out[*used] = '\0';
	return true;
}

/* What stands for the template at p ("{type}..."), and its length there; NULL: it is none. */
static const char *value(
	const char *p, const struct bp_provision_names *n, char hex[17], size_t *len)
{
	const struct {
		const char *name, *text;
	} known[] = {{"{system_id}", hex}, {"{type}", n->type}, {"{object}", n->object}};

	for (unsigned i = 0; i < 8; i++)
		snprintf(hex + (size_t)2 * i, 3, "%02x", n->system_id[i]);
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		*len = strlen(known[i].name);
		if (strncmp(p, known[i].name, *len) == 0)
			return known[i].text;
	}
	return NULL;
}

bool bp_provision_render(
	char *out, size_t size, const char *template_, const struct bp_provision_names *n)
{
	size_t used = 0, len;
	char hex[17];

	if (size == 0)
		return false;
	out[0] = '\0';
	for (const char *p = template_; *p != '\0'; p += len) {
		const char *text = p;

		len = strcspn(p, "{");
		if (len > 0) {
			if (!add(out, size, &used, p, len))
				return false;
			continue;
		}
		text = value(p, n, hex, &len);
		if (text == NULL || !add(out, size, &used, text, strlen(text)))
			return false;
	}
	return true;
}

size_t bp_provision_prefix(const char *path, unsigned n)
{
	const char *p = path;

	for (; n > 0; n--) {
		p += strcspn(p, "/");
		if (*p == '\0' || n == 1)
			break;
		p++;
	}
	return (size_t)(p - path);
}

unsigned bp_provision_segments(const char *path)
{
	unsigned n = 1;

	for (const char *p = path; (p = strchr(p, '/')) != NULL; p++)
		n++;
	return n;
}

bool bp_provision_segment(char *out, size_t size, const char *path, unsigned i)
{
	size_t from, to;

	if (i >= bp_provision_segments(path))
		return false;
	from = i == 0 ? 0 : bp_provision_prefix(path, i) + 1;
	to = bp_provision_prefix(path, i + 1);
	if (to - from >= size)
		return false;
	memcpy(out, path + from, to - from);
	out[to - from] = '\0';
	return true;
}
