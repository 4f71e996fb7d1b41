/* SPDX-License-Identifier: BSD-3-Clause */
/* Associations of health devices that two gateways share: see association_steps.h. */
#include "tests/unit/controlplane/fleet/association_steps.h"

/* The gateway is gone; the device knows nothing of it, and repeats its last report. */
static void last_report_is_recognised(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];
	uint32_t associated_s, reports;
	uint16_t life;

	associated(f, 0, 1);
	measure(one, 1, 7, 70);
	assert_int_equal(one->instances, 1);
	associated_s = session_of(one, 1)->associated_s;
	reports = session_of(one, 1)->reports;
	life = bp_phd_word_life(session_of(one, 1)->word);
	RUN_UNTIL(f, record_has(f, 1, 7));
	finish(one, false);
	measure(two, 1, 7, 70);
	assert_int_equal(two->replies, 0); /* while Redis is asked */
	measure(two, 1, 7, 70);
	RUN_UNTIL(f, two->replies == 1);
	assert_int_equal(two->repeats, 1);
	assert_int_equal(two->instances + two->aborts, 0);
	assert_int_equal(two->origin.associated_s, associated_s);
	assert_int_equal(two->origin.report, reports - 1);
	assert_int_equal(two->origin.life, life);
	assert_int_equal(session_of(two, 1)->reports, reports + BP_PHD_STORE_RAISE);
	assert_int_equal(session_of(two, 1)->associated_s, associated_s);
	/* other bytes with the same numbers are another report */
	measure(two, 1, 7, 71);
	measure(two, 1, 8, 71);
	assert_int_equal(two->instances, 2);
	RUN_UNTIL(f, record_has(f, 1, 8));
	assert_int_equal(counted(two)->requests, 1);
	assert_int_equal(counted(two)->adopted, 1);
}

/* A report of which no answer of the CSE is known: its parts are sent with the names of the first
 * gateway, and by no worker. */
static void open_report_keeps_its_names(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];
	struct bp_phd_session *s;

	associated(f, 0, 1);
	one->silent = true;
	measure(one, 1, 7, 70);
	RUN_UNTIL(f, record_has(f, 1, 7));
	measure(two, 1, 7, 70);
	RUN_UNTIL(f, two->repeats == 1);
	s = session_of(two, 1);
	assert_int_equal(bp_phd_last_open(s->last), 1);
	assert_int_equal(bp_phd_sent_number(s->sent), BP_PHD_SENT_NONE);
	assert_true(bp_phd_carries_open(s, test_now_ns()));
	assert_false(bp_phd_carries_open(s, test_now_ns() + 250000000000));
	measure(two, 1, 8, 71);
	assert_false(bp_phd_carries_open(s, test_now_ns()));
}

/* The owner that was cut off learns it from its refused write, and does not notify the device. */
static void previous_owner_forgets(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];

	associated(f, 0, 1);
	measure(one, 1, 1, 70);
	RUN_UNTIL(f, record_has(f, 1, 1));
	measure(two, 1, 2, 71);
	RUN_UNTIL(f, record_has(f, 1, 2));
	measure(one, 1, 3, 72);
	RUN_UNTIL(f, session_of(one, 1) == NULL);
	assert_int_equal(one->aborts, 0);
	assert_int_equal(counted(one)->taken, 1);
	assert_true(record_has(f, 1, 2));
	/* and back, with the last report of the other gateway */
	measure(one, 1, 2, 71);
	RUN_UNTIL(f, one->repeats == 1);
	assert_true(operates(two, 1));
	measure(one, 1, 4, 73);
	RUN_UNTIL(f, record_has(f, 1, 4));
}

/* A higher epoch of the process, for the association of another device, is not one of this record.
 */
static void epoch_is_of_the_record(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];

	associated(f, 0, 1);
	associated(f, 1, 2);
	measure(two, 1, 1, 70);
	RUN_UNTIL(f, record_has(f, 1, 1));
	measure(one, 2, 1, 70);
	RUN_UNTIL(f, record_has(f, 2, 1));
	assert_true(bp_fleet_state_epoch(one->fleet) > bp_fleet_state_epoch(two->fleet));
	measure(one, 1, 2, 71);
	RUN_UNTIL(f, session_of(one, 1) == NULL);
	assert_true(record_has(f, 1, 1));
}

/* The record of another gateway has a report from long before: the device is here. */
static void owner_of_the_later_report(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0];
	struct bp_association a;
	struct reading r;

	for (uint8_t late = 0; late < 2; late++) {
		associated(f, 0, 1 + late);
		measure(one, 1 + late, 1, 70);
		RUN_UNTIL(f, record_has(f, 1 + late, 1));
		read_record(f, 1 + late, &r);
		assert_true(bp_association_read(r.bytes, r.len, &a));
		a.owner++;
		a.report_s -= late != 0 ? 4 : 100;
		write_record(
			f, 1 + late, r.bytes, bp_association_write(&a, r.bytes, sizeof(r.bytes)));
		measure(one, 1 + late, 2, 71);
		if (late != 0) /* it is not certain */
			RUN_UNTIL(f, session_of(one, 1 + late) == NULL);
		else
			RUN_UNTIL(f, record_has(f, 1 + late, 2));
	}
	assert_true(operates(one, 1));
	assert_int_equal(counted(one)->taken, 1);
}

static void declared_configuration(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];

	declare(one, 2, 0x4000, 19384);
	assert_true(operates(one, 2));
	RUN_UNTIL(f, record_has(f, 2, 0));
	measure(two, 2, 1, 70);
	RUN_UNTIL(f, two->instances == 1);
	assert_int_equal(session_of(two, 2)->config_id, 0x4000);
	assert_int_equal(session_of(two, 2)->config_content, session_of(one, 2)->config_content);
	/* it declares another one there: that is the association */
	send_apdu(two, 2, RLRQ, 6);
	declare(two, 2, 0x4001, 18949);
	RUN_UNTIL(f, record_has(f, 2, 0));
	measure(one, 2, 2, 71);
	RUN_UNTIL(f, session_of(one, 2) == NULL);
	measure(one, 2, 3, 72);
	RUN_UNTIL(f, session_of(one, 2) != NULL);
	assert_int_equal(session_of(one, 2)->config_id, 0x4001);
}

static void released(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];

	associated(f, 0, 1);
	/* at the other gateway, which ends the association of the first one */
	send_apdu(two, 1, RLRQ, 6);
	RUN_UNTIL(f, two->replies == 1);
	assert_int_equal(two->aborts, 0);
	RUN_UNTIL(f, !record_has(f, 1, 0));
	measure(two, 1, 1, 70);
	RUN_UNTIL(f, two->aborts == 1);
	assert_int_equal(counted(two)->not_found, 1);
	/* the first one ends its session, and does not store the association again */
	RUN_UNTIL(f, !operates(one, 1));
	assert_int_equal(counted(one)->taken, 1);
	assert_int_equal(one->aborts, 0);
	assert_false(record_has(f, 1, 0));
	associated(f, 0, 1);
	assert_true(operates(one, 1));
}

/* The previous owner writes its record again, and finds the mark of the other gateway. */
static void released_while_the_owner_reports(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];

	associated(f, 0, 1);
	send_apdu(two, 1, RLRQ, 6);
	RUN_UNTIL(f, !record_has(f, 1, 0));
	measure(one, 1, 1, 70); /* was late */
	RUN_UNTIL(f, !operates(one, 1));
	assert_false(record_has(f, 1, 0));
}

static void absent_device_is_remembered(void **state)
{
	struct fixture *f = *state;
	struct gateway *two = &f->gateway[1];

	measure(two, 9, 1, 70);
	RUN_UNTIL(f, two->aborts == 1);
	for (uint8_t i = 2; i < 50; i++)
		measure(two, 9, i, 70);
	assert_int_equal(two->aborts, 49);
	assert_int_equal(counted(two)->requests, 1);
	/* it may associate */
	associated(f, 1, 9);
	measure(two, 9, 1, 70);
	assert_int_equal(two->instances, 1);
}

/* Forged sources cause a bounded number of reads, and those beyond get no answer. */
static void reads_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct gateway *two = &f->gateway[1];
	const uint64_t before = test_now_ns();
	uint64_t requests, seconds;

	for (unsigned i = 1; i < 5000; i++)
		measure(two, i, 1, 70);
	requests = counted(two)->requests;
	seconds = (test_now_ns() - before) / 1000000000u + 1;
	assert_true(requests <= BP_ASSOCIATION_READS_PENDING);
	assert_true(requests <= BP_ASSOCIATION_READS_BURST + seconds * BP_ASSOCIATION_READS);
	assert_int_equal(requests + counted(two)->limited, 4999);
	assert_int_equal(two->replies, 0);
	/* on a slow machine some have no answer in time: the device repeats its report */
	RUN_UNTIL(f, counted(two)->not_found + bp_fleet_state_counters(two->fleet)->reads_failed >=
			     requests);
	assert_int_equal(two->aborts, counted(two)->not_found);
}

/* Values of which no byte is trusted. */
static void hostile_values(void **state)
{
	struct fixture *f = *state;
	struct gateway *two = &f->gateway[1];
	struct reading r;
	unsigned n = 20;

	associated(f, 0, 1);
	measure(&f->gateway[0], 1, 7, 70);
	RUN_UNTIL(f, record_has(f, 1, 7));
	read_record(f, 1, &r);
	/* of another device */
	write_record(f, n, r.bytes, r.len);
	measure(two, n++, 7, 70);
	RUN_UNTIL(f, two->aborts == 1);
	assert_int_equal(counted(two)->invalid, 1);
	/* every bit of it, and each length */
	for (size_t bit = 0; bit < r.len * 8 && n < 200; bit += 7, n++) {
		uint8_t bytes[BP_ASSOCIATION_RECORD_MAX];

		memcpy(bytes, r.bytes, r.len);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		write_record(f, n, bytes, bit % 3 == 0 ? bit / 8 + 1 : r.len);
		measure(two, n, 7, 70);
		RUN_UNTIL(f, two->aborts + operates(two, n) == n - 19);
		assert_false(operates(two, n));
	}
	assert_int_equal(counted(two)->invalid, n - 20);
	assert_int_equal(counted(two)->adopted, 0);
}

static void limits_of_this_gateway(void **state)
{
	struct fixture *f = *state;
	struct gateway *two = &f->gateway[1];

	two->denies = true;
	associated(f, 0, 1);
	measure(two, 1, 1, 70);
	RUN_UNTIL(f, two->aborts == 1);
	assert_int_equal(counted(two)->refused, 1);
	two->denies = false;
	for (unsigned i = 100; i < 100 + SESSIONS; i++)
		send_aarq(two, i, 400);
	assert_int_equal(two->x.t->control->sessions, SESSIONS);
	associated(f, 0, 3);
	measure(two, 3, 1, 70);
	RUN_UNTIL(f, two->aborts == 2);
	assert_int_equal(counted(two)->refused, 2);
	assert_int_equal(two->x.t->control->sessions, SESSIONS);
}

/* The control plane restarts: its sessions stay, unless another gateway has them. */
static void returning_owner(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];

	associated(f, 0, 1);
	associated(f, 0, 2);
	measure(one, 1, 1, 70);
	RUN_UNTIL(f, record_has(f, 1, 1));
	finish(one, true);
	measure(two, 1, 2, 71);
	RUN_UNTIL(f, record_has(f, 1, 2));
	start(f, 0);
	RUN_UNTIL(f, session_of(one, 1) == NULL);
	assert_int_equal(one->aborts, 0);
	assert_true(record_has(f, 1, 2));
	assert_true(operates(one, 2));
	measure(one, 2, 5, 75);
	RUN_UNTIL(f, record_has(f, 2, 5));
	/* the report before the restart of the other one is known, too */
	measure(one, 1, 2, 71);
	RUN_UNTIL(f, one->repeats == 1);
}

/* It has lost its segment: the record has the last report, which the store on disk has not. */
static void segment_lost(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0];

	associated(f, 0, 1);
	measure(one, 1, 1, 70);
	RUN_UNTIL(f, record_has(f, 1, 1));
	finish(one, false);
	start(f, 0);
	RUN_UNTIL(f, operates(one, 1) && session_of(one, 1)->sent != 0);
	measure(one, 1, 1, 70);
	assert_int_equal(one->repeats, 1);
	assert_int_equal(one->aborts, 0);
	assert_int_equal(counted(one)->adopted, 1);
	assert_int_equal(counted(one)->taken, 0);
	measure(one, 1, 2, 71);
	RUN_UNTIL(f, record_has(f, 1, 2));
}

static void redis_restarts(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];

	associated(f, 0, 1);
	associated(f, 0, 2);
	RUN_UNTIL(f, counted(one)->stored == 2);
	test_redis_kill(&f->redis);
	RUN_UNTIL(
		f, !bp_fleet_state_connected(one->fleet) && !bp_fleet_state_connected(two->fleet));
	measure(one, 1, 1, 70);
	assert_int_equal(one->instances, 1);
	/* as without a fleet */
	measure(two, 1, 1, 70);
	assert_int_equal(two->aborts, 1);
	assert_int_equal(counted(two)->requests, 0);
	test_redis_start(&f->redis);
	RUN_UNTIL(f, bp_fleet_state_ready(one->fleet) && bp_fleet_state_ready(two->fleet) &&
			     record_has(f, 1, 1) && record_has(f, 2, 0));
	measure(two, 1, 1, 70);
	RUN_UNTIL(f, two->repeats == 1);
}

/* Without idle_timeout a device may measure once a day. */
static void keys_expire(void **state)
{
	struct fixture *f = *state;
	char words[128];
	long ms;

	associated(f, 0, 1);
	snprintf(words, sizeof(words), "pttl " KEY, 1u);
	ms = strtol(test_redis_cli(&f->redis, words), NULL, 10);
	assert_in_range(ms, 47 * 3600 * 1000, 48 * 3600 * 1000);
	bp_associations_configure(f->gateway[0].associations, 60000000000);
	measure(&f->gateway[0], 1, 1, 70);
	RUN_UNTIL(f, record_has(f, 1, 1));
	ms = strtol(test_redis_cli(&f->redis, words), NULL, 10);
	assert_in_range(ms, 3600 * 1000, 3660 * 1000);
}

static void key_texts(void **state)
{
	const uint8_t ip4[16] = {[10] = 0xff, 0xff, 10, 0, 0, 5}, ip6[16] = {0xfd, [15] = 1};
	uint8_t longest[16];
	char text[BP_ASSOCIATION_KEY_TEXT];

	(void)state;
	bp_association_key(ip4, 6024, text);
	assert_string_equal(text, "phd:10.0.0.5:6024");
	bp_association_key(ip6, 6024, text);
	assert_string_equal(text, "phd:[fd00::1]:6024");
	memset(longest, 0xee, sizeof(longest));
	bp_association_key(longest, 65535, text);
	assert_true(strlen(text) < sizeof(text) - 1);
	assert_non_null(strstr(text, "]:65535"));
}

/* The previous owner ends its session although its device sends nothing to it: else the reports of
 * another device with this address and port would be stored as those of the first one. */
static void silent_session_is_taken(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];
	const uint64_t began = bp_mono_ns();
	struct reading r;

	associated(f, 0, 1);
	associated(f, 0, 2);
	/* adopted by the second one, and back again */
	measure(two, 1, 7, 70);
	RUN_UNTIL(f, two->replies == 1 && counted(one)->taken == 1);
	assert_true(operates(two, 1) && !operates(one, 1) && operates(one, 2));
	measure(one, 1, 8, 70);
	RUN_UNTIL(f, counted(two)->taken == 1);
	assert_true(operates(one, 1) && !operates(two, 1));
	/* associated at the second one */
	send_aarq(two, 2, 400);
	RUN_UNTIL(f, counted(one)->taken == 2);
	assert_true(operates(two, 2) && !operates(one, 2));
	/* not by the record that each session has without a report */
	assert_true(bp_mono_ns() - began < BP_ASSOCIATION_RENEW_NS);
	assert_int_equal(one->aborts + two->aborts, 0);
	/* entries that this program has not written, more than one read has */
	test_redis_cli(&f->redis, "-r 600 --user biplane --pass SECRET xadd "
				  "biplane:plant:phd-moves '*' s x > /dev/null");
	test_redis_cli(&f->redis, "--user biplane --pass SECRET xadd biplane:plant:phd-moves '*' s "
				  "123456789012345678901234567890");
	test_redis_cli(
		&f->redis, "--user biplane --pass SECRET xadd biplane:plant:phd-moves '*' a b c d");
	/* more values than an answer may have */
	test_redis_cli(&f->redis,
		"--user biplane --pass SECRET xadd biplane:plant:phd-moves '*' $(seq 6000)");
	associated(f, 1, 3);
	send_aarq(one, 3, 400);
	RUN_UNTIL(f, counted(two)->taken == 2);
	read_record(f, 3, &r);
	assert_true(r.found);
	assert_int_equal(bp_fleet_state_counters(one->fleet)->error[BP_FLEET_ERROR_PROTOCOL], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_texts),
		cmocka_unit_test_setup_teardown(silent_session_is_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(last_report_is_recognised, setup, teardown),
		cmocka_unit_test_setup_teardown(open_report_keeps_its_names, setup, teardown),
		cmocka_unit_test_setup_teardown(previous_owner_forgets, setup, teardown),
		cmocka_unit_test_setup_teardown(epoch_is_of_the_record, setup, teardown),
		cmocka_unit_test_setup_teardown(owner_of_the_later_report, setup, teardown),
		cmocka_unit_test_setup_teardown(declared_configuration, setup, teardown),
		cmocka_unit_test_setup_teardown(released, setup, teardown),
		cmocka_unit_test_setup_teardown(released_while_the_owner_reports, setup, teardown),
		cmocka_unit_test_setup_teardown(absent_device_is_remembered, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_values, setup, teardown),
		cmocka_unit_test_setup_teardown(limits_of_this_gateway, setup, teardown),
		cmocka_unit_test_setup_teardown(returning_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(segment_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(redis_restarts, setup, teardown),
		cmocka_unit_test_setup_teardown(keys_expire, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
