/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/schema.h"

/* Bridges, and the ports of a bridge. */

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
			bp_reader_error(r, s, p, "port '%s' is in a bridge already", shown);
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
		"a list of at most %llu bridges, such as [{name: line-1, ports: [devices, cloud]}]",
		(unsigned long long)s->max);
}

/* Writes the mapping that replaces the list of names `n`. */
static void mapping_of(const struct bp_yaml *n, unsigned number, char *out, size_t size)
{
	FILE *f = fmemopen(out, size, "w");
	const char *sep = "";

	out[0] = '\0';
	if (f == NULL)
		return;
	fprintf(f, "{name: line-%u, ports: [", number);
	for (const struct bp_yaml *p = n->first; p != NULL; p = p->next) {
		char shown[BP_SHOWN];

		fprintf(f, "%s%s", sep,
			p->kind == BP_YAML_SCALAR ? bp_shown(p->text, p->n, shown) : "PORT");
		sep = ", ";
	}
	fputs("]}", f);
	fclose(f);
	out[size - 1] = '\0';
}

/* Before version 1 a bridge was a list of ports, and a single bridge is easily written without the
 * second pair of brackets. */
static void read_bridges(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	unsigned number = 1;
	char text[256];

	if (n->kind == BP_YAML_LIST && n->first != NULL && n->first->kind == BP_YAML_SCALAR &&
		!bp_yaml_is_null(n->first)) {
		mapping_of(n, 1, text, sizeof(text));
		bp_error(r->messages, n->line, n->column,
			"%s: a list of names is given; expected [%s]", r->path, text);
		n->bad = true;
		return;
	}
	for (struct bp_yaml *e = n->kind == BP_YAML_LIST ? n->first : NULL; e != NULL;
		e = e->next, number++) {
		if (e->bad || e->kind != BP_YAML_LIST)
			continue;
		mapping_of(e, number, text, sizeof(text));
		bp_error(r->messages, e->line, e->column, "%s[%u]: a list is given; expected %s",
			r->path, number - 1, text);
		e->bad = true;
	}
	bp_read_list(r, s, n, field);
}

const struct bp_type bp_type_bridges = {.read = read_bridges, .expect = expect_bridges};
