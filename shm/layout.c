/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/layout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "shm/aggregation/agg_shape.h"
#include "shm/fib/fib_tables.h"
#include "shm/hash.h"
#include "shm/lcl/lcl_shape.h"
#include "shm/health/phd_shape.h"
#include "shm/transform/transform_shape.h"
#include "shm/transform/transform_writer.h"

#define LAYOUT 7u /* of every element; raise it when a field changes its place or meaning */
#define MAX_RULES_MIN 1u
#define ALARM_RING_MIN 4096u

static uint64_t with_name(uint64_t h, unsigned i, const char *name)
{
	const uint64_t key[2] = {h, i};

	return bp_hash_bytes(key, name, strlen(name));
}

/* A counter that is renamed, added or moved makes another table. */
static uint64_t counters_version(void)
{
	uint64_t h = LAYOUT;

	for (unsigned i = 0; i < BP_C_COUNT; i++)
		h = with_name(h, i, bp_counter_info[i].name);
	return h;
}

/* Likewise. */
static uint64_t status_version(void)
{
	uint64_t h = LAYOUT;

	for (unsigned i = 0; i < BP_PHD_S_COUNT; i++) {
		h = with_name(h, i, bp_phd_status_group_name[bp_phd_status_info[i].group]);
		h = with_name(h, i, bp_phd_status_info[i].name);
	}
	return h;
}

/* a * b, or UINT64_MAX, which no segment can hold: bp_segment_open() then says so. */
static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t at_least(uint64_t v, uint64_t least)
{
	return v > least ? v : least;
}

static uint64_t whole_lines(uint64_t bytes)
{
	return bytes > UINT64_MAX - 63 ? bytes & ~63ull : (bytes + 63) & ~63ull;
}

enum table {
	T_GLOBAL,
	T_CONTROL,
	T_SHARED,
	T_COUNTERS,
	T_PORT_STATS,
	T_PORTS,
	T_NODES,
	T_RULES,
	T_RULE_STATS,
	T_RULE_STATE,
	T_ALARM_RING,
	T_ALARM_TAIL,
	T_ALARM_LOG,
	T_FLOWS,
	T_REASSEMBLY,
	T_TROUBLE,
	T_CP_FAULTS,
	T_FIB,                                     /* and what else belongs to it, in its order */
	T_PHD = T_FIB + BP_FIB_TABLES,             /* likewise */
	T_AGG = T_PHD + BP_PHD_TABLES,             /* likewise */
	T_TRANSFORM = T_AGG + BP_AGG_TABLES,       /* likewise */
	T_LCL = T_TRANSFORM + BP_TRANSFORM_TABLES, /* likewise */
	TABLES = T_LCL + BP_LCL_TABLES,
};

static const struct bp_table_shape own_shape[T_FIB] = {
	[T_GLOBAL] = {"global", sizeof(struct bp_shm_global), BP_SEG_DATA},
	[T_CONTROL] = {"control", sizeof(struct bp_shm_control), BP_SEG_CONTROL},
	[T_SHARED] = {"shared", sizeof(struct bp_shm_shared), BP_SEG_SHARED},
	[T_COUNTERS] = {"counters", sizeof(struct bp_counters), BP_SEG_DATA},
	[T_PORT_STATS] = {"port_stats", sizeof(struct bp_port_stats), BP_SEG_DATA},
	[T_PORTS] = {"ports", sizeof(struct bp_port_info), BP_SEG_DATA},
	[T_NODES] = {"nodes", sizeof(struct bp_node_info), BP_SEG_DATA},
	[T_RULES] = {"rules", 1, BP_SEG_CONTROL},
	[T_RULE_STATS] = {"rule_stats", sizeof(struct bp_rule_stats), BP_SEG_DATA},
	[T_RULE_STATE] = {"rule_state", sizeof(struct bp_rule_state), BP_SEG_DATA},
	[T_ALARM_RING] = {"alarm_ring", 1, BP_SEG_DATA},
	[T_ALARM_TAIL] = {"alarm_tail", sizeof(struct bp_ring_tail), BP_SEG_CONTROL},
	[T_ALARM_LOG] = {"alarm_log", sizeof(struct bp_alarm_log), BP_SEG_CONTROL},
	[T_FLOWS] = {"flows", 1, BP_SEG_DATA},
	[T_REASSEMBLY] = {"reassembly", 1, BP_SEG_DATA},
	[T_TROUBLE] = {"trouble", sizeof(struct bp_trouble_row), BP_SEG_DATA},
	[T_CP_FAULTS] = {"cp_faults", sizeof(struct bp_trouble_row), BP_SEG_CONTROL},
};

static const struct bp_table_shape *shape(unsigned t)
{
	if (t < T_FIB)
		return &own_shape[t];
	if (t < T_PHD)
		return &bp_fib_shape[t - T_FIB];
	if (t < T_AGG)
		return &bp_phd_shape[t - T_PHD];
	if (t < T_TRANSFORM)
		return &bp_agg_shape[t - T_AGG];
	return t < T_LCL ? &bp_transform_shape[t - T_TRANSFORM] : &bp_lcl_shape[t - T_LCL];
}

static uint64_t version(unsigned t)
{
	if (t == T_PHD + BP_PT_STATUS)
		return status_version();
	return t == T_COUNTERS ? counters_version() : LAYOUT;
}

static void capacities(const struct bp_config *c, uint64_t flow_bytes_per_worker, uint64_t *z)
{
	const struct bp_config_mqtt *m = &c->mqtt;
	const uint64_t workers = at_least(c->n_workers, 1);
	const uint32_t max_rules =
		m->enabled ? (uint32_t)at_least(m->max_rules, MAX_RULES_MIN) : MAX_RULES_MIN;
	const uint32_t states = m->enabled ? m->topic_states : 0;
	const uint64_t ring =
		BP_RING_OVERHEAD +
		bp_ring_capacity(at_least(m->enabled ? m->alarm_ring : 0, ALARM_RING_MIN));
	const uint64_t flows = whole_lines(at_least(m->enabled ? flow_bytes_per_worker : 0, 64));
	const uint64_t reassembly = at_least(m->enabled ? m->carry_total / workers : 0, 128);

	z[T_GLOBAL] = z[T_CONTROL] = z[T_SHARED] = 1;
	z[T_COUNTERS] = workers + BP_COUNTER_ROWS_BESIDE;
	z[T_PORT_STATS] = workers * BP_MAX_PORTS;
	z[T_PORTS] = at_least(c->n_ports, 1);
	z[T_NODES] = workers * BP_MAX_NODES;
	z[T_RULES] = 2 * bp_ruleset_bank_size(max_rules);
	z[T_RULE_STATS] = workers * max_rules;
	z[T_RULE_STATE] = bp_rule_state_len(states);
	z[T_ALARM_RING] = times(workers, ring);
	z[T_ALARM_TAIL] = workers;
	z[T_ALARM_LOG] = BP_ALARM_LOG_LEN;
	z[T_FLOWS] = times(workers, flows);
	z[T_REASSEMBLY] = times(workers, whole_lines(reassembly + BP_JOURNAL_BYTES));
	z[T_TROUBLE] = bp_trouble_rows((uint32_t)z[T_PORTS], (uint32_t)workers);
	z[T_CP_FAULTS] = BP_TROUBLE_OF_CONTROLPLANE;
	bp_fib_capacities(c, z + T_FIB);
	bp_phd_capacities(c, z + T_PHD);
	bp_agg_capacities(c, z + T_AGG);
	bp_transform_capacities(c, z + T_TRANSFORM);
	bp_lcl_capacities(c, z + T_LCL);
}

unsigned bp_shm_specs(
	const struct bp_config *c, uint64_t flow_bytes_per_worker, struct bp_seg_spec *specs)
{
	uint64_t z[TABLES];

	_Static_assert((unsigned)TABLES <= BP_SHM_SPECS_MAX, "raise BP_SHM_SPECS_MAX");
	capacities(c, flow_bytes_per_worker, z);
	for (unsigned t = 0; t < TABLES; t++)
		specs[t] = (struct bp_seg_spec){
			shape(t)->name, shape(t)->element_size, z[t], version(t), shape(t)->part};
	return TABLES;
}

static int tables_find(
	struct bp_segment *s, void **address, uint64_t *z, char *err, size_t err_size)
{
	for (unsigned t = 0; t < TABLES; t++) {
		address[t] = bp_segment_table(
			s, shape(t)->name, shape(t)->element_size, version(t), &z[t]);
		if (!address[t]) {
			snprintf(err, err_size,
				"segment %s has no table %s as this version of biplane knows it; "
				"run the "
				"version that made it, or restart biplane",
				bp_segment_path(s), shape(t)->name);
			return -1;
		}
	}
	return 0;
}

/* The sizes of the tables must agree with each other. */
static bool sizes_agree(const uint64_t *z)
{
	const uint64_t workers = z[T_PORT_STATS] / BP_MAX_PORTS;
	const uint64_t ring = workers ? z[T_ALARM_RING] / workers - BP_RING_OVERHEAD : 0;

	return workers > 0 && workers <= BP_MAX_WORKERS &&
	       z[T_PORT_STATS] == workers * BP_MAX_PORTS &&
	       z[T_COUNTERS] == workers + BP_COUNTER_ROWS_BESIDE &&
	       z[T_TROUBLE] == bp_trouble_rows((uint32_t)z[T_PORTS], (uint32_t)workers) &&
	       z[T_CP_FAULTS] == BP_TROUBLE_OF_CONTROLPLANE && z[T_PORTS] <= BP_MAX_PORTS &&
	       z[T_NODES] == workers * BP_MAX_NODES && z[T_RULES] % 128 == 0 &&
	       z[T_RULES] / 2 >= sizeof(struct bp_ruleset) && z[T_RULE_STATS] % workers == 0 &&
	       z[T_RULE_STATS] / workers <= UINT32_MAX &&
	       (z[T_RULE_STATE] & (z[T_RULE_STATE] - 1)) == 0 &&
	       z[T_RULE_STATE] >= BP_RULE_STATE_WAYS && z[T_ALARM_RING] % workers == 0 &&
	       ring >= ALARM_RING_MIN && ring == bp_ring_capacity(ring) &&
	       z[T_ALARM_TAIL] == workers && z[T_ALARM_LOG] == BP_ALARM_LOG_LEN &&
	       z[T_FLOWS] % workers == 0 && z[T_REASSEMBLY] % workers == 0 &&
	       bp_fib_sizes_agree(z + T_FIB) && bp_phd_sizes_agree(z + T_PHD, workers) &&
	       bp_agg_sizes_agree(z + T_AGG, workers) &&
	       bp_transform_sizes_agree(z + T_TRANSFORM, workers) && bp_lcl_sizes_agree(z + T_LCL);
}

static void key_fill(const struct bp_shm *m, uint64_t key[2])
{
	/* replay must give the same bytes every time, and nobody else's data goes into its hashes
	 */
	static const uint64_t fixed[2] = {0x9e3779b97f4a7c15ull, 0xd1b54a32d192ed03ull};
	struct timespec now;
	ssize_t n;

	memcpy(key, fixed, sizeof(fixed));
	if (bp_segment_path(m->segment)[0] == '\0')
		return;
	do
		n = getrandom(key, sizeof(fixed), 0);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(fixed))
		return;
	/* a kernel without getrandom(): still nothing that a remote device knows */
	clock_gettime(CLOCK_MONOTONIC, &now);
	key[0] = bp_mix64((uint64_t)now.tv_nsec ^ (uintptr_t)m->global);
	key[1] = bp_mix64((uint64_t)now.tv_sec ^ key[0]);
}

static bool key_sound(const uint64_t key[2])
{
	return (key[0] | key[1]) != 0;
}

/* Ids must go on increasing when the segment, and with it the last id, was lost. */
static uint64_t first_alarm_id(const struct bp_shm *m)
{
	struct timespec now;

	if (bp_segment_path(m->segment)[0] == '\0')
		return 1;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

/* The memory is zero but for what a process left that died in here. */
static void init_data(void *arg)
{
	struct bp_shm *m = arg;

	key_fill(m, m->global->hash_key);
	for (unsigned w = 0; w < BP_MAX_WORKERS; w++)
		atomic_store(&m->global->rules_seen[w], UINT64_MAX);
	bp_fib_init_readers(&m->fib);
	bp_transform_init(&m->transform);
}

/* Records that another control plane's part told of as unread are not known any more. */
static void init_control(void *arg)
{
	struct bp_shm *m = arg;

	/* a data plane that runs goes on with the key that it knows */
	memcpy(m->control->hash_key, m->global->control_key, sizeof(m->control->hash_key));
	if (!key_sound(m->control->hash_key))
		key_fill(m, m->control->hash_key);
	for (unsigned w = 0; w < m->workers; w++)
		bp_ring_release_all(bp_shm_ring(m, w));
	for (unsigned w = 0; w < m->phd.workers; w++)
		bp_ring_release_all(bp_phd_events(&m->phd, w));
	bp_fib_init_control(&m->fib);
}

static void init_shared(void *arg)
{
	struct bp_shm *m = arg;

	atomic_store(&m->shared->next_alarm_id, first_alarm_id(m));
	bp_fib_init_nexthops(&m->fib);
}

static int initialise(struct bp_shm *m, char *err, size_t err_size)
{
	static void (*const init[BP_SEG_PARTS])(void *) = {
		[BP_SEG_DATA] = init_data,
		[BP_SEG_CONTROL] = init_control,
		[BP_SEG_SHARED] = init_shared,
	};

	for (unsigned p = 0; p < BP_SEG_PARTS; p++) {
		if (bp_segment_initialise(m->segment, p, init[p], m, err, err_size) != 0)
			return -1;
	}
	return 0;
}

/* Whether what is in force can be trusted. Looks until it was not a reload that it saw. */
static bool rules_sound(const struct bp_shm *m)
{
	uint64_t active;
	bool valid;

	do {
		active = atomic_load(&m->control->rules_active);
		valid = bp_ruleset_valid(bp_shm_rules(m, active), m->rules_bank_size, m->max_rules);
	} while (!valid && active != atomic_load(&m->control->rules_active));
	return valid;
}

static bool transform_bank_sound(const struct bp_transform_tables *t, uint64_t active)
{
	const struct bp_transform_bank *bank = bp_transform_bank_at(t, active);

	return bank->generation == active >> 1 && bp_transform_valid(bank, t->matrices);
}

static bool transform_sound(const struct bp_transform_tables *t)
{
	uint64_t active;
	bool valid;

	do {
		active = t->head == NULL ? 0 : atomic_load(&t->head->active);
		valid = active == 0 || transform_bank_sound(t, active);
	} while (!valid && active != atomic_load(&t->head->active));
	return valid;
}

/* Ids only grow, from the time of the first: half of the numbers are out of reach. */
static bool alarm_id_sound(uint64_t id)
{
	return id != 0 && id <= INT64_MAX;
}

const char *bp_shm_unsound(const struct bp_shm *m, unsigned part)
{
	if (part == BP_SEG_DATA)
		return key_sound(m->global->hash_key) ? NULL : "its hash key is zero";
	if (part == BP_SEG_SHARED)
		return alarm_id_sound(atomic_load(&m->shared->next_alarm_id))
			       ? NULL
			       : "the next alarm's number can't be";
	if (!key_sound(m->control->hash_key))
		return "its hash key is zero";
	if (!rules_sound(m))
		return "its rules are damaged";
	return transform_sound(&m->transform) ? NULL : "its coordinate transformation is damaged";
}

/* What ends with a part; the rest of it comes from the configuration, the kernel and the store. */
static const char *const lost_with[BP_SEG_PARTS] = {
	[BP_SEG_DATA] = "connections, alarm states, alarms that were not read yet, and counters",
	[BP_SEG_CONTROL] = "alarms that were not read yet, matrices that were set at run time, "
			   "and the log of alarms",
	[BP_SEG_SHARED] = "neighbors, sessions of health devices that are not in the store, and "
			  "the number of restarts",
};

bool bp_shm_change_text(const struct bp_segment *s, unsigned part, char *out, size_t size)
{
	const char *why, *aside;
	const enum bp_seg_change change = bp_segment_change(s, part, &why, &aside);

	if (change == BP_SEG_REPLACED)
		snprintf(out, size, "%s; it is replaced by a new one without: %s", why,
			lost_with[part]);
	else if (change == BP_SEG_QUARANTINED)
		snprintf(out, size, "%s; %s%s, and a new one is made without: %s", why,
			aside[0] ? "it is kept as " : "there was no room to keep it", aside,
			lost_with[part]);
	return change == BP_SEG_REPLACED || change == BP_SEG_QUARANTINED;
}

/* The views of the alarms' rings, and behind them memory for those of events. */
static int rings_attach(
	struct bp_shm *m, void *const *p, const uint64_t *z, char *err, size_t err_size)
{
	const uint64_t stride = z[T_ALARM_RING] / m->workers;
	struct bp_ring_tail *tails = p[T_ALARM_TAIL];

	m->alarm_ring = bp_segment_private(m->segment, 2 * m->workers * sizeof(*m->alarm_ring));
	if (!m->alarm_ring) {
		snprintf(err, err_size, "no memory for the rings of %u workers", m->workers);
		return -1;
	}
	for (unsigned w = 0; w < m->workers; w++)
		bp_ring_attach(&m->alarm_ring[w],
			(struct bp_ring_data *)(void *)((uint8_t *)p[T_ALARM_RING] + w * stride),
			&tails[w], stride - BP_RING_OVERHEAD);
	return 0;
}

int bp_shm_map(struct bp_shm *m, struct bp_segment *s, char *err, size_t err_size)
{
	void *p[TABLES];
	uint64_t z[TABLES];

	memset(m, 0, sizeof(*m));
	if (tables_find(s, p, z, err, err_size) != 0)
		return -1;
	if (!sizes_agree(z)) {
		snprintf(err, err_size,
			"the tables of segment %s contradict each other; stop biplane and remove "
			"the "
			"file",
			bp_segment_path(s));
		return -1;
	}
	*m = (struct bp_shm){
		.segment = s,
		.global = p[T_GLOBAL],
		.control = p[T_CONTROL],
		.shared = p[T_SHARED],
		.counters = p[T_COUNTERS],
		.counter_rows = (uint32_t)z[T_COUNTERS],
		.workers = (uint32_t)z[T_COUNTERS] - BP_COUNTER_ROWS_BESIDE,
		.port_stats = p[T_PORT_STATS],
		.ports = p[T_PORTS],
		.nodes = p[T_NODES],
		.trouble = p[T_TROUBLE],
		.trouble_rows = (uint32_t)z[T_TROUBLE],
		.cp_faults = p[T_CP_FAULTS],
		.rules = p[T_RULES],
		.rules_bank_size = z[T_RULES] / 2,
		.rule_stats = p[T_RULE_STATS],
		.rule_state = p[T_RULE_STATE],
		.rule_state_len = z[T_RULE_STATE],
		.alarm_log = p[T_ALARM_LOG],
		.flows = p[T_FLOWS],
		.flows_len = z[T_FLOWS],
		.reassembly = p[T_REASSEMBLY],
		.reassembly_len = z[T_REASSEMBLY],
	};
	m->max_rules = (uint32_t)(z[T_RULE_STATS] / m->workers);
	if (rings_attach(m, p, z, err, err_size) != 0)
		return -1;
	bp_fib_map(&m->fib, p + T_FIB, z + T_FIB);
	bp_phd_map(&m->phd, p + T_PHD, z + T_PHD, m->alarm_ring + m->workers, m->workers);
	bp_agg_map(&m->agg, p + T_AGG, z + T_AGG, m->workers);
	bp_transform_map(&m->transform, p + T_TRANSFORM, z + T_TRANSFORM, m->workers);
	bp_lcl_map(&m->lcl, p + T_LCL, z + T_LCL);
	if (initialise(m, err, err_size) != 0)
		return -1;
	memcpy(m->fib.hash_key, m->control->hash_key, sizeof(m->fib.hash_key));
	memcpy(m->phd.hash_key, m->control->hash_key, sizeof(m->phd.hash_key));
	return 0;
}
