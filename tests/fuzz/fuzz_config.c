/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "config/config.h"
#include "config/mqtt/settings.h"

/*
 * Any bytes as a configuration file. A refused file must have an error message; an accepted file
 * must have a dump that is accepted too, has the same dump and needs no restart against the first.
 * The instance name found early must equal that of the whole file; with errors elsewhere it must be
 * a valid name.
 */

static char *dump(const struct bp_config *c)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	HOLDS(f != NULL);
	bp_config_dump(c, f);
	HOLDS(fclose(f) == 0);
	return text;
}

static void check_round_trip(const struct bp_config *c, FILE *scratch)
{
	char *text = dump(c), *again_text;
	struct bp_config *again = bp_config_parse("dump", text, strlen(text), scratch);

	HOLDS(again != NULL);
	again_text = dump(again);
	HOLDS(strcmp(text, again_text) == 0);
	HOLDS(bp_config_restart_needed(c, again, scratch) == 0);
	HOLDS(bp_config_mqtt(c)->n_rules == bp_config_mqtt(again)->n_rules);
	free(text);
	free(again_text);
	bp_config_free(again);
}

static void check_instance(
	const struct bp_config *c, const uint8_t *data, size_t size, FILE *scratch)
{
	struct bp_config_instance i;
	int ret = bp_config_parse_instance("fuzz", (const char *)data, size, &i, scratch);

	HOLDS((ret == 0) == (c != NULL));
	HOLDS(ret < 0 || (i.name[0] != '\0' && i.runtime_dir[0] != '\0'));
	HOLDS(c == NULL ||
		(strcmp(i.name, c->name) == 0 && strcmp(i.runtime_dir, c->runtime_dir) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *said = NULL;
	size_t said_len;
	FILE *errors = open_memstream(&said, &said_len);
	struct bp_config *c;

	HOLDS(errors != NULL);
	c = bp_config_parse("fuzz", (const char *)data, size, errors);
	HOLDS(fflush(errors) == 0);
	HOLDS(c != NULL || said_len > 0);
	if (c != NULL)
		check_round_trip(c, errors);
	check_instance(c, data, size, errors);
	bp_config_free(c);
	fclose(errors);
	free(said);
	return 0;
}
