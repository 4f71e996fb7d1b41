/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/health/rig.h"

#include <stdio.h>

static struct bp_phd_model model_of(unsigned n)
{
	struct bp_phd_model m = {.config_id = 0x4000, .n = (uint16_t)n, .content = 4711};

	for (unsigned i = 0; i < n; i++)
		m.object[i] = (struct bp_phd_object_model){.class = 6,
			.handle = (uint16_t)(i + 1),
			.partition = 2,
			.code = (uint16_t)(100 + i),
			.unit = 544,
			.n_map = 1,
			.map = {{2636, 2}}};
	return m;
}

static void assert_name(const struct bp_phd_layout *l, unsigned i, const char *name)
{
	const struct bp_phd_object *o = &l->object[i];

	if (o->name_len != strlen(name) || memcmp(l->text + o->name, name, o->name_len) != 0)
		fail_msg("object %u is %.*s, not %s", i, o->name_len, l->text + o->name, name);
}

static void bounds_of_the_model_are_met(void **state)
{
	struct bp_phd_settings plan = rig_plan;
	struct bp_phd_layout *l;
	struct bp_phd_model m = rig_c03;

	plan.hash = 0x1234567890;
	m.content = 99;
	l = rig_compile(&m, &plan, &rig_target, "");
	assert_int_equal(l->content, 99);
	assert_int_equal(l->plan, 0x1234567890);
	assert_int_equal(l->config_id, 0x4000);
	assert_int_equal(l->spec, 0);
	assert_int_equal(l->n, 5);
	assert_int_equal(l->object[0].fixed_len, 16);
	assert_int_equal(l->object[0].value, BP_PHD_VALUE_FLOAT);
	assert_int_equal(l->object[0].value_at, 0);
	assert_int_equal(l->object[0].time, BP_PHD_TIME_ABSOLUTE);
	assert_int_equal(l->object[0].time_at, 8);
	assert_int_equal(l->object[0].status_at, BP_PHD_NOT_THERE);
	assert_int_equal(bp_phd_layout_find(l, 4, 0), 3);
	assert_int_equal(bp_phd_layout_find(l, 4, 3), 3);
	assert_int_equal(bp_phd_layout_find(l, 4, 5), 3);
	assert_int_equal(bp_phd_layout_find(l, 9, 0), -1);
	free(l);

	l = rig_compile(&rig_400, &plan, &rig_target, "");
	assert_int_equal(l->spec, 4100);
	free(l);
}

/* Two compilations of one model give the same bytes, so that devices can share one layout. */
static void the_same_is_compiled_to_the_same(void **state)
{
	struct bp_phd_layout *a = rig_compile(&rig_c03, &rig_plan, &rig_target, "type");
	struct bp_phd_layout *b = rig_compile(&rig_c03, &rig_plan, &rig_target, "type");

	assert_int_equal(a->size, b->size);
	assert_memory_equal((const uint8_t *)a, (const uint8_t *)b, a->size);
	free(a);
	free(b);
}

static void object_names_are_unique(void **state)
{
	struct bp_phd_model m = model_of(5);
	struct bp_phd_layout *l;

	m.object[0].code = 19384;
	m.object[1].code = 19384;
	m.object[2].code = 18458; /* two codes, one name */
	m.object[3].code = 18474;
	m.object[4].partition = 65535;
	m.object[4].code = 65535;
	l = rig_compile(&m, &rig_plan, &rig_target, "");
	assert_name(l, 0, "spo2-1");
	assert_name(l, 1, "spo2-2");
	assert_name(l, 2, "pulse_rate-3");
	assert_name(l, 3, "pulse_rate-4");
	assert_name(l, 4, "65535-65535");
	free(l);

	m.object[3].handle = 65535;
	m.object[3].partition = m.object[4].partition;
	m.object[3].code = m.object[4].code;
	l = rig_compile(&m, &rig_plan, &rig_target, "");
	assert_name(l, 2, "pulse_rate");
	assert_name(l, 3, "65535-65535-65535");
	assert_name(l, 4, "65535-65535-5");
	free(l);
}

static struct plain plain;

/* Checks the request for a report of one object with that path and originator. */
static void assert_request(
	const struct bp_phd_target *t, const char *type, const struct rig_request *q)
{
	static const uint8_t report[] = {0xe7, 0, 0, 0x20, 0, 0x1e, 0, 0x10, 1, 1, 0, 0x18, 0, 0,
		0xff, 0xff, 0xff, 0xff, 0x0d, 0x1d, 0, 0x0e, 0xf0, 0, 0, 1, 0, 1, 0, 6, 0, 1, 0, 2,
		0xf3, 0xcf};
	struct bp_phd_layout *l = rig_compile(&rig_400, &rig_plan, t, type);
	struct bp_phd_conversion c;

	assert_int_equal(
		bp_phd_convert_plan(l, &rig_plan, report, sizeof(report), &c), BP_PHD_CONVERT);
	rig_expect(&plain, &rig_plan, q, 0, "{\"v\":97.5,\"u\":\"%\",\"t\":null}");
	rig_assert_part(l, &rig_plan, report, &c, 0, &plain);
	free(l);
}

#define ID "1122334455667788"

static void request_templates_are_rendered(void **state)
{
	assert_request(
		&(struct bp_phd_target){"cse-in/{type}/{system_id}/{object}", "C{system_id}"},
		"pulse_oximeter",
		&(struct rig_request){{"cse-in", "pulse_oximeter", ID, "spo2"}, "C" ID});
	assert_request(&(struct bp_phd_target){"cse-in/phd-{system_id}-{type}-{object}-x", "C"},
		"t", &(struct rig_request){{"cse-in", "phd-" ID "-t-spo2-x"}, "C"});
	assert_request(&(struct bp_phd_target){"{object}", "{object}"}, "",
		&(struct rig_request){{"spo2"}, "spo2"});
	/* the system-id as often as it may be, twice in one segment */
	assert_request(&(struct bp_phd_target){"a/{system_id}{system_id}", "{system_id}"}, "",
		&(struct rig_request){{"a", ID ID}, ID});
	assert_request(&(struct bp_phd_target){"~/id-in/cse-in/gw/x", "/id-gw"}, "",
		&(struct rig_request){{"~", "id-in", "cse-in", "gw", "x"}, "/id-gw"});
}

static void assert_refused(const struct bp_phd_model *m, const struct bp_phd_target *t,
	const char *type, const char *what)
{
	struct bp_phd_layout *l = rig_layout_new();
	char err[256] = "";

	assert_int_equal(bp_phd_layout_compile(l, m, &rig_plan, t, type, err, sizeof(err)), -1);
	if (strstr(err, what) == NULL)
		fail_msg("'%s' does not say '%s'", err, what);
	/* a sentence that is cut, or none, when there is no room for it */
	assert_int_equal(bp_phd_layout_compile(l, m, &rig_plan, t, type, err, 4), -1);
	assert_int_equal(strlen(err), 3);
	free(l);
}

static void bad_templates_are_refused(void **state)
{
	static const struct {
		struct bp_phd_target t;
		const char *what;
	} cases[] = {
		{{"cse-in/{objekt}", "C"}, "unknown placeholder"},
		{{"cse-in/{object", "C"}, "unknown placeholder"},
		{{"cse-in/object}", "C"}, "unknown placeholder"},
		{{"cse-in/{object}", "{}"}, "unknown placeholder"},
		{{"cse-in//{object}", "C"}, "no request"},
		{{"/cse-in", "C"}, "no request"},
		{{"", "C"}, "no request"},
		{{"cse-in/\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1", "C"}, "control"},
		{{"cse-in", "C\n"}, "control"},
		{{"{system_id}/{system_id}/{system_id}", "{system_id}"}, "more than 3"},
	};
	char longer[1024];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_refused(&rig_400, &cases[i].t, "", cases[i].what);
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_refused(&rig_400, &(struct bp_phd_target){longer, "C"}, "", "longer");
	assert_refused(&rig_400, &(struct bp_phd_target){"{type}", "C"}, longer, "longer");
	longer[256] = '\0';
	assert_refused(&rig_400, &(struct bp_phd_target){longer, "C"}, "", "no request");
	assert_refused(&rig_400, &(struct bp_phd_target){"a", longer}, "", "no request");
	assert_refused(&rig_400, &(struct bp_phd_target){"{type}", "C"}, "a\tb", "control");
}

static void maps_that_contradict_themselves_are_refused(void **state)
{
	static const struct bp_phd_attr_map bad[] = {{2636, 4}, {2636, 0}, {2646, 2}, {2661, 2},
		{2662, 4}, {2633, 4}, {2448, 7}, {2690, 4}, {2449, 8}, {2375, 4}, {2677, 3},
		{2677, 9}, {2676, 10}};
	struct bp_phd_model m;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		m = rig_400;
		m.object[1].map[0] = bad[i];
		assert_refused(&m, &rig_target, "", "cannot have");
	}
	/* attributes that are read must be within the first 254 bytes; others may be anywhere */
	m = model_of(1);
	m.object[0].n_map = 3;
	m.object[0].map[0] = (struct bp_phd_attr_map){9999, 252};
	m.object[0].map[1] = (struct bp_phd_attr_map){2636, 2};
	m.object[0].map[2] = (struct bp_phd_attr_map){9998, 40000};
	free(rig_compile(&m, &rig_plan, &rig_target, ""));
	m.object[0].map[0].len = 253;
	assert_refused(&m, &rig_target, "", "too long");
	m.object[0].map[0].len = 1;
	m.object[0].map[2].len = 65533;
	assert_refused(&m, &rig_target, "", "too long");
}

static void a_configuration_without_values_is_refused(void **state)
{
	struct bp_phd_model m = model_of(2);

	m.object[0].map[0] = (struct bp_phd_attr_map){9999, 4};
	m.object[1].map[0] = (struct bp_phd_attr_map){2448, 8};
	assert_refused(&m, &rig_target, "", "none of its objects has a known value");
	m.object[1].n_map = 0; /* in variable reports there may be one */
	free(rig_compile(&m, &rig_plan, &rig_target, ""));
	m.n = 0;
	assert_refused(&m, &rig_target, "", "none of its objects has a known value");
	m.n = BP_PHD_OBJECTS_MAX + 1;
	assert_refused(&m, &rig_target, "", "49 objects");
}

/* The maximum number of objects fits with a short path, and exceeds the limit with a long one. */
static void the_text_is_bounded(void **state)
{
	struct bp_phd_model m = model_of(BP_PHD_OBJECTS_MAX);
	struct bp_phd_settings plan = rig_plan;
	char path[201];

	free(rig_compile(&m, &rig_plan, &rig_target, ""));
	memset(path, 'p', sizeof(path));
	path[200] = '\0';
	assert_refused(&m, &(struct bp_phd_target){path, "C"}, "", "its requests exceed");
	plan.per_report = 1; /* one request for all */
	free(rig_compile(&m, &plan, &(struct bp_phd_target){path, "C"}, ""));
}

/* The codec decodes a ConfigReport to the values that were read from it by hand. */
static void reported_configurations(void **state)
{
	static const struct {
		const char *id;
		const struct bp_phd_model *m;
	} cases[] = {{"C01", &rig_c01}, {"C03", &rig_c03}, {"C04", &rig_c04}, {"C05", &rig_c05}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const size_t head = 22; /* APDU, DATA, event report */
		struct bp_phd_model m;
		struct bp_phd_layout *a, *b;
		size_t len;
		uint8_t *apdu = rig_apdu(cases[i].id, &len);

		assert_int_equal(
			bp_phd_config_read(
				(struct bp_phd_bytes){apdu + head, (uint16_t)(len - head)}, &m),
			BP_PHD_OK);
		a = rig_compile(&m, &rig_plan, &rig_target, "");
		assert_int_equal(a->content, m.content);
		a->content = 0;
		b = rig_compile(cases[i].m, &rig_plan, &rig_target, "");
		assert_int_equal(a->size, b->size);
		assert_memory_equal((const uint8_t *)a, (const uint8_t *)b, a->size);
		free(apdu);
		free(a);
		free(b);
	}
}

static void standard_configurations(void **state)
{
	static const uint16_t ids[] = {400, 401, 700, 800, 1500, 1700};
	static const uint16_t specs[] = {4100, 4100, 4103, 4104, 4111, 4113};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		bool certain = false;
		const struct bp_phd_model *m = bp_phd_standard(ids[i], &certain);
		struct bp_phd_layout *l;

		assert_non_null(m);
		assert_true(certain);
		l = rig_compile(m, &rig_plan, &rig_target, "");
		assert_int_equal(l->spec, specs[i]);
		for (unsigned k = 0; k < l->n; k++)
			assert_int_not_equal(l->object[k].value, BP_PHD_VALUE_NONE);
		free(l);
	}
}

/* It changes with what is rendered, and with nothing else. */
static void hash_of_what_is_rendered(void **state)
{
	struct bp_phd_settings plan = rig_plan;
	const uint64_t h = bp_phd_target_hash(&plan, &rig_target);

	plan.max_message = 5;
	plan.con = 0;
	plan.confirm = 1;
	plan.named = 2; /* true as well */
	plan.cse[3] = 5;
	assert_int_equal(bp_phd_target_hash(&plan, &rig_target), h);
	plan.named = 0;
	assert_int_not_equal(bp_phd_target_hash(&plan, &rig_target), h);
	plan = rig_plan;
	plan.per_report = 1;
	assert_int_not_equal(bp_phd_target_hash(&plan, &rig_target), h);
	plan = rig_plan;
	plan.release = BP_M2M_R3;
	assert_int_not_equal(bp_phd_target_hash(&plan, &rig_target), h);
	assert_int_not_equal(
		bp_phd_target_hash(&rig_plan, &(struct bp_phd_target){rig_target.path, "Cbiplanf"}),
		h);
	assert_int_not_equal(
		bp_phd_target_hash(&rig_plan, &(struct bp_phd_target){"a", rig_target.originator}),
		h);
	assert_int_not_equal(bp_phd_target_hash(&rig_plan, &(struct bp_phd_target){"a", "b"}),
		bp_phd_target_hash(&rig_plan, &(struct bp_phd_target){"b", "a"}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_of_the_model_are_met),
		cmocka_unit_test(the_same_is_compiled_to_the_same),
		cmocka_unit_test(object_names_are_unique),
		cmocka_unit_test(request_templates_are_rendered),
		cmocka_unit_test(bad_templates_are_refused),
		cmocka_unit_test(maps_that_contradict_themselves_are_refused),
		cmocka_unit_test(a_configuration_without_values_is_refused),
		cmocka_unit_test(the_text_is_bounded),
		cmocka_unit_test(reported_configurations),
		cmocka_unit_test(standard_configurations),
		cmocka_unit_test(hash_of_what_is_rendered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
