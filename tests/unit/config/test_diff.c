/* SPDX-License-Identifier: BSD-3-Clause */
#include "config_test.h"

#include "config/diff.h"

/* Output before a reload: each setting that differs, by its path. */

static void print(const struct bp_config_change *c, void *arg)
{
	fprintf(arg, "%s: %s -> %s%s\n", c->path, c->from != NULL ? c->from : "none",
		c->to != NULL ? c->to : "none", c->reload ? "" : " (restart)");
}

static void differs(const char *from, const char *to, const char *lines)
{
	struct bp_config *a = accepted(from), *b = accepted(to);
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	bp_config_diff(a, b, print, f);
	fclose(f);
	assert_string_equal(text, lines);
	free(text);
	bp_config_free(a);
	bp_config_free(b);
}

#define RULE(name, limit) "    - {name: " name ", topic: t, raise: {above: " limit "}}\n"
#define RULES EDGE "  rules:\n"

static void equal_configurations_have_no_difference(void **state)
{
	differs(RULES RULE("a", "1"), RULES RULE("a", "1"), "");
	/* a default that is written out is the same */
	differs(BRIDGED, BRIDGED "poll_mode: busy\n", "");
}

static void values_are_shown_as_the_file_has_them(void **state)
{
	differs(BRIDGED, BRIDGED "poll_mode: adaptive\nmbufs: 4096\n",
		"poll_mode: busy -> adaptive (restart)\nmbufs: auto -> 4096 (restart)\n");
	differs(BRIDGED "name: one\n", BRIDGED "name: two\n",
		"name: \"one\" -> \"two\" (restart)\n");
}

static void elements_are_compared_by_name(void **state)
{
	differs(RULES RULE("a", "1") RULE("b", "2"), RULES RULE("b", "2") RULE("c", "3"),
		"mqtt.rules[a]:  -> none\nmqtt.rules[c]: none -> \n");
	differs(RULES RULE("a", "1") RULE("b", "2"), RULES RULE("b", "2") RULE("a", "1"),
		"mqtt.rules: order -> another order\n");
	differs(RULES RULE("a", "1") RULE("b", "2"), RULES RULE("a", "1") RULE("b", "5"),
		"mqtt.rules[b].raise: {above: 2} -> {above: 5}\n");
}

static void sections_are_added_and_removed_completely(void **state)
{
	differs(BRIDGED, BRIDGED "mqtt: {}\n", "mqtt: none ->  (restart)\n");
	differs(BRIDGED "mqtt: {}\n", EDGE, "mqtt.publisher: none -> \n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_configurations_have_no_difference),
		cmocka_unit_test(values_are_shown_as_the_file_has_them),
		cmocka_unit_test(elements_are_compared_by_name),
		cmocka_unit_test(sections_are_added_and_removed_completely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
