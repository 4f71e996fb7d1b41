/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "config/config.h"

/*
 * Any bytes as a configuration file. What is refused must come with a message; what is accepted
 * must dump as a file that is accepted too, dumps alike and needs no restart against the first.
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
	HOLDS(c->mqtt.n_rules == again->mqtt.n_rules);
	free(text);
	free(again_text);
	bp_config_free(again);
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
	bp_config_free(c);
	fclose(errors);
	free(said);
	return 0;
}
