/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports that the control plane converts: with real tables and layouts, and a client of the CSE
 * that does what the test says. */
#include "tests/unit/controlplane/health/slow_cse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/health/slow.h"

/* ---- */

static void stored_then_answered(void **state)
{
	struct rig r;
	uint32_t slot;
	char *con;

	(void)state;
	slot = start_reported(&r);
	assert_int_equal(n_sent, 2);
	con = rig_content(sent[0].bytes, sent[0].len);
	assert_non_null(strstr(con, "97.5"));
	free(con);
	con = rig_content(sent[1].bytes, sent[1].len);
	assert_non_null(strstr(con, "61"));
	free(con);
	assert_true(bp_slow_busy(r.s, slot));
	stored(1);
	assert_int_equal(r.answers, 0);
	stored(0);
	answered(&r, 1, RORS_S02);
	assert_int_equal(r.slot, slot);
	assert_false(bp_slow_busy(r.s, slot));
	assert_int_equal(session(&r, slot)->reports, 1);
	assert_int_equal(session(&r, slot)->stored, 2);
	assert_int_equal(session(&r, slot)->last, 0x0010000100000000ull);
	finish(&r);
	assert_int_equal(r.n.stored, 2);
	assert_int_equal(r.n.reports, 1);
}

/* It was named, and is there: that is stored, too. */
static void conflict_is_stored(void **state)
{
	struct rig r;

	(void)state;
	start_reported(&r);
	stored(0);
	end(1, BP_CSE_ANSWERED, BP_COAP_CODE(4, 3), BP_M2M_CONFLICT);
	answered(&r, 1, RORS_S02);
	finish(&r);
}

static void repeats_create_no_resource(void **state)
{
	struct rig r;
	uint32_t slot;

	(void)state;
	slot = start_reported(&r);
	assert_int_equal(report(&r, slot, "S02", 4 * SECOND), BP_PHD_TAKEN);
	assert_int_equal(n_sent, 2);
	stored(0);
	stored(1);
	assert_int_equal(r.answers, 1);
	assert_int_equal(report(&r, slot, "S02", 8 * SECOND), BP_PHD_TAKEN_ANSWER);
	assert_int_equal(n_sent, 2);
	assert_int_equal(session(&r, slot)->reports, 1);
	/* after the time in which invoke-id and content identify a repeat, it is another
	 * measurement */
	assert_int_equal(report(&r, slot, "S02", 300 * SECOND), BP_PHD_TAKEN);
	assert_int_equal(n_sent, 4);
	assert_int_equal(session(&r, slot)->reports, 2);
	stored(2);
	stored(3);
	finish(&r);
	assert_int_equal(r.n.repeated, 2);
	assert_int_equal(r.n.resumed, 0);
}

/* The CSE did not answer one of two: the device is not answered, and its repeat brings that one,
 * byte for byte the same request, its name included. */
static void away_then_resumed(void **state)
{
	struct rig r;
	uint32_t slot;

	(void)state;
	slot = start_reported(&r);
	end(1, BP_CSE_TIMED_OUT, 0, 0);
	stored(0);
	assert_int_equal(r.answers, 0);
	assert_int_equal(report(&r, slot, "S02", 5 * SECOND), BP_PHD_TAKEN);
	assert_int_equal(n_sent, 3);
	assert_int_equal(sent[2].len, sent[1].len);
	assert_memory_equal(sent[2].bytes, sent[1].bytes, sent[1].len);
	stored(2);
	answered(&r, 1, RORS_S02);
	finish(&r);
	assert_int_equal(r.n.resumed, 1);
	assert_int_equal(r.n.no_reply, 1);
}

static void errors_are_answered(void **state)
{
	static const struct {
		uint8_t class, detail;
		uint16_t rsc;
		const char *answer;
	} cases[] = {
		{4, 3, 4103, "e700000c000a00100300000400020000"},
		{4, 4, 4004, "e700000a00080010040000020067"},
		{5, 3, 5000, "e700000a00080010040000020067"},
		{4, 0, 4000,
			"e700000a00080010040000"
			"02012f"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;
		uint32_t slot;

		slot = start_reported(&r);
		stored(0);
		end(1, BP_CSE_ANSWERED, BP_COAP_CODE(cases[i].class, cases[i].detail),
			cases[i].rsc);
		answered(&r, 1, cases[i].answer);
		assert_int_equal(r.targets, cases[i].rsc == 4004);
		/* asked again, what was stored is not sent again */
		assert_int_equal(report(&r, slot, "S02", 5 * SECOND), BP_PHD_TAKEN);
		assert_int_equal(n_sent, 3);
		stored(2);
		answered(&r, 2, RORS_S02);
		finish(&r);
	}
}

/* Without capacity no request is started, so that the device's repetition is a new report. */
static void report_without_capacity_is_not_started(void **state)
{
	struct rig r;
	uint32_t a, b;

	(void)state;
	start_with(&r, 1, &rig_plan);
	a = open_session(&r, 1, &rig_400);
	b = open_session(&r, 2, &rig_400);
	assert_int_equal(report(&r, a, "S02", SECOND), BP_PHD_TAKEN);
	assert_int_equal(report(&r, b, "S02", SECOND), BP_PHD_TAKEN_FULL);
	assert_int_equal(session(&r, b)->reports, 0);
	stored(0);
	stored(1);
	assert_int_equal(report(&r, b, "S02", 2 * SECOND), BP_PHD_TAKEN);
	stored(2);
	stored(3);
	assert_int_equal(r.answers, 2);
	room = 0;
	assert_int_equal(report(&r, a, "S05", 3 * SECOND), BP_PHD_TAKEN_FULL);
	assert_int_equal(session(&r, a)->reports, 1);
	/* room for one of the two: the other one follows when that has ended */
	room = 1;
	assert_int_equal(report(&r, a, "S05", 4 * SECOND), BP_PHD_TAKEN);
	assert_int_equal(n_sent, 5);
	stored(4);
	assert_int_equal(r.answers, 2);
	assert_int_equal(n_sent, 6);
	stored(5);
	answered(&r, 3, "e7000012001000130201000a0000ffffffff0d1e0000");
	finish(&r);
	assert_int_equal(r.n.full, 2);
}

static void unconfirmed_can_be_lost(void **state)
{
	struct rig r;
	uint32_t slot;

	(void)state;
	start(&r);
	slot = open_session(&r, 1, &rig_c01);
	assert_int_equal(report(&r, slot, "S03", SECOND), BP_PHD_TAKEN);
	assert_int_equal(n_sent, 2);
	stored(0);
	end(1, BP_CSE_TIMED_OUT, 0, 0);
	assert_int_equal(r.answers, 0);
	finish(&r);
	assert_int_equal(r.n.lost, 1);
}

static void forwarded_is_answered_at_once(void **state)
{
	struct bp_phd_settings plan = rig_plan;
	struct rig r;
	uint32_t slot;

	(void)state;
	plan.confirm = BP_PHD_CONFIRM_FORWARDED;
	start_with(&r, 16, &plan);
	slot = open_session(&r, 1, &rig_400);
	assert_int_equal(report(&r, slot, "S02", SECOND), BP_PHD_TAKEN_ANSWER);
	assert_int_equal(n_sent, 2);
	stored(0);
	stored(1);
	assert_int_equal(r.answers, 0);
	finish(&r);
}

/* The session ended meanwhile, and its slot is another's. */
static void session_closed(void **state)
{
	struct rig r;
	uint32_t slot, other;

	(void)state;
	slot = start_reported(&r);
	bp_phd_session_close(r.x.w, slot);
	other = open_session(&r, 1, &rig_400);
	stored(0);
	end(1, BP_CSE_ANSWERED, BP_COAP_CODE(4, 4), 4004);
	assert_int_equal(r.targets, 0);
	assert_int_equal(session(&r, other)->stored, 0);
	assert_int_equal(session(&r, other)->last, 0);
	finish(&r);
}

static void report_without_layout_is_rejected(void **state)
{
	struct rig r;
	uint32_t slot, bare;
	struct bp_phd_session_spec spec = phd_device(9);

	(void)state;
	start(&r);
	slot = open_session(&r, 1, &rig_400);
	spec.state = BP_PHD_OPERATING;
	spec.layout = BP_PHD_NO_LAYOUT;
	assert_int_equal(bp_phd_session_open(r.x.w, &spec, &bare), 0);
	assert_int_equal(report(&r, bare, "S02", SECOND), BP_PHD_TAKEN_BAD);
	assert_int_equal(report(&r, slot, "S19", SECOND), BP_PHD_TAKEN_ANSWER);
	assert_int_equal(report(&r, slot, "S11", SECOND), BP_PHD_TAKEN_NO_OBJECT);
	assert_int_equal(
		report(&r, slot, "M26", SECOND), BP_PHD_TAKEN_BAD); /* its map is another */
	assert_int_equal(session(&r, slot)->refused, 2);
	assert_int_equal(session(&r, slot)->refused_why, BP_PHD_BAD_MAP);
	assert_int_equal(n_sent, 0);
	finish(&r);
}

/* ---- a device that repeats until it is answered, and a CSE that loses and forgets ---- */

#define DEVICES 20
#define REPORTS 60

struct device {
	uint32_t slot;
	unsigned report; /* its present one */
	bool waits;      /* for the answer */
	uint64_t asked;  /* when it asked last */
	unsigned answered;
};
static struct device device[DEVICES];
static struct rig *soak;

static void soak_answer(void *arg, uint32_t slot, uint16_t life, const uint8_t *apdu, size_t len)
{
	(void)arg;
	(void)life;
	for (unsigned d = 0; d < DEVICES; d++) {
		if (device[d].slot != slot || len != BP_PHD_RORS_EVENT_LEN ||
			((unsigned)apdu[6] << 8 | apdu[7]) != device[d].report)
			continue;
		device[d].waits = false;
		device[d].answered++;
	}
}

/* The value in a report of a device: no two are equal. */
static unsigned value_of(unsigned d, unsigned report_no)
{
	return d * 64 + report_no;
}

static size_t make_report(uint8_t out[SLOW_REPORT], unsigned d)
{
	return slow_report(out, device[d].report, value_of(d, device[d].report));
}

static void each_report_is_stored_exactly_once(void **state)
{
	const struct bp_slow_ops ops = {.answer = soak_answer, .no_target = on_no_target};
	struct rig r;
	unsigned first = 0, done = 0;
	uint64_t now = SECOND;

	(void)state;
	srand(3);
	start_with(&r, 7, &rig_plan); /* fewer than devices: some are refused */
	bp_slow_free(r.s);
	r.s = bp_slow_new(r.x.t, NULL, 7, &ops, &r);
	soak = &r;
	cse_begin();
	for (unsigned d = 0; d < DEVICES; d++)
		device[d] = (struct device){.slot = open_session(&r, d + 1, &rig_400)};
	while (done < DEVICES) {
		const unsigned d = (unsigned)rand() % DEVICES;
		uint8_t apdu[SLOW_REPORT];

		now += (uint64_t)rand() % (SECOND / 4);
		/* the oldest request that has no end, or one near it, ends */
		while (first < n_sent && sent[first].ended)
			first++;
		if (first < n_sent) {
			unsigned i = first + (unsigned)rand() % 3;

			if (i < n_sent && !sent[i].ended)
				cse_acts(i);
		}
		if (device[d].report == REPORTS ||
			(device[d].waits && now - device[d].asked < 3 * SECOND))
			continue;
		if (!device[d].waits) { /* the next one */
			done += ++device[d].report == REPORTS;
			if (device[d].report == REPORTS)
				continue;
			device[d].waits = true;
		}
		device[d].asked = now;
		if (bp_slow_report(r.s, device[d].slot, apdu, make_report(apdu, d), now) ==
			BP_PHD_TAKEN_ANSWER) {
			device[d].waits = false;
			device[d].answered++;
		}
	}
	for (; first < n_sent; first++)
		if (!sent[first].ended)
			cse_acts(first);
	for (unsigned d = 0; d < DEVICES; d++)
		assert_int_equal(device[d].answered, REPORTS - 1);
	/* two instances a report, and no name twice */
	assert_int_equal(cse_end(), DEVICES * (REPORTS - 1) * 2);
	bp_slow_count(r.s, &r.n);
	assert_true(r.n.resumed > 50 && r.n.full > 10 && r.n.busy > 50);
	finish(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_then_answered),
		cmocka_unit_test(conflict_is_stored),
		cmocka_unit_test(repeats_create_no_resource),
		cmocka_unit_test(away_then_resumed),
		cmocka_unit_test(errors_are_answered),
		cmocka_unit_test(report_without_capacity_is_not_started),
		cmocka_unit_test(unconfirmed_can_be_lost),
		cmocka_unit_test(forwarded_is_answered_at_once),
		cmocka_unit_test(session_closed),
		cmocka_unit_test(report_without_layout_is_rejected),
		cmocka_unit_test(each_report_is_stored_exactly_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
