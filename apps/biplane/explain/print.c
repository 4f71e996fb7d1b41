/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "apps/biplane/explain/explain.h"
#include "apps/biplane/text.h"

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s != NULL ? s : "";
}

static void print_checks(const json_t *checks, int indent, FILE *out)
{
	size_t i;
	json_t *c;

	json_array_foreach(checks, i, c)
	{
		fprintf(out, "%*s%-4s  %-12s  ", indent, "", text_of(c, "status"),
			text_of(c, "check"));
		bp_text_print_safe(text_of(c, "reason"), out);
		fputc('\n', out);
	}
}

static void print_rule(const json_t *r, int indent, FILE *out)
{
	const bool matches = json_is_true(json_object_get(r, "matches"));

	fprintf(out, "%*srule ", indent, "");
	bp_text_print_safe(text_of(r, "rule"), out);
	fputs(", topic ", out);
	bp_text_print_safe(text_of(r, "filter"), out);
	if (matches) {
		fputs(": matches\n", out);
		print_checks(json_object_get(r, "checks"), indent + 2, out);
		return;
	}
	fputs(": does not match: ", out);
	bp_text_print_safe(text_of(r, "reason"), out);
	fputc('\n', out);
}

static void print_rules(const json_t *rules, int indent, FILE *out)
{
	size_t i;
	json_t *r;

	json_array_foreach(rules, i, r)
	{
		print_rule(r, indent, out);
	}
}

static void print_connections(const json_t *connections, FILE *out)
{
	size_t i;
	json_t *c;

	json_array_foreach(connections, i, c)
	{
		fprintf(out, "\nconnection %s to %s", text_of(c, "client"), text_of(c, "broker"));
		if (json_is_string(json_object_get(c, "client_id"))) {
			fputs(", client ", out);
			bp_text_print_safe(text_of(c, "client_id"), out);
		}
		fputc('\n', out);
		print_checks(json_object_get(c, "checks"), 2, out);
		print_rules(json_object_get(c, "rules"), 2, out);
	}
}

void bp_explain_print(const json_t *explanation, FILE *out)
{
	fprintf(out, "%s ", text_of(explanation, "kind"));
	bp_text_print_safe(text_of(explanation, "subject"), out);
	fprintf(out, ": %s\n\n", text_of(explanation, "summary"));
	print_checks(json_object_get(explanation, "checks"), 0, out);
	if (json_array_size(json_object_get(explanation, "rules")) != 0)
		fputc('\n', out);
	print_rules(json_object_get(explanation, "rules"), 0, out);
	print_connections(json_object_get(explanation, "connections"), out);
}
