/* SPDX-License-Identifier: BSD-3-Clause */
/* Every state by every APDU that can come, and what follows. */
#include "manager_rig.h"

enum { NO_SESSION, WAITING, OPERATING, RELEASING, STATES };

/* Device 1 is brought there with a system-id of its own. */
static void bring(struct rig *r, unsigned state)
{
	uint8_t id[8];

	if (state == WAITING) {
		rig_send(r, 1, "A04");
		said(r, "1 " AARE3);
	} else if (state != NO_SESSION) {
		rig_send(r, 1, "A01");
		said(r, "1 " AARE0 "opened " OXIMETER "\n");
	}
	if (state == RELEASING) {
		rig_id(OXIMETER, id);
		assert_int_equal(bp_phd_manager_release(r->m, id, r->now_ms * 1000000), 0);
		said(r, "1 " RLRQ);
	}
	/* no AARQ is a repeat any more, and nothing is due yet */
	r->now_ms += state == OPERATING ? 31000 : 0;
}

static const enum bp_phd_state in_table[STATES] = {
	BP_PHD_FREE, BP_PHD_WAITING, BP_PHD_OPERATING, BP_PHD_RELEASING};

/* The answer and the next state, for each state. */
struct row {
	const char *what; /* a vector, or bytes */
	struct {
		const char *says;
		unsigned then;
	} in[STATES];
};

/* clang-format off */
#define FAULT "closed " OXIMETER " fault\n"
#define END_FAULT() {FAULT "1 " ABRT("0000"), NO_SESSION}
/* it was not operating: no callback */
#define DROPPED {"1 " ABRT("0000"), NO_SESSION}
#define NOTHING(state) {"", state}

/* an unconfirmed configuration report without objects */
#define C03_UNCONFIRMED "e700001800160002010000100000ffffffff0d1c0006400000000000"
/* event types 3361, and 3362 of object 7 */
#define SEGMENT "e7000012001010110101000a0000ffffffff0d210000"
#define SCANNER "e7000012001010120101000a0007ffffffff0d220000"
#define SET_CONFIRMED "e70000080006101301050000"
#define SET "e70000080006101401040000"
#define ACTION_CONFIRMED "e70000080006101501070000"
#define RORS_LATE "e700000e000c777702030006000000000000"

static const struct row rows[] = {
	/* an AARQ that is no repeat: rules 2.9, 6.8, 8.8, 9.8 */
	{"A08", {{"1 " AARE0 "opened " OXIMETER "\n", OPERATING}, DROPPED, END_FAULT(),
			END_FAULT()}},
	/* AARE: 2.12, 6.12, 8.12, 9.12 */
	{"M30", {DROPPED, DROPPED, END_FAULT(), END_FAULT()}},
	/* RLRQ: 2.16, 6.16, 8.16, 9.16 */
	{"R01", {DROPPED, {"1 " RLRE, NO_SESSION},
			{"closed " OXIMETER " released\n1 " RLRE, NO_SESSION},
			{"1 " RLRE, RELEASING}}},
	/* RLRE: 2.17, 6.17, 8.17, 9.17 */
	{"R02", {NOTHING(NO_SESSION), DROPPED, END_FAULT(),
			{"closed " OXIMETER " by_us\n", NO_SESSION}}},
	/* ABRT, whatever its reason: 2.18, 6.18, 8.18 */
	{"R03", {NOTHING(NO_SESSION), {"", NO_SESSION},
			{"closed " OXIMETER " aborted\n", NO_SESSION},
			{"closed " OXIMETER " aborted\n", NO_SESSION}}},
	{"R05", {NOTHING(NO_SESSION), {"", NO_SESSION},
			{"closed " OXIMETER " aborted\n", NO_SESSION},
			{"closed " OXIMETER " aborted\n", NO_SESSION}}},
	/* a confirmed configuration report: 2.19, 6.24 with 7.32, -, 9.21 */
	{"C03", {DROPPED,
			{"1 " CONFIG_RSP("0002", "4000", "0000") "learned " ACTIVITY " 4000\n"
								 "opened " ACTIVITY
								 "\n1 " GET_MDS("0000"),
				OPERATING},
			{"1 " ROER("0002", "0018"), OPERATING}, NOTHING(RELEASING)}},
	/* an unconfirmed one: 6.25 */
	{C03_UNCONFIRMED, {DROPPED, {"1 " ROER("0002", "0018"), WAITING},
				  {"1 " ROER("0002", "0018"), OPERATING}, NOTHING(RELEASING)}},
	/* measurements: 2.19, -, 8.21, 9.21 */
	{"S02", {DROPPED, {"1 " ROER("0010", "0018"), WAITING},
			{"report " OXIMETER "\n1 " RORS("0010", "0d1d"), OPERATING},
			NOTHING(RELEASING)}},
	{"S03", {DROPPED, {"1 " ROER("0011", "0018"), WAITING},
			{"report " OXIMETER "\n", OPERATING}, NOTHING(RELEASING)}},
	{"S05", {DROPPED, {"1 " ROER("0013", "0018"), WAITING},
			{"report " OXIMETER "\n1 " RORS("0013", "0d1e"), OPERATING},
			NOTHING(RELEASING)}},
	{"S07", {DROPPED, {"1 " ROER("0015", "0018"), WAITING},
			{"report " OXIMETER "\n1 " RORS("0015", "0d1f"), OPERATING},
			NOTHING(RELEASING)}},
	{"S08", {DROPPED, {"1 " ROER("0016", "0018"), WAITING},
			{"report " OXIMETER "\n1 " RORS("0016", "0d20"), OPERATING},
			NOTHING(RELEASING)}},
	{"S19", {DROPPED, {"1 " ROER("0026", "0018"), WAITING},
			{"report " OXIMETER "\n1 " RORS("0026", "0d1d"), OPERATING},
			NOTHING(RELEASING)}},
	/* events of what we did not make */
	{SEGMENT, {DROPPED, {"1 " ROER("1011", "0018"), WAITING},
			  {"1 " ROER("1011", "0009"), OPERATING}, NOTHING(RELEASING)}},
	{SCANNER, {DROPPED, {"1 " ROER("1012", "0018"), WAITING},
			  {"1 " ROER("1012", "0001"), OPERATING}, NOTHING(RELEASING)}},
	{"M28", {DROPPED, {"1 " ROER("000b", "0018"), WAITING},
			{"1 " ROER("000b", "0001"), OPERATING}, NOTHING(RELEASING)}},
	/* a manager has no objects */
	{"G01", {DROPPED, {"1 " ROER("3456", "0001"), WAITING},
			{"1 " ROER("3456", "0001"), OPERATING}, NOTHING(RELEASING)}},
	{SET_CONFIRMED, {DROPPED, {"1 " ROER("1013", "0001"), WAITING},
				{"1 " ROER("1013", "0001"), OPERATING}, NOTHING(RELEASING)}},
	{ACTION_CONFIRMED, {DROPPED, {"1 " ROER("1015", "0001"), WAITING},
				   {"1 " ROER("1015", "0001"), OPERATING}, NOTHING(RELEASING)}},
	{SET, {DROPPED, NOTHING(WAITING), NOTHING(OPERATING), NOTHING(RELEASING)}},
	/* answers to nothing */
	{RORS_LATE, {DROPPED, NOTHING(WAITING), NOTHING(OPERATING), NOTHING(RELEASING)}},
	{"S16", {DROPPED, NOTHING(WAITING), NOTHING(OPERATING), NOTHING(RELEASING)}},
	{"E01", {DROPPED, NOTHING(WAITING), NOTHING(OPERATING), NOTHING(RELEASING)}},
	{"E02", {DROPPED, NOTHING(WAITING), NOTHING(OPERATING), NOTHING(RELEASING)}},
	/* undecodable; first those whose invoke-id can be read */
	{"M10", {NOTHING(NO_SESSION), {"1 " RORJ("0011", "0002"), WAITING},
			{"1 " RORJ("0011", "0002"), OPERATING}, NOTHING(RELEASING)}},
	{"M12", {NOTHING(NO_SESSION), {"1 " RORJ("0011", "0002"), WAITING},
			{"1 " RORJ("0011", "0002"), OPERATING}, NOTHING(RELEASING)}},
	{"M11", {NOTHING(NO_SESSION), {"1 " RORJ("0040", "0065"), WAITING},
			{"1 " RORJ("0040", "0065"), OPERATING}, NOTHING(RELEASING)}},
	{"M01", {NOTHING(NO_SESSION), DROPPED, END_FAULT(), NOTHING(RELEASING)}},
	{"M02", {NOTHING(NO_SESSION), DROPPED, END_FAULT(), NOTHING(RELEASING)}},
	{"M03", {NOTHING(NO_SESSION), DROPPED, END_FAULT(), NOTHING(RELEASING)}},
	{"M04", {NOTHING(NO_SESSION), DROPPED, END_FAULT(), NOTHING(RELEASING)}},
	{"M08", {NOTHING(NO_SESSION), DROPPED, END_FAULT(), NOTHING(RELEASING)}},
	{"M18", {NOTHING(NO_SESSION), DROPPED, END_FAULT(), NOTHING(RELEASING)}},
};
/* clang-format on */

static void every_state_by_every_apdu(void **state)
{
	struct rig *r = malloc(sizeof(*r));

	assert_non_null(r);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (unsigned s = 0; s < STATES; s++) {
			rig_open(r, *state, 16, 16);
			r->taken = BP_PHD_TAKEN_ANSWER;
			bring(r, s);
			assert_int_equal(rig_state(r, 1), in_table[s]);
			rig_send(r, 1, rows[i].what);
			if (strcmp(r->log, rows[i].in[s].says) != 0 ||
				rig_state(r, 1) != in_table[rows[i].in[s].then])
				fail_msg("%s in state %u: state %u, and said\n%sexpected\n%s",
					rows[i].what, s, rig_state(r, 1), r->log,
					rows[i].in[s].says);
			rig_close(r);
		}
	}
	free(r);
}

/* A session that ended is as good as none, and can be made again. */
static void ended_association_can_restart(void **state)
{
	static const char *const ends[] = {"R01", "R03", "M30", "R02", "M02"};
	struct rig *r = malloc(sizeof(*r));

	assert_non_null(r);
	rig_open(r, *state, 16, 16);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		rig_send(r, 1, "A01");
		said(r, "1 " AARE0 "opened " OXIMETER "\n");
		rig_send(r, 1, ends[i]);
		assert_int_equal(rig_state(r, 1), BP_PHD_FREE);
		r->n = 0;
		r->log[0] = '\0';
		rig_send(r, 1, "S02");
		said(r, "1 " ABRT("0000"));
	}
	assert_int_equal(r->x.t->control->sessions, 0);
	assert_int_equal(r->counts.unknown_sessions, 5);
	rig_close(r);
	free(r);
}

/* While sessions are read back, who is unknown may be known. */
static void no_unknown_session_is_aborted_while_loading(void **state)
{
	struct rig *r = malloc(sizeof(*r));

	assert_non_null(r);
	rig_open(r, *state, 16, 16);
	r->x.t->control->loading = 1;
	rig_send(r, 1, "S02");
	rig_send(r, 1, "R01");
	said(r, "");
	assert_int_equal(r->counts.unknown_sessions, 2);
	/* TCP's are not read back */
	rig_send(r, 100, "S02");
	said(r, "100 " ABRT("0000"));
	/* an APDU that shows that the device is not associated: its stored session is obsolete */
	rig_send(r, 2, "R03");
	said(r, "unassociated 2\n");
	rig_send(r, 1, "A01");
	said(r, "unassociated 1\n1 " AARE0 "opened " OXIMETER "\n");
	r->x.t->control->loading = 0;
	rig_send(r, 2, "S02");
	said(r, "2 " ABRT("0000"));
	rig_close(r);
	free(r);
}

/* Of an unknown device: what only an associated one sends over UDP, after sessions were restored.
 */
static void associations_of_unknown_devices(void **state)
{
	struct rig *r = malloc(sizeof(*r));

	assert_non_null(r);
	rig_open(r, *state, 16, 16);
	r->searches = true;
	rig_send(r, 1, "S02");
	rig_send(r, 1, "R01");
	rig_send(r, 1, "R03");
	said(r, "searched 1\nsearched 1\nsearched 1\n");
	assert_int_equal(r->counts.unknown_sessions, 0);
	rig_send(r, 1, "R02"); /* RLRE */
	said(r, "");
	rig_send(r, 1, "M30"); /* of a manager */
	said(r, "1 " ABRT("0000"));
	rig_send(r, 100, "S02");
	said(r, "100 " ABRT("0000"));
	r->x.t->control->loading = 1;
	rig_send(r, 1, "S02");
	said(r, "");
	r->x.t->control->loading = 0;
	rig_send(r, 1, "A01");
	said(r, "1 " AARE0 "opened " OXIMETER "\n");
	/* it moves, without a message to it */
	assert_false(bp_phd_manager_forget(r->m, rig_slot(r, 1), 0, r->now_ms * 1000000));
	assert_true(bp_phd_manager_forget(r->m, rig_slot(r, 1),
		bp_phd_word_life(r->x.t->sessions[rig_slot(r, 1)].word), r->now_ms * 1000000));
	said(r, "closed " OXIMETER " moved\n");
	assert_int_equal(rig_state(r, 1), BP_PHD_FREE);
	rig_close(r);
	free(r);
}

/* Of several devices only the sender's session is concerned. */
static void others_are_not_concerned(void **state)
{
	struct rig *r = malloc(sizeof(*r));

	assert_non_null(r);
	rig_open(r, *state, 64, 16);
	for (unsigned d = 1; d <= 30; d++) {
		char id[17];

		snprintf(id, sizeof(id), "%016x", d);
		rig_send(r, d, rig_aarq(id, 400));
	}
	assert_int_equal(r->x.t->control->operating, 30);
	assert_int_equal(r->x.t->control->layouts, 1);
	rig_send(r, 7, "R03");
	rig_send(r, 8, "R01");
	rig_send(r, 9, "M30");
	for (unsigned d = 1; d <= 30; d++)
		assert_int_equal(
			rig_state(r, d), d >= 7 && d <= 9 ? BP_PHD_FREE : BP_PHD_OPERATING);
	rig_close(r);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_by_every_apdu),
		cmocka_unit_test(ended_association_can_restart),
		cmocka_unit_test(no_unknown_session_is_aborted_while_loading),
		cmocka_unit_test(associations_of_unknown_devices),
		cmocka_unit_test(others_are_not_concerned),
	};

	return cmocka_run_group_tests(tests, vectors_setup, vectors_teardown);
}
