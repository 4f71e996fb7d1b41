/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/reuse.h"

#include <stdlib.h>

bool bp_reuse_init(struct bp_reuse *r, uint32_t capacity)
{
	*r = (struct bp_reuse){.capacity = capacity};
	r->free = malloc(capacity * sizeof(*r->free));
	r->waiting = malloc(capacity * sizeof(*r->waiting));
	if (r->free && r->waiting)
		return true;
	bp_reuse_free(r);
	return false;
}

void bp_reuse_free(struct bp_reuse *r)
{
	free(r->free);
	free(r->waiting);
	*r = (struct bp_reuse){0};
}

static struct bp_retired *waiting(struct bp_reuse *r, uint32_t i)
{
	uint64_t at = (uint64_t)r->first + i;

	return &r->waiting[at < r->capacity ? at : at - r->capacity];
}

void bp_reuse_give(struct bp_reuse *r, uint32_t element)
{
	r->free[r->n_free++] = element;
}

void bp_reuse_retire(struct bp_reuse *r, uint32_t element)
{
	waiting(r, r->n_waiting++)->element = element;
}

bool bp_reuse_passed(struct bp_reuse *r, struct bp_epoch *e, uint32_t *element)
{
	if (r->n_waiting == 0)
		return false;
	if (r->n_stamped == 0 || !bp_epoch_passed(e, waiting(r, 0)->epoch)) {
		/* One epoch for all that were unlinked since: each costs every worker a cache miss
		 */
		if (r->n_stamped == r->n_waiting)
			return false;
		const uint64_t epoch = bp_epoch_retire(e);

		while (r->n_stamped < r->n_waiting)
			waiting(r, r->n_stamped++)->epoch = epoch;
		if (!bp_epoch_passed(e, waiting(r, 0)->epoch))
			return false;
	}
	*element = waiting(r, 0)->element;
	r->first = r->first + 1 < r->capacity ? r->first + 1 : 0;
	r->n_waiting--;
	r->n_stamped--;
	return true;
}

bool bp_reuse_take(struct bp_reuse *r, uint32_t *element)
{
	if (r->n_free == 0)
		return false;
	*element = r->free[--r->n_free];
	return true;
}
