/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path for devices that lose their association before the answer: it records unanswered
 * reports, and recognises their repetition in the next session. */
#include "tests/unit/controlplane/health/slow_rig.h"

#include <stdio.h>
#include <string.h>

/* The path and the name that a request gives its instance: bytes that another has too where it
 * asks for the same one. */
static const char *target(unsigned i)
{
	static char out[4][300];
	static unsigned at;
	char *to = out[at++ % 4];
	const uint8_t *body = memmem(sent[i].bytes, sent[i].len, "\"rn\":\"", 6);
	const uint8_t *query = memmem(sent[i].bytes, sent[i].len, "rcn=0", 5);
	size_t n = 0;

	assert_non_null(body);
	assert_non_null(query);
	for (const uint8_t *p = sent[i].bytes + 12; p < query; p++) /* behind the token */
		n += (size_t)sprintf(to + n, "%02x", *p);
	sprintf(to + n, " %.22s", (const char *)body + 6);
	return to;
}

/* The record of the ended session for the next one. */
static struct bp_phd_carried carried(const struct bp_phd_session *s)
{
	return (struct bp_phd_carried){.last = s->last,
		.sent = s->sent,
		.origin = {.associated_s = s->associated_s,
			.report = s->reports - 1,
			.life = bp_phd_word_life(s->word)}};
}

static uint32_t retry(struct rig *r, uint32_t slot, uint32_t device)
{
	const struct bp_phd_carried c = carried(session(r, slot));

	bp_phd_session_close(r->x.w, slot);
	return open_carrying(r, device, &rig_400, &c);
}

/* Of two instances the CSE has one: the repeat asks for the other one, by its name of then. */
static void partially_stored_report_is_completed(void **state)
{
	struct rig r;
	uint32_t slot;

	(void)state;
	slot = start_reported(&r);
	stored(0);
	end(1, BP_CSE_TIMED_OUT, 0, 0);
	assert_int_equal(session(&r, slot)->unanswered, BP_PHD_UNANSWERED);
	slot = retry(&r, slot, 2);
	assert_int_equal(session(&r, slot)->unanswered, BP_PHD_UNANSWERED);
	assert_int_equal(report(&r, slot, "S02", 5 * SECOND), BP_PHD_TAKEN);
	assert_int_equal(n_sent, 3);
	assert_string_equal(target(2), target(1));
	assert_true(bp_slow_busy(r.s, slot));
	/* and while that is on its way, it is not sent again */
	assert_int_equal(report(&r, slot, "S02", 6 * SECOND), BP_PHD_TAKEN);
	assert_int_equal(n_sent, 3);
	stored(2);
	answered(&r, 1, RORS_S02);
	assert_int_equal(session(&r, slot)->reports, 0);
	assert_int_equal(session(&r, slot)->stored, 1);
	assert_int_equal(session(&r, slot)->unanswered, BP_PHD_ANSWER_WAITS);
	assert_int_equal(report(&r, slot, "S02", 7 * SECOND), BP_PHD_TAKEN_ANSWER);
	finish(&r);
	assert_int_equal(r.n.resumed, 1);
}

/* The answer alone was missing. */
static void stored_report_is_answered(void **state)
{
	struct rig r;
	uint32_t slot;

	(void)state;
	slot = start_reported(&r);
	stored(0);
	stored(1);
	slot = retry(&r, slot, 2);
	assert_int_equal(report(&r, slot, "S02", 5 * SECOND), BP_PHD_TAKEN_ANSWER);
	assert_int_equal(n_sent, 2);
	finish(&r);
}

/* Its requests are on their way yet when the device comes again. */
static void report_in_flight_is_not_sent_again(void **state)
{
	struct rig r;
	uint32_t slot;

	(void)state;
	slot = start_reported(&r);
	slot = retry(&r, slot, 2);
	assert_int_equal(report(&r, slot, "S02", 2 * SECOND), BP_PHD_TAKEN);
	assert_int_equal(n_sent, 4);
	assert_string_equal(target(2), target(0));
	assert_string_equal(target(3), target(1));
	stored(0);
	stored(1);
	assert_int_equal(session(&r, slot)->stored, 0);
	assert_int_equal(r.answers, 1); /* for a life that is over: no one has it */
	end(2, BP_CSE_ANSWERED, BP_COAP_CODE(4, 3), BP_M2M_CONFLICT);
	assert_int_equal(r.answers, 1);
	end(3, BP_CSE_ANSWERED, BP_COAP_CODE(4, 3), BP_M2M_CONFLICT);
	answered(&r, 2, RORS_S02);
	finish(&r);
}

/* Lost once more, before and after it could repeat: the name is still the first one. */
static void over_several_sessions(void **state)
{
	struct rig r;
	struct bp_phd_carried first, c;
	uint32_t slot;

	(void)state;
	slot = start_reported(&r);
	end(0, BP_CSE_TIMED_OUT, 0, 0);
	end(1, BP_CSE_TIMED_OUT, 0, 0);
	first = carried(session(&r, slot));
	slot = retry(&r, slot, 2);
	assert_int_equal(report(&r, slot, "S02", 5 * SECOND), BP_PHD_TAKEN);
	stored(2);
	end(3, BP_CSE_TIMED_OUT, 0, 0);
	c = first;
	c.last = session(&r, slot)->last;
	bp_phd_session_close(r.x.w, slot);
	slot = open_carrying(&r, 3, &rig_400, &c);
	assert_int_equal(report(&r, slot, "S02", 9 * SECOND), BP_PHD_TAKEN);
	assert_int_equal(n_sent, 5);
	assert_string_equal(target(4), target(1));
	stored(4);
	answered(&r, 1, RORS_S02);
	finish(&r);
}

/* Another report has a name of its own session, and what was carried is over. */
static void unrelated_message_is_ignored(void **state)
{
	struct rig r;
	char name[23];
	uint32_t slot;

	(void)state;
	slot = start_reported(&r);
	end(0, BP_CSE_TIMED_OUT, 0, 0);
	end(1, BP_CSE_TIMED_OUT, 0, 0);
	slot = retry(&r, slot, 2);
	assert_int_equal(report(&r, slot, "S05", 2 * SECOND), BP_PHD_TAKEN);
	assert_int_equal(session(&r, slot)->reports, 1);
	assert_int_equal(session(&r, slot)->origin.associated_s, 0);
	snprintf(name, sizeof(name), "%08x%04x%08x00", session(&r, slot)->associated_s,
		bp_phd_word_life(session(&r, slot)->word), 0);
	assert_non_null(strstr(target(2), name));
	stored(2);
	stored(3);
	assert_int_equal(report(&r, slot, "S02", 3 * SECOND), BP_PHD_TAKEN);
	assert_string_not_equal(target(4), target(0));
	stored(4);
	stored(5);
	assert_int_equal(r.answers, 2);
	finish(&r);
}

/* After the time in which invoke-id and content identify a repeat, it is another measurement. */
static void too_late(void **state)
{
	struct rig r;
	uint32_t slot;

	(void)state;
	slot = start_reported(&r);
	stored(0);
	stored(1);
	slot = retry(&r, slot, 2);
	assert_int_equal(report(&r, slot, "S02", 300 * SECOND), BP_PHD_TAKEN);
	assert_int_equal(n_sent, 4);
	stored(2);
	stored(3);
	finish(&r);
}

/* Reports that a device may repeat in another session: those without an answer, or with a request
 * to repeat. */
static void unanswered_reports(void **state)
{
	static const struct {
		enum bp_cse_end end;
		uint8_t class, detail;
		uint16_t rsc;
		enum bp_phd_unanswered_state unanswered;
	} cases[] = {
		{BP_CSE_ANSWERED, 2, 1, BP_M2M_CREATED, BP_PHD_ANSWER_WAITS},
		{BP_CSE_ANSWERED, 4, 3, 4103, BP_PHD_ANSWER_WAITS}, /* denied */
		{BP_CSE_ANSWERED, 4, 0, 4000, BP_PHD_ANSWER_WAITS}, /* refused */
		{BP_CSE_ANSWERED, 4, 4, 4004, BP_PHD_UNANSWERED},   /* there is no container */
		{BP_CSE_ANSWERED, 5, 3, 5000, BP_PHD_UNANSWERED},   /* busy */
		{BP_CSE_TIMED_OUT, 0, 0, 0, BP_PHD_UNANSWERED},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;
		uint32_t slot;

		start(&r);
		slot = open_session(&r, 1, &rig_400);
		assert_int_equal(session(&r, slot)->unanswered, BP_PHD_ANSWERED);
		assert_int_equal(report(&r, slot, "S02", SECOND), BP_PHD_TAKEN);
		assert_int_equal(session(&r, slot)->unanswered, BP_PHD_UNANSWERED);
		stored(0);
		assert_int_equal(session(&r, slot)->unanswered, BP_PHD_UNANSWERED);
		end(1, cases[i].end, BP_COAP_CODE(cases[i].class, cases[i].detail), cases[i].rsc);
		assert_int_equal(session(&r, slot)->unanswered, cases[i].unanswered);
		/* no second answer to a repetition */
		if (cases[i].rsc != BP_M2M_CREATED) {
			assert_int_equal(report(&r, slot, "S02", 2 * SECOND), BP_PHD_TAKEN);
			assert_int_equal(session(&r, slot)->unanswered, BP_PHD_UNANSWERED);
			stored(2);
		}
		assert_int_equal(session(&r, slot)->unanswered, BP_PHD_ANSWER_WAITS);
		finish(&r);
	}
}

/* The end of an earlier report is no answer to the last one. */
static void last_report_wins(void **state)
{
	struct rig r;
	uint32_t slot;

	(void)state;
	slot = start_reported(&r);
	assert_int_equal(report(&r, slot, "S05", SECOND), BP_PHD_TAKEN);
	stored(0);
	stored(1);
	assert_int_equal(r.answers, 1);
	assert_int_equal(session(&r, slot)->unanswered, BP_PHD_UNANSWERED);
	stored(2);
	stored(3);
	assert_int_equal(session(&r, slot)->unanswered, BP_PHD_ANSWER_WAITS);
	finish(&r);
}

static void unconfirmed_is_not_repeated(void **state)
{
	struct rig r;
	uint32_t slot;

	(void)state;
	start(&r);
	slot = open_session(&r, 1, &rig_c01);
	assert_int_equal(report(&r, slot, "S03", SECOND), BP_PHD_TAKEN);
	assert_int_equal(session(&r, slot)->unanswered, BP_PHD_ANSWERED);
	stored(0);
	stored(1);
	finish(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(partially_stored_report_is_completed),
		cmocka_unit_test(stored_report_is_answered),
		cmocka_unit_test(report_in_flight_is_not_sent_again),
		cmocka_unit_test(over_several_sessions),
		cmocka_unit_test(unrelated_message_is_ignored),
		cmocka_unit_test(too_late),
		cmocka_unit_test(unanswered_reports),
		cmocka_unit_test(last_report_wins),
		cmocka_unit_test(unconfirmed_is_not_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
