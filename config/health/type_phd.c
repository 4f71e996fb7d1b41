/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/health/schema.h"
#include "config/url.h"

/* Values of section health_devices: system-ids, a range of ports, URLs, and templates of oneM2M
 * names. */

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* 16 hexadecimal digits; the system-id 0 is not valid. */
bool bp_system_id_read(const char *text, size_t len, uint8_t id[8])
{
	uint8_t any = 0;

	if (len != 16)
		return false;
	for (uint32_t i = 0; i < 8; i++) {
		const int high = hex(text[2 * i]), low = hex(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		id[i] = (uint8_t)(high << 4 | low);
		any |= id[i];
	}
	return any != 0;
}

static bool parse_system_id(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	char shown[BP_SHOWN];
	uint8_t id[8];

	if (!bp_system_id_read(text, strlen(text), id))
		return bp_fault_set(
			fault, 0, "'%s' is not a system-id", bp_shown(text, strlen(text), shown));
	memcpy(field, id, sizeof(id));
	return true;
}

/* In quotes: YAML readers parse digits alone as a number. */
static void write_system_id(const uint8_t id[8], FILE *out)
{
	fputc('"', out);
	for (uint32_t i = 0; i < 8; i++)
		fprintf(out, "%02x", id[i]);
	fputc('"', out);
}

static void format_system_id(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	write_system_id(field, out);
}

static void expect_system_id(const struct bp_setting *s, FILE *out)
{
	fputs("a system-id (EUI-64) of 16 hexadecimal digits, not all 0, such as "
	      "\"0022093412345678\"",
		out);
}

const struct bp_type bp_type_system_id = {
	.parse = parse_system_id, .format = format_system_id, .expect = expect_system_id};

/* ---- a list of them ---- */

struct listed {
	uint8_t id[8];
	struct bp_yaml *node;
};

static int by_id(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	const int d = memcmp(x->id, y->id, sizeof(x->id));

	return d != 0                              ? d
	       : x->node->line != y->node->line    ? (x->node->line < y->node->line ? -1 : 1)
	       : x->node->column < y->node->column ? -1
						   : x->node->column > y->node->column;
}

static bool item_id(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *item, struct listed *out)
{
	struct bp_fault fault;

	if (item->bad)
		return false;
	out->node = item;
	if (item->kind != BP_YAML_SCALAR || bp_yaml_is_null(item)) {
		bp_reader_error(r, s, item, "this is not a system-id");
		return false;
	}
	if (!parse_system_id(s, r->config, item->text, out->id, &fault)) {
		bp_reader_fault(r, s, item, &fault);
		return false;
	}
	return true;
}

/* Sorted, so that duplicates are adjacent and a binary search works. */
static void keep_ids(struct bp_reader *r, const struct bp_setting *s, struct listed *list,
	uint32_t n, struct bp_config_phd_ids *ids)
{
	if (n > 1)
		qsort(list, n, sizeof(*list), by_id);
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0 && memcmp(list[i].id, list[i - 1].id, 8) == 0)
			bp_reader_error(r, s, list[i].node, "%s is given twice (line %u)",
				list[i].node->text,
				bp_messages_line(r->messages, list[i - 1].node->line));
		memcpy(ids->id[ids->n++], list[i].id, 8);
	}
}

static void read_system_ids(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_config_phd_ids *ids = field;
	struct listed *list;
	uint32_t count = 0;

	if (n->kind != BP_YAML_LIST) {
		bp_reader_error(r, s, n, "this is not a list");
		return;
	}
	if (n->n > s->max) {
		bp_reader_error(r, s, n, "%u are given", n->n);
		return;
	}
	list = calloc((size_t)n->n + 1, sizeof(*list));
	ids->id = calloc((size_t)n->n + 1, sizeof(*ids->id));
	if (list == NULL || ids->id == NULL) {
		bp_reader_error(r, s, n, "there is no memory for %u of them", n->n);
		free(list);
		return;
	}
	for (struct bp_yaml *item = n->first; item != NULL; item = item->next)
		count += item_id(r, s, item, &list[count]);
	keep_ids(r, s, list, count, ids);
	free(list);
}

static void format_system_ids(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_config_phd_ids *ids = field;

	fputc('[', out);
	for (uint32_t i = 0; i < ids->n; i++) {
		fputs(i > 0 ? ", " : "", out);
		write_system_id(ids->id[i], out);
	}
	fputc(']', out);
}

static void expect_system_ids(const struct bp_setting *s, FILE *out)
{
	fprintf(out,
		"a list of at most %llu different system-ids, each of 16 hexadecimal digits in "
		"quotes",
		(unsigned long long)s->max);
}

const struct bp_type bp_type_system_ids = {
	.read = read_system_ids, .format = format_system_ids, .expect = expect_system_ids};

/* ---- "20000-29999" ---- */

static bool parse_port_range(const struct bp_setting *s, const struct bp_config *c,
	const char *text, void *field, struct bp_fault *fault)
{
	const struct bp_setting number = {.min = s->min, .max = s->max, .size = sizeof(uint16_t)};
	const char *dash = strchr(text, '-');
	size_t n = dash != NULL ? (size_t)(dash - text) : 0;
	char first[16] = "", shown[BP_SHOWN];
	uint16_t *ports = field, range[2];

	if (dash == NULL || n == 0 || n >= sizeof(first))
		return bp_fault_set(fault, 0, "'%s' is not a range of ports",
			bp_shown(text, strlen(text), shown));
	memcpy(first, text, n);
	if (!bp_type_uint.parse(&number, c, first, &range[0], fault) ||
		!bp_type_uint.parse(&number, c, dash + 1, &range[1], fault))
		return false;
	if (range[1] < range[0])
		return bp_fault_set(
			fault, 0, "%s ends before it begins", bp_shown(text, strlen(text), shown));
	memcpy(ports, range, sizeof(range));
	return true;
}

static void format_port_range(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const uint16_t *ports = field;

	fprintf(out, "%u-%u", ports[0], ports[1]);
}

static void expect_port_range(const struct bp_setting *s, FILE *out)
{
	fprintf(out, "a range of ports from %llu to %llu, such as 20000-29999",
		(unsigned long long)s->min, (unsigned long long)s->max);
}

const struct bp_type bp_type_port_range = {
	.parse = parse_port_range, .format = format_port_range, .expect = expect_port_range};

/* ---- coap://10.1.0.20:5683, http://[fd00::20]:8080 ---- */

#define COAP_PORT 5683
#define HTTP_PORT 80

static bool read_url(const struct bp_config *c, const char *text, const char *scheme,
	uint16_t default_port, struct bp_address *address, uint16_t *port, struct bp_fault *fault)
{
	const char *const schemes[] = {scheme, NULL};
	struct bp_url url;

	if (!bp_url_read(text, schemes, &url, fault))
		return false;
	if (!bp_type_address.parse(NULL, c, url.host, address, fault)) {
		fault->at += strlen(scheme) + strlen("://") + (strchr(text, '[') != NULL);
		return false;
	}
	*port = url.port != 0 ? url.port : default_port;
	return true;
}

static void write_url(
	const char *scheme, const struct bp_address *address, uint16_t port, FILE *out)
{
	char host[BP_ADDRESS_TEXT];

	fputc('"', out);
	bp_url_write(scheme, bp_address_text(address, host), port, out);
	fputc('"', out);
}

static bool parse_coap(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_config_phd_cse *cse = field;

	return read_url(c, text, "coap", COAP_PORT, &cse->coap_address, &cse->coap_port, fault);
}

static void format_coap(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_config_phd_cse *cse = field;

	write_url("coap", &cse->coap_address, cse->coap_port, out);
}

static void expect_coap(const struct bp_setting *s, FILE *out)
{
	fputs("coap://ADDRESS[:PORT], such as coap://192.0.2.20:5683 or coap://[2001:db8::20]",
		out);
}

const struct bp_type bp_type_coap_url = {
	.parse = parse_coap, .format = format_coap, .expect = expect_coap};

static bool parse_http(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_config_phd_cse *cse = field;

	return read_url(c, text, "http", HTTP_PORT, &cse->http_address, &cse->http_port, fault);
}

static void format_http(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_config_phd_cse *cse = field;

	write_url("http", &cse->http_address, cse->http_port, out);
}

static void expect_http(const struct bp_setting *s, FILE *out)
{
	fputs("http://ADDRESS[:PORT], such as http://192.0.2.20:8080 or http://[2001:db8::20]",
		out);
}

const struct bp_type bp_type_http_url = {
	.parse = parse_http, .format = format_http, .expect = expect_http};

/* ---- templates ---- */

/* Returns the length of a placeholder at `p`, or 0. */
static size_t placeholder(const char *p)
{
	static const char *const known[] = {"{system_id}", "{type}", "{object}"};

	for (uint32_t i = 0; i < 3; i++) {
		if (strncmp(p, known[i], strlen(known[i])) == 0)
			return strlen(known[i]);
	}
	return 0;
}

/* Characters that need no escape in a URI and are not separators in oneM2M. */
static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       strchr("-._~", c) != NULL;
}

/* Checks one segment from `p` to a slash or the end. *end: the end of the segment. */
static bool check_segment(const char *text, const char *p, const char **end, struct bp_fault *fault)
{
	const char *begin = p;
	char shown[BP_SHOWN];
	size_t step;

	for (; *p != '\0' && *p != '/'; p += step) {
		const size_t at = (size_t)(p - text), len = strcspn(p, "}/");

		step = *p == '{' ? placeholder(p) : 1;
		if (step == 0)
			return bp_fault_set(fault, at, "'%s' is not a placeholder",
				bp_shown(p, len + (p[len] == '}'), shown));
		if (*p != '{' && !is_plain(*p))
			return bp_fault_set(
				fault, at, "'%s' is not allowed", bp_shown(p, 1, shown));
	}
	if (p == begin)
		return bp_fault_set(fault, (size_t)(p - text), "a segment is empty");
	*end = p;
	return true;
}

static bool in_length(const struct bp_setting *s, const char *text, struct bp_fault *fault)
{
	const size_t len = strlen(text);

	if (len >= s->min && len <= s->max)
		return true;
	return bp_fault_set(fault, 0, "the text is %zu bytes long", len);
}

static bool has_placeholder(const char *from, const char *to, const char *which)
{
	const char *p = strstr(from, which);

	return p != NULL && p < to;
}

/*
 * Segment 1 is the CSE, 2 the AE of the device, the rest are containers: the AE cannot be at
 * another position, and its name cannot depend on the object.
 */
static bool parse_resource_path(const struct bp_setting *s, const struct bp_config *c,
	const char *text, void *field, struct bp_fault *fault)
{
	const char *p = text, *end = text;
	unsigned n = 0;

	if (!in_length(s, text, fault))
		return false;
	for (;; p = end + 1) {
		if (!check_segment(text, p, &end, fault))
			return false;
		n++;
		if (n == 1 && has_placeholder(p, end, "{"))
			return bp_fault_set(fault, 0,
				"a placeholder is not allowed in the CSE's name, the first "
				"segment");
		if (n == 2 && has_placeholder(p, end, "{object}"))
			return bp_fault_set(fault, (size_t)(p - text),
				"{object} is not allowed in the AE, the second segment");
		if (*end == '\0')
			break;
	}
	if (n < 3)
		return bp_fault_set(fault, 0, "the container, the third segment, is missing");
	memset(field, 0, s->size);
	memcpy(field, text, strlen(text));
	return true;
}

static void format_text(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	bp_write_quoted(field, out);
}

static void expect_resource_path(const struct bp_setting *s, FILE *out)
{
	fprintf(out,
		"a path of %llu to %llu bytes of at least three segments, the CSE's name, the AE "
		"and containers, of letters, digits, '-', '.', '_', '~' and the placeholders "
		"{system_id}, {type} and, in containers, {object}",
		(unsigned long long)s->min, (unsigned long long)s->max);
}

const struct bp_type bp_type_resource_path = {
	.parse = parse_resource_path, .format = format_text, .expect = expect_resource_path};

static bool parse_originator(const struct bp_setting *s, const struct bp_config *c,
	const char *text, void *field, struct bp_fault *fault)
{
	const char *end = text;

	if (!in_length(s, text, fault) || !check_segment(text, text, &end, fault))
		return false;
	if (*end != '\0')
		return bp_fault_set(fault, (size_t)(end - text), "'/' is not allowed");
	if (strstr(text, "{object}") != NULL || strstr(text, "{type}") != NULL)
		return bp_fault_set(
			fault, 0, "{type} and {object} are not allowed in an originator");
	/* TS-0001, 7.2: this letter marks the identifier of an AE for a CSE; the letter alone
	 * requests an identifier. */
	if ((text[0] != 'C' && text[0] != 'S') || text[1] == '\0')
		return bp_fault_set(
			fault, 0, "the text is not an AE-ID, which begins with 'C' or 'S'");
	memset(field, 0, s->size);
	memcpy(field, text, strlen(text));
	return true;
}

static void expect_originator(const struct bp_setting *s, FILE *out)
{
	fprintf(out,
		"a text of %llu to %llu bytes that begins with C or S, of letters, digits, '-', "
		"'.', '_', '~' and the placeholder {system_id}",
		(unsigned long long)s->min, (unsigned long long)s->max);
}

const struct bp_type bp_type_originator = {
	.parse = parse_originator, .format = format_text, .expect = expect_originator};
