/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/health/show_phd.h"

#include <string.h>

#include "apps/biplane/show/show.h"

json_t *bp_show_phd(const struct bp_shm *m)
{
	const struct bp_phd_status *s = m->phd.status;
	json_t *all, *groups[BP_PHD_SG_COUNT];

	if (m->phd.n_slots == 0)
		return json_null();
	all = json_object();
	for (unsigned g = 0; g < BP_PHD_SG_COUNT; g++) {
		groups[g] = json_object();
		json_object_set_new(all, bp_phd_status_group_name[g], groups[g]);
	}
	for (unsigned i = 0; i < BP_PHD_S_COUNT; i++)
		json_object_set_new(groups[bp_phd_status_info[i].group], bp_phd_status_info[i].name,
			json_integer(
				(json_int_t)atomic_load_explicit(&s->v[i], memory_order_relaxed)));
	return all;
}

/* Of the first group everything: that there is no session is worth a word. */
static void print_group(const char *name, const json_t *group, bool zeros, FILE *out)
{
	const char *key, *separator = "";
	json_t *v;

	fprintf(out, "  %-13s ", name);
	json_object_foreach((json_t *)group, key, v)
	{
		if (json_integer_value(v) == 0 && !zeros)
			continue;
		fprintf(out, "%s%s %" JSON_INTEGER_FORMAT, separator, key, json_integer_value(v));
		separator = ", ";
	}
	fputs(*separator ? "\n" : "-\n", out);
}

void bp_show_phd_print(const json_t *phd, FILE *out)
{
	const json_int_t away = bp_show_int(json_object_get(phd, "cse"), "unreachable_s");
	const json_int_t wait = bp_show_int(json_object_get(phd, "provisioning"), "pending");

	if (!json_is_object(phd))
		return;
	fputs("\nhealth devices\n", out);
	for (unsigned g = 0; g < BP_PHD_SG_COUNT; g++)
		print_group(bp_phd_status_group_name[g],
			json_object_get(phd, bp_phd_status_group_name[g]), g == BP_PHD_SG_SESSIONS,
			out);
	if (away > 0)
		fprintf(out,
			"warning: the CSE has been unreachable for %" JSON_INTEGER_FORMAT
			" s; %" JSON_INTEGER_FORMAT " devices wait for their containers\n",
			away, wait);
}
