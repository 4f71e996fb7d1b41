/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONFIG_TEST_H
#define CONFIG_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

/* Messages and result of a parse; free it with end(). */
struct outcome {
	struct bp_config *config;
	char *errors;
};

static inline struct outcome parse_bytes(const char *text, size_t len)
{
	struct outcome o = {0};
	size_t size;
	FILE *f = open_memstream(&o.errors, &size);

	assert_non_null(f);
	o.config = bp_config_parse("f.yaml", text, len, f);
	assert_int_equal(fclose(f), 0);
	return o;
}

static inline struct outcome parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

static inline void end(struct outcome *o)
{
	bp_config_free(o->config);
	free(o->errors);
}

static inline char *dump(const struct bp_config *c)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	bp_config_dump(c, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* The configuration of a text that must be without errors. */
static inline struct bp_config *accepted(const char *text)
{
	struct outcome o = parse(text);

	if (o.config == NULL)
		print_error("refused:\n%s\n%s\n", text, o.errors);
	assert_non_null(o.config);
	free(o.errors);
	return o.config;
}

/* The exact messages for a text that must be refused or gives warnings. */
static inline void says(const char *text, const char *messages)
{
	struct outcome o = parse(text);

	assert_string_equal(o.errors, messages);
	end(&o);
}

/* A configuration that is dumped and read again: a reload finds no difference, and its dump is the
 * same. */
static inline struct bp_config *come_back(const struct bp_config *c)
{
	char *first = dump(c), *second;
	struct bp_config *back = accepted(first);

	second = dump(back);
	assert_string_equal(first, second);
	assert_int_equal(bp_config_restart_needed(c, back, stderr), 0);
	free(first);
	free(second);
	return back;
}

/* The settings that differ between the texts and their effect, one line each. */
static inline void needs(const char *running, const char *next, const char *lines)
{
	struct bp_config *a = accepted(running), *b = accepted(next);
	char *text;
	size_t size, n = 0;
	FILE *f = open_memstream(&text, &size);
	int needed = bp_config_restart_needed(a, b, f);

	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, lines);
	for (const char *p = lines; *p != '\0'; p++)
		n += *p == '\n';
	assert_int_equal(needed, n);
	free(text);
	bp_config_free(a);
	bp_config_free(b);
}

#define ROLELESS "ports: [{name: a, device: x}, {name: b, device: y}]\n"
#define BRIDGE "bridges: [{name: bridge0, ports: [a, b]}]\n"
#define PORTS "ports: [{name: a, device: x, routed: {}}, {name: b, device: y, routed: {}}]\n"
#define BRIDGED ROLELESS BRIDGE
#define PORTS3                                                                                     \
	"ports: [{name: a, device: x}, {name: b, device: y}, {name: m, device: z, routed: "        \
	"{}}]\n" BRIDGE
#define EDGE BRIDGED "mqtt:\n  publisher: {broker: \"mqtt://h\"}\n"
#define CLONE                                                                                      \
	BRIDGED "mqtt:\n  mirror: {port: b, mac: \"02:00:00:00:00:01\", ipv4_address: "            \
		"192.0.2.1}\n"

#endif
