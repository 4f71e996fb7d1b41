/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "controlplane/health/slow_internal.h"

/* Octets of reports that wait to be sent, over all devices. */
#define KEPT_MAX (64u << 20)

struct bp_slow_pending *bp_slow_take(struct bp_slow *s, uint32_t slot)
{
	uint32_t *b = bp_slow_bucket(s, slot), i = s->free;
	struct bp_slow_pending *p = &s->pending[i];

	s->free = p->next;
	*p = (struct bp_slow_pending){.slot = slot, .next = *b};
	*b = i;
	s->counts.pending++;
	return p;
}

void bp_slow_give_back(struct bp_slow *s, struct bp_slow_pending *p)
{
	const uint32_t i = (uint32_t)(p - s->pending), slot = p->slot;
	uint32_t *at = bp_slow_bucket(s, slot);

	while (*at != i)
		at = &s->pending[*at].next;
	*at = p->next;
	if (p->waits)
		TAILQ_REMOVE(&s->waiting, p, waiting);
	if (p->apdu)
		s->kept -= p->len;
	free(p->apdu);
	*p = (struct bp_slow_pending){.next = s->free};
	s->free = i;
	s->counts.pending--;
	if (s->ops.idle && !bp_slow_busy(s, slot))
		s->ops.idle(s->arg, slot);
}

bool bp_slow_busy(const struct bp_slow *s, uint32_t slot)
{
	uint32_t i = *bp_slow_bucket(s, slot);

	while (i != BP_SLOW_NONE && s->pending[i].slot != slot)
		i = s->pending[i].next;
	return i != BP_SLOW_NONE;
}

bool bp_slow_is_pending(const struct bp_slow *s, uint32_t slot, uint16_t life, uint32_t report)
{
	for (uint32_t i = *bp_slow_bucket(s, slot); i != BP_SLOW_NONE; i = s->pending[i].next) {
		const struct bp_slow_pending *p = &s->pending[i];

		if (p->slot == slot && p->life == life && p->report == report)
			return true;
	}
	return false;
}

bool bp_slow_keep(struct bp_slow *s, struct bp_slow_pending *p, const uint8_t *apdu, size_t len)
{
	if (p->apdu)
		return true;
	if (len == 0 || len > KEPT_MAX - s->kept)
		return false;
	p->apdu = malloc(len);
	if (!p->apdu)
		return false;
	memcpy(p->apdu, apdu, len);
	p->len = len;
	s->kept += len;
	return true;
}
