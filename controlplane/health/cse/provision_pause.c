/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/cse/provision_pause.h"

#include <string.h>

struct bp_provision_pause *bp_provision_pause_of(
	struct bp_provision_pauses *p, const uint8_t system_id[8])
{
	for (unsigned i = 0; i < p->n; i++)
		if (memcmp(p->pause[i].system_id, system_id, 8) == 0)
			return &p->pause[i];
	return NULL;
}

/* A free one, or that whose pause ends first. */
static struct bp_provision_pause *take(struct bp_provision_pauses *p)
{
	struct bp_provision_pause *first = &p->pause[0];

	if (p->n < BP_PROVISION_PAUSES)
		return &p->pause[p->n++];
	for (unsigned i = 1; i < p->n; i++)
		if (p->pause[i].due_ns < first->due_ns)
			first = &p->pause[i];
	return first;
}

void bp_provision_pause_begin(struct bp_provision_pauses *p, const uint8_t system_id[8],
	uint64_t now_ns, uint64_t first_ns, uint64_t max_ns)
{
	struct bp_provision_pause *d = bp_provision_pause_of(p, system_id);
	uint64_t ns;

	if (d == NULL) {
		d = take(p);
		*d = (struct bp_provision_pause){.next_ns = first_ns};
		memcpy(d->system_id, system_id, sizeof(d->system_id));
	}
	ns = d->next_ns < max_ns ? d->next_ns : max_ns;
	d->due_ns = now_ns + ns;
	d->next_ns = ns * 2;
}

void bp_provision_pause_forget(struct bp_provision_pauses *p, const uint8_t system_id[8])
{
	struct bp_provision_pause *d = bp_provision_pause_of(p, system_id);

	if (d != NULL)
		*d = p->pause[--p->n];
}

uint64_t bp_provision_pause_end(const struct bp_provision_pauses *p, uint64_t now_ns)
{
	uint64_t end = UINT64_MAX;

	for (unsigned i = 0; i < p->n; i++)
		if (p->pause[i].due_ns > now_ns && p->pause[i].due_ns < end)
			end = p->pause[i].due_ns;
	return end;
}
