/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/annotations.h"

#include <stdlib.h>
#include <string.h>

#include "biplane/alarm.h"
#include "biplane/rule.h"
#include "controlplane/alarms/envelope.h"

struct bp_annotated_rule {
	char name[BP_RULE_NAME_MAX + 1];
	char *json;
};

/* The configuration has checked the texts. NULL: no memory. */
static char *object(const struct bp_rule_annotations *a)
{
	const char *at = a->text;
	struct bp_text t = {0};
	bool good = bp_text_add(&t, "{", 1);

	for (unsigned i = 0; i < 2u * a->n && good; i++) {
		good = bp_text_add_string(&t, at, strlen(at)) && bp_text_add(&t,
									 i % 2 == 0           ? ":"
									 : i + 1 == 2u * a->n ? "}"
											      : ",",
									 1);
		at += strlen(at) + 1;
	}
	if (good && bp_text_add(&t, "", 1)) /* NUL */
		return t.data;
	bp_text_free(&t);
	return NULL;
}

static int by_name(const void *x, const void *y)
{
	const struct bp_annotated_rule *a = x, *b = y;

	return strcmp(a->name, b->name);
}

bool bp_annotations_set(struct bp_annotations *a, const struct bp_rule_spec *rules, uint32_t n)
{
	struct bp_annotations next = {NULL, 0};

	for (uint32_t i = 0; i < n; i++)
		next.n += rules[i].annotations.n != 0;
	if (next.n != 0 && (next.rule = calloc(next.n, sizeof(*next.rule))) == NULL)
		return false;
	for (uint32_t i = 0, k = 0; i < n; i++) {
		if (rules[i].annotations.n == 0)
			continue;
		memcpy(next.rule[k].name, rules[i].name, sizeof(next.rule[k].name));
		next.rule[k].json = object(&rules[i].annotations);
		if (next.rule[k++].json == NULL) {
			bp_annotations_free(&next);
			return false;
		}
	}
	if (next.n > 1)
		qsort(next.rule, next.n, sizeof(*next.rule), by_name);
	bp_annotations_free(a);
	*a = next;
	return true;
}

void bp_annotations_free(struct bp_annotations *a)
{
	for (uint32_t i = 0; i < a->n; i++)
		free(a->rule[i].json);
	free(a->rule);
	memset(a, 0, sizeof(*a));
}

const char *bp_annotations_of(const struct bp_annotations *a, const struct bp_alarm *alarm)
{
	struct bp_annotated_rule key, *found;

	if (a->n == 0 || alarm->rule_len > BP_RULE_NAME_MAX)
		return NULL;
	memcpy(key.name, bp_alarm_rule(alarm), alarm->rule_len);
	key.name[alarm->rule_len] = '\0';
	found = bsearch(&key, a->rule, a->n, sizeof(*a->rule), by_name);
	return found != NULL ? found->json : NULL;
}
