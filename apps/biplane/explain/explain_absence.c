/* SPDX-License-Identifier: BSD-3-Clause */
/* A rule with absent: whether it watches a topic, and when its alarm is due. */
#include "apps/biplane/explain/explain.h"
#include "apps/biplane/text.h"
#include "shm/fault.h"

static void between(uint64_t from, uint64_t to, char out[BP_FAULT_DURATION_LEN])
{
	bp_fault_duration(to > from ? to - from : 0, out);
}

static void check_watched(const struct bp_explain *e, const struct bp_rule *r,
	const struct bp_watch_view *v, bool raised, json_t *checks)
{
	char silent[BP_FAULT_DURATION_LEN], left[BP_FAULT_DURATION_LEN];

	between(v->seen_ns, e->mono_ns, silent);
	if (v->client != 0)
		bp_explain_add(checks, "watched", BP_EXPLAIN_OK, "last publication %s ago", silent);
	else
		bp_explain_add(checks, "watched", BP_EXPLAIN_OK,
			"for %s, since the rule was loaded; no publication yet", silent);
	if (raised)
		return;
	between(e->mono_ns, v->seen_ns + r->absent_ns, left);
	bp_explain_add(checks, "condition", BP_EXPLAIN_OK,
		"raised in %s without a publication; later after a restart of the data plane",
		left);
}

void bp_explain_absence(const struct bp_explain *e, const struct bp_rule *r, uint64_t topic_hash,
	const struct bp_rule_state_view *state, json_t *checks)
{
	const uint64_t key = bp_watch_key(r->uid, topic_hash, r->slot);
	struct bp_watch_view v;
	char time[BP_FAULT_DURATION_LEN];
	const bool raised = state != NULL && state->raised;

	if (bp_watch_find(&e->shm->watch, key, &v))
		check_watched(e, r, &v, raised, checks);
	else if (!raised)
		bp_explain_add(checks, "watched", BP_EXPLAIN_NO,
			"not watched: no publication since the rule was loaded, the topic has over "
			"%u bytes, or mqtt.max_watched_topics is reached",
			BP_WATCH_TOPIC_MAX);
	if (!raised)
		return;
	between(state->since_ns, e->unix_ns, time);
	bp_explain_add(checks, "state", BP_EXPLAIN_NO,
		"raised for %s; no further alarm until the next publication clears it", time);
}
