/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/schema.h"

/* Lists of scalars, and references to a port by its name. */

int bp_config_port_index(const struct bp_config *c, const char *name)
{
	for (uint32_t i = 0; i < c->n_ports; i++) {
		if (strcmp(c->port[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

static bool parse_port(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	int i = bp_config_port_index(c, text);
	char shown[BP_SHOWN];

	if (i < 0 || text[0] == '\0')
		return bp_fault_set(
			fault, 0, "there is no port '%s'", bp_shown(text, strlen(text), shown));
	bp_field_store(s, field, (uint64_t)i);
	return true;
}

static void format_port(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	bp_write_quoted(c->port[bp_field_load(s, field)].name, out);
}

static void expect_port(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("the name of one of the ports", out);
}

const struct bp_type bp_type_port = {
	.parse = parse_port, .format = format_port, .expect = expect_port};

/* A routed interface, by the name of its port or bridge. */
static bool parse_interface(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	char shown[BP_SHOWN];

	bp_shown(text, strlen(text), shown);
	for (unsigned i = 0; i < BP_MAX_INTERFACES && text[0] != '\0'; i++) {
		const char *name;

		if (bp_config_interface(c, i, &name) == NULL || strcmp(name, text) != 0)
			continue;
		bp_field_store(s, field, i);
		return true;
	}
	if (text[0] != '\0' && bp_config_port_index(c, text) >= 0)
		return bp_fault_set(fault, 0, "port '%s' is in a bridge", shown);
	for (unsigned b = 0; b < c->n_bridges && text[0] != '\0'; b++)
		if (strcmp(c->bridge[b].name, text) == 0)
			return bp_fault_set(fault, 0, "bridge '%s' has no host_interface", shown);
	return bp_fault_set(fault, 0, "there is no interface '%s'", shown);
}

static void format_interface(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const char *name = "";

	bp_config_interface(c, (unsigned)bp_field_load(s, field), &name);
	bp_write_quoted(name, out);
}

static void expect_interface(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("the name of a routed port, or of a bridge with a host_interface", out);
}

const struct bp_type bp_type_interface = {
	.parse = parse_interface, .format = format_interface, .expect = expect_interface};

/* Reads a whole number in a list item, with the rules and bounds of `number`. */
static bool item_number(struct bp_reader *r, const struct bp_setting *s,
	const struct bp_setting *number, struct bp_yaml *item, uint16_t *out)
{
	struct bp_fault fault;

	if (item->bad)
		return false;
	if (item->kind != BP_YAML_SCALAR || bp_yaml_is_null(item)) {
		bp_reader_error(r, s, item, "this is not a number");
		return false;
	}
	if (!bp_type_uint.parse(number, r->config, item->text, out, &fault)) {
		bp_reader_fault(r, s, item, &fault);
		return false;
	}
	return true;
}

/* Fills out[0..*n) from a list of up to `max` different numbers. */
static void read_numbers(struct bp_reader *r, const struct bp_setting *s,
	const struct bp_setting *number, struct bp_yaml *n, uint16_t *out, uint32_t max,
	uint32_t *count)
{
	if (n->n == 0 || n->n > max) {
		bp_reader_error(r, s, n, "%u are given", n->n);
		return;
	}
	for (struct bp_yaml *item = n->first; item != NULL; item = item->next) {
		uint16_t v;

		if (!item_number(r, s, number, item, &v))
			continue;
		for (uint32_t i = 0; i < *count; i++) {
			if (out[i] == v) {
				bp_reader_error(r, s, item, "%u is given twice", v);
				break;
			}
		}
		if (!item->bad)
			out[(*count)++] = v;
	}
}

/* Returns the node as a scalar, or a list that the type itself must read. */
bool bp_read_as_scalar(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_fault fault;

	if (n->kind == BP_YAML_LIST)
		return false;
	if (n->kind == BP_YAML_MAP || bp_yaml_is_null(n))
		bp_reader_error(r, s, n, "%s",
			n->kind == BP_YAML_MAP ? "found a mapping" : "no value is given");
	else if (!s->type->parse(s, r->config, n->text, field, &fault))
		bp_reader_fault(r, s, n, &fault);
	return true;
}

static void write_numbers(const uint16_t *v, uint32_t n, FILE *out)
{
	fputc('[', out);
	for (uint32_t i = 0; i < n; i++)
		fprintf(out, "%s%u", i > 0 ? ", " : "", v[i]);
	fputc(']', out);
}

/* The field is the uint32_t count of the ports; the ports follow it. */
_Static_assert(offsetof(struct bp_config, punt.health_device_ports) ==
		       offsetof(struct bp_config, punt.n_health_device_ports) + sizeof(uint32_t),
	"the ports follow their count");

/* A list without a default may be empty. */
static bool is_optional(const struct bp_setting *s)
{
	return s->preset == NULL;
}

static uint16_t *ports_after(uint32_t *count)
{
	return (uint16_t *)(count + 1);
}

static bool parse_tcp_ports(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	const struct bp_setting number = {.min = s->min, .max = s->max, .size = sizeof(uint16_t)};
	uint32_t *count = field;

	if (!bp_type_uint.parse(&number, c, text, ports_after(count), fault))
		return false;
	*count = 1;
	return true;
}

static void read_tcp_ports(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	const struct bp_setting number = {.min = s->min, .max = s->max, .size = sizeof(uint16_t)};
	uint32_t *count = field;

	if (bp_read_as_scalar(r, s, n, field))
		return;
	*count = 0;
	if (n->n != 0 || !is_optional(s))
		read_numbers(r, s, &number, n, ports_after(count), BP_MAX_MQTT_PORTS, count);
}

static void format_tcp_ports(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const uint32_t *count = field;

	(void)s;
	(void)c;
	write_numbers((const uint16_t *)(count + 1), *count, out);
}

static void expect_tcp_ports(const struct bp_setting *s, FILE *out)
{
	fprintf(out, "a TCP port from %llu to %llu, or a list of %s %u different ones",
		(unsigned long long)s->min, (unsigned long long)s->max,
		is_optional(s) ? "up to" : "1 to", BP_MAX_MQTT_PORTS);
}

const struct bp_type bp_type_tcp_ports = {.parse = parse_tcp_ports,
	.read = read_tcp_ports,
	.format = format_tcp_ports,
	.expect = expect_tcp_ports};

#define CORE_MAX 1023 /* no machine that DPDK supports has more workers */

static bool parse_workers(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	const struct bp_setting number = {.min = s->min, .max = s->max, .size = sizeof(uint32_t)};

	return bp_type_uint.parse(&number, c, text, &((struct bp_config *)field)->n_workers, fault);
}

static void read_workers(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	const struct bp_setting core = {.max = CORE_MAX, .size = sizeof(uint16_t)};
	struct bp_config *c = field;

	if (bp_read_as_scalar(r, s, n, field))
		return;
	c->workers_listed = true;
	read_numbers(r, s, &core, n, c->worker_core, BP_MAX_WORKERS, &c->n_workers);
}

static void format_workers(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	(void)s;
	(void)field;
	if (c->workers_listed)
		write_numbers(c->worker_core, c->n_workers, out);
	else
		fprintf(out, "%u", c->n_workers);
}

static void expect_workers(const struct bp_setting *s, FILE *out)
{
	fprintf(out,
		"a number of workers from %llu to %llu, or a list of as many different cores from "
		"0 "
		"to %u",
		(unsigned long long)s->min, (unsigned long long)s->max, CORE_MAX);
}

const struct bp_type bp_type_workers = {.parse = parse_workers,
	.read = read_workers,
	.format = format_workers,
	.expect = expect_workers};
