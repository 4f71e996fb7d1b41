/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/lcl/schema.h"

/* ---- the index of a port in lcl.ports, by its name ---- */

static bool parse_out(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	const int port = bp_config_port_index(c, text);
	char shown[BP_SHOWN];

	bp_shown(text, strlen(text), shown);
	if (port < 0)
		return bp_fault_set(fault, 0, "there is no port '%s'", shown);
	for (uint32_t i = 0; i < bp_config_lcl(c)->n_ports; i++) {
		if (bp_config_lcl(c)->port[i].port == port) {
			bp_field_store(s, field, i);
			return true;
		}
	}
	return bp_fault_set(fault, 0, "port '%s' is not in lcl.ports", shown);
}

static void format_out(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	bp_write_quoted(c->port[bp_config_lcl(c)->port[bp_field_load(s, field)].port].name, out);
}

static void expect_out(const struct bp_setting *s, FILE *out)
{
	fputs("the name of one of the ports in lcl.ports", out);
}

const struct bp_type bp_type_lcl_out = {
	.parse = parse_out, .format = format_out, .expect = expect_out};
