/* SPDX-License-Identifier: BSD-3-Clause */
/* LCL scheduling in the whole process: when flows come into force. The test plays the data plane.
 */
#include "tests/unit/controlplane/process/process_rig.h"
#include "config/config.h"
#include "config/lcl/settings.h"

#include <stdio.h>
#include <string.h>

#define LCL(flows) "lcl:\n  ports: [{port: cloud, link_rate: 25Gbps}]\n  flows:\n" flows
#define FLOW(name, udp)                                                                            \
	"    - {name: " name ", match: {port: devices, udp_port: " udp                             \
	"}, latency_budget: 15us, hops: 1, rate: "                                                 \
	"1Mbps, burst: 200}\n"
#define ONE LCL(FLOW("arm", "1"))
#define TWO LCL(FLOW("arm", "1") FLOW("leg", "2"))

static uint64_t generation(const struct process *f)
{
	return atomic_load(&f->shm.lcl.plan->lock.generation);
}

static void plan_is_the_files(struct process *f)
{
	struct bp_config *c = bp_config_load(f->config_path, stderr);
	struct bp_lcl_rules *taken = malloc(sizeof(*taken));
	uint64_t seen = 0;

	assert_non_null(c);
	assert_non_null(taken);
	assert_true(bp_seqlock_read(&f->shm.lcl.plan->lock, &seen, taken, sizeof(*taken)));
	assert_memory_equal(taken, &bp_config_lcl(c)->rules, sizeof(*taken));
	free(taken);
	bp_config_free(c);
}

/* The answer to a reload: whether the flows changed, or the reason of the refusal. */
static void reloads(struct process *f, int changed, const char *refused)
{
	json_t *reply = process_ask(f, "reload");
	const char *said;

	assert_int_equal(json_is_true(json_object_get(reply, "ok")), refused == NULL);
	if (refused == NULL) {
		assert_int_equal(json_is_true(json_object_get(reply, "flows_changed")), changed);
		assert_true(json_is_boolean(json_object_get(reply, "flows_changed")));
	} else {
		said = json_string_value(json_array_get(json_object_get(reply, "errors"), 0));
		assert_non_null(said);
		if (strstr(said, refused) == NULL)
			fail_msg("refused for '%s', and not for '%s'", said, refused);
	}
	json_decref(reply);
}

static void flows_change_with_a_reload(void **state)
{
	struct process *f = *state;
	struct bp_config *c;

	process_write_bridge(f, ONE);
	c = process_attach(f);
	bp_config_free(c);
	assert_int_equal(generation(f), 0);
	process_start(f);
	json_decref(process_ask(f, "status"));
	assert_int_equal(generation(f), 2);
	plan_is_the_files(f);
	process_write_bridge(f, TWO);
	reloads(f, true, NULL);
	plan_is_the_files(f);
	reloads(f, false, NULL);
	plan_is_the_files(f);
	/* bounds that cannot be guaranteed, or settings that need a restart, change nothing */
	process_write_bridge(f,
		LCL(FLOW("arm",
			"1")) "    - {name: x, match: {port: devices}, latency_budget: 50us, "
			      "hops: 1, rate: 1Mbps, burst: 200}\n");
	reloads(f, false, "its frames can need 8 queues of 8000 ns");
	process_write_bridge(f, "");
	reloads(f, false, "lcl.ports: changing it needs a restart");
	assert_int_equal(generation(f), 6);
	process_write_bridge(f, LCL("    []\n"));
	reloads(f, true, NULL);
	plan_is_the_files(f);
}

/* A data plane that comes later has read the file, which no one has put active. */
static void new_dataplane_is_notified(void **state)
{
	struct process *f = *state;
	struct bp_lcl_rules *before = malloc(2 * sizeof(*before));
	uint64_t seen = 0, first;

	assert_non_null(before);
	process_write_bridge(f, ONE);
	bp_config_free(process_attach(f));
	process_start(f);
	reloads(f, false, NULL);
	assert_true(bp_seqlock_read(&f->shm.lcl.plan->lock, &seen, &before[0], sizeof(before[0])));
	process_write_bridge(f, TWO);
	first = generation(f);
	atomic_store(&f->shm.global->dp_started_ns, 1);
	WAIT_UNTIL(generation(f) != first);
	WAIT_UNTIL(bp_seqlock_read(&f->shm.lcl.plan->lock, &seen, &before[1], sizeof(before[1])));
	assert_memory_equal(&before[0], &before[1], sizeof(*before));
	free(before);
}

int main(int argc, char **argv)
{
	int status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			flows_change_with_a_reload, process_setup, process_teardown),
		cmocka_unit_test_setup_teardown(
			new_dataplane_is_notified, process_setup, process_teardown),
	};

	if (process_is_controlplane(argc, argv, &status))
		return status;
	return cmocka_run_group_tests_name("controlplane lcl", tests, NULL, NULL);
}
