/* SPDX-License-Identifier: BSD-3-Clause */
/* `show lcl`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "apps/biplane/show/show.h"
#include "config/lcl/settings.h"
#include "shm/layout.h"
#include "config/segment.h"

#define LIMIT 4u

static struct bp_shm shm;
static struct bp_show_source source;
static struct bp_config config;
static struct bp_config_lcl lcl;
static char err[512];

static int begin_with(unsigned ports)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_segment *s;

	memset(&config, 0, sizeof(config));
	config.n_workers = 2;
	config.n_ports = 2;
	lcl.n_ports = ports;
	lcl.max_flows = LIMIT;
	config.service[BP_SERVICE_LCL] = &lcl;
	s = bp_segment_anonymous(specs, bp_shm_specs(&config, specs), err, sizeof(err));
	if (!s || bp_shm_map(&shm, s, err, sizeof(err)))
		return -1;
	strcpy(shm.ports[0].name, "devices");
	strcpy(shm.ports[1].name, "wan");
	atomic_store(&shm.global->dp_ports, 2);
	source = (struct bp_show_source){.shm = &shm};
	return 0;
}

static int begin(void **state)
{
	return begin_with(2);
}

static int begin_without(void **state)
{
	return begin_with(0);
}

static int end(void **state)
{
	bp_segment_close(shm.segment);
	return 0;
}

static json_t *view(void)
{
	json_t *v = bp_show_lcl.collect(&source, err, sizeof(err));

	assert_non_null(v);
	return v;
}

static void says(const char *what)
{
	json_t *v = view();
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	bp_show_lcl.print(v, false, f);
	assert_int_equal(fclose(f), 0);
	if (!strstr(text, what))
		fail_msg("no '%s' in:\n%s", what, text);
	free(text);
	json_decref(v);
}

static json_int_t number(const json_t *row, const char *key)
{
	const json_t *v = json_object_get(row, key);

	if (!json_is_integer(v))
		fail_msg("%s is no number", key);
	return json_integer_value(v);
}

/* The second entry of lcl.ports is wan's, and worker 1 has it. */
static struct bp_lcl_port_stats *port_runs(void)
{
	struct bp_lcl_port_stats *p = &shm.lcl.ports[1];

	p->configured = (struct bp_lcl_port){
		.tau_ns = 8000, .rate_bps = 25000000000, .queues = 4, .port = 1, .trust = true};
	atomic_store(&p->owner, 2);
	return p;
}

static void flow_is_known(void)
{
	static struct bp_lcl_rules rules;

	memset(&rules, 0, sizeof(rules));
	rules.n_flows = 1;
	rules.flow[0] = (struct bp_lcl_flow){
		.name = "arm-3", .budget_ns = 15000, .id = 7, .hops = 1, .out = 1};
	bp_seqlock_write(&shm.lcl.plan->lock, &rules, sizeof(rules));
}

static struct bp_lcl_flow_stats *flow_row(unsigned row, uint16_t id, bool last)
{
	struct bp_lcl_flow_stats *f = &shm.lcl.flows[1 * shm.lcl.limit + row];

	f->flow = id;
	f->last = last;
	atomic_store(&f->life, 1);
	return f;
}

static void missing_section_is_reported(void **state)
{
	json_t *v = view();

	assert_true(json_is_null(json_object_get(v, "generation")));
	assert_int_equal(json_array_size(json_object_get(v, "ports")), 0);
	json_decref(v);
	says("no entry in section lcl.ports\n");
}

static void port_without_owner_is_not_shown(void **state)
{
	json_t *v = view();

	assert_int_equal(json_array_size(json_object_get(v, "ports")), 0);
	assert_int_equal(number(v, "total"), 0);
	json_decref(v);
	says("no ports yet\n");
	says("no flows yet\n");
}

static void ports_have_their_figures(void **state)
{
	struct bp_lcl_port_stats *p = port_runs();
	json_t *v, *row;

	atomic_store(&p->sent, 1000);
	atomic_store(&p->slots, 10000);
	atomic_store(&p->late_min_ns, 5);
	atomic_store(&p->late_max_ns, 9000);
	atomic_store(&p->lateness[bp_lcl_bucket(6)], 9998);
	atomic_store(&p->lateness[bp_lcl_bucket(9000)], 2);
	atomic_store(&p->gap[bp_lcl_bucket(100)], 10);
	atomic_store(&p->best_effort_bytes, 3000);
	atomic_store(&p->gated_ns, 320); /* 1000 bytes */
	v = view();
	row = json_array_get(json_object_get(v, "ports"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "port")), "wan");
	assert_int_equal(number(row, "owner"), 1);
	assert_int_equal(number(row, "sent"), 1000);
	assert_int_equal(number(row, "slot_jitter_min_ns"), 5);
	assert_int_equal(number(row, "slot_jitter_median_ns"), 6);
	/* 2 of 10000 are beyond, which is more than 1 */
	assert_int_equal(number(row, "slot_jitter_p9999_ns"),
		bp_lcl_bucket_from(bp_lcl_bucket(9000) + 1) - 1);
	assert_int_equal(
		number(row, "poll_gap_p9999_ns"), bp_lcl_bucket_from(bp_lcl_bucket(100) + 1) - 1);
	assert_int_equal(number(row, "gated_bytes"), 1000);
	assert_true(json_real_value(json_object_get(row, "gated_percent")) == 25.0);
	json_decref(v);
	says("25 Gbps");
	says("25.00\n");
}

static void missing_seconds_are_reported(void **state)
{
	struct bp_lcl_port_stats *p = port_runs();
	const uint64_t now = 1800000000;
	json_t *v, *list;

	for (unsigned i = 0; i < 70; i++) {
		struct bp_lcl_interval *one = &p->interval[(now + i) % BP_LCL_INTERVALS];

		atomic_store(&one->second, now + i);
		atomic_store(&one->frames, 100 + i);
		atomic_store(&one->late_ns, i == 69 ? 8001 : 8000);
		atomic_store(&one->outside, i == 3 || i == 10 ? 2 : 0);
	}
	v = view();
	list = json_object_get(json_array_get(json_object_get(v, "ports"), 0), "recent_violations");
	/* the fourth has been written over since */
	assert_int_equal(json_array_size(list), 2);
	assert_int_equal(number(json_array_get(list, 0), "second"), now + 10);
	assert_int_equal(number(json_array_get(list, 0), "out_of_bound"), 2);
	assert_int_equal(number(json_array_get(list, 1), "second"), now + 69);
	assert_int_equal(number(json_array_get(list, 1), "slot_jitter_ns"), 8001);
	json_decref(v);
	says("2027-01-15T08:00:10Z");
}

static void flows_have_their_figures(void **state)
{
	struct bp_lcl_flow_stats *f;
	json_t *v, *row;

	port_runs();
	flow_is_known();
	f = flow_row(2, 7, true);
	atomic_store(&f->frames, 4);
	atomic_store(&f->waited_ns, 4000);
	atomic_store(&f->waited_min_ns, 900);
	atomic_store(&f->waited_max_ns, 1100);
	atomic_store(&f->deviation_min_ns, -500);
	atomic_store(&f->deviation_max_ns, 700);
	atomic_store(&f->deviation[32], 3);
	atomic_store(&f->deviation[65], 1);
	atomic_store(&f->jitter[bp_lcl_bucket(3)], 3);
	flow_row(1, 9, false);
	v = view();
	assert_int_equal(number(v, "total"), 2);
	row = json_array_get(json_object_get(v, "flows"), 1);
	assert_string_equal(json_string_value(json_object_get(row, "flow")), "arm-3");
	assert_string_equal(json_string_value(json_object_get(row, "node")), "last");
	assert_int_equal(number(row, "id"), 7);
	assert_int_equal(number(row, "queueing_delay_avg_ns"), 1000);
	assert_int_equal(number(row, "end_to_end_min_ns"), 14500);
	assert_int_equal(number(row, "end_to_end_max_ns"), 15700);
	assert_int_equal(number(row, "jitter_max_ns"), 3);
	row = json_array_get(json_object_get(v, "flows"), 0);
	assert_true(json_is_null(json_object_get(row, "flow")));
	assert_string_equal(json_string_value(json_object_get(row, "node")), "transit");
	assert_null(json_object_get(row, "queueing_delay_avg_ns"));
	json_decref(v);
	says("14.5 us");
	/* in the middle as dark as it gets, and a little beyond twice tau */
	says("|                                @                                -|  arm-3, port "
	     "wan\n");
	source.limit = 1;
	says("1 of 2 flows; -n 0 shows all\n");
}

/* The segment is memory of another process: no value in it is trusted. */
static void damaged_tables_are_survived(void **state)
{
	uint8_t *where[] = {
		(uint8_t *)shm.lcl.plan, (uint8_t *)shm.lcl.ports, (uint8_t *)shm.lcl.flows};
	const size_t size[] = {sizeof(*shm.lcl.plan), 2 * sizeof(*shm.lcl.ports),
		2 * shm.lcl.limit * sizeof(*shm.lcl.flows)};

	srand(1);
	port_runs();
	flow_is_known();
	for (unsigned round = 0; round < 300; round++) {
		const unsigned t = round % 3;

		for (unsigned i = 0; i < 200; i++)
			where[t][(size_t)rand() % size[t]] = (uint8_t)rand();
		says("");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(missing_section_is_reported, begin_without, end),
		cmocka_unit_test_setup_teardown(port_without_owner_is_not_shown, begin, end),
		cmocka_unit_test_setup_teardown(ports_have_their_figures, begin, end),
		cmocka_unit_test_setup_teardown(missing_seconds_are_reported, begin, end),
		cmocka_unit_test_setup_teardown(flows_have_their_figures, begin, end),
		cmocka_unit_test_setup_teardown(damaged_tables_are_survived, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
