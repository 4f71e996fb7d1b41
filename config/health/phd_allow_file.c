/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/health/schema.h"

/* Maximum file size: the maximum number of lines, with comments. */
#define FILE_MAX (4u << 20)

bool bp_config_phd_restricted(const struct bp_config_phd *c)
{
	return c->has_allow || c->allow_file[0] != '\0';
}

bool bp_config_phd_allowed(const struct bp_config_phd *c, const struct bp_config_phd_ids *file,
	const uint8_t system_id[8])
{
	return !bp_config_phd_restricted(c) || bp_config_phd_listed(&c->allow, system_id) ||
	       bp_config_phd_listed(file, system_id);
}

/* Reads the whole file, *len bytes; the caller frees it. Returns NULL with the reason in *why. */
static char *read_file(const char *path, size_t *len, const char **why)
{
	FILE *f = fopen(path, "re");
	char *text = f != NULL ? malloc(FILE_MAX) : NULL;

	if (text == NULL) {
		*why = strerror(errno);
	} else {
		*len = fread(text, 1, FILE_MAX, f);
		*why = ferror(f) ? strerror(errno) : NULL;
		if (*why == NULL && *len == FILE_MAX)
			*why = "4 MiB or more; it was expected to be smaller";
	}
	if (f != NULL)
		fclose(f);
	if (*why == NULL)
		return text;
	free(text);
	return NULL;
}

int bp_config_phd_allow_load(
	const struct bp_config_phd *c, struct bp_config_phd_ids *out, char *err, size_t err_size)
{
	const char *path = c->allow_file, *why = NULL;
	size_t len = 0;
	uint32_t line;
	char *text;

	*out = (struct bp_config_phd_ids){0};
	if (!c->enabled || path[0] == '\0')
		return 0;
	text = read_file(path, &len, &why);
	if (text == NULL) {
		snprintf(err, err_size, "health_devices.allow_file: %s: %s", path, why);
		return -1;
	}
	line = bp_config_phd_ids_parse(text, len, BP_PHD_ALLOW_MAX, out);
	free(text);
	if (line == 0)
		return 0;
	snprintf(err, err_size,
		"health_devices.allow_file: %s:%" PRIu32
		": not a system-id, or one too many; expected at most %u "
		"lines of 16 hexadecimal digits, not all 0",
		path, line, BP_PHD_ALLOW_MAX);
	return -1;
}

int bp_config_phd_allow_check(const struct bp_config_phd *c, char *err, size_t err_size)
{
	struct bp_config_phd_ids ids;

	if (bp_config_phd_allow_load(c, &ids, err, err_size) != 0)
		return -1;
	free(ids.id);
	return 0;
}
