/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/schema.h"

/* Bridges, and the ports of one. */

static bool is_bridged(const struct bp_config *c, int port)
{
	return port < (int)c->n_ports && !bp_config_port_routes(c, (unsigned)port);
}

static void read_bridge_ports(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_config *c = r->config;
	struct bp_config_bridge *b = field;

	if (n->kind != BP_YAML_LIST) {
		bp_reader_error(r, s, n, "this is not a list");
		return;
	}
	if (n->n < 2) {
		bp_reader_error(r, s, n, "a bridge has %u port%s", n->n, n->n == 1 ? "" : "s");
		return;
	}
	for (struct bp_yaml *p = n->first; p != NULL; p = p->next) {
		char shown[BP_SHOWN];
		int port;

		if (p->bad)
			continue;
		bp_shown(p->text, p->kind == BP_YAML_SCALAR ? p->n : 0, shown);
		port = p->kind == BP_YAML_SCALAR && p->n > 0 ? bp_config_port_index(c, p->text)
							     : -1;
		if (port < 0)
			bp_reader_error(r, s, p, "there is no port '%s'", shown);
		else if (is_bridged(c, port))
			bp_reader_error(r, s, p, "port '%s' is bridged already", shown);
		else
			b->port[b->n++] = (uint8_t)port;
	}
}

static void format_bridge_ports(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_config_bridge *b = field;

	(void)s;
	fputc('[', out);
	for (uint32_t i = 0; i < b->n; i++) {
		fputs(i > 0 ? ", " : "", out);
		bp_write_quoted(c->port[b->port[i]].name, out);
	}
	fputc(']', out);
}

static void expect_bridge_ports(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("a list of two or more names of ports, such as [devices, cloud], with each port in "
	      "one bridge only",
		out);
}

const struct bp_type bp_type_bridge_ports = {
	.read = read_bridge_ports, .format = format_bridge_ports, .expect = expect_bridge_ports};

static void expect_bridges(const struct bp_setting *s, FILE *out)
{
	fprintf(out,
		"a list of at most %llu bridges, each a list of the names of its ports, such as "
		"[[devices, cloud]], or a mapping of ports and host",
		(unsigned long long)s->max);
}

const struct bp_type bp_type_bridges = {.read = bp_read_list, .expect = expect_bridges};
