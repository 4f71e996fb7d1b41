/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/lcl/lcl_text.h"
#include "apps/biplane/show/lcl/lcl_view.h"

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	json_t *view = bp_lcl_view(s);

	if (!view)
		snprintf(err, err_size, "not enough memory");
	return view;
}

static void print(const json_t *view, bool all, FILE *out)
{
	(void)all;
	bp_lcl_view_print(view, out);
}

const struct bp_show_view bp_show_lcl = {
	.name = "lcl",
	.summary =
		"LCL scheduling: slots, slot jitter and violations of each port; delay and jitter "
		"of each flow",
	.default_limit = 100,
	.collect = collect,
	.print = print,
};
