/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/manager_internal.h"

/*
 * What a session waits for, as queues in order of time: beginning and ending to wait costs the same
 * for one session and for a million. How long each waits is asked when it is looked at, so that a
 * reload changes it at once.
 */

/* An idle session is looked at four times before it ends: it ends at most a quarter too late. */
#define IDLE_LOOKS 4
/* Of one call, so that the caller's other work is not kept waiting. */
#define TICK_MOST 4096
/* Asking workers whether they have passed costs each of them a cache miss: not with every call. The
 * writer asks by itself where it finds no room. */
#define SETTLE_NS 100000000u

void bp_phd_timers_init(struct bp_phd_manager *m)
{
	for (unsigned q = 0; q < BP_PHD_WAITS; q++)
		m->queue[q] = (struct bp_phd_queue){BP_PHD_NONE, BP_PHD_NONE};
}

static struct bp_phd_timer *timer(struct bp_phd_manager *m, enum bp_phd_wait q, uint32_t slot)
{
	return q == BP_PHD_WAIT_IDLE ? &m->note[slot].idle : &m->note[slot].state;
}

static void append(struct bp_phd_manager *m, enum bp_phd_wait q, uint32_t slot)
{
	struct bp_phd_queue *queue = &m->queue[q];
	struct bp_phd_timer *t = timer(m, q, slot);

	*t = (struct bp_phd_timer){queue->tail, BP_PHD_NONE, m->now_ns};
	if (queue->tail != BP_PHD_NONE)
		timer(m, q, queue->tail)->next = slot;
	else
		queue->head = slot;
	queue->tail = slot;
}

static void take_out(struct bp_phd_manager *m, enum bp_phd_wait q, uint32_t slot)
{
	struct bp_phd_queue *queue = &m->queue[q];
	const struct bp_phd_timer *t = timer(m, q, slot);

	if (t->prev != BP_PHD_NONE)
		timer(m, q, t->prev)->next = t->next;
	else
		queue->head = t->next;
	if (t->next != BP_PHD_NONE)
		timer(m, q, t->next)->prev = t->prev;
	else
		queue->tail = t->prev;
}

static uint64_t patience(const struct bp_phd_manager *m, enum bp_phd_wait q)
{
	switch (q) {
	case BP_PHD_WAIT_CONFIG:
		return m->c->timeouts.config_ns;
	case BP_PHD_WAIT_SERVICE:
		return m->c->timeouts.service_ns;
	case BP_PHD_WAIT_RELEASE:
		return m->c->timeouts.release_ns;
	default:
		return m->c->idle_ns != 0 ? m->c->idle_ns / IDLE_LOOKS : UINT64_MAX;
	}
}

/* For `show` alone; a second too late at most. */
static void deadline_show(struct bp_phd_manager *m, uint32_t slot, enum bp_phd_wait wait)
{
	bp_phd_session_at(m, slot)->deadline_s =
		wait == BP_PHD_WAIT_NOTHING
			? 0
			: (uint32_t)((m->now_ns + patience(m, wait)) / 1000000000u) + 1;
}

void bp_phd_wait(struct bp_phd_manager *m, uint32_t slot, enum bp_phd_wait wait)
{
	struct bp_phd_note *n = &m->note[slot];

	if (n->waits != BP_PHD_WAIT_NOTHING)
		take_out(m, (enum bp_phd_wait)n->waits, slot);
	n->waits = (uint8_t)wait;
	if (wait != BP_PHD_WAIT_NOTHING)
		append(m, wait, slot);
	deadline_show(m, slot, wait);
}

static uint32_t reports(const struct bp_phd_manager *m, uint32_t slot)
{
	return atomic_load_explicit(&bp_phd_session_at(m, slot)->reports, memory_order_relaxed);
}

void bp_phd_idle_begin(struct bp_phd_manager *m, uint32_t slot)
{
	struct bp_phd_note *n = &m->note[slot];

	if (n->idles)
		return;
	n->idles = true;
	n->idle_ns = m->now_ns;
	n->idle_reports = reports(m, slot);
	append(m, BP_PHD_WAIT_IDLE, slot);
}

void bp_phd_idle_ends(struct bp_phd_manager *m, uint32_t slot)
{
	m->note[slot].idle_ns = m->now_ns;
}

void bp_phd_timers_drop(struct bp_phd_manager *m, uint32_t slot)
{
	struct bp_phd_note *n = &m->note[slot];

	bp_phd_wait(m, slot, BP_PHD_WAIT_NOTHING);
	if (n->idles)
		take_out(m, BP_PHD_WAIT_IDLE, slot);
	n->idles = false;
}

/* ---- what is due ---- */

static void look_at_idle(struct bp_phd_manager *m, uint32_t slot)
{
	struct bp_phd_note *n = &m->note[slot];
	const uint32_t now = reports(m, slot);

	take_out(m, BP_PHD_WAIT_IDLE, slot);
	append(m, BP_PHD_WAIT_IDLE, slot);
	if (now != n->idle_reports) {
		n->idle_reports = now;
		n->idle_ns = m->now_ns;
	}
	if (m->now_ns - n->idle_ns < m->c->idle_ns)
		return;
	bp_phd_count(&m->counts->timeout_idle);
	bp_phd_abort(m, slot, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_IDLE);
}

static void service_due(struct bp_phd_manager *m, uint32_t slot)
{
	bp_phd_count(&m->counts->timeout_service);
	if (bp_phd_type_needed(m))
		bp_phd_abort(m, slot, BP_PHD_ABORT_RESPONSE, BP_PHD_CLOSED_TIMEOUT);
	else
		bp_phd_mds_told(m, slot, NULL);
}

static void due(struct bp_phd_manager *m, enum bp_phd_wait q, uint32_t slot)
{
	switch (q) {
	case BP_PHD_WAIT_CONFIG:
		bp_phd_count(&m->counts->timeout_config);
		bp_phd_abort(m, slot, BP_PHD_ABORT_CONFIG, BP_PHD_CLOSED_TIMEOUT);
		break;
	case BP_PHD_WAIT_SERVICE:
		service_due(m, slot);
		break;
	case BP_PHD_WAIT_RELEASE:
		bp_phd_count(&m->counts->timeout_release);
		bp_phd_abort(m, slot, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_TIMEOUT);
		break;
	default:
		look_at_idle(m, slot);
	}
}

/* When the head of a queue is due; UINT64_MAX: never. */
static uint64_t head_due(struct bp_phd_manager *m, enum bp_phd_wait q)
{
	const uint32_t head = m->queue[q].head;
	const uint64_t wait = patience(m, q);
	uint64_t since;

	if (head == BP_PHD_NONE || wait == UINT64_MAX)
		return UINT64_MAX;
	since = timer(m, q, head)->since_ns;
	return since + wait < since ? UINT64_MAX : since + wait;
}

static void settle(struct bp_phd_manager *m)
{
	if (m->now_ns - m->settled_ns < SETTLE_NS)
		return;
	m->settled_ns = m->now_ns;
	bp_phd_writer_settle(m->w);
}

uint64_t bp_phd_manager_tick(struct bp_phd_manager *m, uint64_t mono_ns)
{
	uint64_t next = UINT64_MAX;
	unsigned left = TICK_MOST;

	m->now_ns = mono_ns;
	for (unsigned q = BP_PHD_WAIT_CONFIG; q < BP_PHD_WAITS; q++) {
		uint64_t at;

		while ((at = head_due(m, (enum bp_phd_wait)q)) <= mono_ns && left > 0) {
			due(m, (enum bp_phd_wait)q, m->queue[q].head);
			left--;
		}
		if (at < next)
			next = at;
	}
	settle(m);
	return next;
}
