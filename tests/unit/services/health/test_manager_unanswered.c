/* SPDX-License-Identifier: BSD-3-Clause */
/* A device on TCP that lost its association may repeat what it was not answered: the next session
 * begins with it. */
#include "manager_rig.h"
#include "services/health/last_report.h"

#define SECOND_MS 1000u
#define LAST bp_phd_last_pack(16, 1, 1) /* of two parts one is stored */

static struct rig rig, *const r = &rig;

static struct bp_phd_session *session(unsigned device)
{
	const uint32_t slot = rig_slot(r, device);

	assert_int_not_equal(slot, UINT32_MAX);
	return &r->x.t->sessions[slot];
}

/* The record of a confirmed report by the slow path. */
static void reports(unsigned device)
{
	struct bp_phd_session *s = session(device);

	bp_phd_report_words_begin(s);
	s->unanswered = BP_PHD_UNANSWERED;
	bp_phd_report_words_end(
		s, LAST, bp_phd_sent_pack(BP_PHD_SENT_NONE, 0x1234, r->now_ms * 1000000));
}

static struct bp_phd_origin name(unsigned device)
{
	const struct bp_phd_session *s = session(device);

	return (struct bp_phd_origin){.associated_s = s->associated_s,
		.report = s->reports - 1,
		.life = bp_phd_word_life(s->word)};
}

static void disconnected(unsigned device)
{
	bp_phd_manager_disconnected(r->m, device + r->reconnected, r->now_ms * 1000000);
}

static void associates(unsigned device, const char *system_id)
{
	rig_send(r, device, rig_aarq(system_id, 400));
}

/* It begins with the report that is named so. */
static void has(unsigned device, const struct bp_phd_origin *n)
{
	const struct bp_phd_session *s = session(device);

	assert_int_equal(s->last, LAST);
	assert_int_not_equal(s->sent, 0);
	assert_int_equal(s->reports, 0);
	assert_int_equal(s->unanswered, BP_PHD_UNANSWERED);
	assert_memory_equal(&s->origin, n, sizeof(*n));
}

static void has_none(unsigned device)
{
	assert_int_equal(session(device)->sent, 0);
	assert_int_equal(session(device)->unanswered, BP_PHD_ANSWERED);
	assert_int_equal(session(device)->origin.associated_s, 0);
}

/* An oximeter by TCP that was not answered yet. */
static struct bp_phd_origin begin(void **state)
{
	rig_open(r, *state, 16, 16);
	associates(100, OXIMETER);
	has_none(100);
	reports(100);
	return name(100);
}

static void connection_lost(void **state)
{
	const struct bp_phd_origin n = begin(state);

	disconnected(100);
	associates(101, OXIMETER);
	has(101, &n);
	/* and again, before it could repeat */
	disconnected(101);
	associates(100, OXIMETER);
	has(100, &n);
	rig_close(r);
}

/* It comes again before its old connection is known to be gone. */
static void connection_lost_unnoticed(void **state)
{
	const struct bp_phd_origin n = begin(state);

	associates(101, OXIMETER);
	has(101, &n);
	assert_int_equal(r->counts.superseded, 1);
	assert_int_equal(rig_state(r, 100), BP_PHD_FREE);
	rig_close(r);
}

static void unanswered_report_is_kept_after_abort(void **state)
{
	const struct bp_phd_origin n = begin(state);

	rig_send(r, 100, "e60000020000");
	associates(100, OXIMETER);
	has(100, &n);
	rig_close(r);
}

/* This process ends: with the connection there, after it, and between two associations. */
static void over_restarts(void **state)
{
	const struct bp_phd_origin n = begin(state);

	rig_restart(r);
	associates(101, OXIMETER);
	has(101, &n);
	rig_restart(r);
	rig_restart(r);
	associates(100, OXIMETER);
	has(100, &n);
	disconnected(100);
	rig_restart(r);
	associates(101, OXIMETER);
	has(101, &n);
	rig_close(r);
}

/* A place that says what may be repeated is used last, so that another process finds it. */
static void owned_slot_is_unchanged(void **state)
{
	const struct bp_phd_origin n = begin(state);
	struct bp_phd_session *s = session(100);

	disconnected(100);
	bp_phd_writer_settle(r->x.w);
	associates(100, ACTIVITY); /* from the same address and port */
	assert_ptr_not_equal(session(100), s);
	rig_restart(r);
	associates(101, OXIMETER);
	has(101, &n);
	/* it says so no more */
	bp_phd_writer_settle(r->x.w);
	associates(100, ACTIVITY);
	assert_ptr_equal(session(100), s);
	rig_close(r);
}

/* The entry in the table now belongs to another device: neither record is lost. */
static void its_slot_is_used_again(void **state)
{
	const struct bp_phd_origin n = begin(state);
	struct bp_phd_session *s = session(100);
	struct bp_phd_origin other;

	disconnected(100);
	bp_phd_writer_settle(r->x.w);
	s->unanswered = BP_PHD_ANSWERED; /* else it were left alone */
	associates(100, ACTIVITY);       /* from the same address and port */
	assert_ptr_equal(session(100), s);
	has_none(100);
	reports(100);
	other = name(100);
	associates(101, OXIMETER);
	has(101, &n);
	disconnected(100);
	associates(102, ACTIVITY);
	has(102, &other);
	rig_close(r);
}

/* It has its answer: the next report is another measurement, even with the same bytes. */
static void answered_report_is_not_kept(void **state)
{
	const struct bp_phd_origin n = begin(state);

	session(100)->unanswered = BP_PHD_ANSWER_WAITS; /* which is lost with the connection */
	disconnected(100);
	associates(101, OXIMETER);
	has(101, &n);
	session(101)->unanswered = BP_PHD_ANSWER_WAITS;
	bp_phd_manager_written(r->m, 100); /* another's */
	assert_int_equal(session(101)->unanswered, BP_PHD_ANSWER_WAITS);
	bp_phd_manager_written(r->m, 101);
	assert_int_equal(session(101)->unanswered, BP_PHD_ANSWERED);
	disconnected(101);
	associates(100, OXIMETER);
	has_none(100);
	reports(100);
	bp_phd_manager_written(r->m, 100); /* an answer to another request */
	assert_int_equal(session(100)->unanswered, BP_PHD_UNANSWERED);
	session(100)->unanswered = BP_PHD_ANSWERED;
	rig_restart(r);
	associates(101, OXIMETER);
	has_none(101);
	rig_close(r);
}

/* An immediate answer also counts only when it is written. */
static void answered_at_once(void **state)
{
	begin(state);
	r->taken = BP_PHD_TAKEN_FULL;
	rig_send(r, 100, "S02");
	assert_int_equal(session(100)->unanswered, BP_PHD_UNANSWERED);
	r->taken = BP_PHD_TAKEN_ANSWER;
	rig_send(r, 100, "S02");
	assert_int_equal(session(100)->unanswered, BP_PHD_ANSWER_WAITS);
	rig_close(r);
}

/* A device that sends a release request does not wait for an answer. */
static void unanswered_report_is_dropped_after_release(void **state)
{
	begin(state);
	rig_send(r, 100, "R01");
	associates(100, OXIMETER);
	has_none(100);
	reports(100);
	rig_send(r, 100, "R01");
	rig_restart(r);
	associates(100, OXIMETER);
	has_none(100);
	rig_close(r);
}

/* It associated, and did not repeat it. */
static void not_repeated(void **state)
{
	struct bp_phd_session *s;

	begin(state);
	disconnected(100);
	associates(101, OXIMETER);
	s = session(101);
	bp_phd_report_words_begin(s);
	s->unanswered = BP_PHD_ANSWERED; /* another report, which has its answer */
	s->origin = (struct bp_phd_origin){0};
	bp_phd_report_words_end(s, bp_phd_last_pack(17, 2, 0),
		bp_phd_sent_pack(BP_PHD_SENT_NONE, 1, r->now_ms * 1000000));
	disconnected(101);
	associates(100, OXIMETER);
	has_none(100);
	/* nor does the first one's place say it to another process */
	rig_send(r, 100, "R01");
	rig_restart(r);
	associates(101, OXIMETER);
	has_none(101);
	rig_close(r);
}

/* Workers name instances by the session alone. */
static void by_udp(void **state)
{
	begin(state);
	disconnected(100);
	associates(1, OXIMETER);
	has_none(1);
	/* it could have repeated it there */
	associates(100, OXIMETER);
	has_none(100);
	rig_send(r, 100, "R01");
	associates(1, OXIMETER);
	reports(1);
	rig_send(r, 1, "e60000020000");
	associates(100, OXIMETER);
	has_none(100);
	rig_close(r);
}

static void another_device(void **state)
{
	const struct bp_phd_origin n = begin(state);

	disconnected(100);
	associates(101, "0000000000000001");
	has_none(101);
	associates(102, OXIMETER);
	has(102, &n);
	rig_close(r);
}

static void too_late(void **state)
{
	begin(state);
	disconnected(100);
	rig_wait(r, 248 * SECOND_MS);
	associates(101, OXIMETER);
	has_none(101);
	reports(101);
	rig_wait(r, 248 * SECOND_MS);
	rig_restart(r);
	associates(100, OXIMETER);
	has_none(100);
	rig_close(r);
}

/* The time in the words comes again after three days; a free place does not. */
static void three_days_later(void **state)
{
	begin(state);
	disconnected(100);
	rig_wait(r, 4 * SECOND_MS * 65536);
	associates(101, OXIMETER);
	has_none(101);
	reports(101);
	disconnected(101);
	rig_wait(r, 300 * SECOND_MS);
	rig_restart(r);
	rig_wait(r, (4 * 65536 - 300) * SECOND_MS);
	rig_restart(r);
	associates(100, OXIMETER);
	has_none(100);
	rig_close(r);
}

/* The bytes of a report say something else by another configuration. */
static void another_configuration(void **state)
{
	begin(state);
	disconnected(100);
	rig_send(r, 101, rig_aarq(OXIMETER, 401));
	has_none(101);
	rig_close(r);
}

/* A configuration of the device's own: its id alone does not identify it. */
static void declared_configurations(void **state)
{
	struct bp_phd_origin n;

	rig_open(r, *state, 16, 16);
	rig_send(r, 100, "A04");
	rig_send(r, 100, "C03");
	reports(100);
	n = name(100);
	disconnected(100);
	rig_send(r, 101, "A04"); /* known */
	has(101, &n);
	disconnected(101);
	r->n_known = 0;
	rig_send(r, 100, "A04");
	assert_int_equal(rig_state(r, 100), BP_PHD_WAITING);
	rig_send(r, 100, "C03");
	assert_int_equal(rig_state(r, 100), BP_PHD_OPERATING);
	has(100, &n);
	disconnected(100);
	r->known[0].model.content++;
	rig_send(r, 101, "A04");
	has_none(101);
	rig_close(r);
}

static void declared_otherwise(void **state)
{
	rig_open(r, *state, 16, 16);
	rig_send(r, 100, "A04");
	rig_send(r, 100, "C03");
	reports(100);
	disconnected(100);
	r->n_known = 0;
	rig_send(r, 101, "A04");
	session(101)->config_content++; /* as if it had been another one then */
	rig_send(r, 101, "C03");
	assert_int_equal(rig_state(r, 101), BP_PHD_OPERATING);
	assert_int_equal(session(101)->sent, 0);
	rig_close(r);
}

/* Limited to the number of sessions: the oldest is removed. */
static void unanswered_reports_are_bounded(void **state)
{
	struct bp_phd_origin last = {0};
	uint32_t n;
	char id[17];

	rig_open(r, *state, 16, 16);
	n = r->x.t->n_slots;
	for (uint32_t i = 0; i <= n; i++) {
		snprintf(id, sizeof(id), "%016x", i + 1);
		associates(100, id);
		has_none(100);
		reports(100);
		last = name(100);
		disconnected(100);
		bp_phd_writer_settle(r->x.w);
	}
	associates(100, id);
	has(100, &last);
	associates(101, "0000000000000001");
	has_none(101);
	associates(102, "0000000000000002");
	assert_int_equal(session(102)->unanswered, BP_PHD_UNANSWERED);
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connection_lost),
		cmocka_unit_test(connection_lost_unnoticed),
		cmocka_unit_test(unanswered_report_is_kept_after_abort),
		cmocka_unit_test(over_restarts),
		cmocka_unit_test(owned_slot_is_unchanged),
		cmocka_unit_test(its_slot_is_used_again),
		cmocka_unit_test(answered_report_is_not_kept),
		cmocka_unit_test(answered_at_once),
		cmocka_unit_test(unanswered_report_is_dropped_after_release),
		cmocka_unit_test(not_repeated),
		cmocka_unit_test(by_udp),
		cmocka_unit_test(another_device),
		cmocka_unit_test(too_late),
		cmocka_unit_test(three_days_later),
		cmocka_unit_test(another_configuration),
		cmocka_unit_test(declared_configurations),
		cmocka_unit_test(declared_otherwise),
		cmocka_unit_test(unanswered_reports_are_bounded),
	};

	return cmocka_run_group_tests(tests, vectors_setup, vectors_teardown);
}
