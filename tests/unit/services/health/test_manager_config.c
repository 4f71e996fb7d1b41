/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptions by devices: configurations, and the specialisation in their MDS. */
#include "manager_rig.h"

static struct rig rig, *const r = &rig;

#define HUB "0022092258080002"        /* of A05 */
#define MEDICATION "0022092258080003" /* of A06, A07 */
#define EXTENDED "00220922580800ff"

/* An answer to GET MDS with one attribute, 2650, of one {type, version}. */
#define MDS(invoke, type) "e700001a0018" invoke "0203001200000001000c0a5a000800010004" type "0001"

static const struct bp_phd_session *session(unsigned device)
{
	const uint32_t slot = rig_slot(r, device);

	assert_int_not_equal(slot, UINT32_MAX);
	return &r->x.t->sessions[slot];
}

static const struct bp_phd_layout *layout(unsigned device)
{
	return bp_phd_layout_of(r->x.t, session(device)->word);
}

static bool has_text(const struct bp_phd_layout *l, const char *what)
{
	return memmem(l->text, l->size - sizeof(*l), what, strlen(what)) != NULL;
}

static void forget(void)
{
	r->n = 0;
	r->log[0] = '\0';
}

/* The device declares itself, and is accepted; the report that is kept is the ConfigReport. */
static void vectors_are_accepted(void **state)
{
	static const struct {
		const char *report, *system_id;
		unsigned config_id, objects;
		const char *says;
	} rows[] = {
		{"C01", OXIMETER, 0x4001, 2, "1 " CONFIG_RSP("0001", "4001", "0000")},
		{"C03", ACTIVITY, 0x4000, 5, "1 " CONFIG_RSP("0002", "4000", "0000")},
		{"C04", HUB, 0x4010, 2, "1 " CONFIG_RSP("0003", "4010", "0000")},
		{"C05", MEDICATION, 0x4002, 2, "1 " CONFIG_RSP("0004", "4002", "0000")},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char lines[500];
		size_t len;
		uint8_t *p;

		rig_open(r, *state, 16, 16);
		rig_send(r, 1, rig_aarq(rows[i].system_id, rows[i].config_id));
		said(r, "1 " AARE3);
		snprintf(lines, sizeof(lines), "%slearned %s %04x\nopened %s\n1 " GET_MDS("0000"),
			rows[i].says, rows[i].system_id, rows[i].config_id, rows[i].system_id);
		rig_send(r, 1, rows[i].report);
		said(r, lines);
		assert_int_equal(rig_state(r, 1), BP_PHD_OPERATING);
		assert_int_equal(layout(1)->n, rows[i].objects);
		assert_int_equal(layout(1)->content, session(1)->config_content);
		assert_int_equal(session(1)->mds_known, BP_PHD_MDS_REQUESTED);
		p = vector_bytes(vector_named(*state, rows[i].report), &len);
		assert_int_equal(r->learned_len, len - 22);
		assert_memory_equal(r->learned, p + 22, len - 22);
		free(p);
		rig_send(r, 1, "S02");
		assert_non_null(strstr(r->log, "report "));
		forget();
		rig_close(r);
	}
	assert_string_equal(CONFIG_RSP("0001", "4001", "0000"),
		"e7000016001400010201000e0000ffffffff0d1c000440010000\n"); /* C06 */
}

/* Each stays waiting, and may declare another one. */
static void rejected_input(void **state)
{
	rig_open(r, *state, 16, 16);
	rig_send(r, 1, rig_aarq(OXIMETER, 0x4001));
	forget();
	rig_send(r, 1, "M25"); /* 4003 */
	said(r, "1 " CONFIG_RSP("0008", "4003", "0001"));
	rig_send(r, 1, "M16"); /* an attribute that overruns its list */
	said(r, "1 " RORJ("0006", "0002"));
	rig_send(r, 1, "e700001800160006010100100000ffffffff0d1c0006400100000000"); /* no object */
	said(r, "1 " CONFIG_RSP("0006", "4001", "0001"));
	rig_send(r, 1, "e7000014001200060101000c0000ffffffff0d1c00024001"); /* no list */
	said(r, "1 " RORJ("0006", "0002"));
	rig_send(r, 1, rig_patched(r, "C01", 75, 1)); /* a handle twice */
	said(r, "1 " CONFIG_RSP("0001", "4001", "0001"));
	rig_send(r, 1,
		"e700000c000a000601010004"
		"00000000"); /* no event report */
	said(r, "1 " RORJ("0006", "0002"));
	strcpy(r->c.cse.originator, "{oops}"); /* a layout that cannot be made */
	rig_send(r, 1, "C01");
	said(r, "1 " CONFIG_RSP("0001", "4001", "0001"));
	assert_int_equal(r->counts.configs_refused, 4);
	strcpy(r->c.cse.originator, "Cbiplane");
	assert_int_equal(rig_state(r, 1), BP_PHD_WAITING);
	rig_send(r, 1, "C01");
	assert_int_equal(rig_state(r, 1), BP_PHD_OPERATING);
	assert_int_equal(r->counts.configs_accepted, 1);
	rig_close(r);
}

/* The very bytes of the vectors. */
static void refusals_of_the_facts(void **state)
{
	rig_open(r, *state, 16, 16);
	rig_send(r, 1, rig_aarq(HUB, 0x4010));
	forget();
	strcpy(r->c.cse.originator, "{oops}");
	rig_send(r, 1, "C04");
	said(r, "1 e7000016001400030201000e0000ffffffff0d1c000440100001\n"); /* C08 */
	rig_send(r, 2, "A06");
	forget();
	/* a standard configuration that is reported without its objects */
	rig_send(r, 2, "e700001800160005010100100000ffffffff0d1c00061c2000000000");
	said(r, "2 e7000016001400050201000e0000ffffffff0d1c00041c200002\n"); /* C09 */
	assert_int_equal(rig_state(r, 2), BP_PHD_WAITING);
	rig_close(r);
}

static void no_capacity_for_a_layout(void **state)
{
	rig_open(r, *state, 16, 1);
	rig_send(r, 1, "A01");
	rig_send(r, 2, "A04");
	forget();
	rig_send(r, 2, "C03");
	said(r, "2 " RORJ("0002", "0067"));
	assert_int_equal(rig_state(r, 2), BP_PHD_WAITING);
	rig_send(r, 1, "R01");
	forget();
	rig_send(r, 2, "C03");
	assert_int_equal(rig_state(r, 2), BP_PHD_OPERATING);
	rig_close(r);
}

/* A thousand devices of one kind have one layout; each other kind has its own. */
static void layouts_are_shared(void **state)
{
	char id[17];

	rig_open(r, *state, 2048, 16);
	for (unsigned d = 0; d < 1000; d++) {
		snprintf(id, sizeof(id), "%016x", d + 1);
		rig_send(r, 1000 + d, rig_aarq(id, d % 2 != 0 ? 400 : 401));
		forget();
	}
	assert_int_equal(r->x.t->control->operating, 1000);
	assert_int_equal(r->x.t->control->layouts, 2);
	for (unsigned d = 0; d < 1000; d += 2)
		rig_send(r, 1000 + d, "R03");
	assert_int_equal(r->x.t->control->layouts, 1);
	forget();
	rig_close(r);
}

/* ---- known ones ---- */

static void known_configuration_is_accepted_immediately(void **state)
{
	rig_open(r, *state, 16, 16);
	rig_send(r, 1, "A04");
	rig_send(r, 1, "C03");
	rig_send(r, 1, MDS("0000", "1029"));
	rig_send(r, 1, "R01");
	forget();
	rig_send(r, 1, "A04");
	said(r, "1 " AARE0 "opened " ACTIVITY "\n"); /* and it is not asked what it is again */
	assert_int_equal(session(1)->spec, 4137);
	assert_int_equal(layout(1)->n, 5);
	/* another device with that id is another configuration */
	rig_send(r, 2, rig_aarq(EXTENDED, 0x4000));
	said(r, "2 " AARE3);
	/* the configuration is known, but not the specialisation: the manager requests the MDS */
	r->known[0].spec = 0;
	rig_send(r, 1, "R01");
	forget();
	rig_send(r, 1, "A04");
	said(r, "1 " AARE0 "opened " ACTIVITY "\n1 " GET_MDS("0001"));
	rig_close(r);
}

/* ---- the MDS ---- */

static void waits_for_mds(void **state)
{
	rig_open(r, *state, 16, 16);
	rig_send(r, 1, "A04");
	rig_send(r, 1, "C03");
	forget();
}

static void mds_has_the_specialisation(void **state)
{
	waits_for_mds(state);
	rig_send(r, 1, MDS("0001", "1029")); /* to another question */
	said(r, "");
	rig_send(r, 1, MDS("0000", "1029"));
	said(r, "told " ACTIVITY " 4137\n");
	assert_int_equal(session(1)->spec, 4137);
	assert_int_equal(session(1)->mds_known, BP_PHD_MDS_KNOWN);
	rig_send(r, 1, MDS("0000", "1004")); /* once more: too late */
	said(r, "");
	assert_int_equal(session(1)->spec, 4137);
	rig_wait(r, 10000); /* and nothing is due */
	said(r, "");
	rig_close(r);
}

/* An answer without the specialisation does not change the session. */
static void empty_mds_is_accepted(void **state)
{
	static const char *const answers[] = {
		"e700000e000c0000020300060000000000000", /* no attributes */
		"e700001a00180000"
		"0203001200000001000c0a5b0008000100041029"
		"0001", /* another */
		"e700001a00180000"
		"0203001200000001000c0a5a000800020004"
		"10290001", /* wrong count */
		"e700001a00180000"
		"0203001200000001000c0a5a000800010005"
		"10290001", /* wrong length */
		"e70000160014"
		"0000"
		"0203000e0000000100080a5a0004"
		"00000000",                         /* none in it */
		"e700000c000a00000300000400010000", /* roer */
		"e700000a00080000040000020002",     /* rorj */
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		waits_for_mds(state);
		rig_send(r, 1, answers[i]);
		said(r, "told " ACTIVITY " 0\n");
		assert_int_equal(session(1)->mds_known, BP_PHD_MDS_UNKNOWN);
		assert_int_equal(rig_state(r, 1), BP_PHD_OPERATING);
		rig_wait(r, 10000);
		said(r, "");
		rig_close(r);
	}
}

/* Where the path has no {type}, no one suffers from a device that does not answer. */
static void missing_mds_response_times_out(void **state)
{
	waits_for_mds(state);
	rig_wait(r, 2999);
	said(r, "");
	rig_wait(r, 1);
	said(r, "told " ACTIVITY " 0\n");
	assert_int_equal(rig_state(r, 1), BP_PHD_OPERATING);
	assert_int_equal(r->counts.timeout_service, 1);
	rig_close(r);
}

static void a_type_that_is_needed(void **state)
{
	const struct bp_phd_layout *before;

	rig_open(r, *state, 16, 16);
	strcpy(r->c.cse.path, "cse-in/{system_id}/{type}-{object}");
	rig_send(r, 1, "A04");
	rig_send(r, 1, "C03");
	before = layout(1);
	assert_true(has_text(before, "unknown-"));
	assert_false(has_text(before, "activity_monitor"));
	bp_phd_session_flags(r->x.w, rig_slot(r, 1), BP_PHD_READY, 0);
	forget();
	rig_send(r, 1, MDS("0000", "1029"));
	said(r, "told " ACTIVITY " 4137\n");
	assert_ptr_not_equal(layout(1), before);
	assert_true(has_text(layout(1), "activity_monitor-"));
	assert_false(has_text(layout(1), "unknown"));
	assert_int_equal(layout(1)->n, 5);
	assert_int_equal(bp_phd_word_flags(session(1)->word), BP_PHD_READY);
	assert_int_equal(r->x.t->control->layouts, 1);
	/* by the standard a question without an answer ends the association: rule 8.4 */
	rig_send(r, 2, rig_aarq(EXTENDED, 0x4000));
	rig_send(r, 2, "C03");
	forget();
	rig_wait(r, 3000);
	said(r, "closed " EXTENDED " timeout\n2 " ABRT("0002"));
	rig_close(r);
}

static void types_as_text(void **state)
{
	char out[BP_PHD_TYPE_TEXT];

	assert_string_equal(bp_phd_type_text(4100, out), "pulse_oximeter");
	assert_string_equal(bp_phd_type_text(65535, out), "65535");
	assert_string_equal(bp_phd_type_text(0, out), "unknown");
}

/* No one can be accepted before it is known where measurements go. */
static void missing_settings(void **state)
{
	rig_open(r, *state, 16, 16);
	r->x.t->control->settings_generation = 1;
	rig_send(r, 1, "A01");
	said(r, "1 " AARE("0002"));
	rig_send(r, 1, "A04");
	said(r, "1 " AARE3);
	rig_send(r, 1, "C03");
	said(r, "1 " RORJ("0002", "0067"));
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_are_accepted),
		cmocka_unit_test(rejected_input),
		cmocka_unit_test(refusals_of_the_facts),
		cmocka_unit_test(no_capacity_for_a_layout),
		cmocka_unit_test(layouts_are_shared),
		cmocka_unit_test(known_configuration_is_accepted_immediately),
		cmocka_unit_test(mds_has_the_specialisation),
		cmocka_unit_test(empty_mds_is_accepted),
		cmocka_unit_test(missing_mds_response_times_out),
		cmocka_unit_test(a_type_that_is_needed),
		cmocka_unit_test(types_as_text),
		cmocka_unit_test(missing_settings),
	};

	return cmocka_run_group_tests(tests, vectors_setup, vectors_teardown);
}
