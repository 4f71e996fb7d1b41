/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/lcl/options.h"

#include <stdio.h>
#include <stdlib.h>

#include "apps/biplane/option_values.h"

static const char help[] =
	"usage: biplane-lcl-sim [OPTION]...\n"
	"\n"
	"Simulates nodes whose output ports are scheduled by latency control labels, with the "
	"gateway's\n"
	"scheduler in virtual time. Time-sensitive flows cross some of them, best-effort traffic "
	"crosses\n"
	"each single node. Prints the delays of frames, end to end and at each node; see\n"
	"docs/performance/lcl-simulation.md. The same options give the same results.\n"
	"\n"
	"Rates are link rates: with checksum, preamble and gap.\n"
	"\n"
	" the network\n"
	"  --scenario three-nodes|chain|random  three nodes and four flows as in Ma et al., Table "
	"1; a "
	"line\n"
	"                           of nodes; random paths between ports (three-nodes)\n"
	"  --hops N                 chain: nodes; random: the longest path; 1 to 64 (8)\n"
	"  --nodes N                random: output ports, 1 to 1000 (16)\n"
	"  --flows N                chain: flows that join at each node, for up to three nodes;\n"
	"                           random: total (3, 32)\n"
	"  --load F                 chain, random: used part of a slot in the worst case; above 1\n"
	"                           there is no bound (1)\n"
	"  --propagation T          propagation delay of a link (500ns)\n"
	" ports\n"
	"  --scheduler lcl|priority|fifo  priority: without LCL, time-sensitive frames first, and "
	"no\n"
	"                           preemption; fifo: one queue (lcl)\n"
	"  --tau T                  slot duration, 1us to 10ms (8us)\n"
	"  --queues N               2 to 64 (three-nodes: 4; otherwise as needed by the labels)\n"
	"  --queue-frames N         depth of a queue, frames (the maximum of a slot)\n"
	"  --rate R                 link rate, bit/s (25e9)\n"
	"  --guard T                guard time (0)\n"
	" traffic\n"
	"  --phases staggered|wandering  three-nodes: bursts are sent in turn; or sources have "
	"random\n"
	"                           phases and slightly different rates (staggered; chain and\n"
	"                           random: wandering)\n"
	"  --source bursts|constant|poisson  kind of time-sensitive flows (bursts)\n"
	"  --frame N                bytes of a time-sensitive frame with checksum, 64 to 1518 "
	"(128)\n"
	"  --budget T               d0 of all flows (three-nodes: Table 1; otherwise the "
	"guaranteed "
	"one)\n"
	"  --best-effort R          bit/s at each node, frames of 64 to 1518 bytes; 0: none (5e9)\n"
	"  --frames N               total time-sensitive frames (1000000)\n"
	"  --seed N                 seed of the random numbers (1)\n"
	" the output\n"
	"  --series T               also print the delays of each flow in time windows of T\n"
	"  --json                   print one object instead of tables\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1 a frame is missing, a label was wrong, or a scheduler stalled; 64 "
	"usage;\n"
	"71 system.\n";

enum which {
	SCENARIO,
	HOPS,
	NODES,
	FLOWS,
	LOAD,
	PROPAGATION,
	SCHEDULER,
	TAU,
	QUEUES,
	QUEUE_FRAMES,
	RATE,
	GUARD,
	PHASES,
	SOURCE,
	FRAME,
	BUDGET,
	BEST_EFFORT,
	FRAMES,
	SEED,
	SERIES,
	JSON,
	HELP
};

static const struct option options[] = {
	{"scenario", required_argument, NULL, SCENARIO},
	{"hops", required_argument, NULL, HOPS},
	{"nodes", required_argument, NULL, NODES},
	{"flows", required_argument, NULL, FLOWS},
	{"load", required_argument, NULL, LOAD},
	{"propagation", required_argument, NULL, PROPAGATION},
	{"scheduler", required_argument, NULL, SCHEDULER},
	{"tau", required_argument, NULL, TAU},
	{"queues", required_argument, NULL, QUEUES},
	{"queue-frames", required_argument, NULL, QUEUE_FRAMES},
	{"rate", required_argument, NULL, RATE},
	{"guard", required_argument, NULL, GUARD},
	{"phases", required_argument, NULL, PHASES},
	{"source", required_argument, NULL, SOURCE},
	{"frame", required_argument, NULL, FRAME},
	{"budget", required_argument, NULL, BUDGET},
	{"best-effort", required_argument, NULL, BEST_EFFORT},
	{"frames", required_argument, NULL, FRAMES},
	{"seed", required_argument, NULL, SEED},
	{"series", required_argument, NULL, SERIES},
	{"json", no_argument, NULL, JSON},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0},
};

static const char *const scenario_names[] = {"three-nodes", "chain", "random", NULL};
static const char *const scheduler_names[] = {"lcl", "priority", "fifo", NULL};
static const char *const phase_names[] = {"staggered", "wandering", NULL};
static const char *const source_names[] = {"bursts", "constant", "poisson", NULL};

/* The given options; the defaults of the others depend on the scenario. */
struct reading {
	struct lsim_options *o;
	bool given[HELP];
};

static uint64_t between(const char *name, const char *v, uint64_t min, uint64_t max)
{
	const uint64_t ns = option_duration_ns(name, v, min == 0);

	if (ns < min || ns > max)
		option_wrong("--%s is '%s'; expected %llu ns to %llu ns", name, v,
			(unsigned long long)min, (unsigned long long)max);
	return ns;
}

static void set_port(struct lsim_port_options *p, enum which which, const char *v)
{
	switch (which) {
	case PROPAGATION:
		p->propagation_ps = between("propagation", v, 0, 1000000000) * LSIM_PS;
		break;
	case SCHEDULER:
		p->scheduling = option_one_of("scheduler", v, scheduler_names);
		break;
	case TAU:
		p->lcl.tau_ns = between("tau", v, 1000, 10000000);
		break;
	case QUEUES:
		p->lcl.queues = (uint32_t)option_integer("queues", v, 2, BP_LCL_QUEUES_MAX);
		break;
	case QUEUE_FRAMES:
		p->lcl.queue_frames = (uint32_t)option_integer("queue-frames", v, 1, 1000000);
		break;
	case RATE:
		p->lcl.rate_bps = (uint64_t)option_number("rate", v, 1e6, 4e11);
		break;
	case GUARD:
		p->lcl.guard_ns = between("guard", v, 0, 10000000);
		break;
	default:
		break;
	}
}

static void set_scenario(struct lsim_scenario_options *s, enum which which, const char *v)
{
	switch (which) {
	case SCENARIO:
		s->scenario = option_one_of("scenario", v, scenario_names);
		break;
	case HOPS:
		s->hops = (unsigned)option_integer("hops", v, 1, BP_LCL_HOPS_MAX);
		break;
	case NODES:
		s->nodes = (unsigned)option_integer("nodes", v, 1, 1000);
		break;
	case FLOWS:
		s->flows = (unsigned)option_integer("flows", v, 0, 1000);
		break;
	case LOAD:
		s->load = option_number("load", v, 0.01, 10);
		break;
	case PHASES:
		s->phases = option_one_of("phases", v, phase_names);
		break;
	case SOURCE:
		s->source = option_one_of("source", v, source_names);
		break;
	case FRAME:
		s->bytes = (unsigned)option_integer("frame", v, 64, 1518) - 4;
		break;
	case BUDGET:
		s->budget_ns = between("budget", v, 1, BP_LCL_DELAY_MAX_NS);
		break;
	case BEST_EFFORT:
		s->best_effort_bps = (uint64_t)option_number("best-effort", v, 0, 4e11);
		break;
	case SEED:
		s->seed = option_integer("seed", v, 0, 1000000000000000);
		break;
	default:
		set_port(&s->port, which, v);
	}
}

static void set(void *arg, int which, const char *v)
{
	struct reading *r = arg;

	if (which == HELP) {
		fputs(help, stdout);
		exit(0);
	}
	r->given[which] = true;
	if (which == FRAMES)
		r->o->frames = option_integer("frames", v, 1, 10000000000);
	else if (which == SERIES)
		r->o->series_ns = between("series", v, 1000, 1000000000);
	else if (which == JSON)
		r->o->json = true;
	else
		set_scenario(&r->o->s, (enum which)which, v);
}

/* Options that the scenario has no use for would be ignored without a word. */
static void refuse(const struct reading *r, enum lsim_scenario scenario)
{
	static const struct {
		enum which which;
		bool has[LSIM_RANDOM + 1];
	} only[] = {
		{HOPS, {false, true, true}},
		{NODES, {false, false, true}},
		{FLOWS, {false, true, true}},
		{LOAD, {false, true, true}},
		{PHASES, {true, false, false}},
	};

	for (unsigned i = 0; i < sizeof(only) / sizeof(only[0]); i++) {
		if (r->given[only[i].which] && !only[i].has[scenario])
			option_wrong("--%s is not for scenario %s", options[only[i].which].name,
				scenario_names[scenario]);
	}
}

static void complete(const struct reading *r)
{
	struct lsim_scenario_options *s = &r->o->s;

	refuse(r, s->scenario);
	if (s->scenario != LSIM_MA)
		s->phases = LSIM_WANDERING;
	if (!r->given[FLOWS])
		s->flows = s->scenario == LSIM_CHAIN ? 3 : 32;
	if (s->scenario == LSIM_RANDOM && s->flows == 0)
		option_wrong("--flows is 0; expected at least 1");
	if (s->scenario == LSIM_RANDOM && s->hops > s->nodes)
		option_wrong("--hops is %u, and --nodes only %u", s->hops, s->nodes);
	if (s->best_effort_bps > 0 && s->best_effort_bps < 1000)
		option_wrong("--best-effort is less than 1000 bps, and not 0");
}

void lsim_options_read(struct lsim_options *o, int argc, char **argv)
{
	struct reading r = {.o = o};

	*o = (struct lsim_options){
		.s = {.hops = 8,
			.nodes = 16,
			.bytes = 124,
			.load = 1,
			.seed = 1,
			.best_effort_bps = UINT64_C(5000000000),
			.port = {.propagation_ps = 500000,
				.lcl = {.tau_ns = 8000,
					.rate_bps = UINT64_C(25000000000),
					.best_effort_frames = 1024}}},
		.frames = 1000000,
	};
	option_each(argc, argv, options, set, &r);
	complete(&r);
}
