/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/layout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "shm/hash.h"

#define LAYOUT 13u /* of every element; increment it if a field changes its offset or meaning */

/* A renamed, added or moved counter changes the table. */
static uint64_t counters_version(void)
{
	uint64_t h = LAYOUT;

	for (unsigned i = 0; i < BP_C_COUNT; i++)
		if (bp_counter_info[i].name != NULL)
			h = bp_hash_name(h, i, bp_counter_info[i].name);
	return h;
}

enum table {
	T_GLOBAL,
	T_CONTROL,
	T_SHARED,
	T_COUNTERS,
	T_PORT_STATS,
	T_PORT_DROPS,
	T_PORTS,
	T_NODES,
	T_FAULTS,
	T_CP_FAULTS,
	T_EVENTS,
	T_CP_EVENTS,
	T_HISTORY,
	T_CAPTURES,
	T_CAPTURE_STATUS,
	T_CAPTURE_COUNTS,
	T_CAPTURE_RINGS,
	T_FIB,                              /* and the other FIB tables, in their order */
	T_SERVICES = T_FIB + BP_FIB_TABLES, /* likewise, BP_TABLES_OF_SERVICE for each */
	TABLES = T_SERVICES + BP_TABLES_OF_SERVICE * BP_SERVICE_COUNT,
};

static const struct bp_table_shape own_shape[T_FIB] = {
	[T_GLOBAL] = {"global", sizeof(struct bp_shm_global), BP_SEG_DATA},
	[T_CONTROL] = {"control", sizeof(struct bp_shm_control), BP_SEG_CONTROL},
	[T_SHARED] = {"shared", sizeof(struct bp_shm_shared), BP_SEG_SHARED},
	[T_COUNTERS] = {"counters", sizeof(struct bp_counters), BP_SEG_DATA},
	[T_PORT_STATS] = {"port_stats", sizeof(struct bp_port_stats), BP_SEG_DATA},
	[T_PORT_DROPS] = {"port_drops", sizeof(struct bp_port_drops), BP_SEG_DATA},
	[T_PORTS] = {"ports", sizeof(struct bp_port_info), BP_SEG_DATA},
	[T_NODES] = {"nodes", sizeof(struct bp_node_info), BP_SEG_DATA},
	[T_FAULTS] = {"trouble", sizeof(struct bp_fault_row), BP_SEG_DATA},
	[T_CP_FAULTS] = {"cp_faults", sizeof(struct bp_fault_row), BP_SEG_CONTROL},
	[T_EVENTS] = {"events", sizeof(struct bp_event_slot), BP_SEG_DATA},
	[T_CP_EVENTS] = {"cp_events", sizeof(struct bp_event_slot), BP_SEG_CONTROL},
	[T_HISTORY] = {"history", sizeof(uint64_t), BP_SEG_DATA},
	[T_CAPTURES] = {"captures", sizeof(struct bp_capture_slot), BP_SEG_CONTROL},
	[T_CAPTURE_STATUS] = {"capture_status", sizeof(struct bp_capture_status), BP_SEG_DATA},
	[T_CAPTURE_COUNTS] = {"capture_counts", sizeof(struct bp_capture_counts), BP_SEG_DATA},
	[T_CAPTURE_RINGS] = {"capture_rings", 1, BP_SEG_DATA},
};

/* The service of a table, and its index in that; NULL: none is there. */
static const struct bp_service_tables *service_of(unsigned t, unsigned *index)
{
	const struct bp_service_tables *s =
		bp_service_tables[(t - T_SERVICES) / BP_TABLES_OF_SERVICE];

	*index = (t - T_SERVICES) % BP_TABLES_OF_SERVICE;
	return *index < s->n ? s : NULL;
}

/* NULL: unknown table. */
static const struct bp_table_shape *shape(unsigned t)
{
	const struct bp_service_tables *s;
	unsigned i;

	if (t < T_FIB)
		return &own_shape[t];
	if (t < T_SERVICES)
		return &bp_fib_shape[t - T_FIB];
	s = service_of(t, &i);
	return s ? &s->shape[i] : NULL;
}

static uint64_t version(unsigned t)
{
	const struct bp_service_tables *s;
	unsigned i;

	if (t < T_SERVICES)
		return t == T_COUNTERS || t == T_PORT_DROPS ? counters_version() : LAYOUT;
	s = service_of(t, &i);
	return s->version ? s->version(i, LAYOUT) : LAYOUT;
}

static void own_capacities(const struct bp_shm_capacities *c, uint64_t *z)
{
	const uint64_t events = c->events != 0 ? c->events : 1;

	z[T_GLOBAL] = z[T_CONTROL] = z[T_SHARED] = 1;
	z[T_COUNTERS] = c->workers + BP_COUNTER_ROWS_EXTRA;
	z[T_PORT_STATS] = z[T_PORT_DROPS] = c->workers * BP_MAX_PORTS;
	z[T_PORTS] = c->ports;
	z[T_NODES] = c->workers * BP_MAX_NODES;
	z[T_FAULTS] = bp_fault_rows((uint32_t)c->ports, (uint32_t)c->workers);
	z[T_CP_FAULTS] = BP_FAULT_OF_CONTROLPLANE;
	z[T_CP_EVENTS] = 2 * events;
	z[T_EVENTS] = (c->workers + 1) * events;
	z[T_HISTORY] = bp_history_capacity(c->history_rows, c->ports, c->workers);
	z[T_CAPTURES] = z[T_CAPTURE_STATUS] = BP_CAPTURE_SLOTS;
	z[T_CAPTURE_COUNTS] = c->workers;
	z[T_CAPTURE_RINGS] = bp_capture_rings_size(c->workers, c->capture_ring);
}

unsigned bp_shm_table_specs(const struct bp_shm_capacities *c, struct bp_seg_spec *specs)
{
	uint64_t z[TABLES];
	unsigned n = 0;

	_Static_assert((unsigned)TABLES <= BP_SHM_SPECS_MAX, "raise BP_SHM_SPECS_MAX");
	own_capacities(c, z);
	memcpy(z + T_FIB, c->fib, sizeof(c->fib));
	memcpy(z + T_SERVICES, c->service, sizeof(c->service));
	for (unsigned t = 0; t < TABLES; t++)
		if (shape(t))
			specs[n++] = (struct bp_seg_spec){shape(t)->name, shape(t)->element_size,
				z[t], version(t), shape(t)->part};
	return n;
}

static int tables_find(
	struct bp_segment *s, void **address, uint64_t *z, char *err, size_t err_size)
{
	for (unsigned t = 0; t < TABLES; t++) {
		if (!shape(t))
			continue;
		address[t] = bp_segment_table(
			s, shape(t)->name, shape(t)->element_size, version(t), &z[t]);
		if (!address[t]) {
			snprintf(err, err_size,
				"segment %s has no table %s of this version of biplane; "
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
	uint64_t capture_ring;

	if (workers == 0 || workers > BP_MAX_WORKERS || z[T_PORT_STATS] != workers * BP_MAX_PORTS ||
		z[T_PORT_DROPS] != z[T_PORT_STATS] ||
		z[T_COUNTERS] != workers + BP_COUNTER_ROWS_EXTRA ||
		z[T_FAULTS] != bp_fault_rows((uint32_t)z[T_PORTS], (uint32_t)workers) ||
		z[T_CP_FAULTS] != BP_FAULT_OF_CONTROLPLANE || z[T_PORTS] > BP_MAX_PORTS ||
		z[T_NODES] != workers * BP_MAX_NODES || z[T_CP_EVENTS] % 2 != 0 ||
		z[T_CP_EVENTS] > UINT32_MAX ||
		z[T_EVENTS] != (workers + 1) * (z[T_CP_EVENTS] / 2) ||
		!bp_history_size_agrees(z[T_HISTORY], z[T_PORTS], workers) ||
		z[T_CAPTURES] != BP_CAPTURE_SLOTS || z[T_CAPTURE_STATUS] != BP_CAPTURE_SLOTS ||
		z[T_CAPTURE_COUNTS] != workers ||
		!bp_capture_rings_agree(z[T_CAPTURE_RINGS], workers, &capture_ring) ||
		!bp_fib_sizes_agree(z + T_FIB))
		return false;
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++)
		if (!bp_service_tables[s]->sizes_agree(
			    z + T_SERVICES + BP_TABLES_OF_SERVICE * s, workers))
			return false;
	return true;
}

static void key_fill(const struct bp_shm *m, uint64_t key[2])
{
	/* replay must produce the same bytes on every run, and hashes no data of other systems */
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
	/* a kernel without getrandom(): the fallback is still unknown to a remote device */
	clock_gettime(CLOCK_MONOTONIC, &now);
	key[0] = bp_mix64((uint64_t)now.tv_nsec ^ (uintptr_t)m->global);
	key[1] = bp_mix64((uint64_t)now.tv_sec ^ key[0]);
}

static bool key_sound(const uint64_t key[2])
{
	return (key[0] | key[1]) != 0;
}

/* Ids must continue to increase after the segment, and the last id with it, was lost. */
static uint64_t first_alarm_id(const struct bp_shm *m)
{
	struct timespec now;

	if (bp_segment_path(m->segment)[0] == '\0')
		return 1;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

static void init_services(struct bp_shm *m, unsigned part)
{
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++)
		if (bp_service_tables[s]->init)
			bp_service_tables[s]->init(m, part);
}

/* The memory is zero, except for the remains of a process that died in this function. */
static void init_data(void *arg)
{
	struct bp_shm *m = arg;

	key_fill(m, m->global->hash_key);
	bp_fib_init_readers(&m->fib);
	init_services(m, BP_SEG_DATA);
}

static void init_control(void *arg)
{
	struct bp_shm *m = arg;

	/* a running data plane keeps its key */
	memcpy(m->control->hash_key, m->global->control_key, sizeof(m->control->hash_key));
	if (!key_sound(m->control->hash_key))
		key_fill(m, m->control->hash_key);
	bp_fib_init_control(&m->fib);
	init_services(m, BP_SEG_CONTROL);
}

static void init_shared(void *arg)
{
	struct bp_shm *m = arg;

	atomic_store(&m->shared->next_alarm_id, first_alarm_id(m));
	bp_fib_init_nexthops(&m->fib);
	init_services(m, BP_SEG_SHARED);
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

/* Ids only grow, from the time of the first: half of the numbers are out of reach. */
static bool alarm_id_sound(uint64_t id)
{
	return id != 0 && id <= INT64_MAX;
}

const char *bp_shm_unsound(const struct bp_shm *m, unsigned part)
{
	if (part == BP_SEG_DATA && !key_sound(m->global->hash_key))
		return "its hash key is zero";
	if (part == BP_SEG_SHARED && !alarm_id_sound(atomic_load(&m->shared->next_alarm_id)))
		return "the next alarm id is invalid";
	if (part == BP_SEG_CONTROL && !key_sound(m->control->hash_key))
		return "its hash key is zero";
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++) {
		const char *why = bp_service_tables[s]->unsound
					  ? bp_service_tables[s]->unsound(m, part)
					  : NULL;

		if (why)
			return why;
	}
	return NULL;
}

/* State that is lost with a part; the configuration, the kernel and the store restore the rest. */
static const char *const lost_with[BP_SEG_PARTS] = {
	[BP_SEG_DATA] = "connections, alarm states, unread alarms, and counters",
	[BP_SEG_CONTROL] = "unread alarms, matrices that were set at run time, "
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
			aside[0] ? "it is kept as " : "there was no space to keep it", aside,
			lost_with[part]);
	return change == BP_SEG_REPLACED || change == BP_SEG_QUARANTINED;
}

static int map_services(
	struct bp_shm *m, void *const *p, const uint64_t *z, char *err, size_t err_size)
{
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++) {
		const unsigned first = T_SERVICES + BP_TABLES_OF_SERVICE * s;

		if (bp_service_tables[s]->map(m, p + first, z + first, err, err_size) != 0)
			return -1;
	}
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
		.workers = (uint32_t)z[T_COUNTERS] - BP_COUNTER_ROWS_EXTRA,
		.port_stats = p[T_PORT_STATS],
		.port_drops = p[T_PORT_DROPS],
		.ports = p[T_PORTS],
		.nodes = p[T_NODES],
		.faults = p[T_FAULTS],
		.fault_rows = (uint32_t)z[T_FAULTS],
		.cp_faults = p[T_CP_FAULTS],
		.events = p[T_EVENTS],
		.cp_events = p[T_CP_EVENTS],
		.event_slots = (uint32_t)(z[T_CP_EVENTS] / 2),
		.capture = {.slot = p[T_CAPTURES],
			.status = p[T_CAPTURE_STATUS],
			.counts = p[T_CAPTURE_COUNTS],
			.rings = p[T_CAPTURE_RINGS]},
	};
	bp_history_map(&m->history, p[T_HISTORY], z[T_HISTORY], (uint32_t)z[T_PORTS], m->workers);
	m->capture.ring_stride = z[T_CAPTURE_RINGS] / m->workers;
	bp_capture_rings_agree(z[T_CAPTURE_RINGS], m->workers, &m->capture.ring_capacity);
	bp_fib_map(&m->fib, p + T_FIB, z + T_FIB);
	if (map_services(m, p, z, err, err_size) != 0)
		return -1;
	if (initialise(m, err, err_size) != 0)
		return -1;
	memcpy(m->fib.hash_key, m->control->hash_key, sizeof(m->fib.hash_key));
	for (unsigned t = 0; t < BP_SERVICE_COUNT; t++)
		if (bp_service_tables[t]->ready)
			bp_service_tables[t]->ready(m);
	return 0;
}
