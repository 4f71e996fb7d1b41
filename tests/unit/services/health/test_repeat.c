/* SPDX-License-Identifier: BSD-3-Clause */
/* The words by which a report that comes again is known, and what of it is stored. */
#include "tests/unit/proto/exact.h"

#include "services/health/last_report.h"

static const uint64_t key[2] = {0x0123456789abcdefull, 0xfedcba9876543210ull};
#define S 1000000000ull

static void fields_have_the_documented_offsets(void **state)
{
	(void)state;
	assert_int_equal(bp_phd_last_pack(0xabcd, 0x1234, 0x89abcdef), 0xabcd123489abcdefull);
	assert_int_equal(bp_phd_last_invoke_id(0xabcd123489abcdefull), 0xabcd);
	assert_int_equal(bp_phd_last_report_no(0xabcd123489abcdefull), 0x1234);
	assert_int_equal(bp_phd_last_open(0xabcd123489abcdefull), 0x89abcdef);
	assert_int_equal(bp_phd_last_with_open(0xabcd123489abcdefull, 0x10), 0xabcd123400000010ull);
	/* 12 s are 3 times 4 s; the time's low 16 bits alone */
	assert_int_equal(bp_phd_sent_pack(0x01020304, 0xbeef, 12 * S), 0x01020304beef0003ull);
	assert_int_equal(bp_phd_sent_pack(1, 2, 4 * 65536 * S + 8 * S), 0x0000000100020002ull);
	assert_int_equal(bp_phd_sent_number(0x01020304beef0003ull), 0x01020304);
	assert_int_equal(bp_phd_sent_hash(0x01020304beef0003ull), 0xbeef);
}

/* No pair of port and id has those numbers: there are 64,512 ports from 1024 on. */
static void no_pair_is_none(void **state)
{
	const uint64_t most = 64512ull * 65536 - 1;

	(void)state;
	assert_true(most < BP_PHD_SENT_MANY);
	assert_true(bp_phd_sent_has_number(bp_phd_sent_pack((uint32_t)most, 1, 0)));
	assert_false(bp_phd_sent_has_number(bp_phd_sent_pack(BP_PHD_SENT_NONE, 1, 0)));
	assert_false(bp_phd_sent_has_number(bp_phd_sent_pack(BP_PHD_SENT_MANY, 1, 0)));
}

static void after_an_error(void **state)
{
	(void)state;
	assert_int_equal(bp_phd_sent_after_error(0x01020304beef0003ull), 0xffffffffbeef0003ull);
	assert_int_equal(bp_phd_sent_after_error(0xffffffffbeef0003ull), 0xffffffffbeef0003ull);
	assert_int_equal(bp_phd_sent_after_error(0xfffffffebeef0003ull), 0xfffffffebeef0003ull);
	assert_int_equal(bp_phd_sent_after_error(0), 0);
}

/* Two values of which one is up by one and one is down by one have one Internet checksum, and are
 * two reports all the same; and so has each single byte that is another. */
static void content_distinguishes_reports(void **state)
{
	uint8_t a[42], b[42];
	unsigned same = 0;

	(void)state;
	for (unsigned i = 0; i < sizeof(a); i++)
		a[i] = (uint8_t)(i * 7);
	assert_int_equal(
		bp_phd_report_hash(key, a, sizeof(a)), bp_phd_report_hash(key, a, sizeof(a)));
	memcpy(b, a, sizeof(a));
	b[35]++;
	b[41]--;
	assert_int_not_equal(
		bp_phd_report_hash(key, a, sizeof(a)), bp_phd_report_hash(key, b, sizeof(b)));
	for (unsigned i = 0; i < sizeof(a); i++) {
		memcpy(b, a, sizeof(a));
		b[i] ^= 0x10;
		same += bp_phd_report_hash(key, a, sizeof(a)) ==
			bp_phd_report_hash(key, b, sizeof(b));
	}
	assert_int_equal(same, 0);
	assert_int_not_equal(
		bp_phd_report_hash(key, a, sizeof(a)), bp_phd_report_hash(key, a, sizeof(a) - 1));
}

static void same_with_precomputed_keys(void **state)
{
	struct bp_phd_hash_keys keys;
	uint8_t a[BP_PHD_HASH_SHORT];

	(void)state;
	bp_phd_hash_keys_init(&keys, key);
	for (unsigned i = 0; i < sizeof(a); i++)
		a[i] = (uint8_t)(i * 11 + 5);
	for (size_t len = BP_PHD_HASH_SHORT_MIN; len <= sizeof(a); len++)
		assert_int_equal(
			bp_phd_report_hash_short(&keys, a, len), bp_phd_report_hash(key, a, len));
}

static void repeated_reports(void **state)
{
	const uint64_t now = 1000 * S, last = bp_phd_last_pack(7, 9, 3);
	const uint64_t sent = bp_phd_sent_pack(55, 0xbeef, now);

	(void)state;
	assert_true(bp_phd_is_repeat(last, sent, 7, 9, 0xbeef, now));
	assert_true(bp_phd_is_repeat(last & ~3ull, sent, 7, 9, 0xbeef, now)); /* all is stored */
	assert_true(bp_phd_is_repeat(
		last, bp_phd_sent_pack(BP_PHD_SENT_NONE, 0xbeef, now), 7, 9, 0xbeef, now));
	assert_false(bp_phd_is_repeat(last, sent, 8, 9, 0xbeef, now));
	assert_false(bp_phd_is_repeat(last, sent, 7, 8, 0xbeef, now));
	assert_false(bp_phd_is_repeat(last, sent, 7, 9, 0xbeee, now));
	assert_false(bp_phd_is_repeat(0, 0, 0, 0, 0, now)); /* a session without a report */
	assert_false(bp_phd_is_repeat(0, 0, 0, 0, 0, 0));
}

/* Never after the lifetime of a message id, whatever the clock's bits are. */
static void a_repeat_in_time(void **state)
{
	const uint64_t last = bp_phd_last_pack(7, 9, 3), wrap = 4ull * 65536 * S;

	(void)state;
	for (uint64_t at = wrap - 300 * S; at < wrap + 300 * S; at += S / 3) {
		const uint64_t sent = bp_phd_sent_pack(55, 0xbeef, at);

		assert_true(bp_phd_is_repeat(last, sent, 7, 9, 0xbeef, at + 240 * S));
		assert_false(bp_phd_is_repeat(last, sent, 7, 9, 0xbeef, at + 247 * S));
	}
}

/* Checks the state of each part in the word; parts that could not be recorded remain open. */
static void assert_says(uint32_t open, unsigned parts, const bool *noted)
{
	bool all = true;

	for (unsigned i = 0; i < parts; i++) {
		all &= noted[i];
		if (bp_phd_open_has(open, parts, i) != !noted[i])
			fail_msg("part %u of %u: word %08x", i, parts, open);
	}
	assert_false(bp_phd_open_has(open, parts, parts));
	assert_int_equal(open == 0, all);
}

/* In any order within what can be noted, for every number of parts. */
static void open_parts_in_any_order(void **state)
{
	(void)state;
	srand(5);
	for (unsigned parts = 1; parts <= 256; parts++) {
		uint32_t open = bp_phd_open_begin(parts);
		bool noted[256] = {false};
		unsigned first = 0;

		assert_says(open, parts, noted);
		while (open != 0) {
			const unsigned reach = parts <= 32 ? parts : first + 24;
			const unsigned end = reach < parts ? reach : parts;
			const unsigned part = first + (unsigned)rand() % (end - first);

			assert_int_equal(bp_phd_open_end(open, parts), end);
			open = bp_phd_open_close(open, parts, part);
			noted[part] = true;
			while (parts > 32 && first < parts && noted[first])
				first++;
			assert_says(open, parts, noted);
			assert_int_equal(bp_phd_open_close(open, parts, part), open); /* again */
		}
		assert_int_equal(bp_phd_open_end(open, parts), parts);
	}
}

/* Parts too far after the first open one remain open, and the others do not change. */
static void too_far_behind(void **state)
{
	uint32_t open = bp_phd_open_begin(100);

	(void)state;
	assert_int_equal(bp_phd_open_end(open, 100), 24);
	assert_int_equal(bp_phd_open_close(open, 100, 24), open);
	assert_int_equal(bp_phd_open_close(open, 100, 99), open);
	assert_int_equal(bp_phd_open_close(open, 100, 100), open);
	open = bp_phd_open_close(open, 100, 23);
	assert_false(bp_phd_open_has(open, 100, 23));
	assert_true(bp_phd_open_has(open, 100, 22));
	assert_true(bp_phd_open_has(open, 100, 24));
}

/* An invalid word: no access out of bounds. */
static void invalid_words(void **state)
{
	(void)state;
	srand(6);
	for (unsigned i = 0; i < 200000; i++) {
		const uint32_t open = (uint32_t)rand() << 1 ^ (uint32_t)rand();
		const unsigned parts = 33 + (unsigned)rand() % 224;
		const unsigned part = (unsigned)rand() % 300;

		assert_true(bp_phd_open_end(open, parts) <= parts);
		assert_true(bp_phd_open_first(open, parts) <= parts);
		if (part >= parts)
			assert_false(bp_phd_open_has(open, parts, part));
		(void)bp_phd_open_close(open, parts, part);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_have_the_documented_offsets),
		cmocka_unit_test(no_pair_is_none),
		cmocka_unit_test(after_an_error),
		cmocka_unit_test(content_distinguishes_reports),
		cmocka_unit_test(same_with_precomputed_keys),
		cmocka_unit_test(repeated_reports),
		cmocka_unit_test(a_repeat_in_time),
		cmocka_unit_test(open_parts_in_any_order),
		cmocka_unit_test(too_far_behind),
		cmocka_unit_test(invalid_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
