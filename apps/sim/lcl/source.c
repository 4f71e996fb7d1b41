/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/lcl/source.h"

#include "apps/sim/lcl/frame.h"
#include "services/lcl/scheduler.h"

uint64_t lsim_tx_time_ps(uint32_t bytes, uint64_t rate_bps)
{
	return (bytes + BP_LCL_LINK_OVERHEAD) * 8 * UINT64_C(1000000000000) / rate_bps;
}

static uint32_t size(struct lsim_source *s)
{
	const uint32_t room = s->bytes_max - s->bytes_min + 1;

	return s->bytes_min + (room > 1 ? (uint32_t)(sim_random_next(&s->random) % room) : 0);
}

/* The first frame of the burst after this one begins later by the link time of its bytes. */
static void next_burst(struct lsim_source *s, uint32_t bytes)
{
	const double period = (double)s->burst * (double)lsim_tx_time_ps(bytes, s->rate_bps);
	const double stretch = s->wander > 0 ? 1 + s->wander * sim_uniform(&s->random) : 1;

	s->begin_ps += (uint64_t)(period * stretch);
	s->at_ps = s->begin_ps;
	s->in_burst = 0;
}

struct lsim_next lsim_source_next(struct lsim_source *s)
{
	const uint32_t bytes = size(s);
	uint64_t takes;

	if (s->at_ps == 0)
		s->at_ps = s->begin_ps = s->phase_ps;
	switch (s->kind) {
	case LSIM_BURSTS:
		if (s->in_burst == s->burst)
			next_burst(s, bytes);
		s->in_burst++;
		takes = lsim_tx_time_ps(bytes, s->peak_bps);
		break;
	case LSIM_CONSTANT:
		takes = lsim_tx_time_ps(bytes, s->rate_bps);
		break;
	case LSIM_POISSON:
	default:
		takes = (uint64_t)((double)lsim_tx_time_ps(bytes, s->rate_bps) *
				   sim_exponential(&s->random));
		break;
	}
	s->at_ps += takes;
	return (struct lsim_next){s->at_ps, bytes};
}
