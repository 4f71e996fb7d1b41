/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/fib_diff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const side_name[] = {
	[BP_DIFF_KERNEL_ONLY] = "kernel only",
	[BP_DIFF_BIPLANE_ONLY] = "biplane only",
	[BP_DIFF_BOTH] = "differs",
};

/* The same in JSON. */
static const char *const kind_name[] = {
	[BP_DIFF_KERNEL_ONLY] = "kernel_only",
	[BP_DIFF_BIPLANE_ONLY] = "biplane_only",
	[BP_DIFF_BOTH] = "differs",
};

bool bp_fib_diff_add(struct bp_fib_diff *d, enum bp_fib_side side, char *text)
{
	if (!text)
		return false;
	if (d->n == d->capacity) {
		uint32_t more = d->capacity ? 2 * d->capacity : 64;
		struct bp_fib_difference *grown =
			realloc(d->difference, more * sizeof(*d->difference));

		if (!grown) {
			free(text);
			return false;
		}
		d->difference = grown;
		d->capacity = more;
	}
	d->difference[d->n++] = (struct bp_fib_difference){side, text};
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct bp_fib_difference *x = a, *y = b;

	if (x->side != y->side)
		return x->side < y->side ? -1 : 1;
	return strcmp(x->text, y->text);
}

void bp_fib_diff_keep_common(struct bp_fib_diff *d, const struct bp_fib_diff *before)
{
	struct bp_fib_difference *sorted;
	uint32_t n = 0;

	if (!d->n)
		return;
	sorted = malloc((before->n ? before->n : 1) * sizeof(*sorted));
	if (!sorted)
		return; /* then the report has differences that existed only once */
	if (before->n)
		memcpy(sorted, before->difference, before->n * sizeof(*sorted));
	qsort(sorted, before->n, sizeof(*sorted), compare);
	for (uint32_t i = 0; i < d->n; i++) {
		if (bsearch(&d->difference[i], sorted, before->n, sizeof(*sorted), compare))
			d->difference[n++] = d->difference[i];
		else
			free(d->difference[i].text);
	}
	d->n = n;
	free(sorted);
}

void bp_fib_diff_free(struct bp_fib_diff *d)
{
	for (uint32_t i = 0; i < d->n; i++)
		free(d->difference[i].text);
	free(d->difference);
	memset(d, 0, sizeof(*d));
}

void bp_fib_diff_print(const struct bp_fib_diff *d, const char *what, FILE *out)
{
	static const char sign[] = {
		[BP_DIFF_KERNEL_ONLY] = '-',
		[BP_DIFF_BIPLANE_ONLY] = '+',
		[BP_DIFF_BOTH] = '~',
	};

	for (uint32_t i = 0; i < d->n; i++)
		fprintf(out, "%c %s: %s\n", sign[d->difference[i].side],
			side_name[d->difference[i].side], d->difference[i].text);
	if (d->n)
		fprintf(out, "%" PRIu32 " difference%s, ", d->n, d->n == 1 ? "" : "s");
	else
		fputs("no difference: ", out);
	fprintf(out, "%" PRIu32 " %s as in the kernel, %" PRIu32 " static\n", d->same, what,
		d->only_in_file);
}

json_t *bp_fib_diff_json(const struct bp_fib_diff *d)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < d->n; i++)
		if (json_array_append_new(
			    list, json_pack("{ss ss}", "kind", kind_name[d->difference[i].side],
					  "entry", d->difference[i].text))) {
			json_decref(list);
			return NULL;
		}
	return json_pack("{sb sI sI so}", "equal", d->n == 0, "same", (json_int_t)d->same, "static",
		(json_int_t)d->only_in_file, "differences", list);
}
