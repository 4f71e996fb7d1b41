/* SPDX-License-Identifier: BSD-3-Clause */
/* Two workers, each with the connection of one device, publish the parts of one key at a time. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "biplane/counters/mqtt.h"
#include "test.h"

#include "rig.h"
#include "shm/rules/combination.h"

#define ROUNDS 20000u

static struct rig rig[2]; /* the second one has the segment of the first */
static struct peer device[2];
static _Atomic uint32_t arrived;
static unsigned wrong_states, repeated; /* rounds */
static uint8_t high[2][ROUNDS];         /* which device publishes a value that holds, and when */

static struct bp_rule_spec both(void)
{
	static const uint8_t step[] = {BP_STEP_ALL | 2, BP_STEP_PART, BP_STEP_PART | 1};
	struct bp_rule_spec rule = rig_rule("both", "", BP_COND_GT, 0);
	struct bp_combination_spec *c = calloc(1, sizeof(*c) + 2 * sizeof(c->part[0]));

	assert_non_null(c);
	c->part[0] = rig_rule("", "a/{x}", BP_COND_GT, 80);
	c->part[1] = rig_rule("", "b/{x}", BP_COND_GT, 80);
	memcpy(c->program.step, step, sizeof(step));
	c->program.len = sizeof(step);
	c->n_parts = 2;
	rule.combination = c;
	rule.repeat = BP_REPEAT_ON_CHANGE;
	return rule;
}

static struct bp_mqtt_worker *second_worker(void)
{
	struct bp_mqtt_options options;
	struct bp_mqtt_worker *in;
	char err[256] = "";

	bp_config_mqtt_options(&rig[0].config, &options);
	in = bp_mqtt_worker_create(&options, &rig[0].shm, 1, true, err, sizeof(err));
	assert_non_null(in);
	return in;
}

/* Waits for the n-th time until both are here, and without a system call, so that both continue at
 * the same time. */
static void meet(uint32_t n)
{
	atomic_fetch_add(&arrived, 1);
	for (unsigned i = 0; atomic_load(&arrived) < 2 * n; i++)
		if (i % 1024 == 1023)
			sched_yield();
}

/* Both workers have published in this round. */
static void check_round(unsigned i)
{
	static uint64_t raised, cleared;
	const struct bp_counters *c = rig[0].shm.counters;
	const uint64_t now_raised = c[0].v[BP_C_ALARM_RAISED] + c[1].v[BP_C_ALARM_RAISED];
	const uint64_t now_cleared = c[0].v[BP_C_ALARM_CLEARED] + c[1].v[BP_C_ALARM_CLEARED];

	/* the state is that of the last values, and no transition happened twice */
	wrong_states += now_raised - now_cleared != (high[0][i] && high[1][i]);
	repeated += now_raised - raised > 1 || now_cleared - cleared > 1;
	raised = now_raised;
	cleared = now_cleared;
}

static void *work(void *arg)
{
	const unsigned w = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		meet(2 * i + 1);
		rig_publish_text(
			&rig[w], &device[w], w == 0 ? "a/1" : "b/1", high[w][i] ? "90" : "20");
		meet(2 * i + 2);
		if (w == 0)
			check_round(i);
		/* the alarms of the worker are read, so that its queue has space */
		if (w == 0 && i % 256 == 0)
			(void)rig_told_count(&rig[0]);
	}
	return NULL;
}

static void open_both(struct bp_rule_spec *rule)
{
	rig_defaults(&rig[0]);
	rig[0].config.n_workers = 2;
	rig_open(&rig[0]);
	rig_rules(&rig[0], rule, 1);
	rig[1] = rig[0];
	rig[1].in = second_worker();
	rig[1].frame = malloc(PEER_FRAME_MAX);
	assert_non_null(rig[1].frame);
	for (unsigned w = 0; w < 2; w++) {
		bp_mqtt_worker_begin(rig[w].in, rig[0].rules, rig[0].now_ns, rig[0].mono_ns);
		peer_init(&device[w], false, w + 1, 1, 2);
		rig_connect(&rig[w], &device[w], 4, w == 0 ? "a" : "b");
	}
}

static void close_both(struct bp_rule_spec *rule)
{
	bp_mqtt_worker_free(rig[1].in);
	free(rig[1].frame);
	rig_close(&rig[0]);
	free(rule->combination);
}

static void a_race_has_one_transition(void **state)
{
	struct bp_rule_spec rule = both();
	uint64_t seed = 7;
	pthread_t thread[2];

	(void)state;
	open_both(&rule);
	for (unsigned w = 0; w < 2; w++) {
		rig_advance(&rig[w], 1000000000); /* values repeat truths */
		for (unsigned i = 0; i < ROUNDS; i++)
			high[w][i] = test_below(&seed, 2) != 0;
	}
	for (unsigned w = 0; w < 2; w++)
		assert_int_equal(pthread_create(&thread[w], NULL, work, (void *)(uintptr_t)w), 0);
	for (unsigned w = 0; w < 2; w++)
		assert_int_equal(pthread_join(thread[w], NULL), 0);
	assert_int_equal(wrong_states, 0);
	assert_int_equal(repeated, 0);
	close_both(&rule);
}

/* ---- a worker that is paused after it has read the truths ---- */

static void (*meanwhile)(void); /* what the other worker does then, once */

enum bp_truth __real_bp_program_evaluate(
	const struct bp_program *p, const uint8_t truth[BP_PARTS_MAX]);
enum bp_truth __wrap_bp_program_evaluate(
	const struct bp_program *p, const uint8_t truth[BP_PARTS_MAX]);
enum bp_truth __wrap_bp_program_evaluate(
	const struct bp_program *p, const uint8_t truth[BP_PARTS_MAX])
{
	const enum bp_truth result = __real_bp_program_evaluate(p, truth);
	void (*const others)(void) = meanwhile;

	if (others != NULL) {
		meanwhile = NULL;
		others();
	}
	return result;
}

static void publish(unsigned w, const char *topic, const char *value)
{
	rig_publish_text(&rig[w], &device[w], topic, value);
}

static void raise_and_clear(void)
{
	publish(1, "b/1", "91");
	publish(1, "b/1", "20");
}

static void clear_and_raise(void)
{
	publish(1, "b/1", "91");
	publish(1, "a/1", "90");
}

static void raise_again(void)
{
	publish(1, "a/1", "90");
}

static void check_counts(uint64_t raised, uint64_t cleared)
{
	const struct bp_counters *c = rig[0].shm.counters;

	assert_int_equal(c[0].v[BP_C_ALARM_RAISED] + c[1].v[BP_C_ALARM_RAISED], raised);
	assert_int_equal(c[0].v[BP_C_ALARM_CLEARED] + c[1].v[BP_C_ALARM_CLEARED], cleared);
}

/* Each value that the paused worker has overtaken counts once, and its late result not again. */
static void a_paused_worker_repeats_no_transition(void **state)
{
	struct bp_rule_spec rule = both();

	(void)state;
	open_both(&rule);
	publish(1, "b/1", "90");
	meanwhile = raise_and_clear;
	publish(0, "a/1", "90");
	assert_null(meanwhile);
	check_counts(1, 1);

	publish(1, "b/1", "90");
	check_counts(2, 1);
	meanwhile = clear_and_raise;
	publish(0, "a/1", "20");
	assert_null(meanwhile);
	check_counts(3, 2);

	/* the state is raised all the time */
	meanwhile = raise_again;
	publish(0, "a/1", "20");
	assert_null(meanwhile);
	check_counts(3, 2);

	publish(0, "a/1", "20");
	check_counts(3, 3);
	close_both(&rule);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_race_has_one_transition),
		cmocka_unit_test(a_paused_worker_repeats_no_transition)};

	return cmocka_run_group_tests_name("combinations of workers", tests, NULL, NULL);
}
