/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/layout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "shm/hash.h"

#define LAYOUT 2u /* of every element; raise it when a field changes its place or meaning */
#define MAX_RULES_MIN 1u
#define ALARM_RING_MIN 4096u

/* A counter that is renamed, added or moved makes another table. */
static uint64_t counters_version(void)
{
	uint64_t h = LAYOUT;

	for (unsigned i = 0; i < BP_C_COUNT; i++) {
		const uint64_t key[2] = {h, i};

		h = bp_hash_bytes(key, bp_counter_info[i].name, strlen(bp_counter_info[i].name));
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

unsigned bp_shm_specs(
	const struct bp_config *c, uint64_t flow_bytes_per_worker, struct bp_seg_spec *specs)
{
	const struct bp_config_mqtt *m = &c->mqtt;
	const uint64_t workers = at_least(c->n_workers, 1);
	const uint64_t ports = at_least(c->n_ports, 1);
	const uint32_t max_rules =
		m->enabled ? (uint32_t)at_least(m->max_rules, MAX_RULES_MIN) : MAX_RULES_MIN;
	const uint32_t states = m->enabled ? m->topic_states : 0;
	const uint64_t ring =
		BP_RING_OVERHEAD +
		bp_ring_capacity(at_least(m->enabled ? m->alarm_ring : 0, ALARM_RING_MIN));
	const uint64_t flows = whole_lines(at_least(m->enabled ? flow_bytes_per_worker : 0, 64));
	const struct bp_seg_spec all[] = {
		{"global", sizeof(struct bp_shm_global), 1, LAYOUT},
		{"counters", sizeof(struct bp_counters), workers, counters_version()},
		{"port_stats", sizeof(struct bp_port_stats), workers * BP_MAX_PORTS, LAYOUT},
		{"ports", sizeof(struct bp_port_info), ports, LAYOUT},
		{"nodes", sizeof(struct bp_node_info), workers * BP_MAX_NODES, LAYOUT},
		{"rules", 1, 2 * bp_ruleset_bank_size(max_rules), LAYOUT},
		{"rule_stats", sizeof(struct bp_rule_stats), workers * max_rules, LAYOUT},
		{"rule_state", sizeof(struct bp_rule_state), bp_rule_state_len(states), LAYOUT},
		{"alarm_ring", 1, times(workers, ring), LAYOUT},
		{"alarm_log", sizeof(struct bp_alarm_log), BP_ALARM_LOG_LEN, LAYOUT},
		{"flows", 1, times(workers, flows), LAYOUT},
	};
	const unsigned n = sizeof(all) / sizeof(all[0]);

	_Static_assert(sizeof(all) / sizeof(all[0]) <= BP_SHM_SPECS_MAX, "raise BP_SHM_SPECS_MAX");
	memcpy(specs, all, sizeof(all));
	return n;
}

/* One table that must be there. */
struct wanted {
	const char *name;
	uint64_t element_size, version;
	void **address;
	uint64_t *capacity;
};

static int tables_find(
	struct bp_segment *s, const struct wanted *w, unsigned n, char *err, size_t err_size)
{
	for (unsigned i = 0; i < n; i++) {
		*w[i].address = bp_segment_table(
			s, w[i].name, w[i].element_size, w[i].version, w[i].capacity);
		if (!*w[i].address) {
			snprintf(err, err_size,
				"segment %s has no table %s as this version of biplane knows it; "
				"run the "
				"version that made it, or restart biplane",
				bp_segment_path(s), w[i].name);
			return -1;
		}
	}
	return 0;
}

/* The sizes of the tables must agree with each other. */
struct sizes {
	uint64_t global, counters, port_stats, ports, nodes, rules, rule_stats, rule_state;
	uint64_t alarm_ring, alarm_log, flows;
};

static bool sizes_agree(const struct sizes *z)
{
	const uint64_t workers = z->counters;

	return workers <= BP_MAX_WORKERS && z->port_stats == workers * BP_MAX_PORTS &&
	       z->ports <= BP_MAX_PORTS && z->nodes == workers * BP_MAX_NODES &&
	       z->rules % 128 == 0 && z->rules / 2 >= sizeof(struct bp_ruleset) &&
	       z->rule_stats % workers == 0 && z->rule_stats / workers <= UINT32_MAX &&
	       (z->rule_state & (z->rule_state - 1)) == 0 && z->rule_state >= BP_RULE_STATE_WAYS &&
	       z->alarm_ring % workers == 0 &&
	       z->alarm_ring / workers >= BP_RING_OVERHEAD + ALARM_RING_MIN &&
	       z->alarm_log == BP_ALARM_LOG_LEN && z->flows % workers == 0;
}

static void key_fill(struct bp_shm *m)
{
	/* replay must give the same bytes every time, and nobody else's data goes into its hashes
	 */
	static const uint64_t fixed[2] = {0x9e3779b97f4a7c15ull, 0xd1b54a32d192ed03ull};
	struct timespec now;
	ssize_t n;

	memcpy(m->global->hash_key, fixed, sizeof(fixed));
	if (bp_segment_path(m->segment)[0] == '\0')
		return;
	do
		n = getrandom(m->global->hash_key, sizeof(m->global->hash_key), 0);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(m->global->hash_key))
		return;
	/* a kernel without getrandom(): still nothing that a remote device knows */
	clock_gettime(CLOCK_MONOTONIC, &now);
	m->global->hash_key[0] = bp_mix64((uint64_t)now.tv_nsec ^ (uintptr_t)m->global);
	m->global->hash_key[1] = bp_mix64((uint64_t)now.tv_sec ^ m->global->hash_key[0]);
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
static void tables_init(void *arg)
{
	struct bp_shm *m = arg;

	key_fill(m);
	atomic_store(&m->global->next_alarm_id, first_alarm_id(m));
	for (unsigned w = 0; w < BP_MAX_WORKERS; w++)
		atomic_store(&m->global->rules_seen[w], UINT64_MAX);
	for (unsigned w = 0; w < m->workers; w++)
		bp_ring_init(bp_shm_ring(m, w), m->alarm_ring_stride - BP_RING_OVERHEAD);
}

/* What others wrote, before anything relies on it. */
static int contents_check(const struct bp_shm *m, char *err, size_t err_size)
{
	const char *path = bp_segment_path(m->segment);
	uint64_t active;
	bool valid;

	for (unsigned w = 0; w < m->workers; w++) {
		const uint64_t capacity = bp_shm_ring(m, w)->capacity;

		if (capacity != m->alarm_ring_stride - BP_RING_OVERHEAD ||
			(capacity & (capacity - 1)) != 0) {
			snprintf(err, err_size,
				"the alarm ring of worker %u in segment %s is damaged; stop "
				"biplane and "
				"remove the file",
				w, path);
			return -1;
		}
	}
	do { /* until it is not a reload that we saw */
		active = atomic_load(&m->global->rules_active);
		valid = bp_ruleset_valid(bp_shm_rules(m, active), m->rules_bank_size, m->max_rules);
	} while (!valid && active != atomic_load(&m->global->rules_active));
	if (!valid) {
		snprintf(err, err_size,
			"the rules in segment %s are damaged; stop biplane and remove the file",
			path);
		return -1;
	}
	return 0;
}

int bp_shm_map(struct bp_shm *m, struct bp_segment *s, char *err, size_t err_size)
{
	struct sizes z = {0};
	void *p[11] = {NULL};
	const struct wanted wanted[] = {
		{"global", sizeof(struct bp_shm_global), LAYOUT, &p[0], &z.global},
		{"counters", sizeof(struct bp_counters), counters_version(), &p[1], &z.counters},
		{"port_stats", sizeof(struct bp_port_stats), LAYOUT, &p[2], &z.port_stats},
		{"ports", sizeof(struct bp_port_info), LAYOUT, &p[3], &z.ports},
		{"nodes", sizeof(struct bp_node_info), LAYOUT, &p[4], &z.nodes},
		{"rules", 1, LAYOUT, &p[5], &z.rules},
		{"rule_stats", sizeof(struct bp_rule_stats), LAYOUT, &p[6], &z.rule_stats},
		{"rule_state", sizeof(struct bp_rule_state), LAYOUT, &p[7], &z.rule_state},
		{"alarm_ring", 1, LAYOUT, &p[8], &z.alarm_ring},
		{"alarm_log", sizeof(struct bp_alarm_log), LAYOUT, &p[9], &z.alarm_log},
		{"flows", 1, LAYOUT, &p[10], &z.flows},
	};

	memset(m, 0, sizeof(*m));
	if (tables_find(s, wanted, sizeof(wanted) / sizeof(wanted[0]), err, err_size) != 0)
		return -1;
	if (!sizes_agree(&z)) {
		snprintf(err, err_size,
			"the tables of segment %s contradict each other; stop biplane and remove "
			"the "
			"file",
			bp_segment_path(s));
		return -1;
	}
	*m = (struct bp_shm){
		.segment = s,
		.global = p[0],
		.counters = p[1],
		.port_stats = p[2],
		.ports = p[3],
		.nodes = p[4],
		.rules = p[5],
		.rules_bank_size = z.rules / 2,
		.rule_stats = p[6],
		.max_rules = (uint32_t)(z.rule_stats / z.counters),
		.rule_state = p[7],
		.rule_state_len = z.rule_state,
		.alarm_ring = p[8],
		.alarm_ring_stride = z.alarm_ring / z.counters,
		.alarm_log = p[9],
		.flows = p[10],
		.flows_len = z.flows,
		.workers = (uint32_t)z.counters,
	};
	if (bp_segment_initialise(s, tables_init, m, err, err_size) != 0)
		return -1;
	return contents_check(m, err, err_size);
}
