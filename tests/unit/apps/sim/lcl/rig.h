/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_APPS_SIM_LCL_RIG_H
#define BP_TESTS_UNIT_APPS_SIM_LCL_RIG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "apps/sim/lcl/scenario.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The ports of Table 1, and what a test changes of it. */
static inline struct lsim_scenario_options scenario(enum lsim_scenario which)
{
	return (struct lsim_scenario_options){.scenario = which,
		.phases = which == LSIM_MA ? LSIM_STAGGERED : LSIM_WANDERING,
		.hops = 8,
		.nodes = 16,
		.flows = which == LSIM_CHAIN ? 3 : 32,
		.bytes = 124,
		.load = 1,
		.seed = 1,
		.best_effort_bps = UINT64_C(5000000000),
		.port = {.propagation_ps = 500000,
			.lcl = {.tau_ns = 8000,
				.rate_bps = UINT64_C(25000000000),
				.best_effort_frames = 1024}}};
}

/* Runs it empty; every frame must have come or be counted as lost, in order, and its label must
 * say what it waited. */
static inline void run(struct lsim_network *w, struct lsim_scenario_options *o, uint64_t frames)
{
	uint64_t sent = 0;

	assert_null(lsim_scenario_make(w, o));
	assert_null(lsim_network_run(w, frames));
	assert_int_equal(w->in_use, 0);
	for (uint32_t i = 0; i < w->n_flows; i++) {
		const struct lsim_flow *f = &w->flows[i];
		const struct lsim_measured *m = &f->measured;
		uint64_t come = m->sent;

		for (unsigned h = 0; h < f->hops; h++) {
			const struct lsim_hop *hop = &m->hop[h];
			uint64_t put = 0;

			for (unsigned k = 0; k <= BP_LCL_PUT_FULL; k++)
				put += hop->put[k];
			assert_int_equal(put, come);
			come -= hop->put[BP_LCL_PUT_FULL];
			assert_int_equal(hop->wait.count, come);
		}
		assert_int_equal(m->received, come);
		assert_int_equal(m->reordered, 0);
		assert_int_equal(m->wrong, 0);
		sent += f->best_effort ? 0 : m->sent;
	}
	assert_int_equal(sent, frames);
	for (uint32_t i = 0; i < w->n_ports; i++)
		assert_int_equal(lsim_port_queued(&w->ports[i]), 0);
}

static inline uint64_t variation(const struct lsim_flow *f)
{
	return f->measured.delay.max_ps - f->measured.delay.min_ps;
}

/*
 * All of a flow within d0 +- tau and at each node within d/n +- tau, none lost; by the wires too,
 * to the resolution that labels have: two nanoseconds a node, where a wait begins and where it
 * ends, and what the scheduler's 64ths of a nanosecond come to while the wire is never free.
 */
static inline void assert_kept(const struct lsim_network *w, const struct lsim_flow *f)
{
	const struct lsim_measured *m = &f->measured;
	const uint64_t off = (2u * f->hops + 4) * LSIM_PS, tau = w->tau_ns * LSIM_PS;
	const uint64_t d0 = f->budget_ns * LSIM_PS;

	assert_int_equal(m->received, m->sent);
	assert_int_equal(m->early + m->late, 0);
	for (unsigned h = 0; h < f->hops; h++) {
		assert_int_equal(m->hop[h].outside, 0);
		assert_int_equal(m->hop[h].put[BP_LCL_PUT_EARLY], 0);
	}
	assert_true(m->unseen_ps <= off);
	if (m->received == 0)
		return;
	assert_true(m->delay.min_ps + tau + off >= d0);
	assert_true(m->delay.max_ps <= d0 + tau + off);
	assert_true(variation(f) <= 2 * tau + off);
}

#endif
