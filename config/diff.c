/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/schema.h"

struct diff {
	const struct bp_config *from, *to;
	void (*visit)(const struct bp_config_change *change, void *arg);
	void *arg;
};

static void report(struct diff *d, const struct bp_setting *s, const char *path, const char *from,
	const char *to)
{
	const struct bp_config_change change = {
		.path = path, .from = from, .to = to, .reload = (s->flags & BP_RELOAD) != 0};

	d->visit(&change, d->arg);
}

static void diff_value(struct diff *d, const struct bp_setting *s, const char *path,
	const void *from, const void *to)
{
	char *a = bp_setting_text(s, d->from, from), *b = bp_setting_text(s, d->to, to);

	/* values without memory to compare them must not count as equal */
	if (a == NULL || b == NULL || strcmp(a, b) != 0)
		report(d, s, path, a != NULL ? a : "?", b != NULL ? b : "?");
	free(a);
	free(b);
}

static void diff_section(struct diff *d, const struct bp_setting *section, const char *path,
	const void *from, const void *to);

/* ---- lists ---- */

struct elements {
	const struct bp_setting *list,
		*name; /* the text of the setting `name` in an element, or NULL */
	const char *from, *to;
	uint32_t n_from, n_to;
};

static const char *at(const struct elements *e, const char *items, uint32_t i)
{
	return items + (size_t)i * e->list->list->element;
}

/* Returns the index of the element in the other configuration that corresponds to element i of
 * `items`: by name, or by position; `n` if there is none. */
static uint32_t other(
	const struct elements *e, const char *items, uint32_t i, const char *others, uint32_t n)
{
	const char *name;

	if (e->name == NULL)
		return i < n ? i : n;
	name = bp_setting_field_const(e->name, at(e, items, i));
	for (uint32_t k = 0; k < n; k++)
		if (strcmp(name, bp_setting_field_const(e->name, at(e, others, k))) == 0)
			return k;
	return n;
}

static void diff_list(struct diff *d, const struct bp_setting *s, const char *path,
	const void *in_from, const void *in_to)
{
	struct elements e = {.list = s, .name = bp_element_name(s)};
	bool moved = false;
	char below[BP_PATH_TEXT];

	e.from = bp_list_items(s, d->from, in_from, &e.n_from);
	e.to = bp_list_items(s, d->to, in_to, &e.n_to);
	for (uint32_t i = 0; i < e.n_from; i++) {
		const uint32_t k = other(&e, e.from, i, e.to, e.n_to);

		bp_element_path(s, path, at(&e, e.from, i), i, below);
		if (k == e.n_to)
			report(d, s, below, "", NULL);
		else
			diff_section(d, s, below, at(&e, e.from, i), at(&e, e.to, k));
		moved |= e.n_from == e.n_to && k != i && k != e.n_to;
	}
	for (uint32_t i = 0; i < e.n_to; i++) {
		if (other(&e, e.to, i, e.from, e.n_from) != e.n_from)
			continue;
		bp_element_path(s, path, at(&e, e.to, i), i, below);
		report(d, s, below, NULL, "");
		moved = false;
	}
	if (moved)
		report(d, s, path, "order", "another order");
}

static void diff_setting(struct diff *d, const struct bp_setting *s, const char *path,
	const void *from, const void *to)
{
	const bool in_from = bp_setting_present(s, from), in_to = bp_setting_present(s, to);

	if (!in_from && !in_to)
		return;
	if (in_from != in_to) {
		const bool scalar = !bp_setting_is_section(s) && s->list == NULL;
		char *text =
			scalar ? bp_setting_text(s, in_from ? d->from : d->to, in_from ? from : to)
			       : NULL;
		const char *value = text != NULL ? text : "";

		report(d, s, path, in_from ? value : NULL, in_to ? value : NULL);
		free(text);
	} else if (s->list != NULL) {
		diff_list(d, s, path, from, to);
	} else if (bp_setting_is_section(s)) {
		diff_section(d, s, path, from, to);
	} else {
		diff_value(d, s, path, from, to);
	}
}

static void diff_section(struct diff *d, const struct bp_setting *section, const char *path,
	const void *in_from, const void *in_to)
{
	const struct bp_setting *s = NULL;
	char below[BP_PATH_TEXT];

	while ((s = bp_schema_child(section, s)) != NULL) {
		snprintf(below, sizeof(below), "%s%s%s", path, path[0] != '\0' ? "." : "",
			bp_setting_key(s));
		diff_setting(d, s, below,
			section != NULL ? in_from : bp_setting_base_const(s, d->from),
			section != NULL ? in_to : bp_setting_base_const(s, d->to));
	}
}

void bp_config_diff(const struct bp_config *from, const struct bp_config *to,
	void (*visit)(const struct bp_config_change *change, void *arg), void *arg)
{
	struct diff d = {.from = from, .to = to, .visit = visit, .arg = arg};

	diff_section(&d, NULL, "", NULL, NULL);
}
