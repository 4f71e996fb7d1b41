/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <stdio.h>

#include "proto/health/onem2m.h"
#include "tests/unit/proto/health/coap_plain.h"

static struct plain plain;

static const struct bp_m2m_request instance = {
	.ty = BP_M2M_CIN,
	.path = "cse-in/gwAE/spo2",
	.query = "rcn=0",
	.fr = "CgwAE",
	.rqi = "r6b",
	.body = "{\"m2m:cin\":{\"con\":\"96\"}}",
	.body_len = 24,
};

static size_t create(
	uint8_t *out, size_t size, enum bp_m2m_release r, const struct bp_m2m_request *q)
{
	struct bp_coap_writer w;

	bp_coap_begin(
		&w, out, size, BP_COAP_CON, BP_COAP_POST, 0x1007, (const uint8_t *)"\xa0\x07", 2);
	return bp_m2m_create(&w, out, r, q);
}

/* The capture "create contentInstance rcn=0" among the vectors, byte by byte. */
static void a_create_is_the_captured_one(void **state)
{
	static const char captured[] =
		"\x42\x02\x10\x07\xa0\x07\xb6"
		"cse-in\x04gwAE\x04spo2\x11\x32\x35rcn=0\xd1\xef\x04\x41\x34\x85"
		"CgwAE\x43r6b\xff{\"m2m:cin\":{\"con\":\"96\"}}";
	uint8_t out[256];

	assert_int_equal(create(out, sizeof(out), BP_M2M_R4, &instance), sizeof(captured) - 1);
	assert_memory_equal(out, captured, sizeof(captured) - 1);
}

/* Releases 1 and 2 have the originator before the type, other numbers, and no release option. */
static void releases_have_their_option_numbers(void **state)
{
	static const char *const rvi[BP_M2M_RELEASES] = {NULL, NULL, "2a", "3", "4", "5"};
	uint8_t out[256];

	for (int r = 0; r < BP_M2M_RELEASES; r++) {
		plain_begin(&plain, 0, 2, 0x1007, "\xa0\x07", 2);
		plain_text(&plain, 11, "cse-in");
		plain_text(&plain, 11, "gwAE");
		plain_text(&plain, 11, "spo2");
		plain_text(&plain, 12, "2");
		plain_text(&plain, 15, "rcn=0");
		if (rvi[r] != NULL) {
			plain_text(&plain, 267, "\4");
			plain_text(&plain, 271, rvi[r]);
			plain_text(&plain, 279, "CgwAE");
			plain_text(&plain, 283, "r6b");
		} else {
			plain_text(&plain, 256, "CgwAE");
			plain_text(&plain, 257, "r6b");
			plain_text(&plain, 267, "\4");
		}
		plain_payload(&plain, instance.body, instance.body_len);
		assert_int_equal(
			create(out, sizeof(out), (enum bp_m2m_release)r, &instance), plain.len);
		assert_memory_equal(out, plain.bytes, plain.len);
		assert_int_equal(bp_m2m_options[r].rsc, rvi[r] != NULL ? 307 : 265);
	}
}

static void paths_and_queries_become_options(void **state)
{
	struct bp_m2m_request q = {.path = "~/id-in/cse-in/gwAE/spo2/la", .fr = "C", .rqi = "1"};
	uint8_t out[256];

	q.query = "rcn=4&lvl=1&fu=1";
	plain_begin(&plain, 0, 2, 0x1007, "\xa0\x07", 2);
	plain_text(&plain, 11, "~");
	plain_text(&plain, 11, "id-in");
	plain_text(&plain, 11, "cse-in");
	plain_text(&plain, 11, "gwAE");
	plain_text(&plain, 11, "spo2");
	plain_text(&plain, 11, "la");
	plain_text(&plain, 15, "rcn=4");
	plain_text(&plain, 15, "lvl=1");
	plain_text(&plain, 15, "fu=1");
	plain_text(&plain, 271, "3");
	plain_text(&plain, 279, "C");
	plain_text(&plain, 283, "1");
	assert_int_equal(create(out, sizeof(out), BP_M2M_R3, &q), plain.len);
	assert_memory_equal(out, plain.bytes, plain.len);
}

static void invalid_path_is_rejected(void **state)
{
	char exactly[256] = {0}, longer[257] = {0};
	const char *bad[] = {"", "/", "cse-in/", "/cse-in", "cse-in//spo2", longer};
	struct bp_m2m_request q = instance;
	uint8_t out[1024];

	memset(exactly, 's', 255);
	memset(longer, 's', 256);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		q.path = bad[i];
		assert_int_equal(create(out, sizeof(out), BP_M2M_R4, &q), 0);
	}
	q.path = exactly;
	assert_int_not_equal(create(out, sizeof(out), BP_M2M_R4, &q), 0);
	q.query = "rcn=0&&x=1";
	assert_int_equal(create(out, sizeof(out), BP_M2M_R4, &q), 0);
	q.query = NULL;
	q.fr = longer;
	assert_int_equal(create(out, sizeof(out), BP_M2M_R4, &q), 0);
	q.fr = exactly;
	assert_int_not_equal(create(out, sizeof(out), BP_M2M_R4, &q), 0);
	q.body_len = 65536;
	assert_int_equal(create(out, sizeof(out), BP_M2M_R4, &q), 0);
}

static void a_create_that_does_not_fit_is_refused(void **state)
{
	uint8_t whole[256];
	const size_t len = create(whole, sizeof(whole), BP_M2M_R4, &instance);

	for (size_t size = 0; size <= len; size++) {
		uint8_t *exact = malloc(size); /* NOLINT(*UnixAPI) */

		assert_int_equal(create(exact, size, BP_M2M_R4, &instance), size == len ? len : 0);
		free(exact);
	}
}

static void each_response_code_has_its_outcome(void **state)
{
	static const struct {
		unsigned class_, detail, rsc;
		enum bp_m2m_outcome named, unnamed;
	} cases[] = {
		{2, 1, 2001, BP_M2M_STORED, BP_M2M_STORED},
		{2, 1, 0, BP_M2M_STORED, BP_M2M_STORED},
		{2, 1, 4000, BP_M2M_REFUSED, BP_M2M_REFUSED}, /* contradicts itself */
		{2, 1, BP_M2M_UNREADABLE, BP_M2M_REFUSED, BP_M2M_REFUSED},
		{4, 4, BP_M2M_UNREADABLE, BP_M2M_NO_TARGET, BP_M2M_NO_TARGET},
		{2, 1, 4105, BP_M2M_REFUSED, BP_M2M_REFUSED},
		{2, 4, 2004, BP_M2M_REFUSED, BP_M2M_REFUSED}, /* a create updates nothing */
		{2, 5, 2000, BP_M2M_REFUSED, BP_M2M_REFUSED},
		{4, 0, 4000, BP_M2M_REFUSED, BP_M2M_REFUSED},
		{4, 1, 0, BP_M2M_DENIED, BP_M2M_DENIED},
		{4, 3, 4103, BP_M2M_DENIED, BP_M2M_DENIED},
		{4, 3, 4117, BP_M2M_DENIED, BP_M2M_DENIED},
		{4, 3, 0, BP_M2M_DENIED, BP_M2M_DENIED},
		{4, 3, 4105, BP_M2M_STORED, BP_M2M_REFUSED},
		{4, 9, 4105, BP_M2M_STORED, BP_M2M_REFUSED},
		{4, 4, 4004, BP_M2M_NO_TARGET, BP_M2M_NO_TARGET},
		{4, 4, 0, BP_M2M_NO_TARGET, BP_M2M_NO_TARGET},
		{4, 4, 5103, BP_M2M_BUSY, BP_M2M_BUSY},
		{4, 5, 4005, BP_M2M_REFUSED, BP_M2M_REFUSED},
		{4, 15, 4015, BP_M2M_REFUSED, BP_M2M_REFUSED},
		{4, 29, 0, BP_M2M_BUSY, BP_M2M_BUSY},
		{5, 0, 5000, BP_M2M_REFUSED, BP_M2M_REFUSED},
		{5, 1, 4001, BP_M2M_REFUSED, BP_M2M_REFUSED},
		{5, 3, 0, BP_M2M_BUSY, BP_M2M_BUSY},
		{5, 4, 4008, BP_M2M_BUSY, BP_M2M_BUSY},
		{7, 31, 0, BP_M2M_REFUSED, BP_M2M_REFUSED},
		{0, 2, 2001, BP_M2M_REFUSED, BP_M2M_REFUSED},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct bp_m2m_reply r = {
			.code = (uint8_t)BP_COAP_CODE(cases[i].class_, cases[i].detail),
			.rsc = (uint16_t)cases[i].rsc};

		if (bp_m2m_outcome(&r, true) != cases[i].named ||
			bp_m2m_outcome(&r, false) != cases[i].unnamed)
			fail_msg("%u.%02u with %u", cases[i].class_, cases[i].detail, cases[i].rsc);
	}
}

/* The status is read from the release's own option, and only where it can be a number. */
static void invalid_status_is_not_read(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		unsigned rsc;
	} cases[] = {{"\x07\xd1", 2, 2001}, {"\x00\x00\x07\xd1", 4, 2001},
		{"", 0, BP_M2M_UNREADABLE}, {"\0", 1, BP_M2M_UNREADABLE},
		{"\x01\x00\x00", 3, BP_M2M_UNREADABLE}, {"\0\0\0\x07\xd1", 5, BP_M2M_UNREADABLE}};
	struct bp_m2m_reply reply;
	struct bp_coap m;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		plain_begin(&plain, 2, 65, 9, "t", 1);
		plain_text(&plain, 265, "\x0f\xa0");
		plain_option(&plain, 307, cases[i].bytes, cases[i].len);
		assert_int_equal(bp_coap_read(plain.bytes, plain.len, &m), BP_COAP_OK);
		bp_m2m_reply_read(&m, BP_M2M_R3, &reply);
		assert_int_equal(reply.code, 65);
		assert_int_equal(reply.rsc, cases[i].rsc);
		bp_m2m_reply_read(&m, BP_M2M_R1, &reply);
		assert_int_equal(reply.rsc, 4000);
	}
	plain_begin(&plain, 2, 65, 9, "t", 1);
	assert_int_equal(bp_coap_read(plain.bytes, plain.len, &m), BP_COAP_OK);
	bp_m2m_reply_read(&m, BP_M2M_R5, &reply);
	assert_int_equal(reply.rsc, 0);
	/* it is not repeatable: which one counts? */
	plain_begin(&plain, 2, 65, 9, "t", 1);
	plain_text(&plain, 307, "\x07\xd1");
	plain_text(&plain, 307, "\x0f\xa0");
	assert_int_equal(bp_coap_read(plain.bytes, plain.len, &m), BP_COAP_OK);
	bp_m2m_reply_read(&m, BP_M2M_R5, &reply);
	assert_int_equal(reply.rsc, BP_M2M_UNREADABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_create_is_the_captured_one),
		cmocka_unit_test(releases_have_their_option_numbers),
		cmocka_unit_test(paths_and_queries_become_options),
		cmocka_unit_test(invalid_path_is_rejected),
		cmocka_unit_test(a_create_that_does_not_fit_is_refused),
		cmocka_unit_test(each_response_code_has_its_outcome),
		cmocka_unit_test(invalid_status_is_not_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
