/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "controlplane/fleet/state_internal.h"

json_t *bp_fleet_state_status(const struct bp_fleet_state *s)
{
	const struct bp_fleet_counters *n = &s->counters;
	json_t *errors = json_object();

	for (unsigned i = 0; i < BP_FLEET_ERRORS; i++)
		json_object_set_new(
			errors, bp_fleet_error_name[i], json_integer((json_int_t)n->error[i]));
	return json_pack("{s:b, s:s, s:s, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
			 "s:I, s:I, s:o}",
		"connected", (int)bp_fleet_state_connected(s), "server",
		bp_redis_link_peer(s->link), "last_error", s->last_error, "epoch",
		(json_int_t)s->epoch, "lag_seconds", (double)bp_fleet_state_lag_ns(s) / 1e9,
		"queued", (json_int_t)s->queue.n_writes, "queued_bytes", (json_int_t)s->queue.bytes,
		"connects", (json_int_t)n->connects, "stored", (json_int_t)n->stored, "superseded",
		(json_int_t)n->superseded, "collapsed", (json_int_t)n->collapsed, "lost_full",
		(json_int_t)n->lost_full, "lost_expired", (json_int_t)n->lost_expired,
		"lost_refused", (json_int_t)n->lost_refused, "reads", (json_int_t)n->reads,
		"reads_failed", (json_int_t)n->reads_failed, "errors", errors);
}

#define SHOW(member_, value_)                                                                      \
	atomic_store_explicit(&out->member_, (uint64_t)(value_), memory_order_relaxed)

void bp_fleet_state_show(struct bp_fleet_state *s, struct bp_shm_fleet *out)
{
	const uint64_t *now = (const uint64_t *)&s->counters;

	SHOW(max_queued, s->c.max_queued);
	SHOW(max_queued_bytes, s->c.max_queue_size);
	SHOW(queued, s->queue.n_writes);
	SHOW(queued_bytes, s->queue.bytes);
	SHOW(lag_ns, bp_fleet_state_lag_ns(s));
	SHOW(epoch, s->epoch);
	SHOW(connected, bp_fleet_state_connected(s));
	bp_fleet_counters_show((uint64_t *)&out->counters, now, (uint64_t *)&s->shown,
		sizeof(s->counters) / sizeof(*now));
	snprintf(out->fleet, sizeof(out->fleet), "%s", s->fleet);
	snprintf(out->server, sizeof(out->server), "%s", bp_redis_link_peer(s->link));
	snprintf(out->last_error, sizeof(out->last_error), "%s", s->last_error);
}
