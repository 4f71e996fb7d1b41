/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/mqtt/inspector.h"

bp_carry_ref bp_flow_alloc(struct bp_inspector *in, struct bp_flow *f, uint64_t bytes)
{
	bp_carry_ref ref;

	if (bytes + f->carried > in->carry_per_flow) {
		bp_tally(in, BP_C_CARRY_FLOW_LIMIT);
		return 0;
	}
	ref = bp_carry_alloc(in->carry, bytes);
	if (ref == 0) {
		bp_tally(in, BP_C_CARRY_TOTAL_LIMIT);
		return 0;
	}
	f->carried += (uint32_t)bp_carry_size(in->carry, ref);
	return ref;
}

bool bp_flow_grow(struct bp_inspector *in, struct bp_flow *f, bp_carry_ref *ref, uint32_t keep,
	uint64_t bytes, uint64_t room)
{
	uint32_t old = *ref == 0 ? 0 : (uint32_t)bp_carry_size(in->carry, *ref);
	uint64_t others = f->carried - old;
	bp_carry_ref larger = 0;

	if (bytes + others > in->carry_per_flow) {
		bp_tally(in, BP_C_CARRY_FLOW_LIMIT);
		return false;
	}
	if (room + others <= in->carry_per_flow)
		larger = bp_carry_alloc(in->carry, room);
	if (larger == 0)
		larger = bp_carry_alloc(in->carry, bytes);
	if (larger == 0) {
		bp_tally(in, BP_C_CARRY_TOTAL_LIMIT);
		return false;
	}
	f->carried += (uint32_t)bp_carry_size(in->carry, larger);
	if (*ref != 0) {
		memcpy(bp_carry_data(in->carry, larger), bp_carry_data(in->carry, *ref), keep);
		bp_flow_release(in, f, *ref);
	}
	*ref = larger;
	return true;
}

void bp_flow_release(struct bp_inspector *in, struct bp_flow *f, bp_carry_ref ref)
{
	if (ref == 0)
		return;
	f->carried -= (uint32_t)bp_carry_size(in->carry, ref);
	bp_carry_release(in->carry, ref);
}

void bp_flow_release_all(void *inspector, struct bp_flow *f)
{
	struct bp_inspector *in = inspector;

	if (f->carried == 0)
		return;
	for (unsigned dir = 0; dir < 2; dir++) {
		bp_mqtt_drop_carry(in, f, dir);
		bp_hold_release(in, f, dir);
		bp_alias_forget(in, f, dir);
	}
	bp_flow_release(in, f, f->client_id);
	f->client_id = 0;
	f->client_id_len = 0;
}
