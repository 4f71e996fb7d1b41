/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/events.h"

#include <stdlib.h>
#include <string.h>

#include "controlplane/process/clock.h"
#include "controlplane/process/ring_events.h"
#include "services/health/token.h"
#include "proto/health/phd_apdu.h"

/* Maximum number of sessions that one iteration checks: after a pause the sweep takes longer
 * instead of the iteration. 4,194,304 sessions in 10 s are about 5,600 slots per iteration. */
#define SWEEP_BATCH_MAX 16384u

struct bp_worker_events {
	const struct bp_phd_tables *t;
	struct bp_worker_events_ops ops;
	void *arg;
	struct bp_worker_events_counts counts;
	unsigned worker;   /* the worker whose ring is read first */
	uint32_t slot;     /* the next slot to check */
	uint64_t swept_ns; /* the slots before it were due at this time; 0: not started */
	struct event *timer;
};

/* ---- events ---- */

static bool is_stale(uint64_t word)
{
	return bp_phd_word_state(word) == BP_PHD_OPERATING &&
	       (bp_phd_word_flags(word) & BP_PHD_STALE) != 0;
}

static void answer(struct bp_worker_events *e, const struct bp_phd_event_record *r, uint16_t life,
	const struct bp_phd_token *t)
{
	uint8_t apdu[BP_PHD_ANSWER_MAX];
	const size_t len = bp_phd_answer_write(apdu, (enum bp_m2m_outcome)r->outcome, t->invoke_id,
		(uint16_t)(BP_PHD_SCAN_FIXED + t->type));

	e->counts.answers++;
	e->ops.answer(e->arg, r->slot, life, apdu, len);
}

static void take(struct bp_worker_events *e, const struct bp_phd_event_record *r)
{
	struct bp_phd_token t;
	uint64_t word = 0;
	uint16_t life;

	if (r->slot < e->t->n_slots)
		word = atomic_load_explicit(&e->t->sessions[r->slot].word, memory_order_relaxed);
	life = bp_phd_word_life(word);
	if (bp_phd_word_state(word) == BP_PHD_FREE || !bp_phd_token_open(r->token, &t) ||
		t.slot != r->slot || !bp_phd_token_true(r->token, life, e->t->hash_key)) {
		e->counts.untrue++;
	} else if (r->kind == BP_PHD_EVENT_ANSWER && t.confirmed && r->outcome <= BP_M2M_REFUSED) {
		answer(e, r, life, &t);
	} else if (r->kind != BP_PHD_EVENT_STALE) {
		e->counts.untrue++;
	} else if (is_stale(word)) {
		e->counts.stale++;
		e->ops.stale(e->arg, r->slot, life);
	} else {
		e->counts.known++;
	}
}

/* Reads up to `most` events of a ring; returns their number. */
static unsigned read_ring(struct bp_worker_events *e, struct bp_ring *ring, unsigned most)
{
	uint64_t cursor = bp_ring_tail(ring);
	unsigned n = 0;

	while (n < most) {
		struct bp_phd_event_record record;
		uint32_t size;
		const void *p = bp_ring_peek(ring, &cursor, &size);

		if (!p)
			break;
		n++;
		if (size < sizeof(record)) {
			e->counts.untrue++;
			continue;
		}
		memcpy(&record, p, sizeof(record));
		take(e, &record);
	}
	bp_ring_release(ring, cursor);
	return n;
}

/* Each iteration starts with another worker, so that a busy worker does not block the others. */
static bool read_rings(struct bp_worker_events *e)
{
	unsigned left = BP_EVENTS_BATCH_MAX;

	for (unsigned i = 0; i < e->t->workers && left > 0; i++)
		left -= read_ring(e, bp_phd_events(e->t, (e->worker + i) % e->t->workers), left);
	if (e->t->workers != 0)
		e->worker = (e->worker + 1) % e->t->workers;
	return left == 0;
}

/* ---- sweep ---- */

static void look_at(struct bp_worker_events *e, uint32_t slot)
{
	const uint64_t word =
		atomic_load_explicit(&e->t->sessions[slot].word, memory_order_relaxed);

	if (!is_stale(word))
		return;
	e->counts.swept++;
	e->ops.stale(e->arg, slot, bp_phd_word_life(word));
}

/* Checks a share of the slots: the time since the last iteration divided by the time of a sweep. */
static void sweep(struct bp_worker_events *e, uint64_t mono_ns)
{
	const uint64_t slots = e->t->n_slots;
	uint64_t n;

	if (e->swept_ns == 0 || slots == 0) {
		e->swept_ns = mono_ns;
		return;
	}
	if (mono_ns - e->swept_ns > BP_EVENTS_SWEEP_NS)
		e->swept_ns = mono_ns - BP_EVENTS_SWEEP_NS;
	n = slots * (mono_ns - e->swept_ns) / BP_EVENTS_SWEEP_NS;
	e->swept_ns += n * BP_EVENTS_SWEEP_NS / slots; /* the next iteration continues */
	if (n > SWEEP_BATCH_MAX) {
		n = SWEEP_BATCH_MAX;
		e->swept_ns = mono_ns;
	}
	for (; n > 0; n--) {
		look_at(e, e->slot);
		e->slot = e->slot + 1 < slots ? e->slot + 1 : 0;
	}
}

bool bp_worker_events_poll(struct bp_worker_events *e, uint64_t mono_ns)
{
	const bool more = read_rings(e);

	sweep(e, mono_ns);
	return more;
}

/* ---- start and end ---- */

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct bp_worker_events *e = arg;
	const bool more = bp_worker_events_poll(e, bp_mono_ns());
	const struct timeval t = {.tv_usec = more ? 0 : BP_EVENTS_TIME_SLICE_NS / 1000};

	(void)fd;
	(void)what;
	evtimer_add(e->timer, &t);
}

static void on_records(void *arg)
{
	struct bp_worker_events *e = arg;

	if (read_rings(e))
		event_active(e->timer, 0, 0);
}

struct bp_worker_events *bp_worker_events_new(struct event_base *base, struct bp_ring_events *rings,
	const struct bp_phd_tables *tables, const struct bp_worker_events_ops *ops, void *arg)
{
	struct bp_worker_events *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->t = tables;
	e->ops = *ops;
	e->arg = arg;
	if (!base)
		return e;
	e->timer = evtimer_new(base, on_timer, e);
	if (!e->timer || (rings && tables->workers != 0 &&
				 !bp_ring_events_add(rings, bp_phd_events(tables, 0),
					 tables->workers, on_records, e))) {
		if (e->timer)
			event_free(e->timer);
		free(e);
		return NULL;
	}
	on_timer(-1, 0, e);
	return e;
}

void bp_worker_events_free(struct bp_worker_events *e)
{
	if (!e)
		return;
	if (e->timer)
		event_free(e->timer);
	free(e);
}

const struct bp_worker_events_counts *bp_worker_events_counts(const struct bp_worker_events *e)
{
	return &e->counts;
}
