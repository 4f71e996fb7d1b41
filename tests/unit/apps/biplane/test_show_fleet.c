/* SPDX-License-Identifier: BSD-3-Clause */
/* `show fleet`, and the fleet in `status`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "apps/biplane/show/show_fleet.h"
#include "biplane/counters/mqtt.h"
#include "tests/unit/apps/biplane/show_view.h"

static void share_state(void)
{
	struct bp_shm_fleet *f = &shm.control->fleet;

	atomic_store(&f->max_queued, 16);
	atomic_store(&f->max_queued_bytes, 4096);
	atomic_store(&f->queued, 3);
	atomic_store(&f->queued_bytes, 999);
	atomic_store(&f->lag_ns, 1234567890);
	atomic_store(&f->epoch, 77);
	snprintf(f->fleet, sizeof(f->fleet), "plant");
	snprintf(f->server, sizeof(f->server), "192.0.2.1:6379");
	f->counters = (struct bp_fleet_counters){.connects = 1,
		.stored = 2,
		.superseded = 3,
		.lost_full = 4,
		.lost_expired = 5,
		.lost_refused = 6,
		.reads = 7,
		.found = 8};
	f->counters.error[BP_FLEET_ERROR_TIMEOUT] = 9;
	f->connections.requests = 10;
	f->alarms = (struct bp_fleet_alarm_counters){.stored = 15,
		.removed = 16,
		.claimed = 17,
		.adopted = 18,
		.taken = 19,
		.full = 20,
		.too_large = 21,
		.unreadable = 22,
		.refused = 23,
		.invalid = 24,
		.no_destination = 25,
		.disk_failed = 26,
		.fenced = 27};
	f->rules = (struct bp_fleet_rule_counters){.raised = 28,
		.cleared = 29,
		.adopted = 30,
		.conflicts = 31,
		.full = 32,
		.too_large = 33,
		.invalid = 34,
		.client_full = 37,
		.holds = 38,
		.holds_adopted = 39,
		.unstored = 43};
	f->associations = (struct bp_fleet_association_counters){.stored = 40,
		.too_large = 41,
		.requests = 42,
		.limited = 43,
		.adopted = 44,
		.invalid = 45,
		.taken = 46};
	atomic_store(&f->leased, 1);
	atomic_store(&f->unacknowledged, 35);
	atomic_store(&f->pairs, 36);
	shm.counters[0].v[BP_C_FLEET_ASKED] = 11;
	shm.counters[1].v[BP_C_FLEET_ADOPTED] = 12;
	shm.counters[1].v[BP_C_FLEET_STALE] = 13;
	shm.counters[0].v[BP_C_FLEET_LATE] = 14;
}

static void state_by_result_and_reason(void **state)
{
	json_t *v, *s;
	char *text;

	(void)state;
	share_state();
	v = collect(&bp_show_fleet);
	s = json_object_get(v, "state");
	assert_text(v, "fleet", "plant");
	assert_text(s, "server", "192.0.2.1:6379");
	assert_true(json_is_false(json_object_get(s, "connected")));
	assert_true(json_is_null(json_object_get(s, "last_error")));
	assert_number(s, "epoch", 77);
	assert_true(json_real_value(json_object_get(s, "lag_seconds")) == 1.234);
	assert_number(json_object_get(s, "queue"), "max_bytes", 4096);
	assert_number(json_object_get(s, "writes"), "refused_stale", 3);
	assert_number(json_object_get(s, "reads"), "found", 8);
	assert_number(json_object_get(s, "errors"), "timeout", 9);
	s = json_object_get(v, "connections");
	assert_number(json_object_get(s, "records"), "requested", 10);
	assert_number(s, "requested", 11);
	assert_number(json_object_get(s, "adopted"), "at_position", 12);
	assert_number(json_object_get(s, "not_adopted"), "stale", 13);
	text = text_of(&bp_show_fleet, v, false);
	assert_non_null(strstr(text, "192.0.2.1:6379, not connected\n"));
	assert_non_null(strstr(text, "lag           1.234 s\n"));
	assert_non_null(strstr(text, "3 of 16 changes, 999 of 4096 bytes\n"));
	assert_non_null(strstr(text, "refused_stale 3"));
	assert_non_null(strstr(text, "errors        timeout 9\n"));
	assert_non_null(strstr(text, "stale 13"));
	free(text);
}

static void associations_by_result(void **state)
{
	json_t *v, *s;
	char *text;

	(void)state;
	share_state();
	v = collect(&bp_show_fleet);
	s = json_object_get(v, "associations");
	assert_number(json_object_get(s, "records"), "stored", 40);
	assert_number(s, "requested", 42);
	assert_number(s, "adopted", 44);
	assert_number(json_object_get(s, "not_adopted"), "invalid", 45);
	text = text_of(&bp_show_fleet, v, false);
	assert_non_null(strstr(text, "not_found 0, limited 43, invalid 45, refused 0\n"));
	assert_non_null(strstr(text, "taken         46\n"));
	free(text);
}

static void text_of_redis_cannot_control_the_terminal(void **state)
{
	struct bp_shm_fleet *f = &shm.control->fleet;
	json_t *v;
	char *text;

	(void)state;
	share_state();
	snprintf(f->last_error, sizeof(f->last_error), "-ERR \x1b]0;title\x07");
	snprintf(f->server, sizeof(f->server), "a\x1b[2J");
	v = collect(&bp_show_fleet);
	text = text_of(&bp_show_fleet, v, false);
	assert_non_null(strstr(text, "last error    -ERR "));
	assert_null(strpbrk(text, "\x1b\x07"));
	free(text);
}

static void alarms_and_their_states(void **state)
{
	json_t *v, *s;
	char *text;

	(void)state;
	share_state();
	v = collect(&bp_show_fleet);
	s = json_object_get(v, "alarms");
	assert_true(json_is_true(json_object_get(s, "leased")));
	assert_number(s, "unacknowledged", 35);
	assert_number(json_object_get(s, "not_stored"), "fenced", 27);
	assert_number(json_object_get(v, "alarm_states"), "pairs", 36);
	text = text_of(&bp_show_fleet, v, false);
	assert_non_null(strstr(text,
		"Unacknowledged alarms\n"
		"lease         held\n"
		"alarms        35\n"
		"copies        stored 15, removed 16\n"
		"claims        claimed 17, adopted 18, taken 19\n"
		"not stored    full 20, too_large 21, unreadable 22, refused 23, fenced 27\n"
		"not adopted   invalid 24, no_destination 25, disk_failed 26\n"
		"\nAlarm states\n"
		"pairs         36\n"
		"changes       raised 28, cleared 29, adopted 30, conflict 31, hold 38, "
		"hold_adopted 39\n"
		"not shared    full 32, too_large 33, invalid 34, client_full 37, "
		"unstored 43\n"));
	free(text);
	atomic_store(&shm.control->fleet.leased, 0);
	v = collect(&bp_show_fleet);
	text = text_of(&bp_show_fleet, v, false);
	assert_non_null(strstr(text, "lease         not held\n"));
	free(text);
}

static void totals_in_the_status(void **state)
{
	json_t *v;

	(void)state;
	share_state();
	v = bp_show_fleet_status(&shm);
	assert_number(v, "lag_ms", 1234);
	assert_number(v, "lost", 15);
	assert_number(v, "adopted", 12);
	assert_number(v, "not_adopted", 27);
	json_decref(v);
}

static void gateway_without_shared_state(void **state)
{
	json_t *v = collect(&bp_show_fleet);
	char *text;

	(void)state;
	assert_true(json_is_null(json_object_get(v, "state")));
	assert_true(json_is_null(json_object_get(v, "connections")));
	assert_true(json_is_null(json_object_get(v, "alarms")));
	assert_true(json_is_null(json_object_get(v, "alarm_states")));
	text = text_of(&bp_show_fleet, v, false);
	assert_non_null(strstr(text, "fleet.state is not configured\n"));
	free(text);
	v = bp_show_fleet_status(&shm);
	assert_true(json_is_null(v));
	json_decref(v);
}

/* A text without an end, and counts that no number of JSON has. */
static void damaged_segment(void **state)
{
	struct bp_shm_fleet *f = &shm.control->fleet;
	json_t *v;

	(void)state;
	memset(f, 0xff, sizeof(*f));
	v = collect(&bp_show_fleet);
	assert_true(json_string_length(json_object_get(v, "fleet")) > 0);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(v, "state"), "connects")),
		INT64_MAX);
	free(text_of(&bp_show_fleet, v, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(state_by_result_and_reason),
		CASE(associations_by_result),
		CASE(text_of_redis_cannot_control_the_terminal),
		CASE(alarms_and_their_states),
		CASE(totals_in_the_status),
		CASE(gateway_without_shared_state),
		CASE(damaged_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
