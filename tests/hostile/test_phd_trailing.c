/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/health/rig.h"

#include <stdio.h>

/*
 * A non-conforming device: its agent appends bytes that the standard does not have, after the scan
 * list (a glucometer) or a time stamp after each value (an oximeter). The measurements are
 * unambiguous, so they are stored. A hostile device sends wrong lengths instead: nothing of its
 * report is stored.
 */

#define AT_INFO_LEN 20u
#define AT_LIST_LEN 28u
#define AT_ENTRIES 30u

struct report {
	uint8_t b[256];
	size_t len;
};

static void put16(uint8_t *p, size_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* A confirmed fixed report of the standard oximeter: SpO2 98 %, pulse 60, with the given number of
 * bytes after each value and after the list. */
static struct report make(size_t behind_value, size_t behind_list)
{
	static const uint16_t handle[] = {1, 10}, value[] = {98, 60};
	struct report r = {.len = AT_ENTRIES};
	size_t end;

	memset(r.b, 0x5a, sizeof(r.b));
	for (unsigned i = 0; i < 2; i++) {
		put16(r.b + r.len, handle[i]);
		put16(r.b + r.len + 2, 2 + behind_value);
		put16(r.b + r.len + 4, value[i]);
		r.len += 6 + behind_value;
	}
	end = r.len;
	r.len += behind_list;
	put16(r.b, 0xe700);
	put16(r.b + 2, r.len - 4);
	put16(r.b + 4, r.len - 6);
	put16(r.b + 6, 7); /* invoke-id */
	put16(r.b + 8, 0x0101);
	put16(r.b + 10, r.len - 12);
	memset(r.b + 12, 0, 2);
	memset(r.b + 14, 0xff, 4);
	put16(r.b + 18, 3357);
	put16(r.b + AT_INFO_LEN, r.len - 22);
	put16(r.b + 22, 0xf000);
	put16(r.b + 24, 1);
	put16(r.b + 26, 2);
	put16(r.b + AT_LIST_LEN, end - AT_ENTRIES);
	return r;
}

/* In memory of its very size, so that a read beyond it is seen. */
static enum bp_phd_verdict plan(
	const struct bp_phd_layout *l, const struct report *r, struct bp_phd_conversion *c)
{
	uint8_t *apdu = malloc(r->len);
	enum bp_phd_verdict v;

	assert_non_null(apdu);
	memcpy(apdu, r->b, r->len);
	v = bp_phd_convert_plan(l, &rig_plan, apdu, r->len, c);
	free(apdu);
	return v;
}

static void assert_content(const struct bp_phd_layout *l, const struct report *r,
	struct bp_phd_conversion *c, unsigned part, const char *want)
{
	const struct bp_phd_identity id = rig_identity(part);
	uint8_t out[2048];
	size_t n = bp_phd_convert_write(l, &rig_plan, r->b, c, part, &id, out, sizeof(out));
	char *con = rig_content(out, n);

	assert_non_null(con);
	assert_string_equal(con, want);
	free(con);
}

static void values_before_appended_bytes_are_stored(void **state)
{
	static const struct {
		size_t value, list;
	} behind[] = {{0, 2}, {8, 0}, {8, 2}, {4, 0}, {0, 1}, {4, 100}};
	struct bp_phd_layout *l = rig_compile(&rig_400, &rig_plan, &rig_target, "");
	struct bp_phd_conversion c;
	struct report r = make(0, 0);

	(void)state;
	assert_int_equal(plan(l, &r, &c), BP_PHD_CONVERT);
	assert_false(c.trailing);
	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
		r = make(behind[i].value, behind[i].list);
		assert_int_equal(plan(l, &r, &c), BP_PHD_CONVERT);
		assert_true(c.trailing && c.confirmed);
		assert_int_equal(c.parts, 2);
		assert_content(l, &r, &c, 0, "{\"v\":98,\"u\":\"%\",\"t\":null}");
		assert_content(l, &r, &c, 1, "{\"v\":60,\"u\":\"bpm\",\"t\":null}");
	}
	free(l);
}

static void inconsistent_lengths_are_rejected(void **state)
{
	struct bp_phd_layout *l = rig_compile(&rig_400, &rig_plan, &rig_target, "");
	struct bp_phd_conversion c;
	struct report r;

	(void)state;
	r = make(0, 2);
	put16(r.b + AT_LIST_LEN, r.len - AT_ENTRIES + 1); /* the list ends behind the APDU */
	assert_int_equal(plan(l, &r, &c), BP_PHD_BAD_LENGTH);
	r = make(0, 2);
	put16(r.b + AT_LIST_LEN, r.len - AT_ENTRIES); /* bytes appended as an entry */
	assert_int_equal(plan(l, &r, &c), BP_PHD_BAD_LENGTH);
	r = make(0, 2);
	put16(r.b + AT_INFO_LEN, r.len); /* the event-info ends behind the APDU */
	assert_int_equal(plan(l, &r, &c), BP_PHD_BAD_LENGTH);
	r = make(8, 0);
	put16(r.b + AT_ENTRIES + 2, 1); /* shorter than the value */
	assert_int_not_equal(plan(l, &r, &c), BP_PHD_CONVERT);
	r = make(3, 0); /* no time stamp: the map may be another one */
	assert_int_equal(plan(l, &r, &c), BP_PHD_BAD_MAP);
	r = make(0, 0);
	put16(r.b + 26, 3); /* more entries than there are */
	assert_int_equal(plan(l, &r, &c), BP_PHD_BAD_LENGTH);
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_before_appended_bytes_are_stored),
		cmocka_unit_test(inconsistent_lengths_are_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
