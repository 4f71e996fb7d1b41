/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/lcl/rig.h"

#include <stdio.h>

#include "apps/sim/lcl/frame.h"
#include "services/lcl/admission.h"
#include "proto/lcl/lcl.h"
#include "tests/unit/times.h"

/*
 * What services/lcl/admission.h promises of the flows of a port, kept by a line of such ports over
 * which they continue together: sources that send as much as they may, all at once or at any time.
 */
#define BYTES 124u
#define LONG 1514u
#define FLOWS_MAX 6u
#define HOPS_MAX 12u
#define ROUNDS ((unsigned)TEST_TIMES(4000))

static struct bp_lcl_port port(struct sim_random *r)
{
	static const uint64_t taus[] = {2000, 8000, 20000};

	return (struct bp_lcl_port){.tau_ns = taus[sim_random_next(r) % COUNT(taus)],
		.rate_bps = UINT64_C(25000000000),
		.queue_frames = 4096,
		.best_effort = 1024,
		.queues = (uint16_t)(4 + sim_random_next(r) % 12)};
}

static unsigned flows(const struct bp_lcl_port *p, struct bp_lcl_flow *f, struct sim_random *r)
{
	const unsigned n = 1 + (unsigned)(sim_random_next(r) % FLOWS_MAX);
	const double slot = (double)p->tau_ns * (double)p->rate_bps / 8e9;

	for (unsigned i = 0; i < n; i++) {
		const uint8_t hops = (uint8_t)(1 + sim_random_next(r) % HOPS_MAX);
		const uint32_t frames = 1 + (uint32_t)(sim_uniform(r) * 1.2 * slot / n /
						       (BYTES + BP_LCL_LINK_OVERHEAD));

		f[i] = (struct bp_lcl_flow){.hops = hops,
			.budget_ns = (uint64_t)(sim_uniform(r) * 2.5 * hops * (double)p->tau_ns),
			.rate_bps =
				(uint64_t)((0.01 + 0.4 * sim_uniform(r) / n) * (double)p->rate_bps),
			.peak_bps = p->rate_bps,
			.frame = BYTES - BP_LCL_LABEL,
			.burst = frames * (BYTES + BP_LCL_LINK_OVERHEAD)};
	}
	return n;
}

static void build(struct lsim_network *w, const struct bp_lcl_port *p, const struct bp_lcl_flow *f,
	unsigned n, bool at_once, struct sim_random *r)
{
	assert_int_equal(lsim_network_init(w, HOPS_MAX, n + HOPS_MAX), 0);
	w->tau_ns = p->tau_ns;
	for (unsigned i = 0; i < HOPS_MAX; i++) {
		const struct lsim_port_options o = {.propagation_ps = 500000,
			.clock_ns = sim_random_next(r) % (p->queues * p->tau_ns),
			.lcl = {.tau_ns = p->tau_ns,
				.rate_bps = p->rate_bps,
				.queues = p->queues,
				.queue_frames = p->queue_frames,
				.best_effort_frames = p->best_effort,
				.best_effort_max = LONG}};
		struct lsim_flow *be = &w->flows[n + i];

		assert_int_equal(lsim_port_init(&w->ports[i], &o), 0);
		be->best_effort = true;
		be->hops = 1;
		be->route[0] = (uint16_t)i;
		be->source = (struct lsim_source){.kind = LSIM_CONSTANT,
			.rate_bps = UINT64_C(20000000000),
			.bytes_min = 60,
			.bytes_max = LONG,
			.random = {sim_random_next(r)}};
	}
	for (unsigned i = 0; i < n; i++) {
		struct lsim_flow *ts = &w->flows[i];

		ts->hops = f[i].hops;
		ts->budget_ns = f[i].budget_ns;
		for (uint16_t h = 0; h < ts->hops; h++)
			ts->route[h] = h;
		ts->source = (struct lsim_source){.kind = LSIM_BURSTS,
			.rate_bps = f[i].rate_bps,
			.peak_bps = f[i].peak_bps,
			.burst = f[i].burst / (BYTES + BP_LCL_LINK_OVERHEAD),
			.bytes_min = BYTES,
			.bytes_max = BYTES,
			.wander = at_once ? 0 : 0.05,
			.phase_ps = at_once ? 1 : sim_random_next(r) % (50000 * LSIM_PS),
			.random = {sim_random_next(r)}};
	}
}

static void admitted_flows_meet_their_bound(void **state)
{
	struct sim_random r = {21};
	unsigned kept = 0, hops = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct bp_lcl_admitted out[FLOWS_MAX];
		struct bp_lcl_flow f[FLOWS_MAX];
		const struct bp_lcl_port p = port(&r);
		const unsigned n = flows(&p, f, &r);
		unsigned good = 0;

		bp_lcl_admit(&p, LONG, f, n, out);
		for (unsigned i = 0; i < n; i++)
			good += out[i].why == BP_LCL_KEPT;
		if (good != n)
			continue;
		kept++;
		for (unsigned at_once = 0; at_once < 2; at_once++) {
			struct lsim_network w;

			build(&w, &p, f, n, at_once, &r);
			assert_null(lsim_network_run(&w, 3000));
			for (unsigned i = 0; i < n; i++) {
				assert_kept(&w, &w.flows[i]);
				hops += w.flows[i].hops;
			}
			lsim_network_free(&w);
		}
	}
	print_message("%u of %u were admitted, of %.1f hops\n", kept, ROUNDS, (double)hops / kept);
	assert_true(kept > ROUNDS / 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(admitted_flows_meet_their_bound)};

	return cmocka_run_group_tests_name("admitted", tests, NULL, NULL);
}
