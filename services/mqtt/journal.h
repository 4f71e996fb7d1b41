/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_JOURNAL_H
#define BP_SERVICES_MQTT_JOURNAL_H

#include <string.h>

#include "services/mqtt/flow.h"
#include "shm/layout.h"
#include "shm/ring.h"
#include "shm/rules/rule_state.h"

/*
 * What a worker's process was changing when it was killed. A segment is forwarded only after it was
 * read, so the sender of a segment that was being read sends it again: a flow that the next process
 * finds as it was before that segment is read on as if nothing had happened.
 *
 * Alarms become visible together, by one store, once the segment was read: if that store was made,
 * all that comes of the segment is there, and nothing is taken back. Otherwise no alarm was told,
 * and what rules keep of topics is taken back, too.
 *
 * Of a batch that is read the shortest way (fast.h), positions alone are noted.
 *
 * One flow is in work at a time. Its first line is copied before any change, the others before the
 * first change there: nearly every segment needs the first one only. Lies in the segment, in front
 * of the arena. A process is killed between two instructions, and all stores before that one are
 * seen by whoever comes next: their order in the program is all that counts.
 */
#define BP_JOURNAL_UNDO 128 /* of one segment; what is beyond stays as it is */
#define BP_JOURNAL_NOTES 64

struct bp_journal {
	uint64_t ring_head; /* before the segment */
	uint64_t batch_ring_head;
	/* by frame of the batch: position before << 32 | offset of its flow / 64 + 1; 0: none */
	uint64_t note[BP_JOURNAL_NOTES];
	uint32_t slot;  /* of the flow in work, plus one; 0: none is */
	uint32_t lines; /* of 64 bytes that are copied; 0: the flow is new */
	uint32_t undos;
	struct bp_flow before;
	struct bp_rule_undo undo[BP_JOURNAL_UNDO];
};
_Static_assert(sizeof(struct bp_journal) <= BP_JOURNAL_BYTES, "there is no space for the journal");

/* The compiler moves no store across. */
static inline void bp_journal_order(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void bp_journal_begin(struct bp_journal *j, const struct bp_flow_table *t,
	const struct bp_flow *f, const struct bp_ring *ring)
{
	j->ring_head = bp_ring_head(ring);
	j->undos = 0;
	memcpy(&j->before, f, 64);
	j->lines = 1;
	bp_journal_order();
	j->slot = (uint32_t)(f - t->flow) + 1;
	bp_journal_order();
}

/* A flow that was just added: there is nothing to go back to but that it was not there. */
static inline void bp_journal_begin_new(struct bp_journal *j, const struct bp_flow_table *t,
	const struct bp_flow *f, const struct bp_ring *ring)
{
	j->ring_head = bp_ring_head(ring);
	j->undos = 0;
	j->lines = 0;
	bp_journal_order();
	j->slot = (uint32_t)(f - t->flow) + 1;
	bp_journal_order();
}

/* Before anything but the first line of the flow in work, or what it has in the arena, changes. */
static inline void bp_journal_deepen(struct bp_journal *j, const struct bp_flow *f)
{
	if (j->lines != 1)
		return;
	memcpy((uint8_t *)&j->before + 64, (const uint8_t *)f + 64, sizeof(*f) - 64);
	bp_journal_order();
	j->lines = sizeof(*f) / 64;
	bp_journal_order();
}

/* Where the next judgement of a rule is to note its change; NULL: there is no space. */
static inline struct bp_rule_undo *bp_journal_undo(struct bp_journal *j)
{
	if (j->undos >= BP_JOURNAL_UNDO)
		return NULL;
	j->undo[j->undos].entry = UINT64_MAX;
	bp_journal_order();
	return &j->undo[j->undos++];
}

/* Before the first frame of a batch is noted, and after the last: those of [from, to) are. */
static inline void bp_journal_batch(
	struct bp_journal *j, const struct bp_ring *ring, uint32_t from, uint32_t to)
{
	bp_journal_order();
	memset(&j->note[from], 0, (to - from) * sizeof(j->note[0]));
	bp_journal_order();
	j->batch_ring_head = bp_ring_head(ring);
	bp_journal_order();
}

static inline void bp_journal_end(struct bp_journal *j)
{
	bp_journal_order();
	j->slot = 0;
	bp_journal_order();
}

#endif
