/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_FIX_H
#define BP_APPS_BIPLANE_DOCTOR_FIX_H

#include <stdbool.h>
#include <stdio.h>

#include "apps/biplane/doctor/actions.h"
#include "apps/biplane/doctor/plan.h"

/* Who is talked to. */
struct bp_fix {
	const struct bp_actions *actions;
	FILE *in, *out, *err;
	bool yes;      /* no confirmation */
	bool terminal; /* somebody at `in` can answer */
	const char *connection;
	uint64_t pid; /* as for bp_doctor_begin() */
};

/* `doctor --fix`: shows the plan, asks, does it, and says how to keep it. An exit status. */
int bp_fix(
	const struct bp_doctor *d, const struct bp_doctor_plan_request *q, const struct bp_fix *f);
/* `doctor --undo`. An exit status. */
int bp_fix_undo(const char *root, const struct bp_fix *f);

#endif
