/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/shm/health/phd_model.h"

#include <stdlib.h>
#include <string.h>

void model_open(struct phd_model *m, uint32_t devices, uint32_t sessions, uint32_t layouts)
{
	memset(m, 0, sizeof(*m));
	phd_open(&m->x, sessions, layouts, 2);
	m->devices = devices;
	m->row = calloc(devices, sizeof(*m->row));
	m->life = calloc(m->x.t->n_slots, sizeof(*m->life));
	m->lived = calloc(m->x.t->n_slots, sizeof(*m->lived));
	m->scratch = malloc(BP_PHD_LAYOUT_SIZE);
	m->seed = 20601;
	assert_true(m->row && m->life && m->lived && m->scratch);
}

void model_close(struct phd_model *m)
{
	phd_close(&m->x);
	free(m->row);
	free(m->life);
	free(m->lived);
	free(m->scratch);
}

struct phd_change model_any(struct phd_model *m)
{
	struct phd_change c = {.device = test_below(&m->seed, m->devices)};
	const struct phd_row *row = &m->row[c.device];

	c.open = !row->open || test_below(&m->seed, 3) != 0;
	c.state = (uint8_t)(BP_PHD_WAITING + test_below(&m->seed, 3));
	c.flags = (uint8_t)test_below(&m->seed, 4);
	c.kind = (uint8_t)test_below(&m->seed, MODEL_KINDS + 1);
	if (c.state == BP_PHD_OPERATING && c.kind == 0)
		c.kind = 1;
	return c;
}

static int layout_of(struct phd_model *m, uint8_t kind, uint16_t *n)
{
	int got;

	*n = BP_PHD_NO_LAYOUT;
	if (kind == 0)
		return 0;
	phd_layout_fill(m->scratch, kind, 100u * kind + kind % 4);
	got = bp_phd_layout_get(m->x.w, m->scratch);
	if (got < 0)
		return -1;
	*n = (uint16_t)got;
	return 0;
}

int model_apply(struct phd_model *m, const struct phd_change *c)
{
	struct bp_phd_session_spec s = phd_device(c->device);
	const uint32_t slot = phd_slot(&m->x, c->device);
	uint32_t new;

	if (!c->open) {
		bp_phd_session_close(m->x.w, slot);
		return 0;
	}
	if (layout_of(m, c->kind, &s.layout) != 0)
		return -1;
	if (slot != UINT32_MAX) {
		bp_phd_session_word(m->x.w, slot, (enum bp_phd_state)c->state, c->flags, s.layout);
		return 0;
	}
	s.state = c->state;
	s.flags = c->flags;
	return bp_phd_session_open(m->x.w, &s, &new);
}

void model_note(struct phd_model *m, const struct phd_change *c)
{
	struct phd_row *row = &m->row[c->device];

	if (c->open && !row->open) {
		row->slot = phd_slot(&m->x, c->device);
		assert_int_not_equal(row->slot, UINT32_MAX);
		row->life = bp_phd_word_life(m->x.t->sessions[row->slot].word);
		if (m->lived[row->slot])
			assert_int_not_equal(row->life, m->life[row->slot]);
		m->life[row->slot] = row->life;
		m->lived[row->slot] = true;
	}
	m->open += (uint32_t)c->open - (uint32_t)row->open;
	row->open = c->open;
	row->state = c->state;
	row->flags = c->flags;
	row->kind = c->kind;
}

static bool entry_is(const struct bp_phd_session *e, const struct bp_phd_session_spec *s)
{
	return memcmp(e->address, s->address, 16) == 0 && e->port == s->port &&
	       e->transport == s->transport && memcmp(e->system_id, s->system_id, 8) == 0 &&
	       e->associated_s == s->associated_s && e->reports == s->reports &&
	       e->config_id == s->config_id && e->config_content == s->config_content &&
	       e->aarq_hash == s->aarq_hash && e->config_hash == s->config_hash &&
	       e->opened_ns == s->opened_ns && e->last == 0 && e->sent == 0 && e->stored == 0;
}

bool model_says(const struct phd_model *m, uint32_t device, const struct phd_row *row)
{
	const struct bp_phd_tables *t = m->x.t;
	const struct bp_phd_session_spec s = phd_device(device);
	const uint32_t slot = phd_slot(&m->x, device);
	uint64_t word;

	if (!row->open || slot == UINT32_MAX)
		return !row->open && slot == UINT32_MAX;
	word = t->sessions[slot].word;
	if (!entry_is(&t->sessions[slot], &s) || bp_phd_word_state(word) != row->state ||
		bp_phd_word_flags(word) != row->flags ||
		memcmp(t->control->own[bp_phd_word_own(word)], s.own, 16) != 0)
		return false;
	if (row->kind == 0)
		return bp_phd_word_layout(word) == BP_PHD_NO_LAYOUT && !bp_phd_layout_of(t, word);
	return phd_layout_is(bp_phd_layout_of(t, word), row->kind);
}

static void check_figures(const struct phd_model *m)
{
	const struct bp_phd_control *c = m->x.t->control;
	uint32_t operating = 0, unready = 0, users[MODEL_KINDS + 1] = {0}, kinds = 0;

	for (uint32_t i = 0; i < m->devices; i++) {
		const struct phd_row *row = &m->row[i];

		if (!row->open)
			continue;
		operating += row->state == BP_PHD_OPERATING;
		unready += row->state == BP_PHD_OPERATING && (row->flags & BP_PHD_READY) == 0;
		users[row->kind]++;
	}
	assert_int_equal(c->sessions, m->open);
	assert_int_equal(c->operating, operating);
	assert_int_equal(c->unready, unready);
	for (uint32_t k = 1; k <= MODEL_KINDS; k++)
		kinds += users[k] != 0;
	/* each once, and those that were made for a session that found no room */
	assert_true(c->layouts >= kinds);
	for (uint32_t n = 0; n < m->x.t->max_layouts; n++) {
		const struct bp_phd_layout *l =
			bp_phd_layout_of(m->x.t, bp_phd_word(0, 0, (uint16_t)n, 0, 0));

		if (l->users != 0)
			assert_int_equal(l->users, users[l->content]);
	}
}

void model_check(const struct phd_model *m)
{
	uint8_t *taken = calloc(m->x.t->n_slots, 1);

	assert_non_null(taken);
	for (uint32_t i = 0; i < m->devices; i++) {
		if (!model_says(m, i, &m->row[i]))
			fail_msg("device %u is not as it should be", i);
		if (m->row[i].open)
			assert_int_equal(taken[m->row[i].slot]++, 0);
	}
	free(taken);
	check_figures(m);
}
