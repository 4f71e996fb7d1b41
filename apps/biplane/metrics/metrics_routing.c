/* SPDX-License-Identifier: BSD-3-Clause */
/* Synchronization with the kernel, and how full tables are. */
#include "apps/biplane/metrics/metric.h"
#include "controlplane/sync/sync.h"
#include "services/mqtt/flow_show.h"

/* ---- synchronization ---- */

/* Nothing routes without routed ports; the words are 0 then. */
static bool routes(const struct bp_metrics *m)
{
	return m->shm->fib.max_routes != 0;
}

static uint32_t control32(const struct bp_metrics *m, size_t at)
{
	return __atomic_load_n((const uint32_t *)(const void *)((const char *)m->shm->control + at),
		__ATOMIC_RELAXED);
}

static void read_state(struct bp_metrics *m, const struct bp_metric *row)
{
	static const char *const state[] = {
		[BP_SYNC_OFF] = "off",
		[BP_SYNC_LOADING] = "loading",
		[BP_SYNC_SYNCED] = "synced",
		[BP_SYNC_HELD] = "held",
	};

	for (unsigned i = 0; routes(m) && i < sizeof(state) / sizeof(state[0]); i++)
		bp_metric_count(m, BP_LABELS({"state", state[i]}), control32(m, row->at) == i);
}

static void read_netlink(struct bp_metrics *m, const struct bp_metric *row)
{
	if (routes(m))
		bp_metric_read_control(m, row);
}

static void read_netlink32(struct bp_metrics *m, const struct bp_metric *row)
{
	if (routes(m))
		bp_metric_count(m, BP_NO_LABELS, control32(m, row->at));
}

static void read_load(struct bp_metrics *m, const struct bp_metric *row)
{
	if (routes(m))
		bp_metric_seconds(m, BP_NO_LABELS, bp_metric_load(m->shm->control, row->at));
}

static void read_fib(struct bp_metrics *m, const struct bp_metric *row)
{
	if (routes(m))
		bp_metric_count(m, BP_NO_LABELS, bp_metric_load(m->shm->fib.control, row->at));
}

static void read_vrfs_refused(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	if (routes(m))
		bp_metric_count(m, BP_NO_LABELS,
			atomic_load_explicit(
				&m->shm->fib.control->vrfs_refused, memory_order_relaxed));
}

#define NETLINK(name_, type_, reader, member, help_)                                               \
	{                                                                                          \
		.name = "netlink_" name_, .type = type_, .labels = "", .help = help_,              \
		.read = reader, .at = offsetof(struct bp_shm_control, cp_sync_##member)            \
	}
static const struct bp_metric netlink[] = {
	{.name = "netlink_state",
		.type = BP_METRIC_GAUGE,
		.labels = "state",
		.help = "State of the synchronization with the tables of the kernel: 1 for the "
			"current state",
		.read = read_state,
		.at = offsetof(struct bp_shm_control, cp_sync_state)},
	NETLINK("events", BP_METRIC_COUNTER, read_netlink, events,
		"Netlink messages applied, without those of dumps"),
	NETLINK("resyncs", BP_METRIC_COUNTER, read_netlink, resyncs, "Dumps of all kernel tables"),
	NETLINK("overruns", BP_METRIC_COUNTER, read_netlink, overruns,
		"Overruns of the receive buffer, each followed by a dump"),
	NETLINK("probes", BP_METRIC_COUNTER, read_netlink, probes,
		"Neighbor probes requested from the kernel"),
	NETLINK("punted_prefixes", BP_METRIC_GAUGE, read_netlink32, punted,
		"Prefixes that the kernel forwards instead"),
	{.name = "netlink_load_duration_seconds",
		.type = BP_METRIC_GAUGE,
		.unit = "seconds",
		.labels = "",
		.help = "Duration of the last dump",
		.read = read_load,
		.at = offsetof(struct bp_shm_control, cp_sync_loaded_ns)},
	{.name = "fib_changes",
		.type = BP_METRIC_COUNTER,
		.labels = "",
		.help = "Changes of the forwarding tables",
		.read = read_fib,
		.at = offsetof(struct bp_fib_control, changes)},
	{.name = "fib_rejected",
		.type = BP_METRIC_COUNTER,
		.labels = "",
		.help = "Routes and neighbors not installed: table full",
		.read = read_fib,
		.at = offsetof(struct bp_fib_control, rejected_total)},
	{.name = "fib_interfaces_vrf_not_copied",
		.type = BP_METRIC_GAUGE,
		.labels = "",
		.help = "Interfaces in VRFs beyond the limit or with the local table: the kernel "
			"forwards their packets",
		.read = read_vrfs_refused},
	{.name = "fib_repairs",
		.type = BP_METRIC_COUNTER,
		.labels = "",
		.help = "Inconsistent entries that a new control plane repaired",
		.read = read_fib,
		.at = offsetof(struct bp_fib_control, repairs)},
	{.name = NULL},
};

/* ---- tables ---- */

struct fill {
	const char *table;
	uint64_t entries, capacity; /* capacity 0: not configured */
};

static void add_fill(struct bp_metrics *m, const struct bp_metric *row, const struct fill *f)
{
	if (f->capacity != 0)
		bp_metric_count(
			m, BP_LABELS({"table", f->table}), row->at ? f->capacity : f->entries);
}

static uint32_t word32(const _Atomic uint32_t *w)
{
	return atomic_load_explicit((_Atomic uint32_t *)w, memory_order_relaxed);
}

static void fib_fill(struct bp_metrics *m, const struct bp_metric *row)
{
	const struct bp_fib *f = &m->shm->fib;
	const struct fill tables[] = {
		{"routes_ipv4", word32(&f->control->routes4), f->max_routes4},
		{"routes_ipv6", word32(&f->control->routes6), f->max_routes6},
		{"neighbors", word32(&f->control->neighbors), f->max_neighbors},
		{"nexthops", word32(&f->control->nexthops), f->max_nexthops},
		{"nexthop_groups", word32(&f->control->groups), f->max_groups},
		{"lpm_lines", word32(&f->control->lines), f->max_lines},
	};

	for (size_t i = 0; routes(m) && i < sizeof(tables) / sizeof(tables[0]); i++)
		add_fill(m, row, &tables[i]);
}

static uint64_t agg_streams(const struct bp_metrics *m)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < BP_AGG_RULES_MAX; i++)
		sum = bp_metric_add(
			sum, bp_metric_sum(m, m->shm->agg.stats, sizeof(struct bp_agg_stats),
				     BP_AGG_RULES_MAX, i, offsetof(struct bp_agg_stats, streams)));
	return sum;
}

static void service_fill(struct bp_metrics *m, const struct bp_metric *row)
{
	const struct bp_phd_tables *phd = &m->shm->phd;
	struct bp_flow_usage flows;
	const bool has_phd = phd->n_slots != 0, has_agg = m->shm->agg.plan != NULL;
	bp_flow_usage(m->shm->flows, m->shm->flows_len, m->shm->workers, &flows);

	const struct fill tables[] = {
		{"connections", flows.flows, flows.max_flows},
		{"rules", m->n_rules, bp_metrics_has_mqtt(m) ? m->shm->max_rules : 0},
		{"health_sessions", has_phd ? word32(&phd->control->sessions) : 0,
			has_phd ? phd->max_sessions : 0},
		{"health_configurations", has_phd ? word32(&phd->control->layouts) : 0,
			has_phd ? phd->max_layouts : 0},
		{"aggregation_streams", has_agg ? agg_streams(m) : 0,
			has_agg ? (uint64_t)m->shm->agg.streams * m->shm->workers : 0},
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		add_fill(m, row, &tables[i]);
}

/*
 * The tables of rules have no count of their entries, since workers share them without a lock.
 * Their keys are hashes under a secret key, so any part of a table is as full as the whole: a part
 * of bounded size is counted.
 */
#define SAMPLE 4096u

struct cells {
	const char *table;
	const void *key; /* of the first cell: _Atomic uint64_t, 0: free */
	size_t stride;   /* bytes of a cell */
	uint64_t n;      /* cells */
	uint64_t capacity;
};

static uint64_t estimate(const struct cells *c)
{
	const uint64_t n = c->n < SAMPLE ? c->n : SAMPLE;
	uint64_t used = 0;

	for (uint64_t i = 0; i < n; i++)
		used += bp_metric_load(c->key, i * c->stride) != 0;
	return n == 0 ? 0 : used * c->n / n;
}

static uint64_t windows(const struct bp_window_table *t)
{
	const uint64_t n = t->buckets < SAMPLE ? t->buckets : SAMPLE;
	uint64_t used = 0;

	for (uint64_t i = 0; i < n; i++)
		for (unsigned w = 0; w < BP_WINDOW_WAYS; w++)
			used += bp_metric_load(&t->bucket[i].key[w], 0) != 0;
	return n == 0 ? 0 : used * t->buckets / n;
}

/* They have more cells than entries are configured (bp_rule_state_len() and its like). */
static void rules_fill(struct bp_metrics *m, const struct bp_metric *row)
{
	const struct bp_shm *s = m->shm;
	const struct cells tables[] = {
		{"alarm_states", &s->rule_state->key, sizeof(*s->rule_state), s->rule_state_len,
			s->rule_state_len / 2},
		{"sparkplug_metrics", &s->sparkplug->word, sizeof(*s->sparkplug), s->sparkplug_len,
			s->sparkplug_len / 2},
		{"watched_topics", &s->watch.entry->key, sizeof(*s->watch.entry), s->watch.len,
			s->watch.len * 2 / 3},
		{"combination_values", &s->part_state->key, sizeof(*s->part_state),
			s->part_state_len, s->part_state_len / 2},
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		add_fill(m, row,
			&(struct fill){tables[i].table, estimate(&tables[i]), tables[i].capacity});
	add_fill(m, row,
		&(struct fill){
			"windows", windows(&s->windows), s->windows.buckets * BP_WINDOW_WAYS / 2});
}

static void fdb_fill(struct bp_metrics *m, const struct bp_metric *row)
{
	const struct bp_shm_usage *u = &m->shm->global->usage;
	char bridge[BP_METRIC_TEXT(sizeof(u->fdb->name))];

	for (unsigned b = 0; b < BP_MAX_BRIDGES; b++) {
		const uint64_t capacity = bp_metric_load(&u->fdb[b].capacity, 0);

		if (capacity == 0)
			continue;
		bp_metric_text(bridge, sizeof(bridge), u->fdb[b].name, sizeof(u->fdb[b].name));
		bp_metric_count(m, BP_LABELS({"table", "fdb"}, {"bridge", bridge}),
			row->at ? capacity : bp_metric_load(&u->fdb[b].entries, 0));
	}
}

static void read_fill(struct bp_metrics *m, const struct bp_metric *row)
{
	fdb_fill(m, row);
	fib_fill(m, row);
	service_fill(m, row);
	if (bp_metrics_has_mqtt(m))
		rules_fill(m, row);
}

static void read_pools(struct bp_metrics *m, const struct bp_metric *row)
{
	const struct bp_shm_usage *u = &m->shm->global->usage;
	char node[BP_METRIC_INDEX];

	for (unsigned i = 0; i < BP_FAULT_POOLS; i++)
		if (bp_metric_load(&u->pool[i].mbufs, 0) != 0)
			bp_metric_count(m, BP_LABELS({"numa", bp_metric_index(i, node)}),
				bp_metric_load(&u->pool[i], row->at));
}

static const struct bp_metric tables[] = {
	{.name = "table_entries",
		.type = BP_METRIC_GAUGE,
		.labels = "table,bridge?",
		.help = "Entries of a table in use; of alarm_states, sparkplug_metrics, "
			"watched_topics, combination_values and windows: an estimate from a part "
			"of the table",
		.read = read_fill,
		.at = 0},
	{.name = "table_capacity",
		.type = BP_METRIC_GAUGE,
		.labels = "table,bridge?",
		.help = "Entries that a table can hold; fdb: of one port",
		.read = read_fill,
		.at = 1},
	{.name = "mbufs_free",
		.type = BP_METRIC_GAUGE,
		.labels = "numa",
		.help = "Free mbufs of the pool of a NUMA node",
		.read = read_pools,
		.at = sizeof(uint64_t)},
	{.name = "mbufs",
		.type = BP_METRIC_GAUGE,
		.labels = "numa",
		.help = "Mbufs of the pool of a NUMA node",
		.read = read_pools,
		.at = 0},
	{.name = NULL},
};

const struct bp_metric_table bp_metrics_routing[] = {
	{"Routing", netlink},
	{"Tables and memory", tables},
	{NULL, NULL},
};
