/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/connection_events.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/policy_cache.h"
#include "services/mqtt/publications.h"

#include <stdio.h>
#include <stdlib.h>

#include "services/mqtt/flow_show.h"
#include "services/mqtt/same_template.h"
#include "services/mqtt/sparkplug_layouts.h"
#include "services/mqtt/sparkplug_notes.h"

/* ---- life cycle ---- */

/* Generation 0: no rules. */
static const struct bp_ruleset no_rules;

static void set_options(struct bp_mqtt_worker *in, const struct bp_mqtt_options *o)
{
	in->n_ports = o->n_ports;
	in->n_websocket_ports = o->n_websocket_ports;
	memcpy(in->port, o->ports, sizeof(in->port));
	in->n_brokers = o->n_brokers;
	memcpy(in->brokers, o->brokers, sizeof(in->brokers));
	memcpy(in->evaluates, o->evaluates, sizeof(in->evaluates));
	in->mosquitto = o->mosquitto;
	in->acknowledged = o->acknowledged;
	/* excluded: QoS 2, or DUP, which is counted; and QoS 1 that waits for its
	 * acknowledgement */
	in->single_mask = in->acknowledged ? 0xfe : 0xfc;
	in->reassembly_per_flow = o->reassembly_per_flow;
	in->reassembly_unproven = o->reassembly_unproven / o->workers;
	in->reorder_bytes = o->reorder_bytes;
	in->max_aliases = o->max_topic_aliases;
	in->resync_pushes = o->resync_pushes;
	bp_work_init(&in->work, o->work_budget, o->worker_budget);
	in->min_ttl = o->min_ttl;
	in->separate_vrfs = o->separate_vrfs;
}

/* The segment memory of this worker, without the flow table. */
static void set_tables(struct bp_mqtt_worker *in, struct bp_shm *shm, unsigned worker)
{
	in->worker = worker;
	in->workers = shm->workers;
	in->counters = &shm->counters[worker];
	in->rule_stats = &shm->rule_stats[(uint64_t)worker * shm->max_rules];
	in->policy_stats = &shm->policy_stats[(uint64_t)worker * shm->policy_slots];
	in->policy_slots = shm->policy_slots;
	in->policy_rates = &shm->policy_rates;
	in->policy_connections = &shm->policy_connections;
	in->rule_state = shm->rule_state;
	in->rule_state_len = shm->rule_state_len;
	in->sparkplug = shm->sparkplug;
	in->sparkplug_len = shm->sparkplug_len;
	in->part_state = shm->part_state;
	in->part_state_len = shm->part_state_len;
	in->windows = shm->windows;
	in->ring = bp_shm_ring(shm, worker);
	in->next_alarm_id = &shm->shared->next_alarm_id;
	in->events = bp_shm_events(shm, worker);
	bp_event_ring_open(&in->events);
	in->topic_key[0] = shm->global->hash_key[0];
	in->topic_key[1] = shm->global->hash_key[1];
}

/* False: no memory, or the arena is too large. `shm`: where connections are shared.
 */
static bool allocate(
	struct bp_mqtt_worker *in, uint64_t arena, uint32_t max_proven, struct bp_shm *shm)
{
	in->reassembly = bp_reassembly_create(
		(uint8_t *)in->journal + BP_JOURNAL_BYTES, arena, in->reassembly_per_flow);
	in->cache = calloc(BP_TOPIC_CACHE, sizeof(*in->cache));
	in->policy_cache = aligned_alloc(64, sizeof(*in->policy_cache));
	if (in->policy_cache != NULL)
		memset(in->policy_cache, 0, sizeof(*in->policy_cache));
	in->layouts = bp_layouts_create();
	in->same_template = calloc(1, sizeof(*in->same_template));
	in->sparkplug_index = malloc(sizeof(*in->sparkplug_index));
	in->sparkplug_notes = bp_sparkplug_notes_create();
	in->sparkplug_layouts = bp_sparkplug_layouts_create();
	in->to = malloc(2 * BP_TOPIC_MAX);
	in->data_topic = in->to + BP_TOPIC_MAX;
	in->key_topic = malloc(BP_TOPIC_MAX);
	in->delayed = bp_delayed_create(max_proven);
	in->fleet = shm != NULL ? bp_fleet_worker_create(shm, in->worker) : NULL;
	if (shm != NULL && in->fleet == NULL)
		return false;
	return in->reassembly != NULL && in->cache != NULL && in->policy_cache != NULL &&
	       in->layouts != NULL && in->same_template != NULL && in->sparkplug_index != NULL &&
	       in->sparkplug_notes != NULL && in->sparkplug_layouts != NULL && in->to != NULL &&
	       in->key_topic != NULL && in->delayed != NULL && bp_websocket_create(in);
}

struct bp_mqtt_worker *bp_mqtt_worker_create(const struct bp_mqtt_options *o, struct bp_shm *shm,
	unsigned worker, bool record_mirrored, char *err, size_t err_size)
{
	struct bp_mqtt_worker *in = aligned_alloc(64, (sizeof(*in) + 63) / 64 * 64);
	const struct bp_flow_bounds bounds = bp_flow_bounds(o);
	const uint64_t bytes = bp_flow_table_bytes(bounds);
	uint64_t arena;

	if (in == NULL) {
		snprintf(err, err_size, "no memory for inspection");
		return NULL;
	}
	memset(in, 0, sizeof(*in));
	if (bytes * (worker + 1) > shm->flows_len) {
		snprintf(err, err_size, "the segment has no flow table for worker %u", worker);
		free(in);
		return NULL;
	}
	set_options(in, o);
	set_tables(in, shm, worker);
	in->record_mirrored = record_mirrored;
	in->table_stride = bytes;
	arena = shm->reassembly_len / shm->workers;
	in->journal = (struct bp_journal *)(void *)(shm->reassembly + worker * arena);
	arena -= BP_JOURNAL_BYTES;
	in->absence = bp_absence_create(shm, worker, shm->max_rules, record_mirrored);
	in->window_search =
		bp_window_search_create(&in->windows, worker, shm->workers, record_mirrored);
	if (in->absence == NULL || in->window_search == NULL ||
		!allocate(in, arena, bounds.proven, o->shares_connections ? shm : NULL)) {
		snprintf(err, err_size,
			"no memory for inspection, or mqtt.carry_total is too large: %llu bytes "
			"a worker; lower it",
			(unsigned long long)arena);
		bp_mqtt_worker_free(in);
		return NULL;
	}
	bp_flow_table_attach(&in->table, shm->flows + (uint64_t)worker * bytes, bounds,
		shm->global->hash_key, o->idle_ns, o->handshake_ns);
	in->table.counters = in->counters;
	in->table.release = bp_flow_release_all;
	in->table.release_arg = in;
	in->table.removed = bp_event_flow_removed;
	in->rules = &no_rules;
	in->gen = 1;
	/* the workers are created in their order, before one of them runs */
	if (worker == 0)
		bp_policy_connections_clear(in->policy_connections);
	in->not_adopted = bp_adopt(in, o, worker);
	return in;
}

void bp_mqtt_worker_free(struct bp_mqtt_worker *in)
{
	if (in == NULL)
		return;
	bp_reassembly_destroy(in->reassembly);
	free(in->cache);
	free(in->policy_cache);
	bp_layouts_free(in->layouts);
	free(in->same_template);
	free(in->sparkplug_index);
	free(in->sparkplug_notes);
	bp_sparkplug_layouts_free(in->sparkplug_layouts);
	free(in->unmasked);
	free(in->to);
	free(in->key_topic);
	free(in->delayed);
	free(in->absence);
	free(in->window_search);
	free(in->fleet);
	free(in);
}

void bp_mqtt_worker_set_mirror(struct bp_mqtt_worker *in, bp_mirror_fn fn, void *arg)
{
	in->mirror = fn;
	in->mirror_arg = arg;
}

void bp_mqtt_worker_set_is_forwarded(struct bp_mqtt_worker *in, bp_is_forwarded_fn fn, void *arg)
{
	in->is_forwarded = fn;
	in->is_forwarded_arg = arg;
}

void bp_mqtt_worker_set_evaluated(struct bp_mqtt_worker *in, bp_mqtt_evaluated_fn fn, void *arg)
{
	in->evaluated = fn;
	in->evaluated_arg = arg;
}

void bp_mqtt_worker_set_clock(struct bp_mqtt_worker *in, bp_mqtt_clock_fn fn, const void *arg)
{
	in->clock = fn;
	in->clock_arg = arg;
}

static void use_rules(struct bp_mqtt_worker *in, const struct bp_ruleset *rules)
{
	const uint32_t gen = bp_flow_generation(rules->generation);

	in->rules = rules;
	if (__builtin_expect(in->gen == gen, 1))
		return;
	in->gen = gen;
	bp_policy_reload_begin(in);
}

void bp_mqtt_worker_follow_pauses(struct bp_mqtt_worker *in, const uint64_t *resumed_ns)
{
	if (in->fleet != NULL)
		in->resumed_ns = resumed_ns;
}

void bp_mqtt_worker_follow_time(struct bp_mqtt_worker *in, const uint64_t *real_ns)
{
	in->real_ns = real_ns;
}

void bp_mqtt_worker_share(struct bp_mqtt_worker *in, unsigned share, unsigned shares)
{
	bp_absence_share(in->absence, share, shares);
	bp_window_share(in->window_search, &in->windows, share, shares);
}

uint64_t bp_mqtt_worker_timer(const struct bp_mqtt_worker *in)
{
	const uint64_t absence = bp_absence_due(in), window = bp_window_timer(in);

	return absence < window ? absence : window;
}

void bp_mqtt_worker_follow_rules(struct bp_mqtt_worker *in, const struct bp_ruleset *const *active)
{
	in->active_rules = active;
}

void bp_mqtt_worker_begin(struct bp_mqtt_worker *in, const struct bp_ruleset *rules,
	uint64_t now_ns, uint64_t mono_ns)
{
	use_rules(in, rules);
	in->now_ns = now_ns;
	in->mono_ns = mono_ns;
	/* another gateway may change the state of a combination */
	if (__builtin_expect(in->steady_since_ns == 0, 0))
		in->steady_since_ns = in->fleet != NULL ? UINT64_MAX : mono_ns;
	in->now_ticks = bp_ticks(mono_ns);
	in->table.now = in->now_ticks;
	in->confirms = in->resumed_ns != NULL && bp_fleet_confirms(*in->resumed_ns, mono_ns);
	bp_work_time(&in->work, mono_ns);
	in->table.header->now = in->now_ticks;
}

static bool is_inspected(const struct bp_mqtt_worker *in, uint16_t port)
{
	for (uint32_t i = 0; i < in->n_ports; i++)
		if (port == in->port[i])
			return true;
	return false;
}

/* The destination first: a client that uses an inspected port as its own is no broker. */
bool bp_mqtt_worker_inspects(
	const struct bp_mqtt_worker *in, uint16_t sport, uint16_t dport, bool *to_broker)
{
	*to_broker = is_inspected(in, dport);
	return *to_broker || is_inspected(in, sport);
}

bool bp_mqtt_worker_is_ambiguous(const struct bp_mqtt_worker *in, uint16_t sport, uint16_t dport)
{
	return is_inspected(in, sport) && is_inspected(in, dport);
}

/* A walk's share of expiry: small against a burst, enough for any rate of new connections. */
#define EXPIRE_BUDGET 64

void bp_mqtt_worker_tick(struct bp_mqtt_worker *in, uint64_t mono_ns)
{
	/* of the alarms of wills, and of events */
	if (in->real_ns != NULL)
		in->now_ns = *in->real_ns;
	else if (in->now_ns != 0 && mono_ns > in->mono_ns)
		in->now_ns += mono_ns - in->mono_ns;
	in->mono_ns = mono_ns;
	/* the worker has released the rules of its last burst if a reload replaced them */
	if (in->active_rules != NULL && *in->active_rules != NULL)
		use_rules(in, *in->active_rules);
	bp_flow_expire(&in->table, mono_ns, EXPIRE_BUDGET);
	bp_delayed_expire(in, mono_ns, EXPIRE_BUDGET);
	bp_alarms_commit(in); /* of wills */
	bp_absence_tick(in);
	bp_window_tick(in);
	bp_fleet_tick(in);
	bp_policy_reload_tick(in);
	in->table.header->flows = in->table.count;
	in->table.header->max_flows = in->table.capacity + in->table.max_unproven;
	in->table.header->reassembly_used = bp_reassembly_used(in->reassembly);
}

void bp_mqtt_worker_end_delays(struct bp_mqtt_worker *in)
{
	bp_delayed_expire(in, UINT64_MAX, UINT32_MAX);
	bp_alarms_commit(in);
}

uint32_t bp_mqtt_worker_flows(const struct bp_mqtt_worker *in)
{
	return in->table.count;
}

uint64_t bp_mqtt_worker_work(const struct bp_mqtt_worker *in)
{
	return in->work.total;
}

const char *bp_mqtt_worker_not_adopted(const struct bp_mqtt_worker *in)
{
	return in->not_adopted;
}

uint64_t bp_mqtt_worker_carried(const struct bp_mqtt_worker *in)
{
	return bp_reassembly_used(in->reassembly);
}

/* ---- work: work.h ---- */

/* Time in which a full account drains at its rate, 2^10 ns: 8 ms for a connection, 4 ms for the
 * worker. It bounds the delay of other traffic, and permits an occasional document of 1 MiB
 * without a loss of the publications after it. */
#define CONNECTION_DEPTH 8192u
#define WORKER_DEPTH 4096u

void bp_work_init(struct bp_work *w, uint32_t connection_percent, uint32_t worker_percent)
{
	memset(w, 0, sizeof(*w));
	w->rate = connection_percent * 1024 / 100;
	w->limit = w->rate * CONNECTION_DEPTH;
	w->worker_rate = worker_percent * 1024 / 100;
	w->worker_limit = w->worker_rate * WORKER_DEPTH;
}

/* Returns the current use. */
static uint32_t take(struct bp_work_account *a, uint32_t now, uint32_t rate, uint64_t units)
{
	uint64_t drained = (uint64_t)(now - a->at) * rate;
	uint64_t used = (a->used > drained ? a->used - drained : 0) + units;

	a->used = used < UINT32_MAX ? (uint32_t)used : UINT32_MAX;
	a->at = now;
	return a->used;
}

bool bp_work_settle(struct bp_work *w, uint32_t ahead)
{
	uint64_t units = w->done - w->allowed + ahead;
	uint32_t first =
		take(&w->account[0][(w->hash >> 20) % BP_WORK_ACCOUNTS], w->now, w->rate, units);
	uint32_t second =
		take(&w->account[1][(w->hash >> 42) % BP_WORK_ACCOUNTS], w->now, w->rate, units);
	uint32_t worker = take(&w->worker, w->now, w->worker_rate, units);
	uint32_t limit = w->limit;

	/* if the account of the worker is low, the connections with the highest use wait first */
	if (worker > w->worker_limit / 2)
		limit /= 8;
	w->worker_over = worker > w->worker_limit;
	w->over = w->worker_over || (first < second ? first : second) > limit;
	w->allowed = w->done + ahead;
	return !w->over;
}
