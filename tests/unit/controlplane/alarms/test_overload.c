/* SPDX-License-Identifier: BSD-3-Clause */
/* More alarms than the broker acknowledges, without an end. */
#include "publisher_rig.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>

#define TRANSACTION_ROWS 512u
#define TRANSACTION_ROWS_FULL 2048u

/* Fills sixteenths of the ring of worker 0 with alarms of one key; *id: of the last one. */
static bool fill_to(struct fixture *f, uint64_t *id, unsigned sixteenths)
{
	struct bp_ring *ring = bp_shm_ring(&f->shm, 0);

	for (bool put = true; put && bp_ring_used(ring) < ring->capacity / 16 * sixteenths;
		*id += put) {
		struct bp_alarm *a = test_alarm_number(*id + 1, "alarm/x", 0);

		put = test_ring_put(ring, a);
		free(a);
	}
	return true;
}

static bool fill(struct fixture *f, uint64_t *id)
{
	return fill_to(f, id, 16);
}

/* The ring is full before each iteration of the event loop: rows are sent all the same. */
static void spool_is_sent_during_overload(void **state)
{
	struct fixture *f = *state;
	struct bp_shm_control *g;
	uint64_t id = 0;

	f->mqtt.publisher.max_inflight = 100;
	rig_start(f);
	g = f->shm.control;
	RUN_UNTIL(f, get(&g->publisher[BP_TO_MQTT].connects) == 1);
	RUN_UNTIL(f, fill(f, &id) && get(&g->publisher[BP_TO_MQTT].unspooled) > 100);
	RUN_UNTIL(f, test_subscriber_has_all(f->subscriber, 1, id));
	RUN_UNTIL(f, get(&g->publisher[BP_TO_MQTT].spool_rows) == 0 &&
			     get(&g->publisher[BP_TO_MQTT].inflight) == 0);
	/* The order of the key, and each alarm once. */
	assert_int_equal(test_subscriber_count(f->subscriber), id);
	for (unsigned i = 0; i < id; i++)
		assert_int_equal(test_subscriber_id(f->subscriber, i), i + 1);
	assert_int_equal(get(&g->publisher[BP_TO_MQTT].disconnects), 0);
	assert_int_equal(get(&g->publisher[BP_TO_MQTT].unordered), 0);
}

/* Several events of an iteration find the ring full: acknowledgements wait for one transaction. */
static void one_transaction_per_iteration(void **state)
{
	struct fixture *f = *state;
	struct bp_shm_control *g;
	uint64_t id = 0, spooled = 0, most = 0;

	f->mqtt.publisher.max_inflight = 4;
	rig_start(f);
	g = f->shm.control;
	RUN_UNTIL(f, get(&g->publisher[BP_TO_MQTT].connects) == 1);
	kill(f->broker.pid, SIGSTOP);
	for (unsigned i = 0; i < 100; i++) {
		fill_to(f, &id, 13);
		event_base_loop(f->base, EVLOOP_ONCE);
		assert_in_range(
			get(&g->publisher[BP_TO_MQTT].spooled) - spooled, 0, TRANSACTION_ROWS);
		spooled = get(&g->publisher[BP_TO_MQTT].spooled);
	}
	/* And not less: events of sockets must not delay it. */
	assert_true(spooled > 80 * TRANSACTION_ROWS);
	/* A larger one when alarms are about to be lost. */
	for (unsigned i = 0; i < 20; i++) {
		fill(f, &id);
		event_base_loop(f->base, EVLOOP_ONCE);
		assert_in_range(
			get(&g->publisher[BP_TO_MQTT].spooled) - spooled, 0, TRANSACTION_ROWS_FULL);
		most = get(&g->publisher[BP_TO_MQTT].spooled) - spooled > most
			       ? get(&g->publisher[BP_TO_MQTT].spooled) - spooled
			       : most;
		spooled = get(&g->publisher[BP_TO_MQTT].spooled);
	}
	assert_int_equal(most, TRANSACTION_ROWS_FULL);
	kill(f->broker.pid, SIGCONT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			spool_is_sent_during_overload, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			one_transaction_per_iteration, rig_setup, rig_teardown),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("overload", tests, NULL, NULL);
}
