/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_BURST_POLICY_H
#define BP_SERVICES_MQTT_BURST_POLICY_H

#include "services/mqtt/burst.h"
#include "services/mqtt/mqtt_worker.h"

/*
 * burst_policy.c: publications on another topic than the one before, on the burst path, for burst.c
 * alone.
 */

/* After this number in a burst, more are expected, and what they need is loaded ahead. */
#define BP_BURST_RECALLED_MANY 8

/* The memo of a flow before it was replaced. */
struct bp_burst_memo {
	uint64_t hash;
	uint32_t rule;
};

enum bp_burst_recall {
	BP_BURST_RECALL_NO, /* nothing was changed */
	/* The memo of the flow is that of the topic: it is as one on the topic before. *before, and
	 * *slot of its statistics in the policy, are set. */
	BP_BURST_RECALL_ALLOWED,
	BP_BURST_RECALL_BLANKED, /* the topic was overwritten, and that was counted */
};

/*
 * Decides about frame i, which was parsed, if it is the next one of its flow, and the decision of
 * the policy about its topic is kept: all publications on it are allowed, or are blanked. `raises`:
 * frames whose alarms are still to be raised by the memos of their flows.
 */
enum bp_burst_recall bp_burst_recall(struct bp_mqtt_worker *in, struct bp_mqtt_burst *b, uint32_t i,
	uint64_t raises, struct bp_burst_memo *before, uint32_t *slot);

static inline void bp_burst_undo_recall(struct bp_flow *f, const struct bp_burst_memo *before)
{
	f->memo_hash = before->hash;
	f->memo_rule = before->rule;
}

#endif
