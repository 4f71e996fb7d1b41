/* SPDX-License-Identifier: BSD-3-Clause */
/* Aggregation in the whole process: when the plan in the segment is written, and when it is not.
 * The test plays the data plane. */
#include "config/aggregation/settings.h"
#include "tests/unit/controlplane/process/process_rig.h"
#include "config/config.h"

#include <stdio.h>
#include <string.h>

#define ONE                                                                                        \
	"aggregation:\n  encapsulate:\n  - {port: devices, to: {address: 10.1.0.9, udp_port: "     \
	"5555}}\n"
#define TWO                                                                                        \
	"aggregation:\n  encapsulate:\n  - {port: devices, to: {address: 10.1.0.9, udp_port: "     \
	"5555}, max_messages: 9}\n"                                                                \
	"  decapsulate:\n"                                                                         \
	"  - {port: cloud, to: {address: 10.2.0.9, udp_port: 5555}, allowed_senders: "             \
	"[10.0.0.0/24]}\n"

static void attach(struct process *f)
{
	bp_config_free(process_attach(f));
}

static uint64_t generation(const struct process *f)
{
	return atomic_load(&f->shm.agg.plan->lock.generation);
}

/* That the plan is what the file says. */
static void plan_is_the_files(struct process *f)
{
	struct bp_config *c = bp_config_load(f->config_path, stderr);
	struct bp_agg_rules taken;
	uint64_t seen = 0;

	assert_non_null(c);
	assert_true(bp_seqlock_read(&f->shm.agg.plan->lock, &seen, &taken, sizeof(taken)));
	assert_memory_equal(&taken, &bp_config_aggregation(c)->rules, sizeof(taken));
	bp_config_free(c);
}

static void accepted(struct process *f, bool changed)
{
	json_t *reply = process_ask(f, "reload");

	assert_true(json_is_true(json_object_get(reply, "ok")));
	assert_int_equal(json_is_true(json_object_get(reply, "aggregation_changed")), changed);
	assert_true(json_is_boolean(json_object_get(reply, "aggregation_changed")));
	json_decref(reply);
}

static void refused(struct process *f, const char *why)
{
	json_t *reply = process_ask(f, "reload");
	const char *said;

	assert_true(json_is_false(json_object_get(reply, "ok")));
	said = json_string_value(json_array_get(json_object_get(reply, "errors"), 0));
	assert_non_null(said);
	if (strstr(said, why) == NULL)
		fail_msg("refused for '%s', and not for '%s'", said, why);
	json_decref(reply);
}

static void reload_reports_differences(void **state)
{
	struct process *f = *state;

	process_write_bridge(f, ONE);
	attach(f); /* the data plane comes first */
	assert_int_equal(generation(f), 0);
	process_start(f);
	json_decref(process_ask(f, "status"));
	assert_int_equal(generation(f), 2);
	plan_is_the_files(f);
	process_write_bridge(f, TWO);
	accepted(f, true);
	assert_int_equal(generation(f), 4);
	plan_is_the_files(f);
	/* The same, and the same in other words: byte by byte, so that streams continue. */
	accepted(f, false);
	process_write_bridge(f, TWO "  pacing_queue_len: 4000\n");
	accepted(f, false);
	assert_int_equal(generation(f), 8);
	plan_is_the_files(f);
	process_write_bridge(f, ONE);
	accepted(f, true);
	assert_int_equal(generation(f), 10);
	plan_is_the_files(f);
}

static void rejected_reload_has_no_effect(void **state)
{
	struct process *f = *state;
	struct bp_agg_shared_rules *before = malloc(sizeof(*before));

	assert_non_null(before);
	process_write_bridge(f, ONE);
	attach(f);
	process_start(f);
	json_decref(process_ask(f, "status"));
	memcpy(before, f->shm.agg.plan, sizeof(*before));
	process_write_bridge(f, TWO "  - {port: devices, to: {address: 10.1.0.9, udp_port: 1}, "
				    "allowed_senders: 10.0.0.1, messages: 0}\n");
	refused(f, "unknown setting 'messages'");
	/* Good entries next to what a reload cannot take over. */
	process_write_bridge(f, TWO "  max_streams: 9\n");
	refused(f, "aggregation.max_streams: changing it needs a restart");
	process_write_bridge(f, "");
	refused(f, "aggregation.encapsulate: removing the last entry needs a restart");
	assert_memory_equal(before, f->shm.agg.plan, sizeof(*before));
	free(before);
	process_write_bridge(f, TWO);
	accepted(f, true);
	plan_is_the_files(f);
}

/* A control plane that was killed and comes back says what its file says by now, also where its
 * predecessor was killed while it wrote. */
static void restart_writes_the_plan(void **state)
{
	struct process *f = *state;

	process_write_bridge(f, ONE);
	attach(f);
	process_start(f);
	json_decref(process_ask(f, "status"));
	process_kill(f);
	process_start(f);
	json_decref(process_ask(f, "status"));
	assert_int_equal(generation(f), 4);
	plan_is_the_files(f);
	process_kill(f);
	process_write_bridge(f, TWO);
	process_start(f);
	json_decref(process_ask(f, "status"));
	assert_int_equal(generation(f), 6);
	plan_is_the_files(f);
	process_kill(f);
	atomic_store(&f->shm.agg.plan->lock.generation, 7);
	process_start(f);
	json_decref(process_ask(f, "status"));
	assert_int_equal(generation(f), 8);
	plan_is_the_files(f);
}

/* A data plane that comes later has read the file, which no one has put active. */
static void new_dataplane_is_notified(void **state)
{
	struct process *f = *state;
	struct bp_agg_rules before, after;
	uint64_t seen = 0, first;

	process_write_bridge(f, ONE);
	attach(f);
	process_start(f);
	accepted(f, false);
	assert_true(bp_seqlock_read(&f->shm.agg.plan->lock, &seen, &before, sizeof(before)));
	process_write_bridge(f, TWO);
	first = generation(f);
	atomic_store(&f->shm.global->dp_started_ns, 1);
	WAIT_UNTIL(generation(f) != first);
	WAIT_UNTIL(bp_seqlock_read(&f->shm.agg.plan->lock, &seen, &after, sizeof(after)));
	assert_memory_equal(&after, &before, sizeof(after));
}

/* A configuration without entries has no plan, and adding the first entry is refused. */
static void the_first_entry_needs_a_restart(void **state)
{
	struct process *f = *state;

	process_write_bridge(f, "");
	attach(f);
	assert_null(f->shm.agg.plan);
	process_start(f);
	json_decref(process_ask(f, "status"));
	accepted(f, false);
	process_write_bridge(f, ONE);
	refused(f, "aggregation.encapsulate: adding the first entry needs a restart");
}

int main(int argc, char **argv)
{
	int status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			reload_reports_differences, process_setup, process_teardown),
		cmocka_unit_test_setup_teardown(
			rejected_reload_has_no_effect, process_setup, process_teardown),
		cmocka_unit_test_setup_teardown(
			restart_writes_the_plan, process_setup, process_teardown),
		cmocka_unit_test_setup_teardown(
			new_dataplane_is_notified, process_setup, process_teardown),
		cmocka_unit_test_setup_teardown(
			the_first_entry_needs_a_restart, process_setup, process_teardown),
	};

	if (process_is_controlplane(argc, argv, &status))
		return status;
	return cmocka_run_group_tests_name("controlplane aggregation", tests, NULL, NULL);
}
