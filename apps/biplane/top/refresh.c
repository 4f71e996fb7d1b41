/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/biplane/show/mqtt/rules_copy.h"
#include "apps/biplane/top/table.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* The rules are copied only when they change. */
static void refresh_rules(struct bp_top *t)
{
	const uint64_t active = bp_generation_active(&t->view.shm.rules);
	char err[256];

	if (t->rules != NULL && active == t->rules_active)
		return;
	free(t->rules);
	t->rules = bp_rules_copy(&t->view.shm, err, sizeof(err));
	t->rules_active = active;
}

void bp_top_refresh(struct bp_top *t)
{
	struct bp_instance_view view;

	t->err[0] = '\0';
	/* a restart with another configuration replaces the files of the segment */
	if (bp_instance_view_open(&view, t->id, t->err, sizeof(t->err)) != 0)
		return;
	if (t->view.segment != NULL)
		bp_instance_view_close(&t->view);
	t->view = view;
	refresh_rules(t);
	t->now = 1 - t->now;
	if (!bp_top_sample_read(&t->sample[t->now], &t->view.shm, t->rules,
		    clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_REALTIME)) ||
		!bp_top_connections_update(
			&t->connections, &t->view.shm, t->sample[t->now].mono_ns)) {
		snprintf(t->err, sizeof(t->err), "not enough memory");
		t->samples = 0;
		return;
	}
	t->samples += t->samples < 2;
}

void bp_top_free(struct bp_top *t)
{
	if (t->view.segment != NULL)
		bp_instance_view_close(&t->view);
	free(t->rules);
	bp_top_sample_free(&t->sample[0]);
	bp_top_sample_free(&t->sample[1]);
	bp_top_connections_free(&t->connections);
}
