/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/run/backoff.h"

uint64_t bp_backoff_next(struct bp_backoff *b, uint64_t lived_ns, bool by_signal)
{
	uint64_t max = by_signal ? BP_BACKOFF_MAX_SIGNAL_NS : BP_BACKOFF_MAX_EXIT_NS;
	uint64_t wait = b->next_ns;

	if (wait == 0 || lived_ns >= BP_BACKOFF_FORGET_NS)
		wait = BP_BACKOFF_FIRST_NS;
	if (wait > max)
		wait = max;
	b->next_ns = wait * 2 < max ? wait * 2 : max;
	return wait;
}
