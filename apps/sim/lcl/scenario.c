/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/lcl/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/sim/lcl/budget.h"

#define BE_BYTES_MIN 60u /* 64 to 1518 with checksum */
#define BE_BYTES_MAX 1514u
#define MA_NODES 3u
#define MA_FLOWS 4u
/* Table 1 */
#define MA_PEAK_BPS 25e9
#define MA_RATE_BPS 5.78125e9
#define MA_BURST_NS 8000.0
/* Of a wandering source, how much longer than it need be a gap between bursts may be. */
#define WANDER 0.05

/* A flow of a scenario, before its rate is known. */
struct plan {
	uint16_t first_port, hops; /* chain: the ports follow each other */
	uint16_t route[BP_LCL_HOPS_MAX];
	uint64_t budget_ns;
};

static void best_effort(struct lsim_network *w, uint32_t flow, uint16_t port,
	const struct lsim_scenario_options *o, struct sim_random *r)
{
	struct lsim_flow *f = &w->flows[flow];

	snprintf(f->name, sizeof(f->name), "be-%u", port + 1u);
	f->hops = 1;
	f->best_effort = true;
	f->route[0] = port;
	f->source = (struct lsim_source){.kind = LSIM_CONSTANT,
		.rate_bps = o->best_effort_bps,
		.bytes_min = BE_BYTES_MIN,
		.bytes_max = BE_BYTES_MAX,
		.random = {sim_random_next(r)}};
}

static void labelled(struct lsim_flow *f, uint32_t number, const struct plan *p)
{
	snprintf(f->name, sizeof(f->name), "ts-%u", number + 1);
	f->hops = (uint8_t)p->hops;
	f->budget_ns = p->budget_ns;
	memcpy(f->route, p->route, p->hops * sizeof(f->route[0]));
}

/* burst and rate are there; phase_ps: of a staggered one */
static void begin(struct lsim_flow *f, const struct lsim_scenario_options *o, uint64_t phase_ps,
	struct sim_random *r)
{
	struct lsim_source *s = &f->source;
	const double period = (double)s->burst * (double)lsim_tx_time_ps(o->bytes, s->rate_bps);

	s->kind = o->source;
	s->bytes_min = s->bytes_max = o->bytes;
	s->random.state = sim_random_next(r);
	s->phase_ps = phase_ps;
	if (o->phases == LSIM_STAGGERED)
		return;
	s->phase_ps = (uint64_t)(sim_uniform(r) * period);
	s->wander = WANDER;
}

static uint32_t burst_frames(double bytes, uint32_t frame)
{
	const double n = bytes / (frame + BP_LCL_LINK_OVERHEAD);

	return n > 1 ? (uint32_t)n : 1;
}

/* They begin a quarter of a period apart: four bursts of 8 us in 34.4 us do not meet. */
static void ma_network(struct lsim_network *w, const struct lsim_scenario_options *o,
	const struct plan *plan, struct sim_random *r)
{
	const uint64_t rate = o->port.lcl.rate_bps;

	for (uint32_t i = 0; i < MA_FLOWS; i++) {
		struct lsim_flow *f = &w->flows[i];
		uint64_t period;

		labelled(f, i, &plan[i]);
		f->source.peak_bps = rate;
		f->source.rate_bps = (uint64_t)((double)rate * MA_RATE_BPS / MA_PEAK_BPS);
		f->source.burst = burst_frames(MA_BURST_NS * (double)rate / 8e9, o->bytes);
		period = f->source.burst * lsim_tx_time_ps(o->bytes, f->source.rate_bps);
		begin(f, o, period * (i + 1) / MA_FLOWS, r);
	}
}

/* Number of flows at the busiest port on the path of a flow. */
static unsigned crowd(const struct plan *p, const unsigned *users)
{
	unsigned most = 0;

	for (unsigned h = 0; h < p->hops; h++)
		most = users[p->route[h]] > most ? users[p->route[h]] : most;
	return most;
}

/*
 * Each flow gets an equal share of the slots on its path: its data in a window is half burst, half
 * rate, so that slots are filled up to `load` in the worst case and no further.
 */
static void share(struct lsim_network *w, const struct lsim_scenario_options *o,
	const struct plan *plan, uint32_t n, const unsigned *users, struct sim_random *r)
{
	const struct bp_lcl_scheduler_options *l = &o->port.lcl;
	/* a best-effort frame may occupy the link at the begin of the slot, or one of the slot
	 * before */
	const double slot = (double)l->tau_ns * (double)l->rate_bps / 8e9 -
			    (o->best_effort_bps != 0 ? BE_BYTES_MAX + BP_LCL_LINK_OVERHEAD : 0) -
			    (o->bytes + BP_LCL_LINK_OVERHEAD);

	for (uint32_t i = 0; i < n; i++) {
		struct lsim_flow *f = &w->flows[i];
		const double bytes = o->load * slot / crowd(&plan[i], users);
		double window;

		labelled(f, i, &plan[i]);
		window = (double)lsim_window_ns(f->hops, f->budget_ns, l->tau_ns);
		f->source.peak_bps = l->rate_bps;
		f->source.burst = burst_frames(bytes / 2, o->bytes);
		f->source.rate_bps =
			(uint64_t)((bytes - f->source.burst * (o->bytes + BP_LCL_LINK_OVERHEAD)) *
				   8e9 / window);
		if ((double)f->source.rate_bps > (double)l->rate_bps)
			f->source.rate_bps = l->rate_bps;
		begin(f, o, 0, r);
	}
}

static uint64_t budget(const struct lsim_scenario_options *o, unsigned hops)
{
	return o->budget_ns != 0 ? o->budget_ns : lsim_budget_ns((uint8_t)hops, o->port.lcl.tau_ns);
}

static uint32_t plan_ma(const struct lsim_scenario_options *o, struct plan *p)
{
	static const uint16_t hops[MA_FLOWS] = {1, 2, 3, 3};
	static const uint64_t d0[MA_FLOWS] = {10000, 10000, 15000, 20000};

	for (uint32_t i = 0; i < MA_FLOWS; i++) {
		p[i] = (struct plan){.hops = hops[i],
			.route = {0, 1, 2},
			.budget_ns = o->budget_ns != 0 ? o->budget_ns : d0[i]};
	}
	return MA_FLOWS;
}

static uint32_t plan_chain(
	const struct lsim_scenario_options *o, struct plan *p, struct sim_random *r)
{
	uint32_t n = 0;

	for (unsigned join = 0; join < o->hops; join++) {
		for (unsigned k = join == 0 ? 0 : 1; k <= o->flows; k++) {
			const unsigned left = o->hops - join;
			unsigned hops = k == 0 ? o->hops : 1 + (unsigned)(sim_random_next(r) % 3);

			hops = hops < left ? hops : left;
			p[n] = (struct plan){.hops = (uint16_t)hops, .budget_ns = budget(o, hops)};
			for (unsigned h = 0; h < hops; h++)
				p[n].route[h] = (uint16_t)(join + h);
			n++;
		}
	}
	return n;
}

/* Every node can reach every other; a path has no node twice. */
static uint32_t plan_random(
	const struct lsim_scenario_options *o, struct plan *p, struct sim_random *r)
{
	uint16_t order[LSIM_PORTS_MAX];

	for (unsigned i = 0; i < o->nodes; i++)
		order[i] = (uint16_t)i;
	for (uint32_t f = 0; f < o->flows; f++) {
		const unsigned hops = 1 + (unsigned)(sim_random_next(r) % o->hops);

		p[f] = (struct plan){.hops = (uint16_t)hops, .budget_ns = budget(o, hops)};
		for (unsigned h = 0; h < hops; h++) {
			const unsigned other = h + (unsigned)(sim_random_next(r) % (o->nodes - h));
			const uint16_t port = order[other];

			order[other] = order[h];
			order[h] = p[f].route[h] = port;
		}
	}
	return o->flows;
}

static const char *make_ports(
	struct lsim_network *w, struct lsim_scenario_options *o, struct sim_random *r)
{
	struct bp_lcl_scheduler_options *l = &o->port.lcl;

	if (l->queue_frames == 0)
		l->queue_frames = 2 + (uint32_t)((double)l->tau_ns * (double)l->rate_bps / 8e9 /
						 (o->bytes + BP_LCL_LINK_OVERHEAD));
	l->best_effort_max = o->best_effort_bps != 0 ? BE_BYTES_MAX : 0;
	for (uint32_t i = 0; i < w->n_ports; i++) {
		/* Nodes are not synchronised: their slots begin at any time. */
		o->port.clock_ns = sim_random_next(r) % (l->queues * l->tau_ns);
		if (lsim_port_init(&w->ports[i], &o->port) != 0)
			return "the scheduler refuses these options";
	}
	return NULL;
}

/* The most that a label needs of all the flows planned. */
static unsigned queues(const struct plan *p, uint32_t n, uint64_t tau_ns)
{
	unsigned most = 2;

	for (uint32_t i = 0; i < n; i++) {
		const unsigned k = lsim_queues((uint8_t)p[i].hops, p[i].budget_ns, tau_ns);

		most = k > most ? k : most;
	}
	return most;
}

static const char *make(struct lsim_network *w, struct lsim_scenario_options *o, struct plan *plan,
	unsigned *users, struct sim_random *r)
{
	const uint32_t ports = o->scenario == LSIM_MA      ? MA_NODES
			       : o->scenario == LSIM_CHAIN ? o->hops
							   : o->nodes;
	const uint32_t n = o->scenario == LSIM_MA      ? plan_ma(o, plan)
			   : o->scenario == LSIM_CHAIN ? plan_chain(o, plan, r)
						       : plan_random(o, plan, r);
	struct bp_lcl_scheduler_options *l = &o->port.lcl;

	if (l->queues == 0)
		l->queues = o->scenario == LSIM_MA ? 4 : queues(plan, n, l->tau_ns);
	if (l->queues > BP_LCL_QUEUES_MAX)
		return "so great a budget needs more than 64 queues";
	if (lsim_network_init(w, ports, n + (o->best_effort_bps != 0 ? ports : 0)) != 0)
		return "no memory";
	w->tau_ns = l->tau_ns;
	for (uint32_t i = 0; i < n; i++) {
		for (unsigned h = 0; h < plan[i].hops; h++)
			users[plan[i].route[h]]++;
	}
	if (o->scenario == LSIM_MA)
		ma_network(w, o, plan, r);
	else
		share(w, o, plan, n, users, r);
	for (uint32_t i = 0; n + i < w->n_flows; i++)
		best_effort(w, n + i, (uint16_t)i, o, r);
	return make_ports(w, o, r);
}

const char *lsim_scenario_make(struct lsim_network *w, struct lsim_scenario_options *o)
{
	struct plan *plan = calloc(LSIM_FLOWS_MAX, sizeof(plan[0]));
	unsigned *users = calloc(LSIM_PORTS_MAX, sizeof(users[0]));
	struct sim_random r = {o->seed};
	const char *wrong = "no memory";

	*w = (struct lsim_network){0};
	if (plan != NULL && users != NULL)
		wrong = make(w, o, plan, users, &r);
	free(plan);
	free(users);
	if (wrong != NULL)
		lsim_network_free(w);
	return wrong;
}
