/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/health/rig.h"

#include <stdio.h>

#include "proto/health/coap.h"

/* Reports that cannot be converted, and invalid layouts that must be harmless. */

struct verdict {
	const char *id;
	const struct bp_phd_model *m;
	enum bp_phd_verdict verdict;
	bool confirmed;
	int invoke_id; /* -1: cannot be read */
};

static const struct verdict verdicts[] = {
	{"S19", &rig_c01, BP_PHD_EMPTY, true, 0x26},
	/* signalling and answers */
	{"A01", &rig_c01, BP_PHD_NOT_REPORT, false, -1},
	{"C01", &rig_c01, BP_PHD_NOT_REPORT, true, 1},
	{"C06", &rig_c01, BP_PHD_NOT_REPORT, false, 1},
	{"S16", &rig_c01, BP_PHD_NOT_REPORT, false, 0x1238},
	{"R01", &rig_c01, BP_PHD_NOT_REPORT, false, -1},
	{"R03", &rig_c01, BP_PHD_NOT_REPORT, false, -1},
	{"E01", &rig_c01, BP_PHD_NOT_REPORT, false, 0x31},
	{"M02", &rig_c01, BP_PHD_NOT_REPORT, false, -1},
	{"M03", &rig_c01, BP_PHD_NOT_REPORT, false, -1},
	{"M16", &rig_c01, BP_PHD_NOT_REPORT, true, 6},
	{"M18", &rig_c01, BP_PHD_NOT_REPORT, false, -1},
	{"M30", &rig_c01, BP_PHD_NOT_REPORT, false, -1},
	/* wrong lengths */
	{"M01", &rig_c01, BP_PHD_BAD_APDU, false, -1},
	{"M10", &rig_c01, BP_PHD_BAD_LENGTH, false, 0x11},
	{"M11", &rig_c01, BP_PHD_BAD_APDU, false, 0x40},
	{"M12", &rig_c01, BP_PHD_BAD_LENGTH, false, 0x11},
	{"M13", &rig_c01, BP_PHD_BAD_LENGTH, false, 0x11},
	{"M14", &rig_c01, BP_PHD_BAD_LENGTH, false, 0x11},
	{"M15", &rig_c01, BP_PHD_BAD_LENGTH, false, 0x11},
	/* reports that do not match the configuration */
	{"M26", &rig_c01, BP_PHD_BAD_MAP, true, 9},
	{"M26", &rig_400, BP_PHD_BAD_MAP, true, 9},
	{"S02", &rig_c01, BP_PHD_BAD_MAP, true, 0x10},
	{"S10", &rig_c01, BP_PHD_BAD_MAP, true, 0x20},
	{"M27", &rig_400, BP_PHD_NO_HANDLE, true, 10},
	{"M28", &rig_400, BP_PHD_BAD_HANDLE, true, 11},
};

static void each_vector_has_the_expected_result(void **state)
{
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		const struct verdict *v = &verdicts[i];
		struct bp_phd_layout *l = rig_compile(v->m, &rig_plan, &rig_target, "");
		struct bp_phd_conversion c;
		size_t len;
		uint8_t *apdu = rig_apdu(v->id, &len);
		enum bp_phd_verdict got;

		memset(&c, 0xa5, sizeof(c));
		got = bp_phd_convert_plan(l, &rig_plan, apdu, len, &c);
		if (got != v->verdict || c.confirmed != v->confirmed ||
			c.answerable != (v->invoke_id >= 0) ||
			(v->invoke_id >= 0 && c.invoke_id != v->invoke_id))
			fail_msg("%s: verdict %d, confirmed %d, answerable %d, invoke-id %x", v->id,
				got, c.confirmed, c.answerable, c.invoke_id);
		free(apdu);
		free(l);
	}
}

/* A compound whose own count or length contradicts the map, in a fixed report. */
static void values_that_contradict_themselves(void **state)
{
	/* count, length */
	static const uint8_t bad[][4] = {{0, 2, 0, 6}, {0, 3, 0, 4}, {0, 0, 0, 0}, {0, 2, 0, 4},
		{1, 3, 0, 6}, {0, 3, 1, 6}, {255, 255, 255, 255}};
	struct bp_phd_layout *l = rig_compile(&rig_700, &rig_plan, &rig_target, "");
	struct bp_phd_conversion c;
	uint8_t apdu[] = {0xe7, 0, 0, 0x30, 0, 0x2e, 0, 1, 1, 1, 0, 0x28, 0, 0, 0xff, 0xff, 0xff,
		0xff, 0x0d, 0x1d, 0, 0x1e, 0xf0, 0, 0, 1, 0, 1, 0, 0x16, 0, 1, 0, 0x12, 0, 3, 0, 6,
		0, 0x78, 0, 0x50, 0xf3, 0xa5, 0x20, 0x26, 1, 1, 0x12, 0, 0, 0};

	assert_int_equal(bp_phd_convert_plan(l, &rig_plan, apdu, sizeof(apdu), &c), BP_PHD_CONVERT);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memcpy(apdu + 34, bad[i], 4);
		assert_int_equal(
			bp_phd_convert_plan(l, &rig_plan, apdu, sizeof(apdu), &c), BP_PHD_BAD_MAP);
	}
	free(l);
}

/* Entries {u16 handle, u16 length, bytes} of a fixed report with `n` of them. */
static size_t many(uint8_t *apdu, unsigned n, const struct bp_phd_layout *l)
{
	static const uint8_t head[] = {0xe7, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0xff, 0xff,
		0xff, 0xff, 0x0d, 0x1d, 0, 0, 0xf0, 0, 0, 1, 0, 0, 0, 0};
	static const size_t at[] = {2, 4, 10, 20, 28};
	size_t len = sizeof(head);

	memcpy(apdu, head, len);
	apdu[27] = (uint8_t)n;
	for (unsigned i = 0; i < n; i++) {
		const uint8_t entry[] = {0, (uint8_t)l->handle[i % l->n], 0, 2, 0, (uint8_t)i};

		memcpy(apdu + len, entry, sizeof(entry));
		len += sizeof(entry);
	}
	for (unsigned i = 0; i < 5; i++) {
		const size_t rest = len - at[i] - 2;

		apdu[at[i]] = (uint8_t)(rest >> 8);
		apdu[at[i] + 1] = (uint8_t)rest;
	}
	return len;
}

static void excess_is_rate_limited(void **state)
{
	struct bp_phd_settings plan = rig_plan;
	struct bp_phd_layout *l = rig_compile(&rig_400, &plan, &rig_target, "");
	struct bp_phd_conversion c;
	uint8_t apdu[1024];
	uint32_t longest;
	size_t len;

	/* 32 parts, and one more */
	len = many(apdu, 32, l);
	assert_int_equal(bp_phd_convert_plan(l, &plan, apdu, len, &c), BP_PHD_CONVERT);
	assert_int_equal(c.parts, 32);
	assert_true(c.in_place);
	len = many(apdu, 33, l);
	assert_int_equal(bp_phd_convert_plan(l, &plan, apdu, len, &c), BP_PHD_SLOW);
	assert_int_equal(c.parts, 33);
	len = many(apdu, 100, l);
	assert_int_equal(bp_phd_convert_plan(l, &plan, apdu, len, &c), BP_PHD_SLOW);
	free(l);

	/* as one instance they are one part, until that is too long */
	plan.per_report = 1;
	plan.max_message = 100000;
	l = rig_compile(&rig_400, &plan, &rig_target, "");
	assert_int_equal(bp_phd_convert_plan(l, &plan, apdu, len, &c), BP_PHD_CONVERT);
	assert_int_equal(c.parts, 1);
	assert_int_equal(c.part[0].n, 100);
	assert_false(c.in_place); /* the entries are more than are copied */
	longest = c.part[0].len - BP_PHD_RENDER_SLACK;
	plan.max_message = longest;
	assert_int_equal(bp_phd_convert_plan(l, &plan, apdu, len, &c), BP_PHD_CONVERT);
	plan.max_message = longest - 1;
	assert_int_equal(bp_phd_convert_plan(l, &plan, apdu, len, &c), BP_PHD_SLOW);
	free(l);
}

/* Without the limit of 32 they are converted in several batches; each equals its single conversion.
 */
static void more_than_workers_take(void **state)
{
	static struct plain plain;
	struct bp_phd_layout *l = rig_compile(&rig_400, &rig_plan, &rig_target, "");
	uint8_t apdu[2048], out[1024];
	struct bp_phd_conversion c;
	size_t len = many(apdu, 100, l);
	unsigned done = 0;

	while (done < 100) {
		assert_int_equal(bp_phd_convert_plan_from(l, &rig_plan, apdu, len, done, &c),
			BP_PHD_CONVERT);
		assert_int_equal(c.observations, 100);
		assert_int_equal(c.parts, done < 96 ? 32 : 4);
		for (unsigned i = 0; i < c.parts; i++, done++) {
			const struct rig_request q = {
				{"cse-in", "1122334455667788",
					done % 2 == 0 ? "spo2" : "pulse_rate"},
				"Cbiplane"};
			const struct bp_phd_identity id = rig_identity(done);
			char con[64];

			snprintf(con, sizeof(con), "{\"v\":%u,\"u\":\"%s\",\"t\":null}", done,
				done % 2 == 0 ? "%" : "bpm");
			rig_expect(&plain, &rig_plan, &q, done, con);
			assert_int_equal(bp_phd_convert_write(
						 l, &rig_plan, apdu, &c, i, &id, out, sizeof(out)),
				plain.len);
			assert_memory_equal(out, plain.bytes, plain.len);
		}
	}
	assert_int_equal(bp_phd_convert_plan_from(l, &rig_plan, apdu, len, 100, &c), BP_PHD_SLOW);
	assert_int_equal(
		bp_phd_convert_plan_from(l, &rig_plan, apdu, len, 1u << 31, &c), BP_PHD_SLOW);
	/* as many as the two digits of a name can count; `many` writes a count of one byte */
	len = many(apdu, 255, l);
	assert_int_equal(
		bp_phd_convert_plan_from(l, &rig_plan, apdu, len, 224, &c), BP_PHD_CONVERT);
	assert_int_equal(c.parts, 31);
	free(l);
}

static const char *const reports[] = {
	"S02", "S03", "S04", "S05", "S06", "S07", "S08", "S10", "S11", "S12", "S15", "S19"};
static const struct bp_phd_model *const models[] = {
	&rig_400, &rig_c01, &rig_c03, &rig_c04, &rig_c05, &rig_700};
#define REPORTS (sizeof(reports) / sizeof(reports[0]))
#define MODELS (sizeof(models) / sizeof(models[0]))

/* Plans and writes, in blocks of exactly the sizes that are promised; true: it was converted. */
static bool convert(const struct bp_phd_layout *l, const struct bp_phd_settings *plan,
	const uint8_t *bytes, size_t len, bool readable)
{
	uint8_t *apdu = exact_copy(bytes, len);
	struct bp_phd_conversion c;
	const bool good = bp_phd_convert_plan(l, plan, apdu, len, &c) == BP_PHD_CONVERT;

	for (unsigned i = 0; good && i < c.parts; i++) {
		const struct bp_phd_identity id = rig_identity(i);
		uint8_t *out = malloc(c.part[i].len);
		const size_t n =
			bp_phd_convert_write(l, plan, apdu, &c, i, &id, out, c.part[i].len);

		assert_in_range(n, 1, c.part[i].len - BP_PHD_RENDER_SLACK);
		if (readable) {
			uint8_t *exact = exact_copy(out, n);
			char *con = rig_content(exact, n);
			struct bp_coap m;

			assert_non_null(con);
			assert_int_equal(bp_coap_read(exact, n, &m), BP_COAP_OK);
			free(con);
			free(exact);
		}
		free(out);
	}
	free(apdu);
	return good;
}

/* Reports that are cut, or have other bytes: refused, or converted to requests that are whole. */
static void damaged_reports_are_safe(void **state)
{
	uint64_t random = 0xdead;
	unsigned converted = 0;

	for (size_t i = 0; i < REPORTS * MODELS * 2; i++) {
		struct bp_phd_settings plan = rig_plan;
		struct bp_phd_layout *l;
		size_t len;
		uint8_t *apdu = rig_apdu(reports[i % REPORTS], &len);

		plan.per_report = (uint8_t)(i / REPORTS / MODELS);
		l = rig_compile(models[i / REPORTS % MODELS], &plan, &rig_target, "");
		for (size_t n = 0; n < len; n++)
			assert_false(convert(l, &plan, apdu, n, true));
		for (int k = 0; k < 300; k++) {
			const size_t at = next_random(&random) % len;
			const uint8_t was = apdu[at];

			apdu[at] = next_random(&random) % 2 != 0
					   ? (uint8_t)next_random(&random)
					   : (uint8_t)(was ^ 1u << next_random(&random) % 8);
			converted += convert(l, &plan, apdu, len, true);
			apdu[at] = was;
		}
		free(apdu);
		free(l);
	}
	assert_true(converted > 1000); /* the test is not about refusals alone */
}

/* A layout with any other content is refused, or is harmless. */
static void garbage_in_layouts_is_safe(void **state)
{
	const size_t head = sizeof(struct bp_phd_layout);
	uint64_t random = 0x6a5ba6e;
	unsigned accepted = 0, refused = 0, converted = 0;
	uint8_t *apdu[REPORTS];
	size_t len[REPORTS];

	for (size_t i = 0; i < REPORTS; i++)
		apdu[i] = rig_apdu(reports[i], &len[i]);
	for (size_t i = 0; i < 20000; i++) {
		struct bp_phd_settings plan = rig_plan;
		const struct bp_phd_model *m = models[next_random(&random) % MODELS];
		const size_t report = next_random(&random) % REPORTS;
		struct bp_phd_layout *l;
		uint8_t *bytes;

		plan.per_report = next_random(&random) % 2;
		l = rig_compile(m, &plan, &rig_target, "");
		bytes = (uint8_t *)l;
		for (unsigned k = 0; k <= next_random(&random) % 4; k++) {
			/* mostly where the first objects and the numbers of all are */
			const size_t until = next_random(&random) % 8 == 0 ? head : 128 + 3 * 64;
			const size_t at = next_random(&random) % until;

			bytes[at] = next_random(&random) % 2 != 0
					    ? (uint8_t)next_random(&random)
					    : (uint8_t)(bytes[at] + 1 - next_random(&random) % 3);
		}
		if (!bp_phd_layout_valid(l)) {
			refused++;
			free(l);
			continue;
		}
		accepted++;
		converted += convert(l, &plan, apdu[report], len[report], false);
		free(l);
	}
	for (size_t i = 0; i < REPORTS; i++)
		free(apdu[i]);
	assert_true(refused > 1000);
	assert_true(accepted > 1000);
	assert_true(converted > 100);
}

/* And one of nothing but random bytes, or of zeros. */
static void any_bytes_as_a_layout(void **state)
{
	struct bp_phd_layout *l = rig_layout_new();
	uint64_t random = 0x0c7e75;
	uint8_t *bytes = (uint8_t *)l;

	assert_false(bp_phd_layout_valid(l));
	for (int i = 0; i < 200; i++) {
		for (size_t k = 0; k < BP_PHD_LAYOUT_SIZE; k++)
			bytes[k] = (uint8_t)next_random(&random);
		l->n = (uint16_t)(1 + next_random(&random) % BP_PHD_OBJECTS_MAX);
		assert_false(bp_phd_layout_valid(l));
	}
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_vector_has_the_expected_result),
		cmocka_unit_test(values_that_contradict_themselves),
		cmocka_unit_test(excess_is_rate_limited),
		cmocka_unit_test(more_than_workers_take),
		cmocka_unit_test(damaged_reports_are_safe),
		cmocka_unit_test(garbage_in_layouts_is_safe),
		cmocka_unit_test(any_bytes_as_a_layout),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
