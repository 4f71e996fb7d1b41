/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/fleet/agent_watch.h"
#include "shm/events/event_ring.h"

#define SECOND 1000000000ull
#define UNIX_NS (5000 * SECOND)

struct fixture {
	struct bp_fleet_watch watch;
	struct bp_fleet_agent agent;
	struct bp_fault_row row[BP_FAULT_OF_CONTROLPLANE];
	struct bp_event_slot slot[64];
	struct bp_event_ring events;
	struct bp_event_cursor cursor;
};

static int setup(void **state)
{
	struct fixture *f = aligned_alloc(64, (sizeof(*f) + 63) / 64 * 64);

	if (f == NULL)
		return -1;
	memset(f, 0, sizeof(*f));
	f->events = (struct bp_event_ring){.slot = f->slot, .size = 64};
	bp_event_ring_open(&f->events);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* The answer: whether it was accepted. */
static bool report_text(struct fixture *f, const char *text, uint64_t now_s)
{
	json_error_t error;
	json_t *request = json_loads(text, 0, &error), *answer;
	bool ok;

	assert_non_null(request);
	answer = bp_fleet_watch_report(&f->watch, request, 77, &f->agent, &f->events,
		now_s * SECOND, UNIX_NS + now_s * SECOND);
	ok = json_is_true(json_object_get(answer, "ok"));
	assert_true(ok || json_array_size(json_object_get(answer, "errors")) == 1);
	json_decref(answer);
	json_decref(request);
	return ok;
}

static bool report(struct fixture *f, const char *phase, unsigned serial, uint64_t since,
	const char *error, uint64_t now_s)
{
	char text[1024];

	snprintf(text, sizeof(text),
		"{\"member\":\"gw1\",\"started_ns\":1000,\"state\":\"%s\",\"serial\":%u,"
		"\"version\":3,\"since_ns\":%llu,\"connected\":true,\"leased\":false,\"error\":"
		"\"%s\"}",
		phase, serial, (unsigned long long)since, error);
	return report_text(f, text, now_s);
}

static uint64_t count(struct fixture *f, enum bp_fleet_phase phase)
{
	return atomic_load(&f->agent.results[phase]);
}

static void report_is_in_the_segment(void **state)
{
	struct fixture *f = *state;
	struct bp_fleet_report r;

	assert_false(bp_fleet_agent_read(&f->agent, &r));
	assert_true(report(f, "trial", 5, 2000, "", 1));
	assert_true(bp_fleet_agent_read(&f->agent, &r));
	assert_true(r.pid == 77 && r.serial == 5 && r.version == 3 && r.since_ns == 2000 &&
		    r.started_ns == 1000 && r.heard_ns == UNIX_NS + SECOND);
	assert_true(r.phase == BP_FLEET_TRIAL && r.connected == 1 && r.leased == 0);
	assert_string_equal(r.member, "gw1");
	assert_string_equal(r.error, "");
}

static void invalid_reports_change_nothing(void **state)
{
	static const char *const bad[] = {"{}", "[]",
		"{\"member\":\"gw1\",\"started_ns\":1,\"state\":\"other\",\"serial\":1,\"version\":"
		"1,\"since_ns\":1,\"connected\":true,\"leased\":true,\"error\":\"\"}",
		"{\"member\":\"gw1\",\"started_ns\":1,\"state\":\"trial\",\"serial\":-1,"
		"\"version\":1,\"since_ns\":1,\"connected\":true,\"leased\":true,\"error\":\"\"}",
		"{\"member\":7,\"started_ns\":1,\"state\":\"trial\",\"serial\":1,\"version\":1,"
		"\"since_ns\":1,\"connected\":true,\"leased\":true,\"error\":\"\"}",
		"{\"member\":\"gw1\",\"started_ns\":1,\"state\":\"trial\",\"serial\":1,"
		"\"version\":1,\"since_ns\":1,\"connected\":1,\"leased\":true,\"error\":\"\"}"};
	struct fixture *f = *state;
	struct bp_fleet_report r;
	char text[2048], error[1024];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(report_text(f, bad[i], 1));
	assert_false(bp_fleet_agent_read(&f->agent, &r));
	/* long texts are cut */
	memset(error, 'e', sizeof(error) - 1);
	error[sizeof(error) - 1] = '\0';
	snprintf(text, sizeof(text),
		"{\"member\":\"%.100s\",\"started_ns\":1,\"state\":\"trial\",\"serial\":1,"
		"\"version\":1,\"since_ns\":1,\"connected\":true,\"leased\":true,\"error\":\"%s\"}",
		error, error);
	assert_true(report_text(f, text, 1));
	assert_true(bp_fleet_agent_read(&f->agent, &r));
	assert_int_equal(strlen(r.error), BP_FLEET_AGENT_ERROR - 1);
	assert_int_equal(strlen(r.member), BP_NAME_MAX);
}

/* The last event; fails without one. */
static void expect_event(struct fixture *f, enum bp_event_config action, const char *error)
{
	struct bp_event e = {0};
	struct bp_event one;
	bool any = false;
	uint64_t lost;

	while (bp_event_cursor_read(&f->cursor, &one, &lost) == BP_EVENT_GOT_RECORD) {
		e = one;
		any = true;
	}
	assert_true(any && e.type == BP_EVENT_CONFIG && e.action == action);
	assert_true(e.number[0] == 6 && e.number[1] == 3);
	assert_int_equal(e.text_len[0], strlen(error));
	assert_memory_equal(e.text, error, strlen(error));
}

static void results_are_counted_once(void **state)
{
	struct fixture *f = *state;

	bp_event_cursor_open(&f->cursor, f->slot, sizeof(f->slot[0]), 64, 0);
	/* of the predecessor of the agent */
	assert_true(report(f, "applied", 5, 999, "", 1));
	assert_int_equal(count(f, BP_FLEET_APPLIED), 0);
	assert_true(report(f, "trial", 6, 2000, "", 2));
	assert_true(report(f, "rolled_back", 6, 3000, "worse", 3));
	assert_true(report(f, "rolled_back", 6, 3000, "worse", 4));
	/* the same result with more in its error */
	assert_true(report(f, "rolled_back", 6, 3500, "worse, and not stored", 5));
	assert_int_equal(count(f, BP_FLEET_ROLLED_BACK), 1);
	expect_event(f, BP_EVENT_CONFIG_ROLLOUT_ROLLED_BACK, "worse");
	assert_true(report(f, "applied", 6, 4000, "", 6));
	assert_int_equal(count(f, BP_FLEET_APPLIED), 1);
	expect_event(f, BP_EVENT_CONFIG_ROLLOUT_APPLIED, "");
	assert_true(report(f, "refused", 6, 5000, "bad", 7));
	assert_int_equal(count(f, BP_FLEET_REFUSED), 1);
	expect_event(f, BP_EVENT_CONFIG_ROLLOUT_REFUSED, "bad");
}

static void tick(struct fixture *f, bool expected, uint64_t now_s)
{
	bp_fleet_watch_tick(&f->watch, expected, &f->agent, f->row, &f->events, now_s * SECOND,
		UNIX_NS + now_s * SECOND);
}

static void silent_agent_is_a_fault(void **state)
{
	struct fixture *f = *state;
	const struct bp_fault_row *row =
		&f->row[BP_FAULT_FLEET_AGENT - BP_FAULT_CONTROLPLANE_FIRST];
	struct bp_fault_record t;

	tick(f, false, 200);
	assert_false(bp_fault_read(row, &t));
	assert_int_equal(atomic_load(&f->agent.expected), 0);
	/* from the moment on that it is expected */
	tick(f, true, 229);
	assert_true(bp_fault_read(row, &t) && t.active == 0);
	assert_int_equal(atomic_load(&f->agent.expected), 1);
	tick(f, true, 230);
	assert_true(bp_fault_read(row, &t) && t.active == 1 && t.spells == 1);
	assert_true(t.began_ns == UNIX_NS + 200 * SECOND);
	assert_true(report(f, "idle", 0, 0, "", 240));
	tick(f, true, 241);
	assert_true(bp_fault_read(row, &t) && t.active == 0 && t.total == 41 * SECOND);
	/* a gateway that leaves its fleet */
	tick(f, true, 280);
	assert_true(bp_fault_read(row, &t) && t.active == 1 && t.spells == 2);
	tick(f, false, 281);
	assert_true(bp_fault_read(row, &t) && t.active == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(report_is_in_the_segment, setup, teardown),
		cmocka_unit_test_setup_teardown(invalid_reports_change_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(results_are_counted_once, setup, teardown),
		cmocka_unit_test_setup_teardown(silent_agent_is_a_fault, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
