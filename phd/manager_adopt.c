/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "phd/layout.h"
#include "phd/manager_internal.h"

/* After a restart: sessions go on as the table, or the store, has them. */

/* A plan that renders otherwise needs other layouts. False: it can't be made. */
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
		if (bp_phd_session_at(m, slot)->mds_known == BP_PHD_MDS_ASKED)
			bp_phd_ask_mds(m, slot);
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
		/* this one is not in the indexes yet: it becomes the one to drop */
		bp_phd_index_add(m, slot, 0);
		bp_phd_abort(m, slot, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_TAKEN_OVER);
		return;
	}
	bp_phd_abort(m, other, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_TAKEN_OVER);
}

static void adopt(struct bp_phd_manager *m, uint32_t slot, uint64_t plan)
{
	/* one that is released and never was operating has no layout */
	m->note[slot].opened = bp_phd_word_layout(bp_phd_word_at(m, slot)) != BP_PHD_NO_LAYOUT;
	drop_older(m, slot);
	if (bp_phd_state_at(m, slot) == BP_PHD_FREE)
		return;
	bp_phd_index_add(m, slot, 0);
	if (bp_phd_session_at(m, slot)->transport == BP_PHD_TRANSPORT_TCP) {
		bp_phd_close(m, slot, BP_PHD_CLOSED_GONE);
	} else if (!layout_fits(m, slot, plan)) {
		bp_phd_abort(m, slot, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_FAULT);
	} else {
		bp_phd_count(&m->counts->adopted);
		resume(m, slot);
	}
}

void bp_phd_manager_adopt(struct bp_phd_manager *m, uint64_t mono_ns)
{
	struct bp_phd_plan plan;
	const bool planned = bp_phd_plan_read(m->t, &plan) != 0;

	m->now_ns = mono_ns;
	bp_phd_writer_check(m->w, bp_phd_layout_valid);
	for (uint32_t slot = 0; slot < m->t->n_slots; slot++) {
		if (bp_phd_state_at(m, slot) != BP_PHD_FREE && !m->note[slot].known)
			adopt(m, slot, planned ? plan.hash : 0);
	}
}

static bool is_there(const struct bp_phd_manager *m, const struct bp_phd_session_spec *s)
{
	const uint64_t hash = bp_phd_hash(m->t->hash_key, s->address, s->port, s->transport);
	uint32_t slot;

	return bp_phd_find(m->t, hash, s->address, s->port, s->transport, &slot) == 0 ||
	       bp_phd_of_system(m, s->system_id) != BP_PHD_NONE;
}

bool bp_phd_manager_restore(struct bp_phd_manager *m, const struct bp_phd_session_spec *s,
	const struct bp_phd_model *model, uint64_t mono_ns)
{
	struct bp_phd_session_spec now = *s;
	uint32_t slot;
	int layout;

	m->now_ns = mono_ns;
	if (s->transport == BP_PHD_TRANSPORT_TCP || is_there(m, s))
		return false;
	layout = bp_phd_layout_for(m, model, s->spec);
	if (layout < 0)
		return false;
	now.state = BP_PHD_OPERATING;
	now.flags = 0;
	now.layout = (uint16_t)layout;
	now.config_content = model->content;
	now.mds_known = s->spec != 0 ? BP_PHD_MDS_TOLD : BP_PHD_MDS_UNKNOWN;
	now.opened_ns = mono_ns;
	if (bp_phd_session_open(m->w, &now, &slot) != 0)
		return false;
	bp_phd_index_add(m, slot, 0);
	m->note[slot].opened = true;
	bp_phd_count(&m->counts->adopted);
	bp_phd_idle_begin(m, slot);
	return true;
}
