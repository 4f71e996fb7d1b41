/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attack: a broker disconnects, does not acknowledge alarms or acknowledges late, the control plane
 * is killed, a ring overflows, the disk is full; all at random. The alarms of each rule and topic
 * must arrive in order, and the last that arrives must be the newest, or a consumer ends in the
 * wrong state.
 */
#include "config/mqtt/settings.h"
#include "test.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/alarms/publisher.h"
#include "controlplane/process/ring_events.h"
#include "fake_link.h"

#define KEYS 40u
#define ALARMS_MAX 400000u

struct fixture {
	char dir[64];
	struct bp_config config;
	struct bp_config_mqtt mqtt;
	struct bp_shm shm;
	struct event_base *base;
	struct bp_ring_events *rings;
	struct bp_publisher *publisher;
	uint64_t seed, next_id;
	/* of each key: the newest that was made, the newest and the last that arrived */
	uint64_t made[KEYS], newest[KEYS], last[KEYS];
	bool *arrived;
	uint64_t inversions, count, overtaken;
};

static struct fixture *the_fixture;

static unsigned below(struct fixture *f, unsigned n)
{
	return (unsigned)(test_random(&f->seed) % n);
}

/* An alarm older than one of its key that arrived may only come once more. */
static void on_taken(const char *topic, const char *payload)
{
	struct fixture *f = the_fixture;
	unsigned key = (unsigned)strtoul(topic + strlen("alarm/k"), NULL, 10);
	uint64_t id = strtoull(payload, NULL, 10);

	assert_true(key < KEYS && id < f->next_id);
	if (id < f->newest[key] && !f->arrived[id])
		f->inversions++;
	if (id > f->newest[key])
		f->newest[key] = id;
	f->count += !f->arrived[id];
	f->arrived[id] = true;
	f->last[key] = id;
}

static void start_publisher(struct fixture *f)
{
	char err[256] = "";

	f->rings = bp_ring_events_new(f->base, &f->shm.control->cp_sleeps, NULL, NULL);
	f->publisher = bp_publisher_new(f->base, &f->shm, f->rings, &f->mqtt, err, sizeof(err));
	if (f->publisher == NULL)
		fail_msg("no publisher: %s", err);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	test_dir_make(f->dir, sizeof(f->dir));
	test_config(&f->config, &f->mqtt, f->dir, 1883, 3, 64 << 10);
	f->mqtt.publisher.max_inflight = 64;
	f->next_id = 1;
	f->arrived = calloc(ALARMS_MAX, sizeof(*f->arrived));
	the_fixture = f;
	fake_link_taken = on_taken;
	*state = f;
	return 0;
}

static void stop_publisher(struct fixture *f)
{
	bp_ring_events_free(f->rings);
	bp_publisher_free(f->publisher);
	f->rings = NULL;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	stop_publisher(f);
	if (f->base != NULL)
		event_base_free(f->base);
	test_shm_free(&f->shm);
	test_dir_remove(f->dir);
	free(f->arrived);
	free(f);
	return 0;
}

static void start(struct fixture *f)
{
	test_shm_make(&f->shm, &f->config);
	f->base = event_base_new();
	start_publisher(f);
}

static uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* False: the ring is full, the alarm is lost. */
static bool put(struct fixture *f, unsigned key, unsigned worker)
{
	char topic[32], to[32], payload[32];
	struct bp_alarm *a;
	bool done;

	snprintf(topic, sizeof(topic), "k%u", key);
	snprintf(to, sizeof(to), "alarm/k%u", key);
	snprintf(payload, sizeof(payload), "%" PRIu64, f->next_id);
	a = test_alarm_make(&(struct test_alarm){.id = f->next_id,
		.time_ns = 1000000000ull * 2000000000u,
		.value = 1,
		.state = f->next_id % 2 ? BP_ALARM_RAISED : BP_ALARM_CLEARED,
		.rule = "r",
		.topic = topic,
		.to = to,
		.payload = payload});
	done = test_ring_put(bp_shm_ring(&f->shm, worker), a);
	free(a);
	if (!done)
		return false;
	f->made[key] = f->next_id++;
	return true;
}

static void turns(struct fixture *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		event_base_loop(f->base, EVLOOP_ONCE);
}

static bool quiet(struct fixture *f)
{
	for (unsigned i = 0; i < f->config.n_workers; i++)
		if (bp_ring_used(bp_shm_ring(&f->shm, i)) != 0)
			return false;
	return get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 0 &&
	       get(&f->shm.control->publisher[BP_TO_MQTT].inflight) == 0;
}

/* A good broker, until nothing is left. */
static void settle(struct fixture *f)
{
	uint64_t end = test_now_ns() + TEST_DEADLINE_NS;

	while (!quiet(f)) {
		if (test_now_ns() > end)
			fail_msg("alarms are left: %" PRIu64 " in the spool, %" PRIu64 " in flight",
				get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows),
				get(&f->shm.control->publisher[BP_TO_MQTT].inflight));
		fake_link_up();
		turns(f, 1);
		fake_link_take(UINT32_MAX);
		fake_link_acknowledge(UINT32_MAX);
	}
}

static void kill_controlplane(struct fixture *f)
{
	stop_publisher(f);
	start_publisher(f);
}

static void all_in_order(struct fixture *f)
{
	assert_int_equal(f->inversions, 0);
	assert_int_equal(f->count, f->next_id - 1);
	for (unsigned k = 0; k < KEYS; k++)
		assert_int_equal(f->last[k], f->made[k]);
}

static void step(struct fixture *f)
{
	switch (below(f, 12)) {
	case 0:
		fake_link_down();
		break;
	case 1:
	case 2:
		fake_link_up();
		break;
	case 3:
		if (below(f, 3) == 0)
			kill_controlplane(f);
		break;
	case 4:
	case 5:
		fake_link_take(below(f, 200));
		break;
	case 6:
	case 7:
		fake_link_take(below(f, 100));
		fake_link_acknowledge(below(f, 100));
		break;
	default:
		/* few keys often, and a burst now and then */
		for (unsigned n = below(f, below(f, 8) == 0 ? 300 : 30); n != 0; n--)
			if (!put(f, below(f, below(f, 2) ? 4 : KEYS),
				    below(f, f->config.n_workers)))
				break;
	}
	turns(f, below(f, 6));
}

static void play(struct fixture *f, unsigned episodes)
{
	const char *given = getenv("BP_TEST_SEED");

	f->seed = given != NULL ? strtoull(given, NULL, 0) : 0x9e3779b97f4a7c15ull;
	start(f);
	for (unsigned episode = 0; episode < episodes; episode++) {
		for (unsigned i = 0; i < 300; i++)
			step(f);
		settle(f);
		all_in_order(f);
	}
}

static void order_is_kept_through_all_services(void **state)
{
	play(*state, 20);
}

/* More keys than there is a place for: all alarms wait in order. */
static void order_with_few_key_slots(void **state)
{
	struct fixture *f = *state;

	f->mqtt.spool.max_keys = 3;
	play(f, 10);
}

static void order_with_one_worker(void **state)
{
	struct fixture *f = *state;

	f->config.n_workers = 1;
	play(f, 10);
}

/* An outage, then live alarms of old and of new keys: the old ones wait, the new ones do not. */
static void only_its_own_key_waits(void **state)
{
	struct fixture *f = *state;
	uint64_t behind, live;

	f->mqtt.alarm_queue_size = 1 << 20;
	start(f);
	for (unsigned i = 0; i < 3000; i++)
		assert_true(put(f, i % 10, 0));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 3000);
	fake_link_up();
	turns(f, 20);
	fake_link_take(8);
	fake_link_acknowledge(8);
	behind = f->next_id;
	assert_true(put(f, 3, 1));
	live = f->next_id;
	assert_true(put(f, 20, 2));
	turns(f, 20);
	fake_link_take(UINT32_MAX);
	assert_true(f->arrived[live]);
	assert_false(f->arrived[behind]);
	assert_true(f->count < 200);
	settle(f);
	all_in_order(f);
	/* The queued alarms were never written to the disk. */
	assert_int_equal(get(&f->shm.control->publisher[BP_TO_MQTT].spooled), 3000);
	/* The key is free again: the next one goes out at once. */
	assert_true(put(f, 3, 1));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].inflight) == 1);
	settle(f);
	all_in_order(f);
}

/* A restart knows from the spool which keys must wait. */
static void restart_restores_pending_reports(void **state)
{
	struct fixture *f = *state;
	uint64_t behind;

	start(f);
	for (unsigned i = 0; i < 400; i++) {
		RUN_UNTIL(f, put(f, i % 10, 0));
	}
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 400);
	kill_controlplane(f);
	behind = f->next_id;
	assert_true(put(f, 3, 1));
	fake_link_up();
	turns(f, 20);
	fake_link_take(UINT32_MAX);
	assert_false(f->arrived[behind]);
	settle(f);
	all_in_order(f);
}

/* A row of the spool that the broker has acknowledged and that is not deleted when the control
 * plane is killed comes once more: not after a newer alarm of its key. */
static void stale_row_is_not_last(void **state)
{
	struct fixture *f = *state;

	start(f);
	for (unsigned i = 0; i < 5; i++)
		assert_true(put(f, 3, 0));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 5);
	fake_link_up();
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].inflight) == 5);
	fake_link_take(UINT32_MAX);
	fake_link_acknowledge(UINT32_MAX);
	assert_true(put(f, 3, 0));
	turns(f, 3);
	fake_link_take(UINT32_MAX);
	fake_link_acknowledge(UINT32_MAX);
	turns(f, 3);
	kill_controlplane(f);
	settle(f);
	all_in_order(f);
}

/* Nor does an alarm that is acknowledged while another before it in the ring waits, when a newer
 * one of its key came through another worker. */
static void stale_record_is_not_last(void **state)
{
	struct fixture *f = *state;

	start(f);
	assert_true(put(f, 1, 0));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spool_rows) == 1);
	fake_link_up();
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].inflight) == 1);
	assert_true(put(f, 1, 0)); /* waits for the row, which is never acknowledged */
	assert_true(put(f, 3, 0));
	assert_true(put(f, 3, 1));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].inflight) == 3);
	fake_link_take(UINT32_MAX);
	fake_link_acknowledge_newest(2);
	turns(f, 3);
	kill_controlplane(f);
	settle(f);
	all_in_order(f);
}

/* Alarms in flight, and newer ones of their key in the spool: the broker has taken none of them. */
static void overflow_behind_alarms_in_flight(struct fixture *f)
{
	const struct bp_ring *ring = bp_shm_ring(&f->shm, 0);

	const unsigned sent = f->mqtt.publisher.max_inflight;

	fake_link_up();
	for (unsigned i = 0; i < sent; i++)
		assert_true(put(f, i < sent / 4 * 3 ? 5 : 3, 0));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].inflight) == sent);
	while (bp_ring_used(ring) < ring->capacity / 8 * 5)
		assert_true(put(f, 3, 0));
	RUN_UNTIL(f, get(&f->shm.control->publisher[BP_TO_MQTT].spooled) != 0);
}

static void lost_link_with_newer_rows(void **state)
{
	struct fixture *f = *state;

	start(f);
	overflow_behind_alarms_in_flight(f);
	fake_link_down();
	settle(f);
	all_in_order(f);
}

static void restart_with_newer_rows(void **state)
{
	struct fixture *f = *state;

	f->mqtt.alarm_queue_size = 256 << 10;
	f->mqtt.publisher.max_inflight = 1000; /* more than an iteration of the loop reads */
	start(f);
	overflow_behind_alarms_in_flight(f);
	kill_controlplane(f);
	settle(f);
	all_in_order(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			order_is_kept_through_all_services, setup, teardown),
		cmocka_unit_test_setup_teardown(order_with_few_key_slots, setup, teardown),
		cmocka_unit_test_setup_teardown(order_with_one_worker, setup, teardown),
		cmocka_unit_test_setup_teardown(only_its_own_key_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(restart_restores_pending_reports, setup, teardown),
		cmocka_unit_test_setup_teardown(stale_row_is_not_last, setup, teardown),
		cmocka_unit_test_setup_teardown(stale_record_is_not_last, setup, teardown),
		cmocka_unit_test_setup_teardown(lost_link_with_newer_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(restart_with_newer_rows, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
