/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of reports: each row of the table of node phd in docs/design-health-devices.md. */
#include "tests/unit/dataplane/health_rig.h"

#include <stdio.h>
#include <string.h>

#define SPO2 "/cse-in/" HEALTH_SYSTEM_ID "/spo2"
#define PULSE "/cse-in/" HEALTH_SYSTEM_ID "/pulse_rate"

/* 97.5 %, 61 bpm */
static const struct value both[] = {{1, 0xf3cf, 1}, {10, 61, 2}};
static const char con1[] = "{\"v\":97.5,\"u\":\"%\",\"t\":null}",
		  con2[] = "{\"v\":61,\"u\":\"bpm\",\"t\":null}";

static struct bytes one(bool confirmed, unsigned invoke_id, unsigned number)
{
	return report_make(FIXED, confirmed, invoke_id, number, both, 1, 0);
}

static struct bytes two(bool confirmed, unsigned invoke_id, unsigned number)
{
	return report_make(FIXED, confirmed, invoke_id, number, both, 2, 0);
}

/* The request of a part; `name` and `con` as they must be. */
static struct request goes(struct health *h, uint32_t slot, unsigned report, unsigned part,
	const char *path, const char *con)
{
	const struct request q = health_part(h, part);

	assert_string_equal(q.path, path);
	assert_string_equal(q.con, con);
	assert_int_equal(q.part, part);
	health_named(h, &q, slot, report);
	return q;
}

static void is_punted(struct health *h, const struct bytes *apdu, enum bp_counter why)
{
	const struct bytes f = wire_frame(h->o.dev6, &h->device, &h->gateway, apdu);

	health_frame(h, A, &f);
	health_kernel(h, A, &f);
	health_counted(h, why, 1, BP_C_COUNT);
}

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
			BP_C_PHD_OBSERVATIONS, 2, BP_C_PHD_INSTANCES, 2, BP_C_PHD_INSTANCE_FRAME, 1,
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
			BP_C_PHD_OBSERVATIONS, 2, BP_C_PHD_INSTANCES, 2, BP_C_PHD_INSTANCE_FRAME, 1,
			BP_C_PHD_UNACKNOWLEDGED, type == FIXED ? 0 : 2, BP_C_COUNT);
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
		BP_C_PHD_OBSERVATIONS, 2, BP_C_PHD_INSTANCES, 1, BP_C_COUNT);
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
			BP_C_PHD_OBSERVATIONS, n, BP_C_PHD_INSTANCES, n, BP_C_PHD_INSTANCE_FRAME,
			n - 1, BP_C_PHD_UNACKNOWLEDGED, n - 1, BP_C_COUNT);
	}
	apdu = many(FIXED, 33, 33, 0);
	health_report(&h, &apdu);
	{
		const struct bytes f = wire_frame(false, &h.device, &h.gateway, &apdu);

		health_kernel(&h, A, &f);
	}
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PUNT_PHD_SLOW,
		1, BP_C_COUNT);
	health_stop(&h);
}

/* Over 256 octets of entries they are not copied: all requests are in frames of their own. */
static void what_is_not_written_in_place(void **state)
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
		BP_C_PHD_OBSERVATIONS, 20, BP_C_PHD_INSTANCES, 20, BP_C_PHD_INSTANCE_FRAME, 19,
		BP_C_COUNT);
	apdu = many(VARIABLE, 1, 2, 300);
	health_report(&h, &apdu);
	many_go(&h, slot, 1, 1);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 1, BP_C_PHD_INSTANCES, 1, BP_C_PHD_UNACKNOWLEDGED, 20,
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
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_OBSERVATIONS, 2, BP_C_PHD_INSTANCES, 2,
		BP_C_PHD_INSTANCE_FRAME, 1, BP_C_PHD_UNKNOWN_HANDLE, 1, BP_C_PHD_SPECIAL_VALUES, 2,
		BP_C_COUNT);
	health_stop(&h);
}

static void with_forwarded_the_answer_goes_beside(void **state)
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
		BP_C_PHD_OBSERVATIONS, 1, BP_C_PHD_INSTANCES, 1, BP_C_PHD_ANSWERS, 1,
		BP_C_PHD_ANSWER_FRAME, 1, BP_C_COUNT);
	/* again: the same, since the CSE has not said yet that it is stored */
	health_report(&h, &apdu);
	goes(&h, slot, 0, 0, SPO2, con1);
	health_answer(&h, &answer);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PHD_REPEATS, 1,
		BP_C_PHD_INSTANCES, 1, BP_C_PHD_ANSWERS, 1, BP_C_PHD_ANSWER_FRAME, 1, BP_C_COUNT);
	apdu = one(false, 6, 2);
	health_report(&h, &apdu);
	goes(&h, slot, 1, 0, SPO2, con1);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_OBSERVATIONS, 1, BP_C_PHD_INSTANCES, 1,
		BP_C_PHD_UNACKNOWLEDGED, 1, BP_C_COUNT);
	apdu = report_make(VARIABLE, true, 7, 3, both, 2, 200);
	answer = response_stored(7, VARIABLE);
	health_report(&h, &apdu);
	goes(&h, slot, 2, 0, SPO2, con1);
	goes(&h, slot, 2, 1, PULSE, con2);
	health_answer(&h, &answer);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 2, BP_C_PHD_INSTANCES, 2, BP_C_PHD_INSTANCE_FRAME, 1,
		BP_C_PHD_ANSWERS, 1, BP_C_PHD_ANSWER_FRAME, 1, BP_C_PHD_UNACKNOWLEDGED, 1,
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
		BP_C_PHD_OBSERVATIONS, 2, BP_C_PHD_INSTANCES, 2, BP_C_PHD_INSTANCE_FRAME, 1,
		BP_C_COUNT);
	/* whichever worker has it */
	for (unsigned w = 0; w < 2; w++) {
		health_worker(&h, w);
		health_report(&h, &apdu);
		again[0] = goes(&h, slot, 0, 0, SPO2, con1);
		again[1] = goes(&h, slot, 0, 1, PULSE, con2);
		assert_true(same(&first[0], &again[0]) && same(&first[1], &again[1]));
		health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
			BP_C_PHD_REPEATS, 1, BP_C_PHD_INSTANCES, 2, BP_C_PHD_INSTANCE_FRAME, 1,
			BP_C_COUNT);
	}
	/* a part is stored: the other one alone is sent again */
	ack = coap_response(ACK, 0x41, first[0].mid, first[0].token, 2001);
	health_reply(&h, first[0].port, &ack);
	health_counted(&h, BP_C_PHD_STORED, 1, BP_C_CSE_ACKED, 1, BP_C_COUNT);
	health_report(&h, &apdu);
	again[1] = goes(&h, slot, 0, 1, PULSE, con2);
	assert_true(same(&first[1], &again[1]));
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PHD_REPEATS, 1,
		BP_C_PHD_INSTANCES, 1, BP_C_COUNT);
	/* all of it is: the answer at once */
	ack = coap_response(ACK, 0x41, first[1].mid, first[1].token, 2001);
	health_reply(&h, first[1].port, &ack);
	health_answer(&h, &answer);
	health_counted(&h, BP_C_PHD_STORED, 1, BP_C_PHD_ANSWERS, 1, BP_C_COUNT);
	health_report(&h, &apdu);
	health_answer(&h, &answer);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PHD_REPEATS, 1,
		BP_C_PHD_ANSWERS, 1, BP_C_COUNT);
	/* up to 244 s, and no longer */
	health_time(&h, HEALTH_NOW_NS + 240 * 1000000000ull);
	health_report(&h, &apdu);
	health_answer(&h, &answer);
	health_time(&h, HEALTH_NOW_NS + 248 * 1000000000ull);
	health_report(&h, &apdu);
	goes(&h, slot, 1, 0, SPO2, con1);
	goes(&h, slot, 1, 1, PULSE, con2);
	health_counted(&h, BP_C_PHD_REPORTS, 2, BP_C_PHD_REPORTS_CONFIRMED, 2, BP_C_PHD_REPEATS, 1,
		BP_C_PHD_ANSWERS, 1, BP_C_PHD_OBSERVATIONS, 2, BP_C_PHD_INSTANCES, 2,
		BP_C_PHD_INSTANCE_FRAME, 1, BP_C_PHD_SAME_NUMBER, 1, BP_C_COUNT);
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
	health_counted(&h, BP_C_PHD_REPORTS, 2, BP_C_PHD_OBSERVATIONS, 1, BP_C_PHD_INSTANCES, 2,
		BP_C_PHD_REPEATS, 1, BP_C_PHD_STORED, 1, BP_C_CSE_ACKED, 1, BP_C_COUNT);
	health_report(&h, &apdu);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPEATS, 1,
		BP_C_DROP_PHD_REPEAT_UNCONFIRMED, 1, BP_C_COUNT);
	health_stop(&h);
}

/* The same numbers over other octets; two values of which one is up and one down by one have the
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
		BP_C_PHD_OBSERVATIONS, 4, BP_C_PHD_INSTANCES, 4, BP_C_PHD_INSTANCE_FRAME, 2,
		BP_C_PHD_SAME_NUMBER, 1, BP_C_PHD_UNACKNOWLEDGED, 2, BP_C_COUNT);
	health_stop(&h);
}

/* After a restart the ports may be others: nobody would hear the answers to the old ones, and parts
 * would share a pair. */
static void a_pair_of_nobody_is_not_used_again(void **state)
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
		BP_C_PHD_OBSERVATIONS, 2, BP_C_PHD_INSTANCES, 10, BP_C_PHD_INSTANCE_FRAME, 5,
		BP_C_PHD_REPEATS, 4, BP_C_COUNT);
	health_stop(&h);
}

/* ---- what is not converted ---- */

static void signalling_is_the_managers(void **state)
{
	static const char *const vectors[] = {
		"A01", "A12", "C01", "G01", "R01", "R02", "E01", "S16"};
	struct bytes apdu = one(true, 1, 1), part = {.len = 0};
	struct health h;

	health_start(&h, &(struct health_options){0});
	health_session(&h, 0, 2);
	for (unsigned i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		const struct bytes v = report_vector(vectors[i]);

		is_punted(&h, &v, BP_C_PUNT_PHD_SIGNAL);
	}
	/* so is what is too short to say what it is, down to nothing */
	for (uint32_t len = 0; len < 20; len++) {
		part = apdu;
		part.len = len;
		is_punted(&h, &part, BP_C_PUNT_PHD_SIGNAL);
	}
	for (unsigned type = 3356; type <= 3373; type++) {
		if (type >= FIXED && type <= MP_VARIABLE)
			continue;
		part = apdu;
		part.b[18] = (uint8_t)(type >> 8);
		part.b[19] = (uint8_t)type;
		is_punted(&h, &part, BP_C_PUNT_PHD_SIGNAL);
	}
	health_stop(&h);
}

/* Two at once, and ten a worker and second. */
static void strays(void **state)
{
	const struct bytes apdu = one(true, 1, 1);
	struct bytes f;
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){.strays = 20});
	f = wire_frame(false, &h.device, &h.gateway, &apdu);
	for (unsigned second = 0; second < 2; second++) {
		health_time(&h, HEALTH_NOW_NS + second * 1000000000ull);
		for (unsigned i = 0; i < 3; i++)
			health_report(&h, &apdu);
		health_kernel(&h, A, &f);
		health_kernel(&h, A, &f);
		health_counted(&h, BP_C_PHD_NO_SESSION, 3, BP_C_PUNT_PHD_STRAY, 2,
			BP_C_DROP_PHD_STRAY, 1, BP_C_COUNT);
	}
	slot = health_session(&h, 0, 2);
	for (unsigned s = 0; s < 2; s++) {
		static const enum bp_phd_state states[] = {BP_PHD_WAITING, BP_PHD_RELEASING};

		health_time(&h, HEALTH_NOW_NS + (s + 5) * 1000000000ull);
		bp_phd_session_word(h.phd, slot, states[s], BP_PHD_READY, 0);
		for (unsigned i = 0; i < 3; i++)
			health_report(&h, &apdu);
		health_kernel(&h, A, &f);
		health_kernel(&h, A, &f);
		health_counted(&h, BP_C_PHD_WRONG_STATE, 3, BP_C_PUNT_PHD_STRAY, 2,
			BP_C_DROP_PHD_STRAY, 1, BP_C_COUNT);
	}
	health_stop(&h);
}

static void no_stray_is_answered_where_none_may(void **state)
{
	const struct bytes apdu = one(true, 1, 1);
	struct health h;

	health_start(&h, &(struct health_options){.strays = NO_STRAYS});
	health_report(&h, &apdu);
	health_counted(&h, BP_C_PHD_NO_SESSION, 1, BP_C_DROP_PHD_STRAY, 1, BP_C_COUNT);
	health_stop(&h);
}

static void while_sessions_are_read_back(void **state)
{
	const struct bytes apdu = one(true, 1, 1);
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){0});
	atomic_store(&h.r.shm.phd.control->loading, 1);
	health_report(&h, &apdu);
	health_counted(&h, BP_C_PHD_NO_SESSION, 1, BP_C_DROP_PHD_LOADING, 1, BP_C_COUNT);
	slot = health_session(&h, 0, 2); /* it was read */
	health_report(&h, &apdu);
	goes(&h, slot, 0, 0, SPO2, con1);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 1, BP_C_PHD_INSTANCES, 1, BP_C_COUNT);
	health_stop(&h);
}

static void is_slow(struct health *h)
{
	const struct bytes apdu = one(true, 1, 1);

	is_punted(h, &apdu, BP_C_PUNT_PHD_SLOW);
}

/* The control plane knows of no address to send from: there is a way, but nobody could answer. */
static void no_source(void **state)
{
	const struct bytes apdu = one(true, 1, 1);

	(void)state;
	for (int cse6 = 0; cse6 < 2; cse6++) {
		struct bp_phd_plan without;
		struct health h;
		uint32_t slot;

		health_start(&h, &(struct health_options){.cse6 = cse6 != 0});
		slot = health_session(&h, 0, 2);
		without = h.plan;
		memset(without.source + (cse6 ? 0 : 12), 0, cse6 ? 16 : 4);
		bp_phd_plan_set(h.phd, &without);
		is_slow(&h);
		bp_phd_plan_set(h.phd, &h.plan);
		health_report(&h, &apdu);
		goes(&h, slot, 0, 0, SPO2, con1);
		health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
			BP_C_PHD_OBSERVATIONS, 1, BP_C_PHD_INSTANCES, 1, BP_C_COUNT);
		health_stop(&h);
	}
}

static void the_slow_path(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0xb5};
	struct bytes apdu;
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){0});
	slot = health_session(&h, 0, 2);
	bp_phd_session_word(h.phd, slot, BP_PHD_OPERATING, 0, 0); /* not READY */
	is_slow(&h);
	bp_phd_session_word(h.phd, slot, BP_PHD_OPERATING, BP_PHD_READY, BP_PHD_NO_LAYOUT);
	is_slow(&h);
	bp_phd_session_word(h.phd, slot, BP_PHD_OPERATING, BP_PHD_READY, 0);
	health_neighbour(&h, B, false, h.cse.ip, NULL);
	is_slow(&h);
	health_route(&h, "10.2.0.5", 32, BP_ROUTE_BLACKHOLE, -1, NULL);
	is_slow(&h);
	health_route(&h, "10.2.0.5", 32, BP_ROUTE_UNREACHABLE, -1, NULL);
	is_slow(&h);
	health_route(&h, "10.2.0.5", 32, BP_ROUTE_LOCAL, -1, NULL);
	is_slow(&h);
	/* out of C a request of this length does not fit */
	health_neighbour(&h, C, false, h.cse.ip, mac);
	health_route(&h, "10.2.0.5", 32, BP_ROUTE_UNICAST, C, NULL);
	apdu = one(true, 1, 1);
	health_report(&h, &apdu);
	{
		const struct bytes f = wire_frame(false, &h.device, &h.gateway, &apdu);

		health_kernel(&h, A, &f);
	}
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PUNT_PHD_SLOW,
		1, BP_C_COUNT);
	health_interface(&h, C, false, 1500);
	is_slow(&h);
	/* a gateway that is resolved */
	health_route(&h, "10.2.0.5", 32, BP_ROUTE_UNICAST, B, "10.2.0.9");
	is_slow(&h);
	health_neighbour(&h, B, false, (const uint8_t[16]){10, 2, 0, 9}, mac);
	health_report(&h, &apdu);
	goes(&h, slot, 0, 0, SPO2, con1);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 1, BP_C_PHD_INSTANCES, 1, BP_C_COUNT);
	health_stop(&h);
}

static void too_long_for_a_message(void **state)
{
	const struct bytes apdu = one(false, 1, 1);
	struct bytes f;
	struct health h;

	health_start(&h, &(struct health_options){.max = 100});
	health_session(&h, 0, 2);
	health_report(&h, &apdu);
	f = wire_frame(false, &h.device, &h.gateway, &apdu);
	health_kernel(&h, A, &f);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PUNT_PHD_SLOW, 1, BP_C_COUNT);
	health_stop(&h);
}

/* Reports of which nothing is stored, confirmed and not. */
static void what_is_discarded(void **state)
{
	static const struct {
		uint32_t at;
		uint8_t octet;
		enum bp_counter why;
	} faults[] = {
		{3, 30, BP_C_PHD_BAD_LENGTH},  /* the APDU's length */
		{5, 20, BP_C_PHD_BAD_LENGTH},  /* the octet string's */
		{11, 25, BP_C_PHD_BAD_LENGTH}, /* the event report's */
		{13, 1, BP_C_PHD_BAD_HANDLE},  /* not the MDS */
		{27, 3, BP_C_PHD_BAD_LENGTH},  /* how many there are */
		{29, 9, BP_C_PHD_BAD_LENGTH},  /* octets of all */
		{33, 3, BP_C_PHD_BAD_LENGTH},  /* octets of one */
		{31, 77, BP_C_PHD_UNKNOWN_HANDLE},
	};
	struct health h;

	health_start(&h, &(struct health_options){0});
	health_session(&h, 0, 2);
	for (unsigned i = 0; i < 2 * sizeof(faults) / sizeof(faults[0]); i++) {
		struct bytes apdu = one(i % 2, 1, 1), f;

		apdu.b[faults[i / 2].at] = faults[i / 2].octet;
		health_report(&h, &apdu);
		f = wire_frame(false, &h.device, &h.gateway, &apdu);
		if (i % 2 != 0)
			health_kernel(&h, A, &f);
		health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, i % 2,
			faults[i / 2].why, 1, BP_C_PUNT_PHD_ANSWER, i % 2, BP_C_DROP_PHD_DISCARDED,
			(i + 1) % 2, BP_C_COUNT);
	}
	for (unsigned confirmed = 0; confirmed < 2; confirmed++) {
		/* a value of three octets where the map says two: the lengths agree */
		struct bytes apdu = one(confirmed, 1, 1), f;
		static const uint8_t lengths[] = {3, 5, 11, 21, 29, 33};

		for (unsigned k = 0; k < sizeof(lengths); k++)
			apdu.b[lengths[k]]++;
		put8(&apdu, 0);
		health_report(&h, &apdu);
		f = wire_frame(false, &h.device, &h.gateway, &apdu);
		if (confirmed)
			health_kernel(&h, A, &f);
		health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, confirmed,
			BP_C_PHD_BAD_MAP, 1, BP_C_PUNT_PHD_ANSWER, confirmed,
			BP_C_DROP_PHD_DISCARDED, !confirmed, BP_C_COUNT);
	}
	health_stop(&h);
}

static void a_report_without_observations(void **state)
{
	struct bytes apdu = report_vector("S19"), answer = response_stored(0x26, FIXED);
	struct health h;

	health_start(&h, &(struct health_options){0});
	health_session(&h, 0, 2);
	health_report(&h, &apdu);
	health_answer(&h, &answer);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PHD_ANSWERS, 1,
		BP_C_COUNT);
	apdu.b[9] = 0; /* unconfirmed */
	health_report(&h, &apdu);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_DROP_PHD_EMPTY_UNCONFIRMED, 1, BP_C_COUNT);
	health_stop(&h);
}

/* ---- want ---- */

static void run_out_of_ids(bool per_report)
{
	struct bytes apdu;
	struct health h;
	uint32_t slot;
	unsigned n = 0;

	health_start(&h, &(struct health_options){.ports = 1, .per_report = per_report});
	slot = health_session(&h, 0, 2);
	/* 65,536 of them in one second; less than 64 can be lost at the end */
	for (;; n++) {
		apdu = one(false, n & 0xffff, n & 0xffff);
		rig_put(&h.r, A, wire_frame(false, &h.device, &h.gateway, &apdu).b, 42 + apdu.len);
		if (n % 32 != 31)
			continue;
		rig_walk(&h.r);
		for (struct rte_mbuf *m; (m = bp_ring_ports_take(&h.r.ports, B)) != NULL;)
			rte_pktmbuf_free(m);
		if (h.r.shm.counters[0].v[BP_C_DROP_PHD_NO_IDS] != 0)
			break;
		assert_true(n < 70000);
	}
	assert_in_range(h.r.shm.counters[0].v[BP_C_PHD_INSTANCES], 65536 - 64, 65536);
	assert_int_equal(h.r.shm.counters[0].v[BP_C_PHD_INSTANCES] +
				 h.r.shm.counters[0].v[BP_C_DROP_PHD_NO_IDS],
		n + 1);
	memcpy(h.seen, h.r.shm.counters[0].v, sizeof(h.seen));
	/* what was not sent is not noted: its repeat is a new report */
	health_time(&h, HEALTH_NOW_NS + 246 * 1000000000ull);
	apdu = one(true, 0x4242, 1);
	health_report(&h, &apdu);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_DROP_PHD_NO_IDS,
		1, BP_C_COUNT);
	health_time(&h, HEALTH_NOW_NS + 249 * 1000000000ull);
	health_report(&h, &apdu);
	health_named(&h, (struct request[]){health_request(&h)}, slot,
		(unsigned)h.r.shm.counters[0].v[BP_C_PHD_OBSERVATIONS] - 1);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 1, BP_C_PHD_INSTANCES, 1, BP_C_PHD_UNACKNOWLEDGED, 1,
		BP_C_COUNT);
	health_stop(&h);
}

/* The same where reports go the quick way. */
static void no_message_ids_left(void **state)
{
	(void)state;
	run_out_of_ids(false);
	run_out_of_ids(true);
}

static void no_buffers_left(void **state)
{
	const struct bytes apdu = two(true, 3, 1);
	struct rte_mbuf *all[RIG_MBUFS];
	unsigned n = 0;
	struct bytes f;
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){0});
	slot = health_session(&h, 0, 2);
	f = wire_frame(false, &h.device, &h.gateway, &apdu);
	rig_put(&h.r, A, f.b, f.len);
	while ((all[n] = rte_pktmbuf_alloc(h.r.pool)) != NULL)
		n++;
	rig_walk(&h.r);
	rte_pktmbuf_free_bulk(all, n);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 2, BP_C_DROP_PHD_NO_MBUF, 1, BP_C_COUNT);
	/* the session says what was to be sent, and the repeat sends it */
	health_report(&h, &apdu);
	goes(&h, slot, 0, 0, SPO2, con1);
	goes(&h, slot, 0, 1, PULSE, con2);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PHD_REPEATS, 1,
		BP_C_PHD_INSTANCES, 2, BP_C_PHD_INSTANCE_FRAME, 1, BP_C_COUNT);
	health_stop(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_of_either_family_to_either),
		cmocka_unit_test(every_type_of_report),
		cmocka_unit_test(an_instance_a_report_and_without_names),
		cmocka_unit_test(up_to_32_parts),
		cmocka_unit_test(what_is_not_written_in_place),
		cmocka_unit_test(unknown_handles_and_special_values),
		cmocka_unit_test(with_forwarded_the_answer_goes_beside),
		cmocka_unit_test(a_repeat_is_the_same_request),
		cmocka_unit_test(unconfirmed_repeats),
		cmocka_unit_test(the_same_numbers_are_another_report),
		cmocka_unit_test(a_pair_of_nobody_is_not_used_again),
		cmocka_unit_test(signalling_is_the_managers),
		cmocka_unit_test(strays),
		cmocka_unit_test(no_stray_is_answered_where_none_may),
		cmocka_unit_test(while_sessions_are_read_back),
		cmocka_unit_test(no_source),
		cmocka_unit_test(the_slow_path),
		cmocka_unit_test(too_long_for_a_message),
		cmocka_unit_test(what_is_discarded),
		cmocka_unit_test(a_report_without_observations),
		cmocka_unit_test(no_message_ids_left),
		cmocka_unit_test(no_buffers_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
