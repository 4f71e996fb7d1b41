/* SPDX-License-Identifier: BSD-3-Clause */
/* Data activated together: the workers that are waited for, and unchanged parts. */
#include "config/aggregation/settings.h"
#include "config/mqtt/settings.h"
#include "config/transform/settings.h"
#include "tests/unit/controlplane/test.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/process/publication.h"

#define WAIT_NS 60000000000ull

struct fixture {
	struct bp_config config;
	struct bp_config_mqtt mqtt;
	struct bp_config_aggregation aggregation;
	struct bp_config_transform transform;
	struct bp_shm shm;
	struct event_base *base;
	struct bp_plane_context x;
	struct {
		bool ok, retry;
		char error[512];
		json_int_t generation, rules, unchanged;
		bool aggregation;
	} result;
	unsigned answers;
};

static void begin(struct fixture *f)
{
	static const struct bp_listen_fds none;
	char err[256];

	f->x = (struct bp_plane_context){
		.base = f->base, .shm = &f->shm, .config = &f->config, .fds = &none};
	assert_int_equal(bp_cp_services_create(&f->x, err, sizeof(err)), 0);
	f->x.publication = bp_publication_new(&f->x);
	assert_non_null(f->x.publication);
}

static void end(struct fixture *f)
{
	bp_publication_free(f->x.publication);
	bp_cp_services_free(&f->x);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	test_config(&f->config, &f->mqtt, "/nowhere", 0, 3, 65536);
	f->config.service[BP_SERVICE_AGGREGATION] = &f->aggregation;
	f->aggregation.rules.n_aggregate = 1;
	f->aggregation.rules.aggregate[0].messages = 1;
	f->aggregation.max_streams = 1;
	test_shm_make(&f->shm, &f->config);
	f->base = event_base_new();
	begin(f);
	f->mqtt.rules = calloc(16, sizeof(*f->mqtt.rules));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	end(f);
	event_base_free(f->base);
	test_shm_free(&f->shm);
	free(f->mqtt.rules);
	free(f);
	return 0;
}

static void set_rule(struct fixture *f, unsigned i, const char *name, double limit)
{
	struct bp_rule_spec *r = &f->mqtt.rules[i];

	memset(r, 0, sizeof(*r));
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->filter, sizeof(r->filter), "plant/%s", name);
	snprintf(r->to, sizeof(r->to), "alarm/{topic}");
	r->value.kind = BP_VALUE_TEXT;
	r->raise = (struct bp_condition){.op = BP_COND_GT, .a = limit};
	if (f->mqtt.n_rules <= i)
		f->mqtt.n_rules = i + 1;
}

static void done(void *arg, const char *error, bool retry)
{
	struct fixture *f = arg;
	json_t *answer = json_object();

	bp_cp_services_report(&f->x, answer);
	f->result.ok = error == NULL;
	f->result.retry = retry;
	snprintf(f->result.error, sizeof(f->result.error), "%s", error != NULL ? error : "");
	f->result.generation = json_integer_value(json_object_get(answer, "generation"));
	f->result.rules = json_integer_value(json_object_get(answer, "rules"));
	f->result.unchanged = json_integer_value(json_object_get(answer, "unchanged"));
	f->result.aggregation = json_is_true(json_object_get(answer, "aggregation_changed"));
	json_decref(answer);
	f->answers++;
}

static int apply(struct fixture *f, bool keep_same, uint64_t wait_ns)
{
	char err[256] = "";

	return bp_publication_start(
		f->x.publication, &f->config, keep_same, wait_ns, done, f, err, sizeof(err));
}

static uint64_t active(const struct fixture *f)
{
	return atomic_load(&f->shm.control->rules_active);
}

static const struct bp_ruleset *in_force(const struct fixture *f)
{
	return bp_shm_rules(&f->shm, active(f));
}

static void seen(struct fixture *f, unsigned worker, uint64_t value)
{
	atomic_store(&f->shm.global->rules_seen[worker], value);
}

/* Turns of the loop that show that nothing happens: each waits for the rules' own timer. */
static void turns(struct fixture *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		event_base_loop(f->base, EVLOOP_ONCE);
}

static void without_data_plane(void **state)
{
	struct fixture *f = *state;

	set_rule(f, 0, "a", 1);
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	assert_int_equal(f->answers, 1); /* at once */
	assert_true(f->result.ok);
	assert_int_equal(f->result.generation, 1);
	assert_int_equal(f->result.rules, 1);
	assert_int_equal(f->result.unchanged, 0);
	assert_int_equal(active(f), 1 << 1 | 1);
	assert_int_equal(in_force(f)->n_rules, 1);
	/* Workers that noted something before their data plane died are not waited for. */
	seen(f, 0, 0);
	set_rule(f, 1, "b", 2);
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	assert_int_equal(f->answers, 2);
	assert_int_equal(f->result.unchanged, 1);
	assert_int_equal(active(f), 2 << 1 | 0);
	assert_string_equal(bp_ruleset_rule(in_force(f), 1)->name, "b");
}

static void waits_for_every_worker(void **state)
{
	struct fixture *f = *state;
	uint64_t first, second;
	uint8_t *bank, *before;

	set_rule(f, 0, "a", 1);
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	first = active(f);
	atomic_store(&f->shm.global->dp_pid, (uint64_t)getpid());
	seen(f, 0, first);
	seen(f, 1, 0); /* still walks with the other bank */
	seen(f, 2, UINT64_MAX);
	bank = f->shm.rules.banks + ((first & 1) ^ 1) * f->shm.rules.bank_size;
	before = malloc(f->shm.rules.bank_size);
	memcpy(before, bank, f->shm.rules.bank_size);
	set_rule(f, 0, "a", 2);
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	turns(f, 20);
	assert_int_equal(active(f), first);
	assert_memory_equal(before, bank, f->shm.rules.bank_size);
	/* Another one meanwhile is refused. */
	assert_int_equal(apply(f, false, WAIT_NS), -1);
	seen(f, 1, first);
	turns(f, 1);
	second = active(f);
	assert_int_equal(second, 2 << 1 | ((first & 1) ^ 1));
	assert_int_equal(f->answers, 1); /* the workers have not taken it yet */
	seen(f, 0, second);
	turns(f, 1);
	assert_int_equal(f->answers, 1);
	seen(f, 1, second);
	turns(f, 1);
	assert_int_equal(f->answers, 2);
	assert_true(f->result.ok);
	assert_int_equal(f->result.generation, 2);
	free(before);
}

static void stalled_worker_is_logged(void **state)
{
	struct fixture *f = *state;
	uint64_t first;

	set_rule(f, 0, "a", 1);
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	first = active(f);
	atomic_store(&f->shm.global->dp_pid, (uint64_t)getpid());
	seen(f, 1, 0);
	set_rule(f, 0, "a", 2);
	assert_int_equal(apply(f, false, 5000000), 0);
	while (f->answers == 1)
		turns(f, 1);
	assert_false(f->result.ok);
	assert_true(f->result.retry);
	assert_non_null(strstr(f->result.error, "worker 1 "));
	assert_int_equal(active(f), first);
	assert_int_equal(f->result.generation, 1);
	/* Afterwards it continues as if nothing had been. */
	seen(f, 1, UINT64_MAX);
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	turns(f, 1);
	assert_int_equal(in_force(f)->generation, 2);
}

/* A restarted control plane with the same rules writes nothing at all. */
static void same_rules_stay_untouched(void **state)
{
	struct fixture *f = *state;
	uint64_t first, bytes = f->shm.rules.bank_size * 2;
	uint8_t *before = malloc(bytes);

	f->mqtt.mirror =
		(struct bp_mirror_target){.enabled = true, .has_ip4 = true, .tcp_port = 1883};
	set_rule(f, 0, "a", 1);
	set_rule(f, 1, "b", 2);
	assert_int_equal(apply(f, true, WAIT_NS), 0);
	first = active(f);
	assert_int_equal(first >> 1, 1);
	memcpy(before, f->shm.rules.banks, bytes);
	assert_int_equal(apply(f, true, WAIT_NS), 0);
	assert_int_equal(f->answers, 2);
	assert_true(f->result.ok);
	assert_int_equal(f->result.generation, 1);
	assert_int_equal(f->result.unchanged, 2);
	assert_int_equal(active(f), first);
	assert_memory_equal(before, f->shm.rules.banks, bytes);
	/* An explicit reload of the same is a new generation with all rules unchanged. */
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	assert_int_equal(f->result.generation, 2);
	assert_int_equal(f->result.unchanged, 2);
	/* Another rule, one rule less, another clone target: each is a change. */
	set_rule(f, 1, "b", 3);
	assert_int_equal(apply(f, true, WAIT_NS), 0);
	assert_int_equal(f->result.generation, 3);
	assert_int_equal(f->result.unchanged, 1);
	f->mqtt.n_rules = 1;
	assert_int_equal(apply(f, true, WAIT_NS), 0);
	assert_int_equal(f->result.generation, 4);
	f->mqtt.mirror.tcp_port = 1884;
	assert_int_equal(apply(f, true, WAIT_NS), 0);
	assert_int_equal(f->result.generation, 5);
	f->mqtt.mirror.enabled = false;
	assert_int_equal(apply(f, true, WAIT_NS), 0);
	assert_int_equal(f->result.generation, 6);
	/* A severity is a change, but the rule keeps its state. */
	f->mqtt.rules[0].severity = BP_SEVERITY_MAJOR;
	assert_int_equal(apply(f, true, WAIT_NS), 0);
	assert_int_equal(f->result.generation, 7);
	assert_int_equal(f->result.unchanged, 1);
	assert_int_equal(bp_ruleset_rule(in_force(f), 0)->severity, BP_SEVERITY_MAJOR);
	free(before);
}

static void unchanged_rules_keep_their_slot(void **state)
{
	struct fixture *f = *state;
	uint32_t slot_b;

	set_rule(f, 0, "a", 1);
	set_rule(f, 1, "b", 2);
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	slot_b = bp_ruleset_rule(in_force(f), 1)->slot;
	set_rule(f, 0, "b", 2);
	f->mqtt.n_rules = 1;
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	assert_int_equal(f->result.unchanged, 1);
	assert_int_equal(bp_ruleset_rule(in_force(f), 0)->slot, slot_b);
}

/* The image ends with the text of a filter. */
static void filters_of_any_length_are_stored(void **state)
{
	struct fixture *f = *state;
	char name[16] = "";

	for (unsigned n = 1; n < sizeof(name); n++) {
		const struct bp_rule *r;

		name[n - 1] = 'x';
		set_rule(f, 0, name, 1);
		assert_int_equal(apply(f, false, WAIT_NS), 0);
		r = bp_ruleset_rule(in_force(f), 0);
		assert_int_equal(r->filter_len, strlen(f->mqtt.rules[0].filter));
		assert_memory_equal((const uint8_t *)in_force(f) + r->filter,
			f->mqtt.rules[0].filter, r->filter_len);
	}
}

static void too_many_rules_are_rejected(void **state)
{
	struct fixture *f = *state;
	char err[256] = "", name[16];

	for (unsigned i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "r%u", i);
		set_rule(f, i, name, i);
	}
	assert_int_equal(apply(f, false, WAIT_NS), 0); /* max_rules of the segment */
	f->mqtt.rules = realloc(f->mqtt.rules, 17 * sizeof(struct bp_rule_spec));
	set_rule(f, 16, "one-too-many", 1);
	assert_int_equal(bp_publication_start(f->x.publication, &f->config, false, WAIT_NS, done, f,
				 err, sizeof(err)),
		-1);
	assert_true(strlen(err) > 0);
	assert_int_equal(f->answers, 1);
	assert_int_equal(in_force(f)->generation, 1);
}

static uint64_t plan(const struct fixture *f)
{
	return atomic_load(&f->shm.agg.plan->lock.generation);
}

static unsigned planned_messages(const struct fixture *f)
{
	return f->shm.agg.plan->rules.aggregate[0].messages;
}

/* Together with each rule set, and also if its rules are active already; a message says what
 * changed. */
static void aggregation_is_written_with_the_rules(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(apply(f, true, WAIT_NS), 0);
	assert_true(f->result.ok && f->result.aggregation);
	assert_int_equal(plan(f), 2);
	assert_int_equal(planned_messages(f), 1);
	/* The same once more, for workers that began with another file. */
	set_rule(f, 0, "a", 1);
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	assert_false(f->result.aggregation);
	assert_int_equal(plan(f), 4);
	assert_int_equal(planned_messages(f), 1);
	f->aggregation.rules.aggregate[0].messages = 2;
	assert_int_equal(apply(f, true, WAIT_NS), 0);
	assert_true(f->result.ok && f->result.aggregation);
	assert_int_equal(f->result.generation, 2);
	assert_int_equal(plan(f), 6);
	assert_int_equal(planned_messages(f), 2);
	/* Both. */
	set_rule(f, 0, "a", 3);
	f->aggregation.rules.aggregate[0].messages = 3;
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	assert_true(f->result.aggregation);
	assert_int_equal(f->result.generation, 3);
	assert_int_equal(planned_messages(f), 3);
}

/* Both come into force together, or neither does. */
static void aggregation_waits_with_the_rules(void **state)
{
	struct fixture *f = *state;
	uint64_t first;

	set_rule(f, 0, "a", 1);
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	first = active(f);
	atomic_store(&f->shm.global->dp_pid, (uint64_t)getpid());
	seen(f, 1, 0);
	f->aggregation.rules.aggregate[0].messages = 2;
	assert_int_equal(apply(f, false, 5000000), 0);
	while (f->answers == 1)
		turns(f, 1);
	assert_false(f->result.ok);
	assert_int_equal(active(f), first);
	assert_int_equal(plan(f), 2);
	assert_int_equal(planned_messages(f), 1);
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	turns(f, 5);
	assert_int_equal(plan(f), 2);
	seen(f, 1, UINT64_MAX);
	turns(f, 1);
	assert_true(f->result.ok && f->result.aggregation);
	assert_int_equal(plan(f), 4);
	assert_int_equal(planned_messages(f), 2);
}

/* ---- transformation ---- */

static int setup_transform(void **state)
{
	struct fixture *f;

	setup(state);
	f = *state;
	f->config.service[BP_SERVICE_TRANSFORM] = &f->transform;
	f->transform.entries.n_rules = 1;
	f->transform.max_matrices = 4;
	end(f);
	test_shm_free(&f->shm);
	test_shm_make(&f->shm, &f->config);
	begin(f);
	return 0;
}

static _Atomic uint64_t *transform_active(struct fixture *f)
{
	return &f->shm.transform.head->active;
}

/* Its other bank is written when no worker reads it any more, and the answer is true of it, too.
 * The rules of inspection, which are the same, stay. */
static void waits_for_workers_that_transform(void **state)
{
	struct fixture *f = *state;
	_Atomic uint64_t *of_worker = &f->shm.transform.generation.seen[1];
	const uint64_t rules = (apply(f, true, WAIT_NS), active(f));
	const uint64_t first = atomic_load(transform_active(f));

	assert_int_equal(f->answers, 1);
	assert_int_equal(first, 1 << 1 | 1);
	atomic_store(&f->shm.global->dp_pid, (uint64_t)getpid());
	atomic_store(of_worker, 0);
	assert_int_equal(apply(f, true, WAIT_NS), 0);
	assert_true(bp_publication_busy(f->x.publication));
	turns(f, 3);
	assert_int_equal(f->answers, 1);
	assert_int_equal(atomic_load(transform_active(f)), first);
	atomic_store(of_worker, first);
	turns(f, 1);
	assert_int_equal(atomic_load(transform_active(f)), 2 << 1);
	assert_int_equal(f->answers, 1); /* it has not taken it yet */
	atomic_store(of_worker, 2 << 1);
	turns(f, 1);
	assert_int_equal(f->answers, 2);
	assert_true(f->result.ok);
	assert_false(bp_publication_busy(f->x.publication));
	assert_int_equal(active(f), rules);
}

/* Data over the limits changes nothing, including the rules of inspection. */
static void rejected_transformation_has_no_effect(void **state)
{
	struct fixture *f = *state;
	struct bp_transform_source sources[5];
	uint64_t rules, transform;

	set_rule(f, 0, "a", 1);
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	rules = active(f);
	transform = atomic_load(transform_active(f));
	memset(sources, 0, sizeof(sources));
	for (unsigned i = 0; i < 5; i++)
		sources[i].address = (struct bp_prefix){
			.bytes = {10, 0, 0, (uint8_t)i}, .family = 4, .length = 32};
	f->transform.entries.source = sources;
	f->transform.entries.n_sources = 5;
	set_rule(f, 0, "b", 1);
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	assert_int_equal(f->answers, 2);
	assert_false(f->result.ok);
	assert_false(f->result.retry);
	assert_non_null(strstr(f->result.error, "transform.max_matrices (now 4)"));
	assert_int_equal(active(f), rules);
	assert_int_equal(atomic_load(transform_active(f)), transform);
	f->transform.entries.n_sources = 4;
	assert_int_equal(apply(f, false, WAIT_NS), 0);
	assert_true(f->result.ok);
	assert_int_equal(bp_transform_view_of(&f->shm.transform, atomic_load(transform_active(f)))
				 .bank->n_sources,
		4);
	assert_string_equal(bp_ruleset_rule(in_force(f), 0)->name, "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_data_plane, setup, teardown),
		cmocka_unit_test_setup_teardown(waits_for_every_worker, setup, teardown),
		cmocka_unit_test_setup_teardown(stalled_worker_is_logged, setup, teardown),
		cmocka_unit_test_setup_teardown(same_rules_stay_untouched, setup, teardown),
		cmocka_unit_test_setup_teardown(unchanged_rules_keep_their_slot, setup, teardown),
		cmocka_unit_test_setup_teardown(filters_of_any_length_are_stored, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_rules_are_rejected, setup, teardown),
		cmocka_unit_test_setup_teardown(
			aggregation_is_written_with_the_rules, setup, teardown),
		cmocka_unit_test_setup_teardown(aggregation_waits_with_the_rules, setup, teardown),
		cmocka_unit_test_setup_teardown(
			waits_for_workers_that_transform, setup_transform, teardown),
		cmocka_unit_test_setup_teardown(
			rejected_transformation_has_no_effect, setup_transform, teardown),
	};

	return cmocka_run_group_tests_name("publication", tests, NULL, NULL);
}
