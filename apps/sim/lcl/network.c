/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/lcl/network.h"

#include <stdlib.h>

#define BLOCK 1024u /* frames that memory is asked for at a time */

int lsim_network_init(struct lsim_network *w, uint32_t ports, uint32_t flows)
{
	*w = (struct lsim_network){.n_ports = ports, .n_flows = flows};
	w->ports = calloc(ports, sizeof(w->ports[0]));
	w->flows = calloc(flows, sizeof(w->flows[0]));
	if (w->ports == NULL || w->flows == NULL ||
		lsim_events_init(&w->events, flows + 2 * ports) != 0) {
		lsim_network_free(w);
		return -1;
	}
	return 0;
}

void lsim_network_free(struct lsim_network *w)
{
	for (uint32_t i = 0; w->ports != NULL && i < w->n_ports; i++)
		lsim_port_free(&w->ports[i]);
	for (uint32_t i = 0; w->flows != NULL && i < w->n_flows; i++)
		free(w->flows[i].measured.series);
	for (uint32_t i = 0; i < w->n_blocks; i++)
		free(w->blocks[i]);
	free(w->blocks);
	free(w->ports);
	free(w->flows);
	lsim_events_free(&w->events);
	*w = (struct lsim_network){0};
}

static bool more_frames(struct lsim_network *w)
{
	void **grown = realloc(w->blocks, (w->n_blocks + 1) * sizeof(grown[0]));
	struct lsim_frame *block;

	if (grown == NULL)
		return false;
	w->blocks = grown;
	block = malloc(BLOCK * sizeof(block[0]));
	if (block == NULL)
		return false;
	w->blocks[w->n_blocks++] = block;
	for (uint32_t i = 0; i < BLOCK; i++) {
		block[i].next = w->spare;
		w->spare = &block[i];
	}
	return true;
}

static struct lsim_frame *frame_new(struct lsim_network *w)
{
	struct lsim_frame *f;

	if (w->spare == NULL && !more_frames(w)) {
		w->no_memory = true;
		return NULL;
	}
	f = w->spare;
	w->spare = f->next;
	w->in_use++;
	return f;
}

static void frame_done(struct lsim_network *w, struct lsim_frame *f)
{
	f->next = w->spare;
	w->spare = f;
	w->in_use--;
}

static void port_changed(struct lsim_network *w, uint32_t port)
{
	lsim_events_set(&w->events, w->n_flows + port, lsim_port_next(&w->ports[port], w->now_ps));
}

static void link_changed(struct lsim_network *w, uint32_t port)
{
	const struct lsim_frame *f = w->ports[port].flying.first;

	lsim_events_set(
		&w->events, w->n_flows + w->n_ports + port, f != NULL ? f->in_ps : LSIM_NEVER);
}

static void arrive(struct lsim_network *w, struct lsim_frame *f)
{
	struct lsim_flow *flow = &w->flows[f->flow];
	struct lsim_hop *hop = &flow->measured.hop[f->hop];
	const uint32_t port = flow->route[f->hop];
	const enum bp_lcl_put put = lsim_port_put(&w->ports[port], f, &flow->last_slot[f->hop]);

	if (f->n != 0) {
		const bool first = hop->wait.count == 0 && hop->d_min == 0 && hop->d_max == 0;

		if (first || f->d < hop->d_min)
			hop->d_min = f->d;
		if (first || f->d > hop->d_max)
			hop->d_max = f->d;
	}
	hop->put[put]++;
	if (put == BP_LCL_PUT_FULL)
		frame_done(w, f);
	port_changed(w, port);
}

static void stop_sources(struct lsim_network *w)
{
	w->end_ps = w->now_ps;
	for (uint32_t i = 0; i < w->n_flows; i++)
		lsim_events_set(&w->events, i, LSIM_NEVER);
}

static void source_due(struct lsim_network *w, uint32_t i)
{
	struct lsim_flow *flow = &w->flows[i];
	struct lsim_frame *f = frame_new(w);

	if (f == NULL)
		return;
	*f = (struct lsim_frame){.in_ps = w->now_ps,
		.flow = (uint16_t)i,
		.bytes = flow->next.bytes,
		.sequence = (uint32_t)flow->measured.sent++,
		.d = flow->best_effort ? 0 : (int32_t)flow->budget_ns,
		.n = flow->best_effort ? 0 : flow->hops};
	flow->next = lsim_source_next(&flow->source);
	lsim_events_set(&w->events, i, flow->next.at_ps);
	if (!flow->best_effort && --w->frames == 0)
		stop_sources(w);
	arrive(w, f);
}

static void received(struct lsim_network *w, struct lsim_frame *f)
{
	struct lsim_flow *flow = &w->flows[f->flow];
	struct lsim_measured *m = &flow->measured;
	const int64_t tau = (int64_t)w->tau_ns;

	m->received++;
	m->bytes += f->bytes + BP_LCL_LINK_OVERHEAD;
	lsim_spread_add(&m->delay, f->delay_ps);
	m->reordered += f->sequence < m->next_sequence;
	if (f->sequence >= m->next_sequence)
		m->next_sequence = f->sequence + 1;
	if (!flow->best_effort) {
		const uint64_t seen = f->waited_ns * LSIM_PS;

		if (f->delay_ps > seen + m->unseen_ps)
			m->unseen_ps = f->delay_ps - seen;
		m->early += f->d > tau;
		m->late += f->d < -tau;
		m->wrong += f->n != 0 || (int64_t)flow->budget_ns - f->d != (int64_t)f->waited_ns;
		if (w->series_ps != 0 && !lsim_series_add(m, f->in_ps / w->series_ps, f->delay_ps))
			w->no_memory = true;
	}
	frame_done(w, f);
}

/* waited within d/n +- tau, without the rounding of d/n */
static bool is_outside(const struct lsim_departure *d, uint8_t n, uint64_t tau_ns)
{
	const int64_t off = (int64_t)d->waited_ns * n - d->d;

	return off > (int64_t)(tau_ns * n) || -off > (int64_t)(tau_ns * n);
}

static void on_departure(void *arg, const struct lsim_departure *d)
{
	struct lsim_network *w = arg;
	struct lsim_flow *flow = &w->flows[d->frame->flow];
	struct lsim_hop *hop = &flow->measured.hop[d->frame->hop - 1];

	w->departures++;
	lsim_spread_add(&hop->wait, d->wait_ps);
	if (!flow->best_effort && is_outside(d, (uint8_t)(d->frame->n + 1), w->tau_ns))
		hop->outside++;
	flow->measured.wrong += !d->accounts;
}

/* False: the scheduler announced a departure for now, and had none. */
static bool port_due(struct lsim_network *w, uint32_t port)
{
	const unsigned n = lsim_port_take(&w->ports[port], w->now_ps, on_departure, w);

	port_changed(w, port);
	if (n == 0)
		return w->events.at[w->n_flows + port] > w->now_ps;
	link_changed(w, port);
	return true;
}

static void link_due(struct lsim_network *w, uint32_t port)
{
	struct lsim_frame *f = lsim_list_take(&w->ports[port].flying);

	link_changed(w, port);
	if (f->hop == w->flows[f->flow].hops)
		received(w, f);
	else
		arrive(w, f);
}

const char *lsim_network_run(struct lsim_network *w, uint64_t frames)
{
	w->frames = frames;
	for (uint32_t i = 0; i < w->n_flows; i++) {
		w->flows[i].next = lsim_source_next(&w->flows[i].source);
		lsim_events_set(&w->events, i, w->flows[i].next.at_ps);
	}
	while (!w->no_memory) {
		const uint32_t thing = lsim_events_first(&w->events);

		if (w->events.at[thing] == LSIM_NEVER)
			return w->in_use == 0 ? NULL
					      : "a scheduler holds frames and never sends them";
		w->now_ps = w->events.at[thing];
		if (thing < w->n_flows)
			source_due(w, thing);
		else if (thing >= w->n_flows + w->n_ports)
			link_due(w, thing - w->n_flows - w->n_ports);
		else if (!port_due(w, thing - w->n_flows))
			return "a scheduler announced a departure and had none";
	}
	return "no memory";
}
