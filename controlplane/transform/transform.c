/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/transform/transform.h"

#include <stdio.h>
#include <string.h>

#include "config/schema.h"
#include "config/transform/settings.h"
#include "controlplane/process/clock.h"
#include "shm/transform/transform_writer.h"
#include "config/segment.h"

int bp_transform_put(struct bp_shm *m, const struct bp_config *c, struct bp_transform_counts *n,
	char *err, size_t err_size)
{
	const struct bp_transform_tables *t = &m->transform;
	struct bp_transform_bank *bank;
	struct bp_transform_view old;
	uint64_t next;

	*n = (struct bp_transform_counts){0};
	if (t->head == NULL)
		return 0;
	next = bp_generation_next(&t->generation);
	old = bp_transform_view_of(t, bp_generation_active(&t->generation));
	bank = bp_transform_bank_at(t, next);
	if (bp_transform_build(bank, t->matrices, &bp_config_transform(c)->entries,
		    bp_config_ports_key(c), &old, next >> 1, m->control->hash_key[0],
		    &t->head->next_uid, bp_unix_ns(), err, err_size) != 0)
		return -1;
	n->kept = bank->taken;
	n->lost = bank->missed;
	n->sources = atomic_load_explicit(&bank->n_sources, memory_order_relaxed);
	bp_generation_publish(&t->generation, next);
	return 0;
}

/* Returns the active bank; with a NULL member and a sentence in `err` if there is none. */
static struct bp_transform_view active_view(const struct bp_shm *m, char *err, size_t err_size)
{
	struct bp_transform_view v = {.bank = NULL};

	if (m->transform.head != NULL)
		v = bp_transform_view_of(
			&m->transform, bp_generation_active(&m->transform.generation));
	if (m->transform.head == NULL)
		snprintf(err, err_size,
			"this instance transforms nothing: its file has no section "
			"transform");
	else if (v.bank == NULL)
		snprintf(err, err_size,
			"the entries of transform are not active yet; try again "
			"in a moment");
	return v;
}

/* Returns a bit for each selected entry; 0 with a sentence in `err`. */
static uint32_t entries(const struct bp_transform_view *v, const struct bp_transform_source_id *w,
	bool add, char *err, size_t err_size)
{
	const uint32_t n = v->bank->n_rules;
	char text[BP_ADDRESS_TEXT];
	uint32_t which = 0;

	if (w->entry >= 0 && (uint32_t)w->entry < n)
		return 1u << w->entry;
	if (w->entry >= 0) {
		snprintf(err, err_size,
			"there is no entry %d in transform.entries: the first has number 0, "
			"the last %u",
			w->entry, n - 1);
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (w->entry == BP_TRANSFORM_LOADER
				? v->bank->rule[i].rule.loader
				: bp_transform_find(v, i, &w->source) != UINT32_MAX)
			which |= 1u << i;
	}
	if (which == 0 && w->entry == BP_TRANSFORM_LOADER)
		snprintf(err, err_size, "no entry has matrix_loader: true");
	else if (which == 0 && add && n == 1)
		which = 1;
	else if (which == 0)
		snprintf(err, err_size, "no entry of transform has a source %s%s",
			bp_prefix_text(&w->source, text), add ? "; select an entry" : "");
	return which;
}

static void explain(enum bp_transform_set why, unsigned entry, const struct bp_prefix *source,
	unsigned receiver, char *err, size_t err_size)
{
	char text[BP_ADDRESS_TEXT];

	bp_prefix_text(source, text);
	switch (why) {
	case BP_TRANSFORM_SET_SINGULAR:
		snprintf(err, err_size,
			"the matrix is singular, so that it flattens space, which entry %u of "
			"transform refuses",
			entry);
		break;
	case BP_TRANSFORM_SET_NOT_FINITE:
		snprintf(err, err_size, "the matrix has a number that is not finite");
		break;
	case BP_TRANSFORM_SET_LARGE:
		snprintf(err, err_size, "the matrix has a number with a size of 2^31 or more");
		break;
	case BP_TRANSFORM_SET_FULL:
		snprintf(err, err_size,
			"no free matrix for source %s in transform.entries[%u]: raise "
			"transform.max_matrices and restart, or use no further prefix length",
			text, entry);
		break;
	case BP_TRANSFORM_SET_NO_RECEIVER:
		snprintf(err, err_size,
			"source %s of entry %u of transform has no receiver %u: the first has "
			"number 0",
			text, entry, receiver);
		break;
	default:
		snprintf(err, err_size, "entry %u of transform has no source %s", entry, text);
	}
}

int bp_transform_set_matrix(struct bp_shm *m, const struct bp_transform_source_id *w,
	unsigned receiver, const double matrix[12], bool add, char *err, size_t err_size)
{
	const struct bp_transform_view v = active_view(m, err, err_size);
	const uint32_t which = v.bank == NULL ? 0 : entries(&v, w, add, err, err_size);
	int n = 0;

	/* checks all entries first, so that a matrix that one entry rejects is set in none */
	for (unsigned doing = 0; which != 0 && doing < 2; doing++) {
		for (unsigned i = 0; i < v.bank->n_rules; i++) {
			enum bp_transform_set rc;

			if ((which >> i & 1) == 0)
				continue;
			rc = doing ? bp_transform_set(&v, i, &w->source, receiver, matrix, add,
					     &m->transform.head->next_uid)
				   : bp_transform_set_check(
					     &v, i, &w->source, receiver, matrix, add);
			if (rc != BP_TRANSFORM_SET_DONE) {
				explain(rc, i, &w->source, receiver, err, err_size);
				return -1;
			}
			n += doing;
		}
	}
	return which == 0 ? -1 : n;
}

int bp_transform_remove_source(
	struct bp_shm *m, const struct bp_transform_source_id *w, char *err, size_t err_size)
{
	const struct bp_transform_view v = active_view(m, err, err_size);
	const uint32_t which = v.bank == NULL ? 0 : entries(&v, w, false, err, err_size);
	int n = 0;

	for (unsigned i = 0; which != 0 && i < v.bank->n_rules; i++) {
		if ((which >> i & 1) == 0)
			continue;
		if (bp_transform_remove(&v, i, &w->source) != BP_TRANSFORM_SET_DONE) {
			explain(BP_TRANSFORM_SET_NO_SOURCE, i, &w->source, 0, err, err_size);
			return -1;
		}
		n++;
	}
	return which == 0 ? -1 : n;
}
