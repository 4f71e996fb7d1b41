/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of an association that gateways share: what is written is read, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "services/health/association_record.h"
#include "services/health/last_report.h"

#define SECOND 1000000000ull
#define NOW (1000 * SECOND)
#define UNIX (1800000000 * SECOND)

static struct bp_association example(void)
{
	return (struct bp_association){.owner = 0x1122334455667788,
		.segment = 0x99aabbccddeeff00,
		.made = 77,
		.report_s = 1799999999,
		.session = {.address = {[10] = 0xff, 0xff, 10, 0, 0, 5},
			.system_id = {1, 2, 3, 4, 5, 6, 7, 8},
			.port = 40312,
			.transport = BP_PHD_TRANSPORT_UDP,
			.protocol = 1,
			.config_id = 400,
			.spec = 4100,
			.associated_s = 1799990000,
			.reports = 123456,
			.config_content = 99,
			.carried = {.last = bp_phd_last_pack(7, 8, 1),
				.sent = bp_phd_sent_at(BP_PHD_SENT_NONE, 0xbeef, 0),
				.origin = {1799990000, 123455, 0xabcd, 0}}}};
}

static size_t written(const struct bp_association *a, uint8_t out[BP_ASSOCIATION_RECORD_MAX])
{
	const size_t n = bp_association_write(a, out, BP_ASSOCIATION_RECORD_MAX);

	assert_int_equal(n, BP_ASSOCIATION_FIXED + a->config.len);
	return n;
}

static void what_is_written_is_read(void **state)
{
	struct bp_association a = example(), b;
	uint8_t bytes[BP_ASSOCIATION_RECORD_MAX];
	size_t n = written(&a, bytes);

	(void)state;
	assert_true(bp_association_read(bytes, n, &b));
	assert_memory_equal(&a, &b, sizeof(a));
	/* without a report */
	a.report_s = 0;
	a.session.carried = (struct bp_phd_carried){.sent = 0};
	n = written(&a, bytes);
	assert_true(bp_association_read(bytes, n, &b));
	assert_memory_equal(&a, &b, sizeof(a));
	/* numbers of requests are of one gateway, the format of the open word is not */
	a = example();
	a.session.carried.sent = bp_phd_sent_at(0x61a80001, 0xbeef, 5);
	n = written(&a, bytes);
	assert_true(bp_association_read(bytes, n, &b));
	assert_int_equal(bp_phd_sent_number(b.session.carried.sent), BP_PHD_SENT_NONE);
	a.session.carried.sent = bp_phd_sent_at(BP_PHD_SENT_MANY, 0xbeef, 5);
	n = written(&a, bytes);
	assert_true(bp_association_read(bytes, n, &b));
	assert_int_equal(bp_phd_sent_number(b.session.carried.sent), BP_PHD_SENT_MANY);
}

static void configuration_has_a_bound(void **state)
{
	static uint8_t report[BP_ASSOCIATION_RECORD_MAX];
	struct bp_association a = example();
	uint8_t bytes[BP_ASSOCIATION_RECORD_MAX + 1];

	(void)state;
	a.config = (struct bp_phd_bytes){report, BP_ASSOCIATION_RECORD_MAX - BP_ASSOCIATION_FIXED};
	assert_int_equal(bp_association_write(&a, bytes, sizeof(bytes)), BP_ASSOCIATION_RECORD_MAX);
	assert_int_equal(bp_association_write(&a, bytes, BP_ASSOCIATION_RECORD_MAX - 1), 0);
	a.config.len++;
	assert_int_equal(bp_association_write(&a, bytes, sizeof(bytes)), 0);
}

/* In memory of exactly their size, so that AddressSanitizer sees a read beyond. */
static bool reads(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n + (n == 0));
	struct bp_association a;
	bool ok;

	memcpy(copy, p, n);
	ok = bp_association_read(copy, n, &a);
	free(copy);
	return ok;
}

static void hostile_records(void **state)
{
	const struct bp_association good = example();
	uint8_t bytes[BP_ASSOCIATION_RECORD_MAX] = {0};
	const size_t n = written(&good, bytes);
	struct bp_association a;

	(void)state;
	for (size_t len = 0; len < n; len++)
		assert_false(reads(bytes, len));
	assert_false(reads(bytes, n + 1));
	assert_false(reads(bytes, BP_ASSOCIATION_RECORD_MAX));
#define BAD(change_)                                                                               \
	do {                                                                                       \
		a = good;                                                                          \
		change_;                                                                           \
		assert_false(reads(bytes, written(&a, bytes)));                                    \
	} while (0)
	BAD(a.session.port = 0);
	BAD(memset(a.session.address, 0, 16));
	BAD(memset(a.session.address + 12, 0, 4));
	BAD(a.session.address[0] = 0xff);
	BAD((a.session.address[0] = 0xfe, a.session.address[1] = 0x80));
	BAD(a.session.protocol = 0);
	BAD(a.session.protocol = 3);
	BAD(a.session.config_id = 0);
	BAD(a.session.config_id = 0x8000);
	BAD(a.session.config_id = 0x4000); /* not a standard one, and there is no report */
	BAD(a.session.associated_s = 0);
	BAD(a.session.carried.origin.associated_s = 0);
	BAD(a.config = ((struct bp_phd_bytes){bytes, 50})); /* no ConfigReport */
#undef BAD
	/* every bit: either it is refused, or it is what it says */
	for (size_t bit = 0; bit < n * 8; bit++) {
		written(&good, bytes);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (bp_association_read(bytes, n, &a)) {
			uint8_t again[BP_ASSOCIATION_RECORD_MAX];

			assert_int_equal(written(&a, again), n);
			assert_memory_equal(bytes, again, n);
		}
	}
}

static void times_of_two_machines(void **state)
{
	struct bp_association a = example();
	const uint64_t sent = bp_phd_sent_pack(BP_PHD_SENT_NONE, 0xbeef, NOW - 100 * SECOND);
	uint64_t there;

	(void)state;
	assert_int_equal(bp_association_report_s(0, NOW, UNIX), 0);
	a.report_s = bp_association_report_s(sent, NOW, UNIX);
	assert_in_range(a.report_s, 1799999900 - 4, 1799999900 + 4);
	/* on a machine that has run for 10 s */
	there = bp_association_sent(&a, 10 * SECOND, UNIX + SECOND);
	assert_int_equal(bp_phd_sent_hash(there), 0xbeef);
	assert_in_range(bp_phd_sent_age(there, 10 * SECOND), 24, 26);
	assert_true(bp_phd_is_repeat(a.session.carried.last, there, 7, 8, 0xbeef, 10 * SECOND));
	/* no device repeats it for so long */
	assert_int_equal(bp_association_sent(&a, 10 * SECOND, UNIX + 150 * SECOND), 0);
	assert_int_equal(bp_association_report_s(sent, NOW + 150 * SECOND, UNIX), 0);
	/* a clock that is ahead */
	a.report_s = UINT64_MAX;
	there = bp_association_sent(&a, 10 * SECOND, UNIX);
	assert_int_equal(bp_phd_sent_age(there, 10 * SECOND), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(configuration_has_a_bound),
		cmocka_unit_test(hostile_records),
		cmocka_unit_test(times_of_two_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
