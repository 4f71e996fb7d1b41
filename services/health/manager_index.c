/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "services/health/manager_internal.h"

/* Sessions by what the table is not ordered by: system-id, TCP connection, IP address. */

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
			i = m->fresh_address++;
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

/* Devices may share one: then a time is later than it need be. */
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

void bp_phd_association_seen(struct bp_phd_manager *m, const struct bp_phd_session *s)
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
	n->address = row_take(m, s->address);
	bp_phd_association_seen(m, s);
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
