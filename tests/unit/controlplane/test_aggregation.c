/* SPDX-License-Identifier: BSD-3-Clause */
/* Aggregation in the whole process: when the plan in the segment is written, and when it is not.
 * The test plays the data plane. */
#include "process_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONE "aggregate:\n  - {port: devices, to: {address: 10.1.0.9, udp: 5555}}\n"
#define TWO                                                                                        \
	"aggregate:\n  - {port: devices, to: {address: 10.1.0.9, udp: 5555}, messages: 9}\n"       \
	"disaggregate:\n"                                                                          \
	"  - {port: cloud, to: {address: 10.2.0.9, udp: 5555}, senders: [10.0.0.0/24]}\n"

struct fixture {
	struct process p;
};

static void write_config(const struct fixture *f, const char *more)
{
	char text[2048];

	snprintf(text, sizeof(text),
		"name: test\nruntime: {directory: %s, hugepages: never}\n"
		"ports: [{name: devices, device: net_null0}, {name: cloud, device: net_null1}]\n"
		"bridge: [[devices, cloud]]\n%s",
		f->p.dir, more);
	test_write_file(f->p.config_path, text);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	process_begin(&f->p);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	process_end(&f->p);
	free(f);
	return 0;
}

static void attach(struct fixture *f)
{
	bp_config_free(process_attach(&f->p));
}

static uint64_t generation(const struct fixture *f)
{
	return atomic_load(&f->p.shm.agg.plan->generation);
}

/* That the plan is what the file says. */
static void plan_is_the_files(struct fixture *f)
{
	struct bp_config *c = bp_config_load(f->p.config_path, stderr);
	struct bp_agg_rules taken;
	uint64_t seen = 0;

	assert_non_null(c);
	assert_true(bp_agg_plan_take(f->p.shm.agg.plan, &seen, &taken));
	assert_memory_equal(&taken, &c->agg, sizeof(taken));
	bp_config_free(c);
}

static void accepted(struct fixture *f, bool changed)
{
	json_t *reply = process_ask(&f->p, "reload");

	assert_true(json_is_true(json_object_get(reply, "ok")));
	assert_int_equal(json_is_true(json_object_get(reply, "aggregation_changed")), changed);
	assert_true(json_is_boolean(json_object_get(reply, "aggregation_changed")));
	json_decref(reply);
}

static void refused(struct fixture *f, const char *why)
{
	json_t *reply = process_ask(&f->p, "reload");
	const char *said;

	assert_true(json_is_false(json_object_get(reply, "ok")));
	said = json_string_value(json_array_get(json_object_get(reply, "errors"), 0));
	assert_non_null(said);
	if (strstr(said, why) == NULL)
		fail_msg("refused for '%s', and not for '%s'", said, why);
	json_decref(reply);
}

static void reload_tells_what_differs(void **state)
{
	struct fixture *f = *state;

	write_config(f, ONE);
	attach(f); /* the data plane comes first */
	assert_int_equal(generation(f), 0);
	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	assert_int_equal(generation(f), 2);
	plan_is_the_files(f);
	write_config(f, TWO);
	accepted(f, true);
	assert_int_equal(generation(f), 4);
	plan_is_the_files(f);
	/* The same, and the same in other words: octet by octet, so that streams go on. */
	accepted(f, false);
	write_config(f, TWO "aggregation: {queue: 4000}\n");
	accepted(f, false);
	assert_int_equal(generation(f), 8);
	plan_is_the_files(f);
	write_config(f, ONE);
	accepted(f, true);
	assert_int_equal(generation(f), 10);
	plan_is_the_files(f);
}

static void refused_reload_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct bp_agg_plan *before = malloc(sizeof(*before));

	assert_non_null(before);
	write_config(f, ONE);
	attach(f);
	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	memcpy(before, f->p.shm.agg.plan, sizeof(*before));
	write_config(f, TWO "  - {port: devices, to: {address: 10.1.0.9, udp: 1}, messages: 0}\n");
	refused(f, "unknown setting 'messages'");
	/* Good entries beside what a reload can't take over. */
	write_config(f, TWO "aggregation: {streams: 9}\n");
	refused(f, "aggregation.streams: changing it needs a restart");
	write_config(f, "");
	refused(f, "aggregate: removing the last entry needs a restart");
	assert_memory_equal(before, f->p.shm.agg.plan, sizeof(*before));
	free(before);
	write_config(f, TWO);
	accepted(f, true);
	plan_is_the_files(f);
}

/* A control plane that was killed and comes back says what its file says by now, also where its
 * predecessor was killed while it wrote. */
static void restart_writes_the_plan(void **state)
{
	struct fixture *f = *state;

	write_config(f, ONE);
	attach(f);
	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	process_kill(&f->p);
	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	assert_int_equal(generation(f), 4);
	plan_is_the_files(f);
	process_kill(&f->p);
	write_config(f, TWO);
	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	assert_int_equal(generation(f), 6);
	plan_is_the_files(f);
	process_kill(&f->p);
	atomic_store(&f->p.shm.agg.plan->generation, 7);
	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	assert_int_equal(generation(f), 8);
	plan_is_the_files(f);
}

/* A data plane that comes later has read the file, which nobody has put in force. */
static void a_new_dataplane_is_told(void **state)
{
	struct fixture *f = *state;
	struct bp_agg_rules before, after;
	uint64_t seen = 0, first;

	write_config(f, ONE);
	attach(f);
	process_start(&f->p);
	accepted(f, false);
	assert_true(bp_agg_plan_take(f->p.shm.agg.plan, &seen, &before));
	write_config(f, TWO);
	first = generation(f);
	atomic_store(&f->p.shm.global->dp_started_ns, 1);
	WAIT_UNTIL(generation(f) != first);
	WAIT_UNTIL(bp_agg_plan_take(f->p.shm.agg.plan, &seen, &after));
	assert_memory_equal(&after, &before, sizeof(after));
}

/* Who aggregates nothing has no plan, and adding the first entry is refused. */
static void the_first_entry_needs_a_restart(void **state)
{
	struct fixture *f = *state;

	write_config(f, "");
	attach(f);
	assert_null(f->p.shm.agg.plan);
	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	accepted(f, false);
	write_config(f, ONE);
	refused(f, "aggregate: adding the first entry needs a restart");
}

int main(int argc, char **argv)
{
	int status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reload_tells_what_differs, setup, teardown),
		cmocka_unit_test_setup_teardown(refused_reload_changes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(restart_writes_the_plan, setup, teardown),
		cmocka_unit_test_setup_teardown(a_new_dataplane_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(the_first_entry_needs_a_restart, setup, teardown),
	};

	if (process_is_controlplane(argc, argv, &status))
		return status;
	return cmocka_run_group_tests_name("controlplane aggregation", tests, NULL, NULL);
}
