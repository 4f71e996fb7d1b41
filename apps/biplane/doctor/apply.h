/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_APPLY_H
#define BP_APPS_BIPLANE_DOCTOR_APPLY_H

#include <jansson.h>
#include <stdio.h>

#include "apps/biplane/doctor/actions.h"
#include "apps/biplane/doctor/journal.h"
#include "apps/biplane/doctor/step.h"

/* How steps are done and undone, and who is told. */
struct bp_apply {
	const char *root;
	const struct bp_actions *actions;
	FILE *out, *err;
	/*
	 * Asked just before a NIC is taken, since what was planned may be some time ago: false with
	 * a sentence when it may not be.
	 */
	bool (*may_bind)(void *arg, const char *address, char *why, size_t size);
	void *arg;
};

/* Does the steps in their order, each in the journal first. Ends with the first that fails, and
 * says so; what that one had begun is taken back. Returns 0 or -1. */
int bp_apply(const struct bp_apply *a, struct bp_journal *j, const json_t *steps);
/* Undoes what is in the journal, newest first, also a step that was interrupted, and removes from
 * it what is undone. Ends with the first step that can't be undone, and says so: that and what is
 * older stays in the journal for another try. Returns 0 or -1. */
int bp_undo(const struct bp_apply *a, struct bp_journal *j);

/* One step each: 0, or -1 with a sentence. */
int bp_apply_step(const struct bp_apply *a, const json_t *step, char *why, size_t size);
int bp_undo_step(const struct bp_apply *a, const json_t *step, char *why, size_t size);

/* Those of a NIC: apps/biplane/doctor/bind.c. */
int bp_bind(const struct bp_apply *a, const struct bp_step *s, char *why, size_t size);
int bp_unbind(const struct bp_apply *a, const struct bp_step *s, char *why, size_t size);

#endif
