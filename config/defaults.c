/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/defaults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/fleet/bundle.h"
#include "config/schema.h"

struct walk {
	const struct bp_config *c;
	void (*visit)(const struct bp_config_default *d, void *arg);
	void *arg;
	bool in_section; /* of the current section at the top level */
	bool failed;     /* no memory for a value */
};

/* Returns the value of a setting in the mapping `n`, or NULL: the file does not give it. */
static const struct bp_yaml *given(const struct bp_yaml *n, const struct bp_setting *s)
{
	const struct bp_yaml *v = n != NULL && n->kind == BP_YAML_MAP ? n->first : NULL;

	while (v != NULL && strcmp(v->key->text, bp_setting_key(s)) != 0)
		v = v->next;
	return v;
}

static void visit_section(struct walk *w, const struct bp_setting *section, const char *path,
	const struct bp_yaml *n, const void *base);

static void visit_list(struct walk *w, const struct bp_setting *s, const char *path,
	const struct bp_yaml *n, const void *base)
{
	const struct bp_yaml *e = n->first;
	char below[BP_PATH_TEXT];
	uint32_t count;
	const char *items = bp_list_items(s, w->c, base, &count);

	/* a single value is a list of one element, without settings of its own */
	if (n->kind != BP_YAML_LIST || n->n != count)
		return;
	for (uint32_t i = 0; i < count; i++, e = e->next) {
		const void *item = items + (size_t)i * s->list->element;

		visit_section(w, s, bp_element_path(s, path, item, i, below), e, item);
	}
}

static void visit_value(
	struct walk *w, const struct bp_setting *s, const char *path, const void *base)
{
	char *text = bp_setting_text(s, w->c, base);
	const struct bp_config_default d = {
		.path = path,
		.setting = s->path,
		.value = text,
		.main = (s->flags & BP_MAIN) != 0,
		.in_section = w->in_section,
	};

	if (text != NULL)
		w->visit(&d, w->arg);
	else
		w->failed = true;
	free(text);
}

/* Visits the settings below a value that the file gives as a mapping. */
static void visit_unfolded(struct walk *w, const struct bp_setting *s, const char *path,
	const struct bp_yaml *n, const void *base)
{
	max_align_t unfolded[BP_UNFOLDED / sizeof(max_align_t)] = {0};

	if (s->unfold(bp_setting_field_const(s, base), unfolded))
		visit_section(w, s, path, n, unfolded);
}

static void visit_setting(struct walk *w, const struct bp_setting *s, const char *path,
	const struct bp_yaml *n, const void *base)
{
	if (!bp_setting_has_value(s, base))
		return;
	if (s->list != NULL) {
		if (n != NULL)
			visit_list(w, s, path, n, base);
	} else if (s->type == &bp_type_section) {
		visit_section(w, s, path, n, base);
	} else if (n == NULL) {
		visit_value(w, s, path, base);
	} else if (n->kind == BP_YAML_MAP && s->type == &bp_type_variant) {
		visit_section(w, s, path, n, base);
	} else if (n->kind == BP_YAML_MAP && s->unfold != NULL) {
		visit_unfolded(w, s, path, n, base);
	}
}

static void visit_section(struct walk *w, const struct bp_setting *section, const char *path,
	const struct bp_yaml *n, const void *base)
{
	const struct bp_setting *s = NULL;
	char below[BP_PATH_TEXT];

	while ((s = bp_schema_child(section, s)) != NULL) {
		const struct bp_yaml *v = given(n, s);

		if (section == NULL)
			w->in_section = v != NULL;
		snprintf(below, sizeof(below), "%s%s%s", path, path[0] != '\0' ? "." : "",
			bp_setting_key(s));
		visit_setting(
			w, s, below, v, section != NULL ? base : bp_setting_base_const(s, w->c));
	}
}

int bp_config_defaults(const struct bp_config *c, const char *text, size_t len,
	void (*visit)(const struct bp_config_default *d, void *arg), void *arg)
{
	struct walk w = {.c = c, .visit = visit, .arg = arg};
	struct bp_messages messages = {0};
	struct bp_yaml_tree tree, bundle_tree = {0};
	struct bp_bundle_file bundle = {.text = NULL};
	bool parsed = bp_yaml_parse(&tree, text, len, &messages) == 0;

	if (parsed && tree.root != NULL && bp_bundle_read(tree.root, &bundle, &messages) > 0)
		parsed = bp_bundle_merge(tree.root, 0, &bundle.bundle, &bundle_tree, &messages);
	if (parsed)
		visit_section(&w, NULL, "", tree.root, NULL);
	bp_yaml_free(&tree);
	bp_yaml_free(&bundle_tree);
	bp_bundle_file_free(&bundle);
	bp_messages_free(&messages);
	return parsed && messages.errors == 0 && !w.failed ? 0 : -1;
}
