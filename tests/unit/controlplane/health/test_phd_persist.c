/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions over restarts of every kind: the rows of the file, the entries of the table, and their
 * precedence. */
#include "tests/unit/controlplane/health/persist_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN_CONFIG 0x4000u
#define RAISE (1u << 20) /* as controlplane/health/store/store.h promises */
#define ABRT 0xe600

static struct persist_rig *begin(void **state, uint32_t sessions)
{
	struct persist_rig *k = persist_rig_new(*state, sessions);

	persist_start(k);
	return k;
}

static const uint64_t *rows(const struct persist_rig *k)
{
	return bp_phd_persist_counts(k->persist)->rows;
}

/* Until the whole table was checked, from its first slot to its last. */
static void settle(struct persist_rig *k)
{
	const uint64_t rounds = bp_phd_persist_counts(k->persist)->rounds;

	RUN_UNTIL(k, bp_phd_persist_counts(k->persist)->rounds >= rounds + 2);
}

/* Devices 0..n: by a standard configuration, and each third by one of its own. */
static void associate(struct persist_rig *k, unsigned n)
{
	for (unsigned d = 0; d < n; d++) {
		if (d % 3 == 2)
			persist_declare(k, d, OWN_CONFIG, (uint16_t)(100 + d % 5));
		else
			persist_aarq(k, d, 40000, 400);
		assert_int_equal(persist_state(k, d), BP_PHD_OPERATING);
	}
}

/* ---- restarts ---- */

static void with_the_segment_lost(void **state)
{
	struct persist_rig *k = begin(state, 128);
	struct bp_phd_session before[60];

	persist_load(k);
	associate(k, 60);
	persist_aarq(k, 60, 999, 400);              /* TCP */
	persist_aarq(k, 61, 40000, OWN_CONFIG + 1); /* never declares it */
	for (unsigned d = 0; d < 60; d++) {
		persist_session(k, d)->reports = 0;
		before[d] = *persist_session(k, d);
	}
	persist_stop(k);
	persist_check_rows(k);
	for (unsigned start = 1; start <= 3; start++) {
		persist_lose_tables(k);
		persist_start(k);
		persist_load(k);
		assert_int_equal(rows(k)[BP_PHD_RESTORED], 60);
		assert_int_equal(k->restored, 60);
		assert_int_equal(k->x.t->control->sessions, 60);
		assert_int_equal(k->replies, 0); /* devices notice nothing */
		for (unsigned d = 0; d < 60; d++) {
			const struct bp_phd_session *s = persist_session(k, d), *b = &before[d];

			assert_memory_equal(s->address, b->address, 16);
			assert_int_equal(s->port, b->port);
			assert_int_equal(s->associated_s, b->associated_s);
			assert_int_equal(s->config_id, b->config_id);
			assert_int_equal(s->config_content, b->config_content);
			assert_int_equal(s->spec, b->spec);
			assert_int_equal(s->protocol, b->protocol);
			assert_int_equal(
				k->x.t->control->own[bp_phd_word_own(s->word)][15], 1 + d % 3);
			assert_int_equal(s->reports, start * RAISE);
		}
		persist_stop(k);
		persist_check_rows(k);
	}
	persist_rig_free(k);
}

static void with_the_segment_there(void **state)
{
	struct persist_rig *k = begin(state, 128);
	uint64_t word[30];

	persist_load(k);
	associate(k, 30);
	persist_stop(k);
	persist_start(k);
	for (unsigned d = 0; d < 30; d++) {
		struct bp_phd_session *s = persist_session(k, d);

		bp_phd_session_flags(k->x.w, (uint32_t)(s - k->x.t->sessions), BP_PHD_READY, 0);
		s->reports = 7 + d;
		word[d] = s->word;
	}
	persist_load(k);
	settle(k);
	assert_int_equal(rows(k)[BP_PHD_RESTORE_THERE], 30);
	assert_int_equal(rows(k)[BP_PHD_RESTORED], 0);
	assert_int_equal(bp_phd_persist_counts(k->persist)->put, 0); /* the rows do */
	for (unsigned d = 0; d < 30; d++) {
		assert_int_equal(persist_session(k, d)->word, word[d]);
		assert_int_equal(persist_session(k, d)->reports, 7 + d);
	}
	persist_stop(k);
	persist_check_rows(k);
	persist_rig_free(k);
}

/* A device whose configuration is known is accepted at once, from wherever it comes. */
static void known_configurations(void **state)
{
	struct persist_rig *k = begin(state, 32);

	persist_load(k);
	persist_declare(k, 1, OWN_CONFIG, 7);
	persist_stop(k);
	persist_lose_tables(k);
	persist_start(k);
	persist_load(k);
	persist_aarq(k, 1, 50000, OWN_CONFIG); /* its battery was changed */
	assert_int_equal(persist_answered(k), BP_PHD_ACCEPTED);
	assert_int_equal(persist_session(k, 1)->port, 50000);
	assert_int_equal(k->x.t->control->sessions, 1);
	persist_stop(k);
	persist_check_rows(k);
	persist_rig_free(k);
}

/* ---- the row against the table ---- */

static void the_table_wins(void **state)
{
	struct persist_rig *k = begin(state, 32);

	persist_load(k);
	associate(k, 10);
	persist_stop(k);
	/* device 0 associated since; at device 1's address there was another one; device 3 was
	 * elsewhere; 4 had another configuration; of 6 there is no row; 7 was on TCP; no one knows
	 * who the eleventh is, at the address that device 9 would have on port 1 */
	persist_sql(k, "UPDATE sessions SET associated_s = associated_s - 1 WHERE system_id = "
		       "x'abababab00000000'");
	persist_sql(k, "UPDATE sessions SET system_id = x'0102030405060708' WHERE system_id = "
		       "x'abababab01000000'");
	persist_sql(k, "UPDATE sessions SET port = 40001 WHERE system_id = x'abababab03000000'");
	persist_sql(k, "UPDATE sessions SET config_id = 401 WHERE system_id = x'abababab04000000'");
	persist_sql(k, "DELETE FROM sessions WHERE system_id = x'abababab06000000'");
	persist_sql(k, "UPDATE sessions SET transport = 6 WHERE system_id = x'abababab07000000'");
	persist_start(k);
	for (unsigned d = 0; d < 10; d++)
		persist_session(k, d)->reports = 40 + d;
	persist_load(k);
	settle(k);
	assert_int_equal(rows(k)[BP_PHD_RESTORE_THERE], 8);
	assert_int_equal(bp_phd_persist_counts(k->persist)->tcp, 1);
	assert_int_equal(rows(k)[BP_PHD_RESTORED], 0);
	assert_int_equal(k->x.t->control->sessions, 10);
	assert_int_equal(bp_phd_persist_counts(k->persist)->put, 6);
	assert_int_equal(k->replies, 3); /* 2, 5 and 8 did not say yet what they are */
	for (unsigned d = 0; d < 10; d++)
		assert_int_equal(persist_session(k, d)->reports, 40 + d);
	persist_stop(k);
	persist_check_rows(k);
	persist_rig_free(k);
}

static void superseded_session_is_removed(void **state)
{
	struct persist_rig *k = begin(state, 32);

	persist_load(k);
	persist_aarq(k, 1, 40000, 400);
	persist_aarq(k, 1, 40007, 400);
	assert_int_equal(k->counts.superseded, 1);
	persist_stop(k);
	persist_check_rows(k);
	/* and where the end of the first was lost: one row more, of an earlier association */
	persist_sql(k,
		"INSERT INTO sessions SELECT transport, address, 40000, own, system_id,"
		" config_id, content, protocol, associated_s - 5, reports, epoch FROM sessions");
	persist_sql(k,
		"INSERT INTO sessions SELECT transport, address, 40009, own, system_id,"
		" config_id, content, protocol, associated_s - 5, reports, epoch FROM sessions"
		" WHERE port = 40007");
	persist_lose_tables(k);
	persist_start(k);
	persist_load(k);
	settle(k);
	assert_int_equal(k->x.t->control->sessions, 1);
	assert_int_equal(persist_session(k, 1)->port, 40007);
	assert_int_equal(k->counts.superseded, 2);
	persist_stop(k);
	persist_check_rows(k);
	persist_rig_free(k);
}

/* ---- what cannot continue ---- */

static void configuration_unknown(void **state)
{
	struct persist_rig *k = begin(state, 128);

	persist_load(k);
	associate(k, 30);
	persist_stop(k);
	persist_sql(k, "DELETE FROM known");
	persist_lose_tables(k);
	rig_catch_stderr(*state);
	persist_start(k);
	persist_load(k);
	assert_int_equal(rows(k)[BP_PHD_RESTORED], 20);
	assert_int_equal(rows(k)[BP_PHD_RESTORE_UNKNOWN], 10);
	assert_int_equal(rig_said(*state, "unknown_configuration=10"), 1);
	persist_declare(k, 2, OWN_CONFIG, 100); /* it can come back */
	persist_stop(k);
	persist_check_rows(k);
	assert_int_equal(persist_sql(k, "SELECT count(*) FROM sessions"), 21);
	persist_rig_free(k);
}

/* Many devices associate and disconnect, each with a configuration: those of remaining devices are
 * not evicted. */
static void configurations_of_open_sessions_stay(void **state)
{
	static const uint8_t rlrq[] = {0xe4, 0, 0, 2, 0, 0};
	struct persist_rig *k = begin(state, 16);
	struct bp_phd_store_counts c;

	persist_load(k);
	for (unsigned d = 0; d < 12; d++)
		persist_declare(k, d, OWN_CONFIG, (uint16_t)(1 + d));
	for (unsigned d = 100; d < 300; d++) {
		persist_declare(k, d, OWN_CONFIG, (uint16_t)(1 + d));
		persist_send(k, d, 40000, rlrq, sizeof(rlrq));
	}
	bp_phd_store_count(bp_phd_persist_store(k->persist), &c);
	assert_int_equal(c.known, 32);
	assert_int_equal(c.evicted, 212 - 32);
	persist_stop(k);
	persist_lose_tables(k);
	persist_start(k);
	persist_load(k);
	assert_int_equal(rows(k)[BP_PHD_RESTORED], 12);
	/* the latest of the others are known too */
	persist_aarq(k, 299, 40000, OWN_CONFIG);
	assert_int_equal(persist_answered(k), BP_PHD_ACCEPTED);
	persist_rig_free(k);
}

/* Its configuration has the same number, and is another by now: it must not be measured by it. */
static void configuration_changed(void **state)
{
	struct persist_rig *k = begin(state, 32);

	persist_load(k);
	persist_declare(k, 1, OWN_CONFIG, 7);
	persist_declare(k, 2, OWN_CONFIG, 8);
	persist_stop(k);
	persist_sql(k, "UPDATE known SET content = (SELECT content FROM known WHERE system_id ="
		       " x'abababab02000000') WHERE system_id = x'abababab01000000'");
	persist_lose_tables(k);
	persist_start(k);
	persist_load(k);
	assert_int_equal(rows(k)[BP_PHD_RESTORE_UNKNOWN], 1);
	assert_null(persist_session(k, 1));
	assert_non_null(persist_session(k, 2));
	persist_rig_free(k);
}

static void no_capacity(void **state)
{
	struct persist_rig *k = begin(state, 64);

	persist_load(k);
	associate(k, 50);
	persist_stop(k);
	persist_lose_tables(k);
	k->c.max_sessions = 32;
	rig_catch_stderr(*state);
	persist_start(k);
	persist_load(k);
	assert_int_equal(rows(k)[BP_PHD_RESTORED], 32);
	assert_int_equal(rows(k)[BP_PHD_RESTORE_FULL], 18);
	assert_int_equal(k->x.t->control->sessions, 32);
	assert_int_equal(rig_said(*state, "beyond_limits=18"), 1);
	persist_stop(k);
	persist_check_rows(k);
	persist_rig_free(k);
}

static void no_room_for_layouts(void **state)
{
	struct persist_rig *k = begin(state, 64);

	persist_load(k);
	for (unsigned d = 0; d < 20; d++)
		persist_declare(k, d, OWN_CONFIG, (uint16_t)(1000 + d));
	persist_stop(k);
	persist_lose_tables(k);
	k->c.max_configurations = 16;
	persist_start(k);
	persist_load(k);
	assert_int_equal(rows(k)[BP_PHD_RESTORED], 16);
	assert_int_equal(rows(k)[BP_PHD_RESTORE_FULL], 4);
	persist_rig_free(k);
}

static void not_allowed_any_more(void **state)
{
	struct persist_rig *k = begin(state, 32);

	persist_load(k);
	associate(k, 2);
	persist_stop(k);
	persist_lose_tables(k);
	k->denies = true;
	persist_start(k);
	persist_load(k);
	assert_int_equal(rows(k)[BP_PHD_RESTORE_NOT_ALLOWED], 2);
	assert_int_equal(k->x.t->control->sessions, 0);
	persist_stop(k);
	persist_check_rows(k);
	persist_rig_free(k);
}

/* ---- while sessions are read back ---- */

static void devices_send_while_loading(void **state)
{
	static const uint8_t abrt[] = {0xe6, 0, 0, 2, 0, 0}, rlrq[] = {0xe4, 0, 0, 2, 0, 0};
	struct persist_rig *k = begin(state, 64);

	persist_load(k);
	associate(k, 10);
	persist_stop(k);
	persist_lose_tables(k);
	persist_start(k); /* the loop does not run yet */
	persist_send(k, 0, 40000, rlrq, sizeof(rlrq));
	persist_send(k, 99, 40000, rlrq, sizeof(rlrq));
	assert_int_equal(k->replies, 0); /* they ask again */
	assert_int_equal(k->counts.unknown_sessions, 2);
	persist_send(k, 1, 40000, abrt, sizeof(abrt));
	persist_aarq(k, 3, 40000, 400); /* from where it was */
	assert_int_equal(persist_answered(k), BP_PHD_ACCEPTED);
	persist_aarq(k, 4, 40001, 400); /* from elsewhere */
	assert_int_equal(persist_answered(k), BP_PHD_ACCEPTED);
	persist_aarq(k, 6, 40000, OWN_CONFIG + 9); /* and it will not declare that */
	assert_int_equal(persist_answered(k), BP_PHD_ACCEPTED_UNKNOWN_CONFIG);
	persist_aarq(k, 7, 40000, 0x8000); /* it is refused, but has no session by its own word */
	persist_load(k);
	settle(k);
	persist_send(k, 99, 40000, rlrq, sizeof(rlrq));
	assert_int_equal(persist_answered(k), ABRT);
	assert_int_equal(persist_state(k, 0), BP_PHD_OPERATING);
	assert_int_equal(persist_state(k, 1), BP_PHD_FREE);
	assert_int_equal(persist_state(k, 2), BP_PHD_OPERATING);
	assert_int_equal(persist_session(k, 3)->reports, 0);
	assert_int_equal(persist_session(k, 4)->port, 40001);
	assert_int_equal(persist_state(k, 6), BP_PHD_WAITING);
	assert_int_equal(persist_state(k, 7), BP_PHD_FREE);
	assert_int_equal(k->restored, 5); /* 0, 2, 5, 8, 9 */
	assert_int_equal(k->x.t->control->sessions, 8);
	persist_stop(k);
	persist_check_rows(k);
	persist_rig_free(k);
}

/* ---- rows follow ---- */

static void sessions_that_end_leave_no_row(void **state)
{
	static const uint8_t rlrq[] = {0xe4, 0, 0, 2, 0, 0};
	struct persist_rig *k = begin(state, 64);

	persist_load(k);
	associate(k, 12);
	for (unsigned d = 0; d < 12; d += 2)
		persist_send(k, d, 40000, rlrq, sizeof(rlrq));
	assert_int_equal(k->x.t->control->sessions, 6);
	persist_stop(k);
	persist_check_rows(k);
	persist_rig_free(k);
}

/* The name of an instance is used once: names used since the row was written are below the
 * increment.
 */
static void reports_are_kept_up(void **state)
{
	struct persist_rig *k = begin(state, 64);
	uint32_t made = 0;

	persist_load(k);
	associate(k, 3);
	RUN_UNTIL(k, bp_phd_persist_counts(k->persist)->put == 6); /* the file is new: once more */
	/* it measures; checked in between, as by 26,000 a second within 30 s */
	for (unsigned look = 0; look < 8; look++) {
		const uint64_t put = bp_phd_persist_counts(k->persist)->put;

		made += 300000;
		persist_session(k, 1)->reports = made;
		RUN_UNTIL(k, bp_phd_persist_counts(k->persist)->put > put);
	}
	made += RAISE / 4; /* which is not worth a row */
	persist_session(k, 1)->reports = made;
	persist_session(k, 2)->reports = RAISE / 4;
	settle(k);
	persist_stop(k);
	persist_lose_tables(k);
	persist_start(k);
	persist_load(k);
	assert_true(persist_session(k, 1)->reports > made);
	assert_true(persist_session(k, 1)->reports <= made + RAISE);
	assert_int_equal(persist_session(k, 0)->reports, RAISE);
	assert_int_equal(persist_session(k, 2)->reports, RAISE);
	persist_rig_free(k);
}

#define MANY 3000u

/* A file that is new gets all of them, in turns that leave time for other work. */
static void put_again(void **state)
{
	struct persist_rig *k = begin(state, MANY);
	uint64_t put = 0;

	persist_load(k);
	for (unsigned d = 0; d < MANY; d++)
		persist_aarq(k, d, 40000, 400);
	assert_int_equal(k->x.t->control->sessions, MANY);
	persist_stop(k);
	assert_int_equal(unlink(k->c.store_path), 0);
	persist_start(k);
	while (put < MANY) {
		const uint64_t before = put;

		event_base_loop(k->base, EVLOOP_ONCE);
		put = bp_phd_persist_counts(k->persist)->put;
		assert_true(put - before <= 1024);
	}
	settle(k);
	persist_stop(k);
	persist_check_rows(k);
	assert_int_equal(persist_sql(k, "SELECT count(*) FROM sessions"), MANY);
	persist_rig_free(k);
}

/* ---- a disk that would not ---- */

/* Sessions live in the table, and a warning says so; once the disk takes them, all are written. */
static void no_file_can_be_made(void **state)
{
	struct persist_rig *k = persist_rig_new(*state, 64);
	struct rig *r = *state;
	char dir[128];

	snprintf(dir, sizeof(dir), "%s/a", r->dir);
	test_write_file(dir, "in the way");
	rig_catch_stderr(r);
	persist_start(k);
	persist_load(k);
	associate(k, 30);
	for (unsigned d = 0; d < 30; d++)
		assert_int_equal(persist_state(k, d), BP_PHD_OPERATING);
	assert_int_equal(rig_said(r, "store of health devices"), 1);
	/* another control plane, and the disk still would not */
	persist_stop(k);
	persist_start(k);
	persist_load(k);
	assert_int_equal(k->x.t->control->sessions, 30);
	assert_int_equal(unlink(dir), 0);
	RUN_UNTIL(k, bp_phd_persist_counts(k->persist)->put >= 30);
	settle(k);
	persist_stop(k);
	persist_check_rows(k);
	persist_rig_free(k);
}

/* With the table lost too, devices are asked to associate again: no device waits for the disk.
 */
static void damaged_with_the_segment_lost(void **state)
{
	static const uint8_t rlrq[] = {0xe4, 0, 0, 2, 0, 0};
	struct persist_rig *k = begin(state, 64);

	persist_load(k);
	associate(k, 6);
	persist_stop(k);
	test_write_file(k->c.store_path, "this is no database, and it is long enough to be seen");
	persist_lose_tables(k);
	rig_catch_stderr(*state);
	persist_start(k);
	persist_load(k);
	assert_int_equal(rig_said(*state, "it was moved to"), 1);
	assert_int_equal(k->x.t->control->sessions, 0);
	persist_send(k, 0, 40000, rlrq, sizeof(rlrq));
	assert_int_equal(persist_answered(k), ABRT);
	associate(k, 6);
	settle(k);
	persist_stop(k);
	persist_check_rows(k);
	persist_rig_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
		TEST(with_the_segment_lost),
		TEST(with_the_segment_there),
		TEST(known_configurations),
		TEST(the_table_wins),
		TEST(superseded_session_is_removed),
		TEST(configuration_unknown),
		TEST(configurations_of_open_sessions_stay),
		TEST(configuration_changed),
		TEST(no_capacity),
		TEST(no_room_for_layouts),
		TEST(not_allowed_any_more),
		TEST(devices_send_while_loading),
		TEST(sessions_that_end_leave_no_row),
		TEST(reports_are_kept_up),
		TEST(put_again),
		TEST(no_file_can_be_made),
		TEST(damaged_with_the_segment_lost),
	};

	return cmocka_run_group_tests_name("phd persist", tests, NULL, NULL);
}
