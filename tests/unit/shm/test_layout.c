/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "biplane/counters/general.h"
#include "shm/layout.h"
#include "config/segment.h"
#include "config/mqtt/settings.h"
#include "config/health/settings.h"
#include "test.h"

static char dir[64];
static char err[1024];

static int make_dir(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/biplane-test-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	bp_segment_unlink("l", NULL, dir);
	return rmdir(dir);
}

static struct bp_config_phd phd;
static struct bp_config_mqtt mqtt;

static void config(struct bp_config *c)
{
	memset(c, 0, sizeof(*c));
	memset(&phd, 0, sizeof(phd));
	memset(&mqtt, 0, sizeof(mqtt));
	c->service[BP_SERVICE_HEALTH] = &phd;
	c->service[BP_SERVICE_MQTT] = &mqtt;
	c->n_workers = 3;
	c->n_ports = 2;
	c->n_bridges = 1; /* no port is routed */
	c->bridge[0] = (struct bp_config_bridge){.n = 2, .port = {0, 1}};
	mqtt.enabled = true;
	mqtt.max_rules = 100;
	mqtt.max_alarm_states = 1000;
	mqtt.alarm_queue_size = 100000;
	mqtt.reassembly_total = 3 * 20000;
	c->monitoring.event_queue_size = 100;
}

static struct bp_segment *open_file(const struct bp_config *c, bool owner)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	const unsigned n = bp_shm_specs(c, specs);

	return bp_segment_open("l", NULL, dir, specs, n, owner, err, sizeof(err));
}

static void must_map(struct bp_shm *m, struct bp_segment *s)
{
	if (!s || bp_shm_map(m, s, err, sizeof(err)) != 0)
		fail_msg("%s", err);
}

static void set_capacity(struct bp_seg_spec *specs, unsigned n, const char *name, uint64_t capacity)
{
	for (unsigned t = 0; t < n; t++)
		if (strcmp(specs[t].name, name) == 0)
			specs[t].capacity = capacity;
}

static void map_anonymous(struct bp_shm *m, const struct bp_config *c)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	const unsigned n = bp_shm_specs(c, specs);

	must_map(m, bp_segment_anonymous(specs, n, err, sizeof(err)));
}

/* Writes to the first and last byte of what a pointer is said to have. */
static void touch(void *p, uint64_t bytes)
{
	assert_non_null(p);
	*(volatile uint8_t *)p = 0;
	*((volatile uint8_t *)p + bytes - 1) = 0;
}

static void tables_have_the_configured_sizes(void **state)
{
	struct bp_config c;
	struct bp_shm m;

	config(&c);
	map_anonymous(&m, &c);
	assert_int_equal(m.workers, 3);
	assert_int_equal(m.counter_rows, 5); /* the exception thread's and the main thread's too */
	assert_int_equal(m.max_rules, 100);
	assert_true(m.rules.bank_size >= bp_ruleset_bank_size(100));
	assert_int_equal((uintptr_t)m.rules.banks % 64, 0);
	assert_int_equal(m.rules.bank_size % 64, 0);
	assert_true(m.rule_state_len >= 1000);
	assert_int_equal(m.rule_state_len & (m.rule_state_len - 1), 0);
	assert_int_equal(m.flows_len % (3 * 64), 0); /* whole cache lines for each worker */
	assert_true(m.flows_len >= 3 * bp_flow_table_size(&c));
	for (unsigned w = 0; w < 3; w++) {
		struct bp_ring *r = bp_shm_ring(&m, w);
		uint64_t mark;

		assert_int_equal((uintptr_t)r % 64, 0);
		assert_int_equal(r->capacity, 131072);
		assert_int_equal(bp_ring_used(r), 0);
		assert_non_null(bp_ring_reserve(r, bp_ring_record_max(r), &mark));
		touch(&m.counters[w], sizeof(*m.counters));
		touch(&m.port_stats[w * BP_MAX_PORTS], BP_MAX_PORTS * sizeof(*m.port_stats));
		touch(&m.nodes[w * BP_MAX_NODES], BP_MAX_NODES * sizeof(*m.nodes));
		touch(&m.rule_stats[w * 100], 100 * sizeof(*m.rule_stats));
	}
	touch(bp_shm_counters_main(&m, BP_COUNTER_ROW_EXCEPTION), sizeof(*m.counters));
	touch(bp_shm_counters_main(&m, BP_COUNTER_ROW_MAIN), sizeof(*m.counters));
	assert_int_equal(m.fault_rows, bp_fault_rows(2, 3));
	touch(m.faults, m.fault_rows * sizeof(*m.faults));
	touch(m.ports, 2 * sizeof(*m.ports));
	touch(m.rules.banks, 2 * m.rules.bank_size);
	touch(m.rule_state, m.rule_state_len * sizeof(*m.rule_state));
	for (unsigned w = 0; w < 3; w++) {
		touch(m.alarm_ring[w].data, m.alarm_ring[w].capacity);
		touch(m.adopt_requests[w].data, m.adopt_requests[w].capacity);
		touch(m.adopt_offers[w].data, m.adopt_offers[w].capacity);
	}
	assert_int_equal(m.event_slots, 100);
	for (unsigned w = 0; w < 3; w++) {
		assert_int_equal(bp_shm_events(&m, w).size, 100);
		touch(bp_shm_events(&m, w).slot, 100 * sizeof(*m.events));
	}
	for (unsigned i = 0; i < BP_EVENTS_OTHERS; i++)
		touch(bp_shm_events_of(&m, i).slot, 100 * sizeof(*m.events));
	assert_ptr_equal(
		bp_shm_events_of(&m, BP_EVENTS_DATAPLANE).slot, m.events + 3 * (size_t)100);
	assert_ptr_equal(bp_shm_events_of(&m, BP_EVENTS_SESSIONS).slot, m.cp_events + 100);
	touch(m.alarm_log, BP_ALARM_LOG_LEN * sizeof(*m.alarm_log));
	touch(m.alarm_latency, sizeof(*m.alarm_latency));
	touch(m.flows, m.flows_len);
	assert_int_equal(m.reassembly_len, 3 * (20032 + BP_JOURNAL_BYTES)); /* likewise */
	touch(m.reassembly, m.reassembly_len);
	assert_ptr_equal(bp_shm_rules(&m, 7), m.rules.banks + m.rules.bank_size);
	bp_segment_close(m.segment);
}

static void a_config_that_routes_has_the_forwarding_tables(void **state)
{
	struct bp_config c;
	struct bp_shm m;

	config(&c);
	c.n_ports = 3;
	c.routing = (struct bp_config_routing){1000, 200, 300, 40, 5};
	map_anonymous(&m, &c);
	assert_int_equal(m.fib.max_routes4, 1000);
	assert_int_equal(m.fib.max_routes6, 200);
	assert_int_equal(m.fib.max_routes, 1200);
	assert_int_equal(m.fib.max_neighbors, 300);
	assert_int_equal(m.fib.max_nexthops, BP_NH_FIXED + 40);
	assert_int_equal(m.fib.max_groups, 5);
	assert_true(m.fib.max_lines >= 1000 + 200);
	touch(m.fib.control, sizeof(*m.fib.control));
	touch(m.fib.interfaces, BP_ALL_INTERFACES * sizeof(*m.fib.interfaces));
	touch(m.fib.neighbors, 600 * 64);
	touch(m.fib.nexthops, (BP_NH_FIXED + 40) * sizeof(*m.fib.nexthops));
	touch(m.fib.groups, 5 * sizeof(*m.fib.groups));
	touch(m.fib.routes4, 1001 * sizeof(*m.fib.routes4));
	touch(m.fib.routes6, 201 * sizeof(*m.fib.routes6));
	touch(m.fib.lpm4_root, BP_LPM4_ROOT * sizeof(uint32_t));
	touch(m.fib.lpm6_root, BP_LPM6_ROOT * sizeof(uint32_t));
	touch(m.fib.vrfs, BP_MAX_VRFS * sizeof(*m.fib.vrfs));
	touch(m.fib.vrf_roots, 2 * BP_MAX_VRFS * BP_VRF_ROOT * sizeof(uint32_t));
	touch(m.fib.lines, (uint64_t)m.fib.max_lines * BP_LPM_LINE_SIZE);
	assert_int_equal((uintptr_t)m.fib.lines % 64, 0);
	assert_memory_equal(m.fib.hash_key, m.global->hash_key, sizeof(m.fib.hash_key));
	bp_segment_close(m.segment);
	c.routing = (struct bp_config_routing){0}; /* as little as works */
	map_anonymous(&m, &c);
	assert_int_equal(m.fib.max_routes4, 1);
	assert_int_equal(m.fib.max_nexthops, BP_NH_FIXED + 1);
	bp_segment_close(m.segment);
}

static void without_routing_its_tables_are_not_to_be_used(void **state)
{
	struct bp_config c;
	struct bp_shm m;

	config(&c);
	c.routing = (struct bp_config_routing){1u << 20, 1u << 18, 1u << 16, 1u << 14, 1u << 10};
	map_anonymous(&m, &c);
	assert_int_equal(m.fib.max_routes, 0);
	assert_int_equal(m.fib.max_routes4, 0);
	assert_int_equal(m.fib.max_routes6, 0);
	assert_true(bp_segment_size(m.segment) < 10u << 20);
	bp_segment_close(m.segment);
}

static void a_config_with_health_devices_has_their_tables(void **state)
{
	struct bp_config c;
	struct bp_shm m;

	config(&c);
	phd = (struct bp_config_phd){
		.enabled = true, .max_sessions = 1048576, .max_configurations = 7};
	map_anonymous(&m, &c);
	assert_int_equal(m.phd.workers, 3);
	assert_int_equal(m.phd.n_slots, m.phd.n_groups * BP_PHD_WAYS);
	assert_true(m.phd.n_slots >= 1048576 / 4 * 5);
	assert_true(m.phd.max_sessions >= 1048576);
	/* the table of sessions is 128 bytes a slot, and what finds them a fiftieth of it */
	assert_true(bp_segment_size(m.segment) < (uint64_t)1048576 / 4 * 5 * 131 + (10u << 20));
	assert_int_equal(m.phd.max_layouts, 7);
	touch(m.phd.control, sizeof(*m.phd.control));
	touch(m.phd.groups, (uint64_t)m.phd.n_groups * 32);
	touch(m.phd.sessions, (uint64_t)m.phd.n_slots * 128);
	touch(m.phd.layouts, 7 * BP_PHD_LAYOUT_SIZE);
	touch(m.phd.ids, 3 * sizeof(*m.phd.ids));
	for (unsigned w = 0; w < 3; w++) {
		struct bp_ring *r = bp_phd_events(&m.phd, w);
		uint64_t mark;

		assert_int_equal((uintptr_t)r % 64, 0);
		assert_non_null(bp_ring_reserve(r, sizeof(struct bp_phd_event_record), &mark));
		touch(r->data, r->capacity);
	}
	assert_int_equal((uintptr_t)m.phd.groups % 32, 0);
	assert_int_equal((uintptr_t)m.phd.sessions % 64, 0);
	assert_int_equal((uintptr_t)m.phd.layouts % 64, 0);
	assert_memory_equal(m.phd.hash_key, m.global->hash_key, sizeof(m.phd.hash_key));
	bp_segment_close(m.segment);
	phd.max_sessions = phd.max_configurations = 0; /* as little as works */
	map_anonymous(&m, &c);
	assert_int_equal(m.phd.n_groups, 1);
	assert_int_equal(m.phd.max_layouts, 1);
	bp_segment_close(m.segment);
	phd.max_sessions = phd.max_configurations = UINT32_MAX; /* a token has 23 bits for a slot */
	c.n_workers = 1;
	map_anonymous(&m, &c);
	assert_true(m.phd.n_slots <= 1u << 23);
	assert_true(m.phd.max_layouts < BP_PHD_NO_LAYOUT);
	bp_segment_close(m.segment);
}

static void without_health_devices_their_tables_are_not_to_be_used(void **state)
{
	struct bp_config c;
	struct bp_shm m;

	config(&c);
	phd = (struct bp_config_phd){.max_sessions = 1048576, .max_configurations = 4096};
	map_anonymous(&m, &c);
	assert_int_equal(m.phd.n_slots, 0);
	assert_int_equal(m.phd.max_layouts, 0);
	assert_int_equal(m.phd.workers, 0);
	assert_true(bp_segment_size(m.segment) < 10u << 20);
	bp_segment_close(m.segment);
}

static void without_mqtt_it_is_small(void **state)
{
	struct bp_config c;
	struct bp_shm m;

	config(&c);
	mqtt.enabled = false;
	mqtt.max_rules = 1u << 20;
	mqtt.max_alarm_states = 1u << 20;
	mqtt.alarm_queue_size = 1u << 30;
	map_anonymous(&m, &c);
	assert_int_equal(m.max_rules, 1);
	assert_true(bp_segment_size(m.segment) < 10u << 20);
	bp_segment_close(m.segment);
	memset(&c, 0, sizeof(c)); /* not even a worker */
	map_anonymous(&m, &c);
	assert_int_equal(m.workers, 1);
	bp_segment_close(m.segment);
}

static void sizes_that_overflow_are_refused(void **state)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_config c;
	unsigned n;

	config(&c);
	n = bp_shm_specs(&c, specs);
	set_capacity(specs, n, "flows", bp_capacity_times(UINT64_MAX, 2));
	assert_null(bp_segment_anonymous(specs, n, err, sizeof(err)));
	assert_non_null(strstr(err, "flows"));
	mqtt.alarm_queue_size = UINT64_MAX;
	n = bp_shm_specs(&c, specs);
	assert_null(bp_segment_anonymous(specs, n, err, sizeof(err)));
	assert_non_null(strstr(err, "alarm_ring"));
}

static void a_fresh_segment_is_ready(void **state)
{
	const uint64_t before = (uint64_t)time(NULL) * 1000000u;
	struct bp_config c;
	struct bp_shm m;

	config(&c);
	must_map(&m, open_file(&c, true));
	assert_true(m.shared->next_alarm_id >= before);
	assert_true(m.shared->next_alarm_id <= before + 3600ull * 1000000u);
	assert_true(m.global->hash_key[0] != 0 || m.global->hash_key[1] != 0);
	assert_int_equal(m.control->rules_active, 0);
	assert_int_equal(bp_shm_rules(&m, 0)->generation, 0);
	for (unsigned w = 0; w < BP_MAX_WORKERS; w++) {
		assert_true(w >= m.workers || m.global->rules_seen[w] == UINT64_MAX);
		assert_true(m.fib.readers->seen[w] == UINT64_MAX);
	}
	assert_int_equal(m.fib.control->epoch, 1);
	assert_int_equal(bp_link_kind(m.fib.nexthops[BP_NH_LOCAL].link), BP_LINK_LOCAL);
	bp_segment_close(m.segment);
}

static void two_file_segments_have_two_keys(void **state)
{
	struct bp_config c;
	struct bp_shm m;
	uint64_t key[2];

	config(&c);
	must_map(&m, open_file(&c, true));
	memcpy(key, m.global->hash_key, sizeof(key));
	bp_segment_close(m.segment);
	assert_int_equal(bp_segment_unlink("l", NULL, dir), 0);
	must_map(&m, open_file(&c, true));
	assert_memory_not_equal(key, m.global->hash_key, sizeof(key));
	bp_segment_close(m.segment);
}

static void anonymous_memory_is_the_same_every_time(void **state)
{
	struct bp_config c;
	struct bp_shm a, b;

	config(&c);
	map_anonymous(&a, &c);
	map_anonymous(&b, &c);
	assert_int_equal(bp_segment_size(a.segment), bp_segment_size(b.segment));
	assert_memory_equal(a.global, b.global, sizeof(*a.global));
	assert_int_equal(a.shared->next_alarm_id, 1);
	assert_true(a.global->hash_key[0] != 0);
	bp_segment_close(a.segment);
	bp_segment_close(b.segment);
}

static void a_second_mapping_changes_nothing(void **state)
{
	struct bp_config c;
	struct bp_shm a, b, reader;
	uint64_t mark;

	config(&c);
	must_map(&a, open_file(&c, true));
	a.shared->next_alarm_id = 77;
	a.global->rules_seen[1] = 5;
	assert_non_null(bp_ring_reserve(bp_shm_ring(&a, 2), 100, &mark));
	bp_ring_commit(bp_shm_ring(&a, 2), mark);
	must_map(&b, open_file(&c, true));
	must_map(&reader, bp_segment_attach("l", NULL, dir, err, sizeof(err)));
	assert_int_equal(b.shared->next_alarm_id, 77);
	assert_int_equal(reader.global->rules_seen[1], 5);
	assert_true(bp_ring_used(bp_shm_ring(&b, 2)) > 100);
	assert_memory_equal(
		a.global->hash_key, reader.global->hash_key, sizeof(a.global->hash_key));
	bp_segment_close(a.segment);
	bp_segment_close(b.segment);
	bp_segment_close(reader.segment);
}

static void a_reader_of_a_half_made_segment_is_told(void **state)
{
	struct bp_config c;
	struct bp_shm m;
	struct bp_segment *made, *reader;

	config(&c);
	made = open_file(&c, true);
	assert_non_null(made);
	reader = bp_segment_attach("l", NULL, dir, err, sizeof(err));
	assert_non_null(reader);
	assert_int_equal(bp_shm_map(&m, reader, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "try again"));
	must_map(&m, made);
	must_map(&m, reader);
	bp_segment_close(made);
	bp_segment_close(reader);
}

static void another_configuration_needs_another_segment(void **state)
{
	struct bp_config c;
	struct bp_segment *s;

	config(&c);
	s = open_file(&c, true);
	assert_non_null(s);
	bp_segment_close(s);
	mqtt.max_rules = 101;
	assert_null(open_file(&c, false));
	assert_non_null(strstr(err, "rule_stats"));
	s = open_file(&c, true);
	assert_true(s && bp_segment_fresh(s));
	bp_segment_close(s);
}

static void a_segment_without_our_tables_is_refused(void **state)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_segment *s;
	struct bp_config c;
	struct bp_shm m;

	config(&c);
	bp_shm_specs(&c, specs);
	assert_string_equal(specs[0].name, "global");
	s = bp_segment_anonymous(specs, 1, err, sizeof(err));
	assert_non_null(s);
	assert_int_equal(bp_shm_map(&m, s, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "control"));
	bp_segment_close(s);
}

static void tables_that_contradict_each_other_are_refused(void **state)
{
	static const char *const names[] = {"counters", "port_stats", "port_drops", "ports",
		"trouble", "nodes", "events", "cp_events", "rules", "rule_stats", "rule_state",
		"alarm_ring", "alarm_log", "alarm_latency", "flows", "reassembly", "adopt_requests",
		"adopt_offers", "fib", "interfaces", "lpm4_root", "lpm6_root", "vrfs", "vrf_roots"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
		struct bp_segment *s;
		struct bp_config c;
		struct bp_shm m;
		unsigned n;

		config(&c);
		n = bp_shm_specs(&c, specs);
		for (unsigned t = 0; t < n; t++) {
			if (strcmp(specs[t].name, names[i]) == 0)
				specs[t].capacity++;
		}
		s = bp_segment_anonymous(specs, n, err, sizeof(err));
		assert_non_null(s);
		assert_int_equal(bp_shm_map(&m, s, err, sizeof(err)), -1);
		assert_non_null(strstr(err, "contradict"));
		bp_segment_close(s);
	}
}

static void damaged_contents_are_found_by_their_writer(void **state)
{
	struct bp_config c;
	struct bp_shm m;

	config(&c);
	phd = (struct bp_config_phd){.enabled = true, .max_sessions = 16, .max_configurations = 16};
	must_map(&m, open_file(&c, true));
	for (unsigned p = 0; p < BP_SEG_PARTS; p++)
		assert_null(bp_shm_unsound(&m, p));
	((struct bp_ruleset *)(void *)m.rules.banks)->generation = 1;
	assert_non_null(strstr(bp_shm_unsound(&m, BP_SEG_CONTROL), "rules"));
	m.control->rules_active = 1; /* the other bank */
	assert_null(bp_shm_unsound(&m, BP_SEG_CONTROL));
	memset(m.control, 0, sizeof(*m.control));
	assert_non_null(strstr(bp_shm_unsound(&m, BP_SEG_CONTROL), "key"));
	memset(m.global, 0, sizeof(*m.global));
	assert_non_null(strstr(bp_shm_unsound(&m, BP_SEG_DATA), "key"));
	m.shared->next_alarm_id = 0;
	assert_non_null(bp_shm_unsound(&m, BP_SEG_SHARED));
	m.shared->next_alarm_id = UINT64_MAX;
	assert_non_null(bp_shm_unsound(&m, BP_SEG_SHARED));
	bp_segment_close(m.segment);
}

static struct bp_segment *open_how(const struct bp_config *c, unsigned how)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	const unsigned n = bp_shm_specs(c, specs);

	return bp_segment_open("l", NULL, dir, specs, n, how, err, sizeof(err));
}

/* The data plane runs, has its part mapped, and continues with its key; the data of the control
 * plane is lost, in the same file. */
static void a_control_plane_makes_its_part_anew_under_a_running_data_plane(void **state)
{
	struct bp_config c;
	struct bp_shm data, control;
	char text[1024], damaged[128];
	struct stat before, after;

	config(&c);
	must_map(&data, open_how(&c, BP_SEG_OWNER | BP_SEG_READ_CONTROL | BP_SEG_HOLD));
	memcpy(data.global->control_key, data.control->hash_key, sizeof(data.control->hash_key));
	must_map(&control, open_how(&c, BP_SEG_READ_DATA));
	control.control->cp_reloads = 7;
	assert_int_equal(stat(bp_segment_part_path(data.segment, BP_SEG_CONTROL), &before), 0);
	bp_segment_condemn(control.segment, BP_SEG_CONTROL);
	bp_segment_close(control.segment);

	must_map(&control, open_how(&c, BP_SEG_READ_DATA));
	assert_int_equal(bp_segment_quarantined(control.segment), 1);
	assert_true(bp_shm_change_text(control.segment, BP_SEG_CONTROL, text, sizeof(text)));
	assert_non_null(strstr(text, "invalid contents"));
	assert_non_null(strstr(text, ".seg-control.damaged"));
	assert_non_null(strstr(text, "matrices"));
	assert_false(bp_shm_change_text(control.segment, BP_SEG_DATA, text, sizeof(text)));
	assert_int_equal(stat(bp_segment_part_path(data.segment, BP_SEG_CONTROL), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(data.control->cp_reloads, 0);
	assert_memory_equal(data.control->hash_key, data.fib.hash_key, sizeof(data.fib.hash_key));
	assert_null(bp_shm_unsound(&control, BP_SEG_CONTROL));

	/* all of it was copied before, but for what is zero */
	snprintf(damaged, sizeof(damaged), "%s/biplane-l.seg-control.damaged", dir);
	assert_int_equal(stat(damaged, &after), 0);
	assert_int_equal(after.st_size, before.st_size);

	control.control->cp_segment_quarantined = 3;
	data.counters[0].v[BP_C_SEGMENT_QUARANTINED] = 2;
	assert_int_equal(bp_shm_counter(&data, BP_C_SEGMENT_QUARANTINED), 5);
	bp_segment_close(control.segment);
	bp_segment_close(data.segment);
}

/* Made again for other tables, it would no longer be what the data plane reads there. */
static void not_for_another_configuration(void **state)
{
	struct bp_config c;
	struct bp_shm data, control;

	config(&c);
	must_map(&data, open_how(&c, BP_SEG_OWNER | BP_SEG_READ_CONTROL | BP_SEG_HOLD));
	must_map(&control, open_how(&c, BP_SEG_READ_DATA));
	bp_segment_condemn(control.segment, BP_SEG_CONTROL);
	bp_segment_close(control.segment);
	phd = (struct bp_config_phd){.enabled = true, .max_sessions = 16, .max_configurations = 16};
	assert_null(open_how(&c, BP_SEG_READ_DATA | BP_SEG_OWNER));
	bp_segment_close(data.segment);
	/* no one runs on it: the files may be replaced */
	must_map(&control, open_how(&c, BP_SEG_READ_DATA | BP_SEG_OWNER));
	bp_segment_close(control.segment);
}

#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(tables_have_the_configured_sizes),
		T(a_config_that_routes_has_the_forwarding_tables),
		T(without_routing_its_tables_are_not_to_be_used),
		T(a_config_with_health_devices_has_their_tables),
		T(without_health_devices_their_tables_are_not_to_be_used),
		T(without_mqtt_it_is_small),
		T(sizes_that_overflow_are_refused),
		T(a_fresh_segment_is_ready),
		T(two_file_segments_have_two_keys),
		T(anonymous_memory_is_the_same_every_time),
		T(a_second_mapping_changes_nothing),
		T(a_reader_of_a_half_made_segment_is_told),
		T(another_configuration_needs_another_segment),
		T(a_segment_without_our_tables_is_refused),
		T(tables_that_contradict_each_other_are_refused),
		T(damaged_contents_are_found_by_their_writer),
		T(a_control_plane_makes_its_part_anew_under_a_running_data_plane),
		T(not_for_another_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
