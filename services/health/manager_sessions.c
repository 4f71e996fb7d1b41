/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared parts of the manager: indexes of sessions, their timers, and responses. */
#include <stdlib.h>
#include <string.h>

#include "services/health/manager.h"
#include "services/health/manager_internal.h"

/* ---- indexes ---- */

/* Indexes of sessions by keys other than that of the table: system-id, TCP connection, IP
 * address. */

uint64_t bp_phd_system_hash(const struct bp_phd_manager *m, const uint8_t system_id[8])
{
	return bp_hash_bytes(m->t->hash_key, system_id, 8);
}

static uint64_t address_hash(const struct bp_phd_manager *m, const uint8_t address[16])
{
	return bp_hash_bytes(m->t->hash_key, address, 16);
}

bool bp_phd_indexes_init(struct bp_phd_manager *m)
{
	const uint32_t n = m->t->n_slots;

	m->address = calloc((size_t)n + 1, sizeof(*m->address));
	for (m->associated_mask = 1; m->associated_mask < n;
		m->associated_mask = m->associated_mask * 2 + 1)
		;
	m->associated = calloc((size_t)m->associated_mask + 1, sizeof(*m->associated));
	if (!m->address || !m->associated || !bp_index_init(&m->by_system, n) ||
		!bp_index_init(&m->by_connection, n) || !bp_index_init(&m->by_address, n))
		return false;
	m->free_address = BP_PHD_NONE;
	return true;
}

void bp_phd_indexes_free(struct bp_phd_manager *m)
{
	free(m->address);
	free(m->associated);
	bp_index_free(&m->by_system);
	bp_index_free(&m->by_connection);
	bp_index_free(&m->by_address);
}

static uint32_t row_of(const struct bp_phd_manager *m, const uint8_t address[16])
{
	for (uint32_t i = bp_index_first(&m->by_address, address_hash(m, address));
		i != BP_INDEX_END; i = bp_index_next(&m->by_address, i)) {
		if (memcmp(m->address[i].address, address, 16) == 0)
			return i;
	}
	return BP_PHD_NONE;
}

static uint32_t row_take(struct bp_phd_manager *m, const uint8_t address[16])
{
	uint32_t i = row_of(m, address);

	if (i == BP_PHD_NONE) { /* there are as many rows as slots */
		i = m->free_address;
		if (i != BP_PHD_NONE)
			m->free_address = m->address[i].next;
		else
			i = m->first_unused_address++;
		memcpy(m->address[i].address, address, 16);
		bp_index_add(&m->by_address, address_hash(m, address), i);
	}
	m->address[i].sessions++;
	return i;
}

static void row_give(struct bp_phd_manager *m, uint32_t i)
{
	struct bp_phd_address_row *row = &m->address[i];

	if (--row->sessions > 0)
		return;
	bp_index_remove(&m->by_address, address_hash(m, row->address), i);
	row->next = m->free_address;
	m->free_address = i;
}

/* ---- times of association ---- */

/* Devices may share an entry: then a time is later than necessary. */
static uint32_t *associated_of(const struct bp_phd_manager *m, const uint8_t system_id[8])
{
	return &m->associated[bp_phd_system_hash(m, system_id) & m->associated_mask];
}

uint32_t bp_phd_association_time(
	const struct bp_phd_manager *m, const uint8_t system_id[8], uint32_t now_s)
{
	const uint32_t last = *associated_of(m, system_id);

	return now_s > last || last == UINT32_MAX ? now_s : last + 1;
}

void bp_phd_association_confirmed(struct bp_phd_manager *m, const struct bp_phd_session *s)
{
	uint32_t *last = associated_of(m, s->system_id);

	if (s->associated_s > *last)
		*last = s->associated_s;
}

/* ---- sessions ---- */

void bp_phd_index_add(struct bp_phd_manager *m, uint32_t slot, uint32_t connection)
{
	const struct bp_phd_session *s = bp_phd_session_at(m, slot);
	struct bp_phd_note *n = &m->note[slot];

	n->known = true;
	n->connection = connection;
	n->late_reports = 0;
	n->address = row_take(m, s->address);
	bp_phd_association_confirmed(m, s);
	bp_index_add(&m->by_system, bp_phd_system_hash(m, s->system_id), slot);
	if (s->transport == BP_PHD_TRANSPORT_TCP)
		bp_index_add(&m->by_connection, bp_mix64(connection), slot);
}

void bp_phd_index_remove(struct bp_phd_manager *m, uint32_t slot)
{
	const struct bp_phd_session *s = bp_phd_session_at(m, slot);
	struct bp_phd_note *n = &m->note[slot];

	if (!n->known)
		return;
	n->known = false;
	row_give(m, n->address);
	bp_index_remove(&m->by_system, bp_phd_system_hash(m, s->system_id), slot);
	if (s->transport == BP_PHD_TRANSPORT_TCP)
		bp_index_remove(&m->by_connection, bp_mix64(n->connection), slot);
}

uint32_t bp_phd_of_system(const struct bp_phd_manager *m, const uint8_t system_id[8])
{
	for (uint32_t i = bp_index_first(&m->by_system, bp_phd_system_hash(m, system_id));
		i != BP_INDEX_END; i = bp_index_next(&m->by_system, i)) {
		if (memcmp(bp_phd_session_at(m, i)->system_id, system_id, 8) == 0)
			return i;
	}
	return BP_PHD_NONE;
}

uint32_t bp_phd_of_connection(const struct bp_phd_manager *m, uint32_t connection)
{
	for (uint32_t i = bp_index_first(&m->by_connection, bp_mix64(connection));
		i != BP_INDEX_END; i = bp_index_next(&m->by_connection, i)) {
		if (m->note[i].connection == connection)
			return i;
	}
	return BP_PHD_NONE;
}

uint32_t bp_phd_of_address(const struct bp_phd_manager *m, const uint8_t address[16])
{
	const uint32_t i = row_of(m, address);

	return i != BP_PHD_NONE ? m->address[i].sessions : 0;
}

/* ---- timers of sessions ---- */

/*
 * Timers of sessions, as queues in order of start time: starting and stopping one has a constant
 * cost, independent of the number of sessions. The timeout is read when a queue is checked, so that
 * a reload applies immediately.
 */

/* An idle session is looked at four times before it ends: it ends at most a quarter too late. */
#define IDLE_LOOKS 4

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

static uint64_t wait_timeout(const struct bp_phd_manager *m, enum bp_phd_wait q)
{
	switch (q) {
	case BP_PHD_WAIT_CONFIG:
		return m->c->timeouts.config_ns;
	case BP_PHD_WAIT_SERVICE:
		return m->c->timeouts.service_ns;
	case BP_PHD_WAIT_RELEASE:
		return m->c->timeouts.release_ns;
	default:
		return m->c->idle_timeout_ns != 0 ? m->c->idle_timeout_ns / IDLE_LOOKS : UINT64_MAX;
	}
}

/* For `show` alone; a second too late at most. */
static void deadline_show(struct bp_phd_manager *m, uint32_t slot, enum bp_phd_wait wait)
{
	bp_phd_session_at(m, slot)->deadline_s =
		wait == BP_PHD_WAIT_NONE
			? 0
			: (uint32_t)((m->now_ns + wait_timeout(m, wait)) / 1000000000u) + 1;
}

void bp_phd_wait(struct bp_phd_manager *m, uint32_t slot, enum bp_phd_wait wait)
{
	struct bp_phd_note *n = &m->note[slot];

	if (n->waits != BP_PHD_WAIT_NONE)
		take_out(m, (enum bp_phd_wait)n->waits, slot);
	n->waits = (uint8_t)wait;
	if (wait != BP_PHD_WAIT_NONE)
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

	bp_phd_wait(m, slot, BP_PHD_WAIT_NONE);
	if (n->idles)
		take_out(m, BP_PHD_WAIT_IDLE, slot);
	n->idles = false;
}

bool bp_phd_idle_expired(struct bp_phd_manager *m, uint32_t slot)
{
	struct bp_phd_note *n = &m->note[slot];
	const uint32_t now = reports(m, slot);

	take_out(m, BP_PHD_WAIT_IDLE, slot);
	append(m, BP_PHD_WAIT_IDLE, slot);
	if (now != n->idle_reports) {
		n->idle_reports = now;
		n->idle_ns = m->now_ns;
	}
	return m->now_ns - n->idle_ns >= m->c->idle_timeout_ns;
}

/* When the head of a queue is due; UINT64_MAX: never. */
uint64_t bp_phd_wait_due(struct bp_phd_manager *m, enum bp_phd_wait q)
{
	const uint32_t head = m->queue[q].head;
	const uint64_t wait = wait_timeout(m, q);
	uint64_t since;

	if (head == BP_PHD_NONE || wait == UINT64_MAX)
		return UINT64_MAX;
	since = timer(m, q, head)->since_ns;
	return since + wait < since ? UINT64_MAX : since + wait;
}

uint64_t bp_phd_apdu_hash(const struct bp_phd_manager *m, const uint8_t *p, size_t len)
{
	const uint64_t h = bp_hash_bytes(m->t->hash_key, p, len);

	return h != 0 ? h : 1;
}

/* ---- answers ---- */

void bp_phd_reply(
	struct bp_phd_manager *m, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len)
{
	m->ops->reply(m->arg, to, apdu, len);
}

void bp_phd_reply_simple(struct bp_phd_manager *m, const struct bp_phd_peer *to,
	enum bp_phd_choice choice, uint16_t reason)
{
	uint8_t out[BP_PHD_SIMPLE_LEN];

	if (choice == BP_PHD_ABRT)
		bp_phd_count(&m->counts->aborts_sent);
	else if (choice == BP_PHD_RLRQ)
		bp_phd_count(&m->counts->releases_sent);
	bp_phd_reply(m, to, out, bp_phd_write_simple(out, sizeof(out), choice, reason));
}

void bp_phd_reply_roer(struct bp_phd_manager *m, const struct bp_phd_peer *to, uint16_t invoke_id,
	enum bp_phd_roer error)
{
	uint8_t out[BP_PHD_ROER_LEN];

	bp_phd_count(&m->counts->errors_answered);
	bp_phd_reply(m, to, out, bp_phd_write_roer(out, sizeof(out), invoke_id, (uint16_t)error));
}

void bp_phd_reply_rorj(struct bp_phd_manager *m, const struct bp_phd_peer *to, uint16_t invoke_id,
	enum bp_phd_rorj problem)
{
	uint8_t out[BP_PHD_RORJ_LEN];

	bp_phd_count(&m->counts->errors_answered);
	bp_phd_reply(m, to, out, bp_phd_write_rorj(out, sizeof(out), invoke_id, (uint16_t)problem));
}

struct bp_phd_peer bp_phd_peer_of(const struct bp_phd_manager *m, uint32_t slot)
{
	const struct bp_phd_session *s = bp_phd_session_at(m, slot);
	struct bp_phd_peer to = {
		.port = s->port, .transport = s->transport, .connection = m->note[slot].connection};

	memcpy(to.address, s->address, sizeof(to.address));
	memcpy(to.own, m->t->control->own[bp_phd_word_own(bp_phd_word_at(m, slot))],
		sizeof(to.own));
	return to;
}

void bp_phd_unassociated(struct bp_phd_manager *m, const struct bp_phd_peer *from)
{
	if (bp_phd_loading(m) && from->transport == BP_PHD_TRANSPORT_UDP)
		m->ops->unassociated(m->arg, from);
}
