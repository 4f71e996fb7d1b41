/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "services/health/layout.h"
#include "services/health/manager_internal.h"

/* After a restart, sessions continue from the table or the store. */

/* Settings with another output format need other layouts. False: the layout cannot be created. */
static bool layout_fits(struct bp_phd_manager *m, uint32_t slot, uint64_t plan)
{
	const struct bp_phd_session *s = bp_phd_session_at(m, slot);
	const uint64_t word = bp_phd_word_at(m, slot);
	const struct bp_phd_layout *l = bp_phd_layout_of(m->t, word);
	struct bp_phd_model model;
	uint16_t spec;
	int layout;

	if (!l || l->plan == plan)
		return true;
	if (!bp_phd_model_of(m, s->system_id, s->config_id, &model, &spec))
		return false;
	layout = bp_phd_layout_for(m, &model, s->spec);
	if (layout < 0)
		return false;
	bp_phd_session_word(m->w, slot, bp_phd_word_state(word), 0, (uint16_t)layout);
	return true;
}

static void resume(struct bp_phd_manager *m, uint32_t slot)
{
	switch (bp_phd_state_at(m, slot)) {
	case BP_PHD_WAITING:
		bp_phd_wait(m, slot, BP_PHD_WAIT_CONFIG);
		return;
	case BP_PHD_RELEASING:
		bp_phd_wait(m, slot, BP_PHD_WAIT_RELEASE);
		break;
	default:
		if (bp_phd_session_at(m, slot)->mds_known == BP_PHD_MDS_REQUESTED)
			bp_phd_request_mds(m, slot);
	}
	bp_phd_idle_begin(m, slot);
}

/* The later of two sessions of one device stays. */
static void drop_older(struct bp_phd_manager *m, uint32_t slot)
{
	const uint32_t other = bp_phd_of_system(m, bp_phd_session_at(m, slot)->system_id);

	if (other == BP_PHD_NONE)
		return;
	if (bp_phd_session_at(m, other)->opened_ns > bp_phd_session_at(m, slot)->opened_ns) {
		/* this one is not in the indexes yet: add it to drop it */
		bp_phd_index_add(m, slot, 0);
		bp_phd_abort(m, slot, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_SUPERSEDED);
		return;
	}
	bp_phd_abort(m, other, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_SUPERSEDED);
}

static void adopt(struct bp_phd_manager *m, uint32_t slot, uint64_t plan)
{
	/* a session in release that never was operating has no layout */
	m->note[slot].opened = bp_phd_word_layout(bp_phd_word_at(m, slot)) != BP_PHD_NO_LAYOUT;
	drop_older(m, slot);
	if (bp_phd_state_at(m, slot) == BP_PHD_FREE)
		return;
	bp_phd_index_add(m, slot, 0);
	if (bp_phd_session_at(m, slot)->transport == BP_PHD_TRANSPORT_TCP) {
		bp_phd_close(m, slot, BP_PHD_CLOSED_DISCONNECTED);
	} else if (layout_fits(m, slot, plan)) {
		bp_phd_count(&m->counts->adopted);
		resume(m, slot);
	} else if (bp_phd_loading(m)) {
		bp_phd_session_flags(m->w, slot, 0, BP_PHD_READY);
		m->note[slot].refit = true;
		m->refits++;
		bp_phd_count(&m->counts->adopted);
		resume(m, slot);
	} else {
		bp_phd_abort(m, slot, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_FAULT);
	}
}

void bp_phd_manager_adopt(struct bp_phd_manager *m, uint64_t mono_ns)
{
	struct bp_phd_settings plan;
	const bool planned = bp_phd_settings_read(m->t, &plan) != 0;

	m->now_ns = mono_ns;
	bp_phd_writer_check(m->w, bp_phd_layout_valid);
	for (uint32_t slot = 0; slot < m->t->n_slots; slot++) {
		/* also of closed sessions: a slot keeps its contents until it is used again */
		bp_phd_association_confirmed(m, bp_phd_session_at(m, slot));
		if (bp_phd_state_at(m, slot) == BP_PHD_FREE)
			bp_phd_unanswered_end(m, slot, true);
		else if (!m->note[slot].known)
			adopt(m, slot, planned ? plan.hash : 0);
	}
}

/* ---- sessions that wait for the store ---- */

static void refit(struct bp_phd_manager *m, uint32_t slot, uint64_t plan)
{
	m->note[slot].refit = false;
	m->refits--;
	if (!layout_fits(m, slot, plan))
		bp_phd_abort(m, slot, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_FAULT);
	else if (bp_phd_state_at(m, slot) == BP_PHD_OPERATING)
		m->ops->opened(m->arg, slot);
}

void bp_phd_manager_loaded(struct bp_phd_manager *m, uint64_t mono_ns)
{
	struct bp_phd_settings plan;
	const bool planned = bp_phd_settings_read(m->t, &plan) != 0;

	m->now_ns = mono_ns;
	for (uint32_t slot = 0; slot < m->t->n_slots && m->refits > 0; slot++) {
		if (m->note[slot].refit)
			refit(m, slot, planned ? plan.hash : 0);
	}
}

/* ---- without the table ---- */

/* Two were stored of one device: the later association is the true one. any: also if the device
 * associated here since. */
static bool is_older(const struct bp_phd_manager *m, uint32_t slot, uint32_t associated_s, bool any)
{
	return (any || m->note[slot].restored) &&
	       bp_phd_session_at(m, slot)->associated_s < associated_s;
}

/* Finds the model of the session. A standard configuration may be known in more detail than when
 * it was stored; the declaration of a device must be unchanged. */
static bool model_for(struct bp_phd_manager *m, const struct bp_phd_session_spec *s,
	struct bp_phd_model *model, uint16_t *spec)
{
	bool certain = false;

	if (!bp_phd_model_of(m, s->system_id, s->config_id, model, spec))
		return false;
	return model->content == s->config_content ||
	       (bp_phd_standard(s->config_id, &certain) && certain);
}

static enum bp_phd_restored prepare(struct bp_phd_manager *m, struct bp_phd_session_spec *s)
{
	struct bp_phd_model model;
	int layout;

	if (!m->ops->allowed(m->arg, s->system_id))
		return BP_PHD_RESTORE_NOT_ALLOWED;
	if (!model_for(m, s, &model, &s->spec))
		return BP_PHD_RESTORE_UNKNOWN;
	if (m->t->control->sessions >= m->c->max_sessions)
		return BP_PHD_RESTORE_FULL;
	layout = bp_phd_layout_for(m, &model, s->spec);
	if (layout < 0)
		return layout == -2 ? BP_PHD_RESTORE_FULL : BP_PHD_RESTORE_UNKNOWN;
	s->state = BP_PHD_OPERATING;
	s->flags = 0;
	s->layout = (uint16_t)layout;
	s->config_content = model.content;
	s->mds_known = s->spec != 0 ? BP_PHD_MDS_KNOWN : BP_PHD_MDS_UNKNOWN;
	s->opened_ns = m->now_ns;
	return BP_PHD_RESTORED;
}

static void resume_restored(struct bp_phd_manager *m, uint32_t slot)
{
	bp_phd_index_add(m, slot, 0);
	m->note[slot].opened = true;
	m->note[slot].restored = true;
	bp_phd_count(&m->counts->adopted);
	bp_phd_idle_begin(m, slot);
	/* the store does not record whether it was requested */
	if (bp_phd_session_at(m, slot)->spec == 0 && bp_phd_type_needed(m))
		bp_phd_request_mds(m, slot);
}

static enum bp_phd_restored restore(
	struct bp_phd_manager *m, const struct bp_phd_session_spec *s, bool any, uint64_t mono_ns)
{
	const uint64_t hash = bp_phd_hash(m->t->hash_key, s->address, s->port, s->transport);
	const uint32_t elsewhere = bp_phd_of_system(m, s->system_id);
	struct bp_phd_session_spec now = *s;
	enum bp_phd_restored result;
	uint32_t slot;

	m->now_ns = mono_ns;
	if (bp_phd_find(m->t, hash, s->address, s->port, s->transport, &slot) == 0 ||
		(elsewhere != BP_PHD_NONE && !is_older(m, elsewhere, s->associated_s, any)))
		return BP_PHD_RESTORE_THERE;
	result = prepare(m, &now);
	if (result != BP_PHD_RESTORED)
		return result;
	if (elsewhere != BP_PHD_NONE) {
		bp_phd_count(&m->counts->superseded);
		bp_phd_abort(m, elsewhere, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_SUPERSEDED);
		/* resources that only it used are free: retry */
		result = prepare(m, &now);
		if (result != BP_PHD_RESTORED)
			return result;
	}
	if (bp_phd_session_open(m->w, &now, &slot) != 0)
		return BP_PHD_RESTORE_FULL;
	resume_restored(m, slot);
	return BP_PHD_RESTORED;
}

enum bp_phd_restored bp_phd_manager_restore(
	struct bp_phd_manager *m, const struct bp_phd_session_spec *s, uint64_t mono_ns)
{
	return restore(m, s, false, mono_ns);
}

enum bp_phd_restored bp_phd_manager_take(
	struct bp_phd_manager *m, const struct bp_phd_session_spec *s, uint64_t mono_ns)
{
	return restore(m, s, true, mono_ns);
}

bool bp_phd_manager_forget(struct bp_phd_manager *m, uint32_t slot, uint16_t life, uint64_t mono_ns)
{
	const uint64_t word = bp_phd_word_at(m, slot);

	if (bp_phd_word_state(word) == BP_PHD_FREE || bp_phd_word_life(word) != life)
		return false;
	m->now_ns = mono_ns;
	bp_phd_close(m, slot, BP_PHD_CLOSED_MOVED);
	return true;
}
