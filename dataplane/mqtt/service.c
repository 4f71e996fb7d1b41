/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "config/mqtt/settings.h"
#include "dataplane/mqtt/networks.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/ports/queue_plan.h"
#include "services/mqtt/inspect.h"
#include "shm/mqtt/mqtt_tables.h"
#include "daemon/log.h"

static int publish(const struct bp_config *c, struct bp_shm *shm, char *err, size_t err_size)
{
	const struct bp_config_mqtt *m = bp_config_mqtt(c);
	const struct bp_ruleset_input input = {.specs = m->rules,
		.n = m->n_rules,
		.max_rules = shm->max_rules,
		.clone = &m->mirror,
		.policy = &m->policy,
		.max_policy_rules = shm->max_policy_rules,
		.generation = 1};

	if (!m->enabled)
		return 0;
	if (bp_ruleset_compile(bp_generation_bank(&shm->rules, 0), shm->rules.bank_size, &input,
		    err, err_size) != 0)
		return -1;
	bp_generation_publish(&shm->rules, 1 << 1);
	return 0;
}

static void reset(struct bp_shm *shm)
{
	bp_generation_reset(&shm->rules);
	memset(shm->rule_stats, 0,
		(size_t)shm->workers * shm->max_rules * sizeof(*shm->rule_stats));
	memset(shm->policy_stats, 0,
		(size_t)shm->workers * shm->policy_slots * sizeof(*shm->policy_stats));
}

static bool enabled(const struct bp_service_setup *s)
{
	return bp_config_mqtt(s->config)->enabled;
}

static void report_adopted(const struct bp_mqtt_worker *in, unsigned worker)
{
	const char *why = bp_mqtt_worker_not_adopted(in);
	const uint32_t n = bp_mqtt_worker_flows(in);

	if (why != NULL)
		bp_log_event(BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_NUM("worker", worker)),
			"mqtt: connections not adopted: %s", why);
	else if (n != 0)
		bp_log_event(BP_LOG_INFO,
			BP_LOG_FIELDS(BP_LOG_NUM("worker", worker), BP_LOG_NUM("connections", n)),
			"mqtt: connections adopted");
}

static void *create(const struct bp_service_setup *s, char *err, size_t err_size)
{
	struct bp_mqtt_options options;
	struct bp_mqtt_worker *in;

	bp_config_mqtt_options(s->config, &options);
	in = bp_mqtt_worker_create(
		&options, s->shm, s->worker->index, s->record_mirrored, err, err_size);
	if (in && !s->record_mirrored)
		report_adopted(in, s->worker->index);
	return in;
}

/* ---- the workers that search for silent topics: those with a receive queue ---- */

struct searchers {
	uint64_t workers; /* bit set */
};

static int create_shared(void **shared, const struct bp_config *c, const struct bp_queue_plan *plan,
	char *err, size_t err_size)
{
	struct searchers *s;

	if (!bp_config_mqtt(c)->enabled || c->n_workers == 1)
		return 0;
	s = calloc(1, sizeof(*s));
	if (s == NULL) {
		snprintf(err, err_size, "no memory for inspection");
		return -1;
	}
	for (unsigned p = 0; p < c->n_ports; p++)
		s->workers |= bp_queue_plan_workers(plan, p);
	*shared = s;
	return 0;
}

static void join(void *state, void *shared, unsigned index)
{
	const uint64_t workers = ((const struct searchers *)shared)->workers;

	if (workers >> index & 1)
		bp_mqtt_worker_share(state,
			(unsigned)__builtin_popcountll(workers & (((uint64_t)1 << index) - 1)),
			(unsigned)__builtin_popcountll(workers));
}

static void running(void *shared, unsigned index, bool runs)
{
	(void)shared;
	(void)index;
	(void)runs;
}

static const struct bp_service_shared_ops shared_ops = {create_shared, join, running, free};

static int begin(void *state, struct bp_worker *w, char *err, size_t err_size)
{
	(void)err;
	(void)err_size;
	bp_mqtt_worker_follow_rules(state, &w->rules);
	bp_mqtt_worker_follow_time(state, &w->now_ns);
	bp_mqtt_worker_follow_pauses(state, &w->away.resumed_ns);
	w->router.vrf_tables_changed = bp_networks_follow;
	bp_doorbell_watch(&w->doorbell, bp_shm_ring(w->shm, w->index));
	/* without a fleet there are no requests */
	if (w->shm->adopt_requests[w->index].capacity > BP_ADOPT_OFF_BYTES)
		bp_doorbell_watch(&w->doorbell, &w->shm->adopt_requests[w->index]);
	return 0;
}

static uint64_t read_clock(const void *clock)
{
	uint64_t real, mono;

	bp_clock_read(clock, rte_rdtsc(), &real, &mono);
	return mono;
}

static void start(void *state, const struct bp_clock *clock)
{
	bp_mqtt_worker_set_clock(state, read_clock, clock);
}

static void tick(void *state, uint64_t mono_ns)
{
	bp_mqtt_worker_tick(state, mono_ns);
}

static uint64_t timer(const void *state)
{
	return bp_mqtt_worker_timer(state);
}

static void release(void *state)
{
	bp_mqtt_worker_free(state);
}

static rte_edge_t enter(void *state, struct bp_worker *w, unsigned port, rte_edge_t next)
{
	(void)w;
	(void)state;
	(void)port;
	(void)next; /* node mqtt determines the edge of the frames of a port */
	return BP_EDGE_ETHERNET;
}

const struct bp_dataplane_service bp_dataplane_mqtt = {
	.name = "inspection",
	.id = BP_SERVICE_MQTT,
	.publish = publish,
	.shared = &shared_ops,
	.reset = reset,
	.enabled = enabled,
	.create = create,
	.begin = begin,
	.start = start,
	.tick = tick,
	.timer = timer,
	.free = release,
	.needs_time = true,
	.entry = {&bp_node_ethernet, &bp_node_mqtt},
	.n_entered = 1,
	.enter = enter,
};
