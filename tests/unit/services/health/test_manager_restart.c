/* SPDX-License-Identifier: BSD-3-Clause */
/* Another process takes over: devices notice nothing, in whatever state they are. */
#include "manager_rig.h"

static struct rig rig, *const r = &rig;

#define MDS0                                                                                       \
	"e700001a001800000203001200000001000c0a5a0008000100041029"                                 \
	"0001"

static void forget(void)
{
	r->n = 0;
	r->log[0] = '\0';
}

static void while_operating(void **state)
{
	uint32_t slot;
	uint64_t word;

	rig_open(r, *state, 16, 16);
	rig_send(r, 1, "A01");
	slot = rig_slot(r, 1);
	bp_phd_session_flags(r->x.w, slot, BP_PHD_READY, 0);
	word = r->x.t->sessions[slot].word;
	forget();
	rig_restart(r);
	said(r, "");
	assert_int_equal(r->counts.adopted, 1);
	assert_int_equal(rig_slot(r, 1), slot);
	assert_int_equal(r->x.t->sessions[slot].word, word); /* workers continued by it */
	rig_send(r, 1, "S02");
	said(r, "report " OXIMETER "\n");
	/* the answer to its AARQ was lost meanwhile */
	rig_send(r, 1, "A01");
	said(r, "1 " AARE0);
	/* data that is not in the table is restored: the system-id, the address */
	rig_send(r, 2, "A08");
	said(r, "closed " OXIMETER " taken_over\n1 " ABRT("0000") "2 " AARE0 "opened " OXIMETER
								  "\n");
	rig_restart(r);
	rig_send(r, 2, "R01");
	said(r, "closed " OXIMETER " released\n2 " RLRE);
	rig_close(r);
}

static void while_waiting_for_the_configuration(void **state)
{
	rig_open(r, *state, 16, 16);
	rig_send(r, 1, "A04");
	forget();
	rig_wait(r, 9000);
	rig_restart(r);
	said(r, "");
	rig_wait(r, 5000); /* it is given the whole time again */
	rig_send(r, 1, "A04");
	said(r, "1 " AARE3);
	rig_send(r, 1, "C03");
	said(r, "1 " CONFIG_RSP("0002", "4000", "0000") "learned " ACTIVITY
							" 4000\nopened " ACTIVITY
							"\n1 " GET_MDS("0000"));
	/* and after it: the lost answer to the report */
	rig_restart(r);
	forget();
	rig_send(r, 1, "C03");
	said(r, "1 " CONFIG_RSP("0002", "4000", "0000"));
	rig_close(r);
}

static void device_without_configuration(void **state)
{
	rig_open(r, *state, 16, 16);
	rig_send(r, 1, "A04");
	rig_restart(r);
	forget();
	rig_wait(r, 9999);
	said(r, "");
	rig_wait(r, 1);
	said(r, "1 " ABRT("0003"));
	rig_close(r);
}

static void while_asked_for_its_mds(void **state)
{
	rig_open(r, *state, 16, 16);
	rig_send(r, 1, "A04");
	rig_send(r, 1, "C03");
	forget();
	rig_restart(r);
	said(r, "1 " GET_MDS("0000"));
	rig_send(r, 1, MDS0);
	said(r, "told " ACTIVITY " 4137\n");
	rig_restart(r);
	said(r, "");
	rig_close(r);
}

static void while_releasing(void **state)
{
	uint8_t id[8];

	rig_open(r, *state, 16, 16);
	rig_send(r, 1, "A01");
	rig_send(r, 2, "A04");
	rig_id(OXIMETER, id);
	assert_int_equal(bp_phd_manager_release(r->m, id, r->now_ms * 1000000), 0);
	forget();
	rig_restart(r);
	said(r, "");
	assert_int_equal(bp_phd_manager_release(r->m, id, r->now_ms * 1000000), -1);
	rig_send(r, 1, "R02");
	said(r, "closed " OXIMETER " by_us\n");
	rig_id(ACTIVITY, id);
	assert_int_equal(bp_phd_manager_release(r->m, id, r->now_ms * 1000000), 0);
	rig_restart(r);
	forget();
	rig_wait(r, 3000);
	assert_int_equal(rig_state(r, 2), BP_PHD_FREE);
	rig_close(r);
}

/* Connections did not survive. */
static void tcp_sessions_end(void **state)
{
	rig_open(r, *state, 16, 16);
	rig_send(r, 100, "A01");
	rig_send(r, 101, "A04");
	rig_send(r, 1, rig_aarq("0000000000000001", 400));
	forget();
	rig_restart(r);
	said(r, "closed " OXIMETER " gone\n");
	assert_int_equal(r->x.t->control->sessions, 1);
	rig_send(r, 100, "A01");
	said(r, "100 " AARE0 "opened " OXIMETER "\n");
	rig_close(r);
}

/* The limits know who was there. */
static void limits_continue(void **state)
{
	rig_open(r, *state, 16, 16);
	r->c.limits.sessions_per_address = 2;
	r->one_address = true;
	rig_send(r, 1, rig_aarq("0000000000000001", 400));
	rig_send(r, 2, rig_aarq("0000000000000002", 400));
	rig_restart(r);
	forget();
	rig_send(r, 3, "A01");
	said(r, "3 " AARE("0002"));
	rig_send(r, 1, "R03");
	forget();
	rig_send(r, 3, "A01");
	said(r, "3 " AARE0 "opened " OXIMETER "\n");
	rig_close(r);
}

/* Instances are named otherwise now: layouts are made again of what is known. */
static void changed_settings(void **state)
{
	rig_open(r, *state, 16, 16);
	rig_send(r, 1, "A01");
	rig_send(r, 2, "A04");
	rig_send(r, 2, "C03");
	rig_send(r, 2, MDS0);
	rig_send(r, 3, rig_aarq("0000000000000003", 0x4001));
	rig_send(r, 3, "C01");
	rig_send(r, 3, "e700000c000a00010300000400010000");
	bp_phd_session_flags(r->x.w, rig_slot(r, 1), BP_PHD_READY, 0);
	assert_int_equal(r->n_known, 2);
	r->n_known = 1; /* the store lost the last one */
	forget();
	r->plan = 2;
	rig_restart(r);
	said(r, "closed 0000000000000003 fault\n3 " ABRT("0000"));
	for (unsigned d = 1; d <= 2; d++) {
		const struct bp_phd_session *s = &r->x.t->sessions[rig_slot(r, d)];

		assert_int_equal(bp_phd_layout_of(r->x.t, s->word)->plan, 2);
		assert_int_equal(bp_phd_layout_of(r->x.t, s->word)->content, s->config_content);
		assert_int_equal(bp_phd_word_flags(s->word), 0); /* to be provisioned again */
	}
	assert_int_equal(r->x.t->control->layouts, 2);
	rig_close(r);
}

/* A layout that says nonsense goes, and who used it. */
static void a_damaged_layout(void **state)
{
	struct bp_phd_layout *l;

	rig_open(r, *state, 16, 16);
	rig_send(r, 1, "A01");
	rig_send(r, 2, rig_aarq("0000000000000002", 401));
	forget();
	l = (struct bp_phd_layout *)bp_phd_layout_of(r->x.t, r->x.t->sessions[rig_slot(r, 1)].word);
	l->object[0].head = 0xfff0;
	rig_restart(r);
	said(r, "");
	assert_int_equal(rig_state(r, 1), BP_PHD_FREE);
	assert_int_equal(rig_state(r, 2), BP_PHD_OPERATING);
	rig_send(r, 1, "S02");
	said(r, "1 " ABRT("0000"));
	rig_send(r, 1, "A01");
	said(r, "1 " AARE0 "opened " OXIMETER "\n");
	rig_close(r);
}

/* Two sessions of one device, as a writer leaves them that died while one took over. */
static void newer_of_two_is_kept(void **state)
{
	uint8_t id[8];

	for (unsigned later = 1; later <= 2; later++) {
		rig_open(r, *state, 16, 16);
		rig_send(r, 1, rig_aarq("0000000000000001", 400));
		rig_send(r, 2, rig_aarq("0000000000000002", 400));
		forget();
		rig_id("0000000000000001", id);
		memcpy(r->x.t->sessions[rig_slot(r, 2)].system_id, id, 8);
		r->x.t->sessions[rig_slot(r, later)].opened_ns++;
		rig_restart(r);
		said(r, later == 2 ? "closed 0000000000000001 taken_over\n1 " ABRT("0000")
				   : "closed 0000000000000001 taken_over\n2 " ABRT("0000"));
		assert_int_equal(rig_state(r, later), BP_PHD_OPERATING);
		assert_int_equal(rig_state(r, 3 - later), BP_PHD_FREE);
		rig_close(r);
	}
}

/* ---- the table is lost too: sessions come back from the store ---- */

/* The row of a device in the store, with the address of rig device `d`. */
static struct bp_phd_session_spec stored(
	unsigned d, const char *system_id, uint16_t config_id, uint64_t content)
{
	struct bp_phd_session_spec s = {.port = (uint16_t)(40000 + d),
		.transport = BP_PHD_TRANSPORT_UDP,
		.protocol = 1,
		.config_id = config_id,
		.config_content = content,
		.associated_s = 77,
		.reports = 1000 + d};

	s.address[10] = s.address[11] = 0xff;
	s.address[12] = 10;
	s.address[15] = (uint8_t)d;
	memcpy(s.own, s.address, 16);
	s.own[15] = (uint8_t)(1 + d % 2);
	rig_id(system_id, s.system_id);
	return s;
}

static uint64_t content_of(uint16_t config_id)
{
	return bp_phd_standard(config_id, &(bool){false})->content;
}

static enum bp_phd_restored restore(const struct bp_phd_session_spec *s)
{
	return bp_phd_manager_restore(r->m, s, r->now_ms * 1000000);
}

static void without_the_table(void **state)
{
	const struct bp_phd_session_spec s = stored(1, OXIMETER, 400, content_of(400));
	const struct bp_phd_session_spec t = stored(2, ACTIVITY, 400, content_of(400));
	struct bp_phd_session_spec other;
	const struct bp_phd_session *now;

	rig_open(r, *state, 16, 16);
	rig_restart_bare(r, 16, 16);
	rig_send(r, 1, "S02"); /* before it is back it is a stray */
	said(r, "1 " ABRT("0000"));
	assert_int_equal(restore(&s), BP_PHD_RESTORED);
	assert_int_equal(restore(&t), BP_PHD_RESTORED);
	said(r, ""); /* its owner knows them, and the devices need not */
	now = &r->x.t->sessions[rig_slot(r, 1)];
	assert_int_equal(now->reports, 1001);
	assert_int_equal(now->associated_s, 77);
	assert_int_equal(now->spec, 4100);
	assert_int_equal(bp_phd_word_state(now->word), BP_PHD_OPERATING);
	assert_int_equal(bp_phd_word_flags(now->word), 0);
	assert_int_equal(r->x.t->control->layouts, 1);
	rig_send(r, 1, "S02");
	said(r, "report " OXIMETER "\n");
	/* existing sessions are not restored again: neither by address, nor by device */
	assert_int_equal(restore(&s), BP_PHD_RESTORE_THERE);
	other = s;
	other.port = 50000;
	assert_int_equal(restore(&other), BP_PHD_RESTORE_THERE);
	other.system_id[0] ^= 1;
	strcpy(r->c.cse.originator, "{oops}");
	assert_int_equal(restore(&other), BP_PHD_RESTORE_UNKNOWN);
	strcpy(r->c.cse.originator, "Cbiplane");
	r->denies = true;
	assert_int_equal(restore(&other), BP_PHD_RESTORE_NOT_ALLOWED);
	r->denies = false;
	r->c.max_sessions = 2;
	assert_int_equal(restore(&other), BP_PHD_RESTORE_FULL);
	rig_send(r, 2, "R01");
	said(r, "closed " ACTIVITY " released\n2 " RLRE);
	assert_int_equal(restore(&other), BP_PHD_RESTORED);
	rig_close(r);
}

/* A device measures by what it declared then, or associates again: never by another map. */
static void restored_from_declared_configuration(void **state)
{
	struct bp_phd_session_spec s;

	rig_open(r, *state, 16, 16);
	rig_send(r, 2, "A04");
	rig_send(r, 2, "C03");
	rig_send(r, 2, MDS0);
	assert_int_equal(r->n_known, 1);
	rig_restart_bare(r, 16, 16);
	forget();
	s = stored(2, ACTIVITY, r->known[0].config_id, r->known[0].model.content);
	s.config_content ^= 1;
	assert_int_equal(restore(&s), BP_PHD_RESTORE_UNKNOWN);
	s.config_content ^= 1;
	s.config_id++;
	assert_int_equal(restore(&s), BP_PHD_RESTORE_UNKNOWN);
	s.config_id--;
	s.system_id[7] ^= 1;
	assert_int_equal(restore(&s), BP_PHD_RESTORE_UNKNOWN);
	s.system_id[7] ^= 1;
	assert_int_equal(restore(&s), BP_PHD_RESTORED);
	said(r, "");
	assert_int_equal(r->x.t->sessions[rig_slot(r, 2)].spec, 4137);
	/* of a standard one this program knows the map better than an earlier one did */
	s = stored(1, OXIMETER, 400, content_of(400) ^ 1);
	assert_int_equal(restore(&s), BP_PHD_RESTORED);
	assert_int_equal(r->x.t->sessions[rig_slot(r, 1)].config_content, content_of(400));
	rig_close(r);
}

/* Where {type} is in the path and not known, the device is asked, as after its association. */
static void restored_session_is_queried(void **state)
{
	struct bp_phd_session_spec s;

	rig_open(r, *state, 16, 16);
	strcpy(r->c.cse.path, "cse-in/{type}/{system_id}-{object}");
	rig_send(r, 2, "A04");
	rig_send(r, 2, "C03");
	rig_restart_bare(r, 16, 16);
	forget();
	s = stored(2, ACTIVITY, r->known[0].config_id, r->known[0].model.content);
	assert_int_equal(restore(&s), BP_PHD_RESTORED);
	said(r, "2 " GET_MDS("0000"));
	rig_send(r, 2, MDS0);
	said(r, "told " ACTIVITY " 4137\n");
	rig_close(r);
}

/* The store lost that one of them ended. */
static void newer_of_two_stored_is_kept(void **state)
{
	for (unsigned later = 0; later < 2; later++) {
		struct bp_phd_session_spec s[2] = {stored(1, OXIMETER, 400, content_of(400)),
			stored(2, OXIMETER, 400, content_of(400))};

		rig_open(r, *state, 16, 16);
		s[later].associated_s++;
		assert_int_equal(restore(&s[0]), BP_PHD_RESTORED);
		assert_int_equal(
			restore(&s[1]), later == 1 ? BP_PHD_RESTORED : BP_PHD_RESTORE_THERE);
		said(r, later == 1 ? "closed " OXIMETER " taken_over\n1 " ABRT("0000") : "");
		assert_int_equal(rig_state(r, 1 + later), BP_PHD_OPERATING);
		assert_int_equal(rig_state(r, 2 - later), BP_PHD_FREE);
		/* a session of this process has no row: it remains */
		rig_send(r, 3, "A01");
		forget();
		s[0] = stored(4, OXIMETER, 400, content_of(400));
		s[0].associated_s = UINT32_MAX;
		assert_int_equal(restore(&s[0]), BP_PHD_RESTORE_THERE);
		rig_close(r);
	}
}

/* The table survived, the plan is another, and what the device declared is still to be read. */
static void changed_settings_during_loading(void **state)
{
	uint32_t slot;

	rig_open(r, *state, 16, 16);
	for (unsigned d = 2; d <= 3; d++) {
		rig_send(r, d, rig_aarq(d == 2 ? ACTIVITY : "0000000000000003", 0x4000));
		rig_send(r, d, "C03");
		rig_send(r, d, d == 2 ? MDS0 : "e700000c000a00010300000400010000");
	}
	slot = rig_slot(r, 2);
	bp_phd_session_flags(r->x.w, slot, BP_PHD_READY, 0);
	assert_int_equal(r->n_known, 2);
	r->n_known = 0;
	r->plan = 2;
	r->x.t->control->loading = 1;
	forget();
	rig_restart(r);
	said(r, "");
	/* no worker converts by the old one */
	assert_int_equal(bp_phd_word_flags(r->x.t->sessions[slot].word), 0);
	r->n_known = 1; /* the other one the store lost */
	r->x.t->control->loading = 0;
	bp_phd_manager_loaded(r->m, r->now_ms * 1000000);
	said(r, "opened " ACTIVITY "\nclosed 0000000000000003 fault\n3 " ABRT("0000"));
	assert_int_equal(bp_phd_layout_of(r->x.t, r->x.t->sessions[slot].word)->plan, 2);
	forget();
	bp_phd_manager_loaded(r->m, r->now_ms * 1000000);
	said(r, "");
	rig_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(while_operating),
		cmocka_unit_test(while_waiting_for_the_configuration),
		cmocka_unit_test(device_without_configuration),
		cmocka_unit_test(while_asked_for_its_mds),
		cmocka_unit_test(while_releasing),
		cmocka_unit_test(tcp_sessions_end),
		cmocka_unit_test(limits_continue),
		cmocka_unit_test(changed_settings),
		cmocka_unit_test(a_damaged_layout),
		cmocka_unit_test(newer_of_two_is_kept),
		cmocka_unit_test(without_the_table),
		cmocka_unit_test(restored_from_declared_configuration),
		cmocka_unit_test(restored_session_is_queried),
		cmocka_unit_test(newer_of_two_stored_is_kept),
		cmocka_unit_test(changed_settings_during_loading),
	};

	return cmocka_run_group_tests(tests, vectors_setup, vectors_teardown);
}
