/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/enforcement.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/stream.h"

/*
 * A reload with mqtt.policy.on_reload: close, or a restart with another policy. Connections are
 * marked some at a time, so that a large table delays no burst; the policy is asked with their next
 * segment, since only a frame can be answered. The header of the table has the policy that all
 * connections are marked for, so that a restart continues, and marks none again.
 */
#define MARKED_IN_A_TICK 64u
#define WAIT_NS 10000000000ull

static uint64_t slots(const struct bp_mqtt_worker *in)
{
	return (uint64_t)in->table.groups * BP_FLOW_WAYS;
}

static bool closes(const struct bp_ruleset *rs)
{
	return bp_policy_refuses(rs) && rs->policy_on_reload == BP_POLICY_ON_RELOAD_CLOSE;
}

void bp_policy_reload_begin(struct bp_mqtt_worker *in)
{
	const struct bp_ruleset *rs = in->rules;
	const uint64_t n = slots(in);

	in->marked_ns = in->mono_ns;
	if (in->marked < n && in->marked_for == rs->policy_uid && closes(rs))
		return; /* another part of the configuration has changed */
	in->marked = n;
	if (rs->generation == 0 || in->table.header->policy == rs->policy_uid)
		return;
	if (closes(rs)) {
		/* until all are marked, the policy before is another one, too */
		in->table.header->policy = 0;
		in->marked_for = rs->policy_uid;
		in->marked = 0;
	} else {
		in->table.header->policy = rs->policy_uid;
	}
}

void bp_policy_reload_mark(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (!closes(in->rules) || (f->flags & BP_FLOW_CLOSED) ||
		!(f->flags & (BP_FLOW_CONNECT | BP_FLOW_MIDWAY)))
		return;
	in->marked_ns = in->mono_ns;
	f->has_alias_max |= BP_FLOW_REJUDGE;
	f->memo_gen = 0; /* its next PUBLISH takes the general path */
}

void bp_policy_reload_tick(struct bp_mqtt_worker *in)
{
	const uint64_t n = slots(in), end = in->marked + MARKED_IN_A_TICK;

	if (__builtin_expect(in->marked >= n, 1))
		return;
	for (; in->marked < end && in->marked < n; in->marked++)
		if (in->table.flow[in->marked].proof != 0)
			bp_policy_reload_mark(in, &in->table.flow[in->marked]);
	if (in->marked == n)
		in->table.header->policy = in->rules->policy_uid;
}

bool bp_policy_reload_waits(
	struct bp_mqtt_worker *in, const struct bp_flow *f, const struct bp_frame *frame)
{
	return closes(in->rules) && bp_stream_tracked(f, BP_TO_BROKER) &&
	       f->stream[BP_TO_BROKER] != BP_STREAM_ENDED &&
	       in->mono_ns - in->marked_ns < WAIT_NS && !bp_will_can_discard(in, f, frame) &&
	       bp_policy_refuses_will(in, f);
}

bool bp_policy_reload_refuses(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	f->has_alias_max &= (uint8_t)~BP_FLOW_REJUDGE;
	/* after a DISCONNECT it ends by itself */
	return closes(in->rules) && f->stream[BP_TO_BROKER] != BP_STREAM_ENDED &&
	       bp_policy_refuses_connection(in, f);
}
