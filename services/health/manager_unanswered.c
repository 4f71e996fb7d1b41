/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "services/health/manager_internal.h"
#include "services/health/last_report.h"

/*
 * A device on TCP loses its association with its connection, also when this process ends, and may
 * repeat an unanswered report in the next association. The CSE may already have that report. So the
 * report is kept by system-id until the device associates, and its words are copied to the new
 * session: the slow path detects the repetition by them, as within one association, and its
 * instances get the earlier names.
 *
 * Only unanswered reports are kept: a device does not repeat an answered one, and equal bytes in
 * the next association are a new measurement.
 *
 * The table stores the same (bp_phd_session.unanswered), also in a free slot until it is used
 * again: so the next process has the same information. Entries that are dropped here are stored
 * there, too.
 */

bool bp_phd_unanswered_init(struct bp_phd_manager *m)
{
	m->unanswered_n =
		m->t->n_slots < BP_PHD_UNANSWERED_MAX ? m->t->n_slots : BP_PHD_UNANSWERED_MAX;
	m->unanswered = calloc((size_t)m->unanswered_n + 1, sizeof(*m->unanswered));
	if (!m->unanswered || !bp_index_init(&m->by_unanswered, m->unanswered_n))
		return false;
	for (uint32_t i = 0; i < m->unanswered_n; i++)
		m->unanswered[i].slot = BP_PHD_NONE;
	return true;
}

void bp_phd_unanswered_free(struct bp_phd_manager *m)
{
	free(m->unanswered);
	bp_index_free(&m->by_unanswered);
}

static struct bp_phd_unanswered *find(const struct bp_phd_manager *m, const uint8_t system_id[8])
{
	for (uint32_t i = bp_index_first(&m->by_unanswered, bp_phd_system_hash(m, system_id));
		i != BP_INDEX_END; i = bp_index_next(&m->by_unanswered, i)) {
		if (memcmp(m->unanswered[i].system_id, system_id, 8) == 0)
			return &m->unanswered[i];
	}
	return NULL;
}

static void wipe(struct bp_phd_session *s)
{
	atomic_store_explicit(&s->sent, 0, memory_order_relaxed);
}

static void give_up(struct bp_phd_manager *m, struct bp_phd_unanswered *u)
{
	if (bp_phd_word_life(bp_phd_word_at(m, u->slot)) == u->life)
		wipe(bp_phd_session_at(m, u->slot));
	bp_index_remove(&m->by_unanswered, bp_phd_system_hash(m, u->system_id),
		(uint32_t)(u - m->unanswered));
	u->slot = BP_PHD_NONE;
}

/* Reads the report of a session; false: the device repeats none. */
static bool read_report(
	const struct bp_phd_manager *m, uint32_t slot, struct bp_phd_unanswered *out)
{
	const struct bp_phd_session *s = bp_phd_session_at(m, slot);
	const struct bp_phd_report_words words = bp_phd_report_words_read(s);
	const uint64_t age = bp_phd_sent_age(words.sent, m->now_ns);

	if (s->transport != BP_PHD_TRANSPORT_TCP || s->unanswered == BP_PHD_ANSWERED ||
		words.sent == 0 || age >= BP_PHD_REPEAT_AGE)
		return false;
	*out = (struct bp_phd_unanswered){.report = {.last = words.last, .sent = words.sent},
		.config_content = s->config_content,
		.since_ns = m->now_ns - age * BP_PHD_REPEAT_UNIT_S * 1000000000ull,
		.slot = slot,
		.associated_s = s->associated_s,
		.life = bp_phd_word_life(bp_phd_word_at(m, slot)),
		.config_id = s->config_id};
	memcpy(out->system_id, s->system_id, sizeof(out->system_id));
	out->report.origin = s->origin;
	if (s->origin.associated_s == 0)
		out->report.origin = (struct bp_phd_origin){.associated_s = s->associated_s,
			.report = words.reports - 1,
			.life = out->life};
	return true;
}

bool bp_phd_unanswered_keep(struct bp_phd_manager *m, uint32_t slot)
{
	struct bp_phd_unanswered now, *u;

	if (!read_report(m, slot, &now))
		return false;
	u = find(m, now.system_id);
	if (u && u->slot == slot && u->life == now.life) {
		*u = now;
		return true;
	}
	if (u && u->associated_s > now.associated_s)
		return false; /* it associated since */
	if (u)
		give_up(m, u);
	u = &m->unanswered[m->unanswered_at++ % m->unanswered_n];
	if (u->slot != BP_PHD_NONE)
		give_up(m, u);
	*u = now;
	bp_index_add(&m->by_unanswered, bp_phd_system_hash(m, now.system_id),
		(uint32_t)(u - m->unanswered));
	return true;
}

void bp_phd_unanswered_carry(const struct bp_phd_manager *m, struct bp_phd_session_spec *s)
{
	const struct bp_phd_unanswered *u = find(m, s->system_id);

	if (!u || s->transport != BP_PHD_TRANSPORT_TCP || s->config_id != u->config_id ||
		m->now_ns - u->since_ns >= BP_PHD_ID_LIFETIME_S * 1000000000ull)
		return;
	/* a session without a declared configuration is compared later */
	if (s->layout != BP_PHD_NO_LAYOUT && s->config_content != u->config_content)
		return;
	s->config_content = u->config_content;
	s->carried = u->report;
}

void bp_phd_unanswered_drop(struct bp_phd_manager *m, const uint8_t system_id[8])
{
	struct bp_phd_unanswered *u = find(m, system_id);

	if (u)
		give_up(m, u);
}

void bp_phd_manager_written(struct bp_phd_manager *m, uint32_t connection)
{
	const uint32_t slot = bp_phd_of_connection(m, connection);

	if (slot != BP_PHD_NONE && bp_phd_session_at(m, slot)->unanswered == BP_PHD_ANSWER_WAITS)
		bp_phd_session_at(m, slot)->unanswered = BP_PHD_ANSWERED;
}

void bp_phd_unanswered_end(struct bp_phd_manager *m, uint32_t slot, bool may_repeat)
{
	struct bp_phd_session *s = bp_phd_session_at(m, slot);

	if (s->transport != BP_PHD_TRANSPORT_TCP ||
		atomic_load_explicit(&s->sent, memory_order_relaxed) == 0)
		return;
	if (!may_repeat || !bp_phd_unanswered_keep(m, slot))
		wipe(s);
}
