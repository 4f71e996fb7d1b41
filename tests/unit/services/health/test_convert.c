/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/health/rig.h"

#include <stdio.h>

/* The scan reports of tests/fixtures/phd-apdus.json, and what each must become. */

#define NOON ",\"t\":\"2026-01-01T12:00:00.00\""
#define PERCENT ",\"u\":\"%\""
#define BPM ",\"u\":\"bpm\""
#define NO_UNIT ",\"u\":null"

struct golden {
	const char *id;
	const struct bp_phd_model *m;
	unsigned invoke_id, report_no, type;
	bool confirmed;
	unsigned special_values;
	struct {
		const char *name, *con;
	} object[8];
};

static const struct golden goldens[] = {
	{"S02", &rig_400, 0x10, 1, 3357, true, 0,
		{{"spo2", "{\"v\":97.5" PERCENT ",\"t\":null}"},
			{"pulse_rate", "{\"v\":61" BPM ",\"t\":null}"}}},
	{"S03", &rig_c01, 0x11, 2, 3357, false, 0,
		{{"spo2", "{\"v\":98" PERCENT NOON "}"}, {"pulse_rate", "{\"v\":72" BPM NOON "}"}}},
	{"S04", &rig_c01, 0x12, 3, 3357, true, 2,
		{{"spo2", "{\"v\":null,\"why\":\"NaN\"" PERCENT NOON "}"},
			{"pulse_rate", "{\"v\":null,\"why\":\"NRes\"" BPM NOON "}"}}},
	{"S05", &rig_c01, 0x13, 4, 3358, true, 0,
		{{"spo2", "{\"v\":98" PERCENT NOON "}"}, {"pulse_rate", "{\"v\":72" BPM NOON "}"}}},
	{"S06", &rig_c01, 0x14, 5, 3358, true, 0,
		{{"spo2", "{\"v\":88" PERCENT NOON ",\"s\":\"questionable\"}"}}},
	{"S07", &rig_c01, 0x15, 6, 3359, true, 0,
		{{"spo2", "{\"v\":98" PERCENT NOON ",\"p\":1}"},
			{"spo2", "{\"v\":95" PERCENT NOON ",\"p\":2}"}}},
	{"S08", &rig_c01, 0x16, 7, 3360, true, 0, {{"spo2", "{\"v\":98" PERCENT NOON ",\"p\":1}"}}},
	{"S10", &rig_c03, 0x20, 1, 3357, true, 0,
		{{"distance-1", "{\"v\":8432,\"u\":\"steps\"" NOON "}"},
			{"distance-2", "{\"v\":6250,\"u\":\"m\"" NOON "}"},
			{"activity_time", "{\"v\":95,\"u\":\"min\"" NOON "}"},
			{"intensity", "{\"v\":62" PERCENT NOON "}"},
			{"energy", "{\"v\":412,\"u\":\"cal\"" NOON "}"}}},
	{"S11", &rig_c03, 0x21, 2, 3358, true, 0,
		{{"distance-2", "{\"v\":1234.5,\"u\":\"m\"" NOON "}"}}},
	{"S12", &rig_c04, 0x22, 1, 3357, true, 0,
		{{"fall", "{\"v\":\"80000000\"" NO_UNIT NOON "}"}}},
	{"S13", &rig_c04, 0x23, 2, 3358, true, 0,
		{{"motion", "{\"v\":\"80000000\"" NO_UNIT NOON "}"}}},
	{"S14", &rig_c05, 0x24, 1, 3357, true, 0, {{"fixed_dosage", "{\"v\":2" NO_UNIT NOON "}"}}},
	{"S15", &rig_c05, 0x25, 2, 3357, true, 0,
		{{"variable_dosage", "{\"v\":2.5,\"u\":\"mL\"" NOON "}"}}},
};
#define GOLDENS (sizeof(goldens) / sizeof(goldens[0]))

static struct plain plain;

static unsigned objects_of(const struct golden *g)
{
	unsigned n = 0;

	while (n < 8 && g->object[n].name != NULL)
		n++;
	return n;
}

/* Plans the vector, and checks the plan except its parts. */
static void plan_golden(const struct golden *g, const struct bp_phd_layout *l,
	const struct bp_phd_settings *plan, const uint8_t *apdu, size_t len,
	struct bp_phd_conversion *c)
{
	memset(c, 0xa5, sizeof(*c));
	assert_int_equal(bp_phd_convert_plan(l, plan, apdu, len, c), BP_PHD_CONVERT);
	assert_int_equal(c->invoke_id, g->invoke_id);
	assert_int_equal(c->report_no, g->report_no);
	assert_int_equal(c->type, g->type);
	assert_int_equal(c->confirmed, g->confirmed);
	assert_true(c->answerable);
	assert_true(c->in_place);
	assert_int_equal(c->observations, objects_of(g));
	assert_int_equal(c->unknown_handles, 0);
}

static void assert_one_an_object(const struct golden *g, const struct bp_phd_settings *plan)
{
	struct bp_phd_layout *l = rig_compile(g->m, plan, &rig_target, "oximeter");
	struct bp_phd_conversion c;
	size_t len;
	uint8_t *apdu = rig_apdu(g->id, &len);

	plan_golden(g, l, plan, apdu, len, &c);
	assert_int_equal(c.parts, objects_of(g));
	for (unsigned i = 0; i < c.parts; i++) {
		const struct rig_request q = {
			{"cse-in", "1122334455667788", g->object[i].name}, "Cbiplane"};

		rig_expect(&plain, plan, &q, i, g->object[i].con);
		rig_assert_part(l, plan, apdu, &c, i, &plain);
	}
	assert_int_equal(c.odd.special_values, g->special_values);
	assert_int_equal(c.odd.bad_times, 0);
	free(apdu);
	free(l);
}

static void an_instance_an_object(void **state)
{
	for (size_t i = 0; i < GOLDENS; i++)
		assert_one_an_object(&goldens[i], &rig_plan);
}

static void all_releases_name_modes_and_message_types(void **state)
{
	for (unsigned i = 0; i < BP_M2M_RELEASES * 4; i++) {
		struct bp_phd_settings plan = rig_plan;

		plan.release = (uint8_t)(i / 4);
		plan.named = i % 2;
		plan.con = i / 2 % 2;
		assert_one_an_object(&goldens[0], &plan);
	}
}

static void an_instance_a_report(void **state)
{
	struct bp_phd_settings plan = rig_plan;

	plan.per_report = 1;
	for (size_t i = 0; i < GOLDENS; i++) {
		static const struct rig_request q = {
			{"cse-in", "1122334455667788", "report"}, "Cbiplane"};
		const struct golden *g = &goldens[i];
		struct bp_phd_layout *l = rig_compile(g->m, &plan, &rig_target, "oximeter");
		struct bp_phd_conversion c;
		char con[2048] = "[";
		size_t len;
		uint8_t *apdu = rig_apdu(g->id, &len);

		plan_golden(g, l, &plan, apdu, len, &c);
		assert_int_equal(c.parts, 1);
		assert_int_equal(c.part[0].n, objects_of(g));
		for (unsigned k = 0; k < objects_of(g); k++)
			sprintf(con + strlen(con), "%s{\"o\":\"%s\",%s", k != 0 ? "," : "",
				g->object[k].name, g->object[k].con + 1);
		strcat(con, "]");
		rig_expect(&plain, &plan, &q, 0, con);
		rig_assert_part(l, &plan, apdu, &c, 0, &plain);
		assert_int_equal(c.odd.special_values, g->special_values);
		free(apdu);
		free(l);
	}
}

/* S02's first object, byte by byte and by hand, so that not even the second encoder is needed. */
static void s02_byte_by_byte(void **state)
{
	static const char expected[] =
		"\x48\x02\x12\x34\xa0\xb1\xc2\xd3\xe4\xf5\x06\x17" /* CON, POST, id, token */
		"\xb6"
		"cse-in" /* 11, 6 bytes */
		"\x0d\x03"
		"1122334455667788" /* 11, 13 + 3 bytes */
		"\x04"
		"spo2"
		"\x11\x32" /* 12: JSON */
		"\x35"
		"rcn=0"        /* 15 */
		"\xd1\xef\x04" /* 267 = 15 + 13 + 239: type */
		"\x41"
		"4" /* 271 */
		"\x88"
		"Cbiplane" /* 279 */
		"\x4d\x03"
		"a0b1c2d3e4f50617" /* 283 */
		"\xff"
		"{\"m2m:cin\":{\"cnf\":\"application/json:0\","
		"\"rn\":\"6955b9f001020000002a00\","
		"\"con\":\"{\\\"v\\\":97.5,\\\"u\\\":\\\"%\\\",\\\"t\\\":null}\"}}";
	struct bp_phd_layout *l = rig_compile(&rig_400, &rig_plan, &rig_target, "");
	const struct bp_phd_identity id = rig_identity(0);
	struct bp_phd_conversion c;
	uint8_t out[1024];
	size_t len;
	uint8_t *apdu = rig_apdu("S02", &len);

	assert_int_equal(bp_phd_convert_plan(l, &rig_plan, apdu, len, &c), BP_PHD_CONVERT);
	len = bp_phd_convert_write(l, &rig_plan, apdu, &c, 0, &id, out, sizeof(out));
	assert_int_equal(len, sizeof(expected) - 1);
	assert_memory_equal(out, expected, len);
	free(apdu);
	free(l);
}

/* The request may be written over the report that it is made of. */
static void written_over_the_report(void **state)
{
	for (size_t i = 0; i < GOLDENS; i++) {
		const struct golden *g = &goldens[i];
		struct bp_phd_layout *l = rig_compile(g->m, &rig_plan, &rig_target, "");
		struct bp_phd_conversion c;
		uint8_t frame[2048];
		size_t len;
		uint8_t *apdu = rig_apdu(g->id, &len);

		memcpy(frame + 8, apdu, len);
		free(apdu);
		plan_golden(g, l, &rig_plan, frame + 8, len, &c);
		for (unsigned k = 0; k < c.parts; k++) {
			const struct bp_phd_identity id = rig_identity(k);
			const struct rig_request q = {
				{"cse-in", "1122334455667788", g->object[k].name}, "Cbiplane"};

			rig_expect(&plain, &rig_plan, &q, k, g->object[k].con);
			assert_int_equal(bp_phd_convert_write(l, &rig_plan, frame + 8, &c, k, &id,
						 frame, sizeof(frame)),
				plain.len);
			assert_memory_equal(frame, plain.bytes, plain.len);
		}
		free(l);
	}
}

/* The bytes of a hexadecimal text, whose spaces are for the eye. */
static size_t unhex(const char *hex, uint8_t *out)
{
	size_t n = 0;

	while (*hex != '\0') {
		unsigned byte;

		if (*hex == ' ') {
			hex++;
			continue;
		}
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		out[n++] = (uint8_t)byte;
		hex += 2;
	}
	return n;
}

/* A report with these entries, its six lengths filled in. */
static size_t report_of(unsigned type, unsigned n, const char *entries, uint8_t *out)
{
	size_t len = unhex("e7000000 0000 0010 0101 0000 0000 ffffffff 0d00 0000", out);

	len += unhex("f000 0007 0000 0000", out + len);
	len += unhex(entries, out + len);
	out[3] = (uint8_t)(len - 4);
	out[5] = (uint8_t)(len - 6);
	out[11] = (uint8_t)(len - 12);
	out[19] = (uint8_t)type;
	out[21] = (uint8_t)(len - 22);
	out[27] = (uint8_t)n;
	out[29] = (uint8_t)(len - 30);
	return len;
}
#define FIXED 0x1d
#define VAR 0x1e

struct becomes {
	unsigned special_values, bad_times;
	const char *con[2]; /* up to NULL */
};

static void assert_becomes(const struct bp_phd_model *m, unsigned type, unsigned n,
	const char *entries, struct becomes b)
{
	struct bp_phd_layout *l = rig_compile(m, &rig_plan, &rig_target, "");
	struct bp_phd_conversion c;
	uint8_t apdu[256];
	const size_t len = report_of(type, n, entries, apdu);

	assert_int_equal(bp_phd_convert_plan(l, &rig_plan, apdu, len, &c), BP_PHD_CONVERT);
	assert_int_equal(c.parts, b.con[1] != NULL ? 2 : 1);
	for (unsigned i = 0; i < c.parts; i++) {
		const struct bp_phd_identity id = rig_identity(i);
		uint8_t out[1024];
		char *con = rig_content(out,
			bp_phd_convert_write(l, &rig_plan, apdu, &c, i, &id, out, c.part[i].len));

		assert_non_null(con);
		assert_string_equal(con, b.con[i]);
		free(con);
	}
	assert_int_equal(c.odd.special_values, b.special_values);
	assert_int_equal(c.odd.bad_times, b.bad_times);
	free(l);
}
#define BECOMES(...) ((struct becomes){__VA_ARGS__})

#define MMHG ",\"u\":\"mmHg\""
#define PRESSURES ",\"n\":[\"sys\",\"dia\",\"mean\"]"

static void compound_values(void **state)
{
	assert_becomes(&rig_700, FIXED, 2,
		"0001 0012 00030006 0078 0050 f3a5 2026010112000000 0002 000a 0048 "
		"2026010112000000",
		BECOMES(0, 0,
			{"{\"v\":[120,80,93.3]" PRESSURES MMHG NOON "}",
				"{\"v\":72" BPM NOON "}"}));
	assert_becomes(&rig_700, FIXED, 1, "0001 0012 00030006 0078 0800 07fe 2026010112000000",
		BECOMES(2, 0, {"{\"v\":[120,null,null],\"why\":\"NRes\"" PRESSURES MMHG NOON "}"}));
	/* variable: FLOATs where the map says SFLOATs */
	assert_becomes(&rig_700, VAR, 1,
		"0001 0001 0014 0a74 0010 0003000c 00000078 ff000321 007fffff",
		BECOMES(1, 0,
			{"{\"v\":[120,80.1,null],\"why\":\"NaN\"" PRESSURES MMHG ",\"t\":null}"}));
	/* and not as many as there are names */
	assert_becomes(&rig_700, VAR, 1, "0001 0001 000c 0a75 0008 00020004 0078 0050",
		BECOMES(0, 0, {"{\"v\":[120,80]" MMHG ",\"t\":null}"}));
	assert_becomes(&rig_700, VAR, 1, "0001 0001 0008 0a75 0004 00000000",
		BECOMES(0, 0, {"{\"v\":[]" MMHG ",\"t\":null}"}));
}

static void other_attributes_of_variable_reports(void **state)
{
	/* another unit, one that has no name, none */
	assert_becomes(&rig_c01, VAR, 1, "0001 0002 000c 0a4c 0002 0061 0996 0002 0200",
		BECOMES(0, 0, {"{\"v\":97,\"u\":\"1\",\"t\":null}"}));
	assert_becomes(&rig_c01, VAR, 1, "0001 0002 000c 0996 0002 ffff 0a4c 0002 0061",
		BECOMES(0, 0, {"{\"v\":97,\"u\":\"65535\",\"t\":null}"}));
	assert_becomes(&rig_c01, VAR, 1, "0001 0002 000c 0996 0002 0000 0a4c 0002 0061",
		BECOMES(0, 0, {"{\"v\":97,\"u\":null,\"t\":null}"}));
	/* a FLOAT where the map says SFLOAT */
	assert_becomes(&rig_c01, VAR, 1, "0001 0001 0008 0a56 0004 ff0003cf",
		BECOMES(0, 0, {"{\"v\":97.5" PERCENT ",\"t\":null}"}));
	/* an unknown attribute; of two values the first */
	assert_becomes(&rig_c01, VAR, 1,
		"0001 0003 0014 270f 0002 abcd 0a4c 0002 0062 0a56 0004 00000001",
		BECOMES(0, 0, {"{\"v\":98" PERCENT ",\"t\":null}"}));
	/* 16 bits, the code of an enumeration, and nothing that is a value */
	assert_becomes(&rig_c04, VAR, 2,
		"0001 0001 0006 0a66 0002 8001 0002 0001 0006 0a49 0002 03f3",
		BECOMES(0, 0,
			{"{\"v\":\"8001\"" NO_UNIT ",\"t\":null}",
				"{\"v\":1011" NO_UNIT ",\"t\":null}"}));
	assert_becomes(&rig_c01, VAR, 1, "0001 0000 0000",
		BECOMES(0, 0, {"{\"v\":null,\"why\":\"absent\"" PERCENT ",\"t\":null}"}));
}

static void times_and_status(void **state)
{
	/* M17's time stamp is none: the value is kept */
	assert_becomes(&rig_c01, VAR, 1, "0001 0002 0012 0a4c 0002 0062 0990 0008 2026130a12000000",
		BECOMES(0, 1, {"{\"v\":98" PERCENT ",\"t\":null}"}));
	/* a base-offset time: 2026-01-01 12:00 UTC is 3,976,257,600 s; a half, and 90 min east */
	assert_becomes(&rig_c01, VAR, 1, "0001 0002 0012 0a4c 0002 0062 0a82 0008 ed00e0408000005a",
		BECOMES(0, 0, {"{\"v\":98" PERCENT ",\"t\":\"2026-01-01T13:30:00.50+01:30\"}"}));
	/* relative, in eighths of a millisecond: 2^32 - 1 of them, and 8,001 */
	assert_becomes(&rig_c01, VAR, 2,
		"0001 0002 000e 0a4c 0002 0062 0991 0004 ffffffff"
		"000a 0002 000e 0a4c 0002 0048 0991 0004 00001f41",
		BECOMES(0, 0,
			{"{\"v\":98" PERCENT ",\"t\":null,\"r\":536870.911875}",
				"{\"v\":72" BPM ",\"t\":null,\"r\":1.000125}"}));
	/* all bits of the status, and none of them */
	assert_becomes(&rig_c01, VAR, 2,
		"0001 0002 000c 0a4c 0002 0062 0947 0002 ffff"
		"000a 0002 000c 0a4c 0002 0048 0947 0002 0000",
		BECOMES(0, 0,
			{"{\"v\":98" PERCENT ",\"t\":null,\"s\":\"invalid,questionable,"
			 "not-available,calibration-ongoing,test-data,demo-data,bit-6,bit-7,"
			 "validated-data,early-indication,msmt-ongoing,bit-11,bit-12,bit-13,"
			 "bit-14,bit-15\"}",
				"{\"v\":72" BPM ",\"t\":null}"}));
}

/* All that the map of a fixed report can say. */
static void fixed_maps_with_all_attributes(void **state)
{
	static const struct bp_phd_model m = {.config_id = 0x4000,
		.n = 2,
		.object = {{.class = 6,
				   .handle = 1,
				   .partition = 2,
				   .code = 1,
				   .unit = 544,
				   .n_map = 5,
				   .map = {{2649, 4}, {2375, 2}, {2690, 8}, {9999, 3}, {2636, 2}}},
			{.class = 5,
				.handle = 2,
				.partition = 128,
				.code = 7,
				.n_map = 2,
				.map = {{2449, 4}, {2662, 2}}}}};

	assert_becomes(&m, FIXED, 2,
		"0001 0013 00000e10 0820 ed00e0408000ffa6 aabbcc f3cf 0002 0006 00001f40 00ff",
		BECOMES(0, 0,
			{"{\"v\":97.5" PERCENT ",\"t\":\"2026-01-01T10:30:00.50-01:30\","
			 "\"s\":\"test-data,msmt-ongoing\"}",
				"{\"v\":\"00ff\"" NO_UNIT ",\"t\":null,\"r\":1.000000}"}));
}

/* Observations of unknown objects are left out while there are known ones. */
static void unknown_handles_with_known_ones(void **state)
{
	static const char *const names[] = {"pulse_rate", "spo2"};
	static const char *const cons[] = {
		"{\"v\":61" BPM ",\"t\":null}", "{\"v\":97.5" PERCENT ",\"t\":null}"};
	struct bp_phd_layout *l = rig_compile(&rig_400, &rig_plan, &rig_target, "");
	struct bp_phd_conversion c;
	uint8_t apdu[256];
	const size_t len =
		report_of(FIXED, 4, "0063 0001 aa 000a 0002 003d 0064 0000 0001 0002 f3cf", apdu);

	assert_int_equal(bp_phd_convert_plan(l, &rig_plan, apdu, len, &c), BP_PHD_CONVERT);
	assert_int_equal(c.parts, 2);
	assert_int_equal(c.observations, 2);
	assert_int_equal(c.unknown_handles, 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct rig_request q = {{"cse-in", "1122334455667788", names[i]}, "Cbiplane"};

		rig_expect(&plain, &rig_plan, &q, i, cons[i]);
		rig_assert_part(l, &rig_plan, apdu, &c, i, &plain);
	}
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_instance_an_object),
		cmocka_unit_test(all_releases_name_modes_and_message_types),
		cmocka_unit_test(an_instance_a_report),
		cmocka_unit_test(s02_byte_by_byte),
		cmocka_unit_test(written_over_the_report),
		cmocka_unit_test(compound_values),
		cmocka_unit_test(other_attributes_of_variable_reports),
		cmocka_unit_test(times_and_status),
		cmocka_unit_test(fixed_maps_with_all_attributes),
		cmocka_unit_test(unknown_handles_with_known_ones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
