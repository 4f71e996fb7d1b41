/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/check_place.h"
#include "config/url.h"

/* The types of section fleet. */

static bool is_word(const char *text, size_t max)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	const size_t len = strlen(text);

	return len > 0 && len <= max && strspn(text, allowed) == len && text[0] != '-' &&
	       text[0] != '.';
}

/* ---- labels: a mapping ---- */

static bool add_label(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *v,
	struct bp_config_fleet_labels *l)
{
	const bool text = v->kind == BP_YAML_SCALAR && !bp_yaml_is_null(v);

	if (!is_word(v->key->text, sizeof(l->label[0].key) - 1) || !text ||
		!is_word(v->text, sizeof(l->label[0].value) - 1)) {
		bp_reader_error(r, s, v, "name or value of a label is not a word");
		return false;
	}
	for (uint32_t i = 0; i < l->n; i++)
		if (strcmp(l->label[i].key, v->key->text) == 0) {
			bp_reader_error(r, s, v, "label %s is given twice", v->key->text);
			return false;
		}
	memcpy(l->label[l->n].key, v->key->text, v->key->n + 1);
	memcpy(l->label[l->n].value, v->text, v->n + 1);
	l->n++;
	return true;
}

static void read_labels(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	if (n->kind != BP_YAML_MAP) {
		bp_reader_error(
			r, s, n, "found a %s", n->kind == BP_YAML_LIST ? "list" : "single value");
		return;
	}
	if (n->n > BP_FLEET_LABELS_MAX) {
		bp_reader_error(r, s, n, "%u are given", n->n);
		return;
	}
	for (struct bp_yaml *v = n->first; v != NULL; v = v->next)
		if (!v->bad && !v->key->bad && !add_label(r, s, v, field))
			return;
}

static void format_labels(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_config_fleet_labels *l = field;

	(void)s;
	(void)c;
	fputc('{', out);
	for (uint32_t i = 0; i < l->n; i++) {
		fprintf(out, "%s%s: ", i > 0 ? ", " : "", l->label[i].key);
		bp_write_quoted(l->label[i].value, out);
	}
	fputc('}', out);
}

static void expect_labels(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fprintf(out,
		"a mapping of at most %u names to values, such as {site: north}, of letters, "
		"digits, '_', '.' and '-'",
		BP_FLEET_LABELS_MAX);
}

const struct bp_type bp_type_labels = {
	.read = read_labels, .format = format_labels, .expect = expect_labels};

/* ---- files: a list of absolute paths ---- */

static void read_files(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_config_fleet_files *f = field;

	if (n->kind != BP_YAML_LIST || n->n == 0 || n->n > BP_FLEET_KEYS_MAX) {
		bp_reader_error(r, s, n, "%s",
			n->kind != BP_YAML_LIST ? "this is no list"
			: n->n == 0             ? "the list is empty"
						: "the list is too long");
		return;
	}
	for (struct bp_yaml *item = n->first; item != NULL; item = item->next) {
		if (item->bad)
			continue;
		if (item->kind != BP_YAML_SCALAR || item->text[0] != '/' ||
			item->n >= sizeof(f->path[0])) {
			bp_reader_error(r, s, item, "this is not an absolute path");
			continue;
		}
		memcpy(f->path[f->n++], item->text, item->n + 1);
	}
}

static void format_files(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_config_fleet_files *f = field;

	(void)s;
	(void)c;
	for (uint32_t i = 0; i < f->n; i++) {
		fputs(i > 0 ? ", " : "[", out);
		bp_write_quoted(f->path[i], out);
	}
	fputs(f->n > 0 ? "]" : "[]", out);
}

static void expect_files(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fprintf(out, "a list of 1 to %u absolute paths of at most 255 bytes", BP_FLEET_KEYS_MAX);
}

const struct bp_type bp_type_files = {
	.read = read_files, .format = format_files, .expect = expect_files};

/* ---- the servers of an etcd cluster ---- */

static const char *const schemes[] = {"etcd", "etcds", NULL};

static bool check_server(
	const char *scheme, size_t scheme_len, const char *host, size_t len, struct bp_fault *fault)
{
	char text[300];
	struct bp_url url;

	if (scheme_len + len >= sizeof(text))
		return bp_fault_set(fault, 0, "a server is longer than 255 bytes");
	snprintf(text, sizeof(text), "%.*s%.*s", (int)scheme_len, scheme, (int)len, host);
	if (!bp_url_read(text, schemes, &url, fault))
		return false;
	return url.port != 0 || bp_fault_set(fault, 0, "'%s' has no port", text);
}

static bool parse_etcd(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	const char *host = strstr(text, "://");
	const size_t scheme_len = host != NULL ? (size_t)(host - text) + 3 : 0;
	const size_t len = strlen(text);

	(void)c;
	if (len >= s->size)
		return bp_fault_set(fault, 0, "the text is %zu bytes long", len);
	if (host == NULL)
		return bp_fault_set(fault, 0, "this is not a URL");
	for (host = text + scheme_len;; host++) {
		const size_t n = strcspn(host, ",");

		if (!check_server(text, scheme_len, host, n, fault))
			return false;
		host += n;
		if (*host == '\0')
			break;
	}
	memset(field, 0, s->size);
	memcpy(field, text, len);
	return true;
}

static void format_etcd(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	(void)s;
	(void)c;
	bp_write_quoted(field, out);
}

static void expect_etcd(const struct bp_setting *s, FILE *out)
{
	fprintf(out,
		"etcd://HOST:PORT or etcds://HOST:PORT, with further HOST:PORT after commas, of at "
		"most %u bytes",
		s->size - 1);
}

const struct bp_type bp_type_etcd = {
	.parse = parse_etcd, .format = format_etcd, .expect = expect_etcd};

static void check_pair(
	struct bp_reader *r, const struct bp_yaml *n, const char *one, const char *other)
{
	const struct bp_yaml *a = bp_yaml_find(n, one), *b = bp_yaml_find(n, other);

	if ((a == NULL) != (b == NULL))
		BP_AT_ERROR(r, a != NULL ? a->key : b->key,
			"fleet.config.%s: there is no %s; expected both %s and %s",
			a != NULL ? one : other, a != NULL ? other : one, one, other);
}

void bp_check_fleet_config(struct bp_reader *r, const struct bp_yaml *n, void *base)
{
	const struct bp_config_fleet_config *f = &((const struct bp_config *)base)->fleet.config;
	const struct bp_yaml *directory = bp_good(n, "directory");

	bp_check_fleet_name(r, n);
	check_pair(r, n, "cert_file", "key_file");
	check_pair(r, n, "username", "password_file");
	bp_check_secret_file(r, bp_good(n, "key_file"), "key_file", f->key_file);
	bp_check_secret_file(r, bp_good(n, "password_file"), "password_file", f->password_file);
	if (directory != NULL && f->directory[0] != '/')
		BP_AT_ERROR(r, directory,
			"fleet.config.directory: '%s' is not an absolute path; expected one, such "
			"as /var/lib/biplane-fleet",
			f->directory);
}
