/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_JOURNAL_H
#define BP_SERVICES_MQTT_JOURNAL_H

#include <string.h>

#include "services/mqtt/flow.h"
#include "shm/layout.h"
#include "shm/ring.h"
#include "shm/rules/rule_state.h"
#include "shm/rules/window.h"

/*
 * The undo journal: the state that a worker was changing when its process was killed. A segment is
 * forwarded only after it was inspected, so the sender retransmits a segment whose inspection was
 * interrupted: the next process restores a flow to its state before that segment and continues
 * inspection there.
 *
 * Alarms become visible together, by one store, after the segment was inspected: if that store was
 * made, all results of the segment are complete and nothing is undone. Otherwise no alarm was
 * published, and the per-topic state of rules is undone as well.
 *
 * For frames that burst.c reads without the general path, positions are recorded, and changes of
 * windows.
 *
 * One flow is processed at a time. Its first cache line is copied before any change, the other
 * lines before the first change there: nearly every segment needs only the first. The journal is in
 * the segment, before the arena. A process is killed between two instructions, and the next process
 * sees all stores before that point: only their program order matters.
 */
#define BP_JOURNAL_UNDO 128 /* for one segment; further changes are not undone */
#define BP_JOURNAL_NOTES 64
#define BP_JOURNAL_WINDOWS 96 /* for one segment; windows that change further are emptied */

struct bp_journal {
	uint64_t ring_head; /* before the segment */
	uint64_t burst_ring_head;
	/* by frame of the burst: position before << 32 | offset of its flow / 64 + 1; 0: none */
	uint64_t note[BP_JOURNAL_NOTES];
	uint32_t slot; /* of the flow in work, plus one; 0: none is; UINT32_MAX: states alone are */
	uint32_t lines;               /* of 64 bytes that are copied; 0: the flow is new */
	uint32_t undos, window_undos; /* the latter: one more than fit if there were more */
	uint64_t window_serial;       /* of the segments with more */
	uint64_t burst_windows;       /* records of the burst in `window`; then window_undos is 0 */
	struct bp_flow before;
	struct bp_rule_undo undo[BP_JOURNAL_UNDO];
	struct bp_window_undo window[BP_JOURNAL_WINDOWS];
};
_Static_assert(BP_JOURNAL_WINDOWS >= BP_JOURNAL_NOTES, "one for each frame of a burst");
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
	j->undos = j->window_undos = 0;
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
	j->undos = j->window_undos = 0;
	j->lines = 0;
	bp_journal_order();
	j->slot = (uint32_t)(f - t->flow) + 1;
	bp_journal_order();
}

/* A change of states outside of a segment, with no flow in work. */
static inline void bp_journal_begin_tick(struct bp_journal *j, const struct bp_ring *ring)
{
	j->ring_head = bp_ring_head(ring);
	j->undos = j->window_undos = 0;
	j->lines = 0;
	bp_journal_order();
	j->slot = UINT32_MAX;
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

/* n records for the changes of the next evaluation; NULL: there is no space. The last ones that
 * earlier evaluations did not need are taken again. */
static inline struct bp_rule_undo *bp_journal_undo(struct bp_journal *j, unsigned n)
{
	struct bp_rule_undo *first;

	while (j->undos != 0 && j->undo[j->undos - 1].entry == UINT64_MAX)
		j->undos--;
	first = &j->undo[j->undos];
	if (j->undos + n > BP_JOURNAL_UNDO)
		return NULL;
	for (unsigned i = 0; i < n; i++)
		first[i].entry = UINT64_MAX;
	bp_journal_order();
	j->undos += n;
	return first;
}

/* The same for the next change of a window. */
static inline struct bp_window_undo *bp_journal_window(struct bp_journal *j)
{
	if (j->window_undos >= BP_JOURNAL_WINDOWS) {
		if (j->window_undos == BP_JOURNAL_WINDOWS) {
			j->window_serial++;
			bp_journal_order();
			j->window_undos++;
		}
		return NULL;
	}
	j->window[j->window_undos].cell = UINT64_MAX;
	bp_journal_order();
	return &j->window[j->window_undos++];
}

/* Of a burst that is complete: no ring has this position. */
#define BP_JOURNAL_NO_BURST UINT64_MAX

/* Before the first frame of a burst is noted, and after the last: those of [from, to) are. All of
 * them are complete by one store: a part of them must not be undone. */
static inline void bp_journal_burst(
	struct bp_journal *j, const struct bp_ring *ring, uint32_t from, uint32_t to)
{
	bp_journal_order();
	j->burst_ring_head = BP_JOURNAL_NO_BURST;
	bp_journal_order();
	memset(&j->note[from], 0, (to - from) * sizeof(j->note[0]));
	j->burst_windows = 0;
	bp_journal_order();
	j->burst_ring_head = bp_ring_head(ring);
	bp_journal_order();
}

/* The record for the change of a window by the next frame of a burst. */
static inline struct bp_window_undo *bp_journal_burst_window(struct bp_journal *j)
{
	struct bp_window_undo *undo = &j->window[j->burst_windows];

	undo->cell = UINT64_MAX;
	bp_journal_order();
	j->burst_windows++;
	return undo;
}

static inline void bp_journal_end(struct bp_journal *j)
{
	bp_journal_order();
	j->slot = 0;
	bp_journal_order();
}

#endif
