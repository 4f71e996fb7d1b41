/* SPDX-License-Identifier: BSD-3-Clause */
/* Converted reports and their repetitions: rows of the table of node phd in
 * docs/explanation/health-devices-design.md; test_phd_refused.c has the others. */
#include "biplane/counters/health.h"
#include "tests/unit/dataplane/health/phd_node.h"

/* ---- what is converted ---- */

static void a_report_of_either_family_to_either(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		const struct health_options o = {.dev6 = i & 1, .cse6 = i >> 1};
		struct bytes apdu = report_vector("S02");
		struct request q;
		struct health h;
		uint32_t slot;

		health_start(&h, &o);
		slot = health_session(&h, 0, 2);
		health_report(&h, &apdu);
		q = goes(&h, slot, 0, 0, SPO2, con1);
		assert_int_equal(q.invoke_id, 0x10);
		assert_int_equal(q.event, FIXED);
		assert_true(q.confirmed && !q.only);
		q = goes(&h, slot, 0, 1, PULSE, con2);
		assert_true(q.confirmed && !q.only);
		health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
			BP_C_PHD_OBSERVATIONS, 2, BP_C_CSE_REQUESTS, 2, BP_C_CSE_REQUEST_FRAME, 1,
			BP_C_COUNT);
		health_stop(&h);
	}
}

static void every_type_of_report(void **state)
{
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){.non = true});
	slot = health_session(&h, 0, 2);
	for (unsigned type = FIXED; type <= MP_VARIABLE; type++) {
		const struct bytes apdu =
			report_make(type, type % 2, 0x100 + type, type, both, 2, 0);
		const bool mp = type >= MP_FIXED;
		struct request q;

		health_report(&h, &apdu);
		q = goes(&h, slot, type - FIXED, 0, SPO2,
			mp ? "{\"v\":97.5,\"u\":\"%\",\"t\":null,\"p\":1}" : con1);
		assert_int_equal(q.event, type);
		assert_int_equal(q.confirmed, type % 2);
		assert_int_equal(q.invoke_id, 0x100 + type);
		q = goes(&h, slot, type - FIXED, 1, PULSE,
			mp ? "{\"v\":61,\"u\":\"bpm\",\"t\":null,\"p\":2}" : con2);
		assert_int_equal(q.event, type);
		health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, type % 2,
			BP_C_PHD_OBSERVATIONS, 2, BP_C_CSE_REQUESTS, 2, BP_C_CSE_REQUEST_FRAME, 1,
			BP_C_CSE_UNACKNOWLEDGED, type == FIXED ? 0 : 2, BP_C_COUNT);
	}
	health_stop(&h);
}

static void an_instance_a_report_and_without_names(void **state)
{
	const struct bytes apdu = two(true, 7, 7);
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){.per_report = true, .unnamed = true});
	slot = health_session(&h, 0, 2);
	health_report(&h, &apdu);
	assert_true(goes(&h, slot, 0, 0, "/cse-in/" HEALTH_SYSTEM_ID "/report",
		"[{\"o\":\"spo2\",\"v\":97.5,\"u\":\"%\",\"t\":null},"
		"{\"o\":\"pulse_rate\",\"v\":61,\"u\":\"bpm\",\"t\":null}]")
			    .only);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 2, BP_C_CSE_REQUESTS, 1, BP_C_COUNT);
	health_stop(&h);
}

/* The numbers 1 ... n of handles 1 ... n. */
static struct bytes many(unsigned type, unsigned n, unsigned invoke_id, unsigned more)
{
	struct value v[48];

	for (unsigned i = 0; i < n; i++)
		v[i] = (struct value){i + 1, i + 1, 1};
	return report_make(type, true, invoke_id, invoke_id, v, n, more);
}

static void many_go(struct health *h, uint32_t slot, unsigned report, unsigned n)
{
	uint32_t pairs[32];
	uint32_t seen = 0;

	/* the first part may be the last to leave */
	for (unsigned i = 0; i < n; i++) {
		const struct request q = health_request(h);
		char path[64], con[64];

		snprintf(path, sizeof(path), "/cse-in/" HEALTH_SYSTEM_ID "/spo2-%u", q.part + 1);
		snprintf(con, sizeof(con), "{\"v\":%u,\"u\":\"%%\",\"t\":null}", q.part + 1);
		assert_string_equal(q.path, path);
		assert_string_equal(q.con, con);
		assert_true(q.confirmed && q.only == (n == 1));
		health_named(h, &q, slot, report);
		seen |= 1u << q.part;
		pairs[i] = q.port << 16 | q.mid;
		for (unsigned k = 0; k < i; k++)
			assert_int_not_equal(pairs[k], pairs[i]);
	}
	assert_int_equal(seen, n == 32 ? UINT32_MAX : (1u << n) - 1);
}

static void up_to_32_parts(void **state)
{
	struct bytes apdu;
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){.ports = 7}); /* so that several rows are met */
	slot = health_session(&h, 0, 33);
	for (unsigned n = 1; n <= 32; n++) {
		apdu = many(FIXED, n, n, 0);
		health_report(&h, &apdu);
		many_go(&h, slot, n - 1, n);
		health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
			BP_C_PHD_OBSERVATIONS, n, BP_C_CSE_REQUESTS, n, BP_C_CSE_REQUEST_FRAME,
			n - 1, BP_C_CSE_UNACKNOWLEDGED, n - 1, BP_C_COUNT);
	}
	apdu = many(FIXED, 33, 33, 0);
	health_report(&h, &apdu);
	{
		const struct bytes f = wire_frame(false, &h.device, &h.gateway, &apdu);

		health_kernel(&h, A, &f);
	}
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PUNT_PHD_SLOW_PATH, 1, BP_C_COUNT);
	health_stop(&h);
}

/* Over 256 bytes of entries they are not copied: all requests are in frames of their own. */
static void not_written_in_place(void **state)
{
	struct bytes apdu;
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){.dev6 = true});
	slot = health_session(&h, 0, 33);
	apdu = many(VARIABLE, 20, 1, 40);
	assert_true(apdu.len > 600);
	health_report(&h, &apdu);
	many_go(&h, slot, 0, 20);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 20, BP_C_CSE_REQUESTS, 20, BP_C_CSE_REQUEST_FRAME, 19,
		BP_C_COUNT);
	apdu = many(VARIABLE, 1, 2, 300);
	health_report(&h, &apdu);
	many_go(&h, slot, 1, 1);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 1, BP_C_CSE_REQUESTS, 1, BP_C_CSE_UNACKNOWLEDGED, 20,
		BP_C_COUNT);
	health_stop(&h);
}

static void unknown_handles_and_special_values(void **state)
{
	const struct value v[] = {{10, 0x07ff, 0}, {99, 5, 0}, {1, 0x0800, 0}};
	const struct bytes apdu = report_make(FIXED, false, 1, 1, v, 3, 0);
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){0});
	slot = health_session(&h, 0, 2);
	health_report(&h, &apdu);
	/* the part that is in the device's own frame leaves with the burst, after the others */
	for (unsigned i = 0; i < 2; i++) {
		const struct request q = health_request(&h);

		health_named(&h, &q, slot, 0);
		assert_string_equal(q.path, q.part == 0 ? PULSE : SPO2);
		assert_string_equal(q.con, q.part == 0 ? "{\"v\":null,\"why\":\"NaN\",\"u\":"
							 "\"bpm\",\"t\":null}"
						       : "{\"v\":null,\"why\":\"NRes\",\"u\":\"%\","
							 "\"t\":null}");
	}
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_OBSERVATIONS, 2, BP_C_CSE_REQUESTS, 2,
		BP_C_CSE_REQUEST_FRAME, 1, BP_C_PHD_UNKNOWN_HANDLE, 1, BP_C_PHD_SPECIAL_VALUES, 2,
		BP_C_COUNT);
	health_stop(&h);
}

static void forwarded_ack_is_sent_after_the_report(void **state)
{
	struct bytes apdu = one(true, 5, 1), answer = response_stored(5, FIXED);
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){.forwarded = true, .cse6 = true});
	slot = health_session(&h, 0, 2);
	health_report(&h, &apdu);
	assert_false(goes(&h, slot, 0, 0, SPO2, con1).confirmed);
	health_answer(&h, &answer);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 1, BP_C_CSE_REQUESTS, 1, BP_C_PHD_RESPONSES, 1,
		BP_C_PHD_RESPONSE_FRAME, 1, BP_C_COUNT);
	/* again: the same, since the CSE has not said yet that it is stored */
	health_report(&h, &apdu);
	goes(&h, slot, 0, 0, SPO2, con1);
	health_answer(&h, &answer);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PHD_DUPLICATES,
		1, BP_C_CSE_REQUESTS, 1, BP_C_PHD_RESPONSES, 1, BP_C_PHD_RESPONSE_FRAME, 1,
		BP_C_COUNT);
	apdu = one(false, 6, 2);
	health_report(&h, &apdu);
	goes(&h, slot, 1, 0, SPO2, con1);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_OBSERVATIONS, 1, BP_C_CSE_REQUESTS, 1,
		BP_C_CSE_UNACKNOWLEDGED, 1, BP_C_COUNT);
	apdu = report_make(VARIABLE, true, 7, 3, both, 2, 200);
	answer = response_stored(7, VARIABLE);
	health_report(&h, &apdu);
	goes(&h, slot, 2, 0, SPO2, con1);
	goes(&h, slot, 2, 1, PULSE, con2);
	health_answer(&h, &answer);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 2, BP_C_CSE_REQUESTS, 2, BP_C_CSE_REQUEST_FRAME, 1,
		BP_C_PHD_RESPONSES, 1, BP_C_PHD_RESPONSE_FRAME, 1, BP_C_CSE_UNACKNOWLEDGED, 1,
		BP_C_COUNT);
	health_stop(&h);
}

/* ---- repeats ---- */

static bool same(const struct request *a, const struct request *b)
{
	return a->port == b->port && a->mid == b->mid && memcmp(a->token, b->token, 8) == 0 &&
	       strcmp(a->rn, b->rn) == 0 && strcmp(a->path, b->path) == 0 &&
	       strcmp(a->con, b->con) == 0;
}

static void a_repeat_is_the_same_request(void **state)
{
	const struct bytes apdu = two(true, 9, 1), answer = response_stored(9, FIXED);
	struct request first[2], again[2];
	struct bytes ack;
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){.ports = 1});
	slot = health_session(&h, 0, 2);
	health_report(&h, &apdu);
	first[0] = goes(&h, slot, 0, 0, SPO2, con1);
	first[1] = goes(&h, slot, 0, 1, PULSE, con2);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 2, BP_C_CSE_REQUESTS, 2, BP_C_CSE_REQUEST_FRAME, 1,
		BP_C_COUNT);
	/* whichever worker has it */
	for (unsigned w = 0; w < 2; w++) {
		health_worker(&h, w);
		health_report(&h, &apdu);
		again[0] = goes(&h, slot, 0, 0, SPO2, con1);
		again[1] = goes(&h, slot, 0, 1, PULSE, con2);
		assert_true(same(&first[0], &again[0]) && same(&first[1], &again[1]));
		health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
			BP_C_PHD_DUPLICATES, 1, BP_C_CSE_REQUESTS, 2, BP_C_CSE_REQUEST_FRAME, 1,
			BP_C_COUNT);
	}
	/* a part is stored: the other one alone is sent again */
	ack = coap_response(ACK, 0x41, first[0].mid, first[0].token, 2001);
	health_reply(&h, first[0].port, &ack);
	health_counted(&h, BP_C_CSE_STORED, 1, BP_C_CSE_ACKED, 1, BP_C_COUNT);
	health_report(&h, &apdu);
	again[1] = goes(&h, slot, 0, 1, PULSE, con2);
	assert_true(same(&first[1], &again[1]));
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PHD_DUPLICATES,
		1, BP_C_CSE_REQUESTS, 1, BP_C_COUNT);
	/* all of it is: the answer at once */
	ack = coap_response(ACK, 0x41, first[1].mid, first[1].token, 2001);
	health_reply(&h, first[1].port, &ack);
	health_answer(&h, &answer);
	health_counted(&h, BP_C_CSE_STORED, 1, BP_C_PHD_RESPONSES, 1, BP_C_COUNT);
	health_report(&h, &apdu);
	health_answer(&h, &answer);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PHD_DUPLICATES,
		1, BP_C_PHD_RESPONSES, 1, BP_C_COUNT);
	/* up to 244 s, and no longer */
	health_time(&h, HEALTH_NOW_NS + 240 * 1000000000ull);
	health_report(&h, &apdu);
	health_answer(&h, &answer);
	health_time(&h, HEALTH_NOW_NS + 248 * 1000000000ull);
	health_report(&h, &apdu);
	goes(&h, slot, 1, 0, SPO2, con1);
	goes(&h, slot, 1, 1, PULSE, con2);
	health_counted(&h, BP_C_PHD_REPORTS, 2, BP_C_PHD_REPORTS_CONFIRMED, 2, BP_C_PHD_DUPLICATES,
		1, BP_C_PHD_RESPONSES, 1, BP_C_PHD_OBSERVATIONS, 2, BP_C_CSE_REQUESTS, 2,
		BP_C_CSE_REQUEST_FRAME, 1, BP_C_PHD_REUSED_NUMBER, 1, BP_C_COUNT);
	health_stop(&h);
}

static void unconfirmed_repeats(void **state)
{
	const struct bytes apdu = one(false, 0, 0);
	struct request q, again;
	struct bytes ack;
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){0});
	slot = health_session(&h, 0, 2);
	health_report(&h, &apdu);
	q = goes(&h, slot, 0, 0, SPO2, con1);
	assert_true(q.only && !q.confirmed);
	health_report(&h, &apdu);
	again = goes(&h, slot, 0, 0, SPO2, con1);
	assert_true(same(&q, &again));
	ack = coap_response(ACK, 0x41, q.mid, q.token, 2001);
	health_reply(&h, q.port, &ack);
	health_counted(&h, BP_C_PHD_REPORTS, 2, BP_C_PHD_OBSERVATIONS, 1, BP_C_CSE_REQUESTS, 2,
		BP_C_PHD_DUPLICATES, 1, BP_C_CSE_STORED, 1, BP_C_CSE_ACKED, 1, BP_C_COUNT);
	health_report(&h, &apdu);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_DUPLICATES, 1,
		BP_C_DROP_PHD_DUPLICATE_UNCONFIRMED, 1, BP_C_COUNT);
	health_stop(&h);
}

/* The same numbers over other bytes; two values of which one is up and one down by one have the
 * same UDP checksum. */
static void the_same_numbers_are_another_report(void **state)
{
	const struct value up[] = {{1, 101, 0}, {10, 60, 0}}, down[] = {{1, 100, 0}, {10, 61, 0}};
	struct bytes apdu = report_make(FIXED, true, 0, 0, up, 2, 0);
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){0});
	slot = health_session(&h, 0, 2);
	health_report(&h, &apdu);
	goes(&h, slot, 0, 0, SPO2, "{\"v\":101,\"u\":\"%\",\"t\":null}");
	goes(&h, slot, 0, 1, PULSE, "{\"v\":60,\"u\":\"bpm\",\"t\":null}");
	apdu = report_make(FIXED, true, 0, 0, down, 2, 0);
	health_report(&h, &apdu);
	goes(&h, slot, 1, 0, SPO2, "{\"v\":100,\"u\":\"%\",\"t\":null}");
	goes(&h, slot, 1, 1, PULSE, con2);
	health_counted(&h, BP_C_PHD_REPORTS, 2, BP_C_PHD_REPORTS_CONFIRMED, 2,
		BP_C_PHD_OBSERVATIONS, 4, BP_C_CSE_REQUESTS, 4, BP_C_CSE_REQUEST_FRAME, 2,
		BP_C_PHD_REUSED_NUMBER, 1, BP_C_CSE_UNACKNOWLEDGED, 2, BP_C_COUNT);
	health_stop(&h);
}

/* After a restart the ports may be others: no one would hear the answers to the old ones, and parts
 * would share a pair. */
static void unowned_pair_is_not_reused(void **state)
{
	const struct bytes apdu = two(true, 9, 1);
	static const uint32_t pairs[] = {0, 19999u << 16 | 7, 20100u << 16, UINT32_MAX};
	struct request a, b;
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){0});
	slot = health_session(&h, 0, 2);
	health_report(&h, &apdu);
	goes(&h, slot, 0, 0, SPO2, con1);
	goes(&h, slot, 0, 1, PULSE, con2);
	for (unsigned i = 0; i < 4; i++) {
		_Atomic uint64_t *sent = &health_slot(&h, slot)->sent;

		*sent = (*sent & UINT32_MAX) | (uint64_t)pairs[i] << 32;
		health_report(&h, &apdu);
		a = goes(&h, slot, 0, 0, SPO2, con1);
		b = goes(&h, slot, 0, 1, PULSE, con2);
		assert_true(a.port != b.port || a.mid != b.mid);
	}
	health_counted(&h, BP_C_PHD_REPORTS, 5, BP_C_PHD_REPORTS_CONFIRMED, 5,
		BP_C_PHD_OBSERVATIONS, 2, BP_C_CSE_REQUESTS, 10, BP_C_CSE_REQUEST_FRAME, 5,
		BP_C_PHD_DUPLICATES, 4, BP_C_COUNT);
	health_stop(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_of_either_family_to_either),
		cmocka_unit_test(every_type_of_report),
		cmocka_unit_test(an_instance_a_report_and_without_names),
		cmocka_unit_test(up_to_32_parts),
		cmocka_unit_test(not_written_in_place),
		cmocka_unit_test(unknown_handles_and_special_values),
		cmocka_unit_test(forwarded_ack_is_sent_after_the_report),
		cmocka_unit_test(a_repeat_is_the_same_request),
		cmocka_unit_test(unconfirmed_repeats),
		cmocka_unit_test(the_same_numbers_are_another_report),
		cmocka_unit_test(unowned_pair_is_not_reused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
