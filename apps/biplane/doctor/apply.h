/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_APPLY_H
#define BP_APPS_BIPLANE_DOCTOR_APPLY_H

#include <jansson.h>
#include <stdio.h>

#include "apps/biplane/doctor/actions.h"
#include "apps/biplane/doctor/journal.h"
#include "apps/biplane/doctor/step.h"

/* How steps are applied and undone, and where the messages go. */
struct bp_apply {
	const char *root;
	const struct bp_actions *actions;
	FILE *out, *err;
	/*
	 * Called immediately before a NIC is bound, because the plan can be old. False with a
	 * sentence in `why` if the NIC must not be bound.
	 */
	bool (*may_bind)(void *arg, const char *address, char *why, size_t size);
	void *arg;
};

/* Applies the steps in order, and writes each one to the journal before. The first step that fails
 * ends the call with a message on `err`, and is undone. Returns 0 or -1. */
int bp_apply(const struct bp_apply *a, struct bp_journal *j, const json_t *steps);
/* Undoes the steps in the journal, newest first, including an interrupted step, and removes them
 * from the journal. The first step that cannot be undone ends the call with a message on `err`; it
 * and all older steps remain in the journal for a later attempt. Returns 0 or -1. */
int bp_undo(const struct bp_apply *a, struct bp_journal *j);

/* For one step. 0, or -1 with a sentence in `why`. */
int bp_apply_step(const struct bp_apply *a, const json_t *step, char *why, size_t size);
int bp_undo_step(const struct bp_apply *a, const json_t *step, char *why, size_t size);

/* The steps of a NIC: apps/biplane/doctor/bind.c. */
int bp_bind(const struct bp_apply *a, const struct bp_step *s, char *why, size_t size);
int bp_unbind(const struct bp_apply *a, const struct bp_step *s, char *why, size_t size);

#endif
