/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "config/service.h"

struct compare {
	const struct bp_config *running, *next;
	FILE *out;
	int n;
};

static int differs(struct compare *cmp, const char *prefix, const struct bp_setting *s)
{
	fprintf(cmp->out, "%s%s: changing it needs a restart\n", prefix, bp_setting_key(s));
	cmp->n++;
	return cmp->n;
}

static void compare_value(struct compare *cmp, const char *prefix, const struct bp_setting *s,
	const void *a, const void *b)
{
	char *x = bp_setting_text(s, cmp->running, a), *y = bp_setting_text(s, cmp->next, b);

	/* Values without memory to compare them must not count as equal. */
	if (x == NULL || y == NULL || strcmp(x, y) != 0)
		differs(cmp, prefix, s);
	free(x);
	free(y);
}

static void compare_section(struct compare *cmp, const char *prefix,
	const struct bp_setting *section, const void *a, const void *b);

static void compare_list(struct compare *cmp, const char *prefix, const struct bp_setting *s,
	const void *in_a, const void *in_b)
{
	const struct bp_list_layout *l = s->list;
	uint32_t n, others;
	const char *a = bp_list_items(s, cmp->running, in_a, &n);
	const char *b = bp_list_items(s, cmp->next, in_b, &others);

	if (n != others) {
		differs(cmp, prefix, s);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		char item[128];

		snprintf(item, sizeof(item), "%s%s[%u].", prefix, bp_setting_key(s), i);
		compare_section(cmp, item, s, a + i * l->element, b + i * l->element);
	}
}

static void compare_section(struct compare *cmp, const char *prefix,
	const struct bp_setting *section, const void *in_a, const void *in_b)
{
	const struct bp_setting *s = NULL;

	while ((s = bp_schema_child(section, s)) != NULL) {
		const void *a = section != NULL ? in_a : bp_setting_base_const(s, cmp->running);
		const void *b = section != NULL ? in_b : bp_setting_base_const(s, cmp->next);
		char below[128];

		if ((s->flags & BP_RELOAD) != 0)
			continue;
		if (bp_setting_present(s, a) != bp_setting_present(s, b)) {
			differs(cmp, prefix, s);
		} else if (!bp_setting_present(s, a)) {
			continue;
		} else if (s->list != NULL) {
			compare_list(cmp, prefix, s, a, b);
		} else if (bp_setting_is_section(s)) {
			snprintf(below, sizeof(below), "%s%s.", prefix, bp_setting_key(s));
			compare_section(cmp, below, s, a, b);
		} else {
			compare_value(cmp, prefix, s, a, b);
		}
	}
}

/* Nodes and tables of some services are created at the start, and only when the file has an
 * entry. */
static void compare_entries(struct compare *cmp, const struct bp_config_service *service)
{
	const char *now = service->entries(cmp->running), *then = service->entries(cmp->next);

	if ((now != NULL) == (then != NULL))
		return;
	fprintf(cmp->out, "%s: %s needs a restart\n", now != NULL ? now : then,
		now != NULL ? "removing the last entry" : "adding the first entry");
	cmp->n++;
}

int bp_config_restart_needed(
	const struct bp_config *running, const struct bp_config *next, FILE *out)
{
	struct compare cmp = {.running = running, .next = next, .out = out};

	compare_section(&cmp, "", NULL, NULL, NULL);
	for (unsigned i = BP_SERVICE_COUNT; i-- > 0;)
		if (bp_config_services[i]->entries != NULL)
			compare_entries(&cmp, bp_config_services[i]);
	return cmp.n;
}
