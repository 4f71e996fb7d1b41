/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <stdio.h>

#include "proto/payload/value.h"

/* The steps as text: .name or [index], so that a case is one line. */
static void describe(const struct bp_json_path *p, char *out)
{
	*out = '\0';
	for (unsigned i = 0; i < p->steps; i++) {
		if (p->step[i].every)
			out += sprintf(out, "[*]");
		else if (p->step[i].is_index)
			out += sprintf(out, "[%u]", p->step[i].index);
		else
			out += sprintf(
				out, "<%.*s>", p->step[i].name_len, p->names + p->step[i].name_off);
	}
}

static void paths_become_steps(void **state)
{
	static const struct {
		const char *path, *steps;
	} cases[] = {
		{"$", ""},
		{"$.a", "<a>"},
		{"$.celsius", "<celsius>"},
		{"$.sensors[2].celsius", "<sensors>[2]<celsius>"},
		{"$[0]", "[0]"},
		{"$.readings[*].celsius", "<readings>[*]<celsius>"},
		{"$[*][*]", "[*][*]"},
		{"$[4294967295]", "[4294967295]"},
		{"$['a b']", "<a b>"},
		{"$[\"a.b\"]", "<a.b>"},
		{"$['']", "<>"},
		{"$['it\\'s']", "<it's>"},
		{"$[\"say \\\"x\\\"\"]", "<say \"x\">"},
		{"$['\"']", "<\">"},
		{"$['\\\\\\/\\b\\f\\n\\r\\t']", "<\\/\b\f\n\r\t>"},
		{"$['\\u00e9\\u20ac\\ud83d\\ude00']", "<\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80>"},
		{"$.temp-1", "<temp-1>"},
		{"$.$x", "<$x>"},
		{"$.\xc3\xa9", "<\xc3\xa9>"},
		{"$.a['b'][\"c\"][1].d", "<a><b><c>[1]<d>"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bp_json_path p;
		const char *error = NULL;
		char steps[1024];
		size_t at = 0;

		if (bp_json_path_compile(cases[i].path, &p, &error, &at) != 0)
			fail_msg("%s: %s at %zu", cases[i].path, error, at);
		describe(&p, steps);
		assert_string_equal(steps, cases[i].steps);
	}
}

static void errors_name_the_item_and_position(void **state)
{
	static const struct {
		const char *path;
		size_t at;
		const char *error; /* a part of the sentence */
	} cases[] = {
		{"", 0, "begins with"},
		{"a", 0, "begins with"},
		{" $.a", 0, "begins with"},
		{"$a", 1, "expected \".\""},
		{"$.", 2, "member name"},
		{"$..a", 2, "several"},
		{"$.*", 2, "several"},
		{"$.a.", 4, "member name"},
		{"$.a b", 3, "expected \".\""},
		{"$.a]", 3, "expected \".\""},
		{"$[", 2, "index, * or a quoted name"},
		{"$[]", 2, "index, * or a quoted name"},
		{"$[*", 3, "expected \"]\""},
		{"$[a]", 2, "index, * or a quoted name"},
		{"$[-1]", 2, "not negative"},
		{"$[1", 3, "\"]\""},
		{"$[1,2]", 3, "\"]\""},
		{"$[1:2]", 3, "\"]\""},
		{"$[01]", 2, "leading zeros"},
		{"$[4294967296]", 2, "above"},
		{"$[99999999999999999999999]", 2, "above"},
		{"$['a", 2, "never closed"},
		{"$['a\"]", 2, "never closed"},
		{"$['a'", 5, "\"]\""},
		{"$['a'x]", 5, "\"]\""},
		{"$['\\x']", 3, "escape"},
		{"$['\\", 3, "escape"},
		{"$['\\u12']", 3, "escape"},
		{"$['\\ud800']", 3, "escape"},
		{"$['\\udc00']", 3, "escape"},
		{"$['\\\"']", 3, NULL}, /* \" is an escape of JSON: no fault */
		{"$.\xff", 2, "UTF-8"},
		{"$['\xc3']", 3, "UTF-8"},
		{"$.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q", 33, "16 steps"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bp_json_path p;
		const char *error = NULL;
		size_t at = 999;
		int r = bp_json_path_compile(cases[i].path, &p, &error, &at);

		if (cases[i].error == NULL) {
			assert_int_equal(r, 0);
			continue;
		}
		if (r >= 0)
			fail_msg("%s is no path", cases[i].path);
		if (strstr(error, cases[i].error) == NULL || at != cases[i].at)
			fail_msg("%s: \"%s\" at %zu", cases[i].path, error, at);
	}
}

static void names_are_bounded_together(void **state)
{
	struct bp_json_path p;
	char path[300] = "$.";
	const char *error;
	size_t at;

	memset(path + 2, 'n', BP_JSON_NAMES_MAX);
	path[2 + BP_JSON_NAMES_MAX] = '\0';
	assert_int_equal(bp_json_path_compile(path, &p, &error, &at), 0);
	assert_int_equal(p.step[0].name_len, BP_JSON_NAMES_MAX);
	path[2 + BP_JSON_NAMES_MAX] = 'n';
	assert_true(bp_json_path_compile(path, &p, &error, &at) < 0);
	assert_int_equal(at, 2 + BP_JSON_NAMES_MAX);

	path[2 + 100] = '.'; /* 100 and 140 */
	assert_int_equal(bp_json_path_compile(path, &p, &error, &at), 0);
	assert_int_equal(p.steps, 2);
	assert_int_equal(p.step[1].name_off, 100);
	assert_int_equal(p.step[1].name_len, 140);
}

static void sixteen_steps_are_the_most(void **state)
{
	struct bp_json_path p;
	const char *error;
	size_t at;

	assert_int_equal(
		bp_json_path_compile("$.a[1].c[2].e[3].g[4].i[5].k[6].m[7].o[8]", &p, &error, &at),
		0);
	assert_int_equal(p.steps, BP_JSON_STEPS_MAX);
}

/* Rules that check the same place are found by comparing bytes. */
static void equal_paths_are_equal_bytes(void **state)
{
	struct bp_json_path a, b;
	const char *error;
	size_t at;

	memset(&a, 0x55, sizeof(a));
	memset(&b, 0xaa, sizeof(b));
	assert_int_equal(bp_json_path_compile("$.x['y'][3]", &a, &error, &at), 0);
	assert_int_equal(bp_json_path_compile("$[\"x\"].y[3]", &b, &error, &at), 0);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(bp_json_path_compile("$.x.y[4]", &b, &error, &at), 0);
	assert_memory_not_equal(&a, &b, sizeof(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_become_steps),
		cmocka_unit_test(errors_name_the_item_and_position),
		cmocka_unit_test(names_are_bounded_together),
		cmocka_unit_test(sixteen_steps_are_the_most),
		cmocka_unit_test(equal_paths_are_equal_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
