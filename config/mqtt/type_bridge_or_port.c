/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/mqtt/schema.h"

/* A bridge or a routed port, by its name: the number of its interface (include/biplane/fib.h),
 * whether the bridge has a host interface or not. */

static bool parse(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	const int port = bp_config_port_index(c, text);
	char shown[BP_SHOWN];

	bp_shown(text, strlen(text), shown);
	for (unsigned b = 0; b < c->n_bridges && text[0] != '\0'; b++) {
		if (strcmp(c->bridge[b].name, text) != 0)
			continue;
		bp_field_store(s, field, BP_MAX_PORTS + b);
		return true;
	}
	if (port < 0 || text[0] == '\0')
		return bp_fault_set(fault, 0, "there is no bridge or routed port '%s'", shown);
	if (!bp_config_port_routes(c, (unsigned)port))
		return bp_fault_set(fault, 0, "port '%s' is in a bridge", shown);
	bp_field_store(s, field, (uint64_t)port);
	return true;
}

static void format(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const uint64_t i = bp_field_load(s, field);

	bp_write_quoted(i < BP_MAX_PORTS ? c->port[i].name : c->bridge[i - BP_MAX_PORTS].name, out);
}

static void expect(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("the name of a bridge or of a routed port", out);
}

const struct bp_type bp_type_bridge_or_port = {.parse = parse, .format = format, .expect = expect};
