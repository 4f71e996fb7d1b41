/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/config/quiet_config.h"

#include <stdlib.h>

struct bp_config *bp_config_load_quietly(const char *path, FILE *errors)
{
	char *text = NULL;
	size_t len = 0;
	FILE *buffer = open_memstream(&text, &len);
	struct bp_config *c;

	if (!buffer)
		return bp_config_load(path, errors ? errors : stderr);
	c = bp_config_load(path, buffer);
	fclose(buffer);
	if (!c && errors && text)
		fwrite(text, 1, len, errors);
	free(text);
	return c;
}
