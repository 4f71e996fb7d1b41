/* SPDX-License-Identifier: BSD-3-Clause */
/* Associations: accepted devices and the answers, repetitions, supersession, limits, release. */
#include "manager_rig.h"

static struct rig rig, *const r = &rig;

static const struct bp_phd_session *session(unsigned device)
{
	const uint32_t slot = rig_slot(r, device);

	assert_int_not_equal(slot, UINT32_MAX);
	return &r->x.t->sessions[slot];
}

static void begin(void **state)
{
	rig_open(r, *state, 64, 16);
}

static void forget(void)
{
	r->n = 0;
	r->log[0] = '\0';
}

/* The requests of the vectors, and the answers. */
static void vectors_are_answered(void **state)
{
	static const struct {
		const char *id, *says;
	} rows[] = {
		{"A01", "1 " AARE0 "opened " OXIMETER "\n"},
		{"A04", "1 " AARE3},
		{"A05", "1 " AARE3}, /* by number only: its layout is not certain */
		{"A06", "1 " AARE3},
		{"A07", "1 " AARE3},
		{"A08", "1 " AARE0 "opened " OXIMETER "\n"},
		{"M09", "1 " AARE("0005")},
		{"M19", "1 " AARE("0008")},
		{"M20", "1 " AARE("0004")},
		{"M21", "1 " AARE("0005")},
		{"M22", "1 " AARE("0005")},
		{"M23", "1 " AARE("0001")},
		{"M24", "1 " AARE("0005")},
		/* no APDU: M03 to M08 */
		{"M03", ""},
		{"M04", ""},
		{"M05", ""},
		{"M06", ""},
		{"M07", ""},
		{"M08", ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(state);
		rig_send(r, 1, rows[i].id);
		said(r, rows[i].says);
		assert_int_equal(r->x.t->control->sessions,
			strstr(rows[i].says, "e300002c") != NULL ? 1 : 0);
		rig_close(r);
	}
	/* the manager's own words are those of the vectors */
	assert_string_equal(AARE0,
		"e300002c0000507900268000000080008000000000000000800000000008fedc"
		"ba987654321000000000000000000000\n");
	assert_string_equal(AARE("0004"), "e3000006000400000000\n");
}

static void single_faults(void **state)
{
	begin(state);
	rig_send(r, 1, rig_patched(r, "A01", 22, 0)); /* no version of the nomenclature */
	said(r, "1 " AARE("0005"));
	rig_send(r, 1, rig_aarq(OXIMETER, 0));
	said(r, "1 " AARE("0005"));
	rig_send(r, 1, rig_aarq(OXIMETER, 0xffff));
	said(r, "1 " AARE("0005"));
	rig_send(r, 1, rig_aarq(OXIMETER, 0x7fff));
	said(r, "1 " AARE3);
	rig_send(r, 1, "R03");
	/* of several faults the one that is evaluated first: version, protocol, parameters, role */
	rig_send(r, 1, rig_patched(r, "M20", 4, 0x40));
	said(r, "1 " AARE("0008"));
	rig_send(r, 1, rig_patched(r, "M23", 20, 0x40));
	said(r, "1 " AARE("0005"));
	assert_int_equal(r->counts.aarq, 6);
	assert_int_equal(r->counts.aare[5], 4);
	rig_close(r);
}

static void both_protocol_versions(void **state)
{
	begin(state);
	rig_send(r, 1, "A01");
	said(r, "1 " AARE0 "opened " OXIMETER "\n");
	assert_int_equal(session(1)->protocol, 1);
	rig_send(r, 1, "R03");
	forget();
	rig_send(r, 1, rig_patched(r, "A01", 16, 0xc0));
	said(r, "1 " AARE_ACCEPTED("0000", "40000000") "opened " OXIMETER "\n");
	assert_int_equal(session(1)->protocol, 2);
	rig_send(r, 1, rig_patched(r, "A01", 16, 0xc0)); /* a repeat: the same answer */
	said(r, "1 " AARE_ACCEPTED("0000", "40000000"));
	rig_send(r, 1, "R03");
	forget();
	rig_send(r, 1, rig_patched(r, "A04", 16, 0x40));
	said(r, "1 " AARE_ACCEPTED("0003", "40000000"));
	rig_close(r);
}

static void standard_configurations(void **state)
{
	static const struct {
		unsigned id, spec;
		bool known;
	} rows[] = {{400, 4100, true}, {401, 4100, true}, {700, 4103, true}, {800, 4104, true},
		{1500, 4111, true}, {1700, 4113, true}, {4100, 0, false}, {7100, 0, false},
		{7200, 0, false}, {402, 0, false}, {1, 0, false}};

	begin(state);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char id[17], lines[200];

		snprintf(id, sizeof(id), "%016x", i + 1);
		snprintf(lines, sizeof(lines), "%u %s%s%s%s", i + 1, rows[i].known ? AARE0 : AARE3,
			rows[i].known ? "opened " : "", rows[i].known ? id : "",
			rows[i].known ? "\n" : "");
		rig_send(r, i + 1, rig_aarq(id, rows[i].id));
		said(r, lines);
		if (rows[i].known) {
			assert_int_equal(session(i + 1)->spec, rows[i].spec);
			assert_int_equal(session(i + 1)->mds_known, BP_PHD_MDS_KNOWN);
		}
	}
	rig_close(r);
}

/* The table entry of a new session. */
static void the_table_is_filled(void **state)
{
	const uint8_t address[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1},
		      own[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};
	const struct bp_phd_session *s;
	uint8_t id[8];
	uint32_t slot;

	begin(state);
	rig_send(r, 1, "A01");
	s = session(1);
	rig_id(OXIMETER, id);
	assert_memory_equal(s->system_id, id, 8);
	assert_memory_equal(s->address, address, 16);
	assert_memory_equal(r->x.t->control->own[bp_phd_word_own(s->word)], own, 16);
	assert_int_equal(s->port, 40001);
	assert_int_equal(s->config_id, 400);
	assert_int_equal(s->associated_s, 1767225600 + 1000);
	assert_int_equal(s->opened_ns, 1000000000000);
	assert_int_equal(bp_phd_word_flags(s->word), 0); /* not READY: its owner says that */
	assert_int_equal(bp_phd_layout_of(r->x.t, s->word)->spec, 4100);
	assert_int_equal(bp_phd_manager_find(r->m, id, &slot), 0);
	assert_int_equal(slot, rig_slot(r, 1));
	id[0]++;
	assert_int_equal(bp_phd_manager_find(r->m, id, &slot), -1);
	rig_close(r);
}

/* ---- repeats ---- */

static void a_lost_answer_is_sent_again(void **state)
{
	begin(state);
	rig_send(r, 1, "A01");
	forget();
	r->now_ms += 10000;
	rig_send(r, 1, "A01");
	said(r, "1 " AARE0);
	r->now_ms += 19999;
	rig_send(r, 1, "A01");
	said(r, "1 " AARE0);
	assert_int_equal(r->counts.repeats, 2);
	assert_int_equal(rig_state(r, 1), BP_PHD_OPERATING);
	/* three tries of 10 s are over: it begins again */
	r->now_ms++;
	rig_send(r, 1, "A01");
	said(r, "closed " OXIMETER " fault\n1 " ABRT("0000"));
	rig_send(r, 1, "A01");
	said(r, "1 " AARE0 "opened " OXIMETER "\n");
	/* other bytes are another request */
	rig_send(r, 1, "A01");
	forget();
	rig_send(r, 1, "A08");
	said(r, "closed " OXIMETER " fault\n1 " ABRT("0000"));
	/* TCP loses nothing */
	rig_send(r, 100, "A01");
	forget();
	rig_send(r, 100, "A01");
	said(r, "closed " OXIMETER " fault\n100 " ABRT("0000"));
	rig_close(r);
}

static void set_reports(unsigned n)
{
	atomic_store(&r->x.t->sessions[rig_slot(r, 1)].reports, n);
}

/* The device has sent a report, so it knows the answer. */
static void a_late_request_ends_no_association(void **state)
{
	begin(state);
	rig_send(r, 1, "A01");
	forget();
	for (unsigned i = 1; i <= 3; i++) { /* late, and sent twice by the network */
		set_reports(i);
		rig_send(r, 1, "A01");
		r->now_ms += 4999;
		rig_send(r, 1, "A01");
		said(r, "");
	}
	assert_int_equal(r->counts.late, 6);
	assert_int_equal(r->counts.repeats, 0);
	assert_int_equal(rig_state(r, 1), BP_PHD_OPERATING);
	/* no report since: it has lost its association and waits for an answer */
	r->now_ms++;
	rig_send(r, 1, "A01");
	said(r, "closed " OXIMETER " fault\n1 " ABRT("0000"));
	/* the same number of reports in the next association is another one */
	rig_send(r, 1, "A01");
	said(r, "1 " AARE0 "opened " OXIMETER "\n");
	set_reports(3);
	rig_send(r, 1, "A01");
	said(r, "");
	/* other bytes, or later than a device repeats */
	rig_send(r, 1, "A08");
	said(r, "closed " OXIMETER " fault\n1 " ABRT("0000"));
	rig_send(r, 1, "A01");
	forget();
	set_reports(1);
	r->now_ms += 30000;
	rig_send(r, 1, "A01");
	said(r, "closed " OXIMETER " fault\n1 " ABRT("0000"));
	rig_close(r);
}

static void a_lost_request_for_the_configuration_is_sent_again(void **state)
{
	begin(state);
	rig_send(r, 1, "A04");
	said(r, "1 " AARE3);
	rig_send(r, 1, "A04");
	said(r, "1 " AARE3);
	rig_send(r, 1, "C03");
	forget();
	/* an AARQ that was under way for long: the configuration is repeated, and answered so */
	rig_send(r, 1, "A04");
	said(r, "1 " AARE3);
	rig_send(r, 1, "C03");
	said(r, "1 " CONFIG_RSP("0002", "4000", "0000"));
	assert_int_equal(rig_state(r, 1), BP_PHD_OPERATING);
	assert_int_equal(r->counts.repeats, 3);
	/* another report is no repeat */
	rig_send(r, 1, rig_patched(r, "C03", 7, 0x77));
	said(r, "1 " ROER("0077", "0018"));
	rig_close(r);
}

/* ---- one device, two addresses ---- */

static void newest_owner_takes_over(void **state)
{
	begin(state);
	rig_send(r, 1, "A01");
	forget();
	rig_send(r, 2, "A08"); /* the same system-id */
	said(r, "closed " OXIMETER " taken_over\n1 " ABRT("0000") "2 " AARE0 "opened " OXIMETER
								  "\n");
	assert_int_equal(rig_state(r, 1), BP_PHD_FREE);
	assert_int_equal(rig_state(r, 2), BP_PHD_OPERATING);
	rig_send(r, 150, "A01");
	said(r, "closed " OXIMETER " taken_over\n2 " ABRT("0000") "150 " AARE0 "opened " OXIMETER
								  "\n");
	rig_send(r, 3, "A01");
	said(r, "closed " OXIMETER " taken_over\n150 " ABRT("0000") "3 " AARE0 "opened " OXIMETER
								    "\n");
	assert_int_equal(r->counts.superseded, 3);
	assert_int_equal(r->x.t->control->sessions, 1);
	/* a refused device uses no entry */
	r->denies = true;
	rig_send(r, 4, "A01");
	said(r, "4 " AARE("0007"));
	assert_int_equal(rig_state(r, 3), BP_PHD_OPERATING);
	rig_close(r);
}

/* ---- limits ---- */

static void disallowed_senders(void **state)
{
	begin(state);
	r->denies = true;
	rig_send(r, 1, "A01");
	said(r, "1 " AARE("0007"));
	assert_int_equal(r->counts.rejected_unauthorized, 1);
	assert_int_equal(r->x.t->control->sessions, 0);
	rig_close(r);
}

static void sessions_of_one_address(void **state)
{
	begin(state);
	r->c.limits.sessions_per_address = 3;
	r->one_address = true;
	for (unsigned d = 1; d <= 3; d++) {
		char id[17];

		snprintf(id, sizeof(id), "%016x", d);
		rig_send(r, d, rig_aarq(id, 400));
		assert_int_equal(rig_state(r, d), BP_PHD_OPERATING);
	}
	forget();
	rig_send(r, 4, "A01");
	said(r, "4 " AARE("0002"));
	assert_int_equal(r->counts.rejected_address, 1);
	/* another port of a device that is among them */
	rig_send(r, 4, rig_aarq("0000000000000002", 400));
	assert_int_equal(rig_state(r, 4), BP_PHD_OPERATING);
	assert_int_equal(rig_state(r, 2), BP_PHD_FREE);
	rig_send(r, 3, "R01");
	forget();
	rig_send(r, 5, "A01");
	said(r, "5 " AARE0 "opened " OXIMETER "\n");
	/* another address has its own */
	r->one_address = false;
	rig_send(r, 6, rig_aarq("0000000000000006", 400));
	assert_int_equal(rig_state(r, 6), BP_PHD_OPERATING);
	rig_close(r);
}

static unsigned accepted_of(unsigned tries)
{
	unsigned n = 0;

	for (unsigned i = 0; i < tries; i++) {
		rig_send(r, 1, "A01");
		n += rig_state(r, 1) == BP_PHD_OPERATING;
		if (rig_state(r, 1) == BP_PHD_OPERATING)
			rig_send(r, 1, "R03");
		forget();
	}
	return n;
}

static void associations_a_second(void **state)
{
	unsigned n = 0;

	begin(state);
	r->c.limits.association_rate = 50;
	assert_int_equal(accepted_of(100), 5); /* a tenth at once */
	assert_int_equal(r->counts.rejected_rate, 95);
	for (unsigned i = 0; i < 10000; i++) {
		r->now_ms++;
		n += accepted_of(1);
	}
	assert_in_range(n, 498, 501);
	r->c.limits.association_rate = 1; /* as a reload makes it */
	r->now_ms += 10000;
	assert_int_equal(accepted_of(10), 1);
	rig_close(r);
}

static void no_capacity(void **state)
{
	unsigned n = 0;

	rig_open(r, *state, 16, 1);
	for (unsigned d = 1; d < 100; d++) {
		char id[17];

		snprintf(id, sizeof(id), "%016x", d);
		forget();
		rig_send(r, d, rig_aarq(id, 400));
		if (strstr(r->log, AARE("0002")) != NULL)
			break;
		n++;
	}
	assert_int_equal(n, 16); /* as configured, though the table has more */
	assert_int_equal(r->counts.rejected_full, 1);
	/* a known device may use another address, which needs no further entry */
	forget();
	rig_send(r, 98, rig_aarq("0000000000000001", 400));
	said(r, "closed 0000000000000001 taken_over\n1 " ABRT("0000") "98 " AARE0
								      "opened 0000000000000001\n");
	/* but keeps what it has where another configuration finds none */
	forget();
	rig_send(r, 97, rig_aarq("0000000000000001", 401));
	said(r, "97 " AARE("0002"));
	assert_int_equal(rig_state(r, 98), BP_PHD_OPERATING);
	assert_int_equal(r->counts.rejected_layouts, 1);
	assert_int_equal(r->counts.superseded, 1);
	rig_send(r, 98, "R01");
	forget();
	rig_send(r, 99, "A01");
	said(r, "99 " AARE0 "opened " OXIMETER "\n");
	/* another configuration finds no room for its layout */
	rig_send(r, 99, "R01");
	forget();
	rig_send(r, 99, rig_aarq(OXIMETER, 401));
	said(r, "99 " AARE("0002"));
	assert_int_equal(r->counts.rejected_layouts, 2);
	rig_close(r);
}

/* ---- our own endings ---- */

static void we_release(void **state)
{
	uint8_t id[8], other[8] = {1};

	begin(state);
	rig_send(r, 1, "A01");
	forget();
	rig_id(OXIMETER, id);
	assert_int_equal(bp_phd_manager_release(r->m, other, r->now_ms * 1000000), -1);
	assert_int_equal(bp_phd_manager_release(r->m, id, r->now_ms * 1000000), 0);
	said(r, "1 " RLRQ);
	assert_int_equal(rig_state(r, 1), BP_PHD_RELEASING);
	assert_int_equal(bp_phd_manager_release(r->m, id, r->now_ms * 1000000), -1);
	rig_send(r, 1, "R01"); /* both at once: both answer, and it ends with the device's */
	said(r, "1 " RLRE);
	rig_send(r, 1, "R02");
	said(r, "closed " OXIMETER " by_us\n");
	/* a session that waits for its configuration is released too, without a callback before */
	rig_send(r, 1, "A04");
	forget();
	rig_id(ACTIVITY, id);
	assert_int_equal(bp_phd_manager_release(r->m, id, r->now_ms * 1000000), 0);
	rig_send(r, 1, "R02");
	said(r, "1 " RLRQ);
	assert_int_equal(rig_state(r, 1), BP_PHD_FREE);
	rig_wait(r, 60000);
	said(r, "");
	rig_close(r);
}

static void a_connection_ends(void **state)
{
	begin(state);
	rig_send(r, 100, "A01");
	rig_send(r, 101, "A04");
	forget();
	bp_phd_manager_disconnected(r->m, 102, r->now_ms * 1000000);
	said(r, "");
	bp_phd_manager_disconnected(r->m, 101, r->now_ms * 1000000);
	said(r, ""); /* it was not operating */
	assert_int_equal(rig_state(r, 101), BP_PHD_FREE);
	bp_phd_manager_disconnected(r->m, 100, r->now_ms * 1000000);
	said(r, "closed " OXIMETER " gone\n");
	bp_phd_manager_disconnected(r->m, 100, r->now_ms * 1000000);
	said(r, "");
	assert_int_equal(r->x.t->control->sessions, 0);
	/* another one from the same port says so as well */
	rig_send(r, 100, "A01");
	forget();
	r->reconnected = 1000;
	rig_send(r, 100, "S02");
	said(r, "closed " OXIMETER " gone\n100 " ABRT("0000"));
	rig_send(r, 100, "A01");
	said(r, "100 " AARE0 "opened " OXIMETER "\n");
	bp_phd_manager_disconnected(r->m, 100, r->now_ms * 1000000);
	said(r, "");
	bp_phd_manager_disconnected(r->m, 1100, r->now_ms * 1000000);
	said(r, "closed " OXIMETER " gone\n");
	rig_close(r);
}

/* An answer that comes later goes to the device, as long as it is the same session. */
static void answers_go_to_their_session(void **state)
{
	static const uint8_t bytes[] = {0xe7, 0, 0, 0};
	uint32_t slot;
	uint16_t life;

	begin(state);
	rig_send(r, 1, "A01");
	forget();
	slot = rig_slot(r, 1);
	life = bp_phd_word_life(r->x.t->sessions[slot].word);
	assert_true(bp_phd_manager_send(r->m, slot, life, bytes, 4));
	said(r, "1 e7000000\n");
	assert_false(bp_phd_manager_send(r->m, slot, (uint16_t)(life + 1), bytes, 4));
	assert_false(bp_phd_manager_send(r->m, UINT32_MAX, life, bytes, 4));
	rig_send(r, 1, "R03");
	forget();
	assert_false(bp_phd_manager_send(r->m, slot, life, bytes, 4));
	said(r, "");
	rig_close(r);
}

/* The result of the owner's report callback is the answer to the device. */
static void reports_that_are_not_taken(void **state)
{
	static const struct {
		enum bp_phd_taken taken;
		const char *confirmed; /* S02's answer */
	} rows[] = {{BP_PHD_TAKEN, ""}, {BP_PHD_TAKEN_ANSWER, "1 " RORS("0010", "0d1d")},
		{BP_PHD_TAKEN_FULL, "1 " RORJ("0010", "0067")},
		{BP_PHD_TAKEN_BAD, "1 " RORJ("0010", "0002")},
		{BP_PHD_TAKEN_NO_OBJECT, "1 " ROER("0010", "0001")},
		{BP_PHD_TAKEN_UNFIT, "1 " RORJ("0010", "012f")}};

	begin(state);
	rig_send(r, 1, "A01");
	forget();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char lines[200];

		r->taken = rows[i].taken;
		snprintf(lines, sizeof(lines), "report " OXIMETER "\n%s", rows[i].confirmed);
		rig_send(r, 1, "S02");
		said(r, lines);
		rig_send(r, 1, "S03"); /* no one waits for an answer */
		said(r, "report " OXIMETER "\n");
	}
	assert_int_equal(r->counts.slow_taken, 4);
	assert_int_equal(r->counts.slow_refused, 1);
	assert_int_equal(r->counts.slow_lost, 1);
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_are_answered),
		cmocka_unit_test(single_faults),
		cmocka_unit_test(both_protocol_versions),
		cmocka_unit_test(standard_configurations),
		cmocka_unit_test(the_table_is_filled),
		cmocka_unit_test(a_lost_answer_is_sent_again),
		cmocka_unit_test(a_late_request_ends_no_association),
		cmocka_unit_test(a_lost_request_for_the_configuration_is_sent_again),
		cmocka_unit_test(newest_owner_takes_over),
		cmocka_unit_test(disallowed_senders),
		cmocka_unit_test(sessions_of_one_address),
		cmocka_unit_test(associations_a_second),
		cmocka_unit_test(no_capacity),
		cmocka_unit_test(we_release),
		cmocka_unit_test(a_connection_ends),
		cmocka_unit_test(answers_go_to_their_session),
		cmocka_unit_test(reports_that_are_not_taken),
	};

	return cmocka_run_group_tests(tests, vectors_setup, vectors_teardown);
}
