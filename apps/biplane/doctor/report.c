/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/report.h"

#include <stdarg.h>
#include <string.h>

#include "apps/biplane/table.h"
#include "apps/biplane/text.h"

#define TEXT_MAX 1024
#define COLUMNS 100 /* of what people read */
#define MARGIN 32   /* behind verdict and item */
#define ITEM_WIDTH 21

const char *bp_verdict_name(enum bp_verdict v)
{
	switch (v) {
	case BP_CHECK_OK:
		return "ok";
	case BP_CHECK_WARN:
		return "warn";
	case BP_CHECK_SKIP:
		return "skip";
	case BP_CHECK_FAIL:
		return "fail";
	}
	return "skip";
}

static const char *verdict_colour(const char *verdict)
{
	if (!strcmp(verdict, "ok"))
		return "\033[32m";
	return strcmp(verdict, "fail") ? "\033[33m" : "\033[31m";
}

bool bp_report_begin(struct bp_report *r)
{
	*r = (struct bp_report){.items = json_array(), .nics = json_array(), .worst = BP_CHECK_OK};
	if (r->items && r->nics)
		return true;
	bp_report_end(r);
	return false;
}

void bp_report_end(struct bp_report *r)
{
	json_decref(r->items);
	json_decref(r->nics);
	*r = (struct bp_report){0};
}

json_t *bp_report_item(struct bp_report *r, const char *item, enum bp_verdict verdict,
	const char *why, const char *seen, ...)
{
	char text[TEXT_MAX];
	va_list args;
	json_t *o;

	va_start(args, seen);
	vsnprintf(text, sizeof(text), seen, args);
	va_end(args);
	if (verdict > r->worst)
		r->worst = verdict;
	o = json_pack("{ss ss so ss s[]}", "item", item, "verdict", bp_verdict_name(verdict),
		"found", bp_text_json(text, sizeof(text)), "reason", why, "commands");
	json_array_append_new(r->items, o);
	return o;
}

void bp_report_do(json_t *item, const char *command, ...)
{
	char text[TEXT_MAX];
	va_list args;

	va_start(args, command);
	vsnprintf(text, sizeof(text), command, args);
	va_end(args);
	json_array_append_new(json_object_get(item, "commands"), bp_text_json(text, sizeof(text)));
}

/* Fills lines from the margin on; a word is never broken. */
static void print_wrapped(FILE *out, const char *text)
{
	int column = MARGIN;

	while (*text) {
		const int word = (int)strcspn(text, " ");

		if (column > MARGIN && column + 1 + word > COLUMNS) {
			fprintf(out, "\n%*s", MARGIN, "");
			column = MARGIN;
		} else if (column > MARGIN) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", word, text);
		column += word;
		text += word;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static void print_item(const json_t *o, FILE *out, bool colours)
{
	const char *verdict = text_of(o, "verdict"), *why = text_of(o, "reason");
	const json_t *commands = json_object_get(o, "commands"), *command;
	size_t i;

	fprintf(out, "%s%-8s%s  %-*s ", colours ? verdict_colour(verdict) : "", verdict,
		colours ? "\033[0m" : "", ITEM_WIDTH, text_of(o, "item"));
	print_wrapped(out, text_of(o, "found"));
	if (!strcmp(verdict, "ok"))
		return; /* no remedy to explain */
	if (*why) {
		fprintf(out, "%*s", MARGIN, "");
		print_wrapped(out, why);
	}
	/* never wrapped, so that they can be copied */
	json_array_foreach(commands, i, command)
		fprintf(out, "%*s%s\n", MARGIN, "", json_string_value(command));
}

static void print_nics(const json_t *nics, FILE *out)
{
	static const struct bp_column columns[] = {
		{"address", "NIC", 0},
		{"id", "ID", 0},
		{"driver", "DRIVER", 0},
		{"interface", "INTERFACE", 0},
		{"link", "LINK", 0},
		{"numa_node", "NODE", 1},
		{"iommu_group", "GROUP", 1},
		{"dpdk_driver", "DPDK", 0},
		{"grade", "BIND?", 0},
		{"reason", "REASON", 0},
		{NULL, NULL, 0},
	};

	if (json_array_size(nics) == 0)
		return;
	fputc('\n', out);
	bp_table_print(out, columns, nics, "");
}

static unsigned count(const struct bp_report *r, enum bp_verdict v)
{
	unsigned n = 0;
	json_t *o;
	size_t i;

	json_array_foreach(r->items, i, o) n += !strcmp(text_of(o, "verdict"), bp_verdict_name(v));
	return n;
}

void bp_report_print(const struct bp_report *r, FILE *out, bool colours)
{
	static const enum bp_verdict all[] = {
		BP_CHECK_OK, BP_CHECK_WARN, BP_CHECK_FAIL, BP_CHECK_SKIP};
	json_t *o;
	size_t i;

	json_array_foreach(r->items, i, o) print_item(o, out, colours);
	print_nics(r->nics, out);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		fprintf(out, "%s%u %s", i ? ", " : "\n", count(r, all[i]), bp_verdict_name(all[i]));
	fputc('\n', out);
}

json_t *bp_report_json(const struct bp_report *r)
{
	return json_pack("{ss sO sO}", "verdict", bp_verdict_name(r->worst), "items", r->items,
		"nics", r->nics);
}
