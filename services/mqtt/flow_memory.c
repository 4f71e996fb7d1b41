/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/enforcement.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/judged.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/publications.h"
#include "services/mqtt/stream.h"

/* Flows that one allocation may evict. */
#define EVICTIONS_MAX 8

/*
 * Bytes that the other connections of the client hold. A client may always hold the maximum of one
 * connection; beyond that, at most half of the remaining free memory (dynamic thresholds, Choudhury
 * and Hahne 1998): a single client gets a third of the arena, two get a quarter each.
 */
static bool within_client_share(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, uint64_t bytes)
{
	const uint64_t out_of_order = in->table.client_bytes[bp_flow_client(&in->table, f)];

	return out_of_order + bytes <= in->reassembly_per_flow ||
	       out_of_order + bytes <= (bp_reassembly_capacity(in->reassembly) -
					       bp_reassembly_used(in->reassembly)) /
					       2;
}

/* Unproven connections share a limit, and the one that holds the most is evicted. */
static bool within_unproven_share(
	struct bp_mqtt_worker *in, const struct bp_flow *f, uint64_t bytes)
{
	struct bp_flow_table *t = &in->table;

	if (!bp_flow_is_unproven(f))
		return true;
	for (unsigned i = 0; t->unproven_bytes + bytes > in->reassembly_unproven; i++) {
		if (i == EVICTIONS_MAX || !bp_flow_evict_holder(t, f))
			return false;
	}
	return true;
}

/* Whether the flow may hold `bytes` instead of `old`, which it releases; counted. */
static bool may_hold(struct bp_mqtt_worker *in, struct bp_flow *f, uint64_t bytes, uint64_t old)
{
	const uint64_t more = bytes > old ? bytes - old : 0;

	if (bytes + f->carried - old > in->reassembly_per_flow)
		bp_tally(in, BP_C_REASSEMBLY_LIMIT_CONNECTION);
	else if (!within_client_share(in, f, more))
		bp_tally(in, BP_C_REASSEMBLY_LIMIT_CLIENT);
	else if (!within_unproven_share(in, f, more))
		bp_tally(in, BP_C_REASSEMBLY_LIMIT_UNESTABLISHED);
	else
		return true;
	return false;
}

static int64_t size_of(const struct bp_mqtt_worker *in, bp_reassembly_ref ref)
{
	return (int64_t)bp_reassembly_size(in->reassembly, ref);
}

/*
 * Blocks that a segment releases become free after it was read: until then the release may be
 * undone. If memory is short, they become free immediately, and a killed process then leaves this
 * flow in its current state.
 */
static bp_reassembly_ref take(struct bp_mqtt_worker *in, uint64_t bytes)
{
	bp_reassembly_ref ref = bp_reassembly_alloc(in->reassembly, bytes);

	if (ref != 0)
		return ref;
	bp_journal_end(in->journal);
	return bp_reassembly_end_deferred(in->reassembly)
		       ? bp_reassembly_alloc(in->reassembly, bytes)
		       : 0;
}

bp_reassembly_ref bp_flow_alloc(struct bp_mqtt_worker *in, struct bp_flow *f, uint64_t bytes)
{
	return bp_flow_alloc_instead(in, f, bytes, 0);
}

bp_reassembly_ref bp_flow_alloc_instead(
	struct bp_mqtt_worker *in, struct bp_flow *f, uint64_t bytes, bp_reassembly_ref old)
{
	bp_reassembly_ref ref;

	if (!may_hold(in, f, bytes, old != 0 ? (uint64_t)size_of(in, old) : 0))
		return 0;
	ref = take(in, bytes);
	if (ref == 0) {
		bp_tally(in, BP_C_REASSEMBLY_LIMIT_TOTAL);
		return 0;
	}
	bp_flow_carries(&in->table, f, size_of(in, ref));
	return ref;
}

bp_reassembly_ref bp_flow_alloc_spare(struct bp_mqtt_worker *in, struct bp_flow *f, uint64_t bytes)
{
	bp_reassembly_ref ref = 0;

	if (bytes + f->carried <= in->reassembly_per_flow && !bp_flow_is_unproven(f) &&
		within_client_share(in, f, bytes))
		ref = bp_reassembly_alloc(in->reassembly, bytes);
	if (ref != 0)
		bp_flow_carries(&in->table, f, size_of(in, ref));
	return ref;
}

bool bp_flow_grow(struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref *ref,
	uint32_t keep, uint64_t bytes, uint64_t room)
{
	uint32_t old = *ref == 0 ? 0 : (uint32_t)bp_reassembly_size(in->reassembly, *ref);
	uint64_t others = f->carried - old;
	bp_reassembly_ref larger = 0;

	if (!may_hold(in, f, bytes, old))
		return false;
	if (room + others <= in->reassembly_per_flow)
		larger = bp_reassembly_alloc(in->reassembly, room);
	if (larger == 0)
		larger = take(in, bytes);
	if (larger == 0) {
		bp_tally(in, BP_C_REASSEMBLY_LIMIT_TOTAL);
		return false;
	}
	bp_flow_carries(&in->table, f, size_of(in, larger));
	if (*ref != 0) {
		memcpy(bp_reassembly_data(in->reassembly, larger),
			bp_reassembly_data(in->reassembly, *ref), keep);
		bp_work_add(&in->work, keep / 16);
		bp_flow_release(in, f, *ref);
	}
	*ref = larger;
	return true;
}

void bp_flow_release(struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref ref)
{
	if (ref == 0)
		return;
	bp_flow_carries(&in->table, f, -size_of(in, ref));
	bp_reassembly_release(in->reassembly, ref);
}

void bp_flow_release_all(void *worker, struct bp_flow *f)
{
	struct bp_mqtt_worker *in = worker;

	if (f->has_alias_max & BP_FLOW_COUNTED)
		bp_policy_uncount(in, f);
	if (f->carried == 0)
		return;
	for (unsigned dir = 0; dir < 2; dir++) {
		bp_cut_drop(in, f, dir);
		bp_hold_release(in, f, dir);
		bp_wait_release(in, f, dir);
		bp_qos2_discard(in, f, dir);
		bp_alias_discard(in, f, dir);
	}
	bp_ack_release(in, f);
	bp_tls_release(in, f);
	/* those of the segment that ends the connection are needed for its frame */
	if (in->enforced == NULL || in->enforced->flow != f)
		bp_judged_release(in, f);
	bp_will_forget(in, f);
	bp_flow_release(in, f, f->client_id);
	f->client_id = 0;
	f->client_id_len = 0;
}
