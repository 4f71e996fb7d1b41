/* SPDX-License-Identifier: BSD-3-Clause */
/* The window of a rule for a topic. */
#include "apps/biplane/explain/explain.h"
#include "shm/fault.h"
#include "shm/rules/window.h"

static const char *const function_name[BP_WINDOW_FUNCTIONS] = {
	[BP_WINDOW_MEAN] = "mean",
	[BP_WINDOW_MIN] = "min",
	[BP_WINDOW_MAX] = "max",
	[BP_WINDOW_SUM] = "sum",
	[BP_WINDOW_COUNT] = "count",
	[BP_WINDOW_STDDEV] = "stddev",
	[BP_WINDOW_DELTA] = "delta",
	[BP_WINDOW_RATE] = "rate",
	[BP_WINDOW_PERCENTILE] = "percentile",
};

/* "mean of the last 16 values", "count of each 60 s" */
static void describe(const struct bp_window_spec *w, char *out, size_t size)
{
	const char *which = w->tumbling ? "each" : "the last";
	char of[32] = "";

	if (w->function == BP_WINDOW_PERCENTILE)
		snprintf(of, sizeof(of), " %g", w->percentile);
	if (w->values != 0) {
		snprintf(out, size, "%s%s of %s %u values", function_name[w->function], of, which,
			w->values);
		return;
	}
	snprintf(out, size, "%s%s of %s %g s", function_name[w->function], of, which,
		(double)w->time_ns / 1e9);
}

void bp_explain_window(
	const struct bp_explain *e, const struct bp_rule *r, uint64_t topic_hash, json_t *checks)
{
	const struct bp_window_spec *w = &r->window;
	char what[96], result[64] = "no result yet", age[BP_FAULT_DURATION_LEN];
	struct bp_window_view v;

	if (!r->windowed)
		return;
	describe(w, what, sizeof(what));
	if (!bp_window_find(&e->shm->windows, r, topic_hash, &v)) {
		bp_explain_add(
			checks, "window", BP_EXPLAIN_INFO, "%s; no value was seen yet", what);
		return;
	}
	if (v.state.has_result)
		snprintf(result, sizeof(result), "last result %g", v.state.result);
	bp_fault_duration(e->mono_ns > v.used_ns ? e->mono_ns - v.used_ns : 0, age);
	if (w->values != 0)
		bp_explain_add(checks, "window", BP_EXPLAIN_INFO,
			"%s; it has %u of %u values, the newest of %s ago; %s", what, v.n,
			w->values, age, result);
	else
		bp_explain_add(checks, "window", BP_EXPLAIN_INFO,
			"%s; it has %u values, the newest of %s ago; %s", what, v.n, age, result);
}
